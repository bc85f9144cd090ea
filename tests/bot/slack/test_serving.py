"""`footnote serve` in Slack: a real process, killed between acknowledgement and answer."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.health import slack as slack_line
from bot.keeping import add_source, sync_named
from bot.settings import Settings
from bot.slack.answer import Answerer
from bot.slack.memory import Memory
from bot.slack.place import Accounts
from bot.wiring import open_app
from connectors.chat import Letter
from connectors.slack import SlackWeb
from tests.doubles.slack import SECRET, TEAM, TOKEN, FakeSlack, Sender
from tests.doubles.slack_house import house

ROOT = Path(__file__).parents[3]
TRAVEL = "Which airfare needs approval?"
DIRECTORY = f"""
[people."asha@example.com"]
name = "Asha"
groups = ["grp:everyone"]
identities = {{ "slack:{TEAM}" = "U0ASHA" }}
"""


def environ(data: Path, url: str) -> dict[str, str]:
    given = {
        "DATA": str(data),
        "PORT": "0",
        "METRICS_PORT": "0",
        "SLACK_BOT_TOKEN": TOKEN,
        "SLACK_SIGNING_SECRET": SECRET,
        "SLACK_API_URL": url,
    }
    return {f"FOOTNOTE_{name}": value for name, value in given.items()}


async def serve(env: dict[str, str]) -> Process:
    command = (sys.executable, "-m", "bot", "serve")
    return await asyncio.create_subprocess_exec(*command, env=env, cwd=ROOT, stdout=PIPE, stderr=PIPE)


class Served:
    """A process that serves, and all that it said."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.said = b""
        self.reading: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, env: dict[str, str]) -> tuple[Served, Sender]:
        served = cls(await serve(env))
        assert served.process.stderr is not None
        async with asyncio.timeout(90):
            while not (found := re.search(rb"listening.* port=(\d+)", served.said)):
                line = await served.process.stderr.readline()
                assert line, served.said
                served.said += line
        served.reading = asyncio.create_task(served._read())
        return served, Sender(f"http://127.0.0.1:{int(found[1])}", lambda: datetime.now(UTC))

    async def _read(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.said += line

    async def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        code = await asyncio.wait_for(self.process.wait(), 60)
        assert self.reading is not None
        await self.reading
        assert self.process.stdout is not None
        await self.process.stdout.read()
        return code


async def until(done: Any) -> None:
    async with asyncio.timeout(60):
        while not done():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@pytest.mark.timeout(300)  # two starts with their models, on a machine that may be busy
async def test_what_was_acknowledged_is_answered_after_a_kill_once(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "travel.md").write_text("# Travel\n\nAirfare above 500 euros needs approval by a manager.\n")
    (docs / "access.toml").write_text('readers = ["grp:everyone"]\n')
    (docs / "directory.toml").write_text(DIRECTORY)
    slack = FakeSlack()
    slack.user("U0ASHA")
    async with slack.open() as url:
        env = environ(tmp_path / "data", url)
        async with open_app(Settings.read(env)) as app:
            await add_source(app.keeping, "wiki", "files", {"path": str(docs)})
            await sync_named(app.keeping, "wiki")
        held = asyncio.Event()
        slack.on_call = lambda method, _: held.wait() if method == "users.info" else None
        first, send = await Served.start(env)
        deliveries = [slack.message("U0ASHA", TRAVEL), slack.message("U0ASHA", f"{TRAVEL} Which?")]
        for each in deliveries:
            assert await send.event(each) == (200, "")
        command = slack.command("U0ASHA", TRAVEL)
        assert (await send.form(command))[0] == 200
        await until(lambda: slack.to("users.info"))
        assert await first.end(signal.SIGKILL) == -signal.SIGKILL
        assert slack.said == []
        held.set()

        second, send = await Served.start(env)
        for each in deliveries:
            assert await send.event(each, retry=1) == (200, "")
        await send.form(command)
        await until(lambda: len(slack.said) + len(slack.answers["U0ASHA"]) >= 3)
        await asyncio.sleep(0.5)
        assert await second.end(signal.SIGTERM) == 0

    assert sorted(each.thread or "" for each in slack.said) == sorted(each["event"]["ts"] for each in deliveries)
    assert len(slack.answers["U0ASHA"]) == 1
    assert all("Airfare above 500" in words for words in slack.seen_by("U0ASHA"))
    assert slack.refused == []
    for words in (b"Airfare", b"airfare", TOKEN.encode(), SECRET.encode(), b"Traceback"):
        assert words not in first.said + second.said


async def test_check_asks_slack(tmp_path: Path) -> None:
    slack = FakeSlack()
    async with slack.open() as url, open_app(Settings.read(environ(tmp_path, url))) as app:
        assert (await slack_line(app))["ok"]
        slack.scopes -= {"groups:read", "users:read"}
        lacking = await slack_line(app)
        slack.next("auth.test", 200, body={"ok": False, "error": "invalid_auth"})
        refused = await slack_line(app)

    assert lacking["problem"] == "the app lacks groups:read, users:read"
    assert "invalid_auth" in refused["problem"]
    assert TOKEN not in str(refused)


async def test_an_answer_that_was_posted_before_a_kill_is_not_posted_again(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        delivery = at.slack.message("U0ASHA", TRAVEL)
        await at.ask(delivery)
        mark = at.slack.said[0].content["metadata"]["event_payload"]["id"]
        body = {
            "keys": ["event:1"],
            "asker": "U0ASHA",
            "asker_team": TEAM,
            "surface": "direct",
            "channel": at.slack.direct("U0ASHA"),
            "text": TRAVEL,
            "ts": delivery["event"]["ts"],
            "mark": mark,
        }
        async with SlackWeb(f"{at.slack.url}/api", TOKEN) as chat:
            accounts = Accounts(chat, at.world._clock)
            memory = Memory(at.exchanges, at.world._clock)
            answerer = Answerer(chat, accounts, at.world.doors, at.metrics, at.log, memory)
            await answerer.answer(Letter(1, body, times=2))
            assert len(at.slack.said) == 1
            await answerer.answer(Letter(1, {**body, "mark": "another"}, times=2))
            assert len(at.slack.said) == 2
