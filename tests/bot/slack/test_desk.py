"""The desk: what was acknowledged is answered, whatever goes wrong meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, select, update

from bot.slack import desk
from bot.slack.desk import AT_ONCE, Desk
from connectors.chat import Letter, MostWaiting
from connectors.errors import DoorError, Skip, Stop, Transient
from connectors.ledger.inbox import LEASE, SqlInbox
from connectors.ledger.open import open_ledger
from connectors.ledger.tables import letters
from connectors.vault import Vault
from tests.blank import blank_ledger
from tests.doubles.slack_house import KEY, Log

ROOMY = MostWaiting(person=99, workspace=99)
EARLY = datetime(2000, 1, 1, tzinfo=UTC)


class Clerk:
    """Answers as the test says."""

    def __init__(self) -> None:
        self.begun: list[Letter] = []
        self.answered: list[Letter] = []
        self.apologised: list[Letter] = []
        self.troubles: list[Exception] = []
        self.speechless: list[Exception] = []
        self.hold: asyncio.Event | None = None
        self.at_once = self.most_at_once = 0

    async def answer(self, letter: Letter) -> None:
        self.begun.append(letter)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.troubles:
                raise self.troubles.pop(0)
            if self.hold is not None:
                await self.hold.wait()
            self.answered.append(letter)
        finally:
            self.at_once -= 1

    async def apologise(self, letter: Letter) -> None:
        if self.speechless:
            raise self.speechless.pop(0)
        self.apologised.append(letter)


class Clock:
    """Goes on by a step whenever it is looked at, so that pauses are over soon."""

    def __init__(self, at: datetime, step: timedelta) -> None:
        self.at = at
        self.step = step

    def __call__(self) -> datetime:
        self.at += self.step
        return self.at


@pytest.fixture
async def inbox(tmp_path: Path) -> AsyncIterator[SqlInbox]:
    async with open_ledger(blank_ledger(tmp_path / "l.sqlite")) as ledger:
        yield SqlInbox(ledger.door, Vault([KEY]))


async def until(done: object) -> None:
    async with asyncio.timeout(20):
        while not done():  # type: ignore[operator]  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def filled(inbox: SqlInbox, number: int, now: datetime) -> None:
    for each in range(number):
        assert await inbox.receive([f"k{each}"], "T", f"U{each}", {"number": each}, ROOMY, now) == "accepted"


async def test_letters_that_waited_are_answered_at_the_start(inbox: SqlInbox, now: datetime) -> None:
    await filled(inbox, 9, now)
    clerk = Clerk()
    async with Desk(inbox, clerk, lambda: now, Log()):
        await until(lambda: len(clerk.answered) == 9)

    assert {each.body["number"] for each in clerk.answered} == set(range(9))
    assert await inbox.take(now + timedelta(days=1)) is None


async def test_only_so_many_are_answered_at_once(inbox: SqlInbox, now: datetime) -> None:
    await filled(inbox, AT_ONCE + 3, now)
    clerk = Clerk()
    clerk.hold = asyncio.Event()
    async with Desk(inbox, clerk, lambda: now, Log()):
        await until(lambda: clerk.at_once == AT_ONCE)
        await asyncio.sleep(0.2)
        clerk.hold.set()
        await until(lambda: len(clerk.answered) == AT_ONCE + 3)

    assert clerk.most_at_once == AT_ONCE


@pytest.mark.parametrize("goes_on", [True, False])
async def test_who_is_at_the_door_goes_before_a_new_letter_but_not_for_ever(
    inbox: SqlInbox, now: datetime, monkeypatch: pytest.MonkeyPatch, goes_on: bool
) -> None:
    monkeypatch.setattr(desk, "_POLITE", 0.1 if goes_on else 60.0)
    await filled(inbox, 1, now)
    clerk = Clerk()
    at_the_desk = Desk(inbox, clerk, lambda: now, Log())
    with ExitStack() as crowd:
        for _ in range(desk._CROWD):
            crowd.enter_context(at_the_desk.arrival())
        async with at_the_desk:
            if not goes_on:
                await asyncio.sleep(0.2)
                assert not clerk.begun
                crowd.close()
            await until(lambda: len(clerk.answered) == 1)


@pytest.mark.parametrize("trouble", [Transient("away"), Stop("token"), RuntimeError("odd"), TimeoutError()])
async def test_trouble_is_met_again_later(inbox: SqlInbox, now: datetime, trouble: Exception) -> None:
    await filled(inbox, 1, now)
    clerk = Clerk()
    clerk.troubles = [trouble, trouble]
    async with Desk(inbox, clerk, Clock(now, timedelta(seconds=7)), Log()) as desk:
        desk.ring()
        await until(lambda: clerk.answered)

    assert [each.times for each in clerk.answered] == [3]


async def test_after_many_times_the_asker_is_told(inbox: SqlInbox, now: datetime) -> None:
    await filled(inbox, 1, now)
    clerk, log = Clerk(), Log()
    clerk.troubles = [Transient("SECRET words")] * 6
    async with Desk(inbox, clerk, Clock(now, timedelta(seconds=40)), log):
        await until(lambda: clerk.apologised)

    assert clerk.answered == []
    assert await inbox.take(now + timedelta(days=1)) is None
    assert "SECRET" not in str(log)


async def begun(inbox: SqlInbox, times: int) -> None:
    """Every letter was begun so often before, by processes that ended without a word."""
    await inbox._door.change(lambda connection: connection.execute(update(letters).values(times=times)), "inbox")


async def impatient(inbox: SqlInbox, desk: Desk, done: object) -> list[datetime]:
    """Wait until it is done and let every pause be over at once; gives until when there were pauses."""
    waits = letters.c.state == "waiting"
    pauses: list[datetime] = []

    def hurry(connection: Connection) -> None:
        pauses.extend(connection.execute(select(letters.c.due_at).where(waits, letters.c.due_at > EARLY)).scalars())
        connection.execute(update(letters).where(waits).values(due_at=EARLY))

    async with asyncio.timeout(20):
        while not done():  # type: ignore[operator]
            await inbox._door.change(hurry, "inbox")
            desk.ring()
            await asyncio.sleep(0.01)
    return pauses


@pytest.mark.parametrize("trouble", [Transient("away"), Stop("token"), TimeoutError(), RuntimeError("odd")])
async def test_an_apology_that_fails_is_tried_again(inbox: SqlInbox, now: datetime, trouble: Exception) -> None:
    await filled(inbox, 1, now)
    await begun(inbox, 5)
    clerk = Clerk()
    clerk.troubles, clerk.speechless = [Transient("away")], [trouble, trouble]
    async with Desk(inbox, clerk, lambda: now, Log()) as desk:
        pauses = await impatient(inbox, desk, lambda: clerk.apologised)

    assert pauses[-2:] == [now + timedelta(minutes=2)] * 2
    assert [each.times for each in clerk.apologised] == [8]
    assert await inbox.take(now + timedelta(days=1)) is None


async def test_an_asker_who_can_be_told_nothing_for_an_hour_is_given_up_and_counted(
    inbox: SqlInbox, now: datetime
) -> None:
    await filled(inbox, 1, now)
    await begun(inbox, 34)
    clerk, given_up = Clerk(), []
    clerk.speechless = [Transient("away")] * 9
    async with Desk(inbox, clerk, lambda: now, Log(), given_up=lambda: given_up.append(1)) as desk:
        await impatient(inbox, desk, lambda: given_up)

    assert len(clerk.speechless) == 7
    assert await inbox.take(now + timedelta(days=1)) is None


@pytest.mark.parametrize(("before", "apologies", "given_up"), [(5, 0, 0), (6, 1, 0), (35, 1, 0), (36, 0, 1)])
async def test_a_letter_that_ends_the_process_is_not_begun_for_ever(
    inbox: SqlInbox, now: datetime, before: int, apologies: int, given_up: int
) -> None:
    await filled(inbox, 1, now)
    await begun(inbox, before)
    clerk, gone = Clerk(), []
    async with Desk(inbox, clerk, lambda: now, Log(), given_up=lambda: gone.append(1)):
        await until(lambda: clerk.answered or clerk.apologised or gone)

    assert (len(clerk.apologised), len(gone)) == (apologies, given_up)
    assert len(clerk.answered) == 1 - apologies - given_up


async def test_what_can_be_delivered_nowhere_is_not_tried_again(inbox: SqlInbox, now: datetime) -> None:
    await filled(inbox, 1, now)
    clerk = Clerk()
    clerk.troubles = [Skip("a bot")]
    async with Desk(inbox, clerk, Clock(now, timedelta(seconds=40)), Log()):
        await until(lambda: not clerk.troubles)
        await asyncio.sleep(0.1)

    assert clerk.answered == []
    assert await inbox.take(now + timedelta(days=1)) is None


async def test_who_was_turned_away_is_told_before_others_are_answered_one_at_a_time(
    inbox: SqlInbox, now: datetime
) -> None:
    await filled(inbox, AT_ONCE + 3, now)
    none = MostWaiting(person=99, workspace=0)
    for each in range(AT_ONCE):
        received = await inbox.receive([f"t{each}"], "T", f"W{each}", {"number": -1}, none, now, told=True)
        assert received == "workspace is full"
    clerk = Clerk()
    clerk.hold = asyncio.Event()
    async with Desk(inbox, clerk, lambda: now, Log()):
        await until(lambda: clerk.at_once == AT_ONCE)
        begun_first = list(clerk.begun)
        clerk.hold.set()
        await until(lambda: len(clerk.answered) == 2 * AT_ONCE + 3)

    assert [each.turned_away is not None for each in begun_first] == [True, *[False] * (AT_ONCE - 1)]


async def test_on_the_way_out_what_was_begun_is_finished_and_no_more(inbox: SqlInbox, now: datetime) -> None:
    await filled(inbox, AT_ONCE + 2, now)
    clerk = Clerk()
    clerk.hold = asyncio.Event()
    async with Desk(inbox, clerk, lambda: now, Log()):
        await until(lambda: clerk.at_once == AT_ONCE)
        asyncio.get_running_loop().call_later(0.2, clerk.hold.set)

    assert len(clerk.answered) == AT_ONCE
    assert await inbox.take(now) is not None


async def test_what_does_not_finish_in_time_is_free_for_the_next_at_once(inbox: SqlInbox, now: datetime) -> None:
    await filled(inbox, 1, now)
    clerk = Clerk()
    clerk.hold = asyncio.Event()
    async with Desk(inbox, clerk, lambda: now, Log(), grace=0.1):
        await until(lambda: clerk.at_once == 1)

    letter = await inbox.take(now)
    assert letter is not None
    assert letter.times == 2


async def test_a_ledger_that_is_away_is_waited_for(inbox: SqlInbox, now: datetime) -> None:
    class Away:
        times = 0

        def __getattr__(self, name: str) -> object:
            return getattr(inbox, name)

        async def take(self, at: datetime, *, turned_away: bool) -> Letter | None:
            self.times += 1
            if self.times < 3:
                raise DoorError("away")
            return await inbox.take(at, turned_away=turned_away)

    await filled(inbox, 1, now)
    clerk = Clerk()
    async with Desk(Away(), clerk, lambda: now, Log()):  # type: ignore[arg-type]
        await until(lambda: clerk.answered)


async def test_a_lost_lease_ends_the_work(inbox: SqlInbox, now: datetime) -> None:
    await filled(inbox, 1, now)
    clerk, log = Clerk(), Log()
    clerk.hold = asyncio.Event()

    class Lost:
        def __getattr__(self, name: str) -> object:
            return getattr(inbox, name)

        async def hold(self, _number: int, _now: datetime) -> bool:
            return False

    async with Desk(Lost(), clerk, lambda: now, log, beat=0.05):  # type: ignore[arg-type]
        await until(lambda: log.lines)

    assert clerk.answered == []
    assert await inbox.take(now + LEASE) is not None
