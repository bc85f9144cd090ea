"""Lists of a wiki followed to their end over real HTTP, or not believed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import web

from connectors.errors import Stop, Transient
from connectors.http import Answer, Site
from connectors.sources.confluence.client import LIMITS, Account, Client, Lost, Pace
from tests.doubles.web import served

Json = dict[str, Any]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
QUICK = Pace(attempts=3, first_pause=0.001, longest_pause=0.5)


@asynccontextmanager
async def client(handler: Handler, base: str = "/wiki") -> AsyncIterator[Client]:
    async with served({"/{path:.*}": handler}) as url, Site("wiki", url + base, LIMITS) as site:
        yield Client(site, Account.basic("robot@example.com", "t0ken"), url + base, QUICK)


def answering(answers: list[Json | web.Response], asked: list[str]) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        asked.append(request.raw_path)
        answer = answers.pop(0)
        return web.json_response(answer) if isinstance(answer, dict) else answer

    return handler


def page(*ids: str, onward: str | None = None) -> Json:
    return {"results": [{"id": each} for each in ids], "_links": {"next": onward} if onward else {}}


async def ids(pages: AsyncIterator[list[Json]]) -> list[str]:
    return [row["id"] async for rows in pages for row in rows]


@pytest.mark.parametrize(
    "onward",
    [
        "/wiki/api/v2/pages?cursor=abc%3D&limit=2",
        "/api/v2/pages?cursor=abc%3D&limit=2",
        "https://x.atlassian.net/wiki/api/v2/pages?cursor=abc%3D&limit=2",
        "/ex/confluence/0c5a/wiki/api/v2/pages?cursor=abc%3D&limit=2",
    ],
)
@pytest.mark.parametrize("base", ["/wiki", "/ex/confluence/0c5a/wiki"])
async def test_a_next_link_is_joined_to_the_base_with_or_without_its_context(onward: str, base: str) -> None:
    """langchain#11824, onyx#12559: a link without `/wiki` answers 404, and a gateway has a path of its own."""
    asked: list[str] = []
    async with client(answering([page("1", onward=onward), page("2")], asked), base) as wiki:
        found = await ids(wiki.pages("api/v2/pages", limit=2))

    assert found == ["1", "2"]
    assert asked == [f"{base}/api/v2/pages?limit=2", f"{base}/api/v2/pages?cursor=abc%3D&limit=2"]


async def test_a_short_or_empty_page_with_a_next_link_is_not_the_end() -> None:
    """mark#967, elastic#3320."""
    answers: list[Json | web.Response] = [page(onward="/rest/api/search?cursor=1"), page("7")]
    async with client(answering(answers, [])) as wiki:
        assert await ids(wiki.pages("rest/api/search")) == ["7"]


async def test_a_next_page_may_be_named_by_a_header_alone() -> None:
    link = web.json_response(page("1"), headers={"Link": '</wiki/api/v2/spaces?cursor=2>; rel="next"'})
    async with client(answering([link, page("2")], [])) as wiki:
        assert await ids(wiki.pages("api/v2/spaces")) == ["1", "2"]


async def test_a_list_that_goes_in_circles_is_an_error_and_no_end() -> None:
    """integrations#8406, baton-sdk#107: a cursor that comes again."""

    async def handler(request: web.Request) -> web.StreamResponse:
        return web.json_response(page("1", onward="/api/v2/pages?cursor=same"))

    async with client(handler) as wiki:
        with pytest.raises(Transient, match="circles"):
            await ids(wiki.pages("api/v2/pages"))


async def test_a_lowered_limit_and_a_wrong_next_start_lose_nothing() -> None:
    """EC PR#2308, EC PR#2651, onyx#11284, onyx#4129, CONFSERVER-95272: the start is counted here."""
    rows = [str(each) for each in range(7)]

    async def handler(request: web.Request) -> web.StreamResponse:
        start = int(request.query["start"])
        held = page(*rows[start : start + 3])
        return web.json_response({**held, "_links": {"next": f"/rest/api/space?start={start + 200}"}})

    async with client(handler) as wiki:
        assert await ids(wiki.counted("rest/api/space")) == rows


class Endless:
    """A site whose list has so many pages of one row, by whichever way it is asked for."""

    name = "wiki"

    def __init__(self, pages: int) -> None:
        self.pages = pages

    async def request(self, _method: str, address: str, **_more: object) -> Answer:
        asked = parse_qs(urlsplit(address).query)
        at = int(asked.get("cursor", asked.get("start", ["0"]))[0])
        rows = [str(at)] if at < self.pages else []
        onward = f"/wiki/api/v2/pages?cursor={at + 1}" if at + 1 < self.pages else None
        return Answer("wiki", 200, {}, json.dumps(page(*rows, onward=onward)).encode())


async def test_a_list_of_very_many_pages_is_read_to_its_end() -> None:
    """ONX#10505: one call within the other for each page ran out of stack."""
    site = Endless(pages=1_200)
    wiki = Client(site, Account.bearer("t0ken"), "https://wiki.example/wiki", QUICK)  # type: ignore[arg-type]

    assert len(await ids(wiki.pages("api/v2/pages"))) == 1_200
    assert len(await ids(wiki.counted("rest/api/space", limit=1))) == 1_200


async def test_a_server_that_knows_no_start_gives_its_list_once() -> None:
    async def whole(_: web.Request) -> web.StreamResponse:
        return web.json_response(page("1", "2"))

    async def for_ever(_: web.Request) -> web.StreamResponse:
        return web.json_response(page("1", "2", onward="/rest/api/group?start=2"))

    async with client(whole) as wiki:
        assert await ids(wiki.counted("rest/api/group")) == ["1", "2"]
    async with client(for_ever) as wiki:
        with pytest.raises(Transient, match="circles"):
            await ids(wiki.counted("rest/api/group"))


@pytest.mark.parametrize(
    "broken",
    [
        web.Response(body=b"", content_type="application/json"),
        web.Response(body=b'{"results": [', content_type="application/json"),
        web.Response(status=204),
    ],
)
async def test_an_answer_without_json_is_asked_for_again(broken: web.Response) -> None:
    """onyx#13540: an empty 200 is no empty list."""
    async with client(answering([broken, page("1")], [])) as wiki:
        assert await ids(wiki.pages("api/v2/pages")) == ["1"]


async def test_an_answer_that_stays_empty_is_no_empty_list() -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b"", content_type="application/json")

    async with client(handler) as wiki:
        with pytest.raises(Transient):
            await ids(wiki.pages("api/v2/pages"))


async def test_a_page_instead_of_json_is_refused() -> None:
    """onyx#10853: the page that asks an administrator for his password comes with status 200."""

    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>WebSudo</html>", content_type="text/html")

    async with client(handler) as wiki:
        with pytest.raises(Lost):
            await wiki.get("rest/api/space/ENG/permissions")


async def test_a_page_that_takes_too_long_is_asked_for_by_halves() -> None:
    """onyx#10147: 504 on a large page."""
    limits: list[int] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        limits.append(int(request.query["limit"]))
        return web.json_response(page("1")) if limits[-1] <= 50 else web.Response(status=504)

    async with client(handler) as wiki:
        assert await ids(wiki.pages("rest/api/content/search", limit=200)) == ["1"]

    assert sorted(set(limits), reverse=True) == [200, 100, 50]


async def test_whoever_is_told_to_wait_makes_all_wait_in_seconds() -> None:
    """elastic PR#1702: Retry-After is seconds, and no factor."""
    asked: list[str] = []
    busy = web.Response(status=429, headers={"Retry-After": "0"})
    async with client(answering([busy, page("1")], asked)) as wiki:
        assert await ids(wiki.pages("api/v2/pages")) == ["1"]
        assert (len(asked), wiki.paused) == (2, 1)


async def test_no_more_than_four_are_asked_for_at_once() -> None:
    """atlassian-mcp-server#171: bursts are refused for how many come at a time."""
    now = most = 0

    async def handler(_: web.Request) -> web.StreamResponse:
        nonlocal now, most
        now, most = now + 1, max(most, now + 1)
        await asyncio.sleep(0.01)
        now -= 1
        return web.json_response({})

    async with client(handler) as wiki:
        await asyncio.gather(*(wiki.get(f"api/v2/pages/{number}") for number in range(12)))

    assert 1 < most <= 4


async def test_a_wait_that_is_too_long_is_not_waited_for() -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response(status=429, headers={"Retry-After": "3600"})

    async with client(handler) as wiki:
        with pytest.raises(Transient):
            await wiki.get("api/v2/spaces")
        assert wiki.asked == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
async def test_what_is_refused_says_with_which_status(status: int) -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.json_response({"message": "no"}, status=status)

    async with client(handler) as wiki:
        with pytest.raises(Lost) as refused:
            await wiki.get("api/v2/pages/1")

    assert refused.value.status == status


async def test_names_of_files_are_quoted_once() -> None:
    """gosip#78 and its like: `#`, `%` and `+` in a name, quoted by the server or not."""
    asked: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        asked.append(request.raw_path)
        return web.Response(body=b"bytes")

    async with client(handler) as wiki:
        await wiki.file("/download/attachments/1/50%25%20%23x.pdf?version=1&api=v2")
        await wiki.file("/download/attachments/1/a b.pdf?version=1")

    assert asked == [
        "/wiki/download/attachments/1/50%25%20%23x.pdf?version=1&api=v2",
        "/wiki/download/attachments/1/a%20b.pdf?version=1",
    ]


async def test_a_file_that_is_stored_elsewhere_is_fetched_without_our_token() -> None:
    seen: list[str | None] = []

    async def store(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.get("Authorization"))
        return web.Response(body=b"stored")

    async with served({"/media": store}) as elsewhere:

        async def handler(_: web.Request) -> web.StreamResponse:
            return web.Response(status=302, headers={"Location": f"{elsewhere}/media?signed=1"})

        async with client(handler) as wiki:
            with pytest.raises(Stop):  # another port of this machine is no place that an admin chose
                await wiki.file("rest/api/content/1/child/attachment/2/download")

    async def both(request: web.Request) -> web.StreamResponse:
        if request.path == "/media":
            return await store(request)
        return web.Response(status=302, headers={"Location": "/media?signed=1"})

    async with client(both) as wiki:
        assert await wiki.file("rest/api/content/1/child/attachment/2/download") == b"stored"
    assert seen == [None]
