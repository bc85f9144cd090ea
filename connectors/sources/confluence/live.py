"""Confluence's own verdict on single documents at this moment, for what is about to be answered from. Cloud only, and
the account has to be an administrator of the product to ask about others."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from connectors.errors import DoorError
from connectors.ports import Memory
from connectors.sources.confluence.client import Client
from connectors.sources.confluence.mapping import LEAVES
from policies.access import AccessExpr
from policies.facts import Resource
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
        """What the rights of a document are those of: a file's or a comment's page; itself for a page."""
        for _ in range(_DEEPEST):
            node = (await self.memory.get([key])).get(key)
            if node is None:
                return None
            if node.kind not in LEAVES:
                return key
            if node.parent is None:
                return None
            key = node.parent
        return None


def everything(_resource: Resource) -> bool:
    """Ask about each document."""
    return True


def what_is_restricted(resource: Resource) -> bool:
    """Ask about what stands below a restriction, and about what nobody knows the rules of."""
    access = resource.scope.access
    return not isinstance(access, AccessExpr) or len(access.clauses) > 1
