"""What counts as a code, and what does not."""

from __future__ import annotations

import pytest

from connectors.codes import codes_of, section_code


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("What does CO-197 mean?", ("co-197",)),
        ("what is co-197", ("co-197",)),
        ("CO\u2011197 with a non-breaking hyphen", ("co-197",)),
        ("Book it under TRV-INTL.", ("trv-intl",)),
        ("article KB-7741, kb-7742 or 512 KB", ("kb-7741", "kb-7742")),
        ("HR-POL-7 and hr-pol-7 are one", ("hr-pol-7",)),
        ("error E4012/E4013", ("e4012", "e4013")),
        ("see INC0012345, please", ("inc0012345",)),
        ("Section 4.2", ("sec:4.2",)),
        ("§4.2 (b)", ("sec:4.2",)),
        ("Sections 4.2 and 4.3", ("sec:4.2", "sec:4.3")),
        ("appendix C.2", ("sec:c.2",)),
        ("Travel policy › 4.2 Refunds", ("sec:4.2",)),
        ("ISO 27001", ("27001", "iso-27001")),
        ("ISO/IEC 27001:2022", ("27001", "iso-27001")),
        ("CPT 99213", ("99213", "cpt-99213")),
        ("the CPT code 99213", ("99213",)),
        ("E11.9 and J1100", ("e11.9", "j1100")),
        ("ERR_CONN_RESET", ("err_conn_reset",)),
    ],
)
def test_a_code_is_found_as_a_whole(text: str, codes: tuple[str, ...]) -> None:
    assert codes_of(text) == codes


@pytest.mark.parametrize(
    "text",
    [
        "plain words, follow-up and long-term",
        "in 2024, on 2024-05-01 or 20240501",
        "FY2024, FY 2024, FY-2024, MAY 2024, Q3, H1",
        "at 10:30, 9am, 5 PM",
        "we are open 24/7",
        "10 days, 250 people, 3.5 million, 12,000",
        "$12000 or EUR 1200 or EUR-1200",
        "the 45-day rule and a 30-day notice",
        "call 555-0123",
        "top-10 and mid-2024",
        "FOLLOW-UP",
        "",
        "\x00\ufffd§",
    ],
)
def test_ordinary_text_has_no_codes(text: str) -> None:
    assert codes_of(text) == ()


def test_a_document_and_a_question_meet_in_the_same_code() -> None:
    assert set(codes_of("| ISO 27001 | audit |")) & set(codes_of("what do we do for iso27001?"))
    assert set(codes_of("4.2 Refunds")) & {section_code("4.2")}


@pytest.mark.timeout(60)  # a pattern that is not linear would take hours
@pytest.mark.parametrize("piece", ["-", "a-", "A1-", "9", "§", "Section ", "a.1", "\n", "A-1 "])
def test_hostile_text_is_read_in_linear_time_and_bounded(piece: str) -> None:
    assert len(codes_of(piece * 500_000)) <= 256
