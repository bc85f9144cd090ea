"""The simulator says what the vendor's documentation says: a plain client asks it over HTTP."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.doubles.sharepoint import wire
from tests.doubles.sharepoint.login import ASSERTION, certificate
from tests.doubles.sharepoint.oracle import may_read, must_read
from tests.doubles.sharepoint.roles import LIMITED, PAGES_ONLY, READ
from tests.doubles.sharepoint.simulator import SharePoint
from tests.doubles.sharepoint.state import OwnersOf
from tests.doubles.sharepoint.tenant import ANONYMOUS
from tests.doubles.web import served

SHARING = {"Prefer": "deltashowremovedasdeleted, deltatraversepermissiongaps, deltashowsharingchanges"}


def assertion(vendor: SharePoint, aud: str = "", name: str = "footnote", **changed: Any) -> str:
    key = serialization.load_pem_private_key(certificate(name).pem.encode(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    der = certificate(name).certificate.public_bytes(serialization.Encoding.DER)
    now = int(vendor.tenant.at.timestamp())
    header = {"alg": "RS256", "typ": "JWT", "x5t": coded(hashlib.sha1(der).digest())}
    claims = {"aud": aud or f"{vendor.login_url}/{vendor.tenant.id}/oauth2/v2.0/token", "iss": vendor.client,
              "sub": vendor.client, "jti": "1", "nbf": now, "exp": now + 600, **changed}  # fmt: skip
    head = f"{coded(json.dumps(header).encode())}.{coded(json.dumps(claims).encode())}"
    return f"{head}.{coded(key.sign(head.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def coded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


class Client:
    """Asks with the right token for each door."""

    def __init__(self, vendor: SharePoint, session: aiohttp.ClientSession) -> None:
        self.vendor, self.session = vendor, session

    async def token(self, scope: str, signed: str = "", **form: str) -> tuple[int, dict[str, Any]]:
        known = {"grant_type": "client_credentials", "client_id": self.vendor.client, "scope": scope}
        if not form:
            form = {"client_assertion_type": ASSERTION, "client_assertion": signed or assertion(self.vendor)}
        url = f"{self.vendor.login_url}/{self.vendor.tenant.id}/oauth2/v2.0/token"
        async with self.session.post(url, data={**known, **form}) as response:
            return response.status, await response.json()

    async def ask(self, url: str, headers: Mapping[str, str] = {}, **more: Any) -> tuple[int, Any, Mapping[str, str]]:
        graph = url.startswith(("/v1.0", self.vendor.graph_origin))
        full = url if "://" in url else (self.vendor.graph_origin if graph else self.vendor.tenant.host) + url
        scope = self.vendor.graph_origin if graph else self.vendor.tenant.host
        _, told = await self.token(f"{scope}/.default")
        sent = {"Authorization": f"Bearer {told['access_token']}", **headers}
        method = "POST" if "json" in more else "GET"
        async with self.session.request(method, full, headers=sent, allow_redirects=False, **more) as response:
            raw = await response.read()
            is_json = response.headers["Content-Type"].startswith("application/json")
            return response.status, json.loads(raw) if is_json and raw else raw, response.headers

    async def rows(self, url: str, headers: Mapping[str, str] = {}) -> tuple[list[Any], str]:
        """Every row of every page, and the delta link where there is one."""
        found: list[Any] = []
        while True:
            status, body, _ = await self.ask(url, headers)
            assert status == 200, body
            found += body["value"]
            url = body.get("@odata.nextLink") or body.get("odata.nextLink") or ""
            if not url:
                return found, body.get("@odata.deltaLink", "")


@asynccontextmanager
async def opened() -> AsyncIterator[tuple[SharePoint, Client]]:
    async with SharePoint() as vendor, aiohttp.ClientSession() as session:
        yield vendor, Client(vendor, session)


async def test_a_token_is_for_one_audience_and_for_one_certificate() -> None:
    async with opened() as (vendor, client):
        vendor.tenant.site("hr")
        graph = f"{vendor.graph_origin}/.default"
        right, told = await client.token(graph)
        wrong_key, _ = await client.token(graph, assertion(vendor, name="stranger"))
        wrong_place, _ = await client.token(graph, assertion(vendor, aud="https://elsewhere/token"))
        too_late, _ = await client.token(graph, assertion(vendor, nbf=1, exp=2))
        _, secret = await client.token(f"{vendor.tenant.host}/.default", client_secret=vendor.login.secret)

        there = {"headers": {"Authorization": f"Bearer {told['access_token']}"}}
        async with client.session.get(f"{vendor.tenant.host}/sites/hr/_api/web", **there) as response:  # type: ignore[arg-type]
            other_door = response.status
        by_secret = {"headers": {"Authorization": f"Bearer {secret['access_token']}"}}
        async with client.session.get(f"{vendor.tenant.host}/sites/hr/_api/web", **by_secret) as response:  # type: ignore[arg-type]
            refused = response.status
        assert (right, wrong_key, wrong_place, too_late, other_door, refused) == (200, 401, 401, 401, 401, 401)


async def test_a_site_is_found_by_its_path_and_tells_its_libraries() -> None:
    async with opened() as (vendor, client):
        site = vendor.tenant.site("hr", language="de")
        vendor.tenant.subsite(site.web, "pay")
        host = vendor.tenant.host.partition("//")[2]
        _, found, _ = await client.ask(f"/v1.0/sites/{host}:/sites/hr")
        drives, _ = await client.rows(f"/v1.0/sites/{found['id']}/drives")
        below, _ = await client.rows(f"/v1.0/sites/{found['id']}/sites")
        _, web, _ = await client.ask("/sites/hr/_api/web?$select=Id,HasUniqueRoleAssignments")

        assert [each["name"] for each in drives] == ["Dokumente"]
        assert found["id"].split(",")[1:] == [site.id, site.web.id]
        assert [each["displayName"] for each in below] == ["pay"]
        assert web == {"Id": site.web.id, "HasUniqueRoleAssignments": True}


async def test_delta_tells_everything_and_then_what_changed() -> None:
    async with opened() as (vendor, client):
        site = vendor.tenant.site("hr")
        library = site.web.lists[0]
        folder = vendor.tenant.folder(library, "Leave")
        file = vendor.tenant.file(library, "per cent % and #1 & 'quoted'.md", "text", folder)
        other = vendor.tenant.file(library, "Отпуск.md", "text")
        start = f"/v1.0/drives/{library.drive}/root/delta?$top=2&$select=id,name,deleted,sharepointIds,cTag"
        first, link = await client.rows(start, SHARING)
        vendor.tenant.move(folder, vendor.tenant.folder(library, "Archive"))
        vendor.tenant.delete(other)
        second, link = await client.rows(link, SHARING)
        third, _ = await client.rows(link, SHARING)

        assert [each["id"] for each in first] == [library.root, *(i.drive_item for i in (folder, file, other))]
        assert first[2]["name"] == "per cent % and #1 & 'quoted'.md"
        assert first[2]["sharepointIds"]["listItemUniqueId"] == file.unique_id
        # The folder that moved, nothing of what is in it; the deleted file without its name.
        assert {each["id"] for each in second} >= {folder.drive_item, other.drive_item}
        assert file.drive_item not in {each["id"] for each in second}
        assert "name" not in next(each for each in second if "deleted" in each)
        assert third == []


@pytest.mark.parametrize("headers", [{}, SHARING])
async def test_a_change_of_sharing_is_told_to_those_who_ask_for_it(headers: dict[str, str]) -> None:
    async with opened() as (vendor, client):
        tenant = vendor.tenant
        asha, library = tenant.person("asha"), tenant.site("hr").web.lists[0]
        folder = tenant.folder(library, "Leave")
        file = tenant.file(library, "a.md", "text", folder)
        _, link = await client.rows(f"/v1.0/drives/{library.drive}/root/delta", headers)
        tenant.grant(file, asha)
        tenant.grant(folder, asha)
        made = tenant.link(file, asha)
        tenant.redeem(made, asha)
        changed, _ = await client.rows(link, headers)

        annotated = [each["id"] for each in changed if "@microsoft.graph.sharedChanged" in each]
        assert annotated == ([file.drive_item] if headers else [])
        assert (folder.drive_item in {each["id"] for each in changed}) == bool(headers)


async def test_a_token_with_other_headers_and_an_expired_one_are_gone() -> None:
    async with opened() as (vendor, client):
        library = vendor.tenant.site("hr").web.lists[0]
        vendor.tenant.file(library, "a.md", "text")
        _, link = await client.rows(f"/v1.0/drives/{library.drive}/root/delta")
        status, other, headers = await client.ask(link, SHARING)
        assert (status, other["error"]["code"]) == (410, "resyncRequired")
        again, _ = await client.rows(headers["Location"], SHARING)
        vendor.graph.deltas.expire(library, "resyncChangesUploadDifferences", "broken")
        status, gone, headers = await client.ask(link)

        assert len(again) == 2
        assert (status, gone["error"]["code"]) == (410, "resyncChangesUploadDifferences")
        assert (await client.ask(headers["Location"]))[0] == 400


async def test_rights_are_told_by_bits_with_names_in_the_language_of_the_site() -> None:
    async with opened() as (vendor, client):
        tenant = vendor.tenant
        site = tenant.site("hr", language="ru")
        asha, library = tenant.person("asha"), site.web.lists[0]
        file = tenant.file(library, "a.md", "text")
        tenant.grant(file, asha)
        tenant.grant(file, ANONYMOUS, None)
        found, _ = await client.rows("/sites/hr/_api/web/roleassignments?$expand=Member,RoleDefinitionBindings&$top=2")
        own = f"/sites/hr/_api/web/lists(guid'{library.id}')/items({file.number})/roleassignments"
        direct, _ = await client.rows(f"{own}?$expand=Member,RoleDefinitionBindings&$top=100")
        sweep = f"/sites/hr/_api/web/lists(guid'{library.id}')/items?$select=Id,UniqueId,HasUniqueRoleAssignments"
        swept, _ = await client.rows(sweep)

        by_login = {each["Member"]["LoginName"]: each["RoleDefinitionBindings"] for each in found}
        mine = by_login["i:0#.f|membership|asha@contoso.example"]
        assert [(each["RoleTypeKind"], int(each["BasePermissions"]["Low"]) & 1) for each in mine] == [(1, 0)]
        assert mine[0]["Name"].startswith("Ограниченный")
        assert {each["Member"]["LoginName"] for each in direct} >= {ANONYMOUS.login}
        assert [each["HasUniqueRoleAssignments"] for each in swept] == [True]
        assert vendor.count.unknown == []


async def test_what_costs_something_comes_only_when_it_is_asked_for() -> None:
    async with opened() as (vendor, client):
        library = vendor.tenant.site("hr").web.lists[0]
        vendor.tenant.file(library, "a.md", "text")
        rows, _ = await client.rows(f"/sites/hr/_api/web/lists(guid'{library.id}')/items")

        assert "HasUniqueRoleAssignments" not in rows[0]


async def test_a_batch_has_the_status_of_each_of_its_requests() -> None:
    async with opened() as (vendor, client):
        tenant = vendor.tenant
        library = tenant.site("hr").web.lists[0]
        files = [tenant.file(library, f"{n}.md", "text") for n in range(3)]
        vendor.fault(f"{files[1].drive_item}/permissions", wire.throttled("7"), times=1)
        inner = [{"id": str(n), "method": "GET", "url": f"/drives/{library.drive}/items/{each.drive_item}/permissions"}
                 for n, each in enumerate(files)]  # fmt: skip
        status, told, _ = await client.ask("/v1.0/$batch", json={"requests": inner})
        found = {each["id"]: each for each in told["responses"]}

        assert status == 200
        assert [found[str(n)]["status"] for n in range(3)] == [200, 429, 200]
        assert found["1"]["headers"]["Retry-After"] == "7"
        assert vendor.count.units["permissions"] == 15


async def test_content_comes_from_an_address_that_needs_no_token() -> None:
    async with opened() as (vendor, client):
        library = vendor.tenant.site("hr").web.lists[0]
        file = vendor.tenant.file(library, "a.md", "published")
        vendor.tenant.edit(file, "draft", draft=True)
        status, _, headers = await client.ask(f"/v1.0/drives/{library.drive}/items/{file.drive_item}/content")
        async with client.session.get(headers["Location"]) as response:
            newest = await response.text()
        versions, _ = await client.rows(f"/v1.0/drives/{library.drive}/items/{file.drive_item}/versions")
        _, older, _ = await client.ask(f"/sites/hr/_api/web/GetFileById('{file.unique_id}')/versions(512)/$value")

        assert (status, newest) == (302, "draft")
        assert [each["publication"]["level"] for each in versions] == ["draft", "published"]
        assert older == b"published"
        assert vendor.count.offences == []


async def test_pages_are_all_or_nothing_with_their_canvas() -> None:
    async with opened() as (vendor, client):
        web = vendor.tenant.site("hr").web
        page, bad = vendor.tenant.page(web, "home", "<p>Hello</p>"), vendor.tenant.page(web, "bad", "<p>x</p>")
        bad.corrupt = True
        base = f"/v1.0/sites/h,{web.collection.id},{web.id}/pages"
        whole, _, _ = await client.ask(f"{base}/microsoft.graph.sitePage?$expand=canvasLayout")
        listed, _ = await client.rows(f"{base}/microsoft.graph.sitePage")
        _, one, _ = await client.ask(f"{base}/{page.unique_id}/microsoft.graph.sitePage?$expand=canvasLayout")

        assert whole == 400
        assert len(listed) == 2
        assert one["canvasLayout"]["horizontalSections"][0]["columns"][0]["webparts"][0]["innerHtml"] == "<p>Hello</p>"


async def test_groups_are_transitive_and_hidden_ones_are_not_told() -> None:
    async with opened() as (vendor, client):
        tenant = vendor.tenant
        asha = tenant.person("asha")
        inner = tenant.group("inner", asha)
        outer, secret = tenant.group("outer", inner), tenant.group("secret", asha, hidden=True)
        tenant.owns(outer, asha)
        _, told, _ = await client.ask(f"/v1.0/users/{asha.oid}/getMemberGroups", json={"securityEnabledOnly": False})
        owners, _ = await client.rows(f"/v1.0/groups/{outer.id}/owners?$select=id")
        status, _, _ = await client.ask(f"/v1.0/groups/{outer.id}_o/owners")

        assert set(told["value"]) == {inner.id, outer.id} != {secret.id}
        assert [each["id"] for each in owners] == [asha.oid]
        assert status == 400


async def test_a_subscription_shakes_hands_and_tells_that_something_changed() -> None:
    heard: list[Any] = []

    async def hook(request: aiohttp.web.Request) -> aiohttp.web.Response:
        if "validationToken" in request.query:
            return aiohttp.web.Response(text=request.query["validationToken"])
        heard.append(await request.json())
        return aiohttp.web.Response(status=202)

    async with served({"/hook": hook}) as url, opened() as (vendor, client):
        library = vendor.tenant.site("hr").web.lists[0]
        ends = (vendor.tenant.at + timedelta(days=20)).isoformat()
        wanted = {"changeType": "updated", "notificationUrl": f"{url}/hook", "resource": f"drives/{library.drive}/root",
                  "clientState": "a word between us", "expirationDateTime": ends}  # fmt: skip
        status, _, _ = await client.ask("/v1.0/subscriptions", json=wanted)
        nobody, _, _ = await client.ask("/v1.0/subscriptions", json={**wanted, "notificationUrl": f"{url}/none"})
        vendor.tenant.file(library, "a.md", "text")
        statuses = await vendor.graph.subscriptions.deliver()
        again = await vendor.graph.subscriptions.deliver()

        assert (status, nobody, statuses, again) == (201, 400, [202], [])
        assert heard[0]["value"][0]["clientState"] == "a word between us"


@pytest.mark.parametrize(
    ("bend", "rows"),
    [(wire.twice, 6), (wire.EmptyPages(), 3), (wire.LinkLast(), 3), (wire.shuffled(3), 3)],
    ids=["twice", "empty pages", "link last", "shuffled"],
)
async def test_pages_may_come_in_ways_that_are_legal_and_hard(bend: wire.Bend, rows: int) -> None:
    async with opened() as (vendor, client):
        library = vendor.tenant.site("hr").web.lists[0]
        for n in range(2):
            vendor.tenant.file(library, f"{n}.md", "text")
        vendor.fault("/root/delta", bend)
        found, link = await client.rows(f"/v1.0/drives/{library.drive}/root/delta?$top=2")

        assert len(found) == rows
        assert link


async def test_a_site_that_refuses_does_so_at_both_doors() -> None:
    async with opened() as (vendor, client):
        site = vendor.tenant.site("hr")
        for code in (403, 404, 410, 423):
            vendor.tenant.block(site, code)
            graph, _, _ = await client.ask(f"/v1.0/drives/{site.web.lists[0].drive}/root/delta")
            rest, _, _ = await client.ask("/sites/hr/_api/web/roleassignments")
            assert (graph, rest) == (code, code)


# ---------------------------------------------------------------- the oracle


async def test_the_oracle_knows_every_way_to_read() -> None:
    vendor = SharePoint()
    tenant = vendor.tenant
    asha, ben, cleo, dan = (tenant.person(name) for name in ("asha", "ben", "cleo", "dan"))
    gus, old = tenant.person("gus", guest=True), tenant.person("old")
    inner = tenant.group("inner", asha)
    team = tenant.group("team", ben, kind="unified")
    tenant.owns(team, cleo)
    site = tenant.site("hr")
    library = site.web.lists[0]
    file = tenant.file(library, "a.md", "text")
    tenant.break_inheritance(file, copy=False)

    def readers() -> set[str]:
        return {user.name for user in tenant.users.values() if may_read(tenant, user.oid, file, tenant.at)}

    assert readers() == set()
    tenant.grant(file, tenant.group("outer", inner))
    assert readers() == {"Asha"}
    tenant.grant(file, OwnersOf(team))
    assert readers() == {"Asha", "Cleo"}
    tenant.grant(file, team)
    assert readers() == {"Asha", "Cleo", "Ben"}
    tenant.grant(file, old)
    tenant.disable(old)
    tenant.grant(file, gus)
    assert readers() == {"Asha", "Cleo", "Ben", "Gus"}
    tenant.revoke(file, gus)
    tenant.grant(file, dan, PAGES_ONLY)
    tenant.grant(file, ANONYMOUS, READ)
    assert readers() == {"Asha", "Cleo", "Ben"}
    link = tenant.link(file, dan, expires=tenant.at + timedelta(hours=1))
    assert readers() == {"Asha", "Cleo", "Ben", "Dan"}
    tenant.wait(timedelta(hours=1))
    assert readers() == {"Asha", "Cleo", "Ben"}
    tenant.unlink(link)
    tenant.grant(file, tenant.eeeu)
    assert readers() == {"Asha", "Cleo", "Ben", "Dan"}
    tenant.restrict(site, team)
    assert readers() == {"Ben"}
    assert {LIMITED} in site.web.grants.values()
    assert not must_read(tenant, asha.oid, file, tenant.at)
