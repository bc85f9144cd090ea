"""Where Slack's requests come in. Each is acknowledged at once; what it asks is answered at the desk.

The order matters: size, signature over the raw bytes, content, the gate, and only then a durable letter with the keys
by which a repeated delivery is known. Whoever fails the signature learns nothing, and no body is ever written to a log.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime

from aiohttp import web

from bot.answering.outcome import BUSY
from bot.metrics import Metrics
from bot.slack import sentences
from bot.slack.answer import Answerer, letter_of
from bot.slack.blocks import sentence
from bot.slack.desk import Desk
from bot.slack.incoming import Asked, Challenge, Ignored, Malformed, understood
from bot.slack.signature import is_slacks
from connectors.chat import Chat, Inbox, Message, MostWaiting, Received, Workspace
from connectors.errors import DoorError

LARGEST = 256_000  # bytes of a request
LIMITS = MostWaiting(person=5, workspace=200)
_READING = 5.0  # seconds for the bytes to arrive
_ACCEPTING = 2.2  # seconds for everything before the acknowledgement: Slack waits three
_MOST_TOLD = 50  # people who are told at the same time that too many questions wait
_NOBODY = Workspace("", "")
_COMMANDS = {"": sentences.HELP, "help": sentences.HELP, "privacy": sentences.PRIVACY, "sources": sentences.NOT_YET}


class Edge:
    """Takes requests in."""

    def __init__(
        self,
        secret: str,
        chat: Chat,
        inbox: Inbox,
        desk: Desk,
        answerer: Answerer,
        clock: Callable[[], datetime],
        metrics: Metrics,
    ) -> None:
        self._secret = secret
        self._chat = chat
        self._inbox = inbox
        self._desk = desk
        self._answerer = answerer
        self._clock = clock
        self._metrics = metrics
        self._telling: set[asyncio.Task[None]] = set()
        self.pages: Sequence[web.RouteDef] = ()  # what else people's browsers reach

    async def close(self) -> None:
        """Wait for what is still being told, within a bound."""
        if self._telling:
            await asyncio.wait(self._telling, timeout=_READING)

    async def events(self, request: web.Request) -> web.Response:
        """Every request of Slack's, on its one address."""
        body = await _bytes(request)
        if body is None:
            return self._answered("too large", web.Response(status=413))
        given = [request.headers.getall(name, []) for name in ("X-Slack-Request-Timestamp", "X-Slack-Signature")]
        timestamp, signature = (values[0] if len(values) == 1 else None for values in given)
        encoded = "Content-Encoding" in request.headers  # what was signed are other bytes then
        if encoded or not is_slacks(self._secret, timestamp, signature, body, self._clock()):
            return self._answered("not slack's", web.Response(status=401))
        return await self._verified(request.headers.get("Content-Type", ""), body)

    async def _verified(self, content_type: str, body: bytes) -> web.Response:
        us = await self._us()
        try:
            incoming = understood(content_type, body, us or _NOBODY)
        except Malformed:
            return self._answered("malformed", web.Response(status=400))
        match incoming:
            case Challenge(text):
                return self._answered("challenge", web.json_response({"challenge": text}))
            case Ignored(why) if us is not None or why == "ssl check":
                return self._answered("ignored", web.Response())
            case Asked() if incoming.surface == "command" and (words := self._said_at_once(incoming)):
                return self._answered("command", _shown(sentence(words)))
            case Asked():
                return await self._asked(incoming, us or _NOBODY)
            case _:  # we don't know who we are yet, so it can't be told whom this is for
                return self._answered("busy", web.Response(status=503))

    async def _us(self) -> Workspace | None:
        try:
            async with asyncio.timeout(_ACCEPTING):
                return await self._chat.workspace()
        except (DoorError, TimeoutError):
            return None

    async def _asked(self, asked: Asked, us: Workspace) -> web.Response:
        command = asked.surface == "command"
        body = letter_of(asked, secrets.token_hex(8))
        try:
            async with asyncio.timeout(_ACCEPTING):
                received = await self._inbox.receive(asked.keys, us.team, asked.account, body, LIMITS, self._clock())
        except (DoorError, TimeoutError):
            # Slack delivers an event again that was not acknowledged, and never a command.
            busy = _shown(sentence(BUSY)) if command else web.Response(status=503)
            return self._answered("busy", busy)
        if received == "accepted":
            self._desk.ring()
            taken = sentences.DOING if self._commanded(asked) else sentences.COMMAND_TAKEN
            return self._answered(received, _shown(sentence(taken)) if command else web.Response())
        words = _turned_away(received)
        if words and not command:
            self._tell(asked, words)
        return self._answered(received, _shown(sentence(words)) if words and command else web.Response())

    def _commanded(self, asked: Asked) -> bool:
        """Whether it is a command that is carried out, not a question."""
        commands = self._answerer.commands
        return commands is not None and asked.surface == "command" and commands.takes(asked.text)

    def _said_at_once(self, asked: Asked) -> str | None:
        return None if self._commanded(asked) else _said_at_once(asked)

    def _tell(self, asked: Asked, words: str) -> None:
        if len(self._telling) < _MOST_TOLD:
            task = asyncio.create_task(self._answerer.turn_away(asked, words))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    def _answered(self, how: str, response: web.Response) -> web.Response:
        self._metrics.slack_requests.labels(how).inc()
        return response


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


def _said_at_once(asked: Asked) -> str | None:
    """The answer to a command that is no question."""
    word = asked.text.casefold()
    match word:
        case "link":
            return sentences.LINKED_BY_ADMIN.format(account=asked.account)
        case "unlink":
            return sentences.UNLINKED_BY_ADMIN.format(account=asked.account)
        case "ask":
            return sentences.HELP
        case _:
            return _COMMANDS.get(word)


def _turned_away(received: Received) -> str | None:
    match received:
        case "person is full":
            return sentences.PERSON_FULL
        case "workspace is full":
            return sentences.WORKSPACE_FULL
        case _:
            return None


def _shown(message: Message) -> web.Response:
    """The immediate answer to a command, for the person who gave it."""
    return web.json_response({"response_type": "ephemeral", "text": message.text, "blocks": list(message.blocks)})
