"""Who may read what, in the plainest way: part I.B of the access rules as sets, from the tenant's state alone.

`may_read` is an upper bound, nobody else may ever see it; `must_read` a lower one, who is here and does not see it
misses something. They differ only where a product may be stricter than SharePoint: in lists where everybody reads his
own, for sites below one that is not to be searched, and for groups whose members the app is not told. Shares no code
with the product.
"""

from __future__ import annotations

from datetime import datetime

from tests.doubles.sharepoint.state import Collection, Entry, Item, Securable, User, Web
from tests.doubles.sharepoint.tenant import Tenant


def may_read(tenant: Tenant, oid: str, item: Item, now: datetime) -> bool:
    """Whether SharePoint lets this person read it, and search may show it."""
    return _searchable(item) and _permitted(tenant, oid, item, now, told_only=False)


def must_read(
    tenant: Tenant, oid: str, item: Item, now: datetime, *, without: frozenset[str] = frozenset()
) -> bool:  # fmt: skip
    """Whether it has to be there for this person. `without`: labels that are not indexed."""
    if item.library.read_security == 2 or item.label in without or item.encrypted:
        return False
    if _below_what_is_not_crawled(item.library.web):
        return False
    return _searchable(item) and _permitted(tenant, oid, item, now, told_only=True)


def permitted(tenant: Tenant, oid: str, item: Item, now: datetime) -> bool:
    """What SharePoint says when it is asked about one file."""
    return not item.gone and _permitted(tenant, oid, item, now, told_only=False)


def _searchable(item: Item) -> bool:
    library, web = item.library, item.library.web
    if item.gone or item.kind == "folder" or item.malware or item.remote or item.published is None:
        return False
    if library.deleted or library.hidden or library.system or library.no_crawl:
        return False
    here: Securable | None = web
    while isinstance(here, Web):
        if here.deleted:
            return False
        here = here.parent
    return not web.no_crawl and not web.collection.personal and not web.collection.refuses


def _below_what_is_not_crawled(web: Web) -> bool:
    here: Securable | None = web
    while isinstance(here, Web):
        if here.no_crawl:
            return True
        here = here.parent
    return False


def _permitted(tenant: Tenant, oid: str, item: Item, now: datetime, *, told_only: bool) -> bool:
    person = tenant.users.get(oid)
    if person is None or person.deleted or not person.enabled:
        return False
    groups = _groups_of(tenant, oid, told_only)
    site = item.library.web.collection
    if site.restricted_to is not None and not site.restricted_to & groups:
        return False

    def is_entry(entry: Entry) -> bool:
        return _is(tenant, person, groups, site, entry, now)

    if any(is_entry(site.entries[number]) for number in site.admins):
        return True
    scope = _own_rights(item)
    reads = any(
        is_entry(site.entries[number]) and any(role.low & 0x1 for role in roles)
        for number, roles in scope.grants.items()
    )  # fmt: skip
    if not reads or item.library.read_security != 2:
        return reads
    manages = any(
        is_entry(site.entries[number]) and any(role.low & 0x800 for role in roles)
        for number, roles in scope.grants.items()
    )  # fmt: skip
    return manages or item.author == oid


def _own_rights(item: Item) -> Securable:
    """The item, or the nearest folder, library or site above it that has rights of its own."""
    here: Securable = item
    while not here.unique:
        assert here.parent is not None, "the top of a site collection has rights of its own"
        here = here.parent
    return here


def _is(
    tenant: Tenant, person: User, groups: frozenset[str], site: Collection, entry: Entry, now: datetime
) -> bool:  # fmt: skip
    login = entry.login
    if entry.type == 8:
        link = entry.link
        if link is not None:
            ended = link.expires is not None and link.expires <= now
            if ended or link.removed or link.password:
                return False
        return any(_is(tenant, person, groups, site, site.entries[each], now) for each in entry.members)
    if entry.oid is not None:
        return entry.oid == person.oid
    if login == tenant.eeeu.login or login == tenant.eeeu_spelled_otherwise.login or login == "c:0(.s|true":
        return not person.guest
    if login.startswith("c:0t.c|tenant|"):
        return login.removeprefix("c:0t.c|tenant|") in groups
    members = "c:0o.c|federateddirectoryclaimprovider|"
    if login.startswith(members) and login.endswith("_o"):
        group = tenant.groups.get(login.removeprefix(members).removesuffix("_o"))
        return group is not None and not group.deleted and person.oid in group.owners
    if login.startswith(members):
        return login.removeprefix(members) in groups
    return False


def _groups_of(tenant: Tenant, oid: str, told_only: bool) -> frozenset[str]:
    """The ids of every group that holds the person, itself or through another one."""
    found: set[str] = set()
    grown = True
    while grown:
        grown = False
        for group in tenant.groups.values():
            if group.id in found or group.deleted or (told_only and group.hidden and not tenant.reads_hidden):
                continue
            if oid in group.members or group.members & found:
                found.add(group.id)
                grown = True
    return frozenset(found)
