"""SharePoint's own word on single documents at this moment, before they are answered from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from connectors.errors import DoorError
from connectors.ports import Memory
from connectors.records import Node
from connectors.sources.sharepoint.auth import Timer
from connectors.sources.sharepoint.client import ASKING, Client, Refused
from connectors.sources.sharepoint.containers import listing_of
from connectors.sources.sharepoint.hook import told_as
from connectors.sources.sharepoint.permissions import views
from connectors.sources.sharepoint.scopes import side_by_side
from policies.names import DocumentId

MOST = 20  # documents of one question
_MOST_HINTS = 10_000  # as the ledger keeps


@dataclass(slots=True)
class EffectiveRights:
    """Port `LiveCheck`, by the effective rights that SharePoint works out for one person and one item."""

    client: Client
    memory: Memory
    timer: Timer

    async def readable(self, account: str, documents: Sequence[DocumentId], now: datetime) -> Mapping[DocumentId, bool]:
        """Whether the account may view each; one that SharePoint did not answer for is missing."""
        self.timer.tell(now)
        path = f"users/{quote(account, safe='@')}"
        said = await self.client.graph(path, {"$select": "id,userPrincipalName"}, patience=ASKING, directory=True)
        login = f"i:0#.f|membership|{said.get('userPrincipalName') or ''}"
        nodes = await self.memory.get([document.key for document in documents[:MOST]])
        containers = await self.memory.get([node.container for node in nodes.values()])
        found: dict[DocumentId, bool] = {}

        async def ask(document: DocumentId) -> None:
            node = nodes.get(document.key)
            container = containers.get(node.container) if node is not None else None
            if node is None or container is None:
                return
            try:
                found[document] = await self._views(node, container, login)
            except DoorError:  # of one document: it is missing, and counts as no
                return

        await side_by_side([document for document in documents[:MOST] if document.key in nodes], ask)
        return found

    async def _views(self, node: Node, container: Node, login: str) -> bool:
        listing = listing_of(container)
        if listing is None or "n" not in node.facts:
            return False
        path = f"web/lists(guid'{listing.id}')/items({node.facts['n']})/getusereffectivepermissions(@u)"
        written = "'" + login.replace("'", "''") + "'"
        try:
            said = await self.client.rest(listing.web.url, path, {"@u": written}, patience=ASKING)
        except Refused as error:
            if error.status == 404:  # the person was never there, or the item is not there any more
                return False
            raise
        return views(said)


@dataclass(slots=True)
class Told:
    """Port `Doubts`, by what Graph told of libraries and lists that no sync has read since: all that a notification
    says is in which of them something changed."""

    memory: Memory

    async def __call__(self, documents: Sequence[DocumentId]) -> Collection[DocumentId]:
        hinted = {hint.key for hint in await self.memory.hints(_MOST_HINTS)}
        if not hinted or "" in hinted:
            return documents if hinted else ()
        holders = await self.memory.get(sorted({_holder(document) for document in documents}))
        listings = {key: listing_of(node) for key, node in holders.items()}
        doubted = {key for key, listing in listings.items() if listing is None or told_as(listing) in hinted}
        return [document for document in documents if _holder(document) in doubted]


def _holder(document: DocumentId) -> str:
    """The key of the library or list that a document is in."""
    return document.key.rpartition("/")[0]
