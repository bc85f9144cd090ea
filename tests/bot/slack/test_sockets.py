"""Socket Mode: the same questions, without an address of our own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.slack import sentences
from bot.slack.sockets import CONNECTIONS
from connectors.errors import Stop
from connectors.slack_socket import SlackSocket
from tests.doubles.slack import APP_TOKEN, FakeSlack
from tests.doubles.slack_house import House, house

TRAVEL = "Which airfare needs approval?"
ASHA, MARTA = "U0ASHA", "U0MARTA"


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path, socket=True) as opened:
        await opened.slack.sockets.connected(CONNECTIONS)
        yield opened
        assert opened.slack.refused == []


async def test_an_event_is_acknowledged_once_it_is_kept_and_answered_once(at: House) -> None:
    delivery = at.slack.message(ASHA, TRAVEL)
    for retry in range(3):
        assert await at.slack.sockets.send("events_api", delivery, retry=retry) is not None
    await at.settled()

    assert len(at.slack.said) == 1
    assert "Airfare above 500" in at.slack.said[0].words
    assert at.result("twice") == 2


async def test_the_same_event_over_both_ways_is_one(at: House) -> None:
    delivery = at.slack.message(ASHA, TRAVEL)
    await at.send.event(delivery)
    await at.slack.sockets.send("events_api", delivery)
    await at.settled()

    assert len(at.slack.said) == 1


async def test_a_command_is_answered_with_its_acknowledgement_and_then_alone(at: House) -> None:
    ack = await at.slack.sockets.send("slash_commands", at.slack.command(ASHA, "what is a payload limit for airfare"))
    helped = await at.slack.sockets.send("slash_commands", at.slack.command(ASHA, "help"))
    await at.settled()

    assert ack is not None
    assert ack["payload"]["text"] == sentences.COMMAND_TAKEN
    assert helped is not None
    assert "direct message" in helped["payload"]["text"]
    assert len(at.slack.answers[ASHA]) == 1


async def test_a_press_comes_over_the_line_too(at: House) -> None:
    import json

    await at.slack.sockets.send("events_api", at.slack.message(ASHA, TRAVEL))
    await at.settled()
    form = at.slack.press(ASHA, at.slack.said[0], "delete")
    assert await at.slack.sockets.send("interactive", json.loads(form["payload"])) is not None
    await at.settled()

    assert at.slack.said[0].deleted


async def test_what_is_broken_is_acknowledged_so_that_it_does_not_come_for_ever(at: House) -> None:
    broken: list[tuple[str, Any]] = [("events_api", {"type": "event_callback"}), ("odd", {}), ("interactive", {})]
    for kind, payload in broken:
        assert await at.slack.sockets.send(kind, payload) is not None
    for text in ("{", "[]", '{"type": "x"}', '{"envelope_id": 5}'):
        await at.slack.sockets.raw(text)
    await at.slack.sockets.send("events_api", at.slack.message(ASHA, TRAVEL))
    await at.settled()

    assert len(at.slack.said) == 1


async def test_a_line_that_slack_renews_or_that_breaks_is_opened_again(at: House) -> None:
    opened = at.slack.sockets.opened
    await at.slack.sockets.disconnect("refresh_requested")
    await at.slack.sockets.connected(CONNECTIONS)
    await at.slack.sockets.send("events_api", at.slack.message(ASHA, TRAVEL))
    await at.slack.sockets.close()
    await at.slack.sockets.connected(CONNECTIONS)
    await at.slack.sockets.send("events_api", at.slack.message(MARTA, TRAVEL))
    await at.settled()

    assert at.slack.sockets.opened >= opened + 2 * CONNECTIONS
    assert len(at.slack.said) == 2


async def test_while_the_ledger_is_away_nothing_is_acknowledged(at: House) -> None:
    delivery = at.slack.message(ASHA, TRAVEL)
    async with at.ledger.door.write():  # nobody else can write meanwhile
        assert await at.slack.sockets.send("events_api", delivery, seconds=2.8) is None
    assert await at.slack.sockets.send("events_api", delivery, retry=1) is not None
    await at.settled()

    assert len(at.slack.said) == 1


@pytest.mark.parametrize("url", ["wss://evil.example/x", "ws://wss.slack.com/x", "https://127.0.0.1/x", "no"])
async def test_an_address_that_is_not_slacks_is_not_gone_to(url: str) -> None:
    slack = FakeSlack()
    slack.next("apps.connections.open", 200, body={"ok": True, "url": url})
    async with slack.open() as api, SlackSocket(api, APP_TOKEN) as door:
        with pytest.raises(Stop, match="not its own"):
            await door.address()


async def test_a_wrong_token_is_told_without_it() -> None:
    slack = FakeSlack()
    async with slack.open() as api, SlackSocket(api, "xapp-wrong") as door:
        with pytest.raises(Stop) as told:
            await door.address()

    assert "xapp" not in str(told.value)
