"""How fast a search of the Weaviate index is, beside the bare client call and the embedded index.

    python -m tests.bench.weaviate [--sizes 5000 50000] [--searches 100]

For askers with few, many and most scopes: one at a time and sixteen at once. The bare call is one hybrid request with
the same filter, limit and properties. Starts a server of its own, fills it by the adapter's own calls, many documents
at a time, and says how many passages a second it took.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from weaviate.classes.query import HybridFusion

from connectors.index import lexical
from connectors.index import weaviate_filters as filters
from connectors.index import weaviate_records as records
from connectors.index.embedded import EmbeddedIndex
from connectors.index.weaviate import WeaviateIndex
from connectors.ports import IndexIdentity
from connectors.records import Search
from tests.bench import search as bench
from tests.weaviate import address_of, index_at, nodes

IDENTITY = IndexIdentity("bench", bench.DIMENSIONS, "bench")
AT_ONCE = 16

Ask = Callable[[Search], Awaitable[Any]]


def later() -> datetime:
    """As if everything had been written long ago: nothing is looked at twice for being new."""
    return datetime.now(UTC) + timedelta(minutes=10)


async def fill(index: WeaviateIndex, chunks: int) -> float:
    rng, on = np.random.default_rng(1), await index._shelf.open()
    began, objects, heads = time.perf_counter(), [], []
    for number in range(chunks // bench.CHUNKS_A_DOCUMENT):
        texts = bench.zipf(rng, (bench.CHUNKS_A_DOCUMENT, bench.WORDS))
        entries, generation = bench.entries(number, rng, texts), records.new_generation()
        objects += [records.written(entry, generation) for entry in entries]
        heads.append(records.head_of(entries[0].chunk.id.document, "v1", generation))
        if len(objects) >= 500:
            await index._door.insert(on.passages, objects)
            await index._door.insert(on.heads, heads)
            objects, heads = [], []
    await index._door.insert(on.passages, objects)
    await index._door.insert(on.heads, heads)
    return time.perf_counter() - began


def bare(index: WeaviateIndex) -> Ask:
    """One hybrid request and nothing else."""

    async def ask(search: Search) -> Any:
        on, sieve = await index._shelf.open(), filters.sieve(search.narrowing)
        assert sieve is not None
        return await on.searched.query.hybrid(
            query=" ".join(lexical.question_words(search.text)),
            query_properties=["words"],
            vector=[float(number) for number in search.vector],
            alpha=0.6,
            fusion_type=HybridFusion.RELATIVE_SCORE,
            limit=search.limit,
            filters=sieve.filter,
            return_properties=list(records.SHOWN),
        )

    return ask


async def one_by_one(ask: Ask, over: Sequence[Search]) -> tuple[float, float]:
    laps = []
    for each in over:
        began = time.perf_counter()
        await ask(each)
        laps.append((time.perf_counter() - began) * 1000)
    return statistics.median(laps), statistics.quantiles(laps, n=20)[-1]


async def at_once(ask: Ask, over: Sequence[Search]) -> tuple[float, float]:
    """Median milliseconds and searches a second of sixteen askers."""
    laps: list[float] = []
    waiting = list(over)

    async def asker() -> None:
        while waiting:
            each, began = waiting.pop(), time.perf_counter()
            await ask(each)
            laps.append((time.perf_counter() - began) * 1000)

    began = time.perf_counter()
    await asyncio.gather(*(asker() for _ in range(AT_ONCE)))
    return statistics.median(laps), len(over) / (time.perf_counter() - began)


def resident(pid: int) -> int:
    """Megabytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) >> 10
    return 0


async def measured(size: int, searches: int, table: Table) -> None:
    with nodes(1) as ([node], key, [pid]), tempfile.TemporaryDirectory() as place:
        path = Path(place) / "index.sqlite"
        async with (
            index_at(address_of(node, key), f"Bench{size}", IDENTITY, later) as there,
            EmbeddedIndex(path, IDENTITY) as here,
        ):
            seconds = await fill(there, size)
            print(f"{size} passages in {seconds:.0f} s, {resident(pid)} MB resident", file=sys.stderr)
            await bench.fill(path, here, size)
            for asker, scopes in bench.ASKERS.items():
                over = bench.searches(searches, scopes)
                for ask in (bare(there), there.search, here.search):
                    await one_by_one(ask, over[:5])
                call, ours, embedded = [await one_by_one(ask, over) for ask in (bare(there), there.search, here.search)]
                (many_call, _), (many, rate), (many_here, rate_here) = [
                    await at_once(ask, over) for ask in (bare(there), there.search, here.search)
                ]
                table.add_row(
                    f"{size:,}", asker, f"{call[0]:.1f} / {call[1]:.1f}", f"{ours[0]:.1f} / {ours[1]:.1f}",
                    f"{ours[0] / call[0]:.2f}", f"{embedded[0]:.1f} / {embedded[1]:.1f}",
                    f"{many:.0f} ({many / many_call:.2f}), {rate:.0f}/s", f"{many_here:.0f}, {rate_here:.0f}/s",
                )  # fmt: skip
            print(f"{resident(pid)} MB resident at the end", file=sys.stderr)


async def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", type=int, nargs="*", default=[5_000, 50_000])
    options.add_argument("--searches", type=int, default=100)
    chosen = options.parse_args()
    table = Table("passages", "asker", "bare call, p50 / p95 ms", "weaviate", "ratio", "embedded",
                  "weaviate, 16 at once, p50 ms (ratio)", "embedded, 16 at once", title="search by index")  # fmt: skip
    for size in chosen.sizes:
        await measured(size, chosen.searches, table)
    Console(width=160).print(table)


if __name__ == "__main__":
    asyncio.run(main())
