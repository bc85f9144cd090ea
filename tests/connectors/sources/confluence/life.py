"""A history of a wiki with the product beside it: what happens is drawn from a number, the same in every run."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from connectors.ports import FarSource
from connectors.sync.run import SyncReport
from policies.facts import ScopeState, Subject
from policies.names import DocumentId
from tests.confluence_house import POLICY, SPARE, House, stocked
from tests.connectors.sources.confluence.drawing import MEMORY
from tests.connectors.sources.confluence.living import HereParser, ready, schema
from tests.connectors.sources.past import CANARY, Allowed, Past, differences, killed, shown
from tests.connectors.sync.tree import Tap
from tests.doubles.confluence import oracle
from tests.doubles.confluence.history import Step, apply, revive, worded
from tests.doubles.confluence.wiki import Assigned, Content, Wiki

LEASE = timedelta(hours=6)  # short, so that a few syncs outlast it
DAY = timedelta(days=1)
_TRIES = 100
_FEW = 40  # words that all people together may be shown: less is no history


def drawn_wiki(drawn: Random) -> Wiki:
    """One of either edition, in any zone, with a search index that may lag, in any mode of roles."""
    wiki = stocked(drawn.choice(["cloud", "cloud", "datacenter"]))
    wiki.zone = ZoneInfo(drawn.choice(["UTC", "America/New_York", "Asia/Kolkata"]))
    wiki.lag = timedelta(minutes=drawn.choice([0, 0, 3]))
    if wiki.edition == "cloud":
        wiki.roles_mode = drawn.choice(["PRE_ROLES", "PRE_ROLES", "ROLES_TRANSITION", "ROLES"])
        reader = wiki.role("Reader", "read/space")
        for space in wiki.spaces.values():
            wiki.assign(space.key, *(_role(each.kind, each.id, reader.id) for each in space.grants))
    worded(wiki)
    wiki.at += timedelta(minutes=10)
    return wiki


def _role(kind: str, key: str, role: str) -> Assigned:
    return Assigned(kind.upper().replace("-", "_"), key, role)


@dataclass(slots=True)
class Life:
    """One wiki, the product on it, and what everybody was allowed so far."""

    drawn: Random
    house: House
    past: Past
    said: list[str] = field(default_factory=list)
    titles: dict[str, set[str]] = field(default_factory=dict)  # every word that was in a content's title
    asking: FarSource | None = None

    @property
    def wiki(self) -> Wiki:
        return self.house.wiki

    # ------------------------------------------------------------ what happens

    def happens(self, most: int, wanted: Callable[[Step], bool] = lambda _step: True) -> None:
        """Some things, one after the other, of those that are wanted and can happen."""
        if sum(len(pairs) for pairs in self._reached().values()) < _FEW:
            self.said.append(revive(self.wiki))
            self.note()
        for _ in range(self.drawn.randint(1, most)):
            done: list[str] = []
            for _ in range(_TRIES):
                step = self.drawn.randrange(256), self.drawn.randrange(256), self.drawn.randrange(1024)
                if wanted(step) and (done := apply(self.wiki, [step])):
                    break
            self.said += done
            self.note()

    def waits(self, *minutes: int) -> None:
        """One of these times goes by."""
        gone = self.drawn.choice(minutes)
        self.said.append(f"{gone} minutes go by")
        self.wiki.at += timedelta(minutes=gone)

    def note(self) -> None:
        """What is allowed from now on."""
        self.past.note(self.house.now(), self.allowed())

    def allowed(self) -> Allowed:
        """By person, the words that he may be shown now, by the oracle."""
        for content in self.wiki.content.values():
            self.titles.setdefault(content.id, set()).update(CANARY.findall(content.title))
        words = {content.id: self._words(content) for content in self.wiki.content.values()}
        return {
            name: frozenset((key, word) for key in oracle.readable(self.wiki, name) for word in words[key])
            for name in SPARE
        }

    def _reached(self) -> Allowed:
        """The same, as far as the account that reads for us could bring it in."""
        reached = oracle.reachable(self.wiki, self.house.server.crawler)
        return {name: frozenset(pair for pair in pairs if pair[0] in reached) for name, pairs in self.allowed().items()}

    def _words(self, content: Content) -> set[str]:
        # The holder's title stands over what belongs to it; what a body shows of others is none of its own words.
        text = content.bytes.decode() if content.kind == "attachment" else content.body.partition("<ac:")[0]
        return {*CANARY.findall(text), *self.titles[content.id], *self.titles[oracle.host(self.wiki, content).id]}

    # ------------------------------------------------------------ syncing

    async def sync(self, *, hurried: bool = True, full: bool = False, tap: Tap | None = None) -> SyncReport:
        self.said.append(f"{'full ' if full else ''}sync{'' if hurried else ' on schedule'}")
        report = await self.house.sync(hurried=hurried, full=full, tap=tap)
        if hurried and report.complete:
            self.past.forget()
        return report

    async def killed_sync(self, fatal: int) -> bool:
        """A sync that ends at once before its `fatal`-th call of a door; False where it was done before that."""
        died = await killed(self.house.sync, fatal)
        if died:
            self.said.append(f"sync, killed before call {fatal}")
        return died

    # ------------------------------------------------------------ what is shown

    async def subjects(self) -> dict[str, Subject]:
        """Everybody, as the wiki has them now."""
        assert self.asking is not None
        return {name: await self.house.subject(name, self.asking) for name in SPARE}

    async def shown(self, subjects: dict[str, Subject] | None = None, *, searched: bool = False) -> Allowed:
        return await shown(self.house, subjects or await self.subjects(), POLICY, searched=searched)

    async def nobody_sees_more(self, subjects: dict[str, Subject] | None = None) -> None:
        over = self.past.over(await self.shown(subjects), self.house.now())
        assert not over, self.told("is shown and may not be", over)

    async def the_wiki_itself_agrees(self) -> None:
        """Where the wiki is asked at this moment, nobody is let to what he may not view now, bound or not."""
        assert self.asking is not None
        if self.asking.live is None:
            return
        shown, allowed = await self.shown(), self.allowed()
        name = max(SPARE, key=lambda name: len(shown[name] - allowed[name]))  # who is shown most that is over
        keys = sorted({key for key, _ in shown[name]})
        documents = [DocumentId(self.house.name, key) for key in keys]
        told = await self.asking.live.readable(name, documents, self.house.now())
        person = self.wiki.people[name]
        wrong = [
            f"{name} in {each.key}"
            for each, verdict in told.items()
            if verdict and not oracle.may_view(self.wiki, person, self.wiki.content[each.key])
        ]
        assert not wrong, self.told("is let through by a live check", wrong)

    async def everybody_sees_what_he_may(self) -> None:
        """Search and verdict give everybody every word that he may read and that we could bring in, and no other."""
        found = {name: _texts(pairs) for name, pairs in (await self.shown(searched=True)).items()}
        meant = {name: set(_texts(pairs)) for name, pairs in self._reached().items()}
        for name in found:
            if not (self.wiki.people[name].licensed or self.wiki.people[name].guest):
                meant[name] &= found[name]  # less may be shown to him than to the anonymous person that he is
        wrong = differences(found, {name: frozenset(pairs) for name, pairs in meant.items()})
        assert not wrong, self.told("is wrong", wrong)

    async def held(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the ledger says of each document and of each rule, but when."""
        placed = {each.key: replace(each, revision="") async for each in self.house.memory.placed()}
        stated = await self.house.memory.stated()
        standing = {root: each.digest for root, each in stated.items() if each.state is not ScopeState.GONE}
        return placed, standing

    def told(self, what: str, lines: list[str]) -> str:
        """What is wrong, and the history that led there."""
        kinds = {key: f"{content.kind} {content.title}" for key, content in self.wiki.content.items()}
        named = [f"{line} ({kinds.get(line.rpartition(' ')[2], '?')})" for line in lines]
        return "\n".join([f"this {what}:", *named, f"on {self.wiki.edition}, {self.wiki.roles_mode}:", *self.said])


def _texts(pairs: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Titles may be as they were when a file beside them was read last."""
    return frozenset(pair for pair in pairs if pair[1].startswith("canary"))


@asynccontextmanager
async def lived(number: int, **more: Any) -> AsyncIterator[Life]:
    """A life with this number, open; everything was synced once."""
    drawn = Random(number)
    async with lives(drawn, drawn_wiki(drawn), 1, **more) as [life]:
        yield life


@asynccontextmanager
async def lives(drawn: Random, wiki: Wiki, count: int, **more: Any) -> AsyncIterator[list[Life]]:
    """So many houses on one wiki, each synced once."""
    async with AsyncExitStack() as stack:
        made: list[Life] = []
        for _ in range(count):
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir=MEMORY))
            live = {"live_check": "all"} if wiki.edition == "cloud" else {}
            settings = {"lease": f"{int(LEASE.total_seconds())}s", **live, **more}
            house = House(Path(folder), wiki, ledger_file=ready(schema), parser=HereParser(), settings=settings)
            await stack.enter_async_context(house.open())
            life = Life(drawn, house, Past(LEASE))
            life.asking = await stack.enter_async_context(house.far())
            life.note()
            report = await life.sync()
            assert report.complete, report.problems
            house.told = len(wiki.log)
            made.append(life)
        yield made
