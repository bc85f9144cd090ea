"""The ways in which a far source learns what changed: which of them are due, and how far each is behind.

What is kept of them is enough to say how a source is doing without opening it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from connectors.ports import Feed, Memory

_LAST = "feed:"  # and the feed's name: when it was last gone to its end
_PART = "feed of "  # likewise of a part of the source: the part, a space, the feed's name
_ABOUT = "feeds"


@dataclass(frozen=True, slots=True)
class Lag:
    """How one feed is doing."""

    feed: str
    every: timedelta
    last: datetime | None  # when it was last gone to its end; None: never


@dataclass(frozen=True, slots=True)
class About:
    """What is kept of a source's feeds."""

    lags: tuple[Lag, ...]
    stale_grant_bound: timedelta


async def due(
    memory: Memory, feeds: Sequence[Feed], now: datetime, *, hurried: bool, part: str = ""
) -> tuple[Feed, ...]:
    """The feeds to go now, in their order: those whose time has come and, where a person asked for this run
    (`hurried`), every one of permissions. `part`: of the source, by a name without spaces, where each is gone by
    itself."""
    last = await when(memory, part)
    return tuple(feed for feed in feeds if (hurried and feed.of_permissions) or _is_due(feed, last.get(feed.name), now))


def _is_due(feed: Feed, last: datetime | None, now: datetime) -> bool:
    # One that was gone in the future was gone by another clock.
    return last is None or last > now or now - last >= feed.every


async def gone(memory: Memory, feed: str, at: datetime, part: str = "") -> None:
    """The feed was gone to its end in the run that began at `at`; after the checkpoint that followed was taken."""
    await memory.keep_note(_prefix(part) + feed, at.isoformat())


async def remember(memory: Memory, feeds: Sequence[Feed], stale_grant_bound: timedelta) -> None:
    """Keep which feeds there are; in place of what was kept."""
    about = {
        "bound": stale_grant_bound.total_seconds(),
        "feeds": [[feed.name, feed.every.total_seconds()] for feed in feeds],
    }
    await memory.keep_note(_ABOUT, json.dumps(about))


async def about(memory: Memory) -> About | None:
    """What is kept of the feeds; None before the source was opened for the first time."""
    written = await memory.note(_ABOUT)
    if written is None:
        return None
    kept, last = json.loads(written), await when(memory)
    return About(
        tuple(Lag(name, timedelta(seconds=every), last.get(name)) for name, every in kept["feeds"]),
        timedelta(seconds=kept["bound"]),
    )


async def when(memory: Memory, part: str = "") -> Mapping[str, datetime]:
    """When each feed was last gone, of the whole source or of a part of it; one that never was is missing."""
    prefix = _prefix(part)
    notes = await memory.notes(prefix)
    return {name.removeprefix(prefix): datetime.fromisoformat(at) for name, at in notes.items()}


def _prefix(part: str) -> str:
    return f"{_PART}{part} " if part else _LAST
