"""Where scopes stand: their containers, settled when a scope is first stated, and the counts that covers are made of.

Every function is a part of the transaction that changes a scope. A scope is counted once in every container that it is
in, and once more under its rules while it is active.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, delete, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from connectors.ledger.dialect import storable
from connectors.ledger.door import new_id
from connectors.ledger.tables import container_rules, containers, documents, marks, scopes
from policies.facts import ScopeState
from policies.names import ContainerId, ScopeId

DEEPEST = 8  # containers of a scope, its source among them; what is deeper stands in the last
_LONGEST = 1000  # characters of a key
_COUNTED = "counted"  # the mark that holds the day of the last recount

# The same words in both databases.
_ADD = text(
    "INSERT INTO container_rules (expression, container, scopes) VALUES (:expression, :container, :more) "
    "ON CONFLICT (expression, container) DO UPDATE SET scopes = container_rules.scopes + excluded.scopes"
)
_MARK = text(
    "INSERT INTO marks (name, mark) VALUES (:name, :mark) ON CONFLICT (name) DO UPDATE SET mark = excluded.mark"
)
_ABOVE = text(
    "WITH RECURSIVE above (id, parent, depth) AS (SELECT id, parent, 0 FROM containers WHERE id = :container "
    "UNION ALL SELECT outer_one.id, outer_one.parent, above.depth + 1 FROM containers outer_one "
    "JOIN above ON outer_one.id = above.parent) SELECT id FROM above ORDER BY depth DESC"
)
_STAND = (
    "WITH RECURSIVE stand (scope, container) AS (SELECT id, container FROM scopes WHERE container IS NOT NULL "
    "UNION ALL SELECT stand.scope, containers.parent FROM stand JOIN containers ON containers.id = stand.container "
    "WHERE containers.parent IS NOT NULL) "
)
_RULES = (
    "SELECT scopes.expression, stand.container, count(*) FROM stand JOIN scopes ON scopes.id = stand.scope "
    "WHERE scopes.state = 'active' GROUP BY scopes.expression, stand.container"
)
_COUNT_RULES = text("INSERT INTO container_rules (expression, container, scopes) " + _STAND + _RULES)
_WRONG_RULES = text(
    _STAND + ", counted AS (" + _RULES + ") "  # noqa: S608 - our own words
    "SELECT 1 FROM (SELECT * FROM counted EXCEPT SELECT expression, container, scopes FROM container_rules) AS missing "
    "UNION ALL SELECT 1 FROM "
    "(SELECT expression, container, scopes FROM container_rules EXCEPT SELECT * FROM counted) AS surplus LIMIT 1"
)  # fmt: skip
_COUNT_SCOPES = text(_STAND + "SELECT container, count(*) FROM stand GROUP BY container")  # noqa: S608 - our own words


class Recounted(NamedTuple):
    """A scope that stands in `home`, counted so far under the rules `before` and now under `after`; None for none."""

    home: int | None
    before: int | None
    after: int | None


async def settle(connection: AsyncConnection, source: str, stated: Sequence[str], many: int = 1) -> int:
    """The innermost container of so many new scopes, made with those above it if need be; they are counted in each."""
    await changed(connection)
    path: list[str] = []
    parent: int | None = None
    for key in ("", *_kept(stated)):
        path.append(key)
        parent = await _container(connection, source, path, parent)
        await connection.execute(
            update(containers).where(containers.c.id == parent).values(scopes=containers.c.scopes + many)
        )
    return int(parent or 0)


def _kept(stated: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for key in stated[: DEEPEST - 1]:
        if not storable(key) or len(key) > _LONGEST:
            break  # it stands in what is above; a container is worth no failed sync
        if key and key not in kept:
            kept.append(key)
    return kept


async def _container(connection: AsyncConnection, source: str, path: Sequence[str], parent: int | None) -> int:
    digest = path_digest(source, path)
    found = (await connection.execute(select(containers.c.id).where(containers.c.digest == digest))).scalar()
    if found is not None:
        return int(found)
    row = {"source": source, "parent": parent, "key": path[-1], "digest": digest, "scopes": 0}
    return await new_id(connection, insert(containers).values(**row))


def path_digest(source: str, path: Sequence[str]) -> str:
    """The name of a container: the same for the same path in the same source."""
    # Each part is hashed by itself: whatever characters keys hold, two paths are never written alike.
    parts = (sha256(part.encode(errors="surrogatepass")).hexdigest() for part in (source, *path))
    return sha256(" ".join(["container/1", *parts]).encode()).hexdigest()


async def containers_of(connection: AsyncConnection, scope: ScopeId) -> tuple[ContainerId, ...]:
    """What a scope stands in, outermost first; nothing for a scope that is not known."""
    home = (await connection.execute(select(scopes.c.container).where(scopes.c.id == scope))).scalar()
    return tuple(map(ContainerId, await _above(connection, home)))


async def count(connection: AsyncConnection, recounted: Iterable[Recounted]) -> None:
    """These scopes are counted under other rules now."""
    moved = [each for each in recounted if each.before != each.after]
    if not moved:
        return
    await changed(connection)
    above = {home: await _above(connection, home) for home in {each.home for each in moved}}
    more: Counter[tuple[int, int]] = Counter()
    for each in moved:
        for container in above[each.home]:
            if each.before is not None:
                more[each.before, container] -= 1
            if each.after is not None:
                more[each.after, container] += 1
    changes = [
        {"expression": rules, "container": container, "more": number}
        for (rules, container), number in more.items()
        if number
    ]
    if changes:
        await connection.execute(_ADD, changes)
    within = {container for some in above.values() for container in some}
    none = (container_rules.c.scopes == 0) & container_rules.c.container.in_(within)
    await connection.execute(delete(container_rules).where(none))


async def forget_gone(connection: AsyncConnection, before: datetime) -> None:
    """Remove scopes that are gone, were last verified before then and have no document: a container that held one
    could never be whole again."""
    used = select(documents.c.id).where(documents.c.scope == scopes.c.id).exists()
    gone = (scopes.c.state == ScopeState.GONE.value) & (scopes.c.verified_at < before) & ~used
    rows = (await connection.execute(select(scopes.c.id, scopes.c.container).where(gone))).all()
    if rows:
        await changed(connection)
    for number, home in rows:
        await connection.execute(delete(scopes).where(scopes.c.id == number))
        within = containers.c.id.in_(await _above(connection, home))
        await connection.execute(update(containers).where(within).values(scopes=containers.c.scopes - 1))


async def changed(connection: AsyncConnection) -> None:
    """What somebody satisfies may be something else from this transaction on."""
    await connection.execute(_MARK, {"name": "scopes", "mark": uuid4().hex})


async def _above(connection: AsyncConnection, home: int | None) -> list[int]:
    return list((await connection.execute(_ABOVE, {"container": home})).scalars().all())


async def first_today(connection: AsyncConnection, now: datetime) -> bool:
    """Whether nobody said so before on this day: whoever is told so looks whether the counts are right."""
    today = now.astimezone(UTC).date().isoformat()
    if (await connection.execute(select(marks.c.mark).where(marks.c.name == _COUNTED))).scalar() == today:
        return False
    await connection.execute(_MARK, {"name": _COUNTED, "mark": today})
    return True


async def are_right(connection: AsyncConnection) -> bool:
    """Whether every count is what the scopes say, within one state of the database. A process of an older version that
    ran on beside a newer one, or an owner with a tool, changes scopes behind the counts."""
    homeless = (await connection.execute(select(scopes.c.id).where(scopes.c.container.is_(None)).limit(1))).first()
    if homeless is not None or (await connection.execute(_WRONG_RULES)).first() is not None:
        return False
    counted = (await connection.execute(_COUNT_SCOPES)).all()
    kept = await connection.execute(select(containers.c.id, containers.c.scopes).where(containers.c.scopes != 0))
    return {tuple(row) for row in counted} == {tuple(row) for row in kept.all()}


async def put_right(connection: AsyncConnection) -> None:
    """Count anew; a scope that a process without containers made stands in its source."""
    homeless = select(scopes.c.id, scopes.c.source).where(scopes.c.container.is_(None))
    for number, source in (await connection.execute(homeless)).all():
        home = await settle(connection, source, ())
        await connection.execute(update(scopes).where(scopes.c.id == number).values(container=home))
    await connection.run_sync(recount)
    await changed(connection)


def recount(connection: Connection) -> None:
    """Make every count what the scopes say, within the caller's transaction."""
    connection.execute(delete(container_rules))
    connection.execute(_COUNT_RULES)
    counted = connection.execute(_COUNT_SCOPES).all()
    connection.execute(update(containers).values(scopes=0))
    for container, number in counted:
        connection.execute(update(containers).where(containers.c.id == container).values(scopes=number))
