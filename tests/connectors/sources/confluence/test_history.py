"""The wordings of a page that were in force before: told where the admin asks for them, and each for its own time."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from connectors.records import Search
from policies.decision import Allowed
from policies.facts import Moment
from policies.predicate import Narrowing
from tests.confluence_house import House, stocked
from tests.connectors.sources.confluence.living import HereParser, living, settled_in
from tests.doubles.confluence.faults import status
from tests.doubles.confluence.wiki import Content, Wiki

EDITIONS = pytest.mark.parametrize("edition", ["cloud", "datacenter"])
BEFORE_ALL, FIRST, SECOND, NOW = date(2026, 6, 1), date(2027, 6, 1), date(2028, 6, 1), date(2029, 6, 1)


def wording(limit: int, effective: date | None) -> str:
    dated = f"<tr><th>Effective from</th><td>{effective.isoformat()}</td></tr>" if effective else ""
    table = f"<table><tbody><tr><th>Owner</th><td>People team</td></tr>{dated}</tbody></table>"
    return (
        f'<ac:structured-macro ac:name="details"><ac:rich-text-body>{table}</ac:rich-text-body></ac:structured-macro>'
        f"<p>The travel limit is {limit} euro.</p>"
    )


def with_history(edition: str) -> tuple[Wiki, Content]:
    """A wiki with a page that said 100 from 2027 (with a typing error first), 200 from 2028 and 300 from 2029."""
    wiki = stocked(edition)
    page = wiki.page("ENG", "Travel", wording(1000, date(2027, 1, 1)))
    edit(wiki, page)
    return wiki, page


def edit(wiki: Wiki, page: Content) -> None:
    for limit, effective in ((100, date(2027, 1, 1)), (150, None), (200, date(2028, 1, 1)), (300, date(2029, 1, 1))):
        wiki.edit(page.id, body=wording(limit, effective))


async def said(house: House, page: Content, on: date, account: str = "ann") -> set[str]:
    """The limits that this person is told of for a day."""
    async with house.far() as far:
        subject = await house.subject(account, far)
    scopes = await house.ledger.facts.cover([subject.principals], house.now())
    if scopes is None:
        return set()
    search = Search("travel", await house.embedder.question("travel"), (), Narrowing(scopes), limit=1000)
    found: set[str] = set()
    for hit in await house.index.search(search):
        at = (hit.id.document, hit.id.version)
        resource = (await house.ledger.facts.resources([at])).get(at)
        if hit.id.document.key != page.id or resource is None:
            continue
        verdict = house.policy.decide(subject, resource, Moment(house.now(), on, dated=True))
        if isinstance(verdict, Allowed):
            found.add(hit.id.version)
    return found


async def over_time(house: House, page: Content) -> list[set[str]]:
    return [await said(house, page, day) for day in (BEFORE_ALL, FIRST, SECOND, NOW)]


@EDITIONS
async def test_each_wording_answers_for_its_own_time(tmp_path: Path, edition: str) -> None:
    wiki, page = with_history(edition)
    async with living(tmp_path, wiki, settings={"history": True}, parser=HereParser()) as house:
        report = await house.sync()

        assert report.complete, report.problems
        assert await over_time(house, page) == [set(), {"2"}, {"4"}, {"5"}]
        placed = (await house.memory.places([page.id]))[page.id]
        assert placed.version == "5"
        asked = house.server.counts.total()
        again = await house.sync(hurried=False)
        assert (again.upserted, again.unchanged) == (0, 0)
        assert house.server.counts.total() - asked < 5  # versions are not asked for anew


@EDITIONS
async def test_without_being_asked_for_there_is_the_newest_alone(tmp_path: Path, edition: str) -> None:
    wiki, page = with_history(edition)
    async with living(tmp_path, wiki, parser=HereParser()) as house:
        await house.sync()

        assert await over_time(house, page) == [set(), set(), set(), {"5"}]


@EDITIONS
async def test_two_editions_between_syncs_are_both_kept(tmp_path: Path, edition: str) -> None:
    wiki, page = with_history(edition)
    async with living(tmp_path, wiki, settings={"history": True}, parser=HereParser()) as house:
        await house.sync()
        wiki.edit(page.id, body=wording(400, date(2029, 4, 1)))
        wiki.edit(page.id, body=wording(500, date(2029, 9, 1)))
        report = await house.sync()

        assert report.complete, report.problems
        assert await over_time(house, page) == [set(), {"2"}, {"4"}, {"6"}]
        assert await said(house, page, date(2029, 10, 1)) == {"7"}
        assert await said(house, page, date(2029, 2, 1)) == {"5"}


@EDITIONS
async def test_a_deleted_version_is_passed_over(tmp_path: Path, edition: str) -> None:
    wiki, page = with_history(edition)
    page.past = [each for each in page.past if each.version != 4]
    async with living(tmp_path, wiki, settings={"history": True}, parser=HereParser()) as house:
        report = await house.sync()

        assert report.complete, report.problems
        assert await over_time(house, page) == [set(), {"2"}, {"2"}, {"5"}]


async def test_a_kill_between_two_wordings_loses_none(tmp_path: Path) -> None:
    right, killed, fatal = [set(), {"2"}, {"4"}, {"5"}], True, 0
    while killed:
        fatal += 13
        wiki = stocked("cloud")
        page = wiki.page("ENG", "Travel", wording(1000, date(2027, 1, 1)))
        async with settled_in(tmp_path / str(fatal), wiki, settings={"history": True}, parser=HereParser()) as house:
            await house.sync()
            edit(wiki, page)
            killed = await house.killed_sync(fatal)
            between = await over_time(house, page)
            first = {version for said_then in between for version in said_then} <= {"1"}
            assert first or all(some <= whole for some, whole in zip(between, right, strict=True)), (fatal, between)
            await house.sync(hurried=False)
            await house.sync()
            assert await over_time(house, page) == right, fatal
    assert fatal > 30


async def test_versions_that_cannot_be_read_now_are_read_later(tmp_path: Path) -> None:
    wiki, page = with_history("cloud")
    async with living(tmp_path, wiki, settings={"history": True}, parser=HereParser()) as house:
        house.server.fault(r"/versions", status(503))
        await house.sync()
        assert await over_time(house, page) == [set(), set(), set(), set()]
        house.server.calm()
        await house.sync()

        assert await over_time(house, page) == [set(), {"2"}, {"4"}, {"5"}]


@EDITIONS
@pytest.mark.parametrize("label", ["do-not-index", "secret"])
async def test_what_keeps_a_page_out_keeps_its_history_out(tmp_path: Path, edition: str, label: str) -> None:
    """Labels are told of a page as it is now; of an earlier version Cloud tells none."""
    wiki, page = with_history(edition)
    wiki.label(page.id, label)
    for each in page.past:
        each.labels = []
    settings = {"history": True, "excluded_labels": ["secret"]}
    async with living(tmp_path, wiki, settings=settings, parser=HereParser()) as house:
        await house.sync()

        assert await over_time(house, page) == [set(), set(), set(), set()]
        assert not [each async for each in house.index.stored(house.name) if each.id.document.key == page.id]


@EDITIONS
async def test_a_restricted_page_shows_its_history_to_nobody_else(tmp_path: Path, edition: str) -> None:
    wiki, page = with_history(edition)
    async with living(tmp_path, wiki, settings={"history": True}, parser=HereParser()) as house:
        await house.sync()
        assert await said(house, page, FIRST, "bob") == {"2"}
        wiki.restrict(page.id, users=["ann", "robot"])
        await house.sync()

        assert [await said(house, page, day, "bob") for day in (FIRST, SECOND, NOW)] == [set(), set(), set()]
        assert await over_time(house, page) == [set(), {"2"}, {"4"}, {"5"}]
