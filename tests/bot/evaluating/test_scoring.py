from __future__ import annotations

from typing import Any

import pytest

from bot.evaluating.golden import GoldenQuestion, Label
from bot.evaluating.scoring import compare, score, total
from policies.names import ChunkId

PAGE = "s:travel.md@v2#2.1"


def golden(**fields: Any) -> GoldenQuestion:
    return GoldenQuestion(**{"id": "q", "text": "?", "person": "a@b.c", **fields})


def found(*chunks: str) -> dict[str, Any]:
    return {"results": [{"chunk_id": each, "title": "T", "url": "U", "section": "x"} for each in chunks]}


def answer(text: str = "", *cited: str, outcome: str = "answered") -> dict[str, Any]:
    citations = [
        {"chunk_id": each, "title": "T", "url": "U", "quote": "Q", "section": "x", "supported": True} for each in cited
    ]
    audience = {"place": "dm", "visible_to": "asker", "reason": "R"}
    return {
        "outcome": outcome,
        "text": text,
        "citations": citations,
        "notes": [],
        "audience": audience,
        "trace_id": "tr",
    }


@pytest.mark.parametrize(
    ("label", "chunk", "fits"),
    [
        ("s:travel.md", PAGE, True),
        ("s:travel.md@v2", PAGE, True),
        ("s:travel.md@v1", PAGE, False),
        ("s:travel.md#2.1", PAGE, True),
        ("s:travel.md#2", PAGE, False),
        ("s:travel.md@v2#2.1", "s:travel.md@v2#2.1~2", True),
        ("s:codes.md#codes", "s:codes.md@v1#codes/TRV", True),
        ("s:codes.md#codes/TRV", "s:codes.md@v1#codes", False),
        ("t:travel.md", PAGE, False),
    ],
)
def test_a_label_fits_what_stands_within_it(label: str, chunk: str, fits: bool) -> None:
    assert Label.parse(label).fits(ChunkId.parse(chunk)) is fits


def test_a_label_counts_once_at_its_best_place() -> None:
    labels = (Label.parse("s:travel.md"), Label.parse("s:pay.md"))
    results = found("s:other.md@v1#1", PAGE, "s:travel.md@v2#3", "s:pay.md@v1#1")

    scored = score(golden(relevant=labels), results, answer())

    assert scored.retrieval is not None
    assert scored.retrieval["recall@1"] == 0.0
    assert scored.retrieval["recall@5"] == 1.0
    assert scored.retrieval["precision@5"] == 0.4
    assert scored.retrieval["mrr"] == 0.5


def test_what_must_be_said_is_compared_without_case_and_white_space() -> None:
    question = golden(outcome="answered", must_say=("14  Days",), must_not_say=("7 days",))

    assert score(question, found(), answer("At least 14 days.")).right
    assert score(question, found(), answer("At least 7\ndays.")).said_wrongly == ("7 days",)


def test_a_forbidden_word_or_passage_anywhere_is_a_leak() -> None:
    question = golden(forbidden=("kestrel", "s:travel.md"))

    assert score(question, found(), answer("The Kestrel plan")).leaks == ("kestrel",)
    assert score(question, found(PAGE), answer()).leaks == ("s:travel.md",)
    assert score(question, found(), answer("", PAGE)).leaks == ("s:travel.md",)
    assert score(question, found(), answer("Nothing here")).leaks == ()


def test_abstentions_and_citations_are_counted_over_all_questions() -> None:
    right = golden(id="a", outcome="answered", relevant=(Label.parse("s:travel.md"),))
    silent = golden(id="b", outcome="abstained")
    scores = [
        score(right, found(PAGE), answer("yes", PAGE, "s:pay.md@v1#1")),
        score(silent, found(), answer(outcome="abstained")),
        score(golden(id="c", outcome="answered"), found(), answer(outcome="abstained")),
    ]

    numbers = total(scores)["answers"]

    assert numbers["citation_precision"] == 0.5
    assert numbers["abstention_precision"] == 0.5
    assert numbers["abstention_recall"] == 1.0
    assert numbers["outcome"] == pytest.approx(2 / 3, abs=1e-4)


def test_a_number_that_fell_is_a_regression_and_a_small_change_is_not() -> None:
    before = {
        "run": "old",
        "retrieval": {"mrr": 0.9, "recall@5": 0.9},
        "answers": {"right": 1.0},
        "per_question": [{"id": "q", "right": True}],
    }
    now = {
        "retrieval": {"mrr": 0.8, "recall@5": 0.895},
        "answers": {"right": 1.0},
        "per_question": [{"id": "q", "right": False}],
    }

    compared = compare(now, before)

    assert compared["regressions"] == ["mrr"]
    assert compared["no_longer_right"] == ["q"]
