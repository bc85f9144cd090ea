"""Tables of a PDF page: by their ruling lines, and where there are none by how rows of text stand in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from connectors.sync.parse.pdfpage import Page
from connectors.sync.parse.pdfpaint import Box
from connectors.sync.parse.pdfpieces import Glyph, Piece

_SNAP = 3.0  # lines not farther apart are one
_COMPOUNDS = frozenset("self well long short high low full part half cross non ex all third year day".split())
_MOST_LINES = 3_000
_MOST_PLACES = 20_000
_LONGEST_CELL = 55  # characters on average, of a table without lines; longer ones are columns of prose
_LONGEST_FRAMED = 500  # characters on average, of a table with lines; longer ones are framed text


@dataclass(frozen=True, slots=True)
class Found:
    """A table: where it stands, its cells by row, whether its first row looks like a header, its column edges."""

    box: Box
    rows: tuple[tuple[str, ...], ...]
    header_rows: int
    edges: tuple[float, ...]


def ruled(page: Page) -> tuple[list[Found], list[Piece]]:
    """The tables drawn with lines, and the pieces outside them."""
    tables: list[Found] = []
    left = page.pieces
    for across, down in _clusters(page.across, page.down):
        lattice = _Lattice(across, down)
        if lattice.columns < 2 or lattice.rows < 1:
            continue
        inside, outside = lattice.divide(left)
        found = lattice.read(inside) if inside else None
        if found is not None:
            tables.append(found)
            left = outside
    for x0, x1, stack in _stacks(page.across):
        for ys in _tabular(left, x0, x1, stack):
            inside = [p for p in left if _between(p, x0, x1, ys[0], ys[-1])]
            banded = _banded(inside, ys)
            if banded is not None:
                tables.append(banded)
                left = [p for p in left if p not in inside]
    return tables, left


def _stacks(across: Sequence[Box]) -> list[tuple[float, float, list[float]]]:
    """Level lines of equal ends under each other, at least four: rows are ruled or shaded, columns are not."""
    groups: dict[tuple[int, int], list[Box]] = {}
    for box in across[:_MOST_LINES]:
        key = next((k for k in groups if abs(k[0] - box.x0) <= _SNAP and abs(k[1] - box.x1) <= _SNAP), None)
        groups.setdefault(key or (round(box.x0), round(box.x1)), []).append(box)
    stacks = [(float(x0), float(x1), _snapped([box.y0 for box in boxes])) for (x0, x1), boxes in groups.items()]
    return [stack for stack in stacks if len(stack[2]) >= 4]


def _between(piece: Piece, x0: float, x1: float, top: float, bottom: float) -> bool:
    return x0 - _SNAP <= piece.box.x0 and piece.box.x1 <= x1 + _SNAP and top < piece.middle < bottom


def _tabular(pieces: list[Piece], x0: float, x1: float, ys: Sequence[float]) -> Iterator[list[float]]:
    """The stretches of a stack, of three bands or more, whose every band holds cells side by side and no prose."""
    run: list[float] = []
    usual = sorted(b - a for a, b in pairwise(ys))[(len(ys) - 1) // 2]
    for top, bottom in pairwise(ys):
        band = [p for p in pieces if _between(p, x0, x1, top, bottom)]
        prose = any(p.box.x1 - p.box.x0 > 0.6 * (x1 - x0) for p in band)
        several = bottom - top > 3 * usual and len({round(p.middle / 3) for p in band}) > 3
        if band and not prose and not several and min(p.box.x1 for p in band) < max(p.box.x0 for p in band):
            run = [*(run or [top]), bottom]
        else:
            if len(run) >= 4:
                yield run
            run = []
    if len(run) >= 4:
        yield run


def _banded(pieces: list[Piece], ys: Sequence[float]) -> Found | None:
    """A table whose rows are the bands between level lines and whose columns are where no text stands."""
    gaps = _gaps(pieces)
    if not gaps:
        return None
    edges = [(a + b) / 2 for a, b in gaps]
    rows: list[list[list[Glyph]]] = [[[] for _ in range(len(edges) + 1)] for _ in ys[1:]]
    for piece in pieces:
        band = sum(y < piece.middle for y in ys) - 1
        rows[band][sum(edge < (piece.box.x0 + piece.box.x1) / 2 for edge in edges)] += piece.glyphs
    filled = [row for row in rows if any(row)]
    texts = tuple(tuple(flow(cell) for cell in row) for row in filled)
    heights = {round(piece.middle / 4) for piece in pieces}
    cells = [cell for row in texts for cell in row if cell]
    if len(texts) < 3 or len(texts) < 0.3 * len(heights) or sum(map(len, cells)) > _LONGEST_FRAMED * len(cells):
        return None
    if sum(sum(map(bool, row)) >= 2 for row in texts) < 0.7 * len(texts):
        return None
    box = pieces[0].box
    for piece in pieces:
        box = box.joined(piece.box)
    bold = [_is_bold([glyph for cell in row for glyph in cell]) for row in filled]
    return Found(box, texts, _heads(bold, texts), tuple(edges))


def _clusters(across: Sequence[Box], down: Sequence[Box]) -> list[tuple[list[Box], list[Box]]]:
    """Lines that touch belong together; a table needs at least two each way."""
    lines = [(box, True) for box in across] + [(box, False) for box in down]
    if len(lines) > _MOST_LINES or not down:
        return []
    parent = list(range(len(lines)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    ordered = sorted(range(len(lines)), key=lambda i: lines[i][0].x0)
    active: list[int] = []
    for i in ordered:
        box = lines[i][0]
        active = [j for j in active if lines[j][0].x1 >= box.x0 - _SNAP]
        for j in active:
            other = lines[j][0]
            if other.y0 - _SNAP <= box.y1 and box.y0 - _SNAP <= other.y1:
                parent[root(i)] = root(j)
        active.append(i)
    groups: dict[int, tuple[list[Box], list[Box]]] = {}
    for i, (box, level) in enumerate(lines):
        groups.setdefault(root(i), ([], []))[0 if level else 1].append(box)
    wanted = [group for group in groups.values() if len(group[0]) >= 2 and len(group[1]) >= 2]
    return sorted(wanted, key=lambda group: min(box.y0 for box in group[0]))


def _snapped(values: Sequence[float]) -> list[float]:
    found: list[list[float]] = []
    for value in sorted(values):
        if found and value - found[-1][-1] <= _SNAP:
            found[-1].append(value)
        else:
            found.append([value])
    return [sum(each) / len(each) for each in found]


class _Lattice:
    """A grid of places parted by lines; places that no line parts are one cell."""

    def __init__(self, across: list[Box], down: list[Box]) -> None:
        self.xs = _snapped([box.x0 for box in down])
        self.ys = _snapped([box.y0 for box in across])
        self.columns, self.rows = len(self.xs) - 1, len(self.ys) - 1
        if self.columns * self.rows > _MOST_PLACES:
            self.columns = self.rows = 0
        self._across, self._down = across, down

    @property
    def box(self) -> Box:
        return Box(self.xs[0], self.ys[0], self.xs[-1], self.ys[-1])

    def divide(self, pieces: list[Piece]) -> tuple[list[Piece], list[Piece]]:
        """Pieces within the outer lines, and the others."""
        inside: list[Piece] = []
        outside: list[Piece] = []
        for piece in pieces:
            x = (piece.box.x0 + piece.box.x1) / 2
            (inside if self.box.holds(x, piece.middle, 1.0) else outside).append(piece)
        return inside, outside

    def read(self, pieces: list[Piece]) -> Found | None:
        """The table, or None where lines frame something that is none."""
        cell = self._cells()
        glyphs: dict[int, list[Glyph]] = {}
        for piece in pieces:
            for glyph in piece.glyphs:
                x, y = (glyph.box.x0 + glyph.box.x1) / 2, (glyph.box.y0 + glyph.box.y1) / 2
                place = self._place(x, y)
                if place is not None:
                    glyphs.setdefault(cell[place], []).append(glyph)
        texts = {key: flow(each) for key, each in glyphs.items()}
        rows = [tuple(texts.get(cell[r * self.columns + c], "") for c in range(self.columns)) for r in range(self.rows)]
        bold = [
            _is_bold([g for c in range(self.columns) for g in glyphs.get(cell[r * self.columns + c], [])])
            for r in range(self.rows)
        ]
        kept = [r for r in range(self.rows) if any(rows[r])]
        used = {column for row in rows for column, text in enumerate(row) if text}
        cells = {cell[r * self.columns + c] for r in range(self.rows) for c in range(self.columns)}
        if sum(map(len, texts.values())) > _LONGEST_FRAMED * len(texts):
            return None
        if len(cells) < 2 or len(used) < 2 or len(kept) < 1 or (len(kept) == 1 and len(texts) < 2):
            return None
        return Found(
            self.box,
            tuple(rows[r] for r in kept),
            _heads([bold[r] for r in kept], [rows[r] for r in kept]),
            tuple(self.xs),
        )

    def _place(self, x: float, y: float) -> int | None:
        column = next((i for i in range(self.columns) if self.xs[i] - 1 <= x <= self.xs[i + 1]), None)
        row = next((i for i in range(self.rows) if self.ys[i] - 1 <= y <= self.ys[i + 1]), None)
        return None if column is None or row is None else row * self.columns + column

    def _cells(self) -> list[int]:
        """For each place the number of its cell."""
        parent = list(range(self.columns * self.rows))

        def root(i: int) -> int:
            while parent[i] != i:
                i = parent[i]
            return i

        for row in range(self.rows):
            for column in range(self.columns):
                here = row * self.columns + column
                y = (self.ys[row] + self.ys[row + 1]) / 2
                x = (self.xs[column] + self.xs[column + 1]) / 2
                if column + 1 < self.columns and not self._parted(self._down, self.xs[column + 1], y, upright=True):
                    parent[root(here + 1)] = root(here)
                if row + 1 < self.rows and not self._parted(self._across, self.ys[row + 1], x, upright=False):
                    parent[root(here + self.columns)] = root(here)
        return [root(i) for i in range(len(parent))]

    @staticmethod
    def _parted(lines: list[Box], at: float, along: float, *, upright: bool) -> bool:
        if upright:
            return any(abs(box.x0 - at) <= _SNAP and box.y0 - 1 <= along <= box.y1 + 1 for box in lines)
        return any(abs(box.y0 - at) <= _SNAP and box.x0 - 1 <= along <= box.x1 + 1 for box in lines)


def flow(glyphs: Sequence[Glyph]) -> str:
    """The text of a cell: its lines from top to bottom, joined by blanks, words broken at line ends joined."""
    lines: list[list[Glyph]] = []
    for glyph in glyphs:  # in the order of writing, which keeps a word's letters together
        middle = (glyph.box.y0 + glyph.box.y1) / 2
        for line in lines:
            first = line[0]
            if abs((first.box.y0 + first.box.y1) / 2 - middle) < 0.5 * max(first.size, 1.0):
                line.append(glyph)
                break
        else:
            lines.append([glyph])
    lines.sort(key=lambda line: line[0].box.y0)
    return joined(["".join(glyph.text for glyph in line).strip() for line in lines])


def joined(lines: Sequence[str]) -> str:
    """Lines of one paragraph as one; a word broken with a hyphen at a line's end is made whole."""
    text = ""
    for line in lines:
        if not line:
            continue
        if text.endswith(("\xad", "\u2010")) or (_breaks_word(text) and line[:1].islower()):
            text = text[:-1] + line
        elif text.endswith("-") and len(text) > 1 and text[-2].isalnum() and line[:1].isalnum():
            text += line  # a compound or a code, such as CO-197
        else:
            text = f"{text} {line}" if text else line
    return text


def _breaks_word(text: str) -> bool:
    if not text.endswith("-") or len(text) < 3 or not text[-2].islower():
        return False
    word = text.split()[-1][:-1]
    return "-" not in word and word.isalpha() and word.lower() not in _COMPOUNDS


def _is_bold(glyphs: Sequence[Glyph]) -> bool:
    solid = [glyph for glyph in glyphs if not glyph.text.isspace()]
    return bool(solid) and sum(glyph.bold for glyph in solid) > 0.8 * len(solid)


def _heads(bold: Sequence[bool], rows: Sequence[tuple[str, ...]]) -> int:
    """How many rows at the top are headers."""
    if len(rows) < 2:
        return 0
    if bold[0] and not bold[-1]:
        count = 0
        while count < min(3, len(rows) - 1) and bold[count]:
            count += 1
        return count
    first = rows[0]
    if any(not cell for cell in first[1:]) and len(first) > 2:
        return 1
    digits = sum(any(c.isdigit() for c in cell) for cell in first)
    return 0 if digits > len(first) / 2 and len(first) > 1 and bold[0] == bold[-1] else 1


# ---------------------------------------------------------------- without lines


def aligned(lines: Sequence[Sequence[Piece]], columns: tuple[float, ...] | None = None) -> Found | None:
    """Lines of pieces as a table, if they stand in columns with room between them, or None."""
    gaps = _gaps([piece for line in lines for piece in line])
    if not gaps:
        return None
    edges = [(a + b) / 2 for a, b in gaps]
    width = len(edges) + 1
    rows: list[list[list[Glyph]]] = []
    last_bottom = 0.0
    for line in lines:
        cells: list[list[Glyph]] = [[] for _ in range(width)]
        for piece in line:
            middle = (piece.box.x0 + piece.box.x1) / 2
            cells[sum(edge < middle for edge in edges)] += piece.glyphs
        top = min(piece.box.y0 for piece in line)
        size = line[0].size
        wraps = rows and not cells[0] and sum(map(bool, cells)) < width and top - last_bottom < 0.45 * size
        if wraps:
            for kept, more in zip(rows[-1], cells, strict=True):
                kept += more
        else:
            rows.append(cells)
        last_bottom = max(piece.box.y1 for piece in line)
    texts = tuple(tuple(flow(cell) for cell in row) for row in rows)
    full = sum(sum(map(bool, row)) >= min(width, 2) for row in texts)
    filled = [cell for row in texts for cell in row if cell]
    if len(texts) < 3 or full < 0.7 * len(texts) or sum(map(len, filled)) > _LONGEST_CELL * len(filled):
        return None
    box = lines[0][0].box
    for line in lines:
        for piece in line:
            box = box.joined(piece.box)
    bold = [_is_bold([glyph for cell in row for glyph in cell]) for row in rows]
    return Found(box, texts, max(_heads(bold, texts), 1), tuple(edges))


def _gaps(pieces: Sequence[Piece]) -> list[tuple[float, float]]:
    """Stretches from left to right that no piece covers."""
    found: list[tuple[float, float]] = []
    reached = None
    for piece in sorted(pieces, key=lambda each: each.box.x0):
        if reached is not None and piece.box.x0 - reached >= 5.0:
            found.append((reached, piece.box.x0))
        reached = piece.box.x1 if reached is None else max(reached, piece.box.x1)
    return found
