"""What must hold for every history of a wiki: nobody sees more than he may, and after a look nobody sees less.

Histories are drawn by hypothesis, always the same ones; `tests.doubles.confluence.oracle` says what is right.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.confluence_house import House, stocked
from tests.connectors.sources.confluence.drawing import EDITIONS, STEP, Steps, held, live
from tests.doubles.confluence.history import apply

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# ---------------------------------------------------------------- P1


@held(2)
@given(edition=EDITIONS, steps=st.lists(STEP, max_size=25))
def test_after_a_full_look_everybody_sees_what_he_may_and_nothing_else(edition: str, steps: Steps) -> None:
    async def story(house: House) -> None:
        await house.sync()
        apply(house.wiki, steps[: len(steps) // 2])
        await house.sync()
        apply(house.wiki, steps[len(steps) // 2 :])
        report = await house.sync(full=True)

        assert report.complete, report.problems
        assert await house.wrong() == {}

    live(edition, story)


@held(2)
@given(edition=EDITIONS, steps=st.lists(STEP, min_size=1, max_size=4))
def test_a_sync_that_somebody_asks_for_finds_everything_without_a_full_look(edition: str, steps: Steps) -> None:
    async def story(house: House) -> None:
        await house.sync()
        for step in steps:
            apply(house.wiki, [step])
            await house.sync()
            assert await house.wrong() == {}

    live(edition, story)


# ---------------------------------------------------------------- P9, P10


async def test_who_somebody_is_in_one_wiki_means_nothing_in_another(tmp_path: Path) -> None:
    one, other = House(tmp_path / "one", stocked(), name="one"), House(tmp_path / "other", stocked(), name="other")
    async with one.open(), other.open():
        await one.sync()
        await other.sync()
        async with one.far() as far_one, other.far() as far_other:
            for account in ("ann", "robot", "adm"):
                here = (await one.subject(account, far_one)).principals
                there = (await other.subject(account, far_other)).principals
                shared = {each for each in here & there if each.kind != "usr"}
                assert set() == shared
        rules = await other.ledger.facts.satisfied(here, other.now())
        assert frozenset() == rules


@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
async def test_strange_names_of_people_and_groups_meet_on_both_sides(tmp_path: Path, edition: str) -> None:
    wiki = stocked(edition)
    names = ("557058:aa-bb/cc", "Ünï cödé", "a,b;c", "UPPER", "per%20cent", "pl+us & more")
    for number, name in enumerate(names):
        wiki.person(name, username=f"user{number}")
        held = wiki.group(f"Group {name}", name, "robot")
        page = wiki.page("ENG", f"For {number}")
        wiki.restrict(page.id, users=["robot"] if number % 2 else ["robot", name], groups=[held.id])
    house = House(tmp_path, wiki)
    async with house.open():
        await house.sync()
        seen = await house.seen(*names)

        assert await house.wrong(*names) == {}
        assert all(len(seen[name]) > 1 for name in names)
