"""The state of a Confluence: spaces, content of every kind, people, groups, rights; every mutation is written down.

Nothing here answers a question about rights, and nothing is served from here: the `oracle` beside it says who may read
what, `serving` says it over HTTP. Time is the wiki's own and goes on with each mutation. Rights are changed by
methods only: what the server remembers is forgotten by the mutation log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from zoneinfo import ZoneInfo

START = datetime(2030, 1, 1, 8, 0, tzinfo=UTC)
CONTAINERS = frozenset({"page", "folder", "whiteboard", "database", "embed"})
LEAVES = frozenset({"attachment", "comment"})  # stand under what they belong to, and have its rights


@dataclass(slots=True)
class Person:
    """An account. `account` is the accountId on Cloud and the userKey on Data Center."""

    account: str
    name: str
    username: str
    email: str | None = None
    kind: str = "atlassian"  # atlassian | app | customer
    active: bool = True
    licensed: bool = True  # may use the product at all
    guest: bool = False
    admin: bool = False  # a product admin; on Data Center that is being in the group of administrators
    hides_email: bool = False
    email_verified: bool | None = True  # None: the organisation does not tell
    managed: bool = True  # by the organisation


@dataclass(slots=True)
class Group:
    """A group; on Data Center its name is all that anybody is told of it."""

    id: str
    name: str
    members: set[str] = field(default_factory=set)
    includes: set[str] = field(default_factory=set)  # groups inside it, as a directory like Crowd allows
    gone: bool = False  # deleted, and still named by what was restricted to it
    access: str | None = None  # "user" or "admin": being in it gives the product, or its administration


@dataclass(slots=True)
class Limit:
    """A restriction of one operation: only these people and groups."""

    users: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.users or self.groups)


@dataclass(frozen=True, slots=True)
class Grant:
    """One row of a space's permissions."""

    kind: str  # user | group | access-class | a word that no document knows
    id: str
    operation: str = "read"
    target: str = "space"


@dataclass(frozen=True, slots=True)
class Assigned:
    """One row of a space's roles."""

    kind: str  # USER | GROUP | ACCESS_CLASS
    id: str
    role: str


@dataclass(slots=True)
class Role:
    """A named set of space permissions."""

    id: str
    name: str
    permissions: tuple[str, ...]
    hidden: bool = False  # referred to, and nobody may read it


@dataclass(slots=True)
class Space:
    """A space."""

    id: str
    key: str
    name: str
    kind: str = "global"
    status: str = "current"
    grants: list[Grant] = field(default_factory=list)
    assigned: list[Assigned] = field(default_factory=list)
    blocked: bool = False  # a data security policy keeps apps out
    gone: bool = False


@dataclass(slots=True)
class Content:
    """A page, a blog post, a folder, a whiteboard, a database, an attachment or a comment."""

    id: str
    kind: str
    space: str  # its id
    parent: str | None
    title: str
    body: str = ""  # storage format
    adf: str | None = None
    status: str = "current"  # current | draft | trashed | archived | deleted
    version: int = 1
    created: datetime = START
    modified: datetime = START
    before: datetime = START  # of the version before, which a slow search index still has
    author: str = ""
    owner: str = ""
    labels: list[str] = field(default_factory=list)
    subtype: str | None = None  # "live"
    read: Limit = field(default_factory=Limit)
    update: Limit = field(default_factory=Limit)
    media_type: str = ""
    bytes: bytes = b""
    inline: bool = False  # of a comment
    broken: bool = False  # its body can't be rendered: the server fails where it is asked for
    past: list[Content] = field(default_factory=list)  # the versions before, oldest first
    ancestors_wrong: tuple[str, ...] | None = None  # what a damaged ancestor table says (CONFSERVER-25189)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the mutation log."""

    number: int
    at: datetime
    what: str  # the event's name, in the words of webhooks
    key: str  # content id, or space key, or group or account id
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Wiki:
    """Everything there is. `mutated` is called after each mutation with its line of the log."""

    edition: str = "cloud"  # cloud | datacenter
    release: str = "9.4.0"  # of Data Center
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))  # of time literals in CQL
    lag: timedelta = timedelta(0)  # of the search index
    roles_mode: str = "PRE_ROLES"
    anonymous_on: bool = True  # the site lets anonymous people in at all
    super_group: str = "confluence-administrators"
    everybody_group: str = "confluence-users"  # whose members may use the product
    at: datetime = START
    people: dict[str, Person] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    spaces: dict[str, Space] = field(default_factory=dict)
    content: dict[str, Content] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    log: list[Entry] = field(default_factory=list)
    mutated: Callable[[Entry], None] = lambda _entry: None
    _next: int = 1000
    _tree: dict[str | None, list[Content]] = field(default_factory=dict)
    _tree_at: tuple[int, int] = (-1, -1)

    # ------------------------------------------------------------ reading

    def space_of(self, key: str) -> Space:
        """The space with this id or key; of those that had the key one after the other, the last."""
        found = self.spaces.get(key)
        return found if found else next(each for each in reversed(self.spaces.values()) if each.key == key)

    def children(self, key: str) -> Iterator[Content]:
        """What stands directly under a content."""
        return iter(self._under().get(key, ()))

    def _under(self) -> dict[str | None, list[Content]]:
        """What stands under what, remembered until the next mutation."""
        mark = (len(self.log), len(self.content))
        if self._tree_at != mark:
            self._tree, self._tree_at = {}, mark
            for each in self.content.values():
                self._tree.setdefault(each.parent, []).append(each)
        return self._tree

    def below(self, key: str) -> list[Content]:
        """What stands under a content at any depth, without itself."""
        found: list[Content] = []
        waiting, under = [key], self._under()
        while waiting:
            children = under.get(waiting.pop(), [])
            found += children
            waiting += [each.id for each in children]
        return found

    def chain(self, content: Content) -> list[Content]:
        """Its ancestors, the nearest first; a circle ends where it closes."""
        found: list[Content] = []
        at = content
        while at.parent is not None and at.parent in self.content and len(found) < 1000:
            at = self.content[at.parent]
            if at in found or at is content:
                break
            found.append(at)
        return found

    # ------------------------------------------------------------ people

    def person(self, account: str, **more: Any) -> Person:
        """Somebody new."""
        username = more.pop("username", account)
        email = more.pop("email", f"{username}@example.com")
        made = Person(account, more.pop("name", account.title()), username, email, **more)
        self.people[account] = made
        if made.licensed and not made.guest:
            self._gives("user", self.everybody_group).members.add(account)
        if made.licensed and made.admin:
            name = self.super_group if self.edition == "datacenter" else "confluence-admins"
            self._gives("admin", name).members.add(account)
        return made

    def _gives(self, access: str, name: str) -> Group:
        made = self.group(name)
        made.access = access
        return made

    def group(self, name: str, *members: str, includes: Iterable[str] = (), key: str = "") -> Group:
        """A group, and who is in it besides those who were."""
        key = key or (name if self.edition == "datacenter" else f"gid-{sha256(name.encode()).hexdigest()[:12]}")
        made = self.groups.setdefault(key, Group(key, name))
        made.members.update(members)
        made.includes.update(includes)
        made.gone = False
        return made

    def join(self, account: str, group: str) -> None:
        self.groups[group].members.add(account)
        self._told("group_member_added", group, account=account)

    def leave(self, account: str, group: str) -> None:
        self.groups[group].members.discard(account)
        self._told("group_member_removed", group, account=account)

    def delete_group(self, group: str) -> None:
        """The group is gone; restrictions still name it."""
        self.groups[group].gone = True
        self.groups[group].members.clear()
        self._told("group_removed", group)

    def deactivate(self, account: str) -> None:
        self.people[account].active = False
        self._told("user_deactivated", account)

    def reactivate(self, account: str) -> None:
        self.people[account].active = True
        self._told("user_reactivated", account)

    # ------------------------------------------------------------ spaces

    def space(self, key: str, *grants: Grant, **more: Any) -> Space:
        """A new space."""
        made = Space(self._id(), key, more.pop("name", key.title()), grants=list(grants), **more)
        self.spaces[made.id] = made
        self._told("space_created", key)
        return made

    def grant(self, space: str, *grants: Grant) -> None:
        """These rows come to the space's permissions."""
        held = self.space_of(space)
        held.grants += [each for each in grants if each not in held.grants]
        self._told("space_permissions_updated", held.key)

    def revoke(self, space: str, *grants: Grant) -> None:
        held = self.space_of(space)
        held.grants = [each for each in held.grants if each not in grants]
        self._told("space_permissions_updated", held.key)

    def assign(self, space: str, *rows: Assigned) -> None:
        held = self.space_of(space)
        held.assigned += [each for each in rows if each not in held.assigned]
        self._told("space_permissions_updated", held.key)

    def unassign(self, space: str, *rows: Assigned) -> None:
        held = self.space_of(space)
        held.assigned = [each for each in held.assigned if each not in rows]
        self._told("space_permissions_updated", held.key)

    def role(self, name: str, *permissions: str, hidden: bool = False) -> Role:
        made = Role(f"role-{len(self.roles) + 1}", name, permissions, hidden)
        self.roles[made.id] = made
        return made

    def block(self, space: str, blocked: bool = True) -> None:
        """A data security policy of the company keeps apps out of a space, or lets them in again."""
        held = self.space_of(space)
        held.blocked = blocked
        self._told("space_updated", held.key)

    def archive_space(self, space: str) -> None:
        held = self.space_of(space)
        held.status = "archived"
        self._told("space_updated", held.key)

    def delete_space(self, space: str) -> None:
        held = self.space_of(space)
        held.gone = True
        for each in [each for each in self.content.values() if each.space == held.id]:
            each.status = "deleted"
        self._told("space_removed", held.key)

    # ------------------------------------------------------------ content

    def add(self, kind: str, space: str, title: str, body: str = "", parent: str | None = None, **more: Any) -> Content:
        """New content of a kind, by default at the top of its space."""
        held = self.space_of(space)
        made = Content(self._id(), kind, held.id, parent, title, body, **more)
        if kind == "attachment":
            made.id = f"att{made.id}"
        self._passes()
        made.created = made.modified = made.before = self.at
        self.content[made.id] = made
        self._told(f"{_word(kind)}_created", made.id)
        return made

    def page(self, space: str, title: str, body: str = "", parent: str | None = None, **more: Any) -> Content:
        return self.add("page", space, title, body or f"<p>{title} says so.</p>", parent, **more)

    def attach(self, parent: str, title: str, data: bytes, media_type: str, **more: Any) -> Content:
        """A file beside a page."""
        space = self.content[parent].space
        return self.add("attachment", space, title, parent=parent, bytes=data, media_type=media_type, **more)

    def comment(self, parent: str, body: str, inline: bool = False) -> Content:
        """A remark under a page, or a reply under a remark."""
        holder = self.content[parent]
        return self.add("comment", holder.space, f"Re: {holder.title}", body, parent, inline=inline or holder.inline)

    def edit(self, key: str, **changed: Any) -> None:
        """A new version: another title, body, bytes or owner."""
        held = self.content[key]
        held.past.append(replace(held, past=[]))
        for name, value in changed.items():
            setattr(held, name, value)
        held.version += 1
        self._passes()
        held.before, held.modified = held.modified, self.at
        self._told(f"{_word(held.kind)}_updated", key)

    def label(self, key: str, *labels: str) -> None:
        """Other labels; no version moves."""
        self.content[key].labels = list(labels)
        self._told("label_added", key)

    def restrict(self, key: str, users: Iterable[str] = (), groups: Iterable[str] = ()) -> None:
        """Only these may view it, and what is below; nobody named lifts the restriction. No version moves."""
        self.content[key].read = Limit(set(users), set(groups))
        self._told("content_permissions_updated", key)

    def restrict_update(self, key: str, users: Iterable[str] = (), groups: Iterable[str] = ()) -> None:
        """Only these may edit it, which says nothing about reading."""
        self.content[key].update = Limit(set(users), set(groups))
        self._told("content_permissions_updated", key)

    def move(self, key: str, parent: str | None = None, space: str | None = None) -> None:
        """It and all below stand elsewhere, maybe in another space; no version moves."""
        held = self.content[key]
        old = held.parent
        held.parent = parent
        target = self.space_of(space).id if space else (self.content[parent].space if parent else held.space)
        for each in [held, *self.below(key)]:
            each.space = target
        self._told("page_moved", key, old_parent=old)

    def trash(self, key: str) -> None:
        """It goes to the trash with what belongs to it; its children move up to its parent, as Confluence does."""
        held = self.content[key]
        held.status = "trashed"
        for each in list(self.children(key)):
            if each.kind in LEAVES:
                self._with_leaves(each, "trashed")
            elif each.status in ("current", "archived", "draft"):
                each.parent = held.parent
        self._told(f"{_word(held.kind)}_trashed", key)

    def restore(self, key: str) -> None:
        """Back from the trash; its restrictions and what belongs to it come back with it."""
        held = self.content[key]
        held.status = "current"
        parent = self.content.get(held.parent or "")
        if parent is not None and parent.status not in ("current", "archived"):
            held.parent = None
        for each in self.children(key):
            if each.kind in LEAVES:
                self._with_leaves(each, "current")
        self._told(f"{_word(held.kind)}_restored", key)

    def purge(self, key: str) -> None:
        """Gone for good."""
        held = self.content[key]
        if held.status == "current":
            self.trash(key)
        for each in self.below(key):
            each.status = "deleted"
        held.status = "deleted"
        self._told(f"{_word(held.kind)}_removed", key)

    def archive(self, key: str, archived: bool = True) -> None:
        """Out of the tree, its children one level up; it is still there for whoever looks for it."""
        held = self.content[key]
        held.status = "archived" if archived else "current"
        for each in list(self.children(key)):
            if archived and each.kind not in LEAVES:
                each.parent = held.parent
        self._told(f"{_word(held.kind)}_archived" if archived else f"{_word(held.kind)}_unarchived", key)

    def _with_leaves(self, leaf: Content, status: str) -> None:
        leaf.status = status
        for each in self.below(leaf.id):
            each.status = status

    def _passes(self) -> None:
        self.at += timedelta(milliseconds=250)

    def _id(self) -> str:
        self._next += 7
        return str(self._next)

    def _told(self, what: str, key: str, **more: Any) -> None:
        self._passes()
        entry = Entry(len(self.log) + 1, self.at, what, key, more)
        self.log.append(entry)
        self.mutated(entry)


def _word(kind: str) -> str:
    return {"blogpost": "blog"}.get(kind, kind)


def everyone() -> Grant:
    """Everybody with a licence may view the space."""
    return Grant("access-class", "all-licensed-users")


def anonymous() -> Grant:
    """Anybody may view the space."""
    return Grant("access-class", "anonymous-users")


def user(account: str, operation: str = "read", target: str = "space") -> Grant:
    return Grant("user", account, operation, target)


def group(key: str, operation: str = "read", target: str = "space") -> Grant:
    return Grant("group", key, operation, target)
