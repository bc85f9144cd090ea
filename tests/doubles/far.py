"""An outside system in memory with spaces, folders and pages, and a source that reads it as far sources do."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from connectors.errors import Stop, Transient
from connectors.ports import Event, FarSource, Feed, Finding, Membership, Memory, SourceConfig
from connectors.records import (
    Change,
    Checkpoint,
    Inherits,
    Node,
    Own,
    Skipped,
    SourceDocument,
)
from connectors.sync.placing import Join, Place
from connectors.sync.settle import mark, refused, settle, settled, unsettled
from policies.access import AccessExpr, Unknown
from policies.facts import Kind, Resource
from policies.names import DocumentId, Principal

LEASE = timedelta(hours=24)


@dataclass(slots=True)
class Page:
    """A page, or a folder without a text; `readers` of None: it has no rules of its own; `unread`: they are hidden."""

    space: str
    parent: str
    readers: frozenset[str] | None = None
    text: str | None = None
    version: int = 1
    unread: bool = False


@dataclass(slots=True)
class Far:
    """The system itself; changed by tests as people would."""

    spaces: dict[str, frozenset[str]] = field(default_factory=dict)
    pages: dict[str, Page] = field(default_factory=dict)
    refusing: set[str] = field(default_factory=set)  # spaces that it does not show us
    failing: set[str] = field(default_factory=set)  # spaces that it can't show now

    def space(self, name: str, *readers: str) -> None:
        self.spaces[name] = frozenset(readers)

    def page(self, key: str, at: str, text: str | None = "", readers: Collection[str] | None = None) -> None:
        """Add a page below another one or directly in a space."""
        space = at if at in self.spaces else self.pages[at].space
        rules = None if readers is None else frozenset(readers)
        self.pages[key] = Page(space, at, rules, f"Text of {key}." if text == "" else text)

    def write(self, key: str, text: str) -> None:
        self.pages[key].text = text
        self.pages[key].version += 1

    def restrict(self, key: str, *readers: str) -> None:
        self.pages[key].readers = frozenset(readers)

    def unrestrict(self, key: str) -> None:
        self.pages[key].readers = None

    def below(self, key: str) -> list[str]:
        return [key, *(each for child, page in self.pages.items() if page.parent == key for each in self.below(child))]

    def move(self, key: str, at: str) -> None:
        space = at if at in self.spaces else self.pages[at].space
        self.pages[key].parent = at
        for each in self.below(key):
            self.pages[each].space = space

    def delete(self, key: str) -> None:
        for each in self.below(key):
            del self.pages[each]


@dataclass(slots=True)
class FarPages:
    """Port `Source` on such a system. `sees_everything`: every run enumerates; else it looks at `looks_at` alone."""

    name: str
    far: Far
    memory: Memory
    join: Join = Join.AND
    sees_everything: bool = True
    looks_at: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)  # pages whose text can't be had now

    async def changes(self, cursor: str | None, now: datetime) -> AsyncGenerator[Change, None]:
        done: list[str] = []
        problems: list[str] = []
        due = (
            set(await unsettled(self.memory))
            | self.looks_at
            | (set(self.far.spaces) if self.sees_everything else set())
        )
        for space in sorted(due & self.far.spaces.keys()):
            if space in self.far.refusing:
                yield refused(space, "403")
                continue
            if space in self.far.failing:
                problems.append(f"{space} could not be read")
                continue
            await mark(self.memory, space)
            await self.memory.put([*self._nodes(space, now)])
            walk = now.isoformat() if self.sees_everything else None
            async for change in settle(
                self.memory,
                space,
                _access(self.far.spaces[space]),
                self.join,
                LEASE,
                now,
                self.name,
                walk=walk,
                describe=self._describe,
                everything=cursor is None,
            ):
                yield change
            done.append(space)
        yield Checkpoint(now.isoformat(), complete=not problems, whole=False, problems=tuple(problems))
        await settled(self.memory, done)

    def _nodes(self, space: str, now: datetime) -> list[Node]:
        walk = now.isoformat()
        found = [Node(space, None, space, "space", Own(_access(self.far.spaces[space])), now, False, walk=walk)]
        for key, page in self.far.pages.items():
            if page.space == space:
                rules = Inherits() if page.readers is None else Own(_access(page.readers))
                if page.unread:
                    rules = Own(Unknown("403"))
                document = page.text is not None
                found.append(Node(key, page.parent, space, "page", rules, now, document, f"v{page.version}", walk))
        return found

    async def _describe(self, node: Node, place: Place) -> Sequence[SourceDocument] | Skipped:
        document = DocumentId(self.name, node.key)
        if node.key in self.unreadable:
            raise Transient("the text could not be had")
        page = self.far.pages[node.key]
        if page.text == "broken":
            return Skipped(document, "it is broken")

        async def read() -> bytes:
            text = self.far.pages[node.key].text
            if text is None:
                raise Stop("a folder has no text")
            return text.encode()

        told = SourceDocument(
            id=document,
            version=node.mark,
            revision=node.mark,
            title=node.key,
            url=f"https://far.example/{node.key}",
            media_type="text/plain",
            scope_root=place.scope_root,
            read=read,
            ancestors=place.ancestors,
        )
        return [told]


def _access(readers: Collection[str]) -> AccessExpr:
    return AccessExpr.any_of(*(Principal.group(name) for name in readers))


@dataclass(slots=True)
class Told:
    """A `Rights`, `LiveCheck` and `Hook` that say what a test wants, and how such a source is opened."""

    far: Far
    accounts: dict[str, Membership] = field(default_factory=dict)
    everyone: frozenset[Principal] = frozenset()
    rules_everybody: bool = False
    provider: str = "far:here"
    findings: tuple[Finding, ...] = (Finding("account", True),)
    readable_to: Callable[[str, DocumentId], bool | None] | None = None  # None: there is no live check
    live_for: Callable[[Resource], bool] = lambda _resource: True
    secrets: list[str] = field(default_factory=list)  # that it was opened with
    hurried: list[bool] = field(default_factory=list)
    open_now: int = 0
    every: timedelta = timedelta(minutes=5)

    async def membership(self, account: str, kind: Kind, now: datetime) -> Membership:
        return self.accounts.get(account, Membership(False, frozenset()))

    async def readable(self, account: str, documents: Sequence[DocumentId], now: datetime) -> dict[DocumentId, bool]:
        assert self.readable_to is not None
        found = {document: self.readable_to(account, document) for document in documents}
        return {document: verdict for document, verdict in found.items() if verdict is not None}

    def events(self, headers: Mapping[str, str], query: Mapping[str, str], body: bytes) -> list[Event] | None:
        if headers.get("X-Far-Signature") != "good":
            return None
        return [Event(*each) for each in json.loads(body)]

    async def probe(self, now: datetime) -> tuple[Finding, ...]:
        return self.findings

    @asynccontextmanager
    async def open(
        self, config: SourceConfig, secret: Callable[[Mapping[str, str]], str], memory: Memory, *, hurried: bool
    ) -> AsyncIterator[FarSource]:
        self.secrets.append(secret(config.settings["secret"]))
        self.hurried.append(hurried)
        self.open_now += 1
        try:
            yield FarSource(
                source=FarPages(config.name, self.far, memory),
                rights=self,
                feeds=(Feed("changes", self.every, True), Feed("sweep", timedelta(hours=4), True)),
                stale_grant_bound=LEASE,
                probe=self.probe,
                live=self if self.readable_to is not None else None,
                live_for=self.live_for,
                hook=self,
            )
        finally:
            self.open_now -= 1
