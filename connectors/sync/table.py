"""Tables as sentences: each row says on its own what its cells mean under their headers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from connectors.codes import codes_of
from connectors.records import Table
from connectors.sentences import sentences
from connectors.sync.section import slug

LONGEST_ROW = 1_800  # characters; a longer row is several passages that all begin with its first cell
_LONGEST_NAME = 48  # characters of a first cell that may name its row
_MOST_WORDS = 7
_NAMING = 3  # leading columns that may name the rows


@dataclass(frozen=True, slots=True)
class Row:
    """One row as text, or a part of a long one."""

    name: str  # what names it within its table: a code or a few words that no other row has, else empty
    text: str
    caption: str


def as_text(table: Table) -> str:
    """The caption, then one line a row."""
    lines = [row.text for row in rows_of(table) if row.text]
    return "\n".join([table.caption, *lines] if table.caption else lines)


def rows_of(table: Table) -> Iterator[Row]:
    """Every row in order, such as `International airfare: Employee: Reimbursable; Contractor: If agreed.`"""
    naming = _naming_column(table)
    for cells in table.rows:
        tidy = [_tidy(cell) for cell in cells]
        label, told = _told(table.headers, tidy)
        text = _sentence(label, told)
        if len(text) <= LONGEST_ROW:
            yield Row(_name(tidy[naming]) if tidy else "", text, table.caption)
        else:
            yield from (Row("", part, table.caption) for part in _parts(label, told))


def _tidy(cell: str) -> str:
    """On one line; a dash that stands for nothing is nothing."""
    line = " ".join(cell.split())
    return "" if line in ("-", "–", "—") else line


def _naming_column(table: Table) -> int:
    """The first of the leading columns that names every row differently, such as the codes beside merged groups."""
    for column in range(min(_NAMING, len(table.headers))):
        names = {_name(_tidy(row[column])) for row in table.rows}
        if "" not in names and len(names) == len(table.rows):
            return column
    return 0


def _told(headers: Sequence[str], cells: Sequence[str]) -> tuple[str, list[str]]:
    """What the row is about, and what it says of it."""
    named = [(" ".join(header.split()).rstrip(":"), cell) for header, cell in zip(headers, cells, strict=True)]
    if len(named) < 2 or not named[0][1]:
        return "", [_cell(header, cell) for header, cell in named if cell]
    header, first = named[0]
    reads_alone = not header or re.search(r"[a-z]{2}", first) or header.casefold() in first.casefold()
    label = first if reads_alone else f"{header} {first}"
    return label.rstrip(":"), [_cell(header, cell) for header, cell in named[1:] if cell]


def _cell(header: str, cell: str) -> str:
    return f"{header}: {cell}" if header and header != cell else cell


def _sentence(label: str, told: Sequence[str]) -> str:
    said = "; ".join(part.rstrip(" .;") for part in told)
    whole = f"{label}: {said}" if label and said else label or said
    return whole if not whole or whole.endswith(("!", "?", ".")) else f"{whole}."


def _parts(label: str, told: Sequence[str]) -> Iterator[str]:
    half = LONGEST_ROW // 2
    for part in told:
        run = ""
        for sentence in sentences(part):
            for piece in (sentence[at : at + half] for at in range(0, len(sentence), half)):
                if run and len(run) + len(piece) > half:
                    yield _sentence(label, [run])
                    run = ""
                run = f"{run} {piece}".strip()
        if run:
            yield _sentence(label, [run])


def _name(cell: str) -> str:
    """A code as it is written, short words as a slug, nothing for other numbers and for sentences."""
    words = cell.split()
    if len(cell) > _LONGEST_NAME:
        return ""
    if len(words) == 1 and codes_of(cell):
        return re.sub(r"[^\w.\-]+", "-", cell).strip("-.")
    if not any(ch.isalpha() for ch in cell):
        return ""
    return slug(cell) if len(words) <= _MOST_WORDS else ""
