"""Characters of a PDF's page put together into pieces: stretches of one line without a wide gap."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from connectors.sync.parse.pdfpaint import Box

_ALEFS = ("\u0627", "\u0622", "\u0623", "\u0625")
_LAM = "\u0644"


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


def pieces_of(glyphs: Iterator[Glyph | None]) -> list[Piece]:
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


def _unligate(run: list[Glyph]) -> None:
    """Put the letters of a ligature that is written from right to left in their order; pdfium turns them around."""
    for place, (one, other) in enumerate(pairwise(list(run))):
        if one.box == other.box and one.text in _ALEFS and other.text == _LAM:
            run[place], run[place + 1] = other, one


def runs_leftward(text: str) -> bool:
    """Most of its letters are of scripts that are written from right to left."""
    if text.isascii():
        return False
    kinds = [unicodedata.bidirectional(character) for character in text if character.isalpha()]
    return 2 * sum(kind in ("R", "AL") for kind in kinds) > len(kinds)


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
    _unligate(run)
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
