"""Wrong or missing rights, as they were reported of other products; each with the right value here.

The numbers in the docstrings are those of the reports: EC elastic/connectors, ONX onyx, PH pipeshub, MSD
microsoft-graph-docs, OD onedrive-api-docs, SPD sp-dev-docs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.doubles.sharepoint import wire
from tests.doubles.sharepoint.roles import FULL, LIMITED, PAGES_ONLY, READ, RESTRICTED_READ, VIEW_ONLY, Role
from tests.doubles.sharepoint.state import Claim, OwnersOf
from tests.doubles.sharepoint.tenant import ANONYMOUS, APP, EVERYONE, OLD_DOMAIN, UNHEARD_OF
from tests.sharepoint_house import Office, office

Opening = Callable[..., AbstractAsyncContextManager[Office]]


async def exact(here: Office) -> None:
    """Nobody sees what he may not, nobody misses anything."""
    assert await here.house.over() == []
    assert await here.house.under() == []


async def test_a_file_under_a_folder_or_library_of_its_own_has_their_readers_and_not_the_sites(here: Office) -> None:
    """EC 3491, EC 130013."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    folder = tenant.folder(library, "Closed")
    tenant.break_inheritance(folder, copy=False)
    tenant.grant(folder, here.cleo)
    tenant.file(library, "inside.md", "In a folder of its own", tenant.folder(library, "Deeper", folder))
    other = tenant.library(here.site.web, "Second")
    tenant.break_inheritance(other, copy=False)
    tenant.grant(other, here.cleo)
    tenant.file(other, "listed.md", "In a library of its own")
    await here.house.sync()

    assert await here.house.names(here.cleo) == {"inside.md", "listed.md"}
    assert await here.house.names(here.asha) == {"handbook.md"}
    await exact(here)


async def test_what_inherits_has_the_readers_of_the_site(here: Office) -> None:
    """EC PR 1352, EC 1638: files, pages, subsites and deep folders alike."""
    tenant = here.house.tenant
    sub = tenant.subsite(here.site.web, "sub")
    tenant.file(sub.lists[0], "below.md", "In a site below")
    tenant.page(sub, "News", "<p>In a page below</p>")
    tenant.page(here.site.web, "Home", "<p>On the first page</p>")
    await here.house.sync()

    assert await here.house.names(here.asha) == {"handbook.md", "below.md", "News.aspx", "Home.aspx"}
    await exact(here)


async def test_a_subsite_of_its_own_and_the_list_of_its_people(here: Office) -> None:
    """EC 1651: what is its own is read by its own readers; what can't be read does not stop the rest."""
    tenant = here.house.tenant
    sub = tenant.subsite(here.site.web, "sub", unique=True)
    sub.grants.clear()
    tenant.grant(sub, here.cleo)
    tenant.page(sub, "Secret", "<p>In a page below</p>")
    await here.house.sync()

    assert await here.house.names(here.cleo) == {"Secret.aspx"}
    await exact(here)


@pytest.mark.parametrize("spelling", ["eeeu", "otherwise", "everyone"])
async def test_everyone_except_external_users_are_all_members_and_no_guests(here: Office, spelling: str) -> None:
    """EC 3540, OfficeDocs 934."""
    tenant = here.house.tenant
    gus = tenant.person("gus", guest=True)
    named = {"eeeu": tenant.eeeu, "otherwise": tenant.eeeu_spelled_otherwise, "everyone": EVERYONE}[spelling]
    tenant.add(here.site.site_group("Visitors"), named)
    await here.house.sync()

    assert await here.house.names(here.cleo) == {"handbook.md"}
    assert await here.house.names(gus) == set()
    tenant.take_out(here.site.site_group("Visitors"), named)
    await here.house.sync()
    assert await here.house.names(here.cleo) == set()
    tenant.add(here.site.site_group("Visitors"), named)  # a job of the service puts it back: to be followed
    await here.house.sync()
    assert await here.house.names(here.cleo) == {"handbook.md"}


async def test_the_owners_of_a_group_are_not_its_members(here: Office) -> None:
    """EC PR 1172, ONX 13109: `{guid}_o` is asked of nobody as an id, and is not cut down to the group."""
    tenant = here.house.tenant
    team = tenant.group("team", here.asha, here.cleo, kind="unified")
    tenant.owns(team, here.cleo)
    tenant.break_inheritance(here.file, copy=False)
    tenant.grant(here.file, OwnersOf(team))
    await here.house.sync()

    assert await here.house.names(here.cleo) == {"handbook.md"}
    assert await here.house.names(here.asha) == set()
    assert not [each for each in here.house.vendor.count.asked if f"{team.id}_o" in each]


async def test_groups_of_two_sites_with_one_name_are_two_groups(here: Office) -> None:
    """ONX 13109."""
    tenant = here.house.tenant
    other = tenant.site("pay")
    tenant.add(other.site_group("Visitors"), here.cleo)
    tenant.file(other.web.lists[0], "pay.md", "What is paid")
    await here.house.sync()

    assert await here.house.names(here.cleo) == {"pay.md"}
    assert await here.house.names(here.asha) == {"handbook.md"}


@pytest.mark.parametrize("language", ["en", "de", "ru"])
async def test_limited_access_is_no_access_in_any_language(open_office: Opening, language: str) -> None:
    """ONX 13167: by bits, never by names."""
    async with open_office() as here:
        tenant = here.house.tenant
        here.site.language = language
        shared = tenant.file(here.site.web.lists[0], "shared.md", "Shared with one")
        tenant.grant(shared, here.cleo)  # which hands her limited access to the site
        assert {LIMITED} in here.site.web.grants.values()
        await here.house.sync()

        assert await here.house.names(here.cleo) == {"shared.md"}
        await exact(here)


@pytest.mark.parametrize(
    ("role", "reads"),
    [(READ, True), (VIEW_ONLY, True), (RESTRICTED_READ, True), (FULL, True), (LIMITED, False), (PAGES_ONLY, False),
     (None, False)],
)  # fmt: skip
async def test_a_role_counts_by_its_right_to_view_items(here: Office, role: Role | None, reads: bool) -> None:
    """ONX counts assignments without bindings as grants."""
    here.house.tenant.grant(here.file, here.cleo, role)
    await here.house.sync()

    assert (await here.house.names(here.cleo) == {"handbook.md"}) is reads


@pytest.mark.parametrize("scope", ["organization", "anonymous", "users"])
async def test_a_link_lets_in_only_who_redeemed_it(here: Office, scope: str) -> None:
    """ONX 9636, PH maps an anonymous link to anyone."""
    tenant = here.house.tenant
    link = tenant.link(here.file, ANONYMOUS, scope=scope)
    await here.house.sync()
    assert await here.house.names(here.cleo) == set()

    tenant.redeem(link, here.cleo)
    await here.house.sync()
    assert await here.house.names(here.cleo) == {"handbook.md"}

    tenant.unlink(link)
    await here.house.sync()
    assert await here.house.names(here.cleo) == set()
    await exact(here)


async def test_a_link_ends_when_it_expires_without_anybody_telling(here: Office) -> None:
    tenant = here.house.tenant
    tenant.link(here.file, here.cleo, expires=tenant.at + timedelta(hours=2))
    await here.house.sync()
    assert await here.house.names(here.cleo) == {"handbook.md"}

    tenant.wait(timedelta(hours=2))
    await here.house.sync()

    assert await here.house.names(here.cleo) == set()


async def test_a_link_ends_in_time_although_no_sync_runs(here: Office) -> None:
    """For everybody, until the next sync, which states the rest anew."""
    tenant = here.house.tenant
    tenant.link(here.file, here.cleo, expires=tenant.at + timedelta(hours=2))
    await here.house.sync()
    tenant.wait(timedelta(hours=2))
    assert await here.house.names(here.cleo) == set()

    await here.house.sync(hurried=False)
    assert await here.house.names(here.asha) == {"handbook.md"}
    await exact(here)


@pytest.mark.parametrize(
    ("place", "hours"),
    [("/root/delta", 1), ("/root/delta", 3), ("siteusers", 3), ("sitegroups", 3)],
)
async def test_a_link_ends_in_time_although_something_can_not_be_read(here: Office, place: str, hours: int) -> None:
    """And only whom nothing but the link let in is out. One link ends after the other; the second lets in one more."""
    tenant = here.house.tenant
    tenant.link(here.file, here.cleo, here.asha, tenant.person("eli"), expires=tenant.at + timedelta(hours=1))
    tenant.link(here.file, here.cleo, tenant.person("dora"), expires=tenant.at + timedelta(hours=3))
    await here.house.sync()
    here.house.vendor.fault(place, wire.status(500))
    await here.house.sync()
    tenant.wait(timedelta(hours=hours))
    await here.house.sync(hurried=False)

    assert await here.house.names(here.asha) == {"handbook.md"}
    await exact(here)


async def test_a_link_with_a_password_grants_nothing(here: Office) -> None:
    here.house.tenant.link(here.file, here.cleo, password=True)
    await here.house.sync()

    assert await here.house.names(here.cleo) == set()


def no_links(asked: wire.Asked, reply: wire.Reply) -> wire.Reply:
    assert isinstance(reply.body, dict)
    return replace(reply, body={"value": [row for row in reply.body["value"] if "link" not in row]})


@pytest.mark.parametrize("state", [400, 403, 404, 501, "missing"])
async def test_a_link_of_which_nobody_says_until_when_it_counts_grants_nothing(here: Office, state: int | str) -> None:
    here.house.tenant.link(here.file, here.cleo)
    here.house.vendor.fault("/permissions", wire.status(state) if isinstance(state, int) else no_links)
    await here.house.sync()
    assert await here.house.names(here.cleo) == set()
    assert await here.house.names(here.asha) == {"handbook.md"}

    here.house.vendor.mend()
    await here.house.sync()
    assert await here.house.names(here.cleo) == {"handbook.md"}


@pytest.mark.parametrize("state", [403, 404, "missing"])
async def test_a_link_that_landed_from_a_folder_that_does_not_tell_of_it_grants_nothing(
    here: Office, state: int | str
) -> None:
    tenant, library = here.house.tenant, here.site.web.lists[0]
    folder = tenant.folder(library, "Folder")
    own = tenant.file(library, "own.md", "With rights of its own", folder)
    tenant.break_inheritance(own, copy=False)
    tenant.link(folder, here.cleo, pushed=True)
    here.house.vendor.fault(f"items/{own.drive_item}/permissions", no_links)
    here.house.vendor.fault(
        f"items/{folder.drive_item}/permissions", wire.status(state) if isinstance(state, int) else no_links
    )
    await here.house.sync()
    assert await here.house.names(here.cleo) == set()

    here.house.vendor.mend()
    here.house.vendor.fault(f"items/{own.drive_item}/permissions", no_links)
    await here.house.sync()
    assert await here.house.names(here.cleo) == {"own.md"}


async def test_a_link_that_is_among_the_rights_of_a_library_grants_nothing(here: Office) -> None:
    """Of a library Graph does not tell until when its links count."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    link = tenant.link(tenant.file(library, "shared.md", "Shared with one"), here.cleo)
    tenant.grant(library, link.group)
    await here.house.sync()

    assert await here.house.names(here.cleo) == {"shared.md"}


async def test_what_graph_says_of_sharing_lets_in_nobody(here: Office) -> None:
    """MSD 222, MSD 7099: it leaves out the ids of groups and tells one caller what it does not tell another. Who reads
    is who is assigned; Graph is asked until when a link counts."""

    def otherwise(asked: wire.Asked, reply: wire.Reply) -> wire.Reply:
        assert isinstance(reply.body, dict)
        links = [row for row in reply.body["value"] if "link" in row]
        for link in links:
            link["grantedToIdentitiesV2"] = [{"user": {"id": here.cleo.oid}}]
        owner = {"id": "1", "roles": ["owner"], "grantedToV2": {"user": {"id": here.cleo.oid}, "group": {"id": None}}}
        return replace(reply, body={"value": [owner, *links]})

    here.house.tenant.link(here.file, here.house.tenant.person("dora"))
    bent = here.house.vendor.fault("/permissions", otherwise)
    await here.house.sync()

    assert bent.done
    await exact(here)


async def test_every_page_of_rights_and_of_members_is_read(here: Office) -> None:
    """ONX 10749, EC PR 1688, ONX 4129: the one who counts is on the last."""
    tenant = here.house.tenant
    crowd = [tenant.person(f"p{number}") for number in range(230)]
    for each in crowd:
        tenant.grant(here.file, each)
    folder = tenant.folder(here.site.web.lists[0], "Folder")
    tenant.break_inheritance(folder, copy=False)
    group = tenant.site_group(here.site, "Many")
    tenant.add(group, *crowd, here.cleo)
    tenant.grant(folder, group)
    tenant.file(here.site.web.lists[0], "many.md", "For many", folder)
    await here.house.sync()

    assert await here.house.names(crowd[-1]) == {"handbook.md", "many.md"}
    assert await here.house.names(here.cleo) == {"many.md"}


async def test_somebody_with_more_groups_than_a_page_has_all_of_them(here: Office) -> None:
    """EC PR 1688: expanding stops at 20."""
    tenant = here.house.tenant
    for number in range(130):
        tenant.group(f"filler {number}", here.cleo)
    last = tenant.group("last", here.cleo)
    tenant.grant(here.file, last)
    await here.house.sync()

    assert await here.house.names(here.cleo) == {"handbook.md"}


async def test_a_group_that_is_gone_gives_nobody_anything_and_stops_nothing(here: Office) -> None:
    """ONX 5208; and an apostrophe in a name is a letter."""
    tenant = here.house.tenant
    gone = tenant.group("It's gone", here.cleo)
    owned = tenant.group("O'Neill's", here.cleo, kind="unified")
    tenant.owns(owned, here.cleo)
    tenant.grant(here.file, gone)
    tenant.grant(here.file, OwnersOf(owned))
    tenant.delete_group(gone)
    tenant.delete_group(owned)
    report = await here.house.sync()

    assert report.complete
    assert await here.house.names(here.cleo) == set()
    assert await here.house.names(here.asha) == {"handbook.md"}


@pytest.mark.parametrize("nobody", [ANONYMOUS, OLD_DOMAIN, APP, UNHEARD_OF], ids=lambda claim: claim.title)
async def test_rights_that_come_down_to_nobody_are_nobody(here: Office, nobody: Claim) -> None:
    """ONX 4624: an empty list of readers is not the absence of a restriction."""
    tenant = here.house.tenant
    tenant.break_inheritance(here.file, copy=False)
    tenant.grant(here.file, nobody)
    await here.house.sync()

    assert await here.house.names(here.asha) == set()
    assert await here.house.names(here.ben) == set()


async def test_a_file_with_no_rights_at_all_is_for_admins(here: Office) -> None:
    tenant = here.house.tenant
    tenant.break_inheritance(here.file, copy=False)
    tenant.set_admin(here.site, here.cleo)
    await here.house.sync()

    assert await here.house.names(here.cleo) == {"handbook.md"}
    await exact(here)


async def test_admins_read_everything_of_their_site_collection_and_of_no_other(here: Office) -> None:
    tenant = here.house.tenant
    team = tenant.group("team", kind="unified")
    tenant.owns(team, here.cleo)
    tenant.set_admin(here.site, OwnersOf(team))
    tenant.break_inheritance(here.file, copy=False)
    other = tenant.site("pay")
    tenant.file(other.web.lists[0], "pay.md", "What is paid")
    await here.house.sync()
    assert await here.house.names(here.cleo) == {"handbook.md"}

    tenant.set_admin(here.site, OwnersOf(team), on=False)
    await here.house.sync()
    assert await here.house.names(here.cleo) == set()


async def test_the_rights_of_a_library_stay_with_the_library(here: Office) -> None:
    """PH 3268."""
    tenant = here.house.tenant
    library = here.site.web.lists[0]
    tenant.grant(library, here.cleo)
    tenant.page(here.site.web, "Home", "<p>On the first page</p>")
    await here.house.sync()

    assert await here.house.names(here.cleo) == {"handbook.md"}


async def test_every_way_to_a_right_leads_there(here: Office) -> None:
    """PH 1549: one sees the files, others with the same rights see nothing."""
    tenant = here.house.tenant
    people = {way: tenant.person(way) for way in
              ("direct", "in_site_group", "nested", "owner", "member", "role", "admin", "link")}  # fmt: skip
    team = tenant.group("team", people["member"], kind="unified")
    tenant.owns(team, people["owner"])
    inner = tenant.group("inner", people["nested"])
    outer = tenant.group("outer", tenant.group("middle", inner))
    role = tenant.group("Company Administrator", people["role"], kind="role")
    group = tenant.site_group(here.site, "A group of the site")
    tenant.add(group, people["in_site_group"], OwnersOf(team), team, outer)
    tenant.break_inheritance(here.file, copy=False)
    for who in (people["direct"], group, role):
        tenant.grant(here.file, who)
    tenant.set_admin(here.site, people["admin"])
    tenant.link(here.file, people["link"])
    await here.house.sync()

    assert {way for way, who in people.items() if await here.house.names(who) == {"handbook.md"}} == set(people)
    assert await here.house.names(here.asha) == set()


async def test_a_link_on_a_folder_lands_on_what_has_rights_of_its_own_below(here: Office) -> None:
    """corso 3708: broken inheritance is no wall against a link that comes later."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    folder = tenant.folder(library, "Folder")
    own = tenant.file(library, "own.md", "With rights of its own", folder)
    tenant.break_inheritance(own, copy=False)
    await here.house.sync()
    assert await here.house.names(here.cleo) == set()

    link = tenant.link(folder, here.cleo, pushed=True)
    await here.house.sync()
    assert await here.house.names(here.cleo) == {"own.md"}

    tenant.unlink(link)
    await here.house.sync()
    assert await here.house.names(here.cleo) == set()


async def test_a_recycled_name_gives_the_next_person_nothing(here: Office) -> None:
    """SharePoint keeps the directory's id and refuses; so do we, wherever the name is found."""
    tenant = here.house.tenant
    await here.house.sync()
    next_ben = tenant.recycle(here.ben, "ben-next")
    await here.house.sync()

    assert await here.house.names(next_ben) == set()
    assert await here.house.names(here.ben) == set()


@pytest.mark.parametrize("where", ["group", "file", "admin"])
async def test_a_name_recycled_before_the_first_sync_gives_the_next_person_nothing(here: Office, where: str) -> None:
    """The site goes on naming the old one; only the id that it tells of its users says who that is."""
    tenant = here.house.tenant
    dora = tenant.person("dora")
    match where:
        case "group":
            tenant.add(here.site.site_group("Visitors"), dora)
        case "file":
            tenant.grant(here.file, dora)
        case _:
            tenant.set_admin(here.site, dora)
    next_dora = tenant.recycle(dora, "dora-next")
    await here.house.sync()

    assert await here.house.names(next_dora) == set()


async def test_a_name_of_which_a_site_tells_no_id_although_it_tells_others_is_not_looked_up(here: Office) -> None:
    tenant = here.house.tenant
    dora = tenant.person("dora")
    tenant.grant(here.file, dora)
    tenant.entry(here.site, dora).oid = None  # as of one whom the directory has forgotten
    next_dora = tenant.recycle(dora, "dora-next")
    await here.house.sync()

    assert await here.house.names(next_dora) == set()


async def test_who_came_after_the_users_of_a_site_were_read_is_asked_for_alone(here: Office) -> None:
    tenant = here.house.tenant

    def grant(asked: wire.Asked, reply: wire.Reply) -> wire.Reply:
        tenant.grant(here.file, here.cleo)
        return reply

    here.house.vendor.fault("web/siteusers", grant, times=1)
    await here.house.sync()

    assert await here.house.names(here.cleo) == {"handbook.md"}
    assert await here.house.over() == []


async def test_a_name_recycled_where_sites_tell_no_ids_is_dropped(here: Office) -> None:
    tenant = here.house.tenant
    tenant.gaps.directory_ids = True
    await here.house.sync()
    assert await here.house.names(here.ben) == {"handbook.md"}

    next_ben = tenant.recycle(here.ben, "ben-next")
    await here.house.sync()

    assert await here.house.names(next_ben) == set()


async def test_who_is_disabled_or_gone_has_nothing_at_once(here: Office) -> None:
    tenant = here.house.tenant
    await here.house.sync()
    tenant.disable(here.asha)
    tenant.delete_user(here.ben)

    assert await here.house.names(here.asha) == set()
    assert await here.house.names(here.ben) == set()


async def test_who_leaves_a_group_loses_what_it_gave_without_a_sync(here: Office) -> None:
    await here.house.sync()
    assert await here.house.names(here.asha) == {"handbook.md"}
    here.house.tenant.leave(here.staff, here.asha)

    assert await here.house.names(here.asha) == set()


async def test_a_group_whose_members_are_told_to_nobody_gives_nothing(here: Office) -> None:
    """Less than SharePoint gives, which is the safe side, and no error."""
    tenant = here.house.tenant
    quiet = tenant.group("quiet", here.cleo, hidden=True)
    tenant.grant(here.file, quiet)
    report = await here.house.sync()

    assert report.complete
    assert await here.house.names(here.cleo) == set()


async def test_guests_have_what_they_were_given_and_not_what_everyone_has(here: Office) -> None:
    tenant = here.house.tenant
    gus = tenant.person("gus", guest=True)
    tenant.add(here.site.site_group("Visitors"), tenant.eeeu, EVERYONE)
    tenant.grant(tenant.file(here.site.web.lists[0], "given.md", "Given to a guest"), gus)
    await here.house.sync()

    assert await here.house.names(gus) == {"given.md"}


@pytest.mark.parametrize("status", [429, 500])
async def test_groups_that_can_not_be_read_whole_are_no_groups(here: Office, status: int) -> None:
    await here.house.sync()
    here.house.vendor.fault(r"getMember|transitiveMemberOf|memberOf", wire.status(status))

    assert await here.house.names(here.asha) == set()


async def test_the_groups_of_one_tenant_say_nothing_in_another(
    open_office: Opening, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """ONX 12580: the same people, the same ids of groups, another tenant."""
    other = office(tmp_path_factory.mktemp("other"), in_memory=True)
    async with open_office() as first, other as second:
        second.house.tenant.id = "5e0e1a52-0000-4000-8000-00000000beef"
        second.house.vendor.login.tenant = second.house.tenant.id
        await first.house.sync()
        await second.house.sync()
        async with first.house.far() as one, second.house.far() as two:
            ours = await first.house.subject(first.asha, one)
            theirs = await second.house.subject(second.asha, two)

        assert first.asha.oid == second.asha.oid
        assert ours.principals & theirs.principals == {ours.person}


@pytest.mark.parametrize("who", ["file", "folder", "library", "web"])
async def test_rights_that_can_not_be_read_are_nobodys(here: Office, who: str) -> None:
    """A failed reading is never the rights of what is above."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    folder = tenant.folder(library, "Folder")
    inner = tenant.file(library, "inner.md", "In a folder", folder)
    what = {"file": inner, "folder": folder, "library": library, "web": here.site.web}[who]
    tenant.break_inheritance(what, copy=False) if who != "web" else None
    place = {
        "file": rf"items\({inner.number}\)/roleassignments", "folder": rf"items\({folder.number}\)/roleassignments",
        "library": rf"{library.id}'\)/roleassignments", "web": "_api/web/roleassignments",
    }[who]  # fmt: skip
    here.house.vendor.fault(place, wire.status(403))
    await here.house.sync()

    assert "inner.md" not in await here.house.names(here.asha)
    assert await here.house.over() == []


@pytest.mark.parametrize("place", ["/permissions", r"sitegroups.*\({}\)/users"])
async def test_who_lost_a_right_is_out_although_links_or_groups_can_not_be_read(here: Office, place: str) -> None:
    tenant = here.house.tenant
    link = tenant.link(here.file, here.ben)
    tenant.grant(here.file, here.cleo)
    tenant.grant(here.file, here.staff)
    await here.house.sync()
    assert await here.house.names(here.cleo) == {"handbook.md"}

    tenant.revoke(here.file, here.cleo)
    fault = here.house.vendor.fault(place.format(link.group.id), wire.status(500))
    await here.house.sync()
    assert await here.house.names(here.cleo) == set()
    assert await here.house.names(here.asha) == {"handbook.md"}

    here.house.vendor.mend(fault)
    await here.house.sync()
    await exact(here)


async def test_restricted_access_control_is_asked_for_as_well(open_office: Opening) -> None:
    async with open_office() as here:
        tenant = here.house.tenant
        tenant.restrict(here.site, here.staff)
        here.house.settings["restricted_to"] = [here.staff.id]
        await here.house.sync()

        assert await here.house.names(here.asha) == {"handbook.md"}
        assert await here.house.names(here.ben) == set()
        await exact(here)


async def test_a_list_where_everybody_reads_his_own_shows_nobody_anothers(here: Office) -> None:
    library = here.site.web.lists[0]
    await here.house.sync()
    library.read_security = 2
    await here.house.sync()

    assert await here.house.over() == []


@pytest.mark.parametrize("where", ["list", "web"])
async def test_what_is_not_to_be_searched_is_not(here: Office, where: str) -> None:
    await here.house.sync()
    if where == "list":
        here.site.web.lists[0].no_crawl = True
    else:
        here.site.web.no_crawl = True
    await here.house.sync()

    assert await here.house.names(here.asha) == set()


async def test_drafts_are_nobodys(here: Office) -> None:
    tenant, library = here.house.tenant, here.site.web.lists[0]
    tenant.file(library, "draft.md", "wordofadraft", draft=True)
    tenant.page(here.site.web, "Draft", "<p>wordofadraftpage</p>", draft=True)
    tenant.edit(here.file, "The handbook, wordofalaterdraft", draft=True)
    page = tenant.page(here.site.web, "Page", "<p>Published words</p>")
    tenant.edit(page, "<p>wordofadraftonapage</p>", draft=True)
    await here.house.sync()

    for word in ("wordofadraft", "wordofadraftpage", "wordofalaterdraft", "wordofadraftonapage"):
        assert not here.house.stored(word)
    assert await here.house.names(here.asha) <= {"handbook.md", "Page.aspx"}
    assert await here.house.over() == []


async def test_a_file_that_is_no_longer_published_is_gone_from_answers(here: Office) -> None:
    await here.house.sync()
    here.house.tenant.unpublish(here.file)
    await here.house.sync()

    assert await here.house.names(here.asha) == set()
