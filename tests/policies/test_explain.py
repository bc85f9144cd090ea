"""A verdict in words: which check, why, and clause by clause."""

from __future__ import annotations

from policies.access import AccessExpr, Unknown
from policies.explain import ClauseHeld, explain
from policies.names import Principal
from tests.policies.given import ASHA, FINANCE, NOW, STAFF, moment, policy, resource, scope, subject

LEADS = Principal.group("leads")
BOTH = scope(access=AccessExpr.all_of([FINANCE, ASHA], [LEADS], [LEADS, STAFF]))


def test_who_may_read_is_told_through_which_principals() -> None:
    asker, document = subject(FINANCE, LEADS), resource(scope=BOTH)

    said = explain(asker, document, policy().decide(asker, document, moment()))

    assert (said.allowed, said.check) == (True, None)
    assert said.reason == (
        "usr:asha@example.com may read sample:pay.md@v1 as grp:leads, and as grp:finance or usr:asha@example.com; "
        "no check objects."
    )
    assert said.clauses == (ClauseHeld((LEADS,), (LEADS,)), ClauseHeld((FINANCE, ASHA), (FINANCE, ASHA)))
    assert (said.policy_version, said.verified_at) == (policy().version, NOW)


def test_who_may_not_read_is_told_the_check_and_the_clause_that_keeps_him_out() -> None:
    asker, document = subject(FINANCE), resource(scope=BOTH)

    said = explain(asker, document, policy().decide(asker, document, moment()))

    assert (said.allowed, said.check) == (False, "access-satisfied")
    assert said.reason == (
        "usr:asha@example.com may not read sample:pay.md@v1: "
        "at least one clause of scope 1 names nobody that the asker is."
    )
    assert [clause.held for clause in said.clauses] == [(), (FINANCE, ASHA)]


def test_unknown_rules_have_no_clauses_to_show() -> None:
    asker, document = subject(FINANCE), resource(scope=scope(access=Unknown("the site answered 403")))

    said = explain(asker, document, policy().decide(asker, document, moment()))

    assert said.clauses == ()
    assert "the site answered 403" in said.reason
