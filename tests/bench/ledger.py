"""The ledger on PostgreSQL beside SQLite: what an ask and a sync pay for it, in one run, taking turns.

    python -m tests.bench.ledger [--pages 300] [--asks 200]

Models are in memory and as good as free here, so that what is left of an ask is the ledger, the index and our own code.
Both databases flush to disk. The server is the tests' own, on this machine: a network adds its round trips.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from connectors.ledger.open import Ledger, open_ledger
from policies.access import AccessExpr
from policies.names import ChunkId, DocumentId, Principal
from tests.connectors.ledger.making import NOW, page, published, rules
from tests.servers import own_postgres
from tests.world import World, real_doors

Part = Callable[[], Awaitable[object]]


@dataclass
class Side:
    """One database with a world of its own on it."""

    name: str
    world: World
    ledger: Ledger  # a second one, for the parts
    bare: Part


async def main(pages: int, asks: int) -> None:
    """Fill both, then time asks and the ledger's parts."""
    with own_postgres() as server, tempfile.TemporaryDirectory() as folder:
        server.address.run("CREATE DATABASE world", "CREATE DATABASE parts")
        async with AsyncExitStack() as stack:
            urls = {
                "sqlite": [f"sqlite+aiosqlite:///{folder}/{name}.sqlite" for name in ("world", "parts")],
                "postgresql": [server.address.url(name) for name in ("world", "parts")],
            }
            sides = []
            for name, (of_world, of_parts) in urls.items():
                place = Path(folder) / name
                place.mkdir()
                world = await stack.enter_async_context(real_doors(place, of_world))
                ledger = await stack.enter_async_context(open_ledger(of_parts))
                sides.append(Side(name, world, ledger, _bare(ledger)))
            table = Table(title=f"{pages} pages, {asks} asks")
            for heading in ("part", "sqlite p50 ms", "postgresql p50 ms", "ratio", "sqlite p95", "postgresql p95"):
                table.add_column(heading, justify="left" if heading == "part" else "right")
            filled = {side.name: [await _filled(side.world, pages)] for side in sides}
            _row(table, f"first sync, {pages} pages", filled)
            _row(table, "sync without a change", await _turns({side.name: side.world.sync for side in sides}, 5))
            _row(table, "ask", await _turns({side.name: _ask(side.world) for side in sides}, asks))
            parts = {side.name: await _parts(side, pages) for side in sides}
            for part in parts["sqlite"]:
                _row(table, part, await _turns({name: of[part] for name, of in parts.items()}, asks))
    Console(width=120).print(table)


async def _filled(world: World, pages: int) -> float:
    world.group("grp:staff")
    world.person("asha", "grp:staff")
    for number in range(pages):
        world.page(
            f"p{number}", f"Rule {number} says that airfare above {number} needs approval.", readers=["grp:staff"]
        )
    started = time.perf_counter()
    await world.sync()
    return (time.perf_counter() - started) * 1000


def _ask(world: World) -> Part:
    drawn = random.Random(1)

    async def ask() -> object:
        return await world.ask("asha", f"Which airfare needs approval by rule {drawn.randrange(100)}?")

    return ask


def _bare(ledger: Ledger) -> Part:
    async def read() -> object:
        return await ledger.sources.get("none")

    return read


async def _parts(side: Side, documents: int) -> Mapping[str, Part]:
    drawn = random.Random(2)
    groups = [Principal.group(f"g{number}") for number in range(400)]
    facts, catalog = side.ledger.facts, side.ledger.catalog
    scopes = []
    for number in range(documents):
        access = AccessExpr.all_of(drawn.sample(groups, 3), drawn.sample(groups, 2))
        scopes.append((await catalog.state_rules(rules(f"r{number}", access)))[0])
        await published(side.ledger, page(f"p{number}.md", root=f"r{number}"), scopes[-1], f"d{number}")
    names = [DocumentId("wiki", f"p{number}.md") for number in range(documents)]

    async def satisfied() -> object:
        return await facts.satisfied(frozenset(drawn.sample(groups, 60)), NOW)

    async def resources() -> object:
        return await facts.resources([(name, "v1") for name in drawn.sample(names, 40)])

    async def digests() -> object:
        return await facts.digests([ChunkId(name, "v1", "s0") for name in drawn.sample(names, 40)])

    async def publishes() -> object:
        number = drawn.randrange(documents)
        document = page(f"p{number}.md", f"v{drawn.random()}", root=f"r{number}")
        return await published(side.ledger, document, scopes[number])

    return {
        "one row read": side.bare,
        "scopes satisfied by 60 principals": satisfied,
        "facts of 40 documents": resources,
        "digests of 40 passages": digests,
        "a version announced and published": publishes,
    }


async def _turns(sides: Mapping[str, Part], times: int) -> Mapping[str, list[float]]:
    """Each side once, then each side again: whatever else the machine does meets both."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(times + 1):
        for name, work in sides.items():
            started = time.perf_counter()
            await work()
            if turn:
                taken[name].append((time.perf_counter() - started) * 1000)
    return taken


def _row(table: Table, part: str, taken: Mapping[str, list[float]]) -> None:
    middles = {name: statistics.median(values) for name, values in taken.items()}
    highs = {name: sorted(values)[int(len(values) * 0.95)] for name, values in taken.items()}
    ratio = middles["postgresql"] / middles["sqlite"]
    values = (middles["sqlite"], middles["postgresql"], ratio, highs["sqlite"], highs["postgresql"])
    table.add_row(part, *(f"{value:.2f}" for value in values))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--asks", type=int, default=200)
    given = parser.parse_args()
    asyncio.run(main(given.pages, given.asks))
