"""Bytes to text, for formats that may not say how they are encoded."""

from __future__ import annotations

import codecs

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(body: bytes, declared: str | None = None) -> str:
    """The text: by its byte order mark, as declared, as UTF-8, else as Windows-1252, which takes anything."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body.decode(encoding, "replace").lstrip("\ufeff")
    for encoding in filter(None, ("utf-8" if declared is None else declared, "utf-8")):
        try:
            return body.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return body.decode("cp1252", "replace")
