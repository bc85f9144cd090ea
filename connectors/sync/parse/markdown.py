"""Markdown, by way of HTML: one reader then decides for both what is a block, what is hidden and what is furniture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from lxml.html import defs
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from connectors.records import ParsedRecord
from connectors.sync.parse import html
from connectors.sync.parse.encoding import decoded
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.outline import Outline

_FRONT = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)\n\1[ \t]*(?:\n|\Z)", re.S)
_TITLE = re.compile(r"^title\s*[:=]\s*(.+?)\s*$", re.M | re.I)
_TAG = re.compile(r"^</?([a-zA-Z][-a-zA-Z0-9]*)")
_KNOWN_TAGS = frozenset(defs.tags) | {"details", "summary", "mark", "main", "figure", "figcaption", "picture", "source"}
_ANCHOR = re.compile(r"\s*\{#[-\w:.]+\}\s*$", re.M)


def read(body: bytes, limits: Limits) -> ParsedRecord:
    """A Markdown document; front matter gives its title and is not content."""
    text = decoded(body).replace("\r\n", "\n").replace("\r", "\n")
    title: str | None = None
    if front := _FRONT.match(text):
        text = text[front.end() :]
        stated = _TITLE.search(front.group(2))
        title = stated.group(1).strip("\"'") if stated else None
    outline = Outline(limits)
    html.write(outline, f"<body>{_renderer().render(_ANCHOR.sub('', text))}</body>")
    return outline.record(title)


@cache
def _renderer() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    markdown.add_render_rule("html_inline", _inline)
    return markdown


def _inline(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Tags pass; `<your-name>` in a sentence is no tag and stays readable."""
    content = tokens[index].content
    tag = _TAG.match(content)
    if tag and tag.group(1).lower() not in _KNOWN_TAGS:
        return escapeHtml(content)
    return content
