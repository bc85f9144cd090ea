"""What every format writes into: headings, text, lists, tables, code, and what was taken out.

One place decides what all formats share: how headings nest, which heading is the document's own title, that no
invisible character and no empty block gets through, and how much text may come out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from connectors.records import Block, Form, Hidden, ParsedRecord, Removal, Table
from connectors.sync.parse.invisible import visible
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.refusal import Refusal

_SPACES = re.compile(r"[^\S\n]+")
_AROUND_BREAKS = re.compile(r" ?\n ?")
_MANY_BREAKS = re.compile(r"\n{2,}")
_LONGEST_REMOVAL = 20_000
_MOST_REMOVALS = 500
_LONGEST_HEADING = 300
_FIRST_WORDS = 8  # that name a section whose heading says nothing; measured: docs/decisions/0002
_FIRST_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a list: how deep it stands, from 0, and its marker ("-", "3.", "b)")."""

    depth: int
    marker: str
    text: str


@dataclass(frozen=True, slots=True)
class _Heading:
    level: int
    text: str
    block: int  # how many blocks came before it
    page: int | None
    stands_alone: bool = True  # worth keeping when nothing follows under it
    wordless: bool = False  # named by what stands under it


def squeeze(text: str) -> str:
    """One space for any run of blanks, one break for any run of breaks, none at the ends."""
    text = _SPACES.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _MANY_BREAKS.sub("\n", _AROUND_BREAKS.sub("\n", text)).strip()


class Outline:
    """A document while it is being read. Formats call its methods in reading order, then `record` once."""

    def __init__(self, limits: Limits) -> None:
        self.page: int | None = None
        self._limits = limits
        self._blocks: list[Block] = []
        self._under: list[int] = []  # for each block, how many headings came before it
        self._headings: list[_Heading] = []
        self._removals: list[Removal] = []
        self._notices: dict[str, None] = {}
        self._invisible: Counter[str] = Counter()
        self._characters = 0

    def heading(self, level: int, text: str, *, stands_alone: bool = True) -> None:
        """A heading, 1 the outermost; what follows stands under it. One with nothing under it becomes text of its own,
        unless it only names a place, such as a sheet."""
        text = self.seen(text).replace("\n", " ")
        if not text:
            return
        if len(text) > _LONGEST_HEADING:  # a paragraph in the wrong style
            self.text(text)
            return
        self._headings.append(_Heading(level, text, len(self._blocks), self.page, stands_alone))

    def wordless_heading(self, level: int) -> None:
        """A heading that says nothing: it ends the section before it, and the first words under it name the next.
        With nothing under it, it is forgotten."""
        self._headings.append(_Heading(level, "", len(self._blocks), self.page, False, True))

    def text(self, text: str) -> None:
        """A paragraph; single line breaks in it are kept."""
        if text := self.seen(text):
            self._add(Block(Form.TEXT, (), text, page=self.page))

    def code(self, text: str) -> None:
        """Code or other text whose spaces count."""
        text = self._without_invisible(text.replace("\r\n", "\n").expandtabs(4)).strip("\n").rstrip()
        if text.strip():
            self._add(Block(Form.CODE, (), text, page=self.page))

    def items(self, items: Iterable[Item]) -> None:
        """A list. `Block.items` are its outermost items, each with what is nested under it."""
        lines: list[str] = []
        outer: list[str] = []
        kept = [replace(item, text=text) for item in items if (text := self.seen(item.text))]
        floor = min((item.depth for item in kept), default=0)
        for item in kept:
            indent = "  " * (item.depth - floor)
            body = item.text.replace("\n", "\n" + indent + "  ")
            lines.append(f"{indent}{item.marker} {body}")
            shown = body if item.marker == "-" else f"{item.marker} {body}"
            if item.depth == floor or not outer:
                outer.append(shown)
            else:
                outer[-1] += f"\n{indent}{item.marker} {body}"
        if lines:
            self._add(Block(Form.LIST, (), "\n".join(lines), page=self.page, items=tuple(outer)))

    def table(self, rows: Sequence[Sequence[str]], header_rows: int = 1, caption: str = "") -> None:
        """A table as a grid of cells, merged ones already repeated. Without header rows its headers are empty."""
        table = self._tabled(rows, header_rows, caption)
        if table is None:
            return
        if not table.rows or (len(table.headers) == 1 and len(table.rows) == 1 and not table.headers[0]):
            for cell in (*table.headers, *(cell for row in table.rows for cell in row)):
                self.text(cell)
            return
        self._add(Block(Form.TABLE, (), table_text(table), table=table, page=self.page))

    def continue_table(self, rows: Sequence[Sequence[str]], header_rows: int) -> bool:
        """Append to the table that ended last, if it has the same headers (or these rows have none and it fits)."""
        if not self._blocks or self._blocks[-1].table is None or self._under[-1] != len(self._headings):
            return False
        before = self._blocks[-1].table
        table = self._tabled(rows, header_rows, "")
        if table is None or len(table.headers) != len(before.headers):
            return False
        if any(table.headers) and table.headers != before.headers:
            return False
        whole = replace(before, rows=before.rows + table.rows)
        self._blocks[-1] = replace(self._blocks[-1], table=whole, text=table_text(whole))
        return True

    def hide(self, kind: Hidden, text: str) -> None:
        """Note text that was taken out because nobody can see it in the document."""
        if (text := squeeze(text)) and len(self._removals) < _MOST_REMOVALS:
            self._removals.append(Removal(kind, text[:_LONGEST_REMOVAL]))

    def notice(self, text: str) -> None:
        """Tell the admin something about the reading; said once."""
        self._notices[text] = None

    def seen(self, text: str) -> str:
        """The text as a reader sees it: squeezed, without invisible characters, which are counted."""
        return squeeze(self._without_invisible(text))

    @property
    def empty(self) -> bool:
        """Nothing was written that could be indexed."""
        return not self._blocks and not self._worded()

    def record(
        self, title: str | None = None, fallback_title: str | None = None, *, own_heading: bool = True
    ) -> ParsedRecord:
        """The finished record. `title` is what the document declares; else a single outermost heading at the top is
        taken, else `fallback_title`."""
        own = self._own_heading() if own_heading else None
        chosen = self.seen(title or "") or (own.text if own else "") or self.seen(fallback_title or "")
        paths = self._paths(own)
        blocks = tuple(self._under_headings(own, paths))
        removals = list(self._removals)
        if self._invisible:
            counted = ", ".join(f"U+{ord(c):04X} x{n}" for c, n in sorted(self._invisible.items()))
            removals.append(Removal(Hidden.INVISIBLE, counted[:_LONGEST_REMOVAL]))
        return ParsedRecord(chosen or None, blocks, tuple(removals), tuple(self._notices))

    # ------------------------------------------------------------ inside

    def _without_invisible(self, text: str) -> str:
        found = visible(text)
        self._invisible.update(found.counts)
        for payload in found.payloads:
            self.hide(Hidden.INVISIBLE, payload)
        return found.text

    def _tabled(self, rows: Sequence[Sequence[str]], header_rows: int, caption: str) -> Table | None:
        grid = [[self.seen(cell).replace("\n", " ") for cell in row] for row in rows]
        width = max((len(row) for row in grid), default=0)
        grid = [row + [""] * (width - len(row)) for row in grid]
        kept = [column for column in range(width) if any(row[column] for row in grid)]
        heads = [[row[column] for column in kept] for row in grid[:header_rows]]
        body = [tuple(row[column] for column in kept) for row in grid[header_rows:]]
        body = [row for row in body if any(row)]
        if not kept:
            return None
        headers = tuple(" ".join(dict.fromkeys(filter(None, parts))) for parts in zip(*heads, strict=True))
        return Table(headers or ("",) * len(kept), tuple(body), self.seen(caption))

    def _add(self, block: Block) -> None:
        self._characters += len(block.text)
        if self._characters > self._limits.characters:
            raise Refusal(f"holds more than {self._limits.characters:,} characters of text")
        if self._headings and not self._headings[-1].text:
            self._headings[-1] = replace(self._headings[-1], text=_first_words(block.text))
        self._blocks.append(block)
        self._under.append(len(self._headings))

    def _own_heading(self) -> _Heading | None:
        """The first heading, if it is the only one of its level, none is above it, and little text is before it."""
        if not self._worded():
            return None
        first, *rest = self._worded()
        alone = first.level == 1 and all(other.level > first.level for other in rest)
        return first if alone and first.block <= 3 else None

    def _under_headings(self, own: _Heading | None, paths: list[tuple[str, ...]]) -> Iterator[Block]:
        """The blocks under their paths, and headings that nothing follows as text, so that they are found."""
        place = 0
        for count, heading in enumerate([*self._headings, None]):
            while place < len(self._blocks) and self._under[place] == count:
                yield replace(self._blocks[place], heading_path=paths[count])
                place += 1
            if heading is None or not heading.stands_alone:
                continue
            if heading is own and (self._blocks or len(self._worded()) > 1):
                continue
            after = self._headings[count + 1] if count + 1 < len(self._headings) else None
            bare = place == len(self._blocks) or self._under[place] != count + 1
            if bare and (after is None or after.level <= heading.level):
                yield Block(Form.TEXT, paths[count + 1], heading.text, page=heading.page)

    def _paths(self, own: _Heading | None) -> list[tuple[str, ...]]:
        """The heading path after each number of headings."""
        paths: list[tuple[str, ...]] = [()]
        stack: list[_Heading] = []
        for heading in self._headings:
            while stack and stack[-1].level >= heading.level:
                stack.pop()
            if heading is not own:
                stack.append(heading)
            paths.append(tuple(each.text for each in stack if each.text))
        return paths

    def _worded(self) -> list[_Heading]:
        return [heading for heading in self._headings if not heading.wordless]


def _first_words(text: str) -> str:
    """What a section without a heading is called; a number at its beginning would be taken for the section's."""
    letter = _FIRST_LETTER.search(text)
    words = text[letter.start() if letter else 0 :].split()
    return " ".join(words[:_FIRST_WORDS])[:_LONGEST_HEADING] + (" …" if len(words) > _FIRST_WORDS else "")


def table_text(table: Table) -> str:
    """One line a row, cells joined by a bar, the headers first where there are any."""
    lines = ([table.headers] if any(table.headers) else []) + list(table.rows)
    return "\n".join(" | ".join(line) for line in lines)
