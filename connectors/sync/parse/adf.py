"""Atlassian's document format, the JSON of live pages, brought to plain HTML and read as that.

As with the storage format, nothing is run or fetched: cards, extensions that show other content and media leave what an
author typed, or a placeholder that names nothing; hidden excerpts and properties are taken out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from lxml import etree

from connectors.records import Hidden, ParsedRecord
from connectors.sync.parse import html
from connectors.sync.parse.encoding import decoded
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.outline import Outline
from connectors.sync.parse.refusal import Refusal
from connectors.sync.parse.storage import HIDEABLE, INCLUDED, SOMEONE, is_true

_DEEPEST = 100
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_INSIDE = frozenset({"details", "excerpt", "expand", "panel", "info", "note", "warning", "tip", "multiexcerpt-macro"})
_PLAIN = {
    "paragraph": "p",
    "bulletList": "ul",
    "orderedList": "ol",
    "listItem": "li",
    "blockquote": "blockquote",
    "table": "table",
    "tableRow": "tr",
    "tableHeader": "th",
    "tableCell": "td",
    "panel": "div",
    "layoutSection": "div",
    "layoutColumn": "div",
    "caption": "p",
    "decisionList": "ul",
    "decisionItem": "li",
    "taskList": "ul",
    "blockTaskItem": "li",
}

Json = Mapping[str, Any]


def read(body: bytes, limits: Limits) -> ParsedRecord:
    """A live page."""
    outline = Outline(limits)
    try:
        document = json.loads(_NO_XML.sub("", decoded(body, "utf-8")))
    except (ValueError, RecursionError) as error:
        raise Refusal("is no document of Atlassian's format") from error
    if not isinstance(document, dict) or document.get("type") != "doc":
        raise Refusal("is no document of Atlassian's format")
    page = etree.Element("body")
    _fill(outline, page, document, 0)
    html.write_tree(outline, page)
    return outline.record(own_heading=False)


def _fill(outline: Outline, into: etree._Element, node: Json, depth: int) -> None:
    if depth > _DEEPEST:
        raise Refusal("is nested too deeply")
    held = node.get("content")
    for child in held if isinstance(held, list) else ():
        if isinstance(child, Mapping):
            _node(outline, into, child, depth + 1)


def _node(outline: Outline, into: etree._Element, node: Json, depth: int) -> None:
    kind = node.get("type")
    told = node.get("attrs")
    told = told if isinstance(told, Mapping) else {}
    match kind:
        case "text":
            _say(into, _word(node.get("text")))
        case "hardBreak":
            etree.SubElement(into, "br")
        case "heading":
            level = told.get("level")
            name = f"h{level}" if isinstance(level, int) and 1 <= level <= 6 else "h6"
            _fill(outline, etree.SubElement(into, name), node, depth)
        case "codeBlock":
            _code(outline, into, node, told, depth)
        case "expand" | "nestedExpand":
            _titled(into, _word(told.get("title")))
            _fill(outline, etree.SubElement(into, "div"), node, depth)
        case "taskItem":
            item = etree.SubElement(into, "li")
            item.text = "[x] " if told.get("state") == "DONE" else "[ ] "
            _fill(outline, item, node, depth)
        case "date":
            _say(into, _day(told.get("timestamp")))
        case "status":
            _say(into, _word(told.get("text")))
        case "emoji":
            _say(into, _word(told.get("text")) or _word(told.get("shortName")))
        case "mention":
            _say(into, _mentioned(told))
        case "inlineCard" | "blockCard" | "embedCard":
            _say(into, " [link] ")
        case "placeholder":
            pass
        case "media" | "mediaInline":
            _say(into, f" {_word(told.get('alt'))} " if told.get("alt") else None)
        case "extension" | "inlineExtension" | "bodiedExtension" | "syncBlock" | "bodiedSyncBlock":
            _extension(outline, into, node, told, depth)
        case _:
            name = _PLAIN.get(str(kind), "div")
            made = etree.SubElement(into, name)
            for attribute, written in (("colspan", "colspan"), ("rowspan", "rowspan"), ("order", "start")):
                if isinstance(told.get(attribute), int) and name in ("td", "th", "ol"):
                    made.set(written, str(told[attribute]))
            _fill(outline, made, node, depth)


def _code(outline: Outline, into: etree._Element, node: Json, told: Json, depth: int) -> None:
    if language := _word(told.get("language")):
        etree.SubElement(into, "p").text = language
    etree.SubElement(into, "pre").text = _inside(outline, node, depth)


def _extension(outline: Outline, into: etree._Element, node: Json, told: Json, depth: int) -> None:
    """A macro: what it holds itself is kept, what it would show from elsewhere is not."""
    key = _word(told.get("extensionKey")).rpartition(":")[2].casefold()
    if key == "toc":
        return
    if key in HIDEABLE and _is_hidden(told):
        outline.hide(Hidden.STYLED, _inside(outline, node, depth))
    elif isinstance(node.get("content"), list) and (node.get("type") == "bodiedExtension" or key in _INSIDE):
        _fill(outline, etree.SubElement(into, "div"), node, depth)
    else:
        _say(into, f" {INCLUDED} ")


def _is_hidden(told: Json) -> bool:
    """What a macro's parameter says, whatever way it is written."""
    parameters = told.get("parameters")
    given = parameters.get("macroParams") if isinstance(parameters, Mapping) else None
    held = given.get("hidden") if isinstance(given, Mapping) else None
    return is_true(str(held.get("value") if isinstance(held, Mapping) else held))


def _inside(outline: Outline, node: Json, depth: int) -> str:
    """All the words in a node."""
    holder = etree.Element("div")
    _fill(outline, holder, node, depth)
    return "".join(str(part) for part in holder.itertext())


def _mentioned(told: Json) -> str:
    """Somebody as the page names him, never by his account."""
    name, account = _word(told.get("text")), _word(told.get("id"))
    return SOMEONE if not name.strip("@ ") or (account and account in name) else name


def _titled(into: etree._Element, title: str) -> None:
    if title.strip():
        etree.SubElement(etree.SubElement(into, "p"), "strong").text = title


def _day(value: Any) -> str:
    try:
        return datetime.fromtimestamp(int(value) / 1000, UTC).date().isoformat()
    except (TypeError, ValueError, OverflowError, OSError):
        return ""


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _say(into: etree._Element, text: str | None) -> None:
    if not text:
        return
    if len(into):
        into[-1].tail = (into[-1].tail or "") + text
    else:
        into.text = (into.text or "") + text
