"""What is asked of the wiki at the moment: its verdict on single pages, who somebody is, and whether all is set up."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from connectors.errors import DoorError
from policies.facts import Kind
from policies.names import DocumentId
from tests.confluence_house import NAME, stocked
from tests.connectors.sources.confluence.living import living, named, settled_in
from tests.doubles.confluence.faults import page, raw, status
from tests.doubles.confluence.hooks import delivery, signature
from tests.doubles.confluence.wiki import group, user
from tests.doubles.vendor import Fault

# ---------------------------------------------------------------- its own verdict


@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
async def test_the_wikis_own_verdict_is_of_this_moment(tmp_path: Path, edition: str) -> None:
    async with settled_in(tmp_path, edition, settings={"live_check": "all"}) as house:
        leaf, top = (DocumentId(NAME, named(house, title)) for title in ("Leaf", "Top"))
        house.wiki.restrict(leaf.key, users=["ann", "robot"])
        async with house.far() as far:
            assert far.live is not None
            assert {leaf: False, top: True} == dict(await far.live.readable("bob", [leaf, top], house.now()))
            assert {leaf: True, top: True} == dict(await far.live.readable("ann", [leaf, top], house.now()))


async def test_data_center_is_asked_for_everything_that_may_have_changed(tmp_path: Path) -> None:
    """Each in turn: above, the space, the trash, another space, the account."""
    async with settled_in(tmp_path, "datacenter", settings={"live_check": "all"}) as house:
        wiki = house.wiki
        documents = [DocumentId(NAME, named(house, title)) for title in ("Leaf", "notes.txt")]
        middle, everybody = named(house, "Middle"), group(wiki.everybody_group)

        async def said(account: str = "bob") -> set[bool]:
            async with house.far() as far:
                assert far.live is not None
                verdicts = await far.live.readable(account, documents, house.now())
            return {verdicts.get(each, False) for each in documents}

        assert {True} == await said()
        wiki.restrict(middle, users=["ann", "robot"])
        assert ({False}, {True}) == (await said(), await said("ann"))
        wiki.restrict(middle)
        wiki.revoke("ENG", everybody)
        assert {False} == await said()
        wiki.grant("ENG", everybody)
        assert {True} == await said()
        wiki.move(middle, None, "PUB")
        assert {False} == await said()
        wiki.move(middle, named(house, "Top"))
        wiki.trash(named(house, "notes.txt"))
        assert {True, False} == await said()
        wiki.deactivate("bob")
        assert {False} == await said()


@pytest.mark.parametrize("pattern", ["/restriction", "space/ENG/permissions", "memberof", r"/content/\d+\?"])
async def test_what_data_center_does_not_tell_is_no_yes(tmp_path: Path, pattern: str) -> None:
    async with settled_in(tmp_path, "datacenter", settings={"live_check": "all"}) as house:
        leaf = DocumentId(NAME, named(house, "Leaf"))
        house.server.fault(pattern, status(500))
        async with house.far() as far:
            assert far.live is not None
            assert (await far.live.readable("bob", [leaf], house.now())).get(leaf, False) is False


async def test_sensitive_is_what_stands_below_a_restriction_whatever_rules_came_of_it(tmp_path: Path) -> None:
    """A restriction to some of those whom the space names says all that the space says: one clause is left."""
    wiki = stocked()
    wiki.space("SEC", user("ann"), user("bob"), user("robot"))
    plans, menu = wiki.page("SEC", "Plans"), wiki.page("SEC", "Menu")
    below = wiki.page("SEC", "Below", parent=plans.id)
    note = wiki.comment(below.id, "<p>A remark.</p>")
    wiki.restrict(plans.id, users=["ann", "robot"])
    async with living(tmp_path, wiki, settings={"live_check": "sensitive"}) as house:
        await house.sync()
        documents = [DocumentId(NAME, each.id) for each in (plans, menu, below, note)]
        never_told = DocumentId(NAME, "999")
        async with house.far() as far:
            assert far.doubts is not None
            asked_about = set(await far.doubts([*documents, never_told]))

        assert asked_about == {*documents, never_told} - {DocumentId(NAME, menu.id)}


async def test_what_the_wiki_denies_is_read_again_at_the_next_look(tmp_path: Path) -> None:
    """A restriction two levels above, of which no event told and that no feed is due to find."""
    async with settled_in(tmp_path, settings={"live_check": "all"}) as house:
        leaf, top = DocumentId(NAME, named(house, "Leaf")), named(house, "Top")
        await house.sync(hurried=False)
        house.wiki.restrict(top, users=["ann", "robot"])
        async with house.far() as far:
            assert far.live is not None
            assert far.denied is not None
            assert {leaf: False} == dict(await far.live.readable("bob", [leaf], house.now()))
            await far.denied([leaf], house.now())
        assert leaf.key in await house.visible("bob")
        await house.sync(hurried=False)

        assert await house.wrong() == {}


async def test_what_could_not_be_asked_is_no_yes(tmp_path: Path) -> None:
    async with settled_in(tmp_path, settings={"live_check": "all"}) as house:
        leaf = DocumentId(NAME, named(house, "Leaf"))
        house.server.fault("permission/check", status(500))
        async with house.far() as far:
            assert far.live is not None
            try:
                said = await far.live.readable("bob", [leaf], house.now())
            except DoorError:
                said = {}
            assert said.get(leaf, False) is False


# ---------------------------------------------------------------- who somebody is


@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
async def test_who_the_wiki_does_not_know_is_nobody(tmp_path: Path, edition: str) -> None:
    async with living(tmp_path, stocked(edition)) as house, house.far() as far:
        try:
            found = await far.rights.membership("nobody-at-all", Kind.MEMBER, house.now())
        except DoorError:
            return
        assert not found.active or not found.principals


@pytest.mark.parametrize("account", ["ina", "bot"])
async def test_closed_accounts_and_apps_are_nobody(tmp_path: Path, account: str) -> None:
    async with living(tmp_path) as house, house.far() as far:
        try:
            found = await far.rights.membership(account, Kind.MEMBER, house.now())
        except DoorError:
            return
        assert not found.active or not found.principals


@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
@pytest.mark.parametrize("fault", [status(500), status(403), page()], ids=["500", "403", "a page"])
async def test_groups_that_can_not_be_read_are_no_groups(tmp_path: Path, edition: str, fault: object) -> None:
    """Half of somebody's groups would be a wrong answer; none at all is a safe one."""
    async with living(tmp_path, stocked(edition)) as house:
        house.server.fault("memberof", fault)  # type: ignore[arg-type]
        async with house.far() as far:
            with pytest.raises(DoorError):
                await far.rights.membership("ann", Kind.MEMBER, house.now())


def in_pages(rows: list[dict[str, Any]], size: int) -> Fault:
    """A list in an envelope, so many rows at a time."""

    async def fault(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
        start = int(request.query.get("start", 0))
        onward = {"next": f"/rest/api/permissions?start={start + size}"} if start + size < len(rows) else {}
        return web.json_response({"results": rows[start : start + size], "start": start, "_links": onward})

    return fault


async def test_who_may_use_data_center_is_read_to_the_end_of_the_list(tmp_path: Path) -> None:
    async with living(tmp_path, stocked("datacenter")) as house:
        use = {"targetType": "application", "operationKey": "use"}
        names = ["one", "two", "three", "four", house.wiki.everybody_group]
        rows = [{"operation": use, "subject": {"type": "group", "name": name}} for name in names]
        house.server.fault("rest/api/permissions", in_pages(rows, 2))
        async with house.far() as far:
            ann = await far.rights.membership("ann", Kind.MEMBER, house.now())
            una = await far.rights.membership("una", Kind.MEMBER, house.now())

        assert any(str(each).endswith("ann") for each in ann.principals)
        assert una.principals == frozenset()


async def test_an_answer_about_who_may_use_data_center_that_makes_no_sense_is_no_yes(tmp_path: Path) -> None:
    async with living(tmp_path, stocked("datacenter")) as house, house.far() as far:
        house.server.fault("rest/api/permissions", raw(b'{"allowed": true}'))
        with pytest.raises(DoorError):
            await far.rights.membership("ann", Kind.MEMBER, house.now())


# ---------------------------------------------------------------- set-up


@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
async def test_everything_that_is_needed_is_there(tmp_path: Path, edition: str) -> None:
    wiki = stocked(edition)
    wiki.people["robot"].admin = True
    async with living(tmp_path, wiki, settings={"live_check": "all"}) as house, house.far() as far:
        findings = await far.probe(house.now())

        assert findings
        assert all(each.ok for each in findings), findings


async def test_a_wrong_token_is_found_before_anything_is_synced(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        house.server.tokens.clear()
        async with house.far() as far:
            findings = await far.probe(house.now())

        [first, *_] = [each for each in findings if each.essential and not each.ok]
        assert first.problem
        assert first.fix


async def test_rights_that_the_account_lacks_are_named(tmp_path: Path) -> None:
    wiki = stocked("datacenter")
    wiki.people["robot"].admin = False
    wiki.groups["confluence-administrators"].members.discard("robot")
    async with living(tmp_path, wiki) as house, house.far() as far:
        findings = await far.probe(house.now())

        lacking = [each for each in findings if not each.ok]
        assert lacking
        assert all(each.problem and each.fix for each in lacking)


FORBIDDEN = [
    ("cloud", r"rest/api/user\?", "who somebody is", True),
    ("cloud", "user/memberof", "who somebody is", True),
    ("cloud", r"rest/api/group\?", "who somebody is", True),
    ("cloud", "users-bulk", "names of people", False),
    ("cloud", "permission/check", "the live check", True),
    ("cloud", "attachments", "files", False),
    ("cloud", "footer-comments", "comments", False),
    ("cloud", "inline-comments", "inline comments", False),
    ("cloud", "content/search", "search", False),
    ("datacenter", r"rest/api/user\?", "who somebody is", True),
    ("datacenter", "user/memberof", "who somebody is", True),
    ("datacenter", "child/attachment", "files", False),
    ("datacenter", "child/comment", "comments", False),
    ("datacenter", "content/search", "search", False),
    ("datacenter", r"content/\d+\?", "the live check", True),
]


@pytest.mark.parametrize(("edition", "pattern", "check", "essential"), FORBIDDEN)
async def test_what_asking_needs_and_is_refused_is_found_with_what_it_means(
    tmp_path: Path, edition: str, pattern: str, check: str, essential: bool
) -> None:
    wiki = stocked(edition)
    wiki.people["robot"].admin = True
    async with living(tmp_path, wiki, settings={"live_check": "all"}) as house:
        house.server.tells_operations = False
        house.server.fault(pattern, status(403))
        async with house.far() as far:
            findings = await far.probe(house.now())

    lacking = {each.check: each for each in findings if not each.ok}
    assert {check} == lacking.keys()
    assert (True, True, essential) == (
        ": " in lacking[check].problem,
        bool(lacking[check].fix),
        lacking[check].essential,
    )


async def test_a_live_check_by_no_administrator_is_found(tmp_path: Path) -> None:
    async with living(tmp_path, settings={"live_check": "sensitive"}) as house:
        house.wiki.people["robot"].admin = False
        async with house.far() as far:
            [lacking] = [each for each in await far.probe(house.now()) if not each.ok]

    assert (lacking.check, lacking.essential) == ("the live check", False)


async def test_the_bound_of_a_stale_grant_is_at_most_the_lease(tmp_path: Path) -> None:
    async with living(tmp_path) as house, house.far() as far:
        assert timedelta(0) < far.stale_grant_bound <= timedelta(hours=24)
        assert {each.of_permissions for each in far.feeds} >= {True}


async def test_rights_that_were_not_read_again_run_out_with_their_lease(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        assert await house.visible("bob")
        house.wiki.at += timedelta(hours=25)

        assert set() == await house.visible("bob")


# ---------------------------------------------------------------- webhooks


async def test_an_event_closes_what_it_is_about_until_it_was_read_again(tmp_path: Path) -> None:
    async with settled_in(tmp_path, "datacenter") as house:
        house.told = len(house.wiki.log)
        house.wiki.move(named(house, "Middle"), None, "PUB")
        await house.tell()

        assert named(house, "Leaf") not in await house.visible("bob")
        await house.sync()
        assert await house.wrong() == {}


async def test_an_event_that_is_not_signed_by_the_wiki_is_none(tmp_path: Path) -> None:
    async with living(tmp_path, stocked("datacenter")) as house:
        house.wiki.trash(named(house, "Leaf"))
        headers, body = delivery(house.wiki.log[-1])
        async with house.far() as far:
            assert far.hook is not None
            hook = far.hook
            low = {name.casefold(): value for name, value in headers.items()}
            assert hook.events(low, {}, body) is not None
            assert hook.events({}, {}, body) is None
            assert hook.events({**low, "x-hub-signature": "sha256=" + "0" * 64}, {}, body) is None
            assert hook.events(low, {}, body + b" ") is None
            wrong = signature(body, "another secret")
            assert hook.events({**low, "x-hub-signature": f"sha256={wrong}"}, {}, body) is None
