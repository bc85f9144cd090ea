"""Documents that tests make for themselves, as the programs that people use would write them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import docx
import openpyxl
import pptx
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from connectors.records import Block, Form, Hidden, ParsedRecord
from connectors.sync.parse.formats import read
from connectors.sync.parse.limits import Limits

FIVE_ROWS = [["Code", "Meaning", "Limit"], *([f"TRV-{n}", f"Trip {n}", f"{n}00"] for n in range(1, 6))]


def parsed(body: bytes | str, name: str, tesseract: str | None = None, **limits: Any) -> ParsedRecord:
    """The document read in this process: what the worker would answer."""
    return read(body.encode() if isinstance(body, str) else body, "", name, Limits(**limits), tesseract)


def text_of(record: ParsedRecord) -> str:
    """Everything that would be indexed, headings included."""
    return "\n".join(" › ".join([*block.heading_path, block.text]) for block in record.blocks)


def hidden(record: ParsedRecord, kind: Hidden) -> str:
    """What was taken out for this reason."""
    return "\n".join(removal.text for removal in record.removals if removal.kind is kind)


def blocks(record: ParsedRecord, form: Form) -> list[Block]:
    """The blocks of one form."""
    return [block for block in record.blocks if block.form is form]


def word(fill: Callable[[Any], None]) -> bytes:
    """A Word document that `fill` writes."""
    document = docx.Document()
    fill(document)
    held = io.BytesIO()
    document.save(held)
    return held.getvalue()


def slides(fill: Callable[[Any], None]) -> bytes:
    """A presentation that `fill` writes."""
    deck = pptx.Presentation()
    fill(deck)
    held = io.BytesIO()
    deck.save(held)
    return held.getvalue()


def workbook(fill: Callable[[Any], None]) -> bytes:
    """A workbook that `fill` writes."""
    book = openpyxl.Workbook()
    fill(book)
    held = io.BytesIO()
    book.save(held)
    return held.getvalue()


def pdf(*pages: Callable[[Canvas], None]) -> bytes:
    """A PDF with a page for each drawer."""
    held = io.BytesIO()
    canvas = Canvas(held, pagesize=A4)
    for draw in pages:
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return held.getvalue()


def repacked(
    body: bytes, changed: Mapping[str, bytes] | None = None, added: Mapping[str, bytes] | None = None
) -> bytes:
    """The package with some parts replaced and some added."""
    held = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as before, zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as after:
        for entry in before.infolist():
            after.writestr(entry.filename, (changed or {}).get(entry.filename, before.read(entry.filename)))
        for name, part in (added or {}).items():
            after.writestr(name, part)
    return held.getvalue()


def part(body: bytes, name: str) -> bytes:
    """One part of a package."""
    with zipfile.ZipFile(io.BytesIO(body)) as package:
        return package.read(name)
