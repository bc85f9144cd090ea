"""Finding documents by what people call them: the whole name, the key, or the last part of a path."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import or_, select

from connectors.ledger.door import Door
from connectors.ledger.tables import documents
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
        async with self._door.read() as connection:
            rows = (await connection.execute(statement.limit(1000))).all()
        exact = [row for row in rows if row.name == text] or [row for row in rows if row.key == text]
        return [DocumentId.parse(row.name) for row in exact or rows][:limit]
