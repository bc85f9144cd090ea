"""How a question can end, and the fixed sentences that people are told.

There is one text for every reason not to answer that has to do with evidence: absent, hidden, stale, quarantined and
low-scoring read alike, so that nobody learns from a refusal that something exists. No text here holds a count, a
title, a score or an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from policies.names import ChunkId

ABSTAINED = (
    "I can't answer that from the documents you can read. If you think there is one that answers it, ask its owner "
    "for access, or ask me again with other words."
)
UNLINKED = (
    "I don't know who you are in the company directory yet, so I can't tell what you may read. "
    "Link your account with `/footnote link`."
)
REFUSED = "Your account may not ask questions here at the moment. Ask your administrator."
BUSY = "I can't answer right now. Please ask again in a minute."


@dataclass(frozen=True, slots=True)
class Citation:
    """A label of the text, resolved from what is stored; the quote is the passage's own words."""

    label: str
    chunk: ChunkId
    title: str
    url: str
    page: int | None
    quote: str
    supported: bool
    effective_from: date | None = None
    effective_to: date | None = None
    superseded: bool = False

    def to_json(self) -> dict[str, Any]:
        """As `docs/commands.md` describes it; `page` only where the format has pages."""
        page = {} if self.page is None else {"page": self.page}
        return {
            "label": self.label,
            "chunk_id": str(self.chunk),
            "document": str(self.chunk.document),
            "version": self.chunk.version,
            "section": self.chunk.section,
            "title": self.title,
            "url": self.url,
            **page,
            "quote": self.quote,
            "supported": self.supported,
        }


@dataclass(frozen=True, slots=True)
class Audience:
    """Who sees the reply, and why not more people; the reason is constant and says nothing about evidence."""

    place: str
    visible_to: Literal["asker", "everyone"]
    reason: str

    def to_json(self) -> dict[str, Any]:
        """As `docs/commands.md` describes it."""
        return {"place": self.place, "visible_to": self.visible_to, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Answered:
    """Every claim cites a passage that supports it, and everybody who sees it may read all of them."""

    text: str
    citations: tuple[Citation, ...]
    audience: Audience
    notes: tuple[str, ...]
    trace: str
    rests_on: tuple[ChunkId, ...] = ()  # every passage that its claims were written from, shown or not


@dataclass(frozen=True, slots=True)
class Abstained:
    """The evidence that the asker may read does not answer it."""

    audience: Audience
    trace: str
    text: str = ABSTAINED


@dataclass(frozen=True, slots=True)
class Unlinked:
    """Nobody in the directory is the person who asks."""

    audience: Audience
    trace: str
    text: str = UNLINKED


@dataclass(frozen=True, slots=True)
class Refused:
    """The asker may not ask: disabled, or outside the company."""

    audience: Audience
    trace: str
    text: str = REFUSED


@dataclass(frozen=True, slots=True)
class Busy:
    """Something that an answer needs did not do its part; asking again may work."""

    audience: Audience
    trace: str
    text: str = BUSY


Outcome = Answered | Abstained | Unlinked | Refused | Busy


def name(outcome: Outcome) -> str:
    """The outcome's name in JSON, metrics and traces."""
    return type(outcome).__name__.casefold()


def to_json(outcome: Outcome) -> dict[str, Any]:
    """One object as `docs/commands.md` describes it."""
    citations, notes = (outcome.citations, outcome.notes) if isinstance(outcome, Answered) else ((), ())
    return {
        "outcome": name(outcome),
        "text": outcome.text,
        "citations": [citation.to_json() for citation in citations],
        "trace_id": outcome.trace,
        "audience": outcome.audience.to_json(),
        "notes": list(notes),
    }
