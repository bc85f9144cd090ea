"""How much a document may cost before it is refused."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Limits:
    """What one document may use. Sizes are bytes unless the name says otherwise."""

    seconds: float = 20.0  # for a small document, the recognition of scans excepted
    seconds_per_mb: float = 2.0  # more, by the size of the body
    seconds_for_scans: float = 120.0  # more, for a PDF that may have scanned pages
    memory_mb: int = 512  # of the whole worker
    body: int = 50_000_000
    unpacked: int = 200_000_000
    entries: int = 2_000
    ratio: int = 100  # unpacked to packed, of the archive as a whole
    pages: int = 2_000
    cells: int = 2_000_000
    characters: int = 20_000_000  # of text that comes out
    pixels: int = 40_000_000  # of one rendered page
    scanned_pages: int = 50  # recognised per document

    def as_json(self) -> dict[str, Any]:
        """For the worker."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The reverse of `as_json`."""
        return cls(**values)
