"""Which format a document is, by its bytes and by its name, and the module that reads it.

A document is read only when both agree: a file that says one thing and is another was made to be misread. Formats are
imported when first met, so that a worker holds only what it needs.
"""

from __future__ import annotations

import io
import zipfile
from enum import StrEnum
from importlib import import_module
from pathlib import PurePosixPath

from connectors.records import ParsedRecord
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.refusal import Refusal


class Format(StrEnum):
    """What we read; the value is the module in this package that reads it."""

    MARKDOWN = "markdown"
    HTML = "html"
    TEXT = "text"
    DOCX = "docx"
    PPTX = "pptx"
    XLSX = "xlsx"
    PDF = "pdf"
    STORAGE = "storage"  # Confluence's, of pages and comments
    ADF = "adf"  # Atlassian's document format, of live pages


_ENDINGS = {
    "md": Format.MARKDOWN,
    "markdown": Format.MARKDOWN,
    "mdown": Format.MARKDOWN,
    "html": Format.HTML,
    "htm": Format.HTML,
    "xhtml": Format.HTML,
    "txt": Format.TEXT,
    "text": Format.TEXT,
    "log": Format.TEXT,
    "rst": Format.TEXT,
    "docx": Format.DOCX,
    "pptx": Format.PPTX,
    "xlsx": Format.XLSX,
    "pdf": Format.PDF,
}
_OFFICE = "application/vnd.openxmlformats-officedocument."
_MEDIA_TYPES = {
    "text/markdown": Format.MARKDOWN,
    "text/x-markdown": Format.MARKDOWN,
    "text/html": Format.HTML,
    "application/xhtml+xml": Format.HTML,
    "text/plain": Format.TEXT,
    "application/pdf": Format.PDF,
    "application/vnd.atlassian.confluence.storage+xml": Format.STORAGE,
    "application/vnd.atlassian.adf+json": Format.ADF,
    _OFFICE + "wordprocessingml.document": Format.DOCX,
    _OFFICE + "presentationml.presentation": Format.PPTX,
    _OFFICE + "spreadsheetml.sheet": Format.XLSX,
}
_MACRO_ENDINGS = {"docm", "dotm", "xlsm", "xltm", "xlsb", "pptm", "potm", "ppsm", "xlam", "ppam"}
_OLD_ENDINGS = {"doc": "docx", "xls": "xlsx", "ppt": "pptx", "rtf": "docx", "odt": "docx", "ods": "xlsx", "odp": "pptx"}
_WRITTEN = {Format.MARKDOWN, Format.HTML, Format.TEXT, Format.STORAGE, Format.ADF}
_PACKAGED = {Format.DOCX, Format.PPTX, Format.XLSX}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # byte order marks of UTF-16, whose text holds zero bytes
_BINARY = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "an archive"),
    (b"PK\x05\x06", "an archive"),
    (b"PK\x07\x08", "an archive"),
    (_OLE, "an old Office document"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\x1f\x8b", "an archive"),
    (b"Rar!", "an archive"),
    (b"7z\xbc\xaf\x27\x1c", "an archive"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"{\\rtf", "rich text"),
)


def read(body: bytes, media_type: str, name: str, limits: Limits, tesseract: str | None) -> ParsedRecord:
    """The document as structure. Raises Refusal."""
    if len(body) > limits.body:
        raise Refusal(f"is larger than {limits.body // 1_000_000} MB")
    if not body.strip():
        raise Refusal("is empty")
    form = recognise(body, media_type, name)
    module = import_module(f"connectors.sync.parse.{form.value}")
    record: ParsedRecord = module.read(body, limits, *((tesseract,) if form is Format.PDF else ()))
    if not record.blocks:
        raise Refusal("; ".join(["holds no text", *record.notices[:3]]))
    return record


def recognise(body: bytes, media_type: str, name: str) -> Format:
    """The format that bytes, media type and the name's ending agree on. Raises Refusal where they don't."""
    ending = PurePosixPath(name.lower()).suffix.lstrip(".")
    if ending in _MACRO_ENDINGS:
        raise Refusal(f"can hold macros (.{ending}); save it without them")
    if ending in _OLD_ENDINGS:
        raise Refusal(f"is in an old format (.{ending}); save it as .{_OLD_ENDINGS[ending]}")
    by_type = _MEDIA_TYPES.get(media_type.split(";")[0].strip().lower())
    by_name = _ENDINGS.get(ending)
    form = by_name or by_type
    if form is None:
        raise Refusal(f"is of a kind that is not read (.{ending})" if ending else "is of a kind that is not read")
    if by_type and by_name and by_type is not by_name:
        if not {by_type, by_name} <= _WRITTEN:
            raise Refusal(f"is named .{ending} but declared as {media_type!r}; it may be disguised")
        form = by_name if by_type is Format.TEXT else by_type
    _check_bytes(body, form)
    return form


def _check_bytes(body: bytes, form: Format) -> None:
    start = body[:16]
    if start.startswith(_OLE):
        locked = "EncryptedPackage".encode("utf-16-le") in body
        raise Refusal(
            "is locked with a password; save it without one" if locked else "is an old Office document; save it anew"
        )
    if form in _WRITTEN:
        _check_written(body)
    elif form is Format.PDF:
        if b"%PDF-" not in body[:16]:
            raise Refusal("is named or declared as a PDF but is none")
        if zipfile.is_zipfile(io.BytesIO(body)):
            raise Refusal("is a PDF and an archive at once; it may be disguised")
    elif form in _PACKAGED and not start.startswith(b"PK\x03\x04"):
        raise Refusal("is named or declared as an Office document but is none")


def _check_written(body: bytes) -> None:
    for magic, what in _BINARY:
        if body.startswith(magic) and (magic != b"MZ" or b"\0" in body[:512]):
            raise Refusal(f"is named or declared as text but is {what}")
    if b"\0" in body[:8192] and not body.startswith(_WIDE):
        raise Refusal("is named or declared as text but holds binary data")
