"""What an index ought to hold, by the ledger: the published passages of documents that are not gone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from sqlalchemy import delete, select, update

from connectors.ledger.door import Door
from connectors.ledger.runs import Runs
from connectors.ledger.tables import chunks, documents, versions
from connectors.ports import Expected
from policies.facts import Life
from policies.names import ChunkId, DocumentId, ScopeId

_PAGE = 2000


class SqlHoldings:
    """The port `Holdings` on the ledger."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._runs = Runs(door)

    @asynccontextmanager
    async def hold(self, source: str, now: datetime) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """No run of the source begins meanwhile. Transient when one is on; what is given raises it when the hold was
        lost, as by a process that slept."""
        async with self._runs.run(source, now, told=False) as claim:
            yield lambda: self._runs.confirm(claim)

    async def expected(self, source: str) -> AsyncIterator[Expected]:
        """Every passage that an index ought to hold of a source; documents on their way in are marked."""
        query = (
            select(chunks.c.id, chunks.c.name, chunks.c.digest, documents.c.scope, documents.c.unretired,
                   versions.c.pending)
            .join(versions, (chunks.c.version == versions.c.id) & (chunks.c.generation == versions.c.generation))
            .join(documents, versions.c.document == documents.c.id)
            .where(
                documents.c.source == source,
                documents.c.life != Life.TOMBSTONE.value,
                documents.c.scope.is_not(None),
                versions.c.state == "published",
            )
            .order_by(chunks.c.id)
            .limit(_PAGE)
        )  # fmt: skip
        after = 0
        while True:
            page = query.where(chunks.c.id > after)
            rows = await self._door.look(lambda connection, page=page: connection.execute(page).all())  # type: ignore[misc]
            for row in rows:
                on_its_way = bool(row.unretired) or row.pending is not None
                yield Expected(ChunkId.parse(row.name), ScopeId(row.scope), row.digest, on_its_way)
            if len(rows) < _PAGE:
                return
            after = rows[-1].id

    async def reread(self, source: str) -> int:
        """Whatever the source says of its documents next is new; returns how many there are. What is published stays
        until then."""
        async with self._door.write() as connection:
            told = await connection.execute(
                update(documents)
                .where(documents.c.source == source, documents.c.life != Life.TOMBSTONE.value)
                .values(revision="")
            )
            return int(told.rowcount)

    async def give_up(self, document: DocumentId, versions_lost: frozenset[str]) -> bool:
        """The index lost these versions; returns whether the current one is among them, to be read again."""
        at = documents.c.name == str(document)
        async with self._door.write() as connection:
            row = (await connection.execute(select(documents.c.id, documents.c.version).where(at))).first()
            if row is None:
                return False
            earlier = versions_lost - {row.version}
            gone = (versions.c.document == row.id) & versions.c.version.in_(earlier)
            await connection.execute(delete(chunks).where(chunks.c.version.in_(select(versions.c.id).where(gone))))
            retired = {"state": "retired", "pending": None, "pending_trust": None}
            await connection.execute(update(versions).where(gone).values(**retired))
            if row.version not in versions_lost:
                return False
            await connection.execute(update(documents).where(at).values(revision=""))
            return True
