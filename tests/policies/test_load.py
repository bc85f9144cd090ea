"""Rules are read strictly: what was misread would be a policy that nobody chose."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from policies import masking
from policies.audience import AudienceRules
from policies.facts import Kind
from policies.load import _version, load
from policies.policy import Rules
from tests.policies.given import FINANCE, RULES, STAFF


def test_the_rules_as_shipped() -> None:
    policy = load(RULES, STAFF)

    assert policy.rules == Rules(
        kinds=frozenset([Kind.MEMBER, Kind.GUEST]),
        groups_within=timedelta(minutes=15),
        audience=AudienceRules(frozenset([STAFF]), 200),
        masking=masking.Rules(masking.PERSONAL, 0.4),
    )
    assert [check.name for check in policy.checks] == [
        "asker-active",
        "kind-allowed",
        "groups-fresh",
        "document-live",
        "not-overlaid",
        "scope-active",
        "lease-running",
        "access-satisfied",
        "version-current",
        "in-force",
        "not-superseded",
        "not-quarantined",
    ]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[asker]", "[asker", "not TOML"),
        ("[asker]", "[askers]", "unknown key 'askers'; the keys are asker, masking, places"),
        (
            'kinds = ["member", "guest"]',
            'kind = ["member"]',
            "unknown key 'kind'; the keys are groups_within_seconds, kinds",
        ),
        ('kinds = ["member", "guest"]', "", "lacks 'kinds'; add it"),
        ('kinds = ["member", "guest"]', 'kinds = ["member", "external"]', "list of member and guest"),
        ('kinds = ["member", "guest"]', "kinds = []", "list of member and guest"),
        ('kinds = ["member", "guest"]', 'kinds = "member"', "list of member and guest"),
        ('kinds = ["member", "guest"]', "kinds = [1]", "list of member and guest"),
        ("groups_within_seconds = 900", "groups_within_seconds = 3601", "whole number from 1 to 3600, not 3601"),
        ("groups_within_seconds = 900", "groups_within_seconds = 0", "from 1 to 3600"),
        ("groups_within_seconds = 900", "groups_within_seconds = 900.0", "from 1 to 3600"),
        ("groups_within_seconds = 900", "groups_within_seconds = true", "from 1 to 3600"),
        ("groups_within_seconds = 900", "groups_within_seconds = inf", "from 1 to 3600"),
        ("largest_audience = 200", "largest_audience = 1001", "from 1 to 1000"),
        ("threshold = 0.4", "threshold = 1.5", "number from 0 to 1, not 1.5"),
        ("threshold = 0.4", "threshold = nan", "number from 0 to 1"),
        ("threshold = 0.4", "threshold = true", "number from 0 to 1"),
        ("threshold = 0.4", 'threshold = "0.4"', "number from 0 to 1"),
        ('"US_SSN"', '"SSN"', "some of CREDIT_CARD"),
        ('"US_SSN"', "1", "some of CREDIT_CARD"),
    ],
)
def test_a_mistake_is_an_error_that_says_what_to_do(old: str, new: str, says: str) -> None:
    assert old in RULES

    with pytest.raises(ValueError, match=says):
        load(RULES.replace(old, new, 1), STAFF)


def test_a_table_must_be_one() -> None:
    without = RULES[: RULES.index("[places]")]

    with pytest.raises(ValueError, match=r"write it as \[places\]"):
        load("places = 200\n" + without + RULES[RULES.index("[masking]") :], STAFF)
    with pytest.raises(ValueError, match="must be a list of some of"):
        load(RULES[: RULES.index("[masking]")] + '[masking]\nkinds = "PERSON"\nthreshold = 0\n', STAFF)
    with pytest.raises(ValueError, match="lacks 'asker'"):
        load("", STAFF)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('kinds = ["member", "guest"]', 'kinds = ["member"]'),
        ("groups_within_seconds = 900", "groups_within_seconds = 901"),
        ("largest_audience = 200", "largest_audience = 201"),
        ("threshold = 0.4", "threshold = 0"),
        ('"US_SSN", ', ""),
    ],
)
def test_every_rule_is_in_the_policy_version(old: str, new: str) -> None:
    assert load(RULES.replace(old, new, 1), STAFF).version != load(RULES, STAFF).version


def test_who_everyone_is_and_what_the_checks_mean_is_in_the_policy_version() -> None:
    policy = load(RULES, STAFF)

    assert load(RULES, FINANCE).version != policy.version
    assert load(RULES).version != policy.version
    assert load(RULES, STAFF, FINANCE).version == load(RULES, FINANCE, STAFF).version
    assert _version(policy.rules, policy.checks) == policy.version
    assert _version(policy.rules, policy.checks[1:]) != policy.version
    assert _version(replace(policy.rules, kinds=frozenset()), policy.checks) != policy.version


def test_layout_and_comments_are_not_in_the_policy_version() -> None:
    bare = "\n".join(line.partition("#")[0] for line in RULES.splitlines())

    assert load(bare.replace('"member", "guest"', '"guest", "member"'), STAFF).version == load(RULES, STAFF).version
