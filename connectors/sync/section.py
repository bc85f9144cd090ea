"""How the sections of a document are named on the spine: by their own number where they have one, else by their words.

A name depends on headings alone, so an edit of the text under one heading leaves every other section's name as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from hashlib import sha256

TOP = "top"  # what stands before the first heading

HeadingPath = tuple[str, ...]

_LONGEST_SLUG = 60
_WORDED = re.compile(
    r"(?:(?:section|sec|article|art|chapter|clause|part|appendix|annex|schedule)(?:\.\s*|\s+|(?=\d))|§+\s*)"
    r"((?:[A-Z]\.)?\d{1,4}(?:\.\d{1,4})*[a-z]?|[A-Z](?:\.\d{1,4})*|[IVXL]{1,6})(?=[\s.:)\-–—]|$)",
    re.IGNORECASE,
)
_MULTIPART = re.compile(r"((?:[A-Z]|\d{1,4})(?:\.\d{1,4}){1,6}[a-z]?)\.?(?=[\s:)\-–—]|$)")
_DOTTED = re.compile(r"([A-Z]|\d{1,3}|[IVXL]{1,6})[.):](?=\s|$)")
_BARE = re.compile(r"(\d{1,2})(?=\s+[A-Z])")


def number_of(heading: str) -> str | None:
    """The number a heading begins with, as written: `C.2`, `4.2`, `3`; None where it has none."""
    heading = heading.strip()
    for pattern in (_WORDED, _MULTIPART, _DOTTED, _BARE):
        found = pattern.match(heading)
        if found:
            return found[1]
    return None


def slug(text: str) -> str:
    """Words joined by hyphens, lower case; a long one is cut and told apart by its digest."""
    words = re.sub(r"[^\w.]+", "-", unicodedata.normalize("NFC", text).casefold()).strip("-._")
    if not words:
        return sha256(text.encode()).hexdigest()[:8]
    if len(words) <= _LONGEST_SLUG:
        return words
    return f"{words[:_LONGEST_SLUG].rstrip('-._')}-{sha256(words.encode()).hexdigest()[:6]}"


def section_names(paths: Sequence[HeadingPath]) -> tuple[list[str], Mapping[HeadingPath, str]]:
    """One unique name a section, in document order, and the name of every heading, with text of its own or without.

    `paths` may repeat: each occurrence is a section of its own.
    """
    taken = {TOP} if () not in paths else set()
    named: dict[HeadingPath, str] = {}
    names = []
    for path in paths:
        _name_above(path, named, taken)
        name = _free(path, named, taken)
        named.setdefault(path, name)
        names.append(name)
    return names, named


def _name_above(path: HeadingPath, named: dict[HeadingPath, str], taken: set[str]) -> None:
    # A heading without text of its own still takes its name, so that text added under it later changes no other's.
    for depth in range(1, len(path)):
        if path[:depth] not in named:
            named[path[:depth]] = _free(path[:depth], named, taken, reserve=False)


def _free(path: HeadingPath, named: dict[HeadingPath, str], taken: set[str], reserve: bool = True) -> str:
    if path in named and named[path] not in taken:
        taken.add(named[path])
        return named[path]
    wanted = _candidates(path, named)
    others = {name for known, name in named.items() if known != path}
    name = next((name for name in wanted if name not in taken and name not in others), "")
    occurrence = 2
    while not name:
        name = f"{wanted[-1]}~s{occurrence}"
        if name in taken or name in others:
            name, occurrence = "", occurrence + 1
    if reserve:
        taken.add(name)
    return name


def _candidates(path: HeadingPath, named: dict[HeadingPath, str]) -> list[str]:
    """The names a section may have, the preferred one first."""
    if not path:
        return [TOP]
    above = named[path[:-1]] if len(path) > 1 else ""
    joined = f"{above}/" if above else ""
    number = number_of(path[-1])
    if number is None:
        return [joined + slug(path[-1])]
    over = next((found for heading in reversed(path[:-1]) if (found := number_of(heading))), None)
    alone = "." in number and (over is None or number.startswith((f"{over}.", f"{over.rstrip('.')}.")))
    return [number, joined + number] if alone or not above else [joined + number]
