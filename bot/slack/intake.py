"""What was verified is taken in: acknowledged within Slack's three seconds, and kept until it is done.

The same way for HTTP and Socket Mode. Only what needs somebody's form within three seconds, and a Stop, is done at
once; all else becomes a durable letter, with the keys by which a repeated delivery is known.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.answering.outcome import BUSY
from bot.slack import sentences
from bot.slack.blocks import sentence
from bot.slack.clerk import Clerk
from bot.slack.desk import Desk
from bot.slack.incoming import COMMAND, Asked, Challenge, Changed, Ignored, Incoming
from bot.slack.letters import letter_of
from bot.slack.pressing import About, HomeOpened, Pressed, Stopped, Submitted
from connectors.chat import Chat, Inbox, Message, MostWaiting, Received, Workspace
from connectors.errors import DoorError

LIMITS = MostWaiting(person=5, workspace=200)
_ACCEPTING = 2.2  # seconds for everything before the acknowledgement: Slack waits three
_AT_ONCE = 50  # things that are done beside the letters at the same time
_CLOSING = 5.0  # seconds for these at the end
_COMMANDS = {"": sentences.HELP, "help": sentences.HELP, "privacy": sentences.PRIVACY, "sources": sentences.NOT_YET}


@dataclass(frozen=True, slots=True)
class Reply:
    """How a request is acknowledged; `how` is one of a few fixed words. No acknowledgement makes Slack try again."""

    how: str
    acknowledged: bool = True
    content: Mapping[str, Any] | None = None


_BUSY = Reply("busy", acknowledged=False)


class Intake:
    """Takes in what was verified."""

    def __init__(
        self,
        chat: Chat,
        inbox: Inbox,
        desk: Desk,
        clerk: Clerk,
        clock: Callable[[], datetime],
        limits: MostWaiting = LIMITS,
    ) -> None:
        self._limits = limits
        self._chat = chat
        self._inbox = inbox
        self._desk = desk
        self._clerk = clerk
        self._clock = clock
        self._beside: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Wait for what is still being done beside the letters, within a bound."""
        if self._beside:
            await asyncio.wait(self._beside, timeout=_CLOSING)

    async def us(self, deadline: float) -> Workspace | None:
        """Who we are; None while Slack does not tell, and at the deadline of the event loop's clock."""
        try:
            async with asyncio.timeout_at(deadline):
                return await self._chat.workspace()
        except (DoorError, TimeoutError):
            return None

    async def take(self, incoming: Incoming, us: Workspace | None, deadline: float) -> Reply:
        """Take it in, or say at the deadline that it was not."""
        match incoming:
            case Challenge(text):
                return Reply("challenge", content={"challenge": text})
            case Ignored(why) if us is not None or why == "ssl check":
                return Reply("ignored")
            case Asked() if incoming.surface == "command" and (words := self._said_at_once(incoming)):
                return Reply("command", content=shown(sentence(words)))
            case Ignored(why) if why == COMMAND:
                return _BUSY_COMMAND
            case _ if us is None:  # we don't know who we are yet, so it can't be told whom this is for
                return _BUSY
            case Asked() | Pressed() | Submitted() | HomeOpened():
                return await self._letter(incoming, us, deadline)
            case About():
                return self._do("form", self._clerk.show_ask(incoming, secrets.token_hex(16)))
            case Stopped(asker, channel, thread):
                self._clerk.answerer.stop(asker, channel, thread)
                return Reply("stopped")
            case Changed(user):
                self._clerk.answerer.accounts.drop(user)
                return Reply("changed")
            case _:
                return Reply("ignored")

    async def _letter(self, content: Asked | Pressed | Submitted | HomeOpened, us: Workspace, deadline: float) -> Reply:
        command = isinstance(content, Asked) and content.surface == "command"
        # Who gave a command is told at once; whoever looks at his own page sees it as it was.
        told = not command and not isinstance(content, HomeOpened)
        body = letter_of(content, secrets.token_hex(16))
        try:
            with self._desk.arrival():
                async with asyncio.timeout_at(deadline):
                    received = await self._inbox.receive(
                        content.keys, us.team, content.account, body, self._limits, self._clock(), told=told
                    )
        except (DoorError, TimeoutError):
            # Slack delivers an event again that was not acknowledged, and never a command.
            return _BUSY_COMMAND if command else _BUSY
        if received == "full":
            return _BUSY
        if received != "twice":
            self._desk.ring()
        if command and isinstance(content, Asked):
            return self._command_taken(content, received)
        if received == "accepted" and isinstance(content, Pressed) and content.deed == "bad":
            return self._do(received, self._clerk.show_reasons(content))
        return Reply(received)

    def _command_taken(self, asked: Asked, received: Received) -> Reply:
        words = _turned_away(received)
        if received == "accepted":
            words = sentences.DOING if self._commanded(asked) else sentences.COMMAND_TAKEN
        return Reply(received, content=shown(sentence(words)) if words else None)

    def _commanded(self, asked: Asked) -> bool:
        """Whether it is a command that is carried out, not a question."""
        commands = self._clerk.answerer.commands
        return commands is not None and asked.surface == "command" and commands.takes(asked.text)

    def _said_at_once(self, asked: Asked) -> str | None:
        return None if self._commanded(asked) else _said_at_once(asked)

    def _do(self, how: str, work: Coroutine[Any, Any, None]) -> Reply:
        """Do it beside the letters, after the acknowledgement."""
        if len(self._beside) < _AT_ONCE:
            task = asyncio.create_task(work)
            self._beside.add(task)
            task.add_done_callback(self._beside.discard)
            return Reply(how)
        work.close()  # Slack tells whoever pressed that it did not work
        return _BUSY


def deadline() -> float:
    """When what comes now must be acknowledged, by the event loop's clock."""
    return asyncio.get_running_loop().time() + _ACCEPTING


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


def shown(message: Message) -> Mapping[str, Any]:
    """The immediate answer to a command, for the person who gave it."""
    return {"response_type": "ephemeral", "text": message.text, "blocks": list(message.blocks)}


_BUSY_COMMAND = Reply("busy", content=shown(sentence(BUSY)))
