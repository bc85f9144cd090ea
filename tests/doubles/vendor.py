"""What doubles of model vendors share: calls are kept word for word, and the next answers can be made to go wrong."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.doubles.web import served

Json = dict[str, Any]
Fault = Callable[[web.Request, Json], Awaitable[web.StreamResponse]]
"""Answers in the place of the right answer, which it is given."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: Json


class Refusal(Exception):
    """What the vendor says to a request that is not as its reference wants it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class Vendor:
    """A server with right answers by path; subclasses know them."""

    calls: list[Call] = field(default_factory=list)
    cancelled: int = 0  # requests whose sender went away before the answer
    told: Callable[[Call], None] = lambda _: None  # of each request as it comes in
    _faults: dict[str, deque[Fault]] = field(default_factory=lambda: defaultdict(deque))
    _always: dict[str, Fault] = field(default_factory=dict)

    paths = ()

    async def right(self, path: str, body: Json) -> Json:
        """What a vendor answers when nothing is wrong; raises Refusal."""
        raise NotImplementedError

    def allowed(self, request: web.Request) -> None:
        """Raises Refusal where the key is not right."""

    def next(self, path: str, *faults: Fault) -> None:
        """The next answers on this path go wrong in these ways."""
        self._faults[path].extend(faults)

    def always(self, path: str, fault: Fault) -> None:
        """Every answer on this path goes wrong in this way."""
        self._always[path] = fault

    def calm(self) -> None:
        """Forget what was asked, and answer rightly again."""
        self.calls.clear()
        self._faults.clear()
        self._always.clear()

    def to(self, path: str) -> list[Call]:
        """What was asked on a path."""
        return [call for call in self.calls if call.path == path]

    def heard(self) -> str:
        """Every word that ever came in."""
        return "\n".join(json.dumps(call.body, ensure_ascii=False) for call in self.calls)

    def open(self) -> AbstractAsyncContextManager[str]:
        """Serve; gives the base URL."""
        return served(dict.fromkeys(self.paths, self._serve))

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read() or b"{}")
        self.calls.append(call := Call(request.path, dict(request.headers), body))
        self.told(call)
        try:
            self.allowed(request)
            right = await self.right(request.path, body)
        except Refusal as refusal:
            return web.json_response({"id": "req-1", "message": str(refusal)}, status=refusal.status)
        waiting = self._faults[request.path]
        fault = waiting.popleft() if waiting else self._always.get(request.path)
        try:
            return web.json_response(right) if fault is None else await fault(request, right)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


# ---------------------------------------------------------------- what can go wrong


def status(code: int, headers: Mapping[str, str] | None = None) -> Fault:
    """An error of the vendor's, which quotes what it was sent, as some do."""

    async def fault(request: web.Request, _: Json) -> web.StreamResponse:
        return web.json_response({"message": f"bad: {await request.text()}"}, status=code, headers=headers)

    return fault


def page(code: int = 200) -> Fault:
    """The sign-in page of a proxy, or its way of saying that it is out of order."""

    async def fault(_request: web.Request, _: Json) -> web.StreamResponse:
        return web.Response(text="<html><body>Please sign in</body></html>", content_type="text/html", status=code)

    return fault


def raw(body: bytes) -> Fault:
    """These bytes, said to be JSON."""

    async def fault(_request: web.Request, _: Json) -> web.StreamResponse:
        return web.Response(body=body, content_type="application/json")

    return fault


def silence(seconds: float = 30.0) -> Fault:
    """Nothing, for a long time."""

    async def fault(_request: web.Request, right: Json) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.json_response(right)

    return fault


def half() -> Fault:
    """The first half of the right answer, and then the connection is gone."""

    async def fault(request: web.Request, right: Json) -> web.StreamResponse:
        body = json.dumps(right).encode()
        response = web.StreamResponse(headers={"Content-Length": str(len(body)), "Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
        assert request.transport is not None
        request.transport.close()
        return response

    return fault


def onward(address: str) -> Fault:
    """Go there instead."""

    async def fault(_request: web.Request, _: Json) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": address})

    return fault


def changed(change: Callable[[Json], object]) -> Fault:
    """The right answer with something changed in it."""

    async def fault(_request: web.Request, right: Json) -> web.StreamResponse:
        change(right)
        return web.json_response(right)

    return fault
