"""Thresholds, each belonging to the model whose scores it is compared with.

What one reranker calls .4 another calls .05, so numbers never move from one model to another by themselves. Those of
the local reranker were fitted (docs/decisions/0002 and 0004). Those of hosted rerankers are defaults to start from: run
`footnote eval` on questions of your own before you rely on when it answers (docs/models.md).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Calibration:
    """Relevances from 0 to 1, on the scale of one reranker."""

    floor: float  # below it a passage is not worth showing to a writer
    most: int  # passages a part of the question
    answers: float  # the best sentence must reach it, or the quoting writer does not answer
    supports: float  # a further sentence must reach it to be quoted as well
    fitted: bool  # on a golden set, rather than chosen


LOCAL = Calibration(floor=0.002, most=8, answers=0.4, supports=0.15, fitted=True)
COHERE_UNFITTED = Calibration(floor=0.01, most=8, answers=0.3, supports=0.1, fitted=False)


def calibration(reranker: str) -> Calibration:
    """The thresholds on the scale of the reranker that was chosen: `local` or `cohere`."""
    return LOCAL if reranker == "local" else COHERE_UNFITTED
