"""Reading a space whole while something of it can't be read, is left out of a list, or is known to search alone."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import Transient
from connectors.records import Inherits, Own
from connectors.sources.confluence.mapping import Item
from connectors.sources.confluence.sweep import SEARCH_LAG, Sweep, Swept, _Reading
from policies.access import Unknown
from tests.confluence_house import House, stocked
from tests.connectors.sources.confluence.living import living, named, settled_in
from tests.doubles.confluence.faults import no_results, status
from tests.doubles.vendor import changed

DAY = timedelta(hours=24)


async def swept(
    house: House, key: str = "ENG", lease: timedelta = DAY, direct: int = 0, lost: int = 200, **more: Any
) -> Swept:
    """One space read whole, now; as a space with more contents than are asked one by one, unless told otherwise."""
    async with house.far() as far:
        wiki = far.source._wiki  # type: ignore[attr-defined]
        for name, value in more.items():
            setattr(wiki, name, value)
        [space] = [each for each in await wiki.spaces(()) if each.key == key]
        return await Sweep(wiki, house.memory, house.now(), "walk", lease, direct, lost).space(space)


async def rules_of(house: House, title: str) -> Any:
    return (await house.memory.get([named(house, title)]))[named(house, title)].rules


# ---------------------------------------------------------------- one page that can't be read


@pytest.mark.parametrize("title", ["Leaf", "Middle"])
async def test_a_page_whose_restriction_always_fails_goes_dark_and_its_space_does_not(
    tmp_path: Path, title: str
) -> None:
    async with settled_in(tmp_path) as house:
        broken = named(house, title)
        house.server.fault(f"content/{broken}/restriction", status(500))
        for _ in range(4):
            house.wiki.at += timedelta(hours=9)
            await house.sync()
        dark = {broken, *(each.id for each in house.wiki.below(broken))}

        assert house.expected("bob") - dark == await house.visible("bob")
        house.server.calm()
        await house.sync()
        assert await house.wrong() == {}


async def test_what_inherits_counts_as_verified_when_it_was_read_last(tmp_path: Path) -> None:
    """Within its time, so that a restriction which came meanwhile is not outlived."""
    async with settled_in(tmp_path) as house:
        first = house.now()
        house.server.fault(f"content/{named(house, 'Leaf')}/restriction", status(500))
        house.wiki.at += timedelta(hours=2)
        assert (await swept(house, direct=200)).read_at == first

        house.wiki.at += timedelta(hours=11)
        assert (await swept(house, direct=200)).read_at == house.now()
        assert isinstance((await rules_of(house, "Leaf")).access, Unknown)


async def test_a_restricted_page_that_fails_for_ever_keeps_no_feed_from_its_end(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        house.wiki.restrict(named(house, "Leaf"), users=["ann", "robot"])
        await house.sync()
        house.server.fault(f"content/{named(house, 'Leaf')}/restriction", status(500))
        house.wiki.at += timedelta(hours=3)
        report = await house.sync(hurried=False)

        assert report.complete
        assert any(named(house, "Leaf") in each for each in report.problems)
        assert house.now().isoformat() == await house.memory.note("feed:restricted")


# ---------------------------------------------------------------- lists that leave something out


async def test_a_page_that_slips_over_the_edge_of_a_list_is_not_lost(tmp_path: Path) -> None:
    """Lists by start and limit: what is deleted before the edge moves everything after it one place up."""
    wiki = stocked("datacenter")
    pages = [wiki.page("ENG", f"Page {number}") for number in range(8)]
    async with settled_in(tmp_path, wiki) as house:
        await house.sync()
        house.server.caps["expanded"] = 5
        alive = await house.alive()

        def deleted_meanwhile(line: str) -> None:
            if "type=page" in line and "spaceKey=ENG" in line and "start=5" in line and pages[0].status == "current":
                wiki.trash(pages[0].id)

        house.server.heard = deleted_meanwhile
        report = await house.sync()

        assert report.deleted == 0
        assert alive == await house.alive()
        await house.sync()
        assert alive - {pages[0].id} == await house.alive()
        assert await house.wrong() == {}


async def test_a_list_that_leaves_out_too_much_is_not_believed(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        house.server.fault(r"/(spaces/\d+/)?pages\?", no_results())
        held = await house.alive()
        with pytest.raises(Transient, match="leaves out"):
            await swept(house, lost=2)
        report = await house.sync()

        assert (report.deleted, held) == (0, await house.alive())
        assert await house.wrong() == {}


@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
async def test_files_and_comments_that_no_list_has_any_more_are_asked_for_themselves(
    tmp_path: Path, edition: str
) -> None:
    async with settled_in(tmp_path, edition) as house:
        gone = named(house, "notes.txt")
        house.wiki.trash(gone)
        house.server.fault(r"content/search|/attachments\?|comments\?", no_results())
        await swept(house, small=0) if edition == "datacenter" else await swept(house)
        kept = {node.key async for node in house.memory.of_container("space:ENG") if node.walk == "walk"}

        assert named(house, "Re: Middle") in kept
        assert gone not in kept


@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
async def test_what_is_deleted_is_deleted_under_the_id_that_it_was_kept_by(tmp_path: Path, edition: str) -> None:
    """PH#3347: a deletion by another id than the stored one did nothing, without a word."""
    async with settled_in(tmp_path, edition) as house:
        gone = {named(house, title) for title in ("Middle", "notes.txt", "Re: Middle")}
        assert gone <= await house.alive()
        house.wiki.purge(named(house, "Middle"))
        report = await house.sync()

        assert report.deleted == len(gone)
        assert not gone & await house.alive()


async def test_a_reading_that_raises_ends_what_waits_for_it() -> None:
    """EC PR#2380: the run waited for ever for a task that had raised."""

    class Broken:
        async def restriction(self, key: str) -> Any:
            await asyncio.sleep(0)
            if key == "2":
                raise RuntimeError("nobody expected this")
            return Inherits()

    reading = _Reading(Broken(), {}, set(), 0)  # type: ignore[arg-type]
    reading.items = {str(number): Item(str(number), "page", None, None, "", "", "1", "") for number in range(9)}
    with pytest.raises(RuntimeError):
        await asyncio.wait_for(reading.each_restriction(), 5)


# ---------------------------------------------------------------- what only search says


@pytest.mark.parametrize(("lease", "earlier"), [(DAY, SEARCH_LAG), (timedelta(hours=1), timedelta(minutes=15))])
async def test_what_search_says_counts_as_read_earlier(tmp_path: Path, lease: timedelta, earlier: timedelta) -> None:
    async with settled_in(tmp_path) as house:
        house.wiki.at += timedelta(hours=5)

        assert (await swept(house, lease=lease)).read_at == house.now() - earlier
        assert (await swept(house, lease=lease, direct=200)).read_at == house.now()


async def test_a_restriction_that_search_learns_late_is_outlived_by_no_lease(tmp_path: Path) -> None:
    def as_before(right: dict[str, Any]) -> None:
        for row in right.get("results", ()):
            for held in row.get("restrictions", {}).get("read", {}).get("restrictions", {}).values():
                held |= {"results": [], "size": 0}

    async with settled_in(tmp_path) as house:
        house.wiki.at += timedelta(hours=5)
        since = house.now()
        house.wiki.restrict(named(house, "Leaf"), users=["ann", "robot"])
        house.server.fault(r"/rest/api/content/search", changed(as_before))
        house.wiki.at += SEARCH_LAG - timedelta(minutes=1)

        assert (await swept(house)).read_at <= since
        assert isinstance(await rules_of(house, "Leaf"), Inherits)
        house.server.calm()
        await swept(house)
        assert isinstance(await rules_of(house, "Leaf"), Own)


async def test_what_events_close_in_spaces_that_are_not_read_is_forgotten(tmp_path: Path) -> None:
    async with living(tmp_path, stocked(), settings={"spaces": ["PUB"]}) as house:
        await house.sync()
        elsewhere = named(house, "Top")
        house.wiki.restrict(elsewhere, users=["ann", "robot"])
        await house.tell(of_permissions=True)
        assert elsewhere in await house.memory.closed()
        await house.sync()

        assert await house.memory.closed() == {}
