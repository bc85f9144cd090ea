"""Asking Graph and SharePoint's REST: tokens, pauses, pages and batches, so that nobody above has to think of them.

A page of rows ends when there is no link to a next one, and never sooner. A token goes to the address that an admin
configured and to no other. What comes back is a JSON object, bytes, or an error of the family.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode

from yarl import URL

from connectors.errors import DoorError, Skip, Stop, Transient
from connectors.http import RETRIED, Answer, Limits, Site
from connectors.sources.sharepoint.auth import GRAPH as GRAPH_ORIGIN
from connectors.sources.sharepoint.auth import NATIONAL, Tokens
from connectors.sources.sharepoint.budget import LONGEST_PAUSE, Budget

Json = dict[str, Any]

USER_AGENT = "NONISV|Footnote|Footnote/1.0"
"""Decorated as SharePoint asks for, so that it knows whom to throttle first, and last."""

MOST_PAGES = 50_000  # of one reading
MOST_BYTES = 100_000_000  # of one file
TOGETHER = 20  # requests in one batch, as Graph allows
_SENT_ON = frozenset({301, 302, 303, 307, 308})
_AS_IS = RETRIED | _SENT_ON
_ROUNDS = 8  # of a batch, for those of its requests that were sent away
_ONE = Limits(attempts=1, whole=120.0, idle=60.0, largest=64_000_000)
_FILE = Limits(attempts=3, whole=600.0, idle=60.0, largest=MOST_BYTES)
_LINKS = ("@odata.nextLink", "odata.nextLink")


class Refused(Stop):
    """A request that is not going to be answered otherwise; `status` and the service's own word for the reason."""

    def __init__(self, message: str, status: int, code: str = "", location: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.location = location  # where to go on instead, for a cursor that is over


class NotTold(Stop):
    """Entra refuses to tell who people are. No site refused anything: what is known counts until its leases end."""


LOST = frozenset({403, 404, 410, 423})
"""Statuses by which a site, a library or a file says that it is not ours to read any more."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows, and what came beside them."""

    rows: Sequence[Json]
    whole: Json


@dataclass(frozen=True, slots=True)
class Ask:
    """One request of a batch."""

    url: str  # below the base URL, with its query
    method: str = "GET"
    body: Json | None = None
    units: float = 1.0


@dataclass(frozen=True, slots=True)
class Told:
    """The answer to one request of a batch; the body is what came, a JSON object where `ok`."""

    status: int
    body: Json = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request is tried."""

    attempts: int = 6
    seconds: float = 900.0  # in all pauses together


ASKING = Patience(attempts=3, seconds=10.0)
"""While somebody waits for an answer."""


@dataclass(slots=True)
class Client:
    """Everything that is asked of one tenant. `sites`: the open doors to SharePoint's hosts, by origin."""

    door: Site
    graph_url: str
    audience: str
    sites: Mapping[str, Site]
    tokens: Tokens
    budget: Budget
    most_pages: int = MOST_PAGES
    _batches: bool = True

    # ------------------------------------------------------------ Graph

    async def graph(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        units: float = 1.0,
        prefer: str = "",
        method: str = "GET",
        body: Json | None = None,
        patience: Patience = Patience(),
        directory: bool = False,
    ) -> Json:
        """One object. `directory`: of Entra, which has limits of its own."""
        url = _with_query(self._graph_address(path), params)
        headers = {"Prefer": prefer} if prefer else {}
        spend = 0.0 if directory else units
        return await self._json(self.door, self.audience, url, method, headers, body, spend, patience)

    async def graph_pages(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        units: float = 2.0,
        prefer: str = "",
        patience: Patience = Patience(),
        directory: bool = False,
    ) -> AsyncIterator[Page]:
        """Rows by page, to the end. Transient where the pages go in a circle."""
        url = _with_query(self._graph_address(path), params)
        headers = {"Prefer": prefer} if prefer else {}
        spend = 0.0 if directory else units
        async for page in self._pages(self.door, self.audience, url, headers, spend, patience):
            yield page

    async def graph_rows(self, path: str, params: Mapping[str, str] | None = None, **more: Any) -> list[Json]:
        """All rows of a reading that is known to be small."""
        return [row async for page in self.graph_pages(path, params, **more) for row in page.rows]

    def _graph_address(self, path: str) -> str:
        """A path, or a link that Graph gave, at the configured address. A proxy in between leaves Graph's own name in
        links; followed there, the token would go to somebody whom nobody configured."""
        if "://" not in path:
            return f"{self.graph_url}/{path.lstrip('/')}"
        link = _address(path)
        base = URL(self.graph_url)
        if link.origin() != base.origin() and str(link.origin()) in NATIONAL | {GRAPH_ORIGIN}:
            below = link.raw_path.partition("/v1.0/")[2]
            return f"{self.graph_url}/{below}{'?' + link.raw_query_string if link.raw_query_string else ''}"
        return path

    # ------------------------------------------------------------ batches

    async def batch(self, asks: Sequence[Ask], *, directory: bool = False) -> Sequence[Told]:
        """The answers to these, in order; an answer may have any status. Those that were sent away are asked again."""
        found: dict[int, Told] = {}
        for start in range(0, len(asks), TOGETHER):
            found |= await self._together(dict(list(enumerate(asks))[start : start + TOGETHER]), directory)
        return [found[number] for number in range(len(asks))]

    async def _together(self, asks: Mapping[int, Ask], directory: bool) -> dict[int, Told]:
        found: dict[int, Told] = {}
        for _ in range(_ROUNDS):
            left = {number: ask for number, ask in asks.items() if number not in found}
            if not left:
                return found
            answers = await self._batch(left, directory) if self._batches else None
            if answers is None:
                return found | {number: await self._alone(ask, directory) for number, ask in left.items()}
            found |= answers
        raise Transient("graph sent some requests of a batch away again and again")

    async def _batch(self, asks: Mapping[int, Ask], directory: bool) -> dict[int, Told] | None:
        """The answers that came; None where batches are not known there."""
        body = {"requests": [_inner(number, ask) for number, ask in asks.items()]}
        units = sum(ask.units for ask in asks.values())
        try:
            said = await self.graph("$batch", method="POST", body=body, units=units, directory=directory)
        except Refused as error:
            if error.status not in (400, 404, 405, 501):
                raise
            self._batches = False
            return None
        rows = said.get("responses")
        if not isinstance(rows, list):
            raise Transient("graph answered a batch without answers")
        return self._answers(rows, asks)

    def _answers(self, rows: Sequence[Any], asks: Mapping[int, Ask]) -> dict[int, Told]:
        found: dict[int, Told] = {}
        for row in rows:
            name, status = (row.get("id"), row.get("status")) if isinstance(row, dict) else (None, None)
            number = int(name) if isinstance(name, str) and name.isdecimal() else -1
            if number not in asks or not isinstance(status, int):
                continue
            if status in RETRIED:
                headers = row.get("headers") or {}
                if status in (429, 503):
                    self.budget.sent_away({str(key).casefold(): str(value) for key, value in headers.items()})
                continue
            inside = row.get("body")
            if 200 <= status < 300 and status != 204 and not isinstance(inside, dict):
                continue  # half of something: it is asked for again
            found[number] = Told(status, inside if isinstance(inside, dict) else {})
        return found

    async def _alone(self, ask: Ask, directory: bool) -> Told:
        try:
            body = await self.graph(ask.url, method=ask.method, body=ask.body, units=ask.units, directory=directory)
        except Refused as error:
            return Told(error.status, {"error": {"code": error.code}})
        return Told(200, body)

    # ------------------------------------------------------------ SharePoint's REST

    async def rest(
        self, web: str, path: str, params: Mapping[str, str] | None = None, *, patience: Patience = Patience()
    ) -> Json:
        """One object of a web, by the web's address."""
        site, origin = self._site(web)
        url = _with_query(f"{web.rstrip('/')}/_api/{path}", params)
        return await self._json(site, origin, url, "GET", _NO_METADATA, None, None, patience)

    async def rest_pages(
        self, web: str, path: str, params: Mapping[str, str] | None = None, *, patience: Patience = Patience()
    ) -> AsyncIterator[Page]:
        """Rows by page, to the end."""
        site, origin = self._site(web)
        url = _with_query(f"{web.rstrip('/')}/_api/{path}", params)
        async for page in self._pages(site, origin, url, _NO_METADATA, None, patience):
            yield page

    async def rest_rows(self, web: str, path: str, params: Mapping[str, str] | None = None, **more: Any) -> list[Json]:
        """All rows of a reading that is known to be small."""
        return [row async for page in self.rest_pages(web, path, params, **more) for row in page.rows]

    async def rest_bytes(self, web: str, path: str, params: Mapping[str, str] | None = None) -> bytes:
        """A file by its REST address."""
        site, origin = self._site(web)
        url = _with_query(f"{web.rstrip('/')}/_api/{path}", params)
        answer = await self._ask(site, origin, url, "GET", {"Accept": "*/*"}, None, None, Patience(), _FILE)
        return answer.body

    def _site(self, web: str) -> tuple[Site, str]:
        origin = str(_address(web).origin())
        if origin not in self.sites:
            raise Stop(f"{origin} is not the host of a configured site; nothing was sent there")
        return self.sites[origin], origin

    # ------------------------------------------------------------ files

    async def content(self, path: str) -> bytes:
        """The bytes of a file. Graph sends on to an address that lets in whoever has it: no token goes along."""
        url = self._graph_address(path)
        headers = {"Accept": "*/*"}
        answer = await self._ask(self.door, self.audience, url, "GET", headers, None, 1.0, Patience(), _FILE)
        if answer.status not in _SENT_ON:
            return answer.body
        target = _address(answer.headers.get("location", ""), url)
        here = self.sites.get(str(target.origin()), self.door)
        fetched = await here.fetch_elsewhere(str(target), _FILE)
        if not fetched.ok:
            raise Transient(f"a file could not be fetched from where Graph sent on to ({fetched.status})")
        return fetched.body

    # ------------------------------------------------------------ one request

    async def _pages(
        self,
        site: Site,
        audience: str,
        url: str,
        headers: Mapping[str, str],
        units: float | None,
        patience: Patience,
    ) -> AsyncIterator[Page]:
        seen: set[bytes] = set()
        before = b""
        for _ in range(self.most_pages):
            said = await self._json(site, audience, url, "GET", headers, None, units, patience)
            rows = said.get("value")
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise Transient(f"{site.name} answered without rows")
            link = next((said[name] for name in _LINKS if isinstance(said.get(name), str) and said[name]), None)
            here = sha256(repr(rows).encode("utf-8", "replace")).digest() if rows else b""
            if here and here == before and link is not None:
                raise Transient(f"{site.name} gives the same page over and over; the reading is not complete")
            before = here
            yield Page(rows, said)
            if link is None:
                return
            mark = sha256(link.encode("utf-8", "replace")).digest()
            if mark in seen:
                raise Transient(f"{site.name} leads from page to page in a circle; the reading is not complete")
            seen.add(mark)
            url = self._graph_address(link) if site is self.door else str(_address(link, url))
        raise Transient(f"{site.name} has more than {self.most_pages:,} pages; the reading is not complete")

    async def _json(
        self,
        site: Site,
        audience: str,
        url: str,
        method: str,
        headers: Mapping[str, str],
        body: Json | None,
        units: float | None,
        patience: Patience,
    ) -> Json:
        """An answer that is an object. One with success and without an object is asked for again, and then is none."""
        for attempt in range(3):
            answer = await self._ask(site, audience, url, method, headers, body, units, patience, _ONE)
            if answer.status in _SENT_ON:
                raise Stop(f"{site.name} sends requests on to another address; check its base URL")
            if answer.status in (202, 204):
                return {}
            try:
                said = answer.json()
            except (Stop, Transient):  # a page of a gateway, half of something, or nothing
                said = None
            if isinstance(said, dict):
                return said
            await asyncio.sleep(_backoff(attempt))
        raise Transient(f"{site.name} answered with something that is not what was asked for")

    async def _ask(
        self,
        site: Site,
        audience: str,
        url: str,
        method: str,
        headers: Mapping[str, str],
        body: Json | None,
        units: float | None,
        patience: Patience,
        limits: Limits,
    ) -> Answer:
        """Ask until there is an answer of success or one that sends on; `units` None: of SharePoint's REST."""
        fresh, waited = True, 0.0
        for attempt in range(patience.attempts):
            await (self.budget.rest() if units is None else self.budget.graph(units))
            token = await self.tokens.bearer(audience)
            sent = {"User-Agent": USER_AGENT, "Authorization": f"Bearer {token}", **headers}
            try:
                answer = await site.request(
                    method, url, headers=sent, json=body, repeatable=True, limits=limits, as_is=_AS_IS
                )
            except Transient:
                if attempt + 1 == patience.attempts:
                    raise
                await asyncio.sleep(_backoff(attempt))
                continue
            if answer.ok or answer.status in _SENT_ON:
                self.budget.answered(answer.headers)
                return answer
            if answer.status == 401 and fresh:
                fresh = False
                self.tokens.refuse(audience, token)
                continue
            if answer.status not in RETRIED:
                raise _refusal(answer)
            waited += self._pause(answer, attempt)
            if waited > patience.seconds or attempt + 1 == patience.attempts:
                raise Transient(f"{site.name} can't answer now ({answer.status})", min(waited, LONGEST_PAUSE))
            if answer.status not in (429, 503):
                await asyncio.sleep(_backoff(attempt))
        raise Transient(f"{site.name} does not accept the app's token")

    def _pause(self, answer: Answer, attempt: int) -> float:
        if answer.status in (429, 503):
            return self.budget.sent_away(answer.headers)
        return _backoff(attempt)


_NO_METADATA = {"Accept": "application/json;odata=nometadata"}


def _inner(number: int, ask: Ask) -> Json:
    written: Json = {"id": str(number), "method": ask.method, "url": f"/{ask.url.lstrip('/')}"}
    if ask.body is not None:
        written |= {"headers": {"Content-Type": "application/json"}, "body": ask.body}
    return written


def _refusal(answer: Answer) -> DoorError:
    """A status that stays what it is, with the service's own code; its sentences stay away from ours."""
    code = ""
    try:
        said = answer.json()
        found = said.get("error", said.get("odata.error")) if isinstance(said, dict) else None
        code = str(found.get("code", ""))[:120] if isinstance(found, dict) else ""
    except (Stop, Transient):
        pass
    if answer.status == 413:
        return Skip(f"{answer.site} finds it too large (413)")
    named = f"{answer.status} {code}" if code and code.isprintable() else str(answer.status)
    return Refused(
        f"{answer.site} refused the request ({named})", answer.status, code, answer.headers.get("location", "")
    )


def _with_query(url: str, params: Mapping[str, str] | None) -> str:
    """An address with its query, written so that no library encodes it once more."""
    if not params:
        return url
    return f"{url}{'&' if '?' in url else '?'}{urlencode(params, safe='$,/@:()', quote_via=quote)}"


def _address(text: str, base: str = "") -> URL:
    try:
        found = URL(base).join(URL(text, encoded=True)) if base else URL(text, encoded=True)
        if found.host and found.scheme in ("http", "https"):
            return found
    except (ValueError, TypeError):
        pass
    raise Stop("SharePoint named an address that can't be used")


def _backoff(attempt: int) -> float:
    return min(0.3 * 2.0**attempt, 20.0) * random.uniform(0.5, 1.0)  # noqa: S311 - nothing is guarded by it
