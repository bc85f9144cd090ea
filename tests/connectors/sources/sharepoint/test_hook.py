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
from connectors.sources.sharepoint.hook import LONGEST, GraphHook, client_state, of_drive, of_list
from policies.names import DocumentId
from tests.doubles.sharepoint.state import Item, Library
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


LIST = "5a1b2c3d-0000-4000-8000-00000000000e"


@pytest.mark.parametrize(
    "resource",
    [
        f"sites/contoso.example,1,2/lists/{LIST}",
        f"/sites/contoso.example,1,2/lists/{{{LIST.upper()}}}",
        f"sites/contoso.example:/sites/hr:/lists/{LIST}",
        LIST,
    ],
)
def test_an_event_of_a_list_is_about_it_in_each_form_that_it_is_named_in(resource: str) -> None:
    assert [Event(of_list(LIST), "updated", closes=False)] == HOOK.events({}, {}, body(STATE, resource=resource))


@pytest.mark.parametrize(
    "resource", [f"sites/x/lists/{LIST}/items/1", f"{LIST}x", "sites/x/lists/", "", f"lists/{LIST}"]
)
def test_an_event_that_names_nothing_known_is_about_everything(resource: str) -> None:
    assert [Event("", "updated", closes=False)] == HOOK.events({}, {}, body(STATE, resource=resource))


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


async def test_what_is_read_has_one_subscription_each_that_is_renewed_at_half_of_its_life(
    here: Office, answered: str
) -> None:
    house = here.house
    house.settings["notification_url"] = answered
    library, pages, _ = here.site.web.lists
    tasks = house.tenant.library(here.site.web, "Tasks", template=100)
    house.tenant.library(here.site.web, "Not searched", template=100).no_crawl = True
    await house.sync()
    held = house.vendor.graph.subscriptions.all
    first = list(held.values())

    assert {each.library.id: each.security for each in first} == {library.id: True, pages.id: False, tasks.id: False}
    assert len(first) == 3
    assert all(each.row["changeType"] == "updated" for each in first)
    assert all(_ends(each.row) - house.now() <= LONGEST for each in first)

    await house.sync()
    assert list(held.values()) == first

    house.pause = LONGEST / 2
    await house.sync()
    assert list(held.values()) == first
    assert all(_ends(each.row) - house.now() > LONGEST / 2 for each in first)

    tasks.no_crawl = True
    house.pause = LONGEST + timedelta(days=1)
    held.clear()
    await house.sync()
    assert {each.library.id for each in held.values()} == {library.id, pages.id}


async def test_a_subscription_that_is_refused_is_told_of_in_each_run_and_asked_for_once_a_day(
    here: Office, answered: str
) -> None:
    """As Graph refuses those of lists to apps that may not write."""
    house = here.house
    house.settings["notification_url"] = answered
    house.vendor.fault("POST .*subscriptions", status(403))
    for pause, asks in ((timedelta(minutes=1), True), (timedelta(hours=1), False), (timedelta(hours=24), True)):
        house.pause = pause
        house.vendor.count.clear()
        report = await house.sync()

        assert report.complete
        assert any("is not going to tell of changes in a list" in each for each in report.problems)
        assert any("subscriptions" in each for each in house.vendor.count.asked) is asks
    house.vendor.mend()
    house.pause = timedelta(hours=25)
    assert not (await house.sync()).problems


@pytest.mark.parametrize("what", ["certificate", "address"])
async def test_a_subscription_is_made_anew_with_what_it_is_believed_by(
    open_office: Callable[..., AbstractAsyncContextManager[Office]], answered: str, what: str
) -> None:
    async with open_office() as here:
        house = here.house
        house.settings["notification_url"] = answered
        await house.sync()
        held = house.vendor.graph.subscriptions.all
        first = set(held)
        if what == "address":
            house.settings["notification_url"] = f"{answered}?of=intranet"
        else:
            house.name = "renamed"  # the secret is of the source's name as it is of the certificate
        await house.sync()

    assert not first & held.keys()
    assert len(held) == len(first) == 2


@pytest.mark.parametrize("what", ["page", "item"])
async def test_a_change_in_a_list_that_graph_told_of_is_doubted_until_the_next_run_has_read_it(
    here: Office, answered: str, what: str
) -> None:
    house, tenant, web = here.house, here.house.tenant, here.site.web
    house.settings |= {"notification_url": answered, "live_check": "sensitive"}
    tasks = tenant.library(web, "Tasks", template=100)
    page = tenant.page(web, "Home", "<p>first words</p>")
    item = tenant.item(tasks, Title="first words")
    changed, other = (page, item) if what == "page" else (item, page)
    await house.sync()
    assert not await delivered(here)

    if what == "page":
        tenant.edit(page, "<p>second words</p>")
    else:
        tenant.delete(item)
    assert await delivered(here) == 1
    assert [await doubted(here, each) for each in (changed, other, here.file)] == [True, False, False]

    house.vendor.count.clear()
    await house.sync(hurried=False)
    assert [await doubted(here, each) for each in (changed, other, here.file)] == [False, False, False]
    assert changed.unique_id not in await house.alive() if what == "item" else house.stored("second words")
    read = [each for each in house.vendor.count.asked if "/items?" in each]
    assert read
    assert all(changed.library.id in each for each in read)


async def test_a_list_that_graph_told_of_and_could_not_be_read_stays_told_of(here: Office) -> None:
    house, web = here.house, here.site.web
    page = house.tenant.page(web, "Home", "<p>words</p>")
    await house.sync()
    await told(here, f"sites/x/lists/{page.library.id}")
    house.vendor.fault(page.library.id, status(500))
    await house.sync(hurried=False)
    assert await doubted(here, page)

    house.vendor.mend()
    await house.sync(hurried=False)
    assert not await doubted(here, page)


async def delivered(here: Office) -> int:
    """How many events Graph has for us now; they are taken in."""
    async with here.house.far() as far:
        assert far.hook is not None
        bodies = [json.dumps(said).encode() for _, said in here.house.vendor.graph.subscriptions.due()]
        events = [event for said in bodies for event in far.hook.events({}, {}, said) or ()]
    await here.house.memory.told(events, here.house.now())
    return len(events)


async def told(here: Office, resource: Library | str) -> None:
    """Graph tells that something changed in a library."""
    if isinstance(resource, Library):
        resource = f"drives/{resource.drive}/root"
    async with here.house.far() as far:
        assert far.hook is not None
        state = client_state(here.house.vendor.pem, here.house.name)
        events = far.hook.events({}, {}, body(state, resource=resource))
    assert events
    await here.house.memory.told(events, here.house.now())


async def doubted(here: Office, item: Item | None = None) -> bool:
    """Whether SharePoint is asked about this, or the handbook, before it is answered from."""
    placed = [DocumentId(here.house.name, each.key) async for each in here.house.memory.placed()]
    known = {document for document in placed if document.key.endswith((item or here.file).unique_id)}
    async with here.house.far() as far:
        assert far.doubts is not None
        return bool(known) and known == set(await far.doubts(sorted(known, key=str)))


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
