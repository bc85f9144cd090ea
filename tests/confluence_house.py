"""A wiki that is served, and the product's own line on it: its source, ledger, index and verdicts.

    house = House(folder, stocked())
    async with house.open():
        await house.sync()
        assert await house.visible("ann") == house.expected("ann")
        house.wiki.restrict(page, users=["robot"])
        await house.sync()

What a person sees is the policy's verdict on the ledger's facts for each document, with the principals that the wiki
gives for the person at that moment; nothing is ranked. What he should see is the oracle's word, as far as the account
that reads for us could bring it in.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from connectors.errors import DoorError
from connectors.index.embedded import EmbeddedIndex
from connectors.ledger.memory import SqlMemory
from connectors.ledger.open import Ledger, open_ledger
from connectors.ports import FarSource, IndexIdentity, SourceConfig
from connectors.records import Search
from connectors.sources.confluence.client import Pace
from connectors.sources.confluence.open import open_confluence
from connectors.sync.run import Doors, SyncReport, sync
from policies.clearance import clear
from policies.decision import Allowed
from policies.facts import Kind, Moment, Subject
from policies.load import load
from policies.names import DocumentId, Principal
from policies.policy import Policy
from policies.predicate import Narrowing
from tests.connectors.sync.tree import Killed, Tap
from tests.doubles.confluence import oracle
from tests.doubles.confluence.hooks import SECRET, deliveries
from tests.doubles.confluence.serving import TOKEN, Server
from tests.doubles.confluence.wiki import Content, Wiki, anonymous, everyone, group, user
from tests.memory import HashingEmbedder, LineParser, WordDetector

NAME = "wiki"
RULES = (Path(__file__).parents[1] / "policies" / "rules.toml").read_text(encoding="utf-8")
POLICY: Policy = load(RULES, Principal.group("everyone"))
HASTE = Pace(first_pause=0.005)  # between attempts; a second is long for a test
MINUTE = timedelta(minutes=1)  # goes by before each sync
SPARE = ("robot", "ann", "bob", "gus", "una", "ina", "adm")  # people of a stocked wiki who may ask


def stocked(edition: str = "cloud", **more: Any) -> Wiki:
    """People of every kind, three spaces, and a tree with every kind of container in it."""
    wiki = Wiki(edition=edition, **more)
    wiki.person("robot", email="robot@example.com", admin=True)
    wiki.person("ann")
    wiki.person("bob", hides_email=True)
    wiki.person("gus", guest=edition == "cloud")
    wiki.person("una", licensed=False)
    wiki.person("ina", active=False)
    wiki.person("adm", admin=edition == "cloud")
    wiki.person("bot", kind="app")
    hr, eng = wiki.group("hr", "ann", "robot").id, wiki.group("eng", "ann", "bob").id
    wiki.group("Weird / Group's & Co", "bob")
    if edition == "datacenter":
        wiki.group("staff", includes=[eng])
        everybody = group(wiki.everybody_group)
    else:
        everybody = everyone()
    wiki.space("ENG", everybody, user("bob", "create", "page"))
    wiki.space("HR", group(hr), user("gus", "delete", "page"))
    wiki.space("PUB", anonymous(), everybody)
    top = wiki.page("ENG", "Top")
    mid = wiki.page("ENG", "Middle", parent=top.id)
    wiki.page("ENG", "Leaf", parent=mid.id)
    if edition == "cloud":
        folder = wiki.add("folder", "ENG", "Folder", parent=top.id)
        board = wiki.add("whiteboard", "ENG", "Board", parent=folder.id)
        wiki.page("ENG", "In the folder", parent=folder.id)
        wiki.page("ENG", "Under the board", parent=board.id)
    wiki.add("blogpost", "ENG", "News", body="<p>News are told.</p>")
    wiki.attach(mid.id, "notes.txt", b"Notes beside the middle.", "text/plain")
    wiki.comment(mid.id, "<p>A remark on the middle.</p>")
    wiki.page("HR", "Pay", "<p>Band four pays much.</p>")
    wiki.page("PUB", "Welcome")
    wiki.at += timedelta(minutes=10)
    return wiki


@dataclass(slots=True)
class House:
    """One wiki, and the product on it. `ledger_file`: a ledger with its schema that is copied instead of made."""

    folder: Path
    wiki: Wiki
    server: Server = field(init=False)
    name: str = NAME
    settings: dict[str, Any] = field(default_factory=dict)  # over those that the command would give
    parser: Any = field(default_factory=LineParser)
    ledger_file: Path | None = None
    policy: Policy = POLICY
    base: str = ""
    ledger: Ledger = field(init=False)
    index: EmbeddedIndex = field(init=False)
    embedder: HashingEmbedder = field(default_factory=HashingEmbedder)
    told: int = 0  # lines of the mutation log that webhooks have told

    def __post_init__(self) -> None:
        self.server = Server(self.wiki)

    # ------------------------------------------------------------ opening

    @asynccontextmanager
    async def open(self) -> AsyncIterator[House]:
        """Serve the wiki and open the product's doors."""
        self.folder.mkdir(parents=True, exist_ok=True)
        async with AsyncExitStack() as stack:
            self.base = await stack.enter_async_context(self.server.open())
            await stack.enter_async_context(self._doors())
            yield self

    @asynccontextmanager
    async def _doors(self) -> AsyncIterator[None]:
        file = self.folder / "ledger.sqlite"
        if self.ledger_file and not file.exists():
            shutil.copy(self.ledger_file, file)
        async with (
            open_ledger(f"sqlite+aiosqlite:///{file}") as self.ledger,
            EmbeddedIndex(self.folder / "index.sqlite", IndexIdentity("hashing/1", 64, "1")) as self.index,
        ):
            yield

    @property
    def config(self) -> SourceConfig:
        """As `source add confluence` would have written it."""
        given = {
            "base_url": self.base,
            "edition": self.wiki.edition,
            "auth": "bearer",
            "secret": {"secret_env": "WIKI_TOKEN"},
            "webhook_secret": {"secret_env": "WIKI_HOOK"},
        }
        return SourceConfig(self.name, "confluence", given | self.settings)

    @property
    def memory(self) -> SqlMemory:
        return SqlMemory(self.ledger.door, self.name)

    def secret(self, reference: Mapping[str, str]) -> str:
        return {"WIKI_TOKEN": TOKEN, "WIKI_HOOK": SECRET}[reference["secret_env"]]

    @asynccontextmanager
    async def far(self, hurried: bool = True, memory: Any = None) -> AsyncIterator[FarSource]:
        """The source, open."""
        async with open_confluence(self.config, self.secret, memory or self.memory, hurried=hurried, pace=HASTE) as far:
            yield far

    def now(self) -> datetime:
        return self.wiki.at

    # ------------------------------------------------------------ syncing

    async def sync(self, *, full: bool = False, hurried: bool = True, tap: Tap | None = None) -> SyncReport:
        """A sync as the command runs it; a minute goes by first. `tap` counts, watches or kills."""
        self.wiki.at += MINUTE
        on: Callable[[Any], Any] = tap.on if tap else lambda door: door
        doors = Doors(on(self.ledger.catalog), on(self.index), self.parser, self.embedder, WordDetector())
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

    async def tell(self, *, backwards: bool = False, twice: bool = False, of_permissions: bool = False) -> int:
        """Deliver the webhooks of what happened since the last time, as the product's endpoint takes them."""
        sent = deliveries(self.wiki.log[self.told :], of_permissions)
        self.told = len(self.wiki.log)
        sent = (sent * 2 if twice else sent)[:: -1 if backwards else 1]
        count = 0
        async with self.far() as far:
            assert far.hook is not None
            for headers, body in sent:
                events = far.hook.events({name.casefold(): value for name, value in headers.items()}, {}, body)
                assert events is not None
                count += len(events)
                await self.memory.told(events, self.now())
        return count

    # ------------------------------------------------------------ who sees what

    async def subject(self, account: str, far: FarSource) -> Subject:
        """Somebody as a question sees him: with the principals that the wiki gives now."""
        person = Principal.person(f"{self.wiki.people[account].username}@example.com")
        kind = Kind.GUEST if self.wiki.people[account].guest else Kind.MEMBER
        try:
            found = await far.rights.membership(account, kind, self.now())
        except DoorError:
            return Subject(person, kind, True, frozenset([person]), self.now())
        held = found.principals if found.active else frozenset()
        return Subject(person, kind, True, held | {person}, self.now())

    async def seen(self, *accounts: str) -> dict[str, set[str]]:
        """By account, the keys of the documents that a verdict allows now."""
        placed = [each async for each in self.memory.placed()]
        versions = [(DocumentId(self.name, each.key), each.version) for each in placed if each.version]
        resources = await self.ledger.facts.resources(versions)
        moment = Moment(self.now(), self.now().date(), dated=False)
        found: dict[str, set[str]] = {}
        async with self.far() as far:
            for account in accounts or SPARE:
                subject = await self.subject(account, far)
                allowed = {
                    document.key
                    for (document, _), resource in resources.items()
                    if isinstance(self.policy.decide(subject, resource, moment), Allowed)
                }
                found[account] = {content.id for key in allowed for content in self.said_by(key)}
        return found

    async def visible(self, account: str) -> set[str]:
        """The contents that a verdict allows this person now."""
        return (await self.seen(account))[account]

    def said_by(self, key: str) -> list[Content]:
        """The content of the wiki that a document of the product says."""
        return [self.wiki.content[key]]

    def expected(self, account: str) -> set[str]:
        """What this person should see: what the oracle says, as far as the account that reads for us sees it too."""
        return oracle.readable(self.wiki, account) & oracle.reachable(self.wiki, self.server.crawler)

    def all_expected(self, *accounts: str) -> dict[str, set[str]]:
        return {account: self.expected(account) for account in accounts or SPARE}

    async def wrong(self, *accounts: str) -> dict[str, tuple[set[str], set[str]]]:
        """By account, what he sees and may not, and what he may see and does not; nothing where all is right.

        To somebody without a licence less may be shown than to the anonymous person that he is."""
        found = {}
        for name, keys in (await self.seen(*accounts)).items():
            right, person = self.expected(name), self.wiki.people[name]
            missing = right - keys if person.licensed or person.guest else set()
            if keys - right or missing:
                found[name] = (keys - right, missing)
        return found

    async def texts(self, account: str) -> dict[str, str]:
        """By document, every passage that search and verdict let through for this person."""
        async with self.far() as far:
            subject = await self.subject(account, far)
        scopes = await self.ledger.facts.cover([subject.principals], self.now())
        if scopes is None:
            return {}
        vector = await self.embedder.question("anything")
        found: dict[str, list[str]] = {}
        moment = Moment(self.now(), self.now().date(), dated=False)
        for hit in await self.index.search(Search("anything", vector, (), Narrowing(scopes), limit=1000)):
            at = (hit.id.document, hit.id.version)
            resource = (await self.ledger.facts.resources([at])).get(at)
            accepted = (await self.ledger.facts.digests([hit.id])).get(hit.id, frozenset())
            if resource is None or hit.digest not in accepted:
                continue
            verdict = self.policy.decide(subject, resource, moment)
            if isinstance(verdict, Allowed):
                passage = clear(hit.passage, verdict).content
                found.setdefault(hit.id.document.key, []).append(f"{passage.header}\n{passage.text}")
        return {key: "\n".join(pieces) for key, pieces in found.items()}

    async def alive(self) -> set[str]:
        """Keys of the documents that the ledger has not buried."""
        return {each.key async for each in self.memory.placed()}
