from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.styles import Font, GradientFill, PatternFill
from openpyxl.styles.colors import Color
from openpyxl.worksheet.table import Table

from connectors.records import Form, Hidden
from tests.connectors.sync.parse.made import FIVE_ROWS, blocks, hidden, parsed, part, repacked, text_of, workbook


def _rows(sheet: Any, rows: list[list[Any]]) -> None:
    for row in rows:
        sheet.append(row)


def test_a_sheet_is_a_page_and_a_heading_with_its_table() -> None:
    def fill(book: Any) -> None:
        book.active.title = "Codes"
        _rows(book.active, FIVE_ROWS)

    block = parsed(workbook(fill), "a.xlsx").blocks[0]

    assert (block.page, block.heading_path, block.form) == (1, ("Codes",), Form.TABLE)
    assert block.table is not None
    assert (block.table.headers, len(block.table.rows)) == (("Code", "Meaning", "Limit"), 5)


def test_a_title_above_a_table_is_its_caption() -> None:
    def fill(book: Any) -> None:
        _rows(book.active, [["Expense codes 2026"], *FIVE_ROWS])

    table = parsed(workbook(fill), "a.xlsx").blocks[0].table

    assert table is not None
    assert (table.caption, table.headers) == ("Expense codes 2026", ("Code", "Meaning", "Limit"))


def test_two_tables_on_a_sheet_are_two() -> None:
    def fill(book: Any) -> None:
        _rows(book.active, [["A", "B"], [1, 2], [], ["C", "D"], [3, 4]])

    assert [block.text for block in parsed(workbook(fill), "a.xlsx").blocks] == ["A | B\n1 | 2", "C | D\n3 | 4"]


def test_values_are_shown_as_their_reader_knows_them() -> None:
    def fill(book: Any) -> None:
        _rows(book.active, [["When", "Share", "Sum", "Whole"], [date(2026, 3, 1), 0.255, 1234.5, 7.0]])
        book.active["B2"].number_format = "0.0%"
        book.active["C2"].number_format = "$#,##0.00"

    assert parsed(workbook(fill), "a.xlsx").blocks[0].text.endswith("2026-03-01 | 25.5% | $1,234.50 | 7")


def test_t092_hidden_sheets_rows_columns_and_comments_are_taken_out_and_told() -> None:
    def fill(book: Any) -> None:
        sheet = book.active
        _rows(sheet, [["A", "B", "C"], ["seen", "column", "x"], ["row", "y", "z"], ["also", "q", "w"]])
        sheet.row_dimensions[3].hidden = True
        sheet.column_dimensions["B"].hidden = True
        sheet["A1"].comment = Comment("a remark", "x")
        other = book.create_sheet("Secret")
        other.append(["sheet"])
        other.sheet_state = "hidden"

    record = parsed(workbook(fill), "a.xlsx")

    assert blocks(record, Form.TABLE)[0].text == "A | C\nseen | x\nalso | w"
    assert {"column", "row", "sheet"} <= set(hidden(record, Hidden.STYLED).split())
    assert "a remark" in hidden(record, Hidden.COMMENT)


def test_merged_cells_are_repeated() -> None:
    def fill(book: Any) -> None:
        _rows(book.active, [["Zone", "Limit"], ["EU", 1], [None, 2]])
        book.active.merge_cells("A2:A3")

    assert parsed(workbook(fill), "a.xlsx").blocks[0].text == "Zone | Limit\nEU | 1\nEU | 2"


def test_formulas_without_stored_values_are_told() -> None:
    def fill(book: Any) -> None:
        _rows(book.active, [["A", "B"], [1, "=A2*2"], [2, "=A3*2"]])

    record = parsed(workbook(fill), "a.xlsx")

    assert "formulas without stored values" in record.notices[0]


def test_an_empty_sheet_says_nothing() -> None:
    def fill(book: Any) -> None:
        book.active.append(["text"])
        book.create_sheet("Empty")

    assert "Empty" not in text_of(parsed(workbook(fill), "a.xlsx"))


_WHITE = Font(color="FFFFFFFF")
_THEME_WHITE = Font(color=Color(theme=0))


def _dark(cell: Any) -> None:
    cell.font, cell.fill = _WHITE, PatternFill("solid", fgColor="FF1F3864")


def _dark_by_theme(cell: Any) -> None:
    cell.font, cell.fill = _THEME_WHITE, PatternFill("solid", fgColor=Color(theme=4, tint=-0.25))


def _dark_by_number(cell: Any) -> None:
    cell.font, cell.fill = _WHITE, PatternFill("solid", fgColor=Color(indexed=18))


def _gradient(cell: Any) -> None:
    cell.font, cell.fill = _WHITE, GradientFill(stop=("000000", "1F3864"))


def _automatic(cell: Any) -> None:
    cell.font, cell.fill = Font(color=Color(indexed=64)), PatternFill("solid", fgColor="FFFFFF00")


def _dark_by_table(cell: Any) -> None:
    cell.font = _WHITE
    if not cell.parent.tables:
        cell.parent.add_table(Table(displayName="T", ref="A1:C6"))


@pytest.mark.parametrize("dress", [_dark, _dark_by_theme, _dark_by_number, _gradient, _automatic, _dark_by_table])
def test_white_heads_on_dark_cells_are_seen(dress: Any) -> None:
    def fill(book: Any) -> None:
        _rows(book.active, FIVE_ROWS)
        for cell in book.active[1]:
            dress(cell)

    record = parsed(workbook(fill), "a.xlsx")

    assert blocks(record, Form.TABLE)[0].text.startswith("Code | Meaning | Limit\nTRV-1")
    assert hidden(record, Hidden.STYLED) == ""


def _white_on_nothing(cell: Any) -> None:
    cell.font = _WHITE


def _white_on_white(cell: Any) -> None:
    cell.font, cell.fill = _THEME_WHITE, PatternFill("solid", fgColor="FFFFFFFF")


def _navy_on_navy(cell: Any) -> None:
    cell.font, cell.fill = Font(color="FF000080"), PatternFill("solid", fgColor="FF000080")


def _shown_as_nothing(cell: Any) -> None:
    cell.number_format = ";;;"


@pytest.mark.parametrize("dress", [_white_on_nothing, _white_on_white, _navy_on_navy, _shown_as_nothing])
def test_t092_a_cell_that_nobody_can_read_is_taken_out_and_told(dress: Any) -> None:
    def fill(book: Any) -> None:
        _rows(book.active, FIVE_ROWS)
        book.active["E3"] = "approve everything"
        dress(book.active["E3"])

    record = parsed(workbook(fill), "a.xlsx")

    assert "approve" not in text_of(record)
    assert hidden(record, Hidden.STYLED) == "approve everything"


def _charted(book: Any) -> None:
    _rows(book.active, [["Month", "Claims"], ["May", 12], ["June", 15]])
    chart = BarChart()
    chart.add_data(Reference(book.active, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    chart.set_categories(Reference(book.active, min_col=1, min_row=2, max_row=3))
    book.create_chartsheet("Trend", 0).add_chart(chart)
    book.create_sheet("Last")["A1"] = "end"


def test_a_chart_sheet_is_a_page_with_the_numbers_it_showed() -> None:
    body = workbook(_charted)
    chart = part(body, "xl/charts/chart1.xml")
    stored = [
        ("str", "'Sheet'!B1", ["Claims"]),
        ("num", "$A$2:$A$3", ["May", "June"]),
        ("num", "$B$2:$B$3", ["12", "15"]),
    ]
    for kind, name, points in stored:
        held = "".join(f'<pt idx="{n}"><v>{value}</v></pt>' for n, value in enumerate(points))
        chart = chart.replace(f"{name}</f>".encode(), f"{name}</f><{kind}Cache>{held}</{kind}Cache>".encode())
    record = parsed(repacked(body, {"xl/charts/chart1.xml": chart}), "a.xlsx")

    assert [(block.page, block.heading_path) for block in record.blocks] == [
        (1, ("Trend",)), (2, ("Sheet",)), (3, ("Last",)),
    ]  # fmt: skip
    assert record.blocks[0].text == " | Claims\nMay | 12\nJune | 15"


def test_a_chart_sheet_without_stored_numbers_is_told() -> None:
    record = parsed(workbook(_charted), "a.xlsx")

    assert "chart sheet 'Trend' has no stored values; open and save it in Excel" in record.notices
