"""Hybrid candidates for each part of a query, narrowed to the asker's scopes inside both legs.

The narrowing is made by the policy from the ledger's facts. There is no search here without one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from bot.answering.question import Part, Query
from connectors.ports import Embedder, Index
from connectors.records import Candidate, Search
from policies.names import ChunkId
from policies.predicate import Narrowing

DEPTH = 50  # candidates a part


@dataclass(frozen=True, slots=True)
class Found:
    """What the legs found for one part, best first."""

    part: Part
    candidates: tuple[Candidate, ...]


async def retrieve(
    query: Query, narrowing: Narrowing, index: Index, embedder: Embedder, depth: int = DEPTH
) -> tuple[Found, ...]:
    """Search once for each part. Each part's codes are looked up as wholes as well."""
    return tuple(await asyncio.gather(*(_search(part, narrowing, index, embedder, depth) for part in query.parts)))


async def _search(part: Part, narrowing: Narrowing, index: Index, embedder: Embedder, depth: int) -> Found:
    vector = await embedder.question(part.text)
    candidates = await index.search(Search(part.text, vector, part.codes, narrowing, depth))
    return Found(part, tuple(candidates))


def chunk_ids(found: Sequence[Found]) -> tuple[ChunkId, ...]:
    """Every chunk found, once, in order of first appearance."""
    return tuple(dict.fromkeys(candidate.id for each in found for candidate in each.candidates))
