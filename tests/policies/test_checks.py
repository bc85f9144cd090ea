"""Each check, in a table: what it objects to, and that its narrowing says the same."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from policies.access import NOBODY, AccessExpr, Unknown
from policies.checks import (
    AccessSatisfied,
    AskerActive,
    Check,
    DocumentLive,
    GroupsFresh,
    InForce,
    KindAllowed,
    LeaseRunning,
    NoSearch,
    NotOverlaid,
    NotQuarantined,
    NotSuperseded,
    ScopeActive,
    VersionCurrent,
    satisfied,
)
from policies.facts import Kind, Life, Moment, Resource, ScopeState, Subject, Trust
from policies.names import Principal, ScopeId
from tests.policies.given import FINANCE, NOW, STAFF, TODAY, moment, resource, scope, subject

MICROSECOND = timedelta(microseconds=1)
FRESH = GroupsFresh(timedelta(minutes=15))
KINDS = KindAllowed(frozenset([Kind.MEMBER, Kind.GUEST]))


@pytest.mark.parametrize(
    ("check", "asker", "fine"),
    [
        (AskerActive(), subject(), True),
        (AskerActive(), subject(active=False), False),
        (AskerActive(), subject(active=None), False),
        (KINDS, subject(kind=Kind.MEMBER), True),
        (KINDS, subject(kind=Kind.GUEST), True),
        (KINDS, subject(kind=Kind.EXTERNAL), False),
        (KINDS, subject(kind=None), False),
        (KindAllowed(frozenset([Kind.MEMBER])), subject(kind=Kind.GUEST), False),
        (FRESH, subject(resolved_at=NOW), True),
        (FRESH, subject(resolved_at=NOW - timedelta(minutes=15)), True),
        (FRESH, subject(resolved_at=NOW - timedelta(minutes=15) - MICROSECOND), False),
        (FRESH, subject(resolved_at=NOW + MICROSECOND), False),
    ],
)
def test_a_check_of_the_asker_objects_and_refuses_to_search_alike(check: Check, asker: Subject, fine: bool) -> None:
    objection = check.objects(asker, resource(), moment())

    assert fine is (objection is None)
    assert check.narrows(asker, moment()) == (() if fine else NoSearch(objection or ""))


DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("check", "changed", "fine"),
    [
        (ScopeActive(), {"state": ScopeState.ACTIVE}, True),
        (ScopeActive(), {"state": ScopeState.UNKNOWN}, False),
        (ScopeActive(), {"state": ScopeState.QUARANTINED}, False),
        (ScopeActive(), {"state": ScopeState.GONE}, False),
        (LeaseRunning(), {"verified_at": NOW, "lease": timedelta(0)}, True),
        (LeaseRunning(), {"verified_at": NOW - DAY, "lease": DAY}, True),
        (LeaseRunning(), {"verified_at": NOW - DAY - MICROSECOND, "lease": DAY}, False),
        (LeaseRunning(), {"verified_at": NOW + MICROSECOND, "lease": DAY}, False),
        (LeaseRunning(), {"verified_at": NOW, "lease": -MICROSECOND}, False),
        (LeaseRunning(), {"verified_at": NOW, "lease": timedelta.max}, True),
        (AccessSatisfied(), {"access": AccessExpr.any_of(FINANCE, STAFF)}, True),
        (AccessSatisfied(), {"access": AccessExpr.all_of([FINANCE], [STAFF])}, False),
        (AccessSatisfied(), {"access": NOBODY}, False),
        (AccessSatisfied(), {"access": Unknown("403")}, False),
        (AccessSatisfied(), {"access": None}, False),
    ],
)
def test_a_check_of_the_scope_objects_and_the_ledgers_scopes_say_the_same(
    check: Check, changed: dict[str, object], fine: bool
) -> None:
    asker, rules = subject(FINANCE), scope(**changed)

    assert fine is (check.objects(asker, resource(scope=rules), moment()) is None)
    assert satisfied(asker.principals, [rules], NOW) == (frozenset([ScopeId(1)]) if fine else frozenset())
    assert check.narrows(asker, moment()) == ()


def test_each_way_to_be_kept_out_has_its_reason() -> None:
    check = AccessSatisfied()

    unknown = check.objects(subject(), resource(scope=scope(access=Unknown("the site answered 403"))), moment())
    outside = check.objects(subject(), resource(), moment())

    assert unknown == "who may read scope 1 is unknown: the site answered 403"
    assert outside == "at least one clause of scope 1 names nobody that the asker is"


@pytest.mark.parametrize(
    ("check", "changed", "fine"),
    [
        (DocumentLive(), {"life": Life.LIVE}, True),
        (DocumentLive(), {"life": Life.HIDDEN}, False),
        (DocumentLive(), {"life": Life.TOMBSTONE}, False),
        (NotOverlaid(), {"hidden_by": None}, True),
        (NotOverlaid(), {"hidden_by": "hr"}, False),
        (NotOverlaid(), {"hidden_by": ""}, False),
        (VersionCurrent(), {"current": True}, True),
        (VersionCurrent(), {"current": False}, False),
        (VersionCurrent(), {"current": None}, False),
    ],
)
def test_what_only_the_ledger_knows_is_judged_after_the_search(
    check: Check, changed: dict[str, object], fine: bool
) -> None:
    assert fine is (check.objects(subject(FINANCE), resource(**changed), moment()) is None)
    assert check.narrows(subject(FINANCE), moment()) == ()


YESTERDAY, TOMORROW = TODAY - DAY, TODAY + DAY


@pytest.mark.parametrize(
    ("check", "changed", "at", "fine"),
    [
        (InForce(), {}, moment(), True),
        (InForce(), {"effective_from": TODAY}, moment(), True),
        (InForce(), {"effective_from": TOMORROW}, moment(), False),
        (InForce(), {"effective_to": TODAY}, moment(), True),
        (InForce(), {"effective_to": YESTERDAY}, moment(), False),
        (InForce(), {"effective_from": TODAY, "effective_to": TODAY}, moment(), True),
        (InForce(), {"effective_from": TOMORROW, "effective_to": YESTERDAY}, moment(), False),
        (InForce(), {"effective_to": YESTERDAY}, moment(YESTERDAY, dated=True), True),
        (InForce(), {"effective_from": TODAY}, moment(YESTERDAY, dated=True), False),
        (InForce(), {"effective_from": date.min, "effective_to": date.max}, moment(), True),
        (NotSuperseded(), {"superseded": False}, moment(), True),
        (NotSuperseded(), {"superseded": True}, moment(), False),
        (NotSuperseded(), {"superseded": True}, moment(dated=True), True),
        (NotSuperseded(), {"superseded": False}, moment(dated=True), True),
        (NotQuarantined(), {"trust": Trust.CLEAN}, moment(), True),
        (NotQuarantined(), {"trust": Trust.SUSPECT}, moment(), True),
        (NotQuarantined(), {"trust": Trust.QUARANTINED}, moment(), False),
    ],
)
def test_a_check_of_dates_or_trust_objects_to_what_it_does_not_search(
    check: Check, changed: dict[str, object], at: Moment, fine: bool
) -> None:
    document: Resource = resource(**changed)

    assert fine is (check.objects(subject(FINANCE), document, at) is None)


def test_the_reason_names_the_days() -> None:
    until = resource(effective_from=date(2025, 1, 1), effective_to=YESTERDAY)

    assert InForce().objects(subject(), until, moment()) == (
        "the document is in force from 2025-01-01 until 2026-03-01, and the question is about 2026-03-02"
    )
    assert "from ever until further notice" not in str(InForce().objects(subject(), until, moment()))


def test_satisfied_takes_the_scopes_that_pass_and_no_others() -> None:
    rules = [
        scope(id=ScopeId(1)),
        scope(id=ScopeId(2), access=AccessExpr.any_of(STAFF)),
        scope(id=ScopeId(3), state=ScopeState.GONE),
        scope(id=ScopeId(4), access=AccessExpr.any_of(FINANCE, Principal.group("x"))),
    ]

    assert satisfied(frozenset([FINANCE]), rules, NOW) == {1, 4}
    assert satisfied(frozenset(), rules, NOW) == frozenset()
