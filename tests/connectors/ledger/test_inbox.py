"""Letters are kept from their acknowledgement to their answer, on both databases."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from connectors.chat import MostWaiting
from connectors.ledger.inbox import LEASE, SqlInbox
from connectors.ledger.open import Ledger, open_ledger
from connectors.ledger.tables import letter_keys, letters
from connectors.vault import Vault

KEY = "a long and rather varied key for tests 8472"
ROOMY = MostWaiting(person=5, workspace=9)
Opened = tuple[SqlInbox, Ledger]


@pytest.fixture
async def inbox(ledger_url: str) -> AsyncIterator[Opened]:
    async with open_ledger(ledger_url) as ledger:
        yield SqlInbox(ledger.door, Vault([KEY])), ledger


async def test_a_letter_is_given_out_once_and_closed(inbox: Opened, now: datetime) -> None:
    box, ledger = inbox
    assert await box.receive(["event:1", "ts:1"], "T1", "U1", {"text": "what is due?"}, ROOMY, now) == "accepted"

    letter = await box.take(now)
    assert letter is not None
    assert (letter.body, letter.times) == ({"text": "what is due?"}, 1)
    assert await box.take(now) is None
    await box.close(letter.number)
    assert await box.take(now + timedelta(days=1)) is None
    async with ledger.door.read() as connection:
        assert (await connection.execute(select(letters.c.body))).scalar() == ""


async def test_what_waits_can_be_read_by_nobody_with_the_database(inbox: Opened, now: datetime) -> None:
    box, ledger = inbox
    await box.receive(["event:1"], "T1", "U0SECRET", {"text": "am I fired?"}, ROOMY, now)

    async with ledger.door.read() as connection:
        row = (await connection.execute(select(letters))).one()
    assert "fired" not in str(row)
    assert "U0SECRET" not in str(row)


@pytest.mark.parametrize("again", [["event:1"], ["event:2", "ts:1"], ["ts:1", "event:1"], ["msg:x", "event:1"]])
async def test_any_key_that_was_met_before_tells_a_second_delivery(
    inbox: Opened, now: datetime, again: list[str]
) -> None:
    box, _ = inbox
    await box.receive(["event:1", "ts:1"], "T1", "U1", {}, ROOMY, now)

    assert await box.receive(again, "T1", "U1", {}, ROOMY, now) == "twice"


async def test_deliveries_at_the_same_time_make_one_letter(inbox: Opened, now: datetime) -> None:
    box, _ = inbox
    received = await asyncio.gather(
        *(box.receive([f"event:{n}", "ts:1"], "T1", "U1", {}, ROOMY, now) for n in range(8))
    )

    assert sorted(received) == ["accepted", *["twice"] * 7]


async def test_too_many_are_turned_away_and_their_repetitions_known(inbox: Opened, now: datetime) -> None:
    box, _ = inbox
    tight = MostWaiting(person=1, workspace=2)
    assert await box.receive(["1"], "T1", "U1", {}, tight, now) == "accepted"
    assert await box.receive(["2"], "T1", "U1", {}, tight, now) == "person is full"
    assert await box.receive(["2"], "T1", "U1", {}, tight, now) == "twice"
    assert await box.receive(["3"], "T1", "U2", {}, tight, now) == "accepted"
    assert await box.receive(["4"], "T1", "U3", {}, tight, now) == "workspace is full"
    assert await box.receive(["5"], "T2", "U9", {}, tight, now) == "accepted"
    letter = await box.take(now)
    assert letter is not None
    await box.close(letter.number)
    assert await box.receive(["6"], "T1", "U1", {}, tight, now) == "accepted"


async def test_one_persons_letters_are_answered_one_after_another(inbox: Opened, now: datetime) -> None:
    box, _ = inbox
    for key, person in (("1", "U1"), ("2", "U1"), ("3", "U2")):
        await box.receive([key], "T1", person, {"key": key}, ROOMY, now)

    first, second = await box.take(now), await box.take(now)
    assert first is not None
    assert second is not None
    assert (first.body["key"], second.body["key"]) == ("1", "3")
    assert await box.take(now) is None
    await box.close(first.number)
    third = await box.take(now)
    assert third is not None
    assert third.body["key"] == "2"


async def test_a_lease_runs_out_unless_it_is_renewed(inbox: Opened, now: datetime) -> None:
    box, _ = inbox
    await box.receive(["1"], "T1", "U1", {}, ROOMY, now)
    letter = await box.take(now)
    assert letter is not None
    assert await box.hold(letter.number, now + LEASE / 2)
    assert await box.take(now + LEASE) is None

    again = await box.take(now + LEASE * 2)
    assert again is not None
    assert (again.number, again.times) == (letter.number, 2)


async def test_what_was_put_back_waits_for_its_time(inbox: Opened, now: datetime) -> None:
    box, _ = inbox
    await box.receive(["1"], "T1", "U1", {}, ROOMY, now)
    letter = await box.take(now)
    assert letter is not None
    await box.put_back(letter.number, now + timedelta(seconds=30))

    assert await box.take(now + timedelta(seconds=29)) is None
    assert await box.take(now + timedelta(seconds=30)) is not None


async def test_a_letter_that_another_process_took_over_is_not_renewed(inbox: Opened, now: datetime) -> None:
    box, ledger = inbox
    await box.receive(["1"], "T1", "U1", {}, ROOMY, now)
    letter = await box.take(now)
    assert letter is not None
    async with ledger.door.write("inbox") as connection:
        await connection.execute(update(letters).values(process="another"))

    assert not await box.hold(letter.number, now)
    await box.put_back(letter.number, now)
    assert await box.take(now) is None


async def test_keys_are_forgotten_with_their_letters_in_time(inbox: Opened, now: datetime) -> None:
    box, ledger = inbox
    await box.receive(["1"], "T1", "U1", {}, ROOMY, now)
    await box.receive(["2"], "T1", "U2", {}, ROOMY, now)
    letter = await box.take(now)
    assert letter is not None
    await box.close(letter.number)

    assert await box.forget(now) == 0
    assert await box.forget(now + timedelta(days=1)) == 1
    async with ledger.door.read() as connection:
        assert (await connection.execute(select(letter_keys.c.key))).scalars().all() == ["2"]


_TAKES_AND_WAITS = """
import asyncio, sys
from datetime import datetime
from connectors.ledger.inbox import SqlInbox
from connectors.ledger.open import open_ledger
from connectors.vault import Vault

async def main():
    async with open_ledger(sys.argv[1]) as ledger:
        letter = await SqlInbox(ledger.door, Vault([sys.argv[2]])).take(datetime.fromisoformat(sys.argv[3]))
        print("took", letter.number, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_what_a_killed_process_had_is_free_at_once_on_its_machine(
    inbox: Opened, ledger_url: str, now: datetime
) -> None:
    box, _ = inbox
    await box.receive(["1"], "T1", "U1", {"text": "still here"}, ROOMY, now)
    command = (sys.executable, "-c", _TAKES_AND_WAITS, ledger_url, KEY, now.isoformat())
    other = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    assert other.stdout is not None
    assert (await asyncio.wait_for(other.stdout.readline(), 30)).startswith(b"took")
    assert await box.recover() == 0
    assert await box.take(now) is None

    other.send_signal(signal.SIGKILL)
    await other.wait()
    assert await box.recover() == 1
    letter = await box.take(now)
    assert letter is not None
    assert (letter.body, letter.times) == ({"text": "still here"}, 2)
