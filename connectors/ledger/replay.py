"""What a trace's verdicts were made of, read back so that they can be made again.

Content-addressed expressions are never deleted, so the rules of that time are still there by their digest. `readers` is
the sealed field with the subjects, as `connectors.records.written_readers` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from connectors.errors import Skip
from connectors.ledger.facts import SqlFacts
from connectors.ports import TraceView
from policies.access import Unknown
from policies.facts import Kind, Life, Moment, Resource, Scope, ScopeState, Subject, Trust
from policies.names import DocumentId, Principal, ScopeId


@dataclass(frozen=True, slots=True)
class Judgement:
    """One verdict as it was recorded, with the facts that it was made of."""

    resource: Resource
    readers: tuple[Subject, ...]  # everybody it was for; all must be allowed
    moment: Moment
    allowed: bool
    check: str | None


@dataclass(frozen=True, slots=True)
class Replay:
    """Everything that recomputing a trace's access decisions needs. `unreadable` counts verdicts whose facts were not
    recorded: there was no resource to judge."""

    trace: str
    policy_version: str
    judgements: tuple[Judgement, ...]
    unreadable: int


async def replayed(view: TraceView, facts: SqlFacts) -> Replay:
    """Read the verdicts of a trace back; Skip when it doesn't say for whom they were, or how to read its facts."""
    trace, begin, end, readers = view.summary.id, view.begin, view.end, view.revealed.get("readers")
    if readers is None:
        raise Skip(f"trace {trace!r} does not hold its readers, so its verdicts can't be computed again")
    try:
        subjects = tuple(_subject(each) for each in json.loads(readers))
        on = Moment(view.summary.begun, date.fromisoformat(begin["on"]), bool(begin["dated"]))
        attempts = (end or {}).get("attempts", ())
        found = [(each, _readers(subjects, attempt)) for attempt in attempts for each in _each(attempt)]
        made = [await _judgement(each, who, on, facts) for each, who in found]
    except (ValueError, KeyError, TypeError) as error:
        raise Skip(f"trace {trace!r} can't be read back ({type(error).__name__})") from error
    whole = tuple(each for each in made if each is not None)
    return Replay(trace, str(begin.get("policy", "")), whole, len(made) - len(whole))


def _each(attempt: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from attempt.get("judged", ())
    yield from attempt.get("delivery", ())


def _readers(subjects: tuple[Subject, ...], attempt: Mapping[str, Any]) -> tuple[Subject, ...]:
    """Whom an attempt was for: the asker, who stands first, or everybody in the place."""
    return subjects if attempt.get("audience", {}).get("visible_to") == "everyone" else subjects[:1]


def _subject(entry: Mapping[str, Any]) -> Subject:
    return Subject(
        Principal(entry["person"]),
        Kind(entry["kind"]),
        entry["active"] is True,
        frozenset(Principal(name) for name in entry["principals"]),
        datetime.fromisoformat(entry["resolved_at"]),
    )


async def _judgement(
    entry: Mapping[str, Any], readers: tuple[Subject, ...], at: Moment, facts: SqlFacts
) -> Judgement | None:
    if "scope" not in entry:
        return None
    access = await facts.expression(entry["expression"])
    scope = Scope(
        ScopeId(entry["scope"]),
        access if access is not None else Unknown("the ledger never saw these rules"),
        ScopeState(entry["state"]),
        datetime.fromisoformat(entry["verified_at"]),
        timedelta(seconds=float(entry["lease"])),
    )
    resource = Resource(
        document=DocumentId.parse(entry["document"]),
        version=entry["version"],
        scope=scope,
        life=Life(entry["life"]),
        current=entry["current"] is True,
        hidden_by=entry.get("hidden_by"),
        effective_from=_day(entry.get("effective_from")),
        effective_to=_day(entry.get("effective_to")),
        superseded=entry["superseded"] is True,
        trust=Trust(entry["trust"]),
    )
    now = datetime.fromisoformat(entry["at"]) if entry.get("at") else at.now
    return Judgement(resource, readers, Moment(now, at.on, at.dated), entry["allowed"] is True, entry.get("check"))


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None
