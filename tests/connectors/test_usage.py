from __future__ import annotations

import asyncio

from connectors.usage import Spent, cost, counted, note, tally

WRITE = Spent("write", "m", {"input_tokens": 100, "output_tokens": 10}, retries=1, cost=0.5)
SILENT = Spent("rerank", "r", {})
FAILED = Spent("embed", "e", {}, failed=True)


async def test_calls_of_tasks_that_were_begun_within_are_counted() -> None:
    async def call() -> None:
        await asyncio.sleep(0)
        note(WRITE)

    with counted() as calls:
        await asyncio.gather(call(), asyncio.create_task(call()))

    assert calls == [WRITE, WRITE]


async def test_two_questions_at_once_are_counted_apart() -> None:
    async def question(times: int) -> int:
        with counted() as calls:
            for _ in range(times):
                await asyncio.sleep(0)
                note(WRITE)
        return len(calls)

    assert await asyncio.gather(question(1), question(5), question(3)) == [1, 5, 3]


def test_a_call_outside_of_a_count_is_nobody_s() -> None:
    note(WRITE)
    with counted() as calls:
        pass
    note(WRITE)

    assert calls == []


def test_units_are_added_up_by_purpose() -> None:
    assert tally([WRITE, WRITE, SILENT, FAILED]) == {
        "embed.calls": 1,
        "embed.failed": 1,
        "rerank.calls": 1,
        "rerank.unbilled": 1,
        "write.calls": 2,
        "write.input_tokens": 200,
        "write.output_tokens": 20,
        "write.retries": 2,
    }


def test_a_cost_is_known_only_where_every_part_of_it_is() -> None:
    assert cost([WRITE, WRITE]) == 1.0
    assert cost([WRITE, FAILED]) == 0.5
    assert cost([WRITE, SILENT]) is None
    assert cost([FAILED]) is None
    assert cost([]) is None
