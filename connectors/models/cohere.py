"""Cohere's API v2 over plain HTTP: vectors, relevance, and answers with citations.

What leaves: to the embedder, what was admitted, and questions; to the reranker, questions and cleared passages; to the
writer, a question and the bare texts of cleared passages. Why not the vendor's SDK is told in
docs/decisions/0005-hosted-models-over-plain-http.md. Nothing that comes back is believed before it was checked: counts,
indexes, numbers, and every citation against the very words it claims to stand on.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from connectors.errors import DoorError, Stop, Transient
from connectors.http import Answer, Limits, Site, refusal
from connectors.models.prompt import LONGEST, MOST_TOKENS, RULES, SEED, Said, Sheet, draft_of, located, version
from connectors.records import Draft, Evidence
from connectors.usage import Spent, Tell
from policies.clearance import Cleared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

DIMENSIONS: Mapping[str, int] = {
    "embed-v4.0": 1536,
    "embed-english-v3.0": 1024,
    "embed-multilingual-v3.0": 1024,
    "embed-english-light-v3.0": 384,
    "embed-multilingual-light-v3.0": 384,
}
"""What each model's vectors have when nothing is asked for; of others the setting says it."""

MOST_TEXTS = 96  # a call of embed may hold no more
_QUESTIONS_KEPT = 512  # vectors of recent questions
_CITATIONS = "FAST"  # known to every version of the interface; command-a-03-2025 takes only this one or none
_PATIENT = 5.0  # times as long may a sync wait as somebody who asks
_SHAPED = re.compile(r"embed-v(\d+)")  # from v4 on, a dimension may be asked for


def address(base_url: str) -> str:
    """The base URL without the version that people copy along: paths here name it."""
    return re.sub(r"/v[12]/?$", "", base_url)


@dataclass(frozen=True, slots=True, repr=False)
class Account:
    """Where Cohere is, the key for one purpose, and whom to tell what was spent."""

    site: Site
    key: str
    purpose: str
    tell: Tell
    setting: str = "FOOTNOTE_COHERE_API_KEY"  # where the key comes from

    async def ask(self, path: str, model: str, body: Mapping[str, Any], limits: Limits | None = None) -> _Reply:
        """Ask once and for all: the same text again does no harm but to the bill. Raises the DoorError family."""
        headers = {"Authorization": f"Bearer {self.key}"}
        try:
            answer = await self.site.request(
                "POST", path, json={"model": model, **body}, headers=headers, repeatable=True, limits=limits
            )
            if not answer.ok:
                raise refusal(answer, self.setting)
            content = answer.json()
            if not isinstance(content, dict):
                raise Transient(f"{self.site.name} answered in a shape that nobody knows")
        except DoorError:
            self.tell(Spent(self.purpose, model, {}, failed=True))
            raise
        usage = content.get("usage") if "usage" in content else content.get("meta")
        units = billed(usage)
        self.tell(Spent(self.purpose, model, units, retries=answer.attempts - 1))
        return _Reply(content, units, answer)


@dataclass(frozen=True, slots=True, repr=False)
class _Reply:
    content: Mapping[str, Any]
    units: Mapping[str, int]
    answer: Answer


def billed(usage: object) -> dict[str, int]:
    """Tokens and searches as the vendor bills them; what it does not say, or says as no count, is left out."""
    if not isinstance(usage, dict):
        return {}
    told: dict[str, object] = next(
        (usage[name] for name in ("billed_units", "tokens") if isinstance(usage.get(name), dict)), {}
    )
    counts = {name: _count(told.get(name)) for name in ("input_tokens", "output_tokens", "search_units")}
    return {name: count for name, count in counts.items() if count is not None}


def _count(value: object) -> int | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return int(value) if 0 <= value < 2**53 else None


class CohereEmbedder:
    """Implements `ports.Embedder`."""

    def __init__(self, account: Account, model: str, limits: Limits, dimensions: int | None = None) -> None:
        known = dimensions or DIMENSIONS.get(model)
        if known is None:
            raise Stop(f"nobody here knows how long the vectors of {model!r} are; set FOOTNOTE_COHERE_EMBED_DIMENSIONS")
        self._account = account
        self._name = model
        self._limits = limits
        self._dimensions = known
        self._questions: OrderedDict[str, Matrix] = OrderedDict()

    @property
    def model(self) -> str:
        """Vectors of two models are never compared; the index's identity holds this and the dimensions."""
        return f"cohere/{self._name}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def passages(self, texts: Sequence[str]) -> Matrix:
        """One unit vector a text, in order; equal texts are sent once. A sync has patience."""
        distinct = list(dict.fromkeys(texts))
        patient = replace(self._limits, whole=self._limits.whole * _PATIENT, attempts=6, longest_pause=60.0)
        vector_of: dict[str, Matrix] = {}
        for start in range(0, len(distinct), MOST_TEXTS):
            batch = distinct[start : start + MOST_TEXTS]
            vector_of |= zip(batch, await self._vectors(batch, "search_document", patient), strict=True)
        return np.asarray([vector_of[text] for text in texts], np.float32).reshape(-1, self._dimensions)

    async def question(self, text: str) -> Matrix:
        """The unit vector of a question; recent ones are remembered."""
        known = self._questions.get(text)
        if known is None:
            [known] = await self._vectors([text], "search_query", self._limits)
            known.setflags(write=False)
            self._questions[text] = known
        self._questions.move_to_end(text)
        while len(self._questions) > _QUESTIONS_KEPT:
            self._questions.popitem(last=False)
        return known

    async def ping(self) -> None:
        """Ask for one vector; raises the DoorError family when that can't be had."""
        await self._vectors(["ready?"], "search_query", self._limits)

    async def _vectors(self, texts: Sequence[str], input_type: str, limits: Limits) -> list[Matrix]:
        body: dict[str, Any] = {
            "texts": [text if text.strip() else "-" for text in texts],  # an empty one refuses the whole call
            "input_type": input_type,
            "embedding_types": ["float"],
            "truncate": "END",
        }
        generation = _SHAPED.match(self._name)
        if generation and int(generation[1]) >= 4:
            body["output_dimension"] = self._dimensions
        reply = await self._account.ask("v2/embed", self._name, body, limits)
        embeddings = reply.content.get("embeddings")
        rows = embeddings.get("float") if isinstance(embeddings, dict) else None
        if not isinstance(rows, list) or len(rows) != len(texts):
            raise Transient("cohere sent another number of vectors than it was sent texts")
        return [self._unit(row) for row in rows]

    def _unit(self, row: object) -> Matrix:
        if isinstance(row, list) and len(row) != self._dimensions:
            raise Stop(
                f"cohere's {self._name!r} makes vectors of {len(row)} numbers, not {self._dimensions}; "
                "set FOOTNOTE_COHERE_EMBED_DIMENSIONS to that and build the index anew"
            )
        if not isinstance(row, list) or not all(_is_part(x) for x in row):
            raise Transient("cohere sent a vector that is none")
        vector = np.asarray(row, np.float64)
        length = float(np.linalg.norm(vector))
        if length < 1e-9:
            raise Transient("cohere sent a vector without a direction")
        return np.asarray(vector / length, np.float32)


def _is_part(number: object) -> bool:
    """Whether a number can be one of a vector: finite, and no larger than any model makes."""
    return isinstance(number, int | float) and not isinstance(number, bool) and -1e6 < number < 1e6


class CohereReranker:
    """Implements `ports.Reranker`."""

    def __init__(self, account: Account, model: str, limits: Limits) -> None:
        self._account = account
        self._name = model
        self._limits = limits

    @property
    def model(self) -> str:
        return f"cohere/{self._name}"

    async def scores(self, question: str, passages: Sequence[Cleared[str]]) -> Sequence[float]:
        """One relevance score from 0 to 1 a passage, in order; equal texts are sent once."""
        texts = [passage.content for passage in passages]
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return []
        scores = dict(zip(distinct, await self._ranked(question, distinct), strict=True))
        return [scores[text] for text in texts]

    async def ping(self) -> None:
        """Rank a text that says nothing; raises the DoorError family when that can't be done."""
        await self._ranked("ready?", ["ready"])

    async def _ranked(self, question: str, texts: Sequence[str]) -> list[float]:
        body = {"query": question, "documents": [text if text.strip() else "-" for text in texts], "top_n": len(texts)}
        reply = await self._account.ask("v2/rerank", self._name, body, self._limits)
        results = reply.content.get("results")
        found: dict[int, float] = {}
        for result in results if isinstance(results, list) else ():
            table: dict[str, Any] = result if isinstance(result, dict) else {}
            index, score = table.get("index"), table.get("relevance_score")
            if not isinstance(index, int) or isinstance(index, bool) or index in found:
                raise Transient("cohere ranked a passage twice, or none")
            if not isinstance(score, int | float) or isinstance(score, bool) or not 0 <= score <= 1:
                raise Transient("cohere sent a relevance that is not between 0 and 1")
            found[index] = float(score)
        if found.keys() != set(range(len(texts))):
            raise Transient("cohere did not rank the passages that it was sent")
        return [found[index] for index in range(len(texts))]


class CohereWriter:
    """Implements `ports.Writer`."""

    prompt = version(RULES, _CITATIONS, str(MOST_TOKENS))

    def __init__(self, account: Account, model: str, limits: Limits) -> None:
        self._account = account
        self._name = model
        self._limits = limits

    @property
    def model(self) -> str:
        """Named in the trace."""
        return f"cohere/{self._name}"

    async def write(self, question: str, parts: Sequence[str], evidence: Sequence[Evidence]) -> Draft:
        """Have the question answered from the evidence. An answer that is cut short, refused or without a citation that
        can be verified is a draft that claims nothing."""
        sheet = Sheet.of(question, parts, evidence)
        if not sheet.passages:
            return Draft((), (), sheet.parts, self.model)
        reply = await self._account.ask("v2/chat", self._name, self._body(sheet), self._limits)
        finish = _ended(reply.content)
        said = _said(reply.content.get("message"), sheet) if finish == "COMPLETE" else []
        return replace(
            draft_of(said, sheet, self.model), usage=reply.units, finish=finish, request=_id(reply.content.get("id"))
        )

    async def ping(self) -> None:
        """Have one word written; raises the DoorError family when that can't be done."""
        body = {"messages": [{"role": "user", "content": "Say: ready"}], "max_tokens": 1, "temperature": 0}
        await self._account.ask("v2/chat", self._name, body, self._limits)

    def _body(self, sheet: Sheet) -> dict[str, Any]:
        return {
            "messages": [{"role": "system", "content": RULES}, {"role": "user", "content": sheet.asked()}],
            # All fields of `data` reach the model, so there is only one.
            "documents": [{"id": each.id, "data": {"text": each.text}} for each in sheet.passages],
            "citation_options": {"mode": _CITATIONS},
            "temperature": 0,
            "seed": SEED,
            "max_tokens": MOST_TOKENS,
            "stream": False,  # nothing is shown before all of it was checked
        }


_WITHOUT_ANSWER = frozenset({"COMPLETE", "STOP_SEQUENCE", "MAX_TOKENS", "TOOL_CALL", "ERROR_TOXIC", "ERROR_LIMIT"})


def _ended(content: Mapping[str, Any]) -> str:
    """Why the model stopped writing. Half an answer is none; a fault of the vendor's may pass."""
    finish = content.get("finish_reason")
    if isinstance(finish, str) and finish in _WITHOUT_ANSWER:
        return finish
    raise Transient("cohere did not finish its answer")


def _said(message: object, sheet: Sheet) -> list[Said]:
    """Sentences with the labels of the citations that verifiably lie within them."""
    if not isinstance(message, dict):
        return []
    blocks = _texts(message.get("content"))
    cited = list(_verified(message.get("citations"), blocks))
    said: list[Said] = []
    for number, text in blocks.items():
        for start, end, sentence in located(text):
            within = [c for c in cited if c.block == number and c.start < end and start < c.end]
            said.append(Said(sentence, tuple(sheet.label(id_) for c in within for id_ in c.ids)))
    return said


@dataclass(frozen=True, slots=True)
class _Cited:
    block: int
    start: int
    end: int
    ids: tuple[object, ...]


def _texts(content: object) -> dict[int, str]:
    """The blocks that are the answer, by their place: a model that thinks aloud does so in blocks of another type."""
    blocks = enumerate(content) if isinstance(content, list) else ()
    texts = {
        number: block["text"]
        for number, block in blocks
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    }
    return texts if sum(map(len, texts.values())) <= LONGEST else {}


def _verified(citations: object, blocks: Mapping[int, str]) -> list[_Cited]:
    """The citations whose words stand where they say. Others are dropped: nobody knows what they would prove."""
    found: list[_Cited] = []
    for citation in citations if isinstance(citations, list) else ():
        if not isinstance(citation, dict) or citation.get("type") not in ("TEXT_CONTENT", None):
            continue
        start, end, sources = citation.get("start"), citation.get("end"), citation.get("sources")
        block = citation.get("content_index")
        if block is None and len(blocks) == 1:
            block = next(iter(blocks))
        if type(start) is not int or type(end) is not int or type(block) is not int or not isinstance(sources, list):
            continue
        text = blocks.get(block, "")
        if not 0 <= start < end <= len(text) or text[start:end] != citation.get("text") or not text[start:end].strip():
            continue
        # What a source repeats of its document is not looked at; a tool is no document of ours.
        tables = [source for source in sources if isinstance(source, dict)]
        ids = [each.get("id") if each.get("type", "document") == "document" else None for each in tables]
        if ids:
            found.append(_Cited(block, start, end, tuple(ids)))
    return found


def _id(value: object) -> str:
    """The vendor's id of a request, where it is one."""
    return value if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9._:\-]{1,100}", value) else ""
