"""Keeping the index right: comparing it with the ledger, repairing it, and making it anew for another model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from bot.errors import Unusable
from connectors.errors import Transient
from connectors.ports import Catalog, Holdings, Index
from connectors.sync.drift import compare, repair

Json = dict[str, Any]
Tell = Callable[[int, int], None]

_WAITS = 120  # times that a sync which is on is waited for
_WAIT_SECONDS = 5.0


class Remaking(Protocol):
    """An index that can be made anew beside the one that serves."""

    async def run(self, ledger: Beside, tell: Tell) -> Any:
        """Make it of what the ledger names, and let it serve while no sync runs."""
        ...

    async def roll_back(self) -> tuple[str, str]:
        """Let the one before serve again; returns the one that served and the one that serves."""
        ...


@dataclass(frozen=True, slots=True)
class Indexing:
    """The doors that keeping the index needs."""

    catalog: Catalog
    holdings: Holdings
    index: Index
    remaking: Remaking | None
    clock: Callable[[], datetime]


@dataclass(slots=True)
class Beside:
    """The ledger beside an index that is being made anew."""

    doors: Indexing
    sources: list[str]
    to_read_again: int = 0
    _holds: list[Callable[[], Awaitable[None]]] = field(default_factory=list)

    async def named(self) -> Mapping[UUID, str | None]:
        """Every passage that an index ought to hold, by the uuid of its spine, with its digest; None where it may be
        one of two."""
        found: dict[UUID, str | None] = {}
        for source in self.sources:
            async for each in self.doors.holdings.expected(source):
                found[each.id.uuid] = None if each.on_its_way else each.digest
        return found

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """No sync of any source runs meanwhile; one that is on is waited for."""
        async with AsyncExitStack() as stack:
            for source in sorted(self.sources):
                self._holds.append(await stack.enter_async_context(_held(self.doors, source)))
            try:
                yield
            finally:
                self._holds.clear()

    async def moving(self, *, recut: bool) -> None:
        """The new index serves from now on. Where documents are cut otherwise each is marked to be read again, before
        the move: who is killed behind it would not know any more."""
        if recut:
            self.to_read_again = sum([await self.doors.holdings.reread(source) for source in self.sources])
        await self.confirm()

    async def confirm(self) -> None:
        """Transient when a sync may be running again."""
        for still in self._holds:
            await still()


@asynccontextmanager
async def _held(doors: Indexing, source: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """No sync of the source runs meanwhile; one that is on is waited for, ten minutes."""
    async with AsyncExitStack() as stack:
        for _ in range(_WAITS):
            try:
                still = await stack.enter_async_context(doors.holdings.hold(source, doors.clock()))
            except Transient:
                await asyncio.sleep(_WAIT_SECONDS)
                continue
            yield still
            return
        raise Transient(f"source {source!r} is still being synced; pause it and run this again", 60.0)


async def check(doors: Indexing, sources: list[str], *, mend: bool) -> AsyncIterator[Json]:
    """One object a source: how the index differs from the ledger and, where `mend`, what was done about it. While a
    source is compared no sync of it runs."""
    for source in sources:
        async with doors.holdings.hold(source, doors.clock()) as still:
            record = await _checked(doors, source, mend=mend, still=still)
        yield record


async def _checked(doors: Indexing, source: str, *, mend: bool, still: Callable[[], Awaitable[None]]) -> Json:
    drift = await compare(source, doors.holdings, doors.catalog, doors.index)
    record: Json = {
        "source": source,
        "expected": drift.expected,
        "held": drift.held,
        **drift.counts(),
        "examples": drift.examples(),
        "ok": not drift,
    }
    if mend and drift:
        await still()
        done = await repair(drift, doors.holdings, doors.catalog, doors.index)
        record["repaired"] = {"removed": done.removed, "moved": done.moved, "to_read_again": done.to_read_again}
    return record


async def remake(doors: Indexing, sources: list[str], tell: Tell) -> Json:
    """Make the index anew for what is configured now; where documents are cut otherwise now, each is read again by the
    next whole sync."""
    ledger = Beside(doors, sources)
    done = await _remaking(doors).run(ledger, tell)
    return {
        "before": done.before,
        "now": done.now,
        "passages": done.passages,
        "embedded": done.embedded,
        "to_read_again": ledger.to_read_again,
    }


async def roll_back(doors: Indexing, sources: list[str]) -> Json:
    """Let the index before serve again, and make it what the ledger says: it knows nothing of what changed since it
    was left. Where it was made for another model, which is not the one configured, every document is marked to be
    read again instead."""
    ledger = Beside(doors, sources)
    async with ledger.quiet():
        before, now = await _remaking(doors).roll_back()
        if await doors.index.check() is None:
            found = [await _checked(doors, source, mend=True, still=ledger.confirm) for source in sorted(sources)]
            again = [each["source"] for each in found if each.get("repaired", {}).get("to_read_again")]
        else:
            again = [source for source in sorted(sources) if await doors.holdings.reread(source)]
    return {"before": before, "now": now, "to_read_again": again}


def _remaking(doors: Indexing) -> Remaking:
    if doors.remaking is None:
        raise Unusable(
            "the embedded index is one file; move index.sqlite out of the data directory and run `footnote sync`, "
            "which writes a new one"
        )
    return doors.remaking
