"""Each thing asked is answered once, also when it ended between posting and knowing that it was posted. An answer of
Slack's that never arrives leaves the same doubt as a kill there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import update

from bot.slack import sentences
from bot.slack.blocks import sentence
from bot.slack.progress import Streams
from connectors.chat import Task
from connectors.ledger.tables import letters
from connectors.slack import SlackWeb
from tests.doubles.slack import TOKEN, Said, shown
from tests.doubles.slack_house import HURRIED, House, house, settled

TRAVEL = "Which airfare needs approval?"
PAY = "What is the bonus of directors?"
ASHA, BEN, MARTA = "U0ASHA", "U0BEN", "U0MARTA"


@pytest.fixture(params=["plain", "streamed"])
async def at(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[House]:
    streams = Streams(patience=0.0) if request.param == "streamed" else None
    async with house(tmp_path, streams=streams) as opened:
        yield opened
        assert opened.slack.refused == []


def with_answer(at: House, channel: str, words: str) -> list[Said]:
    return [each for each in at.slack.in_channel(channel) if words in each.words]


async def test_in_a_direct_message_it_is_found_and_not_said_again(at: House) -> None:
    at.slack.lost = ["chat.postMessage", "chat.stopStream"]
    await at.send.event(at.slack.message(ASHA, PAY))
    await settled(at)

    assert len(with_answer(at, at.slack.direct(ASHA), "seven months")) == 1
    assert len(at.slack.in_channel(at.slack.direct(ASHA))) == 1


async def test_who_has_his_answer_is_not_told_that_there_is_none(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        at.slack.lost = ["chat.postMessage"]
        await at.send.event(at.slack.message(ASHA, PAY))
        async with asyncio.timeout(10):
            while not await put_back(at):  # noqa: ASYNC110  # what is watched is a table
                await asyncio.sleep(0.01)
        await settled(at)

        assert [each.words.count("seven months") for each in at.slack.in_channel(at.slack.direct(ASHA))] == [1]


async def put_back(at: House) -> bool:
    """Whether the letter waits again; then it was begun too often from now on."""
    again = update(letters).where(letters.c.state == "waiting", letters.c.times == 1).values(times=6)
    return bool(await at.ledger.door.change(lambda connection: connection.execute(again).rowcount, "inbox"))


async def test_in_a_channel_it_is_not_said_again_and_the_asker_has_it_for_certain(at: House) -> None:
    at.slack.channel("C1", ASHA, MARTA)
    at.slack.lost = ["chat.postMessage"]
    await at.send.event(at.slack.mention(ASHA, "C1", TRAVEL))
    await settled(at)

    assert [each.to for each in with_answer(at, "C1", "Airfare")] == [None]
    assert len(with_answer(at, at.slack.direct(ASHA), "Airfare")) == 1


@pytest.mark.parametrize("method", ["chat.postMessage", "respond"])
async def test_after_an_error_of_slacks_own_nothing_is_posted_twice(tmp_path: Path, method: str) -> None:
    """Slack may have posted it nevertheless, whatever time it names for another attempt."""
    async with house(tmp_path) as at:
        at.slack.channel("C1", ASHA, MARTA)
        at.slack.overloaded = [method]
        if method == "respond":
            await at.send.form(at.slack.command(ASHA, TRAVEL))
        else:
            await at.send.event(at.slack.mention(ASHA, "C1", TRAVEL))
        await settled(at)

        first = [shown(each) for each in at.slack.answers[ASHA]] + [each.words for each in at.slack.in_channel("C1")]
        assert [("Airfare" in words) for words in first if words != sentences.POINTED] == [True]
        assert len(with_answer(at, at.slack.direct(ASHA), "Airfare")) == 1


async def test_what_slack_refused_for_certain_is_said_in_the_channel_later(at: House) -> None:
    at.slack.channel("C1", ASHA, MARTA)
    at.slack.next("chat.postMessage", *[429] * 3, retry_after=1)
    await at.send.event(at.slack.mention(ASHA, "C1", TRAVEL))
    await settled(at)

    assert len(with_answer(at, "C1", "Airfare")) == 1
    assert with_answer(at, at.slack.direct(ASHA), "Airfare") == []


async def test_an_answer_for_the_asker_alone_is_found_and_not_said_again(at: House) -> None:
    at.slack.channel("C1", ASHA, MARTA)
    at.slack.lost = ["chat.postMessage"]
    await at.send.event(at.slack.mention(ASHA, "C1", PAY))
    await settled(at)

    assert len(with_answer(at, at.slack.direct(ASHA), "seven months")) == 1
    assert at.slack.seen_by(MARTA) == []


async def test_a_command_whose_answer_may_have_come_is_answered_directly(at: House) -> None:
    at.slack.lost = ["respond"]
    await at.send.form(at.slack.command(ASHA, TRAVEL))
    await settled(at)

    assert len(at.slack.answers[ASHA]) == 1
    assert len(with_answer(at, at.slack.direct(ASHA), "Airfare")) == 1


async def test_what_may_have_been_shared_is_not_shared_again(at: House) -> None:
    at.slack.channel("G1", ASHA, BEN, MARTA, is_private=True)
    await at.send.event(at.slack.mention(ASHA, "G1", PAY))
    await settled(at)
    [answer] = with_answer(at, at.slack.direct(ASHA), "seven months")
    at.slack.inside["G1"].remove(MARTA)
    at.slack.lost = ["chat.postMessage"]
    await at.send.form(at.slack.press(ASHA, answer, "share"))
    await settled(at)

    assert len(with_answer(at, "G1", "seven months")) == 1
    assert at.slack.answers[ASHA][-1]["text"] == sentences.SHARED_PERHAPS


async def test_what_we_said_before_the_question_is_no_progress(at: House) -> None:
    direct = at.slack.direct(ASHA)
    async with SlackWeb(f"{at.slack.url}/api", TOKEN, HURRIED) as chat:
        await chat.say_direct(ASHA, sentence(sentences.HELP))
        [root] = at.slack.said
        assert await chat.unmarked(direct, root.ts) == []
        left = await chat.begin_stream(direct, root.ts, [Task("search", "Searching", "in_progress")])
        assert await chat.unmarked(direct, root.ts) == [left]


async def test_progress_that_a_kill_left_standing_is_taken_away(at: House) -> None:
    delivery = at.slack.message(ASHA, TRAVEL)
    at.slack.lost = ["chat.startStream"]
    await at.send.event(delivery)
    await settled(at)

    left = [each for each in at.slack.in_channel(at.slack.direct(ASHA)) if each.mark is None]
    assert len(with_answer(at, at.slack.direct(ASHA), "Airfare")) == 1
    assert left == [] or at.slack.to("chat.startStream") == []
