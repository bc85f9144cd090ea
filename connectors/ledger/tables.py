"""The ledger's tables, the same for every database.

Documents, versions and chunks are found by their written name (`str` of the spine), so that one text column joins what
indexes, traces and citations say. Expressions and clauses are content-addressed and never deleted: an old verdict can
always be recomputed. A scope's number is never given out twice.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, ClassVar

from sqlalchemy import (
    BigInteger,
    DateTime,
    Dialect,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field, SQLModel

NAMES = {
    "ix": "ix_%(column_0_N_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

Number = BigInteger().with_variant(Integer(), "sqlite")  # SQLite numbers rows only in a column declared INTEGER


class Utc(TypeDecorator[datetime]):
    """An aware time in UTC, going in and coming out, also where the database forgets the zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("the ledger takes aware times only")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Row(SQLModel):
    """The family of the ledger's tables, with a metadata of their own."""

    metadata: ClassVar[MetaData] = MetaData(naming_convention=NAMES)


LEASED = text("state = 'active'")
"""What has a lease that can run out; the words of an index."""

OPEN = text("state <> 'closed'")
"""What waits for an answer or is being answered; the words of an index."""


def _id() -> Any:
    return Field(default=None, primary_key=True, sa_type=Number)


def _text(**options: Any) -> Any:
    return Field(sa_type=Text, **options)


def _utc(**options: Any) -> Any:
    return Field(sa_type=Utc, **options)


def _ref(column: str, **options: Any) -> Any:
    return Field(sa_type=Number, foreign_key=column, **options)


# ---------------------------------------------------------------- sources and their runs


class SourceRow(Row, table=True):
    """A configured source; its settings hold references to secrets, never the secrets."""

    __tablename__ = "sources"
    name: str = _text(primary_key=True)
    kind: str = _text()
    settings: str = _text()  # JSON
    state: str = _text()  # active | paused | removing
    added_at: datetime = _utc()


class RunRow(Row, table=True):
    """One run of a sync, kept with its report."""

    __tablename__ = "runs"
    id: str = _text(primary_key=True)
    source: str = _text(index=True)
    started: datetime = _utc(index=True)
    ended: datetime | None = _utc(default=None)
    state: str = _text()  # running | done | failed
    report: str = _text(default="{}")  # JSON: seen, upserted, …, problems


class ClaimRow(Row, table=True):
    """Who is syncing a source right now; a claim that isn't renewed runs out."""

    __tablename__ = "run_claims"
    source: str = _text(primary_key=True)
    run: str = _text()
    host: str = _text()
    pid: int
    process: str = _text()  # made anew by every process: a number given to another process is not the same claim
    expires_at: datetime = _utc()


class CursorRow(Row, table=True):
    """Where the next run of a source goes on."""

    __tablename__ = "cursors"
    source: str = _text(primary_key=True)
    cursor: str = _text()
    at: datetime = _utc()


# ---------------------------------------------------------------- read rules


class ExpressionRow(Row, table=True):
    """An access expression under its digest; `clauses` counts how many have to be met."""

    __tablename__ = "expressions"
    __table_args__ = ({"sqlite_autoincrement": True},)
    id: int | None = _id()
    digest: str = _text(unique=True)
    clauses: int  # 0 for unknown, which nobody satisfies


class ClauseRow(Row, table=True):
    """A clause under its digest; one without principals is met by nobody."""

    __tablename__ = "clauses"
    __table_args__ = ({"sqlite_autoincrement": True},)
    id: int | None = _id()
    digest: str = _text(unique=True)


class ExpressionClauseRow(Row, table=True):
    """Which clauses an expression asks for."""

    __tablename__ = "expression_clauses"
    clause: int = _ref("clauses.id", primary_key=True)
    expression: int = _ref("expressions.id", primary_key=True, index=True)


class ClausePrincipalRow(Row, table=True):
    """Any one of whom meets a clause."""

    __tablename__ = "clause_principals"
    principal: str = _text(primary_key=True)
    clause: int = _ref("clauses.id", primary_key=True, index=True)


class ContainerRow(Row, table=True):
    """What contains scopes: a source, a site, a folder. A forest that only grows: each is named by the whole path to
    it, so that everything in a container is in its parent too, whatever a source moves."""

    __tablename__ = "containers"
    __table_args__ = ({"sqlite_autoincrement": True},)
    id: int | None = _id()
    source: str = _text(index=True)
    parent: int | None = _ref("containers.id", default=None, index=True)
    key: str = _text()  # the source's own id; empty for the source itself
    digest: str = _text(unique=True)  # of the path
    scopes: int  # that stand in it at any depth, in whatever state


class ContainerRulesRow(Row, table=True):
    """How many active scopes in a container, at any depth, have these rules: a cover is counted from this."""

    __tablename__ = "container_rules"
    expression: int = _ref("expressions.id", primary_key=True)
    container: int = _ref("containers.id", primary_key=True, index=True)
    scopes: int


class MarkRow(Row, table=True):
    """Written anew by every change of what somebody may satisfy, in the transaction of that change: what was computed
    under another mark is worth nothing."""

    __tablename__ = "marks"
    name: str = _text(primary_key=True)  # scopes
    mark: str = _text()


class ScopeRow(Row, table=True):
    """One set of read rules as last verified at its source."""

    __tablename__ = "scopes"
    __table_args__ = (
        UniqueConstraint("source", "root"),
        Index("ix_scopes_container_expression", "container", "expression"),
        # Partial: what asks whether one scope is in force must not go over all of them by this.
        Index("ix_scopes_expires_at", "expires_at", sqlite_where=LEASED, postgresql_where=LEASED),
        {"sqlite_autoincrement": True},
    )
    id: int | None = _id()
    source: str = _text()
    root: str = _text()
    expression: int = _ref("expressions.id", index=True)
    reason: str | None = _text(default=None)  # why the expression is unknown, when it is
    state: str = _text()
    verified_at: datetime = _utc()
    lease: int = Field(sa_type=BigInteger)  # microseconds
    expires_at: datetime = _utc()  # verified_at + lease, so that one comparison decides
    # The innermost of its containers, for good. No foreign key: SQLite can't take a column with one off again.
    container: int | None = Field(sa_type=Number, default=None)


class HiddenSubtreeRow(Row, table=True):
    """Everything at and below `root` grants nothing while its rights are being read again."""

    __tablename__ = "hidden_subtrees"
    source: str = _text(primary_key=True)
    root: str = _text(primary_key=True)
    reason: str = _text()
    since: datetime = _utc()


# ---------------------------------------------------------------- what far sources remember


class NodeRow(Row, table=True):
    """One object of a far source as it was last read. No verdict is made from it."""

    __tablename__ = "nodes"
    __table_args__ = (
        Index("ix_nodes_source_container_key", "source", "container", "key"),
        Index("ix_nodes_source_parent", "source", "parent"),
    )
    source: str = _text(primary_key=True)
    key: str = _text(primary_key=True)
    parent: str | None = _text(default=None)
    container: str = _text()
    kind: str = _text()
    rules: str | None = _text(default=None)  # JSON: clauses, or why they are unknown; NULL: it has none of its own
    rules_at: datetime = _utc()
    is_document: bool
    mark: str = _text()
    walk: str = _text()
    facts: str = _text()  # JSON


class SourceNoteRow(Row, table=True):
    """A small thing that a far source remembers: when a feed last ran, where it goes on."""

    __tablename__ = "source_notes"
    source: str = _text(primary_key=True)
    name: str = _text(primary_key=True)
    value: str = _text()


class SourceHintRow(Row, table=True):
    """What an event told of a far source between two runs."""

    __tablename__ = "source_hints"
    __table_args__ = (Index("ix_source_hints_source_key", "source", "key"), {"sqlite_autoincrement": True})
    number: int | None = _id()
    source: str = _text()
    key: str = _text()  # empty: the whole source
    what: str = _text()
    at: datetime = _utc()


# ---------------------------------------------------------------- documents


class DocumentRow(Row, table=True):
    """One document of one source and where it is in its life."""

    __tablename__ = "documents"
    __table_args__ = (
        Index("ix_documents_source_life", "source", "life"),
        Index("ix_documents_source_key", "source", "key"),
        {"sqlite_autoincrement": True},
    )
    id: int | None = _id()
    name: str = _text(unique=True)  # source:key as written
    source: str = _text()
    key: str = _text()
    scope: int | None = _ref("scopes.id", default=None, index=True)
    scope_root: str = _text(default="")
    life: str = _text()
    version: str = _text(default="")
    revision: str = _text(default="")  # empty: whatever the source says next is new
    facts_digest: str = _text(default="")
    problem: str | None = _text(default=None)
    seen_run: str | None = _text(default=None)
    unretired: bool = False  # the index may hold more than is to be kept


class AncestorRow(Row, table=True):
    """What contains a document, outermost first."""

    __tablename__ = "document_ancestors"
    __table_args__ = (Index("ix_document_ancestors_ancestor", "ancestor"),)
    document: int = _ref("documents.id", primary_key=True)
    depth: int = Field(primary_key=True)
    ancestor: str = _text()


class VersionRow(Row, table=True):
    """One version of a document. Its chunks carry a generation: a text and its successor can both be accepted."""

    __tablename__ = "versions"
    __table_args__ = ({"sqlite_autoincrement": True},)
    id: int | None = _id()
    name: str = _text(unique=True)  # source:key@version as written
    document: int = _ref("documents.id", index=True)
    version: str = _text()
    state: str = _text()  # announced | published | retired
    generation: int = 0  # of the published chunks
    pending: int | None = None  # of the announced chunks
    effective_from: date | None = None
    effective_to: date | None = None
    superseded: bool = False
    trust: str = _text()
    pending_trust: str | None = _text(default=None)
    published_at: datetime | None = _utc(default=None)


class ChunkRow(Row, table=True):
    """A passage of a version with a digest that its text may have."""

    __tablename__ = "chunks"
    __table_args__ = (UniqueConstraint("version", "generation", "name"),)
    id: int | None = _id()
    name: str = _text(index=True)  # the spine as written
    version: int = _ref("versions.id")
    generation: int
    digest: str = _text()
    parent: str = _text()
    ordinal: int
    trust: str = _text()


class TombstoneRow(Row, table=True):
    """That a document is gone, kept at least thirty days, so that a late upsert can't bring it back."""

    __tablename__ = "tombstones"
    document: str = _text(primary_key=True)
    source: str = _text(index=True)
    reason: str = _text()
    at: datetime = _utc(index=True)
    run: str | None = _text(default=None)


# ---------------------------------------------------------------- people


class PersonRow(Row, table=True):
    """A person of the directory. `origin` is the file or system that listed him."""

    __tablename__ = "people"
    email: str = _text(primary_key=True)  # folded
    name: str = _text()
    kind: str = _text()
    active: bool
    origin: str = _text(index=True)


class MembershipRow(Row, table=True):
    """A group that a person is listed in."""

    __tablename__ = "memberships"
    email: str = Field(sa_type=Text, primary_key=True, foreign_key="people.email", ondelete="CASCADE")
    group: str = _text(primary_key=True, index=True)


class GroupRow(Row, table=True):
    """A group that a directory declares."""

    __tablename__ = "groups"
    name: str = _text(primary_key=True)
    origin: str = _text(primary_key=True)


class GroupIncludeRow(Row, table=True):
    """`group` has every member of `included`."""

    __tablename__ = "group_includes"
    included: str = _text(primary_key=True)
    group: str = _text(primary_key=True)
    origin: str = _text(primary_key=True)


class PlaceRow(Row, table=True):
    """A place whose readers are known exactly."""

    __tablename__ = "places"
    name: str = _text(primary_key=True)
    origin: str = _text(index=True)


class PlaceMemberRow(Row, table=True):
    """Somebody who sees what is said in a place; he need not be known to the directory."""

    __tablename__ = "place_members"
    place: str = Field(sa_type=Text, primary_key=True, foreign_key="places.name", ondelete="CASCADE")
    email: str = _text(primary_key=True)


class IdentityRow(Row, table=True):
    """A login or account that is this person; at most one person an account and one account a provider."""

    __tablename__ = "identities"
    __table_args__ = (UniqueConstraint("email", "provider"),)
    provider: str = _text(primary_key=True)  # oidc:ISSUER, slack:TEAM, …
    subject: str = _text(primary_key=True)
    email: str = Field(sa_type=Text, foreign_key="people.email", ondelete="CASCADE")
    linked: bool = False  # bound by linking, not by an import
    at: datetime = _utc()


# ---------------------------------------------------------------- what waits for an answer


class LetterRow(Row, table=True):
    """What somebody asked and was acknowledged; its body is sealed, and forgotten once it was answered."""

    __tablename__ = "letters"
    __table_args__ = (
        Index("ix_letters_state_due_at", "state", "due_at"),
        Index("ix_letters_workspace_person", "workspace", "person", sqlite_where=OPEN, postgresql_where=OPEN),
        {"sqlite_autoincrement": True},
    )
    number: int | None = _id()
    name: str = _text(unique=True)  # at random; its body opens under it alone
    workspace: str = _text()  # keyed pseudonyms, both
    person: str = _text()
    body: str = _text()
    state: str = _text()  # waiting | taken | closed
    received_at: datetime = _utc(index=True)
    due_at: datetime = _utc()
    times: int  # it was taken
    host: str | None = _text(default=None)  # who has it
    pid: int | None = None
    process: str | None = _text(default=None)
    lease_until: datetime | None = _utc(default=None)


class LetterKeyRow(Row, table=True):
    """What a second delivery of the same letter is known by."""

    __tablename__ = "letter_keys"
    key: str = _text(primary_key=True)
    letter: int = Field(sa_type=Number, foreign_key="letters.number", ondelete="CASCADE", index=True)


class ExchangeRow(Row, table=True):
    """A question and its answer as they are kept for follow-ups and buttons, sealed and for a while. Who asked and
    where are keyed pseudonyms."""

    __tablename__ = "exchanges"
    name: str = _text(primary_key=True)  # at random; its body opens under it alone
    asker: str = _text(index=True)
    thread: str | None = _text(default=None, index=True)
    answered_in: str | None = _text(default=None, index=True)
    state: str = _text()
    body: str = _text()
    at: datetime = _utc()
    until: datetime = _utc(index=True)


class RatingRow(Row, table=True):
    """What an asker thought of an answer; his own words are sealed."""

    __tablename__ = "ratings"
    name: str = _text(primary_key=True)  # of the exchange, which may be forgotten before
    trace: str = _text(index=True)
    verdict: str = _text()  # good | bad
    reasons: str = _text()  # fixed words, with spaces between
    words: str = _text()
    at: datetime = _utc(index=True)


# ---------------------------------------------------------------- logins and what may be done once


class TicketRow(Row, table=True):
    """What whoever holds a secret may do once, for a while; its body is sealed."""

    __tablename__ = "tickets"
    __table_args__ = (Index("ix_tickets_kind_holder", "kind", "holder"),)
    name: str = _text(primary_key=True)  # at random; its body opens under it alone
    kind: str = _text()
    digest: str = _text(unique=True)  # of the secret
    holder: str = _text()  # a keyed pseudonym
    state: str = _text()  # new, then what the kind knows; void when it is worth nothing any more
    body: str = _text()
    changed_at: datetime = _utc()
    expires_at: datetime = _utc(index=True)


class LoginRow(Row, table=True):
    """The refresh token of somebody who linked himself, sealed; without one the provider refuses him."""

    __tablename__ = "logins"
    provider: str = _text(primary_key=True)  # oidc:ISSUER
    subject: str = _text(primary_key=True)
    refresh: str | None = _text(default=None)
    checked_at: datetime = _utc()
    asking_until: datetime | None = _utc(default=None)  # somebody asks the provider just now


# ---------------------------------------------------------------- the audit record


class TraceRow(Row, table=True):
    """One record of the chain. The bytes are what was hashed; the other columns repeat them for finding and are checked
    against them when the chain is verified."""

    __tablename__ = "traces"
    seq: int = Field(sa_type=Number, primary_key=True)
    trace: str = _text(index=True)
    kind: str = _text()  # begin | end
    at: datetime = _utc(index=True)
    asker: str | None = _text(default=None, index=True)  # a keyed pseudonym
    outcome: str | None = _text(default=None)
    prev: str = _text(unique=True)
    leaf: str = _text(unique=True)
    record: bytes = Field(sa_type=LargeBinary)


METADATA = Row.metadata


def _table(name: str) -> Table:
    return METADATA.tables[name]


sources = _table("sources")
runs = _table("runs")
run_claims = _table("run_claims")
cursors = _table("cursors")
expressions = _table("expressions")
clauses = _table("clauses")
expression_clauses = _table("expression_clauses")
clause_principals = _table("clause_principals")
scopes = _table("scopes")
containers = _table("containers")
container_rules = _table("container_rules")
marks = _table("marks")
hidden_subtrees = _table("hidden_subtrees")
nodes = _table("nodes")
source_notes = _table("source_notes")
source_hints = _table("source_hints")
documents = _table("documents")
document_ancestors = _table("document_ancestors")
versions = _table("versions")
chunks = _table("chunks")
tombstones = _table("tombstones")
people = _table("people")
memberships = _table("memberships")
groups = _table("groups")
group_includes = _table("group_includes")
places = _table("places")
place_members = _table("place_members")
identities = _table("identities")
letters = _table("letters")
letter_keys = _table("letter_keys")
exchanges = _table("exchanges")
ratings = _table("ratings")
tickets = _table("tickets")
logins = _table("logins")
traces = _table("traces")
