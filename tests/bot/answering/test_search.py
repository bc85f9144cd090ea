"""Retrieval alone: what is listed, and that it is traced and judged like an answer."""

from __future__ import annotations

import pytest

from tests.world import World


@pytest.fixture
async def world() -> World:
    world = World()
    world.group("grp:everyone", "grp:staff")
    world.person("asha", "grp:staff")
    world.person("ben")
    for number in range(5):
        world.page(f"p{number}", f"Airfare rule {number}.", ["grp:staff"], title=f"Page {number} of Mr Jones")
    await world.sync()
    return world


async def test_no_more_than_the_limit_is_listed_best_first(world: World) -> None:
    found = await world.search("asha", "airfare rule 3", limit=2)

    assert found.hits[0].chunk.document.key == "p3"
    assert [hit.ranks["final"] for hit in found.hits] == [1, 2]


async def test_titles_are_masked(world: World) -> None:
    found = await world.search("asha", "airfare", limit=5)

    assert len(found.hits) == 5
    assert not any("Jones" in hit.title for hit in found.hits)


async def test_a_search_writes_nothing_and_is_traced(world: World) -> None:
    found = await world.search("asha", "airfare")

    record, sealed = world.traces.ended[found.trace]
    assert (record["outcome"], dict(sealed)) == ("searched", {})
    assert len(record["attempts"][0]["delivery"]) == 5
    assert world.tap.calls("writer") == []


@pytest.mark.parametrize("who", ["ben", "stranger"])
async def test_who_may_read_nothing_finds_nothing(world: World, who: str) -> None:
    assert (await world.search(who, "airfare")).hits == ()


async def test_in_a_place_only_what_everybody_there_may_read_is_listed(world: World) -> None:
    world.place("private:pair", "asha", "ben")
    world.page("shared", "Airfare for all.", [["grp:staff", "usr:ben@example.com"]])
    await world.sync()

    found = await world.search("asha", "airfare", "private:pair")

    assert [hit.chunk.document.key for hit in found.hits] == ["shared"]
