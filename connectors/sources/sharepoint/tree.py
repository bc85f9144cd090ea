"""What is in a library, as delta tells it: rounds of rows, kept as nodes under ids of our own.

Delta tells of folders and not of what is in them, in no order, some rows twice and some pages empty; what it says is
applied page by page and put together at the end of the round, so that a round that is cut off is simply repeated. It is
a hint for rights and never the proof of them; what it made doubtful is marked until the rights were read. https://learn.microsoft.com/graph/api/driveitem-delta
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from connectors.errors import DoorError, Transient
from connectors.ports import Memory
from connectors.records import Inherits, Node, Own
from connectors.sources.sharepoint.client import Client, Json, Page, Refused
from connectors.sources.sharepoint.mapping import not_indexed
from connectors.sources.sharepoint.principals import same
from connectors.sources.sharepoint.webs import Listing
from policies.access import Unknown

PREFER = "deltashowremovedasdeleted, deltatraversepermissiongaps, deltashowsharingchanges"
SELECT = (
    "id,name,parentReference,file,folder,package,root,deleted,shared,eTag,cTag,size,lastModifiedDateTime,"
    "createdDateTime,webUrl,sharepointIds,remoteItem,malware,publication"
)
UNREAD = Own(Unknown("whether it has rights of its own was not read yet"))
"""The rules of what is new, until SharePoint said whose rights count for it."""

DOUBTED = "doubted"
TOLD, SILENT = "told", "silent"
"""The fact of a node whose rights may be others than those that are remembered, and why: something was told of it, or
SharePoint did not answer for it. A round that is repeated finds nothing new in it."""

_NOTE = "delta:"
_DOUBTS = "doubts:"  # and a list's key: something in it is marked so
_GUID = re.compile(r"\{?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\}?")
_UNKNOWN_ABOVE = "unknown:"
_WRITTEN_AT_ONCE = 500


@dataclass(slots=True)
class Round:
    """What one round told of a library."""

    whole: bool  # it began from nothing: what it did not tell is gone
    walk: str  # its name, where it is whole
    changed: set[str] = field(default_factory=set)  # keys of what was new or changed
    folders: set[str] = field(default_factory=set)  # those among them that are folders
    deleted: set[str] = field(default_factory=set)  # keys of documents that were told to be gone
    cursor: str = ""  # to be kept when all of it is settled
    left: bool = False  # a round before left something marked, of which this one does not tell
    failed: DoorError | None = None  # it did not come to its end
    problems: list[str] = field(default_factory=list)

    @property
    def quiet(self) -> bool:
        return not self.changed and not self.deleted


async def round_of(client: Client, listing: Listing, memory: Memory, now: datetime, app: str, whole: bool) -> Round:
    """Bring a library's nodes up to date, from where the last round ended or from nothing. Raises Transient where the
    round did not come to its end, and Refused where the library is not ours to read."""
    left = await has_doubts(memory, listing.key)
    done = await _read_round(client, listing, memory, now, app, whole)
    done.left = left
    return done


async def _read_round(
    client: Client, listing: Listing, memory: Memory, now: datetime, app: str, whole: bool
) -> Round:  # fmt: skip
    link = None if whole else _link(await memory.note(_NOTE + listing.key), app)
    start = link or _start(listing)
    try:
        return await _Reading(client, listing, memory, now, app, link is None).run(start)
    except Refused as error:
        if link is None or error.status not in (400, 410):
            raise
        starts = [each for each in (error.location, _start(listing)) if each]
    for number, start in enumerate(starts):
        try:
            return await _Reading(client, listing, memory, now, app, True).run(start)
        except DoorError:  # an address that is handed out with a 410 may itself fail; then from nothing
            if number + 1 == len(starts):
                raise
    raise Transient("a library could not be read from its beginning")


async def keep_cursor(memory: Memory, listing: Listing, done: Round) -> None:
    """The next round goes on after this one."""
    await memory.keep_note(_NOTE + listing.key, done.cursor)


async def forget_cursor(memory: Memory, key: str) -> None:
    """The next round of a library begins from nothing."""
    await memory.keep_note(_NOTE + key, None)


async def doubt(memory: Memory, key: str) -> None:
    """Say, before it is so, that something in a list is marked."""
    await memory.keep_note(_DOUBTS + key, "1")


async def has_doubts(memory: Memory, key: str) -> bool:
    """Whether something may be marked in a list."""
    return await memory.note(_DOUBTS + key) is not None


async def doubted(memory: Memory, key: str) -> Sequence[Node]:
    """What is marked in a list."""
    return [node async for node in memory.of_container(key) if DOUBTED in node.facts]


async def assure(memory: Memory, key: str, keys: Collection[str], missed: Collection[str]) -> None:
    """The rights of these are read, but for those that did not answer; nothing else in the list was marked."""
    nodes = (await memory.get(sorted(set(keys) - set(missed)))).values()
    sure = [replace(node, facts=_assured(node.facts)) for node in nodes if DOUBTED in node.facts]
    for start in range(0, len(sure), _WRITTEN_AT_ONCE):
        await memory.put(sure[start : start + _WRITTEN_AT_ONCE])
    await memory.keep_note(_DOUBTS + key, "1" if missed else None)


def _assured(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in facts.items() if name != DOUBTED}


def _start(listing: Listing) -> str:
    return f"drives/{listing.drive}/root/delta?$select={SELECT}"


def _link(cursor: str | None, app: str) -> str | None:
    """Where the last round ended; None where it was another app's, or asked for other things."""
    try:
        kept = json.loads(cursor or "null")
        same = isinstance(kept, dict) and (kept["prefer"], kept["app"]) == (PREFER, app)
        return str(kept["link"]) if same and kept["link"] else None
    except (ValueError, KeyError, TypeError):
        return None


class _Reading:
    """One round on its way."""

    def __init__(self, client: Client, listing: Listing, memory: Memory, now: datetime, app: str, whole: bool) -> None:
        self._client, self._listing, self._memory = client, listing, memory
        self._now, self._app = now, app
        self._round = Round(whole, f"{now.isoformat()}" if whole else "")
        self._keys: dict[str, str] | None = None  # by the drive's ids
        self._gone: dict[str, None] = {}  # drive ids that were told to be deleted
        self._above: dict[str, str] = {}  # keys whose parent was not told yet, and the parent's drive id
        self._root = ""
        self._noted = False  # that something in the list is marked

    async def run(self, start: str) -> Round:
        link = ""
        pages = self._client.graph_pages(start, units=2.0 if self._round.whole else 1.0, prefer=PREFER)
        async for page in pages:
            await self._take(page)
            said = page.whole.get("@odata.deltaLink")
            link = said if isinstance(said, str) else link
        if not link:
            raise Transient("Graph ended a round of a library without saying where to go on")
        await self._put_together()
        self._round.cursor = json.dumps({"link": link, "prefer": PREFER, "app": self._app})
        return self._round

    async def _take(self, page: Page) -> None:
        rows = [row for row in page.rows if isinstance(row.get("id"), str) and row["id"]]
        if not rows:
            return
        keys = await self._known()
        nodes: dict[str, tuple[Json, str]] = {}
        for row in rows:
            item = row["id"]
            if "root" in row:
                self._root = item
                keys[item] = self._listing.key
            elif row.get("deleted") is not None:
                self._gone[item] = None
                nodes.pop(keys.get(item, ""), None)
            else:
                key = await self._key(row)
                if key is None:
                    self._round.problems.append(
                        f"a file of {self._listing.title!r} has no id of its list; it is left out"
                    )
                    continue
                self._gone.pop(item, None)
                keys[item] = key
                nodes[key] = (row, item)
        known = await self._memory.get(list(nodes))
        made = [self._node(key, row, known.get(key)) for key, (row, _) in nodes.items()]
        if self._round.changed and not self._noted:
            await doubt(self._memory, self._listing.key)
            self._noted = True
        await self._memory.put(made)

    async def _known(self) -> dict[str, str]:
        if self._keys is None:
            nodes = self._memory.of_container(self._listing.key)
            self._keys = {node.facts["item"]: node.key async for node in nodes if node.facts.get("item")}
            own = (await self._memory.get([self._listing.key])).get(self._listing.key)
            self._root = own.facts.get("root", "") if own is not None else ""
            if self._root:
                self._keys[self._root] = self._listing.key
        return self._keys

    async def _key(self, row: Json) -> str | None:
        """The key of a row: its id in the list, which stays when it is renamed or moved within it."""
        ids = row.get("sharepointIds") or row.get("sharePointIds")
        unique = ids.get("listItemUniqueId") if isinstance(ids, dict) else None
        if not unique:
            tag = _GUID.search(str(row.get("eTag") or ""))
            unique = tag[1] if tag else None
        if not unique:
            path = f"drives/{self._listing.drive}/items/{row['id']}"
            try:
                said = (await self._client.graph(path, {"$select": "id,sharepointIds"})).get("sharepointIds")
            except Refused as error:
                if error.status not in (400, 404):
                    raise
                said = None
            unique = said.get("listItemUniqueId") if isinstance(said, dict) else None
        return f"{self._listing.key}/{same(str(unique))}" if unique else None

    def _node(self, key: str, row: Json, known: Node | None) -> Node:
        above = row.get("parentReference")
        parent_item = str(above.get("id") or "") if isinstance(above, dict) else ""
        keys = self._keys or {}
        if not parent_item:  # where it stands is not said: where it stood, or nobody knows
            parent = known.parent if known is not None else None
        else:
            parent = keys.get(parent_item)
            if parent is None:
                self._above[key] = parent_item
            else:
                self._above.pop(key, None)
        facts = facts_of(row)
        folder = row.get("folder") is not None
        reason = None if folder else not_indexed(row)
        marked = mark(row)
        node = Node(
            key=key,
            parent=parent or _UNKNOWN_ABOVE + parent_item,
            container=self._listing.key,
            kind="folder" if folder else "file",
            rules=UNREAD if known is None else known.rules,
            rules_at=self._now if known is None else known.rules_at,
            is_document=not folder and reason is None,
            mark=marked,
            walk=self._round.walk or ("" if known is None else known.walk),
            facts=facts if known is None else {**_kept(known.facts), **facts},
        )
        shared = row.get("@microsoft.graph.sharedChanged") is not None or row.get("shared") is not None
        if known is None or shared or replace(node, walk=known.walk) != known:
            self._round.changed.add(key)
            if folder:
                self._round.folders.add(key)
            return replace(node, facts={**node.facts, DOUBTED: TOLD})
        return node

    async def _put_together(self) -> None:
        """At the end of the round: parents that came after their children, and what is gone with all below."""
        keys = await self._known() if self._above or self._gone or self._root else {}
        late = [key for key, item in self._above.items() if item in keys]
        found = await self._memory.get(late)
        await self._memory.put([replace(node, parent=keys[self._above[key]]) for key, node in found.items()])
        await self._keep_root()
        for item in self._gone:
            key = keys.get(item)
            if key is None or key == self._listing.key:
                continue
            below = await self._memory.below(key)
            stayed = {node.key for node in below if node.container != self._listing.key}
            gone = [node for node in below if node.key not in stayed]
            self._round.deleted |= {node.key for node in gone if node.is_document}
            self._round.changed -= {node.key for node in gone}
            self._round.folders -= {node.key for node in gone}
            await self._memory.drop([node.key for node in gone])

    async def _keep_root(self) -> None:
        own = (await self._memory.get([self._listing.key])).get(self._listing.key)
        if own is not None and self._root and own.facts.get("root") != self._root:
            await self._memory.put([replace(own, facts={**own.facts, "root": self._root})])


def facts_of(row: Json) -> dict[str, str]:
    """What is remembered of a row, for telling of it later."""
    file, published = row.get("file"), row.get("publication")
    ids = row.get("sharepointIds") or {}
    facts = {
        "item": row["id"],
        "name": row.get("name"),
        "url": row.get("webUrl"),
        "type": file.get("mimeType") if isinstance(file, dict) else None,
        "n": ids.get("listItemId") if isinstance(ids, dict) else None,
        "level": published.get("level") if isinstance(published, dict) else None,
        "version": published.get("versionId") if isinstance(published, dict) else None,
        "size": row.get("size"),
    }
    return {name: str(value) for name, value in facts.items() if value not in (None, "")}


def _kept(facts: Mapping[str, str]) -> dict[str, str]:
    """What a row does not tell and is remembered from elsewhere."""
    return {name: facts[name] for name in ("grants", "links", "n", DOUBTED) if name in facts}


def mark(row: Json) -> str:
    """Changes whenever there is something new to tell of a file: its text, its version, its columns, its name."""
    published = row.get("publication")
    level = (published.get("level"), published.get("versionId")) if isinstance(published, dict) else None
    hashes = (row.get("file") or {}).get("hashes") if isinstance(row.get("file"), dict) else None
    said: Sequence[Any] = (
        row.get("cTag"), hashes, row.get("size"), row.get("eTag"), level, row.get("name"), row.get("webUrl")
    )  # fmt: skip
    return sha256(repr(said).encode("utf-8", "replace")).hexdigest()[:32]


async def placed_below(memory: Memory, keys: Sequence[str]) -> AsyncIterator[Node]:
    """Everything with rules of its own at or below these, once each."""
    seen: set[str] = set()
    for key in keys:
        for node in await memory.below(key):
            if node.key not in seen and not isinstance(node.rules, Inherits):
                seen.add(node.key)
                yield node
