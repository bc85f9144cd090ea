"""Cohere's API v2 on this machine: embed, rerank and chat in the shapes of recorded exchanges, with their limits.

Vectors come from hashed words, relevance from shared words, and the answer is the sentences of the documents that share
most words with the question, with citations. Each can be replaced. What the reference refuses is refused.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from inspect import isawaitable
from typing import Any

from aiohttp import web

from connectors.sentences import sentences
from tests.doubles.vendor import Json, Refusal, Vendor

KEY = "co-test-key"
EMBED, RERANK, CHAT = "/v2/embed", "/v2/rerank", "/v2/chat"
_INPUTS = frozenset({"search_document", "search_query", "classification", "clustering", "image"})
_FIELDS: Mapping[str, frozenset[str]] = {
    EMBED: frozenset("model texts input_type embedding_types truncate output_dimension priority max_tokens".split()),
    RERANK: frozenset("model query documents top_n max_tokens_per_doc priority".split()),
    CHAT: frozenset(
        "model messages documents citation_options temperature seed max_tokens stream stop_sequences k p thinking "
        "safety_mode response_format frequency_penalty presence_penalty logprobs priority".split()
    ),
}
_FUNCTION_WORDS = frozenset(
    "a an the of to in on at by for with from as and or is are was be do does did it i my".split()
)


@dataclass(slots=True)
class Written:
    """An answer: its text, and the documents that pieces of it come from."""

    text: str
    cited: Sequence[tuple[str, Sequence[str]]] = ()  # a piece of the text, ids of documents
    finish: str = "COMPLETE"


class Cohere(Vendor):
    """The double. `keys`: purpose paths that want a key of their own."""

    paths = (EMBED, RERANK, CHAT)

    def __init__(self, dimensions: int = 1536) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.keys: dict[str, str] = {}
        self.embeds: Callable[[Sequence[str], str, int], Any] = hashed  # each of these may be awaited
        self.ranks: Callable[[str, Sequence[str]], Any] = overlap
        self.writes: Callable[[str, Sequence[Json]], Any] = quoting

    def calm(self) -> None:
        Vendor.calm(self)
        self.embeds, self.ranks, self.writes = hashed, overlap, quoting
        self.keys = {}

    def allowed(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != f"Bearer {self.keys.get(request.path, KEY)}":
            raise Refusal(401, "invalid api token")

    async def right(self, path: str, body: Json) -> Json:
        if unknown := body.keys() - _FIELDS[path]:
            raise Refusal(422, f"unknown field: {sorted(unknown)[0]}")
        if not body.get("model"):
            raise Refusal(400, "model is required")
        match path:
            case "/v2/embed":
                return await self._embedded(body)
            case "/v2/rerank":
                return await self._ranked(body)
            case _:
                return await self._written(body)

    async def _embedded(self, body: Json) -> Json:
        texts = body.get("texts")
        if not texts or len(texts) > 96:
            raise Refusal(400, "invalid request: total number of texts must be at most 96 and at least 1")
        if not all(isinstance(text, str) and text for text in texts):
            raise Refusal(400, "invalid request: texts must not be empty")
        if body.get("input_type") not in _INPUTS or body.get("embedding_types") != ["float"]:
            raise Refusal(400, "invalid request: input_type or embedding_types")
        asked = body.get("output_dimension")
        if asked is not None and "v3" in body["model"]:
            raise Refusal(400, "output_dimension is not supported by this model")
        vectors = await settled(self.embeds(texts, body["input_type"], asked or self.dimensions))
        return {
            "id": "5c8a4a5e-5b0f-4b7c-8f5d-2f4a9f1d1a01",
            "embeddings": {"float": vectors},
            "texts": texts,
            "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": _tokens(*texts)}},
            "response_type": "embeddings_by_type",
        }

    async def _ranked(self, body: Json) -> Json:
        documents = body.get("documents")
        if not documents or not body.get("query") or not all(isinstance(each, str) for each in documents):
            raise Refusal(400, "invalid request: query and documents")
        scores = await settled(self.ranks(body["query"], documents))
        results = [{"index": index, "relevance_score": score} for index, score in enumerate(scores)]
        results.sort(key=lambda each: -each["relevance_score"])
        return {
            "results": results[: body.get("top_n", len(results))],
            "id": "07734bd2-2473-4f07-94e1-0d9f0e6843cf",
            "meta": {
                "api_version": {"version": "2", "is_experimental": False},
                "billed_units": {"search_units": 1 + (len(documents) - 1) // 100},
            },
        }

    async def _written(self, body: Json) -> Json:
        messages = body.get("messages") or []
        if not messages or messages[-1]["role"] != "user":
            raise Refusal(400, "invalid request: the last message must be the user's")
        if "documents" in body and "safety_mode" in body:
            raise Refusal(400, "safety_mode is not configurable with documents")
        if (
            body.get("citation_options", {}).get("mode", "FAST") not in ("FAST", "OFF")
            and "command-a-03" in body["model"]
        ):
            raise Refusal(400, "this citation mode is not supported by this model")
        documents = body.get("documents") or []
        written = await settled(self.writes(messages[-1]["content"], documents))
        spent = {
            "input_tokens": _tokens(
                *[each["content"] for each in messages], *[each["data"]["text"] for each in documents]
            ),
            "output_tokens": _tokens(written.text),
        }
        return {
            "id": "c14c80c3-18eb-4519-9460-6c92edd8cfb4",
            "finish_reason": written.finish,
            "message": {
                "role": "assistant",
                "content": [{"type": "text", "text": written.text}],
                **({"citations": cited} if (cited := _citations(written, documents)) else {}),
            },
            "usage": {"billed_units": spent, "tokens": {**spent, "input_tokens": spent["input_tokens"] + 500}},
        }


async def settled(value: Any) -> Any:
    """The value, waited for where it has to be."""
    return await value if isawaitable(value) else value


def _citations(written: Written, documents: Sequence[Json]) -> list[Json]:
    known = {document["id"]: document["data"] for document in documents}
    found = []
    for piece, ids in written.cited:
        start = written.text.index(piece)
        sources = [{"type": "document", "id": id_, "document": {"id": id_, **known.get(id_, {})}} for id_ in ids]
        found.append(
            {
                "start": start,
                "end": start + len(piece),
                "text": piece,
                "sources": sources,
                "type": "TEXT_CONTENT",
                "content_index": 0,
            }
        )
    return found


def words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if word not in _FUNCTION_WORDS}


def overlap(query: str, documents: Sequence[str]) -> list[float]:
    """The share of a question's words that a text has."""
    asked = words(query)
    return [round(len(asked & words(document)) / max(1, len(asked)), 6) for document in documents]


def hashed(texts: Sequence[str], _input_type: str, dimensions: int) -> list[list[float]]:
    """Equal words are near, on every machine."""
    vectors = []
    for text in texts:
        vector = [0.0] * dimensions
        vector[0] = 0.01
        for word in words(text):
            number = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big")
            vector[number % dimensions] += 1.0 if number >> 63 else -1.0
        vectors.append(vector)
    return vectors


def quoting(question: str, documents: Sequence[Json]) -> Written:
    """The two sentences that share most words with the question, if they share any."""
    found: list[tuple[float, str, str]] = []
    for document in documents:
        said = sentences(document["data"]["text"])
        found += [(overlap(question, [each])[0], each, document["id"]) for each in said]
    best = [each for each in sorted(found, key=lambda each: -each[0])[:2] if each[0] >= 0.3]
    if not best:
        return Written("NO ANSWER")
    return Written(" ".join(each[1] for each in best), [(sentence, [id_]) for _, sentence, id_ in best])


class Local:
    """The product's own local models in the place of Cohere's, so that answers on the sample tenant make sense."""

    def __init__(self) -> None:
        from connectors.models.local import LocalEmbedder, LocalReranker

        self._embedder, self._reranker = LocalEmbedder(), LocalReranker()

    def behind(self, double: Cohere) -> None:
        """Let the double compute with these."""
        double.embeds, double.ranks, double.writes = self.embeds, self.ranks, self.writes

    async def embeds(self, texts: Sequence[str], input_type: str, dimensions: int) -> list[list[float]]:
        if input_type == "search_query":
            vectors = [await self._embedder.question(text) for text in texts]
        else:
            vectors = list(await self._embedder.passages(texts))
        return [[*map(float, vector), *[0.0] * (dimensions - len(vector))] for vector in vectors]

    async def ranks(self, query: str, documents: Sequence[str]) -> list[float]:
        return [float(score) for score in await self._reranker.scores(query, [_Text(text) for text in documents])]

    async def writes(self, question: str, documents: Sequence[Json]) -> Written:
        """The three sentences that answer best, in the documents' words."""
        pieces = [
            (sentence, document["id"]) for document in documents for sentence in sentences(document["data"]["text"])
        ]
        scores = await self.ranks(question, [sentence for sentence, _ in pieces])
        best = [piece for score, piece in sorted(zip(scores, pieces, strict=True), reverse=True)[:3] if score >= 0.3]
        unique = dict(best)
        if not unique:
            return Written("NO ANSWER")
        return Written("\n".join(unique), [(sentence, [id_]) for sentence, id_ in unique.items()])


@dataclass(frozen=True, slots=True)
class _Text:
    content: str  # all that the local reranker looks at


def _tokens(*texts: Any) -> int:
    return sum(len(str(text).split()) for text in texts)


async def _serve_until_killed() -> None:
    double = Cohere()
    Local().behind(double)
    async with double.open() as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":  # for commands in processes of their own: its address is the first line it writes
    asyncio.run(_serve_until_killed())
