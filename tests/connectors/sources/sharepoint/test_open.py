"""Settings of a source, what is looked at before it is added, and SharePoint's own word on single documents."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from connectors.errors import Stop
from connectors.ports import Finding
from policies.names import DocumentId
from tests.doubles.sharepoint.wire import Bend, status
from tests.sharepoint_house import Office


async def probed(here: Office) -> list[Finding]:
    async with here.house.far() as far:
        return [each for each in await far.probe(here.house.now()) if not each.ok]


async def test_a_site_that_is_granted_has_nothing_against_it(here: Office) -> None:
    """connectors-ruby 547: and everything is asked for at an address that there is."""
    assert await probed(here) == []
    assert here.house.vendor.count.unknown == []


@pytest.mark.parametrize(
    ("place", "bend", "words"),
    [
        ("_api/web/roleassignments", status(403), "full"),
        ("_api/web/roleassignments", status(401), "of the API SharePoint"),
        ("_api/web/siteusers", status(403), "full"),
        (r"_api/web/lists\(guid", status(403), "full"),
        ("_api/", status(401), "certificate"),
        ("GET /v1.0/sites/", status(403), "full"),
        ("GET /v1.0/users", status(403), "User.Read.All"),
        ("/getMemberGroups", status(403), "GroupMember.Read.All"),
        ("/transitiveMemberOf", status(403), "GroupMember.Read.All"),
        ("/token", status(401), "certificate"),
    ],
)
async def test_the_grant_that_is_missing_is_named(here: Office, place: str, bend: Bend, words: str) -> None:
    """EC 3293, EC PR 4266, PH 1409 (105), corso 4337 (107): an app that may not read role assignments, or groups, is
    told so before anything is indexed."""
    here.house.vendor.fault(place, bend)
    found = await probed(here)

    assert found
    assert all(each.essential for each in found)
    assert words in found[-1].fix + found[-1].problem


async def test_a_library_whose_changes_are_not_told_is_named_and_the_source_may_be_added(here: Office) -> None:
    """MSD 11561 (63)."""
    here.house.vendor.graph.deltas.needs_full_control.add(here.site.web.lists[0].id)
    [found] = await probed(here)

    assert not found.essential
    assert "retention labels" in found.fix
    assert "Sites.FullControl.All" in found.fix


async def test_how_much_there_is_is_told_before_it_is_read(here: Office) -> None:
    async with here.house.far() as far:
        found = await far.probe(here.house.now())

    assert found[-1].problem == "1 files, folders and items in 2 lists; a first sync takes about 1 min"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"certificate": None}, "client secret"),
        ({"sites": []}, "--site"),
        ({"sites": ["hr"]}, "address of a site"),
        ({"lease": "never"}, "lease"),
        ({"lease": "5s"}, "lease"),
        ({"lease": "59m"}, "lease"),  # all objects can't be looked at twice within it
        ({"tenant": " "}, "tenant"),
        ({"restricted_to": "one"}, "restricted_to"),
        ({"restricted_to": [f"g{number}" for number in range(11)]}, "10"),
    ],
)
async def test_settings_that_can_not_be_used_are_named(here: Office, more: dict[str, Any], words: str) -> None:
    here.house.settings |= more
    with pytest.raises(Stop, match=words):
        async with here.house.far():
            pass


@pytest.mark.parametrize(
    ("said", "lease"), [(None, timedelta(hours=24)), ("90m", timedelta(minutes=90)), (3600, timedelta(hours=1))]
)
async def test_no_grant_outlives_the_lease(here: Office, said: object, lease: timedelta) -> None:
    here.house.settings["lease"] = said
    async with here.house.far() as far:
        assert far.stale_grant_bound == lease


async def test_somebody_s_onedrive_and_a_wrong_address_are_said_to_be_so(here: Office) -> None:
    here.house.tenant.site("asha", personal=True)
    here.house.sites = ("/personal/asha", "/sites/nothing-there")
    first, second = await probed(here)

    assert "personal" in first.problem
    assert "404" in second.problem


async def test_one_library_of_a_site_can_be_chosen(here: Office) -> None:
    tenant = here.house.tenant
    chosen = tenant.library(here.site.web, "Policies")
    tenant.file(chosen, "travel.md", "Flights are booked early")
    here.house.sites = ("/sites/hr/Policies",)
    report = await here.house.sync()

    assert report.complete, report.problems
    assert await here.house.names(here.ben) == {"travel.md"}


async def test_sharepoint_is_asked_about_single_documents_and_an_error_is_no(here: Office) -> None:
    house = here.house
    house.settings["live_check"] = "all"
    await house.sync()
    [placed] = [each async for each in house.memory.placed()]
    document = DocumentId(house.name, placed.key)
    unknown = DocumentId(house.name, "no/such/thing")
    async with house.far() as far:
        assert far.live is not None
        assert await far.live.readable(here.asha.oid, [document, unknown], house.now()) == {document: True}
        assert await far.live.readable(here.cleo.oid, [document], house.now()) == {document: False}

        house.vendor.fault("getusereffectivepermissions", status(500))
        assert await far.live.readable(here.asha.oid, [document], house.now()) == {}


async def test_without_a_live_check_nobody_is_asked(here: Office) -> None:
    async with here.house.far() as far:
        assert far.live is None


@pytest.mark.parametrize("turned", [False, True])
async def test_of_addresses_that_overlap_the_longest_has_a_list_and_reads_it_once(here: Office, turned: bool) -> None:
    tenant, house = here.house.tenant, here.house
    sub = tenant.subsite(here.site.web, "sub")
    tenant.file(sub.lists[0], "below.md", "In a site below")
    paths = ("/sites/hr", "/sites/hr/Shared Documents", sub.path)
    house.sites = paths[::-1] if turned else paths
    first = await house.sync()
    assert (first.complete, first.problems) == (True, ())

    house.pause = timedelta(minutes=61)
    house.vendor.count.clear()
    second = await house.sync(hurried=False)
    assert (second.complete, second.problems) == (True, ())
    assert house.vendor.count.requests["delta without token"] == 0
    assert await house.names(here.asha) == {"handbook.md", "below.md"}
