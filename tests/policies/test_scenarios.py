"""Scenarios as data: people, groups and documents; then who can, who can read all of it, and who at all.

A file in `scenarios/` is TOML. `[groups]` names the groups that a group includes, `[people]` what a person is in,
`[documents.NAME]` the rules and state of a document, and each `[[expect]]` states what must hold:

    can = "asha"            document = "pay"          allowed = true       (on = a date: the question names it)
    can_read_all_of = "asha"  documents = ["a", "b"]  allowed = false
    who_can_read = "pay"    people = ["asha"]
    audience = "private:C1" asker = "asha"  members = ["asha", "ben"]  documents = ["a"]  visible_to = "everyone"

Every incident adds one.
"""

from __future__ import annotations

import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from policies.access import Access, AccessExpr, Unknown
from policies.audience import Everyone, Place, reach
from policies.facts import Kind, Life, Moment, Resource, Scope, ScopeState, Subject, Trust
from policies.names import DocumentId, Principal, ScopeId
from tests.policies.given import NOW, moment, policy

SCENARIOS = sorted((Path(__file__).parent / "scenarios").glob("*.toml"))
POLICY = policy()


class World:
    """One scenario's people and documents, as facts."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.includes: dict[str, list[str]] = told.get("groups", {})
        self.people = {name: self._person(name, facts) for name, facts in told["people"].items()}
        self.documents = {
            name: self._document(ScopeId(number), name, facts)
            for number, (name, facts) in enumerate(told["documents"].items(), 1)
        }

    def _groups(self, direct: list[str]) -> set[str]:
        # Whoever is in an included group is in the group that includes it.
        held = set(direct)
        while more := {group for group, included in self.includes.items() if held & set(included)} - held:
            held |= more
        return held

    def _person(self, name: str, facts: dict[str, Any]) -> Subject:
        person = Principal.person(f"{name}@example.com")
        groups = self._groups(facts.pop("groups", []))
        resolved = NOW - timedelta(minutes=facts.pop("groups_read_minutes_ago", 0))
        kind, active = Kind(facts.pop("kind", "member")), facts.pop("active", True)
        assert not facts, f"unknown facts of {name}: {sorted(facts)}"
        principals = frozenset([person, *(Principal.parse(group) for group in groups)])
        return Subject(person, kind, active, principals, resolved)

    def _document(self, number: ScopeId, name: str, facts: dict[str, Any]) -> Resource:
        scope = Scope(
            number,
            self._access(facts),
            ScopeState(facts.pop("scope", "active")),
            NOW - timedelta(hours=facts.pop("verified_hours_ago", 0)),
            timedelta(hours=facts.pop("lease_hours", 24)),
        )
        document = Resource(
            DocumentId("sample", name),
            "v1",
            scope,
            Life(facts.pop("life", "live")),
            facts.pop("current", True),
            facts.pop("hidden_by", None),
            facts.pop("effective_from", None),
            facts.pop("effective_to", None),
            facts.pop("superseded", False),
            Trust(facts.pop("trust", "clean")),
        )
        assert not facts, f"unknown facts of {name}: {sorted(facts)}"
        return document

    def _access(self, facts: dict[str, Any]) -> Access:
        unknown, clauses = facts.pop("unknown", None), facts.pop("readers_all", None)
        readers = facts.pop("readers", None)
        if unknown is not None or (readers is None and clauses is None):
            return Unknown(unknown or "no rule is written down")
        written = ([readers] if readers is not None else []) + (clauses or [])
        return AccessExpr.all_of(*([Principal.parse(reader) for reader in clause] for clause in written))

    def can(self, person: str, document: str, at: Moment) -> bool:
        return bool(POLICY.decide(self.people[person], self.documents[document], at))


def cases() -> list[Any]:
    return [
        pytest.param(path, number, id=f"{path.stem}-{number}")
        for path in SCENARIOS
        for number in range(1, len(tomllib.loads(path.read_text(encoding="utf-8"))["expect"]) + 1)
    ]


@pytest.mark.parametrize(("path", "number"), cases())
def test_the_scenario_holds(path: Path, number: int) -> None:
    told = tomllib.loads(path.read_text(encoding="utf-8"))
    expected = told["expect"][number - 1]
    world = World(told)
    at = moment(expected["on"], dated=True) if "on" in expected else moment()

    match expected:
        case {"can": person, "document": document, "allowed": allowed}:
            assert world.can(person, document, at) is allowed
        case {"can_read_all_of": person, "documents": documents, "allowed": allowed}:
            assert all(world.can(person, document, at) for document in documents) is allowed
        case {"who_can_read": document, "people": people}:
            assert {person for person in world.people if world.can(person, document, at)} == set(people)
        case {"audience": where, "asker": asker, "documents": documents, "visible_to": visible_to}:
            place = Place.parse(where)
            members = expected.get("members")
            present = None if members is None else [world.people.get(member) for member in members]
            reached = reach(place, world.people[asker], present, POLICY.rules.audience, NOW)
            resources = [world.documents[document] for document in documents]
            readers = reached.readers if isinstance(reached, Everyone) else ()
            verdicts = [bool(POLICY.decide(reader, resource, at)) for reader in readers for resource in resources]
            assert ("everyone" if verdicts and all(verdicts) else "asker") == visible_to
        case _:
            pytest.fail(f"{expected!r} is not something that a scenario can expect")


def test_there_are_scenarios() -> None:
    assert len(cases()) >= 40
