"""Everything that differs between SQLite and PostgreSQL, and nothing else.

SQLite runs with a write-ahead log and `synchronous=FULL`: an audit record or a withdrawn right that was reported as
written survives a power cut, at the price of one flush to disk a step. Writers begin with `BEGIN IMMEDIATE` there and
take one advisory lock on PostgreSQL, so that on both there is one writer at a time and readers never wait.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import ssl
from collections.abc import Iterable
from math import inf
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import (
    AsyncAdaptedQueuePool,
    BigInteger,
    Connection,
    Engine,
    Select,
    String,
    bindparam,
    cast,
    create_engine,
    event,
    func,
    select,
    text,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction

from connectors.errors import Stop
from connectors.ledger.address import Limits, address, connecting

Lock = Literal["catalog", "traces", "schema", "inbox"]
"""What a writer keeps others from; on SQLite every writer keeps every other one waiting."""

_LOCKS: dict[Lock, int] = {
    "catalog": 0x0F00_7E01,
    "traces": 0x0F00_7E02,
    "schema": 0x0F00_7E03,
    "inbox": 0x0F00_7E04,
}
_TURN = text(
    "SELECT set_config('lock_timeout', :wait, true), set_config('statement_timeout', :statement, true), "
    "set_config('idle_in_transaction_session_timeout', :idle, true), "
    # What was reported as written must survive a power cut, also where the server's default is faster than that.
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' "
    "ELSE current_setting('synchronous_commit') END, true), pg_advisory_xact_lock(:key)"
)
_IDLE = 30.0  # seconds after which a pooled connection is asked whether it still answers
_WAIT_MS = 15_000
WAIT_SECONDS = _WAIT_MS / 1000
"""How long a caller waits for his turn before the ledger counts as busy."""
_PRAGMAS = (
    f"PRAGMA busy_timeout={_WAIT_MS}",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA cache_size=-32000",
)


class _JsonValues(GenericFunction[str]):
    """The strings of a JSON array as rows with one column `value`."""

    name = "footnote_json_values"
    inherit_cache = True
    type = String()


@compiles(_JsonValues, "sqlite")
def _json_values_sqlite(element: _JsonValues, compiler: SQLCompiler, **kw: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **kw)})"


@compiles(_JsonValues, "postgresql")
def _json_values_postgresql(element: _JsonValues, compiler: SQLCompiler, **kw: Any) -> str:
    return f"json_array_elements_text(CAST({compiler.process(element.clauses, **kw)} AS json))"


def each(parameter: str) -> Select[tuple[str]]:
    """A subquery over any number of strings, given as one parameter that `listed` writes; the statement stays the same
    whatever their number."""
    values = func.footnote_json_values(bindparam(parameter, type_=String())).table_valued("value")
    return select(values.c.value)


def each_number(parameter: str) -> Select[tuple[int]]:
    """As `each`, over integers."""
    values = func.footnote_json_values(bindparam(parameter, type_=String())).table_valued("value")
    return select(cast(values.c.value, BigInteger))


def storable(value: str) -> bool:
    """Whether both databases keep the text as it is; NUL ends a text early in one and is refused by the other."""
    if "\x00" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def listed(values: Iterable[str]) -> str:
    """The parameter of `each`; what can't be stored can't be found and is left out."""
    return json.dumps([value for value in values if storable(value)], ensure_ascii=False)


def engine(url: str, limits: Limits = Limits()) -> AsyncEngine:  # noqa: B008 - frozen
    """An engine for `sqlite+aiosqlite://…` or `postgresql+asyncpg://…`; raises Stop for anything else. The limits are
    PostgreSQL's: SQLite answers in this process."""
    parsed = address(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed)
    place, arguments = connecting(parsed, limits)
    made = create_async_engine(
        place,
        connect_args=arguments,
        pool_size=limits.pool_size,
        max_overflow=0,
        pool_timeout=limits.wait.total_seconds(),
        hide_parameters=True,
    )
    event.listen(made.sync_engine, "checkin", _on_checkin)
    event.listen(made.sync_engine, "checkout", _on_checkout)
    return made


def _on_checkin(_connection: Any, record: Any) -> None:
    record.info["left"] = asyncio.get_running_loop().time()


def _on_checkout(connection: Any, record: Any, _proxy: object) -> None:
    """Replace a connection that died with its server before it is used. Asking the server each time would cost every
    question a round trip for each of its reads: one that was in use just now is only asked whether it knows better."""
    if connection.driver_connection.is_closed():
        raise DisconnectionError("the server closed it")
    if asyncio.get_running_loop().time() - record.info.get("left", inf) > _IDLE:
        try:
            connection.ping()
        except Exception as error:  # whatever it says: a new one will show what is the matter
            raise DisconnectionError("it was idle and doesn't answer") from error


def _sqlite(url: URL) -> AsyncEngine:
    in_memory = url.database in (None, "", ":memory:")
    if not in_memory:
        _private_file(Path(str(url.database)))
    # One connection is one database in memory, so there must never be a second.
    made = create_async_engine(
        url,
        poolclass=AsyncAdaptedQueuePool,
        pool_size=1 if in_memory else 5,
        max_overflow=0 if in_memory else 10,
        pool_timeout=WAIT_SECONDS,
        hide_parameters=True,
    )
    event.listen(made.sync_engine, "connect", _on_connect)
    event.listen(made.sync_engine, "begin", _on_begin)
    return made


def direct(engine: AsyncEngine, connections: int) -> Engine | None:
    """The same database for calls from threads, where its driver blocks anyway: SQLite's in a file. Its driver for
    event loops goes to a thread and back for every statement, and this one only where its caller does. None elsewhere.
    """
    if engine.dialect.name != "sqlite" or engine.url.database in (None, "", ":memory:"):
        return None
    made = create_engine(
        engine.url.set(drivername="sqlite"),
        pool_size=connections,
        max_overflow=0,
        pool_timeout=WAIT_SECONDS,
        hide_parameters=True,
    )
    event.listen(made, "connect", _on_connect)
    event.listen(made, "begin", _on_begin)
    return made


def _private_file(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise Stop(f"the ledger at {str(path)!r} can't be opened ({error.strerror}); check FOOTNOTE_DATA") from error


def _on_connect(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where `_on_begin` says, not where the driver guesses
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _on_begin(connection: Connection) -> None:
    """Single statements are their own snapshot; only what asks for more opens a transaction."""
    match connection.get_execution_options().get("footnote"):
        case "write":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        case "snapshot":
            connection.exec_driver_sql("BEGIN")


async def exclusive(connection: AsyncConnection, lock: Lock, limits: Limits) -> None:
    """Wait until no other writer of this kind is at work; held to the end of the transaction. A writer whose machine
    went away without a word loses its turn when it has said nothing for as long as a statement may take."""
    if connection.dialect.name == "postgresql":
        # One statement and for this transaction alone: a pooler may give the connection to somebody else after it.
        await connection.execute(_TURN, _turn(lock, limits))


def _turn(lock: Lock, limits: Limits) -> dict[str, Any]:
    wait, statement = (f"{round(each.total_seconds() * 1000)}ms" for each in (limits.wait, limits.statement))
    return {"wait": wait, "statement": "0" if lock == "schema" else statement, "idle": statement, "key": _LOCKS[lock]}


def single_options(engine: AsyncEngine) -> dict[str, Any]:
    """How one statement is read by itself: it sees one state of the database without a transaction around it, which
    would cost two round trips."""
    single = {"footnote": "read"}
    return single | {"isolation_level": "AUTOCOMMIT"} if engine.dialect.name == "postgresql" else single


def snapshot_options(engine: AsyncEngine) -> dict[str, Any]:
    """How a transaction sees one state of the database from its first read to its last."""
    if engine.dialect.name == "postgresql":
        return {"isolation_level": "REPEATABLE READ", "footnote": "snapshot"}
    return {"footnote": "snapshot"}


def append_only(table: str, dialect: str) -> list[str]:
    """Statements that make the database itself refuse to change or remove rows of `table`."""
    refusal = f"{table} is append-only"
    if dialect == "sqlite":
        return [
            f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
            for verb in ("UPDATE", "DELETE")
        ]
    return [
        f"CREATE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{refusal}'; END $$",
        f"CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {table}_append_only()",
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_append_only()",
    ]


def not_append_only(table: str, dialect: str) -> list[str]:
    """The reverse of `append_only`, for going back a schema."""
    if dialect == "sqlite":
        return [f"DROP TRIGGER IF EXISTS {table}_no_{verb}" for verb in ("update", "delete")]
    return [f"DROP FUNCTION IF EXISTS {table}_append_only() CASCADE"]


Verdict = Literal["again", "wait", "race", "person"]


def verdict_on(error: BaseException) -> Verdict:
    """What a driver's error asks for: the same transaction once more, trying again later, trying again because another
    was first, or a person."""
    if isinstance(error, sqlite3.IntegrityError):
        return "race"
    if isinstance(error, sqlite3.OperationalError):
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        return "wait" if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or "locked" in str(error) else "person"
    return _verdict_of_postgresql(error)


def _verdict_of_postgresql(error: BaseException) -> Verdict:
    state = str(getattr(error, "sqlstate", None) or "")
    # The last is a plan from before a migration; the driver has forgotten it by now, and says no state with it.
    if state in ("40001", "40P01") or type(error).__name__ == "InvalidCachedStatementError":
        return "again"
    if state.startswith("23"):
        return "race"
    if isinstance(error, ssl.SSLCertVerificationError) or "rejected SSL upgrade" in str(error):
        return "person"
    if state[:2] in ("08", "40", "53", "55", "57") or isinstance(error, OSError | TimeoutError):
        return "wait"
    # A connection that ended under a statement says so in words only.
    return "wait" if "connection is closed" in str(error) or "connection was closed" in str(error) else "person"
