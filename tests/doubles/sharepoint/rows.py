"""Objects of a tenant as Graph writes them."""

from __future__ import annotations

import base64
import hashlib
from typing import Any
from urllib.parse import quote

from tests.doubles.sharepoint.state import Collection, Entry, Item, Library, User, Version, Web
from tests.doubles.sharepoint.tenant import Tenant, z
from tests.doubles.sharepoint.wire import Json

MIME = {
    "md": "text/markdown", "txt": "text/plain", "html": "text/html", "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}  # fmt: skip
TEMPLATES = {101: "documentLibrary", 100: "genericList", 119: "webPageLibrary", 112: "userInformation"}


def site_id(tenant: Tenant, web: Web) -> str:
    name = tenant.host.partition("//")[2].partition(":")[0]
    return f"{name},{web.collection.id},{web.id}"


def encoded(path: str) -> str:
    return quote(path, safe="/()!*'@$,;:=+-._~")


def address(tenant: Tenant, path: str) -> str:
    return tenant.host + encoded(path)


def picked(row: Json, select: str | None) -> Json:
    """As `$select` asks; ids and annotations always come."""
    if not select:
        return row
    wanted = {name.strip().partition("/")[0].casefold() for name in select.split(",")}
    return {key: value for key, value in row.items() if key.casefold() in wanted or key in ("id",) or "@" in key}


def site(tenant: Tenant, web: Web) -> Json:
    row: Json = {
        "id": site_id(tenant, web), "name": web.path.rpartition("/")[2], "displayName": web.title,
        "webUrl": address(tenant, web.path), "createdDateTime": z(tenant.at), "lastModifiedDateTime": z(tenant.at),
        "isPersonalSite": web.collection.personal,
        "parentReference": {} if web.parent is None else {"siteId": site_id(tenant, web.collection.web)},
    }  # fmt: skip
    if web.parent is None:
        row["root"] = {}
        row["siteCollection"] = {"hostname": tenant.host.partition("//")[2].partition(":")[0]}
    return row


def drive(tenant: Tenant, library: Library) -> Json:
    return {
        "id": library.drive, "name": library.title, "driveType": "documentLibrary", "description": "",
        "webUrl": address(tenant, library.path), "createdDateTime": z(tenant.at), "lastModifiedDateTime": z(tenant.at),
        "sharePointIds": ids_of_list(tenant, library), "system": {} if library.system else None,
    }  # fmt: skip


def ids_of_list(tenant: Tenant, library: Library) -> Json:
    web = library.web
    return {
        "listId": library.id, "siteId": web.collection.id, "webId": web.id, "siteUrl": address(tenant, web.path),
        "tenantId": tenant.id,
    }  # fmt: skip


def list_(tenant: Tenant, library: Library) -> Json:
    row: Json = {
        "id": library.id, "name": library.folder.rpartition("/")[2], "displayName": library.title, "description": "",
        "webUrl": address(tenant, library.path), "createdDateTime": z(tenant.at), "lastModifiedDateTime": z(tenant.at),
        "eTag": f'"{library.id},1"', "parentReference": {"siteId": site_id(tenant, library.web)},
        "list": {
            "template": TEMPLATES.get(library.template, "genericList"), "hidden": library.hidden,
            "contentTypesEnabled": False,
        },
        "sharepointIds": ids_of_list(tenant, library),
    }  # fmt: skip
    if library.system:
        row["system"] = {}
    return row


def ids_of_item(tenant: Tenant, item: Item) -> Json:
    return {
        **ids_of_list(tenant, item.library), "listItemId": str(item.number), "listItemUniqueId": item.unique_id,
    }  # fmt: skip


def root(tenant: Tenant, library: Library) -> Json:
    return {
        "id": library.root, "name": "root", "webUrl": address(tenant, library.path), "folder": {"childCount": 0},
        "root": {}, "parentReference": {"driveId": library.drive, "driveType": "documentLibrary"}, "size": 0,
        "createdDateTime": z(tenant.at), "lastModifiedDateTime": z(tenant.at),
        "sharepointIds": ids_of_list(tenant, library),
    }  # fmt: skip


def parent_of(item: Item) -> Json:
    above = item.above
    return {
        "driveId": item.library.drive, "driveType": "documentLibrary",
        "id": above.drive_item if above else item.library.root, "siteId": item.library.web.id,
    }  # fmt: skip


def deleted(item: Item) -> Json:
    """Without name, address and cTag."""
    kind: Json = {"folder": {}} if item.kind == "folder" else {"file": {}}
    return {"id": item.drive_item, "parentReference": parent_of(item), "deleted": {"state": "deleted"}, **kind}


def drive_item(tenant: Tenant, item: Item) -> Json:
    row: Json = {
        "id": item.drive_item, "name": item.name, "eTag": f'"{{{item.unique_id.upper()}}},{item.etag}"',
        "webUrl": web_url(tenant, item), "createdDateTime": z(item.created), "lastModifiedDateTime": z(item.modified),
        "parentReference": parent_of(item), "size": len(item.versions[-1].body) if item.versions else 0,
        "fileSystemInfo": {"createdDateTime": z(item.created), "lastModifiedDateTime": z(item.modified)},
        "sharepointIds": ids_of_item(tenant, item),
    }  # fmt: skip
    if item.kind == "folder":
        row["folder"] = {"childCount": 1}
        return row
    body = item.versions[-1].body if item.versions else b""
    row["cTag"] = f'"c:{{{item.unique_id.upper()}}},{item.ctag}"'
    row["file"] = {"mimeType": mime(item), "hashes": {"quickXorHash": _hash(body)}}
    row["publication"] = publication(item)
    if item.malware:
        row["malware"] = {"description": "Win32/Nasty"}
    if item.remote:
        row["remoteItem"] = {"id": "01ELSEWHERE", "parentReference": {"driveId": "b!elsewhere"}}
    return row


def publication(item: Item) -> Json:
    last = item.versions[-1] if item.versions else Version("1.0", b"", item.modified, published=True)
    level = "checkout" if item.checked_out else "published" if last.published else "draft"
    return {"level": level, "versionId": last.id}


def mime(item: Item) -> str:
    return MIME.get(item.name.rpartition(".")[2].casefold(), "application/octet-stream")


def web_url(tenant: Tenant, item: Item) -> str:
    """Office documents have the address of their editor, the rest their path."""
    if item.kind == "file" and item.name.endswith((".docx", ".xlsx", ".pptx")):
        web = encoded(item.library.web.path)
        name = quote(item.name, safe="")
        return (
            f"{tenant.host}{web}/_layouts/15/Doc.aspx?sourcedoc=%7B{item.unique_id.upper()}%7D&file={name}"
            "&action=default&mobileredirect=true"
        )
    if item.kind == "item":
        return f"{address(tenant, item.library.path)}/DispForm.aspx?ID={item.number}"
    return address(tenant, item.path)


def _hash(body: bytes) -> str:
    return base64.b64encode(hashlib.sha1(body).digest()).decode()


def list_item(tenant: Tenant, item: Item, fields: bool) -> Json:
    row: Json = {
        "id": str(item.number), "eTag": f'"{item.unique_id},{item.etag}"', "webUrl": web_url(tenant, item),
        "createdDateTime": z(item.created), "lastModifiedDateTime": z(item.modified),
        "parentReference": {
            "siteId": site_id(tenant, item.library.web), "id": item.above.unique_id if item.above else "",
        },
        "contentType": {"id": "0x0120" if item.kind == "folder" else "0x0101", "name": _content_type(item)},
        "sharepointIds": ids_of_item(tenant, item),
    }  # fmt: skip
    if fields:
        row["fields"] = fields_of(item)
    return row


def _content_type(item: Item) -> str:
    names = {"folder": "Folder", "file": "Document", "page": "Site Page", "item": "Item"}
    return str(item.fields.get("ContentType", names[item.kind]))


def fields_of(item: Item) -> Json:
    last = item.versions[-1].id if item.versions else "1.0"
    row: Json = {
        "id": str(item.number), "Title": item.name, "FileLeafRef": item.name, "ContentType": _content_type(item),
        "Modified": z(item.modified), "Created": z(item.created), "_UIVersionString": last,
        **{key: value for key, value in item.fields.items() if key != "ContentType"},
    }  # fmt: skip
    if item.label:
        row["_DisplayName"] = row["_IpLabelId"] = item.label
    return row


def deleted_list_item(tenant: Tenant, item: Item) -> Json:
    return {
        "id": str(item.number), "parentReference": {"siteId": site_id(tenant, item.library.web)},
        "contentType": {"id": "0x0101", "name": "Document"}, "deleted": {"state": "deleted"},
    }  # fmt: skip


def page(tenant: Tenant, item: Item, canvas: bool) -> Json:
    state = publication(item)
    row: Json = {
        "@odata.type": "#microsoft.graph.sitePage", "id": item.unique_id, "name": item.name,
        "eTag": f'"{{{item.unique_id.upper()}}},{item.etag}"', "webUrl": address(tenant, item.path),
        "title": item.fields.get("Title", item.name), "pageLayout": "article", "promotionKind": "page",
        "createdDateTime": z(item.created), "lastModifiedDateTime": z(item.modified),
        "parentReference": {"siteId": item.library.web.id, "listId": item.library.id},
        "contentType": {"id": "0x0101009D1CB255DA76424F860D91F20E6C4118", "name": "Site Page"},
        "publishingState": state, "showComments": True,
    }  # fmt: skip
    if canvas:
        row["canvasLayout"] = canvas_of(item.versions[-1].body.decode())
    return row


def canvas_of(html: str) -> Json:
    """One text web part with the page's own words, and one that queries other content: who sees what in it depends on
    who looks."""
    query = {
        "@odata.type": "#microsoft.graph.standardWebPart", "id": "9d7e898c-0000-4000-8000-000000000001",
        "webPartType": "daf0b71c-6de8-4ef7-b511-faae7c388708",
        "data": {
            "title": "Highlighted content", "dataVersion": "2.2", "properties": {"query": {"contentLocation": 1}},
            "serverProcessedContent": {
                "htmlStrings": [], "links": [],
                "searchablePlainTexts": [{"key": "title", "value": "ROLLED-UP words of another page"}],
            },
        },
    }  # fmt: skip
    text = {"@odata.type": "#microsoft.graph.textWebPart", "id": "6f9230af-2a98-4952-b205-9ede4f9ef548",
            "innerHtml": html}  # fmt: skip
    return {
        "horizontalSections": [
            {
                "layout": "twoColumns", "id": "1", "emphasis": "none",
                "columns": [
                    {"id": "1", "width": 8, "webparts": [text]},
                    {"id": "2", "width": 4, "webparts": [query]},
                ],
            }
        ]
    }  # fmt: skip


def user(found: User) -> Json:
    return {
        "id": found.oid, "userPrincipalName": found.upn, "displayName": found.name, "mail": found.upn,
        "accountEnabled": found.enabled, "userType": "Guest" if found.guest else "Member",
        "externalUserState": "Accepted" if found.guest else None,
    }  # fmt: skip


def permissions(tenant: Tenant, item: Item, now_min: str = "0001-01-01T00:00:00Z") -> list[Json]:
    """Everything that holds for an item, inherited or not: the service does not tell them apart."""
    collection = item.library.web.collection
    scope = item.scope()
    rows: list[Json] = []
    for number, roles in scope.grants.items():
        entry = collection.entries[number]
        names = _graph_roles(roles)
        if not names:
            continue
        if entry.link is not None:
            rows.append(_link(tenant, collection, entry, names, now_min))
        else:
            rows.append({"id": f"{entry.id}", "roles": names, "grantedToV2": _granted(entry)})
    return rows


def _graph_roles(roles: Any) -> list[str]:
    if any(role.low & 0x800 for role in roles):
        return ["owner"]
    if any(role.low & 0x4 for role in roles):
        return ["write"]
    return ["read"] if any(role.low & 0x1 for role in roles) else []


def _granted(entry: Entry) -> Json:
    site_user = {"id": str(entry.id), "displayName": entry.title, "loginName": entry.login}
    if entry.type == 8:
        return {"siteGroup": site_user}
    if entry.oid:
        return {"user": {"id": entry.oid, "displayName": entry.title, "email": ""}, "siteUser": site_user}
    return {"siteUser": site_user}  # the group's id is not always there (microsoft-graph-docs 222)


def _link(tenant: Tenant, collection: Collection, entry: Entry, names: list[str], none: str) -> Json:
    link = entry.link
    assert link is not None
    people = [_granted(collection.entries[each]) for each in sorted(entry.members)]
    return {
        "id": link.guid, "roles": names, "shareId": f"u!{link.guid}", "hasPassword": link.password,
        "expirationDateTime": z(link.expires) if link.expires else none,
        "link": {
            "scope": link.scope, "type": "edit" if names != ["read"] else "view", "preventsDownload": False,
            "webUrl": f"{tenant.host}/:t:/s/x/{link.guid}",
        },
        "grantedToIdentitiesV2": people,
    }  # fmt: skip
