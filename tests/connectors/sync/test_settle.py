"""Settling: after it, the ledger says of a container what its nodes say; meanwhile, no more than before and after."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest

from connectors.sync.placing import Join
from connectors.sync.settle import unsettled
from tests.connectors.sync.far_house import FarHouse, Readable, far_house
from tests.connectors.sync.tree import Tap
from tests.doubles.far import Far

PEOPLE = ("a", "b", "c")


def permitted(far: Far, join: Join) -> Readable:
    """Who may read which text, plainly, page by page: shares nothing with what is tested."""
    found = set()
    for key, page in far.pages.items():
        if page.text in (None, "broken") or page.space in far.refusing:
            continue
        for person in PEOPLE:
            met, at, decided = True, key, False
            while at in far.pages:
                here = far.pages[at]
                if here.unread or here.readers is not None:
                    in_it = not here.unread and person in (here.readers or ())
                    if join is Join.REPLACE:
                        met, decided = in_it, True
                        break
                    met = met and in_it
                at = here.parent
            if not decided:
                met = met and at in far.spaces and person in far.spaces[at]
            if met:
                found.add((person, key, page.text))
    return frozenset(found)


@pytest.fixture(params=list(Join))
async def house(request: pytest.FixtureRequest) -> AsyncIterator[FarHouse]:
    async with far_house(join=request.param) as opened:
        yield opened


def filled(far: Far) -> None:
    far.space("hr", "a", "b")
    far.space("it", "b", "c")
    far.page("home", "hr")
    far.page("pay", "home", readers=["a"])
    far.page("bands", "pay")
    far.page("bonus", "bands", readers=["a", "b"])
    far.page("folder", "hr", text=None)
    far.page("forms", "folder")
    far.page("top", "it")
    far.page("servers", "top", readers=["c"])
    far.page("racks", "servers")


async def test_everybody_reads_what_the_system_permits(house: FarHouse) -> None:
    filled(house.far)
    report = await house.sync()

    assert report.complete
    assert await house.readable(*PEOPLE) == permitted(house.far, house.join)


async def test_a_second_run_writes_nothing(house: FarHouse) -> None:
    filled(house.far)
    await house.sync()
    tap = Tap()
    report = await house.sync(tap)

    assert (report.upserted, report.moved, report.deleted, report.access_changed) == (0, 0, 0, 0)
    assert not {"repoint", "retire", "place", "state_all", "hide_subtrees"} & set(tap.named)
    assert await unsettled(house.memory) == []


def changed(far: Far, chance: random.Random, number: int) -> None:
    """Something that people do."""
    keys = sorted(far.pages)
    places = [*far.spaces, *keys]
    key = chance.choice(keys) if keys else None
    some = chance.sample(PEOPLE, chance.randint(0, 3))
    match chance.randint(0, 9):
        case 0:
            far.space(chance.choice(sorted(far.spaces)), *some)
        case 1 | 2 if key:
            far.restrict(key, *some)
        case 3 | 4 if key:
            far.unrestrict(key)
        case 5 | 6 if key:
            inside = set(far.below(key))
            far.move(key, chance.choice([place for place in places if place not in inside]))
        case 7 if key:
            if far.pages[key].text is not None:
                far.write(key, f"Text {number} of {key}.")
        case 8 if key:
            far.delete(key)
        case _:
            text = chance.choice([None, "", ""])
            far.page(f"n{number}", chance.choice(places), text, chance.choice([None, None, some]))


@pytest.mark.parametrize("seed", range(4))
async def test_after_any_history_everybody_reads_what_the_system_permits(house: FarHouse, seed: int) -> None:
    chance = random.Random(seed)
    filled(house.far)
    for number in range(15):
        for step in range(chance.randint(1, 3)):
            changed(house.far, chance, number * 10 + step)
        report = await house.sync()

        assert report.complete, report.problems
        assert await house.readable(*PEOPLE) == permitted(house.far, house.join)


@pytest.mark.parametrize("seed", range(6))
async def test_a_kill_between_any_two_steps_shows_no_more_than_before_and_after(house: FarHouse, seed: int) -> None:
    chance = random.Random(seed)
    filled(house.far)
    await house.sync()
    for number in range(4):
        before = permitted(house.far, house.join)
        for step in range(chance.randint(1, 4)):
            changed(house.far, chance, number * 10 + step)
        after = permitted(house.far, house.join)
        fatal = chance.randint(1, 10)
        while await house.killed_sync(fatal):
            seen = await house.readable(*PEOPLE)

            assert seen <= before | after
            fatal += chance.randint(1, 10)
        await house.sync()

        assert await house.readable(*PEOPLE) == after
