"""Plain text: paragraphs, lists, and headings where underlines, numbers or capitals show them beyond doubt."""

from __future__ import annotations

import re

from connectors.records import ParsedRecord
from connectors.sync.parse.encoding import decoded
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.outline import Item, Outline

_UNDERLINE = re.compile(r"^([=\-~^*#])\1{2,}$")
_NUMBERED = re.compile(r"^(?:(?:section|article|chapter|part|appendix)\s+)?((?:\d+|[A-Z])(?:\.\d+)*)[.)]?\s+\S", re.I)
_ITEM = re.compile(r"^(\s*)([-*•‣▪◦–]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+(.*)$")
_ENDS_SENTENCE = re.compile(r"[.!?;:,]$")
_LEVELS = {"=": 1, "#": 1, "*": 1, "-": 2, "~": 3, "^": 3}
_LONGEST_HEADING = 90


def read(body: bytes, limits: Limits) -> ParsedRecord:
    """The text's structure, as far as it shows."""
    outline = Outline(limits)
    lines = decoded(body).replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n").split("\n")
    for paragraph in _paragraphs(lines):
        _write(outline, paragraph)
    return outline.record()


def _paragraphs(lines: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line.rstrip())
        elif found[-1]:
            found.append([])
    return [each for each in found if each]


def _write(outline: Outline, lines: list[str]) -> None:
    if len(lines) >= 2 and (mark := _UNDERLINE.match(lines[1].strip())):
        outline.heading(_LEVELS[mark.group(1)], lines[0])
        lines = lines[2:]
    elif len(lines) == 1 and (level := _heading_level(lines[0].strip())):
        outline.heading(level, lines[0])
        return
    plain: list[str] = []
    items: list[Item] = []
    for line in lines:
        match = _ITEM.match(line)
        if match:
            indent, marker, text = match.groups()
            items.append(Item(len(indent.expandtabs(4)) // 2, marker if marker[-1] in ".)" else "-", text))
        elif items and line[:1].isspace():
            last = items.pop()
            items.append(Item(last.depth, last.marker, f"{last.text} {line.strip()}"))
        else:
            if items:
                _flush(outline, plain, items)
                plain, items = [], []
            plain.append(line.strip())
    _flush(outline, plain, items)


def _flush(outline: Outline, plain: list[str], items: list[Item]) -> None:
    if plain:
        outline.text("\n".join(plain) if _is_verse(plain) else " ".join(plain))
    if items:
        outline.items(items)


def _is_verse(lines: list[str]) -> bool:
    """Short lines that stand alone, such as an address or key: value pairs, are not flowed together."""
    return len(lines) > 1 and (max(map(len, lines)) < 50 or all(re.match(r"^[\w ]{1,30}:\s", line) for line in lines))


def _heading_level(line: str) -> int | None:
    if len(line) > _LONGEST_HEADING or _ENDS_SENTENCE.search(line) or line.count("|") > 1:
        return None
    if line.startswith("#") and (hashes := re.match(r"^#{1,6}(?=\s)", line)):
        return len(hashes.group())
    numbered = _NUMBERED.match(line)
    if numbered and len(line.split()) <= 12 and line[len(numbered.group()) - 1 :][:1].isupper():
        return numbered.group(1).count(".") + 2
    if line.isupper() and 3 <= len(line) <= 70 and len(re.findall(r"[A-Z]{2,}", line)) >= 1 and len(line.split()) <= 9:
        return 2
    return None
