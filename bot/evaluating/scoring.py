"""One question's result against what the golden set says, and many of these as one table of numbers.

Pure: results come in as the JSON of `search` and `ask`. A label counts once, at the best-placed passage that fits it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.evaluating.golden import GoldenQuestion, Label
from bot.evaluating.metrics import ndcg, precision, recall, reciprocal_rank
from policies.names import ChunkId

DEPTH = 20  # results looked at
CUTS = (1, 5, 10)

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Score:
    """How one question went; None where the golden set says nothing about it."""

    id: str
    kind: str
    expected: str | None
    outcome: str
    retrieval: Mapping[str, float] | None
    cited: int
    cited_right: int | None
    labels_cited: int | None
    unsupported: int
    missing: tuple[str, ...]
    said_wrongly: tuple[str, ...]
    leaks: tuple[str, ...]
    trace: str

    @property
    def right(self) -> bool:
        """The outcome is the expected one, and the answer says what it must and nothing that it must not."""
        return self.expected in (None, self.outcome) and not (self.missing or self.said_wrongly or self.leaks)

    def to_json(self) -> dict[str, Any]:
        """A line of `per_question`."""
        return {
            "id": self.id,
            "kind": self.kind,
            "right": self.right,
            "expected": self.expected,
            "outcome": self.outcome,
            **(self.retrieval or {}),
            "cited": self.cited,
            "cited_right": self.cited_right,
            "missing": list(self.missing),
            "said_wrongly": list(self.said_wrongly),
            "leaks": list(self.leaks),
            "trace_id": self.trace,
        }


def score(question: GoldenQuestion, found: Json, answer: Json) -> Score:
    """Hold one search and one answer against the golden question."""
    results = [ChunkId.parse(each["chunk_id"]) for each in found["results"]]
    cited = list(dict.fromkeys(ChunkId.parse(each["chunk_id"]) for each in answer["citations"]))
    labels = question.relevant
    text = _plain(f"{answer['text']} {' '.join(answer['notes'])}")
    answered = answer["outcome"] == "answered"
    return Score(
        id=question.id,
        kind=question.kind,
        expected=question.outcome,
        outcome=answer["outcome"],
        retrieval=_retrieval(results, labels) if labels else None,
        cited=len(cited),
        cited_right=sum(any(label.fits(each) for label in labels) for each in cited) if labels else None,
        labels_cited=sum(any(label.fits(each) for each in cited) for label in labels) if labels and answered else None,
        unsupported=sum(not each["supported"] for each in answer["citations"]),
        missing=tuple(each for each in question.must_say if answered and _plain(each) not in text),
        said_wrongly=tuple(each for each in question.must_not_say if _plain(each) in text),
        leaks=_leaks(question.forbidden, found, answer, (*results, *cited)),
        trace=answer["trace_id"],
    )


def _plain(text: str) -> str:
    """The text as it is compared: case and white space do not count."""
    return " ".join(text.casefold().split())


def _retrieval(results: Sequence[ChunkId], labels: Sequence[Label]) -> dict[str, float]:
    """The usual numbers over results named by the label that they are the first to fit."""
    names = [str(place) for place, _ in enumerate(labels)]
    left = dict(zip(names, labels, strict=True))
    ranked: list[str] = []
    for result in results:
        fitting = next((name for name, label in left.items() if label.fits(result)), None)
        ranked.append(fitting or str(result))
        left.pop(fitting or "", None)
    wanted = dict.fromkeys(names, 1.0)
    numbers: dict[str, float] = {}
    for cut in CUTS:
        numbers[f"recall@{cut}"] = recall(ranked, wanted, cut)
        numbers[f"precision@{cut}"] = precision(ranked, wanted, cut)
    return {**numbers, "mrr": reciprocal_rank(ranked, wanted), "ndcg@10": ndcg(ranked, wanted, 10)}


def _leaks(forbidden: Sequence[str], found: Json, answer: Json, shown: Sequence[ChunkId]) -> tuple[str, ...]:
    """What was forbidden and is there all the same: a word in anything shown, or a passage among the results."""
    parts = [answer["text"], *answer["notes"], answer["audience"]["reason"]]
    parts += [each[key] or "" for each in answer["citations"] for key in ("title", "url", "quote", "section")]
    parts += [each[key] or "" for each in found["results"] for key in ("title", "url", "section")]
    text = _plain("\n".join(parts))
    return tuple(each for each in forbidden if _plain(each) in text or _is_shown(each, shown))


def _is_shown(address: str, shown: Sequence[ChunkId]) -> bool:
    try:
        label = Label.parse(address)
    except ValueError:
        return False  # a word, not an address
    return any(label.fits(each) for each in shown)


# ---------------------------------------------------------------- many questions


def total(scores: Sequence[Score]) -> dict[str, Any]:
    """`retrieval`, `answers` and `leaks` over all questions; None where no question says anything about a number."""
    retrievals = [each.retrieval for each in scores if each.retrieval is not None]
    names = [f"{name}@{cut}" for name in ("recall", "precision") for cut in CUTS] + ["mrr", "ndcg@10"]
    return {
        "retrieval": {name: _mean([each[name] for each in retrievals]) for name in names},
        "answers": _answers(scores),
        "leaks": sum(len(each.leaks) for each in scores),
    }


def _answers(scores: Sequence[Score]) -> dict[str, Any]:
    told = [each for each in scores if each.expected is not None]
    held_back = [each for each in told if each.outcome == "abstained"]
    to_hold_back = [each for each in told if each.expected == "abstained"]
    held_back_rightly = sum(each.expected == "abstained" for each in held_back)
    cited = [each for each in scores if each.cited_right is not None and each.outcome == "answered"]
    labelled = [each for each in cited if each.retrieval is not None]
    return {
        "right": _share(sum(each.right for each in scores), len(scores)),
        "outcome": _share(sum(each.outcome == each.expected for each in told), len(told)),
        "citation_precision": _share(sum(each.cited_right or 0 for each in cited), sum(each.cited for each in cited)),
        "answers_citing_gold": _share(sum(bool(each.labels_cited) for each in labelled), len(labelled)),
        "unsupported_citations": sum(each.unsupported for each in scores),
        "abstention_precision": _share(held_back_rightly, len(held_back)),
        "abstention_recall": _share(held_back_rightly, len(to_hold_back)),
        "questions": len(scores),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


# ---------------------------------------------------------------- two runs

MARGIN = 0.01
"""How far a number may fall before it is called a regression; below it is the noise of ties."""


def compare(now: Json, before: Json) -> dict[str, Any]:
    """What changed since an earlier run, and which of it is a regression."""
    changes: dict[str, float] = {}
    for group in ("retrieval", "answers"):
        for name, value in now[group].items():
            earlier = before.get(group, {}).get(name)
            if isinstance(value, float) and isinstance(earlier, float | int):
                changes[name] = round(value - earlier, 4)
    was_right = {each["id"] for each in before.get("per_question", ()) if each.get("right")}
    return {
        "run": before.get("run"),
        "changes": changes,
        "regressions": sorted(name for name, change in changes.items() if change < -MARGIN),
        "no_longer_right": [
            each["id"] for each in now["per_question"] if not each["right"] and each["id"] in was_right
        ],
    }
