"""Confluence Data Center: REST by start and limit, with the restrictions and ancestors of pages in the same lists.

The list of content comes from the database. What the ancestor table says is compared with the parents of all
(CONFSERVER-25189). Files and comments of a space are found by search, and page by page where search gives nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from connectors.errors import Transient
from connectors.records import Node
from connectors.sources.confluence.client import Client, Json, Lost, quoted, text_of
from connectors.sources.confluence.mapping import (
    LEAVES,
    PAGES,
    STORAGE,
    Body,
    Item,
    Space,
    instant,
    is_since,
    labels_of,
    names_of,
)
from connectors.sources.confluence.permissions import Restrictions, Rules, ServerSpaces
from connectors.sources.confluence.wiki import Aside, Leaves, Seen
from policies.access import Access

_WITH = (
    "version,ancestors,space,restrictions.read.restrictions.user,restrictions.read.restrictions.group,metadata.labels"
)
_OF_LEAVES = "version,container,extensions,metadata"
_NAMED_AT_ONCE = 50  # spaces in one query: an address has to stay short
_ARCHIVED = frozenset({"archived", "ARCHIVED"})


@dataclass(slots=True)
class DataCenter:
    """Port `Wiki` on Data Center."""

    client: Client
    read_spaces: ServerSpaces
    read_restrictions: Restrictions
    missing: set[str] = field(default_factory=set)
    small: int = 50  # pages of a space that are asked one by one when search finds no file and no comment
    _by_search: bool = field(default=True)  # search is there

    # ------------------------------------------------------------ spaces

    async def spaces(self, keys: Sequence[str]) -> Sequence[Space]:
        """The current spaces that the account may view: all, or those with these keys."""
        found: dict[str, Space] = {}
        params = {"status": "current"}
        async for page in self.client.counted("rest/api/space", params):
            for row in page:
                space = Space(text_of(row, "id"), text_of(row, "key"), text_of(row, "name"))
                if space.key and (not keys or space.key in keys) and row.get("status") not in _ARCHIVED:
                    found[space.key] = space
        return list(found.values())

    async def blocked(self) -> frozenset[str]:
        """None: there are no such policies here."""
        return frozenset()

    async def access(self, space: Space) -> Access:
        """Who may view a space."""
        return await self.read_spaces.access(space.key)

    # ------------------------------------------------------------ content

    async def contents(self, space: Space) -> AsyncIterator[Sequence[Seen]]:
        """Every current page and blog post of a space, with its restriction."""
        for kind in ("page", "blogpost"):
            params = {"type": kind, "spaceKey": space.key, "status": "current", "expand": _WITH}
            async for page in self.client.counted("rest/api/content", params):
                seen = [Seen(_item(row, space.key), self.read_restrictions.expanded(row), _labels(row)) for row in page]
                yield [each for each in seen if each.item.id and each.item.kind == kind and _is_current(each.item)]

    async def asides(self, space: Space) -> AsyncIterator[Sequence[Aside]]:
        """Nothing more: they come with the content."""
        return
        yield

    async def restriction(self, content: str) -> Rules:
        """The own restriction of one content."""
        return await self.read_restrictions.read(content)

    async def one(self, content: str, kind: str) -> Item | None:
        """One content of any status; None where it is gone, or not for us."""
        params = {"status": "any", "expand": _OF_LEAVES if kind in LEAVES else "version,ancestors,space"}
        try:
            item = _item(await self.client.get(f"rest/api/content/{content}", params), "")
        except Lost:
            return None
        return item if item.id else None

    async def above(self, item: Item) -> Item | None:
        """The same item with its place, where the server left it out; None where that can't be had."""
        asked = await self.one(item.id, item.kind)
        return asked if asked is not None and asked.placed else None

    async def changed(self, since: datetime, now: datetime, spaces: Sequence[Space]) -> AsyncIterator[Sequence[Item]]:
        """Current pages, blog posts, files and comments changed at or after a server time, of these spaces or of all
        where there are none. Literal times of CQL are read in a zone that nobody tells (CONFCLOUD-70966), so that it is
        asked by a distance from now."""
        minutes = max(1, int((now - since).total_seconds() // 60) + 2)
        kinds = "page, blogpost, attachment, comment"
        what = f'type in ({kinds}) and lastmodified >= now("-{minutes}m")'
        for where in _where(spaces):
            params = {"cql": where + what, "expand": f"version,ancestors,space,{_OF_LEAVES}"}
            async for page in self.client.counted("rest/api/content/search", params):
                items = [_item(row, "") for row in page]
                yield [item for item in items if item.id and _is_current(item) and is_since(item, since)]

    # ------------------------------------------------------------ files and comments

    async def leaves(self, space: Space, holders: Sequence[Item]) -> Leaves:
        """Every current file and comment of these pages and blog posts."""
        found = await self._searched(space) if self._by_search else None
        if found or (found is not None and len(holders) > self.small):
            return Leaves(found)
        missing: set[str] = set()
        asked: list[Item] = []
        for holder in holders:
            asked += await self._leaves_of(holder, missing)
        return Leaves(asked, not missing, tuple(f"the {what}s of pages can't be listed" for what in sorted(missing)))

    async def _searched(self, space: Space) -> list[Item] | None:
        """By search; None where it has none of this, or gives what was not asked for."""
        found: list[Item] = []
        query = f"space = {quoted(space.key)} and type in (attachment, comment)"
        try:
            async for page in self.client.counted("rest/api/content/search", {"cql": query, "expand": _OF_LEAVES}):
                items = [_item(row, space.key) for row in page]
                if any(item.kind not in LEAVES or item.parent is None for item in items):
                    return None
                found += [item for item in items if item.id and _is_current(item)]
        except Lost:
            self._by_search = False
            return None
        return found

    async def _leaves_of(self, holder: Item, missing: set[str]) -> list[Item]:
        found: list[Item] = []
        for kind in ("attachment", "comment"):
            params = {"expand": _OF_LEAVES} | ({"depth": "all"} if kind == "comment" else {})
            try:
                async for page in self.client.counted(f"rest/api/content/{holder.id}/child/{kind}", params):
                    items = [_item(row, holder.space, kind=kind, holder=holder) for row in page]
                    found += [item for item in items if item.id and _is_current(item)]
            except Lost:
                missing.add(kind)
        return found

    # ------------------------------------------------------------ texts

    async def body(self, node: Node) -> Body:
        """The text of a page, blog post or comment."""
        return await self._body(node, {})

    async def earlier(self, node: Node, number: int) -> AsyncGenerator[Body, None]:
        """The texts of a page before its version of this number, the newest first; one request each, since the list of
        versions is no part of the stable API."""
        for before in range(number - 1, 0, -1):
            try:
                yield await self._body(node, {"status": "historical", "version": str(before)})
            except Lost as error:
                if error.status != 404:  # this one was deleted
                    raise

    async def _body(self, node: Node, which: Mapping[str, str]) -> Body:
        params = {"expand": "body.storage,version,metadata.labels", **which}
        told = await self.client.get(f"rest/api/content/{node.key}", params)
        if not isinstance(told, dict):
            raise Transient("the wiki answered with something that is no page")
        held = told.get("body")
        written = held.get("storage") if isinstance(held, dict) else None
        text = written.get("value") if isinstance(written, dict) else None
        version = _object(told, "version")
        by = _object(version, "by")
        labels = _labels(told)
        if labels is None and node.kind in PAGES:
            pages = self.client.counted(f"rest/api/content/{node.key}/label")
            labels = names_of([row async for page in pages for row in page])
        return Body(
            text=text if isinstance(text, str) else "",
            media_type=STORAGE,
            version=text_of(version, "number"),
            title=text_of(told, "title"),
            labels=labels or (),
            owner=text_of(by, "displayName") or None if node.kind in PAGES else None,
        )

    async def file(self, node: Node) -> bytes:
        """The bytes of an attachment."""
        link = node.facts.get("download", "")
        if not link.startswith("/"):
            link = f"/download/attachments/{node.parent}/{quote(node.facts.get('title', ''))}"
        return await self.client.file(link)


# ---------------------------------------------------------------- rows


def _item(row: Any, space: str, *, kind: str = "", holder: Item | None = None) -> Item:
    """One row; without an id where it makes no sense."""
    if not isinstance(row, dict):
        row = {}
    kind = text_of(row, "type") or kind
    links, version = _object(row, "_links"), _object(row, "version")
    chain = _chain(row)
    parent: str | None = chain[-1] if chain else None
    facts: dict[str, str] = {}
    if kind in LEAVES:
        parent = text_of(_object(row, "container"), "id") or (holder.id if holder else None)
        extensions = _object(row, "extensions")
        facts = {
            "media_type": text_of(extensions, "mediaType") or text_of(_object(row, "metadata"), "mediaType"),
            "size": text_of(extensions, "fileSize"),
            "download": text_of(links, "download"),
        }
        chain = None
    changed = instant(text_of(version, "when"))
    return Item(
        id=text_of(row, "id"),
        kind=kind,
        parent=parent,
        parent_kind="page" if chain else None,
        space=text_of(_object(row, "space"), "key") or space,
        title=text_of(row, "title"),
        version=text_of(version, "number") or "1",
        changed=changed.isoformat() if changed else "",
        status=text_of(row, "status") or "current",
        link=text_of(links, "webui"),
        facts={name: value for name, value in facts.items() if value},
        chain=chain,
        placed=(kind != "page" or chain is not None) and (kind not in PAGES or "number" in version),
    )


def _where(spaces: Sequence[Space]) -> list[str]:
    """How queries of CQL begin that look into these spaces; one that looks everywhere, where there are none."""
    keys = [quoted(space.key) for space in spaces]
    parts = [keys[start : start + _NAMED_AT_ONCE] for start in range(0, len(keys), _NAMED_AT_ONCE)]
    return [f"space in ({', '.join(part)}) and " for part in parts] or [""]


def _chain(row: Json) -> tuple[str, ...] | None:
    held = row.get("ancestors")
    if not isinstance(held, list):
        return None
    return tuple(text_of(each, "id") for each in held if isinstance(each, dict))


def _labels(told: Mapping[str, Any]) -> tuple[str, ...] | None:
    return labels_of(_object(told, "metadata").get("labels"))


def _object(row: Mapping[str, Any], name: str) -> Json:
    found = row.get(name)
    return found if isinstance(found, dict) else {}


def _is_current(item: Item) -> bool:
    return item.status == "current"
