"""SharePoint's own REST at the host of the sites: rights as they are, and the files themselves.

Properties that cost the service something (HasUniqueRoleAssignments and its kin) come only where they are asked for by
name. Errors look as SharePoint writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

from tests.doubles.sharepoint import rows
from tests.doubles.sharepoint.login import Login
from tests.doubles.sharepoint.roles import ROLES, Role
from tests.doubles.sharepoint.state import Collection, Entry, Item, Library, Securable, Web
from tests.doubles.sharepoint.tenant import Tenant, z
from tests.doubles.sharepoint.wire import Asked, Count, Json, Reply

PAGE = 100
ON_REQUEST = frozenset(
    "HasUniqueRoleAssignments ReadSecurity WriteSecurity NoCrawl CanvasContent1 LayoutWebpartsContent WikiField "
    "PublishingPageContent AllRolesForCurrentUser EffectiveBasePermissions FileRef FileLeafRef FileDirRef "
    "ParentUniqueId UniqueId OData__IpLabelId".split()
)


class Rest:
    """Everything at the host of the sites."""

    def __init__(self, tenant: Tenant, count: Count, login: Login, effective: Callable[[Tenant, str, Item], bool]):
        self.tenant, self.count, self.login, self.effective = tenant, count, login, effective

    def answer(self, asked: Asked) -> Reply:
        """`_api` needs a token; a download address needs none and must not be given one."""
        if "/_layouts/15/download.aspx" in asked.path:
            return self._download(asked)
        before, mark, after = asked.path.partition("/_api/")
        if not mark:
            return failed(404, "-1, Microsoft.SharePoint.Client.ResourceNotFoundException", "no such page")
        problem = self.login.problem(asked, "sharepoint", self.tenant.at)
        if problem:
            return Reply(401, {"error_description": problem}, {"WWW-Authenticate": 'Bearer realm="x"'})
        web = self._web(before)
        if web is None:
            return Reply(404, b"404 FILE NOT FOUND", {"Content-Type": "text/plain"})
        if status := web.collection.refuses:
            return failed(status, "-2147024891, System.UnauthorizedAccessException", "Access denied.")
        parts = normal(after)
        self.count.note(asked, kind_of(parts), 0)
        found = self._of_web(asked, web, parts)
        if found is None:
            self.count.unknown.append(f"{asked.method} {asked.raw}")
            return failed(400, "-1, Microsoft.SharePoint.Client.InvalidClientQueryException", f"no endpoint {after}")
        return found

    def _web(self, path: str) -> Web | None:
        wanted = path.rstrip("/").casefold()
        webs = (web for site in self.tenant.collections for web in site.webs if not web.deleted)
        return next((web for web in webs if web.path.rstrip("/").casefold() == wanted), None)

    def _download(self, asked: Asked) -> Reply:
        self.count.note(asked, "content", 1)
        if "authorization" in asked.headers:
            self.count.offences.append("a bearer token was sent to a download address")
        wanted, version = asked.query.get("UniqueId", ""), asked.query.get("v", "")
        item = self.tenant.by_unique_id.get(wanted)
        if item is None or item.gone or not asked.query.get("tempauth"):
            return Reply(404, b"", {"Content-Type": "text/plain"})
        body = next((each.body for each in item.versions if each.id == version), None)
        return Reply(404, b"") if body is None else Reply(200, body, {"Content-Type": rows.mime(item)})

    # ------------------------------------------------------------ a web

    def _of_web(self, asked: Asked, web: Web, parts: list[str]) -> Reply | None:
        site = web.collection
        if asked.method != "GET":
            return None
        match parts:
            case ["web"]:
                return one(asked, self._web_row(web))
            case ["site"]:
                return one(asked, {"Id": site.id, "Url": rows.address(self.tenant, site.path), "ReadOnly": False})
            case ["web", "webs"]:
                return self._many(asked, [self._web_row(each) for each in site.webs if each.parent is web])
            case ["web", "roleassignments"]:
                return self._assignments(asked, site, web)
            case ["web", "hasuniqueroleassignments"]:
                return Reply(200, {"value": web.unique})
            case ["web", "roledefinitions"]:
                return self._many(asked, [self._role(site, role) for role in ROLES])
            case ["web", "lists"]:
                return self._many(asked, [self._list_row(each) for each in web.lists if not each.deleted])
            case ["web", "lists", list_id, *more]:
                library = next((each for each in web.lists if each.id == list_id.casefold() and not each.deleted), None)
                if library is None:
                    return failed(404, "-2130575322, System.ArgumentException", "List does not exist.")
                return self._of_list(asked, library, more)
            case ["web", "sitegroups"]:
                return self._many(asked, [group_row(each) for each in site.entries.values() if each.type == 8])
            case ["web", "sitegroups", number, *more]:
                return self._of_group(asked, site, number, more)
            case ["web", "siteusers"]:
                return self._users(asked, site)
            case ["web", "siteusers", number] | ["web", "getuserbyid", number]:
                entry = site.entries.get(int(number))
                return one(asked, self._user_row(site, entry)) if entry else missing("User")
            case ["web", "getfilebyid" | "getfilebyserverrelativepath" | "getfilebyserverrelativeurl", name, *more]:
                return self._of_file(asked, web, name, more)
        return None

    def _web_row(self, web: Web) -> Json:
        return {
            "Id": web.id, "Url": rows.address(self.tenant, web.path), "Title": web.title, "WebTemplate": "STS",
            "ServerRelativeUrl": web.path, "Language": 1033, "HasUniqueRoleAssignments": web.unique,
            "NoCrawl": web.no_crawl, "LastItemModifiedDate": z(self.tenant.at),
        }  # fmt: skip

    def _list_row(self, library: Library) -> Json:
        return {
            "Id": library.id, "Title": library.title, "BaseTemplate": library.template, "Hidden": library.hidden,
            "BaseType": 0 if library.template in (100, 112) else 1, "ItemCount": len(library.items),
            "EnableModeration": library.moderation, "EnableMinorVersions": library.minor_versions,
            "EnableVersioning": True, "DraftVersionVisibility": library.draft_visibility,
            "IsApplicationList": False, "IsCatalog": library.system, "IsSystemList": library.system,
            "ParentWebUrl": library.web.path, "NoCrawl": library.no_crawl, "ReadSecurity": library.read_security,
            "HasUniqueRoleAssignments": library.unique,
            "RootFolder": {"ServerRelativeUrl": library.path, "UniqueId": library.root},
        }  # fmt: skip

    # ------------------------------------------------------------ lists and items

    def _of_list(self, asked: Asked, library: Library, rest: list[str]) -> Reply | None:
        site = library.web.collection
        match rest:
            case []:
                return one(asked, self._list_row(library))
            case ["roleassignments"]:
                return self._assignments(asked, site, library)
            case ["hasuniqueroleassignments"]:
                return Reply(200, {"value": library.unique})
            case ["rootfolder"]:
                return one(asked, {"ServerRelativeUrl": library.path, "Name": library.folder, "UniqueId": library.root})
            case ["items"]:
                return self._items(asked, library)
            case ["items", number, *more]:
                item = library.by_number.get(int(number))
                if item is None or item.gone:
                    return missing("Item")
                return self._of_item(asked, item, more)
        return None

    def _items(self, asked: Asked, library: Library) -> Reply:
        size = min(int(asked.query.get("$top", PAGE)), 5000)
        after = re.search(r"p_ID=(\d+)", asked.query.get("$skiptoken", ""))
        start = int(after[1]) if after else 0
        if match := re.search(r"\bId gt (\d+)", asked.query.get("$filter", ""), re.IGNORECASE):
            start = max(start, int(match[1]))
        found: list[Item] = []
        for number in range(start + 1, len(library.items) + 1):
            item = library.by_number[number]
            if not item.gone:
                found.append(item)
            if len(found) > size:
                break
        body: Json = {"value": [self._picked(asked, self._item_row(each), many=True) for each in found[:size]]}
        if len(found) > size:
            kept = {key: value for key, value in asked.query.items() if key != "$skiptoken"}
            kept["$skiptoken"] = f"Paged=TRUE&p_ID={found[size - 1].number}"
            body["odata.nextLink"] = f"{self._address(asked)}?{urlencode(kept)}"
        return Reply(200, body)

    def _of_item(self, asked: Asked, item: Item, rest: list[str]) -> Reply | None:
        match rest:
            case []:
                return one(asked, self._item_row(item))
            case ["hasuniqueroleassignments"]:
                return Reply(200, {"value": item.unique})
            case ["roleassignments"]:
                return self._assignments(asked, item.library.web.collection, item)
            case ["getusereffectivepermissions", name]:
                return self._effective(asked, item, asked.query.get(name, "") if name.startswith("@") else name)
            case ["attachmentfiles"]:
                return Reply(200, {"value": []})
            case ["file", *more]:
                return self._of_file(asked, item.library.web, item.unique_id, more)
        return None

    def _item_row(self, item: Item) -> Json:
        last = item.versions[-1] if item.versions else None
        folder = item.above.path if item.above else item.library.path
        row: Json = {
            "Id": item.number, "ID": item.number, "GUID": item.unique_id, "UniqueId": item.unique_id,
            "FileRef": item.path, "FileLeafRef": item.name, "FileDirRef": folder, "Title": item.fields.get("Title"),
            "FileSystemObjectType": 1 if item.kind == "folder" else 0, "Created": z(item.created),
            "Modified": z(item.modified), "AuthorId": self._author(item), "EditorId": self._author(item),
            "OData__UIVersionString": last.id if last else "1.0",
            "OData__ModerationStatus": 0 if last is None or last.published else 3,
            "OData__Level": 1 if last is None or last.published else 2,
            "ContentTypeId": "0x0120" if item.kind == "folder" else "0x0101",
            "HasUniqueRoleAssignments": item.unique, "OData__IpLabelId": item.label,
            "ParentUniqueId": item.above.unique_id if item.above else item.library.root,
            "EncodedAbsUrl": rows.address(self.tenant, item.path),
            **{key: value for key, value in item.fields.items() if isinstance(value, str | int | float | None)},
        }  # fmt: skip
        if item.kind == "page" and last is not None:
            row["WikiField" if item.classic else "CanvasContent1"] = last.body.decode()
        return row

    def _author(self, item: Item) -> int:
        site = item.library.web.collection
        return next((each.id for each in site.entries.values() if each.oid and each.oid == item.author), 1)

    def _effective(self, asked: Asked, item: Item, login: str) -> Reply:
        login = login.strip("'")
        entry = item.library.web.collection.entry(login)
        known = entry.oid if entry is not None else None
        if known is None:
            user = self.tenant.user_by_name(login.rpartition("|")[2])
            known = user.oid if user is not None else None
        if known is None:
            return failed(404, "-2146232832, Microsoft.SharePoint.SPException", "The user does not exist.")
        reads = self.effective(self.tenant, known, item)
        return Reply(200, {"High": "176" if reads else "0", "Low": "138612833" if reads else "0"})

    # ------------------------------------------------------------ rights

    def _assignments(self, asked: Asked, site: Collection, what: Securable) -> Reply:
        """Those that count for it: its own, or those that it inherits."""
        expand = asked.query.get("$expand", "").casefold()
        found = []
        for number, roles in what.scope().grants.items():
            row: Json = {"PrincipalId": number}
            if "member" in expand:
                row["Member"] = member_row(site.entries[number])
            if "member/users" in expand and site.entries[number].type == 8:
                people = sorted(site.entries[number].members)
                row["Member"]["Users"] = [self._user_row(site, site.entries[each]) for each in people]
            if "roledefinitionbindings" in expand:
                row["RoleDefinitionBindings"] = [self._role(site, role) for role in sorted(roles, key=lambda r: r.id)]
            found.append(row)
        return self._many(asked, found)

    def _role(self, site: Collection, role: Role) -> Json:
        return {
            "Id": role.id, "Name": self.tenant.role_title(site, role), "RoleTypeKind": role.kind, "Description": "",
            "BasePermissions": {"High": str(role.high), "Low": str(role.low)}, "Hidden": role.hidden, "Order": 1,
        }  # fmt: skip

    def _of_group(self, asked: Asked, site: Collection, number: str, rest: list[str]) -> Reply | None:
        group = site.entries.get(int(number))
        if group is None or group.type != 8:
            return failed(404, "-2146232832, Microsoft.SharePoint.SPException", "Group cannot be found.")
        match rest:
            case []:
                return one(asked, group_row(group))
            case ["users"]:
                people = [site.entries[each] for each in sorted(group.members)]
                return self._many(asked, [self._user_row(site, each) for each in people])
        return None

    def _users(self, asked: Asked, site: Collection) -> Reply:
        condition = asked.query.get("$filter", "")
        people = [each for each in site.entries.values() if each.type != 8]
        if condition.casefold() == "issiteadmin eq true":
            people = [each for each in people if each.id in site.admins]
        elif match := re.fullmatch(r"LoginName eq '((?:[^']|'')*)'", condition):
            people = [each for each in people if each.login == match[1].replace("''", "'")]
        elif condition:
            return failed(400, "-1, Microsoft.SharePoint.Client.InvalidClientQueryException", condition)
        return self._many(asked, [self._user_row(site, each) for each in people])

    def _user_row(self, site: Collection, entry: Entry) -> Json:
        name = entry.login.rpartition("|")[2] if entry.type == 1 and entry.oid else None
        row: Json = {
            "Id": entry.id, "LoginName": entry.login, "Title": entry.title, "PrincipalType": entry.type,
            "UserPrincipalName": name, "Email": name or "", "IsSiteAdmin": entry.id in site.admins,
            "IsHiddenInUI": False, "IsShareByEmailGuestUser": False,
        }  # fmt: skip
        row["AadObjectId"] = None
        if entry.oid and not self.tenant.gaps.directory_ids:
            row["AadObjectId"] = {"NameId": entry.oid, "NameIdIssuer": "urn:federation:microsoftonline"}
        return row

    # ------------------------------------------------------------ files

    def _of_file(self, asked: Asked, web: Web, name: str, rest: list[str]) -> Reply | None:
        wanted = asked.query.get(name, "").strip("'").replace("''", "'") if name.startswith("@") else name
        item = self.tenant.by_unique_id.get(wanted.casefold())
        if item is None:
            items = (each for library in web.lists for each in library.live())
            item = next((each for each in items if each.path == wanted), None)
        if item is not None and (item.gone or item.library.web is not web):
            item = None
        if item is None or item.kind == "folder":
            return failed(404, "-2130575338, Microsoft.SharePoint.SPException", "The file does not exist.")
        match rest:
            case []:
                last = item.versions[-1]
                major, _, minor = last.id.partition(".")
                row = {
                    "UniqueId": item.unique_id, "Name": item.name, "ServerRelativeUrl": item.path,
                    "MajorVersion": int(major), "MinorVersion": int(minor), "UIVersionLabel": last.id,
                    "Level": 1 if last.published else 2, "Length": str(len(last.body)),
                }  # fmt: skip
                return one(asked, row)
            case ["$value"]:
                return Reply(200, item.versions[-1].body, {"Content-Type": rows.mime(item)})
            case ["versions"]:
                older = [
                    {"ID": number(each.id), "VersionLabel": each.id, "IsCurrentVersion": False, "Created": z(each.at)}
                    for each in item.versions[:-1]
                ]
                return self._many(asked, older)
            case ["versions", which, "$value"]:
                found = next((each for each in item.versions if str(number(each.id)) == which), None)
                return (
                    missing("Version") if found is None else Reply(200, found.body, {"Content-Type": rows.mime(item)})
                )
        return None

    # ------------------------------------------------------------ rows

    def _many(self, asked: Asked, found: list[Json]) -> Reply:
        size = int(asked.query.get("$top", len(found) or 1))
        start = int(asked.query.get("$skip", asked.query.get("$skiptoken", "0")))
        body: Json = {"value": [self._picked(asked, row, many=True) for row in found[start : start + size]]}
        if start + size < len(found):
            kept = {**asked.query, "$skiptoken": str(start + size)}
            body["odata.nextLink"] = f"{self._address(asked)}?{urlencode(kept)}"
        return Reply(200, body)

    def _picked(self, asked: Asked, row: Json, *, many: bool = False) -> Json:
        found = picked(row, asked)
        if many and self.tenant.gaps.flags_of_collections:
            found.pop("HasUniqueRoleAssignments", None)
        return found

    def _address(self, asked: Asked) -> str:
        return self.tenant.host + asked.raw.partition("?")[0]


def normal(path: str) -> list[str]:
    """The parts of a path below `_api`, the many spellings of a key as one."""
    path = re.sub(r"/getby(?:id|serverrelativepath)\(guid'([^']*)'\)", r"/\1", path, flags=re.IGNORECASE)
    path = re.sub(r"/getbyid\('?([^')]*)'?\)", r"/\1", path, flags=re.IGNORECASE)
    held: list[str] = []

    def hold(match: re.Match[str]) -> str:
        held.append(match[1].replace("''", "'"))
        return f"/\x00{len(held) - 1}"

    path = re.sub(r"\((?:guid|decodedurl=|uniqueid=)?'((?:[^']|'')*)'\)", hold, path, flags=re.IGNORECASE)
    path = re.sub(r"\((?:decodedurl=)?(@?\w+)\)", hold, path, flags=re.IGNORECASE)
    parts = [part for part in path.strip("/").split("/") if part]
    return [held[int(part[1:])] if part.startswith("\x00") else part.casefold() for part in parts]


def picked(row: Json, asked: Asked) -> Json:
    """As `$select` asks; without it, all but what costs the service something."""
    select = asked.query.get("$select")
    if not select or select == "*":
        return {key: value for key, value in row.items() if key not in ON_REQUEST}
    wanted = {part.strip().partition("/")[0] for part in select.split(",")}
    if "*" in wanted:
        return {key: value for key, value in row.items() if key not in ON_REQUEST or key in wanted}
    return {key: value for key, value in row.items() if key in wanted}


def one(asked: Asked, row: Json) -> Reply:
    return Reply(200, picked(row, asked))


def member_row(entry: Entry) -> Json:
    row: Json = {
        "Id": entry.id, "LoginName": entry.login, "Title": entry.title, "PrincipalType": entry.type,
        "IsHiddenInUI": False,
    }  # fmt: skip
    if entry.type == 8:
        row |= {"odata.type": "SP.Group", "OwnerTitle": "System Account", "Description": ""}
    elif entry.oid:  # the directory's id is told of a site's users, not here
        row |= {"UserPrincipalName": entry.login.rpartition("|")[2], "Email": "", "IsSiteAdmin": False}
        row["UserId"] = {"NameId": f"10032000{entry.id:08x}", "NameIdIssuer": "urn:federation:microsoftonline"}
    return row


def group_row(entry: Entry) -> Json:
    return {
        "Id": entry.id, "LoginName": entry.login, "Title": entry.title, "PrincipalType": 8,
        "IsHiddenInUI": entry.link is not None, "OwnerTitle": "System Account",
    }  # fmt: skip


def kind_of(parts: list[str]) -> str:
    names = [part for part in parts if not re.fullmatch(r"[\d@].*|.*[-/].*", part)]
    return "rest " + "/".join(names)


def number(label: str) -> int:
    """A version's number as SharePoint counts: 512 a major one."""
    major, _, minor = label.partition(".")
    return int(major) * 512 + int(minor)


def missing(what: str) -> Reply:
    return failed(404, "-2130575338, Microsoft.SharePoint.SPException", f"{what} does not exist.")


def failed(status: int, code: str, text: str) -> Reply:
    return Reply(status, {"odata.error": {"code": code, "message": {"lang": "en-US", "value": text}}})
