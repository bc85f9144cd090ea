"""The shortest way to say which scopes are satisfied: whole containers, whole containers but a few, single scopes.

What contains scopes is a forest: each container has one parent, and every scope in a container is in its parent too.
The choice is made on counts alone, so that whoever may read all of a site never has its scopes listed for him.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from policies.names import ContainerId, ScopeId
from policies.predicate import SearchScope


@dataclass(frozen=True, slots=True)
class Share:
    """How much of one container is satisfied, counted over all that is in it at any depth."""

    id: ContainerId
    parent: ContainerId | None
    scopes: int  # in whatever state: hidden, expired and unknown ones are there and not satisfied
    satisfied: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Which containers are taken, and of which what stands directly in them is listed. All three are disjoint, and
    nothing in them contains another of `whole` or `but`."""

    whole: frozenset[ContainerId]
    but: frozenset[ContainerId]  # taken without what in them is not satisfied
    listed: frozenset[ContainerId]


def plan(shares: Iterable[Share]) -> Plan:
    """The fewest values for these containers: all that hold something satisfied, though what is inside a whole one may
    be left out. Nothing counts as whole that is not, and counts that can't be are not believed."""
    nodes = {share.id: share for share in shares}
    inside: dict[ContainerId | None, list[ContainerId]] = {}
    for share in nodes.values():
        inside.setdefault(share.parent if share.parent in nodes else None, []).append(share.id)
    costs: dict[ContainerId, int] = {}
    taken: set[ContainerId] = set()
    hold_singles: set[ContainerId] = set()
    ordered = _outermost_first(inside)
    for each in reversed(ordered):
        share, within = nodes[each], inside.get(each, ())
        single = max(0, share.satisfied - sum(nodes[one].satisfied for one in within))
        listing = single + sum(costs[one] for one in within)
        missing = share.scopes - share.satisfied
        if missing == 0 or 0 < missing < listing - 1:
            taken.add(each)
        elif single:
            hold_singles.add(each)
        costs[each] = 1 + missing if each in taken else listing
    return _outermost(ordered, nodes, taken, hold_singles)


def cover(satisfied: Collection[ScopeId], standings: Mapping[ScopeId, Sequence[ContainerId]]) -> SearchScope | None:
    """The cover of these scopes among all there are, each with its containers, outermost first; None for no scope."""
    parents: dict[ContainerId, ContainerId | None] = {}
    homes: dict[ContainerId, list[ScopeId]] = {}
    counts: dict[ContainerId, list[int]] = {}
    for scope, containers in standings.items():
        for at, container in enumerate(containers):
            parents[container] = containers[at - 1] if at else None
            count = counts.setdefault(container, [0, 0])
            count[0] += 1
            count[1] += scope in satisfied
        homes.setdefault(containers[-1], []).append(scope)
    chosen = plan(Share(each, parents[each], *count) for each, count in counts.items() if count[1])
    singly = {scope for home in chosen.listed for scope in homes.get(home, ()) if scope in satisfied}
    but = {scope for scope, containers in standings.items() if chosen.but.intersection(containers)}
    return search_scope(singly, chosen, but.difference(satisfied))


def search_scope(singly: Iterable[ScopeId], chosen: Plan, but: Iterable[ScopeId]) -> SearchScope | None:
    """A plan carried out; None where it takes nothing."""
    ids, containers = frozenset(singly), chosen.whole | chosen.but
    return SearchScope(ids, containers, frozenset(but)) if ids or containers else None


def _outermost_first(inside: Mapping[ContainerId | None, Sequence[ContainerId]]) -> list[ContainerId]:
    ordered = list(inside.get(None, ()))
    for each in ordered:  # grows while it is walked: every container comes after its parent
        ordered += inside.get(each, ())
    return ordered


def _outermost(
    ordered: Sequence[ContainerId],
    nodes: Mapping[ContainerId, Share],
    taken: Collection[ContainerId],
    hold_singles: Collection[ContainerId],
) -> Plan:
    whole: set[ContainerId] = set()
    but: set[ContainerId] = set()
    listed: set[ContainerId] = set()
    covered: set[ContainerId] = set()
    for each in ordered:
        share = nodes[each]
        if share.parent in covered:
            covered.add(each)
        elif each in taken:
            covered.add(each)
            (but if share.satisfied < share.scopes else whole).add(each)
        elif each in hold_singles:
            listed.add(each)
    return Plan(frozenset(whole), frozenset(but), frozenset(listed))
