"""A world in which every text holds one word that occurs nowhere else, and an index that lies about much of it.

Where such a word turns up tells which text got there. The oracle tells for whom it may. Whatever can be wrong with a
document is wrong with some of them, and the index's copy of scopes, dates, trust and texts is wrong on purpose.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from string import ascii_lowercase
from typing import Any

from bot.answering.doors import Doors
from bot.answering.outcome import Answered, Outcome, to_json
from connectors.records import Entry, SourceDocument
from policies.facts import Trust
from policies.names import ChunkId
from tests.oracle import Oracle
from tests.tap import Crossing, as_seen
from tests.world import SOURCE, World

_CANARY = re.compile(r"zq[a-z]{10}")
_IN_HEADING = re.compile(r"hq([a-z]{10})")  # the same word, where it stands in a heading and so in the spine
_BY_NAME = frozenset(["traces", "facts", "index"])  # doors that passages are named at, whoever may read them
_PAST = date(2028, 5, 5)  # a day that some questions are about
_DATED = {"starts": date(2028, 1, 1), "ends": date(2028, 12, 31)}


@dataclass(frozen=True, slots=True)
class Leak:
    """A word where it may not be."""

    door: str
    call: str
    word: str
    fate: str
    person: str
    place: str


@dataclass(frozen=True, slots=True)
class Bird:
    """What a canary word stands in; `caged`: nobody may be answered from that text, whoever may read the page."""

    page: str
    version: str
    fate: str
    caged: bool = False


@dataclass(slots=True)
class Aviary:
    """The world, the words, and what is wrong with what."""

    world: World
    birds: dict[str, Bird] = field(default_factory=dict)
    honest: dict[ChunkId, Entry] = field(default_factory=dict)  # what the index holds where it tells the truth
    lying: dict[ChunkId, Entry] = field(default_factory=dict)
    _allowed: dict[tuple[str, date | None], frozenset[str]] = field(default_factory=dict)

    # ------------------------------------------------------------ the truth

    def allowed(self, person: str, on: date | None = None) -> frozenset[str]:
        """The words that a person may see, after the oracle."""
        key = (person, on)
        if key not in self._allowed:
            readable = self.world.oracle.readable(person, self.world.at, on)
            self._allowed[key] = frozenset(
                word for word, bird in self.birds.items() if not bird.caged and (bird.page, bird.version) in readable
            )
        return self._allowed[key]

    def listeners(self, person: str, place: str) -> list[str]:
        """Everybody who sees a reply that is for everyone in the place."""
        if place == "dm":
            return [person]
        if place.startswith("private:"):
            return [person, *self.world.places[place]]
        guests = [name for name in self.world.places.get(place, ()) if self.world.oracle.kind_of[name] != "member"]
        return [person, "anybody", *guests]

    # ------------------------------------------------------------ runs

    async def run(
        self,
        asks: int,
        seed: int,
        fates: Sequence[str] = (),
        weaken: Callable[[Doors], Doors] = lambda doors: doors,
        *,
        until_leak: bool = False,
    ) -> Run:
        """Random people ask and search for random words, or for those of these fates, in random places."""
        rng, run = random.Random(seed), Run()
        people = sorted(self.world.oracle.kind_of)
        places = ["dm", "dm", *sorted(self.world.places), "public:other"]
        birds = [bird for bird in self.birds.values() if not fates or bird.fate in fates]
        for number in range(asks):
            bird = rng.choice(birds)
            person, place = rng.choice(people), rng.choice(places)
            dated = bird.fate == "past" or rng.random() < 0.2
            on = _PAST if dated and rng.random() < 0.7 else None
            text = f"What is the secret word of {bird.page}?"
            await self._watch(run, person, text, place, on, weaken, searching=number % 2 == 1)
            if until_leak and any(not fates or leak.fate in fates for leak in run.leaks):
                break
        return run

    async def _watch(
        self,
        run: Run,
        person: str,
        text: str,
        place: str,
        on: date | None,
        weaken: Callable[[Doors], Doors],
        *,
        searching: bool,
    ) -> None:
        tap = self.world.tap
        tap.crossings.clear()
        doors, everyone = weaken(self.world.doors), False
        with tap.logs():
            try:
                if searching:
                    hits = await self.world.search(person, text, place, on, 20, doors)
                    tap.keep("outcome", "search", as_seen(hits.to_json()))
                    everyone = all(map(self.world.oracle.may_ask, self.listeners(person, place)))
                else:
                    outcome = await self.world.ask(person, text, place, on, doors)
                    tap.keep("outcome", "ask", as_seen(to_json(outcome)))
                    everyone = outcome.audience.visible_to == "everyone"
                    run.answered += isinstance(outcome, Answered)
                    run.for_everyone += isinstance(outcome, Answered) and everyone
                    self._check_citations(run, outcome, person, place, on)
            except Exception as error:  # whatever it is, its words count
                tap.keep("error", type(error).__name__, error)
                run.errors += 1
        mine = self.allowed(person, on)
        ours = frozenset.intersection(*(self.allowed(each, on) for each in self.listeners(person, place)))
        for crossing in tap.crossings:
            run.crossings += 1
            self._judge(run, crossing, ours & mine if crossing.door == "outcome" and everyone else mine, person, place)
        trace = next(reversed(self.world.traces.ended.values()))[0]
        run.dropped |= {each["check"] for attempt in trace["attempts"] for each in attempt.get("dropped", ())}

    def _judge(self, run: Run, crossing: Crossing, allowed: Iterable[str], person: str, place: str) -> None:
        words = set(_CANARY.findall(crossing.words))
        if crossing.door not in _BY_NAME:
            words |= {f"zq{rest}" for rest in _IN_HEADING.findall(crossing.words)}
        for word in words:
            if word in allowed:
                run.seen.add(word)
            else:
                run.leaks.append(Leak(crossing.door, crossing.call, word, self.birds[word].fate, person, place))

    def _check_citations(self, run: Run, outcome: Outcome, person: str, place: str, on: date | None) -> None:
        if not isinstance(outcome, Answered):
            return
        readers = self.listeners(person, place) if outcome.audience.visible_to == "everyone" else [person]
        for citation in outcome.citations:
            page, version = citation.chunk.document.key, citation.chunk.version
            if not all(self.world.oracle.may_read(each, page, version, self.world.at, on) for each in readers):
                run.leaks.append(Leak("citation", "ask", str(citation.chunk), "cited", person, place))


@dataclass(slots=True)
class Run:
    """What came of it."""

    leaks: list[Leak] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)  # words that reached somebody who may see them
    dropped: set[str] = field(default_factory=set)  # checks that objected to something the index handed over
    crossings: int = 0
    answered: int = 0
    for_everyone: int = 0
    errors: int = 0


def build(pages: int, people: int, seed: int) -> Aviary:
    """The world after two syncs and a little time; the same for the same numbers."""
    loop = asyncio.new_event_loop()  # a fixture of its own scope has none
    try:
        return loop.run_until_complete(_Builder(random.Random(seed), pages, people).build())
    finally:
        loop.close()


FATES = (
    "plain", "plain", "both groups", "person", "unknown", "nobody", "lease", "quarantined", "superseded", "past",
    "future", "versions", "deleted", "drafted", "overlaid", "half-written", "edited", "revoked", "renamed",
    "withdrawn",
)  # fmt: skip


class _Builder:
    def __init__(self, rng: random.Random, pages: int, people: int) -> None:
        self.rng, self.count, self.crowd = rng, pages, people
        self.aviary = Aviary(World())
        self.world = self.aviary.world
        self.leaves = [f"grp:g{number}" for number in range(10)]
        self.uppers = [f"grp:u{number}" for number in range(5)]

    async def build(self) -> Aviary:
        self._people()
        names = [f"topic{number:03}" for number in range(self.count)]
        fates = {name: FATES[number % len(FATES)] for number, name in enumerate(names)}
        for name, fate in fates.items():
            self._first(name, fate)
        await self.world.sync()
        before = dict(self.world.index.entries)
        for name, fate in fates.items():
            self._then(name, fate)
        await self.world.sync()
        for name, fate in fates.items():
            await self._afterwards(name, fate)
        self.world.at += timedelta(hours=2)  # short leases run out
        self.aviary.honest = dict(self.world.index.entries)
        self.aviary.lying = self._lies(before, self.aviary.honest)
        self.world.index.entries = dict(self.aviary.lying)
        return self.aviary

    def _people(self) -> None:
        world, rng = self.world, self.rng
        for number, upper in enumerate(self.uppers):
            world.group(upper, *rng.sample(self.leaves, 3), *self.uppers[number + 1 : number + 2])
        world.group("grp:everyone", "grp:staff", *self.leaves)
        kinds = ["external", "guest", "guest", *["member"] * self.crowd]
        names = [f"p{number}" for number in range(self.crowd)]
        for name, kind in zip(names, kinds, strict=False):
            world.person(name, *rng.sample(self.leaves, rng.randint(1, 3)), kind=kind)
        world.person("alone")  # in no group
        world.person("anybody", "grp:everyone")
        world.disable(names[-1])
        world.place("private:pair", *rng.sample(names[3:-1], 2))
        world.place("private:mixed", *rng.sample(names[1:-1], 5))
        world.place("private:outsiders", names[0], names[5])
        world.place("private:many", *names[1:12])
        world.place("public:town", *names[1:8])

    # ------------------------------------------------------------ pages

    def _word(self, page: str, version: str, fate: str, *, caged: bool = False) -> str:
        word = "zq" + "".join(self.rng.choice(ascii_lowercase) for _ in range(10))
        self.aviary.birds[word] = Bird(page, version, fate, caged)
        return word

    def _told(self, name: str, word: str) -> dict[str, Any]:
        # In everything that a page says of itself but its address in the spine.
        return {
            "text": f"The secret word of {name} is {word}.\n\n## More of h{word[1:]}\n\nThe other word is {word} too.",
            "title": f"About {name} {word}",
            "owner": f"{word} desk",
            "url": f"https://wiki.example.com/{name}/{word}",
            "labels": (word,),
        }

    def _readers(self, fate: str) -> Any:
        rng, groups = self.rng, [*self.leaves, *self.uppers]
        match fate:
            case "both groups":
                return [rng.sample(groups, 3), rng.sample(groups, 3)]
            case "person":
                return [f"usr:p{rng.randrange(self.crowd)}@example.com" for _ in range(2)]
            case "unknown":
                return None
            case "nobody":
                return rng.choice([(), [["grp:g1"], []]])
            case _:
                return rng.choice([["grp:everyone"], rng.sample(groups, rng.randint(1, 3)), rng.sample(groups, 2)])

    def _first(self, name: str, fate: str) -> None:
        caged = fate in ("quarantined", "overlaid", "edited", "drafted", "withdrawn")
        word = self._word(name, "v1", fate, caged=caged)
        more: dict[str, Any] = self._told(name, word)
        text = more.pop("text")
        match fate:
            case "lease":
                more["lease"] = timedelta(hours=1)
            case "superseded":
                more["status"] = "superseded"
            case "past" | "versions":
                more |= _DATED
            case "future":
                more["starts"] = date(2031, 1, 1)
            case "overlaid":
                more["ancestors"] = ("space", f"above {name}")
        readers = [["grp:everyone"]] if fate == "revoked" else self._readers(fate)
        self.world.page(name, text, readers, **more)

    def _then(self, name: str, fate: str) -> None:
        world = self.world
        match fate:
            case "versions":
                word = self._word(name, "v2", fate)
                world.change(name, version="v2", starts=date(2029, 1, 1), ends=None, **self._told(name, word))
            case "deleted":
                world.delete(name)
            case "drafted":
                world.change(name, status="draft")
            case "edited":
                world.change(name, **self._told(name, self._word(name, "v1", "plain")))
            case "revoked":
                world.share(name, self._readers(fate))
            case "renamed":
                world.change(name, folder=f"folder of {name}")
                world.share_folder(f"folder of {name}", self._readers(fate))

    async def _afterwards(self, name: str, fate: str) -> None:
        """What only the ledger knows: a flag raised later, an overlay, a version that was never finished."""
        ledger, document = self.world.catalog, self.world.pages.get(name)
        match fate:
            case "quarantined":
                ledger.documents[self.world.id_of(name)].versions["v1"].trust = Trust.QUARANTINED
            case "withdrawn":
                await ledger.withdraw_scope(SOURCE, name)
            case "overlaid":
                await ledger.hide_subtree(SOURCE, f"above {name}", "rights below are re-read", self.world.at)
            case "half-written":
                assert document is not None
                told = self._told(name, self._word(name, "v9", fate, caged=True))
                self.world.change(name, version="v9", **told)
                await self._half(name)
                self.world.pages[name] = document

    async def _half(self, name: str) -> None:
        from connectors.sync.prepare import Prepared, prepare
        from tests.memory import LineParser

        world = self.world
        document: SourceDocument = world._document(world.pages[name], name)
        prepared = await prepare(document, LineParser(), world.detector, world.index, world.embedder)
        assert isinstance(prepared, Prepared)
        scope = await world.catalog.scope_of(SOURCE, name)
        assert scope is not None
        entries = prepared.entries(scope, await world.catalog.containers_of(scope))
        await world.catalog.announce(prepared.document, scope, [entry.chunk for entry in entries], prepared.trust)
        await world.index.put(entries)

    # ------------------------------------------------------------ lies

    def _lies(self, before: dict[ChunkId, Entry], now: dict[ChunkId, Entry]) -> dict[ChunkId, Entry]:
        """What a stale, rolled back or tampered index would hold: old texts under the same ids, what was deleted, and
        for half of everything another scope, open dates and a clean record, and for some a text of another page."""
        rng = self.rng
        wide = [
            entry.scope
            for name, entry in now.items()
            if self.world.pages[name.document.key].readers == (("grp:everyone",),)
            and self.aviary.birds[_CANARY.findall(entry.chunk.text)[0]].fate == "plain"
        ]
        held = {
            name: self._lie(entry, rng.choice(wide)) if rng.random() < 0.5 else entry
            for name, entry in (now | before).items()
        }
        for name in rng.sample(sorted(held), len(held) // 10):  # another's text under the digest of its own
            other = rng.choice(list(held.values())).chunk
            swapped = replace(held[name].chunk, text=other.text, header=other.header)
            held[name] = replace(held[name], chunk=swapped)
        return held

    def _lie(self, entry: Entry, scope: Any) -> Entry:
        told = replace(entry.chunk.attributes, effective_from=None, effective_to=None, superseded=False)
        return replace(entry, scope=scope, trust=Trust.CLEAN, chunk=replace(entry.chunk, attributes=told))


__all__ = ["FATES", "Aviary", "Bird", "Leak", "Oracle", "Run", "build"]
