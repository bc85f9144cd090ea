"""Bring a ledger's schema to what this code expects, once, however many processes open it at the same time."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncConnection

from connectors.errors import Stop
from connectors.ledger.door import Door, repeated
from connectors.ledger.migrations import HEAD

COPYING = "copying-"
"""Before the revision of a schema that is the target of a copy, until the copy is proven whole."""


async def bring_up(door: Door) -> None:
    """Compare revisions and migrate when they differ; raises Stop when the ledger is newer than this code."""
    found = await door.look(revision)
    if found == HEAD:
        return
    if found is not None and found.startswith(COPYING):
        raise Stop("this ledger is a copy that was not finished; run `footnote ledger copy` to its end")
    async with door.patient() as patient:
        await _migrate(patient)


@repeated
async def _migrate(door: Door) -> None:
    async with door.write("schema") as connection:
        await _refuse_other_encodings(connection)
        # Another process may have been first while this one waited for the lock.
        if await connection.run_sync(revision) != HEAD:
            await connection.run_sync(migrate, HEAD)


async def _refuse_other_encodings(connection: AsyncConnection) -> None:
    if connection.dialect.name == "postgresql":
        encoding = (await connection.execute(text("SHOW server_encoding"))).scalar()
        if encoding != "UTF8":
            raise Stop(f"the database keeps texts in {encoding}; make one with: CREATE DATABASE … ENCODING 'UTF8'")


def revision(connection: Connection) -> str | None:
    """What the schema is, or None where there is none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def migrate(connection: Connection, target: str) -> None:
    """Go to the revision `target`, `base` for none, within the caller's transaction."""
    # Alembic takes a third of a second to import, and almost no start needs it.
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        if target == "base" or (target < (revision(connection) or "")):
            command.downgrade(config, target)
        else:
            command.upgrade(config, target)
    except CommandError as error:
        raise Stop("the ledger was written by a newer footnote; install that version or restore a backup") from error
