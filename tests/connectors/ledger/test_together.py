"""Steps that come while one is carried out make the next batch; nobody is lost, answered twice, or waits in vain."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from connectors.errors import Transient
from connectors.ledger.together import Together


class Slow:
    """Carries out a batch when it is told to, and remembers it."""

    def __init__(self, most: int = 3) -> None:
        self.batches: list[list[int]] = []
        self.go = asyncio.Semaphore(0)
        self.wrong: Exception | None = None
        self.steps = Together(self._carry_out, most)

    async def _carry_out(self, batch: Sequence[int]) -> Sequence[int]:
        self.batches.append(list(batch))
        await self.go.acquire()
        if self.wrong is not None:
            raise self.wrong
        return [-step for step in batch]

    async def begun(self, *steps: int) -> list[asyncio.Task[int]]:
        """Steps that are on their way."""
        tasks = [asyncio.create_task(self.steps.add(step)) for step in steps]
        await asyncio.sleep(0.001)
        return tasks


async def test_what_comes_meanwhile_goes_together_in_order() -> None:
    slow = Slow()
    tasks = [*await slow.begun(1), *await slow.begun(2, 3, 4, 5)]
    for _ in range(3):
        slow.go.release()

    assert list(await asyncio.gather(*tasks)) == [-1, -2, -3, -4, -5]
    assert slow.batches == [[1], [2, 3, 4], [5]]


async def test_who_is_cancelled_before_his_turn_is_left_out() -> None:
    slow = Slow()
    first, second, third = [*await slow.begun(1), *await slow.begun(2, 3)]
    second.cancel()
    await asyncio.sleep(0)
    slow.go.release()
    slow.go.release()

    assert list(await asyncio.gather(first, third)) == [-1, -3]
    assert slow.batches == [[1], [3]]


async def test_who_is_cancelled_in_his_turn_takes_nobody_with_him() -> None:
    slow = Slow()
    first, second = await slow.begun(1, 2)
    first.cancel()
    slow.go.release()

    assert await second == -2
    assert slow.batches == [[1, 2]]


async def test_what_went_wrong_is_told_to_each_of_the_batch_and_to_no_other() -> None:
    slow = Slow()
    slow.wrong = Transient("away")
    tasks = await slow.begun(1, 2)
    slow.go.release()
    assert [type(each) for each in await asyncio.gather(*tasks, return_exceptions=True)] == [Transient, Transient]

    slow.wrong = None
    slow.go.release()
    assert await slow.steps.add(3) == -3


async def test_nobody_waits_in_vain_when_it_is_ended() -> None:
    slow = Slow()
    tasks = [*await slow.begun(1), *await slow.begun(2)]
    [running] = [task for task in asyncio.all_tasks() if task.get_coro().__qualname__ == "Together._run"]  # type: ignore[union-attr]  # a coroutine has one
    running.cancel()

    for task in tasks:
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 1)
