"""A tenant that is served, and the product's own line on it: its source, ledger, index and verdicts.

    async with House(folder).open() as house:
        site = house.tenant.site("hr")
        await house.sync()
        assert await house.exact()

What a person sees is the policy's verdict on the ledger's facts for each document, with the principals that the
directory gives for the person at that moment; nothing is ranked. What he may see, and what he must, is the oracle's
word.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from connectors.errors import DoorError
from connectors.index.embedded import EmbeddedIndex
from connectors.ledger.memory import SqlMemory
from connectors.ledger.open import Ledger, open_ledger
from connectors.ports import FarSource, IndexIdentity, SourceConfig
from connectors.sources.sharepoint.budget import budget_of
from connectors.sources.sharepoint.open import open_sharepoint
from connectors.sync.run import Doors, SyncReport, sync
from policies.decision import Allowed
from policies.facts import Kind, Moment, Subject
from policies.load import load
from policies.names import DocumentId, Principal
from policies.policy import Policy
from tests.connectors.sync.tree import Killed, Tap
from tests.doubles.sharepoint.oracle import may_read, must_read
from tests.doubles.sharepoint.simulator import SharePoint
from tests.doubles.sharepoint.state import Collection, Group, Item, User
from tests.doubles.sharepoint.tenant import Tenant
from tests.haste import haste
from tests.memory import HashingEmbedder, LineParser, MemoryIndex, MemoryLedger, WordDetector
from tests.remembering import Remembering

NAME = "sp"
RULES = (Path(__file__).parents[1] / "policies" / "rules.toml").read_text(encoding="utf-8")
POLICY: Policy = load(RULES, Principal.group("everyone"))

_TENANTS = count(1)

Seen = dict[str, frozenset[str]]
"""By the oid of a person, the unique ids of the items that he sees."""


@dataclass(slots=True)
class House:
    """One tenant, and the product on it. `ledger_file`: a ledger with its schema that is copied instead of made.
    `in_memory`: ledger and index are those of `tests.memory`, which costs a fraction and means the same."""

    folder: Path
    tenant: Tenant = field(default_factory=Tenant)
    vendor: SharePoint = field(init=False)
    name: str = NAME
    sites: tuple[str, ...] | None = None  # paths; None: every site of the tenant
    settings: dict[str, Any] = field(default_factory=dict)  # over those that the command would give
    without: frozenset[str] = frozenset()  # labels that are excluded
    ledger_file: Path | None = None
    in_memory: bool = False
    pause: timedelta = timedelta(minutes=1)  # before each sync
    ledger: Ledger = field(init=False)
    index: EmbeddedIndex | MemoryIndex = field(init=False)
    memory: Any = field(init=False)  # what the source remembers
    embedder: HashingEmbedder = field(default_factory=HashingEmbedder)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _asking: FarSource | None = None

    def __post_init__(self) -> None:
        self.tenant.id = str(UUID(int=next(_TENANTS)))  # what is remembered of an app in a tenant stays with it
        self.vendor = SharePoint(self.tenant)
        unbounded(self.tenant.id, self.vendor.client)

    # ------------------------------------------------------------ opening

    @asynccontextmanager
    async def open(self) -> AsyncIterator[House]:
        """Serve the tenant and open the product's doors."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "app.pem").write_text(self.vendor.pem)
        async with self._stack as stack:
            stack.enter_context(haste())
            await stack.enter_async_context(self.vendor)
            await self._open_doors(stack)
            yield self

    async def _open_doors(self, stack: AsyncExitStack) -> None:
        identity = IndexIdentity("hashing/1", 64, "1")
        if self.in_memory:
            ledger = MemoryLedger()
            self.ledger = SimpleNamespace(catalog=ledger, facts=ledger)  # type: ignore[assignment]  # as far as it goes
            self.index, self.memory = MemoryIndex(identity), Remembering(ledger, self.name)
            return
        file = self.folder / "ledger.sqlite"
        if self.ledger_file and not file.exists():
            shutil.copy(self.ledger_file, file)
        self.ledger = await stack.enter_async_context(open_ledger(f"sqlite+aiosqlite:///{file}"))
        self.index = await stack.enter_async_context(EmbeddedIndex(self.folder / "index.sqlite", identity))
        self.memory = SqlMemory(self.ledger.door, self.name)

    @property
    def config(self) -> SourceConfig:
        """As `source add sharepoint` would have written it."""
        paths = self.sites if self.sites is not None else [site.path for site in self.tenant.collections]
        given = {
            "tenant": self.tenant.id,
            "client_id": self.vendor.client,
            "certificate": {"secret_file": str(self.folder / "app.pem")},
            "sites": [self.vendor.site_url(path) for path in paths],
            "graph_url": self.vendor.graph_url,
            "login_url": self.vendor.login_url,
        }
        return SourceConfig(self.name, "sharepoint", given | self.settings)

    def secret(self, reference: Mapping[str, str]) -> str:
        return Path(reference["secret_file"]).read_text()

    @asynccontextmanager
    async def far(self, hurried: bool = True, memory: Any = None) -> AsyncIterator[FarSource]:
        """The source, open."""
        async with open_sharepoint(self.config, self.secret, memory or self.memory, hurried=hurried) as far:
            yield far

    def now(self) -> datetime:
        return self.tenant.at

    # ------------------------------------------------------------ syncing

    async def sync(self, *, full: bool = False, hurried: bool = True, tap: Tap | None = None) -> SyncReport:
        """A sync as the command runs it; a minute goes by first. `tap` counts, watches or kills."""
        self.tenant.wait(self.pause)
        on: Callable[[Any], Any] = tap.on if tap else lambda door: door
        doors = Doors(on(self.ledger.catalog), on(self.index), LineParser(), self.embedder, WordDetector())
        async with self.far(hurried, on(self.memory)) as far:
            return await sync(far.source, doors, self.now, full=full)

    async def killed_sync(self, fatal: int, full: bool = False) -> bool:
        """A sync that is killed before its `fatal`-th step; False where it was done before that."""
        try:
            await self.sync(tap=Tap(fatal=fatal), full=full)
        except BaseExceptionGroup as group_of_errors:
            if group_of_errors.subgroup(Killed) is None:
                raise
            return True
        except Killed:
            return True
        return False

    # ------------------------------------------------------------ who sees what

    async def subject(self, user: User, far: FarSource) -> Subject:
        """Somebody as a question sees him: with the principals that the directory gives now."""
        person = Principal.person(f"{user.name.casefold()}@example.com")
        kind = Kind.GUEST if user.guest else Kind.MEMBER
        try:
            found = await far.rights.membership(user.oid, kind, self.now())
        except DoorError:
            return Subject(person, kind, True, frozenset([person]), self.now())
        held = found.principals if found.active else frozenset()
        return Subject(person, kind, found.active, held | {person}, self.now())

    async def subjects(self, *users: User) -> dict[str, Subject]:
        """These people as they are now; everybody of the tenant unless given."""
        if self._asking is None:  # one for all questions, as a process that serves has it
            self._asking = await self._stack.enter_async_context(self.far())
        far = self._asking
        return {user.oid: await self.subject(user, far) for user in users or list(self.tenant.users.values())}

    async def seen(self, *users: User, subjects: Mapping[str, Subject] | None = None) -> Seen:
        """What a verdict allows each of these people now; everybody of the tenant unless given."""
        placed = [each async for each in self.memory.placed()]
        versions = [(DocumentId(self.name, each.key), each.version) for each in placed if each.version]
        resources = await self.ledger.facts.resources(versions)
        moment = Moment(self.now(), self.now().date(), dated=False)
        return {
            oid: frozenset(
                unique_id(document)
                for (document, _), resource in resources.items()
                if isinstance(POLICY.decide(subject, resource, moment), Allowed)
            )
            for oid, subject in (subjects or await self.subjects(*users)).items()
        }

    async def names(self, user: User) -> set[str]:
        """The names of what somebody sees."""
        by_id = {item.unique_id: item.name for item in self.tenant.documents()}
        return {by_id[each] for each in (await self.seen(user))[user.oid]}

    def may(self) -> Seen:
        """What each person could be allowed now, by the oracle."""
        return self._told(lambda oid, item: may_read(self.tenant, oid, item, self.now()))

    def must(self) -> Seen:
        """What each person has to find now, by the oracle."""
        return self._told(lambda oid, item: must_read(self.tenant, oid, item, self.now(), without=self.without))

    def _told(self, reads: Callable[[str, Item], bool]) -> Seen:
        items = [item for item in self.tenant.documents() if self._chosen(item)]
        return {oid: frozenset(item.unique_id for item in items if reads(oid, item)) for oid in self.tenant.users}

    def _chosen(self, item: Item) -> bool:
        return self.sites is None or any(item.library.web.path.startswith(path) for path in self.sites)

    def said(self, pairs: Iterable[tuple[str, str]]) -> list[str]:
        """Pairs of a person and an item, in words."""
        by_id = {item.unique_id: item.path for item in self.tenant.documents()}
        return sorted(f"{self.tenant.users[oid].name}: {by_id.get(each, each)}" for oid, each in pairs)

    async def over(self, *allowed: Seen, subjects: Mapping[str, Subject] | None = None) -> list[str]:
        """Who sees what he may not, in words. `allowed`: what counts as such, by default what the oracle says now."""
        bounds = allowed or (self.may(),)
        seen = await self.seen(subjects=subjects)
        return self.said(
            (oid, each)
            for oid, items in seen.items()
            for each in items
            if not any(each in b.get(oid, ()) for b in bounds)
        )

    async def under(self) -> list[str]:
        """Who misses what, in words."""
        seen = await self.seen()
        return self.said((oid, each) for oid, items in self.must().items() for each in items - seen[oid])

    def stored(self, words: str) -> bool:
        """Whether words stand anywhere in the index, or in its files."""
        if isinstance(self.index, MemoryIndex):
            return any(words in repr(entry) for entry in self.index.entries.values())
        return any(words.encode() in file.read_bytes() for file in self.folder.glob("index.sqlite*"))

    async def alive(self) -> set[str]:
        """The unique ids of the documents that the ledger has not buried."""
        return {unique_id(DocumentId(self.name, each.key)) async for each in self.memory.placed()}


def unbounded(tenant: str, client: str) -> None:
    """The budget of an app is never what is waited for; pauses that the service asks for are."""
    budget = budget_of(tenant, client)
    budget.units_a_minute = budget.calls_a_second = 1e9
    budget.__post_init__()


def unique_id(document: DocumentId) -> str:
    """Keys end with the item's own id: `siteId/listId/itemUniqueId`."""
    return document.key.rpartition("/")[2].casefold()


@dataclass(slots=True)
class Office:
    """The least that a test needs: a site, a library, three people, and a file for its visitors."""

    house: House
    site: Collection
    asha: User
    ben: User
    cleo: User
    staff: Group
    file: Item


@asynccontextmanager
async def office(folder: Path, ledger_file: Path | None = None, **more: Any) -> AsyncIterator[Office]:
    """Asha is in a group that may visit the site; Ben is its only member by name; Cleo is neither."""
    house = House(folder, ledger_file=ledger_file, **more)
    tenant = house.tenant
    asha, ben, cleo = (tenant.person(name) for name in ("asha", "ben", "cleo"))
    staff = tenant.group("staff", asha)
    site = tenant.site("hr")
    tenant.add(site.site_group("Visitors"), staff)
    tenant.add(site.site_group("Members"), ben)
    file = tenant.file(site.web.lists[0], "handbook.md", "The handbook of this company")
    async with house.open():
        yield Office(house, site, asha, ben, cleo, staff, file)
