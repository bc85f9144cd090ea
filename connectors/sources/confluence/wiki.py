"""What the source needs of either edition of Confluence; `cloud` and `datacenter` are the two."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from connectors.records import Inherits, Node, Own
from connectors.sources.confluence.client import Client
from connectors.sources.confluence.mapping import Body, Item, Space
from policies.access import Access

Rules = Inherits | Own


@dataclass(frozen=True, slots=True)
class Seen:
    """An item of an enumeration, with what the same answer held of it whole."""

    item: Item
    rules: Rules | None = None  # its own restriction
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Aside:
    """What search says of a content beside its place."""

    key: str
    rules: Rules | None  # its own restriction, where it was given whole
    labels: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Leaves:
    """Files and comments of pages; not `complete` where the server refused some of them."""

    items: Sequence[Item]
    complete: bool = True
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class Notices:
    """What an admin should know of a run, each said once."""

    said: dict[str, None] = field(default_factory=dict)

    def __call__(self, notice: str) -> None:
        self.said[notice] = None


class Wiki(Protocol):
    """One Confluence. Everything raises Transient where it may be had later, Lost where it is refused."""

    @property
    def client(self) -> Client: ...

    @property
    def missing(self) -> Collection[str]:
        """Kinds of content that the last enumeration could not list, since the server has no list of them."""
        ...

    async def spaces(self, keys: Sequence[str]) -> Sequence[Space]:
        """The current spaces that the account may view: all, or those with these keys."""
        ...

    async def blocked(self) -> frozenset[str]:
        """Keys of spaces whose content a data security policy keeps from apps."""
        ...

    async def access(self, space: Space) -> Access:
        """Who may view a space."""
        ...

    def contents(self, space: Space) -> AsyncIterator[Sequence[Seen]]:
        """Every current page and blog post of a space."""
        ...

    def asides(self, space: Space) -> AsyncIterator[Sequence[Aside]]:
        """Own restrictions and labels of what stands in a space, as far as they can be had many at a time."""
        ...

    async def restriction(self, content: str) -> Rules:
        """The own restriction of one content."""
        ...

    async def one(self, content: str, kind: str) -> Item | None:
        """One content of any status; None where it is gone, or not for us."""
        ...

    async def above(self, item: Item) -> Item | None:
        """The same item with its place, where the server left it out; None where that can't be had."""
        ...

    def changed(self, since: datetime, now: datetime, spaces: Sequence[Space]) -> AsyncIterator[Sequence[Item]]:
        """Current pages, blog posts, files and comments changed at or after a server time, of these spaces or of all
        where there are none; some of others may be among them."""
        ...

    async def leaves(self, space: Space, holders: Sequence[Item]) -> Leaves:
        """Every current file and comment of these pages and blog posts."""
        ...

    async def body(self, node: Node) -> Body:
        """The text of a page, blog post or comment."""
        ...

    def earlier(self, node: Node, number: int) -> AsyncGenerator[Body, None]:
        """The texts of a page before its version of this number, the newest first; without what was deleted of them."""
        ...

    async def file(self, node: Node) -> bytes:
        """The bytes of an attachment."""
        ...
