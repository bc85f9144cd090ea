"""A verdict in plain sentences, for admins and reviewers; the asker gets the one refusal text and never this."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from policies.access import Unknown, simplify
from policies.decision import Allowed, Decision
from policies.facts import Resource, Subject
from policies.names import Principal


@dataclass(frozen=True, slots=True)
class ClauseHeld:
    """One clause of the document's rules, and which of its principals the person is."""

    any_of: tuple[Principal, ...]
    held: tuple[Principal, ...]  # none: this clause keeps him out


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether, by which check, why, and clause by clause; `verified_at` is when the rules were last read."""

    allowed: bool
    check: str | None
    reason: str
    clauses: tuple[ClauseHeld, ...]
    policy_version: str
    verified_at: datetime


def explain(subject: Subject, resource: Resource, decision: Decision) -> Explanation:
    """Say `decision`, which was made on these same facts, in words. Clauses are shown after absorption, in order."""
    clauses, verified_at = held_clauses(subject, resource), resource.scope.verified_at
    if isinstance(decision, Allowed):
        through = ", and ".join(f"as {' or '.join(map(str, clause.held))}" for clause in clauses)
        reason = f"{subject.person} may read {resource.document}@{decision.version} {through}; no check objects."
        return Explanation(True, None, reason, clauses, decision.policy_version, verified_at)
    reason = f"{subject.person} may not read {resource.document}@{resource.version}: {decision.reason}."
    return Explanation(False, decision.check, reason, clauses, decision.policy_version, verified_at)


def held_clauses(subject: Subject, resource: Resource) -> tuple[ClauseHeld, ...]:
    """Each clause with what the person holds of it, smallest first; none where the rules are unknown."""
    access = resource.scope.access
    if isinstance(access, Unknown):
        return ()
    ordered = sorted(simplify(access).clauses, key=lambda clause: (len(clause), sorted(clause)))
    return tuple(ClauseHeld(tuple(sorted(clause)), tuple(sorted(clause & subject.principals))) for clause in ordered)
