"""Far sources in the house: added after a look at them, opened where they are needed, synced, told of by events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from bot.hooks import LARGEST, Hooks
from bot.keeping import add_source, change_state, overview, state_of, sync_named
from bot.metrics import Metrics
from bot.settings import Settings, WrongSettings
from bot.web import Schedule, front, keep_in_sync
from bot.wiring import App, open_app
from connectors.errors import Stop
from connectors.ports import DirectoryTables, Finding, Membership, PersonRecord
from policies.names import DocumentId, Principal
from tests.blank import blank_data
from tests.bot.test_web import Quiet
from tests.doubles.far import Far, Told

SPACE = Principal.group("staff")
SECRET = {"secret": {"secret_file": "token"}}


class Clock:
    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def told() -> Told:
    far = Far()
    far.space("hr", "staff")
    far.page("home", "hr")
    far.page("pay", "home")
    return Told(far, everyone=frozenset([Principal("far:here:everyone")]))


@pytest.fixture
def time(now: datetime) -> Clock:
    return Clock(now)


@pytest.fixture
async def app(tmp_path: Path, time: Clock, told: Told) -> AsyncIterator[App]:
    (tmp_path / "token").write_text("s3cret\n")
    settings = Settings.read({"FOOTNOTE_DATA": blank_data(tmp_path / "data"), "FOOTNOTE_SYNC_EVERY": "1h"})
    kinds = {"far": told.open, "confluence": told.open, "sharepoint": told.open}
    async with open_app(settings, clock=time, far=kinds) as opened:
        yield opened


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return {"secret": {"secret_file": str(tmp_path / "token")}}


# ---------------------------------------------------------------- adding, and how it is doing


async def test_a_far_source_is_looked_at_before_it_is_added(app: App, told: Told, settings: dict[str, Any]) -> None:
    told.findings = (Finding("account", True), Finding("labels", False, "can't be read", "grant it", essential=False))
    added = await add_source(app.keeping, "wiki", "far", settings)

    assert (added["name"], added["kind"], added["state"]) == ("wiki", "far", "active")
    assert [(each["check"], each["ok"], each["fix"]) for each in added["findings"]] == [
        ("account", True, ""),
        ("labels", False, "grant it"),
    ]
    assert told.secrets == ["s3cret"]
    assert "s3cret" not in json.dumps([added, [each async for each in overview(app.keeping)]])


async def test_it_is_not_added_where_something_essential_is_missing(
    app: App, told: Told, settings: dict[str, Any]
) -> None:
    told.findings = (Finding("rights", False, "no rights can be read", "grant them"),)
    added = await add_source(app.keeping, "wiki", "far", settings)

    assert added["state"] == "refused"
    assert added["findings"][0]["problem"] == "no rights can be read"
    assert await app.keeping.sources.get("wiki") is None


async def test_it_is_not_added_where_its_secret_is_missing(app: App) -> None:
    with pytest.raises(WrongSettings, match="NO_SUCH_VARIABLE"):
        await add_source(app.keeping, "wiki", "far", {"secret": {"secret_env": "NO_SUCH_VARIABLE"}})
    assert await app.keeping.sources.get("wiki") is None


async def test_a_kind_that_nobody_knows_is_said_so(app: App) -> None:
    with pytest.raises(Stop, match="does not know"):
        await add_source(app.keeping, "wiki", "gopher", {})


async def test_show_tells_of_feeds_and_of_how_long_a_grant_may_be_stale(
    app: App, told: Told, time: Clock, settings: dict[str, Any]
) -> None:
    await add_source(app.keeping, "wiki", "far", settings)
    await sync_named(app.keeping, "wiki")
    time.at += timedelta(seconds=90)
    shown = await state_of(app.keeping, "wiki")

    assert shown["documents"] == 2
    assert shown["lag_seconds"] == 90
    assert shown["feeds"] == [
        {"feed": "changes", "every_seconds": 300, "last": None, "lag_seconds": None},
        {"feed": "sweep", "every_seconds": 14_400, "last": None, "lag_seconds": None},
    ]
    assert shown["stale_grant_bound_seconds"] == 86_400


async def test_show_and_list_work_while_the_system_is_away(
    app: App, told: Told, settings: dict[str, Any], tmp_path: Path
) -> None:
    await add_source(app.keeping, "wiki", "far", settings)
    (tmp_path / "token").unlink()

    assert (await state_of(app.keeping, "wiki"))["stale_grant_bound_seconds"] == 86_400
    assert [each["name"] async for each in overview(app.keeping)] == ["wiki"]
    with pytest.raises(WrongSettings, match="token"):
        await sync_named(app.keeping, "wiki")


async def test_a_person_hurries_a_sync_and_the_schedule_does_not(
    app: App, told: Told, settings: dict[str, Any]
) -> None:
    await add_source(app.keeping, "wiki", "far", settings)
    await sync_named(app.keeping, "wiki")
    await sync_named(app.keeping, "wiki", hurried=False)

    assert told.hurried == [True, True, False]


async def test_no_document_at_all_is_a_problem(app: App, told: Told, settings: dict[str, Any]) -> None:
    told.far.pages.clear()
    await add_source(app.keeping, "wiki", "far", settings)
    report = await sync_named(app.keeping, "wiki")

    assert not report["complete"]
    assert "no document" in report["problems"][-1]
    assert "no document" in (await state_of(app.keeping, "wiki"))["problems"][0]["reason"]


async def test_a_space_that_is_refused_is_closed_and_named(app: App, told: Told, settings: dict[str, Any]) -> None:
    told.far.space("it", "staff")
    told.far.page("servers", "it")
    await add_source(app.keeping, "wiki", "far", settings)
    await sync_named(app.keeping, "wiki")
    told.far.refusing.add("it")
    report = await sync_named(app.keeping, "wiki")
    shown = await state_of(app.keeping, "wiki")

    assert any("'it' is closed" in problem for problem in report["problems"])
    assert [each["document"] for each in shown["problems"]] == ["it"]
    assert await hidden(app, "servers")
    assert not await hidden(app, "pay")


async def hidden(app: App, key: str, source: str = "wiki") -> bool:
    resource = await app.facts.current(DocumentId(source, key))
    return resource is None or resource.hidden_by is not None


# ---------------------------------------------------------------- who people are


async def asha(app: App) -> None:
    record = PersonRecord("asha@example.com", "Asha", "member", True, (), {"far:here": "a1"})
    await app.people.replace(DirectoryTables((record,), {}, {}), app.clock())


async def test_somebody_is_what_a_source_says_from_when_it_was_added(
    app: App, told: Told, time: Clock, settings: dict[str, Any]
) -> None:
    await asha(app)
    told.accounts["a1"] = Membership(True, frozenset([SPACE]))
    who = Principal.person("asha@example.com")
    before = await app.directory.subject(who, time.at)
    await add_source(app.keeping, "wiki", "far", settings)
    time.at += timedelta(seconds=10)
    after = await app.directory.subject(who, time.at)
    at_large = await app.directory.everyone()
    await change_state(app.keeping, "wiki", "removed")
    time.at += timedelta(seconds=10)
    gone = await app.directory.subject(who, time.at)

    assert before is not None
    assert after is not None
    assert gone is not None
    assert [SPACE in each.principals for each in (before, after, gone)] == [False, True, False]
    assert at_large == {Principal("far:here:everyone")}
    assert told.open_now == 0


async def test_a_source_that_does_not_open_gives_nothing_and_is_tried_again(
    app: App, told: Told, time: Clock, settings: dict[str, Any], tmp_path: Path
) -> None:
    await asha(app)
    told.accounts["a1"] = Membership(True, frozenset([SPACE]))
    await add_source(app.keeping, "wiki", "far", settings)
    (tmp_path / "token").unlink()
    time.at += timedelta(seconds=10)
    shut = await app.directory.subject(Principal.person("asha@example.com"), time.at)
    (tmp_path / "token").write_text("new")
    time.at += timedelta(seconds=31)
    opened = await app.directory.subject(Principal.person("asha@example.com"), time.at)

    assert shut is not None
    assert opened is not None
    assert [SPACE in each.principals for each in (shut, opened)] == [False, True]


# ---------------------------------------------------------------- events


@asynccontextmanager
async def listening(app: App) -> AsyncIterator[tuple[TestClient[Any, Any], list[str], Quiet]]:
    woken: list[str] = []
    log = Quiet()
    hooks = Hooks(app.far, app.memory, app.clock, woken.append, log)
    async with TestClient(TestServer(front(None, hooks))) as client:
        yield client, woken, log


@pytest.fixture
async def wiki(app: App, time: Clock, settings: dict[str, Any]) -> App:
    for name, kind in (("wiki", "confluence"), ("sites", "sharepoint")):
        await add_source(app.keeping, name, kind, settings)
        await sync_named(app.keeping, name)
    time.at += timedelta(seconds=10)
    return app


GOOD = {"X-Far-Signature": "good"}


async def test_what_an_event_closes_is_closed_when_it_is_acknowledged(wiki: App, time: Clock) -> None:
    async with listening(wiki) as (client, woken, _):
        body = json.dumps([["pay", "restricted", True], ["home", "seen", False]])
        async with client.post("/webhooks/confluence/wiki", data=body, headers=GOOD) as answer:
            assert answer.status == 202

    assert await hidden(wiki, "pay")
    assert not await hidden(wiki, "home")
    assert not await hidden(wiki, "pay", "sites")
    assert woken == ["wiki"]
    hints = await wiki.memory("wiki").hints()
    assert [(hint.key, hint.what, hint.at) for hint in hints] == [
        ("pay", "restricted", time.at),
        ("home", "seen", time.at),
    ]


async def test_what_an_event_closed_is_opened_by_the_next_look_at_it(wiki: App, time: Clock) -> None:
    async with listening(wiki) as (client, _, _log):
        await client.post("/webhooks/confluence/wiki", data=json.dumps([["pay", "moved", True]]), headers=GOOD)
    time.at += timedelta(seconds=1)
    await sync_named(wiki.keeping, "wiki")

    assert not await hidden(wiki, "pay")


async def test_an_event_about_all_of_a_source_closes_all_of_it(wiki: App) -> None:
    async with listening(wiki) as (client, _, _log):
        await client.post("/webhooks/confluence/wiki", data=json.dumps([["", "permissions", True]]), headers=GOOD)

    assert await hidden(wiki, "pay")
    assert await hidden(wiki, "home")


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/webhooks/confluence/wiki", {}, 401),
        ("/webhooks/confluence/wiki", {"X-Far-Signature": "bad"}, 401),
        ("/webhooks/confluence/none", GOOD, 401),
        ("/webhooks/confluence/sites", GOOD, 401),
        ("/webhooks/graph", {}, 401),
        ("/webhooks/other", GOOD, 404),
    ],
)
async def test_what_proves_nothing_does_nothing(wiki: App, path: str, headers: dict[str, str], status: int) -> None:
    async with listening(wiki) as (client, woken, log):
        body = json.dumps([["pay", "forged words", True]])
        async with client.post(path, data=body, headers=headers) as answer:
            assert answer.status == status
            assert "forged" not in await answer.text()

    assert woken == []
    assert not await hidden(wiki, "pay")
    assert not await hidden(wiki, "pay", "sites")
    assert "forged" not in repr(log.said)


async def test_graph_tells_every_source_whose_event_it_is(wiki: App) -> None:
    body = json.dumps([["pay", "updated", False]])
    async with listening(wiki) as (client, woken, _), client.post("/webhooks/graph", data=body, headers=GOOD) as answer:
        assert answer.status == 202

    assert woken == ["sites"]


async def test_graph_is_shaken_hands_with(wiki: App) -> None:
    async with listening(wiki) as (client, _, _log):
        token = "Validation: <b>&+ü</b>"
        async with client.post("/webhooks/graph", params={"validationToken": token}) as answer:
            assert (answer.status, answer.content_type, await answer.text()) == (200, "text/plain", token)
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
        async with client.post("/webhooks/graph", params={"validationToken": "x" * 5000}) as answer:
            assert answer.status == 400


async def test_a_notification_that_is_too_large_is_refused(wiki: App) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(LARGEST // 50_000 + 1):
            yield b" " * 50_000

    path = "/webhooks/confluence/wiki"
    async with listening(wiki) as (client, woken, _), client.post(path, data=pieces(), headers=GOOD) as answer:
        assert answer.status == 413
    assert woken == []


async def test_an_event_has_its_source_looked_at_at_once(wiki: App) -> None:
    schedule, log = Schedule(), Quiet()
    running = asyncio.create_task(keep_in_sync(wiki, Metrics(), log, schedule))
    async with asyncio.timeout(60):
        while log.said.count("sync") < 2:  # noqa: ASYNC110 - nobody there sets an event
            await asyncio.sleep(0.02)
        schedule.wake("wiki")
        while log.said.count("sync") < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    running.cancel()
    await asyncio.wait([running])

    assert log.said == ["sync"] * 3
