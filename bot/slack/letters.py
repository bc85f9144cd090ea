"""What is kept of a request until it is done: a letter's body, and what it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from bot.slack.incoming import Asked
from bot.slack.pressing import HomeOpened, Pressed, Submitted

_LONGEST = 4_000  # characters of a question that are kept; fewer are read
_KINDS: Mapping[str, type[Asked] | type[Pressed] | type[Submitted] | type[HomeOpened]] = {
    "asked": Asked,
    "pressed": Pressed,
    "submitted": Submitted,
    "home": HomeOpened,
}
Content = Asked | Pressed | Submitted | HomeOpened


def letter_of(content: Content, mark: str) -> dict[str, Any]:
    """What is kept. `mark`: an opaque name for what is said in answer to it."""
    if isinstance(content, Asked):
        content = replace(content, text=content.text[:_LONGEST])
    [kind] = [name for name, of in _KINDS.items() if type(content) is of]
    return {**asdict(content), "mark": mark, "kind": kind}


def opened(body: Mapping[str, Any]) -> tuple[Content, str]:
    """The request and the mark, as `letter_of` kept them."""
    content = dict(body)
    mark = content.pop("mark")
    of = _KINDS[content.pop("kind", "asked")]
    tuples = {name: tuple(value) for name, value in content.items() if isinstance(value, list)}
    return of(**{**content, **tuples}), mark
