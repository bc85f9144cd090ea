"""What the page properties of a page say: the key and value pairs of its `details` macros, and the dates among them.

This runs outside the sandbox, since a document's dates are needed before its text is read: it takes time in proportion
to the text, whatever that is. Ambiguous dates are no dates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from html import escape
from typing import Any

from connectors.sources.confluence import markup
from connectors.sources.confluence.markup import Tag, unescaped

MOST_PROPERTIES = 200
_LONGEST_VALUE = 500
_LONGEST_CELL = 10_000  # characters of one as it is written
_DEEPEST = 60  # levels of an ADF document
_DETAILS = "details"
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
         "december"), start=1,
    )
    for name in (names, names[:3])
}  # fmt: skip
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_DAY_FIRST = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?[ .]+([A-Za-z]{3,9})\.?,? +(\d{4})\b")
_MONTH_FIRST = re.compile(r"\b([A-Za-z]{3,9})\.? +(\d{1,2})(?:st|nd|rd|th)?,? +(\d{4})\b")
_FROM = re.compile(
    r"(?:effective|valid|in force|applies|applicable|commencement)(?: (?:date|from|as of|since|on))?|start date"
)
_TO = re.compile(
    r"(?:effective|valid|in force|applies) (?:to|until|till|through)|expir(?:y|es|ation)(?: (?:date|on))?|end date|"
    r"superseded on|withdrawn on"
)
_REVIEW = re.compile(r"(?:next )?review(?: (?:date|by|due|on))?|(?:to be )?reviewed by")


@dataclass(frozen=True, slots=True)
class Dates:
    """What page properties say about time."""

    effective_from: date | None = None
    effective_to: date | None = None  # the last day in force
    review: date | None = None


def dates(properties: Mapping[str, str]) -> Dates:
    """The dates among properties, by the words of their keys; a period that ends before it begins is none."""
    found: dict[str, date] = {}
    for key, value in properties.items():
        words = re.sub(r"[\W_]+", " ", key).strip().casefold()
        day = day_of(value)
        if day is None:
            continue
        for name, pattern in (("to", _TO), ("from", _FROM), ("review", _REVIEW)):
            if pattern.fullmatch(words):
                found.setdefault(name, day)
                break
    begins, ends = found.get("from"), found.get("to")
    if begins is not None and ends is not None and ends < begins:
        begins = ends = None
    return Dates(begins, ends, found.get("review"))


def day_of(text: str) -> date | None:
    """The one day that a text names beyond doubt: 2031-04-01, 1 April 2031, April 1, 2031."""
    for pattern, order in ((_ISO, (1, 2, 3)), (_DAY_FIRST, (3, 2, 1)), (_MONTH_FIRST, (3, 1, 2))):
        if found := pattern.search(text):
            year, month, day = (found.group(each) for each in order)
            number = int(month) if month.isdecimal() else _MONTHS.get(month.casefold(), 0)
            try:
                return date(int(year), number, int(day))
            except ValueError:
                return None
    return None


def of_storage(text: str) -> dict[str, str]:
    """The properties that a page in storage format states."""
    if _DETAILS not in text:
        return {}
    reader = _Reader()
    for piece in markup.read(text):
        if isinstance(piece, str):
            reader.text(piece)
        elif piece.closing:
            reader.closes(piece.name)
        else:
            reader.opens(piece)
    return reader.properties


def of_adf(text: str) -> dict[str, str]:
    """The properties that a document in Atlassian's document format states; none for one that is very long, which can't
    be read in part."""
    try:
        document = json.loads(text) if len(text) <= markup.LONGEST else None
    except (ValueError, RecursionError):
        return {}
    found: dict[str, str] = {}
    for details in _details(document, 0):
        for row in _nodes(details, "tableRow", 0):
            cells = [cell for cell in _content(row) if cell.get("type") in ("tableHeader", "tableCell")]
            if len(cells) == 2 and len(found) < MOST_PROPERTIES:
                key, value = (_text(cell, 0)[:_LONGEST_VALUE] for cell in cells)
                found.setdefault(key.strip(), value.strip())
    found.pop("", None)
    return found


# ---------------------------------------------------------------- storage format


@dataclass(slots=True)
class _Table:
    rows: list[list[str]] = field(default_factory=list)
    heads: list[list[bool]] = field(default_factory=list)


class _Reader:
    """Keeps the cells of tables that stand directly in a `details` macro."""

    def __init__(self) -> None:
        self.properties: dict[str, str] = {}
        self._macros: list[str] = []
        self._tables: list[_Table | None] = []  # open ones; None for those that are not kept
        self._keeping = False  # one of them is kept
        self._cell: list[str] | None = None
        self._long = 0  # characters of it
        self._dropped = 0  # depth of parameters, whose text nobody sees

    def opens(self, tag: Tag) -> None:
        """A tag that opens, or stands alone."""
        match tag.name:
            case "time":
                self.text(f" {escape(tag.told().get('datetime', ''))} ")
            case "br" | "p" | "li" | "div":
                self.text(" ")
            case "td" | "th" if self._table is not None and self._table.rows:
                self._cell, self._long = [], 0
                self._table.heads[-1].append(tag.name == "th")
                if tag.alone:
                    self.closes(tag.name)
            case _ if tag.alone:
                pass
            case "ac:structured-macro":
                self._macros.append(tag.told().get("ac:name", ""))
            case "ac:parameter":
                self._dropped += 1
            case "table":
                kept = not self._keeping and bool(self._macros) and self._macros[-1] == _DETAILS
                self._keeping = self._keeping or kept
                self._tables.append(_Table() if kept else None)
            case "tr" if self._table is not None:
                self._table.rows.append([])
                self._table.heads.append([])

    def closes(self, name: str) -> None:
        """A tag that closes."""
        match name:
            case "ac:structured-macro" if self._macros:
                self._macros.pop()
            case "ac:parameter":
                self._dropped = max(0, self._dropped - 1)
            case "table" if self._tables:
                self._end(self._tables.pop())
            case "td" | "th" if self._table is not None and self._cell is not None and self._table.rows:
                self._table.rows[-1].append(" ".join(unescaped("".join(self._cell)).split())[:_LONGEST_VALUE])
                self._cell = None

    def text(self, text: str) -> None:
        """What stands between two tags, as it is written."""
        if self._cell is not None and not self._dropped and self._long < _LONGEST_CELL:
            self._cell.append(text[:_LONGEST_CELL])
            self._long += len(text)

    @property
    def _table(self) -> _Table | None:
        return self._tables[-1] if self._tables else None

    def _end(self, table: _Table | None) -> None:
        """Keys down the first column, or along the first row where it is all heads."""
        if table is None:
            return
        self._keeping = False
        if not table.rows:
            return
        across = len(table.rows) == 2 and len(table.heads[0]) > 1 and all(table.heads[0])
        pairs = zip(*table.rows, strict=False) if across else (row for row in table.rows if len(row) == 2)
        for key, value in pairs:
            if key and len(self.properties) < MOST_PROPERTIES:
                self.properties.setdefault(key.rstrip(": "), value)


# ---------------------------------------------------------------- ADF


def _content(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    held = node.get("content")
    return [each for each in held if isinstance(each, Mapping)] if isinstance(held, list) else []


def _details(node: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    if not isinstance(node, Mapping) or depth > _DEEPEST:
        return
    attributes = node.get("attrs")
    if isinstance(attributes, Mapping) and attributes.get("extensionKey") == "details":
        yield node
        return
    for each in _content(node):
        yield from _details(each, depth + 1)


def _nodes(node: Mapping[str, Any], kind: str, depth: int) -> Iterator[Mapping[str, Any]]:
    if depth > _DEEPEST:
        return
    for each in _content(node):
        if each.get("type") == kind:
            yield each
        else:
            yield from _nodes(each, kind, depth + 1)


def _text(node: Mapping[str, Any], depth: int) -> str:
    if depth > _DEEPEST:
        return ""
    attributes = node.get("attrs")
    if node.get("type") == "date" and isinstance(attributes, Mapping):
        return day_of_timestamp(attributes.get("timestamp"))
    if isinstance(node.get("text"), str):
        return str(node["text"])
    return " ".join(filter(None, (_text(each, depth + 1) for each in _content(node))))


def day_of_timestamp(value: Any) -> str:
    """The day of an ADF date, which is given in milliseconds since 1970 in UTC; nothing where it is none."""
    try:
        return date.fromordinal(date(1970, 1, 1).toordinal() + int(value) // 86_400_000).isoformat()
    except (TypeError, ValueError, OverflowError):
        return ""
