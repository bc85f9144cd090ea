"""Who may read: a space's own grants, and the direct restriction of one piece of content.

What could not be read whole is Unknown and lets nobody in; an empty list is *no restriction* only where it was read to
its end. Rows that name a deleted group, an app or somebody without an id still restrict: they are nobody. After
Atlassian's "Page restrictions" and the reference of each endpoint; docs/confluence.md says it for admins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from connectors.errors import Transient
from connectors.records import Inherits, Own
from connectors.sources.confluence.client import Client, Json, Lost
from connectors.sources.confluence.principals import Principals
from policies.access import Access, AccessExpr, Unknown
from policies.names import Principal

AT_ONCE = 200  # rows of a restriction asked for
AT_ONCE_DC = 1_000  # Data Center can't page them (CONFSERVER-82460)
_MOST_WINDOWS = 100
_NOT_THERE = frozenset({404, 405, 410})
_READ_SPACE = frozenset({"read/space", "read:space", "read-space", "read_space"})

Rules = Inherits | Own
Tell = Callable[[str], None]


# ---------------------------------------------------------------- restrictions


@dataclass(frozen=True, slots=True)
class Restrictions:
    """Reads direct read restrictions of one Confluence."""

    client: Client
    principals: Principals
    cloud: bool

    def expanded(self, content: Json) -> Rules | None:
        """The restriction of a content that was given with it; None where it has to be read by itself, since it was
        left out or cut."""
        held = content.get("restrictions")
        operation = held.get("read") if isinstance(held, dict) else None
        window = _window(operation, None)
        if window is None or window.goes_on:
            return None
        return self._rules(window.users, window.groups)

    async def read(self, content: str) -> Rules:
        """The restriction of one content; Unknown where the server refuses it or can't give it whole. Raises Transient
        where it may be had later."""
        try:
            return await (self._windows(content) if self.cloud else self._at_once(content))
        except Lost as error:
            return Own(Unknown(f"its restrictions can't be read: {error}"))

    async def _windows(self, content: str) -> Rules:
        users: dict[str, Json] = {}
        groups: dict[str, Json] = {}
        start = 0
        for _ in range(_MOST_WINDOWS):
            window = await self._window(content, start, AT_ONCE)
            known = len(users) + len(groups)
            users |= {repr(row): row for row in window.users}
            groups |= {repr(row): row for row in window.groups}
            if not window.goes_on:
                return self._rules(users.values(), groups.values())
            if len(users) + len(groups) == known:
                return Own(Unknown("its restrictions are cut: the server gives the same part of them again"))
            start += max(len(window.users), len(window.groups))
        return Own(Unknown("its restrictions have no end"))

    async def _at_once(self, content: str) -> Rules:
        window = await self._window(content, 0, AT_ONCE_DC)
        if window.goes_on:
            return Own(Unknown("its restrictions are longer than this version of Data Center can give"))
        return self._rules(window.users, window.groups)

    async def _window(self, content: str, start: int, limit: int) -> _Window:
        told = await self._told(content, start, limit)
        if isinstance(told, dict) and "restrictions" not in told and isinstance(told.get("read"), dict):
            told = told["read"]
        window = _window(told, limit)
        if window is None:
            raise Lost("the server's answer about restrictions makes no sense", 200)
        return window

    async def _told(self, content: str, start: int, limit: int) -> Any:
        at = f"rest/api/content/{content}/restriction/byOperation"
        params = {"expand": "restrictions.user,restrictions.group", "start": str(start), "limit": str(limit)}
        try:
            return await self.client.get(f"{at}/read", params)
        except Lost as error:
            if error.status not in _NOT_THERE or start:
                raise
        expand = "read.restrictions.user,read.restrictions.group"  # where the server has only the list of operations
        return await self.client.get(at, {"expand": expand})

    def _rules(self, users: Iterable[Json], groups: Iterable[Json]) -> Rules:
        users, groups = list(users), list(groups)
        if not users and not groups:
            return Inherits()
        p = self.principals
        named = [_id(row, "accountId") if self.cloud else _id(row, "userKey") for row in users]
        listed = [_id(row, "id") if self.cloud else _id(row, "name") for row in groups]
        readers = {p.user(each) for each in named if each} | {p.group(each) for each in listed if each}
        return Own(AccessExpr.any_of(*(readers | (set() if self.cloud else {p.supers}))))


@dataclass(frozen=True, slots=True)
class _Window:
    users: list[Json]
    groups: list[Json]
    goes_on: bool  # there is, or may be, more than this


def _window(operation: Any, asked: int | None) -> _Window | None:
    """Both lists of a restriction as far as they were given; None where either is missing or is no list."""
    held = operation.get("restrictions") if isinstance(operation, dict) else None
    if not isinstance(held, dict):
        return None
    lists: list[list[Json]] = []
    goes_on = False
    for name in ("user", "group"):
        given = held.get(name)
        if not isinstance(given, dict):
            return None
        rows = given.get("results")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            return None
        lists.append(rows)
        goes_on |= _goes_on(given, len(rows), asked)
    return _Window(lists[0], lists[1], goes_on)


def _goes_on(given: Json, count: int, asked: int | None) -> bool:
    links, size, limit = given.get("_links"), given.get("size"), given.get("limit")
    if isinstance(links, dict) and links.get("next"):
        return True
    if isinstance(size, int) and size > count:
        return True
    if not count:
        return False
    most = limit if isinstance(limit, int) else asked
    return most is None or count >= most


def _id(row: Json, name: str) -> str:
    found = row.get(name)
    return found if isinstance(found, str) else ""


# ---------------------------------------------------------------- spaces of Cloud


@dataclass(slots=True)
class CloudSpaces:
    """Who may view each space of a Cloud site; what roles mean is read once."""

    client: Client
    principals: Principals
    tell: Tell  # of what was left out, once each
    _mode: str | Unknown | None = None
    _roles: dict[str, bool] = field(default_factory=dict)  # by id: does it let its holder view the space

    async def access(self, space: str) -> Access:
        """Readers of a space by its id. Raises Transient where they may be had later, Lost where the space is."""
        mode = await self._role_mode()
        if isinstance(mode, Unknown):
            return mode
        readers: set[Principal] = set()
        if mode != "ROLES":
            readers |= await self._granted(space)
        if mode != "PRE_ROLES":
            try:
                readers |= await self._assigned(space)
            except Lost as error:
                if mode == "ROLES":
                    return Unknown(f"the roles of the space can't be read: {error}")
                self.tell("the roles of a space can't be read, so that they let nobody in")
        return AccessExpr.any_of(*readers)

    async def _role_mode(self) -> str | Unknown:
        if self._mode is None:
            self._mode = await self._read_mode()
        return self._mode

    async def _read_mode(self) -> str | Unknown:
        try:
            told = await self.client.get("api/v2/space-role-mode")
        except Lost as error:
            if error.status in _NOT_THERE:
                return "PRE_ROLES"
            return Unknown(f"whether spaces go by roles can't be read: {error}")
        mode = told.get("mode") if isinstance(told, dict) else None
        if mode in ("PRE_ROLES", "ROLES_TRANSITION", "ROLES"):
            return str(mode)
        return Unknown("how spaces go by roles is in words that this version does not know")

    async def _granted(self, space: str) -> set[Principal]:
        """By rows of the space's permissions: exactly those that let somebody read the space itself."""
        found: set[Principal] = set()
        async for page in self.client.pages(f"api/v2/spaces/{space}/permissions"):
            for row in page:
                operation = row.get("operation")
                if not isinstance(operation, dict):
                    continue
                if (operation.get("key"), operation.get("targetType")) == ("read", "space"):
                    found |= await self._holder(row)
        return found

    async def _holder(self, row: Json) -> set[Principal]:
        if row.get("anonymousAccess") is True:
            return {self.principals.anonymous}
        held = row.get("principal")
        if not isinstance(held, dict):
            self.tell("a space grants reading to something that is not named")
            return set()
        return self._principal(str(held.get("type", "")), _id(held, "id"))

    async def _assigned(self, space: str) -> set[Principal]:
        """By roles that hold the permission to read the space."""
        found: set[Principal] = set()
        async for page in self.client.pages(f"api/v2/spaces/{space}/role-assignments"):
            for row in page:
                held = row.get("principal")
                if isinstance(held, dict) and await self._reads(_id(row, "roleId")):
                    found |= self._principal(str(held.get("principalType", "")), _id(held, "principalId"))
        return found

    async def _reads(self, role: str) -> bool:
        if role not in self._roles:
            try:
                told = await self.client.get(f"api/v2/space-roles/{role}") if role else {}
            except Lost:
                told = {}
                self.tell("a role that a space goes by can't be read, so that it lets nobody in")
            held = told.get("spacePermissions") if isinstance(told, dict) else None
            self._roles[role] = isinstance(held, list) and any(map(_is_read_space, held))
        return self._roles[role]

    def _principal(self, kind: str, name: str) -> set[Principal]:
        match kind.casefold().replace("-", "_"):
            case _ if not name:
                return set()
            case "user":
                return {self.principals.user(name)}
            case "group":
                return {self.principals.group(name)}
            case "access_class" | "role" if held := self.principals.access_class(name):
                return {held}
            case other:
                self.tell(f"a space grants reading to a {other or 'nameless kind'} that this version does not know")
                return set()


def _is_read_space(permission: Any) -> bool:
    match permission:
        case str():
            return permission.casefold() in _READ_SPACE
        case {"key": "read", "targetType": "space"}:
            return True
        case {"id": str(name)}:
            return name.casefold() in _READ_SPACE
        case _:
            return False


# ---------------------------------------------------------------- spaces of Data Center


@dataclass(slots=True)
class ServerSpaces:
    """Who may view each space of a Data Center: by REST since 9.1, by JSON-RPC before, where it is switched on."""

    client: Client
    principals: Principals
    tell: Tell
    _keys: dict[str, str] = field(default_factory=dict)  # user name -> userKey

    async def access(self, space: str) -> Access:
        """Readers of a space by its key. Raises Transient where they may be had later."""
        try:
            rows = await self._rows(f"rest/api/space/{space}/permissions")
        except Lost as error:
            if error.status in _NOT_THERE:
                return await self._by_json_rpc(space)
            return Unknown(f"who may view the space can't be read: {error}; the account has to be an administrator")
        readers = {self.principals.supers}
        for row in rows:
            if _reads_space(row.get("operation")):
                readers |= await self._subjects(row)
        readers |= await self._anonymous(space)
        return AccessExpr.any_of(*readers)

    async def _anonymous(self, space: str) -> set[Principal]:
        try:
            rows = await self._rows(f"rest/api/space/{space}/permissions/anonymous")
        except (Lost, Transient):
            return set()  # a grant that nobody saw grants nothing
        return {self.principals.anonymous} if any(_reads_space(row.get("operation", row)) for row in rows) else set()

    async def _rows(self, path: str) -> list[Json]:
        """A flat list, or one in an envelope, page by page."""
        told = await self.client.get(path, {"start": "0", "limit": "1000"})
        if isinstance(told, dict) and isinstance(told.get("results"), list):
            return [row async for page in self.client.counted(path, limit=1000) for row in page]
        if isinstance(told, dict) and isinstance(told.get("permissions"), list | dict):
            told = told["permissions"]
            told = told.get("results") if isinstance(told, dict) else told
        if not isinstance(told, list) or not all(isinstance(row, dict) for row in told):
            raise Lost("the server's answer about the space's permissions makes no sense", 200)
        return told

    async def _subjects(self, row: Json) -> set[Principal]:
        if row.get("anonymousAccess") is True:
            return {self.principals.anonymous}
        held = row.get("subject")
        if isinstance(held, dict):
            return await self._subject(str(held.get("type", "")), held)
        found: set[Principal] = set()
        several = row.get("subjects")
        for kind in ("user", "group"):
            given = several.get(kind) if isinstance(several, dict) else None
            for each in (given.get("results") if isinstance(given, dict) else None) or ():
                found |= await self._subject(kind, each) if isinstance(each, dict) else set()
        return found

    async def _subject(self, kind: str, held: Json) -> set[Principal]:
        match kind.casefold():
            case "group":
                name = _id(held, "name")
                return {self.principals.group(name)} if name else set()
            case "user" | "known":
                key = _id(held, "userKey") or _id(held, "key") or await self._key(_id(held, "name"))
                return {self.principals.user(key)} if key else set()
            case "anonymous":
                return {self.principals.anonymous}
            case other:
                self.tell(f"a space grants reading to a {other or 'nameless kind'} that this version does not know")
                return set()

    async def _key(self, name: str) -> str:
        """The key of somebody who is named: names can be given to others, keys can't."""
        if name and name not in self._keys:
            try:
                told = await self.client.get("rest/api/user", {"username": name})
            except Lost:
                told = {}
            self._keys[name] = _id(told, "userKey") if isinstance(told, dict) else ""
        return self._keys.get(name, "")

    async def _by_json_rpc(self, space: str) -> Access:
        path = "rpc/json-rpc/confluenceservice-v2/getSpacePermissionSets"
        try:
            told = await self.client.post(path, [space])
        except Lost as error:
            return Unknown(f"who may view the space can't be read: {error}; update to 9.1 or switch the Remote API on")
        if not isinstance(told, list):
            return Unknown("who may view the space can't be read: the account has to be an administrator")
        readers = {self.principals.supers}
        for row in (row for each in told if isinstance(each, Mapping) for row in _viewers(each)):
            readers |= await self._named(row)
        return AccessExpr.any_of(*readers)

    async def _named(self, row: Json) -> set[Principal]:
        user, group = row.get("userName"), row.get("groupName")
        if isinstance(user, str) and user:
            key = await self._key(user)
            return {self.principals.user(key)} if key else set()
        if isinstance(group, str) and group:
            return {self.principals.group(group)}
        return {self.principals.anonymous} if user is None and group is None else set()


def _viewers(permission_set: Mapping[str, Any]) -> list[Json]:
    rows = permission_set.get("spacePermissions")
    if permission_set.get("type") != "VIEWSPACE" or not isinstance(rows, list):
        return []
    return [row for row in rows if isinstance(row, dict) and {"userName", "groupName"} <= row.keys()]


def _reads_space(operation: Any) -> bool:
    if not isinstance(operation, Mapping):
        return False
    key = operation.get("operationKey") or operation.get("operation") or operation.get("key")
    return (key, operation.get("targetType")) == ("read", "space")
