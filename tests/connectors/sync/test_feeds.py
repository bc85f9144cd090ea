"""Which feeds of a far source are due, and what is kept of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from connectors.ledger.memory import SqlMemory
from connectors.ledger.open import open_ledger
from connectors.ports import Feed
from connectors.sync.feeds import Lag, about, due, gone, remember, when
from tests.connectors.ledger.making import NOW

MINUTE = timedelta(minutes=1)
CHANGES = Feed("changes", 5 * MINUTE, of_permissions=False)
SWEEP = Feed("sweep", 60 * MINUTE, of_permissions=True)
FEEDS = (CHANGES, SWEEP)


@pytest.fixture
async def memory() -> AsyncIterator[SqlMemory]:
    async with open_ledger("sqlite+aiosqlite://") as ledger:
        yield SqlMemory(ledger.door, "wiki")


async def test_every_feed_is_due_that_was_never_gone(memory: SqlMemory) -> None:
    assert await due(memory, FEEDS, NOW, hurried=False) == FEEDS


async def test_a_feed_is_due_when_its_time_has_come(memory: SqlMemory) -> None:
    for feed in FEEDS:
        await gone(memory, feed.name, NOW)

    assert await due(memory, FEEDS, NOW + 4 * MINUTE, hurried=False) == ()
    assert await due(memory, FEEDS, NOW + 5 * MINUTE, hurried=False) == (CHANGES,)
    assert await due(memory, FEEDS, NOW + 60 * MINUTE, hurried=False) == FEEDS


async def test_a_person_has_every_feed_of_permissions_gone(memory: SqlMemory) -> None:
    for feed in FEEDS:
        await gone(memory, feed.name, NOW)

    assert await due(memory, FEEDS, NOW + MINUTE, hurried=True) == (SWEEP,)


async def test_a_feed_that_was_gone_by_a_clock_of_the_future_is_due(memory: SqlMemory) -> None:
    await gone(memory, "changes", NOW + 90 * MINUTE)

    assert CHANGES in await due(memory, FEEDS, NOW, hurried=False)


async def test_what_is_kept_tells_how_each_feed_is_doing(memory: SqlMemory) -> None:
    assert await about(memory) is None
    await remember(memory, (SWEEP,), 2 * MINUTE)
    await remember(memory, FEEDS, 24 * 60 * MINUTE)
    await gone(memory, "sweep", NOW)
    kept = await about(memory)

    assert kept is not None
    assert kept.stale_grant_bound == timedelta(hours=24)
    assert kept.lags == (Lag("changes", 5 * MINUTE, None), Lag("sweep", 60 * MINUTE, NOW))


async def test_a_part_of_a_source_has_feeds_of_its_own(memory: SqlMemory) -> None:
    for at, part in ((NOW, "https://a.example/one"), (NOW - MINUTE, "https://a.example/one/two")):
        await gone(memory, "sweep", at, part)

    assert await when(memory, "https://a.example/one") == {"sweep": NOW}
    assert await due(memory, FEEDS, NOW, hurried=False, part="https://a.example/one") == (CHANGES,)
    assert await when(memory) == {}
