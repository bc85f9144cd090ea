"""A PDF's lines and tables written into the outline: paragraphs, lists, code and tables that go on over pages."""

from __future__ import annotations

import re
from collections.abc import Sequence

from connectors.sync.parse.outline import Item, Outline
from connectors.sync.parse.pdfheadings import SECTION, Levels
from connectors.sync.parse.pdfpage import Page
from connectors.sync.parse.pdfreading import Line
from connectors.sync.parse.pdftables import Found, joined

_BULLET = re.compile(r"^([•●○◦▪■□‣⁃∙·✓➢►❖–—*\-☐☑☒✔❑❒➔→»\u0080-\u009f\uf000-\uf0ffo])(?:\s+|$)(.*)$", re.S)
_ORDINAL = re.compile(r"^(\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])\s+(.*)$", re.S)
_ENDS = re.compile(r"[.!?:;]['\"”’)]*$")


class Writer:
    """Lines and tables of one page after another into the outline; paragraphs, lists and tables go on over pages."""

    def __init__(self, outline: Outline, levels: Levels) -> None:
        self._outline = outline
        self._levels = levels
        self._lines: list[Line] = []
        self._heading: list[Line] = []
        self._items: list[tuple[float, str, list[Line]]] = []
        self._code: list[Line] = []
        self._table: Found | None = None
        self._right = 0.0

    def page(self, page: Page, layout: Sequence[Line | Found]) -> None:
        """Write one page."""
        rights = sorted(item.box.x1 for item in layout if isinstance(item, Line))
        self._right = rights[int(len(rights) * 0.9)] if rights else page.width
        for item in layout:
            if isinstance(item, Found):
                self._tabulate(item)
            else:
                self._line(item)

    def done(self) -> None:
        """Nothing more comes."""
        self._end()

    def _tabulate(self, table: Found) -> None:
        before = self._table if not (self._lines or self._items or self._heading or self._code) else None
        self._end()
        rows = table.rows
        if before is not None and len(before.edges) == len(table.edges):
            same = all(abs(a - b) < 4 for a, b in zip(before.edges, table.edges, strict=True))
            repeats = before.header_rows and rows[: before.header_rows] == before.rows[: before.header_rows]
            if (same or repeats) and self._outline.continue_table(rows, before.header_rows if repeats else 0):
                self._table = before
                return
        self._outline.table(rows, table.header_rows)
        self._table = table

    def _line(self, line: Line) -> None:
        text = line.text.strip()
        if not text:
            return
        marker = _marker(line)
        level = None if marker and marker[0] == "-" else self._levels.of(line)
        if level is not None and not (marker and self._in_list_run(line)):
            if self._heading and not (
                self._levels.alike(self._heading[-1], line) and self._follows(self._heading[-1], line)
            ):
                self._end()
            if not self._heading:
                self._end()
            self._heading.append(line)
            return
        if self._heading:
            self._end()
        if line.mono:
            self._end_but(self._code)
            self._code.append(line)
        elif marker:
            self._end_but(self._items)
            self._items.append((line.box.x0, marker[0], [_renamed(line, marker[1])]))
        elif self._items and self._continues_item(line):
            self._items[-1][2].append(line)
        else:
            self._end_but(self._lines)
            if self._lines and not self._continues(self._lines[-1], line):
                self._end()
            self._lines.append(line)

    def _in_list_run(self, line: Line) -> bool:
        return bool(self._items) and not line.bold and line.size < 1.1 * self._levels.body

    def _follows(self, before: Line, line: Line) -> bool:
        gap = line.box.y0 - before.box.y1
        numbered = SECTION.match(line.text)
        return before.page == line.page and -line.size < gap < 0.8 * line.size and not numbered

    def _continues(self, before: Line, line: Line) -> bool:
        """The line goes on with the paragraph of the line before."""
        if abs(before.size - line.size) > 1.0 or before.bold != line.bold:
            return abs(before.size - line.size) <= 1.0 and self._reaches(before) and not _ENDS.search(before.text)
        if before.page != line.page or line.box.y0 < before.box.y0 - line.size:
            return (not _ENDS.search(before.text) and line.text[:1].islower()) or before.text.endswith("-")
        gap = line.box.y0 - before.box.y1
        if gap > 0.75 * line.size:
            return False
        if line.box.x0 > before.box.x0 + 1.2 * line.size and _ENDS.search(before.text):
            return False
        return self._reaches(before) or (not _ENDS.search(before.text) and line.text[:1].islower())

    def _reaches(self, line: Line) -> bool:
        """The line is so long that its last word may have been followed by more."""
        return line.box.x1 >= self._right - 0.18 * max(
            self._right - line.box.x0, 1.0
        ) or line.box.x1 - line.box.x0 > 0.8 * (self._right - line.box.x0)

    def _continues_item(self, line: Line) -> bool:
        left, _, lines = self._items[-1]
        last = lines[-1]
        if last.page != line.page:
            return line.text[:1].islower()
        near = line.box.y0 - last.box.y1 < 0.7 * line.size
        hangs = line.box.x0 > left + 2
        return near and (hangs or (line.text[:1].islower() and not _ENDS.search(last.text)))

    def _end_but(self, kept: list[Line] | list[tuple[float, str, list[Line]]]) -> None:
        if not kept:
            self._end()

    def _end(self) -> None:
        """Write what is gathered."""
        self._table = None if (self._heading or self._lines or self._items or self._code) else self._table
        if self._heading:
            text = joined([line.text.strip() for line in self._heading])
            if self._levels.is_heading(text, self._heading[0]):
                self._outline.heading(self._levels.of(self._heading[0]) or 1, text)
            else:
                self._write(self._heading[0], lambda: self._outline.text(text))
        if self._lines:
            self._write(self._lines[0], lambda: self._outline.text(joined([line.text.strip() for line in self._lines])))
        if self._items:
            self._write(self._items[0][2][0], self._write_items)
        if self._code:
            self._write(self._code[0], lambda: self._outline.code(_indented(self._code)))
        self._heading, self._lines, self._items, self._code = [], [], [], []

    def _write(self, first: Line, write: object) -> None:
        now, self._outline.page = self._outline.page, first.page
        assert callable(write)  # noqa: S101 - one of the three above
        write()
        self._outline.page = now

    def _write_items(self) -> None:
        lefts: list[float] = []
        items: list[Item] = []
        for left, marker, lines in self._items:
            while lefts and left < lefts[-1] - 4:
                lefts.pop()
            if not lefts or left > lefts[-1] + 4:
                lefts.append(left)
            items.append(Item(len(lefts) - 1, marker, joined([line.text.strip() for line in lines])))
        self._outline.items(items)


def _marker(line: Line) -> tuple[str, str] | None:
    """A list item's marker and the rest of its line."""
    text = line.text.strip()
    if (match := _BULLET.match(text)) and (match.group(1) != "o" or len(line.pieces) > 1):
        return ("-", match.group(2)) if match.group(2) or len(line.pieces) == 1 else None
    if match := _ORDINAL.match(text):
        return match.group(1), match.group(2)
    if len(line.pieces) == 2 and (number := line.pieces[0].text.strip()).isdigit() and len(number) <= 2:
        return f"{number}.", line.pieces[1].text
    return None


def _renamed(line: Line, text: str) -> Line:
    return Line(line.pieces, line.box, line.size, line.bold, line.mono, line.page, text)


def _indented(lines: Sequence[Line]) -> str:
    left = min(line.box.x0 for line in lines)
    width = max(0.6 * lines[0].size, 1.0)
    return "\n".join(" " * round((line.box.x0 - left) / width) + line.text.rstrip() for line in lines)
