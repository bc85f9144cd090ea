"""Confluence's word on single documents at this moment, for what is about to be answered from.

Cloud gives a verdict, where the account is an administrator of the product. Data Center tells nobody what others may
read, so that the rules of a page and of everything above it are read there once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from connectors.errors import DoorError
from connectors.ports import Event, Memory, Rights
from connectors.records import Node, Own
from connectors.sources.confluence.client import Client
from connectors.sources.confluence.mapping import LEAVES, SPACE, Space
from connectors.sources.confluence.wiki import Wiki
from connectors.sync.settle import place_of
from policies.access import Access, AccessExpr, Unknown, satisfies
from policies.facts import Kind, Resource
from policies.names import DocumentId

_DEEPEST = 50  # replies to replies


@dataclass(frozen=True, slots=True)
class CloudLiveCheck:
    """Port `LiveCheck`."""

    client: Client
    memory: Memory

    async def readable(self, account: str, documents: Sequence[DocumentId], now: datetime) -> Mapping[DocumentId, bool]:
        """Whether the account may read each; one that could not be asked is missing, and counts as no."""
        verdicts = await asyncio.gather(*(self._readable(account, document) for document in documents))
        return {each: verdict for each, verdict in zip(documents, verdicts, strict=True) if verdict is not None}

    async def _readable(self, account: str, document: DocumentId) -> bool | None:
        try:
            page = await self._page(document.key)
            if page is None:
                return None
            asked = {"subject": {"type": "user", "identifier": account}, "operation": "read"}
            told = await self.client.post(f"rest/api/content/{page}/permission/check", asked)
        except DoorError:
            return None
        verdict = told.get("hasPermission") if isinstance(told, dict) else None
        return verdict if isinstance(verdict, bool) else None

    async def _page(self, key: str) -> str | None:
        page = await page_of(self.memory, key)
        return None if page is None else page.key


@dataclass(frozen=True, slots=True)
class ServerLiveCheck:
    """Port `LiveCheck` on Data Center."""

    wiki: Wiki
    rights: Rights
    memory: Memory

    async def readable(self, account: str, documents: Sequence[DocumentId], now: datetime) -> Mapping[DocumentId, bool]:
        """Whether the account may read each; one whose rules could not be read is missing, and counts as no."""
        try:
            membership = await self.rights.membership(account, Kind.MEMBER, now)
            pages = [await page_of(self.memory, each.key) for each in documents]
            held = await self.memory.get(sorted({page.container for page in pages if page is not None}))
            spaces = {key: Space(node.facts["id"], node.facts["key"], "") for key, node in held.items()}
            given = dict(zip(spaces, await asyncio.gather(*map(self.wiki.access, spaces.values())), strict=True))
        except DoorError:
            return {}
        if not membership.active:
            return dict.fromkeys(documents, False)
        access = await asyncio.gather(
            *(self._access(document.key, page, spaces, given) for document, page in zip(documents, pages, strict=True))
        )
        told = zip(documents, access, strict=True)
        return {each: satisfies(membership.principals, rules) for each, rules in told if isinstance(rules, AccessExpr)}

    async def _access(
        self, key: str, page: Node | None, spaces: Mapping[str, Space], given: Mapping[str, Access]
    ) -> Access | None:
        """Who may read it now; None where that can't be told."""
        if page is None or page.container not in spaces:
            return None
        try:
            item = await self.wiki.one(page.key, page.kind)
            if item is None or item.status != "current" or item.space != spaces[page.container].key:
                return None
            if key != page.key:
                leaf = await self.wiki.one(key, (await self.memory.get([key]))[key].kind)
                if leaf is None or leaf.status != "current":
                    return None
            known = (await place_of(self.memory, page)).ancestors
            above = {*(item.chain or ()), *known} - {page.container}
            rules = await asyncio.gather(*map(self.wiki.restriction, (page.key, *sorted(above))))
        except DoorError:
            return None
        found = given[page.container]
        for each in rules:
            if isinstance(found, Unknown) or (isinstance(each, Own) and isinstance(each.access, Unknown)):
                return None
            if isinstance(each, Own) and isinstance(each.access, AccessExpr):
                found = found & each.access
        return found


async def page_of(memory: Memory, key: str) -> Node | None:
    """What the rights of a document are those of: a file's or a comment's page; itself for a page."""
    for _ in range(_DEEPEST):
        node = (await memory.get([key])).get(key)
        if node is None or node.kind not in LEAVES:
            return node
        if node.parent is None:
            return None
        key = node.parent
    return None


def everything(_resource: Resource) -> bool:
    """Ask about each document."""
    return True


def nothing(_resource: Resource) -> bool:
    """Ask about no document for its rules alone."""
    return False


@dataclass(frozen=True, slots=True)
class BelowRestrictions:
    """Port `Doubts`: the documents that stand below a restriction, whatever rules came of it: those of a space may hold
    all that a restriction says. What the ledger does not place is among them."""

    memory: Memory

    async def __call__(self, documents: Sequence[DocumentId]) -> Collection[DocumentId]:
        places = await self.memory.places([document.key for document in documents])
        open_to_space = {key for key, place in places.items() if place.scope_root.startswith(SPACE)}
        return [document for document in documents if document.key not in open_to_space]


async def read_again(memory: Memory, documents: Sequence[DocumentId], now: datetime) -> None:
    """Port `Denied`: the next sync reads each of these and everything above it, up to its space, once more."""
    places = await memory.places([document.key for document in documents])
    keys = {key for place in places.values() for key in (place.key, *place.ancestors) if not key.startswith(SPACE)}
    await memory.told([Event(key, "the wiki denied what was let through", closes=False) for key in sorted(keys)], now)
