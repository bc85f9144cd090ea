"""Where Slack's requests come in over HTTP. Each is acknowledged at once; what it asks is done at the desk.

The order matters: size, signature over the raw bytes, content, and only then the intake. Whoever fails the signature
learns nothing, and no body is ever written to a log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from aiohttp import web

from bot.metrics import Metrics
from bot.slack.incoming import understood
from bot.slack.intake import LIMITS, Intake, Reply, deadline
from bot.slack.reading import Malformed
from bot.slack.signature import is_slacks
from connectors.chat import Workspace

__all__ = ["LARGEST", "LIMITS", "Edge"]

LARGEST = 256_000  # bytes of a request
_READING = 5.0  # seconds for the bytes to arrive
_AGAIN = "5"  # seconds; Slack repeats what was not acknowledged by a clock of its own, others may heed this
_NOBODY = Workspace("", "")


class Edge:
    """Takes requests in."""

    def __init__(self, secret: str | None, intake: Intake, clock: Callable[[], datetime], metrics: Metrics) -> None:
        """`secret`: signs Slack's requests; without one none is taken, as in Socket Mode."""
        self._secret = secret
        self._intake = intake
        self._clock = clock
        self._metrics = metrics
        self.pages: Sequence[web.RouteDef] = ()  # what else people's browsers reach

    async def events(self, request: web.Request) -> web.Response:
        """Every request of Slack's, on its one address."""
        body = await _bytes(request)
        if body is None:
            return self._answered("too large", web.Response(status=413))
        given = [request.headers.getall(name, []) for name in ("X-Slack-Request-Timestamp", "X-Slack-Signature")]
        timestamp, signature = (values[0] if len(values) == 1 else None for values in given)
        encoded = "Content-Encoding" in request.headers  # what was signed are other bytes then
        if encoded or not is_slacks(self._secret or "", timestamp, signature, body, self._clock()):
            return self._answered("not slack's", web.Response(status=401))
        by = deadline()
        us = await self._intake.us(by)
        try:
            incoming = understood(request.headers.get("Content-Type", ""), body, us or _NOBODY)
        except Malformed:
            return self._answered("malformed", web.Response(status=400))
        reply = await self._intake.take(incoming, us, by)
        return self._answered(reply.how, _response(reply))

    def _answered(self, how: str, response: web.Response) -> web.Response:
        self._metrics.slack_requests.labels(how).inc()
        return response


def _response(reply: Reply) -> web.Response:
    if not reply.acknowledged:
        return web.Response(status=503, headers={"Retry-After": _AGAIN})
    return web.Response() if reply.content is None else web.json_response(reply.content)


async def _bytes(request: web.Request) -> bytes | None:
    """The body as it came; None when it is too large or comes too slowly."""
    if (request.content_length or 0) > LARGEST:
        return None
    body = bytearray()
    try:
        async with asyncio.timeout(_READING):
            async for piece in request.content.iter_any():
                body += piece
                if len(body) > LARGEST:
                    return None
    except TimeoutError:
        return None
    return bytes(body)
