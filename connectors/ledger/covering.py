"""The scopes that readers satisfy, as a cover, counted by the database: what is whole is never listed.

At most four statements in one state of the database, whatever is asked: which leases ran out, how much of each
container is satisfied, the single scopes of those that are not taken, what is missing from those taken but for a few.
That each of several readers meets every clause is that every clause is met by each: one set of clauses for all of them.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Select,
    and_,
    bindparam,
    cast,
    distinct,
    func,
    not_,
    or_,
    select,
)

from connectors.ledger.dialect import each, each_number, listed
from connectors.ledger.tables import (
    LEASED,
    Utc,
    clause_principals,
    container_rules,
    containers,
    expression_clauses,
    expressions,
    marks,
    scopes,
)
from policies.cover import Share, plan, search_scope
from policies.facts import ScopeState
from policies.names import ContainerId, Principal, ScopeId
from policies.predicate import SearchScope

_NOW = bindparam("now", type_=Utc())
_DIGITS = 6  # of a reader's number
_KEPT = timedelta(minutes=5)  # how long a cover is used at most, should two machines' clocks differ
_MOST_COVERS, _MOST_VALUES = 500, 200_000  # kept: covers, and values of them all together
_ACTIVE = scopes.c.state == ScopeState.ACTIVE.value


@dataclass(frozen=True, slots=True)
class _Recent:
    mark: str
    since: datetime
    until: datetime
    cover: SearchScope | None


class Covers:
    """Covers, those of late kept. One is used again only under the mark that it was made under, which every change of
    what somebody satisfies writes anew, and only while no lease has run out since it was made."""

    def __init__(self) -> None:
        self._recent: OrderedDict[frozenset[frozenset[Principal]], _Recent] = OrderedDict()
        self._held = 0  # values of all of them
        self._lock = Lock()  # reads are made in several threads

    def of(self, connection: Connection, readers: Sequence[frozenset[Principal]], now: datetime) -> SearchScope | None:
        """The scopes that every one of `readers` satisfies; None for none, or no readers. Within one state of the
        database."""
        mark, first_to_lapse = connection.execute(_MARK, {"now": now}).one()
        who = frozenset(readers)
        recent = self._recent.get(who)
        if recent is not None and recent.mark == mark and recent.since <= now <= recent.until:
            return recent.cover
        found, lacks_lapsed = _cover(connection, readers, now)
        if mark is not None and not lacks_lapsed:
            until = now + _KEPT if first_to_lapse is None else min(now + _KEPT, first_to_lapse)
            self._keep(who, _Recent(mark, now, until, found))
        return found

    def _keep(self, who: frozenset[frozenset[Principal]], recent: _Recent) -> None:
        with self._lock:
            old = self._recent.pop(who, None)
            self._recent[who] = recent
            self._held += _values(recent.cover) - (_values(old.cover) if old else 0)
            while len(self._recent) > _MOST_COVERS or self._held > _MOST_VALUES:
                _, oldest = self._recent.popitem(last=False)
                self._held -= _values(oldest.cover)


def _values(scope: SearchScope | None) -> int:
    return 0 if scope is None else len(scope.ids) + len(scope.containers) + len(scope.excepted)


def _cover(
    connection: Connection, readers: Sequence[frozenset[Principal]], now: datetime
) -> tuple[SearchScope | None, bool]:
    """The scopes that every one of `readers` satisfies, None for none or no readers; and whether there would be more
    if no lease had run out."""
    if not readers:
        return None, False
    asked = {**_held(_fewest(readers)), "now": now}
    lapsed = Counter(connection.execute(_LAPSED, asked).scalars())
    asked["lapsed"] = json.dumps(list(lapsed))
    shares = [
        Share(ContainerId(row[0]), None if row[1] is None else ContainerId(row[1]), row[2], row[3])
        for row in connection.execute(_SHARES, asked)
    ]
    chosen = plan(_without(shares, lapsed))
    singly = _numbers(connection, _SINGLY, asked, chosen.listed)
    return search_scope(singly, chosen, _numbers(connection, _MISSING, asked, chosen.but)), bool(lapsed)


_MARK = select(
    select(marks.c.mark).where(marks.c.name == "scopes").scalar_subquery(),
    select(func.min(scopes.c.expires_at)).where(LEASED, scopes.c.expires_at >= _NOW).scalar_subquery(),
)


def _held(readers: Sequence[frozenset[Principal]]) -> dict[str, Any]:
    """What all readers are, and what each is beside that, written with his number before it."""
    common = frozenset.intersection(*readers)
    rest = [f"{at:0{_DIGITS}d}{who}" for at, held in enumerate(readers) for who in held - common]
    return {"common": listed(map(str, common)), "rest": listed(rest), "readers": len(readers)}


def _fewest(readers: Sequence[frozenset[Principal]]) -> list[frozenset[Principal]]:
    """The readers that decide: who holds all that another one holds satisfies all that he does."""
    fewest: list[frozenset[Principal]] = []
    for held in sorted(set(readers), key=len):
        if not any(smaller <= held for smaller in fewest):
            fewest.append(held)
    return fewest


def _without(shares: Sequence[Share], lapsed: Counter[int]) -> Iterable[Share]:
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


def _satisfied() -> CTE:
    """The expressions that every reader satisfies: one that has as many of its clauses met by all as it has. A clause
    without principals is never among those met, and an expression without clauses never among those counted."""
    rest = each("rest").subquery("rest")
    reader, principal = func.substr(rest.c.value, 1, _DIGITS), func.substr(rest.c.value, _DIGITS + 1)
    by_each = (
        select(clause_principals.c.clause)
        .select_from(rest)
        .join(clause_principals, clause_principals.c.principal == principal)
        .group_by(clause_principals.c.clause)
        .having(func.count(distinct(reader)) == bindparam("readers", type_=Integer()))
    )
    by_all = select(clause_principals.c.clause).where(clause_principals.c.principal.in_(each("common")))
    return (
        select(expressions.c.id.label("expression"))
        .select_from(expression_clauses)
        .join(expressions, expressions.c.id == expression_clauses.c.expression)
        .where(expression_clauses.c.clause.in_(by_all.union_all(by_each)))
        .group_by(expressions.c.id, expressions.c.clauses)
        .having(func.count() == expressions.c.clauses)
        .cte("satisfied")
    )


def _granting(satisfied: CTE) -> ColumnElement[bool]:
    # The sum keeps SQLite from looking each of many containers up with each of many expressions.
    known = (scopes.c.expression + 0).in_(select(satisfied.c.expression))
    return and_(_ACTIVE, scopes.c.expires_at >= _NOW, known)


def _lapsed() -> Select[Any]:
    """The innermost container of each satisfied scope whose lease ran out."""
    satisfied = _satisfied()
    # The sum keeps the database from going over what is satisfied, which is much, for what has lapsed, which is little.
    known = (scopes.c.expression + 0).in_(select(satisfied.c.expression))
    return select(scopes.c.container).where(LEASED, scopes.c.expires_at < _NOW, known)


def _shares() -> Select[Any]:
    """Containers that hold something satisfied, but for those inside a whole one."""
    satisfied = _satisfied()
    counted = (
        select(container_rules.c.container, cast(func.sum(container_rules.c.scopes), BigInteger).label("satisfied"))
        .join(satisfied, satisfied.c.expression == container_rules.c.expression)
        .group_by(container_rules.c.container)
        .cte("counted")
    )
    lapsed = select(containers.c.id, containers.c.parent).where(containers.c.id.in_(each_number("lapsed")))
    above = lapsed.cte("above", recursive=True)
    outer = containers.alias("outer_one")
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


def _singly() -> Select[Any]:
    """The satisfied scopes directly in some containers."""
    return select(scopes.c.id).where(scopes.c.container.in_(each_number("within")), _granting(_satisfied()))


def _missing() -> Select[Any]:
    """What is not satisfied in some containers, at any depth."""
    inside = select(containers.c.id).where(containers.c.id.in_(each_number("within"))).cte("inside", recursive=True)
    deeper = containers.alias("deeper")
    inside = inside.union_all(select(deeper.c.id).join(inside, deeper.c.parent == inside.c.id))
    return select(scopes.c.id).where(scopes.c.container.in_(select(inside.c.id)), not_(_granting(_satisfied())))


_LAPSED, _SHARES, _SINGLY, _MISSING = _lapsed(), _shares(), _singly(), _missing()
