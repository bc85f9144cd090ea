"""A search may be asked for a whole container: what appears in it, or is closed in it, meanwhile is still nobody's."""

from __future__ import annotations

from typing import Any

import pytest

from connectors.ledger.open import open_ledger
from policies.names import Principal
from policies.predicate import SearchScope
from tests.world import World, cited

SECRET = "zanzibar"
QUESTION = "Which town is the meeting in?"


@pytest.fixture(params=["memory", "sql"])
async def world(request: pytest.FixtureRequest) -> Any:
    if request.param == "memory":
        yield await _peopled(World())
        return
    async with open_ledger("sqlite+aiosqlite://") as ledger:
        yield await _peopled(World(catalog=ledger.catalog, facts=ledger.facts))


async def _peopled(world: World) -> World:
    world.group("grp:everyone", "grp:staff")
    world.group("grp:board")
    for name in ("asha", "ben"):
        world.person(name, "grp:staff")
    world.person("cara", "grp:staff", "grp:board")
    for number in range(4):
        world.page(f"open{number}", f"The staff meets on floor {number}.", ["grp:staff"])
    world.place("private:pair", "asha", "ben")
    await world.sync()
    return world


async def covers(world: World, person: str) -> SearchScope:
    subject = await world.doors.directory.subject(Principal.person(f"{person}@example.com"), world.at)
    assert subject is not None
    cover = await world.facts.cover([subject.principals], world.at)
    assert cover is not None
    return cover


async def test_a_page_that_appears_between_cover_and_search_is_dropped_by_the_gate(world: World) -> None:
    narrowed: list[int] = []

    async def appears(name: str) -> None:
        if name == "index.search" and not narrowed:
            narrowed.append(1)
            world.page("towns", f"The town of the meeting is {SECRET}.", ["grp:board"])
            await world.sync(pass_by=False)

    world.tap.before = appears
    outcome = await world.ask("asha", QUESTION)

    assert len((await covers(world, "cara")).containers) == 1
    assert narrowed
    assert SECRET not in world.tap.through("reranker", "writer", "personal_data", "traces", "sealed")
    assert "towns" not in cited(outcome)
    world.tap.before = None
    assert cited(await world.ask("cara", QUESTION)) == {"towns"}


@pytest.mark.parametrize("place", ["dm", "private:pair"])
async def test_a_page_closed_in_a_whole_container_is_not_answered_at_the_next_question(
    world: World, place: str
) -> None:
    world.page("towns", f"The town of the meeting is {SECRET}.", ["grp:staff"])
    await world.sync()
    assert cited(await world.ask("asha", QUESTION, place)) == {"towns"}
    assert len((await covers(world, "asha")).containers) == 1

    world.revoke("towns", "grp:staff")
    await world.sync(pass_by=False)
    outcome = await world.ask("asha", QUESTION, place)

    assert "towns" not in cited(outcome)
    hits = await world.search("asha", QUESTION, place)
    assert "towns" not in {hit.chunk.document.key for hit in hits.hits}
