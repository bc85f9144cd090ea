"""Retrieval alone, after every gate: what `footnote search` and the retrieval half of an evaluation show.

The same line as an answer's, up to the shortlist, for the widest audience of the place; nothing is written, so a text
leaves only as the address and the title of a passage. It is traced like a question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.answering import trace
from bot.answering.ask import Laps, hear, not_heard
from bot.answering.audience import Listening, judging, narrower, still
from bot.answering.deliver import seen_by
from bot.answering.doors import Doors
from bot.answering.gate import Judged, clear_candidates, judge
from bot.answering.outcome import Abstained, name
from bot.answering.question import Part, Query, Question, understand
from bot.answering.retrieve import retrieve
from bot.answering.shortlist import Ranked, shorten
from bot.answering.trace import Attempt
from connectors.errors import DoorError, Stop
from connectors.usage import counted
from policies.audience import Everyone
from policies.masking import mask_all
from policies.names import ChunkId
from policies.predicate import Narrowing
from policies.speech import safe_title


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found, by address; `ranks` say where each leg, the fusion and the reranker put it."""

    chunk: ChunkId
    title: str
    url: str
    score: float
    ranks: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """As `docs/commands.md` describes it."""
        return {
            "chunk_id": str(self.chunk),
            "title": self.title,
            "url": self.url,
            "section": self.chunk.section,
            "version": self.chunk.version,
            "score": round(self.score, 6),
            "ranks": self.ranks,
        }


@dataclass(frozen=True, slots=True)
class Hits:
    """What a search returned, best first. Somebody who may not ask gets none."""

    hits: tuple[Hit, ...]
    trace: str

    def to_json(self) -> dict[str, Any]:
        """As `docs/commands.md` describes it."""
        return {"results": [hit.to_json() for hit in self.hits], "trace_id": self.trace}


async def search(question: Question, limit: int, doors: Doors) -> Hits:
    """The best `limit` passages for the whole question, undivided. Raises DoorError when it can't be done now."""
    query = _whole(understand(question))
    heard = await hear(question, query, doors)
    audiences = heard.audiences[:1]
    record = trace.begin(question, query, audiences, doors)
    trace_id = await doors.traces.begin(record, trace.sealed(question, query, audiences), doors.clock())

    laps = Laps(doors)
    unheard = not_heard(question, heard, trace_id)
    attempts: list[Attempt] = []
    hits: tuple[Hit, ...] = ()
    error, trouble = heard.error, None
    with counted() as spent:
        try:
            for listening in audiences if unheard is None else ():
                attempt = await _retrieved(query, listening, max(limit, 50), doors, laps)
                hits = await _masked(_hits(attempt)[:limit], listening, doors)
                hits, listed = await _still_readable(hits, listening, query, question, doors)
                attempts.append(replace(attempt, listed=listed))
        except Exception as crash:  # the task boundary: the trace is ended first, and a text in a message goes nowhere
            trouble, error, hits = crash, trace.where(crash), ()
    outcome = unheard or Abstained(seen_by(question, None), trace_id)
    record = trace.end(outcome, attempts, laps.seconds, spent, doors.index.collection, error)
    record["outcome"] = name(outcome) if unheard else "failed" if error else "searched"
    await doors.traces.end(trace_id, record, {}, doors.clock())
    if error is not None:
        raise trouble if isinstance(trouble, DoorError) else Stop(f"the search failed: {error}; trace {trace_id}")
    return Hits(hits, trace_id)


def _whole(query: Query) -> Query:
    return Query(query.raw, (Part(query.raw, query.wants.codes),), query.wants)


async def _retrieved(query: Query, listening: Listening, depth: int, doors: Doors, laps: Laps) -> Attempt:
    if not isinstance(listening.narrowing, Narrowing):
        return Attempt(listening)
    found = await retrieve(query, listening.narrowing, doors.index, doors.embedder, depth)
    laps.mark("search")
    gated = await clear_candidates(found[0].candidates, judging(listening, query, doors))
    laps.mark("gate")
    shortlists = await shorten([(found[0].part, gated.opened)], doors.reranker, doors.cut)
    laps.mark("rerank")
    return Attempt(listening, found, gated, shortlists)


def _hits(attempt: Attempt) -> list[Hit]:
    ranked = [each for shortlist in attempt.shortlists for each in shortlist.ranked]
    ranked.sort(key=lambda each: (-each.score, each.found_at))
    return [_hit(each, place) for place, each in enumerate(ranked, 1)]


def _hit(ranked: Ranked, place: int) -> Hit:
    passage = ranked.opened.passage.content
    ranks = ranked.opened.candidate.ranks
    known = {"lexical": ranks.lexical, "vector": ranks.vector, "code": ranks.code, "fused": ranked.found_at}
    return Hit(
        ranked.opened.candidate.id,
        passage.title,
        passage.url,
        ranked.score,
        {key: value for key, value in known.items() if value is not None} | {"final": place},
    )


async def _still_readable(
    hits: Sequence[Hit], listening: Listening, query: Query, question: Question, doors: Doors
) -> tuple[tuple[Hit, ...], tuple[Judged, ...]]:
    """What everybody who sees the list may still read, on facts read just before it is handed out."""
    audience = await still(listening, question, doors)
    if not audience.readers or narrower(audience, listening):
        return (), ()
    versions = {(hit.chunk.document, hit.chunk.version) for hit in hits}
    judged = await judge(versions, judging(audience, query, doors))
    allowed = {each.version for each in judged if each.decision}
    return tuple(hit for hit in hits if (hit.chunk.document, hit.chunk.version) in allowed), judged


async def _masked(hits: Sequence[Hit], listening: Listening, doors: Doors) -> tuple[Hit, ...]:
    alone = not isinstance(listening.reach, Everyone)
    titles = [hit.title for hit in hits]
    found = list(zip(titles, await doors.personal_data.all_spans(titles), strict=True))
    masked = mask_all(found, doors.tag(), own=(listening.asker.person.name.partition(":")[2],) if alone else ())
    return tuple(replace(hit, title=safe_title(each.text)) for hit, each in zip(hits, masked, strict=True))
