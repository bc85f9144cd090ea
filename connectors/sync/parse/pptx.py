"""Slides: each is a page, its title a heading. Speaker notes, comments and hidden slides are taken out and told."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from connectors.records import Hidden, ParsedRecord
from connectors.sync.parse.grid import Span, grid
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.outline import Item, Outline, squeeze
from connectors.sync.parse.package import Package, said
from connectors.sync.parse.refusal import Refusal

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_FURNITURE = {"ftr", "hdr", "dt", "sldNum"}
_TITLES = {"title", "ctrTitle"}
_SMALLEST = 150  # hundredths of a point
_DEEPEST = 20


def read(body: bytes, limits: Limits) -> ParsedRecord:
    """A presentation."""
    package = Package(body, limits)
    outline = Outline(limits)
    main = package.main()
    relations = package.relations(main)
    ids = [each.get(_R + "id", "") for each in package.xml(main).iter(_P + "sldId")]
    slides = [relations[each].target for each in ids if each in relations]
    if len(slides) > limits.pages:
        raise Refusal(f"has more than {limits.pages:,} slides")
    title: str | None = None
    for page, part in enumerate(slides, 1):
        outline.page = page
        stated = _slide(package, part, outline)
        title = title or (stated if page == 1 else None)
    for notice in package.notices:
        outline.notice(notice)
    return outline.record(None, title or package.title())


def _slide(package: Package, part: str, outline: Outline) -> str | None:
    """Write one slide; returns its title."""
    slide = package.xml(part)
    for notes in package.related(part, "notesSlide"):
        for shape in package.xml(notes).iter(_P + "sp"):
            if _placeholder(shape) == "body":
                outline.hide(Hidden.NOTES, _plain(shape))
    for comments in package.related(part, "comments"):
        outline.hide(Hidden.COMMENT, said(package.xml(comments), between=" "))
    if slide.get("show") in ("0", "false"):
        outline.hide(Hidden.STYLED, said(slide, _A + "t", between=" "))
        return None
    tree = slide.find(f"{_P}cSld/{_P}spTree")
    shapes = [] if tree is None else list(_shapes(tree, outline, 0))
    titled = next((s for s in shapes if _placeholder(s) in _TITLES and _plain(s)), None)
    title = None if titled is None else squeeze(_seen(titled, outline).replace("\n", " "))
    outline.heading(1, title or f"Slide {outline.page}", stands_alone=title is not None)
    for shape in shapes:
        if shape is not titled:
            _shape(package, part, shape, outline)
    return title


def _shapes(tree: etree._Element, outline: Outline, deep: int) -> Iterator[etree._Element]:
    """Shapes in the order they are written, groups opened."""
    for shape in tree:
        if not isinstance(shape.tag, str):
            continue
        name = shape.find(f".//{_P}cNvPr")
        if name is not None and name.get("hidden") in ("1", "true"):
            outline.hide(Hidden.STYLED, said(shape, _A + "t", between=" "))
        elif shape.tag == _P + "grpSp" and deep < _DEEPEST:
            yield from _shapes(shape, outline, deep + 1)
        elif shape.tag.endswith("}AlternateContent"):
            for choice in shape:
                if choice.tag.endswith("}Choice"):
                    yield from _shapes(choice, outline, deep + 1)
        elif shape.tag in (_P + "sp", _P + "graphicFrame"):
            yield shape


def _placeholder(shape: etree._Element) -> str | None:
    element = shape.find(f".//{_P}nvPr/{_P}ph")
    return None if element is None else element.get("type", "body")


def _shape(package: Package, part: str, shape: etree._Element, outline: Outline) -> None:
    if _placeholder(shape) in _FURNITURE:
        return
    table = shape.find(f".//{_A}tbl")
    if table is not None:
        _table(table, outline)
    elif shape.tag == _P + "graphicFrame":
        _graphic(package, part, shape, outline)
    else:
        _text(shape, outline, bulleted=_placeholder(shape) in ("body", "obj"))


def _text(shape: etree._Element, outline: Outline, *, bulleted: bool) -> None:
    body = shape.find(_P + "txBody")
    if body is None:
        return
    filled = _is_filled(shape)
    items: list[Item] = []
    count: dict[int, int] = {}
    plain: list[str] = []
    paragraphs = [(p, _paragraph(p, outline, filled)) for p in body.iter(_A + "p")]
    paragraphs = [(p, text) for p, text in paragraphs if squeeze(text)]
    for paragraph, text in paragraphs:
        depth, marker = _marker(paragraph, count, bulleted and len(paragraphs) > 1)
        if marker is None:
            outline.items(items)
            items = []
            plain.append(text)
            outline.text(text)
        else:
            items.append(Item(depth, marker, text))
    outline.items(items)


def _marker(paragraph: etree._Element, count: dict[int, int], bulleted: bool) -> tuple[int, str | None]:
    properties = paragraph.find(_A + "pPr")
    depth = 0
    if properties is not None:
        level = properties.get("lvl", "0")
        depth = int(level) if level.isdigit() else 0
        if properties.find(_A + "buNone") is not None:
            return depth, None
        if properties.find(_A + "buAutoNum") is not None:
            count[depth] = count.get(depth, 0) + 1
            return depth, f"{count[depth]}."
        if properties.find(_A + "buChar") is not None:
            return depth, "-"
    count.clear()
    return depth, "-" if bulleted or depth else None


def _table(table: etree._Element, outline: Outline) -> None:
    rows: list[list[Span]] = []
    above: dict[int, str] = {}
    for row in table.iter(_A + "tr"):
        spans: list[Span] = []
        text = ""
        for column, cell in enumerate(row.iter(_A + "tc")):
            if cell.get("hMerge") in ("1", "true"):
                spans.append(Span(text))
            elif cell.get("vMerge") in ("1", "true"):
                text = above.get(column, "")
                spans.append(Span(text))
            else:
                properties = cell.find(_A + "tcPr")
                filled = properties is not None and properties.find(_A + "solidFill") is not None
                styled = table.find(f"{_A}tblPr/{_A}tableStyleId") is not None
                text = "\n".join(_paragraph(p, outline, filled or styled) for p in cell.iter(_A + "p"))
                spans.append(Span(text))
            above[column] = text
        rows.append(spans)
    outline.table(grid(rows), 1)


def _graphic(package: Package, part: str, frame: etree._Element, outline: Outline) -> None:
    """Charts are tables of their numbers; diagrams are lists of their words."""
    relations = package.relations(part)
    chart = frame.find(f".//{_C}chart")
    if chart is not None and (relation := relations.get(chart.get(_R + "id", ""))) and relation.target in package:
        _chart(package.xml(relation.target), outline)
    ids = frame.find(".//{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds")
    if ids is not None and (relation := relations.get(ids.get(_R + "dm", ""))) and relation.target in package:
        texts = [
            _plain(point)
            for point in package.xml(relation.target).iter(
                "{http://schemas.openxmlformats.org/drawingml/2006/diagram}pt"
            )
        ]
        outline.items(Item(0, "-", text) for text in texts if text)


def _chart(chart: etree._Element, outline: Outline) -> None:
    title = chart.find(f"{_C}chart/{_C}title")
    series = list(chart.iter(_C + "ser"))
    names: list[str] = []
    columns: list[list[str]] = []
    labels: list[str] = []
    for each in series:
        name = each.find(_C + "tx")
        names.append("" if name is None else " ".join(v.text or "" for v in name.iter(_C + "v")))
        category = each.find(_C + "cat")
        if category is None:
            category = each.find(_C + "xVal")
        values = each.find(_C + "val")
        if values is None:
            values = each.find(_C + "yVal")
        labels = labels or _points(category)
        columns.append(_points(values))
    height = max([len(labels), *(len(column) for column in columns)], default=0)
    rows = [["", *names]]
    rows += [
        [labels[y] if y < len(labels) else "", *(c[y] if y < len(c) else "" for c in columns)] for y in range(height)
    ]
    if columns:
        outline.table(rows, 1, "" if title is None else " ".join(t.text or "" for t in title.iter(_A + "t")))


def _points(data: etree._Element | None) -> list[str]:
    return [] if data is None else [v.text or "" for point in data.iter(_C + "pt") for v in point.iter(_C + "v")]


def _plain(element: etree._Element) -> str:
    return squeeze("\n".join("".join(t.text or "" for t in p.iter(_A + "t")) for p in element.iter(_A + "p")))


def _seen(shape: etree._Element, outline: Outline) -> str:
    return "\n".join(_paragraph(p, outline, _is_filled(shape)) for p in shape.iter(_A + "p"))


def _paragraph(paragraph: etree._Element, outline: Outline, filled: bool) -> str:
    parts: list[str] = []
    for child in paragraph:
        if child.tag == _A + "br":
            parts.append("\n")
        elif child.tag in (_A + "r", _A + "fld"):
            text = "".join(t.text or "" for t in child.iter(_A + "t"))
            if text.strip() and _is_unseen(child.find(_A + "rPr"), filled):
                outline.hide(Hidden.STYLED, text)
                parts.append(" ")
            else:
                parts.append(text)
    return "".join(parts)


def _is_unseen(properties: etree._Element | None, filled: bool) -> bool:
    if properties is None:
        return False
    size = properties.get("sz", "")
    if size.isdigit() and int(size) <= _SMALLEST:
        return True
    fill = properties.find(_A + "solidFill")
    if properties.find(_A + "noFill") is not None:
        return True
    if fill is None:
        return False
    alpha = fill.find(f".//{_A}alpha")
    if alpha is not None and alpha.get("val", "") in ("0", "0%"):
        return True
    colour = fill.find(_A + "srgbClr")
    # White is the usual colour on dark slides and filled shapes; only a bare shape is taken to lie on white.
    return not filled and colour is not None and bool(re.match(r"^(?:f[a-f0-9]){3}$", colour.get("val", ""), re.I))


def _is_filled(shape: etree._Element) -> bool:
    properties = shape.find(_P + "spPr")
    own = properties is not None and any(
        properties.find(_A + kind) is not None for kind in ("solidFill", "gradFill", "blipFill", "pattFill")
    )
    styled = shape.find(f"{_P}style/{_A}fillRef")
    return own or (styled is not None and styled.get("idx", "0") != "0") or _dark_slide(shape)


def _dark_slide(shape: etree._Element) -> bool:
    """The slide has a background of its own that is not plain white."""
    root = shape.getroottree().getroot()
    background = root.find(f"{_P}cSld/{_P}bg")
    if background is None:
        return False
    colour = background.find(f".//{_A}srgbClr")
    return colour is None or not re.match(r"^(?:f[a-f0-9]){3}$", colour.get("val", ""), re.I)
