"""The way of an outcome to exactly those who may see it, once.

Before anything is posted it is written down that it will be, and afterwards where it stands. After a kill between the
two nobody knows whether it was: in a direct message that is looked up by its mark; a channel's history is not ours to
read, so there it is not said a second time, and the asker has his answer in the direct message with him instead.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from bot.answering.outcome import Answered, Outcome
from bot.slack import sentences
from bot.slack.blocks import Around, reply, sentence
from bot.slack.incoming import Asked
from bot.slack.memory import Memory, posted
from bot.slack.progress import Progress
from connectors.chat import Chat, Exchange, Message
from connectors.errors import DoorError, Skip, Transient


@dataclass(frozen=True, slots=True)
class Delivery:
    """Posts outcomes."""

    chat: Chat
    memory: Memory

    async def done(self, asked: Asked, mark: str, kept: Exchange | None) -> bool:
        """Whether a letter that was begun before has its answer."""
        if kept is not None and kept.state not in ("posting", "waiting"):
            return True
        if asked.surface == "direct":
            thread = asked.thread or asked.ts
            if ts := await self.chat.said(asked.channel, thread, mark):
                await self._posted(kept, asked.channel, ts, None)
                return True
            for left in await self.chat.unmarked(asked.channel, thread):
                await self.chat.take_back(asked.channel, left)
            return False
        if kept is None:
            return False
        channel = await self.chat.direct(asked.asker)
        if ts := await self.chat.said(channel, None, mark):
            await self._posted(kept, channel, ts, None)
            return True
        return False

    async def deliver(
        self, asked: Asked, exchange: Exchange, outcome: Outcome, progress: Progress, *, again: bool
    ) -> None:
        """Post it. `again`: it may have been posted before, so nothing is said in a channel."""
        await self.memory.keep(exchange)
        await progress.quiet()
        if asked.surface == "direct" and outcome.audience.place == "dm":
            await self._in_thread(asked, exchange, outcome, progress)
            return
        if outcome.audience.visible_to == "everyone" and not again:
            message = reply(outcome, exchange.name, Around(rated=True, deleted=True))
            with suppress(Skip):  # the channel was archived, or we were taken out of it
                ts = await self._say(exchange, asked.channel, asked.thread or asked.ts, message)
                await self._posted(exchange, asked.channel, ts, None)
                return
        await self._alone(asked, exchange, outcome, again=again)
        await progress.clear()

    async def alone(self, asked: Asked, message: Message) -> None:
        """A sentence of ours, to the asker and nobody else, in the nearest way that works."""
        if asked.reply_to is not None:
            with suppress(Skip):
                await self.chat.respond(asked.reply_to, message)
                return
        if asked.surface == "mention":
            # At the top of a channel it is shown there: in a thread that he has not open yet he would never see it.
            with suppress(Skip):
                await self.chat.say_alone(asked.channel, asked.asker, asked.thread, message)
                return
        if asked.surface == "direct":
            with suppress(Skip):
                await self.chat.say(asked.channel, asked.thread or asked.ts, message)
                return
        await self.chat.say_direct(asked.asker, message)

    # ------------------------------------------------------------ ways

    async def _in_thread(self, asked: Asked, exchange: Exchange, outcome: Outcome, progress: Progress) -> None:
        message = reply(outcome, exchange.name, Around(rated=True, deleted=True))
        ts = await progress.finish(message)
        if ts is None:
            ts = await self._say(exchange, asked.channel, asked.thread or asked.ts, message)
        await self._posted(exchange, asked.channel, ts, None)

    async def _alone(self, asked: Asked, exchange: Exchange, outcome: Outcome, *, again: bool) -> None:
        """An answer stands in the direct message with him, where it stays and can be found again; a sentence is shown
        where he asked."""
        if asked.reply_to is not None and not again:
            with suppress(Skip):
                around = Around(rated=True, shared=_from_a_channel(asked))
                await self.chat.respond(asked.reply_to, reply(outcome, exchange.name, around))
                await self.memory.exchanges.turn(exchange.name, "posting", "posted")
                return
        if asked.surface == "mention" and not again and not isinstance(outcome, Answered):
            with suppress(Skip):
                await self.chat.say_alone(asked.channel, asked.asker, asked.thread, reply(outcome))
                await self.memory.exchanges.turn(exchange.name, "posting", "posted")
                return
        channel = await self.chat.direct(asked.asker)
        around = Around(asked.text, rated=True, deleted=True, shared=_from_a_channel(asked))
        ts = await self._say(exchange, channel, None, reply(outcome, exchange.name, around))
        team = (await self.chat.workspace()).team
        await self._posted(exchange, channel, ts, f"{team}|{channel}|{ts}")
        if asked.surface == "mention":
            with suppress(DoorError):
                pointer = sentence(sentences.POINTED)
                await self.chat.say_alone(asked.channel, asked.asker, asked.thread, pointer)

    async def _say(self, exchange: Exchange, channel: str, thread: str | None, message: Message) -> str:
        """Say it; where Slack itself told that it did not take it, it is known not to be there."""
        try:
            return await self.chat.say(channel, thread, message)
        except DoorError as error:
            if not isinstance(error, Transient) or error.retry_after is not None:
                await self.memory.exchanges.turn(exchange.name, "posting", "waiting")
            raise

    async def _posted(self, exchange: Exchange | None, channel: str, ts: str, answered_in: str | None) -> None:
        if exchange is not None:
            await self.memory.keep(posted(exchange, channel, ts, answered_in))


def _from_a_channel(asked: Asked) -> bool:
    """Whether it was asked where others are; what sort of place it is now is looked at when he shares it."""
    return asked.surface in ("mention", "command", "shortcut") and not asked.channel.startswith("D")
