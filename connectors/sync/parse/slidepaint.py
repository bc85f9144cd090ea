"""What the text of a slide lies on: its shape's fill, else what is painted below it, else the background.

Fills and backgrounds that a slide doesn't state are those of its layout, then of its master, in the theme's colours.
"""

from __future__ import annotations

from typing import NamedTuple

from lxml import etree

from connectors.sync.parse.colours import WHITE, Colour
from connectors.sync.parse.package import Package
from connectors.sync.parse.theme import A, fill_of, theme_of

P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_MOST_LAYERS = 2_000
_ALIKE = {"ctrTitle": "title", "subTitle": "body", "obj": "body"}
_BARE_TABLES = {"{2D5ABB26-0587-4C30-8999-92F81FD0307C}", "{5940675A-B579-460E-94D1-54222C63F5DA}"}  # styles: no fill


class _Place(NamedTuple):
    x: float
    y: float
    wide: float
    high: float

    def holds(self, x: float, y: float) -> bool:
        return self.x <= x <= self.x + self.wide and self.y <= y <= self.y + self.high


class _Layer(NamedTuple):
    shape: etree._Element
    place: _Place
    colour: Colour | None  # None: a picture or a fill that is not plain


class SlidePaint:
    """One slide's colours. `slide` is its root, `part` its name; `known` keeps what slides share, by part."""

    def __init__(self, package: Package, part: str, slide: etree._Element, known: dict[str, etree._Element]) -> None:
        layout = next(package.related(part, "slideLayout"), None)
        master = next(package.related(layout, "slideMaster"), None) if layout else None
        theme = next(package.related(master, "theme"), None) if master else None
        for name in filter(None, (layout, master, theme)):
            if name not in known:
                known[name] = package.xml(name)
        self._below = [known[name] for name in (layout, master) if name]  # the nearest first
        self.theme = theme_of(known[theme] if theme else None, _names([slide, *self._below]))
        self._background = self._painted_by_background([slide, *self._below])
        self._layers: list[_Layer] = []
        self._counts: dict[etree._Element, int] = {}  # of layers painted before each shape of the slide is
        for root in self._shown_below(slide):
            self._gather(root, decoration=True)
        self._gather(slide, decoration=False)

    def behind(self, shape: etree._Element) -> Colour | None:
        """The colour that the text of a shape lies on, None where it is not known."""
        painted = self._fill(shape)
        if painted is not None and painted[0]:
            return painted[1]
        place = self._place(shape)
        if place is not None:
            x, y = place.x + place.wide / 2, place.y + place.high / 2
            for layer in reversed(self._below_of(shape)):
                if layer.place.holds(x, y):
                    return layer.colour
        return self._background

    def behind_cell(self, cell: etree._Element, table: etree._Element, frame: etree._Element) -> Colour | None:
        """The same for a cell: its own fill, then its table's; a table's style is not read, so not known."""
        properties = table.find(A + "tblPr")
        for holder in (cell.find(A + "tcPr"), properties):
            fill = fill_of(holder, self.theme)
            if fill is not None:
                return fill[1] if fill[0] else self.behind(frame)
        style = None if properties is None else properties.find(A + "tableStyleId")
        if style is not None and (style.text or "").strip().upper() not in _BARE_TABLES:
            return None
        return self.behind(frame)

    # ------------------------------------------------------------ fills

    def _painted_by_background(self, roots: list[etree._Element]) -> Colour | None:
        for root in roots:
            background = root.find(f"{P}cSld/{P}bg")
            if background is None:
                continue
            fill = fill_of(background.find(P + "bgPr"), self.theme)
            if fill is None:
                fill = self.theme.referred(background.find(P + "bgRef"))
            return fill[1] if fill[0] else WHITE
        return None

    def _fill(self, shape: etree._Element) -> tuple[bool, Colour | None] | None:
        """What paints a shape: its own fill, its placeholder's on layout and master, its style's."""
        for each in (shape, *self._inherited(shape)):
            fill = fill_of(each.find(P + "spPr"), self.theme)
            if fill is not None:
                return fill
        reference = shape.find(f"{P}style/{A}fillRef")
        return None if reference is None else self.theme.referred(reference)

    def _inherited(self, shape: etree._Element) -> list[etree._Element]:
        """The placeholders on layout and master that a placeholder stands in for."""
        own = shape.find(f".//{P}nvPr/{P}ph")
        if own is None:
            return []
        kind, number = own.get("type", "body"), own.get("idx")
        found: list[etree._Element] = []
        for root in self._below:
            held = [(each, ph) for each in root.iter(P + "sp") if (ph := each.find(f".//{P}nvPr/{P}ph")) is not None]
            by_number = [each for each, ph in held if number is not None and ph.get("idx") == number]
            by_kind = [each for each, ph in held if _alike(ph.get("type", "body")) == _alike(kind)]
            found += (by_number or by_kind)[:1]
        return found

    # ------------------------------------------------------------ layers

    def _shown_below(self, slide: etree._Element) -> list[etree._Element]:
        """The roots whose own shapes show through, the lowest first."""
        shown: list[etree._Element] = []
        above = slide
        for root in self._below:
            if above.get("showMasterSp") in ("0", "false"):
                break
            shown.insert(0, root)
            above = root
        return shown

    def _gather(self, root: etree._Element, *, decoration: bool) -> None:
        tree = root.find(f"{P}cSld/{P}spTree")
        for shape in () if tree is None else tree.iter(P + "sp", P + "pic", P + "graphicFrame"):
            if len(self._layers) >= _MOST_LAYERS:
                return
            if decoration and shape.find(f".//{P}nvPr/{P}ph") is not None:
                continue
            if not decoration:
                self._counts[shape] = len(self._layers)
            fill = (True, None) if shape.tag == P + "pic" else self._fill(shape)
            place = self._place(shape)
            if place is not None and fill is not None and fill[0]:
                self._layers.append(_Layer(shape, place, fill[1]))

    def _below_of(self, shape: etree._Element) -> list[_Layer]:
        """The layers painted before a shape of the slide."""
        return self._layers[: self._counts.get(shape, len(self._layers))]

    def _place(self, shape: etree._Element) -> _Place | None:
        for each in (shape, *self._inherited(shape)):
            frame = each.find(f"{P}spPr/{A}xfrm")
            if frame is None:
                frame = each.find(P + "xfrm")
            if frame is not None and (place := _stated(frame, "off", "ext")):
                return _out_of_groups(each, place)
        return None


def _names(roots: list[etree._Element]) -> dict[str, str]:
    """Which of the theme's colours the slide's names stand for: its own map counts, then its layout's, its master's."""
    names: dict[str, str] = {}
    for root in reversed(roots):
        for held in (root.find(P + "clrMap"), root.find(f"{P}clrMapOvr/{A}overrideClrMapping")):
            names |= {} if held is None else {str(name): str(value) for name, value in held.attrib.items()}
    return names


def _alike(kind: str) -> str:
    return _ALIKE.get(kind, kind)


def _stated(frame: etree._Element, at: str, size: str) -> _Place | None:
    offset, extent = frame.find(A + at), frame.find(A + size)
    if offset is None or extent is None:
        return None
    try:
        return _Place(
            float(offset.get("x", "")),
            float(offset.get("y", "")),
            float(extent.get("cx", "")),
            float(extent.get("cy", "")),
        )
    except ValueError:
        return None


def _out_of_groups(shape: etree._Element, place: _Place) -> _Place:
    """A place in a group as a place on the slide."""
    for group in shape.iterancestors(P + "grpSp"):
        frame = group.find(f"{P}grpSpPr/{A}xfrm")
        outer = None if frame is None else _stated(frame, "off", "ext")
        inner = None if frame is None else _stated(frame, "chOff", "chExt")
        if outer and inner and inner.wide and inner.high:
            across, down = outer.wide / inner.wide, outer.high / inner.high
            place = _Place(
                outer.x + (place.x - inner.x) * across,
                outer.y + (place.y - inner.y) * down,
                place.wide * across,
                place.high * down,
            )
    return place
