"""The one place where what a search is narrowed to becomes a Weaviate filter.

The client takes None for "no filter" and drops a None among several silently. So a read takes a `Sieve`, which can't
be made of nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from weaviate.classes.query import Filter
from weaviate.collections.classes.filters import _Filters as AnyFilter

from policies.predicate import AtLeast, AtMost, Condition, Narrowing, OneOf, SearchScope

_LEAST, _MOST = -(2**63), 2**63 - 1  # what an integer can be over there


@dataclass(frozen=True, slots=True)
class Sieve:
    """A filter of at least one condition."""

    filter: AnyFilter

    def __post_init__(self) -> None:
        if not isinstance(self.filter, AnyFilter):
            raise TypeError(f"a read needs a filter, not {self.filter!r}")

    def also(self, other: Sieve) -> Sieve:
        """What passes both."""
        return Sieve(Filter.all_of([self.filter, other.filter]))


def equal(name: str, value: str | UUID) -> Sieve:
    """Objects whose property is this."""
    return Sieve(Filter.by_property(name).equal(value))


def differs(name: str, value: str | int) -> Sieve:
    """Objects whose property is something else."""
    return Sieve(Filter.by_property(name).not_equal(value))


def among(name: str, values: Collection[Any]) -> Sieve:
    """Objects whose property is, or whose list holds, one of these; at least one is needed."""
    if not values:
        raise ValueError(f"{name!r} among nothing")
    return Sieve(Filter.by_property(name).contains_any(list(values)))


def not_among(name: str, values: Collection[Any]) -> Sieve:
    """Objects whose property is none of these; at least one is needed."""
    if not values:
        raise ValueError(f"{name!r} not among nothing")
    return Sieve(Filter.by_property(name).contains_none(list(values)))


def with_ids(ids: Collection[UUID]) -> Sieve:
    """Objects with these ids; at least one is needed."""
    if not ids:
        raise ValueError("no ids")
    return Sieve(Filter.by_id().contains_any(list(ids)))


def sieve(narrowing: Narrowing) -> Sieve | None:
    """What the narrowing lets through; None where that is nothing, whatever is stored. Its meaning is
    `policies.predicate.matches`."""
    if not isinstance(narrowing, Narrowing):
        raise TypeError("a search needs a narrowing")
    parts = [_scopes(narrowing.scope), *map(_condition, narrowing.conditions)]
    if any(part is None for part in parts):
        return None
    filters = [part.filter for part in parts if part is not None]
    return Sieve(filters[0] if len(filters) == 1 else Filter.all_of(filters))


def _scopes(scope: SearchScope) -> Sieve | None:
    """Every single scope, and every scope in one of the containers but those excepted."""
    ids, excepted = _writable(scope.ids), _writable(scope.excepted)
    containers = [str(each) for each in sorted(scope.containers)]
    either: list[AnyFilter] = []
    if ids:
        either.append(among("scope", ids).filter)
    if containers:
        inside = among("containers", containers)
        either.append((inside.also(not_among("scope", excepted)) if excepted else inside).filter)
    if not either:
        return None
    return Sieve(either[0] if len(either) == 1 else Filter.any_of(either))


def _condition(condition: Condition) -> Sieve | None:
    prop = Filter.by_property(condition.field)
    match condition:
        case AtMost(_, value):
            return Sieve(prop.less_or_equal(min(value, _MOST))) if value >= _LEAST else None
        case AtLeast(_, value):
            return Sieve(prop.greater_or_equal(max(value, _LEAST))) if value <= _MOST else None
        case OneOf(_, values):
            written = _writable(values)
            return Sieve(prop.contains_any(written)) if written else None
        case _:
            return None  # a condition nobody here knows is met by nothing


def _writable(values: Iterable[int]) -> list[int]:
    return sorted(value for value in values if _LEAST <= value <= _MOST)
