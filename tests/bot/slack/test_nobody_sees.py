"""Random conversations: whatever people ask, press, join, leave, share and revoke, and whatever gets lost on the way,
nobody ever sees a text that rests on what he may not read at that moment; each question is answered; nothing twice.

The oracle is a table of who may read which page, kept by hand beside the product's own rights, and a word of each page
that occurs nowhere else. It shares no code with the product.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from bot.slack.progress import Streams
from tests.doubles.slack import Said
from tests.doubles.slack_house import House, house

QUESTIONS = {
    "airfare": "Which airfare needs approval?",
    "bonus": "What is the bonus of directors?",
    "badge": "Who wears a badge?",
}
ASHA, BEN, MARTA, GUS, NEW, EVE, LENA = "U0ASHA", "U0BEN", "U0MARTA", "U0GUS", "U0NEW", "U0EVE", "U0LENA"
LINKED = [ASHA, BEN, MARTA, GUS, LENA]
STEPS = 14


class Oracle:
    """Who may read what, now, by hand; and every text that somebody saw against it."""

    def __init__(self) -> None:
        # Whoever has a full account: what every employee may read is his too. Lena has one, and is known to be none.
        employees = {ASHA, BEN, MARTA, NEW}
        self.may = {"airfare": set(employees), "bonus": {ASHA, BEN}, "badge": {GUS, ASHA, BEN}}
        self.secret = {"airfare": "needs approval.", "bonus": "seven months", "badge": "badge of brass"}
        self.wrong: list[str] = []
        self.seen = 0

    def look(self, words: str, viewers: set[str]) -> None:
        for page, secret in self.secret.items():
            if secret in words:
                self.seen += 1
                self.wrong += [f"{who} saw {page}" for who in sorted(viewers - self.may[page])]


class Play:
    """One random conversation."""

    def __init__(self, at: House, seed: int) -> None:
        self.at = at
        self.random = random.Random(seed)
        self.oracle = Oracle()
        self.threads: list[tuple[str, str]] = []
        self.log: list[str] = []

    async def set_up(self) -> None:
        at = self.at
        at.slack.user(NEW)
        at.slack.user(EVE, is_stranger=True, team_id="T0OTHER")
        at.world.person("lena")
        at.world.page("badge", "A visitor wears a badge of brass.", ["usr:gus@example.com", "grp:finance"])
        await at.world.sync()
        await at.seat()
        at.slack.channel("C1", ASHA, MARTA)
        at.slack.channel("C2", BEN, MARTA, NEW)
        at.slack.channel("C3", ASHA, LENA)
        at.slack.channel("G1", ASHA, BEN, is_private=True)
        at.slack.channel("M1", ASHA, BEN, GUS, is_mpim=True, is_private=True)
        at.slack.channel("X1", ASHA, EVE, is_ext_shared=True)
        at.slack.stays_out = {LENA}
        at.slack.on_said = self.oracle.look
        await at.ask(at.slack.mention(ASHA, "C3", QUESTIONS["airfare"]))

    async def step(self) -> None:
        deeds = [self.ask, self.ask, self.ask, self.follow, self.command, self.press, self.join, self.leave]
        deeds += [self.revoke, self.grant, self.lose, self.about, self.shared]
        deed = self.random.choice(deeds)
        self.log.append(deed.__name__)
        await deed()
        await settled(self.at)

    def someone(self) -> str:
        return self.random.choice([*LINKED, *LINKED, NEW, EVE])

    async def ask(self, text: str | None = None, thread: tuple[str, str] | None = None) -> None:
        at, who = self.at, self.someone()
        text = text or self.random.choice(list(QUESTIONS.values()))
        places = [name for name, members in at.slack.inside.items() if who in members and not name.startswith("D")]
        before = len(at.slack.seen_by(who))
        if self.random.random() < 0.3 or not places:
            delivery = at.slack.message(who, text)
        else:
            channel = thread[0] if thread and thread[0] in places else self.random.choice(places)
            root = thread[1] if thread and thread[0] == channel else None
            delivery = at.slack.mention(who, channel, text, thread=root, user_team=at.slack.users[who]["team_id"])
            self.threads.append((channel, root or delivery["event"]["ts"]))
        for retry in range(self.random.choice([1, 1, 2, 3])):
            assert await at.send.event(delivery, retry=retry) == (200, "")
        await settled(at)
        assert len(at.slack.seen_by(who)) > before, f"{who} was told nothing"

    async def follow(self) -> None:
        if self.threads:
            await self.ask("And why that?", self.random.choice(self.threads))

    async def command(self) -> None:
        who = self.random.choice([*LINKED, NEW])
        form = self.at.slack.command(who, self.random.choice(list(QUESTIONS.values())), channel="C1")
        await self.at.send.form(form)

    def ours(self, action: str) -> list[Said]:
        return [each for each in self.at.slack.said if f'"{action}"' in str(each.content).replace("'", '"')]

    async def press(self) -> None:
        action = self.random.choice(["share", "share", "delete"])
        said = [each for each in self.ours(action) if not each.deleted]
        if said:
            await self.at.send.form(self.at.slack.press(self.someone(), self.random.choice(said), action))

    async def shared(self) -> None:
        said = [each for each in self.ours("share") if not each.deleted]
        if said:
            each = self.random.choice(said)
            asker = self.at.slack.channels[each.channel]["user"]
            await self.at.send.form(self.at.slack.press(asker, each, "share"))

    async def about(self) -> None:
        who = self.random.choice(LINKED)
        shown = len(self.at.slack.views)
        await self.at.send.form(self.at.slack.about(who, "C1", self.random.choice(list(QUESTIONS.values()))))
        async with asyncio.timeout(5):
            while len(self.at.slack.views) == shown:  # noqa: ASYNC110  # what is watched is a list
                await asyncio.sleep(0.01)
        await self.at.send.form(self.at.slack.submit(self.someone_else(who), self.at.slack.views[-1][1]))

    def someone_else(self, who: str) -> str:
        return self.random.choice([who, who, *LINKED])

    async def join(self) -> None:
        channel = self.random.choice(["C1", "C2", "C3", "G1", "M1"])
        who = self.someone()
        if who not in self.at.slack.inside[channel]:
            self.at.slack.inside[channel].append(who)
            self.at.world.at += timedelta(minutes=6)  # what Slack said of members is believed for five

    async def leave(self) -> None:
        channel = self.random.choice(["C1", "C2", "C3", "G1", "M1"])
        members = self.at.slack.inside[channel]
        if len(members) > 2:
            members.remove(self.random.choice(members[1:]))

    async def revoke(self) -> None:
        page, group, lose = self.random.choice(
            [("travel", "grp:everyone", "airfare"), ("pay", "grp:finance", "bonus"), ("badge", "grp:finance", "badge")]
        )
        rights = {"badge": {GUS}}.get(lose, set())
        self.at.world.share(page, ["usr:gus@example.com"] if lose == "badge" else [])
        await self.at.world.sync(pass_by=False)
        self.oracle.may[lose] = set(rights)
        del group

    async def grant(self) -> None:
        self.at.world.share("travel", ["grp:everyone"])
        self.at.world.share("pay", ["grp:finance"])
        self.at.world.share("badge", ["usr:gus@example.com", "grp:finance"])
        await self.at.world.sync(pass_by=False)
        self.oracle.may = Oracle().may

    async def lose(self) -> None:
        self.at.slack.lost.append(self.random.choice(["chat.postMessage", "respond", "chat.stopStream"]))
        await self.ask()


async def settled(at: House) -> None:
    for _ in range(600):
        if not await at.open_letters():
            return
        at.world.at += timedelta(seconds=0.3)
        await asyncio.sleep(0.02)
    raise AssertionError(f"letters wait still: {at.log}")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(6))
async def test_nobody_sees_what_he_may_not_read_and_nothing_is_doubled_or_lost(tmp_path: Path, seed: int) -> None:
    async with house(tmp_path, streams=Streams(patience=0.0) if seed % 2 else None) as at:
        play = Play(at, seed)
        await play.set_up()
        for _ in range(STEPS):
            await play.step()

        assert play.oracle.wrong == [], play.log
        marks = Counter((each.mark, each.channel) for each in at.slack.said if each.mark and not each.deleted)
        assert [mark for mark, times in marks.items() if times > 1] == [], play.log
        assert at.slack.refused == []
        assert play.oracle.seen


def test_the_oracle_sees_what_is_wrong() -> None:
    oracle = Oracle()
    oracle.look("The bonus of directors is seven months. [1]", {ASHA, MARTA})

    assert oracle.wrong == [f"{MARTA} saw bonus"]
