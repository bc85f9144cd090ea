"""The policy: the first objection counts, and whatever cannot be judged is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

import pytest

from policies.checks import NoSearch
from policies.decision import Allowed, Refused
from policies.facts import Kind, Life, Moment, Resource, Subject
from policies.names import ScopeId
from policies.policy import Policy
from policies.predicate import AtLeast, AtMost, Condition, Narrowing, OneOf, SearchScope
from tests.policies.given import FINANCE, NOW, TODAY, moment, policy, resource, scope, subject

POLICY = policy()
SCOPES = SearchScope(frozenset([ScopeId(1)]))


@dataclass(frozen=True)
class Crashing:
    """A check that cannot do its work."""

    name: ClassVar[str] = "crashing"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        raise RuntimeError("the text of a document")

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...] | NoSearch:
        raise RuntimeError("the text of a document")


@dataclass(frozen=True)
class Muddled:
    """A check that answers with something that is no answer."""

    answer: object
    name: ClassVar[str] = "muddled"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        return self.answer  # type: ignore[return-value]  # the mistake that is refused

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...] | NoSearch:
        return self.answer  # type: ignore[return-value]  # the mistake that is refused


def with_check(check: object) -> Policy:
    return replace(POLICY, checks=(*POLICY.checks, check))


def test_who_meets_every_clause_may_read_the_version_judged() -> None:
    decision = POLICY.decide(subject(FINANCE), resource(version="v7"), moment())

    assert decision == Allowed(resource().document, "v7", POLICY.version)


@pytest.mark.parametrize(
    ("asker", "document", "check"),
    [
        (subject(), resource(), "access-satisfied"),
        (subject(FINANCE, active=False), resource(life=Life.HIDDEN), "asker-active"),
        (subject(FINANCE, kind=Kind.EXTERNAL), resource(), "kind-allowed"),
        (subject(FINANCE), resource(life=Life.TOMBSTONE, current=False), "document-live"),
        (subject(FINANCE), resource(current=False), "version-current"),
    ],
)
def test_the_first_objection_is_the_verdict(asker: Subject, document: Resource, check: str) -> None:
    decision = POLICY.decide(asker, document, moment())

    assert isinstance(decision, Refused)
    assert (decision.check, decision.policy_version) == (check, POLICY.version)
    assert decision.reason


def test_a_crashing_check_refuses_and_does_not_tell_what_it_saw() -> None:
    refused = Refused("crashing", "the check crashed with RuntimeError", POLICY.version)

    assert with_check(Crashing()).decide(subject(FINANCE), resource(), moment()) == refused
    assert with_check(Crashing()).narrow(subject(FINANCE), SCOPES, moment()) == refused


@pytest.mark.parametrize(
    ("asker", "document"),
    [
        (subject(FINANCE, resolved_at=datetime(2026, 3, 2)), resource()),  # noqa: DTZ001 - a naive time from a door
        (subject(FINANCE), resource(scope=scope(verified_at=None))),
        (subject(FINANCE), resource(scope=scope(lease=None))),
        (subject(FINANCE, principals=None), resource()),
        (subject(FINANCE), resource(scope=None)),
        (subject(FINANCE), resource(trust="new")),
        (subject(FINANCE), resource(effective_from="2026-01-01")),
    ],
)
def test_facts_that_cannot_be_judged_refuse(asker: Subject, document: Resource) -> None:
    assert isinstance(POLICY.decide(asker, document, moment()), Refused)


@pytest.mark.parametrize("answer", ["", False, True, 0, ()])
def test_an_objection_is_anything_but_none(answer: object) -> None:
    assert not with_check(Muddled(answer)).decide(subject(FINANCE), resource(), moment())


@pytest.mark.parametrize("answer", [None, False, True, 0, [], "trust", ("trust",), (None,)])
def test_a_narrowing_that_is_no_conditions_refuses_the_search(answer: object) -> None:
    assert isinstance(with_check(Muddled(answer)).narrow(subject(FINANCE), SCOPES, moment()), Refused)


def test_a_search_is_narrowed_by_every_check() -> None:
    day = TODAY.toordinal()

    assert POLICY.narrow(subject(FINANCE), SCOPES, moment()) == Narrowing(
        SCOPES,
        (
            AtMost("effective_from", day),
            AtLeast("effective_to", day),
            OneOf("superseded", frozenset([0])),
            AtMost("trust", 1),
        ),
    )


def test_who_satisfies_no_scope_does_not_search() -> None:
    refused = POLICY.narrow(subject(FINANCE), None, moment())

    assert refused == Refused("access-satisfied", "the asker satisfies no scope", POLICY.version)


def test_an_asker_with_old_groups_does_not_search() -> None:
    refused = POLICY.narrow(subject(FINANCE, resolved_at=NOW.replace(year=2025)), SCOPES, moment())

    assert isinstance(refused, Refused)
    assert refused.check == "groups-fresh"


def test_a_policy_without_checks_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="without checks"):
        Policy((), "none", POLICY.rules)


def test_verdicts_on_several_come_in_order() -> None:
    decisions = POLICY.decide_all(subject(FINANCE), [resource(), resource(current=False)], moment())

    assert [bool(decision) for decision in decisions] == [True, False]
