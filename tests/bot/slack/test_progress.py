"""What is seen while somebody waits, what becomes of it, and Stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.slack import sentences
from bot.slack.incoming import Asked
from bot.slack.progress import Progress, Streams
from connectors.chat import Ended, Message
from tests.doubles.slack import TEAM, Said
from tests.doubles.slack_house import House, house
from tests.world import World

TRAVEL = "Which airfare needs approval?"
PAY = "What is the bonus of directors?"
ASHA, BEN, MARTA = "U0ASHA", "U0BEN", "U0MARTA"


class Slow:
    """A writer that waits until it is let go on."""

    def __init__(self, _world: World, writer: Any) -> None:
        self.writer = writer
        self.go = asyncio.Event()
        self.cancelled = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.writer, name)

    async def write(self, *args: Any) -> Any:
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return await self.writer.write(*args)


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[House]:
    slow: list[Slow] = []

    def made(world: World, writer: Any) -> Slow:
        slow.append(Slow(world, writer))
        return slow[-1]

    async with house(tmp_path, writer=made, streams=Streams(patience=0.0)) as opened:
        opened.heard = slow[0]
        yield opened
        slow[0].go.set()
        assert opened.slack.refused == []


async def until(done: Any) -> None:
    async with asyncio.timeout(60):
        while not done():  # noqa: ASYNC110  # what is watched is a list
            await asyncio.sleep(0.01)


async def begun(at: House, who: str = ASHA, text: str = TRAVEL) -> Said:
    """A question whose answer streams."""
    await at.send.event(at.slack.message(who, text))
    await until(lambda: at.slack.said and "Writing (in_progress)" in at.slack.said[-1].words)
    return at.slack.said[-1]


async def finished(at: House) -> None:
    at.heard.go.set()
    await at.settled()


async def test_tasks_are_shown_while_we_work_and_become_the_answer(at: House) -> None:
    shown = await begun(at)
    assert "Airfare" not in shown.words
    assert "Searching (complete)" in shown.words
    await finished(at)

    assert len(at.slack.said) == 1
    assert "Airfare above 500" in shown.words
    assert shown.mark is not None
    assert [status for *_, status in at.slack.sessions] == ["processing", "active"]


async def test_nothing_is_streamed_where_others_are(at: House) -> None:
    at.slack.channel("C1", ASHA, MARTA)
    await at.send.event(at.slack.mention(ASHA, "C1", PAY))
    await until(lambda: at.slack.sessions)
    await asyncio.sleep(0.2)
    assert at.slack.said == []
    await finished(at)

    assert at.slack.to("chat.startStream") == []
    assert at.slack.seen_by(MARTA) == []


async def test_a_stream_that_was_cut_after_five_minutes_becomes_the_answer_by_a_change(at: House) -> None:
    shown = await begun(at)
    at.slack.passed += 301
    await finished(at)

    assert len(at.slack.said) == 1
    assert "Airfare above 500" in shown.words
    assert len(at.slack.to("chat.update")) == 1


async def test_where_the_message_is_gone_the_answer_is_said_anew(at: House) -> None:
    shown = await begun(at)
    shown.deleted = True
    await finished(at)

    assert "Airfare above 500" in at.slack.said[-1].words
    assert len(at.slack.in_channel(shown.channel)) == 1


@pytest.mark.parametrize("error", ["unknown_method", "feature_not_enabled", "channel_type_not_supported"])
async def test_where_streams_are_not_to_be_had_there_is_a_plain_answer(at: House, error: str) -> None:
    at.slack.next("chat.startStream", 200, body={"ok": False, "error": error})
    at.heard.go.set()
    await at.ask(at.slack.message(ASHA, TRAVEL))
    await at.ask(at.slack.message(ASHA, TRAVEL))

    assert ["Airfare above 500" in each.words for each in at.slack.said] == [True, True]


async def test_an_unknown_method_is_not_asked_for_again(at: House) -> None:
    at.slack.next("chat.startStream", 200, body={"ok": False, "error": "unknown_method"})
    for _ in range(2):
        at.heard.go.clear()
        before = len(at.slack.said)
        await at.send.event(at.slack.message(ASHA, TRAVEL))
        await until(lambda: at.slack.to("chat.startStream"))
        await asyncio.sleep(0.1)
        await finished(at)
        assert len(at.slack.said) == before + 1

    assert len(at.slack.to("chat.startStream")) == 1


async def test_stop_ends_the_work_and_is_confirmed(at: House) -> None:
    shown = await begun(at)
    await at.send.event(at.slack.stops(ASHA, shown.channel, str(shown.thread)))
    await at.settled()

    assert at.heard.cancelled == 1
    assert [each.words for each in at.slack.in_channel(shown.channel)] == [sentences.STOPPED]
    assert at.slack.sessions[-1][2] == "active"


async def test_stop_that_another_process_was_told_of_is_met_at_the_stream(at: House) -> None:
    shown = await begun(at)
    at.slack.stops(ASHA, shown.channel, str(shown.thread))  # told to nobody here
    await finished(at)

    assert [each.words for each in at.slack.in_channel(shown.channel)] == [sentences.STOPPED]


class Cut:
    """A chat whose streams end when something is added to them: the asker pressed Stop."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.stands: list[str] = []

    async def begin_stream(self, *_: Any) -> str:
        return "1.1"

    async def stream(self, *_: Any) -> None:
        self.ended.set()
        raise Ended("slack did not do chat.appendStream (stopped_by_user)", stopped=True)

    async def change(self, _channel: str, _ts: str, message: Message) -> None:
        self.stands.append(message.text)

    async def status(self, *_: Any) -> None:
        """Nothing is shown."""

    working = status


async def test_stop_that_is_met_when_the_work_is_done_already_counts_all_the_same() -> None:
    chat, asked = Cut(), Asked((), ASHA, TEAM, "direct", "D0ASHA", TRAVEL, "1.0")
    progress = Progress(chat, asked, Streams(patience=0.0), stop=lambda: False)  # type: ignore[arg-type]
    progress.begin(alone=True)
    progress.told("search")
    await chat.ended.wait()

    assert await progress.finish(Message("Airfare above 500 needs approval.", mark="m1")) == "1.1"
    assert chat.stands == [sentences.STOPPED]


async def test_nobody_else_stops_it(at: House) -> None:
    shown = await begun(at)
    stop = at.slack.stops(MARTA, shown.channel, str(shown.thread))
    shown.streaming, shown.stopped = True, False  # Slack shows him no such button; the event may be forged
    await at.send.event(stop)
    await finished(at)

    assert "Airfare above 500" in shown.words


async def test_a_command_and_a_failing_status_show_nothing_and_lose_nothing(at: House) -> None:
    at.slack.next("assistant.threads.setStatus", *[200] * 9, body={"ok": False, "error": "internal_error"})
    at.slack.next("agents.sessions.setStatus", *[200] * 9, body={"ok": False, "error": "not_agent_app"})
    at.heard.go.set()
    await at.send.form(at.slack.command(ASHA, TRAVEL))
    await at.ask(at.slack.message(ASHA, TRAVEL))

    assert len(at.slack.answers[ASHA]) == 1
    assert "Airfare above 500" in at.slack.said[-1].words


async def test_an_error_while_it_streams_takes_the_tasks_away_and_tells_a_sentence(at: House) -> None:
    shown = await begun(at)

    async def broken(*_: Any) -> Any:
        raise RuntimeError("SECRET at 10.0.0.7")

    at.heard.writer.write = broken
    await finished(at)

    assert "SECRET" not in at.slack.everything() + str(at.log)
    assert len(at.slack.in_channel(shown.channel)) == 1
    assert "right now" in at.slack.in_channel(shown.channel)[0].words
