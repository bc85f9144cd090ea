"""The room that every outside system is reached through, against a real server on this machine."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from connectors.errors import DoorError, Skip, Stop, Transient
from connectors.http import Answer, Limits, Site, is_public, refusal, retry_after
from tests.doubles.web import served
from tests.tap import words_of

QUICK = Limits(connect=5, idle=3, whole=15, attempts=3, first_pause=0.01, longest_pause=0.3, largest=100_000)
SECRET = "sk-very-secret"
PROMPT = "what nobody may log"


def answers(*statuses: int, headers: dict[str, str] | None = None) -> tuple[Callable[..., Any], list[web.Request]]:
    """A handler that gives these statuses in turn, the last one for ever, and what it was asked."""
    asked: list[web.Request] = []

    async def handler(request: web.Request) -> web.Response:
        await request.read()
        asked.append(request)
        status = statuses[min(len(asked), len(statuses)) - 1]
        return web.json_response({"asked": len(asked)}, status=status, headers=headers if status != 200 else None)

    return handler, asked


async def post(url: str, limits: Limits = QUICK, path: str = "x", repeatable: bool = True) -> Answer:
    async with Site("vendor", url, limits) as site:
        headers = {"Authorization": f"Bearer {SECRET}"}
        return await site.post(path, {"prompt": PROMPT}, headers=headers, repeatable=repeatable)


async def failed(url: str, limits: Limits = QUICK, **more: Any) -> DoorError:
    with pytest.raises(DoorError) as caught:
        await post(url, limits, **more)
    told = "\n".join(words_of(caught.value))
    assert SECRET not in told
    assert PROMPT not in told
    return caught.value


# ---------------------------------------------------------------- asking


async def test_a_request_reaches_the_path_below_the_base_with_its_headers() -> None:
    handler, asked = answers(200)
    async with served({"/tenant/v2/x": handler}) as url:
        answer = await post(f"{url}/tenant", path="v2/x")

    assert answer.json() == {"asked": 1}
    assert asked[0].headers["Authorization"] == f"Bearer {SECRET}"
    assert asked[0].headers["User-Agent"] == "footnote"


async def test_a_status_that_is_no_success_is_an_answer_and_not_an_error() -> None:
    handler, asked = answers(404)
    async with served({"/x": handler}) as url:
        answer = await post(url)

    assert (answer.status, answer.ok) == (404, False)
    assert len(asked) == 1


async def test_what_is_printed_of_an_answer_holds_nothing_of_it() -> None:
    assert repr(Answer("vendor", 200, {"set-cookie": "secret"}, b"secret")) == "Answer('vendor', 200)"


# ---------------------------------------------------------------- again, or not


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
async def test_what_may_pass_is_asked_again(status: int) -> None:
    handler, asked = answers(status, 200)
    async with served({"/x": handler}) as url:
        answer = await post(url)

    assert answer.ok
    assert len(asked) == 2


async def test_attempts_are_bounded() -> None:
    handler, asked = answers(503)
    async with served({"/x": handler}) as url:
        error = await failed(url)

    assert isinstance(error, Transient)
    assert len(asked) == QUICK.attempts


async def test_a_request_that_may_have_been_carried_out_is_not_repeated() -> None:
    handler, asked = answers(500)
    async with served({"/x": handler}) as url:
        await failed(url, repeatable=False)

    assert len(asked) == 1


async def test_what_is_asked_to_wait_waits_that_long() -> None:
    handler, asked = answers(429, 200, headers={"Retry-After": "0.2"})
    async with served({"/x": handler}) as url:
        started = asyncio.get_running_loop().time()
        await post(url)
        waited = asyncio.get_running_loop().time() - started

    assert waited >= 0.2
    assert len(asked) == 2


async def test_who_asks_for_an_hour_is_given_up_at_once_and_the_hour_is_told() -> None:
    handler, asked = answers(429, headers={"Retry-After": "3600"})
    async with served({"/x": handler}) as url:
        error = await failed(url)

    assert isinstance(error, Transient)
    assert error.retry_after == 3600
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "1" + "0" * 18}, 86_400.0),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "٣"}, None),
        ({}, None),
        ({"retry-after": "Mon, 02 Mar 2026 09:00:30 GMT", "date": "Mon, 02 Mar 2026 09:00:00 GMT"}, 30.0),
        ({"retry-after": "Mon, 02 Mar 2026 08:00:00 GMT", "date": "Mon, 02 Mar 2026 09:00:00 GMT"}, 0.0),
        ({"retry-after": "Mon, 02 Mar 2026 09:00:30 GMT"}, None),
        ({"retry-after": "Mon, 02 Mar 2026 09:00:30 GMT", "date": "Mon, 02 Mar 2026 09:00:00 -0000"}, None),
    ],
)
def test_how_long_to_wait_is_read_as_a_number_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


# ---------------------------------------------------------------- waits and sizes


async def test_an_answer_that_does_not_come_is_not_waited_for() -> None:
    async def silent(_: web.Request) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    async with served({"/x": silent}) as url:
        error = await failed(url, Limits(idle=0.1, attempts=2, first_pause=0.01))

    assert isinstance(error, Transient)
    assert "in time" in str(error)


async def test_an_answer_that_drips_ends_with_the_whole_time() -> None:
    async def dripping(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(200):
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response

    async with served({"/x": dripping}) as url:
        error = await failed(url, Limits(idle=1, whole=0.4))

    assert isinstance(error, Transient)
    assert "within 0.4 seconds" in str(error)


async def test_half_an_answer_is_none() -> None:
    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"half": ')
        assert request.transport is not None
        request.transport.close()
        return response

    async with served({"/x": half}) as url:
        error = await failed(url)

    assert isinstance(error, Transient)


async def test_an_answer_without_end_is_cut_off() -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(1000):
            await response.write(b"x" * 10_000)
        return response

    async with served({"/x": endless}) as url:
        assert isinstance(await failed(url), Skip)


async def test_a_small_answer_that_unpacks_to_a_large_one_is_cut_off() -> None:
    packed = gzip.compress(b"0" * 20_000_000)

    async def bomb(_: web.Request) -> web.Response:
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    async with served({"/x": bomb}) as url:
        assert isinstance(await failed(url), Skip)


async def test_who_stops_asking_closes_the_connection() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow(_: web.Request) -> web.Response:
        begun.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.set()
            raise
        return web.Response()

    async with served({"/x": slow}) as url:
        asking = asyncio.create_task(post(url, Limits(idle=20)))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        async with asyncio.timeout(2):
            await ended.wait()

    assert ended.is_set()


async def test_nobody_at_the_address_is_an_error_that_may_pass() -> None:
    async with served({}) as url:
        pass
    error = await failed(url)

    assert isinstance(error, Transient)
    assert "reached" in str(error)


async def test_a_key_that_no_header_can_hold_is_a_person_s_turn_and_is_not_shown() -> None:
    handler, asked = answers(200)
    async with served({"/x": handler}) as url, Site("vendor", url, QUICK) as site:
        with pytest.raises(Stop) as caught:
            await site.get("x", headers={"Authorization": f"Bearer {SECRET}\r\nX-Other: 1"})

    assert SECRET not in "\n".join(words_of(caught.value))
    assert asked == []


# ---------------------------------------------------------------- where requests go


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_prompt_is_not_sent_on_to_another_address(status: int) -> None:
    handler, asked = answers(200)
    async with served({"/x": handler}) as elsewhere:

        async def onward(_: web.Request) -> web.Response:
            return web.Response(status=status, headers={"Location": f"{elsewhere}/x"})

        async with served({"/x": onward}) as url:
            error = await failed(url)

    assert isinstance(error, Stop)
    assert asked == []


async def test_a_redirect_within_the_site_is_followed_and_one_to_another_host_is_not() -> None:
    handler, asked = answers(200)
    async with served({"/x": handler}) as elsewhere:

        async def onward(_: web.Request) -> web.Response:
            return web.Response(status=302, headers={"Location": "/there"})

        async def away(_: web.Request) -> web.Response:
            return web.Response(status=302, headers={"Location": f"{elsewhere}/x"})

        async def round_and_round(_: web.Request) -> web.Response:
            return web.Response(status=302, headers={"Location": "/round"})

        routes = {"/x": onward, "/there": answers(200)[0], "/away": away, "/round": round_and_round}
        async with served(routes) as url, Site("vendor", url, QUICK) as site:
            followed = await site.get("x")
            for path in ("away", "round"):
                with pytest.raises(Stop):
                    await site.get(path)

    assert followed.ok
    assert asked == []


async def test_a_redirect_is_handed_back_where_it_is_not_to_be_followed() -> None:
    handler, asked = answers(200)

    async def onward(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "/there?signed"})

    async with served({"/x": onward, "/there": handler}) as url, Site("vendor", url, QUICK) as site:
        handed = await site.request("GET", "x", repeatable=True, follow=False)

    assert (handed.status, handed.headers["location"]) == (302, "/there?signed")
    assert asked == []


async def test_a_link_to_another_host_gets_no_key() -> None:
    async with Site("vendor", "https://vendor.example/api", QUICK) as site:
        for link in (
            "https://evil.example/api/x",
            "http://vendor.example/api/x",
            "https://vendor.example:8443/x",
            "https://vendor.example@evil.example/x",
            "https://user@vendor.example/x",
            "ftp://vendor.example/x",
            "https://[broken/x",
        ):
            with pytest.raises(Stop):
                await site.get(link, headers={"Authorization": SECRET})
        with pytest.raises(Stop):
            await site.get("../x")


@pytest.mark.parametrize(
    "address",
    [
        "http://vendor.example",
        "http://10.0.0.1",
        "https://user:secret@vendor.example",
        "https://vendor.example?x=1",
        "ftp://vendor.example",
        "vendor.example",
        "https://",
        "https://[::1",
    ],
)
def test_an_address_that_is_not_plain_https_is_refused(address: str) -> None:
    with pytest.raises(Stop):
        Site("vendor", address)


class Names(AbstractResolver):
    """Every name is at this address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(host)
        return [ResolveResult(hostname=host, host=self.address, port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        pass


async def test_a_configured_host_may_be_private_and_no_other_may() -> None:
    names = Names("127.0.0.1")
    limits = Limits(attempts=1, connect=0.5)
    async with Site("vendor", "https://vendor.internal:1", limits, names) as site:
        with pytest.raises(Transient):  # it was tried, and nobody listens there
            await site.get("x")
        with pytest.raises(Stop, match="private"):
            await site.fetch_elsewhere("https://downloads.example/x")

    assert names.asked == ["vendor.internal", "downloads.example"]


@pytest.mark.parametrize(
    "link",
    [
        "http://downloads.example/x",
        "https://169.254.169.254/latest",
        "https://[::ffff:169.254.169.254]/x",
        "https://[64:ff9b::a9fe:a9fe]/x",
        "https://2130706433/x",
        "https://0x7f000001/x",
        "https://127.1/x",
        "https://0177.0.0.1/x",
        "https://user@downloads.example/x",
        "http://127.0.0.1/x",
        "https://127.0.0.1/x",
        "http://localhost/x",
    ],
)
async def test_a_link_elsewhere_leads_to_the_open_internet_or_nowhere(link: str) -> None:
    async with Site("vendor", "https://vendor.example", Limits(attempts=1, connect=0.5), Names("10.1.2.3")) as site:
        with pytest.raises(Stop):
            await site.fetch_elsewhere(link)


async def test_a_link_elsewhere_at_the_site_s_own_place_is_fetched_without_its_headers() -> None:
    handler, asked = answers(200)
    async with served({"/x": handler}) as url, Site("vendor", url, QUICK) as site:
        answer = await site.fetch_elsewhere(f"{url}/x")

    assert answer.ok
    assert "Authorization" not in asked[0].headers


async def test_a_link_to_another_port_of_a_private_host_is_not_fetched() -> None:
    """What else listens there, an admin did not choose."""
    handler, asked = answers(200)
    async with served({"/x": handler}) as elsewhere, served({}) as url, Site("vendor", url, QUICK) as site:
        for link in (f"{elsewhere}/x", elsewhere.replace("127.0.0.1", "localhost") + "/x"):
            with pytest.raises(Stop, match="private"):
                await site.fetch_elsewhere(link)

    assert asked == []


async def test_a_name_that_is_private_is_reached_at_its_port_and_that_of_https_only() -> None:
    limits = Limits(attempts=1, connect=0.5)
    async with Site("vendor", "https://vendor.internal:1", limits, Names("127.0.0.1")) as site:
        for port in (1, 443):  # they were tried, and nobody speaks for vendor.internal there
            with pytest.raises(DoorError) as tried:
                await site.fetch_elsewhere(f"https://vendor.internal:{port}/x")
            assert "private" not in str(tried.value)
        with pytest.raises(Stop, match="private"):
            await site.fetch_elsewhere("https://vendor.internal:8443/x")


async def test_a_file_that_is_fetched_elsewhere_is_not_sent_on() -> None:
    handler, asked = answers(200)

    async def onward(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "/there"})

    routes = {"/x": onward, "/there": handler}
    async with served(routes) as url, Site("vendor", url, QUICK) as site:
        with pytest.raises(Stop):
            await site.fetch_elsewhere(f"{url}/x")

    assert asked == []


@pytest.mark.parametrize(
    "address",
    "127.0.0.1 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 240.0.0.1 255.255.255.255 "
    "192.0.2.1 ::1 :: fe80::1 fe80::1%eth0 fc00::1 fd00:ec2::254 fec0::1 ff02::1 ::ffff:10.0.0.1 ::7f00:1 "
    "64:ff9b::a9fe:a9fe 64:ff9b::7f00:1 64:ff9b:1::1 2002:a9fe:a9fe:: 2002:7f00:1:: 2001::1 2001:db8::1 localhost "
    "2130706433 x".split(),
)
def test_an_address_that_is_not_of_the_open_internet_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", "8.8.8.8 1.1.1.1 2606:4700::1111 64:ff9b::808:808 2002:808:808:: [2606:4700::1]".split()
)
def test_an_address_of_the_open_internet_is_public(address: str) -> None:
    assert is_public(address)


# ---------------------------------------------------------------- what came back


@pytest.mark.parametrize(
    ("body", "kind", "error"),
    [
        (b"<html>sign in</html>", "text/html; charset=utf-8", Stop),
        (b'{"half": ', "application/json", Transient),
        (b'{"x": NaN}', "application/json", Transient),
        (b'{"x": Infinity}', "application/json", Transient),
        (b"[" * 100_000, "application/json", Transient),
        (b'{"x": ' + b"9" * 10_000 + b"}", "application/json", Transient),
        (b"\xff\xfe", "application/json", Transient),
        (b"", "application/json", Transient),
    ],
)
def test_what_is_no_json_is_an_error_that_quotes_nothing(body: bytes, kind: str, error: type[DoorError]) -> None:
    answer = Answer("vendor", 200, {"content-type": kind}, body)
    with pytest.raises(error) as caught:
        answer.json()

    assert caught.value.__context__ is None
    assert "sign in" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, Stop),
        (401, Stop),
        (402, Stop),
        (403, Stop),
        (404, Stop),
        (413, Skip),
        (422, Stop),
        (429, Transient),
        (498, Stop),
        (499, Stop),
        (500, Transient),
        (501, Stop),
        (503, Transient),
        (504, Transient),
        (520, Transient),
        (302, Stop),
    ],
)
def test_every_status_is_somebodys_turn(status: int, error: type[DoorError]) -> None:
    assert type(refusal(Answer("vendor", status, {}, b""))) is error
