"""A tenant and everything that can be done in it. Every deed is logged in words, and in the logs that delta reads.

What delta keeps to itself is in `Gaps`, each as reported of the real service; by default it keeps everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tests.doubles.sharepoint.roles import CONTRIBUTE, EDIT, FULL, LIMITED, READ, TITLES, Role
from tests.doubles.sharepoint.state import (
    START,
    Changed,
    Claim,
    Collection,
    Entry,
    Group,
    Ids,
    Item,
    Library,
    Link,
    OwnersOf,
    Securable,
    User,
    Version,
    Web,
)

EVERYONE = Claim("c:0(.s|true", "Everyone")
ANONYMOUS = Claim("i:0#.f|membership|urn:spo:anon#1f2e3d4c5b", "Guest contributor")
OLD_DOMAIN = Claim("i:0#.w|contoso\\svc_backup", "svc_backup")
APP = Claim("i:0i.t|ms.sp.ext|7f3a41c2-9d8e-4a57-b9f1-2f6a90aa8b11@tenant", "Some app")
UNHEARD_OF = Claim("c:0z.q|nobody-knows|4711", "Something new")

Principal = User | Group | OwnersOf | Entry | Claim


@dataclass(slots=True)
class Gaps:
    """What the delta of a library does not tell although something happened; see each report."""

    member_of_link: bool = True  # microsoft-graph-docs 15242: somebody added to a link that exists
    new_link: bool = True  # microsoft-graph-docs 6515: a link made in a library
    annotation_on_folders: bool = True  # msgraph-sdk-java 2548
    role_assignments: bool = False  # rights changed by hand, not by sharing
    below_deleted: bool = True  # of a deleted folder nothing but itself is told
    flags_of_collections: bool = False  # HasUniqueRoleAssignments of many objects at once is left out
    directory_ids: bool = False  # a site's users carry no id of the directory


@dataclass(slots=True)
class Tenant:
    """One tenant."""

    host: str = "http://127.0.0.1:1"  # of its sites; known when they are served
    language: str = "en"
    at: datetime = START
    id: str = ""
    users: dict[str, User] = field(default_factory=dict)  # by oid
    groups: dict[str, Group] = field(default_factory=dict)  # by id
    collections: list[Collection] = field(default_factory=list)
    gaps: Gaps = field(default_factory=Gaps)
    reads_hidden: bool = False  # the app was given Member.Read.Hidden
    history: list[str] = field(default_factory=list)
    ids: Ids = field(default_factory=lambda: Ids("contoso"))
    number: int = 0  # of the last change
    drives: dict[str, Library] = field(default_factory=dict)
    by_unique_id: dict[str, Item] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.id = self.id or self.ids.guid()

    # ------------------------------------------------------------ time

    def wait(self, length: timedelta) -> None:
        self.at += length

    def _said(self, text: str) -> None:
        self.history.append(f"{len(self.history)}: {text}")

    # ------------------------------------------------------------ directory

    @property
    def eeeu(self) -> Claim:
        return Claim(f"c:0-.f|rolemanager|spo-grid-all-users/{self.id}", "Everyone except external users")

    @property
    def eeeu_spelled_otherwise(self) -> Claim:
        return Claim("c:0t.c|tenant|9908e57b-4444-4a0e-af96-e8ca83c0a0e5", "Everyone except external users")

    def person(self, name: str, *, guest: bool = False, upn: str = "") -> User:
        address = upn or (f"{name}_other.example#ext#@contoso.example" if guest else f"{name}@contoso.example")
        user = User(self.ids.guid(), address, name.title(), guest)
        self.users[user.oid] = user
        return user

    def group(self, name: str, *members: User | Group, kind: str = "security", hidden: bool = False) -> Group:
        group = Group(self.ids.guid(), name, kind, hidden=hidden)
        group.members = {_id(member) for member in members}
        self.groups[group.id] = group
        return group

    def join(self, group: Group, *members: User | Group) -> None:
        self._said(f"{_names(members)} into {group.name}")
        group.members |= {_id(member) for member in members}

    def leave(self, group: Group, *members: User | Group) -> None:
        self._said(f"{_names(members)} out of {group.name}")
        group.members -= {_id(member) for member in members}

    def owns(self, group: Group, *owners: User) -> None:
        group.owners |= {owner.oid for owner in owners}

    def disowns(self, group: Group, *owners: User) -> None:
        group.owners -= {owner.oid for owner in owners}

    def disable(self, user: User) -> None:
        self._said(f"{user.name} disabled")
        user.enabled = False

    def enable(self, user: User) -> None:
        self._said(f"{user.name} enabled")
        user.enabled = True

    def delete_user(self, user: User) -> None:
        self._said(f"{user.name} deleted")
        user.deleted = True

    def delete_group(self, group: Group) -> None:
        self._said(f"group {group.name} deleted")
        group.deleted = True

    def recycle(self, user: User, name: str) -> User:
        """Somebody new is given the name that a deleted person had; sites go on knowing the old one."""
        self.delete_user(user)
        upn, user.upn = user.upn, f"deleted-{user.oid[:8]}-{user.upn}"
        return self.person(name, upn=upn)

    # ------------------------------------------------------------ sites

    def site(self, name: str, *, language: str = "", title: str = "", path: str = "", team: Group | None = None,
             public: bool = False, personal: bool = False) -> Collection:  # fmt: skip
        """A site with its three groups, a library and its pages. `team`: the group that it belongs to."""
        place = path or (f"/personal/{name}" if personal else f"/sites/{name}")
        spoken = language or self.language
        made = Collection(self.id, self.ids.guid(), place, title or name, spoken, personal=personal)
        made.webs.append(Web(None, True, {}, made, self.ids.guid(), place, title or name))
        self.collections.append(made)
        self.entry(made, Claim("SHAREPOINT\\system", "System Account"))
        for kind, role in (("Owners", FULL), ("Members", EDIT), ("Visitors", READ)):
            group = self.site_group(made, kind)  # the same name in every site
            made.web.grants[group.id] = {role}
        self.library(made.web, "Documents" if spoken == "en" else "Dokumente", "Shared Documents")
        self.library(made.web, "Site Pages", "SitePages", template=119)
        users = self.library(made.web, "User Information List", "_catalogs/users", template=112)
        users.hidden = users.system = True
        if team is not None:
            self.add(made.site_group("Members"), team)
            self.add(made.site_group("Owners"), OwnersOf(team))
            made.admins.add(self.entry(made, OwnersOf(team)).id)
            if public:
                self.add(made.site_group("Members"), self.eeeu)
        return made

    def subsite(self, parent: Web, name: str, *, unique: bool = False) -> Web:
        made = Web(parent, False, {}, parent.collection, self.ids.guid(), f"{parent.path}/{name}", name)
        parent.collection.webs.append(made)
        if unique:
            self.break_inheritance(made)
        self.library(made, "Documents", "Shared Documents")
        self.library(made, "Site Pages", "SitePages", template=119)
        return made

    def library(self, web: Web, title: str, folder: str = "", *, template: int = 101) -> Library:
        drive = None if template in (100, 112) else self.ids.drive()
        listed = f"Lists/{title}" if template == 100 else title
        made = Library(
            web, False, {}, web, self.ids.guid(), title, folder or listed, template, drive, self.ids.item()
        )  # fmt: skip
        web.lists.append(made)
        if drive is not None:
            self.drives[drive] = made
        return made

    def rename_list(self, library: Library, title: str) -> None:
        library.title = title

    def drop_list(self, library: Library) -> None:
        self._said(f"{library.title} deleted")
        library.deleted = True

    def set_admin(self, site: Collection, who: Principal, *, on: bool = True) -> None:
        self._said(f"{_name(who)} {'is' if on else 'is no longer'} admin of {site.title}")
        entry = self.entry(site, who)
        (site.admins.add if on else site.admins.discard)(entry.id)

    def restrict(self, site: Collection, *groups: Group) -> None:
        site.restricted_to = frozenset(group.id for group in groups)

    def block(self, site: Collection, status: int = 403) -> None:
        self._said(f"{site.title} answers {status}")
        site.refuses = status

    def unblock(self, site: Collection) -> None:
        self._said(f"{site.title} answers again")
        site.refuses = 0

    # ------------------------------------------------------------ principals of a site

    def entry(self, site: Collection, who: Principal) -> Entry:
        """The site's own entry of somebody, made when it is first needed."""
        oid: str | None = None
        match who:
            case Entry():
                return who
            case User():
                login, title, kind, oid = f"i:0#.f|membership|{who.upn}", who.name, 1, who.oid
                known = next((each for each in site.entries.values() if each.oid == oid), None)
                if known is not None:
                    return known
                if site.entry(login) is not None:
                    raise PermissionError(f"user id mismatch: {login} is somebody else's here")
            case Group(kind="unified"):
                login, title = f"c:0o.c|federateddirectoryclaimprovider|{who.id}", f"{who.name} Members"
                kind = 4
            case Group():
                login, title, kind = f"c:0t.c|tenant|{who.id}", who.name, 4
            case OwnersOf(group):
                login, title = f"c:0o.c|federateddirectoryclaimprovider|{group.id}_o", f"{group.name} Owners"
                kind = 4
            case Claim(login, title):
                kind = 1 if login.startswith("i:") else 4
        known = site.entry(login)
        if known is None:
            known = Entry(site.next_id(), login, title, kind, oid)
            site.entries[known.id] = known
        return known

    def site_group(self, site: Collection, title: str) -> Entry:
        made = Entry(site.next_id(), title, title, 8)
        site.entries[made.id] = made
        return made

    def add(self, group: Entry, *who: Principal) -> None:
        """Into a group of a site."""
        site = self._site_of(group)
        self._said(f"{_names(who)} into {group.title} of {site.title}")
        group.members |= {self.entry(site, each).id for each in who}

    def take_out(self, group: Entry, *who: Principal) -> None:
        site = self._site_of(group)
        self._said(f"{_names(who)} out of {group.title} of {site.title}")
        group.members -= {self.entry(site, each).id for each in who}

    def _site_of(self, group: Entry) -> Collection:
        return next(site for site in self.collections if site.entries.get(group.id) is group)

    # ------------------------------------------------------------ rights

    def break_inheritance(self, what: Securable, *, copy: bool = True) -> None:
        """Rights of its own from now on: those above as they were, or none but those who hold it together."""
        if what.unique:
            return
        self._said(f"{_what(what)} has rights of its own{'' if copy else ', nobody yet'}")
        above = what.scope()
        what.grants = {entry: set(roles) for entry, roles in above.grants.items()} if copy else {}
        if copy:
            what.grants = {entry: kept for entry, roles in what.grants.items() if (kept := roles - {LIMITED})}
        what.unique = True
        self._told(what)

    def restore_inheritance(self, what: Securable) -> None:
        if isinstance(what, Web) and what.parent is None:
            raise ValueError("the top of a site collection has nothing to inherit from")
        self._said(f"{_what(what)} inherits again")
        what.unique, what.grants = False, {}
        self._told(what)

    def grant(self, what: Securable, who: Principal, role: Role | None = READ) -> None:
        """`role` None: an assignment without any binding."""
        self.break_inheritance(what)
        self._said(f"{_name(who)} gets {role.name if role else 'nothing'} on {_what(what)}")
        entry = self.entry(_collection(what), who)
        bound = what.grants.setdefault(entry.id, set())
        bound |= {role} if role else set()
        bound -= {LIMITED}
        self._pass_through(what, entry)
        self._told(what)

    def revoke(self, what: Securable, who: Principal) -> None:
        self.break_inheritance(what)
        self._said(f"{_name(who)} loses {_what(what)}")
        what.grants.pop(self.entry(_collection(what), who).id, None)
        self._told(what)

    def _pass_through(self, what: Securable, entry: Entry) -> None:
        """Whoever was given something below is given a way to it: limited access on everything above, whose bindings
        hold no right to read and are not taken off again."""
        above = what.parent
        while above is not None:
            if above.unique and entry.id not in above.grants:
                above.grants[entry.id] = {LIMITED}
            above = above.parent

    def _told(self, what: Securable, *, shared: bool = False) -> None:
        if isinstance(what, Item) and (shared or not self.gaps.role_assignments):
            annotated = what.kind != "folder" or not self.gaps.annotation_on_folders
            self.log(what, sharing=True, told_shared=annotated)

    # ------------------------------------------------------------ links

    def link(self, item: Item, *who: Principal, scope: str = "users", edit: bool = False,
             expires: datetime | None = None, password: bool = False, pushed: bool = False) -> Link:  # fmt: skip
        """A sharing link; `who`: named in it, or those who opened it. `pushed`: it also lands on everything below that
        has rights of its own already (corso 3708)."""
        self.break_inheritance(item)
        site = _collection(item)
        guid = self.ids.guid()
        kind = {"users": "Flexible", "organization": "OrganizationView", "anonymous": "AnonymousView"}[scope]
        group = self.site_group(site, f"SharingLinks.{item.unique_id}.{kind}.{guid}")
        made = Link(guid, item, scope, CONTRIBUTE if edit else READ, kind, group, expires, password)
        group.link = made
        group.members = {self.entry(site, each).id for each in who}
        self._said(f"link {kind} on {_what(item)} for {_names(who)} until {expires}")
        item.grants[group.id] = {made.role}
        self._pass_through(item, group)
        if not self.gaps.new_link:
            self._told(item, shared=True)
        if pushed:
            for each in item.below():
                if each.unique and not each.gone:
                    each.grants[group.id] = {made.role}
        return made

    def redeem(self, link: Link, *who: Principal) -> None:
        """They opened the link, or were added to it by name."""
        self._said(f"{_names(who)} opened the link on {_what(link.item)}")
        link.group.members |= {self.entry(_collection(link.item), each).id for each in who}
        if not self.gaps.member_of_link:
            self._told(link.item, shared=True)

    def unlink(self, link: Link) -> None:
        self._said(f"link on {_what(link.item)} removed")
        link.removed = True
        link.group.members = set()
        site = _collection(link.item)
        libraries = [library for web in site.webs for library in web.lists]
        every: list[Securable] = [*site.webs, *libraries, *(item for library in libraries for item in library.items)]
        for each in every:  # rights that go with a group that is gone
            each.grants.pop(link.group.id, None)
        site.entries.pop(link.group.id, None)
        self._told(link.item, shared=True)

    # ------------------------------------------------------------ content

    def folder(self, library: Library, name: str, parent: Item | None = None) -> Item:
        return self._make(library, name, "folder", parent)

    def file(self, library: Library, name: str, body: bytes | str, parent: Item | None = None, *,
             draft: bool = False) -> Item:  # fmt: skip
        made = self._make(library, name, "file", parent)
        self.edit(made, body, draft=draft, log=False)
        return made

    def item(self, library: Library, parent: Item | None = None, author: User | None = None, **fields: object) -> Item:
        made = self._make(library, str(fields.get("Title", "item")), "item", parent)
        made.fields.update(fields)
        made.author = author.oid if author else ""
        made.versions = [Version("1.0", b"", self.at, published=True)]
        return made

    def page(self, web: Web, name: str, html: str, *, draft: bool = False, classic: bool = False) -> Item:
        library = next(each for each in web.lists if each.template == 119)
        made = self._make(library, f"{name}.aspx", "page", None)
        made.fields["Title"] = name
        made.classic = classic
        self.edit(made, html, draft=draft, log=False)
        return made

    def _make(self, library: Library, name: str, kind: str, parent: Item | None) -> Item:
        number = len(library.items) + 1
        made = Item(
            parent or library, False, {}, library, number, self.ids.guid(), self.ids.item(), name, kind,
            self.at, self.at,
        )  # fmt: skip
        library.items.append(made)
        library.by_drive_item[made.drive_item] = made
        library.by_number[number] = made
        self.by_unique_id[made.unique_id] = made
        self._said(f"new {kind} {_what(made)}")
        self.log(made)
        return made

    def edit(self, item: Item, body: bytes | str, *, draft: bool = False, log: bool = True) -> None:
        """A new version; `draft`: a minor one that is not published."""
        raw = body.encode() if isinstance(body, str) else body
        major, _, minor = (item.versions[-1].id if item.versions else "0.0").partition(".")
        name = f"{major}.{int(minor) + 1}" if draft else f"{int(major) + 1}.0"
        item.versions.append(Version(name, raw, self.at, published=not draft))
        item.library.minor_versions |= draft  # there are none without
        item.modified = self.at
        item.etag += 1
        item.ctag += 1
        if log:
            self._said(f"{_what(item)} edited to {name}")
            self.log(item)

    def publish(self, item: Item) -> None:
        self.edit(item, item.versions[-1].body)

    def unpublish(self, item: Item) -> None:
        for version in item.versions:
            version.published = False
        last = item.versions[-1]
        last.id = f"{last.id.partition('.')[0]}.{int(last.id.partition('.')[2]) + 1}"
        item.library.minor_versions = True
        self._said(f"{_what(item)} unpublished")
        item.etag += 1
        self.log(item)

    def set_fields(self, item: Item, **fields: object) -> None:
        item.fields.update(fields)
        item.etag += 1
        self.log(item)

    def rename(self, item: Item, name: str) -> None:
        self._said(f"{_what(item)} renamed to {name}")
        item.name = name
        item.etag += 1
        self.log(item)

    def move(self, item: Item, to: Item | Library) -> Item:
        """Within a library it stays what it is; in another it is something new, and the old one is deleted."""
        self._said(f"{_what(item)} moved to {_what(to)}")
        target = to.library if isinstance(to, Item) else to
        if target is item.library:
            item.parent = to
            item.etag += 1
            self.log(item)
            return item
        inner = [each for each in item.library.items if each.parent is item and not each.deleted]
        made = self._make(target, item.name, item.kind, to if isinstance(to, Item) else None)
        made.versions, made.fields = item.versions, item.fields
        for each in inner:
            self.move(each, made)
        self.delete(item)
        return made

    def delete(self, item: Item) -> None:
        self._said(f"{_what(item)} deleted")
        if not self.gaps.below_deleted:
            for each in item.below():
                if not each.gone:
                    self.log(each)
        item.deleted = True
        self.log(item)

    def undelete(self, item: Item) -> None:
        """Back from the recycle bin, with everything that went with it."""
        self._said(f"{_what(item)} restored")
        item.deleted = False
        for each in [item, *item.below()]:
            if not each.gone:
                each.etag += 1
                self.log(each)

    def log(self, item: Item, *, sharing: bool = False, told_shared: bool = False) -> None:
        self.number += 1
        item.library.log.append(Changed(self.number, item, self.at, sharing, told_shared))

    # ------------------------------------------------------------ looking

    def documents(self) -> list[Item]:
        """Everything that could be a document, gone or not."""
        return [
            item for site in self.collections for web in site.webs for library in web.lists for item in library.items
            if item.kind != "folder"
        ]  # fmt: skip

    def user_by_name(self, upn: str) -> User | None:
        live = (user for user in self.users.values() if not user.deleted)
        return next((user for user in live if user.upn.casefold() == upn.casefold()), None)

    def role_title(self, site: Collection, role: Role) -> str:
        return TITLES[site.language].get(role.name, role.name)


def z(moment: datetime) -> str:
    """A time as both APIs write it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _collection(what: Securable) -> Collection:
    match what:
        case Web():
            return what.collection
        case Library():
            return what.web.collection
        case Item():
            return what.library.web.collection
    raise TypeError(what)


def _id(who: User | Group) -> str:
    return who.oid if isinstance(who, User) else who.id


def _name(who: Principal) -> str:
    match who:
        case OwnersOf(group):
            return f"owners of {group.name}"
        case Claim() | Entry():
            return who.title
    return who.name


def _names(who: tuple[Principal, ...]) -> str:
    return ", ".join(_name(each) for each in who) or "nobody"


def _what(what: Securable) -> str:
    match what:
        case Web() | Library():
            return what.path
        case Item():
            return what.path
    return "?"
