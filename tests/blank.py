"""A new ledger on SQLite for tests: what the migrations make of an empty file is noted once and then written at once.

Going through every migration costs a sixth of a second, and thousands of tests begin with a new ledger. The migrations
themselves are tested in tests/connectors/ledger/test_schema.py, which has its own way to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from connectors.ledger import upgrade
from connectors.ledger.migrations import HEAD


@contextmanager
def noted_schema() -> Iterator[None]:
    """Within it, an empty SQLite file gets the schema of this code as it was noted when the first got it."""
    ordinary = upgrade.migrate
    noted: list[str] = []

    def migrate(connection: Connection, target: str) -> None:
        if target != HEAD or connection.dialect.name != "sqlite" or _schema(connection):
            return ordinary(connection, target)
        if not noted:
            ordinary(connection, target)
            noted.extend([*_schema(connection), *_rows(connection)])
            return None
        for statement in noted:
            connection.exec_driver_sql(statement)
        return None

    upgrade.migrate = migrate
    try:
        yield
    finally:
        upgrade.migrate = ordinary


def _schema(connection: Connection) -> list[str]:
    found = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
    return [sql for (sql,) in found if "sqlite_sequence" not in sql]


def _rows(connection: Connection) -> list[str]:
    """What the migrations leave in the tables: the revision, and nothing else so far."""
    found = []
    for (table,) in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").all():
        for row in connection.exec_driver_sql(f'SELECT * FROM "{table}"'):
            values = ", ".join("NULL" if value is None else repr(value) for value in row)
            found.append(f'INSERT INTO "{table}" VALUES ({values})')
    return found
