"""What HTML styles hide. Reads the few declarations that make text unseen, inline and in simple style sheet rules."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_DECLARATION = re.compile(r"([-a-z]+)\s*:\s*([^;]+)", re.I)
_RULE = re.compile(r"([^{}@]+)\{([^{}]*)\}")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_AT_BLOCK = re.compile(r"@(?:media|supports|page|font-face|keyframes)[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", re.I)
_SIMPLE = re.compile(r"^([a-z][a-z0-9]*)?([.#][-\w]+)?$", re.I)
_SIZE = re.compile(r"^(-?[\d.]+)\s*(px|pt|em|rem|%|vw|vh)?$")
_RGB = re.compile(r"rgba?\(\s*(\d+)[,\s]+(\d+)[,\s]+(\d+)(?:[,/\s]+([\d.]+%?))?")
_NAMED = {"white": (255, 255, 255), "black": (0, 0, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240)}
_NEAR = 24  # summed difference of red, green and blue that no eye tells apart on a page
_SMALLEST = 1.5  # px; what is not larger can't be read
_LARGEST_SHEET = 200_000

Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Look:
    """How text looks at one place: its colour, what is behind it (None: a picture or gradient), if it is hidden."""

    colour: Colour = (0, 0, 0)
    behind: Colour | None = (255, 255, 255)
    hidden: bool = False
    size: float = 16.0  # px

    def under(self, declarations: dict[str, str]) -> Look:
        """The look of a child with these declarations."""
        if not declarations:
            return self
        colour = _colour(declarations.get("color", "")) or self.colour
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
        return self.hidden or self.size <= _SMALLEST or (self.behind is not None and _close(self.colour, self.behind))


def declarations(style: str) -> dict[str, str]:
    """The declarations of a style attribute, lower case, without `!important`."""
    cleaned = _COMMENT.sub("", style)
    return {
        name.lower(): value.lower().replace("!important", "").strip() for name, value in _DECLARATION.findall(cleaned)
    }


def sheet(css: str) -> dict[str, dict[str, str]]:
    """Declarations by simple selector: `tag`, `.class`, `#id`, `tag.class`. Rules for print or screens are left out."""
    cleaned = _AT_BLOCK.sub("", _COMMENT.sub("", css[:_LARGEST_SHEET]))
    found: dict[str, dict[str, str]] = {}
    for selectors, body in _RULE.findall(cleaned):
        for selector in selectors.split(","):
            if _SIMPLE.match(selector.strip()):
                found.setdefault(selector.strip().lower(), {}).update(declarations(body))
    return found


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
    value = value.strip()
    if value in _NAMED:
        return _NAMED[value]
    if match := re.match(r"^#([0-9a-f]{3,8})$", value):
        digits = match.group(1)
        if len(digits) in (3, 4):
            digits = "".join(d * 2 for d in digits)
        return (int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)) if len(digits) >= 6 else None
    if match := _RGB.match(value):
        return (int(match.group(1)), int(match.group(2)), int(match.group(3)))
    return (128, 128, 128) if value and value not in ("inherit", "initial", "unset", "transparent") else None


def _background(value: str, behind: Colour | None) -> Colour | None:
    if "url(" in value or "gradient" in value:
        return None
    for part in re.findall(r"rgba?\([^)]*\)|[^\s]+", value):
        if part in ("none", "transparent", "inherit", "initial", "unset"):
            return behind
        if colour := _colour(part):
            return colour
    return behind


def _close(one: Colour, other: Colour) -> bool:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= _NEAR
