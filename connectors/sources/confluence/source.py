"""Confluence as a source: which spaces there are, who may view them, what is restricted, and what changed.

A sync that a person asks for reads every space whole: places, restrictions and losses in the same run. In between, each
feed runs when it is due. Every space is on its own: one that can't be read keeps no other from being told, and one that
refuses us is closed at once. Everything that was remembered is settled with the ledger in the end.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import takewhile

from connectors.errors import Skip, Stop, Transient
from connectors.ports import Feed, Hint, Memory
from connectors.records import Change, Checkpoint, Inherits, Node, Own
from connectors.sources.confluence.client import Lost
from connectors.sources.confluence.mapping import (
    LEAVES,
    Documents,
    Item,
    Space,
    instant,
    labelled_in,
    node_of,
    space_node,
    version_in,
)
from connectors.sources.confluence.sweep import Sweep, Swept
from connectors.sources.confluence.telling import Telling
from connectors.sources.confluence.wiki import Notices, Wiki
from connectors.sync import feeds
from connectors.sync.placing import Join
from connectors.sync.settle import REFUSED, changed_rules, mark, refused, settle, settled, unsettled
from policies.access import Access, Unknown

MODIFIED, SPACES, RESTRICTED, WHOLE = "modified", "spaces", "restricted", "whole"
OVERLAP = timedelta(minutes=10)  # of the modified walk: what the server wrote late, and minutes that are cut off
_WATERMARK = "watermark"
_TRIED = "whole:tried"
_TRIES = 4  # that a whole reading which does not get through to its end is given within its time
_DEEPEST = 500
_PATIENCE = 5  # restrictions in a row that can't be read now, before a feed gives up
_SPACE = "space"
_TOO_MANY = "more than were kept"  # how the ledger says that events were lost
_BACK = ("restored", "moved", "archived")  # how events say that something came from where we do not look


def feeds_of(lease: timedelta, every: Mapping[str, timedelta] | None = None) -> tuple[Feed, ...]:
    """How changes are learnt of. What bounds a lease is read twice within it."""
    told = every or {}
    return (
        Feed(MODIFIED, told.get(MODIFIED, timedelta(minutes=5)), of_permissions=False),
        Feed(SPACES, told.get(SPACES, timedelta(minutes=20)), of_permissions=True),
        Feed(RESTRICTED, told.get(RESTRICTED, min(timedelta(hours=2), lease / 4)), of_permissions=True),
        Feed(WHOLE, told.get(WHOLE, min(timedelta(hours=12), lease / 2)), of_permissions=True),
    )


@dataclass(frozen=True, slots=True)
class Reach:
    """What an admin chose of a Confluence."""

    keys: tuple[str, ...]  # of spaces; none: every space that the account can read
    lease: timedelta


@dataclass(slots=True)
class _Run:
    """One run on its way."""

    now: datetime
    whole: bool  # every document is to be told, not only what is new
    sweep: Sweep
    due: set[str]
    complete: bool = True
    moved: set[str] = field(default_factory=set)  # containers that something left or came to, to be read whole
    replaced: set[str] = field(default_factory=set)  # containers of which another space has the key now
    heard: bool = True  # what events told of was looked at
    newest: str = ""
    documents: int = 0
    problems: list[str] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)

    def fault(self, problem: str) -> None:
        self.complete = False
        self.problems.append(problem)


class ConfluenceSource:
    """Port `Source`. `hurried`: a person asked for this sync, so that everything about rights and losses is read."""

    def __init__(
        self,
        name: str,
        wiki: Wiki,
        memory: Memory,
        documents: Documents,
        reach: Reach,
        told: Sequence[Feed],
        notices: Notices,
        *,
        hurried: bool,
        history: bool = False,
    ) -> None:
        self._name = name
        self._wiki = wiki
        self._memory = memory
        self._telling = Telling(name, wiki, memory, documents, history)
        self._reach = reach
        self._feeds = told
        self._notices = notices
        self._hurried = hurried

    @property
    def name(self) -> str:
        return self._name

    async def changes(self, cursor: str | None, now: datetime) -> AsyncGenerator[Change, None]:
        """Everything that is not as the ledger has it; raises Stop where the account is not let in at all."""
        sweep = Sweep(self._wiki, self._memory, now, now.astimezone(UTC).isoformat(), self._reach.lease)
        hints = await self._memory.hints()
        run = _Run(now, cursor is None, sweep, await self._due(now, cursor is None))
        if any(not hint.key for hint in hints):  # something of the source, nobody says what
            run.due |= {MODIFIED, SPACES}
        blocked = await self._wiki.blocked()
        spaces = [space for space in await self._spaces() if space.key not in blocked]
        async for change in self._lost(run, spaces, blocked):
            yield change
        to_sweep, to_settle = await self._plan(run, spaces, hints)
        for space in spaces:
            key = space.node_key
            if key in to_sweep or SPACES in run.due or key in to_settle:
                async for change in self._space(run, space, key in to_sweep, key in to_settle):
                    yield change
        self._judge(run, spaces, to_sweep)
        problems = tuple(dict.fromkeys((*run.problems, *self._notices.said)))
        yield Checkpoint(json.dumps({"walk": sweep.walk}), run.complete, whole=False, problems=problems)
        await settled(self._memory, run.settled)
        # What came while this ran was closed after it began, and what failed is not dealt with.
        dealt_with = [hint.number for hint in takewhile(lambda hint: hint.at <= now, hints)]
        if dealt_with and run.heard and run.complete:
            await self._memory.forget_hints(dealt_with[-1])
        if run.complete:
            await self._ran(run)

    # ------------------------------------------------------------ what is to be done

    async def _due(self, now: datetime, first: bool) -> set[str]:
        if first:
            return {feed.name for feed in self._feeds}
        due = {feed.name for feed in await feeds.due(self._memory, self._feeds, now, hurried=self._hurried)}
        if WHOLE in due and not self._hurried:
            # One space that is broken for days must not have all others read again with every run.
            every = next(feed.every for feed in self._feeds if feed.name == WHOLE)
            tried = instant(await self._memory.note(_TRIED) or "")
            due -= {WHOLE} if tried is not None and tried <= now < tried + every / _TRIES else set()
        if WHOLE in due:
            await self._memory.keep_note(_TRIED, now.astimezone(UTC).isoformat())
            due |= {MODIFIED, SPACES, RESTRICTED}  # all of it is in that
        return due

    async def _ran(self, run: _Run) -> None:
        for feed in run.due:
            await feeds.gone(self._memory, feed, run.now)
        if run.newest:
            await self._memory.keep_note(_WATERMARK, run.newest)

    async def _spaces(self) -> Sequence[Space]:
        try:
            return await self._wiki.spaces(self._reach.keys)
        except Lost as error:
            raise Stop(
                f"source {self._name!r} can't list its spaces: {error}; check the account and its token"
            ) from error

    async def _lost(self, run: _Run, spaces: Sequence[Space], blocked: Collection[str]) -> AsyncIterator[Change]:
        """Spaces that were there and are not any more: closed, and read whole when they come back, or when another
        space has their key."""
        there = {space.node_key: space for space in spaces}
        closed = await self._memory.closed()
        known = [node async for node in self._memory.containers()]
        for node in known:
            key = node.facts.get("key", "")
            reason = "it is gone, archived or not for us"
            if node.key in there:
                if node.facts.get("id") == there[node.key].id:
                    continue
                reason = "another space has its key now"
                run.replaced.add(node.key)
            elif key in blocked:
                reason = "a data security policy keeps apps out of it"
            if node.key not in closed or not closed[node.key].reason.startswith(REFUSED):
                run.problems.append(f"space {key}: {reason}; nobody is answered from it")
                yield refused(node.key, reason)
        for key in self._reach.keys:
            if space_node(key) not in there:
                run.fault(f"space {key} can't be viewed by the account; share it, or take it off the source")

    async def _plan(
        self, run: _Run, spaces: Sequence[Space], hints: Sequence[Hint]
    ) -> tuple[Collection[str], Collection[str]]:
        """Which spaces are read whole, and which others have something to settle."""
        everything = {space.node_key for space in spaces}
        known = await self._memory.get(sorted(everything))
        closed = await self._memory.closed()
        to_sweep = everything - known.keys()
        to_sweep |= {key for key in everything & closed.keys() if closed[key].reason.startswith(REFUSED)}
        to_sweep |= run.replaced
        if run.whole or WHOLE in run.due:
            return everything, ()
        to_sweep |= await self._hinted(run, hints, everything)
        changed: set[str] = set()
        if RESTRICTED in run.due:
            changed |= await self._restricted(run, everything - to_sweep)
        if MODIFIED in run.due:
            changed |= await self._modified(run, spaces)
        to_sweep |= run.moved & everything
        return to_sweep, changed | (set(await unsettled(self._memory)) & everything)

    def _judge(self, run: _Run, spaces: Sequence[Space], swept: Collection[str]) -> None:
        """No document at all is no success."""
        if not spaces:
            run.fault("the account can view no space at all; give it one, or check the source's --space")
        elif len(swept) == len(spaces) and not run.documents and run.complete:
            run.fault("not one document was found in any space; check what the account may view")

    # ------------------------------------------------------------ one space

    async def _space(self, run: _Run, space: Space, whole: bool, changed: bool) -> AsyncIterator[Change]:
        """Read a space, whole or only who may view it, and settle it; what fails here is told of and hurts no other."""
        key = space.node_key
        try:
            before = None if key in run.replaced else (await self._memory.get([key])).get(key)
            access, access_at = await self._access(run, space, before)
            if not whole and not changed and before is not None and before.rules == Own(access):
                await self._memory.put([_space_node(space, access, access_at, before, None, before.walk)])
                return
            await mark(self._memory, key)
            if key in run.replaced:
                # Nothing of the new space's rights may count for what stood in the old one.
                await self._memory.drop([node.key async for node in self._memory.of_container(key) if node.key != key])
            if whole and before is not None:
                # However long reading the space takes: what was taken away is gone before.
                known = _space_node(space, access, access_at, before, None, before.walk)
                async for change in changed_rules(
                    self._memory, key, access, Join.AND, self._reach.lease, self._name, _base_at(known, run.now)
                ):
                    yield change
            swept = await self._swept(run, space) if whole else None
            if whole and swept is None and before is None:
                return
            node = _space_node(space, access, access_at, before, swept, run.sweep.walk)
            await self._memory.put([node])
            told: set[str] = set()
            walk = run.sweep.walk if swept is not None else None
            async for change in settle(
                self._memory,
                key,
                access,
                Join.AND,
                self._reach.lease,
                run.now,
                self._name,
                base_at=_base_at(node, run.now),
                walk=walk,
                describe=partial(self._telling.described, told),
            ):
                yield change
            if run.whole:
                async for change in self._telling.again(key, told):
                    yield change
            run.settled.append(key)
        except Lost as error:
            run.fault(f"space {space.key}: {error}; nobody is answered from it")
            yield refused(key, str(error))
        except (Transient, Skip) as error:
            run.fault(f"space {space.key} could not be read to its end: {error}")

    async def _access(self, run: _Run, space: Space, before: Node | None) -> tuple[Access, datetime]:
        """Who may view it and when that was true: what can't be read now is as it was, for as long as its lease."""
        try:
            access = await self._wiki.access(space)
            if isinstance(access, Unknown):
                run.fault(f"space {space.key}: {access.reason}; nobody is answered from it")
            return access, run.now
        except Transient as error:
            run.fault(f"who may view space {space.key} could not be read: {error}")
            if before is not None and isinstance(before.rules, Own):
                return before.rules.access, before.rules_at
            return Unknown(f"who may view it could not be read: {error}"), run.now

    async def _swept(self, run: _Run, space: Space) -> Swept | None:
        try:
            swept = await run.sweep.space(space)
        except Transient as error:
            run.fault(f"space {space.key} could not be read to its end: {error}")
            return None
        run.documents += swept.documents
        run.newest = max(run.newest, swept.newest)
        run.problems += swept.problems
        if not swept.documents and space.key in self._reach.keys:
            run.fault(f"space {space.key} holds no document that the account may view; check its rights there")
        return swept

    # ------------------------------------------------------------ single contents

    async def _modified(self, run: _Run, spaces: Sequence[Space]) -> set[str]:
        """Read again what was changed since the last time; the spaces to settle."""
        mark_at = instant(await self._memory.note(_WATERMARK) or "")
        if mark_at is None:
            return set()
        by_id = {each: space.node_key for space in spaces for each in (space.id, space.key)}
        touched: set[str] = set()
        try:
            async for page in self._wiki.changed(mark_at - OVERLAP, run.now, spaces if self._reach.keys else ()):
                for item in page:
                    run.newest = max(run.newest, item.changed)
                    key = await self._taken(run, item, by_id.get(item.space))
                    touched |= {key} if key else set()
        except (Transient, Skip) as error:
            run.fault(f"what was changed could not be read to its end: {error}")
        return touched

    async def _taken(self, run: _Run, item: Item, container: str | None) -> str | None:
        """Remember one changed item as it is now; its space, where it has to be settled."""
        known = await self._memory.get([key for key in (item.id, item.parent) if key])
        before, above = known.get(item.id), known.get(item.parent or "")
        if item.kind in LEAVES:
            container = above.container if above is not None else None
        if container is None:
            return None
        now = (item.version, item.parent, container)
        if before is not None and (version_in(before.mark), before.parent, before.container) == now:
            return None
        if before is not None and before.container != container:
            run.moved |= {before.container, container}
        return container if await self._read_again(run, item, container) else None

    async def _read_again(self, run: _Run, item: Item, container: str) -> bool:
        """Remember an item with its restriction and everything above it that is not known."""
        await mark(self._memory, container)
        nodes: list[Node] = []
        at: Item | None = item
        for _ in range(_DEEPEST):
            if at is None:
                break
            if not at.placed:
                at = await self._wiki.above(at)
                continue
            rules = Inherits() if at.kind in LEAVES else await self._wiki.restriction(at.id)
            before = (await self._memory.get([at.id])).get(at.id)
            labelled = labelled_in(before.mark) if before is not None else ""
            nodes.append(node_of(at, container, rules, run.now, run.sweep.walk, labelled, before))
            if at.parent is None or at.parent in await self._memory.get([at.parent]):
                break
            at = await self._wiki.one(at.parent, at.parent_kind or "")
        await self._memory.put(nodes)
        return bool(nodes)

    async def _restricted(self, run: _Run, spaces: Collection[str]) -> set[str]:
        """Read again what is known to be restricted. One that can't be read now goes dark with its own lease."""
        touched: set[str] = set()
        failed = 0
        for container in sorted(spaces):
            held = [node async for node in self._memory.of_container(container) if node.kind != _SPACE]
            for node in (node for node in held if isinstance(node.rules, Own)):
                touched.add(container)
                try:
                    if not await self._seen_again(run, node):
                        run.moved.add(container)
                    failed = 0
                except (Transient, Skip) as error:
                    failed += 1
                    run.problems.append(f"the restrictions of {node.key} can't be read now ({error})")
                    if failed == _PATIENCE:
                        run.fault("what is restricted could not be read to its end")
                        return touched
        return touched

    async def _hint(self, run: _Run, node: Node) -> bool:
        """As `_seen_again`, for what an event told of: it is told of until it could be read."""
        try:
            return await self._seen_again(run, node)
        except (Transient, Skip) as error:
            run.fault(f"{node.key} could not be read again: {error}")
            run.heard = False
            return True

    async def _seen_again(self, run: _Run, node: Node) -> bool:
        """Read one remembered content again; False where it is gone or moved away, so that its space is read whole."""
        item = await self._wiki.one(node.key, node.kind)
        if item is None or (item.status != "current" and node.is_document):
            return False
        if node.kind not in LEAVES and item.parent != node.parent:
            return False
        if item.space and node.kind not in LEAVES:
            held = (await self._memory.get([node.container])).get(node.container)
            if held is None or item.space not in (held.facts.get("id"), held.facts.get("key")):
                # At the root of another space: both are read whole.
                run.moved |= {node.container} | await self._containers_of(item.space)
                return False
        return await self._read_again(run, replace(item, parent=item.parent or node.parent), node.container)

    async def _containers_of(self, space: str) -> set[str]:
        """The container of a space by its id or its key, where it is known."""
        return {
            node.key
            async for node in self._memory.containers()
            if space in (node.facts.get("id"), node.facts.get("key"))
        }

    async def _hinted(self, run: _Run, hints: Sequence[Hint], spaces: Collection[str]) -> set[str]:
        """What events told of: single contents are read again, and where one moved or is gone, its space is read whole;
        everything is where events were lost."""
        if any(not hint.key and hint.what == _TOO_MANY for hint in hints):
            return set(spaces)
        to_sweep: set[str] = set()
        known = await self._memory.get(sorted({hint.key for hint in hints if hint.key}))
        told = {hint.key: hint for hint in hints if hint.key}
        for key, hint in told.items():
            node = known.get(key)
            if key in spaces:
                to_sweep.add(key)
            elif node is None:
                to_sweep |= await self._unheard_of(run, hint, spaces)
            elif node.container in to_sweep:
                continue
            elif not await self._hint(run, node):
                to_sweep.add(node.container)
        return to_sweep

    async def _unheard_of(self, run: _Run, hint: Hint, spaces: Collection[str]) -> set[str]:
        """Something new, or back from elsewhere. A file or a comment is found where changes are; so is a new page."""
        run.due |= {MODIFIED}
        if not any(word in hint.what for word in _BACK):
            return set()
        try:
            item = await self._wiki.one(hint.key, "")
        except (Transient, Skip):
            item = None
            run.heard = False
        if item is None:
            return set()
        held = await self._memory.get(sorted(spaces))
        return {key for key, node in held.items() if item.space in (node.facts.get("id"), node.facts.get("key"))}


def _space_node(
    space: Space, access: Access, access_at: datetime, before: Node | None, swept: Swept | None, walk: str
) -> Node:
    facts = dict(before.facts) if before is not None else {}
    facts |= {"id": space.id, "key": space.key, "title": space.name}
    if swept is not None:
        facts["swept"] = swept.read_at.astimezone(UTC).isoformat()
    key = space.node_key
    return Node(key, None, key, _SPACE, Own(access), access_at, False, walk=walk, facts=facts)


def _base_at(node: Node, now: datetime) -> datetime:
    """When everything that may narrow the space was read last: its own rights, and every restriction in it."""
    swept = instant(node.facts.get("swept", ""))
    return node.rules_at if swept is None else min(node.rules_at, swept, now)
