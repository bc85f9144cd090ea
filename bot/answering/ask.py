"""A question answered: the whole of it on this page, each step in the file of its name.

Who asks → what he and those around him may read → search → fresh verdicts → shortlist → context → draft → grounding →
delivery. The trace's begin is durable before the search, or there is no answer; its end follows the reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from bot.answering import trace
from bot.answering.audience import Listening, judging, listeners
from bot.answering.context import Neighbours, assemble, still_readable
from bot.answering.deliver import Delivery, deliver, seen_by
from bot.answering.doors import Doors
from bot.answering.gate import Judging, Opened, clear_candidates
from bot.answering.ground import ground
from bot.answering.live import confirmed, lost_any
from bot.answering.outcome import Abstained, Answered, Busy, Outcome, Refused, Unlinked
from bot.answering.question import Query, Question, understand
from bot.answering.retrieve import retrieve
from bot.answering.shortlist import shorten
from bot.answering.trace import Attempt
from connectors.ports import Index
from connectors.records import Candidate
from connectors.usage import counted
from policies.audience import Everyone
from policies.facts import Kind, Subject
from policies.predicate import Narrowing


async def ask(question: Question, doors: Doors) -> Outcome:
    """Answer, or say in fixed words that there is no answer. Raises only when the trace can't be written."""
    query = understand(question)
    heard = await hear(question, query, doors)
    record = trace.begin(question, query, heard.audiences, doors)
    trace_id = await doors.traces.begin(record, trace.sealed(question, query, heard.audiences), doors.clock())

    laps = Laps(doors)
    attempts: list[Attempt] = []
    outcome = not_heard(question, heard, trace_id)
    error = heard.error
    with counted() as spent:
        try:
            for listening in heard.audiences if outcome is None else ():
                attempts.append(attempt := await answer(query, question, listening, doors, laps))
                outcome = ended(attempt, question, trace_id)
                if isinstance(outcome, Answered):
                    break
        except Exception as trouble:  # the task boundary: whatever broke, an asker is told nothing of it
            error = trace.where(trouble)
            outcome = Busy(seen_by(question, None), trace_id)
    outcome = outcome or Abstained(seen_by(question, None), trace_id)
    record = trace.end(outcome, attempts, laps.seconds, spent, doors.index.collection, error)
    await doors.traces.end(trace_id, record, {"reply": outcome.text}, doors.clock())
    return outcome


async def answer(query: Query, question: Question, listening: Listening, doors: Doors, laps: Laps) -> Attempt:
    """One pass through the line for one audience, as far as it carries."""
    if not isinstance(listening.narrowing, Narrowing):
        return Attempt(listening)
    by = judging(listening, query, doors)
    found = await retrieve(query, listening.narrowing, doors.index, doors.embedder)
    laps.mark("search")
    candidates = list({each.id: each for part in found for each in part.candidates}.values())
    gated = await clear_candidates(candidates, by)
    laps.mark("gate")
    opened = {each.candidate.id: each for each in gated.opened}
    parts = [(part.part, [opened[each.id] for each in part.candidates if each.id in opened]) for part in found]
    shortlists = await shorten(parts, doors.reranker, doors.cut)
    laps.mark("rerank")
    context = await assemble(shortlists, neighbours(listening.narrowing, by, doors.index), doors.detector)
    context = await still_readable(context, by)
    laps.mark("context")
    context = await confirmed(context, by, doors.live)
    if doors.live is not None:
        laps.mark("live")
    # What a source does not confirm for everyone in a place is answered from for the asker alone, if he may read it.
    unfit = lost_any(context) and isinstance(listening.reach, Everyone)
    if not context.passages or unfit:
        return Attempt(listening, found, gated, shortlists, context)
    draft = await doors.writer.write(query.raw, [part.text for part in query.parts], context.evidence)
    laps.mark("write")
    grounded = ground(draft, context)
    delivered = await deliver(grounded, context, query, question, listening, doors)
    laps.mark("deliver")
    return Attempt(listening, found, gated, shortlists, context, draft, grounded, delivered)


@dataclass(frozen=True, slots=True)
class Heard:
    """Who asks, as far as the directory knows him, and who listens; `error` where that could not be found out."""

    asker: Subject | None
    audiences: tuple[Listening, ...] = ()
    error: str | None = None


async def hear(question: Question, query: Query, doors: Doors) -> Heard:
    """Look up the asker and his listeners. What goes wrong is a value: it is traced before anything is said."""
    try:
        asker = await doors.directory.subject(question.asker, question.at)
        return Heard(asker, await listeners(question, asker, query.wants.moment, doors) if asker else ())
    except Exception as trouble:  # the task boundary: whatever broke, nobody is heard
        return Heard(None, (), trace.where(trouble))


def not_heard(question: Question, heard: Heard, trace_id: str) -> Outcome | None:
    """What somebody is told who may not ask at all, or not now; None when he may."""
    alone, asker = seen_by(question, None), heard.asker
    if heard.error is not None:
        return Busy(alone, trace_id)
    if asker is None:
        return Unlinked(alone, trace_id)
    if asker.active is not True or asker.kind not in (Kind.MEMBER, Kind.GUEST):
        return Refused(alone, trace_id)
    return None


def ended(attempt: Attempt, question: Question, trace_id: str) -> Outcome:
    """How one pass through the line ends."""
    match attempt.delivered:
        case Delivery(reply, audience, _, rests_on):
            return Answered(reply.text, reply.citations, audience, reply.notes, trace_id, rests_on)
        case _:
            return Abstained(seen_by(question, attempt.listening), trace_id)


def neighbours(narrowing: Narrowing, by: Judging, index: Index) -> Neighbours:
    """How a passage's section is read on: through the index's narrowing and the same gate as everything else."""

    async def beside(opened: Opened) -> Sequence[Candidate]:
        chunk = opened.candidate.id
        section = await index.section(chunk.document, chunk.version, opened.candidate.parent, narrowing)
        return [each for each in section if abs(each.ordinal - opened.candidate.ordinal) == 1]

    async def read_on(passages: Sequence[Opened]) -> Sequence[Sequence[Opened]]:
        found = await asyncio.gather(*map(beside, passages))
        gated = await clear_candidates(list({each.id: each for some in found for each in some}.values()), by)
        cleared = {each.candidate.id: each for each in gated.opened}
        return [[cleared[each.id] for each in some if each.id in cleared] for some in found]

    return read_on


class Laps:
    """How long each stage took, in seconds; a stage that ran twice is added up."""

    def __init__(self, doors: Doors) -> None:
        self._timer = doors.timer
        self._told = doors.told
        self._last = doors.timer()
        self.seconds: dict[str, float] = {}

    def mark(self, stage: str) -> None:
        """The stage ended now, and the next begins."""
        now = self._timer()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now
        self._told(stage)
