"""What a page of a PDF paints: filled areas, pictures, ruling lines, and which texts these let one see.

Distances are points from the top left corner of what the page shows.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import pypdfium2.raw as raw

_NEAR = 40  # summed difference of red, green and blue
_MOST_OBJECTS = 50_000
_THIN = 3.0  # a filled stretch not thicker is a ruling line
_DEEPEST_FORM = 5

Matrix = tuple[float, float, float, float, float, float]
Colour = tuple[int, int, int, int]
Point = tuple[float, float]


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


class Paint(NamedTuple):
    order: int
    box: Box
    colour: Colour | None  # None: a picture
    outline: tuple[Point, ...] = ()  # where it doesn't fill its box, such as a bar with round corners

    def holds(self, x: float, y: float) -> bool:
        """The point is painted."""
        if not self.box.holds(x, y):
            return False
        inside = not self.outline
        for (x0, y0), (x1, y1) in pairwise((*self.outline, *self.outline[:1])):
            if (y0 > y) != (y1 > y) and x < x0 + (y - y0) * (x1 - x0) / (y1 - y0):
                inside = not inside
        return inside


@dataclass(slots=True)
class Drawn:
    """The objects of a page in the order they are painted."""

    texts: dict[int, tuple[int, Any, Matrix]] = field(default_factory=dict)  # address to order, object, matrix
    paints: list[Paint] = field(default_factory=list)
    across: list[Box] = field(default_factory=list)
    down: list[Box] = field(default_factory=list)
    count: int = 0


def walk(
    holder: Any, get: Any, count: int, matrix: Matrix, drawn: Drawn, corner: tuple[float, float], deep: int
) -> None:
    for index in range(count):
        drawn.count += 1
        if drawn.count > _MOST_OBJECTS:
            return
        thing = get(holder, index)
        kind = raw.FPDFPageObj_GetType(thing)
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            drawn.texts[address_of(thing)] = (drawn.count, thing, matrix)
        elif kind == raw.FPDF_PAGEOBJ_PATH:
            _path(thing, matrix, drawn, corner)
        elif kind in (raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_SHADING):
            drawn.paints.append(Paint(drawn.count, _bounds(thing, matrix, corner), None))
        elif kind == raw.FPDF_PAGEOBJ_FORM and deep < _DEEPEST_FORM:
            inner = times(matrix_of(thing), matrix)
            walk(thing, raw.FPDFFormObj_GetObject, raw.FPDFFormObj_CountObjects(thing), inner, drawn, corner, deep + 1)


def matrix_of(thing: Any) -> Matrix:
    held = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(thing, held):
        return (1, 0, 0, 1, 0, 0)
    return (held.a, held.b, held.c, held.d, held.e, held.f)


def times(m: Matrix, n: Matrix) -> Matrix:
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


def _path(thing: Any, matrix: Matrix, drawn: Drawn, corner: tuple[float, float]) -> None:
    """Note ruling lines, filled areas and broad strokes, which are what text may lie on or under."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(thing, fill, stroke)
    if not fill.value and not stroke.value:
        return
    count = raw.FPDFPath_CountSegments(thing)
    if count > 400:  # a drawing
        return
    own = times(matrix_of(thing), matrix)
    for points in _subpaths(thing, count, own):
        box = _boxed(points, corner)
        straight = all(abs(p[0] - q[0]) < 0.7 or abs(p[1] - q[1]) < 0.7 for p, q in pairwise(points))
        wide, high = box.x1 - box.x0, box.y1 - box.y0
        if fill.value and wide > _THIN and high > _THIN:
            outline = () if straight else tuple((x - corner[0], corner[1] - y) for x, y in points)
            drawn.paints.append(Paint(drawn.count, box, colour_of(thing), outline))
        if not straight:
            continue
        if stroke.value and min(wide, high) <= _THIN:
            _broad_stroke(thing, own, box, drawn)
        _rules(points, box, bool(stroke.value), drawn, corner)


def _broad_stroke(thing: Any, matrix: Matrix, box: Box, drawn: Drawn) -> None:
    """A line so broad that text is set on it: some programs shade a row this way."""
    width = ctypes.c_float()
    raw.FPDFPageObj_GetStrokeWidth(thing, width)
    half = width.value * math.hypot(matrix[2], matrix[3]) / 2
    if half <= _THIN:
        return
    r, g, b, a = (ctypes.c_uint() for _ in range(4))
    if raw.FPDFPageObj_GetStrokeColor(thing, r, g, b, a):
        level = box.y1 - box.y0 <= _THIN
        broad = (
            Box(box.x0, box.y0 - half, box.x1, box.y1 + half)
            if level
            else Box(box.x0 - half, box.y0, box.x1 + half, box.y1)
        )
        drawn.paints.append(Paint(drawn.count, broad, (r.value, g.value, b.value, a.value)))


def _rules(
    points: list[tuple[float, float]], box: Box, stroked: bool, drawn: Drawn, corner: tuple[float, float]
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


def colour_of(thing: Any) -> Colour:
    r, g, b, a = (ctypes.c_uint() for _ in range(4))
    if not raw.FPDFPageObj_GetFillColor(thing, r, g, b, a):
        return (0, 0, 0, 255)
    return (r.value, g.value, b.value, a.value)


def is_covered(colour: Colour, order: int, where: Box, drawn: Drawn) -> bool:
    """The text is painted in the colour of what it lies on, or something is painted over it."""
    if colour[3] <= 12:
        return True
    x, y = (where.x0 + where.x1) / 2, (where.y0 + where.y1) / 2
    behind: Colour | None = (255, 255, 255, 255)
    for paint in drawn.paints:
        if paint.holds(x, y) and (paint.colour is None or paint.colour[3] > 200):
            if paint.order > order > 0:
                return paint.colour is not None or paint.box.area > 10_000
            behind = paint.colour
    return behind is not None and sum(abs(a - b) for a, b in zip(colour[:3], behind[:3], strict=True)) <= _NEAR


def address_of(thing: Any) -> int:
    """Where pdfium holds an object: what tells one from another. Reading the pointer's own bytes is the fast way."""
    return ctypes.c_void_p.from_buffer(thing).value or 0
