"""What people were allowed, and when; and what they are shown, which has to be in it at every moment.

Words are compared and not documents alone: each version of each text of a double holds a word that nothing else ever
says (`canary17x`), and a title may hold one too (`title17x`). So it is seen where a text is shown under another
document, to the readers of another time, or within what includes it.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from connectors.records import Search
from policies.clearance import clear
from policies.decision import Allowed as Verdict
from policies.facts import Moment, Subject
from policies.policy import Policy
from policies.predicate import Narrowing, SearchScope
from tests.connectors.sync.far_house import Deadly
from tests.connectors.sync.tree import Tap

Words = frozenset[tuple[str, str]]  # a document's key, and a word of it
Allowed = Mapping[str, Words]  # by person
CANARY = re.compile(r"(?:canary|title)\d+x|ROLLED-UP")  # the last: what a page of SharePoint shows of others
_MOST = 1_000  # passages of a small house


LONG = int(os.environ.get("HISTORIES", "0"))


def numbers(*few: int) -> Sequence[int]:
    """The histories that a test lives through: these few, short ones; `HISTORIES=200` makes it the first 200, long."""
    return range(LONG) if LONG else few


def rounds(short: int, long: int) -> range:
    """How often something happens in a history."""
    return range(long if LONG else short)


@dataclass(slots=True)
class Past:
    """What everybody was allowed, from when on. `bound`: how long a grant may outlive its end."""

    bound: timedelta
    said: list[tuple[datetime, Allowed]] = field(default_factory=list)

    def note(self, at: datetime, allowed: Allowed) -> None:
        """From `at` on, this is allowed."""
        self.said.append((at, allowed))

    def forget(self) -> None:
        """Everything was looked at: what was allowed before does not count any more."""
        del self.said[:-1]

    def over(self, shown: Allowed, now: datetime) -> list[str]:
        """Who is shown what he was allowed at no time since the bound, in words."""
        ended = [at for at, _ in self.said[1:]]
        counting = [held for (_, held), end in zip(self.said, [*ended, now], strict=True) if end > now - self.bound]
        counting.append(self.said[-1][1])
        return sorted(
            f"{name}: {word} in {key}"
            for name, pairs in shown.items()
            for key, word in pairs
            if not any((key, word) in held.get(name, ()) for held in counting)
        )


def differences(shown: Allowed, meant: Allowed) -> list[str]:
    """Who is shown more or less than is meant for him, in words."""
    more = [f"{name} is shown {word} in {key}" for name in meant for key, word in shown[name] - meant[name]]
    less = [f"{name} misses {word} in {key}" for name in meant for key, word in meant[name] - shown[name]]
    return sorted(more + less)


async def killed(sync: Callable[..., Awaitable[object]], fatal: int) -> bool:
    """A sync that is dead from before its `fatal`-th call of a door on; False where it was done before that."""
    deadly = Deadly(fatal=fatal)
    run, dead = asyncio.create_task(_run(sync, deadly)), asyncio.create_task(deadly.dead.wait())
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


async def _run(sync: Callable[..., Awaitable[object]], tap: Tap) -> None:
    await sync(tap=tap)


async def shown(house: Any, subjects: Mapping[str, Subject], policy: Policy, *, searched: bool = False) -> Allowed:
    """By person, every word that a verdict lets through now of all that the index holds; where `searched`, of what his
    own search finds."""
    found: dict[str, set[tuple[str, str]]] = {name: set() for name in subjects}
    now = house.now()
    moment = Moment(now, now.date(), dated=False)
    if not searched:
        scopes = frozenset({each.scope async for each in house.index.stored(house.name)})
        hits = await _hits(house, SearchScope(scopes) if scopes else None)
    for name, subject in subjects.items():
        if searched:
            hits = await _hits(house, await house.ledger.facts.cover([subject.principals], now))
        for hit, resource in hits:
            verdict = policy.decide(subject, resource, moment)
            if isinstance(verdict, Verdict):
                passage = clear(hit.passage, verdict).content
                said = CANARY.findall(f"{passage.header}\n{passage.text}")
                found[name] |= {(hit.id.document.key, word) for word in said}
    return {name: frozenset(pairs) for name, pairs in found.items()}


async def _hits(house: Any, scope: SearchScope | None) -> list[Any]:
    """The passages in these scopes that stand by what the ledger accepts, with its facts."""
    if scope is None:
        return []
    vector = await house.embedder.question("anything")
    hits = await house.index.search(Search("anything", vector, (), Narrowing(scope), limit=_MOST))
    resources = await house.ledger.facts.resources(sorted({(hit.id.document, hit.id.version) for hit in hits}))
    accepted = await house.ledger.facts.digests([hit.id for hit in hits])
    return [
        (hit, resources[at])
        for hit in hits
        if (at := (hit.id.document, hit.id.version)) in resources and hit.digest in accepted.get(hit.id, frozenset())
    ]
