"""A question as it arrived, and the query made of it.

The query keeps three levels of trust in three fields: what was typed (`raw`), what the request asks for (`wants`), and
who asks (the subject, which comes from the directory and is nowhere read from text).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
_MOST_WORDS_ALONE = 3  # a question of no more words, none of them a code, goes on from an earlier one
_GOES_ON = re.compile(
    r"(?:and|but|or|so|then|also|what about|how about|same for|why|why not|how so|since when|until when|for how long|"
    r"by whom|for whom|who else|what else|where else)\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|she|him|her|his|this|those|these|the same|the former|the latter|the first|"
    r"the second|above|instead|(?:which|that|another|other) ones?|"
    r"(?:is|was|does|did|do|about|of|for|with|on|in|at|to|from|by|after|before|than) that)\b",
    re.IGNORECASE,
)
_MOST_WORDS_BACK = 12  # a longer question that points back says itself what it is about
_MOST_EARLIER = 4  # questions that are looked back over
_SEPARATE = "?.!:;…"
_SHORTEST_PART = 3  # words; a shorter piece, such as "and why?", means nothing alone


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody asked, where, and when."""

    asker: Principal
    place: Place
    text: str
    at: datetime
    on: date | None = None  # the day whose rules are asked about, where the request names one outside its text
    earlier: tuple[str, ...] = ()  # asked before in the same talk, oldest first: only what all who listen now may see


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
    """Split a compound question, find the identifiers and the day it is about. A question that goes on from an earlier
    one is put behind it, word for word; nothing is rewritten."""
    typed = " ".join(question.text[:LONGEST].split())
    before = _before(typed, question.earlier)
    raw = f"{before} {typed}" if before else typed
    on = question.on or named_day(typed) or named_day(before)
    moment = Moment(question.at, on or question.at.date(), dated=on is not None)
    parts = tuple(Part(text, codes_of(text)) for text in ([raw] if before else _split(raw)))
    return Query(raw, parts, Wants(moment, codes_of(raw)))


def goes_on(text: str) -> bool:
    """Whether a question means little without an earlier one: it begins or points back so, or is very short."""
    if codes_of(text) or named_day(text):
        return _GOES_ON.match(text) is not None
    words = text.split()
    back = _POINTS_BACK.search(text) is not None and len(words) <= _MOST_WORDS_BACK
    return len(words) <= _MOST_WORDS_ALONE or back or _GOES_ON.match(text) is not None


def _before(typed: str, earlier: Sequence[str]) -> str:
    """What a question goes on from: the last earlier one that means something alone, and its own additions since."""
    if not typed or not earlier or not goes_on(typed):
        return ""
    taken: list[str] = []
    for text in reversed([" ".join(each[:LONGEST].split()) for each in earlier[-_MOST_EARLIER:]]):
        taken.insert(0, text if text.endswith(tuple(_SEPARATE)) else f"{text}.")
        if not goes_on(text):
            break
    return " ".join(taken)[: LONGEST - len(typed) - 1] if len(typed) < LONGEST - 1 else ""


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
