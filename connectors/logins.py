"""The shapes of the doors to logins: an OpenID provider, what is kept of a login, and tickets.

A ticket is something that whoever holds its secret may do once, for a while: follow a link, confirm a deletion, say
"this wasn't me". Times are aware UTC. Every method may raise the `DoorError` family and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from connectors.errors import Skip

GROUPS = "idp"
"""The kind of a principal that is a group of the identity provider."""


class LoginRefused(Skip):
    """What came back from a provider does not prove a login; `why` is one of a few fixed words."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the login was not accepted: {why}")
        self.why = why


@dataclass(frozen=True, slots=True, repr=False)
class Leg:
    """What binds one way to a provider and back to one browser: made when it begins, good once."""

    state: str
    nonce: str
    verifier: str  # of PKCE

    def __repr__(self) -> str:
        return "Leg(…)"


@dataclass(frozen=True, slots=True)
class Login:
    """Who logged in, as an ID token proves it."""

    issuer: str
    subject: str
    claims: Mapping[str, Any] = field(repr=False)
    refresh: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Renewed:
    """What a provider says when a login is renewed."""

    refresh: str = field(repr=False)  # the token to go on with
    subject: str | None = None  # whom the ID token that came with it is about; None where none came, or none that fits
    groups: frozenset[str] = frozenset()  # that it names, where a claim for them is configured


class Mail(Protocol):
    """A way to write to somebody by mail."""

    async def send(self, to: str, subject: str, text: str) -> None:
        """Hand over one message; whether it arrives nobody knows. Skip: there is no such address."""
        ...


class Provider(Protocol):
    """An OpenID provider at which this application is registered."""

    @property
    def issuer(self) -> str:
        """As it was configured; the second half of the identities that it gives."""
        ...

    async def address(self, leg: Leg, now: datetime) -> str:
        """Where a browser goes to log in."""
        ...

    async def login(self, answer: Mapping[str, str], leg: Leg, now: datetime) -> Login:
        """Who came back with these parameters. LoginRefused when they prove nobody."""
        ...

    async def renew(self, refresh: str, now: datetime) -> Renewed | None:
        """What the provider says of a login now; None when it refuses: the account is closed, or its consent was taken
        back."""
        ...

    async def revoke(self, refresh: str, now: datetime) -> None:
        """Tell the provider that a refresh token is not needed any more, where it can be told."""
        ...


@dataclass(frozen=True, slots=True)
class Ticket:
    """What the holder of a secret may do, and how far he is."""

    state: str
    body: Mapping[str, Any] = field(repr=False)
    expires_at: datetime


class Tickets(Protocol):
    """Things that may be done once. Secrets are at random, 256 bits, and kept as digests alone."""

    async def issue(
        self, kind: str, holder: str, body: Mapping[str, Any], now: datetime, expires_at: datetime, *, only: bool = True
    ) -> str:
        """Hand out a ticket in the state `new` and return its secret. `only`: earlier ones of this kind and holder are
        worth nothing any more."""
        ...

    async def look(self, kind: str, secret: str, now: datetime) -> Ticket | None:
        """What a secret is good for now; changes nothing."""
        ...

    async def turn(
        self, kind: str, secret: str, states: tuple[str, str], body: Mapping[str, Any] | None, now: datetime
    ) -> bool:
        """Take it from one state to another; whether this call was the one that did. `body` replaces what it held."""
        ...

    async def trade(
        self, kind: str, secret: str, states: tuple[str, str], body: Mapping[str, Any] | None, now: datetime
    ) -> str | None:
        """As `turn`, with a new secret in place of the old, which is worth nothing from then on."""
        ...

    async def recent(self, kind: str, holder: str, state: str, since: datetime) -> bool:
        """Whether a ticket of this holder came to this state since then."""
        ...

    async def forget(self, before: datetime) -> int:
        """Forget tickets that expired before then; returns how many."""
        ...


@dataclass(frozen=True, slots=True)
class Held:
    """What is kept of a login."""

    refresh: str | None = field(repr=False)  # None: the provider refused it
    checked_at: datetime  # when the provider last said something about the account


class Logins(Protocol):
    """The refresh tokens of people who linked themselves, sealed; by provider and subject."""

    async def keep(self, provider: str, subject: str, refresh: str, now: datetime) -> None: ...

    async def begin(self, provider: str, subject: str, refresh: str, now: datetime) -> None:
        """A new login, unless there is one."""
        ...

    async def held(self, provider: str, subject: str) -> Held | None: ...

    async def claim(self, provider: str, subject: str, now: datetime) -> bool:
        """Whether this process may ask the provider now; a second one waits until the first has said what it heard, or
        its claim ran out."""
        ...

    async def settle(self, provider: str, subject: str, refresh: str | None, now: datetime) -> None:
        """What the provider said: go on with this token, or, for None, that it refuses."""
        ...

    async def release(self, provider: str, subject: str) -> None:
        """Nothing was heard; another may ask."""
        ...

    async def drop(self, provider: str, subject: str) -> str | None:
        """Forget a login; returns its token, so that it can be revoked."""
        ...
