"""Fusion by golden values, worked out by hand from Weaviate's two rules."""

from __future__ import annotations

import pytest

from connectors.index.fusion import Fusion, Leg, reciprocal_rank, relative_score


def test_relative_scores_run_from_nothing_to_the_full_weight() -> None:
    fused = relative_score([Leg(0.75, [(1, 0.9), (2, 0.6), (3, 0.5)]), Leg(0.25, [(3, 8.0), (4, 4.0), (1, 0.0)])])

    assert fused == pytest.approx({1: 0.75, 2: 0.1875, 3: 0.25, 4: 0.125})


def test_a_single_hit_and_equal_hits_get_the_full_weight() -> None:
    assert relative_score([Leg(0.75, [(1, 0.1)]), Leg(0.25, [(2, 3.0), (3, 3.0)])]) == {1: 0.75, 2: 0.25, 3: 0.25}
    assert relative_score([Leg(1.0, [])]) == {}


def test_ranks_count_from_sixty() -> None:
    fused = reciprocal_rank([Leg(0.75, [(1, 0.9), (2, 0.6)]), Leg(0.25, [(2, 8.0), (3, 1.0)])])

    assert fused == pytest.approx({1: 0.75 / 60, 2: 0.75 / 61 + 0.25 / 60, 3: 0.25 / 61})


def test_a_fusion_uses_its_rule() -> None:
    legs = [Leg(1.0, [(1, 5.0), (2, 1.0)])]

    assert Fusion("relative", 1, 1, 1).fuse(legs) == {1: 1.0, 2: 0.0}
    assert Fusion("ranked", 1, 1, 1).fuse(legs) == pytest.approx({1: 1 / 60, 2: 1 / 61})
