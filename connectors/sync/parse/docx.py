"""Word documents: headings by outline level, lists with their numbers, tables with merged cells repeated.

Headers, footers and field codes are left out. Vanished, white and tiny text, tracked deletions and comments are taken
out and told; tracked insertions are what the document says now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lxml import etree

from connectors.records import Hidden, ParsedRecord
from connectors.sync.parse.grid import Span, grid
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.numbering import Numbering, W, numbering
from connectors.sync.parse.outline import Item, Outline, squeeze
from connectors.sync.parse.package import Package, said

_HEADING_NAME = re.compile(
    r"^(?:heading|überschrift|titre|título|titulo|titolo|kop|rubrik|overskrift|nagłówek|заголовок|标题|見出し)\s*([1-9])$",
    re.I,
)
_TITLE_NAMES = {"title", "titel", "titre", "título", "titulo", "titolo", "название", "标题", "表題"}
_CODE_NAME = re.compile(r"\bcode\b|preformatted|source|listing|macro text", re.I)
_CODE_FONTS = ("courier", "consolas", "menlo", "monaco", "monospace", "lucida console")
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_CHOICE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_TEXTBOX = W + "txbxContent"
_WHITE = re.compile(r"^(?:f[a-f0-9]){3}$", re.I)
_SMALLEST = 3  # half points
_DEEPEST = 40


@dataclass(frozen=True, slots=True)
class _Style:
    """What a style says, its ancestors included."""

    name: str = ""
    level: int | None = None  # outline level, from 1
    number: str | None = None
    depth: int = 0
    vanish: bool = False
    colour: str | None = None
    size: int | None = None  # half points
    shade: str | None = None
    code: bool = False


@dataclass(frozen=True, slots=True)
class _Paragraph:
    text: str
    style: _Style
    boxes: tuple[etree._Element, ...] = ()
    marker: str | None = None  # of a list or a numbered heading
    depth: int = 0


def read(body: bytes, limits: Limits) -> ParsedRecord:
    """A Word document."""
    package = Package(body, limits)
    outline = Outline(limits)
    main = package.main()
    reader = _Reader(package, main, outline)
    reader.body(package.xml(main).find(W + "body"))
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
        self._styles = _styles(package.xml(part["styles"]) if part["styles"] else None)
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
        self._shade: str | None = None
        self.title: str | None = None

    def body(self, element: etree._Element | None) -> None:
        """Write everything in it."""
        if element is not None:
            self._blocks(element, 0)
            self._flush()

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
                    self._blocks(_content(child), deep)
            elif child.tag in (W + "ins", W + "moveTo", W + "customXml", W + "smartTag") and deep < _DEEPEST:
                self._blocks(child, deep + 1)

    def _paragraph(self, element: etree._Element, deep: int) -> None:
        read = self._read(element)
        text = squeeze(read.text)
        if re.match(r"^(?:toc|table of figures)\b", read.style.name, re.I):
            return
        if text:
            self._say(read, text)
        for box in read.boxes:
            if deep < _DEEPEST:
                self._flush()
                self._blocks(box, deep + 1)

    def _say(self, read: _Paragraph, text: str) -> None:
        style = read.style
        if style.name.lower() in _TITLE_NAMES and self.title is None and style.level is None:
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
        style = self._styles.get(_value(properties, "pStyle") or "", self._styles.get("", _Style()))
        marker, depth = None, 0
        if properties is not None:
            level = _value(properties, "outlineLvl")
            if level is not None and level.isdigit():
                style = replace(style, level=int(level) + 1 if int(level) < 9 else None)
            style = _with_shade(style, properties)
            own = properties.find(W + "numPr")
            number = (_value(own, "numId") if own is not None else None) or style.number
            stated = _value(own, "ilvl") if own is not None else None
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
        code = style.code or (bool(text.strip()) and marker is None and style.level is None and _all_code(element))
        return _Paragraph(text, replace(style, code=code), tuple(boxes), marker, depth)

    # ------------------------------------------------------------ text

    def _runs(
        self, element: etree._Element, style: _Style, parts: list[str], boxes: list[etree._Element], deep: int
    ) -> None:
        for child in element:
            tag = child.tag
            if tag == W + "r":
                self._run(child, style, parts, boxes)
            elif tag in (W + "del", W + "moveFrom"):
                self._outline.hide(Hidden.DELETED, said(child))
            elif tag == _M + "oMath" or tag == _M + "oMathPara":
                parts.append(f" {_formula(child)} ")
            elif tag == W + "sdt":
                self._runs(_content(child), style, parts, boxes, deep + 1)
            elif tag not in (W + "pPr", W + "rPr") and deep < _DEEPEST and len(child):
                self._runs(child, style, parts, boxes, deep + 1)

    def _run(self, run: etree._Element, style: _Style, parts: list[str], boxes: list[etree._Element]) -> None:
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
                    boxes.extend(_boxes(child))
                case _:
                    pass
        text = "".join(told)
        if text.strip() and _unseen(look):
            self._outline.hide(Hidden.STYLED, text)
            parts.append(" ")
        else:
            parts.append(text)

    def _plain(self, element: etree._Element) -> str:
        """All paragraphs of a cell or a note in one string; tables inside are read cell by cell."""
        lines: list[str] = []
        for paragraph in _paragraphs(element, 0):
            read = self._read(paragraph)
            text = squeeze(read.text)
            if text:
                lines.append(f"{read.marker} {text}" if read.marker else text)
            lines += [squeeze(self._plain(box)) for box in read.boxes]
        return "\n".join(lines)

    def _look(self, run: etree._Element, style: _Style) -> _Style:
        properties = run.find(W + "rPr")
        shade = style.shade or self._shade
        if properties is None:
            return replace(style, shade=shade)
        named = self._styles.get(_value(properties, "rStyle") or "?")
        look = replace(style, shade=shade)
        if named is not None:
            look = replace(
                look,
                vanish=look.vanish or named.vanish,
                colour=named.colour or look.colour,
                size=named.size or look.size,
                shade=named.shade or look.shade,
            )
        return _with_shade(_dressed(look, properties), properties)

    # ------------------------------------------------------------ tables

    def _table(self, table: etree._Element) -> None:
        rows = list(_rows(table))
        cells: list[list[Span]] = []
        heads = 0
        open_above: dict[int, tuple[int, int]] = {}  # column to the row and place of the cell that goes on downwards
        for row in rows:
            if row.find(f"{W}trPr/{W}del") is not None:
                self._outline.hide(Hidden.DELETED, said(row))
                continue
            if heads == len(cells) and row.find(f"{W}trPr/{W}tblHeader") is not None:
                heads += 1
            cells.append(self._row(row, cells, open_above))
        if len(cells) == 1 and len(cells[0]) == 1:
            for cell in table.iter(W + "tc"):
                self._blocks(cell, 1)
                self._flush()
                return
        self._outline.table(grid(cells), heads if 0 < heads < len(cells) else 1)

    def _row(self, row: etree._Element, above: list[list[Span]], going: dict[int, tuple[int, int]]) -> list[Span]:
        spans: list[Span] = []
        skipped = row.find(f"{W}trPr/{W}gridBefore")
        column = 0
        if skipped is not None:
            width = _number(skipped.get(W + "val"), 0)
            spans.append(Span("", max(width, 1)))
            column = width
        for cell in _cells(row):
            properties = cell.find(W + "tcPr")
            right = max(1, min(_number(_value(properties, "gridSpan"), 1), 100))
            merge = None if properties is None else properties.find(W + "vMerge")
            if merge is not None and merge.get(W + "val") != "restart" and column in going:
                at_row, at_cell = going[column]
                spans_above = above[at_row]
                text = spans_above[at_cell].text
                spans.append(Span(text, right))
            else:
                self._shade = _fill(properties)
                spans.append(Span(self._plain(cell), right))
                self._shade = None
                going.pop(column, None)
                if merge is not None:
                    going[column] = (len(above), len(spans) - 1)
            column += right
        return spans


def _content(sdt: etree._Element) -> etree._Element:
    inside = sdt.find(W + "sdtContent")
    return etree.Element("none") if inside is None else inside


def _flat(element: etree._Element, wanted: str) -> Iterator[etree._Element]:
    for child in element:
        if child.tag == W + wanted:
            yield child
        elif child.tag in (W + "sdt", W + "sdtContent", W + "customXml", W + "ins"):
            yield from _flat(child, wanted)


def _rows(table: etree._Element) -> Iterator[etree._Element]:
    return _flat(table, "tr")


def _cells(row: etree._Element) -> Iterator[etree._Element]:
    return _flat(row, "tc")


def _paragraphs(element: etree._Element, deep: int) -> Iterator[etree._Element]:
    for child in element:
        if child.tag == W + "p":
            yield child
        elif child.tag not in (W + "del", W + "tcPr") and deep < _DEEPEST:
            yield from _paragraphs(child, deep + 1)


def _boxes(element: etree._Element) -> list[etree._Element]:
    """Text boxes of a drawing, each once: newer documents hold every box twice, for older readers."""
    return [
        box
        for box in element.iter(_TEXTBOX)
        if next(box.iterancestors(_FALLBACK), None) is None and next(box.iterancestors(_TEXTBOX), None) is None
    ]


def _formula(element: etree._Element) -> str:
    """A formula in a line: fractions with a slash, powers with ^, indices with _."""
    told: list[str] = []
    for child in element:
        name = etree.QName(child).localname
        inside = {etree.QName(part).localname: _formula(part) for part in child}
        match name:
            case "t":
                told.append(child.text or "")
            case "f":
                told.append(f"({inside.get('num', '')})/({inside.get('den', '')})")
            case "sSup":
                told.append(f"{inside.get('e', '')}^{{{inside.get('sup', '')}}}")
            case "sSub":
                told.append(f"{inside.get('e', '')}_{{{inside.get('sub', '')}}}")
            case "sSubSup":
                told.append(f"{inside.get('e', '')}_{{{inside.get('sub', '')}}}^{{{inside.get('sup', '')}}}")
            case "d":
                told.append(f"{_sign(child, 'begChr', '(')}{_formula(child)}{_sign(child, 'endChr', ')')}")
            case "nary":
                sign = _sign(child, "chr", "∫")
                told.append(f"{sign}_{{{inside.get('sub', '')}}}^{{{inside.get('sup', '')}}} {inside.get('e', '')}")
            case "rad":
                told.append(f"√({inside.get('e', '')})")
            case _:
                told.append(_formula(child))
    return "".join(told)


def _sign(element: etree._Element, name: str, usual: str) -> str:
    """A bracket or operator that a formula's properties name."""
    sign = next(element.iter(_M + name), None)
    return usual if sign is None else sign.get(_M + "val", "")


def _all_code(paragraph: etree._Element) -> bool:
    """Every run that says something is set in a typewriter face."""
    runs = [run for run in paragraph.iter(W + "r") if run.find(W + "t") is not None]
    fonts = [run.find(f"{W}rPr/{W}rFonts") for run in runs]
    return bool(runs) and all(
        font is not None and (font.get(W + "ascii") or "").lower().startswith(_CODE_FONTS) for font in fonts
    )


def _styles(root: etree._Element | None) -> dict[str, _Style]:
    """Every style by id, with what it inherits; "" is the paragraph style that goes unsaid."""
    if root is None:
        return {}
    elements = {style.get(W + "styleId", ""): style for style in root.iter(W + "style")}
    found: dict[str, _Style] = {}

    def resolve(key: str, deep: int) -> _Style:
        if key in found or key not in elements or deep > 30:
            return found.get(key, _Style())
        element = elements[key]
        style = resolve(_value(element, "basedOn") or "", deep + 1) if _value(element, "basedOn") else _Style()
        found[key] = _styled(element, style)
        return found[key]

    for key in elements:
        resolve(key, 0)
    for key, element in elements.items():
        if element.get(W + "type") == "paragraph" and element.get(W + "default") in ("1", "true", "on"):
            found[""] = found[key]
    return found


def _styled(element: etree._Element, style: _Style) -> _Style:
    name = _value(element, "name") or ""
    style = replace(style, name=name, code=style.code or bool(_CODE_NAME.search(name)))
    if match := _HEADING_NAME.match(name):
        style = replace(style, level=int(match.group(1)))
    paragraph = element.find(W + "pPr")
    if paragraph is not None:
        level = _value(paragraph, "outlineLvl")
        if level is not None and level.isdigit():
            style = replace(style, level=int(level) + 1 if int(level) < 9 else None)
        numbers = paragraph.find(W + "numPr")
        if numbers is not None:
            style = replace(
                style,
                number=_value(numbers, "numId") or style.number,
                depth=_number(_value(numbers, "ilvl"), style.depth),
            )
        style = _with_shade(style, paragraph)
    if name.lower() in _TITLE_NAMES:
        style = replace(style, level=None)
    run = element.find(W + "rPr")
    return style if run is None else _dressed(style, run)


def _dressed(style: _Style, properties: etree._Element) -> _Style:
    vanish = properties.find(W + "vanish")
    colour, size = _value(properties, "color"), _value(properties, "sz")
    return replace(
        style,
        vanish=style.vanish if vanish is None else vanish.get(W + "val") not in ("0", "false", "off"),
        colour=colour or style.colour,
        size=int(size) if size and size.isdigit() else style.size,
    )


def _with_shade(style: _Style, properties: etree._Element) -> _Style:
    shade = _fill(properties)
    if properties.find(W + "highlight") is not None:
        shade = "marked"
    return style if shade is None else replace(style, shade=shade)


def _fill(properties: etree._Element | None) -> str | None:
    shade = None if properties is None else properties.find(W + "shd")
    if shade is None:
        return None
    fill = shade.get(W + "fill", "auto")
    if shade.get(W + "themeFill"):
        return "theme"
    return None if fill.lower() in ("auto", "ffffff") else fill


def _unseen(look: _Style) -> bool:
    if look.vanish or (look.size is not None and look.size <= _SMALLEST):
        return True
    if look.colour is None or look.colour.lower() == "auto":
        return False
    if look.shade is None:
        return bool(_WHITE.match(look.colour))
    return look.shade.lower() == look.colour.lower()


def _value(element: etree._Element | None, name: str) -> str | None:
    child = None if element is None else element.find(W + name)
    return None if child is None else child.get(W + "val")


def _number(value: str | None, default: int) -> int:
    return int(value) if value and value.isdigit() else default
