"""Several ranked lists made one. Pure; both rules are Weaviate's, so that the two indexes agree.

Which rule and which weights the product uses was measured: docs/decisions/0002-local-models-and-fusion.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

RANK_CONSTANT = 60  # of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)

Rule = Literal["relative", "ranked"]


@dataclass(frozen=True, slots=True)
class Leg:
    """One search's hits, best first, and what it weighs against the others."""

    weight: float
    hits: Sequence[tuple[int, float]]  # what was found, by the caller's own number, and with which score


@dataclass(frozen=True, slots=True)
class Fusion:
    """How the legs are fused: the rule, and the weight of each leg."""

    rule: Rule
    vector: float
    lexical: float
    code: float

    def fuse(self, legs: Sequence[Leg]) -> dict[int, float]:
        """The fused score of everything any leg found."""
        match self.rule:
            case "relative":
                return relative_score(legs)
            case "ranked":
                return reciprocal_rank(legs)


LEAST_LEG = 100  # hits a leg contributes at least, as Weaviate's do
MOST_HITS = 1000  # a search gives back at most
FUSION = Fusion("relative", vector=0.6, lexical=0.4, code=1.0)  # docs/decisions/0002


def relative_score(legs: Sequence[Leg]) -> dict[int, float]:
    """The sum over legs of weight x (score - least) / (most - least). A leg whose scores are all equal, such as one of
    a single hit, gives each the full weight; otherwise its last hit gets nothing."""
    fused: dict[int, float] = {}
    for leg in legs:
        if not leg.hits:
            continue
        scores = [score for _, score in leg.hits]
        least, span = min(scores), max(scores) - min(scores)
        for found, score in leg.hits:
            share = (score - least) / span if span > 0 else 1.0
            fused[found] = fused.get(found, 0.0) + leg.weight * share
    return fused


def reciprocal_rank(legs: Sequence[Leg], constant: int = RANK_CONSTANT) -> dict[int, float]:
    """The sum over legs of weight / (constant + rank), ranks counted from 0."""
    fused: dict[int, float] = {}
    for leg in legs:
        for rank, (found, _) in enumerate(leg.hits):
            fused[found] = fused.get(found, 0.0) + leg.weight / (constant + rank)
    return fused
