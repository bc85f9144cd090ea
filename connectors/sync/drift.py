"""Ledger and index compared both ways, passage by passage, and what is needed to make them one again.

The ledger is right. What an index has beyond it is removed, what stands elsewhere is moved; what is missing or says
something else can only be read again at its source, and is marked so that the next sync does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connectors.ports import Catalog, Holdings, Index
from policies.names import ChunkId, DocumentId, ScopeId

_NAMED = 20  # passages named in a report


@dataclass(slots=True)
class Drift:
    """How an index differs from the ledger in one source. A document that is on its way in is not counted."""

    source: str
    expected: int = 0
    held: int = 0
    missing: list[ChunkId] = field(default_factory=list)
    extra: list[ChunkId] = field(default_factory=list)
    wrong_scope: list[ChunkId] = field(default_factory=list)
    wrong_text: list[ChunkId] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.wrong_scope or self.wrong_text)

    def counts(self) -> Mapping[str, int]:
        """How many of each."""
        return {
            "missing": len(self.missing),
            "extra": len(self.extra),
            "wrong_scope": len(self.wrong_scope),
            "wrong_text": len(self.wrong_text),
        }

    def examples(self) -> list[str]:
        """Some of them by name."""
        found = [*self.missing, *self.extra, *self.wrong_scope, *self.wrong_text]
        return [str(chunk) for chunk in dict.fromkeys(found)][:_NAMED]


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair did: documents."""

    removed: int
    moved: int
    to_read_again: int


async def compare(source: str, holdings: Holdings, catalog: Catalog, index: Index) -> Drift:
    """Everything that the index holds of a source beside everything that it ought to."""
    drift = Drift(source)
    wanted = {each.id: each async for each in holdings.expected(source)}
    moving = {each.id.document for each in wanted.values() if each.on_its_way}
    moving |= {document for document, _ in await catalog.unretired(source)}
    containers = {scope: await catalog.containers_of(scope) for scope in {each.scope for each in wanted.values()}}
    seen: set[ChunkId] = set()
    async for stored in index.stored(source):
        drift.held += 1
        if stored.id.document in moving:
            continue
        if not stored.found:
            drift.extra.append(stored.id)
            continue
        expected = wanted.get(stored.id)
        if expected is None or stored.id in seen:
            drift.extra.append(stored.id)
        elif stored.digest != expected.digest:
            drift.wrong_text.append(stored.id)
        elif (stored.scope, stored.containers) != (expected.scope, containers[expected.scope]):
            drift.wrong_scope.append(stored.id)
        seen.add(stored.id)
    settled = [each.id for each in wanted.values() if each.id.document not in moving]
    drift.expected = len(wanted)
    drift.missing = sorted(chunk for chunk in settled if chunk not in seen)
    return drift


async def repair(drift: Drift, holdings: Holdings, catalog: Catalog, index: Index) -> Repaired:
    """Remove what is beyond the ledger, move what stands elsewhere, take out the versions that are damaged. The current
    one of those is read again by the next whole walk of its source; an earlier one can't be, and is given up."""
    versions: dict[DocumentId, set[str]] = {}
    scopes: dict[DocumentId, ScopeId] = {}
    wanted: set[ChunkId] = set()
    async for each in holdings.expected(drift.source):
        wanted.add(each.id)
        versions.setdefault(each.id.document, set()).add(each.id.version)
        scopes[each.id.document] = each.scope
    damaged: dict[DocumentId, set[str]] = {}
    for chunk in (*drift.missing, *drift.wrong_text, *drift.extra):
        # A passage too many can't be taken out of a version alone: the version is as good as damaged.
        if chunk.version in versions.get(chunk.document, ()):
            damaged.setdefault(chunk.document, set()).add(chunk.version)
    strangers = {chunk.document for chunk in drift.extra} - damaged.keys()
    again = 0
    for document in sorted(damaged.keys() | strangers):
        lost = frozenset(damaged.get(document, ()))
        again += bool(lost) and await holdings.give_up(document, lost)  # closed before it is cleaned
        await index.retire(document, frozenset(versions.get(document, set()) - lost))
    misplaced = {chunk.document for chunk in drift.wrong_scope} - damaged.keys()
    for document in sorted(misplaced):
        known, scope = await catalog.known(document), scopes[document]
        await index.repoint(document, scope, known.ancestors if known else (), await catalog.containers_of(scope))
    return Repaired(len(strangers) + len(damaged) - again, len(misplaced), again)
