"""Confluence as a source: which spaces there are, who may view them, what is restricted, and what changed.

A sync that a person asks for reads every space whole: places, restrictions and losses in the same run. In between, each
feed runs when it is due. Every space is on its own: one that can't be read keeps no other from being told and no feed
from its end, is read again by itself, and is closed at once where it refuses us. Everything that was remembered is
settled with the ledger in the end.
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
from connectors.sources.confluence.hook import UNNAMED
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
from connectors.sources.confluence.sweep import Sweep, Swept, latest
from connectors.sources.confluence.telling import Telling
from connectors.sources.confluence.wiki import Notices, Wiki
from connectors.sync import feeds
from connectors.sync.placing import Join
from connectors.sync.settle import REFUSED, changed_rules, mark, refused, settle, settled, unsettled
from policies.access import Access, Unknown

MODIFIED, SPACES, RESTRICTED, WHOLE = "modified", "spaces", "restricted", "whole"
OVERLAP = timedelta(minutes=10)  # of the modified walk: what the server wrote late, and minutes that are cut off
_WATERMARK = "watermark"
_OWED = "sweep:"  # and a space's node: it is to be read whole; when that was last tried in vain
_TRIED = "whole:tried"
_TRIES = 4  # that a whole reading which does not get through to its end is given within its time
_DEEPEST = 500
_PATIENCE = 5  # restrictions in a row that can't be read now, before a feed gives up
_SPACE = "space"
_TOO_MANY = "more than were kept"  # how the ledger says that events were lost
_BACK = ("restored", "moved", "archived", UNNAMED)  # how events say that something came from where we do not look


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
    complete: bool = True  # nothing that was chosen is missing in what was told
    moved: set[str] = field(default_factory=set)  # containers that something left or came to, to be read whole
    replaced: set[str] = field(default_factory=set)  # containers of which another space has the key now
    walked: bool = False  # what was changed since the watermark was seen, or is owed by its space
    newest: datetime | None = None  # the latest change that was seen
    unended: set[str] = field(default_factory=set)  # feeds that did not get to their end
    failed: set[str] = field(default_factory=set)  # containers that could not be read
    unread: set[str] = field(default_factory=set)  # containers whose own rights could not be read
    swept: set[str] = field(default_factory=set)  # containers that were read whole
    unheard: set[int] = field(default_factory=set)  # numbers of hints that were not dealt with
    to_walk: set[int] = field(default_factory=set)  # numbers of hints that the modified walk deals with
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
        await self._forget(run, hints)
        await self._ran(run, spaces)

    # ------------------------------------------------------------ what is to be done

    async def _due(self, now: datetime, first: bool) -> set[str]:
        if first:
            return {feed.name for feed in self._feeds}
        due = {feed.name for feed in await feeds.due(self._memory, self._feeds, now, hurried=self._hurried)}
        if WHOLE in due and not self._hurried:
            # One space that is broken for days must not have all others read again with every run.
            tried = instant(await self._memory.note(_TRIED) or "")
            pause = self._every(WHOLE) / _TRIES
            due -= {WHOLE} if tried is not None and tried <= now < tried + pause else set()
        if WHOLE in due:
            await self._memory.keep_note(_TRIED, now.astimezone(UTC).isoformat())
            due |= {MODIFIED, SPACES, RESTRICTED}  # all of it is in that
        return due

    def _every(self, name: str) -> timedelta:
        return next(feed.every for feed in self._feeds if feed.name == name)

    async def _forget(self, run: _Run, hints: Sequence[Hint]) -> None:
        """Forget the hints that were dealt with. What came while this ran was closed after it began."""
        dealt_with = [hint.number for hint in takewhile(lambda hint: hint.at <= run.now, hints)]
        if dealt_with:
            unheard = run.unheard | (run.to_walk if MODIFIED in run.unended else set())
            await self._memory.forget_hints(dealt_with[-1], unheard)

    async def _ran(self, run: _Run, spaces: Sequence[Space]) -> None:
        """Note how far this run got: each feed by itself, and each space that was read whole."""
        if len(run.failed) < len(spaces):  # else nothing was reached at all
            for feed in run.due - run.unended:
                await feeds.gone(self._memory, feed, run.now)
        for container in run.swept & {name.removeprefix(_OWED) for name in await self._memory.notes(_OWED)}:
            await self._memory.keep_note(_OWED + container, None)
        walked = run.walked or (MODIFIED not in run.unended and await self._memory.note(_WATERMARK) is None)
        if run.newest is not None and walked:
            await self._memory.keep_note(_WATERMARK, run.newest.astimezone(UTC).isoformat())

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
            run.walked = True
            return everything, ()
        to_sweep |= await self._owed(run) & everything
        to_sweep |= await self._hinted(run, hints, everything)
        changed: set[str] = set()
        if RESTRICTED in run.due:
            changed |= await self._restricted(run, everything - to_sweep)
        if MODIFIED in run.due:
            changed |= await self._modified(run, spaces)
        to_sweep |= run.moved & everything
        return to_sweep, changed | (set(await unsettled(self._memory)) & everything)

    async def _owed(self, run: _Run) -> set[str]:
        """Spaces that are to be read whole since that failed before; not at every run while it goes on failing."""
        found: set[str] = set()
        for name, at in (await self._memory.notes(_OWED)).items():
            tried = instant(at)
            if tried is None or not tried <= run.now < tried + self._every(MODIFIED):
                found.add(name.removeprefix(_OWED))
        return found

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
                async for ruling in changed_rules(
                    self._memory, key, access, Join.AND, self._reach.lease, self._name, _base_at(known, run.now)
                ):
                    yield ruling
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
            run.settled += [] if key in run.unread else [key]
            run.swept |= set() if swept is None else {key}
        except Lost as error:
            run.failed.add(key)
            run.fault(f"space {space.key}: {error}; nobody is answered from it")
            yield refused(key, str(error))
        except (Transient, Skip) as error:
            await self._failed(run, space, whole, error)

    async def _failed(self, run: _Run, space: Space, whole: bool, error: Exception) -> None:
        """It is read again by itself, and nothing else for its sake."""
        run.fault(f"space {space.key} could not be read to its end: {error}")
        run.failed.add(space.node_key)
        if whole:
            await self._memory.keep_note(_OWED + space.node_key, run.now.astimezone(UTC).isoformat())

    async def _access(self, run: _Run, space: Space, before: Node | None) -> tuple[Access, datetime]:
        """Who may view it and when that was true: what can't be read now is as it was, for as long as its lease."""
        try:
            access = await self._wiki.access(space)
            if isinstance(access, Unknown):
                run.fault(f"space {space.key}: {access.reason}; nobody is answered from it")
            return access, run.now
        except Transient as error:
            run.fault(f"who may view space {space.key} could not be read: {error}")
            run.failed.add(space.node_key)
            run.unread.add(space.node_key)
            await mark(self._memory, space.node_key)
            if before is not None and isinstance(before.rules, Own):
                return before.rules.access, before.rules_at
            return Unknown(f"who may view it could not be read: {error}"), run.now

    async def _swept(self, run: _Run, space: Space) -> Swept | None:
        try:
            swept = await run.sweep.space(space)
        except Transient as error:
            await self._failed(run, space, True, error)
            return None
        run.documents += swept.documents
        run.newest = _later(run.newest, swept.newest)
        run.problems += swept.problems
        if not swept.documents and space.key in self._reach.keys:
            run.fault(f"space {space.key} holds no document that the account may view; check its rights there")
        return swept

    # ------------------------------------------------------------ single contents

    async def _modified(self, run: _Run, spaces: Sequence[Space]) -> set[str]:
        """Read again what was changed since the last time; the spaces to settle. Where that time is not known, or can't
        be, it goes back as far as a lease."""
        if not spaces:
            return set()
        noted = instant(await self._memory.note(_WATERMARK) or "")
        since = noted - OVERLAP if noted is not None and noted <= run.now else run.now - self._reach.lease
        by_id = {each: space.node_key for space in spaces for each in (space.id, space.key)}
        touched: set[str] = set()
        waiting: list[Item] = []  # replies come before what they reply to
        try:
            async for page in self._wiki.changed(since, run.now, spaces if self._reach.keys else ()):
                run.newest = _later(run.newest, latest(page, run.now))
                waiting += [item for item in page if not await self._taken(run, item, by_id, touched)]
            while waiting:
                left = [item for item in waiting if not await self._taken(run, item, by_id, touched)]
                if len(left) == len(waiting):
                    break
                waiting = left
            run.walked = True
        except (Transient, Skip) as error:
            run.unended.add(MODIFIED)
            run.fault(f"what was changed could not be read to its end: {error}")
        return touched

    async def _taken(self, run: _Run, item: Item, by_id: Mapping[str, str], touched: set[str]) -> bool:
        """Remember one changed item as it is now, and that its space is to be settled; False for a file or a comment of
        something that is not known."""
        known = await self._memory.get([key for key in (item.id, item.parent) if key])
        before, above = known.get(item.id), known.get(item.parent or "")
        container = by_id.get(item.space)
        if item.kind in LEAVES:
            if above is None:
                return False
            container = above.container
        if container is None:
            return True
        now = (item.version, item.parent, container)
        if before is not None and (version_in(before.mark), before.parent, before.container) == now:
            return True
        if before is not None and before.container != container:
            run.moved |= {before.container, container}
            for each in sorted({before.container, container}):
                await self._memory.keep_note(_OWED + each, "")  # what stands below came along, and is no change
        touched |= {container} if await self._read_again(run, item, container) else set()
        return True

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
                        run.unended.add(RESTRICTED)
                        run.fault("what is restricted could not be read to its end")
                        return touched
        return touched

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
        everything is where events were lost. What can't be read now is told of again."""
        if any(not hint.key and hint.what == _TOO_MANY for hint in hints):
            return set(spaces)
        to_sweep: set[str] = set()
        told: dict[str, list[Hint]] = {}
        for hint in hints:
            told.setdefault(hint.key, []).append(hint)
        run.to_walk |= {hint.number for hint in told.pop("", ())}
        known = await self._memory.get(sorted(told))
        run.unheard |= {hint.number for some in told.values() for hint in some}
        for key, some in told.items():
            try:
                to_sweep |= await self._looked_at(run, key, some, known.get(key), spaces, to_sweep)
                run.unheard -= {hint.number for hint in some}
            except (Transient, Skip) as error:
                run.fault(f"{key} could not be read again: {error}")
        return to_sweep

    async def _looked_at(
        self,
        run: _Run,
        key: str,
        told: Sequence[Hint],
        node: Node | None,
        spaces: Collection[str],
        to_sweep: Collection[str],
    ) -> set[str]:
        """Look at what these hints told of one object; the spaces to read whole for it."""
        if key in spaces:
            return {key}
        if node is None:
            return await self._unheard_of(run, key, told, spaces)
        if node.container in to_sweep or await self._seen_again(run, node):
            return set()
        return {node.container}

    async def _unheard_of(self, run: _Run, key: str, told: Sequence[Hint], spaces: Collection[str]) -> set[str]:
        """Something new, or back from elsewhere. A file or a comment is found where changes are; so is a new page."""
        run.due |= {MODIFIED}
        run.to_walk |= {hint.number for hint in told}
        if not any(word in hint.what for hint in told for word in _BACK):
            return set()
        item = await self._wiki.one(key, "")
        if item is None:
            return set()
        held = await self._memory.get(sorted(spaces))
        return {key for key, node in held.items() if item.space in (node.facts.get("id"), node.facts.get("key"))}


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((at for at in (one, other) if at is not None), default=None)


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
