"""The webs of a configured address and their lists: what there is, and what of it is indexed.

Not indexed: personal sites and containers of apps, hidden and system lists, whatever its owner wants out of search
(`NoCrawl`), and lists in which everybody reads but his own (`ReadSecurity`), since a scope can't say that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from yarl import URL

from connectors.errors import Stop, Transient
from connectors.sources.sharepoint.client import LOST, Client, Json, Refused
from connectors.sources.sharepoint.principals import same

MOST_WEBS = 2_000  # below one configured address
MOST_SILENT = 5  # subsites that do not answer, and the others are looked at all the same
LIBRARY, PAGES, LIST = "library", "pages", "list"
_PAGES = frozenset({119, 850})
_LISTS = frozenset({100, 104, 106, 107, 171, 1100})  # custom, announcements, events, tasks, issues
_LIST_FIELDS = (
    "Id,Title,BaseTemplate,BaseType,Hidden,NoCrawl,EnableModeration,EnableMinorVersions,DraftVersionVisibility,"
    "ReadSecurity,HasUniqueRoleAssignments,ItemCount,IsApplicationList,IsCatalog,IsSystemList,RootFolder/ServerRelativeUrl"
)
_OWN = "1"
_UNKNOWN = (400, 404, 405, 501)  # statuses of something that is not offered there


@dataclass(frozen=True, slots=True)
class Web:
    """A site or subsite."""

    id: str
    site: str  # the id of its site collection
    graph: str  # Graph's name for it
    url: str  # where its REST is asked
    no_crawl: bool
    unique: bool | None  # it has rights of its own; None: it was not said
    parent: str | None = None  # the web that it inherits from, where that is among those read


@dataclass(frozen=True, slots=True)
class Listing:
    """A list, a library or the pages of a web that is indexed."""

    web: Web
    id: str
    kind: str  # LIBRARY | PAGES | LIST
    title: str
    path: str  # of its root folder, server-relative, not encoded
    unique: bool | None
    drafts: bool  # a latest version may be one that was not published
    drive: str = ""
    count: int = 0  # of files and folders or items, as SharePoint says

    @property
    def key(self) -> str:
        """Its name as a container: keys of its documents begin with it."""
        return f"{self.web.site}/{same(self.id)}"


@dataclass(frozen=True, slots=True)
class Excluded:
    """A list that is not indexed, and why."""

    key: str
    title: str
    reason: str


@dataclass(frozen=True, slots=True)
class Lost:
    """A subsite that is refused to us or does not answer, with everything below it."""

    url: str
    status: int | None  # None: it does not answer now, and what is known of it stays

    @classmethod
    def of(cls, url: str, error: Refused | Transient) -> Lost:
        """By what it answered; raises what is not about this subsite alone."""
        if isinstance(error, Transient):
            return cls(url, None)
        if error.status not in LOST:
            raise error
        return cls(url, error.status)

    def holds(self, web: str) -> bool:
        """Whether a web at this address is it, or below it."""
        here, there = self.url.casefold().rstrip("/"), web.casefold().rstrip("/")
        return there == here or there.startswith(f"{here}/")


@dataclass(frozen=True, slots=True)
class Found:
    """Everything below one configured address."""

    top: Web  # the top web of the site collection; its groups and administrators are asked there
    webs: Sequence[Web]
    listings: Sequence[Listing]
    excluded: Sequence[Excluded]
    inside: bool = False  # the address names a library or list, and not a site
    lost: Sequence[Lost] = ()


class NotASite(Stop):
    """An address that is not one of a site that is read."""


# ---------------------------------------------------------------- finding


async def find(client: Client, address: str, known: str | None = None) -> Found:
    """What there is below an address: of a site or subsite, or of a library or list in one. `known`: Graph's name of
    the site, where it was found before. Refused where the site does not let us in."""
    row, inside = await _site(client, address, known)
    web_url = str(row.get("webUrl") or "")
    if row.get("isPersonalSite") is True or "/personal/" in web_url:
        raise NotASite(f"{address} is somebody's OneDrive; personal sites are not read")
    if "/contentstorage/" in web_url.casefold():
        raise NotASite(f"{address} is a container of an app, with rights of another kind; it is not read")
    webs, lost = await _webs(client, row, address)
    listings: list[Listing] = []
    excluded: list[Excluded] = []
    for web in webs:
        if any(each.holds(web.url) for each in lost):
            continue
        try:
            lists = await _lists(client, web)
        except (Refused, Transient) as error:
            if web is webs[0]:
                raise
            lost.append(Lost.of(web.url, error))
            bear(lost, error)
            continue
        for found in lists:
            if inside and not _within(found, inside):
                continue
            if isinstance(found, Excluded):
                excluded.append(found)
            else:
                listings.append(found)
    if inside and not listings and not excluded and not lost:
        raise NotASite(f"{address} is neither a site nor a library or list of one; check it")
    return Found(await _top(client, webs[0]), webs, listings, excluded, bool(inside), lost)


async def _site(client: Client, address: str, known: str | None) -> tuple[Json, str]:
    """The site at an address, and the path of the list in it that the address names, if it does."""
    if known is not None:
        try:
            return await client.graph(f"sites/{known}", {"$select": _SITE_FIELDS}), ""
        except Refused as error:
            if error.status not in (400, 404):  # it may be another site by now
                raise
    url = URL(address)
    parts = [part for part in url.path.split("/") if part]  # decoded once, and only once
    # A site is at most that deep; what is below may be a library or list.
    least = 2 if len(parts) > 1 else 0
    for cut in range(len(parts), least - 1, -1):
        path = "/" + "/".join(parts[:cut])
        row = await _at(client, url, path)
        if row is not None:
            return row, "" if cut == len(parts) else url.path.rstrip("/")
    raise Refused(f"there is no site at {address} that this app may read", 404, "itemNotFound")


_SITE_FIELDS = "id,name,displayName,webUrl,siteCollection,isPersonalSite"


async def _at(client: Client, url: URL, path: str) -> Json | None:
    """The site at a path of a host; None where there is none."""
    hosts = [url.host or ""] + ([f"{url.host}:{url.explicit_port}"] if url.explicit_port else [])
    for host in hosts:
        encoded = URL.build(path=path).raw_path
        name = f"sites/{host}" if path == "/" else f"sites/{host}:{encoded}"
        try:
            return await client.graph(name, {"$select": _SITE_FIELDS})
        except Refused as error:
            if error.status not in (400, 404):
                raise
    return None


async def _webs(client: Client, row: Json, address: str) -> tuple[list[Web], list[Lost]]:
    """The web of a site and all below it, and the subsites that are refused to us."""
    origin = URL(address).origin()
    lost: list[Lost] = []
    waiting: list[tuple[Json, Web | None]] = [(row, None)]
    found: list[Web] = []
    while waiting:
        here, parent = waiting.pop(0)
        try:
            web = await _web(client, here, origin, parent)
        except (Refused, Transient) as error:
            if parent is None:
                raise
            lost.append(Lost.of(_url_of(here, origin), error))
            bear(lost, error)
            continue
        if any(each.id == web.id for each in found):
            continue
        found.append(web)
        if len(found) > MOST_WEBS:
            raise Stop(f"{address} has more than {MOST_WEBS:,} subsites; add them as several sources")
        try:
            below = await client.graph_rows(f"sites/{web.graph}/sites", {"$select": _SITE_FIELDS})
        except (Refused, Transient) as error:
            if isinstance(error, Transient) or error.status not in _UNKNOWN:
                if parent is None:
                    raise
                lost.append(Lost.of(web.url, error))
                bear(lost, error)
            below = []
        waiting += [(each, web) for each in below if each.get("id")]
    return found, lost


def bear(lost: Sequence[Lost], error: Refused | Transient) -> None:
    """Raises where so many subsites do not answer that it is not about them."""
    if isinstance(error, Transient) and sum(each.status is None for each in lost) > MOST_SILENT:
        raise error


def _url_of(row: Json, origin: URL) -> str:
    """The host that an admin configured, and the path that Graph tells: SharePoint is asked nowhere else."""
    path = URL(str(row.get("webUrl") or origin)).path
    return str(origin.join(URL.build(path=path or "/"))).rstrip("/")


async def _web(client: Client, row: Json, origin: URL, parent: Web | None) -> Web:
    graph = str(row.get("id") or "")
    if not graph:
        raise Transient("Graph told of a site without an id")
    url = _url_of(row, origin)
    said = await _about(client, url)
    ids = graph.split(",")
    site = ids[-2] if len(ids) > 1 else await _collection(client, url) or graph
    unique = said.get("HasUniqueRoleAssignments")
    return Web(
        id=same(str(said.get("Id") or ids[-1])),
        site=same(site),
        graph=graph,
        url=url,
        no_crawl=said.get("NoCrawl") is True or (parent is not None and parent.no_crawl),
        unique=unique if isinstance(unique, bool) else None,
        parent=None if parent is None else parent.id,
    )


async def _about(client: Client, url: str) -> Json:
    """What a web says of itself; where that is not offered, whose rights count is asked of SharePoint in any case."""
    for params in ({"$select": "Id,Url,HasUniqueRoleAssignments,NoCrawl"}, None):
        try:
            return await client.rest(url, "web", params)
        except Refused as error:
            if error.status not in _UNKNOWN:
                raise
    return {}


async def _collection(client: Client, url: str) -> str:
    try:
        return str((await client.rest(url, "site", {"$select": "Id,Url"})).get("Id") or "")
    except Refused as error:
        if error.status not in _UNKNOWN:
            raise
        return ""


async def _top(client: Client, web: Web) -> Web:
    """The top of the site collection that a web is in."""
    try:
        said = await client.rest(web.url, "site", {"$select": "Id,Url"})
    except Refused as error:
        if error.status not in _UNKNOWN:
            raise
        return web
    path = URL(str(said.get("Url") or web.url)).path.rstrip("/")
    url = str(URL(web.url).origin().join(URL.build(path=path or "/"))).rstrip("/")
    return replace(web, url=url)


# ---------------------------------------------------------------- lists


async def _lists(client: Client, web: Web) -> list[Listing | Excluded]:
    params = {"$select": _LIST_FIELDS, "$expand": "RootFolder"}
    try:
        rows = await client.rest_rows(web.url, "web/lists", params)
    except Refused as error:
        if error.status != 400:
            raise
        rows = await client.rest_rows(web.url, "web/lists", {"$expand": "RootFolder"})
    drives = await _drives(client, web)
    found: list[Listing | Excluded] = []
    for row in rows:
        if not row.get("Id"):
            raise Transient("SharePoint told of a list without an id")
        made = _listing(web, row, drives.get(same(str(row["Id"]))) or drives.get(_path(row).casefold(), ""))
        if made is not None:
            found.append(made)
    return found


async def _drives(client: Client, web: Web) -> dict[str, str]:
    """The drive of each library, by the library's id, or by its path where that is not told: never by its title, which
    is translated."""
    rows = await client.graph_rows(f"sites/{web.graph}/drives", {"$select": "id,name,driveType,webUrl,sharePointIds"})
    found: dict[str, str] = {}
    for row in rows:
        drive = str(row.get("id") or "")
        ids = row.get("sharePointIds") or row.get("sharepointIds")
        list_id = ids.get("listId") if isinstance(ids, dict) else None
        if drive and not list_id:
            list_id = await _list_of(client, drive)
        path = URL(str(row.get("webUrl") or "")).path.rstrip("/").casefold()
        if drive and (list_id or path):
            found[same(str(list_id)) if list_id else path] = drive
    return found


async def _list_of(client: Client, drive: str) -> str | None:
    try:
        said = (await client.graph(f"drives/{drive}/list", {"$select": "id"})).get("id")
    except Refused as error:
        if error.status not in _UNKNOWN:
            raise
        return None
    return said if isinstance(said, str) else None


def _listing(web: Web, row: Json, drive: str) -> Listing | Excluded | None:
    """A list as it is indexed, or why it is not; None for what is no content of people."""
    list_id, title = str(row["Id"]), str(row.get("Title") or row["Id"])
    template = row.get("BaseTemplate")
    # The pages of a site are called a list of the system by some versions.
    marks = ("Hidden",) if template in _PAGES else ("Hidden", "IsCatalog", "IsSystemList", "IsApplicationList")
    if any(row.get(name) is True for name in marks):
        return Excluded(f"{web.site}/{same(list_id)}", title, "it is hidden or of the system")
    kind = _kind(template, bool(drive))
    if kind is None:
        return None
    reason = _reason(web, row, kind)
    if reason:
        return Excluded(f"{web.site}/{same(list_id)}", title, reason)
    unique = row.get("HasUniqueRoleAssignments")
    return Listing(
        web=web,
        id=list_id,
        kind=kind,
        title=title,
        path=_path(row),
        unique=unique if isinstance(unique, bool) else None,
        drafts=row.get("EnableMinorVersions") is True or row.get("EnableModeration") is True,
        drive=drive,
        count=row["ItemCount"] if isinstance(row.get("ItemCount"), int) else 0,
    )


def _kind(template: Any, has_drive: bool) -> str | None:
    if template in _PAGES:
        return PAGES
    if has_drive:
        return LIBRARY
    return LIST if template in _LISTS else None


def _reason(web: Web, row: Json, kind: str) -> str:
    if web.no_crawl or row.get("NoCrawl") is True:
        return "its owner keeps it out of search"
    security = row.get("ReadSecurity")
    if security == 2:
        return "everybody reads but his own items in it"
    if security is None and kind == LIST:  # only lists have the setting
        return "SharePoint does not say whether everybody reads but his own items in it"
    return ""


def _path(row: Json) -> str:
    folder = row.get("RootFolder")
    return str(folder.get("ServerRelativeUrl") or "") if isinstance(folder, dict) else ""


def owner(address: str, listing: Listing, addresses: Sequence[str]) -> str:
    """For which of these addresses a list is read that was found at one: for the longest that holds it, so that it is
    read once."""
    return max([address, *(each for each in addresses if holds(each, listing))], key=len)


def holds(address: str, listing: Listing) -> bool:
    """Whether a list is of the site at an address, of a site below it, or the one that it names."""
    url, web = URL(address), URL(listing.web.url)
    if url.origin() != web.origin():
        return False
    below = url.path.casefold().startswith(f"{web.path.casefold().rstrip('/')}/")
    return Lost(address, None).holds(listing.web.url) or (below and _within(listing, url.path))


def _within(found: Listing | Excluded, path: str) -> bool:
    """Whether a list is the one that an address names, or one below it; one whose path is not told is none."""
    if isinstance(found, Excluded) or not found.path:
        return False
    here, wanted = found.path.casefold().rstrip("/"), unquote(path).casefold().rstrip("/")
    return here == wanted or here.startswith(f"{wanted}/") or wanted.startswith(f"{here}/")
