"""Which objects of a list have rights of their own, and what those are; kept with the list's nodes.

SharePoint is asked about the whole list, a page at a time, and only then about each object that has rights of its own:
the cost grows with the number of scopes and not of documents. What was not read completely stays what it was, and its
lease runs out; what was never read is readable by nobody.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from connectors.errors import Stop, Transient
from connectors.ports import Memory
from connectors.records import Inherits, Node, Own
from connectors.sources.sharepoint.client import LOST, Client, Json, Refused
from connectors.sources.sharepoint.permissions import Assigned, SiteRights, read, written
from connectors.sources.sharepoint.principals import SharingLink, same
from connectors.sources.sharepoint.tree import DOUBTED, SILENT, UNREAD, doubt
from connectors.sources.sharepoint.webs import LIST, Listing
from connectors.sync.settle import mark
from policies.access import AccessExpr, Unknown
from policies.names import Principal

AT_ONCE = 4  # objects whose rights are read side by side
PAGE = "2000"
PATIENCE = 5  # objects in a row that do not say whether they have rights of their own, before the look ends
FEW = 100  # objects that are asked one by one, before the whole list is
MOST_SINGLES = 20_000  # objects that are asked one by one in a run, where a list does not tell of all at once
_WRITTEN_AT_ONCE = 500
_NEVER = datetime(1, 1, 2, tzinfo=UTC)  # an expiry before this is none: DateTime.MinValue
_SELECTS = (
    "Id,UniqueId,FileRef,FileSystemObjectType,HasUniqueRoleAssignments,Modified,OData__UIVersionString,"
    "OData__ModerationStatus",
    "Id,UniqueId,FileRef,FileSystemObjectType,HasUniqueRoleAssignments",
    "Id,UniqueId,FileRef,FileSystemObjectType",
)
Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a list as the list tells of it."""

    number: str
    unique_id: str
    path: str
    folder: bool
    unique: bool | None
    version: str = ""
    modified: str = ""
    moderation: str = ""
    attached: bool = False  # files hang on it


async def rows_of(client: Client, listing: Listing) -> AsyncIterator[Sequence[Row]]:
    """Everything in a list, by page, to the end; asked for less where a list does not know all that is asked for."""
    path = f"web/lists(guid'{listing.id}')/items"
    selects = (f"{_SELECTS[0]},Attachments", *_SELECTS) if listing.kind == LIST else _SELECTS
    for number, select in enumerate(selects):
        begun = False
        try:
            async for page in client.rest_pages(listing.web.url, path, {"$select": select, "$top": PAGE}):
                begun = True
                yield [_read_row(row) for row in page.rows]
        except Refused as error:
            if error.status != 400 or begun or number + 1 == len(selects):
                raise
            continue
        return


def _read_row(row: Json) -> Row:
    number, unique = row.get("Id", row.get("ID")), row.get("HasUniqueRoleAssignments")
    if number is None:
        raise Transient("SharePoint told of an item without its number")
    return Row(
        number=str(number),
        unique_id=same(str(row.get("UniqueId") or "")),
        path=str(row.get("FileRef") or ""),
        folder=str(row.get("FileSystemObjectType") or "0") == "1",
        unique=unique if isinstance(unique, bool) else None,
        version=str(row.get("OData__UIVersionString") or ""),
        modified=str(row.get("Modified") or ""),
        moderation=str(row.get("OData__ModerationStatus", "")),
        attached=row.get("Attachments") is True,
    )


@dataclass(slots=True)
class Looked:
    """What a look at the rights in a list came to."""

    complete: bool = True
    sure: bool = True  # nothing is left that did not answer, and that an early look may find answering
    unread: int = 0  # objects whose rights could not be read this time
    problem: str = ""


@dataclass(slots=True)
class Scopes:
    """The rights in one list, during one look."""

    listing: Listing
    rights: SiteRights
    client: Client
    memory: Memory
    now: datetime
    looked: Looked = field(default_factory=Looked)
    next_end: datetime | None = None  # of a link, among those that were looked at
    silent: set[str] = field(default_factory=set)  # keys of what did not answer; they are marked as doubted
    _singles: int = 0

    # ------------------------------------------------------------ all of a list

    async def sweep(self, closed: Collection[str] = (), rows: Sequence[Row] | None = None) -> Looked:
        """Read every object's flag, and the rights of those that have their own. `closed`: objects that are closed
        until they were read again. `rows`: the list's, where they were read already."""
        owned, by_number, known = await self._remembered()
        unique: dict[str, str] = {}  # key -> number
        unclear: dict[str, str] = {}
        told: set[str] = set()
        pages = _as_pages(rows) if rows is not None else rows_of(self.client, self.listing)
        async for page in pages:
            for row in page:
                key = f"{self.listing.key}/{row.unique_id}"
                key = key if key in known else by_number.get(row.number, "")
                if not key:
                    continue  # delta is about to tell of it
                told.add(key)
                if row.unique is None:
                    unclear[key] = row.number
                elif row.unique:
                    unique[key] = row.number
        unique |= await self._ask_each(unclear)
        # Of what the list did not tell, nobody knows whose rights count: what is new among it stays closed.
        await self._inherit([key for key in owned if key in told and key not in unique])
        await self._read(unique)
        await self._confirm([key for key in closed if key in told and key not in unique])
        return self.looked

    async def _remembered(self) -> tuple[set[str], dict[str, str], set[str]]:
        """What has rules of its own, what is known by number, and all that is known."""
        owned, by_number, known = set(), {}, set()
        async for node in self.memory.of_container(self.listing.key):
            if node.key == self.listing.key:
                continue
            known.add(node.key)
            if isinstance(node.rules, Own):
                owned.add(node.key)
            if node.facts.get("n"):
                by_number[node.facts["n"]] = node.key
        return owned, by_number, known

    async def _ask_each(self, unclear: Mapping[str, str]) -> dict[str, str]:
        """Which of these have rights of their own, asked one by one."""
        found: dict[str, str] = {}
        silent = 0

        async def ask(pair: tuple[str, str]) -> None:
            nonlocal silent
            try:
                flag = await self._flag(pair[1])
                silent = 0
            except Transient:
                silent += 1
                if silent == PATIENCE:  # it is not about these objects
                    raise
                flag = None
            if flag is not False:  # what is not said is read: SharePoint tells the rights that count in any case
                found[pair[0]] = pair[1]

        await side_by_side(list(unclear.items()), ask)
        return found

    async def _flag(self, number: str) -> bool | None:
        self._singles += 1
        if self._singles > MOST_SINGLES:
            raise Stop(f"{self.listing.title!r} has too many items to ask about each")
        path = f"{self._item(number)}?$select=Id,HasUniqueRoleAssignments"
        try:
            said = (await self.client.rest(self.listing.web.url, path)).get("HasUniqueRoleAssignments")
        except Refused as error:
            if error.status not in (400, *LOST):
                raise
            return None  # a refusal is of this object alone: its rights are read next, and are refused as well
        return said if isinstance(said, bool) else None

    def _item(self, number: str) -> str:
        return f"web/lists(guid'{self.listing.id}')/items({number})"

    # ------------------------------------------------------------ some of a list

    async def check(self, keys: Collection[str]) -> Looked:
        """Read the flags and rights of these objects, one by one."""
        nodes = await self.memory.get(list(keys))
        numbers = {key: node.facts["n"] for key, node in nodes.items() if node.facts.get("n")}
        unique = await self._ask_each(numbers)
        await self._inherit([key for key in numbers if key not in unique])
        await self._read(unique)
        return self.looked

    async def reread(self, nodes: Sequence[Node]) -> Looked:
        """Read the rights of these again, which have their own."""
        await self._read({node.key: node.facts["n"] for node in nodes if node.facts.get("n")})
        return self.looked

    async def reread_missed(self) -> None:
        """Read again what has rights of its own that were not read, or were refused, the last time; and some of that of
        which nothing was read yet."""
        nodes = [node async for node in self.memory.ruled(self.listing.key) if node.key != self.listing.key]
        await self.reread([node for node in nodes if _is_missed(node)])
        unread = sorted(node.key for node in nodes if node.rules == UNREAD and DOUBTED not in node.facts)
        await self.check(unread[:FEW])

    async def recompute(self) -> None:
        """Open up the groups again for everything that has rights of its own; its role assignments stay as read."""
        changed: list[Node] = []
        async for node in self.memory.of_container(self.listing.key):
            if node.key == self.listing.key or not isinstance(node.rules, Own) or "grants" not in node.facts:
                continue
            made = await self._made(node, read(node.facts["grants"]), node.facts)
            if made != node:
                changed.append(made)
        await self._put(changed)

    # ------------------------------------------------------------ writing what was read

    async def _inherit(self, keys: Sequence[str]) -> None:
        nodes = await self.memory.get(keys)
        changed = [
            replace(node, rules=Inherits(), rules_at=self.now, facts=_without_rights(node.facts))
            for node in nodes.values()
            if isinstance(node.rules, Own)
        ]
        await self._put(changed)

    async def _confirm(self, keys: Sequence[str]) -> None:
        nodes = await self.memory.get(keys)
        mine = [node for node in nodes.values() if node.container == self.listing.key and node.key != node.container]
        await self._put([replace(node, rules_at=self.now) for node in mine if isinstance(node.rules, Inherits)])

    async def _read(self, unique: Mapping[str, str]) -> None:
        """The rights of these objects, a bunch at a time."""
        names = sorted(unique)
        for start in range(0, len(names), _WRITTEN_AT_ONCE):
            nodes = await self.memory.get(names[start : start + _WRITTEN_AT_ONCE])
            made: list[Node] = []

            async def one(node: Node, made: list[Node] = made) -> None:
                made.append(await self._of(node, unique[node.key]))

            await side_by_side(list(nodes.values()), one)
            await self._put(made)

    async def _of(self, node: Node, number: str) -> Node:
        """A node with its rights as they are now. What had its own keeps them where they can't be read this time, less
        what is known to be gone, and its lease runs out; what had none is nobody's from then on. Either is marked, and
        asked for in each run."""
        facts = {**node.facts, "n": number}
        assigned: Assigned | Unknown | None = None
        try:
            assigned = await self.rights.assigned(self.listing.web.url, self._item(number))
            links = await self._links(node, assigned)
            facts |= {"grants": written(assigned), "links": links}
            return replace(await self._made(node, assigned, facts), rules_at=self.now)
        except Refused as error:
            if error.status in (404, 410):  # it is gone, and delta is about to say so
                return self._closed(node, number, "SharePoint does not know it any more")
            self._missed(f"the rights of an object in {self.listing.title!r} are refused ({error.status})")
            return self._closed(node, number, f"its rights are refused to us ({error.status})")
        except Transient as error:
            self._missed(str(error), passing=True)
            if not self.silent:
                await doubt(self.memory, self.listing.key)
            self.silent.add(node.key)
            if isinstance(node.rules, Own):
                made = self._narrowed(node, number, node.rules, assigned)
            else:
                made = self._closed(node, number, "it has rights of its own, which were not read yet")
            return replace(made, facts={**made.facts, "n": number, DOUBTED: SILENT})

    def _narrowed(self, node: Node, number: str, old: Own, assigned: Assigned | Unknown | None) -> Node:
        """A node whose role assignments were read, and of whose links or groups something was not: who reads is only
        who did, and who is assigned and was read. As it was where nobody who was assigned is gone."""
        self._heed(node.facts.get("links", ""))
        before = read(node.facts.get("grants", ""))
        if assigned is None or not isinstance(old.access, AccessExpr):
            return node
        if isinstance(before, Assigned) and isinstance(assigned, Assigned) and before.principals <= assigned.principals:
            return node
        new = self.rights.access(assigned, counting_at(node.facts.get("links", ""), self.now))
        narrowed = old.access & new if isinstance(new, AccessExpr) else new
        facts = {**node.facts, "n": number}
        facts.pop("grants", None)
        return replace(node, rules=Own(narrowed, old.until), facts=facts)

    def _closed(self, node: Node, number: str, reason: str) -> Node:
        """A node that is nobody's until its rights are read again: what was read of them before is forgotten."""
        facts = {**_without_rights(node.facts), "n": number}
        return replace(node, rules=Own(Unknown(reason)), rules_at=self.now, facts=facts)

    async def _made(self, node: Node, assigned: Assigned | Unknown, facts: Mapping[str, str]) -> Node:
        await self.rights.open_groups([assigned])
        links = facts.get("links", "")
        self._heed(links)
        counting, until = counting_at(links, self.now), next_end(links, self.now)
        if isinstance(assigned, Assigned) and until is not None:
            links = _with_people(links, self.rights.alone(assigned, counting, dated(links)))
        rules = Own(self.rights.access(assigned, counting), until)
        return replace(node, rules=rules, facts={**facts, "links": links})

    def _heed(self, links: str) -> None:
        """Note when the next of these links ends."""
        ends = next_end(links, self.now)
        self.next_end = min((each for each in (self.next_end, ends) if each is not None), default=None)

    def _missed(self, problem: str, *, passing: bool = False) -> None:
        self.looked.unread += 1
        self.looked.sure = self.looked.sure and not passing
        self.looked.complete = False
        self.looked.problem = self.looked.problem or problem

    async def _put(self, nodes: Sequence[Node]) -> None:
        for start in range(0, len(nodes), _WRITTEN_AT_ONCE):
            await self.memory.put(nodes[start : start + _WRITTEN_AT_ONCE])

    # ------------------------------------------------------------ links

    async def _links(self, node: Node, assigned: Assigned | Unknown) -> str:
        """When the links among these grants end, by the group that stands for each: as text, for the node's facts."""
        if isinstance(assigned, Unknown) or not assigned.links:
            return ""
        states = await self._states(node)
        ends: dict[str, str] = {}
        for number, link in assigned.links.items():
            state = states.get(link.link)
            if state is None and link.item != node.key.rpartition("/")[2]:
                state = (await self._elsewhere(link)).get(link.link)
            ends[str(number)] = OVER if state is None else state  # nobody can tell whether it is over
        return json.dumps(ends, separators=(",", ":"), sort_keys=True)

    async def _elsewhere(self, link: SharingLink) -> Mapping[str, str]:
        """The links of the object that a link was made for, where it is another one than that it landed on; none where
        that is not of this list."""
        found = await self.memory.get([f"{self.listing.key}/{link.item}"])
        for node in found.values():
            return await self._states(node)
        return {}

    async def _states(self, node: Node) -> Mapping[str, str]:
        """Until when each link of an object counts, by the link's id: a moment, "" for ever, or OVER. Empty where that
        is refused or not offered."""
        if "item" in node.facts and self.listing.drive:
            path = f"drives/{self.listing.drive}/items/{node.facts['item']}/permissions"
        else:
            path = f"sites/{self.listing.web.graph}/lists/{self.listing.id}/items/{node.facts.get('n')}"
            path += "/driveItem/permissions"
        try:
            rows = await self.client.graph_rows(path, units=5.0)
        except Refused:
            return {}
        return {str(row.get("id")).casefold(): _until(row) for row in rows if isinstance(row.get("link"), dict)}


OVER = "over"


def _until(row: Json) -> str:
    """Until when a link counts."""
    if row.get("hasPassword") is True:
        return OVER
    said = row.get("expirationDateTime")
    if not said:
        return ""
    moment = moment_of(said)
    if moment is None:
        return OVER
    return "" if moment <= _NEVER else moment.isoformat()


def counting_at(links: str, now: datetime) -> frozenset[int]:
    """The groups whose link is not over at this moment, and is known not to be."""
    return frozenset(
        int(number)
        for number, until in _ends(links).items()
        if until == "" or ((moment := moment_of(until)) is not None and moment > now)
    )


def dated(links: str) -> frozenset[int]:
    """The groups whose link ends some time."""
    return frozenset(int(number) for number, until in _ends(links).items() if moment_of(until) is not None)


def next_end(links: str, now: datetime) -> datetime | None:
    """When the next of these links ends; None where none does."""
    moments = [moment for until in _ends(links).values() if (moment := moment_of(until)) is not None]
    return min((moment for moment in moments if moment > now), default=None)


def _ends(links: str) -> dict[str, str]:
    """Until when each link counts, as `_until` says, by the number of its group; what is not understood is over."""
    ends = {number: said[0] if isinstance(said, list) and said else said for number, said in _links(links).items()}
    return {number: until if isinstance(until, str) else OVER for number, until in ends.items()}


def _links(links: str) -> dict[str, Any]:
    try:
        return {str(int(number)): said for number, said in json.loads(links or "{}").items()}
    except (ValueError, AttributeError):
        return {}


def _with_people(links: str, people: Mapping[int, frozenset[Principal]]) -> str:
    """With those whom nothing but a link lets in beside its end."""
    said: dict[str, str | list[str]] = dict(_ends(links))
    for number, until in _ends(links).items():
        if int(number) in people:
            said[number] = [until, *sorted(map(str, people[int(number)]))]
    return json.dumps(said, separators=(",", ":"), sort_keys=True)


async def end_links(memory: Memory, containers: Iterable[Node], now: datetime) -> None:
    """Close to whom links alone let in that are over by now, from what is remembered: for that nobody has to be asked.
    Those containers are marked to be settled."""
    for container in containers:
        ends = moment_of(container.facts.get("next_end"))
        if ends is None or ends > now:
            continue
        nodes = [node async for node in memory.ruled(container.key)]
        changed = [made for node in nodes if (made := _without_ended(node, now)) != node]
        if changed:
            await mark(memory, container.key)
        for start in range(0, len(changed), _WRITTEN_AT_ONCE):
            await memory.put(changed[start : start + _WRITTEN_AT_ONCE])


def _without_ended(node: Node, now: datetime) -> Node:
    links = node.facts.get("links", "")
    if not isinstance(node.rules, Own) or not isinstance(node.rules.access, AccessExpr) or node.rules.until is None:
        return node
    if node.rules.until > now:
        return node
    counting = counting_at(links, now)
    over, still = set[Principal](), set[Principal]()
    for number, said in _links(links).items():
        if isinstance(said, list):
            (still if int(number) in counting else over).update(map(Principal, said[1:]))
    clauses = frozenset(clause - (over - still) for clause in node.rules.access.clauses)
    return replace(node, rules=Own(AccessExpr(clauses), next_end(links, now)))


def moment_of(text: object) -> datetime | None:
    """A moment as it was written; None where it is none."""
    try:
        found = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    except ValueError:
        return None


def _is_missed(node: Node) -> bool:
    return isinstance(node.rules, Own) and node.rules != UNREAD and "grants" not in node.facts


def _without_rights(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in facts.items() if name not in ("grants", "links")}


async def _as_pages(rows: Sequence[Row]) -> AsyncIterator[Sequence[Row]]:
    yield rows


async def side_by_side(things: Sequence[Thing], work: Callable[[Thing], Awaitable[None]]) -> None:
    """Do this for each, some at once; the first failure ends it, and is raised as it is."""
    waiting = iter(things)

    async def go_on() -> None:
        for thing in waiting:
            await work(thing)

    tasks = [asyncio.create_task(go_on()) for _ in range(min(AT_ONCE, len(things)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
