"""Each measure against values worked out by hand."""

from __future__ import annotations

from math import log2

import pytest

from bot.evaluating.metrics import ndcg, precision, recall, reciprocal_rank

RANKING = ["a", "b", "c", "d", "e"]


def test_recall_is_the_share_of_the_relevant_that_was_found() -> None:
    assert recall(RANKING, {"b": 1, "e": 1, "z": 2}, 3) == pytest.approx(1 / 3)
    assert recall(RANKING, {"b": 1, "e": 1, "z": 2}, 5) == pytest.approx(2 / 3)
    assert recall([], {"b": 1}, 5) == 0


def test_precision_counts_empty_places_as_misses() -> None:
    assert precision(RANKING, {"b": 1, "e": 1}, 5) == pytest.approx(2 / 5)
    assert precision(["b"], {"b": 1}, 10) == pytest.approx(1 / 10)


def test_the_reciprocal_rank_is_that_of_the_first_relevant() -> None:
    assert reciprocal_rank(RANKING, {"c": 1, "d": 1}) == pytest.approx(1 / 3)
    assert reciprocal_rank(RANKING, {"c": 1}, 2) == 0
    assert reciprocal_rank([], {"c": 1}) == 0


def test_ndcg_rewards_high_grades_high_up() -> None:
    grades = {"a": 1, "c": 3, "z": 2}
    gained = 1 / log2(2) + 3 / log2(4)
    best = 3 / log2(2) + 2 / log2(3) + 1 / log2(4)

    assert ndcg(RANKING, grades, 10) == pytest.approx(gained / best)
    assert ndcg(RANKING, grades, 2) == pytest.approx((1 / log2(2)) / (3 / log2(2) + 2 / log2(3)))
    assert ndcg(["c", "z", "a"], grades, 10) == pytest.approx(1)


def test_a_repeated_name_counts_once_where_it_stands_first() -> None:
    assert precision(["a", "a", "b"], {"a": 1, "b": 1}, 2) == 1
    assert ndcg(["a", "a", "b"], {"a": 1, "b": 1}, 10) == pytest.approx(1)
    assert reciprocal_rank(["x", "x", "a"], {"a": 1}) == pytest.approx(1 / 2)


@pytest.mark.parametrize("measure", [recall, precision, reciprocal_rank, ndcg])
def test_nothing_relevant_is_nothing_to_measure(measure: object) -> None:
    with pytest.raises(ValueError, match="nothing is judged relevant"):
        measure(RANKING, {}, 10)  # type: ignore[operator]
    with pytest.raises(ValueError, match="nothing is judged relevant"):
        measure(RANKING, {"a": 0}, 10)  # type: ignore[operator]


@pytest.mark.parametrize("measure", [recall, precision, ndcg])
def test_a_cut_off_is_at_least_one(measure: object) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        measure(RANKING, {"a": 1}, 0)  # type: ignore[operator]
