"""A writer without a language model: it quotes the sentences that answer and names the passage each stands in.

What it says is verbatim by construction, so it can neither invent nor miscite; what it can do wrong is quote a
sentence that does not answer. Sentences are read together with the question by the reranker. A rule takes its
exceptions along.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log

from connectors.codes import codes_of
from connectors.ports import Reranker
from connectors.records import Claim, Draft, Evidence, Form
from connectors.sentences import sentences
from policies.clearance import Cleared
from policies.grounding import about_another, conditions, coverage

_MOST_READ = 32  # sentences that the reranker reads an answer
_MOST_CLAIMS = 4  # a part
_TINY = 1e-5  # keeps log-odds finite
_FOLLOWS_ON = re.compile(
    r"(?:exceptions?\b|except\b|however\b|unless\b|but\b|otherwise\b|provided\b|this (?:does not|doesn't|applies)\b|"
    r"these (?:do not|apply)\b|the (?:deadline|limit|rule|period) (?:extends|does not)\b|in that case\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Relevance, 0 to 1, of a sentence and of the passage it stands in, averaged as log-odds.

    Calibrated on the golden set: docs/decisions/0004-when-to-answer.md."""

    answers: float  # the best sentence of a part must reach it, or the part is unanswered
    supports: float  # a further sentence must reach it to be said as well


@dataclass(frozen=True, slots=True)
class _Sentence:
    label: str
    around: Evidence  # the passage it stands in
    read: Cleared[str]  # the sentence alone, as the reranker reads it
    text: str
    follow_on: str  # what must be said with it
    relevance: float = 0.0

    @property
    def said(self) -> str:
        return f"{self.text} {self.follow_on}".strip()

    def answers(self, part: str, codes: frozenset[str]) -> bool:
        """Whether it can be the answer: it speaks of what is asked about, and of a code where one is asked about."""
        passage = self.around.passage.content
        named = not codes or bool(codes & set(codes_of(f"{passage.header} {passage.text}")))
        return named and not about_another(part, f"{passage.header} {self.said}")


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
        scores = await self._reranker.scores(part, [each.read for each in read]) if read else []
        scored = [
            replace(each, relevance=_together(score, each.around.relevance))
            for each, score in zip(read, scores, strict=True)
        ]
        scored.sort(key=lambda each: -each.relevance)
        codes = frozenset(code for code in codes_of(part) if not code.startswith("sec:"))
        leads = [each.relevance for each in scored if each.answers(part, codes)]
        if not leads or leads[0] < self.thresholds.answers:
            return []
        return _distinct([each for each in scored if each.relevance >= self.thresholds.supports])[:_MOST_CLAIMS]


def _together(*probabilities: float) -> float:
    odds = [log(max(p, _TINY) / max(1 - p, _TINY)) for p in probabilities]
    return 1 / (1 + exp(-sum(odds) / len(odds)))


def _cut(evidence: Evidence) -> list[_Sentence]:
    passage = evidence.passage
    if passage.content.form is Form.CODE:
        return [_sentence(evidence, passage.content.text, "")]
    said = sentences(passage.content.text)
    cut: list[_Sentence] = []
    for number, sentence in enumerate(said):
        if _FOLLOWS_ON.match(sentence) and number:
            continue
        following = said[number + 1] if number + 1 < len(said) and _FOLLOWS_ON.match(said[number + 1]) else ""
        cut.append(_sentence(evidence, sentence, following))
    return cut


def _sentence(evidence: Evidence, text: str, follow_on: str) -> _Sentence:
    return _Sentence(evidence.label, evidence, evidence.passage.map(lambda _: text), text, follow_on)


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
