"""The scopes that readers satisfy, as a cover, counted by the database: what is whole is never listed.

Three or four statements in one state of the database, whatever is asked: how much of each container is satisfied, then
the single scopes of those that are not taken, and what is missing from those that are taken but for a few.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import CTE, BigInteger, Connection, Select, and_, bindparam, cast, func, intersect, not_, or_, select

from connectors.ledger.dialect import each, each_number, listed
from connectors.ledger.tables import (
    Utc,
    clause_principals,
    container_rules,
    containers,
    expression_clauses,
    expressions,
    scopes,
)
from policies.cover import Share, plan, search_scope
from policies.facts import ScopeState
from policies.names import ContainerId, Principal, ScopeId
from policies.predicate import SearchScope

_NOW = bindparam("now", type_=Utc())
_ACTIVE = scopes.c.state == ScopeState.ACTIVE.value


def cover(connection: Connection, readers: Sequence[frozenset[Principal]], now: datetime) -> SearchScope | None:
    """The scopes that every one of `readers` satisfies; None for none, or no readers."""
    fewest = _fewest(readers)
    if not fewest:
        return None
    asked: dict[str, Any] = {f"reader{at}": listed(map(str, held)) for at, held in enumerate(fewest)}
    asked["now"] = now
    statements = _statements(len(fewest))
    lapsed = {row[0]: row[1] for row in connection.execute(statements.lapsed, asked)}
    asked["lapsed"] = json.dumps(list(lapsed))
    shares = [
        Share(ContainerId(row[0]), None if row[1] is None else ContainerId(row[1]), row[2], row[3])
        for row in connection.execute(statements.shares, asked)
    ]
    chosen = plan(_without(shares, lapsed))
    singly = _numbers(connection, statements.singly, asked, chosen.listed)
    return search_scope(singly, chosen, _numbers(connection, statements.missing, asked, chosen.but))


def _fewest(readers: Sequence[frozenset[Principal]]) -> list[frozenset[Principal]]:
    """The readers that decide: who holds all that another one holds satisfies all that he does."""
    fewest: list[frozenset[Principal]] = []
    for held in sorted(set(readers), key=len):
        if not any(smaller <= held for smaller in fewest):
            fewest.append(held)
    return fewest


def _without(shares: Sequence[Share], lapsed: dict[int, int]) -> Iterable[Share]:
    """The shares less the scopes whose lease ran out, which the counts take for satisfied."""
    if not lapsed:
        return shares
    known = {share.id: share for share in shares}
    for home, count in lapsed.items():
        at: ContainerId | None = ContainerId(home)
        while at is not None:
            known[at] = replace(known[at], satisfied=known[at].satisfied - count)
            at = known[at].parent
    return known.values()


def _numbers(
    connection: Connection, statement: Select[Any], asked: dict[str, Any], within: frozenset[ContainerId]
) -> list[ScopeId]:
    if not within:
        return []
    rows = connection.execute(statement, {**asked, "within": json.dumps(sorted(within))})
    return [ScopeId(row[0]) for row in rows]


@dataclass(frozen=True, slots=True)
class _Statements:
    lapsed: Select[Any]  # by innermost container: how many satisfied scopes have a lease that ran out
    shares: Select[Any]  # containers that hold something satisfied, but for those inside a whole one
    singly: Select[Any]  # the satisfied scopes directly in some containers
    missing: Select[Any]  # what is not satisfied in some containers, at any depth


@lru_cache(maxsize=256)
def _statements(readers: int) -> _Statements:
    return _Statements(_lapsed(readers), _shares(readers), _singly(readers), _missing(readers))


def _satisfied(readers: int) -> CTE:
    """The expressions that every reader satisfies: one that has as many of its clauses met as it has is satisfied. A
    clause without principals is never among those met, and an expression without clauses never among those counted."""
    met = [_met(f"reader{at}") for at in range(readers)]
    return (intersect(*met) if len(met) > 1 else met[0]).cte("satisfied")


def _met(reader: str) -> Select[Any]:
    held = select(clause_principals.c.clause).where(clause_principals.c.principal.in_(each(reader)))
    return (
        select(expressions.c.id.label("expression"))
        .select_from(expression_clauses)
        .join(expressions, expressions.c.id == expression_clauses.c.expression)
        .where(expression_clauses.c.clause.in_(held))
        .group_by(expressions.c.id, expressions.c.clauses)
        .having(func.count() == expressions.c.clauses)
    )


def _lapsed(readers: int) -> Select[Any]:
    satisfied = _satisfied(readers)
    return (
        select(scopes.c.container, func.count())
        .where(_ACTIVE, scopes.c.expires_at < _NOW, scopes.c.expression.in_(select(satisfied.c.expression)))
        .group_by(scopes.c.container)
    )


def _shares(readers: int) -> Select[Any]:
    satisfied = _satisfied(readers)
    counted = (
        select(container_rules.c.container, cast(func.sum(container_rules.c.scopes), BigInteger).label("satisfied"))
        .where(container_rules.c.expression.in_(select(satisfied.c.expression)))
        .group_by(container_rules.c.container)
        .cte("counted")
    )
    lapsed = select(containers.c.id, containers.c.parent).where(containers.c.id.in_(each_number("lapsed")))
    above = lapsed.cte("above", recursive=True)
    outer = containers.alias("outer")
    above = above.union(select(outer.c.id, outer.c.parent).join(above, outer.c.id == above.c.parent))
    whole = (
        select(containers.c.id)
        .join(counted, counted.c.container == containers.c.id)
        .where(counted.c.satisfied == containers.c.scopes, containers.c.id.not_in(select(above.c.id)))
        .cte("whole")
    )
    inside_a_whole_one = containers.c.parent.in_(select(whole.c.id))
    return (
        select(containers.c.id, containers.c.parent, containers.c.scopes, counted.c.satisfied)
        .join(counted, counted.c.container == containers.c.id)
        .where(or_(containers.c.parent.is_(None), not_(inside_a_whole_one)))
    )


def _singly(readers: int) -> Select[Any]:
    return select(scopes.c.id).where(scopes.c.container.in_(each_number("within")), _granting(readers))


def _missing(readers: int) -> Select[Any]:
    inside = select(containers.c.id).where(containers.c.id.in_(each_number("within"))).cte("inside", recursive=True)
    deeper = containers.alias("deeper")
    inside = inside.union_all(select(deeper.c.id).join(inside, deeper.c.parent == inside.c.id))
    return select(scopes.c.id).where(scopes.c.container.in_(select(inside.c.id)), not_(_granting(readers)))


def _granting(readers: int) -> Any:
    satisfied = _satisfied(readers)
    return and_(_ACTIVE, scopes.c.expires_at >= _NOW, scopes.c.expression.in_(select(satisfied.c.expression)))
