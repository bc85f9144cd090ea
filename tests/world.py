"""The simulator: people in groups, pages shared with them, a place with members, and somebody who asks.

    world.group("grp:staff", "grp:finance")
    world.person("asha", "grp:finance")
    world.page("travel", "Airfare above 500 needs approval.", readers=["grp:staff"])
    await world.sync()
    assert (await world.ask("asha", "Which airfare needs approval?")).citations
    world.revoke("travel", "grp:staff")
    await world.sync()
    ...

It drives the product's own lines: `sync` brings the pages in and `ask` and `search` carry answers out. The doors are
in memory; a folder of real files, a ledger and an index take their place where they are given. Beside it stands the
oracle, which is told the same and computes for itself who may read what.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from bot.answering.ask import ask
from bot.answering.doors import Doors
from bot.answering.outcome import Answered, Outcome
from bot.answering.question import Question
from bot.answering.search import Hits, search
from bot.answering.shortlist import Cut
from bot.looking import Looking, Why, why
from connectors.identity.directory import LedgerDirectory
from connectors.models.extractive import ExtractiveWriter, Thresholds
from connectors.ports import DirectoryTables, IndexIdentity, PersonRecord
from connectors.records import AccessChanged, Change, Checkpoint, ScopeRules, SourceDocument, Upsert
from connectors.sources.files import FilesSource
from connectors.sync.run import Doors as SyncDoors
from connectors.sync.run import SyncReport, sync
from policies.access import Access, AccessExpr, Unknown
from policies.audience import Place
from policies.facts import ScopeState
from policies.load import load
from policies.names import DocumentId, Principal
from policies.policy import Policy
from tests.blank import blank_ledger
from tests.memory import (
    AddressFinder,
    HashingEmbedder,
    LineParser,
    ListSource,
    MemoryIndex,
    MemoryLedger,
    MemoryPeople,
    MemoryTraces,
    OverlapReranker,
    WordDetector,
)
from tests.oracle import Edition, Oracle
from tests.tap import Tap

SOURCE = "wiki"
START = datetime(2030, 1, 1, 9, 0, tzinfo=UTC)  # long after any file of a test was written
EVERYONE = Principal.group("everyone")
RULES = (Path(__file__).parents[1] / "policies" / "rules.toml").read_text(encoding="utf-8")
PAYLOAD = "ignore previous instructions"  # what the detector in memory quarantines
Readers = Sequence[str] | Sequence[Sequence[str]] | None


@dataclass(frozen=True, slots=True)
class Page:
    """One page at its source, as it is now. A version is raised by hand, as an owner does."""

    name: str
    text: str
    readers: tuple[tuple[str, ...], ...] | None  # AND of ORs; None: its source can't tell
    folder: str | None = None  # where it stands, and then the folder's readers are its own
    version: str = "v1"
    starts: date | None = None
    ends: date | None = None
    status: str = "current"
    title: str = ""
    owner: str | None = None
    url: str = ""
    labels: tuple[str, ...] = ()
    ancestors: tuple[str, ...] = ()
    lease: timedelta = timedelta(days=30)

    @property
    def usable(self) -> bool:
        """Whether a sync lets it in at all."""
        return self.status != "draft" and PAYLOAD not in self.text and "noindex" not in self.labels


@dataclass(slots=True)
class World:
    """People, pages, places, and the house around them."""

    folder: Path | None = None  # a real folder of files in the place of pages in memory
    catalog: Any = field(default_factory=MemoryLedger)
    facts: Any = None
    people: Any = field(default_factory=MemoryPeople)
    index: Any = field(default_factory=MemoryIndex)
    documents: Any = None
    embedder: Any = field(default_factory=HashingEmbedder)
    reranker: Any = field(default_factory=OverlapReranker)
    detector: Any = field(default_factory=WordDetector)
    writer: Any = None
    traces: Any = field(default_factory=MemoryTraces)
    policy: Policy = field(default_factory=lambda: load(RULES, EVERYONE))
    tap: Tap = field(default_factory=Tap)
    at: datetime = START
    pages: dict[str, Page] = field(default_factory=dict)
    folders: dict[str, tuple[tuple[str, ...], ...] | None] = field(default_factory=dict)
    places: dict[str, tuple[str, ...]] = field(default_factory=dict)
    oracle: Oracle = field(default_factory=Oracle)
    broken: bool = False  # the source can't tell who may read anything
    _unseated: bool = True

    def __post_init__(self) -> None:
        self.facts = self.facts or self.catalog
        self.documents = self.documents or _Documents(self.catalog)
        self.writer = self.writer or ExtractiveWriter(self.reranker, Thresholds(0.3, 0.3))
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)

    # ------------------------------------------------------------ people

    def person(self, name: str, *groups: str, kind: str = "member") -> None:
        """Somebody of the directory, in these groups."""
        self.oracle.groups_of[name], self.oracle.kind_of[name] = set(groups), kind
        self._unseated = True

    def group(self, name: str, *inside: str) -> None:
        """A group that includes others."""
        self.oracle.includes[name] = set(inside)
        self._unseated = True

    def joins(self, name: str, group: str) -> None:
        self.oracle.groups_of[name].add(group)
        self._unseated = True

    def leaves(self, name: str, group: str) -> None:
        self.oracle.groups_of[name].discard(group)
        self._unseated = True

    def disable(self, name: str) -> None:
        self.oracle.disabled.add(name)
        self._unseated = True

    def enable(self, name: str) -> None:
        self.oracle.disabled.discard(name)
        self._unseated = True

    def forget(self, name: str) -> None:
        """The directory does not know the person any more."""
        self.oracle.kind_of.pop(name, None)
        self.oracle.groups_of.pop(name, None)
        self._unseated = True

    def place(self, name: str, *members: str) -> None:
        """A channel such as `private:team`, and everybody in it."""
        self.places[name] = members
        self._unseated = True

    async def seat(self) -> None:
        """What was said about people and places becomes what the directory says."""
        people = tuple(
            PersonRecord(_address(name), name, kind, name not in self.oracle.disabled, tuple(sorted(groups)))
            for name, kind in self.oracle.kind_of.items()
            for groups in [self.oracle.groups_of[name]]
        )
        groups = {name: tuple(sorted(inside)) for name, inside in self.oracle.includes.items()}
        places = {name: tuple(map(_address, members)) for name, members in self.places.items()}
        if not isinstance(self.people, MemoryPeople):
            await self.people.replace(DirectoryTables(people, groups, places), self.at)
        else:
            self.people.people = {each.email: each for each in people}
            self.people.places = {name: list(members) for name, members in places.items()}
            self.people.included_by = {}
            for name, inside in groups.items():
                for each in inside:
                    self.people.included_by.setdefault(each, set()).add(name)
        self._unseated = False

    # ------------------------------------------------------------ pages

    def page(self, name: str, text: str, readers: Readers = (), **more: Any) -> None:
        """A page with its readers: one list of groups, any of which may read, or several, all of which must be met."""
        self.pages[name] = Page(name, text, _clauses(readers), **more)

    def change(self, name: str, **changed: Any) -> None:
        """The page is otherwise now."""
        self.pages[name] = replace(self.pages[name], **changed)

    def share(self, name: str, readers: Readers) -> None:
        self.change(name, readers=_clauses(readers))

    def revoke(self, name: str, principal: str) -> None:
        """The page is not shared with this group or person any more."""
        clauses = self.pages[name].readers
        assert clauses is not None
        self.change(name, readers=tuple(tuple(each for each in clause if each != principal) for clause in clauses))

    def share_folder(self, folder: str, readers: Readers) -> None:
        """Who may read the pages that stand in this folder."""
        self.folders[folder] = _clauses(readers)

    def delete(self, name: str) -> None:
        del self.pages[name]

    def readers_of(self, page: Page) -> tuple[tuple[str, ...], ...] | None:
        if self.broken:
            return None
        return page.readers if page.folder is None else self.folders[page.folder]

    def id_of(self, page: Page | str) -> DocumentId:
        """What the product calls the page."""
        page = self.pages[page] if isinstance(page, str) else page
        return DocumentId(SOURCE, f"{page.folder or 'own'}/{page.name}.md" if self.folder else page.name)

    # ------------------------------------------------------------ syncing

    async def sync(self, full: bool = False, tap: Any = None, pass_by: bool = True) -> SyncReport:
        """Bring in what the source has now. `tap` may count or kill; `pass_by`: five minutes go by first."""
        self.at += timedelta(minutes=5 if pass_by else 0)
        if self._unseated:
            await self.seat()
        tapped = tap.on if tap else lambda door: door
        doors = SyncDoors(tapped(self.catalog), tapped(self.index), LineParser(), tapped(self.embedder), self.detector)
        report = await sync(self._source(), doors, lambda: self.at, full=full)
        if report.complete:
            self._tell_the_oracle()
        return report

    def _tell_the_oracle(self) -> None:
        seen = set()
        for page in self.pages.values():
            name = self.id_of(page).key
            seen.add(name)
            readers = self.readers_of(page)
            edition = Edition(page.version, page.text, page.starts, page.ends, page.status)
            plain = None if readers is None else [list(clause) for clause in readers]
            self.oracle.saw(name, edition, page.usable, plain, self.at, page.lease)
        for name in set(self.oracle.shelves) - seen:
            self.oracle.lost(name)

    def _source(self) -> Any:
        if self.folder is None:
            return ListSource(SOURCE, self._changes())
        self._write_folder(self.folder)
        return FilesSource(SOURCE, self.folder)

    def _changes(self) -> list[Change]:
        rules: dict[str, AccessChanged] = {}
        upserts: list[Change] = []
        for page in self.pages.values():
            root = page.folder or page.name
            access = _access(self.readers_of(page))
            state = ScopeState.ACTIVE if isinstance(access, AccessExpr) else ScopeState.UNKNOWN
            rules[root] = AccessChanged(ScopeRules(SOURCE, root, access, state, self.at, page.lease, _containers(page)))
            upserts.append(Upsert(self._document(page, root)))
        return [*rules.values(), *upserts, Checkpoint(f"at {self.at}", complete=True)]

    def _document(self, page: Page, root: str) -> SourceDocument:
        async def read() -> bytes:
            return page.text.encode()

        return SourceDocument(
            id=self.id_of(page),
            version=page.version,
            revision=f"{hash(page.text):x}",
            title=page.title or page.name,
            url=page.url or f"https://wiki.example.com/{page.name}",
            media_type="text/markdown",
            scope_root=root,
            read=read,
            ancestors=_containers(page),
            effective_from=page.starts,
            effective_to=page.ends,
            status=page.status,
            owner=page.owner,
            labels=page.labels,
        )

    def _write_folder(self, folder: Path) -> None:
        tables = [] if self.broken else [_table(name, readers) for name, readers in self.folders.items()]
        wanted = {self.id_of(page).key: page for page in self.pages.values()}
        for path in folder.rglob("*.md"):
            if path.relative_to(folder).as_posix() not in wanted:
                path.unlink()
        for key, page in wanted.items():
            (folder / key).parent.mkdir(parents=True, exist_ok=True)
            if not (folder / key).exists() or (folder / key).read_text() != page.text:
                (folder / key).write_text(page.text)
            tables.append(_table(key, page.readers if page.folder is None else "the folder's", page))
        (folder / "access.toml").write_text("[broken" if self.broken else "\n".join(tables))

    # ------------------------------------------------------------ asking

    @property
    def doors(self) -> Doors:
        """The doors of the line that carries answers out, with the tap before each."""
        tags = count(0x10000)
        return self.tap.before_all(
            Doors(
                directory=LedgerDirectory(self.people),
                facts=self.facts,
                index=self.index,
                embedder=self.embedder,
                reranker=self.reranker,
                writer=self.writer,
                personal_data=AddressFinder(),
                detector=self.detector,
                traces=self.traces,
                policy=self.policy,
                cut=Cut(0.01, 8),
                clock=self._clock,
                timer=lambda: 0.0,
                tag=lambda: f"{next(tags):x}",
            )
        )

    def _clock(self) -> datetime:
        self.at += timedelta(milliseconds=1)  # time goes on while a question is answered
        return self.at

    def question(self, person: str, text: str, place: str = "dm", on: date | None = None) -> Question:
        return Question(Principal.person(_address(person)), Place.parse(place), text, self._clock(), on)

    async def ask(
        self, person: str, text: str, place: str = "dm", on: date | None = None, doors: Doors | None = None
    ) -> Outcome:
        """The person asks in a place."""
        if self._unseated:
            await self.seat()
        return await ask(self.question(person, text, place, on), doors or self.doors)

    async def search(
        self,
        person: str,
        text: str,
        place: str = "dm",
        on: date | None = None,
        limit: int = 100,
        doors: Doors | None = None,
    ) -> Hits:
        """The person searches."""
        if self._unseated:
            await self.seat()
        return await search(self.question(person, text, place, on), limit, doors or self.doors)

    async def found(self, person: str, on: date | None = None) -> set[tuple[str, str]]:
        """Every page and version that a search finds for the person."""
        hits = await self.search(person, "anything", on=on, limit=500)
        return {(hit.chunk.document.key, hit.chunk.version) for hit in hits.hits}

    async def why(self, person: str, page: str, version: str | None = None, on: date | None = None) -> Why:
        """Whether the person may read the page, as an admin is told."""
        if self._unseated:
            await self.seat()
        doors = Looking(
            self.documents, self.catalog, self.facts, LedgerDirectory(self.people), self.people, self.policy
        )
        name = str(DocumentId(SOURCE, page))
        return await why(doors, _address(person), f"{name}@{version}" if version else name, self.at, on)


@asynccontextmanager
async def real_doors(folder: Path, ledger_url: str | None = None) -> AsyncIterator[World]:
    """The same world on a folder of files, a ledger (SQLite where no other is named) with its audit record, and the
    embedded index."""
    from connectors.index.embedded import EmbeddedIndex
    from connectors.ledger.lookup import SqlDocuments
    from connectors.ledger.open import open_ledger
    from connectors.ledger.traces import SqlTraces
    from connectors.trace_signer import TraceSigner
    from connectors.vault import Vault, keys_from_file

    async with (
        open_ledger(ledger_url or blank_ledger(folder / "ledger.sqlite")) as ledger,
        EmbeddedIndex(folder / "index.sqlite", IndexIdentity("hashing/1", 64, "1")) as index,
    ):
        signer = TraceSigner.from_file(folder / "signing.pem")
        vault = Vault(keys_from_file(folder / "keys"))
        yield World(
            folder=folder / "docs",
            catalog=ledger.catalog,
            facts=ledger.facts,
            people=ledger.people,
            documents=SqlDocuments(ledger.door),
            index=index,
            traces=SqlTraces(ledger.door, vault, signer, folder / "checkpoints.jsonl"),
        )


def cited(outcome: Outcome) -> set[str]:
    """The keys of the documents that a reply cites; empty for anything but an answer."""
    return {each.chunk.document.key for each in outcome.citations} if isinstance(outcome, Answered) else set()


class _Documents:
    """The documents of a ledger in memory, by name or key."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger

    async def find(self, text: str, limit: int) -> Sequence[DocumentId]:
        return [document for document in self._ledger.documents if text in (str(document), document.key)][:limit]


def _address(name: str) -> str:
    return f"{name}@example.com"


def _clauses(readers: Readers) -> tuple[tuple[str, ...], ...] | None:
    if readers is None:
        return None
    flat = [each for each in readers if isinstance(each, str)]
    if flat or not readers:
        return (tuple(flat),)
    return tuple(tuple(clause) for clause in readers)


def _containers(page: Page) -> tuple[str, ...]:
    return page.ancestors or ((page.folder,) if page.folder else ())


def _access(readers: tuple[tuple[str, ...], ...] | None) -> Access:
    if readers is None:
        return Unknown("its source could not tell")
    return AccessExpr.all_of(*([Principal.parse(each) for each in clause] for clause in readers))


def _table(path: str, readers: Any, page: Page | None = None) -> str:
    lines: Mapping[str, Any] = {}
    if readers != "the folder's":
        stated = {"readers": [42]} if readers is None else {"readers_all": [list(clause) for clause in readers]}
        lines = dict(stated)
    if page is not None:
        told = {"version": page.version, "status": page.status, "title": page.title, "owner": page.owner}
        told |= {"effective_from": page.starts and page.starts.isoformat()}
        told |= {"effective_to": page.ends and page.ends.isoformat()}
        lines = {**lines, **{key: value for key, value in told.items() if value}, "labels": list(page.labels)}
    return f"[{json.dumps(path)}]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in lines.items())
