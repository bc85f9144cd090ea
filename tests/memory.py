"""The doors in memory: plain stand-ins that mean exactly what the ports say. No file, no model, no process."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np

from connectors.errors import DoorError, Skip, Stop, Transient
from connectors.ports import IndexIdentity, Known, PersonRecord, Run, Standing, Stored, Verdict
from connectors.records import (
    Block,
    Candidate,
    Change,
    Chunk,
    Entry,
    Form,
    ParsedRecord,
    Ranks,
    ScopeRules,
    Search,
    SourceDocument,
    Span,
    Table,
)
from policies.access import Access, digest, satisfies
from policies.clearance import Cleared, Sealed
from policies.cover import cover
from policies.facts import Life, Resource, Scope, ScopeState, Trust
from policies.names import ChunkId, ContainerId, DocumentId, Principal, ScopeId
from policies.predicate import TRUST_RANK, Narrowing, SearchScope, attributes, matches

# ---------------------------------------------------------------- models


class HashingEmbedder:
    """Words to a vector by hashing: equal words are near, and everything is the same on every machine."""

    def __init__(self, dimensions: int = 64, model: str = "hashing/1") -> None:
        self.model = model
        self.dimensions = dimensions
        self.embedded: list[str] = []  # everything that was sent here as a passage

    async def passages(self, texts: Sequence[str]) -> Any:
        self.embedded += texts
        return np.stack([self._vector(text) for text in texts])

    async def question(self, text: str) -> Any:
        return self._vector(text)

    def _vector(self, text: str) -> Any:
        vector = np.zeros(self.dimensions, dtype=np.float32)
        for word in words(text):
            number = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big")
            vector[number % self.dimensions] += 1.0 if number >> 63 else -1.0
        length = float(np.linalg.norm(vector))
        if not length:
            vector[0], length = 1.0, 1.0
        return vector / np.float32(length)


class OverlapReranker:
    """The share of a question's words that a passage has."""

    model = "overlap/1"

    async def scores(self, question: str, passages: Sequence[Cleared[str]]) -> Sequence[float]:
        asked = set(words(question))
        return [len(asked & set(words(passage.content))) / max(1, len(asked)) for passage in passages]


class WordDetector:
    """Quarantines a text with "ignore previous instructions", suspects one with "dear model"."""

    async def trust(self, texts: Sequence[str]) -> Sequence[Verdict]:
        return [self._verdict(text.casefold()) for text in texts]

    def _verdict(self, text: str) -> Verdict:
        if "ignore previous instructions" in text:
            return Verdict(Trust.QUARANTINED, ("override",))
        if "dear model" in text:
            return Verdict(Trust.SUSPECT, ("address",))
        return Verdict(Trust.CLEAN, ())


class LineParser:
    """Text to structure by the plainest Markdown: `#` headings, `- ` items, `| a | b |` rows, blank-line paragraphs."""

    async def parse(self, body: bytes, media_type: str, name: str) -> ParsedRecord:
        try:
            text = body.decode()
        except UnicodeDecodeError as error:
            raise Skip("it is not text") from error
        title, path, blocks = None, (), []
        for paragraph in re.split(r"\n\s*\n", text.strip()):
            lines = paragraph.splitlines()
            while lines and (heading := re.match(r"(#+) (.+)", lines[0])):
                lines.pop(0)
                if len(heading[1]) == 1 and title is None and not blocks:
                    title = heading[2]
                else:
                    path = (*path[: max(0, len(heading[1]) - 2)], heading[2])
            if lines:
                blocks.append(_block(path, lines))
        return ParsedRecord(title, tuple(blocks))


def _block(path: tuple[str, ...], lines: list[str]) -> Block:
    text = "\n".join(lines)
    if all(line.startswith("|") for line in lines) and len(lines) > 2:
        cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
        return Block(Form.TABLE, path, text, Table(cells[0], tuple(cells[2:])))
    if all(line.startswith("- ") for line in lines):
        return Block(Form.LIST, path, text, items=tuple(line[2:] for line in lines))
    return Block(Form.TEXT, path, text)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


# ---------------------------------------------------------------- index


def attributes_of(entry: Entry) -> dict[str, int]:
    """What an entry is filtered by."""
    own = entry.chunk.attributes
    return attributes(entry.scope, own.effective_from, own.effective_to, own.superseded, entry.trust)


class MemoryIndex:
    """Port `Index`: every read goes over every entry, narrowed by the reference meaning first."""

    def __init__(self, identity: IndexIdentity = IndexIdentity("hashing/1", 64, "1")) -> None:  # noqa: B008 - frozen
        self.identity = identity
        self.collection: str | None = None
        self.built = identity
        self.entries: dict[ChunkId, Entry] = {}

    async def search(self, search: Search) -> Sequence[Candidate]:
        seen = self._seen(search.narrowing)
        asked = set(words(search.text))
        shared = {e.chunk.id: len(asked & _said(e.chunk.header, e.chunk.text)) for e in seen}
        cosine = {e.chunk.id: float(e.vector @ search.vector) for e in seen}
        codes = {e.chunk.id: len(set(e.chunk.codes) & set(search.codes)) for e in seen}
        lexical, vector, code = _ranked(shared), _ranked(cosine, least=-2.0), _ranked(codes)
        found = []
        for entry in seen:
            name = entry.chunk.id
            legs = [leg[name] for leg in (lexical, vector, code) if name in leg]
            ranks = Ranks(lexical.get(name), float(shared[name]), vector.get(name), cosine[name], code.get(name))
            if legs:
                found.append(_candidate(entry, ranks, sum(1 / (60 + rank) for rank in legs)))
        return sorted(found, key=lambda hit: (-hit.score, _tie(hit.id)))[: search.limit]

    async def fetch(self, ids: Sequence[ChunkId], narrowing: Narrowing) -> Sequence[Candidate]:
        seen = {entry.chunk.id: entry for entry in self._seen(narrowing)}
        return [_candidate(seen[name], Ranks(), 0.0) for name in ids if name in seen]

    async def section(
        self, document: DocumentId, version: str, parent: str, narrowing: Narrowing
    ) -> Sequence[Candidate]:
        wanted = (document, version, parent)
        found = [
            e for e in self._seen(narrowing) if (e.chunk.id.document, e.chunk.id.version, e.chunk.parent) == wanted
        ]
        return [_candidate(entry, Ranks(), 0.0) for entry in sorted(found, key=lambda entry: entry.chunk.ordinal)]

    async def put(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if (entry.model, len(entry.vector)) != (self.identity.model, self.identity.dimensions):
                raise Stop(f"the index holds vectors of {self.identity.model!r}")
        versions = {(entry.chunk.id.document, entry.chunk.id.version) for entry in entries}
        if len(versions) > 1:
            raise ValueError("entries of one version of one document are put at a time")
        kept = {name: e for name, e in self.entries.items() if (name.document, name.version) not in versions}
        self.entries = kept | {entry.chunk.id: entry for entry in entries}

    async def retire(self, document: DocumentId, keep: frozenset[str]) -> int:
        gone = [name for name in self.entries if name.document == document and name.version not in keep]
        self.entries = {name: entry for name, entry in self.entries.items() if name not in gone}
        return len(gone)

    async def repoint(
        self, document: DocumentId, scope: ScopeId, ancestors: tuple[str, ...], containers: tuple[ContainerId, ...]
    ) -> None:
        self.entries = {
            name: replace(e, scope=scope, ancestors=ancestors, containers=containers)
            if name.document == document
            else e
            for name, e in self.entries.items()
        }

    async def vectors(self, keys: Sequence[str]) -> Mapping[str, Any]:
        wanted = set(keys)
        return {e.chunk.vector_key: e.vector for e in self.entries.values() if e.chunk.vector_key in wanted}

    async def stored(self, source: str) -> AsyncIterator[Stored]:
        for name, entry in list(self.entries.items()):
            if name.document.source == source:
                yield Stored(name, entry.scope, entry.chunk.digest, entry.trust, entry.containers)

    async def count(self, source: str) -> int:
        return sum(name.document.source == source for name in self.entries)

    async def check(self) -> str | None:
        if self.built != self.identity:
            return f"the index holds vectors of {self.built.model!r}; run footnote sync --full"
        return None

    def _seen(self, narrowing: Narrowing) -> list[Entry]:
        if self.built != self.identity:
            raise Stop(f"the index holds vectors of {self.built.model!r}")
        if not isinstance(narrowing, Narrowing):
            raise TypeError("a search needs a narrowing")
        return [entry for entry in self.entries.values() if matches(narrowing, attributes_of(entry), entry.containers)]


# Searched again and again in tests with thousands of questions.
@lru_cache(maxsize=20_000)
def _said(header: str, text: str) -> frozenset[str]:
    return frozenset(words(f"{header} {text}"))


@lru_cache(maxsize=20_000)
def _tie(name: ChunkId) -> bytes:
    return name.uuid.bytes


def _ranked(scores: Mapping[ChunkId, float], least: float = 0.0) -> dict[ChunkId, int]:
    best = sorted((name for name in scores if scores[name] > least), key=lambda name: (-scores[name], _tie(name)))
    return {name: rank for rank, name in enumerate(best, 1)}


def _candidate(entry: Entry, ranks: Ranks, score: float) -> Candidate:
    chunk = entry.chunk
    sealed = Sealed(chunk.id.document, chunk.id.version, chunk.passage)
    return Candidate(chunk.id, sealed, chunk.digest, chunk.parent, chunk.ordinal, ranks, score, entry.trust)


# ---------------------------------------------------------------- ledger


@dataclass(slots=True)
class _Version:
    document: SourceDocument
    accepted: dict[ChunkId, set[str]] = field(default_factory=dict)
    announced: dict[ChunkId, str] = field(default_factory=dict)
    trust: Trust = Trust.CLEAN
    published: bool = False
    effective_to: date | None = None


@dataclass(slots=True)
class _Document:
    scope: ScopeId | None = None
    scope_root: str = ""
    ancestors: tuple[str, ...] = ()
    life: Life = Life.HIDDEN
    version: str = ""
    revision: str = ""
    facts_digest: str = ""
    problem: str | None = None
    seen_run: str | None = None
    unretired: bool = False
    versions: dict[str, _Version] = field(default_factory=dict)


class MemoryLedger:
    """Ports `Catalog` and `Facts` over dictionaries. Every call is one step: it happens whole or not at all."""

    def __init__(self) -> None:
        self.scopes_by_root: dict[tuple[str, str], tuple[ScopeId, ScopeRules]] = {}
        self.documents: dict[DocumentId, _Document] = {}
        self.hidden_subtrees: dict[tuple[str, str], tuple[str, datetime]] = {}
        self.cursors: dict[str, str] = {}
        self.reports: list[Mapping[str, Any]] = []
        self.rules_seen: dict[str, Access] = {}
        self.standings: dict[ScopeId, tuple[ContainerId, ...]] = {}
        self._container_ids: dict[tuple[str, ...], ContainerId] = {}
        self._running: set[str] = set()
        self._runs = 0

    # ------------------------------------------------------------ runs

    @asynccontextmanager
    async def run(self, source: str, now: datetime) -> AsyncIterator[Run]:
        if source in self._running:
            raise Transient(f"source {source!r} is being synced by another run")
        self._running.add(source)
        self._runs += 1
        try:
            yield Run(f"run-{self._runs}", source, now, self.cursors.get(source))
        finally:
            self._running.discard(source)

    async def checkpoint(self, run: Run, cursor: str, now: datetime) -> None:
        self.cursors[run.source] = cursor

    async def finish(self, run: Run, report: Mapping[str, Any], now: datetime) -> None:
        self.reports.append(report)

    # ------------------------------------------------------------ scopes

    async def state_rules(self, rules: ScopeRules) -> tuple[ScopeId, bool]:
        self.rules_seen[digest(rules.access)] = rules.access
        place = (rules.source, rules.root)
        known = self.scopes_by_root.get(place)
        number = known[0] if known else ScopeId(len(self.scopes_by_root) + 1)
        self.scopes_by_root[place] = (number, rules)
        self.standings.setdefault(number, self._containers(rules))
        old = (digest(known[1].access), known[1].state) if known else None
        return number, old != (digest(rules.access), rules.state)

    async def state_all(self, rules: Sequence[ScopeRules]) -> Sequence[tuple[ScopeId, bool]]:
        return [await self.state_rules(each) for each in rules]

    async def renew(self, source: str, roots: Sequence[str], at: datetime) -> None:
        for root in roots:
            if (source, root) in self.scopes_by_root:
                number, rules = self.scopes_by_root[source, root]
                at_last = max(at, rules.verified_at)
                self.scopes_by_root[source, root] = (number, replace(rules, verified_at=at_last))

    async def all_rules_of(self, source: str, roots: Sequence[str]) -> Mapping[str, ScopeRules]:
        found = {root: await self.rules_of(source, root) for root in roots}
        return {root: rules for root, rules in found.items() if rules is not None}

    def _containers(self, rules: ScopeRules) -> tuple[ContainerId, ...]:
        path = (rules.source, *rules.containers)
        above = [path[: depth + 1] for depth in range(len(path))]
        return tuple(self._container_ids.setdefault(each, ContainerId(len(self._container_ids) + 1)) for each in above)

    async def scope_of(self, source: str, root: str) -> ScopeId | None:
        known = self.scopes_by_root.get((source, root))
        return known[0] if known else None

    async def containers_of(self, scope: ScopeId) -> tuple[ContainerId, ...]:
        return self.standings.get(scope, ())

    async def rules_of(self, source: str, root: str) -> ScopeRules | None:
        known = self.scopes_by_root.get((source, root))
        return known[1] if known else None

    async def unseen_scopes(self, run_started: datetime, source: str) -> Sequence[str]:
        return sorted(
            root
            for (owner, root), (_, rules) in self.scopes_by_root.items()
            if owner == source and rules.state is ScopeState.ACTIVE and rules.verified_at < run_started
        )

    async def withdraw_scope(self, source: str, root: str) -> None:
        number, rules = self.scopes_by_root[source, root]
        self.scopes_by_root[source, root] = (number, replace(rules, state=ScopeState.GONE))

    async def hide_subtree(self, source: str, root: str, reason: str, now: datetime) -> None:
        await self.hide_subtrees(source, {root: reason}, now)

    async def hide_subtrees(self, source: str, reasons: Mapping[str, str], now: datetime) -> None:
        for root, reason in reasons.items():
            known = self.hidden_subtrees.get((source, root))
            if known is None or known[1] <= now:
                self.hidden_subtrees[source, root] = (reason, now)

    async def show_subtree(self, source: str, root: str) -> None:
        await self.show_subtrees(source, [root], None)

    async def show_subtrees(self, source: str, roots: Sequence[str], upto: datetime | None) -> None:
        for root in roots:
            known = self.hidden_subtrees.get((source, root))
            if known is not None and (upto is None or known[1] <= upto):
                del self.hidden_subtrees[source, root]

    # ------------------------------------------------------------ documents

    async def known(self, document: DocumentId) -> Known | None:
        row = self.documents.get(document)
        if row is None or row.life is Life.TOMBSTONE or not (row.version or row.problem):
            return None
        return Known(document, row.version, row.revision, row.facts_digest, row.scope_root, row.ancestors, row.problem)

    async def place(self, document: DocumentId, scope: ScopeId, scope_root: str, ancestors: tuple[str, ...]) -> None:
        row = self.documents.get(document)
        if row:
            row.scope, row.scope_root, row.ancestors = scope, scope_root, ancestors

    async def announce(self, document: SourceDocument, scope: ScopeId, chunks: Sequence[Chunk], trust: Trust) -> None:
        row = self.documents.setdefault(document.id, _Document())
        row.scope, row.scope_root, row.ancestors = scope, document.scope_root, document.ancestors
        row.unretired = True
        version = row.versions.setdefault(document.version, _Version(document))
        version.announced = {chunk.id: chunk.digest for chunk in chunks}
        version.trust = max(trust, version.trust, key=TRUST_RANK.__getitem__) if version.published else trust

    async def publish(self, document: SourceDocument, facts_digest: str, now: datetime) -> frozenset[str]:
        row = self.documents.get(document.id)
        version = row.versions.get(document.version) if row else None
        if row is None or version is None:
            raise Transient(f"version {document.version!r} of {document.id} was not announced")
        if version.announced:
            version.accepted = {name: {text} for name, text in version.announced.items()}
            version.announced = {}
        version.document, version.published, version.effective_to = document, True, document.effective_to
        for name, other in list(row.versions.items()):
            last = _last_day(other, document.effective_from)
            if name != document.version and last is None:
                del row.versions[name]
            elif name != document.version:
                other.effective_to = last
        row.life, row.problem, row.unretired = Life.LIVE, None, True
        row.version, row.revision, row.facts_digest = document.version, document.revision, facts_digest
        return frozenset(row.versions)

    async def entomb(self, document: DocumentId, reason: str, now: datetime) -> None:
        row = self.documents.get(document)
        if row:
            row.life, row.versions, row.unretired, row.revision, row.problem = Life.TOMBSTONE, {}, True, "", None

    async def hide(self, document: DocumentId, reason: str) -> None:
        row = self.documents.get(document)
        if row and row.life is not Life.TOMBSTONE:
            row.life, row.problem, row.revision = Life.HIDDEN, reason, ""

    async def skip(
        self, document: SourceDocument | DocumentId, reason: str, now: datetime, revision: str | None = None
    ) -> None:
        name = document if isinstance(document, DocumentId) else document.id
        row = self.documents.setdefault(name, _Document())
        row.life, row.problem = Life.HIDDEN, reason
        if isinstance(document, SourceDocument):
            row.version, row.revision, row.facts_digest = document.version, document.revision, ""
            scope = await self.scope_of(name.source, document.scope_root)
            row.scope, row.scope_root, row.ancestors = scope, document.scope_root, document.ancestors
        if revision is not None:
            row.revision = revision

    async def seen(self, run: str, documents: Sequence[DocumentId]) -> None:
        for document in documents:
            self.documents.setdefault(document, _Document()).seen_run = run

    async def unseen(self, run: str, source: str) -> Sequence[DocumentId]:
        return sorted(
            document
            for document, row in self.documents.items()
            if document.source == source and row.life is not Life.TOMBSTONE and row.seen_run != run
        )

    async def unretired(self, source: str) -> Sequence[tuple[DocumentId, frozenset[str]]]:
        return [
            (document, frozenset(name for name, version in row.versions.items() if version.published))
            for document, row in sorted(self.documents.items())
            if document.source == source and row.unretired
        ]

    async def retired(self, document: DocumentId) -> None:
        if document in self.documents:
            self.documents[document].unretired = False

    # ------------------------------------------------------------ facts

    async def satisfied(self, principals: frozenset[Principal], now: datetime) -> frozenset[ScopeId]:
        return frozenset(
            number
            for number, rules in self.scopes_by_root.values()
            if rules.state is ScopeState.ACTIVE
            and now <= rules.verified_at + rules.lease
            and satisfies(principals, rules.access)
        )

    async def cover(self, readers: Sequence[frozenset[Principal]], now: datetime) -> SearchScope | None:
        each = [await self.satisfied(principals, now) for principals in readers]
        return cover(frozenset.intersection(*each), self.standings) if each else None

    async def resources(self, versions: Sequence[tuple[DocumentId, str]]) -> Mapping[tuple[DocumentId, str], Resource]:
        found = {(document, version): self._resource(document, version) for document, version in versions}
        return {asked: resource for asked, resource in found.items() if resource}

    async def digests(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, frozenset[str]]:
        found: dict[ChunkId, set[str]] = {}
        for name in ids:
            row = self.documents.get(name.document)
            version = row.versions.get(name.version) if row else None
            if version:
                announced = {version.announced[name]} if name in version.announced else set()
                found[name] = version.accepted.get(name, set()) | announced
        return {name: frozenset(digests) for name, digests in found.items() if digests}

    async def scopes(self, ids: Sequence[ScopeId]) -> Mapping[ScopeId, Scope]:
        return {n: self._scope(n, rules) for n, rules in self.scopes_by_root.values() if n in set(ids)}

    async def current(self, document: DocumentId) -> Resource | None:
        row = self.documents.get(document)
        return self._resource(document, row.version) if row and row.version in row.versions else None

    async def expression(self, digest: str) -> Access | None:
        return self.rules_seen.get(digest)

    def _scope(self, number: ScopeId, rules: ScopeRules) -> Scope:
        return Scope(number, rules.access, rules.state, rules.verified_at, rules.lease)

    def _resource(self, document: DocumentId, name: str) -> Resource | None:
        row = self.documents.get(document)
        version = row.versions.get(name) if row else None
        rules = next((r for n, r in self.scopes_by_root.values() if row and n == row.scope), None)
        if row is None or version is None or row.scope is None or rules is None:
            return None
        above = {root for source, root in self.hidden_subtrees if source == document.source}
        hidden = sorted(above & {document.key, *row.ancestors})
        return Resource(
            document=document,
            version=name,
            scope=self._scope(row.scope, rules),
            life=row.life,
            current=version.published,
            hidden_by=hidden[0] if hidden else None,
            effective_from=version.document.effective_from,
            effective_to=version.effective_to,
            superseded=version.document.status == "superseded",
            trust=version.trust,
        )


def _last_day(old: _Version, starts: date | None) -> date | None:
    """An older version stays, until the day before its successor begins, where both say when they begin."""
    first = old.document.effective_from
    if not old.published or first is None or starts is None or starts <= first:
        return None
    before = starts - timedelta(days=1)
    return min(before, old.effective_to) if old.effective_to else before


# ---------------------------------------------------------------- sources


class ListSource:
    """A source that tells what it is given; an error in the list is raised where it stands."""

    def __init__(self, name: str, changes: Iterable[Change | DoorError] = ()) -> None:
        self.name = name
        self.told = list(changes)

    async def changes(self, cursor: str | None, now: datetime) -> AsyncGenerator[Change, None]:
        for change in self.told:
            if isinstance(change, DoorError):
                raise change
            yield change


# ---------------------------------------------------------------- people, personal data, traces


class MemoryPeople:
    """What answering needs of port `People`: plain tables that a test may change at any time."""

    def __init__(self) -> None:
        self.people: dict[str, PersonRecord] = {}
        self.included_by: dict[str, set[str]] = {}  # group -> groups that include it
        self.places: dict[str, list[str]] = {}

    async def list(self) -> Sequence[PersonRecord]:
        return [self.people[email] for email in sorted(self.people)]

    async def get(self, email: str) -> PersonRecord | None:
        return self.people.get(email)

    async def records(self, emails: Sequence[str]) -> Sequence[PersonRecord]:
        return [self.people[email] for email in sorted(emails) if email in self.people]

    async def of_identity(self, provider: str, subject: str) -> PersonRecord | None:
        return next((each for each in self.people.values() if each.identities.get(provider) == subject), None)

    async def standing(self, emails: Sequence[str]) -> Sequence[Standing]:
        return [self._standing(record) for record in await self.records(emails)]

    async def standing_of(self, provider: str, subject: str) -> Standing | None:
        record = await self.of_identity(provider, subject)
        return None if record is None else self._standing(record)

    async def place(self, place: str) -> Sequence[str] | None:
        return self.places.get(place)

    def _standing(self, record: PersonRecord) -> Standing:
        return Standing(record.email, record.kind, record.active, self._closure(record.groups))

    def _closure(self, groups: Iterable[str]) -> frozenset[str]:
        found, waiting = set(), list(groups)
        while waiting:
            group = waiting.pop()
            if group not in found:
                found.add(group)
                waiting += self.included_by.get(group, ())
        return frozenset(found)


class AddressFinder:
    """Port `PersonalData` for e-mail addresses and for names of the form `Mr Smith`."""

    async def spans(self, text: str) -> Sequence[Span]:
        found = [Span(*match.span(), "EMAIL_ADDRESS", 1.0) for match in re.finditer(r"[\w.]+@[\w.]+\w", text)]
        found += [Span(*match.span(1), "PERSON", 0.9) for match in re.finditer(r"\bM(?:r|s) (\w+)", text)]
        return sorted(found, key=lambda span: span.start)

    async def all_spans(self, texts: Sequence[str]) -> Sequence[Sequence[Span]]:
        return [await self.spans(text) for text in texts]


@dataclass(slots=True)
class MemoryTraces:
    """Port `Traces`: records by trace, with their sealed fields apart."""

    begun: dict[str, tuple[Mapping[str, Any], Mapping[str, str]]] = field(default_factory=dict)
    ended: dict[str, tuple[Mapping[str, Any], Mapping[str, str]]] = field(default_factory=dict)

    async def begin(self, record: Mapping[str, Any], sealed: Mapping[str, str], now: datetime) -> str:
        trace = f"trace-{len(self.begun) + 1}"
        self.begun[trace] = (record, sealed)
        return trace

    async def end(self, trace: str, record: Mapping[str, Any], sealed: Mapping[str, str], now: datetime) -> None:
        if trace not in self.begun or trace in self.ended:
            raise Stop(f"trace {trace!r} is not open")
        self.ended[trace] = (record, sealed)
