"""One page of a PDF as pdfium sees it: visible pieces of lines with their looks, ruling lines, and what is hidden.

Distances are points from the top left corner of what the page shows.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from connectors.sync.parse.pdfforms import filled_in
from connectors.sync.parse.pdfpaint import Box, Drawn, address_of, colour_of, is_covered, matrix_of, times, walk
from connectors.sync.parse.pdfpieces import Glyph, Piece, pieces_of

_SMALLEST = 1.6  # points; smaller text can't be read
_MOST_CHARACTERS = 200_000  # a page; no printed page holds as many
_INVISIBLE_MODES = {3, 7}
_BOLD = ("bold", "black", "heavy", "demi", "cmbx", "-medi")
_MONO = ("courier", "mono", "consol", "menlo", "typewriter", "cmtt")
_FIXED_PITCH, _FORCED_BOLD = 1, 1 << 18
_BROKEN_WORD = 2  # how pdfium writes the hyphen at the end of a line


@dataclass(slots=True)
class Page:
    """What a page shows."""

    number: int
    width: float
    height: float
    pieces: list[Piece] = field(default_factory=list)
    across: list[Box] = field(default_factory=list)  # horizontal ruling lines
    down: list[Box] = field(default_factory=list)  # vertical ones
    hidden: list[str] = field(default_factory=list)
    layer: list[str] = field(default_factory=list)  # text drawn invisibly, as recognition programs add to scans
    pictured: float = 0.0  # the share of the page that its largest picture covers


@dataclass(slots=True)
class _Look:
    size: float
    bold: bool
    mono: bool
    hidden: bool
    layer: bool


def look_at(document: pdfium.PdfDocument, index: int) -> Page:
    """Read page `index`, counted from 0."""
    opened = document[index]
    try:
        page, corner = _look_at(opened, index)
        written, unshown = filled_in(document, opened, corner)
        page.pieces += written
        page.hidden += unshown
        return page
    finally:
        opened.close()


def _look_at(opened: pdfium.PdfPage, index: int) -> tuple[Page, tuple[float, float]]:
    left, bottom, right, top = opened.get_cropbox()
    page = Page(index + 1, right - left, top - bottom)
    drawn = Drawn()
    walk(
        opened.raw,
        raw.FPDFPage_GetObject,
        raw.FPDFPage_CountObjects(opened.raw),
        (1, 0, 0, 1, 0, 0),
        drawn,
        (left, top),
        0,
    )
    page.across, page.down = drawn.across, drawn.down
    pictures = [paint.box.area for paint in drawn.paints if paint.colour is None]
    page.pictured = max(pictures, default=0.0) / max(page.width * page.height, 1.0)
    textpage = opened.get_textpage()
    try:
        page.pieces = pieces_of(_glyphs(textpage, page, drawn, (left, top)))
    finally:
        textpage.close()
    return page, (left, top)


# ---------------------------------------------------------------- what is written


def _glyphs(textpage: Any, page: Page, drawn: Drawn, corner: tuple[float, float]) -> Iterator[Glyph | None]:
    """Visible characters in the order of writing; None where pdfium sees a line end. Hidden ones go to the page."""
    handle = textpage.raw
    unicode, place, owner = raw.FPDFText_GetUnicode, raw.FPDFText_GetLooseCharBox, raw.FPDFText_GetTextObject
    looks: dict[int, _Look] = {}
    box = raw.FS_RECTF()
    left, top = corner
    hidden: list[str] = []
    layer: list[str] = []
    for index in range(min(raw.FPDFText_CountChars(handle), _MOST_CHARACTERS)):  # the hot loop: few calls, few names
        code = unicode(handle, index)
        if code in (10, 13):
            hidden.append("\n")
            layer.append("\n")
            yield None
            continue
        if code in (0, 0xFFFE, 0xFFFF) or code > 0x10FFFF:
            continue
        text = "-" if code == _BROKEN_WORD else chr(code)
        place(handle, index, box)
        where = Box(box.left - left, top - box.top, box.right - left, top - box.bottom)
        thing = owner(handle, index)
        look = looks.get(address_of(thing)) or _look(handle, index, thing, where, drawn, looks)
        if look.layer:
            layer.append(text)
        elif look.hidden or not (-2 <= where.x0 <= page.width + 2 and -2 <= where.y0 <= page.height + 2):
            hidden.append(text)
        else:
            yield Glyph(text, where, look.size, look.bold, look.mono)
    page.hidden = ["".join(hidden).strip()] if "".join(hidden).strip() else []
    page.layer = ["".join(layer).strip()] if "".join(layer).strip() else []


def _look(handle: Any, index: int, thing: Any, where: Box, drawn: Drawn, looks: dict[int, _Look]) -> _Look:
    address = address_of(thing)
    if not address:  # a space that pdfium put in
        return _Look(where.y1 - where.y0 or 10.0, False, False, False, False)
    order, _, matrix = drawn.texts.get(address, (0, None, (1, 0, 0, 1, 0, 0)))
    m = times(matrix_of(thing), matrix)
    size = raw.FPDFText_GetFontSize(handle, index) * math.hypot(m[2], m[3])
    name, flags = _font(handle, index)
    weight = raw.FPDFText_GetFontWeight(handle, index)
    mode = raw.FPDFTextObj_GetTextRenderMode(thing)
    look = _Look(
        size,
        weight >= 600 or bool(flags & _FORCED_BOLD) or any(word in name for word in _BOLD),
        bool(flags & _FIXED_PITCH) or any(word in name for word in _MONO),
        size <= _SMALLEST or is_covered(colour_of(thing), order, where, drawn),
        mode in _INVISIBLE_MODES,
    )
    looks[address] = look
    return look


def _font(handle: Any, index: int) -> tuple[str, int]:
    flags = ctypes.c_int()
    buffer = ctypes.create_string_buffer(128)
    raw.FPDFText_GetFontInfo(handle, index, buffer, 128, flags)
    return buffer.value.decode("utf-8", "replace").lower(), flags.value
