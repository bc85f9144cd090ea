"""Where the objects of a container stand, and who may read what stands there: from its nodes alone.

An object stands under the nearest object, itself or above, that has rules of its own; else under its container. Whose
place is not known, since what contains it is missing or contains itself, stands with all below under the first such
object, and nobody may read it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from connectors.records import Node, Own, ScopeRules, StatedRules
from policies.access import Access, AccessExpr, Unknown, digest
from policies.facts import ScopeState

NOWHERE = Unknown("what contains it is not known")


_Ruled = tuple[Access, datetime, datetime | None]  # who reads, when that was verified, until when it counts


class Join(Enum):
    """How an object's own rules go together with those above it."""

    AND = "and"  # a reader has to meet both; rules above that are not known make everything below unknown
    REPLACE = "replace"  # its own take their place, whatever those are


@dataclass(frozen=True, slots=True)
class Place:
    """Where an object stands: under whose rules, and in what, outermost first."""

    scope_root: str
    ancestors: tuple[str, ...]


class Placing:
    """The places of all nodes of a container. A node whose parent is its container, or None, stands directly in it."""

    def __init__(self, container: str, within: tuple[str, ...], nodes: Iterable[Node]) -> None:
        self.container = container
        self._within = (*within, container)
        self._nodes = {node.key: node for node in nodes if node.key != container}
        self._places = {container: Place(container, within)}
        self._ordered: list[str] = []  # everything that has a place, each after what contains it
        self._nowhere: list[str] = []  # the first ones of those that have none
        inside: dict[str, list[str]] = {}
        for key, node in sorted(self._nodes.items()):
            inside.setdefault(container if node.parent is None else node.parent, []).append(key)
        self._fill(inside.get(container, ()), container, inside)
        orphans = [key for key, node in self._nodes.items() if node.parent not in self._nodes]
        for key in (*sorted(orphans), *sorted(self._nodes)):  # what is left after the orphans stands in a circle
            if key not in self._places:
                self._nowhere.append(key)
                self._places[key] = Place(key, self._within)
                self._fill(inside.get(key, ()), key, inside, known=False)

    def _fill(self, first: Iterable[str], above: str, inside: Mapping[str, Sequence[str]], known: bool = True) -> None:
        """Place everything from `first` downwards, which stands in `above`."""
        waiting = deque([(above, first)])
        while waiting:
            parent, keys = waiting.popleft()
            place = self._places[parent]
            ancestors = self._within if parent == self.container else (*place.ancestors, parent)
            for key in keys:
                if key in self._places:
                    continue
                own = known and isinstance(self._nodes[key].rules, Own)
                self._places[key] = Place(key if own else place.scope_root, ancestors)
                if known:
                    self._ordered.append(key)
                waiting.append((key, inside.get(key, ())))

    def __getitem__(self, key: str) -> Place:
        return self._places[key]

    # ------------------------------------------------------------ rules

    def rules(
        self, source: str, base: Access, base_at: datetime, join: Join, lease: timedelta
    ) -> Mapping[str, ScopeRules]:
        """The rules of every object that something may stand under, by root, the container first. None counts as
        verified later than the container, nor, where rules go together, than those above it; and none counts for longer
        than until somebody reads less, whether or not anybody is there by then to state that."""
        found: dict[str, _Ruled] = {self.container: (base, base_at, None)}
        for key in self._ordered:
            node = self._nodes[key]
            if isinstance(node.rules, Own):
                parent = self.container if node.parent is None else node.parent
                own, until = node.rules.access, node.rules.until
                above, above_at, above_until = found[self._places[parent].scope_root]
                match join:
                    case Join.AND:
                        ends = [each for each in (above_until, until) if each is not None]
                        found[key] = (_both(above, own), min(above_at, node.rules_at), min(ends, default=None))
                    case Join.REPLACE:
                        found[key] = (own, min(base_at, node.rules_at), until)
        found |= dict.fromkeys(self._nowhere, (NOWHERE, base_at, None))
        return {
            root: ScopeRules(source, root, access, _state(access), at, _lease(at, lease, until), self._within)
            for root, (access, at, until) in found.items()
        }

    def verified(
        self, rules: Mapping[str, ScopeRules], stated: Mapping[str, StatedRules]
    ) -> Mapping[datetime, tuple[str, ...]]:
        """Which of these rules are as they were told last and were read since, by when they were read."""
        found: dict[datetime, list[str]] = {}
        for root, rule in rules.items():
            known = stated.get(root)
            if known is not None and not differs(rule, known) and known.verified_at < rule.verified_at:
                found.setdefault(rule.verified_at, []).append(root)
        return {at: tuple(roots) for at, roots in sorted(found.items())}


def differs(rule: ScopeRules, known: StatedRules | None) -> bool:
    """Whether rules are not what the ledger heard last of their scope."""
    if known is None:
        return True
    return (known.digest, known.state, known.lease) != (digest(rule.access), rule.state, rule.lease)


def _state(access: Access) -> ScopeState:
    return ScopeState.UNKNOWN if isinstance(access, Unknown) else ScopeState.ACTIVE


def _lease(at: datetime, lease: timedelta, until: datetime | None) -> timedelta:
    """How long rules count that were verified then: the lease's last moment counts, that in which they end does not."""
    return lease if until is None else max(timedelta(0), min(lease, until - at - timedelta.resolution))


def _both(above: Access, own: Access) -> Access:
    match above, own:
        case AccessExpr(), AccessExpr():
            return above & own
        case Unknown(), _:
            return above
        case _:
            return own
