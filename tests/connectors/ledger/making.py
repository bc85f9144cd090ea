"""Rules, documents and chunks for the ledger's tests, with the parts that a test does not care about filled in."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from connectors.ledger.open import Ledger
from connectors.records import Attributes, Chunk, Form, ScopeRules, SourceDocument
from policies.access import Access, AccessExpr
from policies.facts import ScopeState, Trust
from policies.names import ChunkId, DocumentId, Principal, ScopeId

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HR, FINANCE, LEGAL = Principal.group("hr"), Principal.group("finance"), Principal.group("legal")


async def _no_body() -> bytes:
    return b""


def rules(
    root: str = "hr",
    access: Access | None = None,
    *,
    source: str = "wiki",
    state: ScopeState = ScopeState.ACTIVE,
    verified_at: datetime = NOW,
    lease: timedelta = timedelta(hours=24),
    containers: tuple[str, ...] = (),
) -> ScopeRules:
    return ScopeRules(source, root, access or AccessExpr.any_of(HR), state, verified_at, lease, containers)


def page(
    key: str = "pay.md",
    version: str = "v1",
    *,
    source: str = "wiki",
    revision: str | None = None,
    root: str = "hr",
    ancestors: tuple[str, ...] = ("home",),
    effective_from: date | None = None,
    effective_to: date | None = None,
    status: str = "current",
) -> SourceDocument:
    return SourceDocument(
        id=DocumentId(source, key),
        version=version,
        revision=revision or f"of {version}",
        title="Pay",
        url="https://wiki.example/pay",
        media_type="text/markdown",
        scope_root=root,
        read=_no_body,
        ancestors=ancestors,
        effective_from=effective_from,
        effective_to=effective_to,
        status=status,
    )


def passages(document: SourceDocument, *digests: str) -> list[Chunk]:
    attributes = Attributes(document.title, document.url, None, None, False, None, ())
    return [
        Chunk(
            id=ChunkId(document.id, document.version, f"s{number}"),
            parent="top",
            ordinal=number,
            heading_path=(),
            text="",
            lead="",
            header="",
            codes=(),
            page=None,
            form=Form.TEXT,
            digest=digest,
            vector_key=digest,
            attributes=attributes,
        )
        for number, digest in enumerate(digests or ("one", "two"))
    ]


async def published(
    ledger: Ledger,
    document: SourceDocument,
    scope: ScopeId,
    *digests: str,
    now: datetime = NOW,
    trust: Trust = Trust.CLEAN,
) -> frozenset[str]:
    """Announce and publish, as a sync does around writing the index; returns the versions to keep."""
    await ledger.catalog.announce(document, scope, passages(document, *digests), trust)
    return await ledger.catalog.publish(document, "facts", now)
