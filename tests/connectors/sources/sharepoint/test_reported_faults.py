"""Paging, names, throttling and broken answers, as they were reported of other products and of the service."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress

import pytest

from connectors.errors import DoorError
from tests.doubles.sharepoint import wire
from tests.doubles.sharepoint.history import NAMES
from tests.doubles.sharepoint.rows import encoded
from tests.sharepoint_house import Office

Opening = Callable[..., AbstractAsyncContextManager[Office]]


@pytest.mark.parametrize(
    "pattern", ["/root/delta", "/drives$", "roleassignments", "items.*HasUniqueRoleAssignments", "/users", "/lists"]
)
async def test_a_link_that_leads_in_circles_ends_the_walk_and_prunes_nothing(here: Office, pattern: str) -> None:
    """OD 1431, OD 1424, MSD 2749, baton-sdk 107."""
    await here.house.sync()
    here.house.vendor.fault(pattern, wire.in_circles)
    here.house.vendor.graph.deltas.expire(here.site.web.lists[0])
    await here.house.sync(full=True)

    assert len(await here.house.alive()) == 1
    assert await here.house.over() == []


async def test_more_sites_and_libraries_than_a_page_are_all_read(here: Office) -> None:
    """PH 1550."""
    tenant = here.house.tenant
    here.house.vendor.graph.page_size = 2
    for number in range(5):
        library = tenant.library(here.site.web, f"Library {number}")
        tenant.file(library, f"{number}.md", "One of many")
        sub = tenant.subsite(here.site.web, f"sub{number}")
        tenant.page(sub, f"page{number}", "<p>One of many</p>")
    await here.house.sync()

    wanted = {"handbook.md", *(f"{n}.md" for n in range(5)), *(f"page{n}.aspx" for n in range(5))}
    assert await here.house.names(here.asha) == wanted


@pytest.mark.parametrize("name", NAMES)
async def test_any_name_is_read_once_and_as_it_is(here: Office, name: str) -> None:
    """EC 940, gosip 78, SPD 10173, pnpcore 830."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    folder = tenant.folder(library, f"in {name.removesuffix('.md')}")
    file = tenant.file(library, name, "words of a strangely named file", folder)
    tenant.grant(file, here.cleo)
    report = await here.house.sync()

    assert report.complete
    assert await here.house.names(here.cleo) == {name}
    assert here.house.vendor.count.unknown == []


@pytest.mark.parametrize("path", ["/sites/100%25 more", "/sites/R&D's (a+b)", "/sites/Персонал"])
async def test_the_path_of_a_site_is_decoded_once(open_office: Opening, path: str) -> None:
    """ONX 8786."""
    async with open_office() as here:
        tenant = here.house.tenant
        site = tenant.site("odd", path=path)
        tenant.add(site.site_group("Visitors"), here.cleo)
        tenant.file(site.web.lists[0], "odd.md", "In a strangely named site")
        here.house.sites = ("/sites/hr", encoded(path))
        await here.house.sync()

        assert await here.house.names(here.cleo) == {"odd.md"}


async def test_titles_in_any_language_lead_nowhere(open_office: Opening) -> None:
    """Libraries are found by id: their titles are translated and renamed."""
    async with open_office() as here:
        tenant = here.house.tenant
        site = tenant.site("de", language="de")
        tenant.add(site.site_group("Visitors"), here.cleo)
        tenant.file(site.web.lists[0], "deutsch.md", "Ein Handbuch")
        await here.house.sync()
        tenant.rename_list(site.web.lists[0], "Ge'heime #Dokumente")
        tenant.file(site.web.lists[0], "zwei.md", "Noch eines")
        await here.house.sync()

        assert await here.house.names(here.cleo) == {"deutsch.md", "zwei.md"}


@pytest.mark.parametrize("status", [403, 404, 410, 423])
async def test_one_site_that_refuses_is_hidden_and_the_others_go_on(here: Office, status: int) -> None:
    """ONX 11193, ONX 11266, EC PR 4306."""
    tenant = here.house.tenant
    other = tenant.site("pay")
    tenant.add(other.site_group("Visitors"), here.asha)
    tenant.file(other.web.lists[0], "pay.md", "What is paid")
    await here.house.sync()
    assert await here.house.names(here.asha) == {"handbook.md", "pay.md"}

    tenant.block(other, status)
    tenant.file(here.site.web.lists[0], "new.md", "A new one")
    await here.house.sync()
    assert await here.house.names(here.asha) == {"handbook.md", "new.md"}

    tenant.unblock(other)
    await here.house.sync()
    assert await here.house.names(here.asha) == {"handbook.md", "new.md", "pay.md"}


BROKEN = {
    "timeout": wire.status(504), "500": wire.status(500), "400": wire.status(400), "401": wire.status(401),
    "403": wire.status(403), "404": wire.status(404), "page": wire.a_page, "half": wire.half_json,
    "nothing": wire.nothing, "cut": wire.truncated, "dropped": wire.dropped,
}  # fmt: skip
PLACES = {
    "delta": "/root/delta", "web rights": "_api/web/roleassignments", "item rights": r"items\(.*roleassignments",
    "flags": "items.*HasUniqueRoleAssignments", "members": "sitegroups", "admins": "siteusers", "lists": "/lists",
    "drives": "/drives", "site": r"/sites/", "login": "/token", "content": "download.aspx|/content|value",
}  # fmt: skip


# Each way of breaking at three places, each place broken in three ways; but for a file that comes as half of itself and
# a success, which is a matter of texts and not of rights.
PAIRS = [(place, tuple(BROKEN)[(at + step) % len(BROKEN)]) for at, place in enumerate(PLACES) for step in (0, 4, 8)]
PAIRS.remove(("content", "half"))


@pytest.mark.parametrize(("place", "bend"), PAIRS)
async def test_whatever_breaks_nobody_sees_more_and_nothing_is_lost(here: Office, place: str, bend: str) -> None:
    """ONX 13540, EC PR 3384, ONX 10397: any answer, broken in any way, for as long as it lasts."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    tenant.grant(tenant.file(library, "own.md", "With rights of its own"), here.cleo)
    await here.house.sync()
    before = here.house.may()
    tenant.revoke(here.site.web, here.site.site_group("Visitors"))
    tenant.file(library, "new.md", "A new one")
    here.house.vendor.fault(PLACES[place], BROKEN[bend])
    with suppress(DoorError):
        await here.house.sync()
    assert await here.house.over(before, here.house.may()) == []
    assert len(await here.house.alive()) >= 2

    here.house.vendor.mend()
    await here.house.sync()
    assert await here.house.over() == []
    assert await here.house.under() == []
