"""Reading `originals/`: the text of the sample's Office and PDF files, in a small Markdown of our own.

A table cell `<` joins the cell to its left, `^` the cell above. `!hidden`, `!deleted` and `!note` begin a line of text
that a reader of the finished file does not see. Anything else is a title (#), a heading, an item or a paragraph.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Unseen = Literal["hidden", "deleted", "note"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 stands below the document's title."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, or one that is there and not seen."""

    text: str
    unseen: Unseen | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """A bulleted list."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """A rectangle of cells that is one cell, by row and column counted from 0, ends included."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True, slots=True)
class Grid:
    """A table, header rows first; a cell that belongs to another one is empty."""

    rows: tuple[tuple[str, ...], ...]
    joined: tuple[Joined, ...]
    head: int  # how many rows are header


Piece = Heading | Paragraph | Items | Grid


@dataclass(frozen=True, slots=True)
class Manuscript:
    """A document as it was written, before it became a file."""

    title: str
    header: str
    footer: str
    pieces: tuple[Piece, ...]

    def sections(self) -> Iterator[tuple[str, tuple[Piece, ...]]]:
        """The document cut at its headings of level 1: slides or sheets. The first is named by the title."""
        name, held = self.title, list[Piece]()
        for piece in self.pieces:
            if isinstance(piece, Heading) and piece.level == 1:
                yield name, tuple(held)
                name, held = piece.text, []
            else:
                held.append(piece)
        yield name, tuple(held)


def read(text: str) -> Manuscript:
    """Read one original; raises ValueError when it has no front matter or no title."""
    found = re.fullmatch(r"\+\+\+\n(.*?)\n\+\+\+\n\s*# ([^\n]+)\n(.*)", text, re.DOTALL)
    if not found:
        raise ValueError("an original begins with +++ front matter and a title")
    front = tomllib.loads(found[1])
    pieces = tuple(_piece(part) for part in re.split(r"\n\s*\n", found[3].strip()))
    return Manuscript(found[2], str(front["header"]), str(front["footer"]), pieces)


def _piece(part: str) -> Piece:
    if heading := re.fullmatch(r"#(#+) (.+)", part):
        return Heading(len(heading[1]), heading[2])
    if part.startswith("|"):
        return _grid(part.splitlines())
    if part.startswith("- "):
        return Items(tuple(line.removeprefix("- ") for line in part.splitlines()))
    for unseen in ("hidden", "deleted", "note"):
        if part.startswith(f"!{unseen} "):
            return Paragraph(part.removeprefix(f"!{unseen} "), unseen)
    return Paragraph(part)


def _grid(lines: list[str]) -> Grid:
    written = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    rows = [row for row in written if not all(set(cell) == {"-"} and len(cell) >= 3 for cell in row)]
    # A second header row is one that continues cells of the first and stands directly below it.
    head = 2 if "<" in rows[0] else 1
    joined = tuple(_joined(rows))
    return Grid(tuple(tuple("" if cell in "<^" else cell for cell in row) for row in rows), joined, head)


def _joined(rows: list[list[str]]) -> Iterator[Joined]:
    for top, row in enumerate(rows):
        for left, cell in enumerate(row):
            if cell in ("<", "^"):
                continue
            right, bottom = left, top
            while right + 1 < len(row) and row[right + 1] == "<":
                right += 1
            while bottom + 1 < len(rows) and rows[bottom + 1][left] == "^":
                bottom += 1
            if (right, bottom) != (left, top):
                yield Joined(top, left, bottom, right)
