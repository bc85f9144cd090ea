"""Open a ledger: bring its schema up to date and hand out its roles."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from connectors.ledger.address import Limits
from connectors.ledger.catalog import SqlCatalog
from connectors.ledger.dialect import engine
from connectors.ledger.door import Door
from connectors.ledger.facts import SqlFacts
from connectors.ledger.people import SqlPeople
from connectors.ledger.sources import SqlSources
from connectors.ledger.upgrade import bring_up


@dataclass(frozen=True, slots=True)
class Ledger:
    """One open ledger. The roles share its connections and nothing else."""

    facts: SqlFacts
    catalog: SqlCatalog
    sources: SqlSources
    people: SqlPeople
    door: Door  # for the roles that need keys as well, such as the audit record


@asynccontextmanager
async def open_ledger(url: str, limits: Limits = Limits()) -> AsyncIterator[Ledger]:  # noqa: B008 - frozen
    """A ledger at `sqlite+aiosqlite:///PATH` (made if need be; without a path: in memory) or
    `postgresql+asyncpg://…`. Stop when it can't be used, Transient when it is busy or away."""
    door = Door(engine(url, limits), limits)
    try:
        await bring_up(door)
        yield Ledger(SqlFacts(door), SqlCatalog(door), SqlSources(door), SqlPeople(door), door)
    finally:
        await door.close()
