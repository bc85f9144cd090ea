"""One page of a PDF as pdfium sees it: visible pieces of lines with their looks, ruling lines, and what is hidden.

Distances are points from the top left corner of what the page shows.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw

_SMALLEST = 1.6  # points; smaller text can't be read
_NEAR = 40  # summed difference of red, green and blue
_MOST_CHARACTERS = 200_000  # a page; no printed page holds as many
_MOST_OBJECTS = 50_000
_THIN = 3.0  # a filled stretch not thicker is a ruling line
_INVISIBLE_MODES = {3, 7}
_BOLD = ("bold", "black", "heavy", "demi", "cmbx", "-medi")
_MONO = ("courier", "mono", "consol", "menlo", "typewriter", "cmtt")
_FIXED_PITCH, _FORCED_BOLD = 1, 1 << 18
_DEEPEST_FORM = 5
_BROKEN_WORD = 2  # how pdfium writes the hyphen at the end of a line

Matrix = tuple[float, float, float, float, float, float]
Colour = tuple[int, int, int, int]


class Box(NamedTuple):
    """Left, top, right, bottom."""

    x0: float
    y0: float
    x1: float
    y1: float

    def holds(self, x: float, y: float, slack: float = 0.0) -> bool:
        """The point is within, give or take the slack."""
        return self.x0 - slack <= x <= self.x1 + slack and self.y0 - slack <= y <= self.y1 + slack

    def joined(self, other: Box) -> Box:
        """The smallest box around both."""
        return Box(min(self.x0, other.x0), min(self.y0, other.y0), max(self.x1, other.x1), max(self.y1, other.y1))

    @property
    def area(self) -> float:
        return max(0.0, self.x1 - self.x0) * max(0.0, self.y1 - self.y0)


class Glyph(NamedTuple):
    """One visible character."""

    text: str
    box: Box
    size: float
    bold: bool
    mono: bool


@dataclass(slots=True)
class Piece:
    """A stretch of one line without a wide gap in it."""

    text: str
    box: Box
    size: float
    bold: bool
    mono: bool
    glyphs: list[Glyph]

    @property
    def middle(self) -> float:
        return (self.box.y0 + self.box.y1) / 2


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


class _Paint(NamedTuple):
    order: int
    box: Box
    colour: Colour | None  # None: a picture


@dataclass(slots=True)
class _Drawn:
    """The objects of a page in the order they are painted."""

    texts: dict[int, tuple[int, Any, Matrix]] = field(default_factory=dict)  # address to order, object, matrix
    paints: list[_Paint] = field(default_factory=list)
    across: list[Box] = field(default_factory=list)
    down: list[Box] = field(default_factory=list)
    count: int = 0


def look_at(document: pdfium.PdfDocument, index: int) -> Page:
    """Read page `index`, counted from 0."""
    opened = document[index]
    try:
        return _look_at(opened, index)
    finally:
        opened.close()


def _look_at(opened: pdfium.PdfPage, index: int) -> Page:
    left, bottom, right, top = opened.get_cropbox()
    page = Page(index + 1, right - left, top - bottom)
    drawn = _Drawn()
    _walk(
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
        page.pieces = _pieces(_glyphs(textpage, page, drawn, (left, top)))
    finally:
        textpage.close()
    return page


# ---------------------------------------------------------------- what is painted


def _walk(
    holder: Any, get: Any, count: int, matrix: Matrix, drawn: _Drawn, corner: tuple[float, float], deep: int
) -> None:
    for index in range(count):
        drawn.count += 1
        if drawn.count > _MOST_OBJECTS:
            return
        thing = get(holder, index)
        kind = raw.FPDFPageObj_GetType(thing)
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            drawn.texts[_address(thing)] = (drawn.count, thing, matrix)
        elif kind == raw.FPDF_PAGEOBJ_PATH:
            _path(thing, matrix, drawn, corner)
        elif kind in (raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_SHADING):
            drawn.paints.append(_Paint(drawn.count, _bounds(thing, matrix, corner), None))
        elif kind == raw.FPDF_PAGEOBJ_FORM and deep < _DEEPEST_FORM:
            inner = _times(_matrix(thing), matrix)
            _walk(thing, raw.FPDFFormObj_GetObject, raw.FPDFFormObj_CountObjects(thing), inner, drawn, corner, deep + 1)


def _matrix(thing: Any) -> Matrix:
    held = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(thing, held):
        return (1, 0, 0, 1, 0, 0)
    return (held.a, held.b, held.c, held.d, held.e, held.f)


def _times(m: Matrix, n: Matrix) -> Matrix:
    return (
        m[0] * n[0] + m[1] * n[2], m[0] * n[1] + m[1] * n[3],
        m[2] * n[0] + m[3] * n[2], m[2] * n[1] + m[3] * n[3],
        m[4] * n[0] + m[5] * n[2] + n[4], m[4] * n[1] + m[5] * n[3] + n[5],
    )  # fmt: skip


def _at(m: Matrix, x: float, y: float) -> tuple[float, float]:
    return x * m[0] + y * m[2] + m[4], x * m[1] + y * m[3] + m[5]


def _bounds(thing: Any, matrix: Matrix, corner: tuple[float, float]) -> Box:
    a, b, c, d = (ctypes.c_float() for _ in range(4))
    if not raw.FPDFPageObj_GetBounds(thing, a, b, c, d):
        return Box(0, 0, 0, 0)
    ends = [_at(matrix, x, y) for x in (a.value, c.value) for y in (b.value, d.value)]
    return _boxed(ends, corner)


def _boxed(points: list[tuple[float, float]], corner: tuple[float, float]) -> Box:
    xs = [x - corner[0] for x, _ in points]
    ys = [corner[1] - y for _, y in points]
    return Box(min(xs), min(ys), max(xs), max(ys))


def _path(thing: Any, matrix: Matrix, drawn: _Drawn, corner: tuple[float, float]) -> None:
    """Note ruling lines, and filled rectangles, which are what text may lie on or under."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(thing, fill, stroke)
    if not fill.value and not stroke.value:
        return
    count = raw.FPDFPath_CountSegments(thing)
    if count > 400:  # a drawing
        return
    own = _times(_matrix(thing), matrix)
    for points in _subpaths(thing, count, own):
        box = _boxed(points, corner)
        straight = all(abs(p[0] - q[0]) < 0.7 or abs(p[1] - q[1]) < 0.7 for p, q in pairwise(points))
        if not straight:
            continue
        wide, high = box.x1 - box.x0, box.y1 - box.y0
        if fill.value and wide > _THIN and high > _THIN:
            drawn.paints.append(_Paint(drawn.count, box, _colour(thing)))
        _rules(points, box, bool(stroke.value), drawn, corner)


def _rules(
    points: list[tuple[float, float]], box: Box, stroked: bool, drawn: _Drawn, corner: tuple[float, float]
) -> None:
    wide, high = box.x1 - box.x0, box.y1 - box.y0
    if high <= _THIN < wide:
        drawn.across.append(Box(box.x0, (box.y0 + box.y1) / 2, box.x1, (box.y0 + box.y1) / 2))
    elif wide <= _THIN < high:
        drawn.down.append(Box((box.x0 + box.x1) / 2, box.y0, (box.x0 + box.x1) / 2, box.y1))
    elif stroked:
        for p, q in pairwise(points):
            side = _boxed([p, q], corner)
            if side.x1 - side.x0 > _THIN:
                drawn.across.append(side)
            elif side.y1 - side.y0 > _THIN:
                drawn.down.append(side)
    elif len(points) in (4, 5):  # shaded cells without lines: their sides part them
        drawn.across += [Box(box.x0, y, box.x1, y) for y in (box.y0, box.y1)]
        drawn.down += [Box(x, box.y0, x, box.y1) for x in (box.x0, box.x1)]


def _subpaths(thing: Any, count: int, matrix: Matrix) -> Iterator[list[tuple[float, float]]]:
    points: list[tuple[float, float]] = []
    x, y = ctypes.c_float(), ctypes.c_float()
    for index in range(count):
        segment = raw.FPDFPath_GetPathSegment(thing, index)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO and points:
            yield points
            points = []
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        points.append(_at(matrix, x.value, y.value))
        if raw.FPDFPathSegment_GetClose(segment) and points[0] != points[-1]:
            points.append(points[0])
    if len(points) > 1:
        yield points


def _colour(thing: Any) -> Colour:
    r, g, b, a = (ctypes.c_uint() for _ in range(4))
    if not raw.FPDFPageObj_GetFillColor(thing, r, g, b, a):
        return (0, 0, 0, 255)
    return (r.value, g.value, b.value, a.value)


# ---------------------------------------------------------------- what is written


def _glyphs(textpage: Any, page: Page, drawn: _Drawn, corner: tuple[float, float]) -> Iterator[Glyph | None]:
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
        look = looks.get(_address(thing)) or _look(handle, index, thing, where, drawn, looks)
        if look.layer:
            layer.append(text)
        elif look.hidden or not (-2 <= where.x0 <= page.width + 2 and -2 <= where.y0 <= page.height + 2):
            hidden.append(text)
        else:
            yield Glyph(text, where, look.size, look.bold, look.mono)
    page.hidden = ["".join(hidden).strip()] if "".join(hidden).strip() else []
    page.layer = ["".join(layer).strip()] if "".join(layer).strip() else []


def _look(handle: Any, index: int, thing: Any, where: Box, drawn: _Drawn, looks: dict[int, _Look]) -> _Look:
    address = _address(thing)
    if not address:  # a space that pdfium put in
        return _Look(where.y1 - where.y0 or 10.0, False, False, False, False)
    order, _, matrix = drawn.texts.get(address, (0, None, (1, 0, 0, 1, 0, 0)))
    m = _times(_matrix(thing), matrix)
    size = raw.FPDFText_GetFontSize(handle, index) * math.hypot(m[2], m[3])
    name, flags = _font(handle, index)
    weight = raw.FPDFText_GetFontWeight(handle, index)
    mode = raw.FPDFTextObj_GetTextRenderMode(thing)
    look = _Look(
        size,
        weight >= 600 or bool(flags & _FORCED_BOLD) or any(word in name for word in _BOLD),
        bool(flags & _FIXED_PITCH) or any(word in name for word in _MONO),
        size <= _SMALLEST or _is_covered(_colour(thing), order, where, drawn),
        mode in _INVISIBLE_MODES,
    )
    looks[address] = look
    return look


def _address(thing: Any) -> int:
    """Where pdfium holds an object: what tells one from another. Reading the pointer's own bytes is the fast way."""
    return ctypes.c_void_p.from_buffer(thing).value or 0


def _font(handle: Any, index: int) -> tuple[str, int]:
    flags = ctypes.c_int()
    buffer = ctypes.create_string_buffer(128)
    raw.FPDFText_GetFontInfo(handle, index, buffer, 128, flags)
    return buffer.value.decode("utf-8", "replace").lower(), flags.value


def _is_covered(colour: Colour, order: int, where: Box, drawn: _Drawn) -> bool:
    """The text is painted in the colour of what it lies on, or something is painted over it."""
    if colour[3] <= 12:
        return True
    x, y = (where.x0 + where.x1) / 2, (where.y0 + where.y1) / 2
    behind: Colour | None = (255, 255, 255, 255)
    for paint in drawn.paints:
        if paint.box.holds(x, y) and (paint.colour is None or paint.colour[3] > 200):
            if paint.order > order > 0:
                return paint.colour is not None or paint.box.area > 10_000
            behind = paint.colour
    return behind is not None and sum(abs(a - b) for a, b in zip(colour[:3], behind[:3], strict=True)) <= _NEAR


def _pieces(glyphs: Iterator[Glyph | None]) -> list[Piece]:
    found: list[Piece] = []
    run: list[Glyph] = []
    for glyph in glyphs:
        if glyph is None or (run and _parts(run[-1], glyph)):
            _close(run, found)
            run = []
        if glyph is not None and (run or not glyph.text.isspace()):
            run.append(glyph)
    _close(run, found)
    return found


def _parts(before: Glyph, after: Glyph) -> bool:
    """A wide gap, a jump back or a jump to another line lies between."""
    if after.text.isspace():
        return False
    size = max(before.size, after.size, 1.0)
    gap = after.box.x0 - before.box.x1
    middle = abs((after.box.y0 + after.box.y1) - (before.box.y0 + before.box.y1)) / 2
    return gap > max(1.5 * size, 9.0) or gap < -2.5 * size or middle > 0.7 * size


def _close(run: list[Glyph], found: list[Piece]) -> None:
    while run and run[-1].text.isspace():
        run.pop()
    if not run:
        return
    solid = [glyph for glyph in run if not glyph.text.isspace()]
    box = solid[0].box
    for glyph in solid[1:]:
        box = box.joined(glyph.box)
    sizes = sorted(glyph.size for glyph in solid)
    half = len(solid) / 2
    found.append(
        Piece(
            "".join(glyph.text for glyph in run),
            box,
            sizes[len(sizes) // 2],
            sum(glyph.bold for glyph in solid) > half * 1.7,
            sum(glyph.mono for glyph in solid) > half * 1.7,
            list(run),
        )
    )
