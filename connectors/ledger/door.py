"""How the ledger's roles reach the database: reads, snapshots and writes, with every error mapped."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from sqlalchemy import Insert
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from connectors.errors import DoorError, Stop, Transient
from connectors.ledger.dialect import Lock, exclusive, snapshot_options, verdict_on


class Door:
    """One database. Every role of the ledger is handed the same one."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._reader = engine.execution_options(footnote="read")
        self._writer = engine.execution_options(footnote="write")
        self._snapshot = engine.execution_options(**snapshot_options(engine))

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """For one statement: it sees one state of the database."""
        with mapped():
            async with self._reader.connect() as connection:
                yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncConnection]:
        """For several statements that must see one state of the database."""
        with mapped():
            async with self._snapshot.connect() as connection:
                yield connection

    @asynccontextmanager
    async def write(self, lock: Lock = "catalog") -> AsyncIterator[AsyncConnection]:
        """One durable step: all of it or nothing, and no other writer meanwhile."""
        with mapped():
            async with self._writer.begin() as connection:
                await exclusive(connection, lock)
                yield connection


@contextmanager
def mapped() -> Iterator[None]:
    """Let nothing out but the DoorError family; messages never hold values of a statement."""
    try:
        yield
    except DoorError:
        raise
    except PoolTimeout as error:
        raise Transient("the ledger is busy: no connection became free in time", retry_after=1.0) from error
    except DBAPIError as error:
        raise _judged(error.orig or error) from error
    except (sqlite3.Error, OSError) as error:
        raise _judged(error) from error
    except (SQLAlchemyError, UnicodeError, OverflowError) as error:
        raise Stop(f"the ledger refused a statement ({type(error).__name__}); this is a fault in footnote") from error
    except Exception as error:
        # asyncpg's errors on connecting come as they are; everything else is a fault of ours and stays visible.
        if type(error).__module__.partition(".")[0] != "asyncpg":
            raise
        raise _judged(error) from error


def _judged(error: BaseException) -> DoorError:
    name = type(error).__name__
    match verdict_on(error):
        case "wait":
            return Transient(f"the ledger is busy or away ({name})", retry_after=1.0)
        case "race":
            return Transient(f"another writer was first ({name})", retry_after=0.1)
        case _:
            if isinstance(error, sqlite3.Error):
                return Stop(f"the ledger can't be used ({name}: {error}); check the disk, the file and its owner")
            return Stop(f"the ledger can't be used ({name}); check the database and its address")


async def new_id(connection: AsyncConnection, statement: Insert) -> int:
    """Insert one row and return the number it was given."""
    key = (await connection.execute(statement)).inserted_primary_key
    if key is None:
        raise Stop("the database gave a new row no number; this is a fault in footnote")
    return int(key[0])
