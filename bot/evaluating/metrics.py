"""How good a ranking is, against what somebody judged relevant. Pure arithmetic.

A ranking is a sequence of names, best first; a repeated name counts where it stands first. What is relevant has a
grade above 0; what is not named is not relevant. Where nothing is relevant there is nothing to measure: ValueError.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import log2
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)


def recall(ranking: Sequence[Name], grades: Mapping[Name, float], k: int) -> float:
    """The share of the relevant that is among the first `k`."""
    relevant = _relevant(grades)
    return len(relevant & set(_first(k, ranking))) / len(relevant)


def precision(ranking: Sequence[Name], grades: Mapping[Name, float], k: int) -> float:
    """The share of the first `k` places that holds something relevant; empty places count as misses."""
    return len(_relevant(grades) & set(_first(k, ranking))) / k


def reciprocal_rank(ranking: Sequence[Name], grades: Mapping[Name, float], k: int | None = None) -> float:
    """One over the place, counted from 1, of the first relevant (among the first `k`); 0 where there is none."""
    relevant = _relevant(grades)
    places = enumerate(_first(k or max(1, len(ranking)), ranking), 1)
    return next((1 / place for place, name in places if name in relevant), 0.0)


def ndcg(ranking: Sequence[Name], grades: Mapping[Name, float], k: int) -> float:
    """Discounted gain of the first `k` over that of the best possible order: grades as gains, log2(place + 1) as
    discount (Järvelin and Kekäläinen 2002, as trec_eval and BEIR compute it)."""
    _relevant(grades)
    gained = _discounted([max(0.0, grades.get(name, 0.0)) for name in _first(k, ranking)])
    return gained / _discounted(sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k])


def _first(k: int, ranking: Sequence[Name]) -> list[Name]:
    if k < 1:
        raise ValueError(f"a cut-off is at least 1, not {k}")
    return list(dict.fromkeys(ranking))[:k]


def _relevant(grades: Mapping[Name, float]) -> set[Name]:
    relevant = {name for name, grade in grades.items() if grade > 0}
    if not relevant:
        raise ValueError("nothing is judged relevant, so there is nothing to measure")
    return relevant


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains, 1))
