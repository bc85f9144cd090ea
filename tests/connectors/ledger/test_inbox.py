"""Letters are kept from their acknowledgement to their answer, on both databases."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

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


async def kept(ledger: Ledger) -> dict[str, list[str]]:
    """The keys of each letter that is open, by its number and person."""
    async with ledger.door.read() as connection:
        wanted = select(letters.c.number, letters.c.person, letter_keys.c.key).join(letter_keys)
        found: dict[str, list[str]] = {}
        for number, person, key in await connection.execute(wanted.where(letters.c.state != "closed")):
            found.setdefault(f"{number} {person}", []).append(key)
    return found


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_comes_together_each_is_kept_once_and_the_limits_hold(
    inbox: Opened, ledger_url: str, now: datetime, seed: int
) -> None:
    """Two processes' inboxes on one ledger; deliveries repeated and by two ways, some given up by their senders."""
    drawn, limits = random.Random(seed), MostWaiting(person=2, workspace=5)
    told: list[tuple[int, str]] = []
    async with open_ledger(ledger_url) as other:
        boxes = inbox[0], SqlInbox(other.door, Vault([KEY]))

        async def deliver(number: int, way: str, patience: float) -> None:
            await asyncio.sleep(drawn.random() / 50)
            keys = [f"event:{number}{way}", f"ts:{number}"]
            receiving = drawn.choice(boxes).receive(keys, "T1", f"U{number % 3}", {}, limits, now)
            told.append((number, await asyncio.wait_for(receiving, patience)))

        deliveries = [(number, way) for number in range(16) for way in drawn.choices("abc", k=3)]
        drawn.shuffle(deliveries)
        patient = [drawn.choice((0.005, 30)) for _ in deliveries]
        given_up = await asyncio.gather(
            *(deliver(*each, patience) for each, patience in zip(deliveries, patient, strict=True)),
            return_exceptions=True,
        )
        for number in range(16):  # what was not acknowledged comes again
            await deliver(number, "again", 30)
    open_letters = await kept(inbox[1])
    messages = Counter(key for keys in open_letters.values() for key in keys if key.startswith("ts:"))
    accepted = Counter(f"ts:{number}" for number, how in told if how == "accepted")

    assert {type(each) for each in given_up} <= {type(None), TimeoutError}
    assert len(open_letters) == 5
    assert max(messages.values()) == 1
    assert accepted <= messages
    assert max(Counter(each.partition(" ")[2] for each in open_letters).values()) <= 2
    assert all(len(keys) == 2 for keys in open_letters.values())


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


async def test_what_is_turned_away_waits_for_its_sender_to_be_told_so_and_comes_first(
    inbox: Opened, now: datetime
) -> None:
    box, _ = inbox
    tight = MostWaiting(person=1, workspace=2)
    received = [
        await box.receive([f"{number}"], "T1", person, {"number": number}, tight, now, told=True)
        for number, person in enumerate(["U1", "U1", "U2", "U3", "U1"])
    ]
    assert received == ["accepted", "person is full", "accepted", "workspace is full", "person is full"]
    assert await box.receive(["1"], "T1", "U1", {}, tight, now, told=True) == "twice"

    taken = [await box.take(now) for _ in range(4)]
    assert [each and (each.body["number"], each.turned_away) for each in taken] == [
        (1, "person is full"),
        (3, "workspace is full"),
        (0, None),
        (2, None),
    ]
    assert await box.take(now) is None
    first = taken[0]
    assert first is not None
    await box.close(first.number)
    assert await box.take(now, turned_away=False) is None
    last = await box.take(now)
    assert last is not None
    assert last.body["number"] == 4


async def test_where_too_many_wait_to_be_told_nothing_is_kept_so_that_it_comes_again(
    inbox: Opened, now: datetime
) -> None:
    box, ledger = inbox
    none = MostWaiting(person=0, workspace=0)
    received = await asyncio.gather(
        *(box.receive([f"{n}"], "T1", "U1", {}, none, now, told=True) for n in range(12)),
        *(box.receive([f"w{n}"], "T1", f"W{n}", {}, none, now, told=True) for n in range(195)),
    )

    assert Counter(received) == {"person is full": 200, "full": 7}
    assert received[10:12] == ["full", "full"]
    assert await box.receive(["11"], "T1", "U1", {}, ROOMY, now, told=True) == "accepted"
    async with ledger.door.read() as connection:
        assert (await connection.execute(select(func.count()).select_from(letter_keys))).scalar() == 201


async def test_a_letter_that_another_process_took_over_is_not_closed(inbox: Opened, now: datetime) -> None:
    box, ledger = inbox
    await box.receive(["1"], "T1", "U1", {"text": "?"}, ROOMY, now)
    letter = await box.take(now)
    assert letter is not None
    async with ledger.door.write("inbox") as connection:
        await connection.execute(update(letters).values(process="another"))
    await box.close(letter.number)

    again = await box.take(now + LEASE)
    assert again is not None
    assert again.body == {"text": "?"}


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


_RECEIVES = """
import asyncio, sys
from datetime import datetime
from connectors.chat import MostWaiting
from connectors.ledger.inbox import SqlInbox
from connectors.ledger.open import open_ledger
from connectors.vault import Vault

async def main():
    async with open_ledger(sys.argv[1]) as ledger:
        box, roomy = SqlInbox(ledger.door, Vault([sys.argv[2]])), MostWaiting(10**6, 10**6)
        now = datetime.fromisoformat(sys.argv[3])

        async def deliver(number):
            while True:
                keys = [f"event:{number}", f"ts:{number}"]
                await box.receive(keys, "T1", f"U{number}", {}, roomy, now)
                print(number, flush=True)
                number += 50

        await asyncio.gather(*map(deliver, range(50)))

asyncio.run(main())
"""


async def test_what_was_acknowledged_before_a_kill_is_there_and_nothing_is_there_in_part(
    inbox: Opened, ledger_url: str, now: datetime
) -> None:
    command = (sys.executable, "-c", _RECEIVES, ledger_url, KEY, now.isoformat())
    other = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    assert other.stdout is not None
    try:
        told = [await asyncio.wait_for(other.stdout.readline(), 100) for _ in range(200)]
    finally:
        other.send_signal(signal.SIGKILL)
    told += (await other.stdout.read()).splitlines(keepends=True)
    await other.wait()
    acknowledged = {line.decode().strip() for line in told if line.endswith(b"\n")}
    there = [set(keys) for keys in (await kept(inbox[1])).values()]

    assert len(acknowledged) >= 200
    assert all({f"event:{key}", f"ts:{key}"} in there for key in acknowledged)
    assert all(len(keys) == 2 for keys in there)
    async with inbox[1].door.read() as connection:
        assert (await connection.execute(select(func.count()).select_from(letters))).scalar_one() == len(there)


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
