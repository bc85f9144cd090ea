import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.grounding import Another, Supported, Unsupported, about_another, conditions, coverage, difference, support

RULE = "Claims denied for missing prior authorization (CO-197) must be appealed within 30 calendar days."
EXCEPTION = "Exception: if a retro-authorization is approved, the deadline extends to 60 calendar days."
PASSAGE = [RULE, "Include the denial notice.", EXCEPTION]


def test_a_sentence_of_the_passage_supports_itself() -> None:
    assert support(RULE, PASSAGE) == Supported(RULE, 1.0)


def test_a_run_of_whole_sentences_supports_itself() -> None:
    claim = f"{RULE} Include the denial notice."

    assert isinstance(support(claim, PASSAGE), Supported)


def test_part_of_a_sentence_is_not_a_quotation() -> None:
    assert isinstance(support("contractors may claim it", ["Nobody but contractors may claim it."]), Unsupported)


PAYROLL = "Payroll pays the allowance within 30 days after the form is filed."
HOTEL = "The hotel limit is 120 EUR in Berlin and 180 EUR in Paris."
APPROVAL = "Managers approve travel above 500 EUR, and directors approve travel above 2,000 EUR."


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("Non-birthing parents get 26 weeks at full pay.", "Non-birthing parents get 12 weeks at full pay."),
        ("Visitors may enter without a badge.", "Visitors must not enter without a badge."),
        ("Guests must wear a badge.", "Guests may wear a badge."),
        ("Purchases below 500 euros need approval.", "Purchases above 500 euros need approval."),
        (
            "International airfare is reimbursable.",
            "International airfare is reimbursable only if the contract allows it.",
        ),
        ("Contractors are reimbursed for airfare.", "Employees are reimbursed for airfare."),
        ("Requests are approved automatically by the desk.", "Requests are approved on request by the desk."),
        ("The fee is not refundable.", "The fee is refundable."),
        ("Refunds take 14 weeks.", "Refunds take 14 days."),
        ("Payroll pays within 30 months after the form is filed.", PAYROLL),
        ("Payroll pays within 30 days before the form is filed.", PAYROLL),
        ("Payroll refuses the allowance within 30 days after the form is filed.", PAYROLL),
        ("The hotel limit is 180 EUR in Berlin and 120 EUR in Paris.", HOTEL),
        ("The hotel limit is 120 EUR in Paris.", HOTEL),
        ("The hotel limit is 120 USD in Berlin.", HOTEL),
        ("The hotel limit is $120 in Berlin.", HOTEL),
        ("Guests may use the room from 17:00 to 9:00.", "Guests may use the room from 9:00 to 17:00."),
        ("Directors approve travel above 500 EUR.", APPROVAL),
        ("Directors approve travel above 500 EUR.", "Managers approve travel above 500 EUR."),
        ("Employees with 25 years get 3 days.", "Employees with 3 years get 25 days."),
    ],
)
def test_what_says_otherwise_is_unsupported(claim: str, passage: str) -> None:
    assert isinstance(support(claim, [passage]), Unsupported)


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("An appeal must be filed within thirty days.", "An appeal must be filed within 30 days."),
        ("Within 30 calendar days an appeal must be filed.", "An appeal must be filed within 30 calendar days."),
        ("The hotel limit is 120 EUR in Berlin.", HOTEL),
        ("In Paris, the hotel limit is 180 EUR.", "In Paris, the hotel limit is €180."),
        ("Managers approve travel above 500 EUR.", APPROVAL),
        ("Refunds take fourteen days.", "Refunds take 14 days."),
        ("Badges must be worn by all visitors.", "All visitors must wear badges."),
        (
            "Airfare is reimbursed only if the contract allows it.",
            "Airfare is reimbursed only if the contract allows it.",
        ),
    ],
)
def test_the_same_in_other_words_is_supported(claim: str, passage: str) -> None:
    assert isinstance(support(claim, [passage]), Supported)


def test_what_the_passage_does_not_speak_of_is_unsupported() -> None:
    assert isinstance(support("Dogs are welcome in the office.", PASSAGE), Unsupported)


def test_an_empty_passage_supports_nothing() -> None:
    assert isinstance(support(RULE, []), Unsupported)
    assert isinstance(support("", PASSAGE), Unsupported)


def test_a_condition_is_named_from_its_opening_word_to_the_end_of_its_clause() -> None:
    assert conditions("Up to the limit, if the sponsor approved the stay.") == ("if the sponsor approved the stay",)
    assert conditions("If it rains, stay in.") == ()
    text = "Airfare is paid only if the contract allows it. A hotel is paid unless the host offers a room, and so on."

    assert conditions(text) == ("only if the contract allows it", "unless the host offers a room")


@given(st.text(max_size=200), st.text(max_size=200))
def test_coverage_is_a_share_and_nothing_crashes(one: str, two: str) -> None:
    assert 0.0 <= coverage(one, two) <= 1.0
    assert difference(one, one) is None
    support(one, [two])


@pytest.mark.parametrize(
    ("question", "text", "another"),
    [
        ("Can a contractor claim airfare?", "Airfare is reimbursable for employees.", Another.KIND),
        ("Can a contractor claim airfare?", "Airfare: Employee: yes; Contractor: only if allowed.", None),
        ("Can a contractor claim airfare?", "Airfare is reimbursable.", None),
        ("Why was claim 847 denied?", "Claim 912 was denied for a missing code.", Another.THING),
        ("Why was claim 847 denied?", "Claims 847 and 912 were denied.", None),
        ("How long do I have for Payer Y?", "Payer X: 30 days.", Another.THING),
        ("how long do I have for payer x?", "Payer X: 30 days.", None),
        ("Is it within 30 days?", "It is within 60 days.", None),
        ("What is the domestic rate?", "International travel is paid at cost.", Another.KIND),
    ],
)
def test_a_text_about_another_is_told_apart(question: str, text: str, another: Another | None) -> None:
    assert another is about_another(question, text)
