"""Looks that are cut off, or in which something did not answer: what was not read is read by the next scheduled one."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from connectors.ports import Event
from connectors.sources.sharepoint.hook import of_drive
from tests.connectors.sync.tree import Tap
from tests.doubles.sharepoint.wire import Asked, Reply, status
from tests.sharepoint_house import Office

ROUND = timedelta(minutes=11)


def unshared(asked: Asked, reply: Reply) -> Reply:
    """Delta does not tell of what is shared (msgraph-sdk-java 2548)."""
    for row in reply.body.get("value", []) if isinstance(reply.body, dict) else []:
        row.pop("@microsoft.graph.sharedChanged", None)
        row.pop("shared", None)
    return reply


async def test_what_a_round_told_that_was_cut_off_is_looked_at_in_the_next(here: Office) -> None:
    tenant, house, library = here.house.tenant, here.house, here.site.web.lists[0]
    await house.sync()
    house.pause = ROUND
    tenant.file(library, "new.md", "A new one")
    away = house.vendor.fault("siteusers", status(500))  # after the rows, before the rights
    await house.sync(hurried=False)
    house.vendor.mend(away)
    await house.sync(hurried=False)

    assert await house.names(here.asha) == {"handbook.md", "new.md"}


async def test_a_folder_that_was_closed_in_a_round_that_was_cut_off_is_closed_by_the_next(here: Office) -> None:
    tenant, house, library = here.house.tenant, here.house, here.site.web.lists[0]
    folder = tenant.folder(library, "Folder")
    tenant.file(library, "in.md", "In a folder", folder)
    await house.sync()
    house.pause = ROUND
    house.vendor.fault("/root/delta", unshared)
    tenant.break_inheritance(folder, copy=False)
    tenant.grant(folder, here.cleo)
    folder.etag += 1
    tenant.log(folder)
    away = house.vendor.fault("siteusers", status(500))
    await house.sync(hurried=False)
    house.vendor.mend(away)
    await house.sync(hurried=False)

    assert await house.over() == []
    assert await house.names(here.cleo) == {"in.md"}


async def test_a_round_that_was_killed_before_the_rights_were_read_is_made_up_for(here: Office) -> None:
    tenant, house = here.house.tenant, here.house
    await house.sync()
    house.pause = ROUND
    house.vendor.fault("/root/delta", unshared)
    tenant.break_inheritance(here.file, copy=False)
    here.file.etag += 1
    tenant.log(here.file)
    tap = Tap()
    house.vendor.fault(r"items\(", partial(_killing, tap), times=1)
    with pytest.raises(BaseExceptionGroup):
        await house.sync(hurried=False, tap=tap)
    await house.sync(hurried=False)

    assert await house.over() == []


@pytest.mark.parametrize("hours", [1, 13], ids=["rights", "objects"])
async def test_rights_of_objects_are_read_though_delta_fails(here: Office, hours: int) -> None:
    """Of what has rights of its own; and as nobody knows what moved meanwhile, leases run out all the same."""
    tenant, house = here.house.tenant, here.house
    tenant.gaps.role_assignments = True
    group = here.site.site_group("Owners")
    tenant.add(group, here.cleo)
    tenant.grant(here.file, group)
    await house.sync()
    assert await house.names(here.cleo) == {"handbook.md"}

    house.vendor.fault("/root/delta", status(500))
    tenant.revoke(here.file, group) if hours > 12 else tenant.take_out(group, here.cleo)
    house.pause = timedelta(hours=hours)
    report = await house.sync(hurried=False)
    assert not report.complete
    assert await house.over() == []
    assert await house.names(here.asha) == {"handbook.md"}

    house.pause = timedelta(hours=24, minutes=1) - house.pause
    await house.sync(hurried=False)
    assert await house.names(here.asha) == set()


async def test_a_link_ends_though_delta_fails(here: Office) -> None:
    tenant, house = here.house.tenant, here.house
    tenant.link(here.file, here.cleo, expires=tenant.at + timedelta(minutes=4))
    await house.sync()
    house.vendor.fault("/root/delta", status(500))
    house.pause = timedelta(minutes=5)
    await house.sync(hurried=False)

    assert await house.names(here.cleo) == set()


def _killing(tap: Tap, _asked: Asked, reply: Reply) -> Reply:
    """From here on the process is gone."""
    tap.fatal = tap.calls + 1
    return reply


async def test_a_list_that_fails_has_no_other_looked_at_for_it(here: Office) -> None:
    tenant, house = here.house.tenant, here.house
    other = tenant.site("pay")
    second = tenant.library(other.web, "Second")
    tenant.file(second, "pay.md", "What is paid")
    await house.sync()
    house.vendor.fault(rf"/sites/pay/_api/web/lists\(guid'{second.id}'\)", status(500))
    house.pause = timedelta(hours=13)
    await house.sync(hurried=False)
    house.pause = ROUND
    house.vendor.count.clear()
    await house.sync(hurried=False)

    asked = house.vendor.count.asked
    assert house.vendor.count.requests["delta without token"] == 0
    assert not [each for each in asked if "/sites/hr/" in each]
    assert not [each for each in asked if "/items?" in each and second.id not in each]


async def test_an_object_that_does_not_answer_is_asked_for_alone(here: Office) -> None:
    tenant, house, library = here.house.tenant, here.house, here.site.web.lists[0]
    own, other = (tenant.file(library, name, "With rights of its own") for name in ("own.md", "other.md"))
    for each in (own, other):
        tenant.grant(each, here.cleo)
    await house.sync()
    silent = house.vendor.fault(rf"items\({own.number}\)/roleassignments", status(500))
    house.pause = timedelta(hours=13)
    report = await house.sync(hurried=False)
    assert not report.complete

    tenant.gaps.role_assignments = True
    tenant.revoke(own, here.cleo)
    house.vendor.mend(silent)
    house.pause = ROUND
    house.vendor.count.clear()
    await house.sync(hurried=False)
    rights = [each for each in house.vendor.count.asked if "roleassignments" in each and "items(" in each]
    assert [f"items({own.number})" in each for each in rights] == [True]
    assert await house.over() == []


async def test_what_graph_told_of_one_library_is_forgotten_though_another_fails(here: Office) -> None:
    tenant, house, library = here.house.tenant, here.house, here.site.web.lists[0]
    second = tenant.library(here.site.web, "Second")
    await house.sync()
    events = [Event(of_drive(each.drive), "updated", closes=False) for each in (library, second)]
    await house.memory.told(events, house.now())
    house.vendor.fault(f"drives/{second.drive}/root/delta", status(500))
    await house.sync(hurried=False)

    assert [each.key for each in await house.memory.hints()] == [of_drive(second.drive)]
