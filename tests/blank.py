"""A new ledger on SQLite for tests: what the migrations make of an empty file is noted once, or copied as a file.

Going through every migration costs a sixth of a second, and thousands of tests begin with a new ledger. The migrations
themselves are tested in tests/connectors/ledger/test_schema.py, which has its own way to them.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from sqlalchemy import Connection

from connectors.ledger import upgrade
from connectors.ledger.migrations import HEAD
from connectors.ledger.open import open_ledger


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


def blank_ledger(path: Path) -> str:
    """Put an empty ledger there, unless one is there already; gives its address."""
    if not path.exists():
        path.write_bytes(_blank())
    return _address(path)


def blank_data(folder: Path) -> str:
    """Make a data directory with an empty ledger; gives its name."""
    folder.mkdir(mode=0o700)
    blank_ledger(folder / "ledger.sqlite")
    return str(folder)


def _address(path: Path) -> str:
    return f"sqlite+aiosqlite:///{path}"


@cache
def _blank() -> bytes:
    with tempfile.TemporaryDirectory(prefix="footnote-blank-") as folder:
        path = Path(folder) / "ledger.sqlite"
        # In a thread of its own: whoever asks is on an event loop.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _migrated(_address(path))).result()
        assert [each.name for each in path.parent.iterdir()] == [path.name], "the file is not whole without others"
        return path.read_bytes()


async def _migrated(address: str) -> None:
    async with open_ledger(address):
        pass
