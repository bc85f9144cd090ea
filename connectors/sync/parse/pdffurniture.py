"""Running heads, running feet and page numbers of a PDF, which are no part of its text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from connectors.sync.parse.pdfpage import Page
from connectors.sync.parse.pdfpieces import Piece

_TOP, _BOTTOM = 0.10, 0.08  # of the page's height: where running heads and page numbers stand
_SHARE = 0.4  # of the pages, on which the same words at the same height are furniture
_NUMBER_ALONE = re.compile(
    r"^[-–—\s|]*(?:page|seite|p\.)?\s*(?:#+|[ivxl]{1,6})\s*(?:(?:of|/|von|de)\s*#+)?[-–—\s|]*$", re.I
)


def drop_furniture(pages: Sequence[Page]) -> None:
    """Take out what stands at the same height on many pages, and page numbers, at the head and foot of pages."""
    seen: Counter[tuple[str, int]] = Counter()
    for page in pages:
        seen.update({_furniture_key(piece) for piece in page.pieces if _in_margin(page, piece)})
    needed = max(2.0, _SHARE * len(pages))
    numbers = _page_numbers(pages)
    for page in pages:
        page.pieces = [
            piece
            for piece in page.pieces
            if piece is not numbers.get(page.number)
            and not (
                _in_margin(page, piece)
                and (_furniture_count(seen, piece) >= needed or _NUMBER_ALONE.match(_digits(piece.text)))
            )
        ]


def _page_numbers(pages: Sequence[Page]) -> dict[int, Piece]:
    """The lowest piece of each page where these count up with the pages, however far from the edge they stand."""
    lowest = {page.number: max(page.pieces, key=lambda p: p.box.y0) for page in pages if page.pieces}
    offsets = Counter(int(p.text) - n for n, p in lowest.items() if p.text.strip().isdigit() and len(p.text) < 6)
    if not offsets or offsets.most_common(1)[0][1] < max(2, 0.5 * len(lowest)):
        return {}
    offset = offsets.most_common(1)[0][0]
    return {n: piece for n, piece in lowest.items() if piece.text.strip() == str(n + offset)}


def _furniture_count(seen: Counter[tuple[str, int]], piece: Piece) -> int:
    text, at = _furniture_key(piece)
    return sum(seen[text, near] for near in (at - 1, at, at + 1))


def _in_margin(page: Page, piece: Piece) -> bool:
    return piece.box.y1 <= _TOP * page.height or piece.box.y0 >= (1 - _BOTTOM) * page.height


def _furniture_key(piece: Piece) -> tuple[str, int]:
    return _digits(piece.text).lower(), round(piece.middle / 4)


def _digits(text: str) -> str:
    return re.sub(r"\d+", "#", text.strip())
