"""What goes over the wire: requests and replies as values, faults that are switched on for a pattern, and the count."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from aiohttp import web

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request; the path is decoded once, as a server does."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    body: bytes = b""
    door: str = "graph"  # login | graph | sharepoint
    raw: str = ""  # path and query as they came

    @property
    def json(self) -> Any:
        return json.loads(self.body or b"{}")

    @classmethod
    def of_url(cls, method: str, url: str, headers: Mapping[str, str], body: bytes, door: str) -> Asked:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        return cls(method, unquote(parts.path), query, headers, body, door, url)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. `broken`: what happens to it on the way."""

    status: int
    body: Any = None  # bytes as they are, anything else as JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    broken: str = ""  # hang | drop | truncated

    @property
    def raw(self) -> bytes:
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body, ensure_ascii=False).encode()


def error(status: int, code: str, message: str = "", **headers: str) -> Reply:
    """An error as Graph writes it."""
    return Reply(status, {"error": {"code": code, "message": message or code, "innerError": {}}}, headers)


# ---------------------------------------------------------------- faults

Bend = Callable[[Asked, Reply], Reply]


@dataclass(slots=True)
class Fault:
    """Something that goes wrong with the requests that match, `times` of them after the first `after`."""

    pattern: str  # searched for in "METHOD /path?query", decoded
    bend: Bend
    times: int = 1_000_000
    after: int = 0
    met: int = 0
    done: int = 0
    instead: bool = False  # the request never gets to the service

    def applies(self, asked: Asked) -> bool:
        if not re.search(self.pattern, f"{asked.method} {unquote(asked.raw)}"):
            return False
        self.met += 1
        if self.met <= self.after or self.done >= self.times:
            return False
        self.done += 1
        return True


def status(code: int, name: str = "", **headers: str) -> Bend:
    """An error instead; headers by name with `_` for `-`."""
    written = {key.replace("_", "-"): value for key, value in headers.items()}
    return lambda asked, reply: error(code, name or f"error{code}", **written)


def throttled(seconds: str = "1", code: int = 429, *, remaining: str = "0") -> Bend:
    """Sent away; `seconds` may be a date."""
    limits = {"RateLimit-Limit": "1200", "RateLimit-Remaining": remaining, "RateLimit-Reset": "1"}
    return lambda asked, reply: replace(
        error(code, "activityLimitReached", "Application is over its quota"), headers={"Retry-After": seconds, **limits}
    )


def hanging(asked: Asked, reply: Reply) -> Reply:
    """No answer ever."""
    return replace(reply, broken="hang")


def dropped(asked: Asked, reply: Reply) -> Reply:
    """The connection ends without an answer."""
    return replace(reply, broken="drop")


def truncated(asked: Asked, reply: Reply) -> Reply:
    """Half of the answer, then the end of the connection."""
    return replace(reply, broken="truncated")


def a_page(asked: Asked, reply: Reply) -> Reply:
    """A web page with status 200, as a gateway shows it."""
    return Reply(200, b"<!DOCTYPE html><html><body>Sign in</body></html>", {"Content-Type": "text/html"})


def half_json(asked: Asked, reply: Reply) -> Reply:
    """Complete as HTTP, broken as JSON."""
    return Reply(200, reply.raw[: max(1, len(reply.raw) // 2)], {"Content-Type": "application/json"})


def nothing(asked: Asked, reply: Reply) -> Reply:
    """Status 200 and no body."""
    return Reply(200, b"", {"Content-Type": "application/json"})


def in_circles(asked: Asked, reply: Reply) -> Reply:
    """The link to the next page leads to this one."""
    if not _rows(reply):
        return reply
    here = "odata.nextLink" if asked.door == "sharepoint" else "@odata.nextLink"
    kept = {key: value for key, value in reply.body.items() if not key.endswith(("nextLink", "deltaLink"))}
    return replace(reply, body={**kept, here: _absolute(asked)})


def twice(asked: Asked, reply: Reply) -> Reply:
    """Every row comes two times."""
    rows = _rows(reply)
    return replace(reply, body={**reply.body, "value": [*rows, *rows]}) if rows else reply


def shuffled(seed: int) -> Bend:
    """Rows in another order."""

    def bend(asked: Asked, reply: Reply) -> Reply:
        rows = list(_rows(reply))
        random.Random(seed).shuffle(rows)
        return replace(reply, body={**reply.body, "value": rows}) if rows else reply

    return bend


class EmptyPages:
    """Before each page of a collection comes one without rows, with a link to the next."""

    def __call__(self, asked: Asked, reply: Reply) -> Reply:
        if not _rows(reply) or "again=1" in asked.raw:
            return reply
        name = "odata.nextLink" if asked.door == "sharepoint" else "@odata.nextLink"
        mark = "&" if "?" in asked.raw else "?"
        return replace(reply, body={"value": [], name: f"{_absolute(asked)}{mark}again=1"})


class LinkLast:
    """The last page of a delta is empty, and only it has the link to go on from."""

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def __call__(self, asked: Asked, reply: Reply) -> Reply:
        if "last=1" in asked.raw:
            return replace(reply, body={"value": [], "@odata.deltaLink": self._kept[asked.raw]})
        if not isinstance(reply.body, dict) or "@odata.deltaLink" not in reply.body or not reply.body["value"]:
            return reply
        raw = asked.raw + ("&" if "?" in asked.raw else "?") + "last=1"
        self._kept[raw] = reply.body["@odata.deltaLink"]
        link = f"http://{asked.headers['host']}{raw}"
        return replace(reply, body={"value": reply.body["value"], "@odata.nextLink": link})


def _rows(reply: Reply) -> list[Any]:
    found = reply.body.get("value") if isinstance(reply.body, dict) else None
    return found if isinstance(found, list) else []


def _absolute(asked: Asked) -> str:
    return f"http://{asked.headers['host']}{asked.raw}"


# ---------------------------------------------------------------- the count


@dataclass(slots=True)
class Count:
    """What was asked for, and what it costs where a price is published."""

    requests: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    asked: list[str] = field(default_factory=list)  # every request, "METHOD path?query"
    unknown: list[str] = field(default_factory=list)  # what no endpoint here was made for
    offences: list[str] = field(default_factory=list)  # what the real service would mind, or nobody should do
    keep: bool = True

    def note(self, asked: Asked, name: str, units: int) -> None:
        self.requests[name] += 1
        self.units[name] += units
        if self.keep:
            self.asked.append(f"{asked.method} {unquote(asked.raw)}")

    @property
    def total(self) -> int:
        return sum(self.units.values())

    def clear(self) -> None:
        self.requests.clear()
        self.units.clear()
        self.statuses.clear()
        self.asked.clear()


# ---------------------------------------------------------------- HTTP

Answering = Callable[[Asked], Awaitable[Reply]]


def application(door: str, answer: Answering) -> web.Application:
    """A web application that hands every request to `answer`."""

    async def handle(request: web.Request) -> web.StreamResponse:
        headers = {name.casefold(): value for name, value in request.headers.items()}
        asked = Asked.of_url(request.method, request.raw_path, headers, await request.read(), door)
        return await _sent(request, await answer(asked))

    made = web.Application(client_max_size=64_000_000)
    made.router.add_route("*", "/{path:.*}", handle)
    return made


async def _sent(request: web.Request, reply: Reply) -> web.StreamResponse:
    if reply.broken == "hang":
        await asyncio.Event().wait()
    if reply.broken == "drop" and request.transport is not None:
        request.transport.abort()
        raise asyncio.CancelledError
    headers = {"Content-Type": "application/json; charset=utf-8", **reply.headers}
    raw = reply.raw
    if reply.broken != "truncated":
        return web.Response(status=reply.status, body=raw, headers=headers)
    response = web.StreamResponse(status=reply.status, headers={**headers, "Content-Length": str(len(raw) + 100)})
    with suppress(ConnectionError):
        await response.prepare(request)
        await response.write(raw[: len(raw) // 2])
        if request.transport is not None:
            request.transport.abort()
    return response
