"""The access algebra: what its few operations mean, in tables."""

from __future__ import annotations

import pytest

from policies.access import NOBODY, AccessExpr, Clause, Unknown, clause_digest, digest, satisfies, simplify
from policies.names import Principal

A, B, C = (Principal.group(name) for name in "abc")


@pytest.mark.parametrize(
    ("held", "access", "may"),
    [
        ({A}, AccessExpr.any_of(A), True),
        ({A}, AccessExpr.any_of(A, B), True),
        ({C}, AccessExpr.any_of(A, B), False),
        ({A, B}, AccessExpr.all_of([A], [B]), True),
        ({A}, AccessExpr.all_of([A], [B]), False),
        ({A, C}, AccessExpr.all_of([A, B], [C]), True),
        ({A}, AccessExpr.all_of([A], []), False),
        ({A}, NOBODY, False),
        (set(), AccessExpr.any_of(A), False),
        (set(), NOBODY, False),
        ({A}, Unknown("403"), False),
        (set(), Unknown("403"), False),
    ],
)
def test_every_clause_needs_one_of_its_principals(
    held: set[Principal], access: AccessExpr | Unknown, may: bool
) -> None:
    assert satisfies(frozenset(held), access) is may


def test_an_expression_without_clauses_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="use NOBODY or Unknown"):
        AccessExpr(frozenset())
    with pytest.raises(ValueError, match="use NOBODY or Unknown"):
        AccessExpr.all_of()

    assert AccessExpr.any_of() == NOBODY


def test_and_joins_the_clauses_of_both() -> None:
    assert AccessExpr.any_of(A) & AccessExpr.any_of(B, C) == AccessExpr.all_of([A], [B, C])


@pytest.mark.parametrize(
    ("written", "simplest"),
    [
        (AccessExpr.all_of([A], [A, B]), AccessExpr.any_of(A)),
        (AccessExpr.all_of([A, B], [B, C]), AccessExpr.all_of([A, B], [B, C])),
        (AccessExpr.all_of([A], [B], []), NOBODY),
        (AccessExpr.all_of([A, B, C], [A, B], [C]), AccessExpr.all_of([A, B], [C])),
    ],
)
def test_a_clause_that_contains_another_is_absorbed(written: AccessExpr, simplest: AccessExpr) -> None:
    assert simplify(written) == simplest
    assert digest(written) == digest(simplest)


def test_digests_tell_apart_names_that_joining_would_merge() -> None:
    assert clause_digest(Clause([Principal("a:x\x00b:y")])) != clause_digest(
        Clause([Principal("a:x"), Principal("b:y")])
    )
    assert clause_digest(Clause([Principal("a:x b:y")])) != clause_digest(Clause([Principal("a:x"), Principal("b:y")]))
    assert clause_digest(Clause([Principal("grp:\ud800")])) != clause_digest(Clause([Principal("grp:?")]))


def test_unknown_has_one_digest_which_no_expression_shares() -> None:
    assert digest(Unknown("403")) == digest(Unknown("timeout"))
    assert digest(Unknown("403")) != digest(NOBODY)
