"""The shapes of the doors. `bot.answering` and `connectors.sync` know these and never an adapter.

Times are aware UTC. Every method may raise the `DoorError` family and nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from connectors.records import (
    Candidate,
    Change,
    Chunk,
    ClosedRoot,
    Draft,
    Entry,
    Evidence,
    Node,
    ParsedRecord,
    Placed,
    ScopeRules,
    Search,
    SourceDocument,
    Span,
    StatedRules,
)
from policies.access import Access
from policies.clearance import Cleared
from policies.facts import Kind, Resource, Scope, Subject, Trust
from policies.names import ChunkId, ContainerId, DocumentId, Principal, ScopeId
from policies.predicate import Narrowing, SearchScope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]


# ---------------------------------------------------------------- sources and parsing


class Source(Protocol):
    """A system that owns documents. Knows how to tell what changed; decides nothing about it."""

    @property
    def name(self) -> str: ...

    def changes(self, cursor: str | None, now: datetime) -> AsyncGenerator[Change, None]:
        """Everything since `cursor`, or everything there is for None. Rules of a scope come before the documents under
        them; the last change of a fault-free walk is a `Checkpoint`. Bounded, and closed with `aclose`."""
        ...


class Memory(Protocol):
    """What a far source remembers of its objects from one run to the next; bound to one source.

    It is what the source believes, and no verdict is made from it. What it says is settled with the ledger again and
    again, so that a run that was killed leaves nothing undone.
    """

    async def get(self, keys: Sequence[str]) -> Mapping[str, Node]: ...

    async def put(self, nodes: Sequence[Node]) -> None:
        """Remember these in one step, replacing what was known of them."""
        ...

    async def drop(self, keys: Sequence[str]) -> None: ...

    def of_container(self, container: str) -> AsyncIterator[Node]:
        """Every node of a container, in no order; its own node too."""
        ...

    def ruled(self, container: str) -> AsyncIterator[Node]:
        """Those nodes of a container that have rules of their own; its own node too, where it has."""
        ...

    def containers(self) -> AsyncIterator[Node]:
        """Every node that is its own container."""
        ...

    async def below(self, key: str) -> Sequence[Node]:
        """Every node under this one, at any depth, itself first; a circle ends where it closes."""
        ...

    async def note(self, name: str) -> str | None:
        """A small thing remembered under a name: when a feed last ran, where a delta goes on."""
        ...

    async def keep_note(self, name: str, value: str | None) -> None: ...

    def placed(self, container: str | None = None) -> AsyncIterator[Placed]:
        """The documents of the source that the ledger holds, and are not gone: all, or those with this ancestor."""
        ...

    async def places(self, keys: Sequence[str]) -> Mapping[str, Placed]:
        """Those of these documents that the ledger holds, and are not gone."""
        ...

    async def untold(self) -> Sequence[str]:
        """Containers that hold a document whose node's `mark` is not the revision that the ledger took: what a kill,
        or a failure that may pass, left to tell. A far source's `SourceDocument.revision` is its node's mark."""
        ...

    async def stated(self, roots: Collection[str] | None = None) -> Mapping[str, StatedRules]:
        """The scopes of the source that the ledger holds, by root: all, or those of these."""
        ...

    async def closed(self) -> Mapping[str, ClosedRoot]:
        """The subtrees of the source that are closed now, by root."""
        ...

    async def notes(self, prefix: str) -> Mapping[str, str]:
        """Every note whose name begins so."""
        ...

    async def told(self, events: Sequence[Event], at: datetime) -> None:
        """What events told, in one step: what they close is closed, and a hint is kept of each for the next run."""
        ...

    async def hints(self, most: int = 1000) -> Sequence[Hint]:
        """What was told between runs by events, oldest first."""
        ...

    async def forget_hints(self, upto: int, but: Collection[int] = ()) -> None:
        """This and all before are dealt with, except those with these numbers."""
        ...


@dataclass(frozen=True, slots=True)
class Hint:
    """An event of a source: something about an object may have changed."""

    number: int
    key: str  # the object; empty for the whole source
    what: str  # the event's name
    at: datetime


@dataclass(frozen=True, slots=True)
class Membership:
    """What an account is in one outside system at this moment."""

    active: bool  # False: disabled or gone there
    principals: frozenset[Principal]  # itself, its groups transitively, virtual ones such as "everybody with a licence"


class Rights(Protocol):
    """Who somebody is in one source's own system: asked late, and for the asker alone."""

    @property
    def provider(self) -> str:
        """Which identity of a person it goes by, such as `entra:TENANT` or `confluence:NAME`."""
        ...

    @property
    def rules_everybody(self) -> bool:
        """Whether somebody whom it calls disabled is disabled everywhere: true of an identity provider."""
        ...

    @property
    def everyone(self) -> frozenset[Principal]:
        """The principals that mean every employee, for public places."""
        ...

    async def membership(self, account: str, kind: Kind, now: datetime) -> Membership:
        """Everything that the account is, completely; DoorError where that is not known."""
        ...


@runtime_checkable
class Anew(Protocol):
    """Rights that remember something themselves, and can be asked past it."""

    async def anew(self, account: str, kind: Kind, now: datetime) -> Membership:
        """As `Rights.membership`, of this moment."""
        ...


class LiveCheck(Protocol):
    """A source's own verdict on single documents at this moment, for what is about to be answered from."""

    async def readable(self, account: str, documents: Sequence[DocumentId], now: datetime) -> Mapping[DocumentId, bool]:
        """Whether the account may read each; one that could not be asked is missing, and counts as no."""
        ...


@dataclass(frozen=True, slots=True)
class Event:
    """What a source's webhook told of one object."""

    key: str  # empty: something about the source; all of it is to be looked at soon
    what: str  # the source's own word for it
    # Its rights, place or life may have changed: nothing at or below it (nothing at all, where the key is empty) is
    # readable until it was read again.
    closes: bool


class Hook(Protocol):
    """The receiving end of a source's webhook."""

    def events(self, headers: Mapping[str, str], query: Mapping[str, str], body: bytes) -> Sequence[Event] | None:
        """What was told; None where it does not prove that it comes from the source."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at before a source is added, and what an admin has to do about it."""

    check: str
    ok: bool
    problem: str = ""
    fix: str = ""
    essential: bool = True  # the source can't be added without it


@dataclass(frozen=True, slots=True)
class Feed:
    """One way of learning what changed, and how often it is gone."""

    name: str
    every: timedelta
    of_permissions: bool  # a sync that a person asks for runs it whether it is due or not


Doubts = Callable[[Sequence[DocumentId]], Awaitable[Collection[DocumentId]]]
"""Those of these documents that the source is to be asked about whatever `live_for` says of them."""
Denied = Callable[[Sequence[DocumentId], datetime], Awaitable[None]]
"""The source's own word denied somebody these, which the ledger had let through: they are to be read again soon."""


@dataclass(frozen=True, slots=True)
class Organisation:
    """Where a vendor keeps the accounts of a whole company, and a key to read them with."""

    id: str
    key: str = field(repr=False)
    url: str


class FarAccount(NamedTuple):
    """Somebody's account in an outside system; the system stands for its being his address."""

    id: str
    email: str


class AccountList(NamedTuple):
    """Everybody's accounts. `left_out`: closed, no person's, or of an address that is hidden or not proven."""

    accounts: tuple[FarAccount, ...]
    left_out: int


Accounts = Callable[[Organisation | None], Awaitable[AccountList]]
"""Lists everybody's accounts, whole or not at all; raises DoorError."""


@dataclass(frozen=True, slots=True)
class FarSource:
    """An outside system with everything that it is to us, while it is open."""

    source: Source
    rights: Rights
    feeds: tuple[Feed, ...]
    stale_grant_bound: timedelta  # the longest that a grant can outlive its revocation at the source
    probe: Callable[[datetime], Awaitable[Sequence[Finding]]]
    live: LiveCheck | None = None  # where the admin asked for it and the account can
    live_for: Callable[[Resource], bool] = field(default=lambda _resource: True)  # which documents it is asked about
    doubts: Doubts | None = None
    denied: Denied | None = None
    hook: Hook | None = None
    accounts: Accounts | None = None  # where people can be matched with their accounts by address


class Parser(Protocol):
    """Bytes to structure, in a process of its own with limits."""

    async def parse(self, body: bytes, media_type: str, name: str) -> ParsedRecord:
        """Raises Skip with a reason for a hostile, broken, locked or unsupported file."""
        ...


# ---------------------------------------------------------------- index and models


@dataclass(frozen=True, slots=True)
class IndexIdentity:
    """What must be equal for a vector of a question to mean anything in an index."""

    model: str  # name and digest of the embedding model
    dimensions: int
    schema: str  # version of the layout and of the chunking


@dataclass(frozen=True, slots=True)
class Stored:
    """What an index holds about one chunk, without its text: for comparing it with the ledger."""

    id: ChunkId
    scope: ScopeId
    digest: str
    trust: Trust
    containers: tuple[ContainerId, ...] = ()  # of the scope
    found: bool = True  # False: no read gives it any more, such as what a kill left


class Index(Protocol):
    """Hybrid search over entries. Every read is narrowed before ranking; reads see every finished write at once."""

    @property
    def identity(self) -> IndexIdentity: ...

    @property
    def collection(self) -> str | None:
        """Which of several indexes under one name it reads; None where there is but one, or none was opened yet."""
        ...

    async def search(self, search: Search) -> Sequence[Candidate]:
        """The best `limit` candidates over the lexical, vector and code legs, fused, best first; ties by uuid."""
        ...

    async def fetch(self, ids: Sequence[ChunkId], narrowing: Narrowing) -> Sequence[Candidate]:
        """These chunks as far as the narrowing lets them through, in the order asked."""
        ...

    async def section(
        self, document: DocumentId, version: str, parent: str, narrowing: Narrowing
    ) -> Sequence[Candidate]:
        """All chunks of a section, by ordinal, as far as the narrowing lets them through."""
        ...

    async def put(self, entries: Sequence[Entry]) -> None:
        """Write the entries of one version of one document in one step: a reader sees all or none. Replaces entries
        with equal ids and removes others of that version. Safe to repeat."""
        ...

    async def retire(self, document: DocumentId, keep: frozenset[str]) -> int:
        """Remove every entry of the document whose version is not in `keep`; returns how many went."""
        ...

    async def repoint(
        self, document: DocumentId, scope: ScopeId, ancestors: tuple[str, ...], containers: tuple[ContainerId, ...]
    ) -> None:
        """The document's entries now stand under another scope, with that one's containers; nothing else of them
        changes."""
        ...

    async def vectors(self, keys: Sequence[str]) -> Mapping[str, Matrix]:
        """Vectors already held for chunks with these `vector_key`s, so that unchanged text is not embedded again."""
        ...

    def stored(self, source: str) -> AsyncIterator[Stored]:
        """Everything held of a source."""
        ...

    async def count(self, source: str) -> int:
        """How many entries are held of a source."""
        ...

    async def check(self) -> str | None:
        """None when it can serve; else one sentence that says what is wrong and what to do."""
        ...


class Embedder(Protocol):
    """Texts to vectors of one model."""

    @property
    def model(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    async def passages(self, texts: Sequence[str]) -> Matrix:
        """One unit vector a text, in order."""
        ...

    async def question(self, text: str) -> Matrix:
        """The unit vector of a question."""
        ...


class Reranker(Protocol):
    """Question and passage read together."""

    @property
    def model(self) -> str: ...

    async def scores(self, question: str, passages: Sequence[Cleared[str]]) -> Sequence[float]:
        """One relevance score from 0 to 1 a passage, in order."""
        ...


class Writer(Protocol):
    """Evidence to a draft. Has no tools, no network of its own, and is trusted with nothing."""

    @property
    def model(self) -> str: ...

    @property
    def prompt(self) -> str:
        """Version of the instructions and the layout that it is given."""
        ...

    async def write(self, question: str, parts: Sequence[str], evidence: Sequence[Evidence]) -> Draft:
        """Claims that quote or restate the evidence and name the labels they rest on; none if it does not answer.
        `parts` are the single things asked, in the question's own words."""
        ...


class PersonalData(Protocol):
    """Finds personal data in text."""

    async def spans(self, text: str) -> Sequence[Span]:
        """Every span found, by start; overlaps resolved. A detector failure raises, it never returns less."""
        ...

    async def all_spans(self, texts: Sequence[str]) -> Sequence[Sequence[Span]]:
        """As `spans`, for every text of one reply at once, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the injection detectors made of one text, and the ids of the rules that said so; never the text."""

    trust: Trust
    rules: tuple[str, ...]


class Detector(Protocol):
    """Tells whether a text speaks to the model instead of the reader."""

    async def trust(self, texts: Sequence[str]) -> Sequence[Verdict]:
        """One verdict a text, in order. A detector that fails or takes too long is QUARANTINED, rule
        `detector-failed`; it never raises."""
        ...


# ---------------------------------------------------------------- people


class Directory(Protocol):
    """Who people are. Groups are resolved when asked, transitively, from the system that owns them."""

    async def subject(self, who: Principal, now: datetime, *, guest: bool = False) -> Subject | None:
        """The person as of now, or None when the directory does not know him. `guest`: he counts as a guest at most,
        whatever the directory says."""
        ...

    async def everyone(self) -> frozenset[Principal]:
        """What every employee is, beside what the policy calls everyone: such as everybody with a licence somewhere."""
        ...

    async def members(self, place: str, now: datetime) -> Sequence[Subject | None] | None:
        """Everybody who would see a message in a place such as `private:C1`; None among them is somebody who is not
        known, and None for all when it is not known exactly who they are."""
        ...


class NowDirectory(Directory, Protocol):
    """A directory that can be asked past what it remembers."""

    async def subject(
        self, who: Principal, now: datetime, *, guest: bool = False, fresh: bool = False
    ) -> Subject | None:
        """As `Directory`. `fresh`: every system is asked now, and what one does not tell now he is not there."""
        ...


# ---------------------------------------------------------------- our own memory


@dataclass(frozen=True, slots=True)
class Known:
    """What the ledger remembers of a document, so that a sync can tell what is new."""

    document: DocumentId
    version: str
    revision: str
    facts_digest: str  # of title, url, dates, status, owner, labels
    scope_root: str
    ancestors: tuple[str, ...]
    problem: str | None  # why it was skipped, when it was


class Facts(Protocol):
    """The ledger as a verdict needs it: fresh, consistent, never from a cache."""

    async def satisfied(self, principals: frozenset[Principal], now: datetime) -> frozenset[ScopeId]:
        """The active, unexpired scopes whose every clause holds one of `principals`."""
        ...

    async def cover(self, readers: Sequence[frozenset[Principal]], now: datetime) -> SearchScope | None:
        """The scopes that are `satisfied` by every one of `readers`, written with few values; None for none of them.
        A container stands for scopes that appear in it later, too: the gate on fresh facts is there for those."""
        ...

    async def resources(self, versions: Sequence[tuple[DocumentId, str]]) -> Mapping[tuple[DocumentId, str], Resource]:
        """What is known of these versions, read in one snapshot; an unknown one is missing from the mapping."""
        ...

    async def digests(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, frozenset[str]]:
        """The digests that each chunk may have right now (two while a new text is being published)."""
        ...

    async def scopes(self, ids: Sequence[ScopeId]) -> Mapping[ScopeId, Scope]:
        """These scopes with their rules."""
        ...

    async def current(self, document: DocumentId) -> Resource | None:
        """The published version of a document that counts now, for `why` and `who`; None when there is none."""
        ...

    async def expression(self, digest: str) -> Access | None:
        """The rules with this digest, whether or not a scope still has them: what a replay judges by."""
        ...


class Catalog(Protocol):
    """The ledger as a sync needs it. Every call is one durable step, safe to repeat."""

    async def known(self, document: DocumentId) -> Known | None: ...

    async def state_rules(self, rules: ScopeRules) -> tuple[ScopeId, bool]:
        """Record a scope's rules, a narrowing taking effect at once; returns its id and whether anything changed."""
        ...

    async def state_all(self, rules: Sequence[ScopeRules]) -> Sequence[tuple[ScopeId, bool]]:
        """As `state_rules`, for different scopes of one source in one step."""
        ...

    async def renew(self, source: str, roots: Sequence[str], at: datetime) -> None:
        """The rules of these scopes were read at `at` and are as recorded: their leases begin anew."""
        ...

    async def scope_of(self, source: str, root: str) -> ScopeId | None:
        """The id of a scope by its root."""
        ...

    async def containers_of(self, scope: ScopeId) -> tuple[ContainerId, ...]:
        """What a scope stands in, outermost first and its source at the head; settled when it was first stated."""
        ...

    async def rules_of(self, source: str, root: str) -> ScopeRules | None:
        """The rules last recorded for a scope: what a run compares with, so that a widening comes after the texts."""
        ...

    async def all_rules_of(self, source: str, roots: Sequence[str]) -> Mapping[str, ScopeRules]:
        """As `rules_of`, for many scopes; an unknown one is missing."""
        ...

    async def place(self, document: DocumentId, scope: ScopeId, scope_root: str, ancestors: tuple[str, ...]) -> None:
        """Stand the document under a scope. Effective for verdicts at once."""
        ...

    async def announce(self, document: SourceDocument, scope: ScopeId, chunks: Sequence[Chunk], trust: Trust) -> None:
        """A version is about to be written to the index: its chunks and digests are accepted beside the current ones,
        and the version is not current yet unless it was."""
        ...

    async def publish(self, document: SourceDocument, facts_digest: str, now: datetime) -> frozenset[str]:
        """The announced version is now current and its old digests are not accepted any more; returns every version to
        keep in the index."""
        ...

    async def entomb(self, document: DocumentId, reason: str, now: datetime) -> None:
        """The document is gone: no verdict allows it from here on."""
        ...

    async def hide(self, document: DocumentId, reason: str) -> None:
        """No verdict allows the document until it is published again; its content stays stored."""
        ...

    async def skip(
        self, document: SourceDocument | DocumentId, reason: str, now: datetime, revision: str | None = None
    ) -> None:
        """Record why a document can't be used; what was published of it is hidden. One that is only named is otherwise
        remembered as it was: nobody knows that its text changed. `revision`: what was found unusable, in place of the
        document's own; empty: whatever the source says next of it is new."""
        ...

    async def seen(self, run: str, documents: Sequence[DocumentId]) -> None:
        """These documents exist at the source in this run."""
        ...

    async def unseen(self, run: str, source: str) -> Sequence[DocumentId]:
        """Live or hidden documents of a source that this run did not see."""
        ...

    async def unseen_scopes(self, run_started: datetime, source: str) -> Sequence[str]:
        """Roots of active scopes of a source not verified since the run began."""
        ...

    async def withdraw_scope(self, source: str, root: str) -> None:
        """The scope grants nothing any more."""
        ...

    def run(self, source: str, now: datetime) -> AbstractAsyncContextManager[Run]:
        """One run at a time a source, across processes; a dead process's claim runs out. Transient when taken."""
        ...

    async def checkpoint(self, run: Run, cursor: str, now: datetime) -> None:
        """Commit the cursor: what came before it is durable."""
        ...

    async def finish(self, run: Run, report: Mapping[str, Any], now: datetime) -> None:
        """Keep the run's report: seen, upserted, deleted, …, complete, seconds, problems."""
        ...

    async def hide_subtree(self, source: str, root: str, reason: str, now: datetime) -> None:
        """Nothing at or below `root` is allowed until `show_subtree`: while its rights are being read again."""
        ...

    async def hide_subtrees(self, source: str, reasons: Mapping[str, str], now: datetime) -> None:
        """As `hide_subtree`, for many roots with their reasons in one step; one that was hidden later stays so."""
        ...

    async def show_subtree(self, source: str, root: str) -> None:
        """The rights at and below `root` are known again."""
        ...

    async def show_subtrees(self, source: str, roots: Sequence[str], upto: datetime | None) -> None:
        """As `show_subtree`, for many roots in one step, but for what was hidden after `upto`."""
        ...

    async def unretired(self, source: str) -> Sequence[tuple[DocumentId, frozenset[str]]]:
        """Documents whose index entries may hold more than what is to be kept: what a kill left to clean."""
        ...

    async def retired(self, document: DocumentId) -> None:
        """The index holds nothing of the document beyond what is to be kept."""
        ...


@dataclass(frozen=True, slots=True)
class Expected:
    """A passage that an index ought to hold."""

    id: ChunkId
    scope: ScopeId
    digest: str
    on_its_way: bool  # its document is being written or cleaned: nothing is wrong yet if the index has it otherwise


class Holdings(Protocol):
    """The ledger as somebody needs it who compares an index with it."""

    def hold(self, source: str, now: datetime) -> AbstractAsyncContextManager[Callable[[], Awaitable[None]]]:
        """No run of the source begins meanwhile, and this is none of its runs. Transient when one is on; what is given
        raises it when the hold was lost."""
        ...

    def expected(self, source: str) -> AsyncIterator[Expected]:
        """Every passage that an index ought to hold of a source."""
        ...

    async def reread(self, source: str) -> int:
        """Whatever the source says of its documents next is new; returns how many there are."""
        ...

    async def give_up(self, document: DocumentId, versions_lost: frozenset[str]) -> bool:
        """The index lost these versions. The current one is new when the source tells of it next, and then it is
        returned that it has to; an earlier one can't be had again, and no verdict allows it any more."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a sync."""

    id: str
    source: str
    started: datetime
    cursor: str | None


class Traces(Protocol):
    """The audit record. Append-only, chained, no content in clear."""

    async def begin(self, record: Mapping[str, Any], sealed: Mapping[str, str], now: datetime) -> str:
        """Append a begin record and return the trace's id. Raises DoorError when it is not durable: no answer then."""
        ...

    async def end(self, trace: str, record: Mapping[str, Any], sealed: Mapping[str, str], now: datetime) -> None:
        """Append the end record of a trace."""
        ...


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """One configured source as the ledger keeps it; secrets are references, never values."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    state: str = "active"  # active | paused | removing
    added_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PersonRecord:
    """A person of the directory as imported."""

    email: str
    name: str
    kind: str  # member | guest | external
    active: bool
    groups: tuple[str, ...] = ()
    identities: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """A person as a verdict needs him: with every group, those he is listed in and, transitively, those that include
    one of them."""

    email: str
    kind: str  # member | guest | external
    active: bool
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class DirectoryTables:
    """A whole directory file: people, nested groups, and who is in which place."""

    people: tuple[PersonRecord, ...]
    groups: Mapping[str, tuple[str, ...]]  # group -> groups that it includes
    places: Mapping[str, tuple[str, ...]]  # place -> e-mail addresses of everybody in it


# ---------------------------------------------------------------- the ledger as commands and faces need it


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run of a sync as it was kept."""

    id: str
    started: datetime
    ended: datetime | None
    state: str  # running | done | failed
    report: Mapping[str, Any]  # seen, upserted, …, complete, seconds, problems


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """A source and how it is doing."""

    config: SourceConfig
    documents: int  # live ones
    chunks: int
    last_run: RunReport | None
    synced_at: datetime | None  # the last committed checkpoint
    problems: tuple[tuple[DocumentId, str], ...]  # documents that can't be used, and why
    closed: tuple[tuple[str, str], ...] = ()  # subtrees that are closed, and why


class Sources(Protocol):
    """The configured sources."""

    async def add(self, config: SourceConfig, now: datetime) -> SourceConfig:
        """Configure a source; Stop when the name is taken."""
        ...

    async def get(self, name: str) -> SourceConfig | None: ...

    async def list(self) -> Sequence[SourceConfig]:
        """Every configured source, by name."""
        ...

    async def status(self, name: str) -> SourceStatus | None: ...

    async def pause(self, name: str) -> None: ...

    async def resume(self, name: str) -> None: ...

    async def remove(self, name: str, now: datetime) -> None:
        """Nothing of the source is readable from here on; `Catalog.unretired` names what the index is to be rid of."""
        ...

    async def forget(self, name: str) -> None:
        """End a removal, after the index was cleaned."""
        ...


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import of a directory changed."""

    people: int
    groups: int
    places: int


class People(Protocol):
    """The people of the directory, with their groups, places and accounts."""

    async def replace(self, tables: DirectoryTables, now: datetime, origin: str = "directory") -> Imported:
        """Make the tables of this origin what the file says, in one step: who is not in it any more loses his groups.
        Accounts bound by linking stay while the person does."""
        ...

    async def list(self) -> Sequence[PersonRecord]: ...

    async def get(self, email: str) -> PersonRecord | None: ...

    async def records(self, emails: Sequence[str]) -> Sequence[PersonRecord]:
        """These people as far as they are known, by address."""
        ...

    async def of_identity(self, provider: str, subject: str) -> PersonRecord | None:
        """The person whose account this is."""
        ...

    async def link(self, email: str, provider: str, subject: str, now: datetime) -> None:
        """Bind an account to a person. Stop when either is bound to somebody or something else: unlink first."""
        ...

    async def bind(self, email: str, accounts: Mapping[str, str], now: datetime) -> None:
        """Bind several accounts, by provider, all or none; Stop as `link`."""
        ...

    async def unlink(self, email: str, provider: str) -> bool:
        """Take a binding off; returns whether there was one."""
        ...

    async def standing(self, emails: Sequence[str]) -> Sequence[Standing]:
        """These people with all their groups, read at once, as far as they are known; by address."""
        ...

    async def standing_of(self, provider: str, subject: str) -> Standing | None:
        """The person whose account this is, with all his groups."""
        ...

    async def place(self, place: str) -> Sequence[str] | None:
        """The addresses of everybody in a place; None when it is not known."""
        ...


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """One trace in a list; the asker is a keyed pseudonym."""

    id: str
    begun: datetime
    ended: datetime | None
    state: str  # open | ended | abandoned
    outcome: str | None
    asker: str | None


@dataclass(frozen=True, slots=True)
class TraceView:
    """One trace whole. `revealed` holds the sealed fields, where asked for."""

    summary: TraceSummary
    begin: Mapping[str, Any]
    end: Mapping[str, Any] | None
    sealed: tuple[str, ...]  # names of the sealed fields
    revealed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """What checking the chain found. `first_bad` is the number of the first record that is wrong or missing."""

    status: str  # ok | gap | fork | truncated | edited | reordered | bad signature
    records: int
    first_bad: int | None = None
    problem: str = ""

    def __bool__(self) -> bool:
        return self.status == "ok"


class TraceLog(Traces, Protocol):
    """The audit record as reviewers need it."""

    async def list(
        self,
        now: datetime,
        *,
        since: datetime | None = None,
        person: Principal | None = None,
        outcome: str | None = None,
        limit: int = 100,
    ) -> Sequence[TraceSummary]:
        """Traces, newest first. A trace without an end after fifteen minutes is `abandoned`."""
        ...

    async def show(self, trace: str, now: datetime, *, reveal: bool = False) -> TraceView | None: ...

    def export(self, since: datetime | None, now: datetime) -> AsyncIterator[str]:
        """JSON lines: the records as they were hashed, then one signed checkpoint."""
        ...

    async def verify(self) -> ChainVerdict:
        """Check the whole chain against its signed checkpoints."""
        ...

    def verify_lines(self, lines: Iterable[str]) -> ChainVerdict:
        """Check an export; the signature is checked with our own key, never with one that a file brings."""
        ...
