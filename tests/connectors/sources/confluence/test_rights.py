"""Who may read what, case by case: each test is one way in which other products got it wrong, with the right value.

The numbers are those of public bug reports: EC elastic/connectors, ONX onyx-dot-app/onyx, PH pipeshub-ai/pipeshub-ai.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from connectors.records import Own
from connectors.sources.confluence.permissions import Restrictions
from connectors.sources.confluence.principals import Principals
from policies.access import AccessExpr
from tests.confluence_house import House, stocked
from tests.connectors.sources.confluence.living import living, named, settled_in
from tests.doubles.confluence.faults import status
from tests.doubles.confluence.wiki import Assigned, Grant, anonymous, everyone, group, user


async def readers(house: House, title: str) -> set[str]:
    """Who sees the page with this title, as a verdict says, and as it must be."""
    key = named(house, title)
    seen = await house.seen()
    found = {name for name, keys in seen.items() if key in keys}
    assert found == {name for name in seen if key in house.expected(name)}
    return found


# ---------------------------------------------------------------- ancestors


async def test_a_restricted_ancestor_closes_the_page_for_everybody_not_named_there(tmp_path: Path) -> None:
    """EC#4095, ONX#4536, CONFSERVER-14965: AND over the chain, computed from parents."""
    async with settled_in(tmp_path) as house:
        house.wiki.restrict(named(house, "Top"), users=["robot", "ann"])
        await house.sync()

        assert {"robot", "ann"} == await readers(house, "Leaf")
        assert {"robot", "ann"} == await readers(house, "In the folder")


async def test_an_ancestor_names_a_group_and_the_page_one_of_its_members(tmp_path: Path) -> None:
    """EC PR#4297: an intersection of names is empty here; the member may read."""
    async with settled_in(tmp_path) as house:
        hr = house.wiki.group("hr").id
        house.wiki.restrict(named(house, "Top"), groups=[hr])
        house.wiki.restrict(named(house, "Leaf"), users=["ann", "robot"])
        await house.sync()

        assert {"ann", "robot"} == await readers(house, "Leaf")
        house.wiki.leave("ann", hr)
        assert {"robot"} == await readers(house, "Leaf")


async def test_being_named_on_a_page_does_not_open_what_an_ancestor_closed(tmp_path: Path) -> None:
    """EC PR#4297, onyx: not the innermost restriction alone."""
    async with settled_in(tmp_path) as house:
        house.wiki.restrict(named(house, "Top"), users=["ann", "robot"])
        house.wiki.restrict(named(house, "Leaf"), users=["bob", "ann", "robot"])
        await house.sync()

        assert {"ann", "robot"} == await readers(house, "Leaf")


async def test_being_named_on_a_page_does_not_help_without_the_space(tmp_path: Path) -> None:
    """EC PR#4297: the space's clause is never replaced."""
    async with settled_in(tmp_path) as house:
        house.wiki.restrict(named(house, "Pay"), users=["bob", "ann", "robot"])
        await house.sync()

        assert {"ann", "robot"} == await readers(house, "Pay")


@pytest.mark.parametrize("container", ["Folder", "Board"])
async def test_folders_and_whiteboards_are_ancestors_too(tmp_path: Path, container: str) -> None:
    async with settled_in(tmp_path) as house:
        house.wiki.restrict(named(house, container), users=["ann", "robot"])
        await house.sync()

        assert {"ann", "robot"} == await readers(house, "Under the board")


async def test_a_folder_that_the_old_api_does_not_name_still_counts(tmp_path: Path) -> None:
    """Ancestors are rebuilt from parents; what v1 leaves out of its list opens nothing."""
    async with settled_in(tmp_path) as house:
        house.server.v1_ancestors = frozenset({"page"})
        house.wiki.restrict(named(house, "Folder"), users=["ann", "robot"])
        await house.sync()

        assert {"ann", "robot"} == await readers(house, "Under the board")


async def test_attachments_and_comments_have_the_rights_of_their_page(tmp_path: Path) -> None:
    """onyx: attachments were resolved with no ancestors at all."""
    async with settled_in(tmp_path) as house:
        house.wiki.restrict(named(house, "Top"), users=["ann", "robot"])
        await house.sync()

        assert {"ann", "robot"} == await readers(house, "notes.txt")
        assert {"ann", "robot"} == await readers(house, "Re: Middle")


async def test_a_draft_among_the_ancestors_closes_the_page_and_no_other(tmp_path: Path) -> None:
    """ONX#11468, CONFCLOUD-77618: what can't be read is unknown, and skipping it would open the page."""
    async with settled_in(tmp_path) as house:
        draft = house.wiki.page("ENG", "Draft", status="draft", author="ann", owner="ann")
        below = house.wiki.page("ENG", "Below the draft", parent=draft.id)
        await house.sync()
        seen = await house.seen()

        assert all(below.id not in keys and draft.id not in keys for keys in seen.values())
        assert {each: keys - {below.id, draft.id} for each, keys in house.all_expected().items()} == seen


async def test_what_a_damaged_ancestor_table_says_opens_nothing(tmp_path: Path) -> None:
    """CONFSERVER-25189: the table has lost the topmost ancestor of the page, and of the page alone."""
    async with settled_in(tmp_path, "datacenter") as house:
        house.wiki.restrict(named(house, "Top"), users=["ann"])
        house.wiki.content[named(house, "Leaf")].ancestors_wrong = (named(house, "Middle"),)
        await house.sync()
        seen = await house.seen()

        assert not {name for name in ("bob", "gus", "una") if named(house, "Leaf") in seen[name]}


# ---------------------------------------------------------------- restrictions


async def test_a_page_without_a_restriction_of_its_own_is_not_invisible(tmp_path: Path) -> None:
    """PH#1189: no restriction is not an empty one."""
    async with settled_in(tmp_path) as house:
        assert {"robot", "ann", "bob", "adm"} == await readers(house, "Leaf")


async def test_a_restriction_to_a_deleted_group_means_nobody(tmp_path: Path) -> None:
    """ONX#4624: who is named resolves to nobody, and the restriction stands."""
    async with settled_in(tmp_path) as house:
        gone = house.wiki.group("gone", "bob").id
        house.wiki.restrict(named(house, "Leaf"), users=["robot"], groups=[gone])
        house.wiki.delete_group(gone)
        await house.sync()

        assert {"robot"} == await readers(house, "Leaf")


async def test_a_restriction_to_a_deleted_group_alone_means_nobody(tmp_path: Path) -> None:
    """ONX#4624 where nobody else is named: on Data Center, where the account that reads sees everything."""
    async with settled_in(tmp_path, "datacenter") as house:
        gone = house.wiki.group("gone", "bob").id
        house.wiki.restrict(named(house, "Leaf"), groups=[gone])
        house.wiki.delete_group(gone)
        await house.sync()

        assert {"robot"} == await readers(house, "Leaf")


async def test_a_restriction_to_apps_and_closed_accounts_means_nobody(tmp_path: Path) -> None:
    """EC: accounts that are no people were dropped, and the emptied list was taken for no restriction."""
    async with settled_in(tmp_path) as house:
        house.wiki.restrict(named(house, "Leaf"), users=["robot", "bot", "ina", "una"])
        await house.sync()

        assert {"robot"} == await readers(house, "Leaf")


APP = {"type": "known", "accountId": "bot", "accountType": "app"}
CLOSED = {"type": "known", "accountId": "ina", "accountType": "atlassian", "accountStatus": "closed"}
NAMELESS = {"type": "unknown", "accountType": "unknown"}
DELETED = {"type": "group", "name": "gone", "id": "gid-gone"}


@pytest.mark.parametrize(
    ("users", "groups", "expected"),
    [
        ([APP], [], ["bot"]),
        ([APP, CLOSED], [], ["bot", "ina"]),
        ([NAMELESS], [], []),
        ([], [DELETED], ["gid-gone"]),
        ([APP, NAMELESS], [DELETED], ["bot", "gid-gone"]),
    ],
)
async def test_who_is_named_alone_and_is_nobody_closes_the_page(
    users: list[dict[str, str]], groups: list[dict[str, str]], expected: list[str]
) -> None:
    """EC, ONX#4624: an app, a closed account, a deleted group or a row without an id still restricts."""
    lists = {"user": {"results": users}, "group": {"results": groups}}
    told = {
        "restrictions": {name: {**held, "size": len(held["results"]), "limit": 200} for name, held in lists.items()}
    }

    class Asked:
        async def get(self, _path: str, _params: object) -> object:
            return told

    read = Restrictions(Asked(), Principals("wiki"), cloud=True)  # type: ignore[arg-type]
    rules = [read.expanded({"restrictions": {"read": told}}), await read.read("1")]

    p = Principals("wiki")
    named_there = {p.user(each) for each in expected} | {p.group(each) for each in expected}
    for each in rules:
        assert isinstance(each, Own)
        assert isinstance(each.access, AccessExpr)
        [clause] = each.access.clauses
        assert len(clause) == len(expected)
        assert clause <= named_there


async def test_a_restriction_of_editing_says_nothing_about_reading(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        house.wiki.restrict_update(named(house, "Leaf"), users=["ann"])
        house.wiki.restrict(named(house, "Middle"), users=["bob", "robot"])
        house.wiki.restrict_update(named(house, "Middle"), users=["ann"])
        await house.sync()

        assert {"bob", "robot"} == await readers(house, "Leaf")


async def test_people_who_hide_their_address_are_not_lost(tmp_path: Path) -> None:
    """PH#1221, PH#2399: the row was dropped and the page fell back to its space."""
    async with settled_in(tmp_path) as house:
        house.wiki.restrict(named(house, "Leaf"), users=["bob", "robot"])
        await house.sync()

        assert {"bob", "robot"} == await readers(house, "Leaf")


async def test_a_restriction_that_is_longer_than_the_answer_is_read_to_its_end(tmp_path: Path) -> None:
    """onyx #2537: an inner list that is full is read again by itself."""
    wiki = stocked()
    crowd = [f"crowd{number:03}" for number in range(30)]
    for name in crowd:
        wiki.person(name)
    async with settled_in(tmp_path, wiki) as house:
        house.server.caps["inner"] = 7
        house.wiki.restrict(named(house, "Leaf"), users=[*crowd, "robot"])
        await house.sync()
        seen = await house.seen(*crowd, "bob")

        assert all(named(house, "Leaf") in seen[name] for name in crowd)
        assert named(house, "Leaf") not in seen["bob"]


async def test_a_restriction_that_data_center_can_not_say_whole_is_unknown(tmp_path: Path) -> None:
    """CONFSERVER-82460: paging it from above 0 is wrong, so that a full list means that nobody knows."""
    wiki = stocked("datacenter")
    crowd = [f"crowd{number:03}" for number in range(30)]
    for name in crowd:
        wiki.person(name)
    async with settled_in(tmp_path, wiki) as house:
        house.server.caps["inner"] = 7
        house.wiki.restrict(named(house, "Leaf"), users=crowd)
        await house.sync()
        seen = await house.seen("bob", "ann", *crowd)

        assert all(named(house, "Leaf") not in keys for keys in seen.values())
        assert named(house, "Middle") in seen["bob"]


def test_the_same_ids_in_two_wikis_are_not_the_same_people() -> None:
    """ONX#12580: what was remembered of one tenant's people counted for another's."""
    one, other = Principals("wiki"), Principals("wiki2")
    names = ("licensed", "authenticated", "anonymous", "admins", "supers")
    held = [{p.user("7"), p.group("7"), *(getattr(p, name) for name in names)} for p in (one, other)]

    assert all(len(each) == 7 for each in held)
    assert not held[0] & held[1]


async def test_a_restriction_that_nothing_told_of_is_found_by_reading_everything_again(tmp_path: Path) -> None:
    """PH#1063: changes of rights were learnt from the audit log alone; here that is not even asked."""
    async with settled_in(tmp_path) as house:
        house.wiki.restrict(named(house, "Middle"), users=["ann", "robot"])
        house.wiki.at += timedelta(hours=12)
        await house.sync(hurried=False)

        assert {"ann", "robot"} == await readers(house, "Leaf")
        assert not any("audit" in line for line in house.server.lines)


# ---------------------------------------------------------------- spaces


async def test_only_reading_the_space_lets_read(tmp_path: Path) -> None:
    """EC, ONX: any operation on the space was taken for viewing it."""
    async with settled_in(tmp_path) as house:
        house.wiki.grant("HR", user("bob", "create", "page"), user("bob", "administer"), user("bob", "read", "page"))
        await house.sync()

        assert {"ann", "robot"} == await readers(house, "Pay")


async def test_a_space_that_is_open_to_anonymous_people_is_open_to_everybody_known(tmp_path: Path) -> None:
    """ONX#3601: anonymous access was ignored; guests read such spaces, too."""
    async with settled_in(tmp_path) as house:
        house.wiki.revoke("PUB", everyone())
        await house.sync()
        found = await readers(house, "Welcome")

        assert {"robot", "ann", "bob", "gus", "adm"} <= found
        assert "ina" not in found


async def test_everybody_with_a_licence_is_neither_guest_nor_without_one(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        assert {"robot", "ann", "bob", "adm"} == await readers(house, "Top")


async def test_a_guest_reads_the_space_that_is_shared_with_him(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        house.wiki.grant("HR", user("gus"))
        await house.sync()

        assert {"robot", "ann", "gus"} == await readers(house, "Pay")


async def test_a_revoked_space_is_closed_by_one_row_and_no_write_to_the_index(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        house.wiki.grant("ENG", group(house.wiki.group("hr").id))
        house.wiki.revoke("ENG", everyone())
        report = await house.sync()

        assert {"robot", "ann"} == await readers(house, "Leaf")
        assert (report.upserted, report.moved) == (0, 0)
        assert report.access_changed <= 2


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("PRE_ROLES", {"robot", "ann", "bob", "adm"}),
        ("ROLES", {"robot", "gus"}),
        ("ROLES_TRANSITION", {"robot", "ann", "bob", "adm", "gus"}),
    ],
)
async def test_each_mode_of_roles_has_its_own_truth(tmp_path: Path, mode: str, expected: set[str]) -> None:
    wiki = stocked(roles_mode=mode)
    viewer, writer = wiki.role("Viewer", "read/space"), wiki.role("Writer", "create/page")
    wiki.assign("ENG", Assigned("USER", "gus", viewer.id), Assigned("USER", "robot", viewer.id))
    wiki.assign("ENG", Assigned("USER", "una", writer.id))
    async with settled_in(tmp_path, wiki) as house:
        await house.sync()

        assert expected == await readers(house, "Leaf")


async def test_a_role_that_nobody_may_read_lets_nobody_in(tmp_path: Path) -> None:
    wiki = stocked(roles_mode="ROLES")
    viewer, secret = wiki.role("Viewer", "read/space"), wiki.role("Secret", "read/space", hidden=True)
    wiki.assign("ENG", Assigned("USER", "robot", viewer.id), Assigned("USER", "bob", secret.id))
    async with settled_in(tmp_path, wiki) as house:
        await house.sync()
        seen = await house.seen("robot", "bob")

        assert named(house, "Leaf") in seen["robot"]
        assert named(house, "Leaf") not in seen["bob"]


async def test_access_classes_of_roles(tmp_path: Path) -> None:
    wiki = stocked(roles_mode="ROLES")
    viewer = wiki.role("Viewer", "read/space")
    wiki.assign("ENG", Assigned("ACCESS_CLASS", "all-licensed-users", viewer.id))
    wiki.assign("PUB", Assigned("ACCESS_CLASS", "all-product-admins", viewer.id), Assigned("USER", "robot", viewer.id))
    async with settled_in(tmp_path, wiki) as house:
        await house.sync()

        assert {"robot", "ann", "bob", "adm"} == await readers(house, "Leaf")
        assert {"robot", "adm"} == await readers(house, "Welcome")


async def test_a_principal_that_nobody_knows_lets_nobody_in(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        house.wiki.revoke("ENG", everyone())
        house.wiki.grant(
            "ENG", user("robot"), Grant("constellation", "all"), Grant("access-class", "jsm-project-admins")
        )
        await house.sync()

        assert {"robot"} == await readers(house, "Leaf")


async def test_a_space_that_apps_are_kept_out_of_is_closed_and_opens_again(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        house.wiki.block("ENG")
        await house.sync()
        assert set() == await readers(house, "Leaf")
        assert {"robot", "ann", "bob", "gus", "adm"} <= await readers(house, "Welcome")

        house.wiki.block("ENG", blocked=False)
        await house.sync()
        assert {"robot", "ann", "bob", "adm"} == await readers(house, "Leaf")


async def test_an_archived_space_answers_nothing(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        house.wiki.archive_space("ENG")
        await house.sync()

        assert set() == await readers(house, "Leaf")


@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
async def test_a_new_space_under_the_key_of_a_deleted_one_opens_nothing_of_that(tmp_path: Path, edition: str) -> None:
    """At the first look that sees another id, also where the new space can't be read whole then."""
    wiki = stocked(edition)
    wiki.space("SEC", user("ann"), user("robot"))
    plans = wiki.page("SEC", "Secret plans")
    async with settled_in(tmp_path, wiki) as house:
        await house.sync(hurried=False)
        assert plans.id in await house.visible("ann")
        wiki.delete_space("SEC")
        open_now = wiki.space("SEC", group(wiki.everybody_group) if edition == "datacenter" else everyone())
        fresh = wiki.page("SEC", "Open to all")
        house.server.fault(rf"spaces/{open_now.id}/pages|space-id={open_now.id}|spaceKey=SEC", status(500))
        wiki.at += timedelta(minutes=30)
        await house.sync(hurried=False)
        seen = await house.seen("ann", "bob")

        assert all(not keys & {plans.id, fresh.id} for keys in seen.values())
        house.server.calm()
        await house.sync(hurried=False)
        assert fresh.id in await house.visible("bob")
        assert await house.wrong() == {}


# ---------------------------------------------------------------- Data Center


async def test_nested_groups_and_people_by_key(tmp_path: Path) -> None:
    """CONFSERVER-100505: rows name people by key alone; groups within groups count by effective membership."""
    wiki = stocked("datacenter")
    wiki.space("OPS", group("staff"), user("gus"))
    wiki.page("OPS", "Pager")
    async with settled_in(tmp_path, wiki) as house:
        await house.sync()
        found = await readers(house, "Pager")

        assert {"robot", "ann", "bob", "gus"} == found


async def test_group_names_keep_their_case(tmp_path: Path) -> None:
    """ONX#3653."""
    wiki = stocked("datacenter")
    wiki.group("OPS", "bob")
    wiki.group("ops", "gus")
    wiki.space("OPSROOM", group("OPS"))
    wiki.page("OPSROOM", "Pager")
    async with settled_in(tmp_path, wiki) as house:
        await house.sync()
        found = await readers(house, "Pager")

        assert "bob" in found
        assert "gus" not in found


async def test_more_than_two_hundred_groups_of_one_person_all_count(tmp_path: Path) -> None:
    """ONX#4129: lists of members were read in part."""
    wiki = stocked("datacenter")
    for number in range(230):
        wiki.group(f"g{number:03}", "bob")
    wiki.space("LAST", group("g229"))
    wiki.page("LAST", "Far away")
    async with settled_in(tmp_path, wiki) as house:
        await house.sync()

        assert "bob" in await readers(house, "Far away")


async def test_old_data_centers_say_the_rights_of_a_space_by_json_rpc(tmp_path: Path) -> None:
    """EC#3669, EC#3687."""
    async with settled_in(tmp_path, stocked("datacenter", release="8.5.4")) as house:
        await house.sync()

        assert {"robot", "ann"} == await readers(house, "Pay")


@pytest.mark.parametrize(("release", "websudo"), [("9.4.0", True), ("8.5.4", True)])
async def test_a_page_that_asks_for_a_password_opens_nothing(tmp_path: Path, release: str, websudo: bool) -> None:
    """ONX#10853: HTML with 200 is no list without rows."""
    async with settled_in(tmp_path, stocked("datacenter", release=release)) as house:
        await house.sync()
        assert "ann" in await readers(house, "Pay")
        house.server.websudo = websudo
        await house.sync()
        seen = await house.seen()

        assert all(not keys - house.expected(name) for name, keys in seen.items())


async def test_without_any_way_to_read_rights_nothing_is_open(tmp_path: Path) -> None:
    """EC#3669: refused loudly, never open for want of rights."""
    async with settled_in(tmp_path, stocked("datacenter", release="8.5.4")) as house:
        house.server.remote_api = False
        report = await house.sync()
        seen = await house.seen()

        assert all(not keys for keys in seen.values())
        assert not report.complete or report.problems


@pytest.mark.parametrize(("release", "more"), [("9.4.0", {}), ("9.2.0", {"product_groups": ["confluence-users"]})])
async def test_an_account_that_may_not_use_the_product_is_not_let_in_by_its_groups(
    tmp_path: Path, release: str, more: dict[str, object]
) -> None:
    """Data Center: somebody of the directory without "can use" is at most an anonymous person."""
    wiki = stocked("datacenter", release=release)
    wiki.group("hr", "una")
    wiki.grant("ENG", user("una"))
    async with settled_in(tmp_path, wiki, settings=more) as house:
        await house.sync()

        assert await house.wrong() == {}


async def test_rights_that_answer_500_close_their_space_alone(tmp_path: Path) -> None:
    """EC PR#4041, CONFSERVER-99908."""
    from tests.doubles.vendor import status

    async with living(tmp_path, stocked("datacenter")) as house:
        house.server.fault("space/HR/permissions", status(500))
        await house.sync()
        seen = await house.seen()

        assert named(house, "Pay") not in seen["ann"]
        assert named(house, "Leaf") in seen["ann"]


# ---------------------------------------------------------------- life


async def test_what_is_gone_is_gone_and_what_comes_back_has_its_rights_of_now(tmp_path: Path) -> None:
    """ONX#1028; restored pages are read afresh before anybody sees them."""
    async with settled_in(tmp_path) as house:
        house.wiki.trash(named(house, "Leaf"))
        await house.sync()
        assert set() == await readers(house, "Leaf")

        house.wiki.restrict(named(house, "Leaf"), users=["ann", "robot"])
        house.wiki.restore(named(house, "Leaf"))
        await house.sync()
        assert {"ann", "robot"} == await readers(house, "Leaf")


async def test_archived_pages_and_drafts_answer_nothing(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        draft = house.wiki.page("ENG", "Sketch", status="draft", author="robot", owner="robot")
        house.wiki.archive(named(house, "Leaf"))
        await house.sync()

        assert set() == await readers(house, "Leaf")
        assert draft.id not in await house.alive()


async def test_a_page_that_moves_has_the_rights_of_where_it_stands(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        house.wiki.move(named(house, "Middle"), named(house, "Pay"))
        await house.sync()
        assert {"ann", "robot"} == await readers(house, "Leaf")
        assert {"ann", "robot"} == await readers(house, "notes.txt")

        house.wiki.move(named(house, "Middle"), None, "PUB")
        await house.sync()
        assert {"ann", "bob", "gus"} <= await readers(house, "Leaf")


async def test_an_event_of_a_page_that_moved_to_the_root_of_another_space_opens_it_to_nobody_else(
    tmp_path: Path,
) -> None:
    async with settled_in(tmp_path) as house:
        await house.tell()
        await house.sync(hurried=False)
        house.wiki.move(named(house, "Top"), None, "HR")
        await house.tell()
        await house.sync(hurried=False)

        assert await house.wrong() == {}


async def test_live_docs_and_blog_posts_have_their_rights(tmp_path: Path) -> None:
    wiki = stocked()
    wiki.page("ENG", "Living", subtype="live", adf='{"version":1,"type":"doc","content":[]}')
    async with settled_in(tmp_path, wiki) as house:
        house.wiki.restrict(named(house, "News"), users=["bob", "robot"])
        house.wiki.restrict(named(house, "Living"), users=["ann", "robot"])
        await house.sync()

        assert {"bob", "robot"} == await readers(house, "News")


async def test_a_personal_space_is_a_space_like_any_other(tmp_path: Path) -> None:
    wiki = stocked()
    wiki.space("~bob", user("bob"), user("robot"), kind="personal")
    wiki.page("~bob", "Diary")
    async with settled_in(tmp_path, wiki) as house:
        await house.sync()

        assert {"bob", "robot"} == await readers(house, "Diary")


async def test_who_is_deactivated_reads_nothing_from_this_moment(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        house.wiki.deactivate("ann")

        assert set() == await house.visible("ann")


async def test_an_anonymous_grant_counts_for_nobody_unknown(tmp_path: Path) -> None:
    """Somebody whose account the wiki does not have is nobody there."""
    async with settled_in(tmp_path) as house:
        house.wiki.grant("ENG", anonymous())
        await house.sync()
        del house.wiki.people["bob"]
        house.wiki.deactivate("ann")
        from connectors.errors import DoorError
        from policies.facts import Kind

        async with house.far() as far:
            try:
                found = await far.rights.membership("bob", Kind.MEMBER, house.now())
                assert not found.active or not found.principals
            except DoorError:
                pass
