"""How well the product finds: nDCG@10 of its legs, of their fusions and of reranking, on public questions.

    python tests/bench/retrieval.py handbook-gsa-tts scifact [--docs N] [--pairs 16]

FOOTNOTE_BENCH_DATA says where the sets are (default ../shared/data). Documents go through the product's own parser,
chunker, embedder and index, which stays in `--keep`, so that a second run only measures. A page counts where its best
passage stands. Weights are to be chosen on the even questions; both halves are shown. `--docs N` keeps all judged
documents and fills up to N with others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bot.evaluating.metrics import ndcg
from connectors.index.embedded import FUSION, EmbeddedIndex
from connectors.index.fusion import Fusion, Leg
from connectors.models.local import LocalEmbedder, LocalReranker
from connectors.ports import IndexIdentity
from connectors.records import Candidate, Entry, Passage, Search, SourceDocument
from connectors.sync.chunk import chunk
from connectors.sync.embed import embedded_text
from connectors.sync.parse import markdown, text
from connectors.sync.parse.limits import Limits
from policies.clearance import Cleared, clear
from policies.decision import Allowed
from policies.facts import Trust
from policies.names import DocumentId, ScopeId
from policies.predicate import Narrowing, SearchScope

EVERYTHING = Narrowing(SearchScope(frozenset([ScopeId(1)])))
LIMIT = 100
READERS = {"handbook-gsa-tts": markdown.read, "scifact": text.read}
Order = list[tuple[str, float]]  # passages, best first


@dataclass(frozen=True)
class Asked:
    """One question with what each leg found for it."""

    id: str
    text: str
    excluded: frozenset[str]
    lexical: Order
    vector: Order
    passages: dict[str, Candidate]


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def judgements(folder: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        question, document, *_, grade = line.split("\t")
        found.setdefault(question, {})[document] = float(grade)
    return found


def chosen(folder: Path, grades: dict[str, dict[str, float]], most: int | None) -> list[dict[str, Any]]:
    corpus = rows(folder / "corpus.jsonl")
    judged = {document for each in grades.values() for document in each}
    corpus.sort(key=lambda row: row["_id"] not in judged)
    return corpus[:most]


async def unread() -> bytes:
    return b""


async def fill(index: EmbeddedIndex, embedder: LocalEmbedder, name: str, corpus: Sequence[dict[str, Any]]) -> None:
    held = {stored.id.document.key async for stored in index.stored(name)}
    began, made = time.perf_counter(), 0
    for number, row in enumerate(corpus):
        if row["_id"] in held:
            continue
        record = READERS[name](row["text"].encode(), Limits())
        document = SourceDocument(
            DocumentId(name, row["_id"]), "v1", "v1", row["title"] or row["_id"], "", "text/plain", "", unread
        )
        chunks = chunk(record, document)
        vectors = await embedder.passages([embedded_text(each) for each in chunks])
        await index.put(
            [
                Entry(each, vector, embedder.model, ScopeId(1), (), Trust.CLEAN)
                for each, vector in zip(chunks, vectors, strict=True)
            ]
        )
        made += len(chunks)
        if number % 50 == 49:
            print(f"{number + 1}/{len(corpus)}, {made / (time.perf_counter() - began):.1f}/s", file=sys.stderr)


def leg(found: Sequence[Candidate], score: Callable[[Candidate], float | None]) -> Order:
    scored = [(str(each.id), score(each)) for each in found]
    return [(name, value) for name, value in scored if value is not None]


async def ask(
    lexically: EmbeddedIndex, nearby: EmbeddedIndex, embedder: LocalEmbedder, question: dict[str, Any]
) -> Asked:
    vector = await embedder.question(question["text"])
    search = Search(question["text"], vector, (), EVERYTHING, LIMIT)
    legs = {"lexical": await lexically.search(search), "vector": await nearby.search(search)}
    lexical = sorted(legs["lexical"], key=lambda each: each.ranks.lexical or LIMIT)
    return Asked(
        question["_id"],
        question["text"],
        frozenset(question.get("exclude_docs", ())),
        leg(lexical, lambda each: each.ranks.lexical_score),
        leg(legs["vector"], lambda each: each.ranks.vector_score),
        {str(each.id): each for each in (*legs["lexical"], *legs["vector"])},
    )


def fused(asked: Asked, fusion: Fusion) -> list[str]:
    scores = relevances(asked, fusion)
    return sorted(scores, key=lambda name: (-scores[name], name))


def relevances(asked: Asked, fusion: Fusion) -> dict[str, float]:
    names = list(asked.passages)
    number = {name: at for at, name in enumerate(names)}
    scores = fusion.fuse(
        [
            Leg(weight, [(number[name], score) for name, score in found])
            for weight, found in ((fusion.vector, asked.vector), (fusion.lexical, asked.lexical))
        ]
    )
    return {names[at]: score for at, score in scores.items()}


def pages(asked: Asked, order: Sequence[str]) -> list[str]:
    found = [asked.passages[name].id.document.key for name in order]
    return [key for key in dict.fromkeys(found) if key not in asked.excluded]


def opened(candidate: Candidate) -> Cleared[str]:
    sealed = candidate.passage
    cleared = clear(sealed, Allowed(sealed.document, sealed.version, "bench"))

    def readable(passage: Passage) -> str:
        return f"{passage.header}\n{passage.text}"

    return cleared.map(readable)


def remembered(path: Path) -> dict[str, float]:
    return json.loads(path.read_text()) if path.exists() else {}


def remember(path: Path, known: dict[str, float]) -> None:
    path.write_text(json.dumps(known))


async def reranked(
    asked: Sequence[Asked], orders: Sequence[list[str]], pairs: int, kept: Path
) -> list[dict[str, float]]:
    """The reranker's score of the first `pairs` passages of each order that are not excluded."""
    known = remembered(kept)
    reranker = LocalReranker()
    scores, laps = [], []
    for each, order in zip(asked, orders, strict=True):
        head = [name for name in order if each.passages[name].id.document.key not in each.excluded][:pairs]
        missing = [name for name in head if f"{each.id} {name}" not in known]
        began = time.perf_counter()
        made = await reranker.scores(each.text, [opened(each.passages[name]) for name in missing])
        if len(missing) == pairs:
            laps.append((time.perf_counter() - began) * 1000)
        known.update({f"{each.id} {name}": score for name, score in zip(missing, made, strict=True)})
        scores.append({name: known[f"{each.id} {name}"] for name in head})
        if missing:
            remember(kept, known)
    if laps:
        print(f"reranking {pairs} pairs: {np.median(laps):.0f} ms a question", file=sys.stderr)
    return scores


def blended(order: Sequence[str], scores: dict[str, float], weight: float) -> list[str]:
    """The reranker's order, weighing `weight`, fused by reciprocal rank with the search's."""
    head = [name for name in order if name in scores]
    place = {name: at for at, name in enumerate(sorted(head, key=lambda name: -scores[name]), 1)}
    found = {name: 1 / (60 + at) for at, name in enumerate(order, 1)}
    return sorted(order, key=lambda name: -(found[name] + (weight / (60 + place[name]) if name in place else 0)))


def added(scores: dict[str, float], head: dict[str, float], weight: float) -> list[str]:
    """The order by the search's own score with a part of the reranker's logit added; what it did not read follows."""

    def key(name: str) -> tuple[bool, float]:
        read = min(max(head.get(name, 0.5), 1e-9), 1 - 1e-9)
        return name not in head, -(scores[name] + weight * log(read / (1 - read)))

    return sorted(scores, key=key)


async def measure(name: str, options: argparse.Namespace, table: Table) -> None:
    folder = Path(os.environ.get("FOOTNOTE_BENCH_DATA", "../shared/data")) / name
    grades = judgements(folder)
    questions = [row for row in rows(folder / "queries.jsonl") if row["_id"] in grades]
    questions = [row for row in questions if row.get("kind", options.kind) == options.kind]
    corpus = chosen(folder, grades, options.docs)
    embedder = LocalEmbedder()
    path = options.keep / f"{name}.sqlite"
    identity = IndexIdentity(embedder.model, embedder.dimensions, "bench")
    async with EmbeddedIndex(path, identity) as index:
        await fill(index, embedder, name, corpus)
        passages = await index.count(name)
    async with (
        EmbeddedIndex(path, identity, Fusion("relative", 0, 1, 0)) as lexically,
        EmbeddedIndex(path, identity, Fusion("relative", 1, 0, 0)) as nearby,
    ):
        asked = [await ask(lexically, nearby, embedder, question) for question in questions]

    def row(label: str, orders: Sequence[list[str]]) -> float:
        values = np.array(
            [ndcg(pages(each, order), grades[each.id], 10) for each, order in zip(asked, orders, strict=True)]
        )
        table.add_row(name, label, f"{values.mean():.4f}", f"{values[::2].mean():.3f}", f"{values[1::2].mean():.3f}")
        return float(values[::2].mean())

    table.add_row(name, f"{len(corpus)} documents, {passages} passages, {len(asked)} questions", "", "", "")
    row("lexical", [[passage for passage, _ in each.lexical] for each in asked])
    row("dense", [[passage for passage, _ in each.vector] for each in asked])
    for rule in ("relative", "ranked"):
        for tenths in (3, 5, 6, 7, 8, 9):
            fusion = Fusion(rule, tenths / 10, 1 - tenths / 10, 1)
            row(f"{rule}, dense {tenths / 10}", [fused(each, fusion) for each in asked])
    if not options.pairs:
        return
    orders = [fused(each, FUSION) for each in asked]
    found = [relevances(each, FUSION) for each in asked]
    scores = await reranked(asked, orders, max(options.pairs), options.keep / f"{name}.scores.json")
    for pairs in options.pairs:
        heads = [dict(list(each.items())[:pairs]) for each in scores]
        replaced = [
            sorted(head, key=lambda passage: -head[passage]) + [passage for passage in order if passage not in head]
            for order, head in zip(orders, heads, strict=True)
        ]
        row(f"reranked, top {pairs}", replaced)
        for weight in (1, 2):
            row(
                f"reciprocal rank with the reranker's, weight {weight}, top {pairs}",
                [blended(order, head, weight) for order, head in zip(orders, heads, strict=True)],
            )
        for weight in (0.02, 0.05, 0.1, 0.2):
            row(
                f"fused score + {weight} logit, top {pairs}",
                [added(scores, head, weight) for scores, head in zip(found, heads, strict=True)],
            )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+", choices=sorted(READERS))
    parser.add_argument("--kind", default="faq_heading")
    parser.add_argument("--docs", type=int, default=None)
    parser.add_argument("--pairs", type=int, nargs="*", default=[16])
    parser.add_argument("--keep", type=Path, default=Path("var/bench"))
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    table = Table("set", "ranking", "nDCG@10", "even half", "odd half")
    for name in options.sets:
        await measure(name, options, table)
    Console(width=120).print(table)


if __name__ == "__main__":
    asyncio.run(main())
