"""Keeping the index right: comparing it with the ledger, repairing it, and making it anew for another model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from bot.errors import Unusable
from connectors.ports import Catalog, Holdings, Index
from connectors.sync.drift import compare, repair

Json = dict[str, Any]
Tell = Callable[[int, int], None]


class Remaking(Protocol):
    """An index that can be made anew beside the one that serves."""

    async def run(self, tell: Tell) -> Any:
        """Make it, and let it serve."""
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


async def check(doors: Indexing, sources: list[str], *, mend: bool) -> AsyncIterator[Json]:
    """One object a source: how the index differs from the ledger and, where `mend`, what was done about it. While a
    source is compared no sync of it runs."""
    for source in sources:
        async with doors.catalog.run(source, doors.clock()):
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
                done = await repair(drift, doors.holdings, doors.catalog, doors.index)
                record["repaired"] = {"removed": done.removed, "moved": done.moved, "to_read_again": done.to_read_again}
        yield record


async def remake(doors: Indexing, sources: list[str], tell: Tell) -> Json:
    """Make the index anew for what is configured now; where documents are cut otherwise now, each is read again by the
    next sync."""
    done = await _remaking(doors).run(tell)
    reread = sum([await doors.holdings.reread(source) for source in sources]) if done.recut else 0
    return {
        "before": done.before,
        "now": done.now,
        "passages": done.passages,
        "embedded": done.embedded,
        "to_read_again": reread,
    }


async def roll_back(doors: Indexing) -> Mapping[str, str]:
    """Let the index before serve again."""
    before, now = await _remaking(doors).roll_back()
    return {"before": before, "now": now}


def _remaking(doors: Indexing) -> Remaking:
    if doors.remaking is None:
        raise Unusable(
            "the embedded index is one file; move index.sqlite out of the data directory and run `footnote sync`, "
            "which writes a new one"
        )
    return doors.remaking
