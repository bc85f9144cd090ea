"""People, scopes and documents as tests state them: everything in order unless a test says otherwise."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from policies.access import AccessExpr
from policies.facts import Kind, Life, Moment, Resource, Scope, ScopeState, Subject, Trust
from policies.load import load
from policies.names import DocumentId, Principal, ScopeId
from policies.policy import Policy

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TODAY = NOW.date()
ASHA = Principal.person("asha@example.com")
FINANCE = Principal.group("finance")
STAFF = Principal.group("everyone")
RULES = (Path(__file__).parents[2] / "policies" / "rules.toml").read_text(encoding="utf-8")


def policy() -> Policy:
    """The policy as shipped."""
    return load(RULES, STAFF)


def moment(on: date = TODAY, *, dated: bool = False, now: datetime = NOW) -> Moment:
    return Moment(now, on, dated)


def subject(*groups: Principal, **changed: Any) -> Subject:
    """An active member in `groups`, resolved now."""
    person = changed.pop("person", ASHA)
    given = {
        "person": person,
        "kind": Kind.MEMBER,
        "active": True,
        "principals": frozenset([person, *groups]),
        "resolved_at": NOW,
    }
    return Subject(**given | changed)


def scope(**changed: Any) -> Scope:
    """An active scope that finance may read, verified now, with a lease of a day."""
    given = {
        "id": ScopeId(1),
        "access": AccessExpr.any_of(FINANCE),
        "state": ScopeState.ACTIVE,
        "verified_at": NOW,
        "lease": timedelta(days=1),
    }
    return Scope(**given | changed)


def resource(**changed: Any) -> Resource:
    """A live, current, undated, trusted document under `scope()`."""
    given = {
        "document": DocumentId("sample", "pay.md"),
        "version": "v1",
        "scope": scope(),
        "life": Life.LIVE,
        "current": True,
        "hidden_by": None,
        "effective_from": None,
        "effective_to": None,
        "superseded": False,
        "trust": Trust.CLEAN,
    }
    return Resource(**given | changed)
