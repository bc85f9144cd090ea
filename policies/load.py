"""The configured policy, from the text of a rules file. Who calls it reads the file; nothing is opened here.

A key that is missing, unknown or of the wrong type is an error that says what to do: a policy that was misread would
be a policy that nobody chose.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256

from policies import masking
from policies.audience import AudienceRules
from policies.checks import (
    AccessSatisfied,
    AskerActive,
    Check,
    DocumentLive,
    GroupsFresh,
    InForce,
    KindAllowed,
    LeaseRunning,
    NotOverlaid,
    NotQuarantined,
    NotSuperseded,
    ScopeActive,
    VersionCurrent,
)
from policies.facts import Kind
from policies.names import Principal
from policies.policy import Policy, Rules

_KEYS: Mapping[str, frozenset[str]] = {
    "asker": frozenset(["kinds", "groups_within_seconds"]),
    "places": frozenset(["largest_audience"]),
    "masking": frozenset(["kinds", "threshold"]),
}
_LONGEST_GROUPS = 3600  # seconds: past an hour a revoked membership would still count
_LARGEST_AUDIENCE = 1000


def load(text: str, *everyone: Principal) -> Policy:
    """The policy that the TOML `text` configures. `everyone` are the principals that mean every employee.

    Raises ValueError with a sentence that says what to change.
    """
    try:
        written = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"the rules are not TOML: {error}; correct the file") from error
    rules = _rules(_tables(written), frozenset(everyone))
    checks = _checks(rules)
    return Policy(checks, _version(rules, checks), rules)


def _checks(rules: Rules) -> tuple[Check, ...]:
    # The cheapest and least telling first: a refused asker is refused before any document is looked at.
    return (
        AskerActive(),
        KindAllowed(rules.kinds),
        GroupsFresh(rules.groups_within),
        DocumentLive(),
        NotOverlaid(),
        ScopeActive(),
        LeaseRunning(),
        AccessSatisfied(),
        VersionCurrent(),
        InForce(),
        NotSuperseded(),
        NotQuarantined(),
    )


def _rules(tables: Mapping[str, Mapping[str, object]], everyone: frozenset[Principal]) -> Rules:
    return Rules(
        kinds=_kinds(tables["asker"]["kinds"]),
        groups_within=timedelta(seconds=_number(tables, "asker", "groups_within_seconds", _LONGEST_GROUPS)),
        audience=AudienceRules(everyone, _number(tables, "places", "largest_audience", _LARGEST_AUDIENCE)),
        masking=masking.Rules(_masked(tables["masking"]["kinds"]), _share(tables["masking"]["threshold"])),
    )


def _tables(written: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    _same_keys("the rules", written, frozenset(_KEYS))
    tables: dict[str, Mapping[str, object]] = {}
    for name, keys in _KEYS.items():
        table = written[name]
        if not isinstance(table, dict):
            raise ValueError(f"{name!r} in the rules must be a table; write it as [{name}]")
        _same_keys(f"[{name}] of the rules", table, keys)
        tables[name] = table
    return tables


def _same_keys(where: str, found: Mapping[str, object], expected: frozenset[str]) -> None:
    keys = frozenset(found)
    if unknown := sorted(keys - expected):
        raise ValueError(f"{where} has the unknown key {unknown[0]!r}; the keys are {', '.join(sorted(expected))}")
    if missing := sorted(expected - keys):
        raise ValueError(f"{where} lacks {missing[0]!r}; add it")


def _number(tables: Mapping[str, Mapping[str, object]], table: str, key: str, most: int) -> int:
    value = tables[table][key]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= most:
        raise ValueError(f"{key!r} in [{table}] of the rules must be a whole number from 1 to {most}, not {value!r}")
    return value


def _kinds(value: object) -> frozenset[Kind]:
    allowed = {kind.value: kind for kind in (Kind.MEMBER, Kind.GUEST)}
    if not isinstance(value, list) or not value or not all(isinstance(kind, str) and kind in allowed for kind in value):
        raise ValueError(f"'kinds' in [asker] of the rules must be a list of {' and '.join(allowed)}, not {value!r}")
    return frozenset(allowed[kind] for kind in value)


def _masked(value: object) -> frozenset[str]:
    known = ", ".join(sorted(masking.PERSONAL))
    if not isinstance(value, list) or not all(isinstance(kind, str) and kind in masking.PERSONAL for kind in value):
        raise ValueError(f"'kinds' in [masking] of the rules must be a list of some of {known}, not {value!r}")
    return frozenset(value)


def _share(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ValueError(f"'threshold' in [masking] of the rules must be a number from 0 to 1, not {value!r}")
    return float(value)


def _version(rules: Rules, checks: tuple[Check, ...]) -> str:
    canonical = {
        "asker": {
            "kinds": sorted(rules.kinds),
            "groups_within_seconds": rules.groups_within.total_seconds(),
        },
        "places": {
            "everyone": sorted(str(principal) for principal in rules.audience.everyone),
            "largest_audience": rules.audience.largest,
        },
        "masking": {"kinds": sorted(rules.masking.kinds), "threshold": rules.masking.threshold},
        "checks": [[check.name, check.version] for check in checks],
    }
    return sha256(json.dumps(canonical, sort_keys=True).encode()).hexdigest()[:16]
