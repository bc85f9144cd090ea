from datetime import UTC, date, datetime

import pytest

from bot.answering.question import LONGEST, Question, named_day, understand
from policies.audience import Place
from policies.names import Principal

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def asked(text: str, on: date | None = None, earlier: tuple[str, ...] = ()) -> Question:
    return Question(Principal.person("asha@example.com"), Place.parse("dm"), text, NOW, on, earlier)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("What applied on 2026-05-12?", date(2026, 5, 12)),
        ("What applied on 12 May 2026?", date(2026, 5, 12)),
        ("What applied on the 3rd of March, 2025?", date(2025, 3, 3)),
        ("What applied on May 12, 2026?", date(2026, 5, 12)),
        ("What was the limit in March 2025?", date(2025, 3, 1)),
        ("What is the limit for 2025?", None),
        ("What about 2026-13-45?", None),
        ("May I bring 12 guests?", None),
    ],
)
def test_a_named_day_is_the_day_asked_about(text: str, day: date | None) -> None:
    assert named_day(text) == day


def test_without_a_day_the_question_is_about_today() -> None:
    moment = understand(asked("What is the limit?")).wants.moment

    assert (moment.on, moment.dated) == (NOW.date(), False)


def test_a_day_beside_the_text_counts_more_than_one_in_it() -> None:
    moment = understand(asked("What applied on 2026-05-12?", on=date(2024, 1, 1))).wants.moment

    assert (moment.on, moment.dated) == (date(2024, 1, 1), True)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "Why was claim 847 denied, and what should we attach to the appeal?",
            ["Why was claim 847 denied", "what should we attach to the appeal?"],
        ),
        ("Who owns the policy? When was it last changed?", ["Who owns the policy?", "When was it last changed?"]),
        ("Are food and drink reimbursed?", ["Are food and drink reimbursed?"]),
        ("Who is in and why?", ["Who is in and why?"]),
    ],
)
def test_a_compound_question_has_parts(text: str, parts: list[str]) -> None:
    assert [part.text for part in understand(asked(text)).parts] == parts


def test_the_raw_question_is_kept_and_bounded() -> None:
    query = understand(asked("word " * 10_000))

    assert len(query.raw) <= LONGEST
    assert query.raw.startswith("word word")


def test_codes_are_found_in_the_part_that_names_them() -> None:
    query = understand(asked("What does CO-197 mean, and who may use TRV-INTL?"))

    assert [part.codes for part in query.parts] == [("co-197",), ("trv-intl",)]
    assert query.wants.codes == ("co-197", "trv-intl")


@pytest.mark.parametrize(
    "text",
    [
        "And for contractors?",
        "what about trains",
        "Why?",
        "For guests?",
        "Who approves it?",
        "Does that apply to trains?",
        "Since when is this the rule?",
        "And since 2024-05-01?",
    ],
)
def test_a_question_that_goes_on_is_put_behind_the_one_it_goes_on_from(text: str) -> None:
    query = understand(asked(text, earlier=("Which airfare needs approval?",)))

    assert query.raw == f"Which airfare needs approval? {text}"
    assert [part.text for part in query.parts] == [query.raw]


@pytest.mark.parametrize(
    "text",
    [
        "Which airfare needs approval?",
        "Is there a limit on the cost of hotels?",
        "Which of the rules that apply abroad have changed?",
        "TR-2041",
        "What was the allowance for meals on 2024-05-01?",
    ],
)
def test_a_question_that_stands_alone_takes_nothing_from_earlier_ones(text: str) -> None:
    assert understand(asked(text, earlier=("What is the bonus of directors?",))).raw == text


def test_it_goes_back_to_the_last_earlier_question_that_stands_alone() -> None:
    earlier = ("What is the bonus of directors?", "Which airfare needs approval?", "And for contractors")
    query = understand(asked("Since when?", earlier=earlier))

    assert query.raw == "Which airfare needs approval? And for contractors. Since when?"


def test_the_day_of_an_earlier_question_stays_the_day() -> None:
    query = understand(asked("And for trains?", earlier=("What was the allowance on 2024-05-01?",)))

    assert (query.wants.moment.on, query.wants.moment.dated) == (date(2024, 5, 1), True)


def test_what_is_taken_from_earlier_questions_is_bounded() -> None:
    query = understand(asked("And then?", earlier=("word " * 5_000,) * 9))

    assert len(query.raw) <= LONGEST
    assert query.raw.endswith("And then?")
