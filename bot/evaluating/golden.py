"""A golden set: questions as people ask them, with what must be found, said, and never shown.

One JSON object a line: `id`, `text`, `as`, and where they matter `in`, `on`, `kind`, `relevant`, `outcome`,
`must_say`, `must_not_say`, `forbidden`. Labels are addresses of the spine: a passage, or a whole section, version or
document. A label without a version fits every version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.errors import WrongUse
from policies.names import ChunkId, DocumentId

OUTCOMES = frozenset(("answered", "abstained", "unlinked", "refused", "busy"))
_KEYS = frozenset("id text as in on kind relevant outcome must_say must_not_say forbidden note".split())
_ORDINAL = re.compile(r"~\d+$")


class WrongGolden(WrongUse):
    """A golden set that can't be used; the message names the line and what would be right."""


@dataclass(frozen=True, slots=True)
class Label:
    """What a passage has to be a part of to count."""

    document: DocumentId
    version: str | None
    section: str | None

    @classmethod
    def parse(cls, text: str) -> Label:
        """Read `source:key`, `source:key@version`, `source:key@version#section` or `source:key#section`."""
        head, _, section = text.partition("#")
        name, _, version = head.partition("@")
        document = DocumentId.parse(name)
        if not section:
            return cls(document, version or None, None)
        section_of = ChunkId.parse(f"{name}@{version or 'any'}#{section}")
        return cls(document, section_of.version if version else None, section_of.section)

    def fits(self, chunk: ChunkId) -> bool:
        """Whether the passage is what the label names, or stands within it."""
        if chunk.document != self.document or self.version not in (None, chunk.version):
            return False
        if self.section is None or chunk.section == self.section:
            return True
        return _ORDINAL.sub("", chunk.section) == self.section or chunk.section.startswith(f"{self.section}/")


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """One question with what its answer is held against."""

    id: str
    text: str
    person: str
    place: str = "dm"
    on: str | None = None
    kind: str = "lookup"
    relevant: tuple[Label, ...] = ()
    outcome: str | None = None
    must_say: tuple[str, ...] = ()  # each has to be in the answer, without regard to case
    must_not_say: tuple[str, ...] = ()  # none may be in the answer
    forbidden: tuple[str, ...] = ()  # words or addresses: showing one, anywhere, is a leak

    def request(self) -> dict[str, Any]:
        """The question as `ask --batch` and `search --batch` take it."""
        return {"text": self.text, "as": self.person, "in": self.place, "on": self.on}


def load(path: Path) -> tuple[GoldenQuestion, ...]:
    """The questions of a file; raises WrongGolden."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WrongGolden(f"{path} can't be read: {error}") from error
    questions = [_question(f"{path.name}:{number}", line) for number, line in enumerate(lines, 1) if line.strip()]
    if not questions:
        raise WrongGolden(f"{path} has no question; write one JSON object a line")
    ids = [question.id for question in questions]
    if twice := {each for each in ids if ids.count(each) > 1}:
        raise WrongGolden(f"{path} uses an id twice: {min(twice)}")
    return tuple(questions)


def _question(where: str, line: str) -> GoldenQuestion:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise WrongGolden(f"{where} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise WrongGolden(f"{where} is not a JSON object")
    if unknown := set(record) - _KEYS:
        raise WrongGolden(f"{where} has a key that means nothing here: {min(unknown)}")
    if record.get("outcome") is not None and record["outcome"] not in OUTCOMES:
        raise WrongGolden(f"{where}: outcome must be one of {', '.join(sorted(OUTCOMES))}")
    return GoldenQuestion(
        id=_text(where, record, "id"),
        text=_text(where, record, "text"),
        person=_text(where, record, "as"),
        place=record.get("in") or "dm",
        on=record.get("on"),
        kind=record.get("kind") or "lookup",
        relevant=_labels(where, record),
        outcome=record.get("outcome"),
        must_say=_texts(where, record, "must_say"),
        must_not_say=_texts(where, record, "must_not_say"),
        forbidden=_texts(where, record, "forbidden"),
    )


def _text(where: str, record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        raise WrongGolden(f"{where}: {key!r} is missing; it must be text")
    return value


def _texts(where: str, record: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = record.get(key) or []
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise WrongGolden(f"{where}: {key!r} must be a list of texts")
    return tuple(value)


def _labels(where: str, record: Mapping[str, Any]) -> tuple[Label, ...]:
    try:
        return tuple(Label.parse(each) for each in _texts(where, record, "relevant"))
    except ValueError as error:
        raise WrongGolden(f"{where}: {error}") from error
