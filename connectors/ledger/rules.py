"""Access expressions in SQL: content-addressed, never changed, never deleted; an old verdict can be replayed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, bindparam, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from connectors.ledger.dialect import storable
from connectors.ledger.door import new_id
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


async def keep(connection: AsyncConnection, access: Access) -> tuple[int, str]:
    """Store an expression unless it is there; returns its number and its digest. Within a write."""
    name = digest(access)
    found = (await connection.execute(select(expressions.c.id).where(expressions.c.digest == name))).scalar()
    if found is not None:
        return int(found), name
    needed = () if isinstance(access, Unknown) else sorted(simplify(access).clauses, key=clause_digest)
    number = await new_id(connection, insert(expressions).values(digest=name, clauses=len(needed)))
    for clause in needed:
        row = {"expression": number, "clause": await _keep_clause(connection, clause)}
        await connection.execute(insert(expression_clauses), row)
    return number, name


async def _keep_clause(connection: AsyncConnection, clause: Clause) -> int:
    name = clause_digest(clause)
    found = (await connection.execute(select(clauses.c.id).where(clauses.c.digest == name))).scalar()
    if found is not None:
        return int(found)
    number = await new_id(connection, insert(clauses).values(digest=name))
    if clause:
        rows = [{"clause": number, "principal": str(who)} for who in sorted(clause)]
        await connection.execute(insert(clause_principals), rows)
    return number


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
