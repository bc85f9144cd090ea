"""Which cells of a workbook nobody can read: text in the colour of its cell, or a number format that shows nothing."""

from __future__ import annotations

from typing import Any

from openpyxl.styles.colors import COLOR_INDEX
from openpyxl.worksheet.cell_range import CellRange

from connectors.sync.parse.colours import BLACK, WHITE, Colour, alike, from_hex, relit
from connectors.sync.parse.theme import Theme

_PLACES = ("lt1", "dk1", "lt2", "dk2", "accent1", "accent2", "accent3", "accent4", "accent5", "accent6")
_MOST_AREAS = 500


class SheetLooks:
    """The looks of one sheet's cells. What a table's style or a condition colours is not known, and so is seen."""

    def __init__(self, sheet: Any, theme: Theme, known: dict[int, bool]) -> None:
        self._theme = theme
        self._known = known  # by the number of the cell's style, for the whole workbook
        conditional = [area for each in sheet.conditional_formatting for area in each.sqref.ranges]
        tables = [CellRange(table.ref) for table in sheet.tables.values()]
        self._coloured = (conditional + tables)[:_MOST_AREAS]

    def unseen(self, cell: Any) -> bool:
        """Nobody can read the cell on the sheet."""
        if not cell.has_style:
            return False
        if cell.style_id not in self._known:
            self._known[cell.style_id] = self._judge(cell)
        return self._known[cell.style_id] and not self._is_coloured(cell)

    def _is_coloured(self, cell: Any) -> bool:
        if cell.number_format.replace(" ", "") == ";;;":
            return False
        return any(
            area.min_row <= cell.row <= area.max_row and area.min_col <= cell.column <= area.max_col
            for area in self._coloured
        )

    def _judge(self, cell: Any) -> bool:
        if cell.number_format.replace(" ", "") == ";;;":
            return True
        stated = cell.font.color
        return stated is not None and alike(self._colour(stated, BLACK), self._behind(cell.fill))

    def _behind(self, fill: Any) -> Colour | None:
        pattern = getattr(fill, "patternType", "gradient") if fill.tagname != "gradientFill" else "gradient"
        if pattern in (None, "none"):
            return WHITE
        return self._colour(fill.fgColor, WHITE) if pattern == "solid" else None

    def _colour(self, stated: Any, automatic: Colour) -> Colour | None:
        """A colour by value, by number or by place in the theme, tinted; 64 and 65 are the system's own."""
        match stated.type:
            case "rgb":
                found = from_hex(str(stated.rgb)[-6:])
            case "theme":
                place = int(stated.theme)
                found = self._theme.colours.get(_PLACES[place]) if 0 <= place < len(_PLACES) else None
            case "indexed" if int(stated.indexed) < len(COLOR_INDEX):
                found = from_hex(COLOR_INDEX[int(stated.indexed)][-6:])
            case _:
                return automatic
        tint = float(stated.tint or 0.0)
        if found is None or not tint:
            return found
        return relit(found, 1 + tint) if tint < 0 else relit(found, 1 - tint, tint)
