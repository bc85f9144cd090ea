"""A stored answer for more eyes than it was made for: everything is judged anew, and nothing is written anew.

Everybody who would see it is looked up now; every document that it cites is judged for each of them on facts read now;
the passages must still be the published ones; personal data is masked as for everybody. One no is a no for the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.answering import trace
from bot.answering.audience import Listening, judging, listeners
from bot.answering.deliver import Delivery, seen_by
from bot.answering.doors import Doors
from bot.answering.gate import Judged, judge
from bot.answering.live import unconfirmed
from bot.answering.outcome import Abstained, Answered, Outcome
from bot.answering.question import Query, Question, understand
from bot.answering.reply import Reply
from bot.answering.trace import Attempt
from policies.audience import Everyone
from policies.facts import Kind
from policies.masking import mask_all
from policies.names import ChunkId


@dataclass(frozen=True, slots=True)
class _Verdict:
    listening: Listening
    judged: tuple[Judged, ...]
    allowed: bool


Texts = Mapping[ChunkId, frozenset[str]]


async def share(answer: Answered, texts: Texts, question: Question, doors: Doors) -> Answered | None:
    """The answer for everybody in the question's place; None when it may not be said there. `texts`: the digests of
    what it rests on, as it was; `question`: the one that was answered, asked now by its asker in that place. Raises
    only when the trace can't be written."""
    query = understand(question)
    verdict, error = None, None
    record = trace.begin(question, query, (), doors) | {"surface": "share"}
    trace_id = await doors.traces.begin(record, trace.sealed(question, query, ()), doors.clock())
    outcome: Outcome = Abstained(seen_by(question, None), trace_id)
    attempts: list[Attempt] = []
    try:
        verdict = await _judged(answer, texts, question, query, doors)
        if verdict is not None:
            audience = seen_by(question, verdict.listening)
            if verdict.allowed:
                outcome = replace(await _masked(answer, doors), audience=audience, trace=trace_id)
            reply = Reply("", (), (), Counter())
            attempts = [Attempt(verdict.listening, delivered=Delivery(reply, audience, verdict.judged))]
    except Exception as trouble:  # the task boundary: whatever broke, nothing is shared
        error = trace.where(trouble)
    await doors.traces.end(trace_id, trace.end(outcome, attempts, {}, (), None, error), {}, doors.clock())
    return outcome if isinstance(outcome, Answered) else None


async def _judged(answer: Answered, texts: Texts, question: Question, query: Query, doors: Doors) -> _Verdict | None:
    asker = await doors.directory.subject(question.asker, question.at)
    if asker is None or asker.active is not True or asker.kind not in (Kind.MEMBER, Kind.GUEST):
        return None
    widest = (await listeners(question, asker, query.wants.moment, doors))[0]
    if not isinstance(widest.reach, Everyone) or not answer.citations:
        return None
    # Not only what is shown: its words may be those of any passage that a claim was written from.
    rests_on = sorted({each.chunk for each in answer.citations} | texts.keys())
    versions = {(chunk.document, chunk.version) for chunk in rests_on}
    by = judging(widest, query, doors)
    judged = await judge(versions, by)
    published = await doors.facts.digests(rests_on)
    none: frozenset[str] = frozenset()
    there = all(published.get(chunk, none) & texts.get(chunk, none) for chunk in rests_on)
    allowed = there and all(bool(each.decision) for each in judged)
    return _Verdict(widest, judged, allowed and not await unconfirmed(versions, by, doors.live))


async def _masked(answer: Answered, doors: Doors) -> Answered:
    """The answer with personal data masked as for anybody, also what was the asker's own."""
    lines = answer.text.split("\n")
    titles = [each.title for each in answer.citations]
    quotes = [each.quote for each in answer.citations]
    groups: Sequence[Sequence[str]] = (lines, titles, quotes, answer.notes)
    texts = [text for group in groups for text in group]
    spans = await doors.personal_data.all_spans(texts)
    rest = iter(mask_all(list(zip(texts, spans, strict=True)), doors.tag()))
    lines, titles, quotes, notes = ([next(rest).text for _ in group] for group in groups)
    citations = tuple(
        replace(each, title=title, quote=quote)
        for each, title, quote in zip(answer.citations, titles, quotes, strict=True)
    )
    return replace(answer, text="\n".join(lines), citations=citations, notes=tuple(notes))
