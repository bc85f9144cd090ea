"""Which database the ledger is, and how its schema stands."""

from __future__ import annotations

from sqlalchemy import Connection, text

from connectors.errors import Stop
from connectors.ledger.door import Door
from connectors.ledger.migrations import HEAD
from connectors.ledger.upgrade import revision

_VERSIONS = {"sqlite": ("SQLite", "SELECT sqlite_version()"), "postgresql": ("PostgreSQL", "SHOW server_version")}


async def about(door: Door) -> str:
    """The database, its version and the schema's, for people; Stop when the schema is not this code's any more."""
    name, version, schema = await door.look(_asked)
    if schema != HEAD:
        raise Stop(f"the schema is {schema} and this footnote's is {HEAD}; run one version of footnote everywhere")
    return f"{name} {version}, schema {schema} (up to date)"


def _asked(connection: Connection) -> tuple[str, str, str | None]:
    name, statement = _VERSIONS[connection.dialect.name]
    version = str(connection.execute(text(statement)).scalar())
    return name, version.partition(" ")[0], revision(connection)
