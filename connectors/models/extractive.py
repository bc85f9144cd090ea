"""A writer without a language model: it quotes the sentences that answer and names the passage each stands in.

What it says is verbatim by construction, so it can neither invent nor miscite; what it can do wrong is quote a
sentence that does not answer. Sentences are read together with the question by the reranker. A rule takes its
exceptions along.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from connectors.ports import Reranker
from connectors.records import Claim, Draft, Evidence, Form, Passage
from connectors.sentences import sentences
from policies.clearance import Cleared
from policies.grounding import about_another, conditions, coverage

_MOST_READ = 32  # sentences that the reranker reads an answer
_MOST_CLAIMS = 4  # a part
_FOLLOWS_ON = re.compile(
    r"(?:exceptions?\b|except\b|however\b|unless\b|but\b|otherwise\b|provided\b|this (?:does not|doesn't|applies)\b|"
    r"these (?:do not|apply)\b|the (?:deadline|limit|rule|period) (?:extends|does not)\b|in that case\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Relevance, 0 to 1, as the reranker scores a question and a sentence; calibrated, docs/decisions."""

    answers: float  # the best sentence of a part must reach it, or the part is unanswered
    supports: float  # a further sentence must reach it to be said as well


@dataclass(frozen=True, slots=True)
class _Sentence:
    label: str
    where: str  # the passage's header
    passage: Cleared[str]
    follow_on: str  # what must be said with it
    relevance: float = 0.0

    @property
    def said(self) -> str:
        return f"{self.passage.content} {self.follow_on}".strip()


class ExtractiveWriter:
    """Implements `ports.Writer`."""

    def __init__(self, reranker: Reranker, thresholds: Thresholds) -> None:
        self._reranker = reranker
        self.thresholds = thresholds

    @property
    def model(self) -> str:
        """Named in the trace."""
        return f"extractive/1 over {self._reranker.model}"

    async def write(self, question: str, parts: Sequence[str], evidence: Sequence[Evidence]) -> Draft:
        """Quote at most four sentences for each part."""
        claims: list[Claim] = []
        unanswered: list[str] = []
        budget = _MOST_READ // max(1, len(parts))
        candidates = [sentence for each in evidence for sentence in _cut(each)]
        for part in parts:
            chosen = await self._choose(part, candidates, budget)
            if not chosen:
                unanswered.append(part)
            claims += [Claim(each.said, (each.label,)) for each in chosen]
        unique = tuple(dict.fromkeys(claims))
        return Draft(unique, _unseen(question, unique), tuple(unanswered), self.model, {})

    async def _choose(self, part: str, candidates: Sequence[_Sentence], budget: int) -> list[_Sentence]:
        likely = sorted(candidates, key=lambda each: -coverage(part, each.said))[:budget]
        read = [each for each in candidates if each in likely]
        scores = await self._reranker.scores(part, [each.passage for each in read]) if read else []
        scored = [replace(each, relevance=score) for each, score in zip(read, scores, strict=True)]
        scored.sort(key=lambda each: -each.relevance)
        # What speaks of another than the question does may be said as well, but it is no answer.
        leads = (each.relevance for each in scored if not about_another(part, f"{each.where} {each.said}"))
        if next(leads, 0.0) < self.thresholds.answers:
            return []
        return _distinct([each for each in scored if each.relevance >= self.thresholds.supports])[:_MOST_CLAIMS]


def _cut(evidence: Evidence) -> list[_Sentence]:
    passage, where = evidence.passage, evidence.passage.content.header
    if passage.content.form is Form.CODE:
        return [_Sentence(evidence.label, where, passage.map(lambda whole: whole.text), "")]
    said = sentences(passage.content.text)
    cut: list[_Sentence] = []
    for number, sentence in enumerate(said):
        if _FOLLOWS_ON.match(sentence) and number:
            continue
        following = said[number + 1] if number + 1 < len(said) and _FOLLOWS_ON.match(said[number + 1]) else ""
        cut.append(_Sentence(evidence.label, where, passage.map(_just(sentence)), following))
    return cut


def _just(sentence: str) -> Callable[[Passage], str]:
    return lambda _: sentence


def _distinct(chosen: Sequence[_Sentence]) -> list[_Sentence]:
    kept: list[_Sentence] = []
    for each in chosen:
        if all(coverage(each.said, other.said) < 0.85 for other in kept):
            kept.append(each)
    return kept


def _unseen(question: str, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Conditions that the claims depend on and the question says nothing of."""
    found = [condition for claim in claims for condition in conditions(claim.text)]
    return tuple(dict.fromkeys(each for each in found if coverage(each, question) < 0.5))
