"""What crosses the doors: from a source's document to an index entry, and from a search to a written draft.

Everything is frozen; each stage takes one of these and returns the next. The spine (`ChunkId`) runs through all.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from policies.access import Access
from policies.clearance import Cleared, Sealed
from policies.facts import ScopeState, Subject, Trust
from policies.names import ChunkId, ContainerId, DocumentId, ScopeId
from policies.predicate import Narrowing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

# ---------------------------------------------------------------- in: from a source to the index


@dataclass(frozen=True, slots=True)
class ScopeRules:
    """The rules of one scope as a source states them now; `root` is the source's own name for where they stand."""

    source: str
    root: str  # the folder, space, site, page or file whose own permissions these are
    access: Access
    state: ScopeState
    verified_at: datetime
    lease: timedelta
    containers: tuple[str, ...] = ()  # the source's ids of what this scope stands in, outermost first: site, library


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """One document at its source, with everything the source knows and the text does not say."""

    id: DocumentId
    version: str  # the source's own revision, or a digest of the content: what citations name
    revision: str  # changes whenever the content does, even where a person forgot to raise `version`
    title: str
    url: str
    media_type: str
    scope_root: str  # the `ScopeRules.root` it stands under
    read: Callable[[], Awaitable[bytes]]  # the body; raises DoorError; called only when the content is needed
    ancestors: tuple[str, ...] = ()  # the source's ids of what contains it, outermost first
    effective_from: date | None = None
    effective_to: date | None = None  # the last day in force
    status: str = "current"  # current | superseded | draft, or the source's own word
    owner: str | None = None
    labels: tuple[str, ...] = ()
    anchor: Callable[[str], str] | None = None  # a heading to what leads to it behind the `#` of `url`; "" for nothing


@dataclass(frozen=True, slots=True)
class Upsert:
    """The document exists and is as described; most of the time nothing about it is new."""

    document: SourceDocument


@dataclass(frozen=True, slots=True)
class Deleted:
    """The source said that this document is gone."""

    document: DocumentId


@dataclass(frozen=True, slots=True)
class AccessChanged:
    """The rules of a scope, new or changed or re-verified; no document is touched by it."""

    rules: ScopeRules


@dataclass(frozen=True, slots=True)
class Moved:
    """The document now stands under another scope or other ancestors; its content is the same."""

    document: DocumentId
    scope_root: str
    ancestors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """The document exists but can't be used; `reason` says why in words an admin can act on."""

    document: DocumentId
    reason: str
    revision: str = ""  # what was looked at, where that is known: it is worth another look when it changed


@dataclass(frozen=True, slots=True)
class Verified:
    """The rules of these scopes were read again at `at` and are those last told; only their leases begin anew."""

    roots: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class Closed:
    """Nothing at or below `root` is readable, from now until `Reopened`: its rights are being read again, or the source
    refuses it to us. `root` is a document's key or one of its ancestors."""

    root: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reopened:
    """The rights at and below `root` are known again; everything told before this is written first."""

    root: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything before this is told; `cursor` resumes after it. `complete`: there was no fault in this run. `whole`:
    every document was told, so that what was not seen is gone; a source that tells of deletions says False."""

    cursor: str
    complete: bool
    whole: bool = True
    problems: tuple[str, ...] = ()  # what an admin should know: a space that could not be read, a limit that was met


Change = Upsert | Deleted | AccessChanged | Verified | Moved | Closed | Reopened | Skipped | Checkpoint


# ---------------------------------------------------------------- what a far source remembers


@dataclass(frozen=True, slots=True)
class Inherits:
    """An object without rules of its own."""


@dataclass(frozen=True, slots=True)
class Own:
    """An object's own rules as the source stated them; Unknown where they could not be read."""

    access: Access
    until: datetime | None = None  # from then on somebody reads less: they do not count, unless they were stated anew


@dataclass(frozen=True, slots=True)
class Node:
    """One object of a far source as last read: a site, a space, a folder, a page; ids are the source's own."""

    key: str  # the key of its document, where it is one
    parent: str | None  # None: a container's top
    container: str  # what it is enumerated with: a space, a library; the key of that node
    kind: str  # the source's own word
    rules: Inherits | Own
    rules_at: datetime  # when `rules` were last read
    is_document: bool
    mark: str = ""  # of its content, as the source counts it: a version number, a cTag
    walk: str = ""  # the enumeration of its container that saw it last
    facts: Mapping[str, str] = field(default_factory=dict)  # the source's own, such as the place of its body


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the ledger has a document that is not gone."""

    key: str
    scope_root: str
    ancestors: tuple[str, ...]
    version: str
    hidden: bool
    revision: str = ""  # what was taken of it, or found unusable; empty: whatever the source says next of it is new


@dataclass(frozen=True, slots=True)
class ClosedRoot:
    """A subtree that is closed, why and since when."""

    reason: str
    since: datetime


@dataclass(frozen=True, slots=True)
class StatedRules:
    """What the ledger last heard of a scope."""

    digest: str  # policies.access.digest of its rules
    state: ScopeState
    verified_at: datetime
    lease: timedelta | None = None


class Form(StrEnum):
    """What a block of a parsed document is."""

    TEXT = "text"
    LIST = "list"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its header row; every row has as many cells as there are headers."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a document under its headings, outermost first; the document's own title is not among them."""

    form: Form
    heading_path: tuple[str, ...]
    text: str  # the block's text; a table's is one line a row, cells joined by " | "
    table: Table | None = None
    page: int | None = None  # counted from 1, where the format has pages, slides or sheets
    items: tuple[str, ...] = ()  # the items of a list


class Hidden(StrEnum):
    """Why a piece of text was taken out before anyone could read it."""

    INVISIBLE = "invisible characters"
    STYLED = "text styled not to be seen"
    COMMENT = "comment"
    DELETED = "tracked deletion"
    NOTES = "speaker notes"


@dataclass(frozen=True, slots=True)
class Removal:
    """Hidden text that a parser took out: kept for the injection detectors and the audit, never indexed."""

    kind: Hidden
    text: str


@dataclass(frozen=True, slots=True)
class ParsedRecord:
    """A document as structure: what the chunker cuts and what every chunk inherits."""

    title: str | None  # the document's own title, where it states one
    blocks: tuple[Block, ...]
    removals: tuple[Removal, ...] = ()
    notices: tuple[str, ...] = ()  # such as "page 3 is a scan and tesseract is not installed"


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a chunk inherits from its document and carries to search and citation."""

    title: str
    url: str
    effective_from: date | None
    effective_to: date | None
    superseded: bool
    owner: str | None
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit of retrieval: text that makes sense on its own, and where it stands."""

    id: ChunkId
    parent: str  # the section that it expands to: chunks of a version with equal `parent` read together, by `ordinal`
    ordinal: int  # its place in the document
    heading_path: tuple[str, ...]
    text: str  # what is quoted and shown
    lead: str  # "title › path": embedded above the text
    header: str  # the lead and what changes: "title › path (version, in force from …)"; searched, never quoted
    codes: tuple[str, ...]  # identifiers found as wholes, normalised: co-197, trv-intl, sec:4.2
    page: int | None
    form: Form
    digest: str  # of all that is said and shown of it, `digests.passage_digest`: what the ledger holds an index to
    vector_key: str  # of lead and text, `digests.text_digest`: equal means that no new embedding is needed
    attributes: Attributes

    @property
    def passage(self) -> Passage:
        """What a candidate made of it says and shows."""
        kept = self.attributes
        return Passage(
            text=self.text,
            header=self.header,
            heading_path=self.heading_path,
            title=kept.title,
            url=kept.url,
            page=self.page,
            form=self.form,
            effective_from=kept.effective_from,
            effective_to=kept.effective_to,
            superseded=kept.superseded,
            owner=kept.owner,
            labels=kept.labels,
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A chunk as an index stores it: with its vector and what it is filtered by, and no principal anywhere."""

    chunk: Chunk
    vector: Vector
    model: str
    scope: ScopeId
    ancestors: tuple[str, ...]
    trust: Trust
    containers: tuple[ContainerId, ...] = ()  # of the scope, as the ledger settled them: equal for equal scopes


# ---------------------------------------------------------------- out: from a question to a draft


@dataclass(frozen=True, slots=True)
class Search:
    """One hybrid search. It can't be built without a narrowing."""

    text: str
    vector: Vector
    codes: tuple[str, ...]
    narrowing: Narrowing
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where a candidate stood in each leg, counted from 1, and with which score; absent legs did not find it."""

    lexical: int | None = None
    lexical_score: float | None = None
    vector: int | None = None
    vector_score: float | None = None  # cosine
    code: int | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """What a candidate says and what its citation will show. Titles and addresses are content too."""

    text: str
    header: str
    heading_path: tuple[str, ...]
    title: str
    url: str
    page: int | None
    form: Form
    effective_from: date | None
    effective_to: date | None
    superseded: bool
    owner: str | None
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit of a search: the passage is sealed until a verdict on the ledger's facts opens it."""

    id: ChunkId
    passage: Sealed[Passage]
    digest: str
    parent: str
    ordinal: int
    ranks: Ranks
    score: float  # fused; comparable within one search only
    trust: Trust


@dataclass(frozen=True, slots=True)
class Evidence:
    """A labelled passage of the context, as a writer receives it."""

    label: str  # S1, S2, …
    passage: Cleared[Passage]
    relevance: float  # of the passage to the question, 0 to 1, as the reranker saw it


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of a draft with the labels it rests on."""

    text: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a writer made of the evidence; nothing in it is trusted until it was grounded."""

    claims: tuple[Claim, ...]
    missing: tuple[str, ...] = ()  # conditions that the evidence names and nobody here can see
    unanswered: tuple[str, ...] = ()  # parts of the question that the evidence does not answer
    model: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    finish: str = ""  # why a model stopped writing, in its vendor's word
    request: str = ""  # the vendor's id of the request


@dataclass(frozen=True, slots=True)
class Span:
    """Personal data found in a text: `text[start:end]`, its kind, and how sure the detector is."""

    start: int
    end: int
    kind: str  # PERSON, EMAIL_ADDRESS, PHONE_NUMBER, …
    score: float


# ---------------------------------------------------------------- the audit record


def written_readers(readers: Sequence[Subject]) -> str:
    """The sealed field `readers` of a trace: whom its verdicts were for, the asker first, so that they can be made
    again. A JSON list of `{person, kind, active, principals, resolved_at}`."""
    return json.dumps(
        [
            {
                "person": str(each.person),
                "kind": each.kind.value,
                "active": each.active,
                "principals": sorted(map(str, each.principals)),
                "resolved_at": each.resolved_at.isoformat(),
            }
            for each in readers
        ]
    )
