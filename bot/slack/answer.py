"""One question answered: who asks and who listens, what was asked before, the answer, and its way to those who may see
it.

What is for everyone in a place is said in its thread. All else goes to the asker alone: as the answer to his command,
in the direct message with him, or as a sentence in the channel that only he sees.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from bot.answering.ask import ask
from bot.answering.doors import Doors
from bot.answering.outcome import BUSY, Answered, Outcome, name
from bot.answering.question import Question
from bot.metrics import Metrics
from bot.slack import sentences
from bot.slack.blocks import sentence
from bot.slack.commands import Commands
from bot.slack.delivery import Delivery
from bot.slack.incoming import Asked
from bot.slack.letters import letter_of, opened
from bot.slack.memory import Memory, exchange_of
from bot.slack.place import Accounts, Present
from bot.slack.probing import Probing
from bot.slack.progress import Progress, Streams, stopped
from connectors.chat import Chat, Exchange, Letter
from connectors.errors import DoorError
from policies.names import Principal

__all__ = ["Answerer", "letter_of", "opened"]


@dataclass(frozen=True, slots=True)
class Answerer:
    """Answers questions; everything that this takes."""

    chat: Chat
    accounts: Accounts
    doors: Doors
    metrics: Metrics
    log: Any
    memory: Memory
    commands: Commands | None = None
    streams: Streams = field(default_factory=Streams)
    probing: Probing = field(default_factory=Probing)
    under_way: dict[tuple[str, str, str], asyncio.Task[Any]] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)  # marks of those that their askers stopped

    @property
    def delivery(self) -> Delivery:
        """How outcomes are posted."""
        return Delivery(self.chat, self.memory)

    async def answer(self, letter: Letter) -> None:
        """Answer it, or say why not. Raises DoorError when that could not be delivered."""
        asked, mark = _question(letter.body)
        kept = await self.memory.find(mark) if letter.times > 1 else None
        if letter.times > 1 and await self.delivery.done(asked, mark, kept):
            return
        if fixed := _fixed(asked):
            await self.delivery.alone(asked, sentence(fixed, mark))
            return
        if self.commands is not None and asked.surface == "command" and self.commands.takes(asked.text):
            await self.delivery.alone(asked, await self.commands.reply(asked))
            return
        asked = _without_ask(asked)
        if letter.times == 1 and await self._asks_alike(asked):
            await self.delivery.alone(asked, sentence(sentences.TOO_ALIKE, mark))
            return
        await self._answer(asked, mark, kept)

    async def apologise(self, letter: Letter) -> None:
        """Say that there is no answer now, to the asker alone, unless he has one, or was told so, already."""
        asked, mark = _question(letter.body)
        with suppress(DoorError):  # told twice is better than not at all
            kept = await self.memory.find(mark)
            if letter.times > 1 and await self.delivery.done(asked, mark, kept):
                return
        await self.delivery.alone(asked, sentence(BUSY, mark))

    async def turn_away(self, asked: Asked, mark: str, words: str, *, again: bool) -> None:
        """Say why it is not taken, to the asker alone. `again`: that may have been said before."""
        if again and asked.surface == "direct":
            with suppress(DoorError):  # told twice is better than not at all
                if await self.chat.said(asked.channel, asked.thread or asked.ts, mark):
                    return
        await self.delivery.alone(asked, sentence(words, mark))

    def stop(self, asker: str, channel: str, thread: str) -> bool:
        """End the work on what this person asked in this thread; whether there was any here."""
        work = self.under_way.get((asker, channel, thread))
        if work is None:
            return False
        self.stopped.add(work.get_name())
        return work.cancel()

    async def _asks_alike(self, asked: Asked) -> bool:
        """Whether he asks nearly the same too often; administrators are told at the first time."""
        verdict = self.probing.verdict(asked.account, asked.text, self.doors.clock())
        if verdict == "few":
            return False
        self.metrics.throttled.inc()
        if verdict == "first too many":
            self.log.warning("somebody asks nearly the same again and again")
            if self.commands is not None:
                with suppress(DoorError):
                    await self.commands.alert(asked.account)
        return True

    # ------------------------------------------------------------ one question

    async def _answer(self, asked: Asked, mark: str, kept: Exchange | None) -> None:
        """`kept`: of an earlier attempt."""
        again = kept is not None and kept.state == "posting"
        key = (asked.asker, asked.channel, asked.thread or asked.ts)
        progress = Progress(self.chat, asked, self.streams, lambda: self.stop(*key))
        work = asyncio.create_task(self._ask(asked, mark, progress, kept, alone=again), name=mark)
        self.under_way[key] = work
        try:
            outcome, exchange = await work
        except asyncio.CancelledError:
            if mark not in self.stopped:
                work.cancel()
                await progress.leave()
                raise
            await self._was_stopped(asked, mark, progress)
            return
        except BaseException:
            await progress.leave()
            raise
        finally:
            self.under_way.pop(key, None)
            self.stopped.discard(mark)
        try:
            await self.delivery.deliver(asked, exchange, outcome, progress, again=again)
        finally:
            await progress.leave()

    async def _was_stopped(self, asked: Asked, mark: str, progress: Progress) -> None:
        if asked.surface == "direct" and await progress.finish(stopped(mark)) is not None:
            return
        await progress.leave()
        await self.delivery.alone(asked, stopped(mark))
        await progress.clear()

    async def _ask(
        self, asked: Asked, mark: str, progress: Progress, kept: Exchange | None, *, alone: bool
    ) -> tuple[Outcome, Exchange]:
        began = self.doors.timer()
        largest = self.doors.policy.rules.audience.largest
        us = await self.chat.workspace()
        heard = replace(asked, surface="shortcut") if alone else asked
        present = Present(heard, us, self.chat, self.accounts, self.doors.directory, largest)
        progress.begin(alone=asked.surface == "direct")
        place = await present.place()
        # Asked again, it is the same question: with what it was understood with, not with itself or what came since.
        earlier = tuple(kept.body["earlier"]) if kept is not None else await self.memory.earlier(asked, place, us)
        now = self.doors.clock()
        question = Question(Principal(asked.account), place, asked.text, now, earlier=earlier)
        outcome = await ask(question, replace(self.doors, directory=present, told=progress.told))
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
        texts = await self.doors.facts.digests(outcome.rests_on) if isinstance(outcome, Answered) else {}
        return outcome, exchange_of(asked, mark, us, place, outcome, earlier, texts, now)


def _question(body: Mapping[str, Any]) -> tuple[Asked, str]:
    asked, mark = opened(body)
    if not isinstance(asked, Asked):
        raise TypeError("a letter of another kind")
    return asked, mark


def _without_ask(asked: Asked) -> Asked:
    """`/footnote ask TEXT` asks TEXT."""
    verb, _, rest = asked.text.partition(" ")
    asks = asked.surface == "command" and verb.casefold() == "ask" and rest.strip()
    return replace(asked, text=rest.strip()) if asks else asked


def _fixed(asked: Asked) -> str | None:
    """The sentence for what is no question."""
    if not asked.text:
        return sentences.NO_WORDS
    return sentences.HELP if asked.text.casefold().strip(" .!?") == "help" else None
