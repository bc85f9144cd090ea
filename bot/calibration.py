"""Thresholds, each belonging to the models whose scores it is compared with.

What one reranker calls .4 another calls .05, so numbers never move from one model to another by themselves. Those of
the local models were fitted (docs/decisions/0002 and 0004). Those of hosted ones are defaults to start from: run
`footnote eval` on questions of your own before you rely on when it answers (docs/models.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Calibration:
    """Numbers for one pair of embedder and reranker; relevances are 0 to 1 on the reranker's scale."""

    floor: float  # below it a passage is not worth showing to a writer
    most: int  # passages a part of the question
    weight: float  # of the reranker's log-odds beside the search's score, which the embedder has a part in
    answers: float  # the best sentence must reach it, or the quoting writer does not answer
    supports: float  # a further sentence must reach it to be quoted as well
    fitted: bool  # on a golden set, rather than chosen


LOCAL = Calibration(floor=0.002, most=8, weight=0.15, answers=0.4, supports=0.15, fitted=True)
COHERE_UNFITTED = Calibration(floor=0.01, most=8, weight=0.15, answers=0.3, supports=0.1, fitted=False)


def calibration(embedder: str, reranker: str) -> Calibration:
    """The thresholds of the pair that was chosen; each is `local` or `cohere`."""
    match embedder, reranker:
        case "local", "local":
            return LOCAL
        case _, "local":
            return replace(LOCAL, fitted=False)  # the same scale, beside searches that nobody measured
        case _:
            return COHERE_UNFITTED
