"""Questions and answers of late: found by who may come for them, sealed, and forgotten in time; on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from connectors.chat import Exchange
from connectors.ledger.exchanges import SqlExchanges
from connectors.ledger.open import Ledger, open_ledger
from connectors.ledger.tables import exchanges, ratings
from connectors.ledger.traces import SqlTraces
from connectors.trace_signer import TraceSigner
from connectors.vault import Vault

KEY = "a long and rather varied key for tests 8472"
OTHER = "quite another key for the tests, longer 5190"
Opened = tuple[SqlExchanges, Ledger]


@pytest.fixture
async def kept(ledger_url: str) -> AsyncIterator[Opened]:
    async with open_ledger(ledger_url) as ledger:
        yield SqlExchanges(ledger.door, Vault([KEY])), ledger


def exchange(now: datetime, name: str = "n1", **more: object) -> Exchange:
    made = Exchange(
        name, "slack:T1:U1", "posted", {"question": "am I fired?", "trace": "tr-1"}, now, thread="T1|C1|1.1"
    )
    return replace(made, **more)  # type: ignore[arg-type]  # the test names fields


async def test_what_was_kept_is_found_until_its_time_is_over(kept: Opened, now: datetime) -> None:
    box, ledger = kept
    later = now + timedelta(hours=1)
    await box.keep(exchange(now), later)

    assert await box.find("n1", now) == exchange(now)
    assert await box.find("n2", now) is None
    assert await box.find("n1", later) is None
    assert await box.forget(later) == 1
    async with ledger.door.read() as connection:
        assert (await connection.execute(select(exchanges))).all() == []


async def test_a_thread_gives_its_own_exchanges_oldest_first(kept: Opened, now: datetime) -> None:
    box, _ = kept
    until = now + timedelta(hours=1)
    for number in range(5):
        await box.keep(exchange(now + timedelta(seconds=number), f"n{number}"), until)
    await box.keep(exchange(now, "other", thread="T1|C2|1.1"), until)
    await box.keep(exchange(now, "alone", thread=None, answered_in="T1|D1|2.2"), until)

    assert [each.name for each in await box.talk("T1|C1|1.1", 3, now)] == ["n2", "n3", "n4"]
    assert [each.name for each in await box.talk("T1|D1|2.2", 3, now)] == ["alone"]
    assert await box.talk("T2|C1|1.1", 3, now) == []


async def test_somebody_finds_his_own_newest_first(kept: Opened, now: datetime) -> None:
    box, _ = kept
    until = now + timedelta(hours=1)
    for number, asker in enumerate(("slack:T1:U1", "slack:T1:U2", "slack:T1:U1")):
        await box.keep(exchange(now + timedelta(seconds=number), f"n{number}", asker=asker), until)

    assert [each.name for each in await box.of("slack:T1:U1", 9, now)] == ["n2", "n0"]
    assert await box.of("slack:T1:U3", 9, now) == []


async def test_of_two_who_turn_it_at_once_one_succeeds(kept: Opened, now: datetime) -> None:
    box, _ = kept
    await box.keep(exchange(now), now + timedelta(hours=1))

    turned = await asyncio.gather(*(box.turn("n1", "posted", "sharing") for _ in range(5)))

    assert sorted(turned) == [False, False, False, False, True]
    assert (await box.find("n1", now)).state == "sharing"  # type: ignore[union-attr]


async def test_with_the_database_alone_nothing_can_be_read(kept: Opened, now: datetime) -> None:
    box, ledger = kept
    await box.keep(exchange(now), now + timedelta(hours=1))
    await box.rate("n1", "bad", ["wrong"], "it names nobody", now)

    async with ledger.door.read() as connection:
        rows = str((await connection.execute(select(exchanges))).all())
        rows += str((await connection.execute(select(ratings))).all())
    for word in ("fired", "slack:T1", "T1|C1", "nobody"):
        assert word not in rows
    assert "tr-1" in rows


async def test_what_was_thought_of_an_answer_is_kept_as_long_as_its_trace(
    kept: Opened, now: datetime, tmp_path: Path
) -> None:
    box, ledger = kept
    record = SqlTraces(ledger.door, Vault([KEY]), TraceSigner.from_file(tmp_path / "key.pem"), tmp_path / "checkpoints")
    known = await record.begin({}, {}, now)
    for name, trace in (("n1", known), ("n2", "tr-gone")):
        await box.keep(exchange(now, name, body={"trace": trace}), now + timedelta(hours=1))
        await box.rate(name, "bad", ["wrong"], "it names nobody", now)
    await box.forget(now + timedelta(days=900))

    async with ledger.door.read() as connection:
        assert (await connection.execute(select(ratings.c.name))).scalars().all() == ["n1"]


async def test_a_body_opens_under_its_own_name_alone(kept: Opened, now: datetime) -> None:
    box, ledger = kept
    until = now + timedelta(hours=1)
    await box.keep(exchange(now), until)
    await box.keep(exchange(now, "n2", body={"question": "another"}), until)
    async with ledger.door.write() as connection:
        body = (await connection.execute(select(exchanges.c.body).where(exchanges.c.name == "n1"))).scalar_one()
        await connection.execute(update(exchanges).where(exchanges.c.name == "n2").values(body=body))

    assert await box.find("n2", now) is None


async def test_what_an_older_key_sealed_is_found_and_without_its_key_it_is_nothing(kept: Opened, now: datetime) -> None:
    box, ledger = kept
    await box.keep(exchange(now), now + timedelta(hours=1))
    rotated, foreign = (SqlExchanges(ledger.door, Vault(keys)) for keys in ([OTHER, KEY], [OTHER]))

    assert [each.name for each in await rotated.of("slack:T1:U1", 9, now)] == ["n1"]
    assert [each.name for each in await rotated.talk("T1|C1|1.1", 9, now)] == ["n1"]
    assert await foreign.find("n1", now) is None


async def test_a_name_that_cannot_be_is_not_looked_for(kept: Opened, now: datetime) -> None:
    box, _ = kept

    for name in ("", "\x00", "x" * 10_000):
        assert await box.find(name, now) is None
