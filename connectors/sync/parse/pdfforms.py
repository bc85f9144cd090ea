"""What people filled into the form of a PDF: the text of its fields, as pieces where they stand on the page.

Passwords are not read. Nothing a form could run is run: pdfium is built without a script engine.
"""

from __future__ import annotations

import ctypes
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from connectors.sync.parse.pdfpaint import Box
from connectors.sync.parse.pdfpieces import Glyph, Piece

_MOST_FIELDS = 2_000  # a page
_LONGEST = 20_000  # characters
_WRITTEN = {raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX}
_PASSWORD = 1 << 13
_UNSHOWN = raw.FPDF_ANNOT_FLAG_INVISIBLE | raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW
_SIZE = 10.0  # points, for a value, whose own size the field may leave to the reader


def filled_in(
    document: pdfium.PdfDocument, page: pdfium.PdfPage, corner: tuple[float, float]
) -> tuple[list[Piece], list[str]]:
    """The values that a page's fields show, and those of fields that are not shown."""
    shown: list[Piece] = []
    unshown: list[str] = []
    if document.formenv is None:
        return shown, unshown
    form = document.formenv.raw
    for index in range(min(raw.FPDFPage_GetAnnotCount(page.raw), _MOST_FIELDS)):
        field = raw.FPDFPage_GetAnnot(page.raw, index)
        if not field:
            continue
        try:
            text = _value(form, field)
            if not text:
                continue
            if raw.FPDFAnnot_GetFlags(field) & _UNSHOWN:
                unshown.append(text)
            else:
                shown += _pieces(text, field, corner)
        finally:
            raw.FPDFPage_CloseAnnot(field)
    return shown, unshown


def _value(form: Any, field: Any) -> str:
    if raw.FPDFAnnot_GetSubtype(field) != raw.FPDF_ANNOT_WIDGET:
        return ""
    if raw.FPDFAnnot_GetFormFieldType(form, field) not in _WRITTEN:
        return ""
    if raw.FPDFAnnot_GetFormFieldFlags(form, field) & _PASSWORD:
        return ""
    length = raw.FPDFAnnot_GetFormFieldValue(form, field, None, 0)  # bytes, the end included
    if not 2 < length <= 2 * _LONGEST:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDFAnnot_GetFormFieldValue(form, field, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length)
    return buffer.raw[: length - 2].decode("utf-16-le", "replace").strip()


def _pieces(text: str, field: Any, corner: tuple[float, float]) -> list[Piece]:
    """A piece a line, from the top of the field."""
    rect = raw.FS_RECTF()
    if not raw.FPDFAnnot_GetRect(field, rect):
        return []
    lines = [line.strip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    left, right = sorted((rect.left - corner[0], rect.right - corner[0]))
    top, bottom = sorted((corner[1] - rect.top, corner[1] - rect.bottom))
    high = (bottom - top) / len(lines)
    found: list[Piece] = []
    for count, line in enumerate(lines):
        if not line:
            continue
        middle = top + (count + 0.5) * high
        wide = min((right - left) / len(line), 0.5 * _SIZE)
        box = Box(left, middle - _SIZE / 2, left + wide * len(line), middle + _SIZE / 2)
        glyphs = [
            Glyph(letter, Box(left + n * wide, box.y0, left + (n + 1) * wide, box.y1), _SIZE, False, False)
            for n, letter in enumerate(line)
        ]
        found.append(Piece(line, box, _SIZE, False, False, glyphs))
    return found
