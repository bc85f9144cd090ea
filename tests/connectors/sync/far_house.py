"""A far system with a ledger and an index behind it: change it, sync, see what each person could be answered from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from connectors.ledger.memory import SqlMemory
from connectors.ledger.open import Ledger, open_ledger
from connectors.records import Search
from connectors.sync.placing import Join
from connectors.sync.run import Doors, SyncReport, sync
from policies.access import satisfies
from policies.clearance import clear
from policies.decision import Allowed
from policies.facts import Life, ScopeState
from policies.names import Principal
from policies.predicate import Narrowing
from tests.connectors.sync.tree import Tap
from tests.doubles.far import Far, FarPages
from tests.memory import HashingEmbedder, LineParser, MemoryIndex, WordDetector

NAME = "far"
Readable = frozenset[tuple[str, str, str]]  # who, document, text


@dataclass(slots=True)
class Deadly(Tap):
    """Lets no call begin from the `fatal`-th on; what is under way is carried out, as a database does it."""

    dead: asyncio.Event = field(default_factory=asyncio.Event)
    under_way: int = 0

    async def call(self, name: str, work: Callable[[], Any]) -> Any:
        self.calls += 1
        if self.fatal is not None and self.calls >= self.fatal:
            self.dead.set()
        return await self.step(work)

    async def step(self, work: Callable[[], Any]) -> Any:
        if self.dead.is_set():
            await asyncio.Event().wait()
        self.under_way += 1
        try:
            return await work()
        finally:
            self.under_way -= 1


@dataclass(slots=True)
class FarHouse:
    """What a far system's changes do to answers."""

    ledger: Ledger
    join: Join
    far: Far = field(default_factory=Far)
    index: MemoryIndex = field(default_factory=MemoryIndex)
    embedder: HashingEmbedder = field(default_factory=HashingEmbedder)
    at: datetime = datetime(2030, 1, 1, tzinfo=UTC)
    sees_everything: bool = True
    looks_at: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)

    @property
    def memory(self) -> SqlMemory:
        return SqlMemory(self.ledger.door, NAME)

    async def sync(self, tap: Tap | None = None) -> SyncReport:
        self.at += timedelta(minutes=5)
        tapped = tap.on if tap else lambda door: door
        catalog, index = tapped(self.ledger.catalog), tapped(self.index)
        doors = Doors(catalog, index, LineParser(), self.embedder, WordDetector())
        source = FarPages(
            NAME, self.far, tapped(self.memory), self.join, self.sees_everything, self.looks_at, self.unreadable
        )
        return await sync(source, doors, lambda: self.at)

    async def killed_sync(self, fatal: int) -> bool:
        """A sync that is killed before its `fatal`-th call; False where it was done before that."""
        deadly = Deadly(fatal=fatal)
        run, dead = asyncio.create_task(self.sync(deadly)), asyncio.create_task(deadly.dead.wait())
        await asyncio.wait((run, dead), return_when=asyncio.FIRST_COMPLETED)
        dead.cancel()
        if not deadly.dead.is_set():
            await run
            return False
        while deadly.under_way:  # noqa: ASYNC110 - two of them may end in either order
            await asyncio.sleep(0.001)
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run
        return True

    async def readable(self, *people: str) -> Readable:
        """Every text that search and gate let through for each of these groups, alone."""
        found: set[tuple[str, str, str]] = set()
        for name in people:
            held = frozenset([Principal.group(name)])
            scopes = await self.ledger.facts.cover([held], self.at)
            if scopes is None:
                continue
            vector = await self.embedder.question("anything")
            hits = await self.index.search(Search("anything", vector, (), Narrowing(scopes), limit=1000))
            known = await self.ledger.facts.resources([(hit.id.document, hit.id.version) for hit in hits])
            accepted = await self.ledger.facts.digests([hit.id for hit in hits])
            for hit in hits:
                resource = known.get((hit.id.document, hit.id.version))
                if resource is None or hit.digest not in accepted.get(hit.id, frozenset()):
                    continue
                scope = resource.scope
                if (
                    resource.life is Life.LIVE
                    and resource.current
                    and resource.hidden_by is None
                    and scope.state is ScopeState.ACTIVE
                    and self.at <= scope.verified_at + scope.lease
                    and satisfies(held, scope.access)
                ):
                    allowed = Allowed(hit.id.document, hit.id.version, "test")
                    found.add((name, hit.id.document.key, clear(hit.passage, allowed).content.text))
        return frozenset(found)


@asynccontextmanager
async def far_house(url: str = "sqlite+aiosqlite://", join: Join = Join.AND) -> AsyncIterator[FarHouse]:
    async with open_ledger(url) as ledger:
        yield FarHouse(ledger, join)
