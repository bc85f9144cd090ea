"""What large scopes cost: 100,000 scopes and 200,000 chunks, for askers who satisfy 10, 1,000, 50,000 and 90,000.

    python -m tests.bench.scopes [--scopes 100000] [--chunks 200000] [--searches 40] [--url postgresql+asyncpg://…]
                                 [--weaviate]

Four ways for scopes to stand: `shared` (the scopes of a folder have the same rules), `following` their containers (who
may read one scope of a site may read all of it, and every scope has rules of its own), `mostly` (the same, but one
scope in a hundred is its owner's alone) and `scattered` (who may read it has nothing to do with where it stands). First
the ledger: the plain set, and the cover in its place. Then the embedded index: a search narrowed by the cover, by the
plain set, and by nothing but one container that holds all. `--weaviate`: the same on a server of its own, where the
plain set is searched by only while it has at most `LISTED` scopes: more are refused, or take seconds each.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, insert

from connectors.index import tables as index_tables
from connectors.index import weaviate_records as records
from connectors.index.embedded import EmbeddedIndex
from connectors.index.weaviate import WeaviateIndex
from connectors.ledger import standings, tables
from connectors.ledger.open import Ledger, open_ledger
from connectors.ports import Index, IndexIdentity
from connectors.records import Attributes, Chunk, Entry, Form, Search
from policies.access import AccessExpr, clause_digest, digest
from policies.facts import Trust
from policies.names import ChunkId, ContainerId, DocumentId, Principal, ScopeId
from policies.predicate import AtLeast, AtMost, Narrowing, SearchScope
from tests.bench.search import DIMENSIONS, zipf
from tests.bench.weaviate import at_once, bare, later, one_by_one, resident
from tests.weaviate import address_of, index_at, nodes

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
SITES, FOLDERS = 100, 20  # in a source; in a site
WAYS = ("shared", "following", "mostly", "scattered")
ASKERS = (10, 1_000, 50_000, 90_000)
TODAY = 740_000
LISTED = 1_000
IDENTITY = IndexIdentity("bench", DIMENSIONS, "bench")

Covers = dict[str, dict[int, tuple[SearchScope, SearchScope]]]


def chains(scopes: int) -> list[tuple[int, int, int]]:
    """The source, site and folder of each scope, as container numbers."""
    each = []
    for number in range(scopes):
        site = number * SITES // scopes
        folder = number * SITES * FOLDERS // scopes
        each.append((1, 2 + site, 2 + SITES + folder))
    return each


def readers(number: int, way: str, scopes: int, drawn: random.Random) -> AccessExpr:
    """Who may read a scope: its owner, and a group; that of its site, or any one."""
    owner = Principal.person(f"u{number // 10}@x.io")
    if way == "shared":
        folder = number * SITES * FOLDERS // scopes
        return AccessExpr.any_of(Principal.group(f"g{number * SITES // scopes}"), Principal.group(f"folder-{folder}"))
    if way == "mostly" and drawn.random() < 0.01:
        return AccessExpr.any_of(owner, Principal.group(f"private-{number}"))
    group = drawn.randrange(SITES) if way == "scattered" else number * SITES // scopes
    return AccessExpr.any_of(owner, Principal.group(f"g{group}"), Principal.group(f"only-{number}"))


def asker(satisfied: int, scopes: int) -> frozenset[Principal]:
    """Somebody who satisfies about as many; by `shared` rules, nobody satisfies so few as ten."""
    groups = [Principal.group(f"g{number}") for number in range(satisfied * SITES // scopes)]
    return frozenset([Principal.person("u7@x.io"), *groups])


def fill_ledger(connection: Connection, way: str, scopes: int) -> None:
    drawn = random.Random(1)
    chain = chains(scopes)
    parents = {folder: site for _, site, folder in chain} | {site: 1 for _, site, _ in chain} | {1: None}
    rows: list[list[dict[str, Any]]] = [[], [], [], [], [], []]
    for number in sorted(parents):
        row = {"id": number, "source": "s", "parent": parents[number], "key": str(number), "digest": str(number)}
        rows[0].append({**row, "scopes": 0})
    kept: dict[AccessExpr, int] = {}
    for number in range(scopes):
        access = readers(number, way, scopes, drawn)
        rules = kept.setdefault(access, len(kept) + 1)
        if len(rows[2]) < rules:
            [clause] = access.clauses
            rows[1].append({"id": rules, "digest": clause_digest(clause)})
            rows[2].append({"id": rules, "digest": digest(access), "clauses": 1})
            rows[3].append({"expression": rules, "clause": rules})
            rows[4] += [{"principal": str(who), "clause": rules} for who in clause]
        rows[5].append(
            {
                "id": number + 1, "source": "s", "root": f"r{number}", "expression": rules, "state": "active",
                "verified_at": NOW, "lease": 10**12, "expires_at": NOW + timedelta(hours=24),
                "container": chain[number][-1],
            }
        )  # fmt: skip
    into = (
        tables.containers, tables.clauses, tables.expressions, tables.expression_clauses, tables.clause_principals,
        tables.scopes,
    )  # fmt: skip
    for table, listed in zip(into, rows, strict=True):
        for start in range(0, len(listed), 5_000):
            connection.execute(insert(table), listed[start : start + 5_000])
    standings.recount(connection)
    connection.execute(insert(tables.marks), {"name": "scopes", "mark": "filled"})
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ANALYZE")


async def timed(work: Callable[[int], Awaitable[Any]], times: int = 5) -> float:
    laps = []
    for at in range(times):
        began = time.perf_counter()
        await work(at)
        laps.append((time.perf_counter() - began) * 1000)
    return statistics.median(laps)


def short(scope: SearchScope | None) -> str:
    if scope is None:
        return "none"
    return f"{len(scope.containers):,} + {len(scope.ids):,} - {len(scope.excepted):,}"


async def in_the_ledger(
    ledger: Ledger, way: str, scopes: int, table: Table
) -> dict[int, tuple[SearchScope, SearchScope]]:
    found = {}
    for satisfied in ASKERS:
        who = asker(satisfied, scopes)
        plain = await ledger.facts.satisfied(who, NOW)
        cover = await ledger.facts.cover([who], NOW)
        if cover is None:
            assert not plain
            continue
        stands = chains(scopes)
        assert {number + 1 for number in range(scopes) if cover.has(number + 1, stands[number])} == plain
        listening = [frozenset([*who, Principal.person(f"l{number}@x.io")]) for number in range(20)]
        many = [[*listening, frozenset([*who, Principal.person(f"other{time_}@x.io")])] for time_ in range(5)]
        first = [[frozenset([*who, Principal.person(f"first{time_}@x.io")])] for time_ in range(5)]
        laps = (
            await timed(lambda at, who=who: ledger.facts.satisfied(who, NOW)),  # type: ignore[misc]
            await timed(lambda at, first=first: ledger.facts.cover(first[at], NOW)),  # type: ignore[misc]
            await timed(lambda at, who=who: ledger.facts.cover([who], NOW)),  # type: ignore[misc]
            await timed(lambda at, many=many: ledger.facts.cover(many[at], NOW)),  # type: ignore[misc]
        )
        table.add_row(way, f"{len(plain):,}", short(cover), *(f"{lap:.1f}" for lap in laps))
        found[satisfied] = (cover, SearchScope(plain))
    return found


def entry(number: int, scope: int, chain: tuple[int, ...], words: Any, vector: Any) -> Entry:
    text = " ".join(f"w{word}x" for word in words)
    name, words_digest = f"Document {number}", sha256(text.encode()).hexdigest()
    chunk = Chunk(
        ChunkId(DocumentId("s", f"d{number}.md"), "v1", "top"), "top", 0, ("Heading",), text, name, name, (), None,
        Form.TEXT, words_digest, words_digest, Attributes(name, "https://example.com/x", None, None, False, None, ()),
    )  # fmt: skip
    return Entry(chunk, vector, "bench", ScopeId(scope), (), Trust.CLEAN, tuple(map(ContainerId, chain)))


def written(scopes: int, chunks: int) -> Iterator[list[Entry]]:
    """Every chunk, five thousand at a time; each scope has as many."""
    rng, stands = np.random.default_rng(1), chains(scopes)
    for start in range(0, chunks, 5_000):
        vectors = rng.normal(size=(5_000, DIMENSIONS)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        words = zipf(rng, (5_000, 40))
        made = []
        for at in range(min(5_000, chunks - start)):
            scope = (start + at) * scopes // chunks
            made.append(entry(start + at, scope + 1, stands[scope], words[at], vectors[at]))
        yield made


async def fill_weaviate(index: WeaviateIndex, scopes: int, chunks: int) -> None:
    on = await index._shelf.open()
    for number, some in enumerate(written(scopes, chunks), 1):
        generation = records.new_generation()
        await index._door.insert(on.passages, [records.written(each, generation) for each in some])
        await index._door.insert(on.heads, [records.head_of(each.chunk.id.document, "v1", generation) for each in some])
        print(f"{number * 5_000:,} of {chunks:,}", file=sys.stderr)


async def fill_index(path: Path, index: EmbeddedIndex, scopes: int, chunks: int) -> None:
    db = None
    for some in written(scopes, chunks):
        for one in some:
            if db is None:
                await index.put([one])  # lays the file out
                db = index_tables.connect(path)
                db.execute("BEGIN IMMEDIATE")
                continue
            index_tables.stand(db, one.scope, one.containers, 1)
            index_tables.add(db, one, 1)
    assert db is not None
    db.execute("UPDATE clock SET stamp = 2")
    db.execute("UPDATE entries SET stamp = 2")
    db.execute("UPDATE standings SET stamp = 2")
    db.execute("COMMIT")
    db.close()


def asking(scope: SearchScope, count: int) -> list[Search]:
    rng = np.random.default_rng(2)
    when = (AtMost("effective_from", TODAY), AtLeast("effective_to", TODAY), AtMost("trust", 1))
    made = []
    for _ in range(count):
        vector = rng.normal(size=DIMENSIONS).astype(np.float32)
        text = " ".join(f"w{word}x" for word in [*rng.integers(20, 3_000, 5), *zipf(rng, (3,))])
        # As it comes from the ledger: not the object of the search before.
        fresh = replace(scope, ids=frozenset(list(scope.ids)), excepted=frozenset(list(scope.excepted)))
        made.append(Search(text, vector / np.linalg.norm(vector), (), Narrowing(fresh, when)))
    return made


async def searched(index: Index, scope: SearchScope, count: int) -> list[float]:
    laps = []
    for each in asking(scope, count):
        began = time.perf_counter()
        await index.search(each)
        laps.append((time.perf_counter() - began) * 1000)
    return laps


async def compared(index: Index, covers: Covers, searches: int, most_listed: int, found: Table) -> None:
    """A search by everything, by the cover and by the plain set, side by side for each asker."""
    everything = SearchScope(containers=frozenset([ContainerId(1)]))
    await searched(index, everything, searches)
    for way, by_asker in covers.items():
        for satisfied, (cover, plain) in by_asker.items():
            all_of_it = statistics.median(await searched(index, everything, searches))
            laps = await searched(index, cover, searches)
            middle = statistics.median(laps)
            row = [way, f"{satisfied:,}", f"{all_of_it:.1f}", f"{middle:.1f}", f"{middle / all_of_it:.2f}",
                   f"{statistics.quantiles(laps, n=20)[-1]:.1f}"]  # fmt: skip
            if len(plain.ids) <= most_listed:
                listed = statistics.median(await searched(index, plain, searches))
                row += [f"{listed:.1f}", f"{listed / all_of_it:.2f}"]
            found.add_row(*row)


async def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scopes", type=int, default=100_000)
    options.add_argument("--chunks", type=int, nargs="*", default=[50_000, 200_000])
    options.add_argument("--searches", type=int, default=40)
    options.add_argument("--ways", nargs="*", default=WAYS)
    options.add_argument("--url", help="an empty ledger; by default SQLite in a temporary folder")
    options.add_argument("--weaviate", action="store_true")
    chosen = options.parse_args()
    console = Console(width=130)
    in_ledger = Table(
        "scopes", "satisfied", "containers + scopes - excepted", "plain ms", "cover ms", "again ms", "20 listen ms",
        title=f"ledger, {chosen.scopes:,} scopes, p50",
    )  # fmt: skip
    covers = {}
    with tempfile.TemporaryDirectory() as place:
        for way in chosen.ways:
            url = chosen.url or f"sqlite+aiosqlite:///{place}/{way}.sqlite"
            async with open_ledger(url) as ledger:
                began = time.perf_counter()
                async with ledger.door.write() as connection:
                    await connection.run_sync(lambda sync, way=way: fill_ledger(sync, way, chosen.scopes))  # type: ignore[misc]
                print(f"{way}: ledger filled in {time.perf_counter() - began:.0f} s", file=sys.stderr)
                covers[way] = await in_the_ledger(ledger, way, chosen.scopes, in_ledger)
    console.print(in_ledger)
    for size in chosen.chunks:
        title = f"{'weaviate' if chosen.weaviate else 'embedded index'}, {size:,} chunks, p50 ms"
        found = Table("scopes", "satisfied", "everything", "cover", "ratio", "p95", "plain set", "ratio", title=title)
        await (on_weaviate if chosen.weaviate else embedded)(chosen.scopes, size, covers, chosen.searches, found)
        console.print(found)


async def embedded(scopes: int, size: int, covers: Covers, searches: int, found: Table) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "index.sqlite"
        async with EmbeddedIndex(path, IDENTITY) as index:
            began = time.perf_counter()
            await fill_index(path, index, scopes, size)
            print(f"index filled in {time.perf_counter() - began:.0f} s", file=sys.stderr)
            await compared(index, covers, searches, scopes, found)
            await alone_and_sixteen(index, size, covers, searches)
            print(f"{resident(os.getpid())} MB resident", file=sys.stderr)


async def alone_and_sixteen(index: EmbeddedIndex, size: int, covers: Covers, searches: int) -> None:
    table = Table(
        "asker", "one at a time, p50 / p95 ms", "16 at once, p50 ms", title=f"embedded, {size:,} chunks, by cover"
    )
    for satisfied, (cover, _) in covers["following"].items():
        over = asking(cover, searches)
        await one_by_one(index.search, over[:5])
        (middle, slow), (many, rate) = await one_by_one(index.search, over), await at_once(index.search, over)
        table.add_row(f"{satisfied:,}", f"{middle:.1f} / {slow:.1f}", f"{many:.0f}, {rate:.0f}/s")
    Console(width=130).print(table)


async def on_weaviate(scopes: int, size: int, covers: Covers, searches: int, found: Table) -> None:
    with nodes(1) as ([node], key, [pid]):
        async with index_at(address_of(node, key), f"Scopes{size}", IDENTITY, later) as index:
            began = time.perf_counter()
            await fill_weaviate(index, scopes, size)
            print(f"index filled in {time.perf_counter() - began:.0f} s, {resident(pid)} MB", file=sys.stderr)
            await compared(index, covers, searches, LISTED, found)
            await beside_the_bare_call(index, size, covers, searches)


async def beside_the_bare_call(index: WeaviateIndex, size: int, covers: Covers, searches: int) -> None:
    """What a search of ours costs over one hybrid request with the same filter, alone and sixteen at once."""
    table = Table("asker", "bare call, p50 / p95 ms", "ours", "ratio", "bare, 16 at once", "ours, 16 at once", "ratio",
                  title=f"weaviate, {size:,} chunks, by cover")  # fmt: skip
    for satisfied, (cover, _) in covers["following"].items():
        over = asking(cover, searches)
        calls = (bare(index), index.search)
        await one_by_one(index.search, over[:5])
        call, ours = [await one_by_one(each, over) for each in calls]
        (many_call, rate_call), (many, rate) = [await at_once(each, over) for each in calls]
        table.add_row(
            f"{satisfied:,}", f"{call[0]:.1f} / {call[1]:.1f}", f"{ours[0]:.1f} / {ours[1]:.1f}",
            f"{ours[0] / call[0]:.2f}", f"{many_call:.0f}, {rate_call:.0f}/s", f"{many:.0f}, {rate:.0f}/s",
            f"{many / many_call:.2f}",
        )  # fmt: skip
    Console(width=130).print(table)


if __name__ == "__main__":
    asyncio.run(main())
