"""The wiki on HTTP says what the vendor's documentation says; what tests of the product rest on is tested here."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import aiohttp
import pytest

from tests.doubles.confluence import oracle
from tests.doubles.confluence.faults import busy, empty, in_circles
from tests.doubles.confluence.hooks import deliveries, signature
from tests.doubles.confluence.serving import CLOUD, TOKEN, Server
from tests.doubles.confluence.wiki import Assigned, Wiki, everyone, group, user

Json = dict[str, Any]


def wiki(edition: str = "cloud", **more: Any) -> Wiki:
    made = Wiki(edition=edition, **more)
    made.person("robot", email="robot@example.com", admin=edition == "datacenter")
    made.person("ann")
    made.person("bob")
    made.group("hr", "ann")
    return made


def basic(email: str) -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(f'{email}:{TOKEN}'.encode()).decode()}"}


class Caller:
    """An HTTP client of the double."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self.session, self.base = session, base

    async def get(self, path: str, status: int = 200) -> Json:
        async with self.session.get(self.base + path) as answer:
            assert answer.status == status, await answer.text()
            found: Json = await answer.json()
            return found

    async def all(self, path: str) -> list[Json]:
        """Every row, by the next links."""
        rows: list[Json] = []
        while True:
            page = await self.get(path)
            rows += page["results"]
            onward = page["_links"].get("next")
            if onward is None:
                return rows
            path = onward.removeprefix("/wiki") if onward.startswith("/wiki") else onward


@asynccontextmanager
async def calling(server: Server, bearer: str = TOKEN) -> AsyncIterator[Caller]:
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    async with server.open() as base, aiohttp.ClientSession(headers=headers) as session:
        yield Caller(session, base)


async def test_without_a_token_nothing_is_answered() -> None:
    async with calling(Server(wiki()), bearer="") as caller:
        await caller.get("/api/v2/spaces", status=401)


async def test_a_password_goes_with_its_e_mail_only() -> None:
    server = Server(wiki())
    async with server.open() as base, aiohttp.ClientSession() as session:
        for email, expected in (("robot@example.com", 200), ("ann@example.com", 401)):
            async with session.get(f"{base}/api/v2/spaces", headers=basic(email)) as answer:
                assert answer.status == expected


async def test_a_scoped_token_works_at_the_gateway_only() -> None:
    server = Server(wiki(), scoped=True)
    async with calling(server) as caller:
        assert caller.base.endswith(f"/ex/confluence/{CLOUD}/wiki")
        await caller.get("/api/v2/spaces")
        async with caller.session.get(f"{server.base}/wiki/api/v2/spaces") as answer:
            assert answer.status == 401


async def test_the_account_sees_what_it_may_see_and_nothing_else() -> None:
    held = wiki()
    held.space("ENG", everyone())
    held.space("HR", group(held.group("hr").id))
    shown, hidden = held.page("ENG", "Open"), held.page("ENG", "Shut")
    held.restrict(hidden.id, users=["ann"])
    below = held.page("ENG", "Below", parent=hidden.id)
    async with calling(Server(held)) as caller:
        assert [each["key"] for each in await caller.all("/api/v2/spaces")] == ["ENG"]
        assert [shown.id] == [each["id"] for each in await caller.all("/api/v2/pages")]
        for key in (hidden.id, below.id):
            await caller.get(f"/api/v2/pages/{key}", status=404)
            await caller.get(f"/rest/api/content/{key}/restriction/byOperation/read", status=404)


async def test_cursors_lead_through_everything_once() -> None:
    held = wiki()
    held.space("ENG", everyone())
    made = {held.page("ENG", f"Page {number}").id for number in range(60)}
    async with calling(Server(held)) as caller:
        rows = [each["id"] for each in await caller.all("/api/v2/pages?limit=25&sort=-modified-date")]
        assert (60, made) == (len(rows), set(rows))
        page = await caller.get("/api/v2/pages?limit=25")
        assert page["_links"]["next"].startswith("/wiki/api/v2/pages?")
        await caller.get("/api/v2/pages?limit=251", status=400)
        found = await caller.all('/rest/api/content/search?cql=space="ENG" and type in (page,blogpost)&limit=25')
        assert made == {each["id"] for each in found}
        first = await caller.get("/rest/api/content/search?cql=type=page&limit=25")
        assert first["_links"]["next"].startswith("/rest/api/content/search?")


async def test_a_search_gives_parents_and_restrictions_and_cuts_long_lists() -> None:
    held = wiki()
    held.space("ENG", everyone())
    folder = held.add("folder", "ENG", "Folder")
    page = held.page("ENG", "Page", parent=folder.id)
    for number in range(6):
        held.person(f"p{number}")
    held.restrict(page.id, users=["robot", *[f"p{number}" for number in range(6)]], groups=[held.group("hr").id])
    server = Server(held)
    server.caps["inner"] = 3
    expand = "ancestors,version,restrictions.read.restrictions.user,restrictions.read.restrictions.group"
    async with calling(server) as caller:
        [row] = await caller.all(f"/rest/api/content/search?cql=type=page&expand={expand}")
        assert [("folder", folder.id)] == [(each["type"], each["id"]) for each in row["ancestors"]]
        users = row["restrictions"]["read"]["restrictions"]["user"]
        assert (users["size"], users["limit"]) == (3, 3)
        rows = []
        for start in range(0, 9, 3):
            at = f"/rest/api/content/{page.id}/restriction/byOperation/read?start={start}&limit=3"
            rows += (await caller.get(at))["restrictions"]["user"]["results"]
        assert len({each["accountId"] for each in rows}) == 7


async def test_one_draft_among_the_ancestors_loses_the_whole_answer() -> None:
    held = wiki()
    held.space("ENG", everyone())
    draft = held.page("ENG", "Draft", status="draft", author="ann")
    held.page("ENG", "Below", parent=draft.id)
    held.page("ENG", "Innocent")
    at = "/rest/api/content/search?cql=type=page&expand=ancestors"
    async with calling(Server(held)) as caller:
        assert len(await caller.all(at)) == 2
        await caller.get(f"{at},ancestors.restrictions.read.restrictions.user", status=404)


async def test_a_time_in_cql_is_of_the_instances_zone_and_the_index_lags() -> None:
    held = wiki(zone=ZoneInfo("America/New_York"), lag=timedelta(minutes=5))
    held.space("ENG", everyone())
    page = held.page("ENG", "Page")
    held.at += timedelta(hours=1)
    local = (page.modified - timedelta(minutes=1)).astimezone(held.zone).strftime("%Y-%m-%d %H:%M")
    utc = (page.modified - timedelta(minutes=1)).strftime("%Y-%m-%d %H:%M")
    async with calling(Server(held)) as caller:
        search = "/rest/api/content/search?cql=lastmodified >= "
        assert len(await caller.all(f'{search}"{local}"')) == 1
        assert len(await caller.all(f'{search}"{utc}"')) == 0
        assert len(await caller.all(f'{search}now("-90m")')) == 1
        await caller.get(f'{search}"2030-03-10 02:30"', status=400)
        held.edit(page.id, body="<p>new</p>")
        assert len(await caller.all(f'{search}now("-30m")')) == 0


async def test_permissions_and_roles_are_rows_with_their_principals() -> None:
    held = wiki(roles_mode="ROLES_TRANSITION")
    viewer = held.role("Viewer", "read/space")
    space = held.space("ENG", everyone(), user("ann", "create", "page"))
    held.assign("ENG", Assigned("GROUP", held.group("hr").id, viewer.id))
    async with calling(Server(held)) as caller:
        rows = await caller.all(f"/api/v2/spaces/{space.id}/permissions")
        assert [
            (each["principal"]["type"], each["operation"]["key"], each["operation"]["targetType"]) for each in rows
        ] == [("access-class", "read", "space"), ("user", "create", "page")]
        [row] = await caller.all(f"/api/v2/spaces/{space.id}/role-assignments")
        assert {"principalType": "GROUP", "principalId": held.group("hr").id} == row["principal"]
        assert (await caller.get(f"/api/v2/space-roles/{row['roleId']}"))["spacePermissions"] == ["read/space"]
        assert await caller.get("/api/v2/space-role-mode") == {"mode": "ROLES_TRANSITION"}


async def test_a_file_is_fetched_from_a_store_that_must_not_see_the_token() -> None:
    held = wiki()
    held.space("ENG", everyone())
    page = held.page("ENG", "Page")
    file = held.attach(page.id, "a.txt", b"text", "text/plain")
    server = Server(held)
    async with calling(server) as caller:
        at = f"{caller.base}/rest/api/content/{page.id}/child/attachment/{file.id}/download"
        async with caller.session.get(at, allow_redirects=False) as answer:
            assert answer.status == 302
            location = answer.headers["Location"]
        async with caller.session.get(location) as answer:
            assert answer.status == 400
        async with aiohttp.request("GET", location) as answer:
            assert await answer.read() == b"text"
        assert len(server.leaked) == 1


async def test_a_refresh_token_is_good_once() -> None:
    server = Server(wiki())
    async with server.open(), aiohttp.ClientSession() as session:
        asked = {"grant_type": "refresh_token", "refresh_token": "refresh-1"}
        async with session.post(f"{server.base}/oauth/token", json=asked) as answer:
            assert (await answer.json())["refresh_token"] == "refresh-2"
        async with session.post(f"{server.base}/oauth/token", json=asked) as answer:
            assert answer.status == 403


@pytest.mark.parametrize(("release", "rest", "rpc"), [("8.5.4", 404, 200), ("9.1.0", 200, 200), ("10.0.1", 200, 404)])
async def test_where_the_rights_of_a_space_are_depends_on_the_release(release: str, rest: int, rpc: int) -> None:
    held = wiki("datacenter", release=release)
    held.space("ENG", group("hr"), user("ann", "create", "page"))
    async with calling(Server(held)) as caller:
        async with caller.session.get(f"{caller.base}/rest/api/space/ENG/permissions") as answer:
            assert rest == answer.status
            if rest == 200:
                first = (await answer.json())[0]
                assert (
                    first["subject"],
                    first["operation"]["operationKey"],
                ) == ({"type": "group", "name": "hr"}, "read")
        at = f"{caller.base}/rpc/json-rpc/confluenceservice-v2/getSpacePermissionSets"
        async with caller.session.post(at, json=["ENG"]) as answer:
            assert rpc == answer.status
            if rpc == 200:
                assert "VIEWSPACE" in {each["type"] for each in await answer.json()}


async def test_data_center_lowers_a_limit_and_leads_past_what_it_left_out() -> None:
    held = wiki("datacenter")
    held.space("ENG", group("confluence-users"))
    for number in range(30):
        held.page("ENG", f"Page {number}")
    server = Server(held)
    server.caps["bare"] = 10
    async with calling(server) as caller:
        first = await caller.get("/rest/api/content?type=page&spaceKey=ENG&limit=25")
        assert first["size"] == 10
        assert "start=25" in first["_links"]["next"]
        second = await caller.get("/rest/api/content?type=page&spaceKey=ENG&limit=25&start=10")
        assert second["results"][0]["title"] == "Page 10"


async def test_administration_may_ask_for_a_password_with_a_page() -> None:
    held = wiki("datacenter")
    held.space("ENG", group("confluence-users"))
    server = Server(held, websudo=True)
    async with (
        calling(server) as caller,
        caller.session.get(f"{caller.base}/rest/api/space/ENG/permissions") as answer,
    ):
        assert (answer.status, answer.content_type) == (200, "text/html")


async def test_nested_groups_count_for_membership() -> None:
    held = wiki("datacenter")
    held.group("staff", includes=["hr"])
    async with calling(Server(held)) as caller:
        names = {each["name"] for each in await caller.all("/rest/api/user/memberof?key=ann")}
        assert {"confluence-users", "hr", "staff"} == names


async def test_faults_come_and_go_by_pattern() -> None:
    held = wiki()
    held.space("ENG", everyone())
    server = Server(held)
    server.fault(r"GET /wiki/api/v2/spaces\b", busy(1), times=1)
    server.fault("content/search", empty(), after=1)
    server.fault("api/v2/pages", in_circles())
    async with calling(server) as caller:
        await caller.get("/api/v2/spaces", status=429)
        await caller.get("/api/v2/spaces")
        await caller.get("/rest/api/content/search?cql=type=page")
        async with caller.session.get(f"{caller.base}/rest/api/content/search?cql=type=page") as answer:
            assert (answer.status, await answer.read()) == (200, b"")
        page = await caller.get("/api/v2/pages")
        assert page["_links"]["next"] == "/wiki/api/v2/pages"
        assert server.asked == 5
        assert server.counts["GET /api/v2/spaces"] == 2
        server.calm()
        await caller.get("/api/v2/pages")


def test_a_restriction_below_never_opens_what_one_above_closed() -> None:
    held = wiki()
    held.space("ENG", everyone())
    top = held.page("ENG", "Top")
    page = held.page("ENG", "Page", parent=top.id)
    held.restrict(top.id, groups=[held.group("hr").id])
    held.restrict(page.id, users=["bob"])
    file = held.attach(page.id, "a.txt", b"x", "text/plain")

    assert set() == {name for name in held.people if oracle.can_read(held, name, page.id)}
    held.restrict(page.id, users=["ann"])
    assert {"ann"} == {name for name in held.people if oracle.can_read(held, name, file.id)}
    held.leave("ann", held.group("hr").id)
    assert set() == {name for name in held.people if oracle.can_read(held, name, file.id)}


def test_deleted_groups_and_apps_are_nobody_and_still_restrict() -> None:
    held = wiki()
    held.space("ENG", everyone())
    held.person("app", kind="app")
    page, other = held.page("ENG", "Page"), held.page("ENG", "Other")
    held.restrict(page.id, groups=[held.group("hr").id])
    held.restrict(other.id, users=["app"])
    held.delete_group(held.group("hr").id)

    assert set() == {name for name in held.people if oracle.can_read(held, name, page.id)}
    assert set() == {name for name in held.people if oracle.can_read(held, name, other.id)}


def test_what_was_under_a_trashed_page_moves_up() -> None:
    held = wiki()
    held.space("ENG", everyone())
    top = held.page("ENG", "Top")
    held.restrict(top.id, users=["ann"])
    page = held.page("ENG", "Page", parent=top.id)
    file = held.attach(top.id, "a.txt", b"x", "text/plain")
    held.trash(top.id)

    assert page.parent is None
    assert oracle.can_read(held, "bob", page.id)
    assert not oracle.can_read(held, "ann", file.id)
    held.restore(top.id)
    assert oracle.can_read(held, "ann", file.id)


def test_webhooks_are_signed_and_silent_about_rights() -> None:
    held = wiki("datacenter")
    held.space("ENG", group("confluence-users"))
    page = held.page("ENG", "Page")
    held.restrict(page.id, users=["ann"])
    held.move(page.id, None)

    sent = deliveries(held.log)
    assert [body.split(b'"event": "')[1].split(b'"')[0] for _, body in sent] == [
        b"space_created",
        b"page_created",
        b"page_moved",
    ]
    headers, body = sent[-1]
    assert headers["X-Hub-Signature"] == f"sha256={signature(body)}"
