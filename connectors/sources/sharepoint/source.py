"""SharePoint as a source: what changed since the last time, told so that closing comes before opening.

A run looks at each configured address for itself. One that refuses us is closed at once and does not stop the others;
one that does not answer stays as it is, and its leases run out. Delta tells what is in a library; rights are read from
SharePoint itself, of webs and lists and of every object that has its own.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from connectors.errors import DoorError, Transient
from connectors.ports import Feed, Hint, Memory
from connectors.records import Change, Checkpoint, Deleted, Node, Own, Upsert
from connectors.sources.sharepoint.accounts import Accounts
from connectors.sources.sharepoint.auth import Timer
from connectors.sources.sharepoint.client import LOST, Client, Refused
from connectors.sources.sharepoint.containers import container_of, listing_of, top_of
from connectors.sources.sharepoint.documents import Documents
from connectors.sources.sharepoint.hook import Subscriptions, resource_of, told_as
from connectors.sources.sharepoint.items import take_rows
from connectors.sources.sharepoint.permissions import Assigned, SiteRights
from connectors.sources.sharepoint.principals import Names
from connectors.sources.sharepoint.scopes import FEW, Looked, Row, Scopes, end_links, moment_of, rows_of
from connectors.sources.sharepoint.tree import (
    DOUBTED,
    SILENT,
    Round,
    assure,
    doubted,
    forget_cursor,
    has_doubts,
    keep_cursor,
    placed_below,
    round_of,
)
from connectors.sources.sharepoint.webs import LIBRARY, Found, Listing, Lost, NotASite, Web, bear, find, holds, owner
from connectors.sync import feeds
from connectors.sync.placing import Join
from connectors.sync.settle import REFUSED, mark, refused, settle, settled, unsettled
from policies.access import Access, Unknown
from policies.names import DocumentId, Principal

LEASE = timedelta(hours=24)
SHORTEST = timedelta(hours=1)  # a lease: one more look at all objects fits into what is left of it
DELTA, RIGHTS, OBJECTS, ENUMERATION = "delta", "rights", "objects", "enumeration"


def feeds_of(lease: timedelta) -> tuple[Feed, ...]:
    """How often what is looked at: libraries by delta; rights of webs and lists, groups, administrators; which objects
    have rights of their own, and those; everything from nothing. What bounds a lease is read again well within it:
    objects when rights are, so that three quarters of it go by at most."""
    return (
        Feed(DELTA, timedelta(minutes=10), of_permissions=True),
        Feed(RIGHTS, min(timedelta(hours=1), lease / 4), of_permissions=True),
        Feed(OBJECTS, min(timedelta(hours=12), lease / 2), of_permissions=True),
        Feed(ENUMERATION, timedelta(days=7), of_permissions=False),
    )


_AT = {OBJECTS: "objects_at", ENUMERATION: "whole_at"}
"""Feeds that each list has for itself, and the fact of its node that says when they were gone."""

SITE_NOTE = "site:"
OWNERS_NOTE = "owners"
_TRIED = "tried:"  # and an address: when it was last begun to look at it whole
_TRIES = 4  # that a look which does not come to its end is given within its time
_SUSPECTS = 2_000  # objects below changed folders that are read again at once
UNREACHED = Unknown("its rights were not read yet")


@dataclass(frozen=True, slots=True)
class Settings:
    """What an admin chose."""

    name: str
    addresses: tuple[str, ...]
    app: str  # the app's id: cursors are its own
    names: Names
    restricted_to: frozenset[Principal] = frozenset()
    excluded: frozenset[str] = frozenset()
    lease: timedelta = LEASE


@dataclass(slots=True)
class _Run:
    """One run on its way."""

    now: datetime
    asked: frozenset[str]  # feeds that are gone everywhere, whether they are due or not
    due: frozenset[str] = frozenset()  # at the address that is looked at
    complete: bool = True
    problems: list[str] = field(default_factory=list)
    away: bool = False  # something at the address did not answer: what was due there stays due
    unheard: bool = False  # somewhere was something away
    went: dict[str, frozenset[str]] = field(default_factory=dict)  # feeds that were gone to their end, by address
    walks: dict[str, str] = field(default_factory=dict)  # by container, the enumeration that saw all of it
    deleted: list[str] = field(default_factory=list)  # keys of documents that were told to be gone
    settled: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)  # containers of which a document was told
    hinted: frozenset[str] = frozenset()
    heard: set[str] = field(default_factory=set)  # hints that were dealt with
    rights: dict[str, SiteRights] = field(default_factory=dict)  # by site collection
    owing: frozenset[str] = frozenset()  # containers that a run before left to be settled

    def fault(self, problem: str, *, passing: bool = False) -> None:
        """Something was not done; what was not read runs out with its lease."""
        self.complete = False
        self.away |= passing
        self.unheard |= passing
        self.tell(problem)

    def tell(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


class SharePointSource:
    """The documents of some sites of one tenant."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        memory: Memory,
        timer: Timer,
        *,
        hurried: bool,
        subscriptions: Subscriptions | None = None,
    ) -> None:
        self._settings = settings
        self._client = client
        self._memory = memory
        self._timer = timer
        self._hurried = hurried
        self._subscriptions = subscriptions
        self._feeds = feeds_of(settings.lease)

    @property
    def name(self) -> str:
        return self._settings.name

    async def changes(self, cursor: str | None, now: datetime) -> AsyncGenerator[Change, None]:
        """What is different at the configured addresses. Whatever was cut off before is told again."""
        self._timer.tell(now)
        hints = await self._memory.hints()
        run = await self._begin(cursor, now, hints)
        for address in self._settings.addresses:
            run.due, run.away = await self._due(address, run), False
            async for change in self._address(address, run):
                yield change
            if not run.away:
                run.went[address] = run.due
        async for change in self._rest(run):
            yield change
        await self._subscribe(run)
        await self._tell_what_is_left_out(run)
        for address in await self._empty(run.told):
            run.fault(f"there is no document at {address}; check the address, what is published there, and the grant")
        yield Checkpoint(now.isoformat(), run.complete, whole=False, problems=tuple(run.problems))
        await settled(self._memory, run.settled)
        if hints:
            still_told = await self._still_told(run)
            kept = {hint.number for hint in hints if hint.key in still_told}
            await self._memory.forget_hints(hints[-1].number, kept)
        await self._gone(run)

    # ------------------------------------------------------------ what is due

    async def _begin(self, cursor: str | None, now: datetime, hints: Sequence[Hint]) -> _Run:
        asked: set[str] = set()
        if self._hurried or cursor is None or any(not hint.key for hint in hints):
            asked = {DELTA, RIGHTS, OBJECTS}
        if cursor is None:
            asked.add(ENUMERATION)
        owing = frozenset(await unsettled(self._memory))
        return _Run(now, frozenset(asked), hinted=frozenset(hint.key for hint in hints), owing=owing)

    async def _due(self, address: str, run: _Run) -> frozenset[str]:
        """What is due at an address: to look at it whole (`RIGHTS`), or to follow its libraries (`DELTA`)."""
        often = [feed for feed in self._feeds if feed.name in (DELTA, RIGHTS)]
        due = {feed.name for feed in await feeds.due(self._memory, often, run.now, hurried=False, part=address)}
        tried = moment_of(await self._memory.note(_TRIED + address))
        every = self._every(RIGHTS)
        if tried is not None and tried <= run.now < tried + every / _TRIES:
            due -= {RIGHTS}  # one list that is broken for days must not have the others read again with every run
        if RIGHTS in due | run.asked:
            await self._memory.keep_note(_TRIED + address, run.now.isoformat())
            due |= {RIGHTS, DELTA}  # that is in it
        return frozenset(due) | (run.asked & {DELTA, RIGHTS})

    def _every(self, name: str) -> timedelta:
        return next(feed.every for feed in self._feeds if feed.name == name)

    def _is_due(self, name: str, container: Node, run: _Run) -> bool:
        """Whether all objects of a list are due (`OBJECTS`), or to read it from nothing (`ENUMERATION`)."""
        last = moment_of(container.facts.get(_AT[name]))
        return name in run.asked or last is None or last > run.now or run.now - last >= self._every(name)

    async def _gone(self, run: _Run) -> None:
        """Note when each feed was gone: at each address and, for the lag that is told of, where that is longest ago."""
        for address, names in run.went.items():
            for name in names:
                await feeds.gone(self._memory, name, run.now, address)
        by_address = [await feeds.when(self._memory, address) for address in self._settings.addresses]
        told = {name: [each.get(name) for each in by_address] for name in (DELTA, RIGHTS)}
        lists = [node for node in await self._read_lists() if node.facts.get("address") in self._settings.addresses]
        told |= {name: [moment_of(node.facts.get(_AT[name])) for node in lists] for name in (OBJECTS, ENUMERATION)}
        for name, moments in told.items():
            known = [each for each in moments if each is not None]
            if known and len(known) == len(moments):
                await feeds.gone(self._memory, name, min(known))

    async def _read_lists(self) -> list[Node]:
        """The lists that are read: neither out nor refused to us."""
        closed = await self._memory.closed()
        shut = {key for key, each in closed.items() if each.reason.startswith(REFUSED)}
        nodes = [node async for node in self._memory.containers()]
        return [node for node in nodes if "out" not in node.facts and node.key not in shut]

    async def _still_told(self, run: _Run) -> frozenset[str]:
        """What was told of and could not be read: by library or list, or all where nobody says which."""
        listings = [listing_of(node) for node in await self._read_lists()]
        known = {told_as(listing) for listing in listings if listing is not None}
        return (run.hinted & known) - run.heard | frozenset([""] if run.unheard else [])

    async def _subscribe(self, run: _Run) -> None:
        """Have Graph tell of each library and list from now on; what changes before it does, the next look tells."""
        if self._subscriptions is None:
            return
        resources: dict[str, str] = {}
        async for node in self._memory.containers():
            listing = listing_of(node)
            if listing is not None and "out" not in node.facts:
                resources[node.key] = resource_of(listing)
        for problem in await self._subscriptions.keep(resources, run.now):
            run.tell(problem)

    async def _tell_what_is_left_out(self, run: _Run) -> None:
        async for node in self._memory.containers():
            if node.facts.get("attached") and "out" not in node.facts:
                title, count = node.facts.get("title", ""), node.facts["attached"]
                run.tell(f"{title!r} at {node.facts.get('address')}: what is attached to items is not read ({count})")

    async def _empty(self, told: Collection[str]) -> Sequence[str]:
        """The addresses at which there is no document of which anything is published. `told`: lists of which this run
        told one, that may not be written yet."""
        empty = dict.fromkeys(self._settings.addresses)
        for container in [node async for node in self._memory.containers() if "out" not in node.facts]:
            listing = listing_of(container)
            there = [each for each in empty if listing is not None and holds(each, listing)]
            if there and (container.key in told or await self._holds_something(container.key)):
                empty = {each: None for each in empty if each not in there}
        return list(empty)

    async def _holds_something(self, container: str) -> bool:
        """Whether the ledger has a document there with a version of it."""
        async for each in self._memory.placed(container):
            if each.version:
                return True
        return False

    # ------------------------------------------------------------ one address

    async def _address(self, address: str, run: _Run) -> AsyncIterator[Change]:
        """Everything of one configured address; whatever goes wrong there stays there."""
        await end_links(self._memory, await self._containers(address), run.now)
        try:
            async for change in self._look(address, run) if RIGHTS in run.due else self._follow(address, run):
                yield change
        except Refused as error:
            if error.status not in LOST:
                run.fault(f"{address}: {error}", passing=True)
                return
            run.fault(f"{address} refuses the app ({error.status}); grant it the site again or remove the source")
            for container in await self._containers(address):
                await self._lose(container)
                yield refused(container.key, f"the site answers {error.status}")
        except NotASite as error:
            run.fault(str(error))
        except DoorError as error:
            run.fault(f"{address}: {error}", passing=True)

    async def _containers(self, address: str) -> list[Node]:
        return [node async for node in self._memory.containers() if node.facts.get("address") == address]

    async def _lose(self, container: Node) -> None:
        """A container that is refused is read from nothing when it is given back."""
        await forget_cursor(self._memory, container.key)
        await mark(self._memory, container.key)

    async def _one(
        self, address: str, title: str, key: str, work: AsyncIterator[Change], run: _Run
    ) -> AsyncIterator[Change]:
        """What is told of one list; whatever goes wrong with it stays there."""
        try:
            async for change in work:
                yield change
        except Refused as error:
            run.fault(f"{title!r} at {address}: {error}", passing=error.status not in LOST)
            for container in (await self._memory.get([key])).values():
                if error.status in LOST:
                    await self._lose(container)
                    yield refused(key, f"the list answers {error.status}")
        except DoorError as error:
            run.fault(f"{title!r} at {address}: {error}", passing=True)

    # ------------------------------------------------------------ with rights

    async def _look(self, address: str, run: _Run) -> AsyncIterator[Change]:
        """An address with the rights of its webs, lists and objects."""
        known = await self._memory.note(SITE_NOTE + address)
        found = await find(self._client, address, known)
        rights = await self._rights(found.top, run)
        lost = list(found.lost)
        bases = await self._bases(found, rights, lost)
        if not found.inside:
            await self._memory.keep_note(SITE_NOTE + address, found.webs[0].graph)
        before = {node.key: node for node in await self._containers(address)}
        theirs = {each.key for each in found.listings if owner(address, each, self._settings.addresses) != address}
        ours = [each for each in found.listings if not any(one.holds(each.web.url) for one in lost)]
        ours = [each for each in ours if each.key not in theirs]
        before |= await self._memory.get([each.key for each in ours])  # also what was another address's until now
        for one in lost:
            if one.status is None:
                run.fault(f"{one.url} does not answer; what is known of it counts until its leases end", passing=True)
                continue
            run.fault(f"{one.url} refuses the app ({one.status}); grant it the subsite again")
            for container in before.values():
                if one.holds(container.facts.get("web", "")):
                    await self._lose(container)
                    yield refused(container.key, f"the subsite answers {one.status}")
        for listing in ours:
            work = self._listing(address, listing, rights, bases, before.get(listing.key), run)
            async for change in self._one(address, listing.title, listing.key, work, run):
                yield change
        await self._keep_owners(rights)
        if rights.unheard:
            run.tell(
                f"{address}: {len(rights.unheard)} principals of a form that is not known are given nothing, such as "
                f"{sorted(rights.unheard)[0]!r}"
            )
        reasons = {each.key: each.reason for each in found.excluded}
        kept = {key for key, node in before.items() if any(one.holds(node.facts.get("web", "")) for one in lost)}
        for key in sorted(before.keys() - kept - theirs - {listing.key for listing in ours}):
            async for change in self._out(before[key], reasons.get(key, "it is not there any more"), run):
                yield change

    async def _rights(self, top: Web, run: _Run) -> SiteRights:
        """The rights of a site collection, as they are during this run."""
        if top.site not in run.rights:
            others = next((each.accounts for each in run.rights.values()), None)
            accounts = await Accounts.open(top.site, self._client, self._memory, others)
            chosen = self._settings
            made = SiteRights(top.site, top.url, chosen.names, self._client, accounts, chosen.restricted_to)
            await made.read_users()
            run.rights[top.site] = made
        return run.rights[top.site]

    async def _bases(self, found: Found, rights: SiteRights, lost: list[Lost]) -> dict[str, Assigned | Unknown]:
        """The role assignments that count for each web, by its id; a subsite that refuses them is lost."""
        bases: dict[str, Assigned | Unknown] = {}
        for web in found.webs:  # each after its parent
            if any(each.holds(web.url) for each in lost):
                continue
            if web.unique is False and web.parent in bases:
                bases[web.id] = bases[web.parent]
                continue
            try:
                bases[web.id] = await rights.assigned(web.url, "web")
            except (Refused, Transient) as error:
                if web is found.webs[0]:
                    raise
                lost.append(Lost.of(web.url, error))
                bear(lost, error)
        return bases

    async def _listing(
        self,
        address: str,
        listing: Listing,
        rights: SiteRights,
        bases: Mapping[str, Assigned | Unknown],
        before: Node | None,
        run: _Run,
    ) -> AsyncIterator[Change]:
        """A list with its rights: whose rights count for it, what is in it, what of it has its own."""
        memory = self._memory
        await mark(memory, listing.key)
        assigned = bases[listing.web.id]
        if listing.unique is not False:  # where it is not said: SharePoint tells the rights that count in any case
            assigned = await rights.assigned(listing.web.url, f"web/lists(guid'{listing.id}')")
        await rights.open_groups([assigned])
        container = container_of(
            address, listing, found_top=rights.web, base=rights.access(assigned), now=run.now, before=before
        )
        await memory.put([container])  # before anything else of it is read: what narrows must not wait
        closed = await memory.closed()
        mine = closed.get(listing.key)
        again = before is None or "out" in before.facts or "objects_at" not in before.facts
        again |= mine is not None and mine.reason.startswith(REFUSED)
        swept = again or listing.kind != LIBRARY or self._is_due(OBJECTS, container, run)
        whole = again or self._is_due(ENUMERATION, container, run)
        scopes = Scopes(listing, rights, self._client, memory, run.now)
        looked, failed = await self._contents(listing, scopes, list(closed), whole, swept, run)
        if not looked.complete:  # what is refused stays nobody's; that and what does not answer is asked for again
            run.fault(f"{listing.title!r} at {address}: {looked.problem}")
        swept |= listing.key in run.walks
        await self._looked_at(listing.key, run.now if swept and failed is None else None, scopes.next_end)
        async for change in self._settle(listing.key, run):
            yield change
        if failed is not None:
            run.settled.discard(listing.key)
            raise failed
        await self._dealt_with(listing, looked, run)

    async def _contents(
        self, listing: Listing, scopes: Scopes, closed: Sequence[str], whole: bool, swept: bool, run: _Run
    ) -> tuple[Looked, DoorError | None]:
        """Bring the nodes of a list up to date, and the rights of its objects: of those that are known, also where a
        round of delta fails, whose error comes along. What moved meanwhile is not known then, so that the leases of
        everything there run out."""
        if listing.kind != LIBRARY:
            rows, walk = await take_rows(self._memory, listing, rows_of(self._client, listing), run.now)
            run.walks[listing.key] = walk
            attached = sum(row.attached for row in rows)
            await self._note(listing.key, attached=str(attached) if attached else "")
            return await self._sweep(scopes, closed, rows), None
        done = await self._round(listing, whole, run)
        if swept or done.whole:
            looked = await self._sweep(scopes, closed)
        else:
            await scopes.reread_missed()
            looked = await self._suspects(done, scopes, closed)
            await scopes.recompute()
        if done.failed is None:
            await keep_cursor(self._memory, listing, done)
        return looked, done.failed

    async def _round(self, listing: Listing, whole: bool, run: _Run) -> Round:
        """A round of a library; one that fails tells of nothing. Raises Refused where the library is not ours to
        read."""
        try:
            done = await round_of(self._client, listing, self._memory, run.now, self._settings.app, whole)
        except DoorError as error:
            if isinstance(error, Refused) and error.status in LOST:
                raise
            return Round(False, "", left=await has_doubts(self._memory, listing.key), failed=error)
        if done.whole:
            run.walks[listing.key] = done.walk
        for problem in done.problems:
            run.tell(problem)
        run.deleted += sorted(done.deleted)
        return done

    async def _sweep(self, scopes: Scopes, closed: Sequence[str] = (), rows: Sequence[Row] | None = None) -> Looked:
        """All objects of a list; whatever was doubtful in it is not any more."""
        before = [node.key for node in await doubted(self._memory, scopes.listing.key)]
        looked = await scopes.sweep(closed, rows)
        await assure(self._memory, scopes.listing.key, before, scopes.silent)
        return looked

    async def _suspects(self, done: Round, scopes: Scopes, closed: Sequence[str]) -> Looked:
        """What is doubtful: whatever changed now or in a round that was cut off, what did not answer the last time, and
        all scopes below folders among these."""
        changed, folders = set(done.changed), set(done.folders)
        silent: list[str] = []
        if done.left:
            left = await doubted(self._memory, scopes.listing.key)
            changed |= {node.key for node in left if node.facts[DOUBTED] != SILENT}
            folders |= {node.key for node in left if node.kind == "folder"}
            silent = sorted(node.key for node in left if node.key not in changed)
        if not changed and not silent:
            return scopes.looked
        if len(changed) > FEW:
            return await self._sweep(scopes, closed)
        changed |= set(silent[:FEW])
        below = [node async for node in placed_below(self._memory, sorted(folders))]
        if len(below) > _SUSPECTS:
            return await self._sweep(scopes, closed)
        await scopes.reread([node for node in below if node.key not in changed])
        looked = await scopes.check(changed)
        await assure(self._memory, scopes.listing.key, changed, scopes.silent.union(silent[FEW:]))
        return looked

    async def _dealt_with(self, listing: Listing, looked: Looked, run: _Run) -> None:
        """A list was read to its end, and settled."""
        if listing.key not in run.settled:
            return
        if listing.key in run.walks:
            await self._note(listing.key, whole_at=run.now.isoformat())
        if looked.sure:
            run.heard.add(told_as(listing))

    async def _looked_at(self, key: str, at: datetime | None, ends: datetime | None) -> None:
        """Note when all objects of a container were looked at, and when the next link in it ends."""
        looked = {"objects_at": at.isoformat()} if at is not None else {}
        await self._note(key, next_end=ends.isoformat() if ends else "", **looked)

    async def _note(self, key: str, **facts: str) -> None:
        """Note this with a container; what is empty is forgotten."""
        for container in (await self._memory.get([key])).values():
            kept = {name: value for name, value in {**container.facts, **facts}.items() if value}
            await self._memory.put([replace(container, facts=kept)])

    # ------------------------------------------------------------ between two looks

    async def _follow(self, address: str, run: _Run) -> AsyncIterator[Change]:
        """The libraries of an address by delta, what time alone has changed, and lists of which Graph told."""
        closed = await self._memory.closed()
        for container in await self._containers(address):
            listing = listing_of(container)
            mine = closed.get(container.key)
            refused_to_us = mine is not None and mine.reason.startswith(REFUSED)
            if listing is None or "out" in container.facts or refused_to_us:
                continue  # looked at whole, the next time that rights are
            ends = moment_of(container.facts.get("next_end"))
            hinted = told_as(listing) in run.hinted
            if listing.kind == LIBRARY and (hinted or DELTA in run.due or (ends is not None and ends <= run.now)):
                work = self._follow_one(container, listing, ends, run)
            elif listing.kind != LIBRARY and hinted:
                work = self._reread(container, listing, list(closed), run)
            else:
                continue
            async for change in self._one(address, listing.title, listing.key, work, run):
                yield change

    async def _reread(
        self, container: Node, listing: Listing, closed: Sequence[str], run: _Run
    ) -> AsyncIterator[Change]:
        """A list or the pages of a site, all of it, as it has no delta; with the rights of the list itself as they were
        read last."""
        await mark(self._memory, container.key)
        rights = await self._rights(top_of(container, listing), run)
        scopes = Scopes(listing, rights, self._client, self._memory, run.now)
        looked, _ = await self._contents(listing, scopes, closed, False, True, run)
        if not looked.complete:
            run.fault(f"{listing.title!r}: {looked.problem}")
        await self._looked_at(container.key, run.now, scopes.next_end)
        async for change in self._settle(container.key, run):
            yield change
        await self._dealt_with(listing, looked, run)

    async def _follow_one(
        self, container: Node, listing: Listing, ends: datetime | None, run: _Run
    ) -> AsyncIterator[Change]:
        await mark(self._memory, container.key)
        done = await self._round(listing, False, run)
        ended, looked = ends is not None and ends <= run.now, Looked()
        if done.changed or done.left or ended or done.whole:
            rights = await self._rights(top_of(container, listing), run)
            scopes = Scopes(listing, rights, self._client, self._memory, run.now)
            looked = await (self._sweep(scopes) if done.whole else self._suspects(done, scopes, ()))
            if not looked.complete:
                run.fault(f"{listing.title!r}: {looked.problem}")
            if ended:
                await scopes.recompute()
            known = [each for each in (scopes.next_end, None if ended else ends) if each is not None]
            await self._looked_at(container.key, run.now if done.whole else None, min(known, default=None))
        if done.failed is None:
            await keep_cursor(self._memory, listing, done)
            if done.quiet and not done.left and not done.whole and not ended and container.key not in run.owing:
                run.settled.add(container.key)  # nothing in it is different
                run.heard.add(told_as(listing))
                return
        async for change in self._settle(container.key, run):
            yield change
        if done.failed is not None:
            run.settled.discard(container.key)
            raise done.failed
        await self._dealt_with(listing, looked, run)

    # ------------------------------------------------------------ settling

    async def _rest(self, run: _Run) -> AsyncIterator[Change]:
        """Settle what was left unsettled before, by a kill or a failure that passed."""
        closed = await self._memory.closed()
        for key in await unsettled(self._memory):
            mine = closed.get(key)
            refused_to_us = mine is not None and mine.reason.startswith(REFUSED)
            if key not in run.settled and not refused_to_us:
                async for change in self._settle(key, run):
                    yield change

    async def _settle(self, key: str, run: _Run) -> AsyncIterator[Change]:
        """Tell the ledger what is different about a container."""
        for gone in run.deleted:
            yield Deleted(DocumentId(self.name, gone))
        run.deleted = []
        container = (await self._memory.get([key])).get(key)
        listing = listing_of(container) if container is not None else None
        if container is None or listing is None:
            run.settled.add(key)
            return
        base, base_at = _base(container)
        documents = Documents(self.name, listing, self._client, self._settings.excluded, self._memory)
        lease, walk = self._settings.lease, run.walks.get(key)
        changes = settle(
            self._memory, key, base, Join.REPLACE, lease, run.now, self.name,
            base_at=base_at, within=(listing.web.site,), walk=walk, describe=documents.describe,
        )  # fmt: skip
        try:
            async for change in changes:
                if isinstance(change, Upsert):
                    run.told.add(key)
                yield change
        except Transient as error:
            run.fault(f"{listing.title!r}: {error}", passing=True)
            return
        run.settled.add(key)

    async def _out(self, container: Node, reason: str, run: _Run) -> AsyncIterator[Change]:
        """A list that is gone, or that is not indexed any more: everything in it goes."""
        key = container.key
        await mark(self._memory, key)
        await forget_cursor(self._memory, key)
        facts = {**container.facts, "out": reason}
        await self._memory.put([replace(container, rules=Own(Unknown(reason)), rules_at=run.now, facts=facts)])
        run.walks[key] = f"out:{run.now.isoformat()}"
        async for change in self._settle(key, run):
            yield change

    async def _keep_owners(self, rights: SiteRights) -> None:
        """Remember of which groups the owners were granted something: an asker's ownership is asked for these alone."""
        known = set((await self._memory.note(OWNERS_NOTE) or "").split())
        if not rights.owned <= known:
            await self._memory.keep_note(OWNERS_NOTE, " ".join(sorted(known | rights.owned)))


def _base(container: Node) -> tuple[Access, datetime]:
    """Whose rights count for a container, and since when it is known that nothing else in it has rights of its own."""
    looked_at = moment_of(container.facts.get("objects_at"))
    if looked_at is None or not isinstance(container.rules, Own):
        return UNREACHED, container.rules_at
    return container.rules.access, min(looked_at, container.rules_at)
