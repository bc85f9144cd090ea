"""Confluence's storage format: XHTML with `ac:` and `ri:` elements, brought to plain HTML and read as that.

No macro is run and nothing is fetched: what would show another page, a list of pages or somebody else's data leaves a
neutral placeholder that names nothing. What a page's readers can't see (parameters, placeholders, hidden excerpts and
properties) is taken out. Broken XML is read as far as a browser would.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.entities import html5

from lxml import etree
from lxml import html as lxml_html

from connectors.records import Hidden, ParsedRecord
from connectors.sync.parse import html
from connectors.sync.parse.encoding import decoded
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.outline import Outline
from connectors.sync.parse.refusal import Refusal

INCLUDED = "[included: separate document]"
"""What stands where a macro would show something else: that is found by itself, under its own rights."""

SOMEONE = "@someone"
"""Who is mentioned where a page holds no name of his."""
HIDEABLE = frozenset({"details", "excerpt", "multiexcerpt", "multiexcerpt-macro"})
"""Macros that their author can hide with what they hold."""

_AC, _RI = "urn:ac", "urn:ri"
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_OF_XML = frozenset({"amp", "lt", "gt", "quot", "apos"})
_FORBIDDEN = re.compile(r"<!(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)", re.I)
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.S)
_DEEPEST = 200
_ELSEWHERE = frozenset({
    "include", "excerpt-include", "multiexcerpt-include", "multiexcerpt-include-macro", "children", "pagetree",
    "pagetreesearch", "contentbylabel", "content-by-user", "detailssummary", "content-report-table", "recently-updated",
    "recently-updated-dashboard", "blog-posts", "attachments", "gallery", "viewfile", "view-file", "viewpdf", "viewdoc",
    "viewxls", "viewppt", "tasks-report-macro", "task-report", "space-attachments", "index", "spaces-list",
    "list-pages", "livesearch", "labels-list", "related-labels", "popular-labels", "listlabels", "favpages",
    "create-from-template",
    "change-history", "contributors", "contributors-summary", "global-reports", "network", "profile", "profile-picture",
    "userlister", "im", "rss", "iframe", "widget", "html-include", "multimedia", "chart", "calendar", "team-calendars",
    "roadmap", "drawio", "gliffy", "jirachart", "jiraroadmap", "trello", "google-drive-docs", "google-drive-sheets",
    "google-drive-slides", "onedrive", "sharepoint", "pagepropertiesreport", "page-tree", "child-pages", "smart-link",
})  # fmt: skip
_SILENT = frozenset({
    "toc", "toc-zone-links", "style", "css", "html", "script", "javascript", "loremipsum", "navmap", "anchor",
    "unmigrated", "search", "create-space-button", "bgcolor", "footnotes-display", "numberedheadings-toc", "float",
})  # fmt: skip
_BOXES = frozenset({"panel", "info", "note", "warning", "tip", "expand", "ui-expand", "success", "error", "decision"})
_MONOSPACED = frozenset({"code", "noformat", "code-block", "plantuml", "mermaid", "markdown", "sql"})
_TRUE = frozenset({"true", "1", "yes"})


def read(body: bytes, limits: Limits) -> ParsedRecord:
    """A page in storage format."""
    outline = Outline(limits)
    root = _tree(decoded(body, "utf-8"))
    html.write_tree(outline, _Rewriting(outline).whole(root))
    return outline.record(own_heading=False)


# ---------------------------------------------------------------- reading


def _tree(text: str) -> etree._Element:
    """The page as a tree, without entities, documents types or anything from outside. Raises Refusal."""
    if _FORBIDDEN.search(_CDATA.sub("", text)):
        raise Refusal("declares a document type or entities, which no page does; it may be hostile")
    text = _NO_XML.sub("", text)
    wrapped = f'<page xmlns:ac="{_AC}" xmlns:ri="{_RI}">{_outside_cdata(text, _without_entities)}</page>'
    strict = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(wrapped.encode(), strict)
    except etree.XMLSyntaxError:
        return _as_a_browser_would(text)


def _as_a_browser_would(text: str) -> etree._Element:
    """Broken XML by the rules of HTML, which ends in a tree whatever comes; names keep their prefixes."""
    told = _CDATA.sub(lambda found: _escaped(found[1]), text)
    # HTML knows no empty elements of other names: what follows one would end up inside it.
    told = re.sub(r"<((?:ac|ri):[\w-]+)([^<>]*)/>", r"<\1\2></\1>", told)
    parser = lxml_html.HTMLParser(
        encoding="utf-8", no_network=True, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root: etree._Element = lxml_html.document_fromstring(f"<div>{told}</div>".encode(), parser=parser)
    except etree.ParserError:
        return etree.Element("page")
    return root


def _outside_cdata(text: str, change: Callable[[str], str]) -> str:
    pieces = re.split(r"(<!\[CDATA\[.*?\]\]>)", text, flags=re.S)
    return "".join(piece if at % 2 else change(piece) for at, piece in enumerate(pieces))


def _without_entities(text: str) -> str:
    """Names of characters as the characters: XML knows five of them, and pages hold all of HTML's."""

    def character(found: re.Match[str]) -> str:
        name = found[1]
        if name in _OF_XML:
            return found[0]
        known = html5.get(f"{name};")
        return f"&amp;{name};" if known is None else _escaped(known)

    return _ENTITY.sub(character, text)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# ---------------------------------------------------------------- rewriting


class _Rewriting:
    """Makes plain HTML of a page's tree: a new one, in which every element has a meaning."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline

    def whole(self, root: etree._Element) -> etree._Element:
        made = etree.Element("body")
        self._fill(made, root, 0)
        return made

    def _fill(self, into: etree._Element, element: etree._Element, depth: int) -> None:
        """What is inside an element, rewritten, inside another one."""
        if depth > _DEEPEST:
            raise Refusal("is nested too deeply")
        _say(into, element.text)
        for child in element:
            if isinstance(child.tag, str):
                self._element(into, child, depth + 1)
            _say(into, child.tail)

    def _element(self, into: etree._Element, element: etree._Element, depth: int) -> None:
        name = _name(element)
        match name:
            case "ac:structured-macro" | "ac:macro":
                self._macro(into, element, depth)
            case "ac:link":
                self._link(into, element, depth)
            case "ac:image":
                self._image(into, element, depth)
            case "ac:task-list":
                self._tasks(into, element, depth)
            case "ac:emoticon":
                _say(into, _attribute(element, "emoji-fallback") or _shown_name(_attribute(element, "name")))
            case "ac:adf-extension" | "ac:adf-node":
                self._adf(into, element, depth)
            case "ac:placeholder" | "ac:parameter" | "ac:default-parameter" | "ac:adf-attribute" | "ac:task-id":
                pass
            case "ac:task-uuid" | "ac:task-status" | "ac:adf-mark" | "ac:adf-parameter":
                pass
            case "ac:plain-text-body" | "ac:plain-text-link-body" | "ac:inline-comment-marker":
                self._fill(etree.SubElement(into, "span"), element, depth)
            case "ac:rich-text-body" | "ac:layout" | "ac:layout-section" | "ac:layout-cell" | "ac:adf-content":
                self._fill(etree.SubElement(into, "div"), element, depth)
            case "ac:adf-fallback":
                pass
            case "ac:link-body" | "ac:caption":
                self._fill(etree.SubElement(into, "span"), element, depth)
            case "time":
                self._time(into, element, depth)
            case _ if name.startswith("ri:"):
                pass
            case _ if name.startswith("ac:"):
                self._fill(etree.SubElement(into, "div"), element, depth)
            case _:
                self._plain(into, element, name, depth)

    def _plain(self, into: etree._Element, element: etree._Element, name: str, depth: int) -> None:
        made = etree.SubElement(into, name if re.fullmatch(r"[a-z][a-z0-9]*", name) else "div")
        for key, value in element.attrib.items():
            if isinstance(key, str) and key.isalpha():
                made.set(key, str(value))
        self._fill(made, element, depth)

    def _time(self, into: etree._Element, element: etree._Element, depth: int) -> None:
        made = etree.SubElement(into, "span")
        self._fill(made, element, depth)
        if not "".join(_texts(made)).strip():
            made.text = element.get("datetime") or ""

    # ------------------------------------------------------------ macros

    def _macro(self, into: etree._Element, macro: etree._Element, depth: int) -> None:
        name = (_attribute(macro, "name") or "").strip().casefold()
        told = _parameters(macro)
        if name in _ELSEWHERE or name.endswith(("-include", "include-macro")):
            etree.SubElement(into, "span").text = f" {INCLUDED} "
        elif name in _SILENT:
            pass
        elif name in _MONOSPACED:
            self._code(into, macro, told)
        elif name == "status":
            _say(into, f"{told.get('title') or told.get('colour', '')}")
        elif name == "jira":
            _say(into, told.get("key") or INCLUDED)
        elif name in HIDEABLE and is_true(told.get("hidden")):
            self._outline.hide(Hidden.STYLED, " ".join(_seen_texts(macro)))
        elif name in _BOXES:
            self._box(into, macro, told, depth)
        else:
            self._bodies(into, macro, depth)

    def _box(self, into: etree._Element, macro: etree._Element, told: dict[str, str], depth: int) -> None:
        if title := told.get("title", "").strip():
            etree.SubElement(etree.SubElement(into, "p"), "strong").text = title
        self._bodies(into, macro, depth)

    def _code(self, into: etree._Element, macro: etree._Element, told: dict[str, str]) -> None:
        """Code as it stands; above it what it is called and in which language."""
        named = ", ".join(filter(None, (told.get("title", "").strip(), told.get("language", "").strip())))
        if named:
            etree.SubElement(into, "p").text = named
        body = next((child for child in macro if _name(child) == "ac:plain-text-body"), None)
        if body is None:
            body = next((child for child in macro if _name(child) == "ac:rich-text-body"), None)
        etree.SubElement(into, "pre").text = "" if body is None else "".join(_texts(body))

    def _bodies(self, into: etree._Element, macro: etree._Element, depth: int) -> None:
        for child in macro:
            match _name(child):
                case "ac:rich-text-body":
                    self._fill(etree.SubElement(into, "div"), child, depth + 1)
                case "ac:plain-text-body":
                    etree.SubElement(into, "pre").text = "".join(_texts(child))

    def _adf(self, into: etree._Element, element: etree._Element, depth: int) -> None:
        """What the new editor keeps in its own words: its content, else what was written for readers without them."""
        nodes = [child for child in element if _name(child) in ("ac:adf-node", "ac:adf-content")]
        for child in nodes or [child for child in element if _name(child) == "ac:adf-fallback"]:
            if _name(child) == "ac:adf-node":
                self._adf(into, child, depth + 1)
            else:
                self._fill(etree.SubElement(into, "div"), child, depth + 1)

    # ------------------------------------------------------------ links, images, tasks

    def _link(self, into: etree._Element, link: etree._Element, depth: int) -> None:
        """The words that an author typed; never the title of what it leads to."""
        made = etree.SubElement(into, "span")
        for child in link:
            match _name(child):
                case "ac:link-body" | "ac:plain-text-link-body":
                    self._fill(made, child, depth + 1)
                case "ri:attachment" if len(child) == 0 and not "".join(_texts(link)).strip():
                    made.text = _attribute(child, "filename") or ""
        if not "".join(_texts(made)).strip():
            anchor = _attribute(link, "anchor")
            mentions = any(_name(child) == "ri:user" for child in link)
            made.text = SOMEONE if mentions else anchor if anchor and len(link) == 0 else "[link]"

    def _image(self, into: etree._Element, image: etree._Element, depth: int) -> None:
        caption = next((child for child in image if _name(child) == "ac:caption"), None)
        if caption is not None:
            self._fill(etree.SubElement(into, "p"), caption, depth + 1)
        elif told := _attribute(image, "alt") or _attribute(image, "title"):
            _say(into, f" {told} ")

    def _tasks(self, into: etree._Element, tasks: etree._Element, depth: int) -> None:
        made = etree.SubElement(into, "ul")
        for task in tasks:
            if _name(task) == "ac:task-list":
                self._tasks(made, task, depth + 1)
            if _name(task) != "ac:task":
                continue
            status = next(("".join(_texts(child)) for child in task if _name(child) == "ac:task-status"), "")
            item = etree.SubElement(made, "li")
            item.text = "[x] " if status.strip() == "complete" else "[ ] "
            for child in task:
                if _name(child) == "ac:task-body":
                    self._fill(item, child, depth + 1)


# ---------------------------------------------------------------- pieces


def _name(element: etree._Element) -> str:
    """An element's name with its prefix, however the tree came about."""
    tag = element.tag
    if not isinstance(tag, str):
        return ""
    if tag.startswith("{"):
        space, _, local = tag[1:].partition("}")
        return f"{'ac' if space == _AC else 'ri' if space == _RI else 'x'}:{local.lower()}"
    return tag.lower()


def _attribute(element: etree._Element, name: str) -> str | None:
    for space, prefix in ((_AC, "ac"), (_RI, "ri")):
        for key in (f"{{{space}}}{name}", f"{prefix}:{name}"):
            if (found := element.get(key)) is not None:
                return str(found)
    return None


def _parameters(macro: etree._Element) -> dict[str, str]:
    told: dict[str, str] = {}
    for child in macro:
        if _name(child) in ("ac:parameter", "ac:default-parameter"):
            told.setdefault((_attribute(child, "name") or "").casefold(), "".join(_texts(child)))
    return told


def is_true(value: str | None) -> bool:
    """Whether a parameter of a macro says yes."""
    return (value or "").strip().casefold() in _TRUE


def _texts(element: etree._Element) -> Iterator[str]:
    for part in element.itertext(with_tail=False):
        yield str(part)


def _seen_texts(macro: etree._Element) -> Iterator[str]:
    for child in macro:
        if _name(child) in ("ac:rich-text-body", "ac:plain-text-body"):
            yield from _texts(child)


def _shown_name(name: str | None) -> str:
    return f":{name.strip(':')}:" if name else ""


def _say(into: etree._Element, text: str | None) -> None:
    """Text behind what is already inside an element."""
    if not text:
        return
    if len(into):
        into[-1].tail = (into[-1].tail or "") + text
    else:
        into.text = (into.text or "") + text
