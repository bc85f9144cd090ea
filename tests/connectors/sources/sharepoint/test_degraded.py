"""What a SharePoint that offers less than everything comes to: never wider, and nothing is lost that can be known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.sources.sharepoint.documents import MANY
from tests.doubles.sharepoint.state import OwnersOf
from tests.doubles.sharepoint.tenant import Gaps
from tests.doubles.sharepoint.wire import Asked, Reply, status
from tests.sharepoint_house import Office

OPTIONAL = (
    r"GET /sites/hr/_api/web\?",  # what a web says of itself
    r"GET /sites/hr/_api/site\b",
    r"GET /v1.0/sites/[^/:]+,[^/]+/sites",  # subsites
    r"POST /v1.0/\$batch",
    r"/listItem\b",  # columns
    r"/versions\b",
    r"/extractSensitivityLabels",
    r"/columns\b",
    r"/pages/",  # the page API
    r"/permissions\b",  # Graph's view of sharing
    r"/ownedObjects",
    r"microsoft.graph.directoryRole",
    r"/getMemberGroups",
)


@pytest.mark.parametrize("missing", OPTIONAL)
async def test_what_is_not_offered_is_done_without(here: Office, missing: str) -> None:
    tenant, house = here.house.tenant, here.house
    team = tenant.group("team", here.ben, kind="unified")
    tenant.owns(team, here.cleo)
    folder = tenant.folder(here.site.web.lists[0], "board")
    closed = tenant.file(here.site.web.lists[0], "minutes.md", "Minutes of the board", folder)
    tenant.break_inheritance(folder, copy=False)
    tenant.grant(folder, OwnersOf(team))
    tenant.page(here.site.web, "Welcome", "<p>Welcome to HR</p>")
    house.vendor.fault(missing, status(404))
    report = await house.sync()

    assert report.complete, report.problems
    assert await house.over() == []
    assert await house.under() == []
    assert closed.name in await house.names(here.cleo)


async def test_flags_that_a_list_does_not_tell_are_asked_one_by_one(here: Office) -> None:
    tenant, house = here.house.tenant, here.house
    tenant.gaps = Gaps(flags_of_collections=True)
    closed = tenant.file(here.site.web.lists[0], "closed.md", "Words that are closed")
    tenant.break_inheritance(closed, copy=False)
    tenant.grant(closed, here.cleo)
    await house.sync()

    assert await house.over() == []
    assert await house.under() == []


async def test_what_a_list_does_not_tell_of_stays_closed(here: Office) -> None:
    tenant, house = here.house.tenant, here.house
    tenant.file(here.site.web.lists[0], "new.md", "Something new")
    # The list's own rows lack everything: as if its ids were not those that delta tells.
    house.vendor.fault(
        r"/items\?",
        lambda asked, reply: reply if asked.door != "sharepoint" else type(reply)(200, {"value": []}, reply.headers),
    )
    await house.sync()

    assert (await house.seen(here.asha))[here.asha.oid] == frozenset()

    house.vendor.mend()
    await house.sync()

    assert await house.under() == []


async def test_columns_of_many_files_are_read_by_the_page(here: Office) -> None:
    tenant, library = here.house.tenant, here.site.web.lists[0]
    for number in range(MANY + 20):
        made = tenant.file(library, f"{number}.md", f"File number {number}")
        tenant.set_fields(made, ContentType="Policy")
    here.house.vendor.count.clear()
    report = await here.house.sync()

    assert report.upserted == MANY + 21
    asked = [each for each in here.house.vendor.count.asked if "/listItem" in each]
    assert len(asked) < MANY


@pytest.mark.parametrize("drafts", [False, True])
async def test_a_site_without_a_single_document_is_an_error(here: Office, drafts: bool) -> None:
    """PH 1409 (105), though other sites have some; what was never published is none."""
    empty = here.house.tenant.site("empty")
    if drafts:
        here.house.tenant.file(empty.web.lists[0], "draft.md", "Not for readers yet", draft=True)
    report = await here.house.sync()

    assert not report.complete
    assert not (await here.house.sync(hurried=False)).complete
    [problem] = report.problems
    assert problem.startswith("there is no document at")
    assert "/sites/empty" in problem


async def test_two_people_without_a_number_of_their_own_are_not_taken_for_one(here: Office) -> None:
    def unnumbered(asked: Asked, reply: Reply) -> Reply:
        rows = reply.body.get("value", []) if isinstance(reply.body, dict) else []
        bare = [{key: value for key, value in row.items() if key not in ("Id", "AadObjectId")} for row in rows]
        return replace(reply, body={"value": bare}) if bare else reply

    here.house.vendor.fault("getbyid", unnumbered)
    tenant = here.house.tenant
    visitors = here.site.site_group("Visitors")
    tenant.add(visitors, here.cleo)
    tenant.add(visitors, here.ben)
    await here.house.sync()

    assert await here.house.over() == []
    assert await here.house.under() == []


async def test_an_entry_under_another_name_is_another_person(here: Office) -> None:
    tenant = here.house.tenant
    tenant.gaps = Gaps(directory_ids=True)
    closed = tenant.file(here.site.web.lists[0], "closed.md", "Words that are closed")
    tenant.break_inheritance(closed, copy=False)
    tenant.grant(closed, here.ben)
    await here.house.sync()
    assert closed.name in await here.house.names(here.ben)

    entry = tenant.entry(here.site, here.ben)
    entry.login, entry.oid = f"i:0#.f|membership|{here.cleo.upn}", here.cleo.oid
    await here.house.sync()

    assert await here.house.over() == []
    assert closed.name in await here.house.names(here.cleo)


async def test_a_directory_that_does_not_tell_people_apart_closes_no_list(here: Office) -> None:
    """User.Read.All is taken back: nothing is lost but time, and no library is read from nothing for it."""
    tenant, house = here.house.tenant, here.house
    tenant.gaps = Gaps(directory_ids=True)
    await house.sync()
    tenant.add(here.site.site_group("Visitors"), tenant.person("dora"))
    tenant.grant(here.site.web, here.cleo)
    house.vendor.fault("users/", status(403))
    report = await house.sync()
    house.vendor.mend()
    assert any("User.Read.All" in problem for problem in report.problems)
    assert await house.names(here.asha) == {"handbook.md"}

    house.vendor.count.clear()
    assert (await house.sync()).complete
    assert house.vendor.count.requests["delta without token"] == 0
    assert await house.names(here.cleo) == {"handbook.md"}
