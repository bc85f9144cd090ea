from __future__ import annotations

from datetime import date
from typing import Any

from openpyxl.comments import Comment

from connectors.records import Form, Hidden
from tests.connectors.sync.parse.made import FIVE_ROWS, blocks, hidden, parsed, text_of, workbook


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
