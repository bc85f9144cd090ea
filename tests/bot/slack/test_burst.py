"""The bench of the edge in its small form: nothing of a burst is lost or doubled."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from tests.bench.slack import QUESTION, burst
from tests.doubles.slack import FakeSlack
from tests.doubles.slack_house import house

ASKERS = ("U0ASHA", "U0BEN", "U0MARTA")


@pytest.mark.timeout(240)
async def test_nothing_of_a_burst_is_lost_or_doubled() -> None:
    result = await burst(rate=40, seconds=2, drain=120)

    assert (result["lost"], result["doubled"]) == (0, 0)
    assert result["statuses"] == {200: result["requests"]}


async def test_a_burst_in_one_channel_keeps_to_slacks_tiers(tmp_path: Path) -> None:
    """One post a second in a channel, and every other method's tier: what is refused is asked again when it may be."""
    slack = FakeSlack(tiers=True)
    async with house(tmp_path, slack) as at:
        channel = slack.channel("C1", *ASKERS)
        asked = [slack.mention(who, channel, QUESTION) for who in ASKERS]
        for event in asked:
            assert (await at.send.event(event))[0] == 200
        for _ in range(200):
            if not await at.open_letters():
                break
            at.world.at += timedelta(seconds=0.1)
            await asyncio.sleep(0.1)
        answers = Counter(each.thread for each in slack.said if each.mark)

    assert answers == {event["event"]["ts"]: 1 for event in asked}
    assert sum(1 for call in slack.calls if call.method == "chat.postMessage") > len(asked)  # some were refused
    assert slack.refused == []
