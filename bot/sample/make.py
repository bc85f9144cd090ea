"""Making the sample's Office and PDF files from `originals/`, the same bytes each time where the libraries allow.

Run `python -m bot.sample.make` after editing an original, and commit both. It needs the development dependencies.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import docx
import openpyxl
import pptx
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter
from pptx.util import Emu, Pt
from reportlab.lib import colors  # type: ignore[import-untyped]
from reportlab.lib.pagesizes import LETTER  # type: ignore[import-untyped]
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet  # type: ignore[import-untyped]
from reportlab.lib.units import mm  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]
from reportlab.platypus import ListFlowable, SimpleDocTemplate, Spacer, Table  # type: ignore[import-untyped]
from reportlab.platypus import Paragraph as Flow

from bot.sample import DOCUMENTS
from bot.sample.manuscript import Grid, Heading, Items, Manuscript, Paragraph, read

ORIGINALS = Path(__file__).parent / "originals"
_WRITTEN = "2026-10-01T08:00:00Z"  # the time that every made file carries
_ZIP_TIME = (2026, 10, 1, 8, 0, 0)


def made() -> Mapping[Path, bytes]:
    """Every made file, by its path below `documents/`."""
    return {
        original.relative_to(ORIGINALS).with_suffix(""): _WRITERS[original.with_suffix("").suffix](
            read(original.read_text(encoding="utf-8"))
        )
        for original in sorted(ORIGINALS.rglob("*.md"))
    }


def main() -> None:
    """Write every made file to its place."""
    for path, body in made().items():
        target = DOCUMENTS / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(body)
        print(f"{path}: {len(body):,} bytes")


def _settled(body: bytes) -> bytes:
    """An Office file with the clock taken out: zip times and the times in its core properties."""
    settled = BytesIO()
    with zipfile.ZipFile(BytesIO(body)) as read_from, zipfile.ZipFile(settled, "w", zipfile.ZIP_DEFLATED) as written:
        for name in read_from.namelist():
            part = read_from.read(name)
            if name == "docProps/core.xml":
                part = re.sub(rb"(<dcterms:(created|modified)[^>]*>)[^<]*", rb"\g<1>" + _WRITTEN.encode(), part)
            written.writestr(zipfile.ZipInfo(name, _ZIP_TIME), part, zipfile.ZIP_DEFLATED)
    return settled.getvalue()


# ---------------------------------------------------------------- Word


def _docx(manuscript: Manuscript) -> bytes:
    document = docx.Document()
    properties = document.core_properties
    properties.title, properties.author, properties.comments = manuscript.title, "Northwind Care Services", ""
    section = document.sections[0]
    section.header.paragraphs[0].text = manuscript.header
    footer = section.footer.paragraphs[0]
    footer.text = f"{manuscript.footer} · Page "
    _field(footer, "PAGE")
    document.add_heading(manuscript.title, 0)
    for piece in manuscript.pieces:
        match piece:
            case Heading(level, text):
                document.add_heading(text, level)
            case Paragraph(text, unseen):
                _docx_paragraph(document, text, unseen)
            case Items(texts):
                for text in texts:
                    document.add_paragraph(text, style="List Bullet")
            case Grid():
                _docx_table(document, piece)
    return _settled(_saved(document.save))


def _docx_paragraph(document: Any, text: str, unseen: str | None) -> None:
    paragraph = document.add_paragraph()
    run = paragraph.add_run(text)
    if unseen == "hidden":
        run.font.hidden = True
    elif unseen == "deleted":
        deleted = OxmlElement("w:del")
        for name, value in (("id", "1"), ("author", "Editor"), ("date", _WRITTEN)):
            deleted.set(qn(f"w:{name}"), value)
        run._r.find(qn("w:t")).tag = qn("w:delText")
        run._r.addprevious(deleted)
        deleted.append(run._r)


def _field(paragraph: Any, instruction: str) -> None:
    for kind, text in (("begin", None), (None, instruction), ("end", None)):
        run = paragraph.add_run()._r
        mark = OxmlElement("w:fldChar" if kind else "w:instrText")
        if kind:
            mark.set(qn("w:fldCharType"), kind)
        else:
            mark.text = text
        run.append(mark)


def _docx_table(document: Any, grid: Grid) -> None:
    table = document.add_table(len(grid.rows), len(grid.rows[0]), style="Table Grid")
    for joined in grid.joined:
        table.cell(joined.top, joined.left).merge(table.cell(joined.bottom, joined.right))
    for number, row in enumerate(grid.rows):
        for column, text in enumerate(row):
            if text:
                paragraph = table.cell(number, column).paragraphs[0]
                paragraph.add_run(text).bold = number < grid.head
        if number < grid.head:
            mark = OxmlElement("w:tblHeader")
            table.rows[number]._tr.get_or_add_trPr().append(mark)
    document.add_paragraph()


# ---------------------------------------------------------------- PowerPoint


def _pptx(manuscript: Manuscript) -> bytes:
    show = pptx.Presentation()
    show.core_properties.title, show.core_properties.author = manuscript.title, "Northwind Care Services"
    for number, (name, pieces) in enumerate(manuscript.sections(), 1):
        slide = show.slides.add_slide(show.slide_layouts[5])
        slide.shapes.title.text = name
        top = 1_600_000
        for piece in pieces:
            match piece:
                case Paragraph(text, None):
                    top = _box(slide, (text,), top)
                case Paragraph(text):
                    slide.notes_slide.notes_text_frame.text = text
                case Items(texts):
                    top = _box(slide, texts, top)
                case Grid():
                    top = _pptx_table(slide, piece, top)
                case Heading(_, text):
                    top = _box(slide, (text,), top)
        _box(slide, (f"{manuscript.header} · {manuscript.footer} · {number}",), 6_350_000, points=10)
    return _settled(_saved(show.save))


def _box(slide: Any, texts: tuple[str, ...], top: int, points: int = 20) -> int:
    height = 420_000 * sum(1 + len(text) // 70 for text in texts)
    frame = slide.shapes.add_textbox(Emu(600_000), Emu(top), Emu(7_900_000), Emu(height)).text_frame
    frame.word_wrap = True
    for number, text in enumerate(texts):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        paragraph.text, paragraph.font.size = text, Pt(points)
    return top + height


def _pptx_table(slide: Any, grid: Grid, top: int) -> int:
    size = len(grid.rows), len(grid.rows[0])
    height = 420_000 * size[0]
    table = slide.shapes.add_table(*size, Emu(600_000), Emu(top), Emu(7_900_000), Emu(height)).table
    for number, row in enumerate(grid.rows):
        for column, text in enumerate(row):
            table.cell(number, column).text = text
    for joined in grid.joined:
        table.cell(joined.top, joined.left).merge(table.cell(joined.bottom, joined.right))
    return top + height + 200_000


# ---------------------------------------------------------------- Excel


def _xlsx(manuscript: Manuscript) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    book.properties.title, book.properties.creator = manuscript.title, "Northwind Care Services"
    for name, pieces in manuscript.sections():
        for grid in (piece for piece in pieces if isinstance(piece, Grid)):
            sheet = book.create_sheet(name)
            sheet.oddHeader.center.text, sheet.oddFooter.left.text = manuscript.header, manuscript.footer
            sheet.oddFooter.right.text = "Page &P of &N"
            sheet.print_title_rows, sheet.freeze_panes = "1:1", "A2"
            _fill(sheet, grid)
    return _settled(_saved(book.save))


def _fill(sheet: Any, grid: Grid) -> None:
    for number, row in enumerate(grid.rows, 1):
        for column, text in enumerate(row, 1):
            cell = sheet.cell(number, column, int(text) if text.isdigit() else text or None)
            cell.alignment = Alignment(vertical="top", wrap_text=True)
            if number <= grid.head:
                cell.font, cell.fill = Font(bold=True), PatternFill("solid", fgColor="DDE6EE")
    for joined in grid.joined:
        sheet.merge_cells(None, joined.top + 1, joined.left + 1, joined.bottom + 1, joined.right + 1)
    for column in range(len(grid.rows[0])):
        width = max(len(row[column]) for row in grid.rows)
        sheet.column_dimensions[get_column_letter(column + 1)].width = min(width + 3, 48)


# ---------------------------------------------------------------- PDF


class _Numbered(Canvas):  # type: ignore[misc]  # the library has no types
    """A canvas that knows how many pages there are before it writes the first footer."""

    header = footer = ""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._pages: list[dict[str, Any]] = []

    def showPage(self) -> None:  # noqa: N802  # the library's name
        self._pages.append(dict(self.__dict__))
        self._startPage()

    def save(self) -> None:
        for page in self._pages:
            self.__dict__.update(page)
            width, height = LETTER
            self.setFont("Helvetica", 8)
            self.drawString(22 * mm, height - 12 * mm, self.header)
            self.drawString(22 * mm, 10 * mm, self.footer)
            self.drawRightString(width - 22 * mm, 10 * mm, f"Page {self._pageNumber} of {len(self._pages)}")
            super().showPage()
        super().save()


def _pdf(manuscript: Manuscript) -> bytes:
    styles = getSampleStyleSheet()
    body = ParagraphStyle("body", parent=styles["BodyText"], fontSize=10, leading=14, spaceAfter=6)
    for level in (2, 3):
        styles[f"Heading{level}"].keepWithNext = 1
    flow: list[Any] = [Flow(escape(manuscript.title), styles["Title"])]
    for piece in manuscript.pieces:
        match piece:
            case Heading(level, text):
                flow.append(Flow(escape(text), styles[f"Heading{level + 1}"]))
            case Paragraph(text):
                flow.append(Flow(escape(text), body))
            case Items(texts):
                flow.append(ListFlowable([Flow(escape(text), body) for text in texts], bulletType="bullet"))
            case Grid():
                flow += [_pdf_table(piece), Spacer(1, 8)]
    file = BytesIO()
    canvas = type("Canvas", (_Numbered,), {"header": manuscript.header, "footer": manuscript.footer})
    SimpleDocTemplate(
        file,
        pagesize=LETTER,
        leftMargin=22 * mm,
        rightMargin=22 * mm,
        topMargin=24 * mm,
        bottomMargin=22 * mm,
        title=manuscript.title,
        author="Northwind Care Services",
        invariant=1,
    ).build(flow, canvasmaker=canvas)
    return file.getvalue()


def _pdf_table(grid: Grid) -> Any:
    cell = ParagraphStyle("cell", fontName="Helvetica", fontSize=8.5, leading=11)
    head = ParagraphStyle("head", parent=cell, fontName="Helvetica-Bold")
    texts = [
        [Flow(escape(text), head if row < grid.head else cell) for text in cells] for row, cells in enumerate(grid.rows)
    ]
    shares = [_share([row[column] for row in grid.rows]) for column in range(len(grid.rows[0]))]
    widths = [(LETTER[0] - 44 * mm) * share / sum(shares) for share in shares]
    style: list[tuple[Any, ...]] = [
        ("GRID", (0, 0), (-1, -1), 0.5, colors.grey),
        ("BACKGROUND", (0, 0), (-1, grid.head - 1), colors.HexColor("#dde6ee")),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
    ]
    style += [("SPAN", (joined.left, joined.top), (joined.right, joined.bottom)) for joined in grid.joined]
    return Table(texts, colWidths=widths, repeatRows=grid.head, style=style)


def _share(column: list[str]) -> int:
    """How much of the width a column wants: enough for its longest word, more for longer texts up to a bound."""
    longest_word = max(len(word) for text in column for word in [*text.split(), ""])
    return max(longest_word + 5, min(max(len(text) for text in column), 40))


def _saved(save: Callable[[Any], Any]) -> bytes:
    file = BytesIO()
    save(file)
    return file.getvalue()


_WRITERS: Mapping[str, Callable[[Manuscript], bytes]] = {
    ".docx": _docx,
    ".pptx": _pptx,
    ".xlsx": _xlsx,
    ".pdf": _pdf,
}

if __name__ == "__main__":
    main()
