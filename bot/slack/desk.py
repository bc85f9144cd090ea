"""The desk where letters are answered: a bounded number at once, each under a lease, again when something was away.

A letter that was acknowledged is answered, also after a kill. On the way out no new one is taken, what was begun is
finished within a bound, and the rest is given back at once for whoever runs next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Protocol

from bot.answering.trace import where
from connectors.chat import Inbox, Letter
from connectors.errors import DoorError, Skip, Transient

AT_ONCE = 4
GRACE = 15.0  # seconds for what is under way when we are told to end
_LONGEST = 180.0  # seconds for one letter
_BEAT = 15.0  # seconds between renewals of a lease
_POLL = 1.0  # seconds between looks for letters that others received or that became due
_MOST_TIMES = 6  # that an answer is tried
_MOST_APOLOGIES = 30  # that an apology is tried after that: for about an hour
_FIRST_PAUSE = 3.0  # seconds before the second time, doubled each time
_LONGEST_PAUSE = 120.0
_CROWD = 4  # requests that are being taken in at the same time, from which on no new letter is begun
_POLITE = 0.25  # seconds that one waits for that at most
_SWEEP = timedelta(hours=1)
_KEPT = timedelta(days=2)  # that a delivery is known again; Slack repeats one for an hour at most


class Answers(Protocol):
    """What is done with a letter."""

    async def answer(self, letter: Letter) -> None: ...

    async def apologise(self, letter: Letter) -> None: ...


class Desk:
    """Answers letters from entering to leaving it, as an async context."""

    def __init__(
        self,
        inbox: Inbox,
        answers: Answers,
        clock: Callable[[], datetime],
        log: Any,
        *,
        grace: float = GRACE,
        beat: float = _BEAT,
        also: Callable[[datetime], Awaitable[object]] | None = None,
        given_up: Callable[[], object] = lambda: None,
    ) -> None:
        """`grace`: seconds for what is under way at the end; `beat`: between renewals of a lease; `also`: what else is
        to be forgotten now and then; `given_up`: told of each letter whose asker could not be told anything."""
        self._also = also
        self._given_up = given_up
        self._grace = grace
        self._beat = beat
        self._inbox = inbox
        self._answers = answers
        self._clock = clock
        self._log = log
        self._rung = asyncio.Event()
        self._closing = False
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._arriving = 0
        self._calm = asyncio.Event()
        self._telling = False  # whether somebody who was turned away is being told so: one at a time
        self._swept: datetime | None = None
        self._running: asyncio.Task[None] | None = None

    def ring(self) -> None:
        """There is a new letter."""
        self._rung.set()

    @contextmanager
    def arrival(self) -> Iterator[None]:
        """A request is being taken in. In a crowd of them letters wait a little: Slack gives three seconds to who is at
        the door, and people more to who answers."""
        self._arriving += 1
        try:
            yield
        finally:
            self._arriving -= 1
            if self._arriving < _CROWD:
                self._calm.set()

    async def _let_in(self) -> None:
        if self._arriving < _CROWD:
            return
        self._calm.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_POLITE):
                await self._calm.wait()

    async def __aenter__(self) -> Desk:
        if freed := await self._inbox.recover():
            self._log.info("letters of a process that ended are taken up again", complete=freed)
        self._running = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self.ring()
        if self._running is not None:
            await asyncio.wait([self._running], timeout=self._grace)
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            while not self._closing:
                await self._slots.acquire()
                await self._let_in()
                letter = None if self._closing else await self._next()
                if letter is None:
                    self._slots.release()
                    await self._pause()
                else:
                    self._telling = self._telling or letter.turned_away is not None
                    group.create_task(self._serve(letter))

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_POLL):
                await self._rung.wait()
        self._rung.clear()

    async def _next(self) -> Letter | None:
        self._rung.clear()
        now = self._clock()
        try:
            if self._swept is None or now - self._swept >= _SWEEP:
                self._swept = now
                await self._inbox.forget(now - _KEPT)
                if self._also is not None:
                    await self._also(now)
            return await self._inbox.take(now, turned_away=not self._telling)
        except Exception as error:  # a task boundary: whatever is wrong with one look, the next may find a letter
            self._log.error("letters can't be taken", error=where(error))
            return None

    async def _serve(self, letter: Letter) -> None:
        """Answer one letter and say so, or put it back. Nothing but a cancellation comes out."""
        try:
            if letter.times > _MOST_TIMES:  # it was begun so often, also where the process never came to say so
                await self._apologise(letter)
            else:
                await self._settle(letter, await self._within_lease(letter, self._answers.answer))
        except asyncio.CancelledError:
            with suppress(DoorError):
                await asyncio.shield(self._inbox.put_back(letter.number, self._clock()))
            raise
        except DoorError as error:  # the ledger is away; the lease runs out
            self._log.error("a letter can't be closed", error=where(error))
        finally:
            if letter.turned_away is not None:
                self._telling = False
            self._slots.release()
            self.ring()

    async def _within_lease(self, letter: Letter, work: Callable[[Letter], Awaitable[None]]) -> Exception | None:
        """Do the work while the lease is ours; gives what went wrong."""

        async def bounded() -> None:
            async with asyncio.timeout(_LONGEST):
                await work(letter)

        doing, holding = asyncio.create_task(bounded()), asyncio.create_task(self._hold(letter))
        try:
            await asyncio.wait([doing, holding], return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                return Transient("another process took the letter over")
            return doing.exception()  # type: ignore[return-value]  # what ends a process is not caught by a task
        finally:
            for task in (doing, holding):
                task.cancel()
            await asyncio.wait([doing, holding])

    async def _hold(self, letter: Letter) -> None:
        while True:
            await asyncio.sleep(self._beat)
            with suppress(DoorError):  # the next beat may succeed
                if not await self._inbox.hold(letter.number, self._clock()):
                    return

    async def _settle(self, letter: Letter, trouble: Exception | None) -> None:
        if trouble is not None:
            self._log.warning("a letter was not answered", error=where(trouble), attempt=letter.times)
        if trouble is None or isinstance(trouble, Skip):
            await self._inbox.close(letter.number)
        elif letter.times < _MOST_TIMES:
            await self._inbox.put_back(letter.number, self._clock() + _wait(trouble, letter.times))
        else:
            await self._apologise(letter)

    async def _apologise(self, letter: Letter) -> None:
        """Tell the asker that there is no answer; later again where that could not be told either."""
        left = _MOST_TIMES + _MOST_APOLOGIES - letter.times
        trouble = await self._within_lease(letter, self._answers.apologise) if left >= 0 else None
        if trouble is not None and not isinstance(trouble, Skip) and left > 0:
            self._log.warning("an asker could not be told that there is no answer", error=where(trouble))
            await self._inbox.put_back(letter.number, self._clock() + timedelta(seconds=_LONGEST_PAUSE))
            return
        if trouble is not None or left < 0:
            self._log.error("a letter is given up: its asker can't be told anything", attempt=letter.times)
            self._given_up()
        await self._inbox.close(letter.number)


def _wait(trouble: Exception, times: int) -> timedelta:
    asked = trouble.retry_after if isinstance(trouble, Transient) else None
    pause = max(asked or 0.0, _FIRST_PAUSE * 2.0 ** (times - 1))
    return timedelta(seconds=min(pause, _LONGEST_PAUSE))
