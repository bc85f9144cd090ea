"""What the ledger costs an ask: the scopes that an asker satisfies, the facts of what was found, and the verdicts.

    python -m tests.bench.gate [--scopes 2000] [--documents 2000] [--asks 200]

Beside them stands the bare part: one indexed read of the same database by the driver alone.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.table import Table

import policies
from connectors.ledger.open import open_ledger
from policies.access import AccessExpr
from policies.facts import Kind, Moment, Subject
from policies.load import load
from policies.names import ChunkId, DocumentId, Principal
from tests.connectors.ledger.making import NOW, page, published, rules

PRINCIPALS = 60  # of an asker
FOUND = 40  # documents of one question


async def main(scopes: int, documents: int, asks: int) -> None:
    """Fill a ledger that goes again, then time the reads of an ask on it."""
    drawn = random.Random(20261129)
    groups = [Principal.group(f"g{number}") for number in range(400)]
    rules_text = Path(policies.__file__).with_name("rules.toml").read_text(encoding="utf-8")
    policy = load(rules_text, Principal.group("everyone"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.sqlite"
        async with open_ledger(f"sqlite+aiosqlite:///{path}") as ledger:
            started = time.perf_counter()
            ids = []
            for number in range(scopes):
                access = AccessExpr.all_of(drawn.sample(groups, 3), drawn.sample(groups, 2))
                ids.append((await ledger.catalog.state_rules(rules(f"r{number}", access)))[0])
            for number in range(documents):
                root = drawn.randrange(scopes)
                await published(ledger, page(f"p{number}.md", root=f"r{root}"), ids[root], f"d{number}")
            print(f"filled in {time.perf_counter() - started:.0f} s: {scopes} scopes, {documents} documents")

            async def satisfied() -> None:
                await ledger.facts.satisfied(frozenset(drawn.sample(groups, PRINCIPALS)), NOW)

            names = [DocumentId("wiki", f"p{number}.md") for number in range(documents)]

            async def facts_of_what_was_found() -> None:
                found = drawn.sample(names, FOUND)
                await ledger.facts.resources([(name, "v1") for name in found])
                await ledger.facts.digests([ChunkId(name, "v1", "s0") for name in found])

            resources = list((await ledger.facts.resources([(name, "v1") for name in names[:FOUND]])).values())
            moment = Moment(NOW + timedelta(minutes=1), NOW.date(), dated=False)
            asker = Subject(groups[0], Kind.MEMBER, True, frozenset(drawn.sample(groups, PRINCIPALS)), NOW)

            async def verdicts() -> None:
                policy.decide_all(asker, resources, moment)

            bare = sqlite3.connect(path)

            async def bare_read() -> None:
                bare.execute("select * from documents where key = ?", (f"p{drawn.randrange(documents)}.md",)).fetchall()

            table = Table(title=f"{asks} asks of somebody with {PRINCIPALS} principals, {FOUND} documents found")
            for heading in ("part", "p50 ms", "p95 ms"):
                table.add_column(heading, justify="left" if heading == "part" else "right")
            for name, work in (
                ("scopes satisfied", satisfied),
                ("facts and digests of what was found", facts_of_what_was_found),
                ("verdicts", verdicts),
                ("one bare read", bare_read),
            ):
                middle, high = await _timed(work, asks)
                table.add_row(name, f"{middle:.2f}", f"{high:.2f}")
            bare.close()
    Console().print(table)


async def _timed(work: Callable[[], Awaitable[None]], asks: int) -> tuple[float, float]:
    times = []
    for _ in range(asks):
        started = time.perf_counter()
        await work()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times), sorted(times)[int(len(times) * 0.95)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scopes", type=int, default=2_000)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--asks", type=int, default=200)
    given = parser.parse_args()
    asyncio.run(main(given.scopes, given.documents, given.asks))
