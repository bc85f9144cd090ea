"""What an administrator can write behind `/footnote`: a fixed grammar, words in, a command out. Pure.

Nothing is guessed: a line that is not exactly of this grammar is none of these commands, and is taken for a question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Verb = Literal["list", "show", "add", "sync", "pause", "resume", "remove", "reindex"]
LONGEST = 1_000  # characters of a line
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"'})
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_TRACE = re.compile(r"tr-[0-9a-f]{20}\Z")
_SECRET = re.compile(r"[A-Za-z0-9_\-]{43}\Z")
_NAMED: dict[str, Verb] = {
    "show": "show", "pause": "pause", "resume": "resume", "remove": "remove", "reindex": "reindex",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceLine:
    """Something about sources; `name` is a source's, or the kind of one to add."""

    verb: Verb
    name: str = ""
    full: bool = False


@dataclass(frozen=True, slots=True)
class Probe:
    """May this person read this document, and why."""

    person: str
    document: str


@dataclass(frozen=True, slots=True)
class WhoReads:
    """Who may read this document; `after` an address, where a long list goes on."""

    document: str
    after: str = ""


@dataclass(frozen=True, slots=True)
class Lag:
    """How far behind each source is."""


@dataclass(frozen=True, slots=True)
class ShowTrace:
    """What the audit record holds of one question."""

    id: str


@dataclass(frozen=True, slots=True)
class Purge:
    """Take a document out at once; two people."""

    document: str


@dataclass(frozen=True, slots=True)
class Confirm:
    """Go on with what was shown before."""

    secret: str


@dataclass(frozen=True, slots=True)
class Help:
    """What administrators can write."""


Line = SourceLine | Probe | WhoReads | Lag | ShowTrace | Purge | Confirm | Help


def line(text: str) -> Line | None:
    """The command in a line; None when it is none."""
    words = _words(text)
    if not words:
        return None
    match [words[0].casefold(), *words[1:]]:
        case ["source" | "sources", *rest]:
            return _source(rest)
        case ["probe", person, document]:
            return Probe(person, document)
        case ["who", document]:
            return WhoReads(document)
        case ["who", document, after] if "@" in after:
            return WhoReads(document, after.casefold())
        case ["lag"]:
            return Lag()
        case ["trace", trace] if _TRACE.match(trace):
            return ShowTrace(trace)
        case ["purge", document]:
            return Purge(document)
        case ["confirm", secret] if _SECRET.match(secret):
            return Confirm(secret)
        case ["help", "admin"]:
            return Help()
        case _:
            return None


def _source(words: list[str]) -> Line | None:
    match [word if at else word.casefold() for at, word in enumerate(words)]:
        case ["list"]:
            return SourceLine("list")
        case ["add", kind]:
            return SourceLine("add", kind.casefold())
        case ["sync", name]:
            return SourceLine("sync", name)
        case ["sync", name, "full" | "--full"]:
            return SourceLine("sync", name, full=True)
        case [verb, name] if verb in _NAMED:
            return SourceLine(_NAMED[verb], name)
        case _:
            return None


def name_of(command: Line) -> str:
    """The command's own name, as the audit record has it."""
    match command:
        case SourceLine(verb):
            return f"source.{verb}"
        case _:
            return type(command).__name__.casefold()


def _words(text: str) -> list[str]:
    if len(text) > LONGEST:
        return []
    found = _WORD.finditer(text.translate(_QUOTES))
    return [match[1] if match[1] is not None else match[2] for match in found]
