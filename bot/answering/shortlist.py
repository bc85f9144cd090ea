"""Rerank what was cleared and cut it down; what fell below the cut is kept for the trace.

The reranker reads question and passage together, so it may reorder, but a part of its log-odds is added to the search's
own score rather than put in its place: alone it helps on company questions and hurts on others. A reranker cannot
bring back what the search did not find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from bot.answering.gate import Opened
from bot.answering.question import Part
from connectors.ports import Reranker
from connectors.records import Passage

RERANKED = 12  # passages read by the reranker, over all parts of a question
WEIGHT = 0.15  # of the local reranker's log-odds beside the search's score; measured, docs/decisions/0002
_TINY = 1e-5  # keeps log-odds finite


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
    weight: float = WEIGHT  # of the reranker's log-odds beside the search's score


async def shorten(
    parts: Sequence[tuple[Part, Sequence[Opened]]], reranker: Reranker, cut: Cut
) -> tuple[Shortlist, ...]:
    """One shortlist a part. The reranker's budget is shared between the parts."""
    budget = max(1, RERANKED // max(1, len(parts)))
    return tuple([await _shorten(part, opened, reranker, cut, budget) for part, opened in parts])


async def _shorten(part: Part, opened: Sequence[Opened], reranker: Reranker, cut: Cut, budget: int) -> Shortlist:
    head = opened[:budget]
    scores = await reranker.scores(part.text, [each.passage.map(readable) for each in head]) if head else []
    read = [*scores, *[None] * (len(opened) - len(head))]
    ranked = [
        Ranked(each, relevance, _score(each, relevance, cut.weight), place)
        for place, (each, relevance) in enumerate(zip(opened, read, strict=True), 1)
    ]
    ranked.sort(key=lambda each: (-each.score, each.found_at))
    most = budget if part.bare else cut.most  # where a code occurs is asked for in every place
    kept = [each for each in ranked if each.relevance is not None and each.relevance >= cut.floor][:most]
    chosen = {id(each) for each in kept}
    return Shortlist(part, tuple(kept), tuple(each for each in ranked if id(each) not in chosen))


def _score(opened: Opened, relevance: float | None, weight: float) -> float:
    # What was not read counts as not relevant at all. It was found below all that was, so it stays below.
    chance = min(max(relevance or 0.0, _TINY), 1 - _TINY)
    return opened.candidate.score + weight * log(chance / (1 - chance))


def readable(passage: Passage) -> str:
    """A passage as a model reads it: where it stands, then what it says."""
    return f"{passage.header}\n{passage.text}"
