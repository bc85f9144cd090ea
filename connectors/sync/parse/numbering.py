"""The numbers that Word prints before headings and list items, which stand nowhere in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lxml import etree

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
          (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_PLACE = re.compile(r"%(\d)")


@dataclass(frozen=True, slots=True)
class _Level:
    format: str = "bullet"
    pattern: str = ""
    start: int = 1
    style: str | None = None


@dataclass(slots=True)
class Numbering:
    """Counts as Word does while paragraphs are read in order."""

    levels: dict[str, dict[int, _Level]] = field(default_factory=dict)  # by abstract list
    lists: dict[str, str] = field(default_factory=dict)  # list to abstract list
    overrides: dict[tuple[str, int], _Level] = field(default_factory=dict)
    restarts: dict[tuple[str, int], int] = field(default_factory=dict)
    counters: dict[str, dict[int, int]] = field(default_factory=dict)
    seen: set[tuple[str, int]] = field(default_factory=set)

    def marker(self, number: str, depth: int) -> str | None:
        """The marker of the next paragraph of this list and depth: "-" for a bullet, None if the list is unknown."""
        abstract = self.lists.get(number)
        if abstract is None:
            return None
        level = self._level(number, depth)
        if level.format == "none":
            return None
        counter = self.counters.setdefault(abstract, {})
        if (number, depth) in self.restarts and (number, depth) not in self.seen:
            counter[depth] = self.restarts[number, depth] - 1
        self.seen.add((number, depth))
        counter[depth] = counter.get(depth, level.start - 1) + 1
        for deeper in [each for each in counter if each > depth]:
            del counter[deeper]
        if level.format == "bullet":
            return "-"

        def place(match: re.Match[str]) -> str:
            at = int(match.group(1)) - 1
            other = self._level(number, at)
            return _numeral(counter.get(at, other.start), other.format)

        return _PLACE.sub(place, level.pattern).strip() or None

    def _level(self, number: str, depth: int) -> _Level:
        abstract = self.lists.get(number, "")
        return self.overrides.get((number, depth)) or self.levels.get(abstract, {}).get(depth) or _Level()


def numbering(root: etree._Element | None) -> Numbering:
    """What `numbering.xml` says."""
    found = Numbering()
    if root is None:
        return found
    for abstract in root.iter(W + "abstractNum"):
        found.levels[abstract.get(W + "abstractNumId", "")] = {
            _integer(level.get(W + "ilvl")): _read(level) for level in abstract.iter(W + "lvl")
        }
    for number in root.iter(W + "num"):
        own = number.get(W + "numId", "")
        found.lists[own] = _value(number, "abstractNumId") or ""
        for override in number.iter(W + "lvlOverride"):
            depth = _integer(override.get(W + "ilvl"))
            level = override.find(W + "lvl")
            if level is not None:
                found.overrides[own, depth] = _read(level)
            if (start := _value(override, "startOverride")) is not None:
                found.restarts[own, depth] = _integer(start, 1)
    return found


def _read(level: etree._Element) -> _Level:
    return _Level(
        _value(level, "numFmt") or "decimal",
        _value(level, "lvlText") or "",
        _integer(_value(level, "start"), 1),
        _value(level, "pStyle"),
    )


def _value(element: etree._Element, name: str) -> str | None:
    child = element.find(W + name)
    return None if child is None else child.get(W + "val")


def _integer(value: str | None, default: int = 0) -> int:
    return int(value) if value and value.lstrip("-").isdigit() else default


def _numeral(number: int, form: str) -> str:
    match form:
        case "lowerLetter" | "upperLetter" if 0 < number <= 780:
            letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
            return letters.upper() if form == "upperLetter" else letters
        case "lowerRoman" | "upperRoman" if 0 < number < 4000:
            roman, rest = "", number
            for value, letters in _ROMAN:
                roman += letters * (rest // value)
                rest %= value
            return roman.upper() if form == "upperRoman" else roman
        case "decimalZero":
            return f"{number:02}"
        case "bullet" | "none":
            return ""
        case _:
            return str(number)
