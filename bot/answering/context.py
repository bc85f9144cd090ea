"""The evidence a writer receives: bounded, strongest first, without repetition, each passage under a label.

Passages whose section goes on are followed by their neighbours, so that a condition that stands next to a rule is not
lost. Near-duplicates are merged only where they agree in every number and negation. The injection detectors see the
assembled text once more, since a payload can be split over passages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot.answering.gate import Dropped, Judging, Opened, judge
from bot.answering.question import Part
from bot.answering.shortlist import Shortlist
from connectors.ports import Detector
from connectors.records import Evidence, Passage
from policies.decision import Refused
from policies.facts import Trust
from policies.grounding import coverage, difference

BUDGET = 6_000  # characters of evidence
_EXPANDED = 3  # strongest passages whose sections are read on
_SAME = 0.92  # share of words in common, both ways, from which two passages may be one

Neighbours = Callable[[Sequence[Opened]], Awaitable[Sequence[Sequence[Opened]]]]
"""What stands beside each of these passages and may be read."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A passage of the context."""

    label: str
    opened: Opened
    relevance: float  # of the passage, or of the one it continues
    parts: tuple[int, ...]  # the parts of the question that it was found for


@dataclass(frozen=True, slots=True)
class Context:
    """What a writer sees, and what was left out with the reason."""

    passages: tuple[Labelled, ...]
    left_out: tuple[Dropped, ...]
    parts: tuple[Part, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The passages as a writer takes them."""
        return tuple(Evidence(each.label, each.opened.passage, each.relevance) for each in self.passages)

    def __getitem__(self, label: str) -> Labelled:
        return next(each for each in self.passages if each.label == label)


@dataclass(frozen=True, slots=True)
class _Piece:
    opened: Opened
    relevance: float
    parts: tuple[int, ...]


async def assemble(shortlists: Sequence[Shortlist], neighbours: Neighbours, detector: Detector) -> Context:
    """Fill the budget from the shortlists, the best of each part first."""
    pieces = await _expanded(_interleaved(shortlists), neighbours)
    taken, left_out = _filled(pieces)
    if await _speaks_to_the_model(taken, detector):
        taken, tipping = await _harmless(taken, detector)
        left_out += tipping
    labelled = tuple(
        Labelled(f"S{number}", piece.opened, piece.relevance, piece.parts) for number, piece in enumerate(taken, 1)
    )
    return Context(labelled, tuple(left_out), tuple(each.part for each in shortlists))


async def still_readable(context: Context, by: Judging) -> Context:
    """The context as it may go to a writer: reranking took its time, so every document is judged once more. Labels
    stay as they are."""
    versions = {each.opened.version for each in context.passages}
    judged = await judge(versions, by)
    lost = {each.version: each.decision.check for each in judged if isinstance(each.decision, Refused)}
    kept = tuple(each for each in context.passages if each.opened.version not in lost)
    fell = tuple(
        Dropped(each.opened.candidate.id, lost[each.opened.version])
        for each in context.passages
        if each.opened.version in lost
    )
    return Context(kept, context.left_out + fell, context.parts)


def _interleaved(shortlists: Sequence[Shortlist]) -> list[_Piece]:
    pieces: dict[str, _Piece] = {}
    for place in range(max((len(each.kept) for each in shortlists), default=0)):
        for number, shortlist in enumerate(shortlists):
            if place < len(shortlist.kept):
                ranked = shortlist.kept[place]
                key = str(ranked.opened.candidate.id)
                before = pieces.get(key)
                pieces[key] = _Piece(
                    ranked.opened,
                    max(ranked.relevance or 0.0, before.relevance if before else 0.0),
                    (*(before.parts if before else ()), number),
                )
    return list(pieces.values())


async def _expanded(pieces: Sequence[_Piece], neighbours: Neighbours) -> list[_Piece]:
    present = {piece.opened.candidate.id for piece in pieces}
    result: list[_Piece] = list(pieces)
    strongest = pieces[:_EXPANDED]
    for piece, beside in zip(strongest, await neighbours([piece.opened for piece in strongest]), strict=True):
        for opened in beside:
            if opened.candidate.id not in present:
                present.add(opened.candidate.id)
                result.append(_Piece(opened, piece.relevance, piece.parts))
    return result


def _filled(pieces: Sequence[_Piece]) -> tuple[list[_Piece], list[Dropped]]:
    """As many pieces as the budget holds, in order, without repetitions."""
    taken: list[_Piece] = []
    left_out: list[Dropped] = []
    room = BUDGET
    for piece in pieces:
        if any(_replaced(piece, other) for other in pieces):
            left_out.append(Dropped(piece.opened.candidate.id, "replaced"))
        elif any(_same(piece, other) for other in taken):
            left_out.append(Dropped(piece.opened.candidate.id, "repetition"))
        elif len(_text(piece)) > room:
            left_out.append(Dropped(piece.opened.candidate.id, "budget"))
        else:
            taken.append(piece)
            room -= len(_text(piece))
    return taken, left_out


def _replaced(piece: _Piece, other: _Piece) -> bool:
    """Whether a superseded wording, of which nobody wrote when it ended, had ended on the day asked about: another one
    under its title had begun by then, or it would not be here."""
    old, new = piece.opened.passage.content, other.opened.passage.content
    open_end = old.superseded and old.effective_to is None
    if not open_end or new.superseded or new.title != old.title or new.effective_from is None:
        return False
    return old.effective_from is None or old.effective_from < new.effective_from


def _text(piece: _Piece) -> str:
    return piece.opened.passage.content.text


def _same(piece: _Piece, other: _Piece) -> bool:
    one, two = _text(piece), _text(other)
    alike = coverage(one, two) >= _SAME and coverage(two, one) >= _SAME
    return alike and difference(one, two) is None and difference(two, one) is None


async def _speaks_to_the_model(pieces: Sequence[_Piece], detector: Detector) -> bool:
    # One passage alone was judged when it was brought in.
    if len(pieces) < 2:
        return False
    (verdict,) = await detector.trust(["\n".join(map(_text, pieces))])
    return verdict.trust is Trust.QUARANTINED


async def _harmless(pieces: Sequence[_Piece], detector: Detector) -> tuple[list[_Piece], list[Dropped]]:
    """The pieces without each one that tips those before it into speaking to the model."""
    taken: list[_Piece] = []
    left_out: list[Dropped] = []
    for piece in pieces:
        if await _speaks_to_the_model([*taken, piece], detector):
            left_out.append(Dropped(piece.opened.candidate.id, "injection"))
        else:
            taken.append(piece)
    return taken, left_out


def untrusted(context: Context) -> bool:
    """Whether a passage was kept although it reads a little like an instruction."""
    return any(each.opened.candidate.trust is Trust.SUSPECT for each in context.passages)


def passage_of(labelled: Labelled) -> Passage:
    """The passage under a label."""
    return labelled.opened.passage.content
