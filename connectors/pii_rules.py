"""Personal data and secrets that show by their form: numbers with checksums, addresses, tokens, identifiers by context.

Patterns only; names are `connectors.pii`'s. Every gap is bounded, so time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from connectors.records import Span

_SURE, _LIKELY, _FAIR = 1.0, 0.85, 0.6


def shaped(text: str) -> Iterator[Span]:
    """Every span that a rule finds, in no particular order; spans may overlap."""
    lowered = text.lower()
    digits = _DIGIT.search(text) is not None
    for rule in _RULES:
        if (rule.digits and not digits) or not any(word in lowered for word in rule.words):
            continue
        for match in rule.pattern.finditer(text):
            start, end = match.span(rule.group)
            score = rule.score if rule.check is None else rule.check(text, start, end)
            if start < end and score > 0:
                yield Span(start, end, rule.kind, score)


def luhn(digits: str) -> bool:
    """The check digit of payment cards (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, character in enumerate(reversed(digits)):
        digit = int(character) * (1 + place % 2)
        total += digit - 9 if digit > 9 else digit
    return total % 10 == 0


def iban(value: str) -> bool:
    """The check digits of an IBAN (ISO 13616-1, 6): modulo 97."""
    compact = re.sub(r"[ -]", "", value).upper()
    if not 15 <= len(compact) <= 34:
        return False
    return int("".join(str(int(character, 36)) for character in compact[4:] + compact[:4])) % 97 == 1


def _mailbox(text: str, start: int, end: int) -> float:
    local = text[start:end].partition("@")[0].lower().partition("+")[0]
    parts = re.split(r"[-_.]", local)
    team = parts[0] in _ROLES or ("." not in local and not _ROLES.isdisjoint(parts))
    return _ROLE_SCORE if team else _SURE


def _card(text: str, start: int, end: int) -> float:
    digits = re.sub(r"\D", "", text[start:end])
    if luhn(digits) and digits[0] in "23456" and len(set(digits)) > 1:
        return _SURE
    named = _CARD_WORDS.search(text, max(0, start - 60), min(len(text), end + 30))
    return _FAIR if named and len(digits) >= 13 else 0


def _iban(text: str, start: int, end: int) -> float:
    if iban(text[start:end]):
        return _SURE
    return _FAIR if "iban" in text[max(0, start - 40) : start].lower() else 0


def _ssn(text: str, start: int, end: int) -> float:
    value = text[start:end]
    if "-" in value or " " in value:
        return _LIKELY if len({mark for mark in value if not mark.isdigit()}) == 1 else 0
    return 0


def _phone(text: str, start: int, end: int) -> float:
    value = text[start:end]
    count = sum(character.isdigit() for character in value)
    if not 7 <= count <= 15 or _DATE.fullmatch(value.strip()):
        return 0
    if _NOT_PHONE.search(text, max(0, start - 24), start):
        return 0
    if _PHONE_WORDS.search(text, max(0, start - 48), min(len(text), end + 12)):
        return _FAIR
    if value.startswith("+") and count >= 8:
        return _FAIR
    return _FAIR if _PHONE_SHAPE.fullmatch(value) else 0


def _password(text: str, start: int, end: int) -> float:
    value = text[start:end]
    if value[0] in "<{[*(" or set(value) <= set("*.xX•_-"):
        return 0
    mixed = any(not character.isalpha() for character in value[:-1]) or not (value.islower() or value.istitle())
    return _LIKELY if mixed else 0


def _key(text: str, start: int, end: int) -> float:
    value = text[start:end]
    return _LIKELY if any(c.isdigit() for c in value) and any(c.isalpha() for c in value) else 0


_ROLE_SCORE = 0.3  # a team's mailbox is nobody's personal data; below the threshold of masking
_ROLES = frozenset(
    """
    access accounting accounts admin admins alerts all ap benefits billing careers compliance contact customer
    desk ethics events expense expenses facilities feedback finance hello help helpdesk hotline hr info
    inquiries it jobs legal list mail marketing media news noreply office ops payroll people peopleops policy
    postmaster press privacy procurement reception recruiting reply request requests safety sales security
    service servicedesk services support talent team tickets training travel webmaster whistleblower
    """.split()
)
_DIGIT = re.compile(r"\d")
_CARD_WORDS = re.compile(r"card|visa|mastercard|amex|american express|discover|jcb|diners|maestro", re.IGNORECASE)
_PHONE_WORDS = re.compile(
    r"\b(?:phone|tel|telephone|telefon|cell|mobile|mobil|fax|call(?: me| us)?|dial|text|sms|whatsapp|hotline"
    r"|reach (?:me|us|him|her)"
    r"|registered|messages? to|ring)\b|[☎📞]",
    re.IGNORECASE,
)
_NOT_PHONE = re.compile(
    r"(?:\b(?:po|order|invoice|ticket|account|card|iban|case|ref|reference|version|isbn|doi|zip|section|form|omb"
    r"|id|no\.?)\b[ #:.]*|[#$€£/=_])$",
    re.IGNORECASE,
)
_PHONE_SHAPE = re.compile(
    r"(?:\+?1[ .-]?)?\(?[2-9]\d{2}\)?[ .-]\d{3}[ .-]\d{4}(?:x\d{1,5})?"  # North America
    r"|\(0\d{1,4}\)[ \d-]{5,12}|0\d{2,4}[ -]\d{3,4}[ -]?\d{3,4}|0\d{2,3}(?:[ -]\d{2}){3,4}"  # a trunk prefix
    r"|\(\d{2,3}\) ?\d{3,4}[- ]\d{3,4}"
)
_DATE = re.compile(r"\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{2,4}|(?:19|20)\d{2} ?- ?(?:19|20)\d{2}")
_DAY = (
    r"(?:\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d{1,2}(?:st|nd|rd|th)?(?: of)? [A-Z][a-z]{2,9},? \d{2,4}"
    r"|[A-Z][a-z]{2,9} \d{1,2}(?:st|nd|rd|th)?,? \d{2,4})"
)


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    words: tuple[str, ...]  # one of these occurs in the lower-cased text, or the pattern is not tried
    pattern: re.Pattern[str]
    score: float = _LIKELY
    group: int = 0
    digits: bool = False
    check: Callable[[str, int, int], float] | None = None


_RULES = (
    _Rule(
        "EMAIL_ADDRESS",
        ("@",),
        re.compile(r"(?<![\w.+-])[\w.!#$%&'*+/=?^{}~-]{1,64}@(?:\w(?:[\w-]{0,61}\w)?\.){1,8}[^\W\d_]{2,24}\b"),
        check=_mailbox,
    ),
    _Rule(
        "CREDIT_CARD",
        ("",),
        re.compile(r"(?<![\w.-])\d(?:[ -]?\d){11,18}(?![\w-])"),
        group=0,
        digits=True,
        check=_card,
    ),
    _Rule(
        "IBAN_CODE",
        ("",),
        re.compile(r"\b[A-Za-z]{2}\d{2}(?:[A-Za-z0-9]{11,30}|(?:[ -][A-Z0-9]{4}){2,7}(?:[ -][A-Z0-9]{1,3})?)\b"),
        digits=True,
        check=_iban,
    ),
    _Rule("US_SSN", ("",), re.compile(r"(?<![\w-])\d{3}[- ]\d{2}[- ]\d{4}(?![\w-])"), digits=True, check=_ssn),
    _Rule(
        "US_SSN",
        ("ssn", "social security"),
        re.compile(r"\b(?:ssn|social security)\b\D{0,24}(\d{3}[-. ]?\d{2}[-. ]?\d{4})\b", re.IGNORECASE),
        group=1,
        digits=True,
    ),
    _Rule(
        "PHONE_NUMBER",
        ("",),
        re.compile(r"(?<![\w.+-])(?:\+|\()?\d(?:[ ./()-]{0,2}\d){6,14}(?:x\d{1,5})?(?![\w%])"),
        digits=True,
        check=_phone,
    ),
    _Rule(
        "EMPLOYEE_ID",
        ("emp", "staff", "personnel", "worker", "payroll", "badge", "eid"),
        re.compile(
            r"\b(?:employee|emp|staff|personnel|worker|payroll|badge)[ _-]?(?:id|no|number|num"
            r"|nr)?\b[.:#= ]{0,4}(?:is )?"
            r"([A-Z]{0,4}-?\d{3,10})\b",
            re.IGNORECASE,
        ),
        group=1,
        digits=True,
    ),
    _Rule("EMPLOYEE_ID", ("emp", "eid", "e-id"), re.compile(r"\b(?:EMP|EID|E-ID)[-_]?\d{3,10}\b"), digits=True),
    _Rule(
        "DATE_OF_BIRTH",
        ("birth", "dob", "born", "d.o.b"),
        re.compile(
            rf"\b(?:dob|d\.o\.b\.?|(?:date of )?birth ?da(?:te|y)|date of birth"
            rf"|born(?: on)?)\b[^\n\d]{{0,16}}?({_DAY})",
            re.IGNORECASE,
        ),
        group=1,
        digits=True,
    ),
    _Rule(
        "MEDICAL_ID",
        ("mrn", "medical", "member", "patient", "subscriber", "insur", "nhs", "medicare", "medicaid"),
        re.compile(
            r"\b(?:mrn|(?:medical record|member(?:ship)?|patient|subscriber|beneficiary|health insurance"
            r"|insurance|nhs|medicare|medicaid)"
            r"[ -]?(?:id|no|number|num|nr|#))\b[.:#= ]{0,4}(?:is )?([A-Z]{0,5}[- ]?\d[A-Z0-9-]{3,18})\b",
            re.IGNORECASE,
        ),
        group=1,
        digits=True,
    ),
    _Rule(
        "SLACK_TOKEN",
        ("xox", "xapp", "hooks.slack"),
        re.compile(
            r"\bxox[a-z](?:\.xox[a-z])?-[A-Za-z0-9.-]{8,250}|\bxapp-[A-Za-z0-9-]{10,250}"
            r"|\bhooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{10,120}"
        ),
        _SURE,
    ),
    _Rule(
        "API_KEY",
        ("akia", "asia", "gh", "glpat", "sk-", "sk_", "pk_", "rk_", "aiza", "eyj", "npm_", "pypi-", "sg.", "atatt"),
        re.compile(
            r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,255}|\bgithub_pat_\w{20,255}"
            r"|\bglpat-[\w-]{20,64}"
            r"|\bsk-(?:[a-z]{2,8}-)?[\w-]{20,200}|\b[spr]k_(?:live|test)_[A-Za-z0-9]{10,99}|\bAIza[\w-]{35}"
            r"|\bnpm_[A-Za-z0-9]{36}"
            r"|\bpypi-[\w-]{50,250}|\bSG\.[\w-]{16,32}\.[\w-]{16,64}|\bATATT[\w=-]{20,250}"
            r"|\beyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{10,1000}"
        ),
        _SURE,
    ),
    _Rule(
        "API_KEY",
        ("key", "secret", "token", "bearer"),
        re.compile(
            r"\b(?:(?:api|access|secret|client|auth|private|account|shared|signing"
            r"|aws)[ _-]?(?:access[ _-]?)?(?:key|secret|token)(?:[ _-]?id)?|secret|token|bearer)"
            r"\b[\"']?(?: is|\s?[:=]|\s)\s?[\"']?([A-Za-z0-9/+_.~-]{16,250}={0,2})",
            re.IGNORECASE,
        ),
        group=1,
        digits=True,
        check=_key,
    ),
    _Rule(
        "PASSWORD",
        ("password", "passwd", "pwd", "passphrase", "passcode", "passwort", "kennwort"),
        re.compile(
            r"(?:\b|_)(?:password|passwd|pwd|passphrase|passcode|passwort|kennwort)\b[\"']?(?:\s?[:=]+"
            r"| is:?)\s?[\"']?([^\s\"'|]{4,100})",
            re.IGNORECASE,
        ),
        group=1,
        check=_password,
    ),
    _Rule(
        "PASSWORD",
        ("://",),
        re.compile(r"\b[a-z][a-z0-9+]{1,15}://[^\s:/@]{1,60}:([^\s/@]{3,100})@"),
        group=1,
    ),
    _Rule(
        "PRIVATE_KEY",
        ("private key",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----[^-]{0,8000}"
            r"(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?"
        ),
        _SURE,
    ),
)
