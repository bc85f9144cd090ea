"""Whether people are still let in at the identity provider that they linked themselves with.

Port `Rights`: a refresh token that the provider takes means that the account is open, one that it refuses means that it
is closed, here and everywhere. Whoever was bound by an administrator has no token; of him the directory alone tells.

Groups are told only of somebody about whom the provider was asked at this moment (`anew`): nothing of them is kept.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

from connectors.errors import DoorError, Transient
from connectors.logins import GROUPS, Logins, Provider, Renewed
from connectors.ports import Membership
from policies.facts import Kind
from policies.names import Principal

FRESH = timedelta(minutes=2)  # that the provider's last word is believed without asking again
UNHEARD = timedelta(minutes=10)  # without a word of the provider; from then on nobody vouches for the account
_LOOKS = 60  # at what another process hears, before this gives up
_PATIENCE = 6.0  # seconds for the provider's answer, before who waits is told
_PAUSE = 0.25  # seconds between them
_SETTLING = 20.0  # seconds for keeping what was heard: with the asking, less than a claim lasts
_CLOSING = 30.0  # seconds for what is under way at the end
_OPEN, _CLOSED = Membership(True, frozenset()), Membership(False, frozenset())


class LoginRights:
    """Port `Rights`."""

    rules_everybody = True
    everyone: frozenset[Principal] = frozenset()

    def __init__(self, company: Provider, logins: Logins) -> None:
        self._company = company
        self._logins = logins
        self.provider = f"oidc:{company.issuer}"
        self._asking: set[asyncio.Task[Membership]] = set()

    async def close(self) -> None:
        """Wait, within a bound, for what is under way: a token that was used is worth nothing any more, and the one
        that came in its place must be kept."""
        if self._asking:
            await asyncio.wait(self._asking, timeout=_CLOSING)

    async def membership(self, account: str, kind: Kind, now: datetime) -> Membership:
        """Whether the account is open; DoorError where that can't be found out just now. What could not be found out
        for long means no."""
        return replace(await self._found(account, now, FRESH), principals=frozenset())

    async def anew(self, account: str, kind: Kind, now: datetime) -> Membership:
        """The same, whatever the provider said a moment ago, with the groups that it names: as `idp:NAME`."""
        return await self._found(account, now, timedelta(0))

    async def _found(self, account: str, now: datetime, believed: timedelta) -> Membership:
        for _ in range(_LOOKS):
            held = await self._logins.held(self.provider, account)
            if held is None:
                return _OPEN
            if held.refresh is None:
                return _CLOSED
            if now - held.checked_at < believed:
                return _OPEN
            # One process asks: a refresh token that is used twice looks stolen, and closes the whole login.
            if await self._logins.claim(self.provider, account, now):
                return await self._to_the_end(account, now, held.checked_at, believed)
            if now - held.checked_at >= UNHEARD:
                return _CLOSED
            await asyncio.sleep(_PAUSE)
        raise Transient("another process asks the identity provider and does not come back")

    async def _to_the_end(self, account: str, now: datetime, checked_at: datetime, believed: timedelta) -> Membership:
        """Ask, and keep what was heard also where nobody waits for it any more: the token that was used is spent."""
        task = asyncio.create_task(self._asked(account, now, believed))
        self._asking.add(task)
        task.add_done_callback(self._heard)
        try:
            async with asyncio.timeout(_PATIENCE):
                return await asyncio.shield(task)
        except TimeoutError:
            # Whoever waits here gives up soon after: no word for long has to be said while he listens.
            if now - checked_at >= UNHEARD:
                return _CLOSED
            raise Transient("the identity provider does not answer") from None

    def _heard(self, task: asyncio.Task[Membership]) -> None:
        self._asking.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waited has met it already

    async def _asked(self, account: str, now: datetime, believed: timedelta) -> Membership:
        # Read again under the claim: what was read before it may have been used by somebody else meanwhile.
        held = await self._logins.held(self.provider, account)
        if held is None or held.refresh is None or now - held.checked_at < believed:
            await self._logins.release(self.provider, account)
            return _OPEN if held is None or held.refresh is not None else _CLOSED
        try:
            renewed = await self._company.renew(held.refresh, now)
        except DoorError:
            await self._logins.release(self.provider, account)
            if now - held.checked_at >= UNHEARD:
                return _CLOSED
            raise
        await self._settle(account, renewed.refresh if renewed is not None else None, now)
        return _CLOSED if renewed is None else Membership(True, _principals(renewed, account))

    async def _settle(self, account: str, renewed: str | None, now: datetime) -> None:
        """Keep what was heard; a ledger that is busy or away is waited for."""
        pause = _PAUSE
        deadline = asyncio.get_running_loop().time() + _SETTLING
        while True:
            try:
                return await self._logins.settle(self.provider, account, renewed, now)
            except Transient:
                if asyncio.get_running_loop().time() + pause > deadline:
                    raise
            await asyncio.sleep(pause)
            pause *= 2


def _principals(renewed: Renewed, account: str) -> frozenset[Principal]:
    """The groups that the provider names, where it speaks of this account."""
    if renewed.subject != account:
        return frozenset()
    return frozenset(Principal(f"{GROUPS}:{name}") for name in renewed.groups if name == name.strip())
