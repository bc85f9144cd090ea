"""What Slack's edge takes, and what the rule of audiences costs.

    python -m tests.bench.slack [--rate 200] [--seconds 60] [--drain 900]

Events come at a steady rate over HTTP, signed, some of them twice, to the product in a process of its own: its edge,
its letters in SQLite, its desk and the line that answers, over pages in memory. Answers come at their own pace. Told
are what was lost or doubled and how long acknowledgements took. The second table is one question in a channel: who is
there, and everybody looked up.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections import Counter
from pathlib import Path

import aiohttp
from rich.console import Console
from rich.table import Table

from bot.slack.incoming import Asked
from bot.slack.place import Accounts, Present
from connectors.chat import MostWaiting
from connectors.slack import SlackWeb
from tests.doubles.slack import TEAM, TOKEN, FakeSlack, Sender
from tests.doubles.slack_house import House, house

PEOPLE = 60
QUESTION = "Which airfare needs approval?"
ROOMY = MostWaiting(person=1_000_000, workspace=1_000_000)
TWICE = 0.05  # of the events, as Slack does when it is in doubt


async def serve(url: str) -> None:
    """The product, until its input ends."""
    with tempfile.TemporaryDirectory() as folder:
        async with house(Path(folder), slack_at=url, limits=ROOMY, people=PEOPLE) as at:
            print(at.send.address, at.world.at.timestamp(), flush=True)
            await asyncio.to_thread(sys.stdin.read)


async def burst(rate: int, seconds: int, drain: int) -> dict[str, object]:
    """Events at a steady rate; what became of them."""
    drawn = random.Random(20261130)
    slack = FakeSlack(page=500)
    names = [slack.user(f"U0P{number}") for number in range(PEOPLE)]
    slack.channel("C1", *names[:5])
    async with slack.open() as url:
        command = (sys.executable, "-m", "tests.bench.slack", "--serve", url)
        child = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
        assert child.stdout is not None
        address, at = (await child.stdout.readline()).decode().split()
        sender = Sender(address, lambda: None)  # type: ignore[arg-type, return-value]  # the time is handed over
        waits: list[float] = []
        results: Counter[object] = Counter()
        asked: list[str] = []

        async def send(session: aiohttp.ClientSession, body: bytes) -> None:
            headers = {"Content-Type": "application/json", **sender.headers(body, float(at))}
            began = time.perf_counter()
            try:
                async with session.post(f"{address}/slack/events", data=body, headers=headers) as answer:
                    await answer.read()
                    results[answer.status] += 1
            except aiohttp.ClientError as error:
                results[type(error).__name__] += 1
            waits.append(time.perf_counter() - began)

        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            tasks: list[asyncio.Task[None]] = []
            began = time.perf_counter()
            for number in range(rate * seconds):
                who = drawn.choice(names)
                mention = drawn.random() < 0.2 and who in names[:5]
                event = slack.mention(who, "C1", QUESTION) if mention else slack.message(who, QUESTION)
                asked.append(event["event"]["ts"])
                body = json.dumps(event).encode()
                tasks += [asyncio.create_task(send(session, body)) for _ in range(1 + (drawn.random() < TWICE))]
                await asyncio.sleep(max(0.0, began + (number + 1) / rate - time.perf_counter()))
            await asyncio.gather(*tasks)
            sent = time.perf_counter() - began
        answers: Counter[str | None] = Counter()
        for _ in range(drain * 2):
            answers = Counter(each.thread for each in slack.said if each.mark)
            if len(answers) >= len(asked):
                break
            await asyncio.sleep(0.5)
        drained = time.perf_counter() - began
        await asyncio.sleep(1.0)
        answers = Counter(each.thread for each in slack.said if each.mark)
        assert child.stdin is not None
        child.stdin.close()
        await child.wait()
    return {
        "events": len(asked),
        "requests": len(waits),
        "sent in s": round(sent, 1),
        "statuses": dict(results),
        "acknowledged p50 ms": round(1000 * statistics.median(waits), 1),
        "acknowledged p99 ms": round(1000 * sorted(waits)[int(len(waits) * 0.99)], 1),
        "answered": len(answers),
        "lost": sum(1 for ts in asked if not answers[ts]),
        "doubled": sum(1 for times in answers.values() if times > 1),
        "all answered after s": round(drained, 1),
    }


async def audience(at: House, members: int, *, private: bool) -> tuple[float, float, int]:
    """Seconds for who is in a channel of so many and who they are, cold and warm, and requests to Slack when cold."""
    names = [at.slack.user(f"U0P{number}") for number in range(members - 1)]
    name = at.slack.channel(f"G{members}" if private else f"C{members}", "U0ASHA", *names, is_private=private)
    async with SlackWeb(f"{at.slack.url}/api", TOKEN) as chat:
        us, accounts = await chat.workspace(), Accounts(chat, at.world._clock)
        asked = Asked((), "U0ASHA", TEAM, "mention", name, QUESTION, "1.1")
        took, before = [], len(at.slack.calls)
        requests = 0
        for _ in range(2):
            present = Present(asked, us, chat, accounts, at.world.doors.directory, 200)
            began = time.perf_counter()
            place = await present.place()
            await present.members(str(place), at.world.at)
            took.append(time.perf_counter() - began)
            requests = requests or len(at.slack.calls) - before
    return took[0], took[1], requests


async def main(rate: int, seconds: int, drain: int) -> None:
    """Both, printed."""
    console = Console()
    table = Table(title=f"{rate} events a second for {seconds} s")
    table.add_column("what")
    table.add_column("", justify="right")
    for name, value in (await burst(rate, seconds, drain)).items():
        table.add_row(name, str(value))
    console.print(table)
    table = Table(title="who listens, of a question in a channel")
    for heading in ("channel", "cold ms", "warm ms", "requests cold"):
        table.add_column(heading, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        async with house(Path(folder), FakeSlack(page=200), people=199) as at:
            for members, private in ((20, True), (200, True), (200, False), (2_000, False)):
                cold, warm, requests = await audience(at, members, private=private)
                kind = "private" if private else "public"
                table.add_row(f"{kind}, {members}", f"{1000 * cold:.0f}", f"{1000 * warm:.0f}", str(requests))
    console.print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--drain", type=int, default=900, help="seconds to wait for the last answers")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    asyncio.run(serve(given.serve) if given.serve else main(given.rate, given.seconds, given.drain))
