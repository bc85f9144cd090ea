"""Each measure against values worked out by hand."""

from __future__ import annotations

from math import log2

import pytest

from bot.evaluating.metrics import mean, ndcg_at, precision_at, recall_at, reciprocal_rank_at

RANKING = ["a", "b", "c", "d", "e"]


def test_recall_is_the_share_of_the_relevant_that_was_found() -> None:
    assert recall_at(3, RANKING, {"b": 1, "e": 1, "z": 2}) == pytest.approx(1 / 3)
    assert recall_at(5, RANKING, {"b": 1, "e": 1, "z": 2}) == pytest.approx(2 / 3)
    assert recall_at(5, [], {"b": 1}) == 0


def test_precision_counts_empty_places_as_misses() -> None:
    assert precision_at(5, RANKING, {"b": 1, "e": 1}) == pytest.approx(2 / 5)
    assert precision_at(10, ["b"], {"b": 1}) == pytest.approx(1 / 10)


def test_the_reciprocal_rank_is_that_of_the_first_relevant() -> None:
    assert reciprocal_rank_at(10, RANKING, {"c": 1, "d": 1}) == pytest.approx(1 / 3)
    assert reciprocal_rank_at(2, RANKING, {"c": 1}) == 0


def test_ndcg_rewards_high_grades_high_up() -> None:
    grades = {"a": 1, "c": 3, "z": 2}
    gained = 1 / log2(2) + 3 / log2(4)
    best = 3 / log2(2) + 2 / log2(3) + 1 / log2(4)

    assert ndcg_at(10, RANKING, grades) == pytest.approx(gained / best)
    assert ndcg_at(2, RANKING, grades) == pytest.approx((1 / log2(2)) / (3 / log2(2) + 2 / log2(3)))
    assert ndcg_at(10, ["c", "z", "a"], grades) == pytest.approx(1)


def test_a_repeated_name_counts_once_where_it_stands_first() -> None:
    assert precision_at(2, ["a", "a", "b"], {"a": 1, "b": 1}) == 1
    assert ndcg_at(10, ["a", "a", "b"], {"a": 1, "b": 1}) == pytest.approx(1)
    assert reciprocal_rank_at(10, ["x", "x", "a"], {"a": 1}) == pytest.approx(1 / 2)


@pytest.mark.parametrize("measure", [recall_at, precision_at, reciprocal_rank_at, ndcg_at])
def test_nothing_relevant_is_nothing_measured(measure: object) -> None:
    assert measure(10, RANKING, {}) is None  # type: ignore[operator]
    assert measure(10, RANKING, {"a": 0}) is None  # type: ignore[operator]
    with pytest.raises(ValueError, match="at least 1"):
        measure(0, RANKING, {"a": 1})  # type: ignore[operator]


def test_the_mean_is_over_what_could_be_measured() -> None:
    assert mean([1.0, None, 0.0]) == 0.5
    assert mean([None]) is None
