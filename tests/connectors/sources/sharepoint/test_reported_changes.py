"""Missed deletions, moves and changes of rights, as they were reported of other products and of the service."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.doubles.sharepoint import wire
from tests.doubles.sharepoint.tenant import Gaps
from tests.sharepoint_house import Office


@pytest.mark.parametrize("what", ["file", "page", "folder", "library", "subsite"])
async def test_what_is_deleted_is_gone_after_the_next_sync(here: Office, what: str) -> None:
    """EC 1822, ONX 1028, PH 3347."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    folder = tenant.folder(library, "Folder")
    tenant.file(library, "inner.md", "In a folder", tenant.folder(library, "Deeper", folder))
    page = tenant.page(here.site.web, "Home", "<p>On the first page</p>")
    second = tenant.library(here.site.web, "Second")
    tenant.file(second, "second.md", "In a second library")
    sub = tenant.subsite(here.site.web, "sub")
    tenant.file(sub.lists[0], "below.md", "In a site below")
    await here.house.sync()
    everything = {"handbook.md", "inner.md", "Home.aspx", "second.md", "below.md"}
    assert await here.house.names(here.asha) == everything

    match what:
        case "file":
            tenant.delete(here.file)
        case "page":
            tenant.delete(page)
        case "folder":
            tenant.delete(folder)
        case "library":
            tenant.drop_list(second)
        case _:
            sub.deleted = True
    await here.house.sync()

    gone = {"file": "handbook.md", "page": "Home.aspx", "folder": "inner.md", "library": "second.md"}
    assert await here.house.names(here.asha) == everything - {gone.get(what, "below.md")}


async def test_what_comes_back_from_the_bin_is_there_again(here: Office) -> None:
    tenant, library = here.house.tenant, here.site.web.lists[0]
    folder = tenant.folder(library, "Folder")
    tenant.file(library, "inner.md", "In a folder", folder)
    await here.house.sync()
    tenant.delete(folder)
    await here.house.sync()
    tenant.undelete(folder)
    await here.house.sync()

    assert await here.house.names(here.asha) == {"handbook.md", "inner.md"}


async def test_a_page_of_delta_that_fails_deletes_nothing(here: Office) -> None:
    """EC PR 3384, ONX 13805."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    for number in range(420):
        tenant.folder(library, f"Folder {number}")
    tenant.file(library, "last.md", "On the last page")
    await here.house.sync()
    assert await here.house.names(here.asha) == {"handbook.md", "last.md"}

    here.house.vendor.graph.deltas.expire(library)
    here.house.vendor.fault(r"token=t\d+\.[1-9]", wire.status(400))
    report = await here.house.sync()

    assert not report.complete
    assert len(await here.house.alive()) == 2


@pytest.mark.parametrize("location", ["good", "broken", "none"])
@pytest.mark.parametrize("code", ["resyncChangesApplyDifferences", "resyncChangesUploadDifferences"])
async def test_a_lost_token_is_a_new_enumeration(here: Office, code: str, location: str) -> None:
    """EC PR 4370, OD 249."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    other = tenant.file(library, "other.md", "Another one")
    await here.house.sync()
    tenant.delete(other)
    tenant.file(library, "new.md", "A new one")
    here.house.vendor.graph.deltas.expire(library, code, location)
    await here.house.sync()

    assert await here.house.names(here.asha) == {"handbook.md", "new.md"}
    assert (await here.house.sync()).complete


def of_long_ago(told: object) -> object:
    """With every time of a last change long past."""
    if isinstance(told, list):
        return [of_long_ago(each) for each in told]
    if isinstance(told, dict):
        return {key: "2001-01-01T00:00:00Z" if "odified" in key else of_long_ago(each) for key, each in told.items()}
    return told


async def test_no_time_of_a_site_or_library_decides_whether_it_is_looked_at(here: Office) -> None:
    """EC 3994, EC PR 1827: those of a site, a drive or a list do not move with what is in it."""
    tenant = here.house.tenant
    other = tenant.file(here.site.web.lists[0], "other.md", "Another one")
    tasks = tenant.library(here.site.web, "Tasks", template=100)
    tenant.item(tasks, author=here.asha, Title="A task")
    places = r"/sites/|/lists|/drives\b(?!.*delta)|_api/web\b(?!.*items)"
    here.house.vendor.fault(places, lambda asked, reply: replace(reply, body=of_long_ago(reply.body)))
    await here.house.sync()
    tenant.edit(here.file, "The handbook with a newword in it")
    tenant.delete(other)
    tenant.item(tasks, author=here.asha, Title="Another task")
    await here.house.sync()

    assert here.house.stored("newword")
    assert await here.house.names(here.asha) == {"handbook.md", "A task", "Another task"}


async def test_rights_that_answer_404_are_of_something_that_is_gone(here: Office) -> None:
    """EC PR 1827: it is nobody's at once, and nothing else is stopped by it."""
    tenant = here.house.tenant
    own = tenant.file(here.site.web.lists[0], "own.md", "With rights of its own")
    tenant.link(own, here.cleo)
    await here.house.sync()
    assert await here.house.names(here.cleo) == {"own.md"}

    here.house.vendor.fault(rf"items\({own.number}\)/roleassignments|/permissions", wire.status(404))
    report = await here.house.sync()

    assert report.complete
    assert await here.house.names(here.cleo) == set()
    assert await here.house.names(here.asha) == {"handbook.md"}


async def test_a_role_that_is_removed_above_and_below_is_gone_below_although_nobody_tells(here: Office) -> None:
    """SPD 10405: SharePoint takes it from what has rights of its own as well, and its log tells of the folder alone."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    folder = tenant.folder(library, "Folder")
    inner = tenant.file(library, "inner.md", "In a folder", folder)
    for each in (folder, inner):
        tenant.grant(each, here.cleo)
    await here.house.sync()
    assert await here.house.names(here.cleo) == {"inner.md"}

    tenant.revoke(folder, here.cleo)
    tenant.gaps.role_assignments = True
    tenant.revoke(inner, here.cleo)
    here.house.pause = timedelta(hours=2)  # the rights of lists are due, and not yet those of all objects
    await here.house.sync(hurried=False)

    assert await here.house.names(here.cleo) == set()


async def test_the_link_to_go_on_from_is_kept_when_the_last_page_is_empty(here: Office) -> None:
    """EC PR 4370."""
    here.house.vendor.fault("/root/delta", wire.LinkLast())
    await here.house.sync()
    here.house.vendor.count.clear()
    await here.house.sync(hurried=False)

    assert here.house.vendor.count.requests["delta without token"] == 0


@pytest.mark.parametrize("what", ["folder", "library", "web"])
async def test_rights_of_a_container_change_what_is_in_it(here: Office, what: str) -> None:
    """OD 1250, OD 1670, corso 2459: nothing is told of what is below."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    folder = tenant.folder(library, "Folder")
    tenant.file(library, "inner.md", "In a folder", tenant.folder(library, "Deeper", folder))
    await here.house.sync()
    assert "inner.md" in await here.house.names(here.asha)

    target = {"folder": folder, "library": library, "web": here.site.web}[what]
    tenant.grant(target, here.cleo)
    tenant.revoke(target, here.site.site_group("Visitors"))
    await here.house.sync()

    assert "inner.md" not in await here.house.names(here.asha)
    assert "inner.md" in await here.house.names(here.cleo)
    assert await here.house.over() == []
    assert await here.house.under() == []


@pytest.mark.parametrize("told", [True, False])
async def test_what_delta_keeps_to_itself_is_found_by_the_sweep(here: Office, told: bool) -> None:
    """MSD 15242, MSD 6515, msgraph-sdk-java 2548."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    quiet = not told
    tenant.gaps = Gaps(quiet, quiet, quiet, role_assignments=quiet, below_deleted=quiet)
    folder = tenant.folder(library, "Folder")
    tenant.file(library, "inner.md", "In a folder", folder)
    await here.house.sync()
    link = tenant.link(folder)
    await here.house.sync()
    tenant.redeem(link, here.cleo)
    tenant.revoke(here.file, here.site.site_group("Visitors"))
    await here.house.sync()

    assert await here.house.names(here.cleo) == {"inner.md"}
    assert await here.house.names(here.asha) == {"inner.md"}


async def test_inheritance_that_comes_back_brings_the_readers_back(here: Office) -> None:
    tenant = here.house.tenant
    tenant.gaps.role_assignments = True
    tenant.break_inheritance(here.file, copy=False)
    await here.house.sync()
    assert await here.house.names(here.asha) == set()

    tenant.restore_inheritance(here.file)
    await here.house.sync()

    assert await here.house.names(here.asha) == {"handbook.md"}


async def test_the_same_rows_twice_and_in_another_order_change_nothing(here: Office) -> None:
    """ONX 9254, msgraph-sdk-dotnet 2221."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    here.house.vendor.fault("/root/delta", wire.twice)
    here.house.vendor.fault("/root/delta", wire.shuffled(5))
    outer = tenant.folder(library, "Outer")
    inner = tenant.folder(library, "Inner", outer)
    tenant.file(library, "inner.md", "In a folder", inner)
    await here.house.sync()
    tenant.break_inheritance(outer, copy=False)
    tenant.move(here.file, inner)
    await here.house.sync()

    assert await here.house.names(here.asha) == set()
    tenant.grant(inner, here.asha)
    await here.house.sync()
    assert await here.house.names(here.asha) == {"inner.md", "handbook.md"}


async def test_the_headers_of_a_delta_are_always_the_same(here: Office) -> None:
    """OD 1594: others would cost a full enumeration each time."""
    await here.house.sync()
    here.house.tenant.edit(here.file, "The handbook once more")
    await here.house.sync()

    assert here.house.vendor.count.statuses[410] == 0


async def test_a_library_that_delta_refuses_hides_and_says_so(here: Office) -> None:
    """MSD 11561: labels of retention need another right; the rest goes on."""
    tenant = here.house.tenant
    second = tenant.library(here.site.web, "Second")
    tenant.file(second, "second.md", "In a second library")
    await here.house.sync()
    here.house.vendor.graph.deltas.needs_full_control.add(second.id)
    report = await here.house.sync()

    assert not report.complete
    assert report.problems
    assert await here.house.names(here.asha) == {"handbook.md"}


async def test_a_move_takes_the_readers_of_where_it_went(here: Office) -> None:
    tenant, library = here.house.tenant, here.site.web.lists[0]
    closed = tenant.folder(library, "Closed")
    tenant.break_inheritance(closed, copy=False)
    tenant.grant(closed, here.cleo)
    tenant.file(library, "inner.md", "In a folder", closed)
    moved = tenant.folder(library, "Moved")
    tenant.file(library, "moved.md", "Moved along", moved)
    await here.house.sync()
    assert await here.house.names(here.asha) == {"handbook.md", "moved.md"}

    tenant.move(moved, closed)
    await here.house.sync()
    assert await here.house.names(here.asha) == {"handbook.md"}
    assert await here.house.names(here.cleo) == {"inner.md", "moved.md"}

    tenant.move(moved, library)
    await here.house.sync()
    assert await here.house.names(here.asha) == {"handbook.md", "moved.md"}
    assert await here.house.names(here.cleo) == {"inner.md"}


async def test_a_move_to_another_library_is_a_deletion_and_something_new(here: Office) -> None:
    tenant = here.house.tenant
    second = tenant.library(here.site.web, "Second")
    tenant.break_inheritance(second, copy=False)
    tenant.grant(second, here.cleo)
    await here.house.sync()
    tenant.move(here.file, second)
    await here.house.sync()

    assert await here.house.names(here.asha) == set()
    assert await here.house.names(here.cleo) == {"handbook.md"}


async def test_a_grant_does_not_outlive_its_lease(here: Office) -> None:
    """Nothing is read for longer than the lease: nobody sees anything any more, and nothing is lost."""
    await here.house.sync()
    here.house.tenant.wait(timedelta(hours=24, minutes=2))
    assert await here.house.names(here.asha) == set()

    await here.house.sync()
    assert await here.house.names(here.asha) == {"handbook.md"}


async def test_a_change_of_text_is_read_and_one_of_a_column_is_no_change_of_text(here: Office) -> None:
    await here.house.sync()
    here.house.tenant.edit(here.file, "The handbook with a newword in it")
    await here.house.sync()
    assert here.house.stored("newword")

    here.house.tenant.set_fields(here.file, Department="HR")
    assert (await here.house.sync()).embedded == 0


async def test_a_draft_that_is_saved_while_we_read_is_not_taken_for_the_published_text(here: Office) -> None:
    """What is fetched is the version that was told, not whichever is the latest by then."""
    tenant = here.house.tenant
    page = tenant.page(here.site.web, "Home", "<p>Published words</p>")
    saved: list[str] = []

    def save(asked: wire.Asked, reply: wire.Reply) -> wire.Reply:
        for item in (here.file, page):
            tenant.edit(item, "wordsofadraft", draft=True)
        saved.append(asked.raw)
        return reply

    here.house.vendor.fault(r"items/\w+/listItem|microsoft.graph.sitePage\?\$select", save, times=1)
    await here.house.sync()

    assert saved
    assert not here.house.stored("wordsofadraft")


@pytest.mark.parametrize("what", ["file", "page", "item"])
async def test_a_draft_that_is_saved_before_the_columns_are_read_lends_none_of_them(here: Office, what: str) -> None:
    tenant = here.house.tenant
    tasks = tenant.library(here.site.web, "Tasks", template=100)
    item = {
        "file": here.file,
        "page": tenant.page(here.site.web, "Home", "<p>Published words</p>"),
        "item": tenant.item(tasks, author=here.asha, Title="Approved words"),
    }[what]

    def save(asked: wire.Asked, reply: wire.Reply) -> wire.Reply:
        tenant.edit(item, "wordsofadraft", draft=True)
        tenant.set_fields(item, Title="Titleofadraft", Tags="labelofadraft")
        return reply

    rows = rf"{item.library.id}.*items\?.*HasUniqueRoleAssignments"
    saved = here.house.vendor.fault(r"sitePage\?\$select" if what == "page" else rows, save, times=1)
    await here.house.sync()

    assert saved.done == 1
    for word in ("wordsofadraft", "Titleofadraft", "labelofadraft"):
        assert not here.house.stored(word)
    if what != "item":  # which is tried again
        assert item.name in await here.house.names(here.asha)
    await here.house.sync()
    assert not here.house.stored("ofadraft")


async def test_a_list_of_which_a_row_does_not_say_which_it_is_loses_nothing(here: Office) -> None:
    tenant = here.house.tenant
    tasks = tenant.library(here.site.web, "Tasks", template=100)
    for number in range(2):
        tenant.item(tasks, author=here.asha, Title=f"Task {number}")
    await here.house.sync()

    def unnamed(asked: wire.Asked, reply: wire.Reply) -> wire.Reply:
        assert isinstance(reply.body, dict)
        reply.body["value"][0].pop("UniqueId")
        return reply

    here.house.vendor.fault(rf"{tasks.id}.*items\?.*HasUniqueRoleAssignments", unnamed)
    report = await here.house.sync()

    assert not report.complete
    assert len(await here.house.alive()) == 3


async def test_a_newer_draft_lends_the_published_text_no_title_and_no_column(here: Office) -> None:
    """The columns that Graph tells are those of the latest version, which is not for readers yet."""
    tenant = here.house.tenant
    page = tenant.page(here.site.web, "Home", "<p>Published words</p>")
    for item in (here.file, page):
        tenant.edit(item, "wordsofadraft", draft=True)
        tenant.set_fields(item, Title="Titleofadraft", Tags="labelofadraft")
    await here.house.sync()

    assert here.house.stored("Published words")
    for word in ("wordsofadraft", "Titleofadraft", "labelofadraft"):
        assert not here.house.stored(word)
