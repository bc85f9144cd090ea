"""How the ledger's roles reach the database: reads, snapshots and writes, with every error mapped.

What a question waits for goes through `look` and `change`: one function over a connection, carried out whole. On a
SQLite file it runs in a thread, one hop for all its statements; elsewhere on the event loop's own connection. The SQL
and its transaction are the same either way. The roles that a sync writes with go to a thread method by method
(`in_one_hop`): what they await there is done when it is awaited.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, ParamSpec, TypeVar, cast

from sqlalchemy import Connection, CursorResult, Engine, Executable, Insert
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from connectors.errors import DoorError, Stop, Transient
from connectors.ledger.address import Limits
from connectors.ledger.dialect import (
    WAIT_SECONDS,
    Lock,
    direct,
    exclusive,
    single_options,
    snapshot_options,
    verdict_on,
)
from connectors.ledger.dialect import engine as open_engine

T = TypeVar("T")
P = ParamSpec("P")
Role = TypeVar("Role", bound=type)
_READERS = 4  # at once, in threads; one writer beside them
_STEPPERS = 2  # methods of roles at once, beside them
_TIMES = 5  # a transaction is carried out at most, where the database asks for it
_OTHERS_STATEMENT = ("26000", "42P05")  # no statement of this name, or one already
_HOURS = timedelta(hours=6)
_PAUSE = 0.05  # seconds at most before the second time, twice that before the third, …


class Again(Transient):
    """The database took a transaction back, as it does with one of two that stood in each other's way, and asks for
    all of it once more."""


def repeated(step: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """A step that is one transaction, carried out again where the database asks for it; never for any other reason,
    since after a lost connection nobody knows whether a transaction counted."""

    @wraps(step)
    async def bounded(*args: P.args, **kwargs: P.kwargs) -> T:
        times = 0
        while True:
            try:
                return await step(*args, **kwargs)
            except Again as error:
                times += 1
                if times == _TIMES:  # not as Again: whoever called doesn't count anew
                    raise Transient(str(error), retry_after=1.0) from error
            await asyncio.sleep(random.uniform(0, _PAUSE * 2**times))  # noqa: S311  # two must not meet again

    return bounded


def one_transaction_each(role: Role) -> Role:
    """A role of the ledger whose public coroutines are one transaction each, or steps that may be repeated together:
    each is `repeated`."""
    for name, member in list(vars(role).items()):
        if not name.startswith("_") and iscoroutinefunction(member):
            setattr(role, name, repeated(member))
    return role


def in_one_hop(role: Role) -> Role:
    """A role as `one_transaction_each` makes it, whose public coroutines wait for nothing but its `_door`: each is
    carried out in a thread where the database is a SQLite file."""
    for name, member in list(vars(role).items()):
        if not name.startswith("_") and iscoroutinefunction(member):
            setattr(role, name, repeated(_hopping(member)))
    return role


def _hopping(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def hopping(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await self._door.step(lambda: method(self, *args, **kwargs))

    return hopping


class _Thread(threading.local):
    """Whose coroutine this thread is carrying out, and on which database."""

    door: Door | None = None
    engine: Engine | None = None


_THREAD = _Thread()


class _Here:
    """A connection of this thread in the dress of an event loop's: what is awaited of it is done at once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.dialect = connection.dialect

    async def execute(self, statement: Executable, parameters: Any = None) -> CursorResult[Any]:
        return self._connection.execute(statement, parameters)

    async def run_sync(self, work: Callable[..., T], *args: Any) -> T:
        return work(self._connection, *args)


class Door:
    """One database. Every role of the ledger is handed the same one."""

    def __init__(self, engine: AsyncEngine, limits: Limits = Limits()) -> None:  # noqa: B008 - frozen
        self.engine = engine
        self._limits = limits
        self._reader = engine.execution_options(**single_options(engine))
        self._writer = engine.execution_options(footnote="write")
        self._snapshot = engine.execution_options(**snapshot_options(engine))
        threads = _READERS + _STEPPERS + 1
        self._direct = direct(engine, threads)
        self._threads = ThreadPoolExecutor(threads, "footnote-ledger") if self._direct else None
        self._reading = asyncio.Semaphore(_READERS)
        self._stepping = asyncio.Semaphore(_STEPPERS)
        self._writing = asyncio.Semaphore(1)

    @repeated
    async def look(self, work: Callable[[Connection], T], *, single: bool = False) -> T:
        """What `work` reads, all of it in one state of the database: the newest when it began. `single`: it is one
        statement, which needs nothing around it for that."""
        if self._direct is None:
            async with self.read() if single else self.snapshot() as connection:
                return await connection.run_sync(work)
        engine = self._direct.execution_options(footnote="read" if single else "snapshot")

        def read() -> T:
            with engine.connect() as connection:
                return work(connection)

        return await self._hop(self._reading, read)

    @repeated
    async def change(self, work: Callable[[Connection], T], lock: Lock = "catalog") -> T:
        """One durable step, as `write` is. Who is cancelled while it is carried out doesn't know whether it was."""
        if self._direct is None:
            async with self.write(lock) as connection:
                return await connection.run_sync(work)
        engine = self._direct.execution_options(footnote="write")

        def write() -> T:
            with engine.begin() as connection:
                return work(connection)

        return await self._hop(self._writing, write)

    async def step(self, work: Callable[[], Awaitable[T]]) -> T:
        """What a coroutine does that waits for nothing but this door: in one hop, where there are threads."""
        if self._direct is None or _THREAD.door is self:
            return await work()
        return await self._hop(self._stepping, lambda: self._carried_out(work))

    def _carried_out(self, work: Callable[[], Awaitable[T]]) -> T:
        """The result of a coroutine, in this thread: whatever it waits for is done at once."""
        _THREAD.door, _THREAD.engine = self, self._direct
        try:
            next(work().__await__())
        except StopIteration as done:
            return cast(T, done.value)
        finally:
            _THREAD.door = _THREAD.engine = None
        raise RuntimeError("a step of the ledger waits for something else")

    @contextmanager
    def _here(self, footnote: str) -> Iterator[AsyncConnection | None]:
        """A connection for the coroutine that this thread carries out; None where it carries out none."""
        if _THREAD.door is not self or _THREAD.engine is None:
            yield None
            return
        engine = _THREAD.engine.execution_options(footnote=footnote)
        with engine.begin() if footnote == "write" else engine.connect() as connection:
            yield cast(AsyncConnection, _Here(connection))

    async def _hop(self, turn: asyncio.Semaphore, work: Callable[[], T]) -> T:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await turn.acquire()
        except TimeoutError as error:
            raise Transient("the ledger is busy: no connection became free in time", retry_after=1.0) from error
        try:
            with mapped():
                return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            turn.release()

    async def close(self) -> None:
        """Let go of every connection, after what is under way."""
        if self._direct is not None and self._threads is not None:
            await asyncio.to_thread(self._threads.shutdown)
            self._direct.dispose()
        await self.engine.dispose()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """For one statement: it sees one state of the database."""
        with mapped(), self._here("read") as here:
            if here is not None:
                yield here
                return
            async with self._reader.connect() as connection:
                yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncConnection]:
        """For several statements that must see one state of the database."""
        with mapped(), self._here("snapshot") as here:
            if here is not None:
                yield here
                return
            async with self._snapshot.connect() as connection:
                yield connection

    @asynccontextmanager
    async def write(self, *locks: Lock) -> AsyncIterator[AsyncConnection]:
        """One durable step: all of it or nothing, and no other writer of these kinds (the catalog's) meanwhile."""
        with mapped(), self._here("write") as here:
            if here is not None:
                yield here
                return
            async with self._writer.begin() as connection:
                for lock in locks or ("catalog",):
                    await exclusive(connection, lock, self._limits)
                yield connection

    @asynccontextmanager
    async def patient(self) -> AsyncIterator[Door]:
        """The same database for what may take hours, such as a migration."""
        if self.engine.dialect.name == "sqlite":
            yield self
            return
        limits = replace(self._limits, statement=_HOURS, wait=_HOURS)
        door = Door(open_engine(self.engine.url.render_as_string(hide_password=False), limits), limits)
        try:
            yield door
        finally:
            await door.close()


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
        case "again":
            return Again(f"the ledger asks for a transaction again and again ({name})", retry_after=0.1)
        case "wait":
            return Transient(f"the ledger is busy or away ({name})", retry_after=1.0)
        case "race":
            return Transient(f"another writer was first ({name})", retry_after=0.1)
        case _:
            if isinstance(error, sqlite3.Error):
                return Stop(f"the ledger can't be used ({name}: {error}); check the disk, the file and its owner")
            if getattr(error, "sqlstate", None) in _OTHERS_STATEMENT:
                return Stop("a pooler mixes prepared statements; add prepared_statement_cache_size=0 to the address")
            return Stop(f"the ledger can't be used ({name}); check the database and its address")


async def new_id(connection: AsyncConnection, statement: Insert) -> int:
    """Insert one row and return the number it was given."""
    key = (await connection.execute(statement)).inserted_primary_key
    if key is None:
        raise Stop("the database gave a new row no number; this is a fault in footnote")
    return int(key[0])
