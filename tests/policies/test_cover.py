"""A cover is the plain set in fewer values, on random forests."""

from __future__ import annotations

import random

from policies.cover import Plan, Share, cover, plan
from policies.names import ContainerId, ScopeId
from policies.predicate import Narrowing, SearchScope, matches

C, S = ContainerId, ScopeId


def forest(drawn: random.Random) -> dict[ScopeId, tuple[ContainerId, ...]]:
    """Scopes, each with a path down one of two trees."""
    made: dict[tuple[int, ...], ContainerId] = {}
    standings = {}
    for number in range(drawn.randint(0, 24)):
        path: tuple[int, ...] = (drawn.randrange(2),)
        within = []
        for _ in range(drawn.randint(1, 4)):
            within.append(made.setdefault(path, C(len(made) + 1)))
            path = (*path, drawn.randrange(3))
        standings[S(number)] = tuple(within)
    return standings


def values(scope: SearchScope | None) -> int:
    return 0 if scope is None else len(scope.ids) + len(scope.containers) + len(scope.excepted)


def test_a_cover_means_the_plain_set_and_is_never_longer() -> None:
    drawn = random.Random(2026)
    cases = shorter = 0
    for _ in range(1500):
        standings = forest(drawn)
        satisfied = {scope for scope in standings if drawn.random() < drawn.choice([0.1, 0.5, 0.9, 1.0])}
        if standings and drawn.random() < 0.5:
            folder = drawn.choice(drawn.choice(list(standings.values())))
            satisfied |= {scope for scope, within in standings.items() if folder in within}

        found = cover(satisfied, standings)

        assert (found is None) == (not satisfied)
        assert values(found) <= len(satisfied)
        shorter += values(found) < len(satisfied)
        for scope, within in standings.items():
            assert (found is not None and found.has(scope, within)) == (scope in satisfied)
            if found is not None:
                assert matches(Narrowing(found), {"scope": scope}, within) == (scope in satisfied)
            cases += 1
    assert cases >= 10_000
    assert shorter > 300


def test_no_shorter_way_to_say_it_is_passed_over() -> None:
    stands = {S(number): (C(1), C(2 + number // 10)) for number in range(40)}

    assert cover({*stands}, stands) == SearchScope(containers=frozenset([C(1)]))
    assert cover({*stands} - {S(3)}, stands) == SearchScope(containers=frozenset([C(1)]), excepted=frozenset([S(3)]))
    assert cover({S(number) for number in range(10)} | {S(39)}, stands) == SearchScope(
        frozenset([S(39)]), frozenset([C(2)])
    )
    assert cover({S(1), S(12)}, stands) == SearchScope(frozenset([S(1), S(12)]))


def test_exceptions_are_made_where_they_save_values_only() -> None:
    stands = {S(number): (C(1),) for number in range(6)}

    assert cover({S(0), S(1), S(2), S(3)}, stands) == SearchScope(
        containers=frozenset([C(1)]), excepted=frozenset([S(4), S(5)])
    )
    assert cover({S(0), S(1), S(2)}, stands) == SearchScope(frozenset([S(0), S(1), S(2)]))


def test_counts_that_can_not_be_make_nothing_whole() -> None:
    impossible = Share(C(1), None, scopes=2, satisfied=3)

    assert plan([impossible]) == Plan(frozenset(), frozenset(), frozenset([C(1)]))


def test_a_container_whose_parent_is_not_told_stands_for_itself() -> None:
    assert plan([Share(C(2), C(1), scopes=2, satisfied=2)]) == Plan(frozenset([C(2)]), frozenset(), frozenset())
