"""A small company in a tenant, and what may happen in it: each number is one deed, the same in every run."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from tests.doubles.sharepoint import roles
from tests.doubles.sharepoint.roles import Role
from tests.doubles.sharepoint.state import Collection, Entry, Group, Item, Library, Link, OwnersOf, Securable, User, Web
from tests.doubles.sharepoint.tenant import ANONYMOUS, APP, EVERYONE, OLD_DOMAIN, UNHEARD_OF, Principal, Tenant

T = TypeVar("T")
GIVEN: tuple[Role | None, ...] = (
    roles.READ, roles.READ, roles.READ, roles.EDIT, roles.FULL, roles.VIEW_ONLY, roles.RESTRICTED_READ, roles.LIMITED,
    roles.WEB_LIMITED, roles.PAGES_ONLY, None,
)  # fmt: skip
NAMES = ("plain.md", "it's 100% #1 & more+.md", "Отпуск 2026.md", "(a) b; c=d.md", "Ünïcode.md", "with%20escape.md")


@dataclass(slots=True)
class History:
    """The company, and everything that was done."""

    tenant: Tenant
    people: list[User] = field(default_factory=list)
    loner: User = field(init=False)  # in no group and nobody's colleague: what she reads was given to her by name
    groups: list[Group] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    texts: int = 0
    drafts: set[str] = field(default_factory=set)  # words that were in a draft and in nothing published

    def __post_init__(self) -> None:
        tenant = self.tenant
        self.people = [tenant.person(name) for name in ("asha", "ben", "cleo", "dan")]
        self.people += [tenant.person("gus", guest=True)]
        self.loner = tenant.person("eve")
        asha, ben, cleo, dan, gus = self.people
        inner = tenant.group("inner", asha)
        outer = tenant.group("outer", inner, ben)
        team = tenant.group("team", cleo, gus, kind="unified")
        tenant.owns(team, dan)
        hidden = tenant.group("quiet", dan, hidden=True)
        role = tenant.group("Company Administrator", ben, kind="role")
        self.groups = [inner, outer, team, hidden, role]
        one = tenant.site("one", team=team)
        two = tenant.site("two", language="ru")
        tenant.add(one.site_group("Visitors"), outer)
        tenant.add(two.site_group("Visitors"), ben)
        tenant.add(two.site_group("Members"), inner)
        for site in (one, two):
            library = site.web.lists[0]
            folder = tenant.folder(library, "Folder")
            deeper = tenant.folder(library, "Deeper", folder)
            tenant.file(library, "top.md", self.text())
            tenant.file(library, "in.md", self.text(), folder)
            tenant.file(library, "deep.md", self.text(), deeper)
            tenant.page(site.web, "Home", f"<p>{self.text()}</p>")
            tasks = tenant.library(site.web, "Tasks", template=100)
            tenant.item(tasks, author=asha, Title=f"Task {self.text()}")
        tenant.break_inheritance(folder, copy=False)
        tenant.grant(folder, cleo)

    def text(self) -> str:
        self.texts += 1
        return f"words number canary{self.texts}x of this company"

    # ------------------------------------------------------------ deeds

    def do(self, number: int) -> None:
        """One deed, chosen and filled in by `number`; where there is nothing to do it to, nothing happens."""
        drawn = random.Random(number)
        deed, weight = zip(*self._deeds(), strict=True)
        drawn.choices(deed, weight)[0](drawn)

    def _deeds(self) -> Sequence[tuple[Callable[[random.Random], None], int]]:
        return (
            (self._write, 4), (self._edit, 3), (self._draft, 2), (self._publish, 1), (self._delete, 3),
            (self._undelete, 2), (self._rename, 2), (self._move, 5), (self._folder, 2), (self._close, 6),
            (self._restore, 4), (self._grant, 8), (self._revoke, 6), (self._link, 4), (self._redeem, 3),
            (self._unlink, 2), (self._site_group, 6), (self._entra, 6), (self._ability, 2), (self._admin, 2),
            (self._page, 2), (self._subsite, 1), (self._block, 1), (self._lost_token, 1), (self._flags, 2),
            (self._wait, 3), (self._recycle, 1), (self._drop_group, 1), (self._task, 1),
            (self._by_name, 4),
        )  # fmt: skip

    def _sites(self) -> list[Collection]:
        return self.tenant.collections

    def _libraries(self) -> list[Library]:
        return [
            library for site in self._sites() for web in site.webs for library in web.lists
            if not library.hidden and not library.deleted
        ]  # fmt: skip

    def _items(self, *kinds: str, gone: bool = False) -> list[Item]:
        every = (item for library in self._libraries() for item in library.items)
        return [item for item in every if item.kind in kinds and item.gone == gone]

    def _securables(self) -> list[Securable]:
        webs: list[Securable] = [web for site in self._sites() for web in site.webs]
        return [*webs, *self._libraries(), *self._items("file", "folder", "page", "item")]

    def _who(self, drawn: random.Random, site: Collection) -> Principal:
        groups = [each for each in self.groups if not each.deleted]
        own = [each for each in site.entries.values() if each.type == 8 and each.link is None]
        teams = [OwnersOf(each) for each in groups if each.kind == "unified"]
        others = [self.tenant.eeeu, self.tenant.eeeu_spelled_otherwise, EVERYONE, ANONYMOUS, OLD_DOMAIN, APP,
                  UNHEARD_OF]  # fmt: skip
        kinds: list[Sequence[Principal]] = [self._here(), self._here(), groups, own, teams, others]
        return drawn.choice(drawn.choice([kind for kind in kinds if kind]))

    def _here(self) -> list[User]:
        return [each for each in self.people if not each.deleted]

    def _write(self, drawn: random.Random) -> None:
        library = drawn.choice([each for each in self._libraries() if each.template == 101])
        folders: list[Item | None] = [None, *(each for each in self._items("folder") if each.library is library)]
        name = f"{len(library.items)} {drawn.choice(NAMES)}"
        self.tenant.file(library, name, self.text(), drawn.choice(folders))

    def _edit(self, drawn: random.Random) -> None:
        if item := pick(drawn, self._items("file", "page")):
            self.tenant.edit(item, self.text())

    def _draft(self, drawn: random.Random) -> None:
        if item := pick(drawn, self._items("file", "page")):
            text = self.text()
            self.drafts.add(text)
            self.tenant.edit(item, text, draft=True)

    def _publish(self, drawn: random.Random) -> None:
        waiting = [each for each in self._items("file", "page") if not each.versions[-1].published]
        if item := pick(drawn, waiting):
            self.drafts.discard(item.versions[-1].body.decode())
            self.tenant.publish(item)

    def _delete(self, drawn: random.Random) -> None:
        if item := pick(drawn, self._items("file", "folder", "page", "item")):
            self.tenant.delete(item)

    def _undelete(self, drawn: random.Random) -> None:
        deleted = [each for each in self._items("file", "folder", "page", "item", gone=True) if each.deleted]
        possible = [each for each in deleted if each.above is None or not each.above.gone]
        if item := pick(drawn, possible):
            self.tenant.undelete(item)

    def _rename(self, drawn: random.Random) -> None:
        if item := pick(drawn, self._items("file", "folder")):
            self.tenant.rename(item, f"{drawn.randrange(1000)} {item.name}")

    def _move(self, drawn: random.Random) -> None:
        item = pick(drawn, self._items("file", "folder"))
        if item is None:
            return
        into = [each for each in self._items("folder") if each.library is item.library and item not in each.chain()]
        places: list[Item | Library] = [*into, *into, item.library]
        places += [each for each in self._libraries() if each.template == 101]
        self.tenant.move(item, drawn.choice(places))

    def _folder(self, drawn: random.Random) -> None:
        library = drawn.choice([each for each in self._libraries() if each.template == 101])
        above: list[Item | None] = [None, *(each for each in self._items("folder") if each.library is library)]
        self.tenant.folder(library, f"folder {len(library.items)}", drawn.choice(above))

    def _close(self, drawn: random.Random) -> None:
        if what := pick(drawn, [each for each in self._securables() if not each.unique]):
            self.tenant.break_inheritance(what, copy=drawn.random() < 0.4)

    def _restore(self, drawn: random.Random) -> None:
        own = [each for each in self._securables() if each.unique and each.parent is not None]
        if what := pick(drawn, own):
            self.tenant.restore_inheritance(what)
            self.links = [link for link in self.links if link.group.id in link.item.grants]

    def _grant(self, drawn: random.Random) -> None:
        what = drawn.choice(self._securables())
        who = self._who(drawn, collection(what))
        if not self._mismatch(collection(what), who):
            self.tenant.grant(what, who, drawn.choice(GIVEN))

    def _revoke(self, drawn: random.Random) -> None:
        own = [each for each in self._securables() if each.unique and each.grants]
        if what := pick(drawn, own):
            entries = collection(what).entries
            held = [entries[each] for each in sorted(what.grants) if entries[each].link is None]
            if who := pick(drawn, held):
                self.tenant.revoke(what, who)

    def _link(self, drawn: random.Random) -> None:
        if item := pick(drawn, self._items("file", "folder")):
            who = [each for each in self._here() if drawn.random() < 0.4 and not self._mismatch(collection(item), each)]
            scope = drawn.choice(("users", "organization", "anonymous"))
            expires = self.tenant.at + timedelta(hours=drawn.randrange(1, 12)) if drawn.random() < 0.5 else None
            pushed = item.kind == "folder" and drawn.random() < 0.5
            made = self.tenant.link(
                item, *who, scope=scope, expires=expires, password=drawn.random() < 0.1, pushed=pushed
            )  # fmt: skip
            self.links.append(made)

    def _redeem(self, drawn: random.Random) -> None:
        live = [each for each in self.links if not each.removed]
        if link := pick(drawn, live):
            who = drawn.choice(self._here())
            if not self._mismatch(collection(link.item), who):
                self.tenant.redeem(link, who)

    def _unlink(self, drawn: random.Random) -> None:
        if link := pick(drawn, [each for each in self.links if not each.removed]):
            self.tenant.unlink(link)

    def _site_group(self, drawn: random.Random) -> None:
        site = drawn.choice(self._sites())
        group = drawn.choice([each for each in site.entries.values() if each.type == 8 and each.link is None])
        who = self._who(drawn, site)
        if isinstance(who, Entry) or self._mismatch(site, who):
            return  # groups of a site do not nest
        (self.tenant.add if drawn.random() < 0.5 else self.tenant.take_out)(group, who)

    def _entra(self, drawn: random.Random) -> None:
        group = drawn.choice(self.groups)
        others: list[User | Group] = [*self._here(), *(each for each in self.groups if each is not group)]
        who = drawn.choice(others)
        match drawn.randrange(4):
            case 0:
                self.tenant.join(group, who)
            case 1 | 2:
                self.tenant.leave(group, *(each for each in others if drawn.random() < 0.3))
            case _ if isinstance(who, User):
                (self.tenant.owns if drawn.random() < 0.5 else self.tenant.disowns)(group, who)

    def _ability(self, drawn: random.Random) -> None:
        who = drawn.choice(self.people)
        (self.tenant.disable if who.enabled else self.tenant.enable)(who)

    def _admin(self, drawn: random.Random) -> None:
        site = drawn.choice(self._sites())
        who = self._who(drawn, site)
        if not isinstance(who, Entry) and not self._mismatch(site, who):
            self.tenant.set_admin(site, who, on=drawn.random() < 0.4)

    def _page(self, drawn: random.Random) -> None:
        webs = [web for site in self._sites() for web in site.webs]
        self.tenant.page(drawn.choice(webs), f"Page {self.texts}", f"<p>{self.text()}</p>")

    def _task(self, drawn: random.Random) -> None:
        lists = [each for each in self._libraries() if each.template == 100]
        author = drawn.choice(self._here())
        self.tenant.item(drawn.choice(lists), author=author, Title=f"Task {self.text()}")

    def _subsite(self, drawn: random.Random) -> None:
        site = drawn.choice(self._sites())
        if len(site.webs) < 4:
            web = self.tenant.subsite(drawn.choice(site.webs), f"sub{len(site.webs)}", unique=drawn.random() < 0.5)
            self.tenant.file(web.lists[0], "sub.md", self.text())

    def _block(self, drawn: random.Random) -> None:
        site = drawn.choice(self._sites())
        self.tenant.unblock(site) if site.refuses else self.tenant.block(site, drawn.choice((403, 404, 410, 423)))

    def _lost_token(self, drawn: random.Random) -> None:
        """Done by who has the vendor in hand: see `lost`."""
        self.lost.append(
            (
                drawn.choice(self._libraries()),
                drawn.choice(("resyncChangesApplyDifferences", "resyncChangesUploadDifferences")),
                drawn.choice(("good", "broken", "none")),
            )
        )

    lost: list[tuple[Library, str, str]] = field(default_factory=list)

    def _flags(self, drawn: random.Random) -> None:
        library = drawn.choice(self._libraries())
        match drawn.randrange(3):
            case 0:
                library.no_crawl = not library.no_crawl
            case 1:
                library.read_security = 3 - library.read_security
            case _:
                self.tenant.rename_list(library, f"Renamed {drawn.randrange(100)} it's")

    def _wait(self, drawn: random.Random) -> None:
        self.tenant.wait(timedelta(minutes=drawn.choice((1, 20, 120, 300))))

    def _recycle(self, drawn: random.Random) -> None:
        # Where sites tell no ids, nobody can know of a name that changed hands before it was first read.
        if len(self.people) < 8 and not self.tenant.gaps.directory_ids:
            old = drawn.choice([each for each in self._here() if not each.guest] or self.people)
            if not old.deleted:
                self.people.append(self.tenant.recycle(old, f"{old.name}-next"))

    def _by_name(self, drawn: random.Random) -> None:
        given = [each for each in self._securables() if self._holds(each, self.loner)]
        if given and drawn.random() < 0.4:
            self.tenant.revoke(drawn.choice(given), self.loner)
        else:
            self.tenant.grant(drawn.choice(self._securables()), self.loner, drawn.choice((roles.READ, roles.EDIT)))

    def _holds(self, what: Securable, who: User) -> bool:
        entries = collection(what).entries
        return any(entries[number].oid == who.oid and bound - {roles.LIMITED} for number, bound in what.grants.items())

    def _drop_group(self, drawn: random.Random) -> None:
        if sum(not each.deleted for each in self.groups) > 3:
            self.tenant.delete_group(drawn.choice(self.groups))

    def _mismatch(self, site: Collection, who: Principal) -> bool:
        """Whether SharePoint refuses him: his name is somebody else's there."""
        if not isinstance(who, User) or any(each.oid == who.oid for each in site.entries.values()):
            return False
        return site.entry(f"i:0#.f|membership|{who.upn}") is not None


def pick(drawn: random.Random, found: Sequence[T]) -> T | None:
    return drawn.choice(found) if found else None


def collection(what: Securable) -> Collection:
    match what:
        case Web():
            return what.collection
        case Library():
            return what.web.collection
        case Item():
            return what.library.web.collection
    raise TypeError(what)
