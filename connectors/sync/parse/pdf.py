"""PDF: positions become structure. Headings by size, weight and number; running heads and page numbers left out; tables
by their lines, put together over pages; paragraphs re-flowed; scanned pages read where tesseract is installed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pypdfium2 as pdfium

from connectors.records import Hidden, ParsedRecord
from connectors.sync.parse import ocr
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.outline import Item, Outline, squeeze
from connectors.sync.parse.pdfpage import Box, Page, Piece, look_at
from connectors.sync.parse.pdftables import Found, aligned, joined, ruled
from connectors.sync.parse.refusal import Refusal

_TOP, _BOTTOM = 0.10, 0.08  # of the page's height: where running heads and page numbers stand
_SHARE = 0.4  # of the pages, on which the same words at the same height are furniture
_NUMBER_ALONE = re.compile(
    r"^[-–—\s|]*(?:page|seite|p\.)?\s*(?:#+|[ivxl]{1,6})\s*(?:(?:of|/|von|de)\s*#+)?[-–—\s|]*$", re.I
)
_BULLET = re.compile(r"^([•●○◦▪■□‣⁃∙·✓➢►❖–—*\-☐☑☒✔❑❒➔→»\u0080-\u009f\uf000-\uf0ffo])(?:\s+|$)(.*)$", re.S)
_ORDINAL = re.compile(r"^(\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])\s+(.*)$", re.S)
_SECTION = re.compile(
    r"^(?:(?:section|article|chapter|part|appendix)\s+)?((?:\d{1,2}|[A-Z])(?:\.\d{1,3})*)[.):]?\s+(?=[A-Z“\"(])", re.I
)
_ENDS = re.compile(r"[.!?:;]['\"”’)]*$")
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
_FILE_NAME = re.compile(
    r"^(?:microsoft (?:word|powerpoint|excel)\b.*|powerpoint presentation|word document|untitled.*"
    r"|.*\.(?:docx?|pptx?|xlsx?|pdf|indd|tex|dvi))$",
    re.I,
)
_SCAN = 0.3  # the share of the page that a picture covers on a scan


@dataclass(slots=True)
class _Line:
    """Pieces on one height, left to right."""

    pieces: list[Piece]
    box: Box
    size: float
    bold: bool
    mono: bool
    page: int
    text: str


@dataclass(slots=True)
class _Paragraph:
    lines: list[_Line] = field(default_factory=list)

    @property
    def text(self) -> str:
        return joined([line.text for line in self.lines])


def read(body: bytes, limits: Limits, tesseract: str | None) -> ParsedRecord:
    """A PDF."""
    try:
        document = pdfium.PdfDocument(body)
    except pdfium.PdfiumError as error:
        if "assword" in str(error):
            raise Refusal("is locked with a password; save it without one") from error
        raise Refusal("is a broken PDF") from error
    if len(document) > limits.pages:
        raise Refusal(f"has more than {limits.pages:,} pages")
    outline = Outline(limits)
    pages = [look_at(document, index) for index in range(len(document))]
    _tell_hidden(pages, outline)
    _drop_furniture(pages)
    body_size = _body_size(pages)
    contents = _contents(document)
    pieces = {page.number: ruled(page) for page in pages}
    layouts = {page.number: list(_layout(page, *pieces[page.number])) for page in pages}
    levels = _Levels(body_size, [each for page in pages for each in layouts[page.number]], contents)
    scans = _Scans(document, tesseract, limits, outline)
    writer = _Writer(outline, levels)
    for page in pages:
        outline.page = page.number
        if not page.pieces and (page.pictured >= _SCAN or page.layer):
            scans.read(page)
        else:
            writer.page(page, layouts[page.number])
    writer.done()
    return outline.record(None, _stated_title(document))


def _stated_title(document: pdfium.PdfDocument) -> str | None:
    title = squeeze(document.get_metadata_value("Title"))
    return None if not title or _FILE_NAME.match(title) else title


def _contents(document: pdfium.PdfDocument) -> dict[str, int]:
    """Headings that the PDF's bookmarks name, by their text without spaces, with their level from 1."""
    found: dict[str, int] = {}
    for index, entry in enumerate(document.get_toc(max_depth=9)):
        if index > 3_000:
            break
        found.setdefault(_key(entry.get_title()), entry.level + 1)
    found.pop("", None)
    return found


def _key(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def _tell_hidden(pages: Sequence[Page], outline: Outline) -> None:
    for page in pages:
        for text in page.hidden:
            outline.hide(Hidden.STYLED, text)
        if page.layer and (page.pieces or page.pictured < _SCAN):
            for text in page.layer:
                outline.hide(Hidden.STYLED, text)
            page.layer = []


# ---------------------------------------------------------------- running heads and page numbers


def _drop_furniture(pages: Sequence[Page]) -> None:
    """Take out what stands at the same height on many pages, and page numbers, at the head and foot of pages."""
    seen: Counter[tuple[str, int]] = Counter()
    for page in pages:
        seen.update({_furniture_key(piece) for piece in page.pieces if _in_margin(page, piece)})
    needed = max(2.0, _SHARE * len(pages))
    numbers = _page_numbers(pages)
    for page in pages:
        page.pieces = [
            piece
            for piece in page.pieces
            if piece is not numbers.get(page.number)
            and not (
                _in_margin(page, piece)
                and (_furniture_count(seen, piece) >= needed or _NUMBER_ALONE.match(_digits(piece.text)))
            )
        ]


def _page_numbers(pages: Sequence[Page]) -> dict[int, Piece]:
    """The lowest piece of each page where these count up with the pages, however far from the edge they stand."""
    lowest = {page.number: max(page.pieces, key=lambda p: p.box.y0) for page in pages if page.pieces}
    offsets = Counter(int(p.text) - n for n, p in lowest.items() if p.text.strip().isdigit() and len(p.text) < 6)
    if not offsets or offsets.most_common(1)[0][1] < max(2, 0.5 * len(lowest)):
        return {}
    offset = offsets.most_common(1)[0][0]
    return {n: piece for n, piece in lowest.items() if piece.text.strip() == str(n + offset)}


def _furniture_count(seen: Counter[tuple[str, int]], piece: Piece) -> int:
    text, at = _furniture_key(piece)
    return sum(seen[text, near] for near in (at - 1, at, at + 1))


def _in_margin(page: Page, piece: Piece) -> bool:
    return piece.box.y1 <= _TOP * page.height or piece.box.y0 >= (1 - _BOTTOM) * page.height


def _furniture_key(piece: Piece) -> tuple[str, int]:
    return _digits(piece.text).lower(), round(piece.middle / 4)


def _digits(text: str) -> str:
    return re.sub(r"\d+", "#", text.strip())


def _body_size(pages: Sequence[Page]) -> float:
    sizes: Counter[float] = Counter()
    for page in pages:
        for piece in page.pieces:
            sizes[round(piece.size * 2) / 2] += len(piece.text)
    return sizes.most_common(1)[0][0] if sizes else 10.0


# ---------------------------------------------------------------- the order of reading


def _layout(page: Page, tables: list[Found], pieces: list[Piece]) -> Iterator[_Line | Found]:
    """Lines and tables of a page in reading order."""
    anchors = sorted(tables, key=lambda table: table.box.y0)
    for part in _columns(pieces, 0):
        lines = _lines(part, page.number)
        for item in _with_aligned(lines):
            top = item.box.y0
            while anchors and anchors[0].box.y0 <= top and _beside(anchors[0].box, item.box):
                yield anchors.pop(0)
            yield item
    yield from anchors


def _beside(table: Box, other: Box) -> bool:
    """They share a column: the table is not in one that is read later."""
    return table.x0 < other.x1 and other.x0 < table.x1


def _columns(pieces: list[Piece], deep: int) -> Iterator[list[Piece]]:
    """Pieces column by column; what runs over all columns parts them."""
    gutter = _gutter(pieces) if len(pieces) >= 12 and deep < 3 else None
    if gutter is None:
        yield pieces
        return
    crossing = sorted((p for p in pieces if p.box.x0 < gutter < p.box.x1), key=lambda p: p.box.y0)
    left = [p for p in pieces if p.box.x1 <= gutter]
    right = [p for p in pieces if p.box.x0 >= gutter]
    top = float("-inf")
    for bar in [*crossing, None]:
        bottom = float("inf") if bar is None else bar.middle
        for side in (left, right):
            part = [p for p in side if top < p.middle <= bottom]
            if part:
                yield from _columns(part, deep + 1)
        if bar is not None:
            yield [bar]
            top = bottom


def _gutter(pieces: list[Piece]) -> float | None:
    """Where a page of two columns or more parts, or None: few pieces cross it, and prose fills both sides."""
    x0, x1 = min(p.box.x0 for p in pieces), max(p.box.x1 for p in pieces)
    best: tuple[int, float] | None = None
    for step in range(20, 81):
        x = x0 + (x1 - x0) * step / 100
        crossing = sum(p.box.x0 < x < p.box.x1 for p in pieces)
        if crossing > 0.2 * len(pieces):
            continue
        left, right = [p for p in pieces if p.box.x1 <= x], [p for p in pieces if p.box.x0 >= x]
        fit = (_is_prose(left) and _is_prose(right)) or (not crossing and _are_apart(left, right))
        if fit and (best is None or crossing < best[0]):
            best = (crossing, x)
    return best[1] if best else None


def _are_apart(left: list[Piece], right: list[Piece]) -> bool:
    """Two columns that keep to no common rows, as those of a table would."""
    if min(len(left), len(right)) < 10 or max(p.box.x1 for p in left) + 8 > min(p.box.x0 for p in right):
        return False
    beside = sum(any(abs(p.middle - q.middle) < 0.25 * p.size for q in right) for p in left)
    return beside < 0.5 * len(left)


def _is_prose(pieces: list[Piece]) -> bool:
    if len(pieces) < 5:
        return False
    x0, x1 = min(p.box.x0 for p in pieces), max(p.box.x1 for p in pieces)
    widths = sorted(p.box.x1 - p.box.x0 for p in pieces)
    long = sum(len(p.text) for p in pieces) / len(pieces)
    return widths[len(widths) // 2] >= 0.55 * (x1 - x0) and long >= 18


def _lines(pieces: list[Piece], page: int) -> list[_Line]:
    """Pieces of one column as lines from top to bottom."""
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda p: (p.middle, p.box.x0)):
        height = piece.box.y1 - piece.box.y0
        if rows and abs(rows[-1][0].middle - piece.middle) < 0.45 * max(height, 1.0):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [_line(sorted(row, key=lambda p: p.box.x0), page) for row in rows]


def _line(row: list[Piece], page: int) -> _Line:
    box = row[0].box
    for piece in row[1:]:
        box = box.joined(piece.box)
    longest = max(row, key=lambda p: len(p.text))
    text = " ".join(piece.text for piece in row).translate(_LIGATURES)
    return _Line(row, box, longest.size, all(p.bold for p in row), all(p.mono for p in row), page, text)


def _with_aligned(lines: list[_Line]) -> Iterator[_Line | Found]:
    """Runs of lines that stand in columns, as tables; the rest as they are."""
    run: list[_Line] = []
    for line in [*lines, None]:
        if line is not None and _is_row(line) and (not run or line.box.y0 - run[-1].box.y1 < 2.2 * line.size):
            run.append(line)
            continue
        if line is not None and run and _is_wrapped_cell(line, run):
            run.append(line)
            continue
        yield from _tabled(run)
        run = []
        if line is not None:
            if _is_row(line):
                run = [line]
            else:
                yield line
    yield from _tabled(run)


def _is_row(line: _Line) -> bool:
    return len(line.pieces) >= 2 and not (len(line.pieces) == 2 and _is_marker(line.pieces[0].text))


def _is_wrapped_cell(line: _Line, run: list[_Line]) -> bool:
    """One more line of a cell: close below the row, and in a column other than the first."""
    columns = [piece.box.x0 for row in run for piece in row.pieces[1:]]
    near = line.box.y0 - run[-1].box.y1 < 0.6 * line.size
    return near and len(run) >= 2 and any(abs(line.box.x0 - x) < 4 for x in columns)


def _is_marker(text: str) -> bool:
    return bool(
        re.match(
            r"^(?:[•●○◦▪■□‣⁃∙·✓➢►❖–—*\-☐☑☒✔❑❒➔→»\u0080-\u009f\uf000-\uf0ffo]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]|\d+(?:\.\d+)+\.?)$",
            text.strip(),
        )
    )


def _tabled(run: list[_Line]) -> Iterator[_Line | Found]:
    found = aligned([line.pieces for line in run]) if len(run) >= 3 and not _is_counted(run) else None
    if found is not None:
        yield found
    else:
        yield from run


def _is_counted(run: list[_Line]) -> bool:
    """A list whose numbers stand apart from its items: 1, 2, 3 and one piece of text each."""
    numbers = [line.pieces[0].text.strip() for line in run if len(line.pieces) == 2]
    return len(numbers) == len(run) and numbers == [str(n + 1) for n in range(len(run))]


# ---------------------------------------------------------------- headings


class _Levels:
    """Which lines are headings, and of which level: by the bookmarks, else by how they look."""

    def __init__(self, body: float, items: Sequence[_Line | Found], contents: dict[str, int]) -> None:
        self.body = body
        self._contents = contents
        lines = [item for item in items if isinstance(item, _Line)]
        bold = sum(len(line.text) for line in lines if line.bold)
        self._bold_tells = bold < 0.4 * max(1, sum(len(line.text) for line in lines))
        looks = {self._look(line) for line in lines if self._stands_out(line)}
        self._ranks = {look: rank for rank, look in enumerate(sorted(looks), 1)}

    def of(self, line: _Line) -> int | None:
        """The heading level of a line that is one, else None."""
        stated = self._contents.get(_key(line.text))
        if stated is not None and len(line.text) > 2:
            return stated
        return self._ranks.get(self._look(line)) if self._stands_out(line) else None

    def alike(self, one: _Line, other: _Line) -> bool:
        """Two lines of one heading."""
        return abs(one.size - other.size) < 0.6 and one.bold == other.bold

    def _look(self, line: _Line) -> tuple[float, int, int]:
        """Sorts outermost first: by size, then weight, then depth of its number."""
        numbered = _SECTION.match(line.text)
        depth = numbered.group(1).count(".") + 1 if numbered else 0
        size = round(line.size * 2) / 2
        return (-max(size, self.body), 0 if line.bold else 1, depth)

    def _stands_out(self, line: _Line) -> bool:
        text = line.text.strip()
        if len(text) < 2 or len(text) > 140 or len(line.pieces) > 2 or not re.search(r"[^\W\d_]{2}", text):
            return False
        numbered = _SECTION.match(text)
        if line.size >= 1.14 * self.body:
            return not text.endswith((",", ";")) and (line.size >= 1.3 * self.body or not text.endswith("."))
        if not line.bold or not self._bold_tells or line.size < 0.93 * self.body or line.mono:
            return False
        if text.endswith((".", ",", ";")) and not numbered:
            return False
        return text[:1].isupper() or bool(numbered) or text[:1].isdigit()


# ---------------------------------------------------------------- writing


class _Writer:
    """Lines and tables of one page after another into the outline; paragraphs, lists and tables go on over pages."""

    def __init__(self, outline: Outline, levels: _Levels) -> None:
        self._outline = outline
        self._levels = levels
        self._lines: list[_Line] = []
        self._heading: list[_Line] = []
        self._items: list[tuple[float, str, list[_Line]]] = []
        self._code: list[_Line] = []
        self._table: Found | None = None
        self._right = 0.0

    def page(self, page: Page, layout: Sequence[_Line | Found]) -> None:
        """Write one page."""
        rights = sorted(item.box.x1 for item in layout if isinstance(item, _Line))
        self._right = rights[int(len(rights) * 0.9)] if rights else page.width
        for item in layout:
            if isinstance(item, Found):
                self._tabulate(item)
            else:
                self._line(item)

    def done(self) -> None:
        """Nothing more comes."""
        self._end()

    def _tabulate(self, table: Found) -> None:
        before = self._table if not (self._lines or self._items or self._heading or self._code) else None
        self._end()
        rows = table.rows
        if before is not None and len(before.edges) == len(table.edges):
            same = all(abs(a - b) < 4 for a, b in zip(before.edges, table.edges, strict=True))
            repeats = before.header_rows and rows[: before.header_rows] == before.rows[: before.header_rows]
            if (same or repeats) and self._outline.continue_table(rows, before.header_rows if repeats else 0):
                self._table = before
                return
        self._outline.table(rows, table.header_rows)
        self._table = table

    def _line(self, line: _Line) -> None:
        text = line.text.strip()
        if not text:
            return
        marker = _marker(line)
        level = None if marker and marker[0] == "-" else self._levels.of(line)
        if level is not None and not (marker and self._in_list_run(line)):
            if self._heading and not (
                self._levels.alike(self._heading[-1], line) and self._follows(self._heading[-1], line)
            ):
                self._end()
            if not self._heading:
                self._end()
            self._heading.append(line)
            return
        if self._heading:
            self._end()
        if line.mono:
            self._end_but(self._code)
            self._code.append(line)
        elif marker:
            self._end_but(self._items)
            self._items.append((line.box.x0, marker[0], [_renamed(line, marker[1])]))
        elif self._items and self._continues_item(line):
            self._items[-1][2].append(line)
        else:
            self._end_but(self._lines)
            if self._lines and not self._continues(self._lines[-1], line):
                self._end()
            self._lines.append(line)

    def _in_list_run(self, line: _Line) -> bool:
        return bool(self._items) and not line.bold and line.size < 1.1 * self._levels.body

    def _follows(self, before: _Line, line: _Line) -> bool:
        gap = line.box.y0 - before.box.y1
        numbered = _SECTION.match(line.text)
        return before.page == line.page and -line.size < gap < 0.8 * line.size and not numbered

    def _continues(self, before: _Line, line: _Line) -> bool:
        """The line goes on with the paragraph of the line before."""
        if abs(before.size - line.size) > 1.0 or before.bold != line.bold:
            return abs(before.size - line.size) <= 1.0 and self._reaches(before) and not _ENDS.search(before.text)
        if before.page != line.page or line.box.y0 < before.box.y0 - line.size:
            return (not _ENDS.search(before.text) and line.text[:1].islower()) or before.text.endswith("-")
        gap = line.box.y0 - before.box.y1
        if gap > 0.75 * line.size:
            return False
        if line.box.x0 > before.box.x0 + 1.2 * line.size and _ENDS.search(before.text):
            return False
        return self._reaches(before) or (not _ENDS.search(before.text) and line.text[:1].islower())

    def _reaches(self, line: _Line) -> bool:
        """The line is so long that its last word may have been followed by more."""
        return line.box.x1 >= self._right - 0.18 * max(
            self._right - line.box.x0, 1.0
        ) or line.box.x1 - line.box.x0 > 0.8 * (self._right - line.box.x0)

    def _continues_item(self, line: _Line) -> bool:
        left, _, lines = self._items[-1]
        last = lines[-1]
        if last.page != line.page:
            return line.text[:1].islower()
        near = line.box.y0 - last.box.y1 < 0.7 * line.size
        hangs = line.box.x0 > left + 2
        return near and (hangs or (line.text[:1].islower() and not _ENDS.search(last.text)))

    def _end_but(self, kept: list[_Line] | list[tuple[float, str, list[_Line]]]) -> None:
        if not kept:
            self._end()

    def _end(self) -> None:
        """Write what is gathered."""
        self._table = None if (self._heading or self._lines or self._items or self._code) else self._table
        if self._heading:
            level = self._levels.of(self._heading[0]) or 1
            self._outline.heading(level, joined([line.text.strip() for line in self._heading]))
        if self._lines:
            self._write(self._lines[0], lambda: self._outline.text(joined([line.text.strip() for line in self._lines])))
        if self._items:
            self._write(self._items[0][2][0], self._write_items)
        if self._code:
            self._write(self._code[0], lambda: self._outline.code(_indented(self._code)))
        self._heading, self._lines, self._items, self._code = [], [], [], []

    def _write(self, first: _Line, write: object) -> None:
        now, self._outline.page = self._outline.page, first.page
        assert callable(write)  # noqa: S101 - one of the three above
        write()
        self._outline.page = now

    def _write_items(self) -> None:
        lefts: list[float] = []
        items: list[Item] = []
        for left, marker, lines in self._items:
            while lefts and left < lefts[-1] - 4:
                lefts.pop()
            if not lefts or left > lefts[-1] + 4:
                lefts.append(left)
            items.append(Item(len(lefts) - 1, marker, joined([line.text.strip() for line in lines])))
        self._outline.items(items)


def _marker(line: _Line) -> tuple[str, str] | None:
    """A list item's marker and the rest of its line."""
    text = line.text.strip()
    if (match := _BULLET.match(text)) and (match.group(1) != "o" or len(line.pieces) > 1):
        return ("-", match.group(2)) if match.group(2) or len(line.pieces) == 1 else None
    if match := _ORDINAL.match(text):
        return match.group(1), match.group(2)
    if len(line.pieces) == 2 and (number := line.pieces[0].text.strip()).isdigit() and len(number) <= 2:
        return f"{number}.", line.pieces[1].text
    return None


def _renamed(line: _Line, text: str) -> _Line:
    return _Line(line.pieces, line.box, line.size, line.bold, line.mono, line.page, text)


def _indented(lines: Sequence[_Line]) -> str:
    left = min(line.box.x0 for line in lines)
    width = max(0.6 * lines[0].size, 1.0)
    return "\n".join(" " * round((line.box.x0 - left) / width) + line.text.rstrip() for line in lines)


# ---------------------------------------------------------------- scans


class _Scans:
    """Pages that are pictures."""

    def __init__(self, document: pdfium.PdfDocument, tesseract: str | None, limits: Limits, outline: Outline) -> None:
        self._document = document
        self._tesseract = tesseract
        self._limits = limits
        self._outline = outline
        self._read = 0

    def read(self, page: Page) -> None:
        """Recognise one page, or say why not. An invisible text layer is never believed: nobody can see it."""
        if self._tesseract is None:
            self._outline.notice(f"page {page.number} is a scan; install tesseract-ocr to read it")
            return
        if self._read >= self._limits.scanned_pages:
            self._outline.notice(
                f"pages from {page.number} on are scans beyond the first {self._read} and are not read"
            )
            return
        self._read += 1
        paragraphs = ocr.recognised(self._document, page.number - 1, self._tesseract, self._limits)
        if paragraphs is None:
            self._outline.notice(f"page {page.number} is a scan that tesseract could not read")
            return
        for paragraph in paragraphs:
            self._outline.text(joined(paragraph.split("\n")))
