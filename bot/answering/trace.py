"""What the audit record holds of a question: ids, versions, scores, verdicts and timings, never a text.

`begin` is what was known before anything was searched; `end` is what happened. The question, the reply and who asked
are handed over apart, to be sealed. From the facts beside each verdict the decision can be computed again.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from bot.answering.audience import Listening
from bot.answering.context import Context
from bot.answering.deliver import Delivery, Withheld
from bot.answering.doors import Doors
from bot.answering.gate import Dropped, Gated, Judged
from bot.answering.ground import Answer
from bot.answering.outcome import Answered, Outcome, name
from bot.answering.question import Query, Question
from bot.answering.retrieve import Found
from bot.answering.shortlist import Shortlist
from connectors.records import Candidate, Draft, written_readers
from connectors.usage import Spent, cost, tally
from policies.access import digest
from policies.audience import Everyone
from policies.decision import Refused
from policies.predicate import AtLeast, AtMost, Condition, Narrowing, OneOf, SearchScope

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One pass through the line for one audience: what each stage made, as far as it came."""

    listening: Listening
    found: tuple[Found, ...] = ()
    gated: Gated | None = None
    shortlists: tuple[Shortlist, ...] = ()
    context: Context | None = None
    draft: Draft | None = None
    answer: Answer | None = None
    delivered: Delivery | Withheld | None = None
    listed: tuple[Judged, ...] = ()  # of a search: the verdicts that what it lists was let out on


def begin(question: Question, query: Query, audiences: Sequence[Listening], doors: Doors) -> Record:
    """The record appended before retrieval."""
    identity = doors.index.identity
    return {
        "place": str(question.place),
        "on": query.wants.moment.on.isoformat(),
        "dated": query.wants.moment.dated,
        "parts": len(query.parts),
        "codes": len(query.wants.codes),
        "policy": doors.policy.version,
        "index": {"model": identity.model, "dimensions": identity.dimensions, "schema": identity.schema},
        "models": {
            "embedder": doors.embedder.model,
            "reranker": doors.reranker.model,
            "writer": doors.writer.model,
            "prompt": doors.writer.prompt,
        },
        "audiences": [_audience(each) for each in audiences],
    }


def sealed(question: Question, query: Query, audiences: Sequence[Listening]) -> dict[str, str]:
    """What is sealed of a question: who asked, what, what was searched for, and whom the verdicts are for, the asker
    first."""
    fields = {"asker": str(question.asker), "question": question.text}
    fields["subqueries"] = "\n".join(part.text for part in query.parts)
    if question.earlier:
        fields["thread"] = "\n".join(question.earlier)
    if audiences:
        asker = audiences[0].asker
        others = [each for each in audiences[0].readers if each.person != asker.person]
        fields["readers"] = written_readers([asker, *others])
    return fields


def end(
    outcome: Outcome,
    attempts: Sequence[Attempt],
    timings: Mapping[str, float],
    spent: Sequence[Spent],
    collection: str | None,
    error: str | None,
) -> Record:
    """The record appended after the reply was made. `timings` are seconds by stage; `spent`, the calls to hosted
    models; `collection` is what the index read, where it has several."""
    record: Record = {
        "outcome": name(outcome),
        "visible_to": outcome.audience.visible_to,
        "attempts": [_attempt(attempt) for attempt in attempts],
        "citations": _citations(outcome),
        "timings_ms": {stage: round(seconds * 1000) for stage, seconds in timings.items()},
    }
    if spent:
        record |= {"usage": tally(spent), "cost": _decimal(cost(spent))}
    if collection:
        record["collection"] = collection
    if error:
        record["error"] = error
    return record


def where(trouble: Exception) -> str:
    """What went wrong, by its kind and place in the code. Its message may quote content and is not told."""
    frames = traceback.extract_tb(trouble.__traceback__)
    last = f" at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(trouble).__name__}{last}"


def fingerprint(parts: Sequence[object]) -> str:
    """One short name for a set of ids."""
    return sha256("\x00".join(sorted(map(str, parts))).encode()).hexdigest()[:16]


def _audience(listening: Listening) -> Record:
    narrowing = listening.narrowing
    record: Record = {
        "visible_to": "everyone" if isinstance(listening.reach, Everyone) else "asker",
        "readers": len(listening.readers),
        "principals": fingerprint([each for reader in listening.readers for each in reader.principals]),
    }
    match narrowing:
        case Narrowing(scope, conditions):
            # Counted, never listed: an asker may have very many.
            record["scopes"] = len(scope.ids)
            record["containers"] = len(scope.containers)
            record["excepted"] = len(scope.excepted)
            record["scopes_digest"] = fingerprint(_written(scope))
            record["conditions"] = [_condition(condition) for condition in conditions]
        case Refused(check):
            record["refused"] = check
    return record


def _written(scope: SearchScope) -> list[str]:
    parts = (("", scope.ids), ("in ", scope.containers), ("not ", scope.excepted))
    return [f"{mark}{each}" for mark, ids in parts for each in ids]


def _condition(condition: Condition) -> str:
    match condition:
        case AtMost(field, value):
            return f"{field} <= {value}"
        case AtLeast(field, value):
            return f"{field} >= {value}"
        case OneOf(field, values):
            return f"{field} in {sorted(values)}"


def _attempt(attempt: Attempt) -> Record:
    record: Record = {
        "audience": _audience(attempt.listening),
        "found": [[_candidate(candidate) for candidate in found.candidates] for found in attempt.found],
    }
    if attempt.gated:
        record["judged"] = [_judged(each) for each in attempt.gated.judged]
        record["dropped"] = _dropped(attempt.gated.dropped)
    record["shortlists"] = [_shortlist(each) for each in attempt.shortlists]
    if attempt.context:
        record["context"] = [
            {"label": each.label, "chunk": str(each.opened.candidate.id)} for each in attempt.context.passages
        ]
        record["left_out"] = _dropped(attempt.context.left_out)
    if attempt.draft:
        record["draft"] = {
            "model": attempt.draft.model,
            "claims": [_known(claim.labels, attempt.context) for claim in attempt.draft.claims],
            "unanswered": len(attempt.draft.unanswered),
            "usage": dict(attempt.draft.usage),
            "finish": attempt.draft.finish or None,
            "provider_request": attempt.draft.request or None,
        }
    if attempt.answer:
        record["loose"] = [
            {"labels": _known(each.labels, attempt.context), "reason": each.reason[:200]}
            for each in attempt.answer.loose
        ]
    if attempt.delivered:
        record["delivery"] = [_judged(each) for each in attempt.delivered.judged]
    if attempt.listed:
        record["delivery"] = [_judged(each) for each in attempt.listed]
    if isinstance(attempt.delivered, Delivery):
        record["masked"] = dict(attempt.delivered.reply.masked)
    return record


def _known(labels: Sequence[str], context: Context | None) -> list[str]:
    # A writer may call a label whatever it likes, so only those that were given out are repeated.
    offered = {each.label for each in context.passages} if context else set()
    return [label if label in offered else "?" for label in labels]


def _candidate(candidate: Candidate) -> Record:
    ranks = candidate.ranks
    known = {
        "lexical": ranks.lexical,
        "lexical_score": _decimal(ranks.lexical_score),
        "vector": ranks.vector,
        "vector_score": _decimal(ranks.vector_score),
        "code": ranks.code,
    }
    return {
        "chunk": str(candidate.id),
        "digest": candidate.digest[:16],
        "score": _decimal(candidate.score),
        **{key: value for key, value in known.items() if value is not None},
    }


def _judged(judged: Judged) -> Record:
    document, version = judged.version
    record: Record = {"document": str(document), "version": version, "at": judged.at.isoformat()}
    match judged.decision:
        case Refused(check):
            record |= {"allowed": False, "check": check}
        case _:
            record["allowed"] = True
    if resource := judged.resource:
        record |= {
            "scope": resource.scope.id,
            "expression": digest(resource.scope.access),
            "state": resource.scope.state.value,
            "verified_at": resource.scope.verified_at.isoformat(),
            "lease": int(resource.scope.lease.total_seconds()),
            "life": resource.life.value,
            "current": resource.current,
            "hidden_by": resource.hidden_by,
            "effective_from": resource.effective_from and resource.effective_from.isoformat(),
            "effective_to": resource.effective_to and resource.effective_to.isoformat(),
            "superseded": resource.superseded,
            "trust": resource.trust.value,
        }
    return record


def _dropped(dropped: Sequence[Dropped]) -> list[Record]:
    return [{"chunk": str(each.id), "check": each.check} for each in dropped]


def _shortlist(shortlist: Shortlist) -> list[Record]:
    kept = {id(each) for each in shortlist.kept}
    return [
        {
            "chunk": str(each.opened.candidate.id),
            "relevance": _decimal(each.relevance),
            "score": _decimal(each.score),
            "kept": id(each) in kept,
        }
        for each in shortlist.ranked
        if each.relevance is not None
    ]


def _citations(outcome: Outcome) -> list[Record]:
    if not isinstance(outcome, Answered):
        return []
    return [{"label": each.label, "chunk": str(each.chunk)} for each in outcome.citations]


def _decimal(score: float | None) -> str | None:
    # Decimal strings: the canonical form of a float differs between languages, and the record is hashed.
    return None if score is None else f"{score:.6f}"
