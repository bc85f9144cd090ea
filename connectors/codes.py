"""Identifiers in a text, as wholes: the same extractor reads documents at ingest and questions when they are asked.

A code is what people look up by its exact spelling: `CO-197`, `TRV-INTL`, `E4012`, `CPT 99213`, `ISO 27001`, `§4.2`.
Plain words, years, dates, times and small numbers are none. One pass over words, bounded in text and in codes found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

_LONGEST_TEXT = 200_000  # characters read
_LONGEST_CODE = 48  # characters
_MOST = 256  # codes kept of one text

# Every repeated part starts with a character the part before can't hold, so matching is linear.
_WORD = re.compile(r"§+|[^\W_]+(?:[-_.][^\W_]+)*|›|\n")
_HYPHENS = str.maketrans({"\u2010": "-", "\u2011": "-", "\u2212": "-", "\ufe63": "-", "\uff0d": "-", "\u00ad": None})


def _words(written: str) -> frozenset[str]:
    return frozenset(written.split())


_SECTION_WORD = _words(
    "section sections sec sect clause clauses article articles art paragraph paragraphs para subsection "
    "subsections appendix annex chapter schedule § §§"
)
_SECTION_NUMBER = re.compile(r"(?:[A-Za-z]\.)?\d{1,4}(?:\.\d{1,4}){0,6}[a-z]?")
_JOINS = frozenset(("and", "or", "to"))
_NUMBERED_HEADING = re.compile(r"(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3}){1,6}")
_LETTERED_SECTION = re.compile(r"[A-Z](?:\.\d{1,3}){1,6}")

_KNOWN_PREFIX = _words("iso iec cpt hcpcs icd rfc nist drg carc rarc far dfars cfr din ieee sop ticket")
_ONE_NAME = {"iec": "iso"}  # ISO/IEC 27001 is ISO 27001
_CURRENCY = _words("usd eur gbp chf inr cad aud jpy cny sek nok dkk pln mxn brl sgd hkd nzd")
_NOT_A_PREFIX = _CURRENCY | _words(
    # units, times, and words that capitals turn up in before a plain number
    "am pm utc gmt est edt cst "
    "cdt mst mdt pst pdt cet cest bst fy cy q gb mb kb tb km mi kg lb oz cm mm ft max min avg no nr und "
    "and the for all new up to of in on at or by be if as is it we us a i top step page day week jan feb "
    "mar apr may jun jul aug sep sept oct nov dec mid pre post non sub pro max since until level tier "
    "phase part room floor over under age vol size year years"
)
_TICKET = re.compile(r"[A-Za-z]{2,6}-\d{4,8}")  # KB-7741, although a KB is also a unit
_HYPHENED = re.compile(r"[A-Z][A-Z0-9]{0,11}(?:[-_][A-Z0-9]{1,12}){1,5}")
_LOWER_HYPHENED = re.compile(r"[a-z]{1,5}(?:-[a-z]{1,5}){0,2}-\d{1,8}[a-z]?")
_NUMBER_HYPHENED = re.compile(r"\d{3,6}-[A-Z]{1,6}\d{0,4}")
_GLUED = re.compile(r"[A-Z]{2,6}\d{1,12}[A-Z]?|[A-Z]\d{2,12}[A-Z]?|[a-z]{1,4}\d{3,12}|[A-Z]\d{2}\.\d{1,4}")
_HEX = re.compile(r"0x[0-9A-Fa-f]{4,16}")
_BARE_NUMBER = re.compile(r"\d{5,12}")
_AFTER_PREFIX = re.compile(r"\d{2,10}(?:[-.]\d{1,6}){0,3}[A-Z]?")
_YEAR = re.compile(r"(?:19|20)\d{2}")
_DATE = re.compile(r"(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")
_MONEY_BEFORE = frozenset("$€£¥")


def section_code(number: str) -> str:
    """The code under which a section's own number is found: `4.2` as `sec:4.2`."""
    return f"sec:{number.lower()}"


def codes_of(text: str) -> tuple[str, ...]:
    """The codes of a text, normalised to lower case, in order of first appearance, each once."""
    return tuple(islice(dict.fromkeys(_codes(text[:_LONGEST_TEXT].translate(_HYPHENS))), _MOST))


def _codes(text: str) -> Iterator[str]:
    before, before_end = "", 0
    in_sections = False
    at_heading = True  # at the start of a line or of a step of a heading path
    for match in _WORD.finditer(text):
        word = match.group()
        if word in ("\n", "›"):
            before, in_sections, at_heading = "", False, True
            continue
        gap = text[before_end : match.start()] if before else ""
        close = len(gap) <= 3 and not any(mark in gap for mark in ";:!?")
        if in_sections and close and _SECTION_NUMBER.fullmatch(word):
            yield section_code(word)
        else:
            in_sections = word.lower() in _SECTION_WORD or (in_sections and close and word.lower() in _JOINS)
            if not in_sections and len(word) <= _LONGEST_CODE:
                money = text[match.start() - 1 : match.start()] in _MONEY_BEFORE if match.start() else False
                if not money:
                    spaced = gap.strip("/#") in (" ", "\u00a0") or gap == ""
                    yield from _of_word(word, before if spaced else "")
                    if at_heading and _NUMBERED_HEADING.fullmatch(word) and _heading_follows(text, match.end()):
                        yield section_code(word)
        before, before_end, at_heading = word, match.end(), False


@lru_cache(maxsize=16_384)
def _of_word(word: str, before: str) -> tuple[str, ...]:
    return tuple(_read(word, before))


def _read(word: str, before: str) -> Iterator[str]:
    low = word.lower()
    if _is_code(word, low):
        yield low
    if _AFTER_PREFIX.fullmatch(word) and _is_prefix(before) and not (_YEAR.fullmatch(word) and not _known(before)):
        yield f"{_ONE_NAME.get(before.lower(), before.lower())}-{low}"
    glued = re.fullmatch(r"([A-Za-z]{3,5})(\d{3,8})", word)
    if glued and _known(glued[1]):
        yield f"{glued[1].lower()}-{glued[2]}"


def _known(word: str) -> bool:
    return word.lower() in _KNOWN_PREFIX


def _is_prefix(word: str) -> bool:
    return _known(word) or (
        word.isascii()
        and word.isalpha()
        and word.isupper()
        and 2 <= len(word) <= 6
        and word.lower() not in _NOT_A_PREFIX
    )


def _is_code(word: str, low: str) -> bool:
    if not word.isascii():
        return False
    if _BARE_NUMBER.fullmatch(word):
        return not _DATE.fullmatch(word)
    head = re.split(r"[-_\d]", low, maxsplit=1)[0]
    if head in _NOT_A_PREFIX and len(head) > 1:
        number = word.rpartition("-")[2]
        return bool(_TICKET.fullmatch(word)) and head not in _CURRENCY and not _YEAR.fullmatch(number)
    if _HYPHENED.fullmatch(word):
        return _reads_as_code(re.split(r"[-_]", word))
    if _LOWER_HYPHENED.fullmatch(word):
        return not _YEAR.fullmatch(word.rpartition("-")[2])
    if _GLUED.fullmatch(word):
        return not re.fullmatch(r"[qh]\d|v\d+|[a-z](?:19|20)\d\d|h\d", low)
    if _LETTERED_SECTION.fullmatch(word):
        return False
    return bool(_NUMBER_HYPHENED.fullmatch(word) or _HEX.fullmatch(word))


def _reads_as_code(parts: list[str]) -> bool:
    if any(any(ch.isdigit() for ch in part) for part in parts):
        return not (len(parts) == 2 and _YEAR.fullmatch(parts[1]) and len(parts[0]) > 5)
    # Capitals alone: TRV-INTL and ERR_RESET are codes, X-RAY and headings set in capitals mostly are not.
    return all(len(part) >= 2 for part in parts) and not all(part.lower() in _CAPITAL_WORDS for part in parts[1:])


_CAPITAL_WORDS = _words(
    "up in out off on time term day free level based related only to end wide use line site one two by of "
    "the and going through approval paid employee work hours hour duty person year month week service "
    "party"
)


def _heading_follows(text: str, end: int) -> bool:
    rest = text[end : end + 3].lstrip(".) \t")
    return rest[:1].isupper()
