"""Search and `why` agree with the oracle for every person and page, whatever happened before."""

from __future__ import annotations

import os
import random
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path

import pytest

from connectors.errors import Transient
from tests.connectors.sync.tree import Killed
from tests.connectors.sync.tree import Tap as Fatal
from tests.memory import ListSource
from tests.world import PAYLOAD, Page, World, real_doors

HISTORIES = int(os.environ.get("ORACLE_HISTORIES", "20"))  # the long form: ORACLE_HISTORIES=500
STEPS = 10
GROUPS = [f"grp:g{number}" for number in range(4)]
PEOPLE = [f"p{number}" for number in range(6)]
DAY = date(2029, 6, 1)


class History:
    """One random history of a small world, kills and failures among it."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.rng, self.made = world, random.Random(seed), 0
        world.group("grp:top", "grp:g0", "grp:g1")
        world.group("grp:g1", "grp:g2")
        world.group("grp:g2", "grp:top")  # in a circle
        for number, name in enumerate(PEOPLE):
            world.person(name, *self.rng.sample(GROUPS, self.rng.randint(0, 2)), kind=_KINDS[number])
        world.share_folder("shared", ["grp:g0"])
        world.share_folder("team", ["grp:g3"])
        for _ in range(4):
            self._new()

    def step(self) -> None:
        """Something changes at the source or in the directory."""
        for _ in range(self.rng.randint(1, 3)):
            self.rng.choice(_CHANGES)(self)

    def _new(self) -> None:
        self.made += 1
        where = self.rng.choice([None, None, "shared", "team"])
        self.world.page(f"page{self.made}", self._text(), self._readers(), folder=where, **self._dates())

    def _edit(self) -> None:
        self._change(text=self._text())

    def _version(self) -> None:
        self.made += 1
        self._change(version=f"v{self.made}", text=self._text(), **self._dates())

    def _status(self) -> None:
        self._change(status=self.rng.choice(["current", "current", "superseded", "draft"]))

    def _payload(self) -> None:
        self._change(text=f"Now {PAYLOAD}.")

    def _move(self) -> None:
        self._change(folder=self.rng.choice([None, "shared", "team"]))

    def _share(self) -> None:
        self._change(readers=self._clauses())

    def _share_folder(self) -> None:
        self.world.share_folder(self.rng.choice(["shared", "team"]), self._readers())

    def _delete(self) -> None:
        if len(self.world.pages) > 2:
            self.world.delete(self._one())

    def _broken(self) -> None:
        self.world.broken = not self.world.broken

    def _joins(self) -> None:
        self.world.joins(self.rng.choice(PEOPLE), self.rng.choice(GROUPS))

    def _leaves(self) -> None:
        self.world.leaves(self.rng.choice(PEOPLE), self.rng.choice(GROUPS))

    def _disabled(self) -> None:
        name = self.rng.choice(PEOPLE)
        self.world.enable(name) if name in self.world.oracle.disabled else self.world.disable(name)

    def _regrouped(self) -> None:
        self.world.group(self.rng.choice(["grp:top", "grp:g1", "grp:g2"]), *self.rng.sample(GROUPS, 2))

    def _time(self) -> None:
        self.world.at += timedelta(days=self.rng.choice([1, 20]))

    def _change(self, **changed: object) -> None:
        self.world.change(self._one(), **changed)

    def _one(self) -> str:
        return self.rng.choice(sorted(self.world.pages))

    def _text(self) -> str:
        self.made += 1
        return f"Text {self.made} says anything.\n\n## More\n\nAnd more of text {self.made}."

    def _readers(self) -> list[str] | list[list[str]] | None:
        rng, some = self.rng, [*GROUPS, "grp:top", "usr:p1@example.com"]
        return rng.choice(
            [rng.sample(some, 2), rng.sample(some, 1), [rng.sample(some, 2), rng.sample(some, 3)], [], None]
        )

    def _clauses(self) -> tuple[tuple[str, ...], ...] | None:
        readers = self._readers()
        if readers is None:
            return None
        return tuple(tuple(each) for each in readers) if readers and isinstance(readers[0], list) else (tuple(readers),)  # type: ignore[arg-type]

    def _dates(self) -> dict[str, date | None]:
        starts = self.rng.choice([None, date(2029, 1, 1), date(2029, 9, 1), date(2030, 1, 1), date(2030, 2, 1)])
        ends = self.rng.choice([None, None, date(2029, 12, 31), date(2030, 1, 15)])
        return {"starts": starts, "ends": ends if ends and (starts is None or starts < ends) else None}


_KINDS = ["member", "member", "member", "guest", "external", "member"]
_CHANGES = [
    History._new, History._edit, History._version, History._version, History._status, History._payload, History._move,
    History._share, History._share, History._share_folder, History._delete, History._broken, History._joins,
    History._leaves, History._disabled, History._regrouped, History._time,
]  # fmt: skip


async def agrees(world: World) -> None:
    """Nobody finds more or less than the oracle says, for today and for another day, and `why` says the same."""
    for on in (None, DAY):
        for person in PEOPLE:
            assert world.oracle.readable(person, world.at, on) == await world.found(person, on), (person, on)
            for page, shelf in world.oracle.shelves.items():
                for edition in shelf.editions:
                    expected = world.oracle.may_read(person, page, edition.version, world.at, on)
                    told = await world.why(person, page, edition.version, on)
                    assert expected == told.allowed, (person, page, edition.version, on, told)


async def within(world: World, before: dict[str, set[tuple[str, str]]]) -> None:
    """Between two syncs nobody finds what neither the old rules nor the new ones let him read."""
    for person in PEOPLE:
        pages = [page for page in world.pages.values() if may_now(world, person, page)]
        now = {(world.id_of(page).key, page.version) for page in pages}
        assert await world.found(person) <= before[person] | now, person


def may_now(world: World, person: str, page: Page) -> bool:
    readers = world.readers_of(page)
    plain = None if readers is None else [list(clause) for clause in readers]
    return page.usable and world.oracle.may_ask(person) and world.oracle.meets(person, plain)


async def lived(world: World, seed: int, steps: int) -> None:
    """A history with a kill or a failure before some of its syncs."""
    history = History(world, seed)
    await world.sync()
    await agrees(world)
    for _ in range(steps):
        history.step()
        await world.seat()
        before = {person: world.oracle.readable(person, world.at) for person in PEOPLE}
        trouble = history.rng.random()
        if trouble < 0.4:
            # A sync that was over before the kill is none that was killed: what holds then is asked below.
            if await killed(world, history.rng.randint(1, 40)):
                await within(world, before)
        elif trouble < 0.6:
            await failed(world, history.rng.randint(1, 40))
            await within(world, before)
        await world.sync()
        await agrees(world)


async def killed(world: World, fatal: int) -> bool:
    """A sync that dies before its n-th call of any door; whether it got that far."""
    try:
        await world.sync(tap=Fatal(fatal=fatal))
    except BaseExceptionGroup as group:
        if group.subgroup(Killed) is None:
            raise
        return True
    except Killed:
        return True
    return False


class Failing(Fatal):
    """A door that fails once, for a passing reason."""

    async def call(self, name, work):  # type: ignore[no-untyped-def]
        self.calls += 1
        if self.calls == self.fatal:
            raise Transient("it is away")
        return await work()


async def failed(world: World, fatal: int) -> None:
    """A sync in which the n-th call of any door fails."""
    with suppress(Transient, BaseExceptionGroup):
        await world.sync(tap=Failing(fatal=fatal))


@pytest.mark.timeout(max(120, HISTORIES * 5))
async def test_search_and_why_agree_with_the_oracle_after_any_history() -> None:
    for seed in range(HISTORIES):
        try:
            await lived(World(), seed, STEPS)
        except AssertionError as error:
            raise AssertionError(f"history {seed}: {error}") from error


@pytest.mark.parametrize("seed", range(max(2, HISTORIES // 12)))
async def test_the_real_ledger_index_and_files_agree_with_the_oracle(tmp_path: Path, seed: int) -> None:
    async with real_doors(tmp_path) as world:
        await lived(world, seed + 100, 3)


async def test_the_oracle_would_notice_a_search_that_finds_too_much() -> None:
    world = World()
    History(world, 1)
    await world.sync()
    world.oracle.shelves[next(iter(world.oracle.shelves))].readers = []
    world.oracle.shelves[list(world.oracle.shelves)[1]].readers = [[f"usr:{name}@example.com" for name in PEOPLE]]

    with pytest.raises(AssertionError):
        await agrees(world)


async def test_a_source_that_tells_nothing_takes_nothing_away() -> None:
    world = World()
    world.person("p0", "grp:g0")
    world.page("one", "Text says anything.", ["grp:g0"])
    await world.sync()
    from connectors.sync.run import Doors, sync
    from tests.memory import LineParser

    doors = Doors(world.catalog, world.index, LineParser(), world.embedder, world.detector)
    report = await sync(ListSource("wiki", [Transient("a page of the list failed")]), doors, lambda: world.at)

    assert not report.complete
    assert {("one", "v1")} == await world.found("p0")
