"""The small filter language that every index must understand, with its reference meaning.

A `Narrowing` always carries a `SearchScope`, and a search scope cannot be empty: a search that is not narrowed to
somebody's scopes cannot be written down. Adapters translate these values; `matches` says what they mean.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

from policies.facts import Trust
from policies.names import ContainerId, ScopeId

Field = Literal["scope", "effective_from", "effective_to", "superseded", "trust"]
"""What an index stores beside each chunk for filtering. All are integers: dates as proleptic Gregorian ordinals
(`OPEN_START` and `OPEN_END` where a document has none), `superseded` as 0 or 1, `trust` as 0 clean, 1 suspect,
2 quarantined."""

OPEN_START = 0
OPEN_END = 4_000_000  # past 9999-12-31, whose ordinal is 3,652,059

TRUST_RANK: Mapping[Trust, int] = {Trust.CLEAN: 0, Trust.SUSPECT: 1, Trust.QUARANTINED: 2}


def attributes(
    scope: ScopeId,
    effective_from: date | None,
    effective_to: date | None,
    superseded: bool,
    trust: Trust,
) -> dict[str, int]:
    """What an index stores beside a chunk for filtering; the one place where facts become integers."""
    return {
        "scope": scope,
        "effective_from": OPEN_START if effective_from is None else effective_from.toordinal(),
        "effective_to": OPEN_END if effective_to is None else effective_to.toordinal(),
        "superseded": int(superseded),
        "trust": TRUST_RANK[trust],
    }


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The scopes that an asker, or everybody who listens, satisfies right now; never empty.

    Written as a cover, since the number of values is what a search costs: every scope of `ids`, and every scope in one
    of `containers` but those `excepted`.
    """

    ids: frozenset[ScopeId] = frozenset()
    containers: frozenset[ContainerId] = frozenset()
    excepted: frozenset[ScopeId] = frozenset()

    def __post_init__(self) -> None:
        if not all(isinstance(part, frozenset) for part in (self.ids, self.containers, self.excepted)):
            raise ValueError("a search needs at least one scope, in a frozenset")
        if not self.ids and not self.containers:
            raise ValueError("a search needs at least one scope; who satisfies none is refused before searching")
        if (self.excepted and not self.containers) or self.excepted & self.ids:
            raise ValueError("scopes are excepted from containers, never from the single scopes")

    def has(self, scope: int | None, containers: Collection[int]) -> bool:
        """Whether a scope in these containers is among them; a missing one is not, wherever it is said to stand."""
        if scope is None:
            return False
        return scope in self.ids or (scope not in self.excepted and not self.containers.isdisjoint(containers))


@dataclass(frozen=True, slots=True)
class AtMost:
    """The field is present and not above `value`."""

    field: Field
    value: int


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The field is present and not below `value`."""

    field: Field
    value: int


@dataclass(frozen=True, slots=True)
class OneOf:
    """The field is present and one of `values`, of which there is at least one."""

    field: Field
    values: frozenset[int]

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError(f"a condition on {self.field!r} needs at least one value")


Condition = AtMost | AtLeast | OneOf


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What a search is narrowed to: the asker's scopes AND every condition. Both legs apply it before ranking."""

    scope: SearchScope
    conditions: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.scope, SearchScope):
            raise TypeError("a narrowing needs a SearchScope")

    def also(self, conditions: Iterable[Condition]) -> Narrowing:
        """The same with more conditions; there is no way to take one off."""
        return Narrowing(self.scope, self.conditions + tuple(conditions))


def matches(narrowing: Narrowing, stored: Mapping[str, int], containers: Collection[int] = ()) -> bool:
    """The reference meaning over what an index stores beside a chunk, and the containers of its scope: a missing
    attribute matches nothing."""
    if not narrowing.scope.has(stored.get("scope"), containers):
        return False
    return all(holds(condition, stored.get(condition.field)) for condition in narrowing.conditions)


def holds(condition: Condition, value: int | None) -> bool:
    """Whether one condition is met by the stored value of its field; None, a missing one, meets nothing."""
    if value is None:
        return False
    match condition:
        case AtMost(_, limit):
            return value <= limit
        case AtLeast(_, limit):
            return value >= limit
        case OneOf(_, values):
            return value in values
        case _:
            return False  # a condition nobody here knows is met by nothing
