"""Finding documents by what people call them, and the directory file that lists a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import or_, select, update

from connectors.ledger.door import Door, one_transaction_each
from connectors.ledger.tables import documents, people, places
from policies.names import DocumentId


class SqlDocuments:
    """Every document that the ledger ever heard of, live or not."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def find(self, text: str, limit: int) -> Sequence[DocumentId]:
        """Documents named `text`; the exact name or key alone where there is one."""
        ends_so = documents.c.key.endswith(f"/{text}", autoescape=True)
        wanted = or_(documents.c.name == text, documents.c.key == text, ends_so)
        statement = select(documents.c.name, documents.c.key).where(wanted).order_by(documents.c.name)
        rows = await self._door.look(lambda connection: connection.execute(statement.limit(1000)).all())
        exact = [row for row in rows if row.name == text] or [row for row in rows if row.key == text]
        return [DocumentId.parse(row.name) for row in exact or rows][:limit]


@one_transaction_each
class SqlOwners:
    """Which directory file lists whom."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def owners(self) -> Mapping[str, str]:
        """The origin of everybody and of every place, by address and by name."""
        listed = select(people.c.email, people.c.origin).union_all(select(places.c.name, places.c.origin))
        rows = await self._door.look(lambda connection: connection.execute(listed).all())
        return {row[0]: row[1] for row in rows}

    async def adopt(self, names: frozenset[str], origin: str) -> None:
        """Make these people and places another origin's, with all that they have; unknown names are passed over."""
        async with self._door.write() as connection:
            for name in sorted(names):
                await connection.execute(update(people).where(people.c.email == name).values(origin=origin))
                await connection.execute(update(places).where(places.c.name == name).values(origin=origin))
