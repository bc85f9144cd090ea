"""The storage format as it is written: its tags and the texts between them, one after the other, with no tree built.

Whoever may edit a page writes what is read here, outside of the sandbox: it takes time in proportion to the text,
whatever that is. Nothing is followed or resolved but the names and numbers of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

LONGEST = 2_000_000
"""Characters of a page that are looked through; what is longer has what is looked for near its top."""
MOST_TAGS = 100_000
"""That are looked at, for the same reason: a page of that length that people wrote has no more."""
_ENDS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
_LITERAL = "<![CDATA["
# Each attempt ends at the next "<" at the latest and never goes back, so that all of them together read the text once.
_MARK = re.compile(
    r"(?P<opaque><!--|<!\[CDATA\[|<\?)"
    r"|<(?P<closing>/?)(?P<name>[A-Za-z][\w:.-]*+)"
    r"(?P<given>(?:\s++[^\s=<>\"'/]++(?:\s*+=\s*+(?:\"[^\"<]*+\"|'[^'<]*+'|[^\s\"'<>]++))?+)*+)\s*+(?P<alone>/?)>"
)
_ATTRIBUTE = re.compile(r"""([^\s=<>"'/]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++))""")
_NO_CHARACTER = re.compile(r"&#[0-9]{8,}+;?")  # Python refuses to read numbers that are very long


class Tag(NamedTuple):
    """A tag as it was written; its name in small letters."""

    name: str
    closing: bool
    alone: bool  # it has no content and no closing tag
    given: str

    def told(self) -> dict[str, str]:
        """Its attributes by their names in small letters."""
        return {name.lower(): unescaped(one or two or bare) for name, one, two, bare in _ATTRIBUTE.findall(self.given)}


def read(text: str) -> Iterator[Tag | str]:
    """Tags and texts in order, as they are written; literal text as other text would have been written. What is behind
    a comment or a literal text without an end is left out, as a browser would."""
    at, end, tags = 0, min(len(text), LONGEST), 0
    while tags < MOST_TAGS and (mark := _MARK.search(text, at, end)):
        if mark.start() > at:
            yield text[at : mark.start()]
        at = mark.end()
        tags += 1
        opaque, closing, name, given, alone = mark.groups()
        if not opaque:
            yield Tag(name.lower(), closing == "/", alone == "/", given)
            continue
        ends = text.find(_ENDS[opaque], at, end)
        if ends < 0:
            return
        if opaque == _LITERAL:
            yield text[at:ends].replace("&", "&amp;")
        at = ends + len(_ENDS[opaque])
    if tags < MOST_TAGS and at < end:
        yield text[at:end]


def unescaped(text: str) -> str:
    """The text with the names and numbers of characters as these characters."""
    return unescape(_NO_CHARACTER.sub("\ufffd", text)) if "&" in text else text
