"""What a tenant is, at every moment: people, groups, sites, libraries, files, and who was given what.

Plain objects that the servers read from and that a test changes through `Tenant`'s deeds. Nothing in here answers the
question who may read something: that is the oracle's, and the product's.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, UUID, uuid5

from tests.doubles.sharepoint.roles import Role

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


class Ids:
    """Ids that look like a tenant's own and are the same in every run."""

    def __init__(self, seed: str) -> None:
        self._seed, self._count = seed, 0

    def guid(self) -> str:
        self._count += 1
        return str(uuid5(NAMESPACE_URL, f"{self._seed}/{self._count}"))

    def drive(self) -> str:
        return "b!" + base64.urlsafe_b64encode(UUID(self.guid()).bytes + UUID(self.guid()).bytes).decode().rstrip("=")

    def item(self) -> str:
        return "01" + base64.b32encode(UUID(self.guid()).bytes + UUID(self.guid()).bytes[:4]).decode()


# ---------------------------------------------------------------- Entra


@dataclass(slots=True, eq=False)
class User:
    """Somebody of the directory."""

    oid: str
    upn: str
    name: str
    guest: bool = False
    enabled: bool = True
    deleted: bool = False


@dataclass(slots=True, eq=False)
class Group:
    """A group or a directory role; members are people and groups."""

    id: str
    name: str
    kind: str = "security"  # security | unified | role
    members: set[str] = field(default_factory=set)  # ids of people and groups
    owners: set[str] = field(default_factory=set)  # ids of people
    hidden: bool = False  # membership is told to nobody without Member.Read.Hidden
    deleted: bool = False


# ---------------------------------------------------------------- sites


@dataclass(frozen=True, slots=True)
class OwnersOf:
    """The owners of a group as one principal, `{guid}_o`."""

    group: Group


@dataclass(frozen=True, slots=True)
class Claim:
    """Any other principal, by its login name."""

    login: str
    title: str


@dataclass(slots=True, eq=False)
class Link:
    """A sharing link of one file or folder. Who redeemed it stands in its site group."""

    guid: str
    item: Item
    scope: str  # users | organization | anonymous
    role: Role
    kind: str  # as in the group's name: Flexible, OrganizationView, AnonymousView
    group: Entry
    expires: datetime | None = None
    password: bool = False
    removed: bool = False


@dataclass(slots=True, eq=False)
class Entry:
    """A principal as one site collection knows it: somebody of its user list, or one of its own groups."""

    id: int
    login: str
    title: str
    type: int  # 1 user, 4 security group or claim, 8 group of the site
    oid: str | None = None  # the directory's id at the time of its entry; stays when a name is handed to another
    members: set[int] = field(default_factory=set)
    link: Link | None = None


@dataclass(slots=True, eq=False)
class Securable:
    """Something that can have rights of its own."""

    parent: Securable | None
    unique: bool
    grants: dict[int, set[Role]]

    def scope(self) -> Securable:
        """Itself or the nearest above it whose rights count."""
        here: Securable = self
        while not here.unique and here.parent is not None:
            here = here.parent
        return here


@dataclass(slots=True, eq=False)
class Collection:
    """A site collection."""

    tenant: str
    id: str
    path: str  # server-relative: /sites/hr
    title: str
    language: str
    entries: dict[int, Entry] = field(default_factory=dict)
    admins: set[int] = field(default_factory=set)
    webs: list[Web] = field(default_factory=list)
    restricted_to: frozenset[str] | None = None  # groups that a reader has to be in, too
    personal: bool = False
    refuses: int = 0  # the status that everything of it is answered with; 0: it answers
    last_id: int = 0

    def next_id(self) -> int:
        self.last_id += 1
        return self.last_id

    @property
    def web(self) -> Web:
        return self.webs[0]

    def entry(self, login: str) -> Entry | None:
        return next((each for each in self.entries.values() if each.login == login), None)

    def site_group(self, title: str) -> Entry:
        return next(each for each in self.entries.values() if each.type == 8 and each.title == title)


@dataclass(slots=True, eq=False)
class Web(Securable):
    """A site or a subsite."""

    collection: Collection
    id: str
    path: str
    title: str
    lists: list[Library] = field(default_factory=list)
    no_crawl: bool = False
    deleted: bool = False


@dataclass(slots=True, eq=False)
class Changed:
    """A line of a library's log."""

    number: int
    item: Item
    at: datetime
    sharing: bool  # nothing but who may read it
    told_shared: bool  # with the annotation that its sharing changed


@dataclass(slots=True, eq=False)
class Library(Securable):
    """A library, a list, or the pages of a site."""

    web: Web
    id: str
    title: str
    folder: str  # of its URL: `Shared Documents` whatever the title is
    template: int  # 101 library, 100 list, 119 pages
    drive: str | None
    root: str  # the id of its drive's root
    items: list[Item] = field(default_factory=list)
    by_drive_item: dict[str, Item] = field(default_factory=dict)
    by_number: dict[int, Item] = field(default_factory=dict)
    log: list[Changed] = field(default_factory=list)
    hidden: bool = False
    system: bool = False
    no_crawl: bool = False
    read_security: int = 1  # 2: everybody reads but his own
    minor_versions: bool = False
    moderation: bool = False
    draft_visibility: int = 0
    deleted: bool = False

    @property
    def path(self) -> str:
        return f"{self.web.path.rstrip('/')}/{self.folder}"

    def live(self) -> Iterator[Item]:
        return (item for item in self.items if not item.gone)


@dataclass(slots=True)
class Version:
    """One version of a file, an item or a page."""

    id: str  # 1.0, 1.1
    body: bytes
    at: datetime
    published: bool


@dataclass(slots=True, eq=False)
class Item(Securable):
    """A file, a folder, an item of a list, a page."""

    library: Library
    number: int  # unique in its list
    unique_id: str
    drive_item: str
    name: str
    kind: str  # file | folder | item | page
    created: datetime
    modified: datetime
    author: str = ""  # oid
    versions: list[Version] = field(default_factory=list)  # oldest first
    fields: dict[str, object] = field(default_factory=dict)
    etag: int = 1
    ctag: int = 1
    deleted: bool = False
    malware: bool = False
    remote: bool = False  # a shortcut to something elsewhere
    encrypted: bool = False
    label: str | None = None  # sensitivity label, by id
    corrupt: bool = False  # the page API chokes on it
    classic: bool = False  # a page that the page API does not know
    checked_out: bool = False

    @property
    def gone(self) -> bool:
        """Deleted, or below something that is."""
        here: Securable | None = self
        while isinstance(here, Item):
            if here.deleted:
                return True
            here = here.parent
        return False

    @property
    def above(self) -> Item | None:
        return self.parent if isinstance(self.parent, Item) else None

    @property
    def path(self) -> str:
        """Server-relative, not encoded."""
        return f"{self.above.path if self.above else self.library.path}/{self.name}"

    @property
    def published(self) -> Version | None:
        return next((version for version in reversed(self.versions) if version.published), None)

    def below(self) -> Iterator[Item]:
        """Everything in a folder, at any depth."""
        return (each for each in self.library.items if each is not self and self in each.chain())

    def chain(self) -> Iterator[Item]:
        here: Securable | None = self
        while isinstance(here, Item):
            yield here
            here = here.parent
