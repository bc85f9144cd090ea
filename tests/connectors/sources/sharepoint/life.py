"""A history of a tenant with the product beside it: what happens is drawn from a number, the same in every run."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from connectors.errors import DoorError
from connectors.sources.sharepoint.source import LEASE
from connectors.sync.run import SyncReport
from policies.facts import Subject
from policies.names import DocumentId
from tests.connectors.sources.past import CANARY, Allowed, Past, differences, killed, shown
from tests.connectors.sync.tree import Tap
from tests.doubles.sharepoint.history import History
from tests.doubles.sharepoint.oracle import may_read, permitted
from tests.doubles.sharepoint.state import Item
from tests.doubles.sharepoint.tenant import Gaps, Tenant
from tests.sharepoint_house import POLICY, House, unique_id

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # what is flushed there costs nothing


_FEW = 12  # documents that all people together have to find: less is no history


@dataclass(slots=True)
class Life:
    """One tenant, the product on it, and what everybody was allowed so far."""

    drawn: Random
    house: House
    history: History
    past: Past

    @property
    def tenant(self) -> Tenant:
        return self.house.tenant

    def says(self, words: str) -> None:
        self.tenant.history.append(words)

    # ------------------------------------------------------------ what happens

    def happens(self, most: int) -> None:
        """Some things, one after the other."""
        if sum(map(len, self.house.must().values())) < _FEW:
            self._revives()
        for _ in range(self.drawn.randint(1, most)):
            self.history.do(self.drawn.randrange(2**32))
            self.note()
        for library, code, location in self.history.lost:
            self.house.vendor.graph.deltas.expire(library, code, location)
        self.history.lost.clear()

    def _revives(self) -> None:
        """Everybody is let in again: a tenant that nobody may read any more has no history."""
        for site in self.tenant.collections:
            self.tenant.unblock(site)
            for web in site.webs:
                for library in web.lists:
                    library.no_crawl, library.read_security = False, 1
            for item in self.tenant.documents():
                if item.unique and item.library.web.collection is site:
                    self.tenant.restore_inheritance(item)
            group = next(each for each in site.entries.values() if each.type == 8 and each.link is None)
            self.tenant.grant(site.web, group)
            self.tenant.add(group, self.history.people[0], self.tenant.eeeu)
        for person in self.history.people:
            if not person.enabled:
                self.tenant.enable(person)
        self.history.links = [link for link in self.history.links if link.group.id in link.item.grants]
        self.note()

    def restricts(self) -> None:
        """Readers have to be in one more group, in every site; the source is told, as SharePoint does not tell it."""
        group = self.drawn.choice([each for each in self.history.groups if not each.deleted and not each.hidden])
        self.says(f"every site is restricted to {group.name}")
        for site in self.tenant.collections:
            self.tenant.restrict(site, group)
        self.house.settings["restricted_to"] = [group.id]
        self.note()

    def waits(self, *minutes: int) -> None:
        """One of these times goes by."""
        gone = self.drawn.choice(minutes)
        self.says(f"{gone} minutes go by")
        self.tenant.wait(timedelta(minutes=gone))
        self.note()

    def note(self) -> None:
        """What is allowed from now on."""
        self.past.note(self.house.now(), self.allowed())

    def allowed(self) -> Allowed:
        """By person, the words that he may be shown now, by the oracle."""
        items, now = self.tenant.documents(), self.house.now()
        words = {item.unique_id: words_of(item) for item in items}
        return {
            oid: frozenset(
                (item.unique_id, word)
                for item in items
                if may_read(self.tenant, oid, item, now)
                for word in words[item.unique_id]
            )
            for oid in self.tenant.users
        }

    # ------------------------------------------------------------ syncing

    async def sync(self, *, hurried: bool = True, full: bool = False, tap: Tap | None = None) -> SyncReport:
        self.says(f"{'full ' if full else ''}sync{'' if hurried else ' on schedule'}")
        report = await self.house.sync(hurried=hurried, full=full, tap=tap)
        if hurried and report.complete:
            self.past.forget()
        return report

    async def killed_sync(self, fatal: int) -> bool:
        """A sync that ends at once before its `fatal`-th call of a door; False where it was done before that."""
        died = await killed(self.house.sync, fatal)
        if died:
            self.says(f"sync, killed before call {fatal}")
        return died

    async def held(self) -> dict[str, Any]:
        """Where the ledger has each document."""
        placed = [each async for each in self.house.memory.placed()]
        return {each.key: (each.scope_root, each.ancestors, each.version, each.hidden) for each in placed}

    # ------------------------------------------------------------ what is shown

    async def shown(self, subjects: dict[str, Subject] | None = None, *, searched: bool = False) -> Allowed:
        found = await shown(self.house, subjects or await self.house.subjects(), POLICY, searched=searched)
        return {oid: frozenset((key.rpartition("/")[2], word) for key, word in pairs) for oid, pairs in found.items()}

    async def nobody_sees_more(self, subjects: dict[str, Subject] | None = None) -> None:
        over = self.past.over(await self.shown(subjects), self.house.now())
        assert not over, self.told("is shown and may not be", over)

    async def sharepoint_itself_agrees(self) -> None:
        """Where SharePoint is asked at this moment, nobody is let to what he may not view now, bound or not."""
        shown, allowed = await self.shown(), self.allowed()
        oid = max(shown, key=lambda oid: len(shown[oid] - allowed[oid]))  # who is shown most that is over
        user, keys = self.tenant.users[oid], {key for key, _ in shown[oid]}
        documents = [each for each in await self.documents() if unique_id(each) in keys]
        async with self.house.far() as far:
            assert far.live is not None
            try:
                told = await far.live.readable(user.oid, documents[:20], self.house.now())
            except DoorError:  # a person who is gone: nothing is let through
                return
        items = {item.unique_id: item for item in self.tenant.documents()}
        wrong = [
            f"{user.oid} in {unique_id(each)}"
            for each, verdict in told.items()
            if verdict and not permitted(self.tenant, user.oid, items[unique_id(each)], self.house.now())
        ]
        assert not wrong, self.told("is let through by a live check", wrong)

    async def documents(self) -> list[DocumentId]:
        return [DocumentId(self.house.name, each.key) async for each in self.house.memory.placed()]

    async def everybody_sees_what_he_may(self) -> None:
        """Search and verdict give everybody every word that he may read, and no other."""
        found, allowed, must = await self.shown(searched=True), self.allowed(), self.house.must()
        # What he may be shown and need not be counts where it is shown.
        meant = {
            oid: frozenset(pair for pair in allowed[oid] if pair[0] in must[oid] or pair in pairs)
            for oid, pairs in found.items()
        }
        wrong = differences(found, meant)
        assert not wrong, self.told("is wrong", wrong)

    def told(self, what: str, lines: list[str]) -> str:
        """What is wrong, and the history that led there."""
        named = {oid: user.name for oid, user in self.tenant.users.items()}
        named |= {item.unique_id: item.path for item in self.tenant.documents()}
        text = "\n".join([f"this {what}:", *lines])
        for key, name in named.items():
            text = text.replace(key, name)
        return "\n".join([text, "after:", *self.tenant.history])


def words_of(item: Item) -> set[str]:
    """The words of what is published."""
    if item.kind == "item":
        return set(CANARY.findall(str(item.fields.get("Title", ""))))
    return set(CANARY.findall(item.published.body.decode())) if item.published else set()


@asynccontextmanager
async def lived(number: int, ledger_file: Path) -> AsyncIterator[Life]:
    """A life with this number, open; everything was synced once."""
    drawn = Random(number)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        house = House(Path(folder), ledger_file=ledger_file, settings={"live_check": "all"})
        house.tenant.gaps = Gaps(role_assignments=drawn.random() < 0.5, below_deleted=drawn.random() < 0.5)
        life = Life(drawn, house, History(house.tenant), Past(LEASE))
        async with house.open():
            life.note()
            report = await life.sync()
            assert report.complete, report.problems
            yield life
