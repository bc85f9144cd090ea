"""OAuth 2.0 (3LO) of Atlassian: access tokens of an hour, each had by a refresh token that is good once.

The refresh token that an admin hands over begins a chain of them. What comes next stands sealed in the ledger before
its access token is used, and one process at a time asks for it: the chain breaks where two use the same link. A link
whose answer was lost may be used again for ten minutes, so that a kill between the two is made good by asking again.
Nothing but a person's new consent replaces a chain: a refusal may be of the application, and mended there.

After developer.atlassian.com/cloud/oauth/getting-started/refresh-tokens.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from connectors.errors import DoorError, Transient
from connectors.http import Limits, Site
from connectors.logins import Logins
from connectors.sources.confluence.client import Lost

TOKENS = "https://auth.atlassian.com/oauth/token"
LIMITS = Limits(connect=5.0, idle=10.0, whole=15.0, attempts=1, largest=100_000)
_YOUNG = 300.0  # seconds within which a new access token is not renewed: what is refused then is refused for good
_LOOKS = 80  # at what another process hears, before this gives up
_WRITES = 6  # of a token that was had, before whoever asks next has to write it


@dataclass(frozen=True, slots=True)
class KeptTokens:
    """Where tokens of one source stand from one process to the next."""

    logins: Logins
    provider: str
    clock: Callable[[], datetime]


@dataclass(frozen=True, slots=True, repr=False)
class Application:
    """A registered application, and the refresh token that a person's consent gave it."""

    client_id: str
    client_secret: str
    first: str


@dataclass(frozen=True, slots=True, repr=False)
class _Link:
    """One of a chain of tokens."""

    refresh: str
    access: str = ""

    def written(self) -> str:
        return json.dumps([self.refresh, self.access])

    @classmethod
    def read(cls, text: str) -> _Link:
        refresh, access = json.loads(text)
        return cls(str(refresh), str(access))


@dataclass(slots=True, repr=False)
class Tokens:
    """The tokens of one source. `site`: the address that gives them, open."""

    site: Site
    application: Application
    kept: KeptTokens
    pause: float = 0.25  # seconds between two looks at what another process hears
    _access: str = ""
    _had_at: float | None = None  # by the event loop's clock, where this process renewed it
    _unwritten: tuple[str, _Link] | None = None  # the refresh token that was spent, and what came of it
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _renewing: asyncio.Task[str] | None = None

    async def header(self) -> str:
        """What signs a request."""
        if not self._access:
            await self._another("")
        return f"Bearer {self._access}"

    async def renewed(self, header: str) -> bool:
        """Whether there is another token than the one that was refused."""
        spent = header.removeprefix("Bearer ")
        if self._access == spent:
            if self._had_at is not None and asyncio.get_running_loop().time() - self._had_at < _YOUNG:
                return False
            await self._another(spent)
        return self._access != spent

    async def _another(self, spent: str) -> None:
        """Have an access token other than this. Lost where the chain is refused, Transient where nothing is heard."""
        async with self._turn:
            if self._access not in ("", spent):
                return
            kept, subject = self.kept, self._subject
            await kept.logins.begin(kept.provider, subject, _Link(self.application.first).written(), kept.clock())
            for _ in range(_LOOKS):
                ours = self._renewing is not None or self._unwritten is not None
                if not ours and (known := (await self._link()).access) not in ("", spent):
                    self._access, self._had_at = known, None
                    return
                if ours or await kept.logins.claim(kept.provider, subject, kept.clock()):
                    self._access = await self._to_the_end(spent)
                    self._had_at = asyncio.get_running_loop().time()
                    return
                await asyncio.sleep(self.pause)
            raise Transient("another process asks for a token and does not come back")

    async def _to_the_end(self, spent: str) -> str:
        """Renew and keep what was heard also where nobody waits for it any more: the token that was used is spent."""
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew(spent))
            self._renewing.add_done_callback(self._heard)
        return await asyncio.shield(self._renewing)

    def _heard(self, task: asyncio.Task[str]) -> None:
        self._renewing = None
        if not task.cancelled():
            task.exception()  # whoever waited has met it already

    async def at_rest(self) -> None:
        """When what is under way was written, or can't be."""
        if self._renewing is not None:
            await asyncio.wait({self._renewing})

    async def _renew(self, spent: str) -> str:
        # Read again under the claim: what was read before it may have been used by somebody else meanwhile.
        link = await self._link()
        if self._unwritten is not None and self._unwritten[0] != link.refresh:
            self._unwritten = None  # another process went on from there
        if self._unwritten is None:
            if link.access not in ("", spent):
                await self.kept.logins.release(self.kept.provider, self._subject)
                return link.access
            try:
                self._unwritten = (link.refresh, await self._asked(link.refresh))
            except DoorError:
                await self.kept.logins.release(self.kept.provider, self._subject)
                raise
        await self._write(self._unwritten[1])
        access, self._unwritten = self._unwritten[1].access, None
        return access

    async def _write(self, link: _Link) -> None:
        for attempt in range(1, _WRITES + 1):
            try:
                await self.kept.logins.settle(self.kept.provider, self._subject, link.written(), self.kept.clock())
                return
            except Transient:
                if attempt == _WRITES:
                    raise
                await asyncio.sleep(self.pause * attempt)

    async def _asked(self, refresh: str) -> _Link:
        asked = {
            "grant_type": "refresh_token",
            "client_id": self.application.client_id,
            "client_secret": self.application.client_secret,
            "refresh_token": refresh,
        }
        answer = await self.site.post("", asked)
        if 400 <= answer.status < 500:
            raise Lost(f"{answer.site} refuses the refresh token; consent again, and hand over the new one", 401)
        told = answer.json() if answer.ok else None
        access = told.get("access_token") if isinstance(told, dict) else None
        if not isinstance(told, dict) or not isinstance(access, str) or not access:
            raise Transient(f"{answer.site} gave no token")
        following = told.get("refresh_token")
        return _Link(following if isinstance(following, str) and following else refresh, access)

    async def _link(self) -> _Link:
        held = await self.kept.logins.held(self.kept.provider, self._subject)
        if held is None or held.refresh is None:
            raise Transient("the tokens of the source are gone; remove it and add it again")
        return _Link.read(held.refresh)

    @property
    def _subject(self) -> str:
        """Names the chain, so that a new consent begins a new one."""
        return sha256(self.application.first.encode()).hexdigest()[:16]
