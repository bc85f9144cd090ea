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
from policies.grounding import Another, about_another, conditions, coverage, difference

_MOST_READ = 24  # sentences that the reranker reads an answer
_MOST_CLAIMS = 3  # a part
_MOST_ABOUT_A_CODE = 6  # where nothing is asked but a code: everything said of it is wanted
_TOUCHES = 0.5  # share of the words asked for by which a further sentence may fall behind the best one
_REACH = 3  # sentences after one in which its exception may stand
_MEANT = 0.9  # relevance of a sentence about the code that an earlier part was answered with
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
    margin: float = 3.3  # and may lie this much below the best one, in log-odds


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

    @property
    def in_place(self) -> str:
        """With the header that it stands under."""
        return f"{self.around.passage.content.header} {self.said}"


@dataclass(frozen=True, slots=True)
class _Asked:
    """One thing asked, with the codes that say which one is meant: its own, or those of what was answered before."""

    part: str
    codes: frozenset[str]
    carried: frozenset[str]

    @property
    def bare(self) -> bool:
        """Whether nothing is asked but codes."""
        return 0 < len(self.part.split()) <= len(self.codes)

    def fits(self, each: _Sentence) -> bool:
        """Whether it may be said at all: it speaks of no other thing, and of the code where one is asked about."""
        passage = each.around.passage.content
        own = set(codes_of(each.said))
        if about_another(self.part, each.in_place) is Another.THING:
            return False
        if self.codes:
            # A question that is nothing but a code asks for the sentence; any other, for the passage, but for what it
            # says of other things of the same kind.
            if own & self.codes:
                return True
            alike = {_family(code) for code in self.codes} & {_family(code) for code in own}
            around = set(codes_of(f"{passage.header} {passage.text}"))
            return not self.bare and not alike and bool(self.codes & around)
        families = {_family(code) for code in self.carried}
        return not any(_family(code) in families for code in own) or bool(own & self.carried)

    def meant(self, each: _Sentence) -> bool:
        """Whether it is about the very code that an earlier part of the question was answered with."""
        return bool(self.carried & set(codes_of(each.said))) and coverage(self.part, each.said) > 0

    def leads(self, each: _Sentence) -> bool:
        """Whether it can be the answer, rather than add to one."""
        return about_another(self.part, each.in_place) is None


class ExtractiveWriter:
    """Implements `ports.Writer`."""

    prompt = "extractive/1"

    def __init__(self, reranker: Reranker, thresholds: Thresholds) -> None:
        self._reranker = reranker
        self.thresholds = thresholds

    @property
    def model(self) -> str:
        """Named in the trace."""
        return f"extractive/1 over {self._reranker.model}"

    async def write(self, question: str, parts: Sequence[str], evidence: Sequence[Evidence]) -> Draft:
        """Quote at most three sentences for each part, six where it is nothing but a code."""
        claims: list[Claim] = []
        unanswered: list[str] = []
        budget = _MOST_READ // max(1, len(parts))
        candidates = [sentence for each in evidence for sentence in _cut(each)]
        for part in parts:
            said = {claim.text for claim in claims}
            asked = _Asked(part, frozenset(_things(part)), frozenset(_things(" ".join(said))))
            chosen = await self._choose(asked, [each for each in candidates if each.said not in said], budget)
            if not chosen:
                unanswered.append(part)
            claims += [Claim(each.said, (each.label,)) for each in chosen]
        unique = tuple(dict.fromkeys(claims))
        return Draft(unique, _unseen(question, unique), tuple(unanswered), self.model, {})

    async def _choose(self, asked: _Asked, candidates: Sequence[_Sentence], budget: int) -> list[_Sentence]:
        fitting = [each for each in candidates if asked.fits(each)]
        likely = sorted(fitting, key=lambda each: -coverage(asked.part, each.said))[:budget]
        read = [each for each in fitting if each in likely]
        scores = await self._reranker.scores(asked.part, [each.read for each in read]) if read else []
        scored = [
            replace(each, relevance=_together(_MEANT if asked.meant(each) else score, each.around.relevance))
            for each, score in zip(read, scores, strict=True)
        ]
        scored.sort(key=lambda each: -each.relevance)
        best = next((each.relevance for each in scored if asked.leads(each)), 0.0)
        if best < self.thresholds.answers:
            return []
        floor = max(self.thresholds.supports, _chance(_odds(best) - self.thresholds.margin))
        enough = [each for each in scored if each.relevance >= floor]
        if asked.bare:
            return _distinct(_one_each(enough))[:_MOST_ABOUT_A_CODE]
        touched = max((coverage(asked.part, each.in_place) for each in enough[:1]), default=0.0)
        near = [each for each in enough if coverage(asked.part, each.in_place) >= _TOUCHES * touched]
        return _distinct(near)[:_MOST_CLAIMS]


def _one_each(found: Sequence[_Sentence]) -> list[_Sentence]:
    """The first of each document: somebody who gives nothing but a code wants to know where it occurs."""
    return list({each.around.passage.allowed.document: each for each in reversed(found)}.values())[::-1]


def _family(code: str) -> str:
    """What codes of one kind begin with: `kb` of `kb-7741`, `b` of `b2`."""
    letters = re.match(r"[a-z]+", code)
    return letters[0] if letters else code


def _things(text: str) -> list[str]:
    """The codes of a text that name a thing rather than a place in a document."""
    return [code for code in codes_of(text) if not code.startswith("sec:")]


def _together(*chances: float) -> float:
    return _chance(sum(map(_odds, chances)) / len(chances))


def _odds(chance: float) -> float:
    return log(max(chance, _TINY) / max(1 - chance, _TINY))


def _chance(odds: float) -> float:
    return 1 / (1 + exp(-odds))


def _cut(evidence: Evidence) -> list[_Sentence]:
    passage = evidence.passage
    if passage.content.form is Form.CODE:
        return [_sentence(evidence, passage.content.text, "")]
    said = sentences(passage.content.text)
    cut: list[_Sentence] = []
    for number, sentence in enumerate(said):
        if _FOLLOWS_ON.match(sentence) and number:
            continue
        cut.append(_sentence(evidence, sentence, _following(said[number + 1 : number + 1 + _REACH])))
    return cut


def _following(after: Sequence[str]) -> str:
    """What must be said with a sentence: all up to the last of the next ones that modifies it, or nothing."""
    last = max((number for number, each in enumerate(after, 1) if _FOLLOWS_ON.match(each)), default=0)
    return " ".join(after[:last])


def _sentence(evidence: Evidence, text: str, follow_on: str) -> _Sentence:
    return _Sentence(evidence.label, evidence, evidence.passage.map(lambda _: text), text, follow_on)


def _distinct(chosen: Sequence[_Sentence]) -> list[_Sentence]:
    kept: list[_Sentence] = []
    for each in chosen:
        if not any(_same(each.said, other.said) for other in kept):
            kept.append(each)
    return kept


def _same(one: str, other: str) -> bool:
    """Whether one says nothing that the other does not; a number or a negation makes a difference."""
    return coverage(one, other) >= 0.85 and difference(one, other) is None and difference(other, one) is None


def _unseen(question: str, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Conditions that the claims depend on and the question says nothing of."""
    found = [condition for claim in claims for condition in conditions(claim.text)]
    return tuple(dict.fromkeys(each for each in found if coverage(each, question) < 0.5))
