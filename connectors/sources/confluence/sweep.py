"""One space read whole: what stands where, what is restricted, what hangs on it; and single contents read again.

Nothing is remembered before all of it was read, and a restriction is read after the place it belongs to. What could not
be read stays as it was known, with the time at which that was true; what was never known lets nobody in.

What inherits stands under its space's rules, which therefore count from when the oldest of it was read. So that one
page whose restriction can't be read does not close its space, nobody reads that page any more from half a lease on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from connectors.errors import Transient
from connectors.ports import Memory
from connectors.records import Inherits, Node, Own
from connectors.sources.confluence.client import Lost
from connectors.sources.confluence.mapping import (
    LEAVES,
    PAGES,
    Item,
    Rules,
    Space,
    instant,
    label_mark,
    labelled_in,
    node_of,
)
from connectors.sources.confluence.wiki import Wiki
from policies.access import Unknown

DIRECT = 200
"""Pages of a run whose restrictions are read from themselves alone: search lags, and where a wiki is small it costs
little to be sure at once."""

SEARCH_LAG = timedelta(hours=1)
"""What search says of restrictions counts as read so much earlier (a quarter of a short lease): it lags."""

_AT_ONCE = 4
_PATIENCE = 5  # restrictions in a row that can't be read now, before the sweep gives up
_DEEPEST = 500  # containers above a page
_WRITTEN = 1_000  # nodes at once


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep found."""

    documents: int
    read_at: datetime  # no restriction in the space was read before that
    newest: datetime | None  # the latest change by the server's clock, of those that are not in the future
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class Sweep:
    """Reads spaces in one run; `now` is when the run began, and `walk` names it."""

    wiki: Wiki
    memory: Memory
    now: datetime
    walk: str
    lease: timedelta
    direct: int = DIRECT  # restrictions that are asked for one by one though search gives them
    lost: int = 200  # of what was known and is in no list any more, asked for one by one

    async def space(self, space: Space) -> Swept:
        """Remember a space as it is. Raises Lost where it is refused, Transient where it can't be read whole now;
        nothing was changed then."""
        known = {node.key: node async for node in self.memory.of_container(space.node_key)}
        closed = {*(await self.memory.closed()), *(hint.key for hint in await self.memory.hints())}
        reading = _Reading(self.wiki, known, closed, self.lost)
        await reading.contents(space)
        await reading.left_out(space)
        direct = len(reading.items) <= self.direct
        self.direct -= len(reading.items) if direct else 0
        await reading.asides(space, direct)
        await reading.above(space)
        await reading.each_restriction()
        leaves = await self.wiki.leaves(space, [item for item in reading.items.values() if item.kind in PAGES])
        nodes = self._nodes(space, reading)
        nodes |= self._unlisted(known, nodes)
        lost = await reading.lost_leaves(leaves.items, nodes) if leaves.complete else ()
        nodes |= self._leaves(space, (*leaves.items, *lost), nodes)
        if not leaves.complete or reading.too_many_lost:
            nodes |= self._kept_leaves(known, nodes)
        await self._remember(list(nodes.values()))
        inheriting = [node for node in nodes.values() if node.kind not in LEAVES and isinstance(node.rules, Inherits)]
        return Swept(
            documents=sum(node.is_document for node in nodes.values()),
            read_at=min((node.rules_at for node in inheriting), default=self.now),
            newest=latest((*reading.items.values(), *leaves.items), self.now),
            problems=(*reading.problems, *leaves.problems),
        )

    def _nodes(self, space: Space, reading: _Reading) -> dict[str, Node]:
        found: dict[str, Node] = {}
        searched_at = self.now - min(SEARCH_LAG, self.lease / 4)
        for item in reading.items.values():
            rules = reading.rules.get(item.id) or Own(Unknown("its restrictions were not read"))
            labelled, known = reading.labelled(item), reading.known.get(item.id)
            node = node_of(item, space.node_key, rules, self.now, self.walk, labelled, known)
            if item.id in reading.stale:
                node = self._as_it_was(node, reading.known[item.id].rules_at)
            elif item.id in reading.by_search:
                same_at = [known.rules_at] if known is not None and known.rules == rules else []
                node = replace(node, rules_at=max([searched_at, *same_at]))
            found[item.id] = node
        for item in reading.items.values():
            if item.chain is not None and tuple(_chain(item.id, reading.items)) != item.chain:
                damaged = Own(Unknown("the wiki states two different places for it; repair its ancestor table"))
                found[item.id] = replace(found[item.id], rules=damaged)
        return found

    def _unlisted(self, known: Mapping[str, Node], nodes: Mapping[str, Node]) -> dict[str, Node]:
        """What is of a kind that the server has no list of, as it was known."""
        kept = [node for key, node in known.items() if node.kind in self.wiki.missing and key not in nodes]
        return {node.key: self._as_it_was(replace(node, walk=self.walk), node.rules_at) for node in kept}

    def _as_it_was(self, node: Node, read_at: datetime) -> Node:
        """Something whose restriction was read last then."""
        if isinstance(node.rules, Inherits) and self.now - read_at >= self.lease / 2:
            return replace(node, rules=Own(Unknown("its restrictions could not be read for long")), rules_at=read_at)
        return replace(node, rules_at=read_at)

    def _leaves(self, space: Space, leaves: Iterable[Item], nodes: Mapping[str, Node]) -> dict[str, Node]:
        """Files and comments whose page is there, replies under what they reply to."""
        found: dict[str, Node] = {}
        waiting = [leaf for leaf in leaves if leaf.is_document]
        while waiting:
            here = [leaf for leaf in waiting if leaf.parent in nodes or leaf.parent in found]
            if not here:
                break
            found |= {leaf.id: node_of(leaf, space.node_key, Inherits(), self.now, self.walk) for leaf in here}
            waiting = [leaf for leaf in waiting if leaf.id not in found]
        return found

    def _kept_leaves(self, known: Mapping[str, Node], nodes: Mapping[str, Node]) -> dict[str, Node]:
        """Leaves as they were known, where the list of them was refused: nothing is lost by that."""
        kept: dict[str, Node] = {}
        waiting = [node for node in known.values() if node.kind in LEAVES and node.key not in nodes]
        while waiting:
            here = [node for node in waiting if node.parent in nodes or node.parent in kept]
            if not here:
                break
            kept |= {node.key: replace(node, walk=self.walk) for node in here}
            waiting = [node for node in waiting if node.key not in kept]
        return kept

    async def _remember(self, nodes: Sequence[Node]) -> None:
        for start in range(0, len(nodes), _WRITTEN):
            await self.memory.put(nodes[start : start + _WRITTEN])


@dataclass(slots=True)
class _Reading:
    """What of a space was read so far."""

    wiki: Wiki
    known: Mapping[str, Node]
    closed: Set[str]  # closed by an event or told of by one: search may not have heard of it yet
    most_lost: int  # that are asked for one by one
    items: dict[str, Item] = field(default_factory=dict)
    rules: dict[str, Rules] = field(default_factory=dict)
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)  # containers that can't be read: what they hold stands nowhere
    stale: set[str] = field(default_factory=set)  # whose rules are as they were known
    by_search: set[str] = field(default_factory=set)  # whose rules search gave
    too_many_lost: bool = False  # more files and comments are in no list any more than can be asked for
    problems: list[str] = field(default_factory=list)

    async def contents(self, space: Space) -> None:
        async for page in self.wiki.contents(space):
            for seen in page:
                item = seen.item if seen.item.placed else await self.wiki.above(seen.item)
                if item is None:
                    item = seen.item
                    self.rules[item.id] = Own(Unknown("where it stands can't be read"))
                self.items[item.id] = item
                if seen.rules is not None:
                    self.rules.setdefault(item.id, seen.rules)
                if seen.labels is not None:
                    self.labels[item.id] = seen.labels

    async def left_out(self, space: Space) -> None:
        """Ask for what was known and is in no list now: one that is read by offsets leaves out what slips over an edge
        while something before it is deleted. Raises Transient where a list proves to leave out more than that."""
        lost = [
            key
            for key, node in sorted(self.known.items())
            if node.kind in PAGES and node.is_document and key not in self.items and node.kind not in self.wiki.missing
        ]
        current = await self._still_there(lost[: self.most_lost])
        listed = next((item for item in self.items.values() if item.kind == "page"), None)
        if lost and not current and listed is not None and await self.wiki.one(listed.id, listed.kind) is None:
            raise Transient("single pages can't be asked for now, not even those of the list")
        there = [item for item in current if item.space in ("", space.id, space.key)]
        if there and len(lost) > self.most_lost:
            raise Transient(f"the list of pages leaves out {there[0].id!r}, which is there")
        self.items |= {item.id: item for item in there}
        if there:
            self.problems.append(f"space {space.key}: {len(there)} pages that are there were missing in its list; kept")

    async def lost_leaves(self, listed: Iterable[Item], nodes: Mapping[str, Node]) -> Sequence[Item]:
        """The same for files and comments of what is there."""
        there = {item.id for item in listed}
        lost = [
            key
            for key, node in sorted(self.known.items())
            if node.kind in LEAVES and key not in there and self._holder(node) in nodes
        ]
        found = await self._still_there(lost[: self.most_lost])
        self.too_many_lost = bool(found) and len(lost) > self.most_lost
        if found:
            self.problems.append(f"{len(found)} files and comments that are there were missing in their lists; kept")
        return found

    def _holder(self, node: Node) -> str:
        """The page that a file or a comment was known to hang on."""
        at = node
        for _ in range(_DEEPEST):
            above = self.known.get(at.parent or "")
            if at.kind not in LEAVES or above is None:
                break
            at = above
        return at.key

    async def _still_there(self, keys: Sequence[str]) -> list[Item]:
        """Those of these that are current, as they are."""
        found: list[Item] = []
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            asked = await asyncio.gather(*(self.wiki.one(key, self.known[key].kind) for key in some))
            found += [item for item in asked if item is not None and item.status == "current"]
        return [item if item.placed else await self.wiki.above(item) or item for item in found]

    async def asides(self, space: Space, direct: bool) -> None:
        """Restrictions and labels many at a time; restrictions that this does not give are asked for one by one, and
        so are all of them where `direct`."""
        try:
            async for some in self.wiki.asides(space):
                for each in some:
                    told_of = each.key in self.closed or self._opens(each.key, each.rules)
                    if each.rules is not None and not direct and not told_of:
                        self.rules.setdefault(each.key, each.rules)
                        self.by_search.add(each.key)
                    if each.labels is not None:
                        self.labels[each.key] = each.labels
        except (Lost, Transient) as error:
            self.problems.append(f"space {space.key}: search gives no restrictions ({error}); they are read one by one")

    def _opens(self, key: str, rules: Rules | None) -> bool:
        """Whether search says otherwise of a restriction that is known: it may lag, so the page itself is asked."""
        before = self.known.get(key)
        return before is not None and isinstance(before.rules, Own) and before.rules != rules

    def labelled(self, item: Item) -> str:
        """What the labels of a page add to its mark; what was known, where they were not told."""
        if item.kind not in PAGES:
            return ""
        if item.id in self.labels:
            return label_mark(self.labels[item.id])
        return labelled_in(self.known[item.id].mark) if item.id in self.known else ""

    async def above(self, space: Space) -> None:
        """Everything that contains something, up to the top."""
        waiting = [item for item in self.items.values() if item.parent is not None]
        for _ in range(_DEEPEST):
            missing = {
                item.parent: item.parent_kind or ""
                for item in waiting
                if item.parent is not None and item.parent not in self.items and item.parent not in self.unread
            }
            if not missing:
                return
            waiting = []
            for key, kind in missing.items():
                found = await self.wiki.one(key, kind)
                if found is not None and not found.placed:
                    found = await self.wiki.above(found)
                if found is None or found.space not in ("", space.id, space.key) or found.id != key:
                    self.unread.add(key)
                else:
                    self.items[key] = found
                    waiting.append(found)

    async def each_restriction(self) -> None:
        """One by one, what is not known yet; what can't be had now is as it was known, or Unknown."""
        missing = sorted(self.items.keys() - self.rules.keys())
        failed = 0
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            for key, told in zip(some, await asyncio.gather(*map(self._restriction, some)), strict=True):
                if not isinstance(told, Transient):
                    self.rules[key], failed = told, 0
                    continue
                failed += 1
                if failed >= _PATIENCE:
                    raise told
                self._as_known(key, told)

    async def _restriction(self, key: str) -> Rules | Transient:
        try:
            return await self.wiki.restriction(key)
        except Transient as error:
            return error

    def _as_known(self, key: str, error: Transient) -> None:
        before = self.known.get(key)
        self.problems.append(f"the restrictions of {key} can't be read now ({error})")
        if before is None:
            self.rules[key] = Own(Unknown(f"its restrictions could not be read: {error}"))
        else:
            self.rules[key] = before.rules
            self.stale.add(key)


def latest(items: Iterable[Item], upto: datetime) -> datetime | None:
    """The latest of these changes up to a time: a version that is dated later, or not at all, moves nothing."""
    found = (instant(item.changed) for item in items)
    return max((at for at in found if at is not None and at <= upto), default=None)


def _chain(key: str, items: Mapping[str, Item]) -> list[str]:
    """What stands above something by the parents of all, outermost first."""
    found: list[str] = []
    above = items[key].parent
    while above is not None and above not in found and len(found) < _DEEPEST:
        found.insert(0, above)
        above = items[above].parent if above in items else None
    return found
