"""Slides: each is a page, its title a heading. Speaker notes, comments and hidden slides are taken out and told.

Footers, dates, slide numbers, and short texts that stand on most slides are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from lxml import etree

from connectors.records import Hidden, ParsedRecord
from connectors.sync.parse.charts import C, write_chart
from connectors.sync.parse.colours import Colour, alike
from connectors.sync.parse.grid import Span, grid
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.outline import Item, Outline, squeeze
from connectors.sync.parse.package import Package, said
from connectors.sync.parse.refusal import Refusal
from connectors.sync.parse.slidepaint import P, SlidePaint
from connectors.sync.parse.theme import A, fill_of

_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_FURNITURE = {"ftr", "hdr", "dt", "sldNum"}
_TITLES = {"title", "ctrTitle"}
_LONGEST_FOOTER = 120  # characters
_FEWEST_SLIDES = 3  # on which a text is furniture
_SMALLEST = 150  # hundredths of a point
_DEEPEST = 20


def read(body: bytes, limits: Limits) -> ParsedRecord:
    """A presentation."""
    package = Package(body, limits)
    outline = Outline(limits)
    main = package.main()
    relations = package.relations(main)
    ids = [each.get(_R + "id", "") for each in package.xml(main).iter(P + "sldId")]
    slides = [relations[each].target for each in ids if each in relations]
    if len(slides) > limits.pages:
        raise Refusal(f"has more than {limits.pages:,} slides")
    title: str | None = None
    repeated = _repeated((package.xml(part) for part in slides), len(slides))  # not kept: a deck may be large
    known: dict[str, etree._Element] = {}
    for page, part in enumerate(slides, 1):
        outline.page = page
        stated = _slide(package, part, known, repeated, outline)
        title = title or (stated if page == 1 else None)
    for notice in package.notices:
        outline.notice(notice)
    return outline.record(None, title or package.title())


def _repeated(slides: Iterable[etree._Element], many: int) -> set[str]:
    """Short texts, each the whole of a shape, that stand on most slides: a company's name, a class of secrecy."""
    count: Counter[str] = Counter()
    for slide in slides:
        shapes = (shape for shape in slide.iter(P + "sp") if _placeholder(shape) not in _TITLES)
        count.update({text for shape in shapes if 0 < len(text := _plain(shape)) <= _LONGEST_FOOTER})
    return {text for text, slides_with in count.items() if slides_with >= max(_FEWEST_SLIDES, many / 2)}


def _slide(
    package: Package, part: str, known: dict[str, etree._Element], repeated: set[str], outline: Outline
) -> str | None:
    """Write one slide; returns its title."""
    slide = package.xml(part)
    for notes in package.related(part, "notesSlide"):
        for shape in package.xml(notes).iter(P + "sp"):
            if _placeholder(shape) == "body":
                outline.hide(Hidden.NOTES, _plain(shape))
    for comments in package.related(part, "comments"):
        outline.hide(Hidden.COMMENT, said(package.xml(comments), between=" "))
    if slide.get("show") in ("0", "false"):
        outline.hide(Hidden.STYLED, said(slide, A + "t", between=" "))
        return None
    paint = SlidePaint(package, part, slide, known)
    tree = slide.find(f"{P}cSld/{P}spTree")
    shapes = [] if tree is None else list(_shapes(tree, outline, 0))
    titled = next((s for s in shapes if _placeholder(s) in _TITLES and _plain(s)), None)
    title = None if titled is None else squeeze(_seen(titled, paint, outline).replace("\n", " "))
    outline.heading(1, title or f"Slide {outline.page}", stands_alone=title is not None)
    for shape in shapes:
        if shape is not titled and not _is_furniture(shape, repeated):
            _shape(package, part, shape, paint, outline)
    return title


def _shapes(tree: etree._Element, outline: Outline, deep: int) -> Iterator[etree._Element]:
    """Shapes in the order they are written, groups opened."""
    for shape in tree:
        if not isinstance(shape.tag, str):
            continue
        name = shape.find(f".//{P}cNvPr")
        if name is not None and name.get("hidden") in ("1", "true"):
            outline.hide(Hidden.STYLED, said(shape, A + "t", between=" "))
        elif shape.tag == P + "grpSp" and deep < _DEEPEST:
            yield from _shapes(shape, outline, deep + 1)
        elif shape.tag.endswith("}AlternateContent"):
            for choice in shape:
                if choice.tag.endswith("}Choice"):
                    yield from _shapes(choice, outline, deep + 1)
        elif shape.tag in (P + "sp", P + "graphicFrame"):
            yield shape


def _placeholder(shape: etree._Element) -> str | None:
    element = shape.find(f".//{P}nvPr/{P}ph")
    return None if element is None else element.get("type", "body")


def _is_furniture(shape: etree._Element, repeated: set[str]) -> bool:
    if _placeholder(shape) in _FURNITURE:
        return True
    alone = shape.find(f".//{A}fld") is not None and shape.find(f".//{A}r") is None  # a number or date, boxed
    return alone or (shape.tag == P + "sp" and _placeholder(shape) not in _TITLES and _plain(shape) in repeated)


def _shape(package: Package, part: str, shape: etree._Element, paint: SlidePaint, outline: Outline) -> None:
    table = shape.find(f".//{A}tbl")
    if table is not None:
        _table(shape, table, paint, outline)
    elif shape.tag == P + "graphicFrame":
        _graphic(package, part, shape, outline)
    else:
        _text(shape, paint, outline, bulleted=_placeholder(shape) in ("body", "obj"))


def _text(shape: etree._Element, paint: SlidePaint, outline: Outline, *, bulleted: bool) -> None:
    body = shape.find(P + "txBody")
    if body is None:
        return
    behind = paint.behind(shape)
    items: list[Item] = []
    count: dict[int, int] = {}
    plain: list[str] = []
    paragraphs = [(p, _paragraph(p, outline, paint, behind)) for p in body.iter(A + "p")]
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
    properties = paragraph.find(A + "pPr")
    depth = 0
    if properties is not None:
        level = properties.get("lvl", "0")
        depth = int(level) if level.isdigit() else 0
        if properties.find(A + "buNone") is not None:
            return depth, None
        if properties.find(A + "buAutoNum") is not None:
            count[depth] = count.get(depth, 0) + 1
            return depth, f"{count[depth]}."
        if properties.find(A + "buChar") is not None:
            return depth, "-"
    count.clear()
    return depth, "-" if bulleted or depth else None


def _table(frame: etree._Element, table: etree._Element, paint: SlidePaint, outline: Outline) -> None:
    rows: list[list[Span]] = []
    above: dict[int, str] = {}
    for row in table.iter(A + "tr"):
        spans: list[Span] = []
        text = ""
        for column, cell in enumerate(row.iter(A + "tc")):
            if cell.get("hMerge") in ("1", "true"):
                spans.append(Span(text))
            elif cell.get("vMerge") in ("1", "true"):
                text = above.get(column, "")
                spans.append(Span(text))
            else:
                behind = paint.behind_cell(cell, table, frame)
                text = "\n".join(_paragraph(p, outline, paint, behind) for p in cell.iter(A + "p"))
                spans.append(Span(text))
            above[column] = text
        rows.append(spans)
    outline.table(grid(rows), 1)


def _graphic(package: Package, part: str, frame: etree._Element, outline: Outline) -> None:
    """Charts are tables of their numbers; diagrams are lists of their words."""
    relations = package.relations(part)
    chart = frame.find(f".//{C}chart")
    if chart is not None and (relation := relations.get(chart.get(_R + "id", ""))) and relation.target in package:
        write_chart(package.xml(relation.target), outline)
    ids = frame.find(".//{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds")
    if ids is not None and (relation := relations.get(ids.get(_R + "dm", ""))) and relation.target in package:
        texts = [
            _plain(point)
            for point in package.xml(relation.target).iter(
                "{http://schemas.openxmlformats.org/drawingml/2006/diagram}pt"
            )
        ]
        outline.items(Item(0, "-", text) for text in texts if text)


def _plain(element: etree._Element) -> str:
    return squeeze("\n".join("".join(t.text or "" for t in p.iter(A + "t")) for p in element.iter(A + "p")))


def _seen(shape: etree._Element, paint: SlidePaint, outline: Outline) -> str:
    behind = paint.behind(shape)
    return "\n".join(_paragraph(p, outline, paint, behind) for p in shape.iter(A + "p"))


def _paragraph(paragraph: etree._Element, outline: Outline, paint: SlidePaint, behind: Colour | None) -> str:
    parts: list[str] = []
    for child in paragraph:
        if child.tag == A + "br":
            parts.append("\n")
        elif child.tag in (A + "r", A + "fld"):
            text = "".join(t.text or "" for t in child.iter(A + "t"))
            if text.strip() and _is_unseen(child.find(A + "rPr"), paint, behind):
                outline.hide(Hidden.STYLED, text)
                parts.append(" ")
            else:
                parts.append(text)
    return "".join(parts)


def _is_unseen(properties: etree._Element | None, paint: SlidePaint, behind: Colour | None) -> bool:
    if properties is None:
        return False
    size = properties.get("sz", "")
    if size.isdigit() and int(size) <= _SMALLEST:
        return True
    fill = fill_of(properties, paint.theme)
    if fill is None:
        return False
    return not fill[0] or alike(fill[1], behind)
