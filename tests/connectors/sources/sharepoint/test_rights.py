"""Who an asker is: complete or an error, and nobody once he is disabled."""

from __future__ import annotations

import pytest

from connectors.errors import DoorError
from connectors.ports import Membership
from connectors.sources.sharepoint.principals import Names
from connectors.sources.sharepoint.source import OWNERS_NOTE
from policies.facts import Kind
from tests.doubles.sharepoint.state import User
from tests.doubles.sharepoint.wire import Bend, a_page, status
from tests.sharepoint_house import Office


async def membership(here: Office, user: User, kind: Kind = Kind.MEMBER) -> Membership:
    async with here.house.far() as far:
        return await far.rights.membership(user.oid, kind, here.house.now())


async def test_t023_a_member_is_himself_his_groups_at_any_depth_and_everybody_inside(here: Office) -> None:
    tenant = here.house.tenant
    names = Names(tenant.id)
    outer = tenant.group("outer", here.staff)
    role = tenant.group("Global Reader", here.asha, kind="role")
    found = await membership(here, here.asha)

    groups = {names.group(each.id) for each in (here.staff, outer, role)}
    assert found == Membership(True, frozenset({names.user(here.asha.oid), names.insiders, names.everyone, *groups}))


async def test_owners_are_asked_for_where_owners_were_granted_something_and_only_there(here: Office) -> None:
    tenant = here.house.tenant
    names = Names(tenant.id)
    team, other = tenant.group("team", kind="unified"), tenant.group("other", kind="unified")
    for group in (team, other):
        tenant.owns(group, here.cleo)
    here.house.vendor.count.clear()
    await membership(here, here.cleo)
    assert not [each for each in here.house.vendor.count.asked if "owned" in each or "owners" in each]

    await here.house.memory.keep_note(OWNERS_NOTE, team.id)
    found = await membership(here, here.cleo)
    assert names.owners(team.id) in found.principals
    assert names.owners(other.id) not in found.principals
    assert names.group(team.id) not in found.principals


@pytest.mark.parametrize("kind", [Kind.GUEST, Kind.EXTERNAL])
async def test_a_guest_by_our_word_or_theirs_is_not_everybody_inside(here: Office, kind: Kind) -> None:
    names = Names(here.house.tenant.id)
    guest = here.house.tenant.person("gus", guest=True)

    assert (await membership(here, here.asha, kind)).principals.isdisjoint({names.insiders, names.everyone})
    assert (await membership(here, guest)).principals.isdisjoint({names.insiders, names.everyone})


async def test_disabled_and_deleted_people_are_nobody(here: Office) -> None:
    here.house.tenant.disable(here.asha)
    here.house.tenant.delete_user(here.ben)

    assert await membership(here, here.asha) == Membership(False, frozenset())
    assert await membership(here, here.ben) == Membership(False, frozenset())


@pytest.mark.parametrize("bend", [status(403), status(400), a_page], ids=["403", "400", "page"])
@pytest.mark.parametrize("place", ["getMemberGroups", r"/users/[^/]+\?"])
async def test_t022_what_is_not_told_whole_is_an_error_and_no_smaller_set(here: Office, place: str, bend: Bend) -> None:
    here.house.vendor.fault(place, bend)
    with pytest.raises(DoorError):
        await membership(here, here.asha)


async def test_an_account_of_which_nobody_says_whether_it_is_enabled_is_an_error(here: Office) -> None:
    def silent(asked: object, reply: object) -> object:
        body = {key: value for key, value in reply.body.items() if key != "accountEnabled"}  # type: ignore[attr-defined]
        return type(reply)(200, body)  # type: ignore[call-arg]

    here.house.vendor.fault(r"/users/[^/]+\?", silent)  # type: ignore[arg-type]
    with pytest.raises(DoorError, match=r"User\.Read\.All"):
        await membership(here, here.asha)


async def test_more_groups_than_are_given_at_once_are_read_page_by_page(here: Office) -> None:
    names = Names(here.house.tenant.id)
    here.house.vendor.fault("getMemberGroups", status(400, "Directory_ResultSizeLimitExceeded"))
    groups = [here.house.tenant.group(f"g{number}", here.asha) for number in range(120)]
    found = await membership(here, here.asha)

    assert {names.group(each.id) for each in groups} <= found.principals


async def test_what_it_is_called_and_what_everybody_is(here: Office) -> None:
    async with here.house.far() as far:
        assert far.rights.provider == f"entra:{here.house.tenant.id}"
        assert far.rights.rules_everybody
        assert far.rights.everyone == {Names(here.house.tenant.id).insiders}
