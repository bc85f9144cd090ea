"""A whole ledger copied to another database, from SQLite to PostgreSQL or back: every row, and the numbers given out.

Nobody writes to the source meanwhile. Until the copy is proven equal, its schema carries a mark with which no footnote
opens it: a half-copied ledger would know of documents and not of what hides them. A copy that was killed goes on where
it was; what it holds that the source has changed since is copied anew. It never touches a target with other content.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import Column, Table, Text, delete, func, insert, inspect, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from connectors.errors import Stop
from connectors.ledger.dialect import storable
from connectors.ledger.door import Door
from connectors.ledger.migrations import HEAD
from connectors.ledger.numbers import give_out_after, given_out
from connectors.ledger.tables import METADATA, traces
from connectors.ledger.upgrade import COPYING, migrate, revision
from connectors.ports import ChainVerdict

Tell = Callable[[int, int | None, str], None]
Prove = Callable[[Door], Awaitable[ChainVerdict]]
_ROWS = 1000  # written at once, durable together
_MARK = f"{COPYING}{HEAD}"
_TABLES: tuple[Table, ...] = tuple(METADATA.sorted_tables)  # what others refer to comes first
_AGAIN = "empty it (or make a new database) and copy again"


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied: rows by table, and the verdict on the chain of traces at the target."""

    tables: Mapping[str, int]
    chain: ChainVerdict
    already: bool  # the target was this copy before, whole


async def copy(source: Door, target: Door, prove: Prove, tell: Tell) -> Copied:
    """Make `target` the same ledger as `source`. Stop when it holds anything else, or was not equal in the end; then
    no ledger can be opened there."""
    async with source.patient() as ours, target.patient() as theirs, ours.write("catalog", "traces") as reading:
        found = await _claim(theirs)
        progress = _Progress(tell, await _size(reading) * 2)
        if found == _MARK:
            stated = await _fill_all(reading, theirs, progress)
        else:
            stated = {table.name: await _read(reading, table, progress) for table in _TABLES}
        await _compare(theirs, stated, progress)
        verdict = await prove(theirs)
        before = await prove(ours)
        if verdict != before:
            raise Stop(f"the chain of traces is {verdict.status!r} at the target and {before.status!r} here; {_AGAIN}")
        if found == _MARK:
            async with theirs.write("schema") as writing:
                await _number_on(reading, writing)
                await _say(writing, HEAD)
    return Copied({name: held.rows for name, held in stated.items()}, verdict, already=found != _MARK)


# ---------------------------------------------------------------- whose the target is


async def _claim(target: Door) -> str:
    """Mark an empty target as a copy under way; returns the mark, or HEAD for a target that is a ledger already, which
    may be this one."""
    async with target.write("schema") as connection:
        tables = await connection.run_sync(lambda sync: set(inspect(sync).get_table_names()))
        if not tables:
            await connection.run_sync(migrate, HEAD)
            await _say(connection, _MARK)
            return _MARK
        found = await connection.run_sync(revision)
        if found == HEAD and not await _any_row(connection):
            await _say(connection, _MARK)
            return _MARK
        if found in (HEAD, _MARK):
            return found
        if found is not None and found.startswith(COPYING):
            raise Stop(f"the target holds a copy that another version of footnote began; {_AGAIN}")
        raise Stop(f"the target holds something else than an empty ledger of this version; {_AGAIN}")


async def _say(connection: AsyncConnection, mark: str) -> None:
    await connection.execute(text("UPDATE alembic_version SET version_num = :mark"), {"mark": mark})


async def _any_row(connection: AsyncConnection) -> bool:
    for table in _TABLES:
        if (await connection.execute(select(*table.primary_key.columns).limit(1))).first() is not None:
            return True
    return False


# ---------------------------------------------------------------- rows, and what tells whether they are the same


@dataclass(slots=True, eq=False)
class _Held:
    """Rows in the order of their keys: how many, and a digest over all of them."""

    rows: int = 0
    digest: Any = field(default_factory=sha256)

    def add(self, row: Sequence[Any]) -> None:
        self.rows += 1
        self.digest.update(json.dumps(list(row), default=_plain, ensure_ascii=False).encode(errors="surrogatepass"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and (self.rows, self.digest.digest()) == (other.rows, other.digest.digest())


def _plain(value: Any) -> str:
    match value:
        case datetime() | date():
            return value.isoformat()
        case bytes() | memoryview():
            return bytes(value).hex()
        case _:
            raise Stop(f"a column of type {type(value).__name__} can't be compared; this is a fault in footnote")


@asynccontextmanager
async def _rows(connection: AsyncConnection, table: Table) -> AsyncIterator[AsyncIterator[Sequence[Any]]]:
    """Every row in the order of its key, byte by byte: the same one on every database."""
    keys = [_in_bytes(column, connection) for column in table.primary_key.columns]
    query = select(table).order_by(*keys).execution_options(yield_per=_ROWS)
    async with connection.stream(query) as rows:
        yield rows


def _in_bytes(column: Column[Any], connection: AsyncConnection) -> Any:
    sorts_as_people_do = connection.dialect.name == "postgresql" and isinstance(column.type, Text)
    return column.collate("C") if sorts_as_people_do else column


class _Progress:
    """How many rows were copied and compared, out of how many."""

    def __init__(self, tell: Tell, total: int) -> None:
        self._tell, self._total, self._done = tell, total, 0

    def step(self, table: Table) -> None:
        self._done += 1
        if self._done % _ROWS == 0:
            self._tell(self._done, self._total, table.name)


async def _size(connection: AsyncConnection) -> int:
    counts = [(await connection.execute(select(func.count()).select_from(table))).scalar() or 0 for table in _TABLES]
    return sum(counts)


async def _read(connection: AsyncConnection, table: Table, progress: _Progress | None = None) -> _Held:
    held = _Held()
    async with _rows(connection, table) as rows:
        async for row in rows:
            held.add(row)
            if progress:
                progress.step(table)
    return held


# ---------------------------------------------------------------- copying


async def _fill_all(reading: AsyncConnection, target: Door, progress: _Progress) -> dict[str, _Held]:
    stated: dict[str, _Held] = {}
    for place, table in enumerate(_TABLES):
        async with target.snapshot() as connection:
            there = await _read(connection, table)
        held = await _fill(reading, target, table, there, progress)
        if held is None:
            await _empty(target, _TABLES[place:])
            held = await _fill(reading, target, table, _Held(), progress)
        if held is None:
            raise Stop(f"the rows of {table.name!r} can't be removed at the target; {_AGAIN}")
        stated[table.name] = held
    return stated


async def _fill(
    reading: AsyncConnection, target: Door, table: Table, there: _Held, progress: _Progress
) -> _Held | None:
    """Copy the rows that are not there yet; None when those that are there are not the source's first ones."""
    held = _Held()
    batch: list[Sequence[Any]] = []
    async with _rows(reading, table) as rows:
        async for row in rows:
            if held.rows == there.rows and held != there:
                return None
            held.add(row)
            progress.step(table)
            if held.rows > there.rows:
                batch.append(row)
            if len(batch) == _ROWS:
                await _write(target, table, batch)
                batch = []
    if held.rows < there.rows or (held.rows == there.rows and held != there):
        return None
    if batch:
        await _write(target, table, batch)
    return held


async def _write(target: Door, table: Table, rows: Sequence[Sequence[Any]]) -> None:
    names = [column.name for column in table.columns]
    for row in rows:
        if not all(storable(value) for value in row if isinstance(value, str)):
            raise Stop(
                f"a row of {table.name!r} holds a text that not every database can keep (NUL or half a character)"
            )
    async with target.write("schema") as connection:
        await connection.execute(insert(table), [dict(zip(names, row, strict=True)) for row in rows])


async def _empty(target: Door, tables: Sequence[Table]) -> None:
    """Remove what an earlier attempt copied from here on; whatever refers to it comes after it."""
    if tables[0] is traces:
        raise Stop(f"the target holds traces of another ledger; {_AGAIN}")
    async with target.write("schema") as connection:
        for table in reversed(tables):
            if table is not traces:  # they can't be removed, and are compared by themselves
                await connection.execute(delete(table))


async def _number_on(reading: AsyncConnection, writing: AsyncConnection) -> None:
    """A number that was given out once is never given out again, not at the target either."""
    for table in _TABLES:
        last = await reading.run_sync(given_out, table)
        await writing.run_sync(give_out_after, table, last)


async def _compare(target: Door, stated: Mapping[str, _Held], progress: _Progress) -> None:
    """Read everything at the target, in one state of it."""
    async with target.snapshot() as connection:
        for table in _TABLES:
            there = await _read(connection, table, progress)
            if there != stated[table.name]:
                problem = f"{table.name!r} has {there.rows} rows at the target and {stated[table.name].rows} here"
                if there.rows == stated[table.name].rows:
                    problem = f"{table.name!r} has other rows at the target than here"
                raise Stop(f"the target is not this ledger: {problem}; {_AGAIN}")
