"""What Word's styles say: names, outline levels, numbers, and the looks by which text is seen or not."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from lxml import etree

from connectors.sync.parse.colours import alike, from_hex
from connectors.sync.parse.docxshade import Shade, shade_of
from connectors.sync.parse.numbering import W

_HEADING_NAME = re.compile(
    r"^(?:heading|überschrift|titre|título|titulo|titolo|kop|rubrik|overskrift|nagłówek|заголовок|标题|見出し)\s*([1-9])$",
    re.I,
)
TITLE_NAMES = {"title", "titel", "titre", "título", "titulo", "titolo", "название", "标题", "表題"}
_CODE_NAME = re.compile(r"\bcode\b|preformatted|source|listing|macro text", re.I)
_SMALLEST = 3  # half points


@dataclass(frozen=True, slots=True)
class Style:
    """What a style says, its ancestors included."""

    name: str = ""
    level: int | None = None  # outline level, from 1
    number: str | None = None
    depth: int = 0
    vanish: bool = False
    colour: str | None = None
    size: int | None = None  # half points
    shade: Shade | None = None  # None: what is around it shows through
    code: bool = False


def styles_of(root: etree._Element | None) -> dict[str, Style]:
    """Every style by id, with what it inherits; "" is the paragraph style that goes unsaid."""
    if root is None:
        return {}
    elements = {style.get(W + "styleId", ""): style for style in root.iter(W + "style")}
    found: dict[str, Style] = {}

    def resolve(key: str, deep: int) -> Style:
        if key in found or key not in elements or deep > 30:
            return found.get(key, Style())
        element = elements[key]
        style = resolve(value_of(element, "basedOn") or "", deep + 1) if value_of(element, "basedOn") else Style()
        found[key] = _styled(element, style)
        return found[key]

    for key in elements:
        resolve(key, 0)
    for key, element in elements.items():
        if element.get(W + "type") == "paragraph" and element.get(W + "default") in ("1", "true", "on"):
            found[""] = found[key]
    return found


def _styled(element: etree._Element, style: Style) -> Style:
    name = value_of(element, "name") or ""
    style = replace(style, name=name, code=style.code or bool(_CODE_NAME.search(name)))
    if match := _HEADING_NAME.match(name):
        style = replace(style, level=int(match.group(1)))
    paragraph = element.find(W + "pPr")
    if paragraph is not None:
        level = value_of(paragraph, "outlineLvl")
        if level is not None and level.isdigit():
            style = replace(style, level=int(level) + 1 if int(level) < 9 else None)
        numbers = paragraph.find(W + "numPr")
        if numbers is not None:
            style = replace(
                style,
                number=value_of(numbers, "numId") or style.number,
                depth=number_of(value_of(numbers, "ilvl"), style.depth),
            )
        style = with_shade(style, paragraph)
    if name.lower() in TITLE_NAMES:
        style = replace(style, level=None)
    run = element.find(W + "rPr")
    return style if run is None else dressed(style, run)


def dressed(style: Style, properties: etree._Element) -> Style:
    vanish = properties.find(W + "vanish")
    colour, size = value_of(properties, "color"), value_of(properties, "sz")
    return replace(
        style,
        vanish=style.vanish if vanish is None else vanish.get(W + "val") not in ("0", "false", "off"),
        colour=colour or style.colour,
        size=int(size) if size and size.isdigit() else style.size,
    )


def with_shade(style: Style, properties: etree._Element) -> Style:
    shade = shade_of(properties)
    return style if shade is None else replace(style, shade=shade)


def unseen(look: Style, around: Shade) -> bool:
    """Nobody can read text that looks like this; `around` is what lies behind it where it says nothing itself."""
    if look.vanish or (look.size is not None and look.size <= _SMALLEST):
        return True
    return alike(from_hex(look.colour), (look.shade or around).colour)


def value_of(element: etree._Element | None, name: str) -> str | None:
    child = None if element is None else element.find(W + name)
    return None if child is None else child.get(W + "val")


def number_of(value: str | None, default: int) -> int:
    return int(value) if value and value.isdigit() else default
