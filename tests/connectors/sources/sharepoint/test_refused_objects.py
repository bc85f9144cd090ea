"""Single objects, rights, files and webs that are refused or not told: closed for themselves, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from connectors.records import Inherits, Node
from connectors.sources.sharepoint.items import _node
from connectors.sources.sharepoint.scopes import Row
from connectors.sources.sharepoint.webs import LIST, Listing, Web
from tests.doubles.sharepoint.tenant import Gaps
from tests.doubles.sharepoint.wire import Asked, Bend, Reply, nothing, status
from tests.sharepoint_house import Office


@pytest.mark.parametrize("code", [403, 404, 410, 423])
async def test_rights_that_are_refused_stay_nobodys_when_groups_are_opened_again(here: Office, code: int) -> None:
    tenant, house = here.house.tenant, here.house
    own = tenant.file(here.site.web.lists[0], "own.md", "With rights of its own")
    tenant.break_inheritance(own, copy=False)
    tenant.grant(own, here.cleo)
    await house.sync()
    assert await house.names(here.cleo) == {"own.md"}

    house.vendor.fault(rf"items\({own.number}\)/roleassignments", status(code))
    tenant.set_fields(own, Title="Told by delta")
    await house.sync(hurried=False)
    tenant.wait(timedelta(hours=2))
    await house.sync(hurried=False)  # rights are due, and objects are not
    assert await house.names(here.cleo) == set()

    house.vendor.mend()
    await house.sync()
    assert await house.names(here.cleo) == {"own.md"}


async def test_one_object_that_is_refused_for_good_does_not_have_everything_looked_at_in_each_run(here: Office) -> None:
    tenant, house = here.house.tenant, here.house
    own = tenant.file(here.site.web.lists[0], "own.md", "With rights of its own")
    tenant.grant(own, here.cleo)
    house.vendor.fault(rf"items\({own.number}\)/roleassignments", status(423))
    report = await house.sync()
    assert not report.complete
    assert await house.names(here.cleo) == set()

    house.vendor.count.clear()
    await house.sync(hurried=False)
    assert not [each for each in house.vendor.count.asked if "roleassignments" in each]


@pytest.mark.parametrize("bend", [status(500), nothing], ids=["500", "nothing"])
async def test_what_has_rights_of_its_own_since_that_are_not_told_is_nobodys(here: Office, bend: Bend) -> None:
    tenant, house = here.house.tenant, here.house
    await house.sync()
    assert await house.names(here.asha) == {"handbook.md"}

    tenant.break_inheritance(here.file, copy=False)
    tenant.grant(here.file, here.cleo)
    house.vendor.fault(rf"items\({here.file.number}\)/roleassignments", bend)
    report = await house.sync()
    assert not report.complete
    assert await house.over() == []

    house.vendor.mend()
    await house.sync()
    assert await house.names(here.cleo) == {"handbook.md"}


@pytest.mark.parametrize("code", [403, 423])
async def test_files_whose_content_is_refused_are_passed_over_and_asked_for_again(here: Office, code: int) -> None:
    tenant, house, library = here.house.tenant, here.house, here.site.web.lists[0]
    locked = [tenant.file(library, f"locked{number}.md", "Words that are locked") for number in range(6)]
    for each in locked:
        house.vendor.fault(rf"/items/{each.drive_item}/content", status(code))
    for _ in range(2):
        report = await house.sync()
        assert len(report.skipped) == len(locked)
        assert await house.names(here.asha) == {"handbook.md"}

    house.vendor.mend()
    await house.sync()
    assert await house.names(here.asha) == {"handbook.md", *(each.name for each in locked)}


@pytest.mark.parametrize("place", ["/roleassignments", ""], ids=["its rights", "anything"])
async def test_an_object_that_never_answers_goes_dark_alone(here: Office, place: str) -> None:
    """Its own lease runs out; what else is in its library was read, and stays."""
    tenant, house = here.house.tenant, here.house
    tenant.gaps = Gaps(flags_of_collections=True)
    own = tenant.file(here.site.web.lists[0], "own.md", "With rights of its own")
    tenant.break_inheritance(own, copy=False)
    tenant.grant(own, here.cleo)
    await house.sync()
    assert await house.names(here.cleo) == {"own.md"}

    house.vendor.fault(rf"items\({own.number}\){place}", status(500))
    for _ in range(3):
        tenant.wait(timedelta(hours=11))
        await house.sync(hurried=False)
    assert await house.names(here.cleo) == set()
    assert await house.names(here.asha) == {"handbook.md"}


@pytest.mark.parametrize("code", [403, 423])
async def test_an_object_of_which_nothing_is_told_is_closed_alone(here: Office, code: int) -> None:
    tenant, house = here.house.tenant, here.house
    locked = tenant.file(here.site.web.lists[0], "locked.md", "Locked by and by")
    await house.sync()
    assert await house.names(here.asha) == {"handbook.md", "locked.md"}

    house.vendor.fault(rf"items\({locked.number}\)", status(code))
    tenant.set_fields(locked, Title="Told by delta")
    house.pause = timedelta(minutes=11)
    await house.sync(hurried=False)
    assert await house.names(here.asha) == {"handbook.md"}


async def test_many_objects_that_do_not_answer_are_no_look(here: Office) -> None:
    tenant, house = here.house.tenant, here.house
    tenant.gaps = Gaps(flags_of_collections=True)
    for number in range(8):
        tenant.file(here.site.web.lists[0], f"{number}.md", f"Number {number}")
    house.vendor.fault(r"items\(\d+\)\?", status(500))
    report = await house.sync()

    assert not report.complete
    assert await house.names(here.asha) == set()


def without(name: str) -> Bend:
    """Rows that lack this."""

    def bent(asked: Asked, reply: Reply) -> Reply:
        rows = reply.body.get("value") if isinstance(reply.body, dict) else None
        if not isinstance(rows, list):
            return reply
        bare = [row if "root" in row else {key: row[key] for key in row if key != name} for row in rows]
        return replace(reply, body={**reply.body, "value": bare})

    return bent


@pytest.mark.parametrize("known", [True, False])
async def test_a_row_that_does_not_say_where_it_stands_is_not_in_the_root(here: Office, known: bool) -> None:
    tenant, house, library = here.house.tenant, here.house, here.site.web.lists[0]
    folder = tenant.folder(library, "Closed")
    tenant.break_inheritance(folder, copy=False)
    tenant.grant(folder, here.cleo)
    inner = tenant.file(library, "inner.md", "In a closed folder", folder) if known else None
    await house.sync()

    house.vendor.fault("/root/delta", without("parentReference"))
    if inner is None:
        tenant.file(library, "inner.md", "In a closed folder", folder)
    else:
        tenant.edit(inner, "In a closed folder still")
    await house.sync()
    assert await house.names(here.asha) == {"handbook.md"}
    assert await house.names(here.cleo) == ({"inner.md"} if known else set())


@pytest.mark.parametrize("known", [True, False])
def test_a_row_without_a_path_stands_where_it_stood_or_nowhere(known: bool) -> None:
    listing = Listing(
        Web("w", "s", "g", "https://a.example", False, None), "l", LIST, "Tasks", "/Lists/Tasks", None, False
    )
    at = datetime(2026, 3, 2, tzinfo=UTC)
    before = Node("s/l/i", "s/l/folder", "s/l", "item", Inherits(), at, True) if known else None
    made = _node(listing, Row("1", "i", "", False, False), {}, {"s/l/i": before} if before else {}, at, "walk")

    assert made.parent == ("s/l/folder" if known else "unknown:")


async def test_in_a_list_whose_own_path_is_not_told_nothing_stands_in_its_root(here: Office) -> None:
    tenant, house = here.house.tenant, here.house
    closed = tenant.folder(next(each for each in here.site.web.lists if each.template == 119), "Closed")
    tenant.break_inheritance(closed, copy=False)
    page = tenant.page(here.site.web, "Secret", "<p>On a page in a closed folder</p>")
    tenant.move(page, closed)
    await house.sync()
    assert await house.names(here.asha) == {"handbook.md"}

    def folderless(asked: Asked, reply: Reply) -> Reply:
        rows = [row for row in reply.body["value"] if row.get("FileSystemObjectType") != 1]
        return replace(reply, body={**reply.body, "value": rows})

    house.vendor.fault(r"_api/web/lists\?", without("RootFolder"))
    house.vendor.fault(r"items\?.*FileRef", folderless)
    await house.sync()
    assert await house.names(here.asha) == {"handbook.md"}


@pytest.mark.parametrize("place", ["/_api/web", "/_api/web/roleassignments"])
async def test_a_subsite_that_refuses_is_closed_alone(here: Office, place: str) -> None:
    tenant, house = here.house.tenant, here.house
    sub = tenant.subsite(here.site.web, "sub", unique=True)
    tenant.grant(sub, here.asha)
    tenant.file(sub.lists[0], "below.md", "In a site below")
    await house.sync()
    assert await house.names(here.asha) == {"handbook.md", "below.md"}

    house.vendor.fault(f"{sub.path}{place}", status(403))
    tenant.file(here.site.web.lists[0], "new.md", "A new one")
    report = await house.sync()
    assert any(sub.path in problem for problem in report.problems)
    assert await house.names(here.asha) == {"handbook.md", "new.md"}

    house.vendor.mend()
    await house.sync()
    assert await house.names(here.asha) == {"handbook.md", "new.md", "below.md"}


@pytest.mark.parametrize("place", ["/_api/web", "/_api/web/lists", "/_api/web/roleassignments"])
async def test_a_subsite_that_does_not_answer_goes_dark_alone(here: Office, place: str) -> None:
    """What is known of it stays until its leases end; the site above is looked at and stays."""
    tenant, house = here.house.tenant, here.house
    sub = tenant.subsite(here.site.web, "sub", unique=True)
    tenant.grant(sub, here.asha)
    tenant.file(sub.lists[0], "below.md", "In a site below")
    await house.sync()
    house.vendor.fault(f"{sub.path}{place}", status(500))
    house.pause = timedelta(hours=13)
    report = await house.sync(hurried=False)
    assert any(sub.path in problem for problem in report.problems)
    assert await house.names(here.asha) == {"handbook.md", "below.md"}

    await house.sync(hurried=False)
    assert await house.names(here.asha) == {"handbook.md"}
