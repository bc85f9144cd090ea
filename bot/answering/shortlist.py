"""Rerank what was cleared and cut it down; what fell below the cut is kept for the trace.

The reranker reads question and passage together, so it may reorder, but its order is fused with the search's own (by
reciprocal rank) rather than put in its place: alone it helps on company questions and hurts on others. A reranker
cannot bring back what the search did not find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.answering.gate import Opened
from bot.answering.question import Part
from connectors.ports import Reranker
from connectors.records import Passage

RERANKED = 16  # passages read by the reranker, over all parts of a question
_K = 60  # of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009
_WEIGHT = 2.0  # of the reranker's order against the search's; measured, docs/decisions/0002


@dataclass(frozen=True, slots=True)
class Ranked:
    """A cleared passage with its place; `relevance` is None where the reranker did not read it."""

    opened: Opened
    relevance: float | None  # 0 to 1
    score: float
    found_at: int  # place in the search's order among what was cleared, from 1


@dataclass(frozen=True, slots=True)
class Shortlist:
    """For one part of the question: what is worth answering from, best first, and what fell below the cut."""

    part: Part
    kept: tuple[Ranked, ...]
    below: tuple[Ranked, ...]

    @property
    def ranked(self) -> tuple[Ranked, ...]:
        """Everything, best first."""
        return self.kept + self.below


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a shortlist ends; calibrated on the golden set."""

    floor: float  # relevance below which a passage is not worth showing to a writer
    most: int  # passages a part


async def shorten(
    parts: Sequence[tuple[Part, Sequence[Opened]]], reranker: Reranker, cut: Cut
) -> tuple[Shortlist, ...]:
    """One shortlist a part. The reranker's budget is shared between the parts."""
    budget = max(1, RERANKED // max(1, len(parts)))
    return tuple([await _shorten(part, opened, reranker, cut, budget) for part, opened in parts])


async def _shorten(part: Part, opened: Sequence[Opened], reranker: Reranker, cut: Cut, budget: int) -> Shortlist:
    head = opened[:budget]
    scores = await reranker.scores(part.text, [each.passage.map(readable) for each in head]) if head else []
    order = sorted(range(len(head)), key=lambda place: -scores[place])
    reranked_at = {place: rank for rank, place in enumerate(order, 1)}
    ranked = [
        Ranked(
            each,
            scores[place] if place < len(head) else None,
            1 / (_K + place + 1) + (_WEIGHT / (_K + reranked_at[place]) if place < len(head) else 0.0),
            place + 1,
        )
        for place, each in enumerate(opened)
    ]
    ranked.sort(key=lambda each: (-each.score, each.found_at))
    kept = [each for each in ranked if each.relevance is not None and each.relevance >= cut.floor][: cut.most]
    chosen = {id(each) for each in kept}
    return Shortlist(part, tuple(kept), tuple(each for each in ranked if id(each) not in chosen))


def readable(passage: Passage) -> str:
    """A passage as a model reads it: where it stands, then what it says."""
    return f"{passage.header}\n{passage.text}"
