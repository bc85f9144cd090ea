"""Scanned pages, read by the tesseract program where it is installed. It runs in the worker's confinement."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterable

import pypdfium2 as pdfium

from connectors.sync.parse.limits import Limits

_DOTS_PER_INCH = 200
_SECONDS = 60
_LEAST_CONFIDENCE = 30.0


def recognised(document: pdfium.PdfDocument, index: int, tesseract: str, limits: Limits) -> list[str] | None:
    """The paragraphs of page `index`, or None where the program fails."""
    page = document[index]
    width, height = page.get_size()
    scale = min(_DOTS_PER_INCH / 72, (limits.pixels / max(width * height, 1.0)) ** 0.5)
    picture = io.BytesIO()
    bitmap = page.render(scale=scale, grayscale=True)
    bitmap.to_pil().save(picture, "PNG", compress_level=1)
    bitmap.close()
    page.close()
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program with fixed arguments; the picture goes in as bytes
            [tesseract, "stdin", "stdout", "--dpi", str(int(scale * 72)), "tsv"],
            input=picture.getvalue(),
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return list(_paragraphs(done.stdout.decode("utf-8", "replace").splitlines()))


def _paragraphs(rows: Iterable[str]) -> Iterable[str]:
    """Words of the table by block, paragraph and line; a paragraph's lines are joined by line breaks."""
    lines: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in rows:
        cells = row.split("\t")
        if len(cells) == 12 and cells[0] == "5" and cells[11].strip() and float(cells[10]) >= _LEAST_CONFIDENCE:
            lines.setdefault((cells[2], cells[3]), {}).setdefault(cells[4], []).append(cells[11].strip())
    for paragraph in lines.values():
        yield "\n".join(" ".join(words) for words in paragraph.values())
