"""The receiving end of what far sources tell by themselves: verified, durable before it is acknowledged, and quick.

An event never says what is readable. It closes what may have changed, and has the source looked at soon. Nothing of a
request that proves nothing is kept or logged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol

from aiohttp import web

from bot.far import FarSources
from connectors.errors import DoorError
from connectors.ports import Event, FarSource

LARGEST = 256_000  # bytes of a notification
_TOKEN = 4_096  # characters of a handshake's


class Told(Protocol):
    """What events told of one source is closed and kept."""

    async def told(self, events: Sequence[Event], at: datetime) -> None:
        """In one durable step."""
        ...


class Hooks:
    """The routes. `wake` is told the names of the sources to look at soon."""

    def __init__(
        self,
        sources: FarSources,
        memory: Callable[[str], Told],
        clock: Callable[[], datetime],
        wake: Callable[[str], None],
        log: Any,
    ) -> None:
        self._sources = sources
        self._memory = memory
        self._clock = clock
        self._wake = wake
        self._log = log

    @property
    def routes(self) -> list[web.RouteDef]:
        """`/webhooks/…`, for the front."""
        return [
            web.post("/webhooks/graph", self.graph),
            web.post("/webhooks/confluence/{name}", self.confluence),
        ]

    async def graph(self, request: web.Request) -> web.Response:
        """Microsoft Graph: the handshake of a new subscription, or notifications of any source of this tenant."""
        token = request.query.get("validationToken")
        if token is not None:
            if len(token) > _TOKEN:
                raise web.HTTPBadRequest
            return web.Response(text=token, content_type="text/plain")
        return await self._receive(request, "sharepoint", None)

    async def confluence(self, request: web.Request) -> web.Response:
        """Confluence: an event of one named source."""
        return await self._receive(request, "confluence", request.match_info["name"])

    async def _receive(self, request: web.Request, kind: str, name: str | None) -> web.Response:
        try:
            meant = await self._meant(kind, name)
            body = await _body(request)
            verified = False
            for source, far in meant:
                events = far.hook.events(request.headers, request.query, body) if far.hook is not None else None
                if events is not None:
                    verified = True
                    await self._take(source, events)
        except DoorError as error:
            # Not acknowledged, so that it is told again.
            self._log.error("webhook", kind=kind, error=type(error).__name__)
            raise web.HTTPServiceUnavailable from None
        if not verified:
            self._log.warning("webhook refused", kind=kind)
            raise web.HTTPUnauthorized
        return web.Response(status=202)

    async def _meant(self, kind: str, name: str | None) -> list[tuple[str, FarSource]]:
        return [
            (source, far)
            for source, far in (await self._sources.now()).items()
            if name in (None, source) and await self._sources.kind_of(source) == kind
        ]

    async def _take(self, source: str, events: Sequence[Event]) -> None:
        if not events:
            return
        await self._memory(source).told(events, self._clock())
        self._log.info("webhook", source=source, events=len(events), closed=sum(event.closes for event in events))
        self._wake(source)


async def _body(request: web.Request) -> bytes:
    """The whole body; 413 for one that is too large, however it is sent."""
    pieces, size = [], 0
    async for piece in request.content.iter_any():
        size += len(piece)
        if size > LARGEST:
            raise web.HTTPRequestEntityTooLarge(max_size=LARGEST, actual_size=size)
        pieces.append(piece)
    return b"".join(pieces)
