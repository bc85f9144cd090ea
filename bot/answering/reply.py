"""The words of a reply: claims with their labels, citations, notes. All markup, links and labels come from here.

Personal data is masked before anything else is done with a text; what is left is made inert; labels are set last. The
notes are fixed sentences, but for the words that the asker typed himself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bot.answering.context import Context, passage_of, untrusted
from bot.answering.doors import Doors
from bot.answering.ground import Answer, Backing
from bot.answering.outcome import Citation
from bot.answering.question import Query
from policies.facts import Subject
from policies.masking import mask_all
from policies.names import ChunkId
from policies.speech import safe_title, speakable

_UNTRUSTED = (
    "A source of this answer holds text that reads like instructions to a program. Check it before relying on it."
)
_MASKED = "Personal data is masked."
_SUPERSEDED = "This quotes a wording that has been superseded since."


@dataclass(frozen=True, slots=True)
class Reply:
    """What is posted, and what was masked in it, counted by kind."""

    text: str
    citations: tuple[Citation, ...]
    notes: tuple[str, ...]
    masked: Counter[str]


@dataclass(frozen=True, slots=True)
class _Source:
    label: str
    backing: Backing

    @property
    def chunk(self) -> ChunkId:
        return self.backing.labelled.opened.candidate.id


async def compose(answer: Answer, context: Context, query: Query, alone: Subject | None, doors: Doors) -> Reply:
    """Write the reply. The answer has at least one claim, and each claim a passage that backs it. `alone`: who sees it,
    if it is one person; what is his own is not masked for him."""
    sources = _sources(answer)
    passages = [passage_of(source.backing.labelled) for source in sources]
    groups = (
        [claim.text for claim in answer.claims],
        list(answer.missing),
        [source.backing.quote for source in sources],
        [passage.title for passage in passages],
    )
    (claims, missing, quotes, titles), masked = await _masked(groups, alone, doors)
    citations = tuple(
        Citation(
            source.label,
            source.chunk,
            safe_title(title),
            passage.url,
            passage.page,
            speakable(quote).strip(),
            supported=True,
            effective_from=passage.effective_from,
            effective_to=passage.effective_to,
            superseded=passage.superseded,
        )
        for source, passage, quote, title in zip(sources, passages, quotes, titles, strict=True)
    )
    owners = tuple(dict.fromkeys(passage.owner for passage in passages if passage.owner))
    lines = [
        f"{speakable(text).strip()} {_labels(claim.backing, sources)}"
        for text, claim in zip(claims, answer.claims, strict=True)
    ]
    lines += [_condition(speakable(condition).strip(), owners) for condition in missing]
    return Reply("\n".join(lines), citations, _notes(answer, context, query, citations, masked), masked)


async def _masked(
    groups: Sequence[Sequence[str]], alone: Subject | None, doors: Doors
) -> tuple[list[list[str]], Counter[str]]:
    texts = [text for group in groups for text in group]
    found = list(zip(texts, await doors.personal_data.all_spans(texts), strict=True))
    own = (alone.person.name.partition(":")[2],) if alone else ()
    masked = mask_all(found, doors.tag(), own=own)
    rest = iter(masked)
    counts: Counter[str] = Counter()
    for each in masked:
        counts.update(each.counts)
    return [[next(rest).text for _ in group] for group in groups], counts


def _sources(answer: Answer) -> list[_Source]:
    """Every passage that backs something, numbered by first use."""
    backings: dict[ChunkId, Backing] = {}
    for claim in answer.claims:
        for backing in claim.backing:
            backings.setdefault(backing.labelled.opened.candidate.id, backing)
    return [_Source(f"S{number}", backing) for number, backing in enumerate(backings.values(), 1)]


def _labels(backing: Sequence[Backing], sources: Sequence[_Source]) -> str:
    backed_by = {each.labelled.opened.candidate.id for each in backing}
    return "".join(f"[{source.label}]" for source in sources if source.chunk in backed_by)


def _condition(condition: str, owners: Sequence[str]) -> str:
    whom = f", or ask {' or '.join(safe_title(owner) for owner in owners[:2])}" if owners else ""
    return f"I can't see whether this condition holds: “{condition}”. Check it{whom}."


def _notes(
    answer: Answer, context: Context, query: Query, citations: Sequence[Citation], masked: Counter[str]
) -> tuple[str, ...]:
    moment = query.wants.moment
    notes: list[str] = []
    if moment.dated and any(citation.effective_from or citation.effective_to for citation in citations):
        notes.append(f"This is the wording in force on {moment.on.isoformat()}.")
    if any(citation.superseded for citation in citations):
        notes.append(_SUPERSEDED)
    if len(query.parts) > 1:
        asked = [part.text for part in query.parts if part.text in answer.unanswered]  # never a writer's own words
        notes += [f"The documents you can read don't answer this part: “{speakable(part)}”" for part in asked]
    if untrusted(context):
        notes.append(_UNTRUSTED)
    if masked:
        notes.append(_MASKED)
    return tuple(notes)
