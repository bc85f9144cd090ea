"""Who may view an object of a site collection: its role assignments, its groups, its administrators.

There is no deny in SharePoint: an assignment that is not understood is dropped, which only takes away. What decides is
the bit for viewing items, never a role's name, which is translated. https://learn.microsoft.com/previous-versions/office/sharepoint-csom/ee536458(v=office.15)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectors.errors import Stop, Transient
from connectors.sources.sharepoint.accounts import Accounts, Entry, directory_id
from connectors.sources.sharepoint.client import Client, Json, Refused
from connectors.sources.sharepoint.principals import (
    Means,
    Names,
    Nobody,
    Person,
    SharingLink,
    Unheard,
    group_number,
    meaning,
    owned_group,
    sharing_link,
)
from policies.access import Access, AccessExpr, Unknown
from policies.names import Principal

VIEW_ITEMS = 0x1
_LIMITED = frozenset({1, 9})  # RoleTypeKind of what SharePoint hands out by itself along the way to a shared file
_SITE_GROUP = 8
_ROWS = "100"
_USER = "Id,LoginName,PrincipalType,IsSiteAdmin,AadObjectId"


@dataclass(frozen=True, slots=True)
class Assigned:
    """Who was given the right to view an object, its site's groups not yet opened up."""

    principals: frozenset[Principal]
    unheard: tuple[str, ...] = ()  # login names that were not understood, and grant nothing
    links: Mapping[int, SharingLink] = field(default_factory=dict)  # groups that stand for a link, by number


@dataclass(frozen=True, slots=True)
class _Row:
    member: Json
    views: bool
    understood: bool


@dataclass(slots=True)
class SiteRights:
    """The rights in one site collection as they are during one look at it."""

    site: str  # the id of the site collection
    web: str  # the address of its top web
    names: Names
    client: Client
    accounts: Accounts
    restricted_to: frozenset[Principal] = frozenset()
    admins: frozenset[Principal] = frozenset()
    unheard: set[str] = field(default_factory=set)
    owned: set[str] = field(default_factory=set)  # groups whose owners were met
    _groups: dict[int, frozenset[Principal]] = field(default_factory=dict)
    _ids: dict[int | str, str] = field(default_factory=dict)  # the directory's, by the site's number and by login name
    _tells_ids: bool = False

    async def read_users(self) -> None:
        """Everybody whom the site collection knows: of people the directory's id, which nothing else here tells for
        sure; and the administrators, people and groups, who view everything. Before anything else is read."""
        rows = await self._all_users()
        for row in rows:
            self._take_user(row)
        self.admins = (await self._people([row for row in rows if row.get("IsSiteAdmin") is True])).principals

    async def _all_users(self) -> list[Json]:
        try:
            return await self.client.rest_rows(self.web, "web/siteusers", {"$select": _USER})
        except Refused as error:
            if error.status != 400:
                raise
            return await self.client.rest_rows(self.web, "web/siteusers")  # without what it can't be asked for

    async def assigned(self, web: str, path: str) -> Assigned | Unknown:
        """Who was given the right to view what is at a path below `web/_api/`: Unknown where that is not told
        completely. Raises what may pass, and a refusal of the whole object."""
        params = {"$expand": "Member,RoleDefinitionBindings", "$top": _ROWS}
        rows = await self.client.rest_rows(web, f"{path}/roleassignments", params)
        try:
            read = [_row(row) for row in rows]
        except ValueError as error:
            return Unknown(f"its role assignments can't be understood: {error}")
        found = await self._people([row.member for row in read if row.views])
        unclear = [row for row in read if not row.understood]
        if (unclear or found.unheard) and not found.principals:
            return Unknown("nothing of its role assignments is understood")
        return found

    def access(self, assigned: Assigned | Unknown, counting: frozenset[int] = frozenset()) -> Access:
        """Who may read: those assigned, with the groups opened up, or an administrator; and whom the site is
        restricted to. `counting`: of the groups that stand for a link, those whose link is known not to be over."""
        if isinstance(assigned, Unknown):
            return assigned
        readers = self._readers(assigned, counting)
        return AccessExpr.all_of(*([readers] + ([self.restricted_to] if self.restricted_to else [])))

    def alone(
        self, assigned: Assigned, counting: frozenset[int], ending: frozenset[int]
    ) -> Mapping[int, frozenset[Principal]]:
        """Whom nothing but these links lets in that will end, by the group of each."""
        rest = self._readers(assigned, counting - ending)
        return {number: self._groups.get(number, frozenset()) - rest for number in counting & ending}

    def _readers(self, assigned: Assigned, counting: frozenset[int]) -> frozenset[Principal]:
        readers = set(self.admins)
        for principal in assigned.principals:
            number = group_number(principal)
            if number is None:
                readers.add(principal)
            elif number not in assigned.links or number in counting:
                readers |= self._groups.get(number, frozenset())
        return frozenset(readers)

    async def open_groups(self, assigned: Iterable[Assigned | Unknown]) -> None:
        """Read the members of every group that is among these and was not read yet."""
        for each in assigned:
            if isinstance(each, Assigned):
                for principal in each.principals:
                    number = group_number(principal)
                    if number is not None and number not in self._groups:
                        self._groups[number] = await self._members(number)

    async def _members(self, number: int) -> frozenset[Principal]:
        rows: list[Json] = []
        for group in (f"sitegroups/getbyid({number})", f"sitegroups({number})"):  # two spellings of one thing
            try:
                rows = await self.client.rest_rows(self.web, f"web/{group}/users", {"$top": _ROWS})
                break
            except Refused as error:
                if error.status not in (400, 404):  # where it is gone, its assignment is left over
                    raise
        # Groups of a site do not contain each other; one that is said to is not followed.
        return (await self._people([row for row in rows if row.get("PrincipalType") != _SITE_GROUP])).principals

    async def _people(self, rows: Sequence[Json]) -> Assigned:
        """What members of role assignments or of groups mean."""
        found: set[Principal] = set()
        unheard: list[str] = []
        persons: list[Entry] = []
        links: dict[int, SharingLink] = {}
        for row in rows:
            if _is_site_group(row):
                found.add(self.names.site_group(self.site, int(row["Id"])))
                link = sharing_link(str(row.get("LoginName") or row.get("Title") or ""))
                if link is not None:
                    links[int(row["Id"])] = link
                continue
            match meaning(str(row.get("LoginName") or ""), self.names):
                case Means(principals):
                    found |= principals
                    self.owned |= {group for each in principals if (group := owned_group(each))}
                case Person(upn):
                    persons.append(Entry.of(await self._identified(row), upn))
                case Nobody():
                    pass
                case Unheard(login):
                    unheard.append(login)
        accounts = await self.accounts.resolve(persons, by_name=not self._tells_ids)
        found |= {self.names.user(oid) for oid in accounts.values()}
        self.unheard |= set(unheard)
        return Assigned(frozenset(found), tuple(sorted(set(unheard))), links)

    def _take_user(self, row: Json) -> None:
        for key in (row.get("Id"), str(row.get("LoginName") or "").casefold()):
            if key:
                self._ids[key] = directory_id(row)
        self._tells_ids |= bool(directory_id(row))

    async def _identified(self, row: Json) -> Json:
        """A person with the directory's id, where the site tells any: a role assignment does not hold it. Whom the list
        of users did not tell has come since, and is asked for alone."""
        key = row.get("Id") or str(row.get("LoginName") or "").casefold()
        if not self._tells_ids or directory_id(row):
            return row
        if key not in self._ids and isinstance(key, int):
            self._ids[key] = ""
            try:
                self._take_user(await self.client.rest(self.web, f"web/getuserbyid({key})", {"$select": _USER}))
            except Refused as error:
                if error.status not in (400, 404):
                    raise
        return {**row, "AadObjectId": self._ids.get(key, "")}


def _is_site_group(row: Json) -> bool:
    kind, number = row.get("PrincipalType"), row.get("Id")
    if not isinstance(number, int):
        return False
    return kind == _SITE_GROUP or (kind is None and "|" not in str(row.get("LoginName") or "|"))


def _row(row: Json) -> _Row:
    """One role assignment; ValueError where it is not one."""
    member, bindings = row.get("Member"), row.get("RoleDefinitionBindings")
    if isinstance(bindings, dict):
        bindings = bindings.get("results")
    if not isinstance(member, dict) or not isinstance(bindings, list):
        raise ValueError("a member or its roles are missing")
    views, understood = False, True
    for binding in bindings:
        low = _low(binding)
        understood &= low is not None
        limited = isinstance(binding, dict) and binding.get("RoleTypeKind") in _LIMITED
        views |= low is not None and bool(low & VIEW_ITEMS) and not limited
    return _Row(member, views, understood)


def _low(binding: Any) -> int | None:
    """The lower half of a role's rights."""
    rights = binding.get("BasePermissions") if isinstance(binding, dict) else None
    low = rights.get("Low") if isinstance(rights, dict) else None
    try:
        return int(low) if isinstance(low, int | str) else None
    except ValueError:
        return None


def views(rights: Json) -> bool:
    """Whether effective rights, as SharePoint answers about one person, let him view an item."""
    inside = rights.get("GetUserEffectivePermissions", rights)
    low = _low({"BasePermissions": inside})
    if low is None:
        raise Transient("SharePoint did not say what somebody may do")
    return bool(low & VIEW_ITEMS)


# ---------------------------------------------------------------- how it is remembered


def written(assigned: Assigned | Unknown) -> str:
    """As text, for a node's facts."""
    if isinstance(assigned, Unknown):
        return json.dumps({"unknown": assigned.reason})
    links = {str(number): [link.item, link.kind, link.link] for number, link in assigned.links.items()}
    said = {"principals": sorted(map(str, assigned.principals)), "links": links}
    return json.dumps(said, separators=(",", ":"), sort_keys=True)


def read(text: str) -> Assigned | Unknown:
    """What `written` wrote; Unknown for anything else."""
    try:
        said = json.loads(text)
        if "unknown" in said:
            return Unknown(str(said["unknown"]))
        links = {int(number): SharingLink(*link) for number, link in said["links"].items()}
        return Assigned(frozenset(map(Principal, said["principals"])), (), links)
    except (ValueError, TypeError, KeyError, AttributeError):
        return Unknown("what is remembered of its role assignments can't be read")


def restriction(names: Names, groups: Iterable[str]) -> frozenset[Principal]:
    """The clause of restricted access control: somebody who reads is in one of these groups, too."""
    found = frozenset(names.group(group) for group in groups)
    if len(found) > _MOST_RESTRICTED:
        raise Stop(f"a site is restricted to at most {_MOST_RESTRICTED} groups")
    return found


_MOST_RESTRICTED = 10  # as SharePoint allows
