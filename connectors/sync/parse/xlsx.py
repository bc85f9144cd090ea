"""Workbooks: each sheet is a page and a heading, each block of cells in it a table. Hidden sheets, rows and columns,
comments, and text in its cell's own colour are taken out and told; formulas are read by their last values."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from openpyxl import load_workbook
from openpyxl.chartsheet import Chartsheet
from openpyxl.utils.exceptions import InvalidFileException

from connectors.records import Hidden, ParsedRecord
from connectors.sync.parse.charts import write_chart
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.outline import Outline
from connectors.sync.parse.package import Package, said
from connectors.sync.parse.refusal import Refusal
from connectors.sync.parse.sheetlooks import SheetLooks
from connectors.sync.parse.theme import theme_of

Grid = list[list[str]]
_NUMBER = re.compile(r"^[-+(]?[$€£¥]?\s?[\d.,]*\d%?\)?$")
_UNCACHED = re.compile(rb"</f>\s*(?:<v\s*/>|<v>\s*</v>|</c>)|<f/>\s*</c>")  # a formula with no value beside it
_MOST_WIDE = 1_000


def read(body: bytes, limits: Limits) -> ParsedRecord:
    """A workbook."""
    package = Package(body, limits)
    outline = Outline(limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl tells of extensions that it leaves out
        try:
            book = load_workbook(io.BytesIO(body), data_only=True, keep_links=False)
        except (InvalidFileException, KeyError, ValueError, TypeError, AttributeError) as error:
            raise Refusal("is a broken workbook") from error
    parts = _parts(package)
    main = package.main()
    theme = theme_of(next((package.xml(part) for part in package.related(main, "theme")), None))
    known: dict[int, bool] = {}
    cells = 0
    for page, name in enumerate(book.sheetnames, 1):
        outline.page = page
        sheet, part = book[name], parts.get(name, "")
        if isinstance(sheet, Chartsheet):
            _chart_sheet(package, sheet, part, outline)
            continue
        cells += sheet.max_row * min(sheet.max_column, _MOST_WIDE)
        if cells > limits.cells:
            raise Refusal(f"has more than {limits.cells:,} cells")
        if sheet.sheet_state != "visible":
            outline.hide(Hidden.STYLED, "\n".join(" ".join(filter(None, row)) for row in _values(sheet)))
            continue
        outline.heading(1, name, stands_alone=False)
        _sheet(sheet, SheetLooks(sheet, theme, known), outline)
        if part in package and _UNCACHED.search(package.raw(part)):
            outline.notice(f"sheet {name!r} has formulas without stored values; open and save it in Excel")
    for notice in package.notices:
        outline.notice(notice)
    return outline.record(None, book.properties.title, own_heading=False)


def _parts(package: Package) -> dict[str, str]:
    """The part of each sheet, by the sheet's name."""
    main = package.main()
    relations = package.relations(main)
    key = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
    return {
        sheet.get("name", ""): relations[sheet.get(key, "")].target
        for sheet in package.xml(main).iter("{http://schemas.openxmlformats.org/spreadsheetml/2006/main}sheet")
        if sheet.get(key, "") in relations
    }


def _chart_sheet(package: Package, sheet: Chartsheet, part: str, outline: Outline) -> None:
    """A sheet that is nothing but a chart, by the numbers it last showed."""
    drawings = package.related(part, "drawing")
    charts = [package.xml(chart) for drawing in drawings for chart in package.related(drawing, "chart")]
    if sheet.sheet_state != "visible":
        for chart in charts:
            outline.hide(Hidden.STYLED, said(chart, between=" "))
        return
    outline.heading(1, sheet.title, stands_alone=False)
    for chart in charts:
        if not write_chart(chart, outline):
            outline.notice(f"chart sheet {sheet.title!r} has no stored values; open and save it in Excel")


def _sheet(sheet: Any, looks: SheetLooks, outline: Outline) -> None:
    unread: set[tuple[int, int]] = set()
    for row in sheet.iter_rows(max_col=min(sheet.max_column, _MOST_WIDE)):
        for cell in row:
            if cell.comment is not None:
                outline.hide(Hidden.COMMENT, cell.comment.text)
            if cell.value is not None and looks.unseen(cell):
                unread.add((cell.row, cell.column))
    hidden_rows = {number for number, told in sheet.row_dimensions.items() if told.hidden}
    hidden_columns = _hidden_columns(sheet)
    values = _values(sheet)
    for y, x in sorted(unread):
        outline.hide(Hidden.STYLED, values[y - 1][x - 1])
        values[y - 1][x - 1] = ""
    _merge(sheet, values)
    unseen = [
        value
        for y, row in enumerate(values, 1)
        for x, value in enumerate(row, 1)
        if value and (y in hidden_rows or x in hidden_columns)
    ]
    if unseen:
        outline.hide(Hidden.STYLED, "\n".join(unseen))
    seen = [
        [value for x, value in enumerate(row, 1) if x not in hidden_columns]
        for y, row in enumerate(values, 1)
        if y not in hidden_rows
    ]
    for region in _regions(seen):
        _region(region, outline)


def _hidden_columns(sheet: Any) -> set[int]:
    found: set[int] = set()
    for told in sheet.column_dimensions.values():
        if told.hidden and told.min is not None:
            found.update(range(told.min, min(told.max or told.min, _MOST_WIDE) + 1))
    return found


def _values(sheet: Any) -> Grid:
    rows = sheet.iter_rows(max_col=min(sheet.max_column, _MOST_WIDE))
    return [[_shown(cell) for cell in row] for row in rows]


def _shown(cell: Any) -> str:
    """A cell's value as its reader knows it."""
    value = cell.value
    form = cell.number_format or "General"
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case datetime():
            whole = value.time() == time()
            return value.date().isoformat() if whole else value.isoformat(" ", "minutes")
        case date():
            return value.isoformat()
        case time():
            return value.isoformat("minutes")
        case timedelta():
            return str(value)
        case int() | float():
            return _number(float(value), value, form)
        case _:
            return "" if str(value) == "#N/A" else str(value)


def _number(number: float, value: int | float, form: str) -> str:
    places = re.search(r"0\.(0+)", form)
    if "%" in form:
        return f"{number * 100:.{len(places.group(1)) if places else 0}f}%"
    symbol = re.search(r"[$€£¥]", form)
    if symbol:
        return f"{'-' if number < 0 else ''}{symbol.group()}{abs(number):,.{len(places.group(1)) if places else 0}f}"
    if places and form not in ("General",) and "E" not in form:
        return f"{number:,.{len(places.group(1))}f}" if "," in form else f"{number:.{len(places.group(1))}f}"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _merge(sheet: Any, values: Grid) -> None:
    """Every place of a merged cell says what the cell says."""
    for area in list(sheet.merged_cells.ranges)[:10_000]:
        if area.min_row > len(values) or area.min_col > len(values[area.min_row - 1]):
            continue
        text = values[area.min_row - 1][area.min_col - 1]
        for y in range(area.min_row - 1, min(area.max_row, len(values))):
            for x in range(area.min_col - 1, min(area.max_col, len(values[y]))):
                values[y][x] = text


def _regions(values: Grid) -> Iterator[Grid]:
    """Blocks of cells with empty rows between them, and within these with empty columns between them."""
    for band in _split(values):
        columns = [list(column) for column in zip(*band, strict=True)]
        for part in _split(columns):
            region = [list(row) for row in zip(*part, strict=True)]
            yield [row for row in region if any(row)]


def _split(lines: Sequence[list[str]]) -> Iterator[list[list[str]]]:
    part: list[list[str]] = []
    for line in lines:
        if any(line):
            part.append(line)
        elif part:
            yield part
            part = []
    if part:
        yield part


def _region(rows: Grid, outline: Outline) -> None:
    """A title line above a table is its caption; a region of one column is text."""
    caption: list[str] = []
    while (
        len(rows) > 1
        and len(set(filter(None, rows[0]))) == 1
        and len(rows[0]) > 1
        and len(set(filter(None, rows[1]))) >= 1
    ):
        caption.append(next(filter(None, rows[0])))
        rows = rows[1:]
    width = max(sum(1 for cell in row if cell) for row in rows)
    if width == 1 and len(rows[0]) == 1 and not _is_column(rows):
        outline.text("\n".join(cell for row in rows for cell in row if cell))
        return
    if len(rows) == 1:
        outline.text("\n".join([*caption, " | ".join(filter(None, rows[0]))]))
        return
    outline.table(rows, _head_rows(rows), " ".join(caption))


def _is_column(rows: Grid) -> bool:
    """One column with a word at its head and values below."""
    return len(rows) > 2 and not _NUMBER.match(rows[0][0]) and all(_NUMBER.match(row[0]) for row in rows[1:])


def _head_rows(rows: Grid) -> int:
    """How many rows are headers: those before the first that holds a number, at most two, else the first row."""
    if any(_NUMBER.match(cell) for cell in rows[0] if cell and not re.match(r"^(?:19|20)\d\d$", cell)):
        return 0
    first = rows[0]
    spread = len(set(filter(None, first))) < sum(1 for cell in first if cell)  # a merged header over others
    if spread and len(rows) > 2 and not any(_NUMBER.match(cell) for cell in rows[1] if cell):
        return 2
    return 1
