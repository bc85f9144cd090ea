"""What a large Confluence costs: requests, time, memory and writes of a first sync, unchanged ones and a sweep.

    python -m tests.bench.confluence [--pages 20000] [--edition cloud|datacenter]

The wiki is a double in a process of its own, on this machine: a network adds its round trips. One space holds all
pages, in a tree ten wide; one in a hundred is restricted. Parsing and embedding are stand-ins that are as good as free,
so that what is left is reading, settling and writing. Then everybody's right to view the space is taken away: the time
to effect is from the request for the space's rights to the first moment at which the ledger lets nobody in.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from connectors.sync.run import SyncReport
from tests.confluence_house import House, stocked
from tests.connectors.sync.tree import Tap
from tests.doubles.confluence.serving import Server
from tests.doubles.confluence.wiki import Wiki, everyone, group

WIDE = 10  # pages directly under a page


def grown(edition: str, pages: int) -> Wiki:
    """A stocked wiki with a space of so many pages."""
    wiki = stocked(edition)
    wiki.space("BIG", everyone() if edition == "cloud" else group(wiki.everybody_group))
    made: list[str] = []
    for number in range(pages):
        parent = made[(number - 1) // WIDE] if number else None
        page = wiki.page("BIG", f"Page {number}", f"<p>Rule {number} of the big space.</p>", parent)
        made.append(page.id)
        if number % 100 == 99:
            wiki.restrict(page.id, users=["robot", "ann"])
    return wiki


def close_space(wiki: Wiki) -> None:
    """Nobody but the account that reads may view the big space any more."""
    from tests.doubles.confluence.wiki import user

    wiki.grant("BIG", user("robot"))
    wiki.revoke("BIG", everyone() if wiki.edition == "cloud" else group(wiki.everybody_group))


def restrict_one(wiki: Wiki) -> None:
    """A page near the top of the big space is restricted."""
    top = next(each for each in wiki.content.values() if each.title == "Page 1")
    wiki.restrict(top.id, users=["robot", "ann"])


CHANGES: dict[str, Callable[[Wiki], None]] = {"close": close_space, "restrict": restrict_one}


def serve(edition: str, pages: int, line: Connection) -> None:
    """The double's process: serves, and does what it is told over the line."""

    async def run() -> None:
        server = Server(grown(edition, pages))
        big = server.wiki.space_of("BIG")
        asked: list[float] = []  # when the rights of the big space were; the clock is the machine's, for all processes

        def heard(line: str) -> None:
            if "permissions" in line and (big.id in line or "BIG" in line):
                asked.append(time.perf_counter())

        server.heard = heard
        async with server.open() as base:
            line.send((base, server.wiki.at))
            while True:
                match await asyncio.to_thread(line.recv):
                    case "stop":
                        return
                    case "counts":
                        line.send(dict(server.counts))
                        server.calm()
                    case "asked":
                        line.send(asked[-1] if asked else None)
                    case ("change", str(name)):
                        CHANGES[name](server.wiki)
                        line.send(server.wiki.at)
                    case ("now", at):
                        server.wiki.at = at

    asyncio.run(run())


@dataclass(slots=True)
class Far(House):
    """A house whose wiki is served by another process."""

    line: Connection | None = None
    writes: Counter[str] = field(default_factory=Counter)

    @asynccontextmanager
    async def open(self) -> Any:
        assert self.line is not None
        self.base, self.wiki.at = self.line.recv()
        async with self._doors():
            yield self

    def counts(self) -> Counter[str]:
        assert self.line is not None
        self.line.send("counts")
        return Counter(self.line.recv())

    def change(self, name: str) -> None:
        assert self.line is not None
        self.line.send(("change", name))
        self.wiki.at = self.line.recv()


class Counting:
    """An index that counts what is written to it."""

    def __init__(self, index: Any, writes: Counter[str]) -> None:
        self._index, self._writes = index, writes

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._index, name)
        if name not in ("put", "repoint", "retire"):
            return found

        async def counted(*args: Any) -> Any:
            self._writes[name] += 1
            return await found(*args)

        return counted


@dataclass(frozen=True, slots=True)
class Lap:
    """What one sync cost."""

    name: str
    seconds: float
    requests: Counter[str]
    report: SyncReport
    writes: Counter[str]
    memory: float  # megabytes that the process holds afterwards


async def lap(house: Far, name: str, sync: Callable[[], Awaitable[SyncReport]]) -> Lap:
    """One sync, measured."""
    house.counts()
    house.writes.clear()
    started = time.perf_counter()
    report = await sync()
    return Lap(name, time.perf_counter() - started, house.counts(), report, Counter(house.writes), resident())


def resident() -> float:
    """Megabytes that this process holds now."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


async def effect(house: Far) -> tuple[float, SyncReport, Counter[str]]:
    """Seconds from asking for the space's rights until nobody may read it by the ledger; the report and the writes."""
    house.change("close")
    house.writes.clear()
    async with house.far() as far:
        subject = await house.subject("bob", far)
    before = len(await house.ledger.facts.satisfied(subject.principals, house.now()))
    closed: list[float] = []

    async def look() -> None:
        if not closed and len(await house.ledger.facts.satisfied(subject.principals, house.now())) < before:
            closed.append(time.perf_counter())

    report = await house.sync(tap=Tap(watch=look))
    assert house.line is not None
    house.line.send("asked")
    asked = await asyncio.to_thread(house.line.recv)
    return (closed[0] - asked if closed and asked else float("nan")), report, Counter(house.writes)


async def main(pages: int, edition: str) -> None:
    """Fill, sync, sync again, change, sync."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    double = context.Process(target=serve, args=(edition, pages, theirs), daemon=True)
    double.start()
    with tempfile.TemporaryDirectory() as folder:
        house = Far(Path(folder), Wiki(edition=edition), line=ours)
        house.wiki = stocked(edition)
        async with house.open():
            house.index = Counting(house.index, house.writes)  # type: ignore[assignment]
            empty = resident()
            laps = [
                await lap(house, "first", house.sync),
                await lap(house, "unchanged, asked for", house.sync),
                await lap(house, "unchanged, on schedule", lambda: house.sync(hurried=False)),
                await lap(house, "unchanged, everything again", lambda: house.sync(full=True)),
            ]
            house.change("restrict")
            laps.append(await lap(house, "one page of the second level restricted", house.sync))
            seconds, report, writes = await effect(house)
    ours.send("stop")
    double.join(5)
    show(pages, edition, empty, laps)
    console = Console(width=140)
    console.print(
        f"the space closed to everybody: {seconds * 1000:.0f} ms from asking for its rights to no reader; "
        f"index writes {sum(writes.values())}, rules changed {report.access_changed}, moved {report.moved}"
    )


def show(pages: int, edition: str, empty: float, laps: list[Lap]) -> None:
    """The table, and where the requests went."""
    console = Console(width=140)
    table = Table(title=f"{pages:,} pages, {edition}; {empty:.0f} MB before the first sync")
    for heading in ("sync", "seconds", "requests", "per 100 pages", "upserted", "moved", "index writes", "MB after"):
        table.add_column(heading, justify="left" if heading == "sync" else "right")
    for each in laps:
        asked = each.requests.total()
        table.add_row(
            each.name,
            f"{each.seconds:.1f}",
            str(asked),
            f"{asked * 100 / pages:.2f}",
            str(each.report.upserted),
            str(each.report.moved),
            str(each.writes.total()),
            f"{each.memory:.0f}",
        )
    console.print(table)
    for each in laps:
        most = ", ".join(f"{count} {what}" for what, count in each.requests.most_common(6))
        console.print(f"{each.name}: {most}")
        if not each.report.complete or each.report.problems:
            console.print(f"  complete {each.report.complete}; {'; '.join(each.report.problems[:3])}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--edition", default="cloud", choices=["cloud", "datacenter"])
    given = parser.parse_args()
    asyncio.run(main(given.pages, given.edition))
