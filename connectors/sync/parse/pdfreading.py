"""The order in which a PDF's page is read: columns, lines, and what among the lines stands as a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from connectors.sync.parse.pdfpage import Page
from connectors.sync.parse.pdfpaint import Box
from connectors.sync.parse.pdfpieces import Piece, runs_leftward
from connectors.sync.parse.pdftables import Found, aligned

_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})


@dataclass(slots=True)
class Line:
    """Pieces on one height, left to right."""

    pieces: list[Piece]
    box: Box
    size: float
    bold: bool
    mono: bool
    page: int
    text: str


def layout(page: Page, tables: list[Found], pieces: list[Piece]) -> Iterator[Line | Found]:
    """Lines and tables of a page in reading order."""
    anchors = sorted(tables, key=lambda table: table.box.y0)
    for part in _columns(pieces, 0):
        lines = _lines(part, page.number)
        for item in _with_aligned(lines):
            top = item.box.y0
            while anchors and anchors[0].box.y0 <= top and _beside(anchors[0].box, item.box):
                yield anchors.pop(0)
            yield item
    yield from anchors


def _beside(table: Box, other: Box) -> bool:
    """They share a column: the table is not in one that is read later."""
    return table.x0 < other.x1 and other.x0 < table.x1


def _columns(pieces: list[Piece], deep: int) -> Iterator[list[Piece]]:
    """Pieces column by column; what runs over all columns parts them."""
    gutter = _gutter(pieces) if len(pieces) >= 12 and deep < 3 else None
    if gutter is None:
        yield pieces
        return
    crossing = sorted((p for p in pieces if p.box.x0 < gutter < p.box.x1), key=lambda p: p.box.y0)
    left = [p for p in pieces if p.box.x1 <= gutter]
    right = [p for p in pieces if p.box.x0 >= gutter]
    top = float("-inf")
    for bar in [*crossing, None]:
        bottom = float("inf") if bar is None else bar.middle
        for side in (left, right):
            part = [p for p in side if top < p.middle <= bottom]
            if part:
                yield from _columns(part, deep + 1)
        if bar is not None:
            yield [bar]
            top = bottom


def _gutter(pieces: list[Piece]) -> float | None:
    """Where a page of two columns or more parts, or None: few pieces cross it, and prose fills both sides."""
    x0, x1 = min(p.box.x0 for p in pieces), max(p.box.x1 for p in pieces)
    best: tuple[int, float] | None = None
    for step in range(20, 81):
        x = x0 + (x1 - x0) * step / 100
        crossing = sum(p.box.x0 < x < p.box.x1 for p in pieces)
        if crossing > 0.2 * len(pieces):
            continue
        left, right = [p for p in pieces if p.box.x1 <= x], [p for p in pieces if p.box.x0 >= x]
        fit = (_is_prose(left) and _is_prose(right)) or (not crossing and _are_apart(left, right))
        if fit and (best is None or crossing < best[0]):
            best = (crossing, x)
    return best[1] if best else None


def _are_apart(left: list[Piece], right: list[Piece]) -> bool:
    """Two columns that keep to no common rows, as those of a table would."""
    if min(len(left), len(right)) < 10 or max(p.box.x1 for p in left) + 8 > min(p.box.x0 for p in right):
        return False
    beside = sum(any(abs(p.middle - q.middle) < 0.25 * p.size for q in right) for p in left)
    return beside < 0.5 * len(left)


def _is_prose(pieces: list[Piece]) -> bool:
    if len(pieces) < 5:
        return False
    x0, x1 = min(p.box.x0 for p in pieces), max(p.box.x1 for p in pieces)
    widths = sorted(p.box.x1 - p.box.x0 for p in pieces)
    long = sum(len(p.text) for p in pieces) / len(pieces)
    return widths[len(widths) // 2] >= 0.55 * (x1 - x0) and long >= 18


def _lines(pieces: list[Piece], page: int) -> list[Line]:
    """Pieces of one column as lines from top to bottom."""
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda p: (p.middle, p.box.x0)):
        height = piece.box.y1 - piece.box.y0
        if rows and abs(rows[-1][0].middle - piece.middle) < 0.45 * max(height, 1.0):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [_line(sorted(row, key=lambda p: p.box.x0), page) for row in rows]


def _line(row: list[Piece], page: int) -> Line:
    box = row[0].box
    for piece in row[1:]:
        box = box.joined(piece.box)
    longest = max(row, key=lambda p: len(p.text))
    leftward = runs_leftward("".join(piece.text for piece in row))
    text = " ".join(piece.text for piece in (reversed(row) if leftward else row)).translate(_LIGATURES)
    return Line(row, box, longest.size, all(p.bold for p in row), all(p.mono for p in row), page, text)


def _with_aligned(lines: list[Line]) -> Iterator[Line | Found]:
    """Runs of lines that stand in columns, as tables; the rest as they are."""
    run: list[Line] = []
    for line in [*lines, None]:
        if line is not None and _is_row(line) and (not run or line.box.y0 - run[-1].box.y1 < 2.2 * line.size):
            run.append(line)
            continue
        if line is not None and run and _is_wrapped_cell(line, run):
            run.append(line)
            continue
        yield from _tabled(run)
        run = []
        if line is not None:
            if _is_row(line):
                run = [line]
            else:
                yield line
    yield from _tabled(run)


def _is_row(line: Line) -> bool:
    return len(line.pieces) >= 2 and not (len(line.pieces) == 2 and _is_marker(line.pieces[0].text))


def _is_wrapped_cell(line: Line, run: list[Line]) -> bool:
    """One more line of a cell: close below the row, and in a column other than the first."""
    columns = [piece.box.x0 for row in run for piece in row.pieces[1:]]
    near = line.box.y0 - run[-1].box.y1 < 0.6 * line.size
    return near and len(run) >= 2 and any(abs(line.box.x0 - x) < 4 for x in columns)


def _is_marker(text: str) -> bool:
    return bool(
        re.match(
            r"^(?:[•●○◦▪■□‣⁃∙·✓➢►❖–—*\-☐☑☒✔❑❒➔→»\u0080-\u009f\uf000-\uf0ffo]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]|\d+(?:\.\d+)+\.?)$",
            text.strip(),
        )
    )


def _tabled(run: list[Line]) -> Iterator[Line | Found]:
    found = aligned([line.pieces for line in run]) if len(run) >= 3 and not _is_counted(run) else None
    if found is not None:
        yield found
    else:
        yield from run


def _is_counted(run: list[Line]) -> bool:
    """A list whose numbers stand apart from its items: 1, 2, 3 and one piece of text each."""
    numbers = [line.pieces[0].text.strip() for line in run if len(line.pieces) == 2]
    return len(numbers) == len(run) and numbers == [str(n + 1) for n in range(len(run))]
