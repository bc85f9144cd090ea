"""Notifications of Graph: what is believed, and the subscriptions that they come from."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web

from connectors.ports import Event
from connectors.sources.sharepoint.hook import LONGEST, GraphHook, client_state, of_drive
from policies.names import DocumentId
from tests.doubles.sharepoint.state import Library
from tests.doubles.sharepoint.wire import status
from tests.doubles.web import served
from tests.sharepoint_house import Office

STATE = client_state("the app's key", "intranet")
HOOK = GraphHook(STATE)


def body(*states: object, resource: str = "drives/b!1/root") -> bytes:
    told = [{"clientState": state, "resource": resource, "changeType": "updated"} for state in states]
    return json.dumps({"value": told}).encode()


def test_what_carries_our_secret_is_about_its_library_and_closes_nothing() -> None:
    assert [Event(of_drive("b!1"), "updated", closes=False)] == HOOK.events({}, {}, body(STATE))
    assert [Event("", "updated", closes=False)] == HOOK.events({}, {}, body(STATE, resource="something else"))


@pytest.mark.parametrize(
    "said", [body("wrong"), body("wrong", None), body(None), body(), b"", b"[]", b"{", b'{"value": 7}', b"\xff"]
)
def test_what_does_not_prove_that_it_is_graph_is_nothing(said: bytes) -> None:
    assert HOOK.events({}, {}, said) is None


def test_of_one_request_each_source_takes_what_is_its_own() -> None:
    other = client_state("the app's key", "other")
    told = json.loads(body(STATE, "wrong", other))
    told["value"][2]["resource"] = "drives/b!2/root"
    written = json.dumps(told).encode()

    assert [each.key for each in HOOK.events({}, {}, written) or ()] == [of_drive("b!1")]
    assert [each.key for each in GraphHook(other).events({}, {}, written) or ()] == [of_drive("b!2")]


def test_the_secret_is_of_one_source_and_says_nothing_of_the_key() -> None:
    assert client_state("the app's key", "other") != STATE
    assert "key" not in STATE
    assert len(STATE) <= 128  # as Graph allows


def test_a_handshake_tells_nothing() -> None:
    assert HOOK.events({}, {"validationToken": "x"}, b"") == ()


@pytest.fixture
async def answered() -> AsyncIterator[str]:
    """An address that shakes hands."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=request.query["validationToken"], content_type="text/plain")

    async with served({"/webhooks/graph": answer}) as url:
        yield f"{url}/webhooks/graph"


async def test_a_library_has_one_subscription_that_is_renewed_at_half_of_its_life(here: Office, answered: str) -> None:
    house = here.house
    house.settings["notification_url"] = answered
    await house.sync()
    held = house.vendor.graph.subscriptions.all
    [first] = held.values()

    assert first.row["changeType"] == "updated"
    assert _ends(first.row) - house.now() <= LONGEST

    await house.sync()
    assert list(held) == [first.id]

    house.pause = LONGEST / 2
    await house.sync()
    assert list(held) == [first.id]
    assert _ends(first.row) - house.now() > LONGEST / 2

    house.pause = LONGEST + timedelta(days=1)
    held.clear()
    await house.sync()
    assert len(held) == 1


@pytest.mark.parametrize("what", ["certificate", "address"])
async def test_a_subscription_is_made_anew_with_what_it_is_believed_by(
    open_office: Callable[..., AbstractAsyncContextManager[Office]], answered: str, what: str
) -> None:
    async with open_office() as here:
        house = here.house
        house.settings["notification_url"] = answered
        await house.sync()
        held = house.vendor.graph.subscriptions.all
        [first] = list(held)
        if what == "address":
            house.settings["notification_url"] = f"{answered}?of=intranet"
        else:
            house.name = "renamed"  # the secret is of the source's name as it is of the certificate
        await house.sync()

    assert first not in held
    assert len(held) == 1


async def told(here: Office, library: Library) -> None:
    """Graph tells that something changed in a library."""
    async with here.house.far() as far:
        assert far.hook is not None
        state = client_state(here.house.vendor.pem, here.house.name)
        events = far.hook.events({}, {}, body(state, resource=f"drives/{library.drive}/root"))
    assert events
    await here.house.memory.told(events, here.house.now())


async def doubted(here: Office) -> bool:
    """Whether SharePoint is asked about the handbook before it is answered from."""
    async with here.house.far() as far:
        assert far.doubts is not None
        [document] = [DocumentId(here.house.name, each.key) async for each in here.house.memory.placed()]
        return document in await far.doubts([document])


@pytest.mark.parametrize("setting", ["sensitive", "all"])
async def test_a_revocation_that_graph_told_of_counts_at_the_next_question(here: Office, setting: str) -> None:
    """The document was open to everybody, and so not one that *sensitive* asks about; no sync has run since."""
    tenant, house = here.house.tenant, here.house
    house.settings["live_check"] = setting
    tenant.add(here.site.site_group("Visitors"), tenant.eeeu)
    await house.sync()
    [document] = [DocumentId(house.name, each.key) async for each in house.memory.placed()]
    assert not await doubted(here)

    tenant.break_inheritance(here.file, copy=False)
    await told(here, here.site.web.lists[0])
    assert await doubted(here)
    async with house.far() as far:
        assert far.live is not None
        assert await far.live.readable(here.asha.oid, [document], house.now()) == {document: False}

    await house.sync(hurried=False)
    assert await house.names(here.asha) == set()
    assert not await doubted(here)


async def test_what_graph_told_of_and_could_not_be_read_stays_told_of(here: Office) -> None:
    house = here.house
    await house.sync()
    await told(here, here.site.web.lists[0])
    house.vendor.fault("/root/delta", status(500))
    await house.sync(hurried=False)
    assert await doubted(here)

    house.vendor.mend()
    await house.sync(hurried=False)
    assert not await doubted(here)


async def test_more_notifications_than_are_kept_make_everything_doubtful(here: Office) -> None:
    await here.house.sync()
    await here.house.memory.told([Event("", "more than were kept", closes=False)], here.house.now())

    assert await doubted(here)


def _ends(row: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(row["expirationDateTime"].replace("Z", "+00:00")[:19]).replace(tzinfo=UTC)
