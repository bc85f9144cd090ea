"""Access expressions in SQL: content-addressed, never changed, never deleted; an old verdict can be replayed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, Table, bindparam, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from connectors.ledger.dialect import each, listed, storable
from connectors.ledger.tables import clause_principals, clauses, expression_clauses, expressions
from policies.access import Access, AccessExpr, Clause, Unknown, clause_digest, digest, simplify
from policies.names import Principal

_RECALLED = 16_384  # expressions kept in memory; they never change, so an old copy is as good as the row

_BY_ID = (
    select(
        expressions.c.id,
        expressions.c.digest,
        expressions.c.clauses,
        expression_clauses.c.clause,
        clause_principals.c.principal,
    )
    .select_from(expressions)
    .outerjoin(expression_clauses, expression_clauses.c.expression == expressions.c.id)
    .outerjoin(clause_principals, clause_principals.c.clause == expression_clauses.c.clause)
)
_IDS = _BY_ID.where(expressions.c.id.in_(bindparam("ids", expanding=True)))
_DIGEST = _BY_ID.where(expressions.c.digest == bindparam("digest"))


def readable(access: Access) -> Access:
    """The rules as both databases can keep them: a principal that neither stores as it is makes them unknown."""
    match access:
        case AccessExpr() if not all(storable(str(who)) for clause in access.clauses for who in clause):
            return Unknown("a principal holds a character that can't be stored")
        case _:
            return access


async def keep_all(connection: AsyncConnection, stated: Sequence[Access]) -> Mapping[str, int]:
    """Store these expressions unless they are there; returns the number of each by its digest. Within a write."""
    named = {digest(access): access for access in stated}
    found = await _numbers(connection, expressions, named)
    new = {
        name: () if isinstance(access, Unknown) else sorted(simplify(access).clauses, key=clause_digest)
        for name, access in named.items()
        if name not in found
    }
    if not new:
        return found
    numbers = await _keep_clauses(
        connection, {clause_digest(clause): clause for needed in new.values() for clause in needed}
    )
    await connection.execute(
        insert(expressions), [{"digest": name, "clauses": len(needed)} for name, needed in new.items()]
    )
    made = await _numbers(connection, expressions, new)
    asked = [
        {"expression": made[name], "clause": numbers[clause_digest(clause)]}
        for name, needed in new.items()
        for clause in needed
    ]
    if asked:
        await connection.execute(insert(expression_clauses), asked)
    return {**found, **made}


async def _keep_clauses(connection: AsyncConnection, named: Mapping[str, Clause]) -> Mapping[str, int]:
    found = await _numbers(connection, clauses, named)
    new = {name: clause for name, clause in named.items() if name not in found}
    if not new:
        return found
    await connection.execute(insert(clauses), [{"digest": name} for name in new])
    made = await _numbers(connection, clauses, new)
    rows = [{"clause": made[name], "principal": str(who)} for name, clause in new.items() for who in sorted(clause)]
    if rows:
        await connection.execute(insert(clause_principals), rows)
    return {**found, **made}


async def _numbers(connection: AsyncConnection, table: Table, names: Iterable[str]) -> dict[str, int]:
    query = select(table.c.digest, table.c.id).where(table.c.digest.in_(each("names")))
    rows = await connection.execute(query, {"names": listed(names)})
    return {row[0]: row[1] for row in rows.all()}


class Expressions:
    """Reads expressions by number or digest. What is remembered can't go out of date."""

    def __init__(self) -> None:
        self._known: dict[int, Access] = {}

    def by_id(self, connection: Connection, numbers: Iterable[int]) -> Mapping[int, Access]:
        """These expressions; asks the database only for those not remembered."""
        wanted = set(numbers)
        known = self._known
        found = {number: known[number] for number in wanted if number in known}
        missing = sorted(wanted - found.keys())
        fresh: dict[int, Access] = {}
        for start in range(0, len(missing), 500):
            rows = connection.execute(_IDS, {"ids": missing[start : start + 500]})
            fresh |= _assembled(rows.all())
        if fresh:
            # A new table each time: threads read the old one meanwhile.
            kept = known if len(known) + len(fresh) <= _RECALLED else {}
            self._known = kept | dict(list(fresh.items())[:_RECALLED])
        return found | fresh

    def by_digest(self, connection: Connection, name: str) -> Access | None:
        """The expression with this digest, or None when the ledger never saw it."""
        rows = connection.execute(_DIGEST, {"digest": name}).all()
        return next(iter(_assembled(rows).values()), None)


def _assembled(rows: Iterable[tuple[int, str, int, int | None, str | None]]) -> dict[int, Access]:
    counted: dict[int, int] = {}
    found: dict[int, dict[int, set[Principal]]] = {}
    for number, _digest, count, clause, principal in rows:
        counted[number] = count
        of_expression = found.setdefault(number, {})
        if clause is not None:
            of_clause = of_expression.setdefault(clause, set())
            if principal is not None:
                of_clause.add(Principal(principal))
    return {number: _access(of_expression, counted[number]) for number, of_expression in found.items()}


def _access(found: dict[int, set[Principal]], count: int) -> Access:
    if not count:
        return Unknown("the source's rules were not readable")
    if len(found) != count:
        return Unknown("the ledger holds only part of these rules")
    return AccessExpr(frozenset(frozenset(clause) for clause in found.values()))
