"""Steps that come while one is carried out are carried out together in the next: a burst costs a few transactions, not
one each, and a single step waits for nobody.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Step = TypeVar("Step")
Result = TypeVar("Result")


class Together(Generic[Step, Result]):
    """Carries out steps in the order in which they come, one batch at a time."""

    def __init__(self, carry_out: Callable[[Sequence[Step]], Awaitable[Sequence[Result]]], most: int) -> None:
        """`carry_out`: all of a batch or nothing of it, with a result for each; `most`: steps of one batch."""
        self._carry_out = carry_out
        self._most = most
        self._coming: deque[tuple[Step, asyncio.Future[Result]]] = deque()
        self._running: asyncio.Task[None] | None = None

    async def add(self, step: Step) -> Result:
        """Its result, once its batch was carried out; what went wrong with a batch is raised to each of it. Who is
        cancelled before his batch begins is left out of it, and later doesn't know whether it was carried out."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._coming.append((step, result))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await result

    async def _run(self) -> None:
        batch: list[tuple[Step, asyncio.Future[Result]]] = []
        try:
            while batch := self._next():
                await self._one(batch)
        finally:
            self._running = None
            for _, result in (*batch, *self._coming):  # where this was ended from outside
                result.cancel()
            self._coming.clear()

    def _next(self) -> list[tuple[Step, asyncio.Future[Result]]]:
        batch: list[tuple[Step, asyncio.Future[Result]]] = []
        while self._coming and len(batch) < self._most:
            step, result = self._coming.popleft()
            if not result.done():
                batch.append((step, result))
        return batch

    async def _one(self, batch: Sequence[tuple[Step, asyncio.Future[Result]]]) -> None:
        try:
            results = await self._carry_out([step for step, _ in batch])
        except Exception as error:  # a task boundary: whatever it is, it belongs to those who wait
            for _, result in batch:
                if not result.done():
                    result.set_exception(error)
        else:
            for (_, result), outcome in zip(batch, results, strict=True):
                if not result.done():
                    result.set_result(outcome)
