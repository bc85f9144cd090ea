"""Which lines of a PDF are headings, and of which level."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from connectors.sync.parse.pdfreading import Line
from connectors.sync.parse.pdftables import Found

SECTION = re.compile(
    r"^(?:(?:section|article|chapter|part|appendix)\s+)?((?:\d{1,2}|[A-Z])(?:\.\d{1,3})*)[.):]?\s+(?=[A-Z“\"(])", re.I
)


_RUNNING = 40  # characters; lines of paragraphs have as many
_LONGEST = 200  # characters of a heading, over its lines
_LONGEST_SENTENCE = 60
_SENTENCE_ENDS = (".", ".”", '."', ".)")


def key_of(text: str) -> str:
    """A heading's text without what may differ between bookmarks and page."""
    return re.sub(r"[\W_]+", "", text).casefold()


def _body_size(lines: Sequence[Line]) -> float:
    """The size of running text, in points: that of most characters in lines long enough to be of a paragraph."""
    for shortest in (_RUNNING, 0):
        sizes: Counter[float] = Counter()
        for line in lines:
            if len(line.text) >= shortest and len(line.pieces) <= 2:
                sizes[round(line.size * 2) / 2] += len(line.text)
        if sizes:
            return sizes.most_common(1)[0][0]
    return 10.0


class Levels:
    """Which lines are headings, and of which level: by the bookmarks, else by how they look."""

    def __init__(self, items: Sequence[Line | Found], contents: dict[str, int]) -> None:
        lines = [item for item in items if isinstance(item, Line)]
        self.body = _body_size(lines)
        self._contents = contents
        bold = sum(len(line.text) for line in lines if line.bold)
        self._bold_tells = bold < 0.4 * max(1, sum(len(line.text) for line in lines))
        looks = {self._look(line) for line in lines if self._stands_out(line)}
        self._ranks = {look: rank for rank, look in enumerate(sorted(looks), 1)}

    def of(self, line: Line) -> int | None:
        """The heading level of a line that is one, else None."""
        stated = self._contents.get(key_of(line.text))
        if stated is not None and len(line.text) > 2:
            return stated
        return self._ranks.get(self._look(line)) if self._stands_out(line) else None

    def is_heading(self, text: str, first: Line) -> bool:
        """What stands out as a whole names something: the bookmarks say so, or it is short and no sentence."""
        return self._is_stated(first) or not (
            len(text) > _LONGEST or (text.endswith(_SENTENCE_ENDS) and len(text) > _LONGEST_SENTENCE)
        )

    def _is_stated(self, line: Line) -> bool:
        return len(line.text) > 2 and key_of(line.text) in self._contents

    def alike(self, one: Line, other: Line) -> bool:
        """Two lines of one heading."""
        return abs(one.size - other.size) < 0.6 and one.bold == other.bold

    def _look(self, line: Line) -> tuple[float, int, int]:
        """Sorts outermost first: by size, then weight, then depth of its number."""
        numbered = SECTION.match(line.text)
        depth = numbered.group(1).count(".") + 1 if numbered else 0
        size = round(line.size * 2) / 2
        return (-max(size, self.body), 0 if line.bold else 1, depth)

    def _stands_out(self, line: Line) -> bool:
        text = line.text.strip()
        if len(text) < 2 or len(text) > 140 or len(line.pieces) > 2 or not re.search(r"[^\W\d_]{2}", text):
            return False
        numbered = SECTION.match(text)
        if line.size >= 1.14 * self.body:
            return not text.endswith((",", ";")) and (
                line.size >= 1.3 * self.body or numbered is not None or not text.endswith(".")
            )
        if not line.bold or not self._bold_tells or line.size < 0.93 * self.body or line.mono:
            return False
        if text.endswith((".", ",", ";")) and not numbered:
            return False
        return bool(numbered) or text[:1].isdigit() or (text[:1].isalpha() and not text[:1].islower())
