"""What is known when a verdict is due: who asks, under which rules a document stands, and what state it is in.

Facts are values with the time at which they were true. They come from the ledger and the directory, fresh for each
question; nothing in here is ever taken from an index's copy or from the words of a question.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from policies.access import Access
from policies.names import DocumentId, Principal, ScopeId


class Kind(StrEnum):
    """What a person is to the company."""

    MEMBER = "member"
    GUEST = "guest"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class Subject:
    """The person a question is asked as, and everything he is at this moment."""

    person: Principal
    kind: Kind
    active: bool
    principals: frozenset[Principal]  # himself, his groups (transitively), and the virtual principals of each source
    resolved_at: datetime  # when the groups were read from the system that owns them


class ScopeState(StrEnum):
    """Whether a scope may grant anything; only ACTIVE does."""

    ACTIVE = "active"
    UNKNOWN = "unknown"
    QUARANTINED = "quarantined"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Scope:
    """One set of read rules, as last verified at its source."""

    id: ScopeId
    access: Access
    state: ScopeState
    verified_at: datetime
    lease: timedelta  # how long a grant outlives its last verification


class Life(StrEnum):
    """Where a document is in its life; only LIVE is ever answered from."""

    LIVE = "live"
    HIDDEN = "hidden"
    TOMBSTONE = "tombstone"


class Trust(StrEnum):
    """What the injection detectors made of a passage."""

    CLEAN = "clean"
    SUSPECT = "suspect"  # low: kept, marked as untrusted, and said so
    QUARANTINED = "quarantined"  # high, or the detector failed: never offered


@dataclass(frozen=True, slots=True)
class Resource:
    """One version of one document, as the ledger knows it now."""

    document: DocumentId
    version: str
    scope: Scope
    life: Life
    current: bool  # this version is published; False while it is being written or after it was retired
    hidden_by: str | None  # an ancestor in the hidden-subtree overlay, while rights below it are being re-read
    effective_from: date | None
    effective_to: date | None  # the last day in force
    superseded: bool
    trust: Trust


@dataclass(frozen=True, slots=True)
class Moment:
    """When the verdict is due, and the day whose rules are asked about."""

    now: datetime  # aware
    on: date
    dated: bool  # the question named the day; False: today, by default

    def __post_init__(self) -> None:
        if self.now.tzinfo is None:
            raise ValueError("a moment needs an aware time")
