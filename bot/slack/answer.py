"""One letter answered: who asks and who listens, the answer, and its way to exactly those who may see it.

What is for everyone in a place is said in its thread. All else goes to the asker alone: as the answer to his command,
as a message in the channel that only he sees, or, where neither is possible, in the direct message with him.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from bot.answering.ask import ask
from bot.answering.doors import Doors
from bot.answering.outcome import BUSY, Outcome, name
from bot.answering.question import Question
from bot.metrics import Metrics
from bot.slack import sentences
from bot.slack.blocks import reply, sentence
from bot.slack.commands import Commands
from bot.slack.incoming import Asked
from bot.slack.place import Accounts, Present
from connectors.chat import Chat, Letter, Message
from connectors.errors import DoorError, Skip
from policies.names import Principal

_STATUS_SECONDS = 3.0  # that showing what we do may take; it is only for the eye
_LONGEST = 4_000  # characters of a question that are kept; fewer are read


def letter_of(asked: Asked, mark: str) -> dict[str, Any]:
    """What is kept of a question until it is answered. `mark`: an opaque name for its answer."""
    return {**asdict(replace(asked, text=asked.text[:_LONGEST])), "mark": mark}


def opened(body: Mapping[str, Any]) -> tuple[Asked, str]:
    """The question and the mark, as `letter_of` kept them."""
    content = dict(body)
    mark = content.pop("mark")
    return Asked(**{**content, "keys": tuple(content["keys"])}), mark


@dataclass(frozen=True, slots=True)
class Answerer:
    """Answers letters; everything that this takes."""

    chat: Chat
    accounts: Accounts
    doors: Doors
    metrics: Metrics
    log: Any
    commands: Commands | None = None

    async def answer(self, letter: Letter) -> None:
        """Answer it, or say why not. Raises DoorError when that could not be delivered."""
        asked, mark = opened(letter.body)
        if letter.times > 1 and await self._answered(asked, mark):
            return
        if fixed := _fixed(asked):
            await self._alone(asked, sentence(fixed, mark))
            return
        if self.commands is not None and asked.surface == "command" and self.commands.takes(asked.text):
            await self._alone(asked, await self.commands.reply(asked))
            return
        status = asyncio.create_task(self._show(asked, sentences.WORKING))
        try:
            outcome = await self._ask(asked)
        finally:
            await status
        in_thread = await self._deliver(asked, outcome, reply(outcome, mark))
        if not in_thread:
            await self._show(asked, "")

    async def apologise(self, letter: Letter) -> None:
        """Say that there is no answer now, to the asker alone."""
        asked, mark = opened(letter.body)
        await self._alone(asked, sentence(BUSY, mark))

    async def turn_away(self, asked: Asked, words: str) -> None:
        """Say why it is not taken, to the asker alone."""
        with suppress(DoorError):
            await self._alone(asked, sentence(words))

    async def _answered(self, asked: Asked, mark: str) -> bool:
        """Whether the answer is there already: a process may have ended between posting it and saying so. Only a direct
        message can be looked into; elsewhere it is rather answered twice than never."""
        return asked.surface == "direct" and await self.chat.said(asked.channel, asked.thread or asked.ts, mark)

    async def _ask(self, asked: Asked) -> Outcome:
        began = self.doors.timer()
        largest = self.doors.policy.rules.audience.largest
        us = await self.chat.workspace()
        present = Present(asked, us, self.chat, self.accounts, self.doors.directory, largest)
        place = await present.place()
        question = Question(Principal(asked.account), place, asked.text, self.doors.clock())
        outcome = await ask(question, replace(self.doors, directory=present))
        seconds = self.doors.timer() - began
        self.metrics.asks.labels(name(outcome)).inc()
        self.metrics.ask_seconds.observe(seconds)
        self.log.info(
            "question",
            trace=outcome.trace,
            outcome=name(outcome),
            place=place.kind.value,
            audience=outcome.audience.visible_to,
            seconds=round(seconds, 3),
        )
        return outcome

    async def _deliver(self, asked: Asked, outcome: Outcome, message: Message) -> bool:
        """Post it; whether it is in the thread, where a status would go out by itself."""
        if outcome.audience.visible_to == "everyone":
            try:
                await self.chat.say(asked.channel, asked.thread or asked.ts, message)
                return True
            except Skip:  # the channel was archived, or we were taken out of it
                pass
        elif asked.surface == "direct" and outcome.audience.place == "dm":
            await self.chat.say(asked.channel, asked.thread or asked.ts, message)
            return True
        await self._alone(asked, message)
        return False

    async def _alone(self, asked: Asked, message: Message) -> None:
        """To the asker and nobody else, in the nearest way that works."""
        if asked.reply_to is not None:
            with suppress(Skip):
                await self.chat.respond(asked.reply_to, message)
                return
        if asked.surface == "mention":
            # At the top of a channel it is shown there: in a thread that he has not open yet he would never see it.
            with suppress(Skip):
                await self.chat.say_alone(asked.channel, asked.asker, asked.thread, message)
                return
        await self.chat.say_direct(asked.asker, message)

    async def _show(self, asked: Asked, text: str) -> None:
        if asked.surface == "command":
            return
        with suppress(DoorError, TimeoutError):
            async with asyncio.timeout(_STATUS_SECONDS):
                await self.chat.status(asked.channel, asked.thread or asked.ts, text)


def _fixed(asked: Asked) -> str | None:
    """The sentence for what is no question."""
    if not asked.text:
        return sentences.NO_WORDS
    return sentences.HELP if asked.text.casefold().strip(" .!?") == "help" else None
