"""How far each feed and each event got, and what is kept of it: where a space fails, that space alone is behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from connectors.ports import Event
from connectors.sources.confluence.datacenter import DataCenter
from connectors.sources.confluence.mapping import Item, Space
from connectors.sources.confluence.source import OVERLAP
from connectors.sources.confluence.sweep import latest
from tests.confluence_house import House, stocked
from tests.connectors.sources.confluence.living import living, named, settled_in
from tests.doubles.confluence.faults import status
from tests.doubles.confluence.wiki import everyone

MINUTES = timedelta(minutes=1)


async def reached(house: House) -> datetime:
    """Up to when changes were seen."""
    return datetime.fromisoformat(await house.memory.note("watermark") or "")


def archived(house: House) -> None:
    house.wiki.archive_space("HR")


def broken(house: House) -> None:
    house.server.fault(rf"spaces/{house.wiki.space_of('HR').id}/", status(500))


def emptied(house: House) -> None:
    house.wiki.trash(named(house, "Pay"))
    house.wiki.log.pop()


@pytest.mark.parametrize("fails", [archived, broken, emptied])
async def test_a_space_that_fails_keeps_neither_events_nor_feeds_of_the_others(tmp_path: Path, fails: object) -> None:
    async with settled_in(tmp_path, settings={"spaces": ["ENG", "HR", "PUB"]}) as house:
        house.told = len(house.wiki.log)
        fails(house)  # type: ignore[operator]
        await house.memory.told([Event("space:HR", "space_updated", True)], house.now())
        house.wiki.edit(named(house, "Leaf"), body="<p>xylophone</p>")
        await house.tell()
        house.wiki.at += 30 * MINUTES
        edited = house.wiki.content[named(house, "Leaf")].modified
        report = await house.sync(hurried=False)

        assert not report.complete
        assert "xylophone" in (await house.texts("bob"))[named(house, "Leaf")]
        assert await house.memory.hints() == []
        assert edited == await reached(house)
        assert {await house.memory.note(f"feed:{name}") for name in ("modified", "spaces")} == {house.now().isoformat()}


async def test_after_too_many_events_only_what_failed_is_read_once_more(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        await house.memory.told([Event("", "more than were kept", False)], house.now())
        hr, eng = house.wiki.space_of("HR").id, house.wiki.space_of("ENG").id
        house.server.fault(rf"spaces/{hr}/pages", status(500))
        await house.sync(hurried=False)
        assert await house.memory.hints() == []
        house.server.lines.clear()
        house.wiki.at += 5 * MINUTES
        await house.sync(hurried=False)
        house.server.calm()
        house.wiki.at += 5 * MINUTES
        await house.sync(hurried=False)
        lists = [line for line in house.server.lines if "/pages?" in line]

        assert any(f"spaces/{hr}/" in line for line in lists)
        assert not any(f"spaces/{eng}/" in line for line in lists)
        assert await house.memory.notes("sweep:") == {}
        assert await house.wrong() == {}


async def test_a_first_sync_with_an_empty_space_is_where_changes_are_counted_from(tmp_path: Path) -> None:
    wiki = stocked()
    wiki.space("EMPTY", everyone())
    async with living(tmp_path, wiki, settings={"spaces": ["PUB", "EMPTY"]}) as house:
        report = await house.sync()

        assert not report.complete
        assert house.wiki.content[named(house, "Welcome")].modified == await reached(house)


async def test_what_an_event_told_of_and_can_not_be_read_now_is_told_of_again(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        leaf, middle = named(house, "Leaf"), named(house, "Middle")
        told = [Event(key, "content_permissions_updated", True) for key in (leaf, middle, "777")]
        await house.memory.told(told, house.now())
        house.server.fault(f"content/{leaf}/restriction", status(500))
        await house.sync(hurried=False)
        assert [leaf] == [hint.key for hint in await house.memory.hints()]

        house.server.calm()
        await house.sync(hurried=False)
        assert await house.memory.hints() == []


async def test_an_event_of_something_new_waits_for_the_walk_that_finds_it(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        new = house.wiki.page("ENG", "New")
        await house.memory.told([Event(new.id, "page_created", False)], house.now())
        house.server.fault("sort=-modified-date", status(500))
        await house.sync(hurried=False)
        assert [new.id] == [hint.key for hint in await house.memory.hints()]

        house.server.calm()
        await house.sync(hurried=False)
        assert await house.memory.hints() == []
        assert new.id in await house.visible("bob")


async def test_a_page_that_came_back_and_was_edited_is_back(tmp_path: Path) -> None:
    """Two events of one page that is not known any more: neither hides the other."""
    async with settled_in(tmp_path) as house:
        leaf = named(house, "Leaf")
        house.wiki.trash(leaf)
        house.wiki.at += 4 * OVERLAP
        house.wiki.edit(named(house, "Middle"), title="Middle")
        await house.sync()
        house.wiki.restore(leaf)
        told = [Event(leaf, "page_restored", True), Event(leaf, "page_updated", False)]
        await house.memory.told(told, house.now())
        await house.sync(hurried=False)

        assert leaf in await house.visible("bob")


async def test_a_version_from_the_future_moves_no_feed_there(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        strange = house.wiki.page("ENG", "From an import")
        house.wiki.content[strange.id].modified = house.now() + timedelta(days=400)
        await house.sync()
        assert await reached(house) <= house.now()

        house.wiki.at += 20 * MINUTES
        house.wiki.edit(named(house, "Leaf"), body="<p>xylophone</p>")
        house.wiki.at += 20 * MINUTES
        report = await house.sync(hurried=False)
        assert report.complete, report.problems
        assert "xylophone" in (await house.texts("ann"))[named(house, "Leaf")]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (["2030-01-01T08:00:00Z", "2030-01-01T09:30:00+02:00"], "2030-01-01T08:00:00+00:00"),
        (["2030-01-01T08:00:00Z", "2031-01-01T08:00:00Z"], "2030-01-01T08:00:00+00:00"),
        (["2030-01-01T08:00:00Z", "yesterday", "", "2030-01-01T08:30:00"], "2030-01-01T08:00:00+00:00"),
        (["yesterday"], None),
        ([], None),
    ],
)
def test_the_latest_change_is_an_instant_that_was_already(changed: list[str], expected: str | None) -> None:
    items = [Item("1", "page", None, None, "", "", "1", each) for each in changed]
    upto = datetime.fromisoformat("2030-01-01T09:00:00+00:00")

    assert latest(items, upto) == (datetime.fromisoformat(expected) if expected else None)


@pytest.mark.parametrize("kept", [None, "2999-01-01T00:00:00+00:00", "no time"])
async def test_where_it_is_not_known_how_far_changes_were_seen_a_lease_is_gone_back(
    tmp_path: Path, kept: str | None
) -> None:
    async with settled_in(tmp_path) as house:
        house.wiki.edit(named(house, "Leaf"), body="<p>xylophone</p>")
        await house.memory.keep_note("watermark", kept)
        house.wiki.at += 10 * MINUTES
        await house.sync(hurried=False)

        assert "xylophone" in (await house.texts("ann"))[named(house, "Leaf")]
        assert await reached(house) == house.wiki.content[named(house, "Leaf")].modified


@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
async def test_a_reply_to_a_new_comment_comes_with_it(tmp_path: Path, edition: str) -> None:
    """Lists that begin with the newest name the reply first."""
    async with settled_in(tmp_path, edition) as house:
        comment = house.wiki.comment(named(house, "Leaf"), "<p>Is that so?</p>")
        reply = house.wiki.comment(comment.id, "<p>It is.</p>")
        house.wiki.at += 10 * MINUTES
        report = await house.sync(hurried=False)

        assert report.upserted == 2
        assert {comment.id, reply.id} <= await house.visible("bob")


@pytest.mark.parametrize(("count", "asked"), [(0, [0]), (1, [1]), (50, [50]), (120, [50, 50, 20])])
async def test_data_center_is_asked_for_changes_of_many_spaces_in_parts(count: int, asked: list[int]) -> None:
    """And of no space in particular where none was chosen."""
    queries: list[str] = []

    class Asked:
        async def counted(self, _path: str, params: dict[str, str]) -> AsyncIterator[list[dict[str, str]]]:
            queries.append(params["cql"])
            return
            yield

    wiki = DataCenter(Asked(), None, None)  # type: ignore[arg-type]
    spaces = [Space(str(number), f"S{number}", "") for number in range(count)]
    now = datetime.fromisoformat("2030-01-01T09:00:00+00:00")
    async for _ in wiki.changed(now - 30 * MINUTES, now, spaces):
        pass

    assert asked == [query.count('"S') for query in queries]
    assert all(("space in" in query) == bool(count) for query in queries)
    assert all(query.endswith('lastmodified >= now("-32m")') for query in queries)
