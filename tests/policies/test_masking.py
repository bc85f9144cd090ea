"""Placeholders can't be forged, nothing of a span is left, and every offset leads back."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.masking import KINDS, PERSONAL, SECRETS, Masked, Rules, defused, mask, mask_all

TAG = "k3f9"


@dataclass(frozen=True, slots=True)
class Found:
    start: int
    end: int
    kind: str = "PERSON"
    score: float = 0.85


def of(text: str, value: str, kind: str = "PERSON", score: float = 0.85) -> Found:
    start = text.index(value)
    return Found(start, start + len(value), kind, score)


def placeholders(text: str) -> list[str]:
    return re.findall(rf"\[[A-Z_]+_[0-9]+·{TAG}\]", text)


def test_a_name_becomes_a_placeholder_with_the_tag_of_the_request() -> None:
    text = "Ask Maria Jensen first."

    assert mask(text, [of(text, "Maria Jensen")], TAG).text == "Ask [PERSON_1·k3f9] first."


def test_equal_values_get_equal_placeholders_numbered_by_first_occurrence() -> None:
    text = "Ben met Ana. ana wrote to BEN."
    spans = [Found(0, 3), Found(8, 11), Found(13, 16), Found(26, 29)]

    masked = mask(text, reversed(spans), TAG)

    assert masked.text == "[PERSON_1·k3f9] met [PERSON_2·k3f9]. [PERSON_2·k3f9] wrote to [PERSON_1·k3f9]."
    assert masked.counts == {"PERSON": 4}


def test_an_answer_and_its_quotes_share_their_placeholders() -> None:
    answer, quote = mask_all([("Ana decides.", [Found(0, 3)]), ("Ben and Ana", [Found(0, 3), Found(8, 11)])], TAG)

    assert answer.text == "[PERSON_1·k3f9] decides."
    assert quote.text == "[PERSON_2·k3f9] and [PERSON_1·k3f9]"


def test_a_number_is_the_same_however_it_is_spaced() -> None:
    text = "+49 30 901820 or +4930901820"
    spans = [Found(0, 13, "PHONE_NUMBER"), Found(17, 28, "PHONE_NUMBER")]

    assert mask(text, spans, TAG).text == "[PHONE_NUMBER_1·k3f9] or [PHONE_NUMBER_1·k3f9]"


@pytest.mark.parametrize(
    "forged",
    [
        "[PERSON_1]",
        "[PERSON_1·k3f9]",
        "[person 1·k3f9]",
        "［PERSON_1·k3f9］",
        "[ EMAIL_ADDRESS_12 ]",
        "[ANYTHING_4·k3f9]",
        "[**PERSON_2**]",
    ],
)
def test_a_placeholder_in_the_input_is_defused(forged: str) -> None:
    text = f"{forged} is Ana"

    masked = mask(text, [of(text, "Ana")], TAG)

    assert placeholders(masked.text) == ["[PERSON_1·k3f9]"]
    assert not masked.text.startswith(forged[0])


def test_labels_and_ordinary_brackets_stay() -> None:
    text = "Thirty days [S1], see [Section 4] and [1]."

    assert mask(text, [], TAG).text == text


def test_overlapping_spans_leave_nothing_of_either() -> None:
    text = "write to ana.lee@example.com today"
    spans = [of(text, "ana.lee"), of(text, "lee@example.com", "EMAIL_ADDRESS", 1.0)]

    assert mask(text, spans, TAG).text == "write to [EMAIL_ADDRESS_1·k3f9] today"


def test_the_asker_sees_himself_but_never_a_secret() -> None:
    text = "Asha Rao, asha@example.com, hunter22"
    spans = [of(text, "Asha Rao"), of(text, "asha@example.com", "EMAIL_ADDRESS"), of(text, "hunter22", "PASSWORD")]

    masked = mask(text, spans, TAG, own=["asha  RAO", "Asha@Example.com", "hunter22", ""])

    assert masked.text == "Asha Rao, asha@example.com, [PASSWORD_1·k3f9]"


def test_kinds_that_are_not_listed_and_weak_findings_stay() -> None:
    text = "4 hours in Porto"
    spans = [of(text, "4 hours", "DATE_TIME"), of(text, "Porto", "PERSON", 0.3)]

    assert mask(text, spans, TAG).text == text


def test_a_secret_is_masked_however_weak_and_whatever_the_rules() -> None:
    text = "xoxb-1"

    assert mask(text, [Found(0, 6, "SLACK_TOKEN", 0.1)], TAG, rules=Rules(kinds=frozenset())).counts == {
        "SLACK_TOKEN": 1
    }


def test_rules_refuse_a_kind_that_nobody_can_find() -> None:
    with pytest.raises(ValueError, match="NAME"):
        Rules(kinds=frozenset({"NAME"}))


@pytest.mark.parametrize("tag", ["", "abc", "K3F9", "a]b1", "k3f9\n"])
def test_a_tag_that_could_be_guessed_or_break_out_is_refused(tag: str) -> None:
    with pytest.raises(ValueError, match="tag"):
        mask("text", [], tag)


@pytest.mark.parametrize("span", [Found(-1, 2), Found(2, 2), Found(1, 9)])
def test_a_span_outside_its_text_is_refused(span: Found) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        mask("text", [span], TAG)


def test_a_stretch_is_widened_to_whole_placeholders() -> None:
    masked = mask("ask Ana now", [Found(4, 7)], TAG)

    assert masked.to_source(6, 10) == (4, 7)
    assert masked.to_masked(5, 8) == (4, 4 + len("[PERSON_1·k3f9] "))
    assert masked.to_source(0, 4) == (0, 4)
    with pytest.raises(ValueError, match="stretch"):
        masked.to_source(3, 2)


@st.composite
def texts_with_spans(draw: st.DrawFn) -> tuple[str, list[Found]]:
    fragments = st.sampled_from(
        ["[PERSON_1", "·k3f9]", "[", "]", "Ana", " ", "PERSON_2", "k3f9", "é", "[API_KEY_3·k3f9]"]
    )
    text = "".join(draw(st.lists(fragments | st.text(max_size=6), max_size=12)))
    spans = []
    if text:
        for _ in range(draw(st.integers(0, 5))):
            start = draw(st.integers(0, len(text) - 1))
            end = draw(st.integers(start + 1, len(text)))
            spans.append(
                Found(start, end, draw(st.sampled_from(sorted(KINDS))), draw(st.sampled_from([0.2, 0.5, 1.0])))
            )
    return text, spans


@given(texts_with_spans())
def test_the_only_placeholders_are_ours(case: tuple[str, list[Found]]) -> None:
    text, spans = case

    masked = mask(text, spans, TAG)

    assert len(masked.pieces) == len(placeholders(masked.text)) == sum(masked.counts.values())


@given(texts_with_spans())
def test_offsets_lead_there_and_back(case: tuple[str, list[Found]]) -> None:
    text, spans = case
    masked = mask(text, spans, TAG)
    source = defused(text, TAG)
    hidden = {place for piece in masked.pieces for place in range(piece.start, piece.end)}

    for place in range(len(text)):
        there = masked.to_masked(place, place + 1)
        assert (masked.to_source(*there) == (place, place + 1)) == (
            place not in hidden or Masked("", {}, masked.pieces).to_source(*there) == (place, place + 1)
        )
        if place not in hidden:
            assert masked.text[there[0] : there[1]] == source[place]
    for piece in masked.pieces:
        assert masked.to_masked(piece.start, piece.end) == (piece.masked_start, piece.masked_end)
        assert masked.to_source(piece.masked_start, piece.masked_end) == (piece.start, piece.end)


@given(texts_with_spans())
def test_nothing_that_is_to_be_masked_is_left(case: tuple[str, list[Found]]) -> None:
    text, spans = case
    masked = mask(text, spans, TAG)

    for span in spans:
        if span.kind in SECRETS or (span.kind in PERSONAL and span.score >= 0.4):
            assert any(piece.start <= span.start and span.end <= piece.end for piece in masked.pieces)


def test_masking_takes_time_linear_in_the_text() -> None:
    text = "[PERSON_ " * 60_000 + "[" * 400_000

    assert mask(text, [], TAG).counts == {}
