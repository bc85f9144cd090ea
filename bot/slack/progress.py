"""What somebody sees while he waits: a status at once, and in a direct message, when it takes longer, tasks under way.

Shown are our own fixed words and nothing of what was found; the answer's text comes once it was verified. A stream is
a nicety: where it can't begin the answer is a plain message, where it was cut the same message is changed, and where
that is not possible it is said anew. Whatever fails here is only for the eye.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from bot.slack import sentences
from bot.slack.blocks import sentence
from bot.slack.incoming import Asked
from connectors.chat import Chat, Ended, Message, Task
from connectors.errors import DoorError, Skip

PATIENCE = 2.0  # seconds until tasks are shown: Slack allows some twenty streams a minute in a workspace
_STATUS_SECONDS = 3.0  # that showing what we do may take
_REFRESH = 90.0  # seconds; Slack takes a status off after two minutes
_PACE = 1.0  # seconds between changes of a stream
_STEPS = (
    ("search", "Searching"),
    ("gate", "Checking what you may read"),
    ("write", "Writing"),
    ("deliver", "Checking"),
)
"""The stage of answering that ends each task, and the task's title."""
_NOT_HERE = ("unknown_method", "method_deprecated", "feature_not_enabled", "not_agent_app", "feature_disabled")


@dataclass(slots=True)
class Streams:
    """Whether this workspace has streams at all; found out once."""

    possible: bool = True
    sessions: bool = True
    patience: float = PATIENCE


@dataclass(slots=True)
class Progress:
    """The waiting of one asker."""

    chat: Chat
    asked: Asked
    streams: Streams
    stop: Callable[[], object]  # ends the work: he pressed Stop
    _done: int = 0
    _ts: str | None = None
    _ended: bool = False
    _stopped: bool = False  # by the asker, as the stream told
    _busy: bool = False
    _doubtful: bool = False  # whether a stream may have begun of which nothing is known
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _showing: list[asyncio.Task[None]] = field(default_factory=list)
    _speaking: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def thread(self) -> str:
        """Where it is shown."""
        return self.asked.thread or self.asked.ts

    def begin(self, *, alone: bool) -> None:
        """Show that we work. `alone`: nobody but the asker sees the place."""
        if self.asked.surface in ("command", "shortcut"):
            return
        self._showing.append(asyncio.create_task(self._keep_status()))
        if self.streams.patience >= 0:
            self._showing.append(asyncio.create_task(self._stream(alone)))

    def told(self, stage: str) -> None:
        """A stage of answering ended."""
        names = [name for name, _ in _STEPS]
        if stage in names:
            self._done = max(self._done, names.index(stage) + 1)
            self._changed.set()

    async def finish(self, message: Message) -> str | None:
        """Make the stream the message; gives its time stamp, or None where there is no stream to be made one."""
        await self.quiet()
        if (ts := self._ts) is None:
            return None
        if not self._ended:
            try:
                await self.chat.end_stream(self.asked.channel, ts, _tasks(len(_STEPS)), message)
            except Ended as error:
                self._stopped = error.stopped
            else:
                self._ts = None
                return ts
        if self._stopped and message.mark is not None:  # also where there was no work left to end
            message = stopped(message.mark)
        try:
            await self.chat.change(self.asked.channel, ts, message)
        except Skip:
            await self.chat.take_back(self.asked.channel, ts)
            ts = None
        self._ts = None
        return ts

    async def leave(self) -> None:
        """Take off what is shown and was not made an answer."""
        await self.quiet()
        if self._ts is not None:  # a stream that became nothing
            with suppress(DoorError, TimeoutError):
                async with asyncio.timeout(_STATUS_SECONDS):
                    await self.chat.take_back(self.asked.channel, self._ts)

    async def clear(self) -> None:
        """Take the status off where no message in the thread did so."""
        if self.asked.surface in ("direct", "mention"):
            await self._status("")

    # ------------------------------------------------------------ showing

    async def _keep_status(self) -> None:
        while True:
            async with self._speaking:
                await self._status(sentences.WORKING)
            await asyncio.sleep(_REFRESH)

    async def _status(self, text: str) -> None:
        with suppress(DoorError, TimeoutError):
            async with asyncio.timeout(_STATUS_SECONDS):
                await self.chat.status(self.asked.channel, self.thread, text)

    async def _stream(self, alone: bool) -> None:
        await asyncio.sleep(self.streams.patience)
        await self._session(busy=True)
        if not alone or not self.streams.possible:
            return
        try:
            # Not cut short: a message that is there must be known.
            began = asyncio.ensure_future(self.chat.begin_stream(self.asked.channel, self.thread, _tasks(self._done)))
            try:
                self._ts = await asyncio.shield(began)
            except asyncio.CancelledError:
                with suppress(DoorError):
                    self._ts = await began
                raise
            while True:
                await self._changed.wait()
                self._changed.clear()
                await self.chat.stream(self.asked.channel, self._ts, _tasks(self._done))
                await asyncio.sleep(_PACE)
        except Ended as error:
            self._ended, self._stopped = True, error.stopped
            if error.stopped:
                self.stop()
            return
        except Skip as error:
            self.streams.possible = not _unknown(error)
        except DoorError:  # busy: it goes on without
            self._doubtful = self._ts is None

    async def _session(self, *, busy: bool) -> None:
        if not self.streams.sessions:
            return
        try:
            async with asyncio.timeout(_STATUS_SECONDS):
                await self.chat.working(self.asked.channel, self.thread, self.asked.asker, busy)
                self._busy = busy
        except Skip as error:
            self.streams.sessions = not _unknown(error)
        except (DoorError, TimeoutError):
            return

    async def quiet(self) -> None:
        """Show nothing new from here on. A status that is on its way is waited for: after the answer it would stay."""
        async with self._speaking:
            for task in self._showing:
                task.cancel()
        if self._showing:
            await asyncio.wait(self._showing)
            self._showing.clear()
        if self._busy:
            await self._session(busy=False)
        if self._doubtful:
            self._doubtful = False
            with suppress(DoorError):
                for left in await self.chat.unmarked(self.asked.channel, self.thread):
                    await self.chat.take_back(self.asked.channel, left)


def _unknown(error: Skip) -> bool:
    """Whether the workspace does not have it: then it is not asked for again."""
    return any(name in str(error) for name in _NOT_HERE)


def _tasks(done: int) -> list[Task]:
    return list(_as_tasks(done))


def _as_tasks(done: int) -> Iterable[Task]:
    for number, (name, title) in enumerate(_STEPS):
        if number < done:
            yield Task(name, title, "complete")
        elif number == done:
            yield Task(name, title, "in_progress")


def stopped(mark: str) -> Message:
    """What stands where an answer would."""
    return sentence(sentences.STOPPED, mark)
