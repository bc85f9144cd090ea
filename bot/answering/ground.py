"""The ground gate: a claim stays only if it cites passages that were offered and at least one of them supports it.

Each claim is held against the exact passage under its label. A label that was never given out, a claim without a
label, and a passage that says something else drop the claim; a draft without claims left is no answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.answering.context import Context, Labelled
from connectors.records import Claim, Draft
from connectors.sentences import sentences
from policies.grounding import Supported, Unsupported, support


@dataclass(frozen=True, slots=True)
class Backing:
    """A passage that supports a claim, with the sentences of it that do."""

    labelled: Labelled
    quote: str


@dataclass(frozen=True, slots=True)
class Grounded:
    """A claim and everything that backs it; never empty."""

    text: str
    backing: tuple[Backing, ...]
    cited: tuple[Labelled, ...]  # all that its words may come from, whether or not it backs them


@dataclass(frozen=True, slots=True)
class Loose:
    """A claim that was dropped, and why; its text goes no further."""

    labels: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What is left of a draft."""

    claims: tuple[Grounded, ...]
    loose: tuple[Loose, ...]
    missing: tuple[str, ...]
    unanswered: tuple[str, ...]


def ground(draft: Draft, context: Context) -> Answer:
    """Keep the claims that hold. Conditions and unanswered parts are kept only beside claims."""
    held: list[Grounded] = []
    loose: list[Loose] = []
    for claim in draft.claims:
        match _held(claim, context):
            case Grounded() as grounded:
                held.append(grounded)
            case Loose() as dropped:
                loose.append(dropped)
    said = " ".join(claim.text for claim in held)
    missing = tuple(condition for condition in draft.missing if condition in said)
    return Answer(tuple(held), tuple(loose), missing, draft.unanswered)


def _held(claim: Claim, context: Context) -> Grounded | Loose:
    offered = {labelled.label: labelled for labelled in context.passages}
    if not claim.labels:
        return Loose((), "it cites nothing")
    if any(label not in offered for label in claim.labels):
        # What a writer makes up may be anything, so it is not repeated: reasons and labels go into the trace.
        known = tuple(label for label in claim.labels if label in offered)
        return Loose(known, "it cites a label that was never offered")
    backing: list[Backing] = []
    reasons: list[str] = []
    for label in claim.labels:
        match support(claim.text, sentences(offered[label].opened.passage.content.text)):
            case Supported(quote):
                backing.append(Backing(offered[label], quote))
            case Unsupported(reason):
                reasons.append(f"{label}: {reason.partition(':')[0]}")  # after it stand the claim's own words
    if not backing:
        return Loose(claim.labels, "; ".join(reasons))
    return Grounded(claim.text, tuple(backing), tuple(offered[label] for label in claim.labels))
