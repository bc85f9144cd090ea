"""A question as it arrived, and the query made of it.

The query keeps three levels of trust in three fields: what was typed (`raw`), what the request asks for (`wants`), and
who asks (the subject, which comes from the directory and is nowhere read from text).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime

from connectors.codes import codes_of
from policies.audience import Place
from policies.facts import Moment
from policies.names import Principal

LONGEST = 2_000  # characters of a question that are read; people paste whole mails

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join(name[:3] + f"(?:{name[3:]})?" if name != "may" else "may" for name in _MONTHS)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({_MONTH}),? (\d{{4}})\b", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b", re.IGNORECASE)
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_MONTH_ONLY = re.compile(rf"\b(?:in|during|of|since|as of|back in) ({_MONTH}) (\d{{4}})\b", re.IGNORECASE)
_PARTS = re.compile(
    r"(?<=\?)\s+|[,;]?\s+and\s+(?=(?:also\s+)?(?:what|who|whom|when|where|why|which|how|can|could|may|do|does|did|is|are|"
    r"was|were|should|must|will)\b)|;\s+",
    re.IGNORECASE,
)
_MOST_PARTS = 3
_SHORTEST_PART = 3  # words; a shorter piece, such as "and why?", means nothing alone


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody asked, where, and when."""

    asker: Principal
    place: Place
    text: str
    at: datetime
    on: date | None = None  # the day whose rules are asked about, where the request names one outside its text


@dataclass(frozen=True, slots=True)
class Part:
    """One thing asked; a compound question has several."""

    text: str
    codes: tuple[str, ...]

    @property
    def bare(self) -> bool:
        """Whether nothing is given but codes: then it is asked where they occur."""
        return 0 < len(self.text.split()) <= len(self.codes)


@dataclass(frozen=True, slots=True)
class Wants:
    """What the request itself asks for. It steers ranking and the day; it never widens what may be read."""

    moment: Moment
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """The question as the indexes can serve it."""

    raw: str
    parts: tuple[Part, ...]
    wants: Wants


def understand(question: Question) -> Query:
    """Split a compound question, find the identifiers and the day it is about; nothing is rewritten."""
    raw = " ".join(question.text[:LONGEST].split())
    on = question.on or named_day(raw)
    moment = Moment(question.at, on or question.at.date(), dated=on is not None)
    parts = tuple(Part(text, codes_of(text)) for text in _split(raw))
    return Query(raw, parts, Wants(moment, codes_of(raw)))


def named_day(text: str) -> date | None:
    """The first whole date that a text names, or the first day of a month it speaks of; None where there is none."""
    for pattern, order in ((_ISO, "ymd"), (_DAY_FIRST, "dmy"), (_MONTH_FIRST, "mdy"), (_MONTH_ONLY, "my")):
        if found := pattern.search(text):
            fields = dict(zip(order, found.groups(), strict=True))
            try:
                return date(int(fields["y"]), _month(fields["m"]), int(fields.get("d", 1)))
            except ValueError:
                continue
    return None


def _month(name: str) -> int:
    if name.isdigit():
        return int(name)
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name[:3].casefold()))


def _split(raw: str) -> list[str]:
    pieces = [piece.strip() for piece in _PARTS.split(raw) if piece and piece.strip()]
    if not 1 < len(pieces) <= _MOST_PARTS or any(len(piece.split()) < _SHORTEST_PART for piece in pieces):
        return [raw]
    return pieces
