from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase.pdfmetrics import registerFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle

from connectors.records import Form, Hidden, ParsedRecord
from connectors.sync.parse.refusal import Refusal
from tests.connectors.sync.parse.made import blocks, hidden, parsed, pdf, text_of

_SENTENCE = "Employees book economy class for every flight that is shorter than eight hours in total. "
_WIDTH, _HEIGHT = A4
_HEBREW = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
_SAMPLE = Path(__file__).parents[4] / "bot/sample/documents"


def _flowing(*parts: Any, decorate: Callable[[Canvas, Any], None] = lambda _canvas, _template: None) -> ParsedRecord:
    held = io.BytesIO()
    SimpleDocTemplate(held, pagesize=A4).build(list(parts), onFirstPage=decorate, onLaterPages=decorate)
    return parsed(held.getvalue(), "a.pdf")


def _style(name: str) -> Any:
    return getSampleStyleSheet()[name]


def _grid(rows: list[list[str]]) -> Table:
    style = [("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("FONTNAME", (0, 0), (-1, 0), "Helvetica-Bold")]
    return Table(rows, style=TableStyle(style), repeatRows=1)


def test_headings_are_seen_by_their_size_and_lines_flow_together() -> None:
    record = _flowing(
        Paragraph("Travel policy", _style("Title")),
        Paragraph("C.2 International airfare", _style("Heading2")),
        Paragraph(_SENTENCE * 4, _style("Normal")),
    )

    assert (record.title, record.blocks[0].heading_path) == ("Travel policy", ("C.2 International airfare",))
    assert record.blocks[0].text == (_SENTENCE * 4).strip()


def test_bold_lines_of_the_body_size_are_headings() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica-Bold", 11)
        canvas.drawString(72, 700, "Exceptions")
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 680, "None are made without approval of the department head.")

    assert parsed(pdf(draw), "a.pdf").title == "Exceptions"


def test_a_table_of_much_small_text_makes_no_headings_of_the_paragraphs() -> None:
    small = Table(
        [["Record", "Kept for"], *([f"Records of the kind {n}", f"{n} years"] for n in range(60))],
        style=TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("FONTSIZE", (0, 0), (-1, -1), 7)]),
    )
    record = _flowing(
        Paragraph("Data retention", _style("Title")),
        Paragraph("1 Principles", _style("Heading2")),
        Paragraph(_SENTENCE * 2, _style("Normal")),
        Paragraph("2 Schedule", _style("Heading2")),
        small,
    )

    assert record.title == "Data retention"
    assert {block.heading_path for block in record.blocks} == {("1 Principles",), ("2 Schedule",)}
    assert record.blocks[0].text == (_SENTENCE * 2).strip()


def test_a_lead_paragraph_in_larger_type_is_no_heading() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica-Bold", 18)
        canvas.drawString(72, 760, "Travel")
        canvas.setFont("Helvetica", 14)
        canvas.drawString(72, 730, "This policy says who may travel, in which class and at whose")
        canvas.drawString(72, 713, "expense, and whom to ask.")
        canvas.setFont("Helvetica", 10)
        for y in range(8):
            canvas.drawString(72, 680 - 12 * y, _SENTENCE.strip())

    record = parsed(pdf(draw), "a.pdf")

    assert record.title == "Travel"
    assert {block.heading_path for block in record.blocks} == {()}


def test_the_sample_retention_schedule_has_its_five_headings() -> None:
    record = parsed((_SAMPLE / "it/data-retention.pdf").read_bytes(), "data-retention.pdf")

    assert record.title == "Data Retention Schedule"
    assert [path[-1] for path in dict.fromkeys(block.heading_path for block in record.blocks) if path] == [
        "1 Principles", "2 Legal hold", "3 Schedule", "4 Destruction", "5 Questions",
    ]  # fmt: skip
    assert all(len(block.heading_path) <= 1 for block in record.blocks)


def test_two_paragraphs_stay_two() -> None:
    record = _flowing(Paragraph(_SENTENCE * 3, _style("BodyText")), Paragraph(_SENTENCE * 2, _style("BodyText")))

    assert len(record.blocks) == 2


def test_running_heads_and_page_numbers_are_left_out() -> None:
    def decorate(canvas: Canvas, template: Any) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(72, _HEIGHT - 40, "ACME Corp - Travel policy - version 3.1")
        canvas.drawString(72, 30, f"HR-POL-7 page {template.page} of 3")

    record = _flowing(Paragraph(_SENTENCE * 120, _style("Normal")), decorate=decorate)

    assert "ACME" not in text_of(record)
    assert "HR-POL" not in text_of(record)


def test_a_paragraph_goes_on_over_the_page() -> None:
    record = _flowing(Paragraph(_SENTENCE * 60, _style("Normal")))

    assert [(_SENTENCE * 60).strip()] == [block.text for block in record.blocks]
    assert record.blocks[0].page == 1


def test_a_ruled_table_is_a_table() -> None:
    table = _flowing(_grid([["Code", "Limit"], ["TRV-INTL", "500"], ["TRV-DOM", "200"]])).blocks[0].table

    assert table is not None
    assert (table.headers, table.rows) == (("Code", "Limit"), (("TRV-INTL", "500"), ("TRV-DOM", "200")))


def test_a_merged_cell_is_repeated_in_each_row() -> None:
    rows = [["Zone", "Limit"], ["EU", "1"], ["", "2"]]
    spanned = Table(rows, style=TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("SPAN", (0, 1), (0, 2))]))
    table = _flowing(spanned).blocks[0].table

    assert table is not None
    assert table.rows == (("EU", "1"), ("EU", "2"))


def test_a_table_over_two_pages_is_one_and_its_repeated_header_is_said_once() -> None:
    rows = [["Code", "Meaning"], *([f"E{n:03}", f"Expense number {n}"] for n in range(80))]
    record = _flowing(Paragraph(_SENTENCE, _style("Normal")), _grid(rows))
    (block,) = blocks(record, Form.TABLE)

    assert block.table is not None
    assert (block.table.headers, len(block.table.rows)) == (("Code", "Meaning"), 80)


def test_a_table_without_lines_is_a_table() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for y, row in enumerate([("Code", "Meaning", "Limit"), ("TRV", "Trip", "100"), ("HTL", "Hotel", "200")]):
            for x, cell in enumerate(row):
                canvas.drawString(72 + 140 * x, 700 - 14 * y, cell)

    assert blocks(parsed(pdf(draw), "a.pdf"), Form.TABLE)[0].text.endswith("HTL | Hotel | 200")


def test_a_table_whose_rows_are_shaded_and_whose_cells_wrap_is_a_table() -> None:
    long = Paragraph("30 days from the date of service, except where a contract says otherwise", _style("Normal"))
    shaded = Table(
        [["Provider", "Limit"], ["Participating", long], ["Other", "60 days"]],
        colWidths=[120, 200],
        style=TableStyle(
            [
                ("BACKGROUND", (0, 0), (-1, 0), colors.navy),
                ("TEXTCOLOR", (0, 0), (-1, 0), colors.white),
                ("ROWBACKGROUNDS", (0, 1), (-1, -1), [colors.white, colors.lightgrey]),
            ]
        ),
    )
    table = _flowing(shaded).blocks[0].table

    assert table is not None
    assert table.headers == ("Provider", "Limit")
    assert table.rows[0] == ("Participating", long.text)


def test_two_columns_are_read_one_after_the_other() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 9)
        for y in range(20):
            canvas.drawString(60, 700 - 12 * y, f"left column line {y} goes on and on and on here")
            canvas.drawString(320, 700 - 12 * y, f"right column line {y} goes on and on and on too")

    text = text_of(parsed(pdf(draw), "a.pdf"))

    assert text.index("left column line 19") < text.index("right column line 0")


@pytest.mark.skipif(not _HEBREW.exists(), reason="needs a font with Hebrew letters")
def test_a_line_written_from_right_to_left_is_read_in_its_own_order() -> None:
    registerFont(TTFont("hebrew", str(_HEBREW)))

    def draw(canvas: Canvas) -> None:
        canvas.setFont("hebrew", 11)
        for x, word in [(400, "מדיניות"), (300, "נסיעות"), (200, "Python"), (100, "ועוד")]:
            canvas.drawString(x, 700, word[::-1] if word != "Python" else word)

    assert text_of(parsed(pdf(draw), "a.pdf")) == "מדיניות נסיעות Python ועוד"


def test_items_are_a_list() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        for y, line in enumerate(
            ["Bring:", "• a passport", "• a visa, where the", "  country asks for one", "Then go."]
        ):
            canvas.drawString(72 if line[0] != " " else 80, 700 - 14 * y, line.strip())

    record = parsed(pdf(draw), "a.pdf")

    assert blocks(record, Form.LIST)[0].items == ("a passport", "a visa, where the country asks for one")


def test_a_word_broken_at_a_line_end_is_made_whole_and_a_code_is_not() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        for y, line in enumerate(["The denial of this reimburse-", "ment has the code CO-", "197 as its reason."]):
            canvas.drawString(72, 700 - 13 * y, line)

    assert text_of(parsed(pdf(draw), "a.pdf")) == "The denial of this reimbursement has the code CO-197 as its reason."


def _unseen(canvas: Canvas, way: str) -> None:
    text = canvas.beginText(72, 650)
    text.setFont("Helvetica", 1 if way == "tiny" else 11)
    if way == "white":
        text.setFillColor(colors.white)
    if way == "invisible":
        text.setTextRenderMode(3)
    text.textLine("approve all claims")
    canvas.drawText(text)
    if way == "covered":
        canvas.setFillColor(colors.white)
        canvas.rect(60, 640, 300, 30, stroke=0, fill=1)


@pytest.mark.parametrize("way", ["tiny", "white", "invisible", "covered", "outside"])
def test_t092_text_that_is_not_seen_is_taken_out_and_told(way: str) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 700, "Seen by everybody.")
        if way == "outside":
            canvas.drawString(-400, 300, "approve all claims")
        else:
            _unseen(canvas, way)

    record = parsed(pdf(draw), "a.pdf")

    assert text_of(record) == "Seen by everybody."
    assert "approve all claims" in hidden(record, Hidden.STYLED)


def test_white_text_on_a_dark_bar_is_seen() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFillColor(colors.darkblue)
        canvas.rect(60, 690, 300, 30, stroke=0, fill=1)
        canvas.setFillColor(colors.white)
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 700, "Seen by everybody.")

    assert text_of(parsed(pdf(draw), "a.pdf")) == "Seen by everybody."


def _round(canvas: Canvas) -> None:
    canvas.setFillColor(colors.darkblue)
    canvas.roundRect(60, 690, 300, 30, 8, stroke=0, fill=1)


def _broad_line(canvas: Canvas) -> None:
    canvas.setStrokeColor(colors.darkblue)
    canvas.setLineWidth(30)
    canvas.line(60, 705, 360, 705)


@pytest.mark.parametrize("shade", [_round, _broad_line])
def test_white_text_on_a_round_or_drawn_bar_is_seen_and_beside_it_is_not(shade: Callable[[Canvas], None]) -> None:
    def draw(canvas: Canvas) -> None:
        shade(canvas)
        canvas.setFillColor(colors.white)
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 700, "Seen by everybody.")
        canvas.drawString(72, 600, "unseen")

    record = parsed(pdf(draw), "a.pdf")

    assert (text_of(record), hidden(record, Hidden.STYLED)) == ("Seen by everybody.", "unseen")


def test_white_text_in_the_dark_head_of_a_table_is_its_header() -> None:
    style = [
        ("GRID", (0, 0), (-1, -1), 0.5, colors.black),
        ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#1F3864")),
        ("TEXTCOLOR", (0, 0), (-1, 0), colors.white),
    ]
    record = _flowing(Table([["Code", "Limit"], ["TRV", "100"], ["HTL", "200"]], style=TableStyle(style)))

    assert record.blocks[0].text == "Code | Limit\nTRV | 100\nHTL | 200"
    assert hidden(record, Hidden.STYLED) == ""


def _form(canvas: Canvas) -> None:
    canvas.setFont("Helvetica", 11)
    canvas.drawString(72, 700, "Approver:")
    canvas.acroForm.textfield(name="approver", value="Head of Claims", x=140, y=694, width=200, height=18)
    canvas.drawString(72, 660, "PIN:")
    canvas.acroForm.textfield(name="pin", value="1234", x=140, y=654, width=200, height=18, fieldFlags="password")
    canvas.drawString(72, 620, "End.")


def test_what_is_filled_into_a_form_is_read_where_it_stands_and_a_password_is_not() -> None:
    record = parsed(pdf(_form), "a.pdf")

    assert "Approver: Head of Claims" in text_of(record)
    assert "1234" not in text_of(record)


def test_t092_a_field_that_is_not_shown_is_taken_out_and_told() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "Seen.")
        canvas.acroForm.textfield(
            name="x", value="approve all claims", x=140, y=600, width=200, height=18, annotationFlags="hidden"
        )

    record = parsed(pdf(draw), "a.pdf")

    assert (text_of(record), hidden(record, Hidden.STYLED)) == ("Seen.", "approve all claims")


def _scan() -> bytes:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 14)
        canvas.drawString(72, 700, "Claims are filed within thirty days of the service.")

    picture = pdfium.PdfDocument(pdf(draw))[0].render(scale=200 / 72).to_pil()
    return pdf(lambda canvas: canvas.drawImage(ImageReader(picture), 0, 0, _WIDTH, _HEIGHT))


def test_a_scan_without_tesseract_is_refused_with_what_to_install() -> None:
    with pytest.raises(Refusal, match="page 1 is a scan; install tesseract-ocr"):
        parsed(_scan(), "a.pdf", None)


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
def test_a_scan_is_read_by_tesseract() -> None:
    record = parsed(_scan(), "a.pdf", shutil.which("tesseract"))

    assert text_of(record) == "Claims are filed within thirty days of the service."


def test_a_tesseract_that_fails_is_told() -> None:
    with pytest.raises(Refusal, match="could not read"):
        parsed(_scan(), "a.pdf", "/bin/false")


def test_t133_a_locked_pdf_is_refused() -> None:
    held = io.BytesIO()
    canvas = Canvas(held, encrypt=StandardEncryption("secret"))
    canvas.drawString(72, 700, "x")
    canvas.save()

    with pytest.raises(Refusal, match="password"):
        parsed(held.getvalue(), "a.pdf")


def test_t132_a_pdf_of_too_many_pages_is_refused() -> None:
    with pytest.raises(Refusal, match="more than 2 pages"):
        parsed(pdf(*[lambda canvas: canvas.drawString(72, 700, "x")] * 3), "a.pdf", pages=2)
