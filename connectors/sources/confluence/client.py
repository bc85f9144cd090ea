"""One Confluence over HTTP: signed requests, a shared pace, and pages that are followed to their end or not believed.

The server's next link is followed below the base URL, with or without `/wiki` in it; where the server can't be trusted
with it (Data Center) the start is counted here. An answer that repeats itself, breaks off or is no JSON is an error,
never the end of a list.
"""

from __future__ import annotations

import asyncio
import random
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, unquote, urlencode, urljoin

from connectors.errors import DoorError, Skip, Stop, Transient
from connectors.http import REDIRECTS, RETRIED, Answer, Limits, Site

Json = dict[str, Any]

MOST_PAGES = 20_000  # of one list
MOST_FILE = 50_000_000  # bytes of an attachment
_LONGEST_PAUSE = 120.0  # seconds that the server may ask us to wait within a run
_BELOW_BASE = re.compile(r"/(?:rest/api|api/v2)/")
_NEXT = re.compile(r'<([^<>]+)>\s*;\s*rel="?next"?', re.I)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_DONE = frozenset({"true", "1"})


class Lost(Skip):
    """The server refuses this one thing: it is gone, not for us, or not known to this version. `status` says which."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message, passing=True)
        self.status = status


@dataclass(frozen=True, slots=True)
class Pace:
    """How often something is asked again, and how long to wait before; seconds."""

    attempts: int = 4
    first_pause: float = 0.25
    longest_pause: float = _LONGEST_PAUSE
    at_once: int = 4  # requests; more at a time is what bursts are refused for


LIMITS = Limits(attempts=1, whole=90.0, idle=60.0, largest=100_000_000, at_once=4)


@dataclass(frozen=True, slots=True)
class Account:
    """How requests are signed. `header`: the whole value; asked each time, since tokens of some kinds change.
    `renewed`: whether there is another one, where this was refused."""

    header: Callable[[], Awaitable[str]]
    renewed: Callable[[str], Awaitable[bool]]

    @classmethod
    def always(cls, header: str) -> Account:
        """One header that never changes."""

        async def same() -> str:
            return header

        async def none(_refused: str) -> bool:
            return False

        return cls(same, none)

    @classmethod
    def basic(cls, user: str, token: str) -> Account:
        """E-mail address and API token."""
        return cls.always("Basic " + b64encode(f"{user}:{token}".encode()).decode())

    @classmethod
    def bearer(cls, token: str) -> Account:
        """A personal access token, or the token of a service account."""
        return cls.always(f"Bearer {token}")


@dataclass(slots=True)
class Client:
    """One account at one Confluence. The site is opened by whoever made it."""

    site: Site
    account: Account
    base: str  # as configured, without a slash at its end
    pace: Pace = field(default_factory=Pace)
    asked: int = 0  # requests so far
    paused: int = 0  # times that the server asked us to wait
    told_base: str = ""  # where the server says that people find it
    _resumes: float = 0.0  # of the event loop's clock: nobody asks before
    _gate: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._gate = asyncio.Semaphore(self.pace.at_once)

    # ------------------------------------------------------------ one answer

    async def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """The JSON at a path below the base. Raises Lost where the server refuses this one thing."""
        return (await self._json("GET", self._address(path, params)))[0]

    async def post(self, path: str, body: Any) -> Any:
        """The JSON that a question by POST is answered with; none of ours changes anything."""
        return (await self._json("POST", self._address(path), body))[0]

    async def file(self, link: str) -> bytes:
        """The bytes of a file at a link below the base, as the server wrote it. Where it is stored elsewhere, that
        place does not get to see our token."""
        path, mark, query = link.partition("?")
        address = self._address(unquote(path)) + mark + query
        answer = await self._asked("GET", address)
        if answer.status in _REDIRECTS:
            target = urljoin(self.base + "/", answer.headers.get("location", ""))
            answer = await self.site.fetch_elsewhere(target, replace(LIMITS, attempts=3, largest=MOST_FILE))
        if not answer.ok:
            raise Lost(f"the file can't be had ({answer.status})", answer.status)
        return answer.body

    # ------------------------------------------------------------ whole lists

    async def pages(
        self, path: str, params: Mapping[str, Any] | None = None, limit: int = 250
    ) -> AsyncIterator[list[Json]]:
        """The pages of a list of Cloud, by the server's next links. Raises Transient where it does not come to an end,
        Lost where the list is refused."""
        asked = {**(params or {}), "limit": str(limit)}
        address = self._address(path, asked)
        seen = {address}
        for _ in range(MOST_PAGES):
            try:
                told, headers = await self._json("GET", address)
            except Transient as error:
                smaller = _halved(address)
                if smaller is None or error.retry_after is not None:
                    raise
                address = smaller
                continue
            yield _results(told, self.site.name)
            self.told_base = self.told_base or _base_of(told)
            onward = _next_link(told, headers)
            if onward is None:
                return
            address = self._onward(onward)
            if address in seen:
                raise Transient(
                    f"{self.site.name} goes in circles: the next page of a list is one that was there before"
                )
            seen.add(address)
        raise Transient(f"a list of {self.site.name} has more than {MOST_PAGES:,} pages")

    async def counted(
        self, path: str, params: Mapping[str, Any] | None = None, limit: int = 200
    ) -> AsyncIterator[list[Json]]:
        """The pages of a list by a start that is counted here, up to an empty one: a lowered limit and a wrong next
        link do no harm. Raises as `pages` does."""
        start, last, ended = 0, "", False
        for _ in range(MOST_PAGES):
            address = self._address(path, {**(params or {}), "start": str(start), "limit": str(limit)})
            try:
                told, headers = await self._json("GET", address)
            except Transient as error:
                if error.retry_after is not None or limit <= 1:
                    raise
                limit //= 2
                continue
            found = _results(told, self.site.name)
            if not found:
                return
            this = repr(found)
            if this == last:
                if ended:  # a server that knows nothing of starts, and had said that there is no more
                    return
                raise Transient(f"{self.site.name} goes in circles: it gives the same page of a list again")
            yield found
            last, ended = this, _next_link(told, headers) is None
            start += len(found)
        raise Transient(f"a list of {self.site.name} has more than {MOST_PAGES:,} pages")

    # ------------------------------------------------------------ inside

    async def _json(self, method: str, address: str, body: Any = None) -> tuple[Any, Mapping[str, str]]:
        """A success that holds JSON: an empty one or half of one is asked for again."""
        fault: DoorError = Transient(f"{self.site.name} was never asked")
        for attempt in range(self.pace.attempts):
            if attempt:
                await asyncio.sleep(self._pause(attempt))
            answer = await self._asked(method, address, body)
            if not answer.ok:
                raise _refused(answer)
            try:
                return answer.json(), answer.headers
            except Stop as error:  # a page: of a proxy, or one that asks for a password
                raise Lost(str(error), answer.status) from error
            except Transient as error:
                fault = error
        raise fault

    async def _asked(self, method: str, address: str, body: Any = None) -> Answer:
        """One answer; once more where the token was refused and there is a newer one."""
        header = await self.account.header()
        answer = await self._at_pace(method, address, body, header)
        if answer.status == 401 and await self.account.renewed(header):
            answer = await self._at_pace(method, address, body, await self.account.header())
        return answer

    async def _at_pace(self, method: str, address: str, body: Any, header: str) -> Answer:
        """One answer, at the pace that the server can bear: whoever is told to wait makes all others wait."""
        for attempt in range(1, self.pace.attempts + 1):
            try:
                async with self._gate:
                    await self._until_resumed()
                    self.asked += 1
                    answer = await self.site.request(
                        method,
                        address,
                        headers={"Authorization": header, "X-Atlassian-Token": "no-check"},
                        json=body,
                        repeatable=True,
                        limits=LIMITS,
                        as_is=REDIRECTS,
                    )
                self._slow_down(answer.headers)
                return answer
            except Transient as error:
                wanted = error.retry_after
                if wanted is not None:
                    self.paused += 1
                    self._pause_all(min(wanted, self.pace.longest_pause))
                if attempt == self.pace.attempts or (wanted or 0) > self.pace.longest_pause:
                    raise
                if wanted is None:
                    await asyncio.sleep(self._pause(attempt))
        raise Transient(f"{self.site.name} was never asked: no attempt is allowed")

    def _pause(self, attempt: int) -> float:
        longest: float = self.pace.first_pause * 2.0 ** (attempt - 1)
        return min(longest, 20.0) * random.uniform(0.5, 1.0)  # noqa: S311 - only keeps clients from marching in step

    def _pause_all(self, seconds: float) -> None:
        spread = random.uniform(0, self.pace.first_pause)  # noqa: S311
        self._resumes = max(self._resumes, asyncio.get_running_loop().time() + seconds + spread)

    async def _until_resumed(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(10):  # the pause may have become longer meanwhile
            if (wait := self._resumes - loop.time()) <= 0:
                return
            await asyncio.sleep(wait)

    def _slow_down(self, headers: Mapping[str, str]) -> None:
        """Before we are refused: nothing remains of the allowance, or it will soon be so."""
        if headers.get("x-ratelimit-remaining", "").strip() == "0":
            interval = headers.get("x-ratelimit-interval-seconds", "1")
            self._pause_all(min(float(interval), 10.0) if interval.isdecimal() else 1.0)
        elif headers.get("x-ratelimit-nearlimit", "").casefold() in _DONE:
            self._pause_all(0.5)

    def _address(self, path: str, params: Mapping[str, Any] | None = None) -> str:
        """Below the base, with the path's own characters quoted once."""
        whole = f"{self.base}/{quote(path.lstrip('/'), safe='/')}"
        return f"{whole}?{urlencode(params)}" if params else whole

    def _onward(self, link: str) -> str:
        """Where a next link leads below our own base, whichever host, context or gateway it was written for."""
        found = _BELOW_BASE.search(link)
        if found is None:
            raise Transient(f"{self.site.name} names a next page that is none of its interface")
        return self.base + link[found.start() :]


def _refused(answer: Answer) -> DoorError:
    match answer.status:
        case status if status in RETRIED or status >= 500:
            return Transient(f"{answer.site} can't answer now ({status})")
        case 401:
            return Lost(f"{answer.site} does not accept the token for this (401)", 401)
        case 403:
            return Lost(f"{answer.site} refuses this to the account (403)", 403)
        case status if status in _REDIRECTS:
            return Lost(f"{answer.site} sends the request elsewhere ({status}); check its address", status)
        case status:
            return Lost(f"{answer.site} does not have this ({status})", status)


def _results(told: Any, site: str) -> list[Json]:
    """The rows of a page; Transient for an answer that is no page of a list."""
    rows = told.get("results") if isinstance(told, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Transient(f"{site} answered with something that is no list")
    return rows


def _next_link(told: Json, headers: Mapping[str, str]) -> str | None:
    links = told.get("_links")
    named = links.get("next") if isinstance(links, dict) else None
    if isinstance(named, str) and named:
        return named
    found = _NEXT.search(headers.get("link", ""))
    return found.group(1) if found else None


def _base_of(told: Json) -> str:
    links = told.get("_links")
    base = links.get("base") if isinstance(links, dict) else None
    return base.rstrip("/") if isinstance(base, str) and base.startswith("https://") else ""


def _halved(address: str) -> str | None:
    """The same request for half as many, where it can be halved."""
    found = re.search(r"([?&]limit=)(\d+)", address)
    if found is None or int(found.group(2)) <= 1:
        return None
    return address[: found.start()] + f"{found.group(1)}{int(found.group(2)) // 2}" + address[found.end() :]


def text_of(row: Json, name: str) -> str:
    """A field as text: ids are numbers in some answers and strings in others; nothing where it is neither."""
    found = row.get(name)
    if isinstance(found, bool) or not isinstance(found, str | int):
        return ""
    return str(found)


def quoted(text: str) -> str:
    """A string of CQL."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
