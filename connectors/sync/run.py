"""The whole of syncing on one page: a source tells what changed, and the ledger and the index follow.

Closing comes first: rules that narrow, moves and deletions take effect the moment they are told. Opening comes last:
rules that widen take effect when every text told before them is written. Nothing is pruned after an incomplete walk.
"""

from __future__ import annotations

import asyncio
from asyncio import Event, Lock, Task, TaskGroup
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import islice

from connectors.errors import DoorError, Transient
from connectors.ports import Catalog, Detector, Embedder, Index, Known, Parser, Run, Source
from connectors.records import (
    AccessChanged,
    Change,
    Checkpoint,
    Closed,
    Deleted,
    Moved,
    Reopened,
    ScopeRules,
    Skipped,
    SourceDocument,
    Upsert,
    Verified,
)
from connectors.sync.prepare import Halted, Prepared, Refused, facts_digest, prepare
from connectors.sync.publish import bury, move, publish
from connectors.sync.reconcile import finish, prune
from policies.access import NOBODY, Access, AccessExpr, Unknown, digest
from policies.facts import ScopeState
from policies.names import ContainerId, DocumentId, ScopeId

Clock = Callable[[], datetime]
Ruling = AccessChanged | Closed | Reopened
Stand = tuple[ScopeId, tuple[ContainerId, ...]]  # a scope, and what it stands in
Progress = Callable[[int], None]  # told the number of documents dealt with so far

AHEAD = 4  # documents prepared at once
PATIENCE = 5  # documents in a row that may fail for a passing reason before the run gives up
_SEEN_AT_ONCE = 200
_TOLD_AT_ONCE = 1_000  # rules, closings or openings that are written in one step
_QUIET = 0.02  # seconds that a source may say nothing before what it told is written


@dataclass(frozen=True, slots=True)
class Doors:
    """What a sync works with."""

    catalog: Catalog
    index: Index
    parser: Parser
    embedder: Embedder
    detector: Detector


@dataclass(frozen=True, slots=True)
class Skip:
    """A document that was passed over, and why."""

    document: str
    reason: str


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one run did; the fields of `sync --json`, and what an admin should look into."""

    source: str
    run_id: str
    seen: int
    upserted: int
    deleted: int
    access_changed: int
    moved: int
    unchanged: int
    skipped: tuple[Skip, ...]
    complete: bool
    seconds: float
    embedded: int  # vectors made; text that was embedded before is not embedded again
    problems: tuple[str, ...]
    notices: tuple[Skip, ...]  # documents that were taken, with something to know about them


async def sync(
    source: Source, doors: Doors, now: Clock, full: bool = False, progress: Progress | None = None
) -> SyncReport:
    """One run of a source from its cursor, or from the start where `full`; raises Transient while another run is on."""
    started = now()
    async with doors.catalog.run(source.name, started) as run:
        line = _Line(run, doors, now, progress or (lambda done: None))
        async with TaskGroup() as ahead:
            in_time = ahead.create_task(line.write_in_time())
            try:
                await finish(source.name, doors.catalog, doors.index)
                whole = full or run.cursor is None or not await doors.index.count(source.name)
                await line.compare(whole)
                async with aclosing(source.changes(None if whole else run.cursor, started)) as changes:
                    async for change in changes:
                        await line.take(change, ahead)
                await line.write_told()
                await line.drain()
            except DoorError as error:  # of the source, the ledger or the index: what was done so far stands
                await line.give_up(error)
            finally:
                in_time.cancel()
        report = line.report(source.name, (now() - started).total_seconds())
        await doors.catalog.finish(run, asdict(report), now())
        return report


@dataclass(slots=True)
class _Line:
    """One run on its way: what is being prepared, what is to be opened at the end, and the tally."""

    run: Run
    doors: Doors
    now: Clock
    progress: Progress
    preparing: deque[tuple[SourceDocument, Task[Prepared | Refused | Halted]]] = field(default_factory=deque)
    told: dict[str, Ruling] = field(default_factory=dict)  # by root, all of one kind; to be written in one step
    some_told: Event = field(default_factory=Event)
    turn: Lock = field(default_factory=Lock)  # a change is dealt with, or what was told is written
    closed: dict[str, str] = field(default_factory=dict)  # what this run closed and has not opened, and why
    widenings: dict[str, ScopeRules] = field(default_factory=dict)
    before: dict[str, Access] = field(default_factory=dict)  # who could read what each changed scope holds
    held: Mapping[DocumentId, frozenset[Stand]] | None = None  # where the index has documents, in a whole walk
    told_last: DocumentId | None = None  # the document that was told of right before: more wordings of it may follow
    unseen: list[DocumentId] = field(default_factory=list)  # told, and not yet recorded as seen
    failed_in_a_row: int = 0
    again: bool = False  # something failed for a reason that may pass: the source is to tell it again
    seen: int = 0
    upserted: int = 0
    deleted: int = 0
    moved: int = 0
    unchanged: int = 0
    embedded: int = 0
    complete: bool = False
    scopes_changed: set[str] = field(default_factory=set)
    skipped: list[Skip] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notices: list[Skip] = field(default_factory=list)

    async def take(self, change: Change, ahead: TaskGroup) -> None:
        """Deal with one change. Texts are prepared ahead; rules, closings and openings are written together with those
        told in one breath; everything else is durable on return, and never before what was told before it."""
        async with self.turn:
            if isinstance(change, AccessChanged | Closed | Reopened):
                self.told_last = None
                await self._ruling(change)
                return
            await self._write_told()
            await self._take(change, ahead)
            self.told_last = change.document.id if isinstance(change, Upsert) else None

    async def _take(self, change: Change, ahead: TaskGroup) -> None:
        match change:
            case Upsert(document):
                await self._settled(document.id)
                await self._upsert(document, ahead)
            case Moved(document, root, ancestors):
                await self._settled(document)
                await self._seen(document)
                known = await self.doors.catalog.known(document)
                if known:
                    await self._move(known, root, ancestors)
            case Deleted(document):
                await self._settled(document)
                await bury(document, "the source said it is gone", self.now(), self.doors.catalog, self.doors.index)
                self.deleted += 1
            case Skipped(document, reason, revision):
                await self._settled(document)
                await self._seen(document)
                await self._skip(document, reason, revision or None)
            case Verified(roots, at):
                await self.doors.catalog.renew(
                    self.run.source, [each for each in roots if each not in self.widenings], at
                )
            case Checkpoint():
                await self._checkpoint(change)

    # ------------------------------------------------------------ documents

    async def _upsert(self, document: SourceDocument, ahead: TaskGroup) -> None:
        await self._seen(document.id)
        known = await self.doors.catalog.known(document.id)
        if known and not self._is_new(known, document):
            moved = await self._move(known, document.scope_root, document.ancestors)
            self.unchanged += not moved
            return
        dated = document.effective_from is not None and not _remembered(known, document)
        first = document.id != self.told_last  # who may open it was judged with the first of its wordings
        if known and dated and first and await self._opens(known, document):
            # Older wordings stay for questions about their time, and must not be opened with the new one.
            reason = "its text and its readers changed; the new text is being written"
            await bury(document.id, reason, self.now(), self.doors.catalog, self.doors.index)
        elif known and self._stands_elsewhere(known, document.scope_root, document.ancestors):
            # New readers must not see the old text, nor old readers the new one.
            await self.doors.catalog.hide(document.id, "its text and its place changed; the new text is being written")
        doors = self.doors
        work = prepare(document, doors.parser, doors.detector, doors.index, doors.embedder)
        self.preparing.append((document, ahead.create_task(work)))
        if len(self.preparing) >= AHEAD:
            await self._write_next()

    def _is_new(self, known: Known, document: SourceDocument) -> bool:
        lost = self.held is not None and document.id not in self.held
        return lost or known.problem is not None or not _remembered(known, document)

    async def _write_next(self) -> None:
        document, task = self.preparing.popleft()
        outcome = await task
        away = isinstance(outcome, Refused) and outcome.again and not outcome.alone
        self.failed_in_a_row = self.failed_in_a_row + 1 if away else 0
        match outcome:
            case Halted(error):
                raise error
            case Refused(reason, again):
                self.again |= again
                await self._skip(document, reason, "" if again else None)
            case Prepared():
                await self._write(document, outcome)
        self.progress(self.seen - len(self.preparing))
        if self.failed_in_a_row == PATIENCE:
            raise Transient(f"{PATIENCE} documents in a row failed, the last one because {self.skipped[-1].reason}")

    async def _write(self, document: SourceDocument, prepared: Prepared) -> None:
        doors = self.doors
        scope = await doors.catalog.scope_of(self.run.source, document.scope_root)
        if scope is None:
            await self._skip(document, "who may read it is unknown")
            return
        containers = await doors.catalog.containers_of(scope)
        entries, facts, now = prepared.entries(scope, containers), facts_digest(document), self.now()
        await publish(
            prepared.document, scope, containers, entries, prepared.trust, facts, now, doors.catalog, doors.index
        )
        self.upserted += 1
        self.embedded += prepared.embedded
        self.notices += [Skip(str(document.id), notice) for notice in prepared.notices]

    async def _move(self, known: Known, root: str, ancestors: tuple[str, ...]) -> bool:
        if not self._stands_elsewhere(known, root, ancestors) and not await self._index_differs(known.document, root):
            return False
        scope = await self.doors.catalog.scope_of(self.run.source, root)
        if scope is None:
            await self._skip(known.document, "who may read it is unknown")
            return True
        await move(known.document, scope, root, ancestors, self.doors.catalog, self.doors.index)
        self.moved += 1
        return True

    async def _opens(self, known: Known, document: SourceDocument) -> bool:
        """Whether somebody may read the document now who could not when this run began."""
        new = self.widenings.get(document.scope_root) or await self._recorded(document.scope_root)
        old = self.before.get(known.scope_root)
        if old is None:
            old = _active(await self._recorded(known.scope_root))
        return digest(_both(old, _active(new))) != digest(_active(new))

    async def _recorded(self, root: str) -> ScopeRules | None:
        return await self.doors.catalog.rules_of(self.run.source, root)

    def _stands_elsewhere(self, known: Known, root: str, ancestors: tuple[str, ...]) -> bool:
        return (known.scope_root, known.ancestors) != (root, ancestors)

    async def _index_differs(self, document: DocumentId, root: str) -> bool:
        if self.held is None or document not in self.held:
            return False
        scope = await self.doors.catalog.scope_of(self.run.source, root)
        if scope is None:
            return True
        return self.held[document] != {(scope, await self.doors.catalog.containers_of(scope))}

    async def _skip(self, document: SourceDocument | DocumentId, reason: str, revision: str | None = None) -> None:
        await self.doors.catalog.skip(document, reason, self.now(), revision)
        name = document if isinstance(document, DocumentId) else document.id
        self.skipped.append(Skip(str(name), reason))

    async def _seen(self, document: DocumentId) -> None:
        self.seen += 1
        self.unseen.append(document)
        if len(self.unseen) >= _SEEN_AT_ONCE:
            await self._record_seen()

    async def _record_seen(self) -> None:
        if self.unseen:
            await self.doors.catalog.seen(self.run.id, self.unseen)
            self.unseen = []

    async def _settled(self, document: DocumentId) -> None:
        """What was told of the same document before is written before anything else is done about it."""
        if any(waiting.id == document for waiting, _ in self.preparing):
            await self.drain()

    async def drain(self) -> None:
        """Write everything that is being prepared, in the order it was told."""
        while self.preparing:
            await self._write_next()

    # ------------------------------------------------------------ rules, closings, openings

    async def _ruling(self, ruling: Ruling) -> None:
        other = any(type(each) is not type(ruling) for each in islice(self.told.values(), 1))
        if other or _root(ruling) in self.told or len(self.told) >= _TOLD_AT_ONCE:
            await self._write_told()
        self.told[_root(ruling)] = ruling
        self.some_told.set()

    async def write_told(self) -> None:
        """Write the rules, closings or openings that wait for more of their kind."""
        async with self.turn:
            await self._write_told()

    async def write_in_time(self) -> None:
        """The same whenever the source is quiet for a moment, as it is when it waits for its system."""
        while True:
            await self.some_told.wait()
            await asyncio.sleep(_QUIET)
            with suppress(DoorError):  # tried again with the next change, or at the end, where it is reported
                await self.write_told()

    async def _write_told(self) -> None:
        match list(self.told.values()):
            case [AccessChanged(), *_] as told:
                await self._rules({each.rules.root: each.rules for each in told if isinstance(each, AccessChanged)})
            case [Closed(), *_] as told:
                await self._close({each.root: each.reason for each in told if isinstance(each, Closed)})
            case [Reopened(), *_]:
                await self._reopen(list(self.told))
        self.told = {}
        self.some_told.clear()

    async def _rules(self, told: Mapping[str, ScopeRules]) -> None:
        """A narrowing counts at once; a widening waits, and until then both the old and the new rules must be met."""
        known = await self.doors.catalog.all_rules_of(self.run.source, list(told))
        counting: list[ScopeRules] = []
        for root, rules in told.items():
            recorded = known.get(root)
            self.before.setdefault(root, _active(recorded))
            at_once = rules if recorded is None else replace(rules, access=_both(self._granted(recorded), rules.access))
            if digest(at_once.access) != digest(rules.access):
                self.widenings[root] = rules
            else:
                at_once = rules
                self.widenings.pop(root, None)
            counting.append(at_once)
        await self._state(counting)

    def _granted(self, recorded: ScopeRules) -> Access:
        expired = recorded.verified_at + recorded.lease < self.run.started
        return NOBODY if expired or recorded.state is not ScopeState.ACTIVE else recorded.access

    async def _state(self, stated: Sequence[ScopeRules]) -> None:
        results = await self.doors.catalog.state_all(stated)
        self.scopes_changed |= {rules.root for rules, (_, changed) in zip(stated, results, strict=True) if changed}

    async def _widen(self) -> None:
        """What widens counts from here on: every text that was told before is written."""
        await self.drain()
        if self.widenings:
            await self._state(list(self.widenings.values()))
        self.widenings = {}

    async def _close(self, reasons: Mapping[str, str]) -> None:
        # As of the start of the run: what an event closes meanwhile is closed later, and stays so.
        await self.doors.catalog.hide_subtrees(self.run.source, reasons, self.run.started)
        self.closed |= reasons

    async def _reopen(self, roots: Sequence[str]) -> None:
        await self._widen()
        await self.doors.catalog.show_subtrees(self.run.source, roots, self.run.started)
        for root in roots:
            self.closed.pop(root, None)

    # ------------------------------------------------------------ the end of a run

    async def compare(self, whole: bool) -> None:
        """Before a whole walk: what the index really holds, and out with what the ledger does not know."""
        if not whole:
            return
        held: dict[DocumentId, set[Stand]] = {}
        async for stored in self.doors.index.stored(self.run.source):
            held.setdefault(stored.id.document, set()).add((stored.scope, stored.containers))
        for document in held:
            if await self.doors.catalog.known(document) is None:
                await self.doors.index.retire(document, frozenset())
        self.held = {document: frozenset(stands) for document, stands in held.items()}

    async def _checkpoint(self, point: Checkpoint) -> None:
        await self._widen()
        await self._record_seen()
        if point.complete and point.whole:
            gone, problem = await prune(self.run, self.seen, self.now(), self.doors.catalog, self.doors.index)
            self.deleted += gone
            self.problems += [problem] if problem else []
        # A source that remembers finds by itself what is to be told again.
        if not (self.again and point.whole):
            await self.doors.catalog.checkpoint(self.run, point.cursor, self.now())
        self.problems += [problem for problem in point.problems if problem not in self.problems]
        self.complete = point.complete

    async def give_up(self, error: DoorError) -> None:
        """The run ends here: what is being prepared is dropped, and the cursor stays where it was."""
        with suppress(DoorError):  # what closes must not be lost with the rest
            await self.write_told()
        self.complete = False
        self.problems.append(str(error))
        for _, task in self.preparing:
            task.cancel()
        self.preparing.clear()

    def report(self, source: str, seconds: float) -> SyncReport:
        """What this run did."""
        return SyncReport(
            source=source,
            run_id=self.run.id,
            seen=self.seen,
            upserted=self.upserted,
            deleted=self.deleted,
            access_changed=len(self.scopes_changed),
            moved=self.moved,
            unchanged=self.unchanged,
            skipped=tuple(self.skipped),
            complete=self.complete,
            seconds=seconds,
            embedded=self.embedded,
            problems=(*self.problems, *_still_closed(self.closed)),
            notices=tuple(self.notices),
        )


def _root(ruling: Ruling) -> str:
    return ruling.rules.root if isinstance(ruling, AccessChanged) else ruling.root


def _still_closed(closed: Mapping[str, str]) -> list[str]:
    named = {reason: root for root, reason in reversed(list(closed.items()))}
    counts = Counter(closed.values())
    return [
        f"{named[reason]!r} is closed: {reason}"
        if count == 1
        else f"{count} subtrees are closed, {named[reason]!r} among them: {reason}"
        for reason, count in counts.items()
    ]


def _active(rules: ScopeRules | None) -> Access:
    return NOBODY if rules is None or rules.state is not ScopeState.ACTIVE else rules.access


def _remembered(known: Known | None, document: SourceDocument) -> bool:
    """Whether the document says what the ledger last took from it."""
    told = (document.version, document.revision, facts_digest(document))
    return known is not None and told == (known.version, known.revision, known.facts_digest)


def _both(old: Access, new: Access) -> Access:
    match old, new:
        case AccessExpr(), AccessExpr():
            return old & new
        case Unknown(), AccessExpr():
            return old
        case _:
            return new
