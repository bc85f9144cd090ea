"""What a far source remembers of a container, settled with what the ledger holds: rules, places, texts, losses.

Nothing here goes by what changed, only by what is different now, so that a kill at any point is made good by settling
once more. Closing comes first: what is gone or stands elsewhere is closed before anything else is told of it, and is
opened only after its rules, its place and its text were written.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile

from connectors.errors import Skip, Transient
from connectors.ports import Memory
from connectors.records import (
    AccessChanged,
    Change,
    Closed,
    ClosedRoot,
    Deleted,
    Moved,
    Node,
    Placed,
    Reopened,
    ScopeRules,
    Skipped,
    SourceDocument,
    StatedRules,
    Upsert,
    Verified,
)
from connectors.sync.placing import Join, Place, Placing, differs
from connectors.sync.reconcile import SHARE, SPARED
from policies.access import NOBODY, Access, digest
from policies.facts import ScopeState
from policies.names import DocumentId

MOVING = "its place or its rules are being written anew"
"""Why something is closed that settling opens again by itself."""
REFUSED = "the source refuses it to us: "
"""How the reason begins for which a container stays closed until it was enumerated completely again."""
VANISHED = "it vanished together with many others; check the source and its account"
"""Why documents are closed, and not deleted yet, that were lost too many at once."""
CERTAIN = timedelta(days=7)
"""After so long, what vanished together with many others is gone."""
PATIENCE = 5  # documents in a row that can't be described before the source counts as away
_NOTE = "settle:"
_OWED = "owed:"  # and a container: something went there out of another one, and is closed until it is settled there
_OPENED_AFTER = 200  # documents moved, before those that are done are opened
_DEEPEST = 500  # objects within objects

Describe = Callable[[Node, Place], Awaitable[Sequence[SourceDocument] | Skipped]]
"""What there is to tell of a document whose mark is new: its wordings, the one of now last. Where it stands, and its
mark as its revision, are filled in. Skip and Transient are about this document alone."""


# ---------------------------------------------------------------- what is to be settled


async def unsettled(memory: Memory) -> Sequence[str]:
    """The containers to settle: those that were marked, and those with documents of which the ledger has to be told."""
    marked = [name.removeprefix(prefix) for prefix in (_NOTE, _OWED) for name in await memory.notes(prefix)]
    return sorted({*marked, *await memory.untold()})


async def mark(memory: Memory, container: str) -> None:
    """Note that a container is to be settled; before its nodes are changed."""
    await memory.keep_note(_NOTE + container, "due")


async def settled(memory: Memory, containers: Iterable[str]) -> None:
    """These are settled: after the checkpoint that followed was taken."""
    for container in containers:
        await memory.keep_note(_NOTE + container, None)


def refused(container: str, problem: str) -> Closed:
    """Close a container that the source refuses to us, until it is enumerated completely again."""
    return Closed(container, REFUSED + problem)


async def strangers(memory: Memory, now: datetime) -> AsyncIterator[Reopened]:
    """Open what events closed before `now` and is nothing that we know: of use after everything was read. It is of a
    part of the source that is not read."""
    closed = {root for root, was in (await memory.closed()).items() if was.since <= now}
    known = {*(await memory.get(sorted(closed))), *(await memory.places(sorted(closed)))}
    for root in sorted(closed - known):
        yield Reopened(root)


async def place_of(memory: Memory, node: Node, within: tuple[str, ...] = ()) -> Place:
    """Where one object stands, from what is remembered of those above it."""
    known = {node.key: node}
    above, depth = node.parent, 0
    while above is not None and above != node.container and above not in known and depth < _DEEPEST:
        found = (await memory.get([above])).get(above)
        if found is None or found.container != node.container:
            break
        known[above] = found
        above, depth = found.parent, depth + 1
    return Placing(node.container, within, known.values())[node.key]


# ---------------------------------------------------------------- settling


async def settle(
    memory: Memory,
    container: str,
    base: Access,
    join: Join,
    lease: timedelta,
    now: datetime,
    source: str,
    *,
    base_at: datetime | None = None,
    within: tuple[str, ...] = (),
    walk: str | None = None,
    describe: Describe | None = None,
    everything: bool = False,
) -> AsyncIterator[Change]:
    """Everything that the ledger has to be told so that it says of a container what its nodes say.

    `base`: who may read what has no rules of its own, nor anything above it. `base_at`: when that was read last, and
    that nothing else in the container has rules of its own; without it, when the rules of the container's node were
    read. No scope of the container counts as verified later, so that leases bound what a missed change may do.
    `within`: the ids of what the container stands in, outermost first. `walk`: the enumeration that has seen everything
    in the container; nodes that do not bear it are forgotten, and their documents deleted unless it is too much at
    once. `describe`: tells of the documents of which the ledger has to be told, where the source does not itself;
    `everything`: of all of them, as a run without a cursor does.

    Where the container's own rules are others than the ledger's, all rules there that the ledger holds are told before
    anything else is read, so that what was taken away is gone at once, however large the container is.

    What is closed is opened when it was read again: an object when its rules were, the container when its node's were.
    What stands above the container is opened by whoever closed it.
    """
    if base_at is None:
        own = (await memory.get([container])).get(container)
        base_at = now if own is None else own.rules_at
    told: dict[str, StatedRules] = {}
    async for changed in changed_rules(memory, container, base, join, lease, source, base_at, within):
        rule = changed.rules
        told[rule.root] = StatedRules(digest(rule.access), rule.state, rule.verified_at, rule.lease)
        yield changed
    owed = await memory.note(_OWED + container)
    nodes = {node.key: node async for node in memory.of_container(container)}
    placed = {each.key: each async for each in memory.placed(container)}
    closed = await memory.closed()
    losses = await _losses(memory, nodes, placed, closed, walk, now)
    if losses.unseen:
        # From here on the ledger alone knows of their documents, and so it does after a kill.
        await memory.drop(sorted(losses.unseen))
    kept = {key: node for key, node in nodes.items() if key not in losses.unseen}
    documents = [key for key, node in sorted(kept.items()) if node.is_document]
    placed |= await memory.places([key for key in documents if key not in placed])
    placing = Placing(container, within, kept.values())
    view = _View(placing, documents, kept, placed, losses, closed, describe is not None, everything)

    for root, reason in view.closing.items():
        yield Closed(root, reason)
    for other in sorted(losses.left_for):
        await memory.keep_note(_OWED + other, now.isoformat())
    rules = placing.rules(source, base, base_at, join, lease)
    heard = {*rules, *nodes, *(each.scope_root for each in placed.values())}
    stated = {**await memory.stated(heard), **told}
    for rule in rules.values():
        if differs(rule, stated.get(rule.root)):
            yield AccessChanged(rule)
    for at, roots in placing.verified(rules, stated).items():
        yield Verified(roots, at)
    for key in view.resting:
        yield Moved(DocumentId(source, key), placing[key].scope_root, placing[key].ancestors)
    for some in view.moves():
        for key in (key for _, keys in some for key in keys):
            yield Moved(DocumentId(source, key), placing[key].scope_root, placing[key].ancestors)
        for root, _ in some:
            if view.opens_at_once(root):
                yield Reopened(root)
    if describe is not None:
        async for change in _told([kept[key] for key in view.untold], placing, describe, source):
            yield change
    for root in await _withdrawn(memory, view, rules, stated):
        yield AccessChanged(ScopeRules(source, root, NOBODY, ScopeState.GONE, now, lease))
    for key in sorted(losses.gone):
        yield Deleted(DocumentId(source, key))
    for root in view.opening(base_at, walk):
        yield Reopened(root)
    if owed is not None and owed == await memory.note(_OWED + container):
        await memory.keep_note(_OWED + container, None)


async def changed_rules(
    memory: Memory,
    container: str,
    base: Access,
    join: Join,
    lease: timedelta,
    source: str,
    base_at: datetime,
    within: tuple[str, ...] = (),
) -> AsyncIterator[AccessChanged]:
    """Where the container's own rules are others than the ledger's: all rules there that the ledger holds, from what is
    remembered, before anything else of the container is read. The arguments are `settle`'s."""
    own = Placing(container, within, ()).rules(source, base, base_at, join, lease)[container]
    known = (await memory.stated([container])).get(container)
    if known is None or not differs(own, known):
        return
    placing = await _ruled(memory, container, within)
    rules = placing.rules(source, base, base_at, join, lease)
    held = await memory.stated(rules)
    for rule in rules.values():
        if rule.root in held and differs(rule, held[rule.root]):
            yield AccessChanged(rule)


async def _ruled(memory: Memory, container: str, within: tuple[str, ...]) -> Placing:
    """The places of what has rules of its own in a container, and of nothing else but what that stands in."""
    nodes = {node.key: node async for node in memory.ruled(container)}
    for _ in range(_DEEPEST):
        missing = {node.parent for node in nodes.values() if node.parent is not None} - nodes.keys()
        above = {key: node for key, node in (await memory.get(sorted(missing))).items() if node.container == container}
        if not above:
            break
        nodes |= above
    return Placing(container, within, nodes.values())


async def _told(
    untold: Sequence[Node], placing: Placing, describe: Describe, source: str
) -> AsyncIterator[Upsert | Skipped]:
    """What there is to tell of these documents; Transient when so many in a row can't be described."""
    failed = 0
    for node in untold:
        place, document = placing[node.key], DocumentId(source, node.key)
        try:
            told = await describe(node, place)
        except Skip as error:
            told = Skipped(document, str(error), node.mark)
        except Transient as error:
            failed += 1
            if failed == PATIENCE:
                raise
            yield Skipped(document, f"{error}; tried again at the next sync")
            continue
        failed = 0
        if isinstance(told, Skipped):
            yield replace(told, revision=told.revision or node.mark)
            continue
        for number, wording in enumerate(told, start=1):
            # Until the last of them is told, there is something to tell of the document.
            revision = node.mark if number == len(told) else ""
            yield Upsert(replace(wording, revision=revision, scope_root=place.scope_root, ancestors=place.ancestors))


# ---------------------------------------------------------------- what is lost


@dataclass(frozen=True, slots=True)
class _Losses:
    """Documents that the ledger places in a container, and that are not there."""

    gone: frozenset[str]
    vanished: frozenset[str]  # as `gone`, but too many at once to be sure
    left: frozenset[str]  # they stand in another container
    left_for: frozenset[str]  # these containers
    unseen: frozenset[str]  # nodes that the enumeration did not see


async def _losses(
    memory: Memory,
    nodes: Mapping[str, Node],
    placed: Mapping[str, Placed],
    closed: Mapping[str, ClosedRoot],
    walk: str | None,
    now: datetime,
) -> _Losses:
    unseen = {key for key, node in nodes.items() if walk not in (None, node.walk) and node.key != node.container}
    missing = [key for key in placed if key not in nodes]
    elsewhere = {key: node for key, node in (await memory.get(missing)).items() if node.is_document}
    here = {key for key, node in nodes.items() if node.is_document and key not in unseen}
    lost = placed.keys() - here - elsewhere.keys()
    certain = {
        key for key in lost & closed.keys() if closed[key].reason == VANISHED and closed[key].since <= now - CERTAIN
    }
    sudden = lost - certain
    if len(sudden) <= max(SPARED, SHARE * (len(here) + len(sudden))):
        certain, sudden = lost, set()
    return _Losses(
        gone=frozenset(certain),
        vanished=frozenset(sudden),
        left=frozenset(elsewhere),
        left_for=frozenset(node.container for node in elsewhere.values()),
        unseen=frozenset(unseen if not sudden else unseen & certain),
    )


async def _withdrawn(
    memory: Memory, view: _View, rules: Mapping[str, ScopeRules], stated: Mapping[str, StatedRules]
) -> Sequence[str]:
    """Scopes of this container that nothing stands under any more. `stated`: of all that was or is in it."""
    over = {root for root in stated.keys() - rules.keys() if stated[root].state is not ScopeState.GONE}
    others = await memory.get(sorted(over - view.nodes.keys()))
    return sorted(over - others.keys())


# ---------------------------------------------------------------- what is moved, closed and opened


class _View:
    """What is different between the nodes of a container and the ledger's places."""

    def __init__(
        self,
        placing: Placing,
        documents: Sequence[str],
        nodes: Mapping[str, Node],
        placed: Mapping[str, Placed],
        losses: _Losses,
        closed: Mapping[str, ClosedRoot],
        tells: bool,
        everything: bool,
    ) -> None:
        self.nodes = nodes
        self.placed = placed
        self.losses = losses
        self.untold = [
            key
            for key in documents
            if tells and (everything or key not in placed or placed[key].revision != nodes[key].mark)
        ]
        self.resting: list[str] = []  # what stands in other things now, under the same rules
        self._container = placing.container
        self._closed = closed
        self._moving: dict[str, list[str]] = {}  # the subtree to close, and its documents that are moved
        self._open_last: set[str] = set(losses.gone)
        told = set(self.untold)
        for key in documents:
            old, new = placed.get(key), placing[key]
            if old is None or (old.scope_root, old.ancestors) == (new.scope_root, new.ancestors):
                continue
            if old.scope_root == new.scope_root:
                self.resting += [] if key in told else [key]
                continue
            root = _outermost(key, old, new, placing.container)
            self._moving.setdefault(root, []).extend([] if key in told else [key])
        if told:
            # Opening anything lets what widens count, and new readers must not see an old text.
            self._open_last |= self._moving.keys()

    @property
    def closing(self) -> Mapping[str, str]:
        """What is to be closed before anything else, and why."""
        losses = self.losses
        readable = {key for key in losses.gone | losses.left if not self.placed[key].hidden}
        reasons = dict.fromkeys(sorted(readable | self._moving.keys()), MOVING)
        reasons = {root: reason for root, reason in reasons.items() if root not in self._closed}
        vanished = {key for key in losses.vanished if self._reason(key) != VANISHED}
        return reasons | dict.fromkeys(sorted(vanished), VANISHED)

    def _reason(self, root: str) -> str | None:
        return self._closed[root].reason if root in self._closed else None

    def moves(self) -> Iterator[Sequence[tuple[str, Sequence[str]]]]:
        """Subtrees with their documents that are moved, some at a time: those that may be opened right after it."""
        some: list[tuple[str, Sequence[str]]] = []
        for root, keys in self._moving.items():
            some.append((root, keys))
            if sum(len(keys) for _, keys in some) >= _OPENED_AFTER:
                yield some
                some = []
        yield some

    def opens_at_once(self, root: str) -> bool:
        """Whether a subtree whose documents were moved may be opened then."""
        return root not in self._open_last and self._reason(root) in (None, MOVING)

    def opening(self, base_at: datetime, walk: str | None) -> Sequence[str]:
        """What may be opened in the end: all that settling closed here, now or before, and what was closed by others
        and read again since."""
        ours = {root for root in self._open_last if self._reason(root) in (None, MOVING)}
        return sorted(ours | {root for root in self._closed if self._may_open(root, base_at, walk)})

    def _may_open(self, root: str, base_at: datetime, walk: str | None) -> bool:
        was = self._closed[root]
        if root in self.losses.vanished or root in self.losses.left:
            return False
        if root in self.losses.gone:
            return True
        if root == self._container:
            refused = was.reason.startswith(REFUSED) and walk is None
            read_at = self.nodes[root].rules_at if root in self.nodes else base_at
            return was.reason == MOVING or (read_at >= was.since and not refused)
        if root not in self.nodes:
            return False
        return was.reason == MOVING or self.nodes[root].rules_at >= was.since


def _outermost(key: str, old: Placed, new: Place, container: str) -> str:
    """The subtree to close while a document goes from one scope to another. It has to be one that the document stands
    in for the ledger already: where the rules are that are new to it, or those that are over; else what was moved."""
    before, after = [*old.ancestors, key], [*new.ancestors, key]
    pairs = zip(reversed(before), reversed(after), strict=False)
    shared = [one for one, other in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    inside = shared[: shared.index(container)] if container in shared else shared
    for root in (new.scope_root, old.scope_root):
        if root in inside:
            return root
    return key if container in shared else inside[-1]
