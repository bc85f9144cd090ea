"""Vectors for passages: those that the index holds for the same text are used again, the rest are made in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connectors.errors import Stop
from connectors.ports import Embedder, Index
from connectors.records import Chunk

if TYPE_CHECKING:
    from connectors.records import Vector

BATCH = 64  # passages a call


@dataclass(frozen=True, slots=True)
class Embedded:
    """One vector a passage, in order, and how many of them were made now."""

    vectors: tuple[Vector, ...]
    made: int


def embedded_text(chunk: Chunk) -> str:
    """What stands for a passage in the vector: where it stands, then what it says, and nothing of its version."""
    return f"{chunk.lead}\n{chunk.text}"


async def embed(chunks: Sequence[Chunk], index: Index, embedder: Embedder) -> Embedded:
    """Vectors of one model for all of `chunks`; raises Stop where the index holds those of another."""
    if index.identity.model != embedder.model:
        raise Stop(
            f"the index holds vectors of {index.identity.model!r} and the embedder is {embedder.model!r}; "
            "configure the same model, or build the index anew"
        )
    held = dict(await index.vectors(list(dict.fromkeys(chunk.vector_key for chunk in chunks))))
    missing = list({chunk.vector_key: chunk for chunk in chunks if chunk.vector_key not in held}.values())
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        matrix = await embedder.passages([embedded_text(chunk) for chunk in batch])
        held |= {chunk.vector_key: vector for chunk, vector in zip(batch, matrix, strict=True)}
    return Embedded(tuple(held[chunk.vector_key] for chunk in chunks), len(missing))
