"""P9 and P10: a restriction and an asker's membership name one principal, whatever the ids are made of; no two people
or groups share one, nor do two wikis."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from connectors.records import Inherits, Own
from connectors.sources.confluence.permissions import Restrictions
from connectors.sources.confluence.principals import Principals
from policies.access import AccessExpr
from policies.names import Principal

IDS = st.text(min_size=1, max_size=20) | st.text(":/%|~ ", min_size=1, max_size=4)
FEW = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
CLIENT: Any = None  # nothing is asked: the restriction came with the page


def restricted(principals: Principals, cloud: bool, users: list[str], groups: list[str]) -> frozenset[Principal]:
    """Who may read a page that is restricted to these, as it is read from a content with its restrictions."""
    user, group = ("accountId", "id") if cloud else ("userKey", "name")

    def rows(name: str, ids: list[str]) -> dict[str, Any]:
        return {"results": [{name: each} for each in ids], "size": len(ids), "limit": 200, "_links": {}}

    held = {"restrictions": {"user": rows(user, users), "group": rows(group, groups)}}
    rules = Restrictions(CLIENT, principals, cloud).expanded({"restrictions": {"read": held}})
    assert isinstance(rules, Own)
    assert isinstance(rules.access, AccessExpr)
    [clause] = rules.access.clauses
    return frozenset(clause)


@seed(1)
@FEW
@given(instance=IDS, account=IDS, held=st.lists(IDS, max_size=3), cloud=st.booleans())
def test_a_restriction_and_a_membership_name_one_principal(
    instance: str, account: str, held: list[str], cloud: bool
) -> None:
    principals, asker = Principals(instance), Principals(instance)
    supers = frozenset() if cloud else frozenset([asker.supers])

    assert restricted(principals, cloud, [account], held) == {asker.user(account), *map(asker.group, held)} | supers


@seed(2)
@FEW
@given(one=IDS, other=IDS, first=IDS, second=IDS)
def test_two_principals_are_one_only_where_everything_of_them_is(one: str, other: str, first: str, second: str) -> None:
    here, there = Principals(one), Principals(other)
    everybody = ("licensed", "authenticated", "anonymous", "admins", "supers")

    assert (here.user(first) == there.user(second)) is ((one, first) == (other, second))
    assert (here.group(first) == there.group(second)) is ((one, first) == (other, second))
    assert here.user(first) != there.group(second)
    for name in everybody:
        assert (getattr(here, name) == getattr(there, name)) is (one == other)
        assert getattr(here, name) not in (there.user(second), there.group(second))
    assert len({getattr(here, name) for name in everybody}) == len(everybody)


@seed(3)
@FEW
@given(instance=IDS, cloud=st.booleans(), kind=st.sampled_from(["app", "", None]))
def test_a_row_without_an_id_restricts_and_is_nobody(instance: str, cloud: bool, kind: str | None) -> None:
    row = {"type": kind} if kind is not None else {}
    lists = {"user": {"results": [row], "size": 1, "limit": 200}, "group": {"results": [], "size": 0, "limit": 200}}
    rules = Restrictions(CLIENT, Principals(instance), cloud).expanded(
        {"restrictions": {"read": {"restrictions": lists}}}
    )

    assert not isinstance(rules, Inherits)
    assert isinstance(rules, Own)
    assert rules.access == AccessExpr.any_of(*([] if cloud else [Principals(instance).supers]))
