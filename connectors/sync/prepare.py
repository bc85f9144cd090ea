"""One document from its source to entries that are ready to be written: read, parse, cut, judge, embed.

Touches neither the ledger nor what the index shows, so that several documents can be prepared at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from connectors.errors import Skip, Stop, Transient
from connectors.ports import Detector, Embedder, Index, Parser
from connectors.records import Entry, SourceDocument
from connectors.sync.admit import Admitted, judge, refusal, without_secrets
from connectors.sync.chunk import chunk, title_of
from connectors.sync.embed import embed
from policies.facts import Trust
from policies.names import ContainerId, ScopeId

if TYPE_CHECKING:
    from connectors.records import Vector

CUTTING = "chunk/2"  # raised when passages are cut differently, so that every document is cut again
MOST_PASSAGES = 20_000  # of one document


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document whose passages were admitted and have vectors."""

    document: SourceDocument  # with the title that it turned out to have
    admitted: tuple[Admitted, ...]
    vectors: tuple[Vector, ...]
    model: str
    trust: Trust
    embedded: int  # how many vectors were made now
    notices: tuple[str, ...]

    def entries(self, scope: ScopeId, containers: tuple[ContainerId, ...]) -> list[Entry]:
        """What the index is to hold of it under a scope that stands in these containers."""
        return [
            Entry(each.chunk, vector, self.model, scope, self.document.ancestors, each.trust, containers)
            for each, vector in zip(self.admitted, self.vectors, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Refused:
    """A document that can't be used now; `again`: for a reason that may pass. `alone`: that is about it alone, and
    means nothing for others."""

    reason: str
    again: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Halted:
    """Nothing can be prepared until a person acts."""

    error: Stop


def facts_digest(document: SourceDocument) -> str:
    """What of a document besides its content reaches its passages: another digest means they are written again."""
    facts = (
        CUTTING,
        document.title,
        document.url,
        document.media_type,
        document.effective_from,
        document.effective_to,
        document.status,
        document.owner,
        document.labels,
    )
    return sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()


async def prepare(
    document: SourceDocument, parser: Parser, detector: Detector, index: Index, embedder: Embedder
) -> Prepared | Refused | Halted:
    """Everything up to the writing; whatever goes wrong with one document is its outcome, never an exception."""
    try:
        return await _prepare(document, parser, detector, index, embedder)
    except Skip as error:
        return Refused(str(error), again=error.passing, alone=True)
    except Transient as error:
        return Refused(f"{error}; tried again at the next sync", again=True)
    except Stop as error:
        return Halted(error)
    except Exception as error:  # the task boundary: one document that trips a parser or cutter must not stop the others
        return Refused(f"it could not be read: unexpected {type(error).__name__}")


async def _prepare(
    document: SourceDocument, parser: Parser, detector: Detector, index: Index, embedder: Embedder
) -> Prepared | Refused:
    refused = refusal(document)
    if refused:
        return Refused(refused)
    parsed = await parser.parse(await document.read(), document.media_type, document.id.key)
    record, secrets = without_secrets(parsed)
    document = replace(document, title=title_of(record, document))
    chunks = chunk(record, document)
    if not chunks:
        return Refused("; ".join(("it holds no text", *record.notices)))
    if len(chunks) > MOST_PASSAGES:
        return Refused(f"it would be {len(chunks):,} passages; split it below {MOST_PASSAGES:,}")
    judged = await judge(chunks, record.removals, detector)
    notices = (*record.notices, *judged.notices, *([f"{secrets} secrets were taken out"] if secrets else []))
    if not judged.admitted:
        return Refused("; ".join(("it is quarantined", *judged.notices)))
    embedded = await embed([each.chunk for each in judged.admitted], index, embedder)
    return Prepared(
        document, judged.admitted, embedded.vectors, embedder.model, judged.trust, embedded.made, tuple(notices)
    )
