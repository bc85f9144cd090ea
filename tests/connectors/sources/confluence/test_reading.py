"""What goes wrong between a wiki and us, case by case: paging, zones, broken answers, bursts; and what must come of it.

The numbers are those of public bug reports: EC elastic/connectors, ONX onyx-dot-app/onyx, PH pipeshub-ai/pipeshub-ai.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from aiohttp import web

from tests.confluence_house import House, stocked
from tests.connectors.sources.confluence.living import living, named, settled_in
from tests.doubles.confluence.faults import busy, empty, half, in_circles, no_results, page, raw, short, status
from tests.doubles.confluence.wiki import Wiki, everyone, group, user

SMALL = {"v2": 7, "bare": 5, "expanded": 5, "body": 5}  # rows that a page of a listing holds at most


async def all_is_right(house: House) -> None:
    """Everybody sees what he may, and nothing else."""
    assert await house.wrong() == {}


def filled(edition: str = "cloud", pages: int = 24) -> Wiki:
    """A stocked wiki with many pages more, some of them restricted."""
    wiki = stocked(edition)
    top = next(each.id for each in wiki.content.values() if each.title == "Top")
    for number in range(pages):
        made = wiki.page("ENG", f"Page {number}", parent=top if number % 2 else None)
        if number % 10 == 7:
            wiki.restrict(made.id, users=["ann", "robot"])
    return wiki


# ---------------------------------------------------------------- paging


@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
async def test_every_page_of_a_listing_is_read(tmp_path: Path, edition: str) -> None:
    """EC#3320 (50 of them), ONX#5035, PH#1219 (totals that lie), mark#967 (a short page is not the end)."""
    async with settled_in(tmp_path, filled(edition)) as house:
        house.server.caps |= SMALL
        report = await house.sync()

        assert report.complete, report.problems
        await all_is_right(house)


async def test_a_next_link_that_leads_past_rows_loses_none(tmp_path: Path) -> None:
    """ONX#11284, CONFSERVER-95272: the limit was lowered without a word, and the next start was wrong."""
    wiki = stocked("datacenter")
    for number in range(12):
        wiki.space(f"S{number:02}", group(wiki.everybody_group))
        wiki.page(f"S{number:02}", f"Page of {number}")
    async with living(tmp_path, wiki) as house:
        house.server.caps |= SMALL
        await house.sync()

        await all_is_right(house)


async def test_a_cursor_that_comes_again_ends_the_walk_and_prunes_nothing(tmp_path: Path) -> None:
    """integrations#8406, baton-sdk#107."""
    async with settled_in(tmp_path, filled()) as house:
        await house.sync()
        alive = await house.alive()
        house.server.fault(r"GET /wiki/(api/v2/.*pages|rest/api/content/search)", in_circles())
        report = await house.sync(full=True)

        assert not report.complete
        assert alive == await house.alive()
        house.server.calm()
        await house.sync()
        await all_is_right(house)


async def test_a_listing_that_is_suddenly_empty_deletes_nothing(tmp_path: Path) -> None:
    """The bulk-loss guard: too much gone at once is hidden, and said."""
    async with settled_in(tmp_path, filled(pages=60)) as house:
        await house.sync()
        alive = await house.alive()
        house.server.fault(r"GET /wiki/(api/v2/(spaces/\d+/)?pages\?|rest/api/content/search)", no_results())
        house.server.fault(r"GET /wiki/api/v2/pages/\d+", status(404))
        report = await house.sync(full=True)
        seen = await house.seen()

        assert len(alive - await house.alive()) <= 50
        assert report.problems or not report.complete
        assert all(not keys - house.expected(name) for name, keys in seen.items())
        house.server.calm()
        await house.sync(full=True)
        await all_is_right(house)


async def test_files_whose_listing_fails_are_not_pruned(tmp_path: Path) -> None:
    """ONX#13805."""
    async with settled_in(tmp_path) as house:
        file = named(house, "notes.txt")
        house.server.fault("attachment", status(400))
        await house.sync(full=True)

        assert file in await house.alive()
        house.server.calm()
        await house.sync()
        await all_is_right(house)


# ---------------------------------------------------------------- broken answers


@pytest.mark.parametrize(
    "fault",
    [empty(), page(), raw(b"not json"), half(), status(502), busy(0)],
    ids=["empty", "a page", "no JSON", "half", "502", "429"],
)
async def test_an_answer_that_is_broken_once_costs_nothing(tmp_path: Path, fault: Any) -> None:
    """ONX#13540, ONX#10998: 200 and empty or no JSON is asked again, and never means that there is nothing."""
    async with living(tmp_path) as house:
        for at in (2, 5, 8):
            house.server.fault(".", fault, times=1, after=at)
        await house.sync()
        house.server.calm()
        seen = await house.seen()
        assert all(not keys - house.expected(name) for name, keys in seen.items())
        await house.sync()

        await all_is_right(house)


async def test_bursts_are_waited_for_in_seconds(tmp_path: Path) -> None:
    """EC PR#1702 took them for a factor; mcp#171."""
    async with living(tmp_path) as house:
        house.server.fault(".", busy(0), times=1, after=3)
        house.server.fault(".", busy(1), times=1, after=9)
        report = await house.sync()

        assert report.complete, report.problems
        await all_is_right(house)


async def test_one_body_that_can_not_be_rendered_is_one_document_skipped(tmp_path: Path) -> None:
    """CONFCLOUD-76433: its rights are kept, the others go on."""
    async with living(tmp_path) as house:
        house.wiki.content[named(house, "Middle")].broken = True
        await house.sync()
        seen = await house.seen()

        assert {named(house, "Middle")} == house.expected("bob") - seen["bob"]
        house.wiki.content[named(house, "Middle")].broken = False
        await house.sync()
        await all_is_right(house)


@pytest.mark.parametrize("code", [401, 403])
async def test_a_body_that_is_refused_for_a_while_is_read_again_without_an_edit(tmp_path: Path, code: int) -> None:
    async with living(tmp_path) as house:
        middle = named(house, "Middle")
        house.server.fault(rf"/api/v2/pages/{middle}", status(code))
        await house.sync()
        assert middle not in (await house.seen())["bob"]

        house.server.calm()
        await house.sync()
        await all_is_right(house)


@pytest.mark.parametrize("code", [401, 403, 404])
async def test_a_file_that_is_refused_for_a_while_is_read_again_without_an_edit(tmp_path: Path, code: int) -> None:
    async with settled_in(tmp_path) as house:
        late = house.wiki.attach(named(house, "Middle"), "late.txt", b"Bytes come late.", "text/plain")
        house.server.fault("/download", status(code))
        await house.sync()
        assert late.id not in await house.visible("bob")

        house.server.calm()
        await house.sync(hurried=False)
        await all_is_right(house)


async def test_many_files_that_are_refused_for_ever_keep_nothing_else_from_being_read(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        for number in range(8):
            house.wiki.attach(named(house, "Middle"), f"{number}.txt", b"Never told.", "text/plain")
        house.server.fault("/download", status(403))
        late = house.wiki.page("ENG", "Late")
        report = await house.sync()

        assert report.complete, report.problems
        assert late.id in await house.visible("bob")


async def test_a_large_page_that_times_out_is_asked_for_in_smaller_ones(tmp_path: Path) -> None:
    """ONX#10147."""

    async def too_much(request: web.Request, right: dict[str, Any]) -> web.StreamResponse:
        if int(request.query.get("limit", 25)) > 40:
            return web.Response(status=504)
        return web.json_response(right)

    async with settled_in(tmp_path, filled()) as house:
        house.server.caps["v2"] = 7
        house.server.fault("content/search", too_much)
        report = await house.sync()

        assert report.complete, report.problems
        await all_is_right(house)


async def test_one_space_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    """ONX#11193, EC#4306 in the other product: isolate errors per container."""
    async with settled_in(tmp_path) as house:
        welcome = house.wiki.page("PUB", "Late")
        hr = house.wiki.space_of("HR").id
        house.server.fault(rf"spaces/{hr}\b|HR", status(500))
        report = await house.sync()
        seen = await house.seen()

        assert welcome.id in seen["gus"]
        assert not report.complete or report.problems
        assert all(not keys - house.expected(name) for name, keys in seen.items())
        assert named(house, "Pay") in await house.alive()


async def test_a_token_that_ran_out_prunes_nothing(tmp_path: Path) -> None:
    """ONX#10397."""
    async with settled_in(tmp_path) as house:
        alive = await house.alive()
        house.server.fault(".", status(401))
        report = await house.sync(full=True)

        assert not report.complete
        assert any("wiki" in each or "token" in each or "401" in each for each in report.problems)
        assert alive == await house.alive()


async def test_rows_that_are_missing_without_a_word_expose_nothing(tmp_path: Path) -> None:
    async with settled_in(tmp_path, filled()) as house:
        await house.sync()
        house.server.fault("permissions|restriction|content/search", short(1))
        await house.sync()
        seen = await house.seen()

        assert all(not keys - house.expected(name) for name, keys in seen.items())


async def test_a_space_without_a_document_is_said(tmp_path: Path) -> None:
    """PH#1409: a set-up that looks right and indexes nothing is an error, never a success."""
    wiki = Wiki()
    wiki.person("robot", email="robot@example.com", admin=True)
    wiki.space("EMPTY", everyone())
    async with living(tmp_path, wiki) as house:
        report = await house.sync()

        assert report.problems or not report.complete


# ---------------------------------------------------------------- time


CHOSEN = [{}, {"spaces": ["ENG", "PUB"]}]


@pytest.mark.parametrize("settings", CHOSEN, ids=["all spaces", "some"])
@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Pacific/Kiritimati"])
@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
async def test_an_edit_is_found_whatever_the_zone_of_the_wiki(
    tmp_path: Path, edition: str, zone: str, settings: dict[str, Any]
) -> None:
    """CONFCLOUD-70966, ONX#3265, ragflow PR#18501: literals are of the instance's zone; by the walk of what changed."""
    async with settled_in(tmp_path, stocked(edition, zone=ZoneInfo(zone)), settings=settings) as house:
        house.wiki.at += timedelta(minutes=20)
        house.wiki.edit(named(house, "Leaf"), body="<p>A new word: xylophone.</p>")
        house.wiki.at += timedelta(minutes=20)
        report = await house.sync(hurried=False)

        assert report.complete, report.problems
        assert report.upserted == 1
        assert "xylophone" in (await house.texts("ann"))[named(house, "Leaf")]


async def test_an_edit_that_the_search_index_has_not_met_yet_is_found_later(tmp_path: Path) -> None:
    async with living(tmp_path, stocked("datacenter", lag=timedelta(minutes=30))) as house:
        house.wiki.at += timedelta(hours=1)
        await house.sync()
        house.wiki.edit(named(house, "Leaf"), body="<p>A new word: xylophone.</p>")
        await house.sync()
        house.wiki.at += timedelta(minutes=45)
        await house.sync()

        assert "xylophone" in (await house.texts("ann"))[named(house, "Leaf")]


@pytest.mark.parametrize("hour", [2, 6, 7, 8])  # the gap of the zone is at 2, and in UTC at 7
async def test_the_hour_that_summer_time_leaves_out_stops_nothing(tmp_path: Path, hour: int) -> None:
    """ONX#4345, ONX#4589: a literal in the gap is 400."""
    wiki = stocked("datacenter", zone=ZoneInfo("America/New_York"))
    async with living(tmp_path, wiki, settings=CHOSEN[hour % 2]) as house:
        wiki.at = wiki.at.replace(month=3, day=10, hour=hour, minute=31)
        wiki.edit(named(house, "Leaf"), body="<p>An old word.</p>")
        await house.sync()
        wiki.at += timedelta(minutes=5)
        wiki.edit(named(house, "Leaf"), body="<p>A new word: xylophone.</p>")
        report = await house.sync(hurried=False)

        assert report.complete, report.problems
        assert "xylophone" in (await house.texts("ann"))[named(house, "Leaf")]


# ---------------------------------------------------------------- addresses, names, files


async def test_a_scoped_token_goes_to_the_gateway_and_its_links_too(tmp_path: Path) -> None:
    """ONX#12559, langchain#11824: 401 at the site; next links with and without /wiki."""
    house = House(tmp_path, filled())
    house.server.scoped = True
    house.server.caps |= SMALL
    async with house.open():
        report = await house.sync()

        assert report.complete, report.problems
        assert house.server.counts["GET elsewhere"] == 0
        await all_is_right(house)


async def test_the_store_of_files_never_sees_the_token(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        assert "Notes beside the middle." in (await house.texts("ann"))[named(house, "notes.txt")]
        assert house.server.leaked == []


TITLES = ("Отпуск и больничный", "C++ & C#: 50/50?", "Per cent % and <angle>", "Emoji 🎉 plus+plus", "a" * 250)


@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
async def test_titles_of_any_kind_come_through(tmp_path: Path, edition: str) -> None:
    """ONX#10488."""
    wiki, made = stocked(edition), []
    for title in TITLES:
        page = wiki.page("ENG", title, "<p>Ёлка says yes.</p>")
        name = "".join(each for each in title[:40] if each not in "/?&+|=")  # what names of files may not hold
        made.append((page, wiki.attach(page.id, f"{name}.txt", f"Ёлка of {title}".encode(), "text/plain")))
    async with settled_in(tmp_path, wiki) as house:
        await house.sync()
        texts = await house.texts("ann")

        for page, file in made:
            assert page.title[:40] in texts[page.id]
            assert f"Ёлка of {page.title}" in texts[file.id]


async def test_only_the_spaces_that_were_chosen_are_read(tmp_path: Path) -> None:
    async with living(tmp_path, settings={"spaces": ["PUB"]}) as house:
        await house.sync()
        seen = await house.seen()

        assert {named(house, "Welcome")} == seen["bob"]
        house.wiki.move(named(house, "Welcome"), named(house, "Top"))
        await house.sync()
        assert set() == await house.visible("bob")


async def test_a_space_key_that_looks_like_nothing_is_no_wildcard(tmp_path: Path) -> None:
    """EC PR#3090: a blank was a key, and everything was read."""
    wiki = stocked()
    wiki.space("~x y", user("robot"), kind="personal")
    async with living(tmp_path, wiki, settings={"spaces": ["~x y"]}) as house:
        await house.sync()

        assert set() == await house.alive()


@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
async def test_more_labels_than_come_with_a_page_are_read_to_the_end(tmp_path: Path, edition: str) -> None:
    wiki = stocked(edition)
    leaf = next(each.id for each in wiki.content.values() if each.title == "Leaf")
    wiki.label(leaf, *(f"label-{number:03}" for number in range(230)), "secret")
    async with living(tmp_path, wiki, settings={"excluded_labels": ["Secret"]}) as house:
        await house.sync()

        assert leaf not in await house.visible("ann")
        assert named(house, "Middle") in await house.visible("ann")


async def test_a_label_that_is_left_out_takes_a_page_away_that_was_there(tmp_path: Path) -> None:
    async with settled_in(tmp_path, settings={"excluded_labels": ["Secret"]}) as house:
        leaf = named(house, "Leaf")
        house.wiki.label(leaf, "secret")
        before = leaf in await house.visible("ann")
        await house.sync()

        assert (before, leaf in await house.visible("ann")) == (True, False)
