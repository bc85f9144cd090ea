"""How good a ranking is, against what somebody judged relevant. Pure arithmetic.

A ranking is a sequence of names, best first; a name that is repeated counts where it stands first. Judgements are grades
above 0 for what is relevant; what is not named is not relevant. Nothing relevant: there is nothing to measure, and the
measure is None.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import log2
from statistics import fmean
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)


def recall_at(k: int, ranking: Sequence[Name], grades: Mapping[Name, float]) -> float | None:
    """The share of the relevant that is among the first `k`."""
    relevant = _relevant(grades)
    if not relevant:
        return None
    return len(relevant & set(_first(k, ranking))) / len(relevant)


def precision_at(k: int, ranking: Sequence[Name], grades: Mapping[Name, float]) -> float | None:
    """The share of the first `k` places that holds something relevant; empty places count as misses."""
    relevant = _relevant(grades)
    if not relevant:
        return None
    return len(relevant & set(_first(k, ranking))) / k


def reciprocal_rank_at(k: int, ranking: Sequence[Name], grades: Mapping[Name, float]) -> float | None:
    """One over the place, counted from 1, of the first relevant among the first `k`; 0 where there is none."""
    relevant = _relevant(grades)
    if not relevant:
        return None
    return next((1 / place for place, name in enumerate(_first(k, ranking), 1) if name in relevant), 0.0)


def ndcg_at(k: int, ranking: Sequence[Name], grades: Mapping[Name, float]) -> float | None:
    """Discounted gain of the first `k` over that of the best possible order: grades as gains, log2(place + 1) as
    discount (Järvelin and Kekäläinen 2002, as trec_eval and BEIR compute it)."""
    if not _relevant(grades):
        return None
    gained = _discounted([max(0.0, grades.get(name, 0.0)) for name in _first(k, ranking)])
    return gained / _discounted(sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k])


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of what could be measured; None where nothing could."""
    measured = [value for value in values if value is not None]
    return fmean(measured) if measured else None


def _first(k: int, ranking: Sequence[Name]) -> list[Name]:
    if k < 1:
        raise ValueError(f"a cut-off is at least 1, not {k}")
    return list(dict.fromkeys(ranking))[:k]


def _relevant(grades: Mapping[Name, float]) -> set[Name]:
    return {name for name, grade in grades.items() if grade > 0}


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains, 1))
