"""Colours as Office states them: by value, by name, or as a place in the document's theme, made lighter or darker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from connectors.sync.parse.colours import BLACK, WHITE, Colour, from_hex, mixed, named, relit

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_STATED = ("srgbClr", "schemeClr", "sysClr", "prstClr", "scrgbClr", "hslClr")
_FILLS = ("noFill", "solidFill", "gradFill", "blipFill", "pattFill", "grpFill")
_OFFICE = {
    "dk1": BLACK, "lt1": WHITE, "dk2": (68, 84, 106), "lt2": (231, 230, 230),
}  # fmt: skip
_MAPPED = {"bg1": "lt1", "tx1": "dk1", "bg2": "lt2", "tx2": "dk2"}


@dataclass(frozen=True, slots=True)
class Theme:
    """A theme's colours by name, which name the document's own names stand for, and the theme's lists of fills."""

    colours: Mapping[str, Colour] = field(default_factory=lambda: dict(_OFFICE))
    names: Mapping[str, str] = field(default_factory=lambda: dict(_MAPPED))
    fills: tuple[etree._Element, ...] = ()
    backgrounds: tuple[etree._Element, ...] = ()

    def colour(self, holder: etree._Element | None, instead: Colour | None = None) -> Colour | None:
        """The colour that an element such as `solidFill` holds; `instead` stands for the theme's placeholder."""
        if holder is None:
            return None
        for kind in _STATED:
            stated = holder.find(A + kind)
            if stated is not None:
                found = self._stated(kind, stated, instead)
                return None if found is None else _changed(found, stated)
        return None

    def named(self, name: str) -> Colour | None:
        """A colour of the theme by the document's name for it."""
        return self.colours.get(self.names.get(name, name))

    def _stated(self, kind: str, stated: etree._Element, instead: Colour | None) -> Colour | None:
        value = stated.get("val", "")
        match kind:
            case "srgbClr":
                return from_hex(value)
            case "schemeClr":
                return instead if value == "phClr" else self.named(value)
            case "sysClr":
                return from_hex(stated.get("lastClr")) or {"window": WHITE, "windowText": BLACK}.get(value)
            case "prstClr":
                return named(value.lower().replace("dk", "dark", 1).replace("ltg", "lightg", 1))
            case _:
                return None

    def referred(self, reference: etree._Element | None) -> tuple[bool, Colour | None]:
        """What a `fillRef` or `bgRef` paints: whether it paints, and in which colour (None: not plain)."""
        number = "0" if reference is None else reference.get("idx", "0")
        index = int(number) if number.isdigit() else 0
        if reference is None or index in (0, 1000):
            return False, None
        fills, place = (self.backgrounds, index - 1001) if index > 1000 else (self.fills, index - 1)
        own = self.colour(reference)
        if place >= len(fills):
            return True, own
        if fills[place].tag == A + "noFill":
            return False, None
        return True, self.colour(fills[place], own) if fills[place].tag == A + "solidFill" else None


def theme_of(root: etree._Element | None, names: Mapping[str, str] | None = None) -> Theme:
    """Read a theme part; `names` is the map that a master or its slide states."""
    if root is None:
        return Theme()
    colours: dict[str, Colour] = dict(_OFFICE)
    scheme = root.find(f"{A}themeElements/{A}clrScheme")
    plain = Theme(colours, {})
    for place in () if scheme is None else scheme:
        if isinstance(place.tag, str) and (colour := plain.colour(place)):
            colours[etree.QName(place).localname] = colour
    lists = [root.find(f"{A}themeElements/{A}fmtScheme/{A}{kind}") for kind in ("fillStyleLst", "bgFillStyleLst")]
    fills, backgrounds = (tuple(() if each is None else each) for each in lists)
    return Theme(colours, dict(names or _MAPPED), fills, backgrounds)


def fill_of(holder: etree._Element | None, theme: Theme) -> tuple[bool, Colour | None] | None:
    """What a shape's or cell's own properties paint it with: whether at all, and the colour (None: not plain).

    None where they say nothing.
    """
    if holder is None:
        return None
    for kind in _FILLS:
        fill = holder.find(A + kind)
        if fill is None:
            continue
        alpha = fill.find(f"*/{A}alpha")
        dense = 1.0 if alpha is None or kind != "solidFill" else _share(alpha)
        if kind == "noFill" or dense < 0.2:
            return False, None
        return True, theme.colour(fill) if kind == "solidFill" and dense > 0.8 else None
    return None


def _share(element: etree._Element) -> float:
    value = element.get("val", "100000")
    try:
        return float(value[:-1]) / 100 if value.endswith("%") else float(value) / 100_000
    except ValueError:
        return 1.0


def _changed(colour: Colour, stated: etree._Element) -> Colour:
    """The colour after the changes that its element lists, in their order."""
    for change in stated:
        if not isinstance(change.tag, str):
            continue
        share = _share(change)
        match etree.QName(change).localname:
            case "lumMod":
                colour = relit(colour, share)
            case "lumOff":
                colour = relit(colour, 1.0, share)
            case "tint":
                colour = mixed(WHITE, colour, share)
            case "shade":
                colour = mixed(BLACK, colour, share)
            case _:
                pass
    return colour
