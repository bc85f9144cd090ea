"""What a far source remembers, and what it has to know of the ledger to be settled with it.

Long readings go page by page, by key: no connection is held while a source talks to its system.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, Select, bindparam, delete, func, insert, or_, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from connectors.ledger.catalog import close
from connectors.ledger.dialect import each, each_number, listed
from connectors.ledger.door import Door, one_transaction_each
from connectors.ledger.tables import (
    document_ancestors,
    documents,
    expressions,
    hidden_subtrees,
    nodes,
    scopes,
    source_hints,
    source_notes,
)
from connectors.ports import Event, Hint
from connectors.records import ClosedRoot, Inherits, Node, Own, Placed, StatedRules
from policies.access import Access, AccessExpr, Unknown
from policies.facts import Life, ScopeState
from policies.names import Principal

PAGE = 1_000  # rows read or written at once
MOST_HINTS = 10_000  # of a source; more mean: look at all of it
_BELOW = text(
    # UNION, not UNION ALL: a circle ends where it closes.
    "WITH RECURSIVE below (key) AS (SELECT key FROM nodes WHERE source = :source AND key = :key "
    "UNION SELECT nodes.key FROM nodes JOIN below ON nodes.parent = below.key WHERE nodes.source = :source) "
    "SELECT key FROM below"
)
_HELD = (
    documents.c.id,
    documents.c.key,
    documents.c.scope_root,
    documents.c.version,
    documents.c.revision,
    documents.c.life,
)


@one_transaction_each
class SqlMemory:
    """Port `Memory`, of one source."""

    def __init__(self, door: Door, source: str) -> None:
        self._door = door
        self._source = source

    # ------------------------------------------------------------ nodes

    async def get(self, keys: Sequence[str]) -> Mapping[str, Node]:
        """Those of these nodes that are remembered."""
        found: dict[str, Node] = {}
        for some in _parted(keys):
            query = select(nodes).where(nodes.c.source == self._source, nodes.c.key.in_(each("keys")))
            async with self._door.read() as connection:
                rows = (await connection.execute(query, {"keys": listed(some)})).all()
            found |= {row.key: _node(row) for row in rows}
        return found

    async def put(self, nodes: Sequence[Node]) -> None:
        """Remember these in one step; of two with one key the later."""
        last = {node.key: node for node in nodes}
        if not last:
            return
        async with self._door.write() as connection:
            await self._drop(connection, list(last))
            await connection.execute(insert(_NODES), [_row(self._source, node) for node in last.values()])

    async def drop(self, keys: Sequence[str]) -> None:
        """Forget these nodes, in one step."""
        async with self._door.write() as connection:
            await self._drop(connection, keys)

    async def _drop(self, connection: AsyncConnection, keys: Sequence[str]) -> None:
        for some in _parted(keys):
            at = (_NODES.c.source == self._source) & _NODES.c.key.in_(each("keys"))
            await connection.execute(delete(_NODES).where(at), {"keys": listed(some)})

    async def of_container(self, container: str) -> AsyncIterator[Node]:
        """Every node of a container, by key."""
        async for node in self._pages(select(nodes).where(nodes.c.container == container)):
            yield node

    async def ruled(self, container: str) -> AsyncIterator[Node]:
        """Those nodes of a container that have rules of their own, by key."""
        query = select(nodes).where(nodes.c.container == container, nodes.c.rules.is_not(None))
        async for node in self._pages(query):
            yield node

    async def containers(self) -> AsyncIterator[Node]:
        """Every node that is its own container, by key."""
        async for node in self._pages(select(nodes).where(nodes.c.container == nodes.c.key)):
            yield node

    async def _pages(self, query: Select[Any]) -> AsyncIterator[Node]:
        last = ""
        while True:
            page = query.where(nodes.c.source == self._source, nodes.c.key > last).order_by(nodes.c.key).limit(PAGE)
            async with self._door.read() as connection:
                rows = (await connection.execute(page)).all()
            for row in rows:
                yield _node(row)
            if len(rows) < PAGE:
                return
            last = rows[-1].key

    async def below(self, key: str) -> Sequence[Node]:
        """Every node under this one, at any depth, itself first; nothing for a key that is not remembered."""
        async with self._door.read() as connection:
            keys = list((await connection.execute(_BELOW, {"source": self._source, "key": key})).scalars().all())
        found = await self.get(keys)
        return [found[name] for name in sorted(found, key=lambda name: (name != key, name))]

    # ------------------------------------------------------------ notes and hints

    async def note(self, name: str) -> str | None:
        """What was noted under a name."""
        query = select(source_notes.c.value).where(source_notes.c.source == self._source, source_notes.c.name == name)
        async with self._door.read() as connection:
            return (await connection.execute(query)).scalar()

    async def notes(self, prefix: str) -> Mapping[str, str]:
        """Every note whose name begins so."""
        query = select(source_notes.c.name, source_notes.c.value).where(
            source_notes.c.source == self._source, source_notes.c.name.startswith(prefix, autoescape=True)
        )
        async with self._door.read() as connection:
            rows = (await connection.execute(query)).all()
        # LIKE folds case in one database and not in the other.
        return {row.name: row.value for row in rows if row.name.startswith(prefix)}

    async def keep_note(self, name: str, value: str | None) -> None:
        """Note something under a name, in place of what was there; None: nothing."""
        at = (source_notes.c.source == self._source) & (source_notes.c.name == name)
        async with self._door.write() as connection:
            await connection.execute(delete(source_notes).where(at))
            if value is not None:
                await connection.execute(insert(source_notes).values(source=self._source, name=name, value=value))

    async def told(self, events: Sequence[Event], at: datetime) -> None:
        """What events told, in one step: what they close is closed, and a hint is kept of each for the next run."""
        kept = list({(event.key, event.what): event for event in events}.values())
        if not kept:
            return
        async with self._door.write() as connection:
            closing: dict[str, str] = {}
            for event in kept:
                if event.closes:
                    roots = [event.key] if event.key else await self._tops(connection)
                    closing |= dict.fromkeys(roots, f"an event: {event.what}")
            await close(connection, self._source, closing, at)
            rows = [{"source": self._source, "key": event.key, "what": event.what, "at": at} for event in kept]
            same = (source_hints.c.source == self._source) & (source_hints.c.key == bindparam("its_key"))
            again = delete(source_hints).where(same, source_hints.c.what == bindparam("its_what"))
            await connection.execute(again, [{"its_key": row["key"], "its_what": row["what"]} for row in rows])
            await connection.execute(insert(source_hints), rows)
            of_source = source_hints.c.source == self._source
            count = (await connection.execute(select(func.count()).where(of_source))).scalar() or 0
            if count > MOST_HINTS:
                await connection.execute(delete(source_hints).where(of_source))
                await connection.execute(
                    insert(source_hints).values(source=self._source, key="", what="more than were kept", at=at)
                )

    async def _tops(self, connection: AsyncConnection) -> list[str]:
        query = select(nodes.c.key).where(nodes.c.source == self._source, nodes.c.container == nodes.c.key)
        return list((await connection.execute(query)).scalars().all())

    async def hints(self, most: int = 1000) -> Sequence[Hint]:
        """What was told between runs, oldest first."""
        query = select(source_hints).where(source_hints.c.source == self._source)
        async with self._door.read() as connection:
            rows = (await connection.execute(query.order_by(source_hints.c.number).limit(most))).all()
        return [Hint(row.number, row.key, row.what, row.at) for row in rows]

    async def forget_hints(self, upto: int, but: Collection[int] = ()) -> None:
        """This and all before are dealt with, except those with these numbers."""
        done = (source_hints.c.source == self._source) & (source_hints.c.number <= upto)
        done &= source_hints.c.number.not_in(each_number("kept"))
        async with self._door.write() as connection:
            await connection.execute(delete(source_hints).where(done), {"kept": json.dumps(sorted(but))})

    # ------------------------------------------------------------ the ledger's side

    async def placed(self, container: str | None = None) -> AsyncIterator[Placed]:
        """The documents of the source that are not gone, all or those with this ancestor, in no order."""
        ours = select(documents.c.id).where(documents.c.source == self._source, _ALIVE)
        if container is not None:
            # From the ancestor to its documents: a database that goes from each document to its ancestors never ends.
            inside = select(document_ancestors.c.document).where(document_ancestors.c.ancestor == container)
            ours = ours.where(documents.c.id.in_(inside))
        async with self._door.read() as connection:
            numbers = sorted((await connection.execute(ours)).scalars().all())
        query = select(*_HELD).where(documents.c.id.in_(each_number("numbers")), _ALIVE)
        for start in range(0, len(numbers), PAGE):
            some = json.dumps(numbers[start : start + PAGE])
            async with self._door.snapshot() as connection:
                rows = (await connection.execute(query, {"numbers": some})).all()
                found = await _placed(connection, rows)
            for held in found:
                yield held

    async def places(self, keys: Sequence[str]) -> Mapping[str, Placed]:
        """Those of these documents that the ledger holds, and are not gone."""
        query = select(*_HELD).where(documents.c.source == self._source, documents.c.key.in_(each("keys")), _ALIVE)
        found: dict[str, Placed] = {}
        for some in _parted(keys):
            async with self._door.snapshot() as connection:
                rows = (await connection.execute(query, {"keys": listed(some)})).all()
                found |= {held.key: held for held in await _placed(connection, rows)}
        return found

    async def untold(self) -> Sequence[str]:
        """Containers that hold a document whose node's mark is not the revision that the ledger took."""
        same = (documents.c.source == nodes.c.source) & (documents.c.key == nodes.c.key) & _ALIVE
        query = (
            select(nodes.c.container)
            .distinct()
            .select_from(nodes)
            .outerjoin(documents, same)
            .where(
                nodes.c.source == self._source,
                nodes.c.is_document.is_(True),
                or_(documents.c.id.is_(None), documents.c.revision != nodes.c.mark),
            )
        )
        async with self._door.read() as connection:
            return sorted((await connection.execute(query)).scalars().all())

    async def stated(self) -> Mapping[str, StatedRules]:
        """The scopes of the source that the ledger holds, by root."""
        query = (
            select(scopes.c.root, expressions.c.digest, scopes.c.state, scopes.c.verified_at, scopes.c.lease)
            .join(expressions, expressions.c.id == scopes.c.expression)
            .where(scopes.c.source == self._source)
        )
        async with self._door.read() as connection:
            rows = (await connection.execute(query)).all()
        return {
            row.root: StatedRules(row.digest, ScopeState(row.state), row.verified_at, timedelta(microseconds=row.lease))
            for row in rows
        }

    async def closed(self) -> Mapping[str, ClosedRoot]:
        """The subtrees of the source that are closed now, by root."""
        query = select(hidden_subtrees).where(hidden_subtrees.c.source == self._source)
        async with self._door.read() as connection:
            rows = (await connection.execute(query)).all()
        return {row.root: ClosedRoot(row.reason, row.since) for row in rows}


_NODES = nodes
_ALIVE = documents.c.life != Life.TOMBSTONE.value


def _parted(keys: Iterable[str]) -> Iterable[list[str]]:
    wanted = list(dict.fromkeys(keys))
    return (wanted[start : start + PAGE] for start in range(0, len(wanted), PAGE))


async def _placed(connection: AsyncConnection, rows: Sequence[Any]) -> list[Placed]:
    query = (
        select(document_ancestors.c.document, document_ancestors.c.ancestor)
        .where(document_ancestors.c.document.in_(each_number("numbers")))
        .order_by(document_ancestors.c.document, document_ancestors.c.depth)
    )
    above: dict[int, list[str]] = {}
    if rows:
        numbers = json.dumps([row.id for row in rows])
        for number, ancestor in (await connection.execute(query, {"numbers": numbers})).all():
            above.setdefault(number, []).append(ancestor)
    return [
        Placed(
            key=row.key,
            scope_root=row.scope_root,
            ancestors=tuple(above.get(row.id, ())),
            version=row.version,
            hidden=row.life != Life.LIVE.value,
            revision=row.revision,
        )
        for row in rows
    ]


# ---------------------------------------------------------------- how a node is written


def _row(source: str, node: Node) -> dict[str, Any]:
    return {
        "source": source,
        "key": node.key,
        "parent": node.parent,
        "container": node.container,
        "kind": node.kind,
        "rules": _written(node.rules),
        "rules_at": node.rules_at,
        "is_document": node.is_document,
        "mark": node.mark,
        "walk": node.walk,
        "facts": json.dumps(dict(node.facts)),  # in ASCII: either database keeps whatever a source's texts hold
    }


def _node(row: Row[Any]) -> Node:
    return Node(
        key=row.key,
        parent=row.parent,
        container=row.container,
        kind=row.kind,
        rules=_read(row.rules),
        rules_at=row.rules_at,
        is_document=row.is_document,
        mark=row.mark,
        walk=row.walk,
        facts=json.loads(row.facts),
    )


def _written(rules: Inherits | Own) -> str | None:
    match rules:
        case Inherits():
            return None
        case Own(Unknown(reason)):
            return json.dumps({"unknown": reason})
        case Own(AccessExpr(clauses)):
            return json.dumps(sorted(sorted(map(str, clause)) for clause in clauses))
        case Own():
            raise ValueError(f"{rules.access!r} is no rule of access")


def _read(written: str | None) -> Inherits | Own:
    return Inherits() if written is None else Own(_access(json.loads(written)))


def _access(stated: Any) -> Access:
    match stated:
        case {"unknown": str(reason)}:
            return Unknown(reason)
        case [*clauses] if clauses:
            return AccessExpr.all_of(*(map(Principal, clause) for clause in clauses))
        case _:
            return Unknown("the ledger does not hold these rules")
