"""Confluence Cloud: REST v2 for content and spaces, v1 for restrictions and search.

Lists come from the database by cursor; only own restrictions of many pages at once come through search, and what search
does not know yet is asked for by itself.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from connectors.errors import Transient
from connectors.records import Node
from connectors.sources.confluence.client import Client, Json, Lost, quoted, text_of
from connectors.sources.confluence.mapping import (
    ADF,
    CONTAINERS,
    FOLDERS,
    PAGES,
    STORAGE,
    Body,
    Item,
    Space,
    is_since,
    labels_of,
    names_of,
)
from connectors.sources.confluence.permissions import CloudSpaces, Restrictions, Rules
from connectors.sources.confluence.wiki import Aside, Leaves, Seen
from policies.access import Access

_MANY = {
    "page": "pages",
    "blogpost": "blogposts",
    "folder": "folders",
    "whiteboard": "whiteboards",
    "database": "databases",
    "embed": "embeds",
    "attachment": "attachments",
}
_ASIDE = "restrictions.read.restrictions.user,restrictions.read.restrictions.group,metadata.labels"
_TYPES = ("page,blogpost,folder,whiteboard,database,embed", "page,blogpost")
_UNKNOWN_THERE = frozenset({400, 404, 405, 410})
_MOST_REPLIES = 20  # levels of replies to replies
_LEAVES = (("attachment", "attachments"), ("comment", "footer-comments"), ("comment", "inline-comments"))


@dataclass(slots=True)
class Cloud:
    """Port `Wiki` on Cloud."""

    client: Client
    read_spaces: CloudSpaces
    read_restrictions: Restrictions
    missing: set[str] = field(default_factory=set)
    _leaves: dict[str, list[Item]] | None = None  # files and comments by what they belong to, of the whole site
    _names: dict[str, str] = field(default_factory=dict)  # of people by account, to be shown and nothing else
    _listed: bool = True  # the site gives all files and comments in lists of their own

    # ------------------------------------------------------------ spaces

    async def spaces(self, keys: Sequence[str]) -> Sequence[Space]:
        """The current spaces that the account may view: all, or those with these keys."""
        params = {"status": "current"} | ({"keys": ",".join(keys)} if keys else {})
        found: dict[str, Space] = {}
        async for page in self.client.pages("api/v2/spaces", params):
            for row in page:
                space = Space(text_of(row, "id"), text_of(row, "key"), text_of(row, "name"))
                wanted = not keys or space.key in keys
                if space.id and space.key and wanted and row.get("status", "current") == "current":
                    found[space.key] = space
        return list(found.values())

    async def blocked(self) -> frozenset[str]:
        """Keys of spaces whose content a data security policy keeps from apps."""
        found: set[str] = set()
        try:
            told = await self.client.get("api/v2/data-policies/metadata")
            if not (isinstance(told, dict) and told.get("anyContentBlocked")):
                return frozenset()
            async for page in self.client.pages("api/v2/data-policies/spaces"):
                for row in page:
                    policy = row.get("dataPolicy")
                    if isinstance(policy, dict) and policy.get("anyContentBlocked"):
                        found.add(text_of(row, "key"))
        except (Lost, Transient):
            return frozenset(found)  # only names the reason: what is kept from us is not in any list anyhow
        return frozenset(found)

    async def access(self, space: Space) -> Access:
        """Who may view a space."""
        return await self.read_spaces.access(space.id)

    # ------------------------------------------------------------ content

    async def contents(self, space: Space) -> AsyncIterator[Sequence[Seen]]:
        """Every current page and blog post of a space."""
        self.missing.discard("blogpost")
        for kind in ("page", "blogpost"):
            try:
                async for seen in self._contents(space, kind):
                    yield seen
            except Lost as error:
                if kind == "page" or error.status not in _UNKNOWN_THERE:
                    raise
                self.missing.add(kind)

    async def _contents(self, space: Space, kind: str) -> AsyncIterator[Sequence[Seen]]:
        """One kind: in the space, or, where the site has no such list, of the whole site cut down to the space."""
        status = {"status": "current"}
        ways = (
            (f"api/v2/spaces/{space.id}/{_MANY[kind]}", status | ({"depth": "all"} if kind == "page" else {})),
            (f"api/v2/{_MANY[kind]}", status | {"space-id": space.id}),
        )
        for path, params in ways:
            begun = False
            try:
                async for page in self.client.pages(path, params):
                    begun = True
                    items = [_item(row, kind) for row in page]
                    here = [item for item in items if item.space in ("", space.id) and item.status == "current"]
                    yield [Seen(item) for item in here if item.id]
                return
            except Lost as error:
                if begun or path == ways[-1][0] or error.status not in _UNKNOWN_THERE:
                    raise

    async def asides(self, space: Space) -> AsyncIterator[Sequence[Aside]]:
        """Own restrictions and labels of pages and what contains them, as far as search gives them whole."""
        for types in _TYPES:
            try:
                query = f"space = {quoted(space.key)} and type in ({types})"
                path, params = "rest/api/content/search", {"cql": query, "expand": _ASIDE}
                async for page in self.client.pages(path, params, limit=200):
                    yield [aside_of(row, self.read_restrictions) for row in page]
                return
            except Lost as error:
                if error.status not in _UNKNOWN_THERE:
                    raise

    async def restriction(self, content: str) -> Rules:
        """The own restriction of one content."""
        return await self.read_restrictions.read(content)

    async def one(self, content: str, kind: str) -> Item | None:
        """One content of any status; None where it is gone, or not for us."""
        kinds = [kind] if kind in _MANY else ["page", "blogpost", *sorted(FOLDERS)]
        ways = [(each, _MANY[each]) for each in kinds]
        if kind == "comment":
            ways = [(kind, "footer-comments"), (kind, "inline-comments")]
        for each, many in ways:
            try:
                told = await self.client.get(f"api/v2/{many}/{content}")
            except Lost:
                continue
            item = _item(told, each, inline=many.startswith("inline"))
            return item if item.id else None
        return None

    async def above(self, item: Item) -> Item | None:
        """The same item with its place, where the server left it out; None where that can't be had."""
        asked = await self.one(item.id, item.kind)
        if asked is None or asked.placed:
            return asked
        last: Json = {}
        try:
            async for page in self.client.pages(f"api/v2/{_MANY[item.kind]}/{item.id}/ancestors"):
                last = page[-1] if page else last
        except Lost:
            return None
        above, kind = text_of(last, "id") or None, text_of(last, "type") or None
        return replace(asked, parent=above, parent_kind=kind, placed=True)

    async def changed(self, since: datetime, now: datetime, spaces: Sequence[Space]) -> AsyncIterator[Sequence[Item]]:
        """Current pages, blog posts, files and comments changed at or after a server time, the newest first."""
        ids = {"space-id": ",".join(space.id for space in spaces)} if 0 < len(spaces) <= 50 else {}
        for kind, path, more in (
            ("page", "pages", ids),
            ("blogpost", "blogposts", ids),
            ("attachment", "attachments", {}),
            ("comment", "footer-comments", {}),
            ("comment", "inline-comments", {}),
        ):
            params = {"sort": "-modified-date", **({} if kind == "comment" else {"status": "current"}), **more}
            try:
                async for page in self.client.pages(f"api/v2/{path}", params, limit=100):
                    items = [_item(row, kind) for row in page]
                    yield [item for item in items if item.id and is_since(item, since)]
                    if not all(is_since(item, since) for item in items):
                        break
            except Lost as error:
                if error.status not in _UNKNOWN_THERE or kind in ("page", "blogpost"):
                    raise

    # ------------------------------------------------------------ files and comments

    async def leaves(self, space: Space, holders: Sequence[Item]) -> Leaves:
        """Every current file and comment of these pages and blog posts."""
        if self._listed and self._leaves is None:
            try:
                self._leaves = await self._all_leaves()
            except Lost:
                self._listed = False  # this site has no lists of all, or not for us
        found: list[Item] = []
        if self._leaves is not None:
            waiting = [holder.id for holder in holders]
            while waiting:
                here = self._leaves.get(waiting.pop(), ())
                found += here
                waiting += [item.id for item in here if item.kind == "comment"]
            return Leaves(found)
        missing: set[str] = set()
        for holder in holders:
            found += await self._leaves_of(holder, missing)
        return Leaves(found, not missing, tuple(f"the {what} of pages can't be listed" for what in sorted(missing)))

    async def _all_leaves(self) -> dict[str, list[Item]]:
        found: dict[str, list[Item]] = {}
        seen: set[str] = set()
        for kind, path in _LEAVES:
            params = {"status": "current"} if kind == "attachment" else {}
            async for page in self.client.pages(f"api/v2/{path}", params):
                for item in (_item(row, kind, inline=path.startswith("inline")) for row in page):
                    if item.id and item.parent and item.status == "current" and item.id not in seen:
                        seen.add(item.id)
                        found.setdefault(item.parent, []).append(item)
        return found

    async def _leaves_of(self, holder: Item, missing: set[str]) -> list[Item]:
        """Page by page, where the site has no lists of all. What is refused is named in `missing`."""
        found: list[Item] = []
        for kind, path in _LEAVES:
            try:
                async for page in self.client.pages(f"api/v2/{_MANY[holder.kind]}/{holder.id}/{path}"):
                    items = [_item(row, kind, inline=path.startswith("inline"), holder=holder) for row in page]
                    found += [item for item in items if item.id and item.status == "current"]
            except Lost:
                missing.add(path)
        return found + await self._replies([item for item in found if item.kind == "comment"], missing)

    async def _replies(self, comments: Sequence[Item], missing: set[str]) -> list[Item]:
        found: list[Item] = []
        level = list(comments)
        for _ in range(_MOST_REPLIES):
            below: list[Item] = []
            for each in level:
                path = f"api/v2/{each.facts['place']}-comments/{each.id}/children"
                inline = each.facts["place"] == "inline"
                try:
                    async for page in self.client.pages(path):
                        items = [_item(row, "comment", inline=inline, holder=each) for row in page]
                        below += [item for item in items if item.id and item.status == "current"]
                except Lost:
                    missing.add("replies")
            if not below:
                break
            found += below
            level = below
        return found

    # ------------------------------------------------------------ texts

    async def body(self, node: Node) -> Body:
        """The text of a page, blog post or comment."""
        many = f"{node.facts.get('place', 'footer')}-comments" if node.kind == "comment" else _MANY[node.kind]
        params = {"body-format": "storage"} | ({} if node.kind == "comment" else {"include-labels": "true"})
        told = await self.client.get(f"api/v2/{many}/{node.key}", params)
        body = _body(told, "storage", STORAGE)
        if not body.text.strip() and told.get("subtype") == "live":
            written = await self.client.get(f"api/v2/{many}/{node.key}", {**params, "body-format": "atlas_doc_format"})
            body = _body(written, "atlas_doc_format", ADF)
        if node.kind in PAGES and labels_of(told.get("labels")) is None:
            rows = [row async for page in self.client.pages(f"api/v2/{many}/{node.key}/labels") for row in page]
            body = replace(body, labels=names_of(rows))
        owner = text_of(told, "ownerId") if node.kind in PAGES else ""
        return replace(body, owner=await self._name(owner) or None)

    async def earlier(self, node: Node, number: int) -> AsyncGenerator[Body, None]:
        """The texts of a page before its version of this number, the newest first."""
        params = {"body-format": "storage", "sort": "-modified-date"}
        async for page in self.client.pages(f"api/v2/{_MANY[node.kind]}/{node.key}/versions", params, limit=50):
            for row in page:
                told, held = row.get("number"), row.get(node.kind)
                if isinstance(told, int) and told < number and isinstance(held, dict):
                    yield _body({**held, "version": {"number": told}}, "storage", STORAGE)

    async def _name(self, account: str) -> str:
        """How somebody is called, for people to read; nothing where that is not told."""
        if account and account not in self._names:
            try:
                asked = await self.client.post("api/v2/users-bulk", {"accountIds": [account]})
            except (Lost, Transient):
                return ""
            rows = asked.get("results") if isinstance(asked, dict) else None
            known = [row for row in rows or () if isinstance(row, dict) and text_of(row, "accountId") == account]
            self._names[account] = text_of(known[0], "displayName") if known else ""
        return self._names.get(account, "")

    async def file(self, node: Node) -> bytes:
        """The bytes of an attachment."""
        try:
            return await self.client.file(f"rest/api/content/{node.parent}/child/attachment/{node.key}/download")
        except Lost as error:
            link = node.facts.get("download", "")
            if error.status not in _UNKNOWN_THERE or not link.startswith("/"):
                raise
            return await self.client.file(link)


# ---------------------------------------------------------------- rows


def _item(row: Any, kind: str, *, inline: bool = False, holder: Item | None = None) -> Item:
    """One row of v2; without an id where it makes no sense."""
    if not isinstance(row, dict):
        row = {}
    links, version = row.get("_links"), row.get("version")
    links = links if isinstance(links, dict) else {}
    version = version if isinstance(version, dict) else {}
    parent, parent_kind = text_of(row, "parentId") or None, text_of(row, "parentType") or None
    facts: dict[str, str] = {}
    if kind == "attachment":
        parent = text_of(row, "pageId") or text_of(row, "blogPostId") or (holder.id if holder else None)
        facts = {
            "media_type": text_of(row, "mediaType"),
            "size": text_of(row, "fileSize"),
            "download": text_of(row, "downloadLink") or text_of(links, "download"),
        }
    elif kind == "comment":
        above = text_of(row, "parentCommentId") or text_of(row, "pageId") or text_of(row, "blogPostId")
        parent = above or (holder.id if holder else None)
        facts = {"place": "inline" if inline else "footer"}
    link = text_of(links, "webui") or text_of(row, "webuiLink")
    return Item(
        id=text_of(row, "id"),
        kind=kind,
        parent=parent,
        parent_kind=parent_kind,
        space=text_of(row, "spaceId"),
        title=text_of(row, "title"),
        version=text_of(version, "number") or "1",
        changed=text_of(version, "createdAt") or text_of(row, "createdAt"),
        status=text_of(row, "status") or "current",
        link=link,
        facts=facts,
        placed=(kind not in CONTAINERS or "parentId" in row) and (kind not in PAGES or "number" in version),
    )


def _body(told: Any, form: str, media_type: str) -> Body:
    if not isinstance(told, dict):
        raise Transient("the wiki answered with something that is no page")
    held = told.get("body")
    written = held.get(form) if isinstance(held, dict) else None
    text = written.get("value") if isinstance(written, dict) else None
    version = told.get("version")
    return Body(
        text=text if isinstance(text, str) else "",
        media_type=media_type,
        version=text_of(version, "number") if isinstance(version, dict) else "",
        title=text_of(told, "title"),
        labels=labels_of(told.get("labels")) or (),
    )


def aside_of(row: Json, restrictions: Restrictions) -> Aside:
    """What a row of v1 says beside the place of a content."""
    metadata = row.get("metadata")
    labels = labels_of(metadata.get("labels")) if isinstance(metadata, dict) else None
    return Aside(text_of(row, "id"), restrictions.expanded(row), labels)
