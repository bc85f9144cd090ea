"""Reading what Slack sends, with distrust: identifiers have their shape and length, texts lose Slack's markup."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_LONGEST_ID = 200  # characters
_USER = re.compile(r"[UW][A-Z0-9]{1,40}\Z")
_OTHER_ID = re.compile(r"[A-Za-z0-9._\-]{1,200}\Z")
_MARKUP = re.compile(r"<([^<>\n]{1,3000})>")


class Malformed(Exception):
    """Not what Slack sends."""


def typed(text: str, our_user: str) -> str:
    """The text as a person typed it: our own mention taken out, other mentions and links as words."""

    def word(markup: re.Match[str]) -> str:
        target, _, label = markup[1].partition("|")
        match target[:1]:
            case "@":
                return " " if target[1:] == our_user else f"@{label or target[1:]}"
            case "#":
                return f"#{label or target[1:]}"
            case "!":
                return label
            case _:
                return label or target

    words = _MARKUP.sub(word, text)
    return words.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()


def an_object(value: Any) -> Mapping[str, Any]:
    """An object; raises Malformed."""
    if not isinstance(value, dict):
        raise Malformed("not an object")
    return value


def words(of: Mapping[str, Any], name: str, longest: int) -> str:
    """A text of no more characters than that; raises Malformed."""
    value = of.get(name)
    if not isinstance(value, str) or not value or len(value) > longest:
        raise Malformed(name)
    return value


def an_id(of: Mapping[str, Any], name: str) -> str:
    """An identifier; raises Malformed."""
    value = words(of, name, _LONGEST_ID)
    if not _OTHER_ID.match(value):
        raise Malformed(name)
    return value


def is_id(value: object) -> bool:
    """Whether it has the shape of an identifier."""
    return isinstance(value, str) and _OTHER_ID.match(value) is not None


def a_user(of: Mapping[str, Any], name: str) -> str | None:
    """A person's identifier; None for one that is no person's, raises Malformed for what is none."""
    value = an_id(of, name)
    return value if _USER.match(value) else None
