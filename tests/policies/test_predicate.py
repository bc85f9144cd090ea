"""The filter language: nothing matches without a scope, and a missing attribute matches nothing."""

from __future__ import annotations

from datetime import date

import pytest

from policies.facts import Trust
from policies.names import ContainerId, ScopeId
from policies.predicate import (
    OPEN_END,
    OPEN_START,
    AtLeast,
    AtMost,
    Condition,
    Narrowing,
    OneOf,
    SearchScope,
    attributes,
    holds,
    matches,
)

ONE = SearchScope(frozenset([ScopeId(1)]))


@pytest.mark.parametrize("ids", [frozenset(), None, [ScopeId(1)]])
def test_a_search_scope_is_a_set_that_is_not_empty(ids: object) -> None:
    with pytest.raises(ValueError, match="at least one scope"):
        SearchScope(ids)  # type: ignore[arg-type]  # the mistake that is refused


@pytest.mark.parametrize("scope", [None, frozenset([1])])
def test_a_narrowing_needs_a_search_scope(scope: object) -> None:
    with pytest.raises(TypeError, match="SearchScope"):
        Narrowing(scope)  # type: ignore[arg-type]  # the mistake that is refused


def test_a_condition_needs_values() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        OneOf("superseded", frozenset())


def test_a_cover_is_its_scopes_and_those_in_its_containers_but_the_excepted() -> None:
    cover = SearchScope(frozenset([ScopeId(1)]), frozenset([ContainerId(7)]), frozenset([ScopeId(3)]))

    assert cover.has(1, ())
    assert cover.has(2, (9, 7))
    assert not cover.has(2, (8, 9))
    assert not cover.has(3, (7,))
    assert not cover.has(None, (7,))
    assert SearchScope(containers=frozenset([ContainerId(7)])).has(3, (7,))


@pytest.mark.parametrize(
    ("ids", "containers", "excepted"),
    [([1], [], [2]), ([1], [7], [1]), ([], [], [1])],
)
def test_scopes_are_excepted_from_containers_only(ids: list[int], containers: list[int], excepted: list[int]) -> None:
    with pytest.raises(ValueError, match="scope"):
        SearchScope(
            frozenset(map(ScopeId, ids)), frozenset(map(ContainerId, containers)), frozenset(map(ScopeId, excepted))
        )


@pytest.mark.parametrize(
    ("condition", "value", "met"),
    [
        (AtMost("trust", 1), 1, True),
        (AtMost("trust", 1), 2, False),
        (AtMost("trust", 1), None, False),
        (AtLeast("effective_to", 5), 5, True),
        (AtLeast("effective_to", 5), 4, False),
        (AtLeast("effective_to", 5), None, False),
        (OneOf("superseded", frozenset([0])), 0, True),
        (OneOf("superseded", frozenset([0])), 1, False),
        (OneOf("superseded", frozenset([0])), None, False),
    ],
)
def test_what_a_condition_means(condition: Condition, value: int | None, met: bool) -> None:
    assert holds(condition, value) is met


def test_a_narrowing_matches_where_scope_and_all_conditions_do() -> None:
    narrowing = Narrowing(ONE).also([AtMost("trust", 1)]).also([OneOf("superseded", frozenset([0]))])

    assert matches(narrowing, {"scope": 1, "trust": 0, "superseded": 0})
    assert not matches(narrowing, {"scope": 2, "trust": 0, "superseded": 0})
    assert not matches(narrowing, {"trust": 0, "superseded": 0})
    assert not matches(narrowing, {"scope": 1, "trust": 2, "superseded": 0})
    assert not matches(narrowing, {"scope": 1, "trust": 0})


def test_a_narrowing_to_containers_matches_what_stands_in_them() -> None:
    narrowing = Narrowing(SearchScope(containers=frozenset([ContainerId(7)]))).also([AtMost("trust", 1)])

    assert matches(narrowing, {"scope": 1, "trust": 0}, (5, 7))
    assert not matches(narrowing, {"scope": 1, "trust": 2}, (5, 7))
    assert not matches(narrowing, {"scope": 7, "trust": 0}, (5,))
    assert not matches(narrowing, {"scope": 1, "trust": 0})


def test_dates_flags_and_trust_become_integers() -> None:
    day = date(2026, 3, 2)

    assert attributes(ScopeId(7), day, None, True, Trust.SUSPECT) == {
        "scope": 7,
        "effective_from": day.toordinal(),
        "effective_to": OPEN_END,
        "superseded": 1,
        "trust": 1,
    }
    assert attributes(ScopeId(7), None, date.max, False, Trust.CLEAN)["effective_from"] == OPEN_START
    assert OPEN_START < date.min.toordinal() <= date.max.toordinal() < OPEN_END


def test_a_condition_that_is_not_of_the_language_is_met_by_nothing() -> None:
    assert not holds("trust <= 1", 0)  # type: ignore[arg-type]  # the mistake that is refused
