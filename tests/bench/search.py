"""How fast a search of the embedded index is: 5,000, 50,000 and 200,000 chunks, for askers with few, many, most scopes.

    python -m tests.bench.search [--sizes 5000 50000 200000] [--searches 200]

Beside each stands what its bare parts cost: the product of the whole vector matrix with the question and the best of it
(numpy), and the full-text query without any narrowing (FTS5's own bm25). The words follow Zipf's law. The file is
filled by the product's own statements, many documents a transaction: how long `put` takes is not measured here.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from connectors.index import lexical, tables
from connectors.index.embedded import EmbeddedIndex
from connectors.ports import IndexIdentity
from connectors.records import Attributes, Chunk, Entry, Form, Search
from policies.facts import Trust
from policies.names import ChunkId, DocumentId, ScopeId
from policies.predicate import AtLeast, AtMost, Narrowing, SearchScope

DIMENSIONS = 384
VOCABULARY = 20_000
WORDS = 65  # a chunk
SCOPES = 2_000
CHUNKS_A_DOCUMENT = 10
DOCUMENTS_A_COMMIT = 500
ASKERS = {"few": 15, "many": 150, "most": 1_600}  # scopes out of SCOPES
TODAY = 740_000  # an ordinal


def entries(number: int, rng: np.random.Generator, texts: np.ndarray) -> list[Entry]:
    """One document."""
    document = DocumentId("bench", f"folder/{number}.md")
    scope = ScopeId(int(rng.integers(1, SCOPES + 1)))
    vectors = rng.normal(size=(len(texts), DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made = []
    for ordinal, words in enumerate(texts):
        text = " ".join(f"w{word}x" for word in words)
        chunk = Chunk(
            ChunkId(document, "v1", f"s{ordinal}"), "s", ordinal, ("Heading",), text, f"Document {number} › Heading",
            f"Document {number} › Heading",
            (f"co-{rng.integers(100, 9999)}",), None, Form.TEXT, sha256(text.encode()).hexdigest(),
            sha256(text.encode()).hexdigest(),
            Attributes(f"Document {number}", "https://example.com/x", None, None, False, None, ()),
        )  # fmt: skip
        made.append(Entry(chunk, vectors[ordinal], "bench", scope, (), Trust.CLEAN))
    return made


def zipf(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    weights = 1 / np.arange(1, VOCABULARY + 1)
    return rng.choice(VOCABULARY, size=size, p=weights / weights.sum())


async def fill(path: Path, index: EmbeddedIndex, chunks: int) -> float:
    rng = np.random.default_rng(1)
    began = time.perf_counter()
    await index.put(entries(0, rng, zipf(rng, (CHUNKS_A_DOCUMENT, WORDS))))  # lays the file out
    db = tables.connect(path)
    documents = range(1, chunks // CHUNKS_A_DOCUMENT)
    for start in range(0, len(documents), DOCUMENTS_A_COMMIT):
        db.execute("BEGIN IMMEDIATE")
        [(stamp,)] = db.execute("UPDATE clock SET stamp = stamp + 1 RETURNING stamp").fetchall()
        for number in documents[start : start + DOCUMENTS_A_COMMIT]:
            for entry in entries(number, rng, zipf(rng, (CHUNKS_A_DOCUMENT, WORDS))):
                tables.add(db, entry, stamp)
        db.execute("COMMIT")
    db.close()
    return time.perf_counter() - began


def searches(count: int, scopes: int) -> list[Search]:
    rng = np.random.default_rng(2)
    made = []
    for _ in range(count):
        words = np.concatenate([rng.integers(20, 3_000, 5), zipf(rng, (3,))])
        vector = rng.normal(size=DIMENSIONS).astype(np.float32)
        readable = frozenset(ScopeId(int(each)) for each in rng.choice(SCOPES, scopes, replace=False) + 1)
        narrowing = Narrowing(
            SearchScope(readable), (AtMost("effective_from", TODAY), AtLeast("effective_to", TODAY), AtMost("trust", 1))
        )
        text = " ".join(f"w{word}x" for word in words)
        made.append(Search(text, vector / np.linalg.norm(vector), (f"co-{rng.integers(100, 9999)}",), narrowing))
    return made


def timed(work: Callable[[Search], object], over: Sequence[Search]) -> list[float]:
    laps = []
    for each in over:
        began = time.perf_counter()
        work(each)
        laps.append((time.perf_counter() - began) * 1000)
    return laps


def bare_parts(path: Path, over: Sequence[Search]) -> tuple[float, float]:
    """Median milliseconds of the raw vector product with its best 100, and of the raw full-text query."""
    db = sqlite3.connect(path)
    stored = b"".join(vector for (vector,) in db.execute("SELECT vector FROM vectors ORDER BY row"))
    matrix = np.frombuffer(stored, np.float32).reshape(-1, DIMENSIONS)

    def by_vector(search: Search) -> object:
        cosines = matrix @ search.vector
        return np.argpartition(cosines, -100)[-100:]

    def by_words(search: Search) -> object:
        match = " OR ".join(f'"{word}"' for word in lexical.question_words(search.text))
        return db.execute(
            "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT 100", (match,)
        ).fetchall()

    laps = [statistics.median(timed(work, over[: min(60, len(over))])) for work in (by_vector, by_words)]
    db.close()
    return laps[0], laps[1]


async def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", type=int, nargs="*", default=[5_000, 50_000, 200_000])
    options.add_argument("--searches", type=int, default=200)
    chosen = options.parse_args()
    table = Table("chunks", "asker", "readable", "p50 ms", "p95 ms", "bare vector", "bare words", "ratio", "MB",
                  title="embedded index: search")  # fmt: skip
    console = Console(width=120)
    for size in chosen.sizes:
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "index.sqlite"
            identity = IndexIdentity("bench", DIMENSIONS, "bench")
            async with EmbeddedIndex(path, identity) as index:
                took = await fill(path, index, size)
                print(f"{size} chunks written in {took:.1f} s, {path.stat().st_size >> 20} MB", file=sys.stderr)
            async with EmbeddedIndex(path, identity) as index:
                began = time.perf_counter()
                await index.search(searches(1, 10)[0])
                print(f"first search {(time.perf_counter() - began) * 1000:.0f} ms", file=sys.stderr)
                for asker, scopes in ASKERS.items():
                    over = searches(chosen.searches, scopes)
                    laps = []
                    for each in over:
                        began = time.perf_counter()
                        await index.search(each)
                        laps.append((time.perf_counter() - began) * 1000)
                    vector, words = bare_parts(path, over)
                    middle = statistics.median(laps)
                    table.add_row(
                        f"{size:,}", asker, f"{scopes / SCOPES:.0%}", f"{middle:.1f}",
                        f"{statistics.quantiles(laps, n=20)[-1]:.1f}", f"{vector:.1f}", f"{words:.1f}",
                        f"{middle / (vector + words):.2f}",
                        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}",
                    )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    asyncio.run(main())
