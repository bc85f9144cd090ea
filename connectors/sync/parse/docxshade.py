"""What text lies on in a Word document: shading, highlights, text boxes, the page, styles of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lxml import etree

from connectors.sync.parse.colours import WHITE, Colour, from_hex, mixed, named
from connectors.sync.parse.numbering import W
from connectors.sync.parse.theme import A, Theme, fill_of

_VML = "{urn:schemas-microsoft-com:vml}"
_DEEPEST_STYLE = 30
_LOOKS = {
    "firstRow": 0x20,
    "lastRow": 0x40,
    "firstColumn": 0x80,
    "lastColumn": 0x100,
    "noHBand": 0x200,
    "noVBand": 0x400,
}


class Shade(NamedTuple):
    """A colour behind text; None where there is one that is not known."""

    colour: Colour | None


PAPER = Shade(WHITE)


def shade_of(properties: etree._Element | None) -> Shade | None:
    """The shading or highlight that properties of a run, paragraph, cell, or table state; None where they don't."""
    if properties is None:
        return None
    mark = properties.find(W + "highlight")
    if mark is not None and mark.get(W + "val") != "none":
        return Shade(named(mark.get(W + "val", "").lower()))
    shade = properties.find(W + "shd")
    if shade is None:
        return None
    pattern, front = shade.get(W + "val", "clear"), from_hex(shade.get(W + "color"))
    back = from_hex(shade.get(W + "fill"))
    if pattern == "nil":
        return None
    if pattern == "solid":
        return Shade(front)
    if back is None:
        themed = shade.get(W + "themeFill") is not None
        return Shade(None) if themed or pattern != "clear" else None
    if pattern.startswith("pct") and pattern[3:].isdigit():
        return Shade(mixed(back, front or (0, 0, 0), int(pattern[3:]) / 100))
    return Shade(back if pattern == "clear" else None)


def page_shade(document: etree._Element) -> Shade:
    """The colour of the page."""
    background = document.find(W + "background")
    if background is None:
        return PAPER
    if len(background):  # a picture, a pattern or a gradient
        return Shade(None)
    colour = from_hex(background.get(W + "color"))
    return Shade(colour) if colour or background.get(W + "themeColor") else PAPER


def box_shade(box: etree._Element, theme: Theme) -> Shade | None:
    """The fill of the shape that a text box's content is in; None where it has none."""
    for shape in box.iterancestors():
        if not isinstance(shape.tag, str):
            continue
        name = etree.QName(shape).localname
        if name == "wsp":
            return _drawn(shape, theme)
        if shape.tag.startswith(_VML) and name != "textbox":
            return _vml(shape)
        if shape.tag == W + "r":
            break
    return None


def _drawn(shape: etree._Element, theme: Theme) -> Shade | None:
    held = {etree.QName(child).localname: child for child in shape if isinstance(child.tag, str)}
    fill = fill_of(held.get("spPr"), theme)
    if fill is None and "style" in held:
        fill = theme.referred(held["style"].find(A + "fillRef"))
    if fill is not None and fill[0]:
        return Shade(fill[1])
    group = shape.getparent()
    grouped = group is not None and isinstance(group.tag, str) and etree.QName(group).localname in ("wgp", "grpSp")
    return Shade(None) if grouped else None  # in a group it may lie on another shape


def _vml(shape: etree._Element) -> Shade | None:
    if shape.get("filled", "t") in ("f", "false"):
        return None
    fill = shape.find(_VML + "fill")
    if fill is not None and fill.get("type", "solid") != "solid":
        return Shade(None)
    told = shape.get("fillcolor", "white").split(" ")[0].lower()
    short = len(told) == 4 and told.startswith("#")
    return Shade(from_hex("".join(c * 2 for c in told[1:]) if short else told) or named(told))


class TableShades:
    """The shadings of table styles, by the parts of a table."""

    def __init__(self, styles: etree._Element | None) -> None:
        tables = [] if styles is None else [s for s in styles.iter(W + "style") if s.get(W + "type") == "table"]
        self._styles = {style.get(W + "styleId", ""): style for style in tables}

    def of(self, table: etree._Element) -> TableShade:
        """What one table is shaded with where its cells don't say."""
        properties = table.find(W + "tblPr")
        named_style = None if properties is None else properties.find(W + "tblStyle")
        parts: dict[str, Shade] = {}
        self._gather("" if named_style is None else named_style.get(W + "val", ""), parts, 0)
        if (own := shade_of(properties)) is not None:
            parts["wholeTable"] = own
        return TableShade(parts, _look(None if properties is None else properties.find(W + "tblLook")))

    def _gather(self, key: str, parts: dict[str, Shade], deep: int) -> None:
        style = self._styles.get(key)
        if style is None or deep > _DEEPEST_STYLE:
            return
        base = style.find(W + "basedOn")
        if base is not None:
            self._gather(base.get(W + "val", ""), parts, deep + 1)
        for holder, part in [
            (style, "wholeTable"),
            *((e, e.get(W + "type", "")) for e in style.iter(W + "tblStylePr")),
        ]:
            for kind in ("tblPr", "tcPr"):
                if (shade := shade_of(holder.find(W + kind))) is not None:
                    parts[part] = shade


class TableShade:
    """One table's shading by its style."""

    def __init__(self, parts: Mapping[str, Shade], look: frozenset[str]) -> None:
        self._parts = parts
        self._look = look

    def at(self, row: int, column: int, rows: int, last_column: bool) -> Shade | None:
        """For a cell, counted from 0, None where the style says nothing. What names fewer cells counts first."""
        look = self._look
        band_row, band_column = row - ("firstRow" in look), column - ("firstColumn" in look)
        wanted = [
            ("firstRow", "firstRow" in look and row == 0),
            ("lastRow", "lastRow" in look and row == rows - 1),
            ("firstCol", "firstColumn" in look and column == 0),
            ("lastCol", "lastColumn" in look and last_column),
            (f"band{band_row % 2 + 1}Horz", "noHBand" not in look),
            (f"band{band_column % 2 + 1}Vert", "noVBand" not in look),
            ("wholeTable", True),
        ]
        return next((self._parts[part] for part, counts in wanted if counts and part in self._parts), None)


def _look(element: etree._Element | None) -> frozenset[str]:
    if element is None:
        return frozenset({"firstRow", "firstColumn", "noVBand"})
    try:
        bits = int(element.get(W + "val", "0"), 16)
    except ValueError:
        bits = 0
    stated = {name: element.get(W + name) for name in _LOOKS}
    return frozenset(
        name
        for name, bit in _LOOKS.items()
        if (stated[name] in ("1", "true", "on") if stated[name] is not None else bits & bit)
    )
