"""HTML: what a browser would show, as structure. Scripts, styles, navigation and page furniture are left out; text
that is styled not to be seen is taken out and told. Nothing is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree
from lxml import html as lxml_html

from connectors.records import Hidden, ParsedRecord
from connectors.sync.parse.encoding import decoded
from connectors.sync.parse.grid import Span, grid
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.outline import Item, Outline, squeeze
from connectors.sync.parse.refusal import Refusal
from connectors.sync.parse.styles import Look, Names, Sheet, declarations

_CHARSET = re.compile(rb"<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*[\"']?\s*([-\w]+)", re.I)
_ENTITY = re.compile(rb"<!ENTITY", re.I)
_DROPPED = {
    "script", "style", "head", "title", "meta", "link", "template", "noscript", "iframe", "object", "embed", "svg",
    "math", "canvas", "audio", "video", "nav", "footer", "select", "datalist", "button", "input", "textarea", "map",
    "frameset", "applet", "dialog",
}  # fmt: skip
_FURNITURE = {"navigation", "banner", "contentinfo", "search"}
_LONGEST_CELL = 400  # characters; longer ones with structure inside are laid out, not tabled
_INLINE = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
    "time", "tt", "u", "var", "wbr", "img", "br", "nobr", "input", "blink", "meter", "output", "progress",
}  # fmt: skip
_HEADING = re.compile(r"^h([1-6])$")
_TALLEST_HEAD = 3  # rows; a taller cell labels the rows beside it
_SCREEN_READER = {"sr-only", "visually-hidden", "screen-reader-text", "visuallyhidden", "screenreader-only"}


def read(body: bytes, limits: Limits) -> ParsedRecord:
    """An HTML document."""
    if _ENTITY.search(body[:100_000]):
        raise Refusal("declares entities of its own, which no page needs; it may be hostile")
    declared = _CHARSET.search(body[:4096])
    text = decoded(body, declared.group(1).decode("ascii") if declared else None)
    outline = Outline(limits)
    title = write(outline, text)
    return outline.record(fallback_title=title)


def write(outline: Outline, text: str) -> str | None:
    """Write a page's content into the outline; returns what its `<title>` says."""
    parser = lxml_html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False, remove_pis=True)
    try:
        root = lxml_html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError:
        return None
    css = "\n".join(element.text or "" for element in root.iter("style"))
    for comment in root.iter(etree.Comment):
        outline.hide(Hidden.COMMENT, comment.text or "")
    _Walk(outline, Sheet(css)).whole(root)
    titles = root.findall(".//title")
    return squeeze("".join(_texts(titles[0]))) if titles else None


def write_tree(outline: Outline, root: etree._Element) -> None:
    """Write content that is a tree already, its elements named as in HTML and without a style sheet."""
    _Walk(outline, Sheet("")).whole(root)


class _Walk:
    """One pass over a tree, gathering inline text until a block ends."""

    def __init__(self, outline: Outline, css: Sheet) -> None:
        self._outline = outline
        self._css = css
        self._line: list[str] = []

    def whole(self, root: etree._Element) -> None:
        """Walk everything."""
        self._children(root, self._look(root, Look()))
        self._flush()

    # ------------------------------------------------------------ blocks

    def _element(self, element: etree._Element, look: Look) -> None:
        tag = element.tag
        if not isinstance(tag, str):
            return
        if self._is_dropped(element):
            return
        look = self._look(element, look)
        if look.hidden:
            self._outline.hide(Hidden.STYLED, "".join(_texts(element)))
            return
        if tag in _INLINE and not _holds_block(element):
            self._line.append(self._inline(element, look))
            return
        self._flush()
        self._block(element, tag, look)
        self._flush()

    def _block(self, element: etree._Element, tag: str, look: Look) -> None:
        if level := _HEADING.match(tag):
            self._heading(element, int(level.group(1)), look)
        elif tag == "pre":
            self._outline.code(self._inside(element, look, keep=True))
        elif tag in ("ul", "ol", "menu", "dir"):
            self._list(element, look)
        elif tag == "dl":
            self._definitions(element, look)
        elif tag == "table":
            self._table(element, look)
        else:
            self._children(element, look)

    def _children(self, element: etree._Element, look: Look) -> None:
        self._say(element.text, look)
        for child in element:
            self._element(child, look)
            self._say(child.tail, look)

    def _heading(self, element: etree._Element, level: int, look: Look) -> None:
        text = self._inside(element, look)
        if text.strip():
            self._outline.heading(level, text)
        else:
            self._outline.wordless_heading(level)

    def _list(self, element: etree._Element, look: Look) -> None:
        items: list[Item] = []
        after: list[etree._Element] = []
        self._gather(element, look, 0, items, after)
        self._outline.items(items)
        for block in after:
            self._element(block, look)

    def _gather(
        self, element: etree._Element, look: Look, depth: int, items: list[Item], after: list[etree._Element]
    ) -> None:
        ordered = element.tag == "ol"
        number = _integer(element.get("start"), 1)
        for child in element:
            if not isinstance(child.tag, str) or self._is_dropped(child):
                continue
            inner = self._look(child, look)
            if inner.hidden:
                self._outline.hide(Hidden.STYLED, "".join(_texts(child)))
            elif child.tag in ("ul", "ol"):
                self._gather(child, inner, depth + 1, items, after)
            elif child.tag == "li":
                number = _integer(child.get("value"), number)
                at = len(items)
                text = self._item(child, inner, depth, items, after)
                items.insert(at, Item(depth, f"{number}." if ordered else "-", text))
                number += 1
            elif text := self._inside(child, inner):
                items.append(Item(depth, "-", text))

    def _item(
        self, element: etree._Element, look: Look, depth: int, items: list[Item], after: list[etree._Element]
    ) -> str:
        """The item's own text; nested lists are gathered behind it, tables and code are left for after the list."""
        parts: list[str] = [self._seen(element.text or "", look)]
        for child in element:
            if isinstance(child.tag, str) and not self._is_dropped(child):
                inner = self._look(child, look)
                if inner.hidden:
                    self._outline.hide(Hidden.STYLED, "".join(_texts(child)))
                elif child.tag in ("ul", "ol"):
                    self._gather(child, inner, depth + 1, items, after)
                elif child.tag == "dl":
                    self._define(child, inner, depth + 1, items)
                elif child.tag in ("table", "pre"):
                    after.append(child)
                elif child.tag in _INLINE and not _holds_block(child):
                    parts.append(self._inline(child, inner))
                elif child.find(".//li") is not None or child.find(".//table") is not None:
                    parts += ["\n", self._item(child, inner, depth, items, after), "\n"]
                else:
                    parts += ["\n", self._inside(child, inner), "\n"]
            parts.append(self._seen(child.tail or "", look))
        return "".join(parts)

    def _definitions(self, element: etree._Element, look: Look) -> None:
        items: list[Item] = []
        self._define(element, look, 0, items)
        self._outline.items(items)

    def _define(self, element: etree._Element, look: Look, depth: int, items: list[Item]) -> None:
        """Each term with its first definition; further ones and nested lists below it."""
        term = False
        for child in element:
            if not isinstance(child.tag, str) or self._is_dropped(child):
                continue
            inner = self._look(child, look)
            if inner.hidden:
                self._outline.hide(Hidden.STYLED, "".join(_texts(child)))
            elif child.tag == "div":
                self._define(child, inner, depth, items)
            elif child.tag == "dt":
                items.append(Item(depth, "-", self._inside(child, inner)))
                term = True
            else:
                behind: list[Item] = []
                after: list[etree._Element] = []
                text = squeeze(self._item(child, inner, depth, behind, after))
                if term and text:
                    items[-1] = Item(depth, "-", f"{squeeze(items[-1].text)}: {text}")
                elif text:
                    items.append(Item(depth + 1 if items else depth, "-", text))
                items += behind
                term = False

    # ------------------------------------------------------------ tables

    def _table(self, element: etree._Element, look: Look) -> None:
        rows = [row for row in element.iter("tr") if _nearest_table(row) is element]
        caption = element.find("caption")
        told = "" if caption is None else self._inside(caption, self._look(caption, look))
        if not rows:
            self._children(element, look)
            return
        if _is_layout(element, rows):
            self._outline.text(told)
            for row in rows:
                dressed = self._dressed(row, element, look)
                for cell in row:
                    self._element(cell, dressed)
                    self._flush()
            return
        cells: list[list[Span]] = []
        heads = 0
        for row in rows:
            dressed = self._dressed(row, element, look)
            if dressed.hidden:
                self._outline.hide(Hidden.STYLED, "".join(_texts(row)))
                continue
            cells.append([self._cell(cell, dressed) for cell in row if cell.tag in ("td", "th")])
            if heads == len(cells) - 1 and _is_head(row):
                heads += 1
        by_rows = not heads and bool(rows) and all(_first_is_head(row) for row in rows if len(row))
        self._outline.table(grid(cells), heads or (0 if by_rows else 1), told)

    def _dressed(self, row: etree._Element, table: etree._Element, look: Look) -> Look:
        """The look of a row, with that of the part of the table that holds it."""
        part = row.getparent()
        if part is not None and part is not table:
            look = self._look(part, look)
        return self._look(row, look)

    def _cell(self, element: etree._Element, look: Look) -> Span:
        look = self._look(element, look)
        if look.hidden:
            self._outline.hide(Hidden.STYLED, "".join(_texts(element)))
            return Span("")
        right, down = _integer(element.get("colspan"), 1), _integer(element.get("rowspan"), 1)
        return Span(self._inside(element, look), max(right, 1), max(down, 1))

    # ------------------------------------------------------------ text

    def _inside(self, element: etree._Element, look: Look, keep: bool = False) -> str:
        """All text of an element in one string, blocks in it on lines of their own."""
        parts = [self._seen(element.text or "", look, keep)]
        for child in element:
            if isinstance(child.tag, str) and not self._is_dropped(child):
                inner = self._look(child, look)
                if inner.hidden:
                    self._outline.hide(Hidden.STYLED, "".join(_texts(child)))
                elif child.tag == "br":
                    parts.append("\n")
                elif child.tag in _INLINE:
                    parts.append(self._inside(child, inner, keep))
                elif child.tag in ("td", "th"):
                    parts += [self._inside(child, inner, keep), " "]
                else:
                    parts += ["\n", self._inside(child, inner, keep), "\n"]
            parts.append(self._seen(child.tail or "", look, keep))
        return "".join(parts)

    def _inline(self, element: etree._Element, look: Look) -> str:
        if element.tag == "br":
            return "\n"
        return self._inside(element, look)

    def _say(self, text: str | None, look: Look) -> None:
        if text:
            self._line.append(self._seen(text, look))

    def _seen(self, text: str, look: Look, keep: bool = False) -> str:
        """The text if it can be seen here; line ends in the source are blanks unless kept."""
        if text.strip() and look.unseen:
            self._outline.hide(Hidden.STYLED, text)
            return " "
        return text if keep else re.sub(r"\s+", " ", text)

    def _flush(self) -> None:
        text, self._line = "".join(self._line), []
        self._outline.text(text)

    # ------------------------------------------------------------ what to leave out

    def _look(self, element: etree._Element, look: Look) -> Look:
        told: dict[str, str] = {}
        if self._css:
            told |= self._css.of([_names(each) for each in (element, *element.iterancestors())])
        if style := element.get("style"):
            told |= declarations(style)
        if colour := element.get("bgcolor"):
            told.setdefault("background-color", colour.lower())
        if element.tag == "body" and (colour := element.get("text")):
            told.setdefault("color", colour.lower())
        if element.get("background"):
            told.setdefault("background", "url()")
        if element.tag == "font" and (colour := element.get("color")):
            told.setdefault("color", colour.lower())
        if element.get("hidden") is not None:
            told["display"] = "none"
        if element.get("class") and not _SCREEN_READER.isdisjoint(element.get("class", "").split()):
            told["display"] = "none"
        return look.under(told)

    def _is_dropped(self, element: etree._Element) -> bool:
        tag = element.tag
        if tag in _DROPPED or element.get("role") in _FURNITURE:
            return True
        return tag == "header" and next(element.iter("h1", "h2", "h3", "h4", "h5", "h6"), None) is None


def _names(element: etree._Element) -> Names:
    marks = {f".{name}" for name in (element.get("class") or "").lower().split()}
    marks |= {"#" + element.get("id", "").lower()} if element.get("id") else set()
    return Names(str(element.tag), frozenset(marks))


def _texts(element: etree._Element) -> Iterator[str]:
    for part in element.itertext(with_tail=False):
        yield str(part)


def _holds_block(element: etree._Element) -> bool:
    return any(
        isinstance(inner.tag, str) and inner.tag not in _INLINE and inner.tag not in _DROPPED
        for inner in element.iterdescendants()
    )


def _nearest_table(row: etree._Element) -> etree._Element | None:
    return next(row.iterancestors("table"), None)


def _is_head(row: etree._Element) -> bool:
    cells = [cell for cell in row if cell.tag in ("td", "th")]
    parent = row.getparent()
    inside = parent is not None and parent.tag == "thead"
    if any(_integer(cell.get("rowspan"), 1) > _TALLEST_HEAD for cell in cells):
        return False
    return bool(cells) and (inside or all(cell.tag == "th" for cell in cells))


def _first_is_head(row: etree._Element) -> bool:
    cells = [cell for cell in row if cell.tag in ("td", "th")]
    return len(cells) > 1 and cells[0].tag == "th" and all(cell.tag == "td" for cell in cells[1:])


def _is_layout(table: etree._Element, rows: list[etree._Element]) -> bool:
    """A table that only places things: one cell, or one column or long cells with tables or headings inside."""
    cells = [cell for row in rows for cell in row if cell.tag in ("td", "th")]
    if table.get("role") in ("presentation", "none") or len(cells) <= 1:
        return True
    structured = any(
        isinstance(inner.tag, str) and (inner.tag == "table" or _HEADING.match(inner.tag))
        for row in rows
        for inner in row.iterdescendants()
    )
    wide = max(sum(1 for cell in row if cell.tag in ("td", "th")) for row in rows)
    longest = max(sum(len(text.strip()) for text in _texts(cell)) for cell in cells)
    return structured and (wide <= 1 or longest > _LONGEST_CELL)


def _integer(value: str | None, default: int) -> int:
    try:
        return min(int(value), 1_000) if value else default
    except ValueError:
        return default
