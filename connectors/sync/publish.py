"""How the ledger and the index change together: close before you clean, open after you have written.

Every step is durable before the next begins and safe to repeat, so that a kill between any two leaves nothing exposed
and the next run goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from connectors.ports import Catalog, Index
from connectors.records import Entry, SourceDocument
from policies.facts import Trust
from policies.names import ContainerId, DocumentId, ScopeId

MOVING = "~moving"  # an ancestor that no source has: the ledger has moved the document, the index may not have yet


async def publish(
    document: SourceDocument,
    scope: ScopeId,
    containers: tuple[ContainerId, ...],
    entries: Sequence[Entry],
    trust: Trust,
    facts_digest: str,
    now: datetime,
    catalog: Catalog,
    index: Index,
) -> None:
    """Make `entries` what the document says: 1. its digests are accepted, 2. it is written, 3. versions that stay for
    their own time stand where it stands, 4. it is current, 5. what it replaces is cleaned away."""
    await catalog.announce(document, scope, [entry.chunk for entry in entries], trust)
    await index.put(entries)
    await index.repoint(document.id, scope, document.ancestors, containers)
    keep = await catalog.publish(document, facts_digest, now)
    await index.retire(document.id, keep)
    await catalog.retired(document.id)


async def move(
    document: DocumentId, scope: ScopeId, root: str, ancestors: tuple[str, ...], catalog: Catalog, index: Index
) -> None:
    """Stand a document under another scope: 1. verdicts follow it at once, 2. searches do, 3. the move is over.

    Until the last step the ledger remembers ancestors that the source does not state, so the next run moves it again.
    """
    await catalog.place(document, scope, root, (*ancestors, MOVING))
    await index.repoint(document, scope, ancestors, await catalog.containers_of(scope))
    await catalog.place(document, scope, root, ancestors)


async def bury(document: DocumentId, reason: str, now: datetime, catalog: Catalog, index: Index) -> None:
    """The document is gone: 1. no verdict allows it, 2. the index forgets it."""
    await catalog.entomb(document, reason, now)
    await index.retire(document, frozenset())
    await catalog.retired(document)
