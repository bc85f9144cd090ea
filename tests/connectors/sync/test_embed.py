"""Text that was embedded before is not embedded again."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from connectors.errors import Stop
from connectors.records import Block, Chunk, Entry, Form, ParsedRecord, SourceDocument
from connectors.sync.chunk import chunk
from connectors.sync.embed import BATCH, embed, embedded_text
from policies.facts import Trust
from policies.names import DocumentId, ScopeId
from tests.memory import HashingEmbedder, MemoryIndex


async def _body() -> bytes:
    return b""


DOCUMENT = SourceDocument(DocumentId("s", "a.md"), "v1", "0" * 64, "A", "u", "text/plain", ".", _body)


def chunks(*texts: str, document: SourceDocument = DOCUMENT) -> tuple[Chunk, ...]:
    blocks = tuple(Block(Form.TEXT, (f"H{n}",), text) for n, text in enumerate(texts))
    return chunk(ParsedRecord(None, blocks), document)


async def test_a_vector_stands_for_where_a_passage_stands_and_what_it_says() -> None:
    (passage,) = chunks("Thirty days.")
    embedder = HashingEmbedder()

    embedded = await embed([passage], MemoryIndex(), embedder)

    assert embedder.embedded == ["A › H0\nThirty days."] == [embedded_text(passage)]
    assert embedded.made == 1


async def test_what_the_index_holds_is_used_again() -> None:
    old, new = chunks("Thirty days.", "Sixty days.")
    index, embedder = MemoryIndex(), HashingEmbedder()
    first = await embed([old], index, embedder)
    await index.put([Entry(old, first.vectors[0], embedder.model, ScopeId(1), (), Trust.CLEAN)])

    embedded = await embed([new, old], index, embedder)

    assert embedded.made == 1
    assert (embedded.vectors[1] == first.vectors[0]).all()


async def test_a_new_version_embeds_only_what_it_says_otherwise() -> None:
    index, embedder = MemoryIndex(), HashingEmbedder()
    for each in (old := chunks("Thirty days.", "By train.")):
        vector = (await embed([each], index, embedder)).vectors[0]
        await index.put([Entry(each, vector, embedder.model, ScopeId(1), (), Trust.CLEAN)])
    later = replace(DOCUMENT, version="v2", effective_from=date(2026, 7, 1))
    new = chunks("Sixty days.", "By train.", document=later)

    embedded = await embed(new, index, embedder)

    assert embedded.made == 1
    assert (new[1].header, new[1].digest) != (old[1].header, old[1].digest)


async def test_equal_texts_of_one_document_are_embedded_once() -> None:
    (passage,) = chunks("Thirty days.")
    twin = replace(passage, ordinal=1)

    embedded = await embed([passage, twin], MemoryIndex(), HashingEmbedder())

    assert (embedded.made, len(embedded.vectors)) == (1, 2)


async def test_many_passages_are_sent_in_batches_and_come_back_in_order() -> None:
    many = chunks(*(f"Text {n}." for n in range(2 * BATCH + 3)))
    embedder = HashingEmbedder()

    embedded = await embed(many, MemoryIndex(), embedder)

    alone = [(await embedder.question(embedded_text(each))).tolist() for each in many]
    assert [vector.tolist() for vector in embedded.vectors] == alone


async def test_vectors_of_another_model_are_refused() -> None:
    with pytest.raises(Stop, match="same model"):
        await embed(chunks("Thirty days."), MemoryIndex(), HashingEmbedder(model="other/1"))
