"""Single objects, rights, files and webs that are refused or not told: closed for themselves, and nothing else is."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.doubles.sharepoint.wire import Bend, nothing, status
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


@pytest.mark.parametrize("bend", [status(500), nothing], ids=["500", "nothing"])
async def test_what_has_rights_of_its_own_since_that_are_not_told_is_nobodys(here: Office, bend: Bend) -> None:
    tenant, house = here.house.tenant, here.house
    await house.sync()
    looked_at = [node.facts["objects_at"] async for node in house.memory.containers()]
    assert await house.names(here.asha) == {"handbook.md"}

    tenant.break_inheritance(here.file, copy=False)
    tenant.grant(here.file, here.cleo)
    house.vendor.fault(rf"items\({here.file.number}\)/roleassignments", bend)
    report = await house.sync()
    assert not report.complete
    assert await house.over() == []
    after = {node.facts["path"]: node.facts["objects_at"] async for node in house.memory.containers()}
    assert after[here.site.web.lists[0].path] in looked_at

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
