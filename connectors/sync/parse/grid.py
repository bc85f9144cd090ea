"""Cells that span several places, laid out as a full grid: each place says what the merged cell over it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_MOST_CELLS = 200_000


@dataclass(frozen=True, slots=True)
class Span:
    """A cell and how many columns and rows it covers."""

    text: str
    right: int = 1
    down: int = 1


def grid(rows: Sequence[Sequence[Span]]) -> list[list[str]]:
    """The grid, row by row, rectangular; merged cells repeated, so that each row can stand alone."""
    taken: dict[tuple[int, int], str] = {}
    width = 0
    for y, row in enumerate(rows):
        x = 0
        for cell in row:
            while (y, x) in taken:
                x += 1
            for down in range(min(cell.down, len(rows) - y)):
                for right in range(cell.right):
                    taken.setdefault((y + down, x + right), cell.text)
            x += cell.right
            width = max(width, x)
            if len(taken) > _MOST_CELLS:
                break
    return [[taken.get((y, x), "") for x in range(width)] for y in range(len(rows))]
