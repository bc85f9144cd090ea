"""What HTML styles hide. Reads the few declarations that make text unseen, inline and in simple style sheet rules."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from connectors.sync.parse.colours import BLACK, WHITE, Colour, alike, from_hex, named

_DECLARATION = re.compile(r"([-a-z]+)\s*:\s*([^;]+)", re.I)
_RULE = re.compile(r"([^{}@]+)\{([^{}]*)\}")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_AT_BLOCK = re.compile(r"@(?:media|supports|page|font-face|keyframes)[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", re.I)
_SIMPLE = re.compile(r"^(?=.)([a-z][a-z0-9]*|\*)?((?:[.#][-\w]+)*)$", re.I)
_SIZE = re.compile(r"^(-?[\d.]+)\s*(px|pt|em|rem|%|vw|vh)?$")
_RGB = re.compile(r"rgba?\(\s*(\d+)[,\s]+(\d+)[,\s]+(\d+)(?:[,/\s]+([\d.]+%?))?")
_HSL = re.compile(r"hsla?\(\s*(\d+(?:\.\d+)?)(?:deg)?[,\s]+(\d+(?:\.\d+)?)%[,\s]+(\d+(?:\.\d+)?)%")
_INHERITED = ("inherit", "initial", "unset", "currentcolor", "transparent")
_SMALLEST = 1.5  # px; what is not larger can't be read
_LARGEST_SHEET = 200_000
_MOST_RULES = 5_000


@dataclass(frozen=True, slots=True)
class Look:
    """How text looks at one place: its colour, what is behind it (None: a picture or gradient), if it is hidden."""

    colour: Colour | None = BLACK  # None: not known
    behind: Colour | None = WHITE
    hidden: bool = False
    size: float = 16.0  # px

    def under(self, declarations: dict[str, str]) -> Look:
        """The look of a child with these declarations."""
        if not declarations:
            return self
        stated = declarations.get("color", "inherit").strip()
        colour = self.colour if stated in _INHERITED else _colour(stated)
        size = _font_size(declarations.get("font-size", ""), self.size)
        behind = self.behind
        for name in ("background-color", "background"):
            if name in declarations:
                behind = _background(declarations[name], behind)
        transparent = declarations.get("color", "").replace(" ", "") in ("transparent", "rgba(0,0,0,0)")
        hidden = self.hidden or transparent or _is_hidden(declarations)
        return replace(self, colour=colour, behind=behind, hidden=hidden, size=size)

    @property
    def unseen(self) -> bool:
        """Nobody can read text that looks like this."""
        return self.hidden or self.size <= _SMALLEST or alike(self.colour, self.behind)


def declarations(style: str) -> dict[str, str]:
    """The declarations of a style attribute, lower case, without `!important`."""
    cleaned = _COMMENT.sub("", style)
    return {
        name.lower(): value.lower().replace("!important", "").strip() for name, value in _DECLARATION.findall(cleaned)
    }


@dataclass(frozen=True, slots=True)
class Names:
    """What selectors know an element by: its tag, `.class`es and `#id`."""

    tag: str
    marks: frozenset[str]

    def fits(self, simple: str) -> bool:
        """A simple selector, such as `td.head`, chooses it."""
        tag, mark = _parted(simple)
        return tag in ("", "*", self.tag) and mark <= self.marks


class Sheet:
    """The rules of a page's style sheets whose selectors are names and names within names (`thead th`, `tr > .x`).

    Rules for print or screens, and those that choose by state or place, are left out.
    """

    def __init__(self, css: str = "") -> None:
        self._rules: dict[str, list[tuple[tuple[str, ...], dict[str, str]]]] = {}  # by the selector's last name
        count = 0
        for selectors, body in _RULE.findall(_AT_BLOCK.sub("", _COMMENT.sub("", css[:_LARGEST_SHEET]))):
            for selector in selectors.lower().split(","):
                names = tuple(selector.replace(">", " ").split())
                count += 1
                if names and count <= _MOST_RULES and len(names) <= 6 and all(map(_SIMPLE.match, names)):
                    tag, marks = _parted(names[-1])
                    self._rules.setdefault(min(marks, default=tag), []).append((names, declarations(body)))

    def __bool__(self) -> bool:
        return bool(self._rules)

    def of(self, path: Sequence[Names]) -> dict[str, str]:
        """The declarations for an element, given the names from itself outward; the more exact rule counts."""
        own = path[0]
        chosen = [
            (_weight(names), told)
            for key in ("*", own.tag, *sorted(own.marks))
            for names, told in self._rules.get(key, ())
            if own.fits(names[-1]) and _within(names[:-1], path[1:])
        ]
        found: dict[str, str] = {}
        for _, told in sorted(chosen, key=lambda rule: rule[0]):
            found |= told
        return found


def _parted(simple: str) -> tuple[str, frozenset[str]]:
    match = _SIMPLE.match(simple)
    tag, marks = (match.group(1) or "", match.group(2) or "") if match else ("", "")
    return tag, frozenset(re.findall(r"[.#][-\w]+", marks))


def _weight(names: tuple[str, ...]) -> tuple[int, int, int]:
    whole = " ".join(names)
    return whole.count("#"), whole.count("."), len(names)


def _within(names: Sequence[str], path: Sequence[Names]) -> bool:
    """The names choose elements of the path in this order, from the outside in."""
    left = list(names)
    for each in path:
        if left and each.fits(left[-1]):
            left.pop()
    return not left


def _is_hidden(told: dict[str, str]) -> bool:
    if told.get("display") == "none" or told.get("visibility") in ("hidden", "collapse"):
        return True
    if _number(told.get("opacity", "1")) <= 0.05 or "scale(0)" in told.get("transform", ""):
        return True
    if "opacity(0" in told.get("filter", "") or told.get("clip", "").replace(" ", "").startswith("rect(0"):
        return True
    if "inset(50%" in told.get("clip-path", "") or "inset(100%" in told.get("clip-path", ""):
        return True
    away = any(_number(told.get(side, "0")) <= -500 for side in ("left", "top", "text-indent", "margin-left"))
    tiny = any(_number(told.get(side, "auto"), 99) <= 1 for side in ("height", "width", "max-height", "max-width"))
    return away or (tiny and told.get("overflow", "") in ("hidden", "clip"))


def _number(value: str, default: float = 0.0) -> float:
    match = re.match(r"^\s*(-?\d*\.?\d+)(%)?", value)
    if not match:
        return default
    return float(match.group(1)) / (100 if match.group(2) else 1)


def _font_size(value: str, inherited: float) -> float:
    match = _SIZE.match(value)
    if not match:
        return inherited
    number, unit = float(match.group(1)), match.group(2)
    match unit:
        case "pt":
            return number * 4 / 3
        case "em":
            return number * inherited
        case "%":
            return number / 100 * inherited
        case "rem":
            return number * 16
        case _:
            return number


def _colour(value: str) -> Colour | None:
    """The colour that a value states, None where it can't be known."""
    value = value.strip()
    if match := re.match(r"^#([0-9a-f]{3,8})$", value):
        digits = match.group(1)
        return from_hex("".join(d * 2 for d in digits[:3]) if len(digits) < 6 else digits[:6])
    if match := _RGB.match(value):
        return (int(match.group(1)), int(match.group(2)), int(match.group(3)))
    if match := _HSL.match(value):
        hue, full, light = (float(part) for part in match.groups())
        red, green, blue = colorsys.hls_to_rgb(hue / 360 % 1, min(light, 100) / 100, min(full, 100) / 100)
        return (round(red * 255), round(green * 255), round(blue * 255))
    return named(value)


def _background(value: str, behind: Colour | None) -> Colour | None:
    if "url(" in value or "gradient" in value:
        return None
    for part in re.findall(r"[a-z]+\([^)]*\)|[^\s]+", value):
        if part in ("none", "transparent", *_INHERITED):
            return behind
        if (match := _RGB.match(part)) and match.group(4) and _number(match.group(4)) < 0.9:
            return behind if _number(match.group(4)) <= 0.1 else None  # seen through
        if colour := _colour(part):
            return colour
        if part.startswith(("var(", "color(", "lab(", "oklch(", "hwb(")):
            return None
    return behind
