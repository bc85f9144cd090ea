"""The directory in Graph: people, their groups, who owns a group."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

from tests.doubles.sharepoint import rows
from tests.doubles.sharepoint.state import Group, User
from tests.doubles.sharepoint.tenant import Tenant
from tests.doubles.sharepoint.wire import Asked, Json, Reply, error

OVER = 11_000  # more groups than getMemberGroups gives


class Directory:
    """Everything below /users and /groups."""

    def __init__(self, tenant: Tenant, here: Callable[[], str]) -> None:
        self.tenant, self._here = tenant, here
        self.page_size = 100

    def answer(self, asked: Asked, path: str) -> Reply | None:
        match [unquote(part) for part in path.strip("/").split("/")]:
            case ["users"]:
                return self._users(asked)
            case ["users", name, *more]:
                user = self._user(name)
                return _missing(name) if user is None else self._of_user(asked, user, more)
            case ["groups"]:
                found = [_group(each) for each in self.tenant.groups.values() if not each.deleted]
                return self._paged(asked, found)
            case ["groups", name, *more]:
                group = self.tenant.groups.get(name)
                if re.fullmatch(r"[0-9a-fA-F-]{36}", name) is None:
                    return error(400, "Request_BadRequest", f"Invalid object identifier '{name}'.")
                return _missing(name) if group is None or group.deleted else self._of_group(asked, group, more)
            case ["organization"]:
                return self._paged(asked, [{"id": self.tenant.id, "displayName": "Contoso"}])
            case ["directoryObjects", "getByIds"]:
                wanted = asked.json.get("ids", [])
                people = [rows.user(self.tenant.users[each]) for each in wanted if each in self.tenant.users]
                groups = [_group(self.tenant.groups[each]) for each in wanted if each in self.tenant.groups]
                return Reply(200, {"value": [*people, *groups]})
        return None

    def _user(self, name: str) -> User | None:
        found = self.tenant.users.get(name) or self.tenant.user_by_name(name)
        return None if found is None or found.deleted else found

    def _users(self, asked: Asked) -> Reply:
        people = [each for each in self.tenant.users.values() if not each.deleted]
        condition = asked.query.get("$filter", "")
        if match := re.fullmatch(r"userPrincipalName eq '((?:[^']|'')*)'", condition):
            wanted = {match[1].replace("''", "'").casefold()}
        elif match := re.fullmatch(r"userPrincipalName in \((.*)\)", condition):
            wanted = {each.replace("''", "'").casefold() for each in re.findall(r"'((?:[^']|'')*)'", match[1])}
        elif match := re.fullmatch(r"id in \((.*)\)", condition):
            ids = set(re.findall(r"'([^']*)'", match[1]))
            people, wanted = [each for each in people if each.oid in ids], set()
        elif condition:
            return error(400, "Request_UnsupportedQuery", condition)
        else:
            wanted = set()
        if wanted:
            people = [each for each in people if each.upn.casefold() in wanted]
        return self._paged(asked, [rows.user(each) for each in people])

    def _of_user(self, asked: Asked, user: User, rest: list[str]) -> Reply | None:
        groups = self.groups_of(user.oid)
        seen = [each for each in groups if not each.hidden or self.tenant.reads_hidden]
        only = asked.json.get("securityEnabledOnly") if asked.method == "POST" else False
        if only:
            seen = [each for each in seen if each.kind == "security"]
        match rest:
            case []:
                if "transitiveMemberOf" in asked.query.get("$expand", ""):
                    row = {**rows.user(user), "transitiveMemberOf": [_group(each) for each in seen[:20]]}
                    return Reply(200, row)
                return Reply(200, rows.picked(rows.user(user), asked.query.get("$select")))
            case ["getMemberGroups"]:
                found = [each.id for each in seen if each.kind != "role"]
                if len(found) > OVER:
                    return error(400, "Directory_ResultSizeLimitExceeded")
                return Reply(200, {"value": found})
            case ["getMemberObjects"]:
                return Reply(200, {"value": [each.id for each in seen]})
            case ["checkMemberGroups"]:
                ids = asked.json.get("groupIds", [])
                if len(ids) > 20:
                    return error(400, "Request_BadRequest", "at most 20")
                return Reply(200, {"value": [each.id for each in seen if each.id in ids and each.kind != "role"]})
            case ["transitiveMemberOf"]:
                return self._paged(asked, [_group(each) for each in seen])
            case ["transitiveMemberOf", "microsoft.graph.group"]:
                return self._paged(asked, [_group(each) for each in seen if each.kind != "role"])
            case ["transitiveMemberOf", "microsoft.graph.directoryRole"]:
                return self._paged(asked, [_group(each) for each in seen if each.kind == "role"])
            case ["memberOf"]:
                return self._paged(asked, [_group(each) for each in seen if user.oid in each.members])
            case ["ownedObjects"] | ["ownedObjects", "microsoft.graph.group"]:
                owned = [each for each in self.tenant.groups.values() if user.oid in each.owners and not each.deleted]
                return self._paged(asked, [_group(each) for each in owned])
        return None

    def groups_of(self, member: str) -> list[Group]:
        """Every group that somebody is in, however deep."""
        found: dict[str, Group] = {}
        waiting = [member]
        while waiting:
            here = waiting.pop()
            for group in self.tenant.groups.values():
                if here in group.members and group.id not in found and not group.deleted:
                    found[group.id] = group
                    waiting.append(group.id)
        return list(found.values())

    def _of_group(self, asked: Asked, group: Group, rest: list[str]) -> Reply | None:
        match rest:
            case []:
                return Reply(200, rows.picked(_group(group), asked.query.get("$select")))
            case ["owners"] | ["owners", "microsoft.graph.user"]:
                people = [self.tenant.users[each] for each in sorted(group.owners)]
                return self._paged(asked, [_person(each) for each in people if not each.deleted])
            case ["members"] | ["transitiveMembers"] | ["transitiveMembers", "microsoft.graph.user"]:
                hidden = group.hidden and not self.tenant.reads_hidden
                people = [each for each in self.tenant.users.values() if group in self.groups_of(each.oid)]
                return self._paged(asked, [] if hidden else [_person(each) for each in people])
        return None

    def _paged(self, asked: Asked, found: list[Json]) -> Reply:
        size = min(int(asked.query.get("$top", self.page_size)), 999)
        start = int(asked.query.get("$skiptoken", "0"))
        body: Json = {"value": found[start : start + size]}
        if start + size < len(found):
            top = f"$top={asked.query['$top']}&" if "$top" in asked.query else ""
            select = f"$select={asked.query['$select']}&" if "$select" in asked.query else ""
            path = asked.raw.partition("?")[0]
            body["@odata.nextLink"] = f"{self._here()}{path}?{top}{select}$skiptoken={start + size}"
        return Reply(200, body)


def _missing(name: str) -> Reply:
    return error(404, "Request_ResourceNotFound", f"Resource '{name}' does not exist")


def _person(user: User) -> Json:
    return {"@odata.type": "#microsoft.graph.user", **rows.user(user)}


def _group(group: Group) -> Json:
    kind = "directoryRole" if group.kind == "role" else "group"
    return {
        "@odata.type": f"#microsoft.graph.{kind}", "id": group.id, "displayName": group.name,
        "groupTypes": ["Unified"] if group.kind == "unified" else [],
        "securityEnabled": group.kind == "security", "visibility": "HiddenMembership" if group.hidden else "Private",
    }  # fmt: skip
