"""Microsoft Graph v1.0 as far as sites are concerned: sites, drives, lists, pages, permissions, batches, subscriptions.

A request that no endpoint was made for is a 400 and is remembered, so that a test can say that there was none.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import urlencode

from tests.doubles.sharepoint import rows
from tests.doubles.sharepoint.delta import Deltas, chosen
from tests.doubles.sharepoint.directory import Directory
from tests.doubles.sharepoint.state import Item, Library, Version, Web
from tests.doubles.sharepoint.subscriptions import Subscriptions
from tests.doubles.sharepoint.tenant import Tenant, z
from tests.doubles.sharepoint.wire import Asked, Count, Json, Reply, error

Found = Reply | None
INNER = 20  # requests of one batch


class Graph:
    """Everything below /v1.0."""

    def __init__(self, tenant: Tenant, count: Count, here: Callable[[], str]) -> None:
        self.tenant, self.count, self._here = tenant, count, here
        self.deltas = Deltas(tenant)
        self.directory = Directory(tenant, here)
        self.subscriptions = Subscriptions(tenant)
        self.enumerates = False  # whether the app may list every site: not with Sites.Selected
        self.page_size = 100

    async def answer(self, asked: Asked, bent: Callable[[Asked], Awaitable[Reply]]) -> Reply:
        """`bent`: how the inner requests of a batch are answered, faults and all."""
        path = asked.path.removeprefix("/v1.0").rstrip("/")
        if path == asked.path.rstrip("/"):
            return error(400, "BadRequest", "unsupported version")
        if path == "/$batch":
            return await self._batch(asked, bent)
        name, units = priced(asked, path)
        self.count.note(asked, name, units)
        if path.startswith("/subscriptions"):
            return await self.subscriptions.answer(asked, path)
        found = self.directory.answer(asked, path) or self._sites(asked, path) or self._drives(asked, path)
        if found is None:
            self.count.unknown.append(f"{asked.method} {asked.raw}")
            return error(400, "BadRequest", f"no endpoint {path}")
        return found

    async def _batch(self, asked: Asked, bent: Callable[[Asked], Awaitable[Reply]]) -> Reply:
        inner = asked.json.get("requests", [])
        if not 0 < len(inner) <= INNER or len({each["id"] for each in inner}) != len(inner):
            return error(400, "BadRequest", "a batch has 1 to 20 requests with ids of their own")
        answers = []
        for each in inner:
            headers = {key.casefold(): value for key, value in each.get("headers", {}).items()}
            headers |= {"authorization": asked.headers.get("authorization", ""), "host": asked.headers["host"]}
            body = json.dumps(each["body"]).encode() if "body" in each else b""
            if body and "content-type" not in headers:
                reply = error(400, "BadRequest", "a body needs a Content-Type")
            else:
                reply = await bent(
                    Asked.of_url(each["method"], f"/v1.0/{each['url'].lstrip('/')}", headers, body, "graph")
                )
            if reply.broken:
                reply = error(504, "gatewayTimeout")
            answers.append(
                {"id": each["id"], "status": reply.status, "headers": dict(reply.headers), "body": _inner(reply)}
            )  # fmt: skip
        return Reply(200, {"responses": answers[::-1]})  # in no particular order

    # ------------------------------------------------------------ sites

    def _sites(self, asked: Asked, path: str) -> Found:
        if path in ("/sites/getAllSites", "/sites"):
            return self._all_sites(asked)
        if match := re.fullmatch(r"/sites/([^/:]+)(?::\d+)?:(/[^:]*):?(/.*)?", path):
            web = self._web_at(match[2])
            if web is None:
                return error(404, "itemNotFound", "Requested site could not be found")
            return self._of_site(asked, web, match[3] or "")
        match = re.fullmatch(r"/sites/([^/]+)(/.*)?", path)
        if match is None:
            return None
        web = self._web(match[1])
        if web is None:
            return error(404, "itemNotFound", "The site is not there")
        return self._of_site(asked, web, match[2] or "")

    def _all_sites(self, asked: Asked) -> Reply:
        if not self.enumerates:
            return error(403, "accessDenied") if "getAllSites" in asked.path else Reply(200, {"value": []})
        found = [rows.site(self.tenant, each.web) for each in self.tenant.collections]
        return self.paged(asked, found)

    def _web_at(self, path: str) -> Web | None:
        wanted = path.rstrip("/").casefold()
        return next((web for web in self._webs() if web.path.casefold() == wanted), None)

    def _web(self, name: str) -> Web | None:
        ids = name.split(",")
        if len(ids) == 1:  # a site collection by its id alone, or the root site by the name of the host
            return next((web for web in self._webs() if web.parent is None and web.collection.id == ids[0]), None)
        collection, web_id = ids[-2:]
        return next((web for web in self._webs() if web.id == web_id and web.collection.id == collection), None)

    def _webs(self) -> Iterable[Web]:
        return (web for each in self.tenant.collections for web in each.webs if not web.deleted)

    def _of_site(self, asked: Asked, web: Web, rest: str) -> Found:
        if (refused := refusal(web)) is not None:
            return refused
        select = asked.query.get("$select")
        lists = [each for each in web.lists if not each.deleted]
        match rest.strip("/").split("/"):
            case [""]:
                return Reply(200, rows.picked(rows.site(self.tenant, web), select))
            case ["sites"]:
                below = [each for each in web.collection.webs if each.parent is web and not each.deleted]
                return self.paged(asked, [rows.site(self.tenant, each) for each in below])
            case ["drives"]:
                # The pages of a site are a library whose drive is not among the site's drives.
                shown = [each for each in lists if each.drive and each.template == 101]
                return self.paged(asked, [rows.drive(self.tenant, each) for each in shown])
            case ["drive"]:
                return Reply(200, rows.drive(self.tenant, next(each for each in lists if each.drive)))
            case ["lists"]:
                shown = [each for each in lists if "system" in (select or "") or not each.hidden]
                return self.paged(asked, [rows.list_(self.tenant, each) for each in shown])
            case ["permissions"]:
                return self.paged(asked, [])
            case ["lists", list_id, *more]:
                library = next((each for each in lists if each.id.casefold() == list_id.casefold()), None)
                return error(404, "itemNotFound") if library is None else self._of_list(asked, library, more)
            case ["pages", *more]:
                return self._pages(asked, web, more)
        return None

    def _of_list(self, asked: Asked, library: Library, rest: list[str]) -> Found:
        fields = "fields" in asked.query.get("$expand", "")
        match rest:
            case []:
                return Reply(200, rows.picked(rows.list_(self.tenant, library), asked.query.get("$select")))
            case ["drive"]:
                return Reply(200, rows.drive(self.tenant, library))
            case ["items"]:
                return self.paged(asked, [rows.list_item(self.tenant, each, fields) for each in library.live()])
            case ["items", "delta"]:
                return self.deltas.items(asked, library, self._address(asked))
            case ["items", number] | ["items", number, "fields"]:
                item = library.by_number.get(int(number)) if number.isdecimal() else None
                if item is None or item.gone:
                    return error(404, "itemNotFound")
                if rest[-1] == "fields":
                    return Reply(200, rows.fields_of(item))
                return Reply(200, rows.list_item(self.tenant, item, fields))
            case ["items", number, "versions"]:
                item = library.by_number.get(int(number))
                return error(404, "itemNotFound") if item is None or item.gone else self._versions(asked, item)
            case ["items", number, "driveItem", *more]:
                item = library.by_number.get(int(number))
                if item is None or item.gone or library.drive is None:
                    return error(404, "itemNotFound")
                return self._of_item(asked, library, item, more)
            case ["columns"] | ["contentTypes"]:
                return self.paged(asked, [])
        return None

    # ------------------------------------------------------------ pages

    def _pages(self, asked: Asked, web: Web, rest: list[str]) -> Found:
        canvas = "canvasLayout" in asked.query.get("$expand", "")
        select = asked.query.get("$select")
        library = next((each for each in web.lists if each.template == 119 and not each.deleted), None)
        shown = [] if library is None else [each for each in library.live() if each.kind == "page" and not each.classic]
        cast = rest[-1:] == ["microsoft.graph.sitePage"]
        match rest[:-1] if cast else rest:
            case []:
                if canvas and any(each.corrupt for each in shown):
                    return error(400, "invalidRequest", "An error occurred while processing a web part")
                listed = [rows.picked(rows.page(self.tenant, each, canvas and cast), select) for each in shown]
                return self.paged(asked, listed)
            case [page_id]:
                found = next((each for each in shown if each.unique_id == page_id.casefold()), None)
                if found is None:
                    return error(404, "itemNotFound", "The page is not there")
                if found.corrupt and canvas:
                    return error(400, "invalidRequest", "An error occurred while processing a web part")
                row = rows.page(self.tenant, found, canvas and cast)
                return Reply(200, row if canvas and not select else rows.picked(row, f"{select or ''},canvasLayout"
                                                                                if select else None))  # fmt: skip
        return None

    # ------------------------------------------------------------ drives

    def _drives(self, asked: Asked, path: str) -> Found:
        match = re.fullmatch(r"/drives/([^/]+)(/.*)?", path)
        if match is None:
            return None
        library = self.tenant.drives.get(match[1])
        if library is None or library.deleted or library.web.deleted:
            return error(404, "itemNotFound", "The drive is not there")
        if (refused := refusal(library.web)) is not None:
            return refused
        rest = (match[2] or "").strip("/")
        match rest.split("/"):
            case [""]:
                return Reply(200, rows.picked(rows.drive(self.tenant, library), asked.query.get("$select")))
            case ["list"]:
                return Reply(200, rows.picked(rows.list_(self.tenant, library), asked.query.get("$select")))
            case ["root"]:
                return Reply(200, chosen(rows.root(self.tenant, library), asked.query.get("$select")))
            case ["root", "delta"] | ["root", "microsoft.graph.delta"]:
                return self.deltas.drive(asked, library, self._address(asked))
            case ["root", "children"]:
                return self.paged(asked, [self._item(asked, each) for each in library.live() if each.above is None])
            case ["items", item_id, *more]:
                item = library.by_drive_item.get(item_id)
                if item is None or item.gone:
                    return error(404, "itemNotFound", "The resource could not be found.")
                return self._of_item(asked, library, item, more)
        return None

    def _of_item(self, asked: Asked, library: Library, item: Item, rest: list[str]) -> Found:
        match rest:
            case []:
                return Reply(200, self._item(asked, item))
            case ["children"]:
                return self.paged(asked, [self._item(asked, each) for each in library.live() if each.parent is item])
            case ["permissions"]:
                return self.paged(asked, rows.permissions(self.tenant, item))
            case ["content"]:
                return _redirect(self.download(item, item.versions[-1]))
            case ["listItem"]:
                return Reply(200, rows.list_item(self.tenant, item, "fields" in asked.query.get("$expand", "")))
            case ["versions"]:
                return self._versions(asked, item)
            case ["versions", name, "content"]:
                found = next((each for each in item.versions if each.id == name), None)
                if found is None:
                    return error(404, "itemNotFound")
                if found is item.versions[-1]:  # documented: the newest has no content of its own here
                    return error(400, "invalidRequest", "You cannot get the content of the current version.")
                return _redirect(self.download(item, found))
            case ["extractSensitivityLabels"]:
                if item.encrypted:
                    return error(423, "fileDoubleKeyEncrypted", "the file is encrypted")
                labels = [{"sensitivityLabelId": item.label, "assignmentMethod": "standard"}] if item.label else []
                return Reply(200, {"labels": labels})
        return None

    def _item(self, asked: Asked, item: Item) -> Json:
        select, expand = asked.query.get("$select"), asked.query.get("$expand", "")
        row = chosen(rows.drive_item(self.tenant, item), select)
        if item.kind == "file" and (not select or "content.downloadUrl" in select or "downloadUrl" in select):
            row["@microsoft.graph.downloadUrl"] = self.download(item, item.versions[-1])
        if "listItem" in expand:
            row["listItem"] = rows.list_item(self.tenant, item, "fields" in expand)
        return row

    def _versions(self, asked: Asked, item: Item) -> Reply:
        def row(version: Version) -> Json:
            level = "published" if version.published else "draft"
            return {
                "id": version.id, "size": len(version.body), "lastModifiedDateTime": z(version.at),
                "publication": {"level": level, "versionId": version.id},
            }  # fmt: skip

        return self.paged(asked, [row(each) for each in reversed(item.versions)])

    def download(self, item: Item, version: Version) -> str:
        """An address that lets in whoever has it, for an hour."""
        where = {"UniqueId": item.unique_id, "v": version.id, "tempauth": f"v1.{item.unique_id}"}
        return f"{self.tenant.host}{rows.encoded(item.library.web.path)}/_layouts/15/download.aspx?{urlencode(where)}"

    # ------------------------------------------------------------ pages of rows

    def paged(self, asked: Asked, found: list[Json]) -> Reply:
        """Rows from where the request goes on."""
        size = min(int(asked.query.get("$top", self.page_size)), 999)
        start = int(_token(asked.query.get("$skiptoken", "")))
        body: Json = {"value": found[start : start + size]}
        if start + size < len(found):
            kept = {key: value for key, value in asked.query.items() if key != "$skiptoken"}
            kept["$skiptoken"] = base64.urlsafe_b64encode(f"{start + size}".encode()).decode()
            body["@odata.nextLink"] = f"{self._address(asked)}?{urlencode(kept)}"
        return Reply(200, body)

    def _address(self, asked: Asked) -> str:
        return self._here() + asked.raw.partition("?")[0]


def refusal(web: Web) -> Reply | None:
    """How everything of a site is answered that refuses the app; None where it does not."""
    codes = {403: "accessDenied", 404: "itemNotFound", 410: "resourceGone", 423: "resourceLocked"}
    status = web.collection.refuses
    if status:
        return error(status, codes.get(status, "generalException"), "The site refuses this app")
    return None


def priced(asked: Asked, path: str) -> tuple[str, int]:
    """The kind of a request, and its resource units as published."""
    last = path.rpartition("/")[2]
    if not path.startswith(("/sites", "/drives")):
        return ("subscriptions" if path.startswith("/subscriptions") else "directory"), 0
    if last == "permissions" or "permissions" in asked.query.get("$expand", ""):
        return "permissions", 5
    if last == "delta":
        token = asked.query.get("token", "")
        return ("delta", 1) if token else ("delta without token", 2)
    if last == "content":
        return "content", 1
    if asked.method != "GET":
        return "write", 2
    many = last in ("sites", "drives", "lists", "items", "pages", "children", "versions", "getAllSites", "columns")
    return ("rows", 2) if many or (last == "microsoft.graph.sitePage" and "/pages/microsoft" in path) else ("one", 1)


def _redirect(url: str) -> Reply:
    return Reply(302, b"", {"Location": url})


def _token(text: str) -> str:
    try:
        return base64.urlsafe_b64decode(text).decode() or "0"
    except ValueError:
        return "0"


def _inner(reply: Reply) -> Any:
    return base64.b64encode(reply.body).decode() if isinstance(reply.body, bytes) else reply.body
