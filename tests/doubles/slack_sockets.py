"""Slack's end of Socket Mode: tickets, hellos, envelopes to any one of the connections, acknowledgements, goodbyes."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from aiohttp import WSMsgType, web

Json = dict[str, Any]


@dataclass(slots=True)
class Sockets:
    """The connections of an app."""

    url: str = ""
    tickets: set[str] = field(default_factory=set)
    open: list[web.WebSocketResponse] = field(default_factory=list)
    opened: int = 0  # connections ever
    acks: dict[str, Json] = field(default_factory=dict)  # what came back, by envelope
    silent: bool = False  # whether nothing is read any more, as on a dead line
    _numbers: Any = field(default_factory=lambda: count(1))

    def ticket(self) -> str:
        """A new address, good for one connection."""
        name = f"t{next(self._numbers)}"
        self.tickets.add(name)
        return f"{self.url}/socket/{name}?app_id=A0FOOTNOTE"

    async def connect(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection."""
        if request.match_info["ticket"] not in self.tickets:
            return web.Response(status=403)
        self.tickets.discard(request.match_info["ticket"])
        socket = web.WebSocketResponse(autoping=not self.silent)
        await socket.prepare(request)
        self.open.append(socket)
        self.opened += 1
        await socket.send_json({"type": "hello", "num_connections": len(self.open), "debug_info": {}})
        try:
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    ack = json.loads(message.data)
                    self.acks[ack["envelope_id"]] = ack
        finally:
            if socket in self.open:
                self.open.remove(socket)
        return socket

    async def send(self, kind: str, payload: Any, *, retry: int = 0, seconds: float = 3.0) -> Json | None:
        """Send an envelope over one of the connections; what was acknowledged, or None when nothing was in time."""
        envelope = f"e{next(self._numbers)}"
        content = {"envelope_id": envelope, "type": kind, "payload": payload, "accepts_response_payload": True}
        if kind == "events_api":
            content |= {"retry_attempt": retry, "retry_reason": "timeout" if retry else ""}
        await self.open[next(self._numbers) % len(self.open)].send_json(content)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while envelope not in self.acks:  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
        return self.acks.get(envelope)

    async def raw(self, text: str) -> None:
        """Send something else."""
        await self.open[-1].send_str(text)

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Tell the connections that they end, and end them a moment later."""
        leaving = list(self.open)
        for socket in leaving:
            with suppress(ConnectionError):
                await socket.send_json({"type": "disconnect", "reason": reason, "debug_info": {}})
        await asyncio.sleep(0.05)
        for socket in leaving:
            await socket.close()

    async def close(self) -> None:
        """End all."""
        for socket in list(self.open):
            await socket.close()

    async def connected(self, number: int, seconds: float = 10.0) -> None:
        """Wait until so many connections stand."""
        async with asyncio.timeout(seconds):
            while len(self.open) < number:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
