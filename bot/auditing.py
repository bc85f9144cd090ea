"""The audit record as reviewers read it, and its access decisions made again from what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from connectors.ports import TraceLog, TraceSummary, TraceView
from policies.decision import Allowed, Decision
from policies.facts import Moment, Resource, Subject
from policies.policy import Policy

Json = dict[str, Any]


class Judgement(Protocol):
    """One verdict as it was recorded, with the facts that it was made of."""

    @property
    def resource(self) -> Resource: ...
    @property
    def readers(self) -> Sequence[Subject]: ...
    @property
    def moment(self) -> Moment: ...
    @property
    def allowed(self) -> bool: ...
    @property
    def check(self) -> str | None: ...


class Replay(Protocol):
    """What recomputing a trace needs."""

    @property
    def trace(self) -> str: ...
    @property
    def policy_version(self) -> str: ...
    @property
    def judgements(self) -> Sequence[Judgement]: ...
    @property
    def unreadable(self) -> int: ...


class AuditRecord(TraceLog, Protocol):
    """The audit record with what its verdicts were made of."""

    async def replay(self, trace: str, now: datetime) -> Replay | None:
        """The recorded verdicts of a trace; None when there is no such trace."""
        ...


def summary(trace: TraceSummary) -> Json:
    """One trace in a list."""
    return {
        "trace_id": trace.id,
        "at": trace.begun.isoformat(),
        "ended": None if trace.ended is None else trace.ended.isoformat(),
        "state": trace.state,
        "outcome": trace.outcome,
        "asker": trace.asker,
    }


def shown(view: TraceView) -> Json:
    """One trace whole; `revealed` only where it was asked for."""
    whole = {
        **summary(view.summary),
        "begin": dict(view.begin),
        "end": None if view.end is None else dict(view.end),
        "sealed": list(view.sealed),
    }
    return {**whole, "revealed": dict(view.revealed)} if view.revealed else whole


def replayed(recorded: Replay, policy: Policy) -> Json:
    """Every recorded verdict beside the one that today's policy makes of the same facts."""
    decisions = [_again(each, policy) for each in recorded.judgements]
    return {
        "trace_id": recorded.trace,
        "same": all(each["same"] for each in decisions) if decisions else None,  # nothing was judged
        "policy_version": policy.version,
        "recorded_policy_version": recorded.policy_version,
        "decisions": decisions,
        "unreadable": recorded.unreadable,
    }


def _again(judgement: Judgement, policy: Policy) -> Json:
    allowed, check = _verdict(judgement, policy)
    recorded = (judgement.allowed, judgement.check)
    return {
        "document": f"{judgement.resource.document}@{judgement.resource.version}",
        "recorded": _word(*recorded),
        "recomputed": _word(allowed, check),
        "same": recorded == (allowed, check),
    }


def _verdict(judgement: Judgement, policy: Policy) -> tuple[bool, str | None]:
    """As the gate judges: each reader must be allowed, and the first who is not decides."""
    decision: Decision | None = None
    for reader in judgement.readers:
        decision = policy.decide(reader, judgement.resource, judgement.moment)
        if not isinstance(decision, Allowed):
            return False, decision.check
    return decision is not None, None


def _word(allowed: bool, check: str | None) -> str:
    return "allowed" if allowed else f"refused: {check}"
