"""The configured policy: every check, in order, and the digest of it all that verdicts and traces carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from policies import masking
from policies.audience import AudienceRules
from policies.checks import Check, NoSearch
from policies.decision import Allowed, Decision, Refused
from policies.facts import Kind, Moment, Resource, Subject
from policies.predicate import Condition, Narrowing, SearchScope


@dataclass(frozen=True, slots=True)
class Rules:
    """What can be configured. None of it can switch a check off."""

    kinds: frozenset[Kind]  # kinds of people who may ask
    groups_within: timedelta  # how old the asker's groups may be
    audience: AudienceRules
    masking: masking.Rules


@dataclass(frozen=True, slots=True)
class Policy:
    """Every check, and the rules they were made from. Has at least one check: an empty policy would let all pass."""

    checks: tuple[Check, ...]
    version: str
    rules: Rules

    def __post_init__(self) -> None:
        if not self.checks:
            raise ValueError("a policy without checks would let everybody read; load one from rules.toml")

    def decide(self, subject: Subject, resource: Resource, moment: Moment) -> Decision:
        """The verdict on one version of one document; the first objection counts, and a check that crashes objects."""
        for check in self.checks:
            try:
                objection = check.objects(subject, resource, moment)
            except Exception as crash:  # a crashing check: whatever broke it, the answer is no
                objection = _crashed(crash)
            if objection is not None:
                return Refused(check.name, objection, self.version)
        return Allowed(resource.document, resource.version, self.version)

    def narrow(self, subject: Subject, scopes: SearchScope | None, moment: Moment) -> Narrowing | Refused:
        """What a search for this asker is narrowed to; `scopes` are those that the ledger says he satisfies, None where
        there is none."""
        conditions: list[Condition] = []
        for check in self.checks:
            try:
                narrowed = check.narrows(subject, moment)
            except Exception as crash:  # a crashing check: whatever broke it, there is no search
                narrowed = NoSearch(_crashed(crash))
            match narrowed:
                case NoSearch(reason):
                    return Refused(check.name, reason, self.version)
                case tuple() if all(isinstance(condition, Condition) for condition in narrowed):
                    conditions += narrowed
                case _:
                    return Refused(check.name, "the check did not say how to narrow a search", self.version)
        if not isinstance(scopes, SearchScope):
            return Refused("access-satisfied", "the asker satisfies no scope", self.version)
        return Narrowing(scopes, tuple(conditions))

    def decide_all(self, subject: Subject, resources: Sequence[Resource], moment: Moment) -> tuple[Decision, ...]:
        """One verdict a resource, in order."""
        return tuple(self.decide(subject, resource, moment) for resource in resources)


def _crashed(crash: Exception) -> str:
    return f"the check crashed with {type(crash).__name__}"  # its message may quote content
