"""Which other pages a page shows parts of: edges from a host to what it includes, by the names that its author wrote.

Only that there is an edge is learnt here, never what stands at its end: that has rights of its own. The names stay in
our memory and reach no reader, who may not be allowed to know them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from connectors.sources.confluence import markup

MOST = 100  # edges of one page
_DEEPEST = 60  # levels of an ADF document
_INCLUDING = ("include", "include-macro")  # how names of such macros end


class Edge(NamedTuple):
    """What is shown: a page by its space's key (empty: the host's own space) and its title."""

    space: str
    title: str


def shown_by(text: str, storage: bool) -> tuple[Edge, ...]:
    """The edges of a page in storage format, or else in Atlassian's document format; each once, in order."""
    found = _in_storage(text) if storage else _in_adf(text)
    return tuple(dict.fromkeys(found))[:MOST]


def written(edges: Iterable[Edge]) -> str:
    """As a node's fact; nothing for none."""
    rows = [list(edge) for edge in edges]
    return json.dumps(rows, ensure_ascii=False) if rows else ""


def _in_storage(text: str) -> Iterator[Edge]:
    """The pages that are named inside a macro which includes."""
    macros: list[str] = []
    for tag in markup.read(text):
        if isinstance(tag, str):
            continue
        if tag.name == "ri:page" and not tag.closing:
            title = tag.told().get("ri:content-title")
            if title and macros and macros[-1].endswith(_INCLUDING):
                yield Edge(tag.told().get("ri:space-key", ""), title)
        elif tag.name == "ac:structured-macro" and tag.closing:
            del macros[-1:]
        elif tag.name == "ac:structured-macro" and not tag.alone:
            macros.append(tag.told().get("ac:name", ""))


def _in_adf(text: str) -> list[Edge]:
    try:
        document = json.loads(text) if len(text) <= markup.LONGEST else None
    except (ValueError, RecursionError):
        return []
    return [edge for node in _extensions(document, 0) for edge in _named(node)]


def _extensions(node: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    if not isinstance(node, Mapping) or depth > _DEEPEST:
        return
    told = node.get("attrs")
    if isinstance(told, Mapping) and str(told.get("extensionKey", "")).endswith(_INCLUDING):
        yield told
    held = node.get("content")
    for each in held if isinstance(held, list) else ():
        yield from _extensions(each, depth + 1)


def _named(told: Mapping[str, Any]) -> Iterator[Edge]:
    """A page as such a macro's parameter names it: `Title`, or `KEY:Title`."""
    parameters = told.get("parameters")
    given = parameters.get("macroParams") if isinstance(parameters, Mapping) else None
    for name in ("", "default-parameter", "name"):
        held = given.get(name) if isinstance(given, Mapping) else None
        value = held.get("value") if isinstance(held, Mapping) else None
        if isinstance(value, str) and value:
            space, colon, title = value.partition(":")
            yield Edge(space, title) if colon and space.isalnum() and space.isupper() else Edge("", value)
