"""Personal data of every kind is found without a network; codes, sections and products are not taken for people."""

from __future__ import annotations

import itertools
import socket
from typing import Any, NoReturn

import pytest

from connectors.pii import Presidio
from connectors.pii_rules import iban, luhn, shaped


@pytest.fixture(scope="module")
def detector() -> Presidio:
    return Presidio(not_names=["Footnote", "Project Maria"])


def kinds(detector: Presidio, text: str) -> list[tuple[str, str]]:
    return [(span.kind, text[span.start : span.end]) for span in detector.find(text) if span.score >= 0.4]


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


def test_it_loads_and_reads_without_a_network(no_network: None) -> None:
    spans = Presidio().find("Maria Jensen, maria@jensen.example.com, +49 30 901820")

    assert [span.kind for span in spans] == ["PERSON", "EMAIL_ADDRESS", "PHONE_NUMBER"]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Ask Maria Jensen about it.", "PERSON", "Maria Jensen"),
        ("Signed, Dr. Anjali Rao", "PERSON", "Anjali Rao"),
        ("Ms. Austin approves it.", "PERSON", "Austin"),
        ("My name is Rubija", "PERSON", "Rubija"),
        ("Approved by: Kwame Mensah", "PERSON", "Kwame Mensah"),
        ("Present were Olga, Wei, Fatima and Bjorn.", "PERSON", "Fatima"),
        ("write to o.neill+hr@mail.example.co.uk today", "EMAIL_ADDRESS", "o.neill+hr@mail.example.co.uk"),
        ("call +44 20 7946 0958", "PHONE_NUMBER", "+44 20 7946 0958"),
        ("phone 030 901820", "PHONE_NUMBER", "030 901820"),
        ("(212) 555-0123 is the desk", "PHONE_NUMBER", "(212) 555-0123"),
        ("IBAN DE89 3704 0044 0532 0130 00.", "IBAN_CODE", "DE89 3704 0044 0532 0130 00"),
        ("to GB82WEST12345698765432", "IBAN_CODE", "GB82WEST12345698765432"),
        ("card 4111 1111 1111 1111", "CREDIT_CARD", "4111 1111 1111 1111"),
        ("amex 3782-822463-10005", "CREDIT_CARD", "3782-822463-10005"),
        ("SSN 078-05-1120", "US_SSN", "078-05-1120"),
        ("social security number: 219099999", "US_SSN", "219099999"),
        ("employee ID: E-48213", "EMPLOYEE_ID", "E-48213"),
        ("badge no. 48213", "EMPLOYEE_ID", "48213"),
        ("EMP-004821 was paid", "EMPLOYEE_ID", "EMP-004821"),
        ("Date of birth: 14 March 1979", "DATE_OF_BIRTH", "14 March 1979"),
        ("DOB 1979-03-14", "DATE_OF_BIRTH", "1979-03-14"),
        ("MRN 0048213", "MEDICAL_ID", "0048213"),
        ("Member ID: XJB104882", "MEDICAL_ID", "XJB104882"),
        ("use xoxb-123456789012-abcdefGHIJ", "SLACK_TOKEN", "xoxb-123456789012-abcdefGHIJ"),
        ("key AKIAIOSFODNN7EXAMPLE", "API_KEY", "AKIAIOSFODNN7EXAMPLE"),
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "API_KEY", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
        ("api_key = 9f8a7b6c5d4e3f2a1b0c", "API_KEY", "9f8a7b6c5d4e3f2a1b0c"),
        ("password: hunter2!", "PASSWORD", "hunter2!"),
        ("The password is Winter2026", "PASSWORD", "Winter2026"),
        ("postgres://app:s3cret@db.example/x", "PASSWORD", "s3cret"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
            "PRIVATE_KEY",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
        ),
    ],
)
def test_it_is_found(detector: Presidio, text: str, kind: str, value: str) -> None:
    assert (kind, value) in kinds(detector, text)


@pytest.mark.parametrize(
    "text",
    [
        "Claims denied with CO-197 or HR-22 follow Section 4.2 and ISO 27001.",
        "International airfare: Employee: Reimbursable; Contractor: Only if the contract allows it.",
        "Hotel: Employee: Up to the limit of the travel policy; Contractor: Up to the limit, if approved.",
        "Code TRV-HOTL: Meaning: Hotel; Account: 6420; Receipt: Always; Remark: Itemised invoice.",
        "See invoice 4500123456, PO 1000234567, order 2125550123, ticket INC0012345 and 00123456.",
        "Answer within 4 hours, at most 72 hours, by 2026-10-31.",
        "Grafana and Kubernetes run on Guest Wi-Fi; Salary, Keys and Guest are headings.",
        "Error E4012 means that v1 of TRV-INTL is used.",
        "Contractors need approval [S1]. Managers sign the form [S2].",
        "## Parental Leave\n\n- Booking a flight\n- Travel Policy",
        "Password: at least twelve characters. The password is required.",
        "Contact Human Resources, Finance or Payroll on Monday in London.",
        "The employee number is on the badge. Members pay the membership fee.",
        "Footnote answers; Project Maria is a project.",
        "Crane Safety is audited by the site lead; ask Crane Safety about it.",
        "EUR 1,500.00 in 2026, 150 EUR a night, 12.5 % and 1-2 days.",
        "Version 10.2.3.4 replaces 9.8.7.6; pages 123-456.",
        "",
    ],
)
def test_it_is_left_alone(detector: Presidio, text: str) -> None:
    assert kinds(detector, text) == []


def test_a_team_mailbox_is_reported_as_weak(detector: Presidio) -> None:
    text = "travel-desk@example.com"

    (span,) = detector.find(text)

    assert span.score < 0.4


def test_spans_come_by_start_without_overlaps_also_in_a_long_text(detector: Presidio) -> None:
    text = "Receipts are kept. " * 400 + "Ask Maria Jensen at maria@jensen.example.com. " + "Receipts are kept. " * 400

    spans = detector.find(text)

    assert [text[span.start : span.end] for span in spans] == ["Maria Jensen", "maria@jensen.example.com"]
    assert all(left.end <= right.start for left, right in itertools.pairwise(spans))


def test_wherever_the_cut_falls_the_address_is_found_whole(detector: Presidio) -> None:
    address = "maria@jensen.example.com"

    for before in range(4_960, 5_010, 7):
        text = "x" * 10 + " " + "word " * ((before - 11) // 5) + address + " word" * 200
        assert address in [text[span.start : span.end] for span in detector.find(text)]


def test_several_texts_are_read_as_each_alone(detector: Presidio) -> None:
    texts = [
        "Ask Maria Jensen about it.",
        "",
        "call +44 20 7946 0958",
        "Maria Jensen\nOlga, Wei and Fatima were present.",
    ]

    assert detector.find_all(texts) == [detector.find(text) for text in texts]


def test_a_sentence_read_before_is_not_read_again() -> None:
    text = "The form of Ethan Heppner is filed by Carlo Costino every week of the year. " * 30
    detector = Presidio()
    detector.load()
    read: list[str] = []
    engine = detector._engine

    class Counted:
        def process_batch(self, texts: list[str], *args: Any, **options: Any) -> Any:
            read.extend(texts)
            return engine.process_batch(texts, *args, **options)

    detector._engine = Counted()
    first = detector.find(text)
    before = len(read)

    again = detector.find(text)

    assert (again, len(read)) == (first, before)
    assert before < 10


@pytest.mark.parametrize(
    "unit",
    [
        "1 ",
        "1-",
        "a@",
        "a.",
        "A1",
        "AB12",
        "password: ",
        "Ab, ",
        "Ab ",
        "eyJ",
        "-----BEGIN PRIVATE KEY-----",
        "://a:",
        "born ",
    ],
)
@pytest.mark.timeout(60)  # in time that is not linear it takes hours
def test_forms_are_found_in_time_linear_in_the_text(unit: str) -> None:
    list(shaped((unit * 50_000)[:50_000]))


def test_check_digits_are_checked() -> None:
    assert luhn("4111111111111111")
    assert not luhn("4111111111111112")
    assert iban("DE89 3704 0044 0532 0130 00")
    assert not iban("DE88 3704 0044 0532 0130 00")
    assert not iban("DE89")
