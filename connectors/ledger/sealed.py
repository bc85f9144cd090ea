"""Everything that the ledger keeps sealed, and bringing it under the newest key.

Row by row, each replaced only if it is still what was read, so that nothing that changes meanwhile is lost; ended at
any point, it goes on. What the audit record holds sealed is part of what was hashed and stays as it is: its keys are
needed as long as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, and_, func, select, tuple_, update

from connectors.errors import Stop
from connectors.ledger.door import Door
from connectors.ledger.logins import bound_to
from connectors.ledger.tables import METADATA, traces
from connectors.vault import Vault

_BATCH = 200
_IN_RECORD = re.compile(rb'"fn1\.([0-9a-f]{12})\.')


@dataclass(frozen=True, slots=True)
class _Place:
    """A column of sealed values: which rows, and what a row's value is bound to."""

    table: str
    column: str
    keys: tuple[str, ...]
    bound: Callable[..., str]

    @property
    def name(self) -> str:
        return f"{self.table}.{self.column}"


PLACES = (
    _Place("letters", "body", ("name",), "letters|body|{}".format),
    _Place("tickets", "body", ("name",), "tickets|body|{}".format),
    _Place("exchanges", "body", ("name",), "exchanges|body|{}".format),
    _Place("ratings", "words", ("name",), "ratings|words|{}".format),
    _Place("logins", "refresh", ("provider", "subject"), bound_to),
)


@dataclass(frozen=True, slots=True)
class Resealed:
    """What was done at one place."""

    place: str
    resealed: int
    fresh: int  # under the newest key already
    closed: int  # that no configured key opens


class SqlSealed:
    """The sealed values of a ledger."""

    def __init__(self, door: Door, vault: Vault) -> None:
        self._door = door
        self._vault = vault

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the configured keys, newest first."""
        return self._vault.ids

    async def counts(self) -> Mapping[str, Mapping[str, int]]:
        """How many values there are under each key, by place; those of the audit record too."""
        found: dict[str, Counter[str]] = {}
        for place in PLACES:
            values = [value for _, value in await self._all(place)]
            found[place.name] = Counter(_key_of(value) for value in values)
        found["traces"] = await self._in_traces()
        return {name: dict(each) for name, each in found.items()}

    async def rotate(self) -> Sequence[Resealed]:
        """Bring all that can be under the newest key."""
        return [await self._rotated(place) for place in PLACES]

    async def _rotated(self, place: _Place) -> Resealed:
        table = METADATA.tables[place.table]
        column = table.c[place.column]
        resealed = fresh = closed = 0
        for keys, value in await self._all(place):
            if self._vault.fresh(value):
                fresh += 1
                continue
            try:
                renewed = self._vault.reseal(value, place.bound(*keys))
            except Stop:
                closed += 1
                continue
            this = and_(*(table.c[name] == key for name, key in zip(place.keys, keys, strict=True)), column == value)
            changed = update(table).where(this).values({place.column: renewed})
            resealed += await self._door.change(partial(_count, changed), "inbox")
        return Resealed(place.name, resealed, fresh, closed)

    async def _all(self, place: _Place) -> list[tuple[tuple[str, ...], str]]:
        """Every sealed value of a place with the keys of its row."""
        table = METADATA.tables[place.table]
        columns = [table.c[name] for name in place.keys]
        sealed = table.c[place.column]
        wanted = select(*columns, sealed).where(sealed.is_not(None), sealed != "")
        found: list[tuple[tuple[str, ...], str]] = []
        after: tuple[str, ...] | None = None
        while True:
            page = wanted.order_by(*columns).limit(_BATCH)
            if after is not None:
                page = page.where(tuple_(*columns) > after)
            rows = await self._door.look(partial(_rows, page))
            found += [(tuple(row[:-1]), row[-1]) for row in rows]
            if len(rows) < _BATCH:
                return found
            after = tuple(rows[-1][:-1])

    async def _in_traces(self) -> Counter[str]:
        counted: Counter[str] = Counter()
        after = 0
        last = await self._door.look(lambda connection: connection.execute(select(func.max(traces.c.seq))).scalar())
        while last is not None and after < last:
            page = select(traces.c.seq, traces.c.record).where(traces.c.seq > after).order_by(traces.c.seq)
            rows = await self._door.look(partial(_rows, page.limit(_BATCH)))
            if not rows:
                break
            for row in rows:
                counted.update(key.decode() for key in _IN_RECORD.findall(row.record))
            after = rows[-1].seq
        return counted


def _key_of(value: str) -> str:
    parts = value.split(".")
    return parts[1] if len(parts) == 3 else "unreadable"


def _rows(statement: Any, connection: Connection) -> Sequence[Row[Any]]:
    return connection.execute(statement).all()


def _count(statement: Any, connection: Connection) -> int:
    return int(connection.execute(statement).rowcount)
