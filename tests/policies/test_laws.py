"""The laws, on random cases: only narrower, never wider, and what cannot be told is no."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product
from random import Random
from typing import ClassVar

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.access import NOBODY, Access, AccessExpr, Clause, Unknown, digest, satisfies, simplify
from policies.checks import NoSearch, satisfied
from policies.decision import Allowed
from policies.facts import Kind, Life, Moment, Resource, Scope, ScopeState, Subject, Trust
from policies.names import DocumentId, Principal, ScopeId
from policies.policy import Policy
from policies.predicate import Condition, Narrowing, OneOf, SearchScope, attributes, matches
from tests.policies.given import NOW, TODAY, policy

PRINCIPALS = [Principal.group(name) for name in "abcd"]
POLICY = policy()

clauses = st.frozensets(st.sampled_from(PRINCIPALS), max_size=3)
expressions = st.frozensets(clauses, min_size=1, max_size=3).map(AccessExpr)
accesses: st.SearchStrategy[Access] = expressions | expressions | st.just(Unknown("403"))
offsets = st.sampled_from([-90_000, -86_400, -1000, -900, -1, 0, 0, 0, 1, 1000]).map(lambda s: timedelta(seconds=s))
days = st.none() | st.integers(-2, 2).map(lambda n: TODAY + timedelta(days=n))
mostly = st.sampled_from([True, True, True, True, False])

subjects = st.builds(
    Subject,
    person=st.just(PRINCIPALS[0]),
    kind=st.sampled_from([Kind.MEMBER, Kind.MEMBER, Kind.GUEST, Kind.EXTERNAL]),
    active=mostly,
    principals=st.frozensets(st.sampled_from(PRINCIPALS), max_size=4),
    resolved_at=offsets.map(lambda offset: NOW + offset),
)
scopes = st.builds(
    Scope,
    id=st.integers(1, 4).map(ScopeId),
    access=accesses,
    state=st.sampled_from([ScopeState.ACTIVE] * 5 + list(ScopeState)),
    verified_at=offsets.map(lambda offset: NOW + offset),
    lease=st.just(timedelta(days=1)),
)
resources = st.builds(
    Resource,
    document=st.just(DocumentId("sample", "x")),
    version=st.just("v1"),
    scope=scopes,
    life=st.sampled_from([Life.LIVE] * 4 + list(Life)),
    current=mostly,
    hidden_by=st.sampled_from([None, None, None, "hr"]),
    effective_from=days,
    effective_to=days,
    superseded=mostly.map(lambda often: not often),
    trust=st.sampled_from([Trust.CLEAN] * 3 + list(Trust)),
)
moments = st.builds(Moment, now=st.just(NOW), on=days.map(lambda day: day or TODAY), dated=st.booleans())


def found(subject: Subject, resource: Resource, moment: Moment, judge: Policy = POLICY) -> bool:
    """Whether a search for the subject, on exact facts, finds the resource."""
    scope_ids = satisfied(subject.principals, [resource.scope], moment.now)
    narrowing = judge.narrow(subject, SearchScope(scope_ids) if scope_ids else None, moment)
    stored = attributes(
        resource.scope.id, resource.effective_from, resource.effective_to, resource.superseded, resource.trust
    )
    return isinstance(narrowing, Narrowing) and matches(narrowing, stored)


@settings(max_examples=500)
@given(subjects, resources, moments)
def test_the_filter_never_hides_what_the_policy_allows(subject: Subject, resource: Resource, moment: Moment) -> None:
    if POLICY.decide(subject, resource, moment):
        assert found(subject, resource, moment)


@settings(max_examples=500)
@given(subjects, resources, moments)
def test_of_what_an_index_can_know_the_filter_is_the_policy(
    subject: Subject, resource: Resource, moment: Moment
) -> None:
    known = replace(resource, life=Life.LIVE, current=True, hidden_by=None)

    assert found(subject, known, moment) is bool(POLICY.decide(subject, known, moment))


@settings(max_examples=500)
@given(subjects, resources, moments)
def test_the_policy_says_what_the_rules_say_in_plain_words(
    subject: Subject, resource: Resource, moment: Moment
) -> None:
    assert bool(POLICY.decide(subject, resource, moment)) is _plainly(subject, resource, moment)


def _plainly(subject: Subject, resource: Resource, moment: Moment) -> bool:
    if not subject.active or subject.kind == Kind.EXTERNAL:
        return False
    if not 0 <= (moment.now - subject.resolved_at).total_seconds() <= 900:
        return False
    scope = resource.scope
    if scope.state != ScopeState.ACTIVE or not scope.verified_at <= moment.now <= scope.verified_at + scope.lease:
        return False
    if isinstance(scope.access, Unknown):
        return False
    for clause in scope.access.clauses:
        if not any(principal in subject.principals for principal in clause):
            return False
    if resource.life != Life.LIVE or resource.hidden_by is not None or not resource.current:
        return False
    if resource.effective_from is not None and resource.effective_from > moment.on:
        return False
    if resource.effective_to is not None and resource.effective_to < moment.on:
        return False
    if resource.superseded and not moment.dated:
        return False
    return resource.trust != Trust.QUARANTINED


@dataclass(frozen=True)
class Whim:
    """Any check at all: objects to some documents, and narrows by anything or nothing."""

    salt: int
    name: ClassVar[str] = "whim"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        return "a whim" if (self.salt + resource.scope.id) % 2 else None

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...] | NoSearch:
        outcomes = ((), (OneOf("trust", frozenset([self.salt % 3])),), NoSearch("a whim"))
        return outcomes[self.salt % 3]


@settings(max_examples=300)
@given(subjects, resources, moments, st.integers(0, 1000), st.integers(0, len(POLICY.checks)))
def test_adding_a_check_never_widens(subject: Subject, resource: Resource, moment: Moment, salt: int, at: int) -> None:
    more = replace(POLICY, checks=(*POLICY.checks[:at], Whim(salt), *POLICY.checks[at:]))

    assert bool(more.decide(subject, resource, moment)) <= bool(POLICY.decide(subject, resource, moment))
    assert found(subject, resource, moment, more) <= found(subject, resource, moment)


@given(subjects, resources, moments, st.integers(0, len(POLICY.checks) - 1))
def test_taking_a_check_away_is_needed_to_allow_more(
    subject: Subject, resource: Resource, moment: Moment, at: int
) -> None:
    fewer = replace(POLICY, checks=POLICY.checks[:at] + POLICY.checks[at + 1 :])

    assert bool(POLICY.decide(subject, resource, moment)) <= bool(fewer.decide(subject, resource, moment))


@settings(max_examples=150)
@given(subjects, resources, moments, st.sampled_from([member for member in ScopeState if member != ScopeState.ACTIVE]))
def test_unknown_stale_and_empty_refuse_whoever_asks(
    subject: Subject, resource: Resource, moment: Moment, state: ScopeState
) -> None:
    for broken in (
        replace(resource.scope, access=Unknown("403")),
        replace(resource.scope, access=NOBODY),
        replace(resource.scope, state=state),
        replace(resource.scope, verified_at=moment.now + timedelta(microseconds=1)),
        replace(resource.scope, verified_at=moment.now - resource.scope.lease - timedelta(microseconds=1)),
    ):
        assert not POLICY.decide(subject, replace(resource, scope=broken), moment)
        assert not found(subject, replace(resource, scope=broken), moment)


@given(subjects, resources, moments)
def test_an_allowed_names_the_document_version_and_policy_it_is_for(
    subject: Subject, resource: Resource, moment: Moment
) -> None:
    decision = POLICY.decide(subject, resource, moment)

    if decision:
        assert decision == Allowed(resource.document, resource.version, POLICY.version)
    else:
        assert decision.reason
        assert decision.policy_version == POLICY.version


# ---------------------------------------------------------------- the algebra, against brute force

CASES = 12_000
UNIVERSE = list(range(4))
TOKENS = [Principal.group(f"g{number}") for number in UNIVERSE]
PEOPLE = [frozenset(n for n, held in zip(UNIVERSE, bits, strict=True) if held) for bits in product([0, 1], repeat=4)]


def _readers(clauses: Iterable[Iterable[int]]) -> tuple[bool, ...]:
    # The meaning itself, on plain numbers: who, of everyone there could be, meets each clause.
    return tuple(all(any(number in person for number in clause) for clause in clauses) for person in PEOPLE)


def _random_clauses(dice: Random) -> list[list[int]]:
    written = [
        dice.sample(UNIVERSE, dice.randint(0 if dice.random() < 0.15 else 1, 3)) for _ in range(dice.randint(1, 5))
    ]
    if dice.random() < 0.4:
        written.append([*dice.choice(written), dice.choice(UNIVERSE)])  # one that another absorbs
    return written


def _expr(clauses: Iterable[Iterable[int]]) -> AccessExpr:
    return AccessExpr(frozenset(Clause(TOKENS[number] for number in clause) for clause in clauses))


def test_the_algebra_is_the_brute_force_on_twelve_thousand_cases() -> None:
    dice = Random(20260302)
    people = [frozenset(TOKENS[number] for number in person) for person in PEOPLE]
    empty = absorbed = 0
    digests: dict[str, tuple[bool, ...]] = {}
    for _ in range(CASES):
        one, other = _random_clauses(dice), _random_clauses(dice)
        expr, both = _expr(one), _expr(one) & _expr(other)

        assert tuple(satisfies(person, expr) for person in people) == _readers(one)
        assert tuple(satisfies(person, both) for person in people) == _readers([*one, *other])
        assert tuple(satisfies(person, simplify(expr)) for person in people) == _readers(one)

        # Monotone expressions have one simplest form, so equal readers are an equal digest, and the reverse.
        assert digests.setdefault(digest(expr), _readers(one)) == _readers(one)
        assert (digest(expr) == digest(_expr(other))) is (_readers(one) == _readers(other))
        empty += not all(one)
        absorbed += len(simplify(expr).clauses) < len(expr.clauses)

    assert len(set(digests.values())) == len(digests)
    assert empty > 1000
    assert absorbed > 1000


@given(expressions, expressions)
def test_digests_are_equal_where_the_simplest_forms_are(one: AccessExpr, other: AccessExpr) -> None:
    assert (digest(one) == digest(other)) is (simplify(one) == simplify(other))


@given(expressions, clauses)
def test_one_more_clause_never_adds_a_reader(expr: AccessExpr, clause: Clause) -> None:
    narrower = AccessExpr(expr.clauses | {clause})

    for held in all_people():
        assert satisfies(held, narrower) <= satisfies(held, expr)


@given(expressions)
def test_simplifying_twice_changes_nothing(expr: AccessExpr) -> None:
    assert simplify(simplify(expr)) == simplify(expr)


def all_people() -> list[frozenset[Principal]]:
    held = product([0, 1], repeat=len(PRINCIPALS))
    return [frozenset(p for p, bit in zip(PRINCIPALS, bits, strict=True) if bit) for bits in held]
