"""A wiki that lacks what is good to have: less is found at worst, and nobody sees more."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from connectors.ports import Event
from connectors.records import Node, Own
from connectors.sources.confluence.sweep import Sweep
from tests.confluence_house import House, stocked
from tests.doubles.confluence.faults import status
from tests.doubles.vendor import changed

LACKING = {
    "cloud": (
        r"/api/v2/data-policies",
        r"/api/v2/space-role-mode",
        r"/api/v2/spaces/\d+/(pages|blogposts)",
        r"/api/v2/(attachments|footer-comments|inline-comments)\?",
        r"/rest/api/content/search",
        r"/restriction/byOperation/read",
        r"/rest/api/user\?",
        r"/child/attachment/\w+/download",
    ),
    "datacenter": (
        r"/rest/api/server-information",
        r"/rest/api/content/search",
        r"/permissions/anonymous",
        r"/rest/api/permissions",
    ),
}


@pytest.mark.parametrize("edition", LACKING)
async def test_what_a_wiki_lacks_is_had_another_way(edition: str, tmp_path: Path) -> None:
    house = House(tmp_path, stocked(edition))
    for pattern in LACKING[edition]:
        house.server.fault(pattern, status(404))
    async with house.open():
        report = await house.sync()
        seen = await house.seen("ann", "bob", "gus")

        assert report.complete
        assert report.skipped == ()
        assert seen == house.all_expected("ann", "bob", "gus")


@pytest.mark.parametrize(
    "pattern", [r"/(attachments|footer-comments|inline-comments)", r"/blogposts", r"/rest/api/group\?"]
)
async def test_what_is_not_there_at_all_takes_nothing_else_with_it(pattern: str, tmp_path: Path) -> None:
    house = House(tmp_path, stocked())
    async with house.open():
        await house.sync()
        held = await house.alive()
        house.server.fault(pattern, status(404))
        report = await house.sync()
        seen = await house.seen("ann", "bob", "gus")

        assert report.deleted == 0
        assert await house.alive() == held
        assert seen == house.all_expected("ann", "bob", "gus")


async def test_search_that_lags_behind_opens_nothing_that_was_closed(tmp_path: Path) -> None:
    def as_before(right: dict[str, Any]) -> None:
        for row in right.get("results", ()):
            for held in row.get("restrictions", {}).get("read", {}).get("restrictions", {}).values():
                held |= {"results": [], "size": 0}

    house = House(tmp_path, stocked())
    house.server.fault(r"/rest/api/content/search", changed(as_before))
    async with house.open():
        await house.sync()
        [top] = [each for each in house.wiki.content.values() if each.title == "Top"]
        house.wiki.restrict(top.id, users=["robot", "ann"])
        await house.sync()

        assert top.id not in await house.visible("bob")
        assert await house.wrong() == {}


async def test_what_an_event_closed_is_asked_for_itself_where_search_would_be_believed(tmp_path: Path) -> None:
    def as_before(right: dict[str, Any]) -> None:
        for row in right.get("results", ()):
            for held in row.get("restrictions", {}).get("read", {}).get("restrictions", {}).values():
                held |= {"results": [], "size": 0}

    house = House(tmp_path, stocked())
    house.server.fault(r"/rest/api/content/search", changed(as_before))
    async with house.open():
        await house.sync()
        [top] = [each for each in house.wiki.content.values() if each.title == "Top"]
        house.wiki.restrict(top.id, users=["robot", "ann"])
        await house.memory.told([Event(top.id, "content_permissions_updated", closes=True)], house.now())
        async with house.far() as far:
            wiki = far.source._wiki  # type: ignore[attr-defined]
            container = (await node(house, top.id)).container
            [space] = [each for each in await wiki.spaces(()) if each.node_key == container]
            # A wiki so large that no restriction is asked for by itself without need.
            await Sweep(wiki, house.memory, house.now(), "walk", timedelta(hours=24), direct=0).space(space)

        assert isinstance((await node(house, top.id)).rules, Own)


async def node(house: House, key: str) -> Node:
    """What is remembered of an object."""
    return (await house.memory.get([key]))[key]
