"""Entries as objects of Weaviate, and objects as candidates. What is given back is kept as one JSON text.

An object's id is the chunk's spine, its last 48 bits replaced by the number of the writing that it belongs to: two
writings of one chunk stand beside each other until the version's head says which counts, and ids sort as spines do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4, uuid5

from weaviate.classes.data import DataObject

from connectors.errors import Stop
from connectors.index.lexical import passage_words
from connectors.ports import Stored
from connectors.records import Candidate, Entry, Form, Passage, Ranks
from policies.clearance import Sealed
from policies.facts import Trust
from policies.names import ChunkId, ContainerId, DocumentId, ScopeId
from policies.predicate import OPEN_END, OPEN_START, attributes

Properties = Mapping[str, Any]

_HEADS = UUID("2b6f0a3e-8c55-5f0d-9d42-5e0c1f5b7a90")
_GENERATIONS = 2**48
TRUST = (Trust.CLEAN, Trust.SUSPECT, Trust.QUARANTINED)
SHOWN = ("head", "body")
"""The properties that a candidate is made of: few, since the client takes longer over a property than over a text."""


@dataclass(frozen=True, slots=True)
class Held:
    """An object as it was read: enough to tell whether its writing counts, and to make a candidate of it."""

    id: UUID
    head: UUID
    properties: Properties

    @property
    def generation(self) -> int:
        return self.id.int % _GENERATIONS

    @property
    def order(self) -> int:
        """What ties are settled by."""
        return self.id.int


def new_generation() -> int:
    """A number that no writing had before."""
    return uuid4().int % (_GENERATIONS - 1) + 1


def object_id(spine: UUID, generation: int) -> UUID:
    """The id of a chunk's object of one writing."""
    return UUID(int=spine.int - spine.int % _GENERATIONS + generation)


def written_document(document: DocumentId) -> str:
    """The document as it is compared."""
    return str(document)


def written_source(source: str) -> str:
    """The source as it is compared."""
    return _ascii(source)


def written_version(version: str) -> str:
    """The version as it is compared."""
    return _ascii(version)


def written_parent(parent: str) -> str:
    """The section as it is compared."""
    return _ascii(parent)


def edition(document: DocumentId, version: str) -> str:
    """One version of one document as it is compared."""
    return f"{document}@{_ascii(version)}"


def head_id(document: DocumentId, version: str) -> UUID:
    """The id of the head of one version of one document."""
    return uuid5(_HEADS, edition(document, version))


def head_of(document: DocumentId, version: str, generation: int) -> DataObject[Any, Any]:
    """The head that makes a writing count."""
    properties = {"edition": edition(document, version), "generation": generation}
    return DataObject(uuid=head_id(document, version), properties=properties)


def place(scope: ScopeId, ancestors: Sequence[str], containers: Sequence[ContainerId]) -> dict[str, Any]:
    """Where an object stands, and the digest of it."""
    if int(float(scope)) != scope:
        raise Stop(f"scope {scope} is too large a number for weaviate to keep exactly")
    text = json.dumps([scope, list(ancestors), list(containers)])
    return {
        "scope": scope,
        "containers": [str(each) for each in containers],
        "ancestors": json.dumps(list(ancestors)),
        "place": sha256(text.encode()).hexdigest(),
    }


def written(entry: Entry, generation: int) -> DataObject[Any, Any]:
    """An entry as an object of one writing."""
    chunk, kept = entry.chunk, entry.chunk.attributes
    document, version = chunk.id.document, chunk.id.version
    facts = attributes(entry.scope, kept.effective_from, kept.effective_to, kept.superseded, entry.trust)
    properties = {
        **facts,
        **place(entry.scope, entry.ancestors, entry.containers),
        "source": written_source(document.source),
        "document": written_document(document),
        "version": written_version(version),
        "edition": edition(document, version),
        "spine": chunk.id.uuid,
        "head": head_id(document, version),
        "generation": generation,
        "parent": written_parent(chunk.parent),
        "digest": chunk.digest,
        "vector_key": chunk.vector_key,
        "words": " ".join(passage_words(chunk.header, chunk.text)),
        "codes": list(chunk.codes),
        "chunk": str(chunk.id),
        "body": _body(entry, facts),
    }
    vector = [float(number) for number in entry.vector]
    return DataObject(uuid=object_id(chunk.id.uuid, generation), properties=properties, vector=vector)


def candidate(held: Held, ranks: Ranks, score: float) -> Candidate:
    """What a search gives back of an object, its passage sealed."""
    body = json.loads(held.properties["body"])
    chunk = ChunkId.parse(body["chunk"])
    return Candidate(
        id=chunk,
        passage=Sealed(chunk.document, chunk.version, _passage(body)),
        digest=body["digest"],
        parent=body["parent"],
        ordinal=body["ordinal"],
        ranks=ranks,
        score=score,
        trust=TRUST[body["trust"]],
    )


def stored(properties: Properties, found: bool) -> Stored:
    """What an index tells of an object for comparing it with the ledger."""
    return Stored(
        ChunkId.parse(properties["chunk"]),
        ScopeId(int(properties["scope"])),
        properties["digest"],
        TRUST[int(properties["trust"])],
        tuple(ContainerId(int(each)) for each in properties.get("containers") or ()),
        found,
    )


def _body(entry: Entry, facts: Mapping[str, int]) -> str:
    chunk, kept = entry.chunk, entry.chunk.attributes
    body = {
        "chunk": str(chunk.id),
        "digest": chunk.digest,
        **{name: facts[name] for name in ("trust", "effective_from", "effective_to", "superseded")},
        "text": chunk.text,
        "lead": chunk.lead,  # embedded above the text
        "header": chunk.header,
        "heading_path": chunk.heading_path,
        "parent": chunk.parent,
        "ordinal": chunk.ordinal,
        "title": kept.title,
        "url": kept.url,
        "page": chunk.page,
        "form": chunk.form.value,
        "owner": kept.owner,
        "labels": kept.labels,
    }
    text = json.dumps(body, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, as file names can have
        return json.dumps(body)
    return text


def _passage(body: Mapping[str, Any]) -> Passage:
    begins, ends = body["effective_from"], body["effective_to"]
    return Passage(
        text=body["text"],
        header=body["header"],
        heading_path=tuple(body["heading_path"]),
        title=body["title"],
        url=body["url"],
        page=body["page"],
        form=Form(body["form"]),
        effective_from=None if begins == OPEN_START else date.fromordinal(begins),
        effective_to=None if ends == OPEN_END else date.fromordinal(ends),
        superseded=bool(body["superseded"]),
        owner=body["owner"],
        labels=tuple(body["labels"]),
    )


def _ascii(text: str) -> str:
    return quote(text, safe="/-._~+(),", errors="surrogatepass")
