"""Word documents: headings by outline level, lists with their numbers, tables with merged cells repeated.

Headers, footers and field codes are left out. Vanished, white and tiny text, tracked deletions and comments are taken
out and told; tracked insertions are what the document says now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from lxml import etree

from connectors.records import Hidden, ParsedRecord
from connectors.sync.parse.docxbody import DEEPEST, all_code, boxes_of, cells_of, content, paragraphs_of, rows_of
from connectors.sync.parse.docxshade import PAPER, Shade, TableShade, TableShades, box_shade, page_shade, shade_of
from connectors.sync.parse.docxstyles import (
    TITLE_NAMES,
    Style,
    dressed,
    number_of,
    styles_of,
    unseen,
    value_of,
    with_shade,
)
from connectors.sync.parse.formula import M, formula
from connectors.sync.parse.grid import Span, grid
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.numbering import Numbering, W, numbering
from connectors.sync.parse.outline import Item, Outline, squeeze
from connectors.sync.parse.package import Package, said
from connectors.sync.parse.theme import theme_of


@dataclass(frozen=True, slots=True)
class _Paragraph:
    text: str
    style: Style
    boxes: tuple[etree._Element, ...] = ()
    marker: str | None = None  # of a list or a numbered heading
    depth: int = 0


def read(body: bytes, limits: Limits) -> ParsedRecord:
    """A Word document."""
    package = Package(body, limits)
    outline = Outline(limits)
    main = package.main()
    reader = _Reader(package, main, outline)
    reader.document(package.xml(main))
    for comments in package.related(main, "comments"):
        for comment in package.xml(comments).iter(W + "comment"):
            outline.hide(Hidden.COMMENT, said(comment))
    for notice in package.notices:
        outline.notice(notice)
    return outline.record(reader.title, _property_title(package), own_heading=reader.title is None)


def _property_title(package: Package) -> str | None:
    title = squeeze(package.title() or "")
    return None if re.match(r"^(?:word document|document\d*|microsoft word\b.*|untitled)?$", title, re.I) else title


class _Reader:
    def __init__(self, package: Package, main: str, outline: Outline) -> None:
        self._outline = outline
        part = {
            kind: next(package.related(main, kind), None) for kind in ("styles", "numbering", "footnotes", "endnotes")
        }
        self._styles = styles_of(package.xml(part["styles"]) if part["styles"] else None)
        self._numbering: Numbering = numbering(package.xml(part["numbering"]) if part["numbering"] else None)
        self._notes = {
            (kind, note.get(W + "id", "")): note
            for kind in ("footnote", "endnote")
            if (name := part[kind + "s"])
            for note in package.xml(name).iter(W + kind)
            if note.get(W + "type") in (None, "normal")
        }
        self._list: list[Item] = []
        self._code: list[str] = []
        self._shades = TableShades(package.xml(part["styles"]) if part["styles"] else None)
        self._theme = theme_of(next((package.xml(each) for each in package.related(main, "theme")), None))
        self._around = PAPER  # what text that says nothing lies on
        self.title: str | None = None

    def document(self, root: etree._Element) -> None:
        """Write everything in its body."""
        body = root.find(W + "body")
        if body is not None:
            with self._on(page_shade(root)):
                self._blocks(body, 0)
                self._flush()

    @contextmanager
    def _on(self, shade: Shade | None) -> Iterator[None]:
        """What is read meanwhile lies on this; None: on what is around it."""
        before = self._around
        self._around = shade or before
        yield
        self._around = before

    # ------------------------------------------------------------ blocks

    def _blocks(self, element: etree._Element, deep: int) -> None:
        for child in element:
            if child.tag == W + "p":
                self._paragraph(child, deep)
            elif child.tag == W + "tbl":
                self._flush()
                self._table(child)
            elif child.tag in (W + "del", W + "moveFrom"):
                self._outline.hide(Hidden.DELETED, said(child))
            elif child.tag == W + "sdt":
                if child.find(f"{W}sdtPr/{W}docPartObj/{W}docPartGallery[@{W}val='Table of Contents']") is None:
                    self._blocks(content(child), deep)
            elif child.tag in (W + "ins", W + "moveTo", W + "customXml", W + "smartTag") and deep < DEEPEST:
                self._blocks(child, deep + 1)

    def _paragraph(self, element: etree._Element, deep: int) -> None:
        read = self._read(element)
        text = squeeze(read.text)
        if re.match(r"^(?:toc|table of figures)\b", read.style.name, re.I):
            return
        if text:
            self._say(read, text)
        for box in read.boxes:
            if deep < DEEPEST:
                self._flush()
                with self._on(box_shade(box, self._theme)):
                    self._blocks(box, deep + 1)

    def _say(self, read: _Paragraph, text: str) -> None:
        style = read.style
        if style.name.lower() in TITLE_NAMES and self.title is None and style.level is None:
            self._flush()
            self.title = text.replace("\n", " ")
        elif style.level is not None:
            self._flush()
            told = text if read.marker in (None, "-") or text.startswith(read.marker or "") else f"{read.marker} {text}"
            self._outline.heading(style.level, told)
        elif read.marker is not None:
            self._flush_code()
            self._list.append(Item(read.depth, read.marker, text))
        elif style.code:
            self._flush_list()
            self._code.append(read.text)
        else:
            self._flush()
            self._outline.text(text)

    def _flush(self) -> None:
        self._flush_list()
        self._flush_code()

    def _flush_list(self) -> None:
        items, self._list = self._list, []
        self._outline.items(items)

    def _flush_code(self) -> None:
        lines, self._code = self._code, []
        if lines:
            self._outline.code("\n".join(lines))

    def _read(self, element: etree._Element) -> _Paragraph:
        """A paragraph's visible text, its style with its own settings, and its marker, which counts on."""
        properties = element.find(W + "pPr")
        style = self._styles.get(value_of(properties, "pStyle") or "", self._styles.get("", Style()))
        marker, depth = None, 0
        if properties is not None:
            level = value_of(properties, "outlineLvl")
            if level is not None and level.isdigit():
                style = replace(style, level=int(level) + 1 if int(level) < 9 else None)
            style = with_shade(style, properties)
            own = properties.find(W + "numPr")
            number = (value_of(own, "numId") if own is not None else None) or style.number
            stated = value_of(own, "ilvl") if own is not None else None
            depth = int(stated) if stated and stated.isdigit() else style.depth
        else:
            number, depth = style.number, style.depth
        parts: list[str] = []
        boxes: list[etree._Element] = []
        self._runs(element, style, parts, boxes, 0)
        text = "".join(parts)
        if number and number != "0" and text.strip():
            marker = self._numbering.marker(number, depth)
        if (
            style.level is None
            and marker is None
            and text.strip()
            and re.match(r"^list bullet|^list number", style.name, re.I)
        ):
            marker = "-"
        code = style.code or (bool(text.strip()) and marker is None and style.level is None and all_code(element))
        return _Paragraph(text, replace(style, code=code), tuple(boxes), marker, depth)

    # ------------------------------------------------------------ text

    def _runs(
        self, element: etree._Element, style: Style, parts: list[str], boxes: list[etree._Element], deep: int
    ) -> None:
        for child in element:
            tag = child.tag
            if tag == W + "r":
                self._run(child, style, parts, boxes)
            elif tag in (W + "del", W + "moveFrom"):
                self._outline.hide(Hidden.DELETED, said(child))
            elif tag == M + "oMath" or tag == M + "oMathPara":
                parts.append(f" {formula(child)} ")
            elif tag == W + "sdt":
                self._runs(content(child), style, parts, boxes, deep + 1)
            elif tag not in (W + "pPr", W + "rPr") and deep < DEEPEST and len(child):
                self._runs(child, style, parts, boxes, deep + 1)

    def _run(self, run: etree._Element, style: Style, parts: list[str], boxes: list[etree._Element]) -> None:
        look = self._look(run, style)
        told: list[str] = []
        for child in run:
            match etree.QName(child).localname:
                case "t":
                    told.append(child.text or "")
                case "tab" | "ptab":
                    told.append("\t")
                case "br" | "cr":
                    told.append("\n")
                case "noBreakHyphen":
                    told.append("-")
                case "sym":
                    told.append("")
                case "delText":
                    self._outline.hide(Hidden.DELETED, child.text or "")
                case "footnoteReference" | "endnoteReference" as kind:
                    note = self._notes.get((kind.removesuffix("Reference"), child.get(W + "id", "")))
                    if note is not None:
                        told.append(f" [{squeeze(self._plain(note))}]")
                case "drawing" | "pict" | "object" | "AlternateContent":
                    boxes.extend(boxes_of(child))
                case _:
                    pass
        text = "".join(told)
        if text.strip() and unseen(look, self._around):
            self._outline.hide(Hidden.STYLED, text)
            parts.append(" ")
        else:
            parts.append(text)

    def _plain(self, element: etree._Element) -> str:
        """All paragraphs of a cell or a note in one string; tables inside are read cell by cell."""
        lines: list[str] = []
        for paragraph in paragraphs_of(element, 0):
            read = self._read(paragraph)
            text = squeeze(read.text)
            if text:
                lines.append(f"{read.marker} {text}" if read.marker else text)
            for box in read.boxes:
                with self._on(box_shade(box, self._theme)):
                    lines.append(squeeze(self._plain(box)))
        return "\n".join(lines)

    def _look(self, run: etree._Element, style: Style) -> Style:
        properties = run.find(W + "rPr")
        if properties is None:
            return style
        named = self._styles.get(value_of(properties, "rStyle") or "?")
        look = style
        if named is not None:
            look = replace(
                look,
                vanish=look.vanish or named.vanish,
                colour=named.colour or look.colour,
                size=named.size or look.size,
                shade=named.shade or look.shade,
            )
        return with_shade(dressed(look, properties), properties)

    # ------------------------------------------------------------ tables

    def _table(self, table: etree._Element) -> None:
        rows: list[etree._Element] = []
        for row in rows_of(table):
            if row.find(f"{W}trPr/{W}del") is not None:
                self._outline.hide(Hidden.DELETED, said(row))
            else:
                rows.append(row)
        shades = self._shades.of(table)
        if len(rows) == 1 and len(only := list(cells_of(rows[0]))) == 1:
            with self._on(shade_of(only[0].find(W + "tcPr")) or shades.at(0, 0, 1, True)):
                self._blocks(only[0], 1)
                self._flush()
            return
        cells: list[list[Span]] = []
        heads = 0
        open_above: dict[int, tuple[int, int]] = {}  # column to the row and place of the cell that goes on downwards
        for row in rows:
            if heads == len(cells) and row.find(f"{W}trPr/{W}tblHeader") is not None:
                heads += 1
            cells.append(self._row(row, cells, open_above, shades, len(rows)))
        self._outline.table(grid(cells), heads if 0 < heads < len(cells) else 1)

    def _row(
        self,
        row: etree._Element,
        above: list[list[Span]],
        going: dict[int, tuple[int, int]],
        shades: TableShade,
        many: int,
    ) -> list[Span]:
        spans: list[Span] = []
        skipped = row.find(f"{W}trPr/{W}gridBefore")
        column = 0
        if skipped is not None:
            width = number_of(skipped.get(W + "val"), 0)
            spans.append(Span("", max(width, 1)))
            column = width
        cells = list(cells_of(row))
        for cell in cells:
            properties = cell.find(W + "tcPr")
            right = max(1, min(number_of(value_of(properties, "gridSpan"), 1), 100))
            merge = None if properties is None else properties.find(W + "vMerge")
            if merge is not None and merge.get(W + "val") != "restart" and column in going:
                at_row, at_cell = going[column]
                spans_above = above[at_row]
                text = spans_above[at_cell].text
                spans.append(Span(text, right))
            else:
                with self._on(shade_of(properties) or shades.at(len(above), column, many, cell is cells[-1])):
                    spans.append(Span(self._plain(cell), right))
                going.pop(column, None)
                if merge is not None:
                    going[column] = (len(above), len(spans) - 1)
            column += right
        return spans
