"""Where things stand in a Word document's XML: rows, cells, paragraphs, text boxes, typewriter runs."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from connectors.sync.parse.numbering import W

DEEPEST = 40  # of nesting that is followed
_CODE_FONTS = ("courier", "consolas", "menlo", "monaco", "monospace", "lucida console")
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_TEXTBOX = W + "txbxContent"


def content(sdt: etree._Element) -> etree._Element:
    inside = sdt.find(W + "sdtContent")
    return etree.Element("none") if inside is None else inside


def _flat(element: etree._Element, wanted: str) -> Iterator[etree._Element]:
    for child in element:
        if child.tag == W + wanted:
            yield child
        elif child.tag in (W + "sdt", W + "sdtContent", W + "customXml", W + "ins"):
            yield from _flat(child, wanted)


def rows_of(table: etree._Element) -> Iterator[etree._Element]:
    return _flat(table, "tr")


def cells_of(row: etree._Element) -> Iterator[etree._Element]:
    return _flat(row, "tc")


def paragraphs_of(element: etree._Element, deep: int) -> Iterator[etree._Element]:
    for child in element:
        if child.tag == W + "p":
            yield child
        elif child.tag not in (W + "del", W + "tcPr") and deep < DEEPEST:
            yield from paragraphs_of(child, deep + 1)


def boxes_of(element: etree._Element) -> list[etree._Element]:
    """Text boxes of a drawing, each once: newer documents hold every box twice, for older readers."""
    return [
        box
        for box in element.iter(_TEXTBOX)
        if next(box.iterancestors(_FALLBACK), None) is None and next(box.iterancestors(_TEXTBOX), None) is None
    ]


def all_code(paragraph: etree._Element) -> bool:
    """Every run that says something is set in a typewriter face."""
    runs = [run for run in paragraph.iter(W + "r") if run.find(W + "t") is not None]
    fonts = [run.find(f"{W}rPr/{W}rFonts") for run in runs]
    return bool(runs) and all(
        font is not None and (font.get(W + "ascii") or "").lower().startswith(_CODE_FONTS) for font in fonts
    )
