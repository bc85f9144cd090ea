"""Socket Mode's line to Slack: an address that is good once, and a WebSocket on which envelopes come and are answered.

Every wait has an end: for the address, the connection, its hello, and, by pings, for a line that went dead. What comes
is bounded in size. Nothing comes out but envelopes and the DoorError family.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import aiohttp
from yarl import URL

from connectors.chat import Envelope, Leaving
from connectors.errors import Stop, Transient
from connectors.http import Limits, Site
from connectors.slack_reading import checked, text

LARGEST = 1_000_000  # bytes of an envelope
_LIMITS = Limits(connect=5.0, idle=10.0, whole=30.0, attempts=3, longest_pause=15.0, largest=100_000)
_HELLO = 10.0  # seconds until it must have come
_BEAT = 15.0  # seconds between pings; half of it for the answer
_SENDING = 5.0


class SocketLine:
    """One connection, after its hello."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def receive(self) -> Envelope | Leaving | None:
        """What comes next; None for what is nothing to us. Raises Transient when the line is down."""
        message = await self._socket.receive()
        if message.type is not aiohttp.WSMsgType.TEXT:
            raise Transient("slack's socket closed")
        return _read(str(message.data))

    async def acknowledge(self, envelope: str, content: Mapping[str, Any] | None) -> None:
        """Tell that it was taken in."""
        answer = {"envelope_id": envelope, **({"payload": dict(content)} if content else {})}
        try:
            async with asyncio.timeout(_SENDING):
                await self._socket.send_str(json.dumps(answer))
        except (aiohttp.ClientError, ConnectionError, TimeoutError) as error:
            raise Transient("slack's socket closed before an acknowledgement") from error


class SlackSocket:
    """Opens lines, as an async context."""

    def __init__(self, base_url: str, app_token: str) -> None:
        """`base_url`: Slack's API, or what stands in its place; then its sockets are at its host too."""
        self._api = Site("slack", base_url, _LIMITS)
        self._base = URL(base_url)
        self._token = app_token
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> SlackSocket:
        await self._api.__aenter__()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_LIMITS.connect)
        self._session = aiohttp.ClientSession(timeout=timeout, trust_env=False, cookie_jar=aiohttp.DummyCookieJar())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()
        await self._api.__aexit__(kind, error, trace)

    async def address(self) -> URL:
        """An address for one connection. Stop when the token is not good, or the address not Slack's."""
        headers = {"Authorization": f"Bearer {self._token}"}
        answer = checked(
            "apps.connections.open", await self._api.post("apps.connections.open", {}, headers=headers, repeatable=True)
        )
        url = URL(text(answer, "url"))
        host, at_home = url.host or "", url.host == self._base.host
        if not (at_home or host.endswith(".slack.com")) or url.scheme not in (("ws", "wss") if at_home else ("wss",)):
            raise Stop("slack gave an address for its socket that is not its own; check FOOTNOTE_SLACK_API_URL")
        return url

    @asynccontextmanager
    async def line(self) -> AsyncIterator[SocketLine]:
        """A connection that said hello. Raises the DoorError family."""
        assert self._session is not None  # noqa: S101 - inside the context
        url = await self.address()
        try:
            async with asyncio.timeout(_HELLO):
                socket = await self._session.ws_connect(url, heartbeat=_BEAT, max_msg_size=LARGEST)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise Transient("slack's socket can't be reached") from error
        try:
            await _hello(socket)
            yield SocketLine(socket)
        finally:
            await socket.close()


async def _hello(socket: aiohttp.ClientWebSocketResponse) -> None:
    try:
        async with asyncio.timeout(_HELLO):
            first = await socket.receive()
    except TimeoutError as error:
        raise Transient("slack's socket said nothing") from error
    if first.type is not aiohttp.WSMsgType.TEXT or '"hello"' not in str(first.data):
        raise Transient("slack's socket began with something else than hello")


def _read(said: str) -> Envelope | Leaving | None:
    try:
        content = json.loads(said)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict):
        return None
    if content.get("type") == "disconnect":
        reason = content.get("reason")
        return Leaving(reason if isinstance(reason, str) and reason.replace("_", "").isalnum() else "?")
    name, kind, payload = content.get("envelope_id"), content.get("type"), content.get("payload")
    if not isinstance(name, str) or not isinstance(kind, str) or not isinstance(payload, dict) or len(name) > 200:
        return None
    return Envelope(name, kind, payload)
