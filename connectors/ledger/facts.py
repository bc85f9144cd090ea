"""The ledger as a verdict needs it: who satisfies which scopes, and what state a version is in. Never from a cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, func, or_, select

from connectors.ledger.covering import Covers
from connectors.ledger.dialect import each, listed
from connectors.ledger.door import Door
from connectors.ledger.rules import Expressions
from connectors.ledger.tables import (
    Utc,
    chunks,
    clause_principals,
    document_ancestors,
    documents,
    expression_clauses,
    expressions,
    hidden_subtrees,
    scopes,
    versions,
)
from policies.access import Access, Unknown
from policies.facts import Life, Resource, Scope, ScopeState, Trust
from policies.names import ChunkId, DocumentId, Principal, ScopeId
from policies.predicate import SearchScope

# Principals to the clauses they meet, counted by expression: one that has all its clauses met is satisfied. A clause
# without principals is never among those met, and an expression without clauses never among those counted.
_met = (
    select(expression_clauses.c.expression, func.count().label("met"))
    .where(
        expression_clauses.c.clause.in_(
            select(clause_principals.c.clause).where(clause_principals.c.principal.in_(each("principals")))
        )
    )
    .group_by(expression_clauses.c.expression)
    .subquery()
)
_SATISFIED = (
    select(scopes.c.id)
    .select_from(_met)
    .join(expressions, expressions.c.id == _met.c.expression)
    .join(scopes, scopes.c.expression == expressions.c.id)
    .where(
        _met.c.met == expressions.c.clauses,
        scopes.c.state == ScopeState.ACTIVE.value,
        scopes.c.expires_at >= bindparam("now", type_=Utc()),
    )
)

_hidden_by = (
    select(func.min(hidden_subtrees.c.root))
    .where(
        hidden_subtrees.c.source == documents.c.source,
        or_(
            hidden_subtrees.c.root == documents.c.key,
            hidden_subtrees.c.root.in_(
                select(document_ancestors.c.ancestor)
                .where(document_ancestors.c.document == documents.c.id)
                .correlate(documents)
            ),
        ),
    )
    .correlate(documents)
    .scalar_subquery()
)
_SCOPE = (scopes.c.id, scopes.c.expression, scopes.c.reason, scopes.c.state, scopes.c.verified_at, scopes.c.lease)
_RESOURCES = (
    select(
        versions.c.name,
        documents.c.life,
        versions.c.state,
        _hidden_by,
        versions.c.effective_from,
        versions.c.effective_to,
        versions.c.superseded,
        versions.c.trust,
        versions.c.pending_trust,
        *_SCOPE,
    )
    .select_from(versions)
    .join(documents, documents.c.id == versions.c.document)
    .join(scopes, scopes.c.id == documents.c.scope)
    .where(versions.c.name.in_(each("names")))
)
_DIGESTS = select(chunks.c.name, chunks.c.digest).where(chunks.c.name.in_(each("names")))
_CURRENT = select(documents.c.version).where(documents.c.name == bindparam("name"))
_SCOPES = select(*_SCOPE).where(scopes.c.id.in_(bindparam("ids", expanding=True)))

_WORST = (Trust.CLEAN, Trust.SUSPECT, Trust.QUARANTINED)


class SqlFacts:
    """Port `Facts`."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._expressions = Expressions()
        self._covers = Covers()

    async def satisfied(self, principals: frozenset[Principal], now: datetime) -> frozenset[ScopeId]:
        """The active, unexpired scopes whose every clause holds one of `principals`; one statement."""
        parameters = {"principals": listed(str(principal) for principal in principals), "now": now}

        def read(connection: Connection) -> frozenset[ScopeId]:
            return frozenset(ScopeId(row[0]) for row in connection.execute(_SATISFIED, parameters))

        return await self._door.look(read)

    async def cover(self, readers: Sequence[frozenset[Principal]], now: datetime) -> SearchScope | None:
        """The scopes that every one of `readers` satisfies, as a cover; None for none, or no readers."""
        return await self._door.look(lambda connection: self._covers.of(connection, readers, now))

    async def resources(self, versions: Sequence[tuple[DocumentId, str]]) -> Mapping[tuple[DocumentId, str], Resource]:
        """What is known of these versions. One statement reads all that can change; the expressions it names can't."""
        asked = {version_name(document, version): (document, version) for document, version in versions}
        if not asked:
            return {}

        def read(connection: Connection) -> Mapping[tuple[DocumentId, str], Resource]:
            rows = connection.execute(_RESOURCES, {"names": listed(asked)}).all()
            rules = self._expressions.by_id(connection, {row[10] for row in rows})
            return {asked[row[0]]: _resource(*asked[row[0]], row, rules) for row in rows}

        return await self._door.look(read, single=True)

    async def digests(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, frozenset[str]]:
        """The digests that each chunk may have right now; a chunk that may not be at all is missing."""
        asked = {str(chunk): chunk for chunk in ids}
        if not asked:
            return {}

        def read(connection: Connection) -> Mapping[ChunkId, frozenset[str]]:
            found: dict[ChunkId, set[str]] = {}
            for name, digest in connection.execute(_DIGESTS, {"names": listed(asked)}):
                found.setdefault(asked[name], set()).add(digest)
            return {chunk: frozenset(accepted) for chunk, accepted in found.items()}

        return await self._door.look(read, single=True)

    async def scopes(self, ids: Sequence[ScopeId]) -> Mapping[ScopeId, Scope]:
        """These scopes with their rules; an unknown one is missing."""
        wanted = sorted(set(ids))

        def read(connection: Connection) -> Mapping[ScopeId, Scope]:
            found: dict[ScopeId, Scope] = {}
            for start in range(0, len(wanted), 500):
                rows = connection.execute(_SCOPES, {"ids": wanted[start : start + 500]}).all()
                rules = self._expressions.by_id(connection, {row[1] for row in rows})
                found |= {ScopeId(row[0]): _scope(row, rules) for row in rows}
            return found

        return await self._door.look(read)

    async def current(self, document: DocumentId) -> Resource | None:
        """The published version that counts now, or the last one that did; None when there never was one."""
        version = await self._door.look(
            lambda connection: connection.execute(_CURRENT, {"name": str(document)}).scalar()
        )
        if not version:
            return None
        return (await self.resources([(document, version)])).get((document, version))

    async def expression(self, digest: str) -> Access | None:
        """The expression with this digest, whether or not a scope still has it; None when it was never stated."""
        return await self._door.look(lambda connection: self._expressions.by_digest(connection, digest))


def version_name(document: DocumentId, version: str) -> str:
    """How a version is written: the chunk's spine without its section."""
    return str(ChunkId(document, version, "-")).removesuffix("#-")


def _resource(document: DocumentId, version: str, row: Sequence[Any], rules: Mapping[int, Access]) -> Resource:
    _name, life, state, hidden_by, starts, ends, superseded, trust, pending, *scope = row
    stated = [Trust(word) for word in (trust, pending) if word]
    return Resource(
        document=document,
        version=version,
        scope=_scope(scope, rules),
        life=Life(life),
        current=state == "published",
        hidden_by=hidden_by,
        effective_from=starts,
        effective_to=ends,
        superseded=superseded,
        trust=max(stated, key=_WORST.index),
    )


def _scope(row: Sequence[Any], rules: Mapping[int, Access]) -> Scope:
    number, expression, reason, state, verified_at, lease = row
    access = rules.get(expression, Unknown("the ledger does not hold these rules"))
    if isinstance(access, Unknown) and reason:
        access = Unknown(reason)
    return Scope(ScopeId(number), access, ScopeState(state), verified_at, timedelta(microseconds=lease))
