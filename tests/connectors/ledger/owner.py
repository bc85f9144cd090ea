"""Somebody who owns the database, going past the ledger: on a SQLite file and on PostgreSQL."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
from sqlalchemy.engine import make_url

REFUSED = (sqlite3.IntegrityError, asyncpg.PostgresError)
"""What the database itself says to what it doesn't take."""


class Owner:
    """Carries out statements, with `?` where a parameter goes; each counts at once."""

    def __init__(self, url: str) -> None:
        self._url = make_url(url)

    def run(self, statement: str, *parameters: Any) -> list[Sequence[Any]]:
        """One statement and what it returns."""
        if self._url.get_backend_name() == "sqlite":
            with closing(sqlite3.connect(str(self._url.database))) as connection:
                rows: list[Sequence[Any]] = connection.execute(statement, parameters).fetchall()
                connection.commit()
                return rows
        with ThreadPoolExecutor(1) as thread:  # a test may be in the middle of its event loop
            return thread.submit(lambda: asyncio.run(self._on_postgresql(statement, parameters))).result(60)

    async def _on_postgresql(self, statement: str, parameters: Sequence[Any]) -> list[Sequence[Any]]:
        numbers = iter(range(1, len(parameters) + 1))
        url = self._url
        connection = await asyncpg.connect(
            host=url.host or url.query["host"],
            port=int(url.port or str(url.query["port"])),
            user=url.username,
            password=url.password,
            database=url.database,
        )
        try:
            found = await connection.fetch(re.sub(r"\?", lambda _: f"${next(numbers)}", statement), *parameters)
            return [tuple(row) for row in found]
        finally:
            await connection.close()

    def forget_triggers(self) -> None:
        """Let records be changed and removed."""
        if self._url.get_backend_name() == "sqlite":
            for name in ("traces_no_update", "traces_no_delete"):
                self.run(f"DROP TRIGGER IF EXISTS {name}")
        else:
            self.run("DROP TRIGGER IF EXISTS traces_no_change ON traces")

    def stored(self) -> bytes:
        """Every byte that is kept of the audit record."""
        if self._url.get_backend_name() == "sqlite":
            file = Path(str(self._url.database))
            return file.read_bytes() + file.with_name(f"{file.name}-wal").read_bytes()
        values = [value for row in self.run("SELECT * FROM traces") for value in row]
        return b"\n".join(value if isinstance(value, bytes) else str(value).encode() for value in values)
