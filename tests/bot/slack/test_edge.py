"""The edge: what comes in, what is refused, and that each thing asked is answered once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest

from bot.slack import intake, sentences
from bot.slack.desk import Desk
from bot.slack.edge import LARGEST, LIMITS
from bot.slack.incoming import Asked
from bot.slack.intake import Intake
from connectors.chat import MostWaiting, Workspace
from tests.doubles.slack import OUR_BOT, OUR_USER, TEAM, FakeSlack
from tests.doubles.slack_house import House, Log, house, settled
from tests.policies.given import NOW

TRAVEL = "Which airfare needs approval?"
ASHA, MARTA = "U0ASHA", "U0MARTA"
US = Workspace(TEAM, OUR_USER)
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as opened:
        yield opened
        assert opened.slack.refused == []


# ---------------------------------------------------------------- whose request it is


async def test_every_failure_of_the_signature_is_a_bare_401(at: House) -> None:
    body = json.dumps(at.slack.message(ASHA, TRAVEL)).encode()
    now = at.world.at.timestamp()
    good = at.send.headers(body)
    stamp = good["X-Slack-Request-Timestamp"]
    wrong: list[dict[str, str]] = [
        {},
        {"X-Slack-Request-Timestamp": stamp},
        {"X-Slack-Signature": good["X-Slack-Signature"]},
        {**good, "X-Slack-Signature": ""},
        {**good, "X-Slack-Signature": good["X-Slack-Signature"][:-1]},
        {**good, "X-Slack-Signature": good["X-Slack-Signature"].upper()},
        {**good, "X-Slack-Signature": "v0=" + "0" * 64},
        {**good, "X-Slack-Request-Timestamp": str(int(stamp) + 1)},
        {**good, "X-Slack-Request-Timestamp": "soon"},
        {**good, "X-Slack-Request-Timestamp": "-5"},
        {**good, "X-Slack-Request-Timestamp": "9" * 400},
        {**good, "X-Slack-Request-Timestamp": "١٧"},
        at.send.headers(body, now - 301),
        at.send.headers(body, now + 302),
        {**at.send.headers(body + b" ")},
        {**good, "Content-Encoding": "identity"},
    ]
    for headers in wrong:
        assert await at.send.raw(body, {**JSON, **headers}) == (401, ""), headers

    assert at.result("not slack's") == len(wrong)
    assert await at.open_letters() == 0
    assert "airfare" not in str(at.log)


async def test_broken_content_is_judged_after_the_signature(at: House) -> None:
    for body in (b"{", b"[]", b'{"type": "event_callback"}', b"null", b"[" * 100_000):
        assert await at.send.raw(body, JSON) == (401, "")
        assert await at.send.raw(body, {**JSON, **at.send.headers(body)}) == (400, "")
    for kind in ("text/plain", "multipart/form-data; boundary=x", ""):
        body = b"command=%2Ffootnote"
        assert (await at.send.raw(body, {"Content-Type": kind, **at.send.headers(body)}))[0] == 400


async def test_a_huge_body_is_refused_before_it_is_read(at: House) -> None:
    body = b"x" * (LARGEST + 1)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 100_000

    assert (await at.send.raw(body, {**JSON, **at.send.headers(body)}))[0] == 413
    assert (await at.send.raw(pieces(), JSON))[0] == 413  # type: ignore[arg-type]


async def test_the_address_is_proven_to_slack_only_with_a_signature(at: House) -> None:
    body = json.dumps({"type": "url_verification", "token": "x", "challenge": "3eZbrw1aB"}).encode()

    assert await at.send.raw(body, JSON) == (401, "")
    status, text = await at.send.raw(body, {**JSON, **at.send.headers(body)})
    assert (status, json.loads(text)) == (200, {"challenge": "3eZbrw1aB"})
    assert await at.send.form({"ssl_check": "1", "token": "x"}) == (200, "")
    unsigned = urlencode({"ssl_check": "1"}).encode()
    assert await at.send.raw(unsigned, {"Content-Type": "application/x-www-form-urlencoded"}) == (401, "")


# ---------------------------------------------------------------- once


async def test_deliveries_again_and_again_are_answered_once(at: House) -> None:
    delivery = at.slack.message(ASHA, TRAVEL, client_msg_id="5a1c-77")
    await asyncio.gather(*(at.send.event(delivery, retry=number) for number in range(4)))
    await at.settled()
    await at.send.event(delivery, retry=3)
    await at.settled()

    assert len(at.slack.said) == 1
    assert at.send.results == {200: 5}


async def test_a_repetition_that_is_the_first_to_arrive_is_answered(at: House) -> None:
    await at.send.event(at.slack.message(ASHA, TRAVEL), retry=1)
    await at.settled()

    assert len(at.slack.said) == 1


@pytest.mark.parametrize("order", ["message first", "mention first", "together"])
async def test_a_mention_that_comes_as_a_message_too_is_answered_once(at: House, order: str) -> None:
    at.slack.channel("C1", ASHA, MARTA)
    mention = at.slack.mention(ASHA, "C1", TRAVEL)
    both = [at.slack.twin(mention), mention]
    if order == "together":
        await asyncio.gather(*map(at.send.event, both))
    else:
        for each in both if order == "message first" else reversed(both):
            await at.send.event(each)
            await at.settled()
    await at.settled()

    assert len(at.slack.said) == 1


async def test_a_direct_message_that_comes_under_two_events_is_answered_once(at: House) -> None:
    first = at.slack.message(ASHA, TRAVEL, client_msg_id="m-1")
    again = at.slack.delivery(first["event"])
    later = at.slack.delivery({**first["event"], "ts": at.slack.ts()})  # one gesture, two messages
    for each in (first, again, later):
        await at.send.event(each)
    await at.settled()

    assert len(at.slack.said) == 1


async def test_a_replayed_request_changes_nothing(at: House) -> None:
    for body, kind in (
        (json.dumps(at.slack.message(ASHA, TRAVEL)).encode(), "application/json"),
        (urlencode(at.slack.command(ASHA, TRAVEL)).encode(), "application/x-www-form-urlencoded"),
    ):
        headers = {"Content-Type": kind, **at.send.headers(body)}
        for _ in range(3):
            assert (await at.send.raw(body, headers))[0] == 200
        await at.settled()

    assert len(at.slack.said) == 1
    assert len(at.slack.answers[ASHA]) == 1


# ---------------------------------------------------------------- the gate


@pytest.mark.parametrize(
    "event",
    [
        {"subtype": "message_changed"},
        {"subtype": "message_deleted"},
        {"subtype": "bot_message"},
        {"subtype": "channel_join"},
        {"subtype": "thread_broadcast"},
        {"edited": {"user": ASHA, "ts": "1"}},
        {"hidden": True},
        {"bot_id": "B0OTHER"},
        {"bot_profile": {"id": "B0OTHER"}},
        {"app_id": "A0OTHER"},
        {"user": OUR_USER, "bot_id": OUR_BOT},
        {"user": OUR_USER},
        {"channel_type": "channel"},
        {"channel_type": "group"},
        {"type": "reaction_added"},
        {"type": "member_joined_channel"},
    ],
)
async def test_t070_what_nobody_addressed_to_us_is_let_pass(at: House, event: dict[str, Any]) -> None:
    delivery = at.slack.message(ASHA, TRAVEL)
    delivery["event"] |= event

    assert await at.send.event(delivery) == (200, "")
    assert await at.open_letters() == 0
    assert at.result("ignored") == 1


async def test_another_workspace_is_not_answered(at: House) -> None:
    delivery = at.slack.message(ASHA, TRAVEL)
    await at.send.event({**delivery, "authorizations": [{"team_id": "T0OTHER"}]})
    await at.send.event({**delivery, "authorizations": [], "team_id": "T0OTHER"})
    await at.send.form({**at.slack.command(ASHA, TRAVEL), "team_id": "T0OTHER"})

    assert at.result("ignored") == 3
    assert await at.open_letters() == 0


async def test_an_outer_team_of_another_organisation_does_not_matter(at: House) -> None:
    await at.ask({**at.slack.message(ASHA, TRAVEL), "team_id": "T0OTHER"})

    assert len(at.slack.said) == 1


async def test_interactivity_is_acknowledged(at: House) -> None:
    payload = json.dumps({"type": "block_actions", "user": {"id": ASHA}, "actions": []})

    assert await at.send.form({"payload": payload}) == (200, "")
    assert (await at.send.form({"payload": "{"}))[0] == 400


# ---------------------------------------------------------------- limits and trouble


async def test_somebody_with_many_questions_waiting_is_told_so_alone(at: House) -> None:
    held = asyncio.Event()
    at.slack.on_call = lambda method, _: held.wait() if method == "assistant.threads.setStatus" else None
    at.slack.channel("C1", ASHA, MARTA)
    mentions = [at.slack.mention(ASHA, "C1", TRAVEL) for _ in range(LIMITS.person + 2)]
    for each in mentions:
        assert await at.send.event(each) == (200, "")
    assert await at.send.event(mentions[-1], retry=1) == (200, "")
    async with asyncio.timeout(5):
        while len(at.slack.said) < 2:  # noqa: ASYNC110  # what is watched is a list
            await asyncio.sleep(0.01)
    told = [(each.words, each.to) for each in at.slack.said]
    _, body = await at.send.form(at.slack.command(ASHA, TRAVEL))
    held.set()
    at.slack.on_call = None
    await at.settled()

    assert told == [(sentences.PERSON_FULL, ASHA)] * 2
    assert sentences.PERSON_FULL in json.loads(body)["text"]
    assert len(at.slack.said) == LIMITS.person + 2


async def test_who_is_turned_away_is_told_so_also_after_an_error_of_slacks_and_once(tmp_path: Path) -> None:
    async with house(tmp_path, limits=MostWaiting(person=0, workspace=9)) as at:
        at.slack.channel("C1", ASHA, MARTA)
        at.slack.next("chat.postEphemeral", 500)
        at.slack.lost = ["chat.postMessage"]
        await at.send.event(at.slack.mention(ASHA, "C1", TRAVEL))
        await at.send.event(at.slack.message(MARTA, TRAVEL))
        await settled(at)

        told = {(each.channel, each.to, each.words) for each in at.slack.said}
        assert told == {("C1", ASHA, sentences.PERSON_FULL), (at.slack.direct(MARTA), None, sentences.PERSON_FULL)}
        assert len(at.slack.said) == 2


async def test_before_it_is_known_who_we_are_a_command_is_told_so(tmp_path: Path) -> None:
    slack = FakeSlack()
    slack.next("auth.test", *[503] * 6)
    async with house(tmp_path, slack) as at:
        status, body = await at.send.form(at.slack.command(ASHA, TRAVEL))

        assert (status, json.loads(body)["response_type"]) == (200, "ephemeral")
        assert "again in a minute" in json.loads(body)["text"]
        assert at.result("busy") == 1


async def test_what_slack_and_the_ledger_take_together_is_within_one_deadline() -> None:
    class Slow:
        async def workspace(self) -> Workspace:
            return US

        async def receive(self, *_given: object, **_more: object) -> str:
            await asyncio.sleep(30)
            return "accepted"

    at_the_desk = Desk(Slow(), Slow(), lambda: NOW, Log())  # type: ignore[arg-type]
    made = Intake(Slow(), Slow(), at_the_desk, None, lambda: NOW)  # type: ignore[arg-type]
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with asyncio.timeout(10):  # a third of what it would take otherwise
        us = await made.us(began + 0.5)
        reply = await made.take(Asked(("k",), ASHA, US.team, "direct", "D1", TRAVEL), us, began + 0.5)

    assert (us, reply.acknowledged) == (US, False)


async def test_where_too_much_is_done_beside_the_letters_slack_is_told_that_it_did_not_work(
    at: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "_AT_ONCE", 3)
    held = asyncio.Event()
    at.slack.on_call = lambda method, _: held.wait() if method == "views.open" else None
    shortcuts = [await at.send.form(at.slack.about(ASHA, "C1", TRAVEL)) for _ in range(4)]
    held.set()

    assert shortcuts == [*[(200, "")] * 3, (503, "")]


async def test_a_ledger_that_is_away_makes_slack_deliver_again(at: House, tmp_path: Path) -> None:
    import sqlite3

    blocking = sqlite3.connect(tmp_path / "letters.sqlite", isolation_level=None)
    blocking.execute("BEGIN IMMEDIATE")
    delivery = at.slack.message(ASHA, TRAVEL)
    loop = asyncio.get_running_loop()
    began = loop.time()
    refused, (status, told) = await asyncio.gather(
        at.send.event(delivery), at.send.form(at.slack.command(MARTA, TRAVEL))
    )
    took = loop.time() - began
    blocking.execute("ROLLBACK")
    blocking.close()

    assert refused == (503, "")
    assert at.result("busy") == 2
    assert status == 200
    assert "again in a minute" in told
    assert took < 2.9
    assert await at.send.event(delivery, retry=1) == (200, "")
    await at.settled()
    assert len([each for each in at.slack.said if each.channel == at.slack.direct(ASHA)]) == 1


async def test_before_slack_told_us_who_we_are_events_are_refused_and_come_again(tmp_path: Path) -> None:
    slack = FakeSlack()
    slack.next("auth.test", *[503] * 6)
    async with house(tmp_path, slack) as at:
        delivery = at.slack.message(ASHA, TRAVEL)
        body = json.dumps(delivery).encode()
        async with (
            aiohttp.ClientSession() as session,
            session.post(
                f"{at.send.address}/slack/events", data=body, headers={**JSON, **at.send.headers(body)}
            ) as told,
        ):
            refused = told.status, await told.text(), told.headers.get("Retry-After")
        await at.ask(delivery)

        assert refused == (503, "", "5")
        assert len(at.slack.said) == 1


async def test_a_token_that_is_not_good_stops_at_the_start(tmp_path: Path) -> None:
    from connectors.errors import Stop

    slack = FakeSlack()
    slack.next("auth.test", 200, body={"ok": False, "error": "token_revoked"})
    with pytest.raises(Stop, match="FOOTNOTE_SLACK_BOT_TOKEN"):
        async with house(tmp_path, slack):
            pass
