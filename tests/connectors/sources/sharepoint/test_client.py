"""Asking Graph and REST: pages to their end, pauses for all, batches part by part, tokens kept at home."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any

import pytest
from aiohttp import web

from connectors.errors import Stop, Transient
from connectors.http import Answer, Limits, Site
from connectors.sources.sharepoint.auth import Timer, Tokens
from connectors.sources.sharepoint.budget import Budget, budget_of, wait_asked
from connectors.sources.sharepoint.client import MOST_PAGES, USER_AGENT, Ask, Client, Patience, Refused
from connectors.sources.sharepoint.scopes import AT_ONCE, side_by_side
from tests.doubles.web import served

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
QUICK = Limits(connect=5, idle=5, whole=20, first_pause=0.01)


class Signer:
    def assertion(self, client: str, audience: str, now: datetime) -> str:
        return "signed"


class Server:
    """Graph and a site at one address; `say` gives the answer to each request in turn."""

    def __init__(self, *answers: Any, headers: Mapping[str, str] | None = None) -> None:
        self.answers = list(answers)
        self.headers = dict(headers or {})
        self.asked: list[web.Request] = []
        self.tokens = 0

    async def token(self, _request: web.Request) -> web.Response:
        self.tokens += 1
        return web.json_response({"access_token": f"token-{self.tokens}", "expires_in": 3599})

    async def answer(self, request: web.Request) -> web.Response:
        await request.read()
        self.asked.append(request)
        said = self.answers[min(len(self.asked), len(self.answers)) - 1]
        said = said(request) if callable(said) else said
        if isinstance(said, web.Response):
            return said
        return web.json_response(said)


def status(code: int, **headers: str) -> Callable[[web.Request], web.Response]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _request: web.json_response({"error": {"code": f"code{code}"}}, status=code, headers=sent)


@asynccontextmanager
async def client_of(server: Server, *, elsewhere: Handler | None = None) -> AsyncIterator[Client]:
    routes: dict[str, Handler] = {"/t/oauth2/v2.0/token": server.token, "/{rest:.*}": server.answer}
    if elsewhere is not None:
        routes = {"/download": elsewhere, **routes}
    async with served(routes) as url, Site("graph", f"{url}/v1.0", QUICK) as graph, Site("login", url, QUICK) as login:
        timer = Timer()
        timer.tell(datetime(2026, 3, 2, tzinfo=UTC))
        async with Site("SharePoint", url, QUICK) as site:
            tokens = Tokens(login, "t/oauth2/v2.0/token", "x", "c", Signer(), timer)
            yield Client(graph, f"{url}/v1.0", "https://graph.example", {url: site}, tokens, Budget())


def link(path: str) -> Callable[[web.Request], dict[str, Any]]:
    """A page that is empty and leads on."""
    return lambda request: {"value": [], "@odata.nextLink": f"{request.url.origin()}{path}"}


# ---------------------------------------------------------------- pages


async def test_an_empty_page_with_a_link_is_not_the_end() -> None:
    server = Server(link("/v1.0/things?$skiptoken=a%26b"), {"value": [{"id": 1}]})
    async with client_of(server) as client:
        rows = await client.graph_rows("things", {"$select": "id"})

    assert rows == [{"id": 1}]
    assert server.asked[1].query["$skiptoken"] == "a&b"
    assert server.asked[0].headers["User-Agent"] == USER_AGENT


async def test_a_link_that_comes_back_ends_the_reading_as_incomplete() -> None:
    server = Server(link("/v1.0/things?page=2"))
    async with client_of(server) as client:
        with pytest.raises(Transient, match="circle"):
            await client.graph_rows("things")

    assert len(server.asked) == 2


async def test_one_page_under_ever_new_links_ends_the_reading_as_incomplete() -> None:
    numbers = count()

    def same(request: web.Request) -> web.Response:
        link = f"{request.url.origin()}/v1.0/things?page={next(numbers)}"
        return web.json_response({"value": [{"id": "same"}], "@odata.nextLink": link})

    async with client_of(Server(same)) as client:
        with pytest.raises(Transient, match="same page"):
            await client.graph_rows("things")


class Endless:
    """A door behind which a list has so many pages of one row, under any address."""

    name = "graph"

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.asked = 0

    async def request(self, _method: str, address: str, **_more: object) -> Answer:
        self.asked += 1
        said: dict[str, Any] = {"value": [{"id": self.asked}]}
        if self.asked < self.pages:
            said["@odata.nextLink"] = f"{address.partition('?')[0]}?page={self.asked}"
        return Answer("graph", 200, {}, json.dumps(said).encode())


class Bearer:
    async def bearer(self, _audience: str) -> str:
        return "token"


def long_list(pages: int, most: int = MOST_PAGES) -> tuple[Endless, Client]:
    door: Any = Endless(pages)
    tokens: Any = Bearer()
    budget = Budget(units_a_minute=1e9, calls_a_second=1e9)
    return door, Client(door, "https://graph.example/v1.0", "x", {"https://sp.example": door}, tokens, budget, most)


@pytest.mark.parametrize("of", ["graph", "rest"])
async def test_a_list_of_very_many_pages_is_read_to_its_end(of: str) -> None:
    """ONX#10505: one call within the other for each page ran out of stack."""
    door, client = long_list(1_500)
    rows = await (
        client.graph_rows("things") if of == "graph" else client.rest_rows("https://sp.example", "web/things")
    )

    assert [row["id"] for row in rows] == list(range(1, 1_501))
    assert door.asked == 1_500


async def test_a_list_of_more_pages_than_are_read_is_incomplete() -> None:
    door, client = long_list(1_500, most=100)
    with pytest.raises(Transient, match="more than 100 pages"):
        await client.graph_rows("things")

    assert door.asked == 100


async def test_a_link_to_another_host_is_not_followed_with_our_token() -> None:
    server = Server({"value": [], "@odata.nextLink": "https://evil.example/v1.0/things"})
    async with client_of(server) as client:
        with pytest.raises(Stop):
            await client.graph_rows("things")


async def test_links_of_graph_itself_are_followed_through_the_proxy_that_is_configured() -> None:
    server = Server({"value": [], "@odata.nextLink": "https://graph.microsoft.com/v1.0/things?p=2"}, {"value": []})
    async with client_of(server) as client:
        await client.graph_rows("things")

    assert (server.asked[1].path, server.asked[1].query_string) == ("/v1.0/things", "p=2")


async def test_rows_that_are_missing_are_not_no_rows() -> None:
    async with client_of(Server({"values": []})) as client:
        with pytest.raises(Transient):
            await client.graph_rows("things")


@pytest.mark.parametrize("body", [b"", b"<!DOCTYPE html><html></html>", b'{"value": [1', b"[]", b"null"])
async def test_success_without_an_object_is_asked_for_again_and_then_is_none(body: bytes) -> None:
    kind = "text/html" if body.startswith(b"<") else "application/json"
    server = Server(lambda _request: web.Response(body=body, content_type=kind), {"value": [{"id": 1}]})
    async with client_of(server) as client:
        assert await client.graph_rows("things") == [{"id": 1}]

    broken = Server(lambda _request: web.Response(body=body, content_type=kind))
    async with client_of(broken) as client:
        with pytest.raises(Transient):
            await client.graph_rows("things")


# ---------------------------------------------------------------- pauses and tokens


@pytest.mark.parametrize("code", [429, 503])
async def test_who_is_sent_away_keeps_everybody_away(code: int) -> None:
    server = Server(status(code, Retry_After="0.2", RateLimit_Reset="0"), {"id": 1})
    async with client_of(server) as client:
        before = asyncio.get_running_loop().time()
        first = asyncio.create_task(client.graph("one"))
        await asyncio.sleep(0.1)
        await client.rest(str(client.door._base.origin()), "web")
        waited = asyncio.get_running_loop().time() - before
        await first

    assert waited >= 0.2
    assert client.budget.pauses == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "3", "ratelimit-reset": "9"}, 9.0),
        ({"retry-after": "9", "ratelimit-reset": "3"}, 9.0),
        ({"retry-after": "Mon, 02 Mar 2026 09:00:07 GMT", "date": "Mon, 02 Mar 2026 09:00:02 GMT"}, 5.0),
        ({"ratelimit-reset": "no number"}, None),
        ({}, None),
    ],
)
def test_the_longer_of_both_ways_to_say_it_is_waited(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds == wait_asked(headers)


async def test_a_pause_longer_than_there_is_patience_for_is_an_error_that_may_pass() -> None:
    async with client_of(Server(status(429, Retry_After="4000"))) as client:
        with pytest.raises(Transient) as caught:
            await client.graph("one", patience=Patience(attempts=3, seconds=5))

    assert caught.value.retry_after


async def test_a_token_that_is_not_accepted_is_replaced_once() -> None:
    server = Server(status(401), {"id": 1})
    async with client_of(server) as client:
        assert await client.graph("one") == {"id": 1}
    assert [each.headers["Authorization"] for each in server.asked] == ["Bearer token-1", "Bearer token-2"]

    never = Server(status(401))
    async with client_of(never) as client:
        with pytest.raises(Refused) as caught:
            await client.graph("one")
    assert (caught.value.status, len(never.asked)) == (401, 2)


async def test_a_refusal_carries_the_code_and_where_to_go_on() -> None:
    async with client_of(Server(status(410, Location="https://x.example/fresh"))) as client:
        with pytest.raises(Refused) as caught:
            await client.graph("delta")

    assert (caught.value.status, caught.value.code, caught.value.location) == (
        410,
        "code410",
        "https://x.example/fresh",
    )


async def test_an_address_of_another_host_than_the_sites_gets_nothing() -> None:
    server = Server({"id": 1})
    async with client_of(server) as client:
        with pytest.raises(Stop):
            await client.rest("https://elsewhere.example/sites/hr", "web")

    assert server.asked == []


# ---------------------------------------------------------------- batches


def batch(*answers: dict[str, Any]) -> dict[str, Any]:
    return {"responses": list(answers)}


async def test_parts_of_a_batch_are_put_in_order_and_may_fail_alone() -> None:
    server = Server(
        batch({"id": "1", "status": 404, "body": {}}, {"id": "0", "status": 200, "body": {"id": "a"}}),
    )
    async with client_of(server) as client:
        told = await client.batch([Ask("users/a"), Ask("users/b")])

    assert [(each.status, each.body) for each in told] == [(200, {"id": "a"}), (404, {})]


async def test_a_part_that_was_sent_away_is_asked_again_alone_and_pauses_everybody() -> None:
    server = Server(
        batch(
            {"id": "0", "status": 200, "body": {"id": "a"}},
            {"id": "1", "status": 429, "headers": {"Retry-After": "0"}, "body": {}},
        ),
        batch({"id": "1", "status": 200, "body": {"id": "b"}}),
    )
    async with client_of(server) as client:
        told = await client.batch([Ask("users/a"), Ask("users/b")])

        assert [each.body["id"] for each in told] == ["a", "b"]
        assert client.budget.pauses == 1


async def test_parts_that_never_come_are_no_answers() -> None:
    async with client_of(Server(batch())) as client:
        with pytest.raises(Transient):
            await client.batch([Ask("users/a")])


async def test_more_than_twenty_are_several_batches() -> None:
    sizes: list[int] = []

    class Counting(Server):
        async def answer(self, request: web.Request) -> web.Response:
            asked = (await request.json())["requests"]
            sizes.append(len(asked))
            return web.json_response(batch(*({"id": each["id"], "status": 200, "body": {}} for each in asked)))

    async with client_of(Counting({})) as client:
        await client.batch([Ask(f"users/{number}") for number in range(45)])

    assert sizes == [20, 20, 5]


async def test_where_there_are_no_batches_each_is_asked_alone() -> None:
    def answer(request: web.Request) -> web.Response:
        if request.path.endswith("$batch"):
            return web.json_response({}, status=404)
        return web.json_response({"id": request.path.rpartition("/")[2]})

    async with client_of(Server(answer)) as client:
        told = await client.batch([Ask("users/a"), Ask("users/b")])

    assert [each.body["id"] for each in told] == ["a", "b"]


# ---------------------------------------------------------------- files


async def test_no_token_goes_to_where_a_file_is_fetched() -> None:
    headers: list[Mapping[str, str]] = []

    async def download(request: web.Request) -> web.Response:
        headers.append(request.headers)
        return web.Response(body=b"the file")

    moved = Server(
        lambda request: web.Response(status=302, headers={"Location": f"{request.url.origin()}/download?t=1"})
    )
    async with client_of(moved, elsewhere=download) as client:
        assert await client.content("drives/d/items/i/content") == b"the file"

    assert "Authorization" not in headers[0]
    assert "Authorization" in moved.asked[0].headers


async def test_a_file_is_not_fetched_from_a_private_address() -> None:
    moved = Server(lambda _request: web.Response(status=302, headers={"Location": "https://169.254.169.254/latest"}))
    async with client_of(moved) as client:
        with pytest.raises(Stop):
            await client.content("drives/d/items/i/content")


# ---------------------------------------------------------------- what is asked for


async def test_quotes_and_spaces_of_a_query_arrive_as_they_were_meant() -> None:
    server = Server({"value": []})
    async with client_of(server) as client:
        web_url = str(client.door._base.origin()) + "/sites/h%20r"
        await client.rest_rows(web_url, "web/siteusers", {"$filter": "LoginName eq 'o''hara#1&2+3%'"})

    assert server.asked[0].query["$filter"] == "LoginName eq 'o''hara#1&2+3%'"
    assert server.asked[0].path == "/sites/h r/_api/web/siteusers"
    assert server.asked[0].headers["Accept"] == "application/json;odata=nometadata"


async def test_a_budget_of_units_is_waited_for_and_directory_calls_are_free() -> None:
    budget = Budget(units_a_minute=600)
    await budget.graph(600)
    before = asyncio.get_running_loop().time()
    await budget.graph(0)
    free = asyncio.get_running_loop().time() - before
    await budget.graph(2)
    waited = asyncio.get_running_loop().time() - before

    assert free < 0.1
    assert waited >= 0.15


def test_all_that_one_app_asks_in_one_tenant_is_of_one_budget() -> None:
    assert budget_of("tenant", "app") is budget_of("tenant", "app")
    assert budget_of("Tenant", " APP") is budget_of("tenant", "app")
    assert budget_of("tenant", "app") is not budget_of("tenant", "other")
    assert budget_of("tenant", "app") is not budget_of("other", "app")


async def test_nothing_is_asked_before_the_time_that_was_asked_for_however_long() -> None:
    """EC PR 1702 (92): seconds are seconds, and none of them is cut off."""
    budget = Budget()
    assert budget.sent_away({"retry-after": "3600"}) == 3600
    for ask in (budget.rest, partial(budget.graph, 1.0)):
        with pytest.raises(Transient, match="pause"):
            await ask()

    left = budget._silent_until - asyncio.get_running_loop().time()
    assert 3590 < left <= 3600


async def test_what_fails_among_several_ends_them_all() -> None:
    """EC PR 2380: nobody waits for ever for a task that raised."""
    begun: list[int] = []

    async def work(number: int) -> None:
        begun.append(number)
        if number == 1:
            raise Transient("one of them")
        await asyncio.sleep(3600)

    with pytest.raises(Transient, match="one of them"):
        async with asyncio.timeout(5):
            await side_by_side(list(range(40)), work)

    assert len(begun) <= AT_ONCE
