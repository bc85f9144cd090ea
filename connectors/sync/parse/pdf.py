"""PDF: positions become structure. Headings by size, weight and number; running heads and page numbers left out; tables
by their lines, put together over pages; paragraphs re-flowed; scanned pages read where tesseract is installed."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from connectors.records import Hidden, ParsedRecord
from connectors.sync.parse import ocr
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.outline import Outline, squeeze
from connectors.sync.parse.pdffurniture import drop_furniture
from connectors.sync.parse.pdfheadings import Levels, key_of
from connectors.sync.parse.pdfpage import Page, look_at
from connectors.sync.parse.pdfreading import layout
from connectors.sync.parse.pdftables import joined, ruled
from connectors.sync.parse.pdfwriting import Writer
from connectors.sync.parse.refusal import Refusal

_FILE_NAME = re.compile(
    r"^(?:microsoft (?:word|powerpoint|excel)\b.*|powerpoint presentation|word document|untitled.*"
    r"|.*\.(?:docx?|pptx?|xlsx?|pdf|indd|tex|dvi))$",
    re.I,
)
_SCAN = 0.3  # the share of the page that a picture covers on a scan


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
    match document.get_formtype():
        case raw.FORMTYPE_ACRO_FORM | raw.FORMTYPE_XFA_FOREGROUND:
            document.init_forms()
        case raw.FORMTYPE_XFA_FULL:
            outline.notice("it is a dynamic form (XFA), whose fields are not read; save it as a plain PDF")
        case _:
            pass
    pages = [look_at(document, index) for index in range(len(document))]
    _tell_hidden(pages, outline)
    drop_furniture(pages)
    contents = _contents(document)
    pieces = {page.number: ruled(page) for page in pages}
    layouts = {page.number: list(layout(page, *pieces[page.number])) for page in pages}
    levels = Levels([each for page in pages for each in layouts[page.number]], contents)
    scans = _Scans(document, tesseract, limits, outline)
    writer = Writer(outline, levels)
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
        found.setdefault(key_of(entry.get_title()), entry.level + 1)
    found.pop("", None)
    return found


def _tell_hidden(pages: Sequence[Page], outline: Outline) -> None:
    for page in pages:
        for text in page.hidden:
            outline.hide(Hidden.STYLED, text)
        if page.layer and (page.pieces or page.pictured < _SCAN):
            for text in page.layer:
                outline.hide(Hidden.STYLED, text)
            page.layer = []


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
