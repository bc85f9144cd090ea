"""How much is asked of Microsoft: one budget for everything that one app does in one tenant.

Graph counts resource units a minute, SharePoint's REST publishes no units: there a rate is found by asking, quickly
while nobody complains and at half after each complaint. Who is sent away sends everybody else to wait as well, since
what is asked meanwhile counts, too.
https://learn.microsoft.com/sharepoint/dev/general-development/how-to-avoid-getting-throttled-or-blocked-in-sharepoint-online
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from connectors.errors import Transient
from connectors.http import retry_after

UNITS = 1_250.0  # a minute, of the smallest licence band
CALLS = 4.0  # a second to SharePoint's REST, to begin with
_MOST_CALLS = 25.0
_LEAST_CALLS = 0.5
_PRAISE = 60  # answers without a complaint, before the rate is raised
_DEFAULT_PAUSE = 10.0  # seconds, where a complaint does not say how long
_MOST_SILENCES = 100
LONGEST_PAUSE = 300.0  # seconds of silence that are waited for; what is longer ends the work, and is kept all the same


@dataclass(slots=True)
class _Bucket:
    """So many at once, and so many a second from then on."""

    rate: float
    size: float
    held: float
    at: float = -1.0

    def take(self, many: float, now: float) -> float:
        """Take so many; returns the seconds to wait before they may be used."""
        if self.at >= 0:
            self.held = min(self.size, self.held + (now - self.at) * self.rate)
        self.at = now
        self.held -= many
        return max(0.0, -self.held / self.rate)


@dataclass(slots=True)
class Budget:
    """What one app may ask in one tenant."""

    units_a_minute: float = UNITS
    calls_a_second: float = CALLS
    spent: float = 0.0  # resource units so far
    calls: int = 0  # to SharePoint's REST so far
    pauses: int = 0
    _units: _Bucket = field(init=False)
    _calls: _Bucket = field(init=False)
    _silent_until: float = 0.0
    _praised: int = 0

    def __post_init__(self) -> None:
        self._units = _Bucket(self.units_a_minute / 60, self.units_a_minute, self.units_a_minute)
        self._calls = _Bucket(self.calls_a_second, self.calls_a_second * 60, self.calls_a_second * 60)

    async def graph(self, units: float) -> None:
        """Wait until a request of so many units may be made; one of none waits for nothing but a general silence."""
        self.spent += units
        await self._wait(self._units.take(units, _now()) if units else 0.0)

    async def rest(self) -> None:
        """Wait until a call to SharePoint's REST may be made."""
        self.calls += 1
        await self._wait(self._calls.take(1, _now()))

    async def _wait(self, seconds: float) -> None:
        ready = _now() + seconds
        for _ in range(_MOST_SILENCES):  # while one is waited for, another one may begin
            now = _now()
            if self._silent_until - now > LONGEST_PAUSE:
                raise Transient("SharePoint asked for a long pause; nothing is asked before it is over", LONGEST_PAUSE)
            left = max(ready, self._silent_until) - now
            if left <= 0:
                return
            await asyncio.sleep(left)

    def sent_away(self, headers: Mapping[str, str]) -> float:
        """Somebody was told to come back later: nobody asks until then. Returns the seconds."""
        seconds = wait_asked(headers)
        pause = _DEFAULT_PAUSE if seconds is None else seconds
        self._silent_until = max(self._silent_until, _now() + pause)
        self._calls.rate = max(_LEAST_CALLS, self._calls.rate / 2)
        self._praised = 0
        self.pauses += 1
        return pause

    def answered(self, headers: Mapping[str, str]) -> None:
        """An answer without a complaint; one that says that little is left slows down."""
        self._praised += 1
        left, limit = _number(headers.get("ratelimit-remaining")), _number(headers.get("ratelimit-limit"))
        if left is not None and limit and left / limit < 0.1:
            self._calls.rate = max(_LEAST_CALLS, self._calls.rate * 0.9)
            self._praised = 0
        elif self._praised >= _PRAISE:
            self._calls.rate = min(max(_MOST_CALLS, self.calls_a_second), self._calls.rate + 1)
            self._praised = 0


def budget_of(tenant: str, client: str) -> Budget:
    """The one budget of an app in a tenant, whichever source asks and however their names are spelled."""
    return _budget_of(tenant.strip().casefold(), client.strip().casefold())


@lru_cache(maxsize=256)
def _budget_of(tenant: str, client: str) -> Budget:
    return Budget()


def wait_asked(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the other side asks for them: the longer of the two ways in which it says so."""
    said = [each for each in (retry_after(headers), _number(headers.get("ratelimit-reset"))) if each is not None]
    return max(said) if said else None


def _number(text: str | None) -> float | None:
    written = (text or "").strip()
    return min(float(written), 86_400.0) if written.isascii() and written.isdecimal() and len(written) < 12 else None


def _now() -> float:
    return asyncio.get_running_loop().time()
