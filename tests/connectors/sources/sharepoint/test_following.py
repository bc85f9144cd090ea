"""How changes are followed: empty pages, what delta lost, too much at once, links that end, sites that say little."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.doubles.sharepoint.wire import Asked, Bend, EmptyPages, Reply
from tests.sharepoint_house import Office


def rows_that(stay: Callable[[dict[str, Any]], bool]) -> Bend:
    """Only these rows of what is told."""

    def bent(asked: Asked, reply: Reply) -> Reply:
        rows = reply.body.get("value") if isinstance(reply.body, dict) else None
        return reply if rows is None else replace(reply, body={**reply.body, "value": [r for r in rows if stay(r)]})

    return bent


async def test_an_empty_page_is_the_end_of_nothing(here: Office) -> None:
    """EC PR 4370, PH: of delta, of lists, of rights and of groups alike."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    here.house.vendor.fault("GET .*(delta|/items|/lists|/drives|/sites$|roleassignments|users)", EmptyPages())
    own = tenant.file(library, "own.md", "With rights of its own", tenant.folder(library, "Folder"))
    tenant.grant(own, here.cleo)
    await here.house.sync()
    assert await here.house.names(here.asha) == {"handbook.md", "own.md"}
    assert await here.house.names(here.cleo) == {"own.md"}

    tenant.delete(here.file)
    await here.house.sync()
    assert await here.house.names(here.asha) == {"own.md"}


async def test_a_deletion_that_delta_lost_is_found_by_the_next_enumeration(here: Office) -> None:
    """EC 1822, ONX 1028."""
    tenant, house = here.house.tenant, here.house
    tenant.file(here.site.web.lists[0], "other.md", "Another one")
    await house.sync()
    lost = house.vendor.fault(r"/root/delta\?token", rows_that(lambda row: "deleted" not in row))
    tenant.delete(here.file)
    await house.sync()
    house.vendor.mend(lost)
    assert len(await house.alive()) == 2

    tenant.wait(timedelta(days=7))
    await house.sync(hurried=False)
    assert await house.names(here.asha) == {"other.md"}
    assert len(await house.alive()) == 1


async def test_too_many_losses_at_once_hide_and_delete_nothing(here: Office) -> None:
    """A walk that is complete by its word, of an app that lost its eyes: hidden, told of, and back with its sight."""
    tenant, house, library = here.house.tenant, here.house, here.site.web.lists[0]
    for number in range(60):
        tenant.file(library, f"{number}.md", f"Number {number}")
    await house.sync()
    blind = house.vendor.fault("/root/delta", rows_that(lambda row: "root" in row or row["name"] == here.file.name))
    house.vendor.graph.deltas.expire(library)
    report = await house.sync()
    assert await house.names(here.asha) == {"handbook.md"}
    assert len(await house.alive()) == 61
    assert any("vanished" in problem for problem in report.problems)

    house.vendor.mend(blind)
    await house.sync(full=True)
    assert len(await house.names(here.asha)) == 61


async def test_a_link_ends_between_two_looks(here: Office) -> None:
    """Nothing is due, and nobody tells: the moment itself was noted."""
    tenant, house = here.house.tenant, here.house
    tenant.link(here.file, here.cleo, expires=tenant.at + timedelta(minutes=4))
    await house.sync()
    assert await house.names(here.cleo) == {"handbook.md"}

    tenant.wait(timedelta(minutes=2))
    house.vendor.count.clear()
    await house.sync(hurried=False)
    assert await house.names(here.cleo) == set()
    assert house.vendor.count.requests["rest web/lists/items"] == 0


async def test_what_delta_tells_of_a_folder_is_looked_for_below_it(here: Office) -> None:
    """corso 3708, without a look at all objects: a link that landed on what has rights of its own is taken back."""
    tenant, house, library = here.house.tenant, here.house, here.site.web.lists[0]
    folder = tenant.folder(library, "Folder")
    own = tenant.file(library, "own.md", "With rights of its own", folder)
    tenant.break_inheritance(own, copy=False)
    link = tenant.link(folder, here.cleo, pushed=True)
    await house.sync()
    assert await house.names(here.cleo) == {"own.md"}

    tenant.unlink(link)
    house.pause = timedelta(minutes=11)
    house.vendor.count.clear()
    await house.sync(hurried=False)
    assert await house.names(here.cleo) == set()
    assert not [each for each in house.vendor.count.asked if "/items?" in each]


async def test_a_short_lease_is_renewed_before_it_ends(here: Office) -> None:
    """Everybody sees all the time what he may: what a lease rests on is looked at more often where it is short."""
    house = here.house
    house.settings["lease"] = "1h"
    await house.sync()
    house.pause = timedelta(minutes=11)
    for _ in range(6):
        await house.sync(hurried=False)
        assert await house.names(here.asha) == {"handbook.md"}


async def test_fields_of_a_site_that_are_null_stop_nothing(here: Office) -> None:
    """EC PR 3542."""

    def nulled(asked: Asked, reply: Reply) -> Reply:
        if not isinstance(reply.body, dict):
            return reply
        rows = reply.body.get("value", [reply.body])
        for row in rows:
            for name in ("name", "displayName", "siteCollection", "isPersonalSite", "lastModifiedDateTime", "system"):
                if name in row and "file" not in row:
                    row[name] = None
        return reply

    here.house.vendor.fault(r"/v1.0/sites", nulled)
    report = await here.house.sync()

    assert report.complete, report.problems
    assert await here.house.names(here.asha) == {"handbook.md"}


async def test_only_the_sites_that_were_named_are_asked_about(here: Office) -> None:
    """EC 2639: an app of chosen sites can list none; and containers of apps have rights of another kind (EC 3603)."""
    tenant = here.house.tenant
    loop = tenant.site("loop", path="/contentstorage/CSP_4711")
    tenant.add(loop.site_group("Visitors"), here.asha)
    tenant.file(loop.web.lists[0], "loop.md", "In a container")
    report = await here.house.sync()

    assert await here.house.names(here.asha) == {"handbook.md"}
    assert any("container" in problem for problem in report.problems)
    assert not [each for each in here.house.vendor.count.asked if "getAllSites" in each or "search=" in each]
