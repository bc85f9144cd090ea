"""Notifications of Graph: what is believed, and the subscriptions that they come from."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web

from connectors.ports import Event
from connectors.sources.sharepoint.hook import LONGEST, GraphHook, client_state, of_drive
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
    "said", [body("wrong"), body(STATE, "wrong"), body(None), body(), b"", b"[]", b"{", b'{"value": 7}', b"\xff"]
)
def test_what_does_not_prove_that_it_is_graph_is_nothing(said: bytes) -> None:
    assert HOOK.events({}, {}, said) is None


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


def _ends(row: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(row["expirationDateTime"].replace("Z", "+00:00")[:19]).replace(tzinfo=UTC)
