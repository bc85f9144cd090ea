"""What an index hands over counts only as it was published, word for word and link for link."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from tests.world import World


@pytest.fixture
async def world() -> World:
    world = World()
    world.person("asha", "grp:staff")
    world.page("travel", "Airfare above 500 needs approval.", ["grp:staff"], title="Travel")
    await world.sync()
    return world


@pytest.mark.parametrize(
    "lie",
    [
        {"title": "Travel, approved by the board"},
        {"url": "https://evil.example/travel"},
        {"owner": "somebody-else"},
        {"effective_from": date(2020, 1, 1)},
        {"labels": ("public",)},
    ],
    ids=lambda lie: next(iter(lie)),
)
async def test_a_passage_of_which_the_index_tells_anything_else_is_dropped(world: World, lie: dict[str, Any]) -> None:
    assert (await world.search("asha", "airfare approval")).hits
    for name, entry in world.index.entries.items():
        told = replace(entry.chunk.attributes, **lie)
        world.index.entries[name] = replace(entry, chunk=replace(entry.chunk, attributes=told))

    found = await world.search("asha", "airfare approval")

    assert found.hits == ()
    record, _ = world.traces.ended[found.trace]
    assert "published text" in str(record)
