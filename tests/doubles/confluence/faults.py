"""What goes wrong between us and a wiki, beside the faults that every vendor has (`tests.doubles.vendor`)."""

from __future__ import annotations

from email.utils import format_datetime
from typing import Any

from aiohttp import web

from tests.doubles.vendor import Fault, changed, half, page, raw, silence, status

Json = dict[str, Any]


def empty(code: int = 200) -> Fault:
    """A success with nothing in it."""

    async def fault(_request: web.Request, _: Json) -> web.StreamResponse:
        return web.Response(status=code, content_type="application/json")

    return fault


def busy(seconds: int = 0) -> Fault:
    """429 that asks for a pause, in seconds."""
    return status(429, {"Retry-After": str(seconds), "X-RateLimit-Reason": "confluence-burst-based"})


def busy_until(at: Any) -> Fault:
    """429 that asks for a pause, by a date; its own `Date` is the same moment."""

    async def fault(_request: web.Request, _: Json) -> web.StreamResponse:
        when = format_datetime(at, usegmt=True)
        return web.json_response({}, status=429, headers={"Retry-After": when, "Date": when})

    return fault


def onward(next_link: str) -> Fault:
    """The right results, and a next link that leads here."""

    def change(right: Json) -> None:
        right.setdefault("_links", {})["next"] = next_link

    return changed(change)


def in_circles() -> Fault:
    """The right results, and a next link to the very same request."""

    async def fault(request: web.Request, right: Json) -> web.StreamResponse:
        right.setdefault("_links", {})["next"] = request.raw_path
        return web.json_response(right)

    return fault


def no_results() -> Fault:
    """A well-formed answer without a single result and with nothing to follow."""

    async def fault(_request: web.Request, _: Json) -> web.StreamResponse:
        return web.json_response({"results": [], "start": 0, "limit": 25, "size": 0, "_links": {}})

    return fault


def short(by: int) -> Fault:
    """The last rows are missing, and nothing says so."""

    def change(right: Json) -> None:
        if isinstance(right.get("results"), list):
            del right["results"][-by:]

    return changed(change)


EVERY: tuple[tuple[str, Fault], ...] = (
    ("a 403", status(403)),
    ("a 404", status(404)),
    ("a 500", status(500)),
    ("a 503", status(503)),
    ("a 429 that asks for much", busy(3600)),
    ("a page instead of JSON", page()),
    ("nothing at all", empty()),
    ("half of it", half()),
    ("no JSON", raw(b'{"results": [')),
    ("a circle", in_circles()),
)
"""One of each kind, for tests that let any single request fail."""

__all__ = [
    "EVERY",
    "busy",
    "busy_until",
    "empty",
    "half",
    "in_circles",
    "no_results",
    "onward",
    "page",
    "raw",
    "short",
    "silence",
    "status",
]
