"""Which kinds of personal data are masked, for whom, and what stands in their place. Spans in, text out.

A placeholder such as `[PERSON_1·k3f9]` carries a tag that the caller draws at random for each request, so nobody can
write one in advance; what looks like one in the input is changed before the first real one is set. Nothing here turns
a placeholder back into what it stands for. The offset map leads from the masked text to the source and back, so that
a quote in a citation can still be compared with its passage.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class Found(Protocol):
    """Personal data that a detector found: `text[start:end]` is of this kind."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def score(self) -> float: ...


PERSONAL = frozenset(
    {
        "PERSON",
        "EMAIL_ADDRESS",
        "PHONE_NUMBER",
        "IBAN_CODE",
        "CREDIT_CARD",
        "US_SSN",
        "EMPLOYEE_ID",
        "DATE_OF_BIRTH",
        "MEDICAL_ID",
    }
)
SECRETS = frozenset({"API_KEY", "SLACK_TOKEN", "PASSWORD", "PRIVATE_KEY"})
KINDS = PERSONAL | SECRETS
"""Everything that can be masked; a span of any other kind is left alone."""

_TAG = re.compile(r"[a-z0-9]{4,16}\Z")
_LOOK_ALIKE = re.compile(
    # An opening bracket of any kind before a kind's name and a number, whatever case, spacing and separators.
    r"[\[［⟦【〔](?=[\s*_`]{0,4}(?:" + "|".join(sorted(KINDS)) + r")[\s_-]{0,3}[0-9]{1,6})",
    re.IGNORECASE,
)
_DEFUSED = "⁅"  # one character for one, so no offset moves


@dataclass(frozen=True, slots=True)
class Rules:
    """What is masked. A secret is masked for everybody; other kinds not where they are the asker's own."""

    kinds: frozenset[str] = PERSONAL
    threshold: float = 0.4  # spans below it are not masked

    def __post_init__(self) -> None:
        if unknown := self.kinds - KINDS:
            raise ValueError(f"{sorted(unknown)!r} can't be masked; choose among {sorted(KINDS)!r}")

    def mask(self, found: Found) -> bool:
        """Is this kind masked at all, and is the detector sure enough? Secrets are, however sure it is."""
        return found.kind in SECRETS or (found.kind in self.kinds and found.score >= self.threshold)


@dataclass(frozen=True, slots=True)
class Piece:
    """One masked span: where it stood in the source, and where its placeholder stands in the masked text."""

    start: int
    end: int
    masked_start: int
    masked_end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Masked:
    """A text with its personal data masked. Every other character is where the map says, unchanged or defused."""

    text: str
    counts: Mapping[str, int]  # spans masked, by kind
    pieces: tuple[Piece, ...]

    def to_source(self, start: int, end: int) -> tuple[int, int]:
        """The stretch of the source that `text[start:end]` stands for, widened to whole placeholders."""
        return _translate(
            start, end, [(piece.masked_start, piece.masked_end, piece.start, piece.end) for piece in self.pieces]
        )

    def to_masked(self, start: int, end: int) -> tuple[int, int]:
        """Where `source[start:end]` stands in the masked text, widened to whole placeholders."""
        return _translate(
            start, end, [(piece.start, piece.end, piece.masked_start, piece.masked_end) for piece in self.pieces]
        )


def mask(text: str, spans: Iterable[Found], tag: str, *, rules: Rules | None = None, own: Iterable[str] = ()) -> Masked:
    """Mask one text; see `mask_all`."""
    return mask_all([(text, spans)], tag, rules=rules, own=own)[0]


def mask_all(
    texts: Iterable[tuple[str, Iterable[Found]]],
    tag: str,
    *,
    rules: Rules | None = None,
    own: Iterable[str] = (),
) -> tuple[Masked, ...]:
    """Mask the texts of one request: an answer and its quotes. Equal values get equal placeholders across all of them,
    numbered by first occurrence. `tag` is 4 to 16 of a-z and 0-9, drawn at random for the request; `own` holds what
    the asker may see of himself, such as his name and address. Raises ValueError for a span outside its text.
    """
    if not _TAG.match(tag):
        raise ValueError("a tag is 4 to 16 characters of a-z and 0-9, drawn at random for each request")
    rules = rules or Rules()
    exempt = frozenset(_folded(value) for value in own if value.strip())
    numbers: dict[tuple[str, str], int] = {}
    return tuple(_masked(text, _settled(text, spans, rules, exempt), tag, numbers) for text, spans in texts)


def defused(text: str, tag: str) -> str:
    """The text with everything that looks like a placeholder opened by another bracket; as long as it was."""
    text = _LOOK_ALIKE.sub(_DEFUSED, text)
    if tag not in text:
        return text
    # Whoever knows the tag could write a placeholder of a kind that we do not have yet.
    return re.sub(rf"[\[［](?=[^\[\]［］]{{0,64}}{tag})", _DEFUSED, text)


def _masked(text: str, spans: Sequence[Found], tag: str, numbers: dict[tuple[str, str], int]) -> Masked:
    source = defused(text, tag)
    parts: list[str] = []
    pieces: list[Piece] = []
    written = read = 0
    for span in spans:
        parts.append(source[read : span.start])
        written += span.start - read
        value = (span.kind, _value(span.kind, text[span.start : span.end]))
        number = numbers.setdefault(value, 1 + sum(kind == span.kind for kind, _ in numbers))
        placeholder = f"[{span.kind}_{number}·{tag}]"
        pieces.append(Piece(span.start, span.end, written, written + len(placeholder), span.kind))
        parts.append(placeholder)
        written += len(placeholder)
        read = span.end
    parts.append(source[read:])
    return Masked("".join(parts), dict(Counter(span.kind for span in spans)), tuple(pieces))


@dataclass(frozen=True, slots=True)
class _Settled:
    start: int
    end: int
    kind: str
    score: float


def _settled(text: str, spans: Iterable[Found], rules: Rules, exempt: frozenset[str]) -> list[Found]:
    """The spans to mask, by start, without overlaps: overlapping ones become one that covers them all."""
    merged: list[_Settled] = []
    for span in sorted(spans, key=lambda found: (found.start, -found.end, found.kind)):
        if not 0 <= span.start < span.end <= len(text):
            raise ValueError(f"a span from {span.start} to {span.end} does not fit a text of {len(text)} characters")
        if not rules.mask(span):
            continue
        if span.kind not in SECRETS and _folded(text[span.start : span.end]) in exempt:
            continue
        if merged and span.start < merged[-1].end:
            merged[-1] = _union(merged[-1], span)
        else:
            merged.append(_Settled(span.start, span.end, span.kind, span.score))
    return list(merged)


def _union(left: _Settled, right: Found) -> _Settled:
    def weight(found: Found) -> tuple[bool, int, float]:
        return found.kind in SECRETS, found.end - found.start, found.score

    kind = max((left, right), key=weight).kind
    return _Settled(left.start, max(left.end, right.end), kind, max(left.score, right.score))


def _folded(value: str) -> str:
    return " ".join(value.casefold().split())


def _value(kind: str, value: str) -> str:
    """What makes two findings the same: a number's characters without its separators, a word without its case."""
    if kind in {"PHONE_NUMBER", "IBAN_CODE", "CREDIT_CARD", "US_SSN"}:
        return "".join(character for character in value.casefold() if character.isalnum())
    return value if kind in SECRETS else _folded(value)


def _translate(start: int, end: int, pieces: Sequence[tuple[int, int, int, int]]) -> tuple[int, int]:
    """Carry a stretch over. `pieces`: (start, end, start there, end there) of what changed its length, in order."""
    if not 0 <= start <= end:
        raise ValueError(f"{start} to {end} is not a stretch of a text")

    def carried(offset: int, opening: bool) -> int:
        at = bisect_right(pieces, offset, key=lambda piece: piece[0]) - 1
        if at < 0:
            return offset
        here_start, here_end, there_start, there_end = pieces[at]
        if offset >= here_end:
            return there_end + offset - here_end
        if offset == here_start or opening:
            return there_start
        return there_end

    return carried(start, True), carried(end, False)
