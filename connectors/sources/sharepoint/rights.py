"""Who an asker is in SharePoint, asked of Entra at the moment of the question and for him alone.

Whatever is not told makes the answer an error and never a smaller or larger set, but for two things that can only take
away: directory roles, and ownership of groups, where an app was not given the right to see them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from connectors.errors import Transient
from connectors.ports import Membership, Memory
from connectors.sources.sharepoint.auth import Timer
from connectors.sources.sharepoint.client import ASKING, Client, Json, Page, Refused
from connectors.sources.sharepoint.principals import Names
from connectors.sources.sharepoint.source import OWNERS_NOTE
from policies.facts import Kind
from policies.names import Principal

MOST_PAGES = 100  # of a person's groups
_GROUPS = "users/{}/transitiveMemberOf/microsoft.graph.group"
_NOT_OFFERED = frozenset({404, 405, 501})
_NOT_TOLD = frozenset({400, 403, 404, 405, 501})
_NOBODY = Membership(active=False, principals=frozenset())


@dataclass(slots=True)
class EntraRights:
    """Port `Rights`, by the ids of one Entra tenant."""

    names: Names
    client: Client
    memory: Memory
    timer: Timer

    @property
    def provider(self) -> str:
        return f"entra:{self.names.tenant}"

    @property
    def rules_everybody(self) -> bool:
        return True

    @property
    def everyone(self) -> frozenset[Principal]:
        return frozenset([self.names.insiders])

    async def membership(self, account: str, kind: Kind, now: datetime) -> Membership:
        """Himself, his groups and roles transitively, groups that he owns as far as that matters, and what being
        inside the company makes him. Disabled and deleted people are nobody."""
        self.timer.tell(now)
        user = await self._user(account)
        if user is None or user["accountEnabled"] is not True:
            return _NOBODY
        oid = str(user["id"])
        found = {self.names.user(oid)}
        found |= {self.names.group(group) for group in await self._groups(oid)}
        found |= {self.names.owners(group) for group in await self._owned(oid)}
        if kind is Kind.MEMBER and _is_inside(user):
            found |= {self.names.insiders, self.names.everyone}
        return Membership(active=True, principals=frozenset(found))

    async def _user(self, account: str) -> Json | None:
        path = f"users/{quote(account, safe='@')}"
        fields = {"$select": "id,accountEnabled,userType,userPrincipalName"}
        try:
            said = await self._graph(path, fields)
        except Refused as error:
            if error.status == 404:
                return None
            raise
        if not isinstance(said.get("id"), str) or not isinstance(said.get("accountEnabled"), bool):
            raise Transient("Graph does not say whether an account is enabled; grant the app User.Read.All")
        return said

    async def _groups(self, oid: str) -> set[str]:
        """Every group and role that he is in, however deep."""
        try:
            said = await self.client.graph(
                f"users/{oid}/getMemberGroups",
                method="POST",
                body={"securityEnabledOnly": False},
                patience=ASKING,
                directory=True,
            )
            more = "@odata.nextLink" in said  # there is no such link to follow; what was told is not all
            groups = await self._listed(_GROUPS.format(oid)) if more else _ids(said.get("value"))
        except Refused as error:
            # More than it gives at once, or not offered: the long way, page by page.
            if error.status not in _NOT_OFFERED and "ResultSizeLimit" not in error.code:
                raise
            groups = await self._listed(_GROUPS.format(oid))
        return groups | await self._roles(oid)

    async def _roles(self, oid: str) -> set[str]:
        try:
            return await self._listed(f"users/{oid}/transitiveMemberOf/microsoft.graph.directoryRole")
        except Refused as error:
            if error.status not in _NOT_TOLD:
                raise
            return set()

    async def _owned(self, oid: str) -> set[str]:
        """The groups he owns, of those whose owners were granted something."""
        wanted = set((await self.memory.note(OWNERS_NOTE) or "").split())
        if not wanted:
            return set()
        try:
            return wanted & await self._listed(f"users/{oid}/ownedObjects")
        except Refused as error:
            if error.status not in _NOT_TOLD:
                raise
        return {group for group in sorted(wanted) if oid.casefold() in await self._owners(group)}

    async def _owners(self, group: str) -> set[str]:
        try:
            return await self._listed(f"groups/{quote(group, safe='')}/owners")
        except Refused as error:
            if error.status not in _NOT_TOLD:
                raise
            return set()  # the group is gone, or its owners are not ours to see

    async def _listed(self, path: str) -> set[str]:
        """The ids of all rows; Transient where there is no end to them."""
        found: set[str] = set()
        pages = 0
        async for page in self._pages(path):
            pages += 1
            if pages > MOST_PAGES:
                raise Transient("somebody is in more groups than can be read")
            found |= _ids(page.rows)
        return found

    def _pages(self, path: str) -> AsyncIterator[Page]:
        return self.client.graph_pages(path, {"$select": "id", "$top": "999"}, patience=ASKING, directory=True)

    async def _graph(self, path: str, params: dict[str, str]) -> Json:
        return await self.client.graph(path, params, patience=ASKING, directory=True)


def _is_inside(user: Json) -> bool:
    name = str(user.get("userPrincipalName") or "").casefold()
    return user.get("userType") == "Member" and "#ext#" not in name


def _ids(rows: object) -> set[str]:
    """Ids told as texts or as objects; Transient where something else was told."""
    if not isinstance(rows, list):
        raise Transient("Graph did not tell somebody's groups")
    found = {row.get("id") if isinstance(row, dict) else row for row in rows}
    if not all(isinstance(each, str) and each for each in found):
        raise Transient("Graph did not tell somebody's groups")
    return {str(each).casefold() for each in found}
