"""What is tried before a Confluence is added, beside reading pages: what a question will ask of it, and lists that a
sync reads. The reading account stands for an asker, and nothing is asked that a question or a sync would not ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from connectors.errors import DoorError
from connectors.ports import Finding, Membership, Rights
from connectors.sources.confluence.client import Lost, text_of
from connectors.sources.confluence.mapping import Item, Space
from connectors.sources.confluence.principals import Principals
from connectors.sources.confluence.wiki import Wiki
from policies.facts import Kind

_NOT_THERE = frozenset({400, 404, 405, 410})
_PEOPLE = "who somebody is"
_LIVE = "the live check"
_ADMINISTRATOR = "make the account an administrator of Confluence"
_OF_PEOPLE = "read:user and read:group, or the classic read:confluence-user and read:confluence-groups"
_LATE = "what changed is found by `whole` alone"
_ONE = {"limit": "1"}


class _List(NamedTuple):
    """A list that a sync reads, by the end of its address; what its lack means, and which scope gives it."""

    name: str
    path: str
    meaning: str
    scope: str


_OF_CLOUD = (
    _List("files", "attachments", f"files beside pages stay out, and {_LATE}", "read:attachment"),
    _List("comments", "footer-comments", f"comments stay out, and {_LATE}", "read:comment"),
    _List("inline comments", "inline-comments", f"they stay out, and {_LATE}", "read:comment"),
)
_OF_SERVER = (
    _List("files", "attachment", "files beside pages stay out", ""),
    _List("comments", "comment", "comments stay out", ""),
)


@dataclass(frozen=True, slots=True)
class Asking:
    """Tries what will be asked of one Confluence. `live`: off, sensitive or all."""

    wiki: Wiki
    rights: Rights
    principals: Principals
    cloud: bool
    live: str

    async def findings(self, space: Space, page: Item | None, now: datetime) -> Sequence[Finding]:
        """In order: people, the live check, lists. `page`: any one of the space that can be read."""
        try:
            account = await self._own()
            member = await self.rights.membership(account, Kind.MEMBER, now)
            if not member.active:  # an app is nobody who asks: its groups are asked for all the same
                await self._groups(account)
        except DoorError as error:
            return [Finding(_PEOPLE, False, f"{error}: nobody would be answered", self._fix(_OF_PEOPLE))]
        found = [self._people(account, member), *await self._names(account)]
        if page is None:
            return found
        if self.live != "off":
            found.append(await (self._verdict(account, member, page) if self.cloud else self._rules(page)))
        found += [await self._list(page, each) for each in (_OF_CLOUD if self.cloud else _OF_SERVER)]
        return [*found, await self._search(space, now)]

    # ------------------------------------------------------------ people

    async def _own(self) -> str:
        told = await self.wiki.client.get("rest/api/user/current")
        return text_of(told, "accountId" if self.cloud else "userKey") if isinstance(told, dict) else ""

    async def _groups(self, account: str) -> None:
        who = {"accountId" if self.cloud else "key": account}
        await self.wiki.client.get("rest/api/user/memberof", {**who, **_ONE})

    def _people(self, account: str, member: Membership) -> Finding:
        if not member.active or self.principals.user(account) in member.principals:
            return Finding(_PEOPLE, True)
        if self.cloud:
            told = "who may use Confluence can't be told: everybody would read what is open to anybody, and no more"
            return Finding(_PEOPLE, False, told, self._fix(_OF_PEOPLE))
        told = "the account is none of those who may use Confluence; who is none of them reads next to nothing"
        return Finding(_PEOPLE, False, told, "look at the groups of --product-group", essential=False)

    async def _names(self, account: str) -> Sequence[Finding]:
        """Whether people can be listed, which Cloud alone is asked for."""
        if not self.cloud:
            return ()
        try:
            await self.wiki.client.post("api/v2/users-bulk", {"accountIds": [account]})
        except DoorError as error:
            if isinstance(error, Lost) and error.status in _NOT_THERE:
                return ()
            told = f"{error}: owners of pages stay without a name, and a closed account is told by its groups alone"
            return [Finding("names of people", False, told, self._fix("read:user"), essential=False)]
        return [Finding("names of people", True)]

    # ------------------------------------------------------------ the live check

    async def _verdict(self, account: str, member: Membership, page: Item) -> Finding:
        """Cloud's own verdict: anybody may ask about himself, administrators alone about others."""
        asked = {"subject": {"type": "user", "identifier": account}, "operation": "read"}
        meaning = "nothing that it is asked about would be answered"
        fix = f"{_ADMINISTRATOR}, or leave --live-check out"
        try:
            told = await self.wiki.client.post(f"rest/api/content/{page.id}/permission/check", asked)
        except DoorError as error:
            return Finding(_LIVE, False, f"{error}: {meaning}", fix, essential=self.live == "all")
        if not (isinstance(told, dict) and isinstance(told.get("hasPermission"), bool)):
            return Finding(_LIVE, False, f"the answer is no verdict: {meaning}", fix, essential=self.live == "all")
        if self.principals.user(account) in member.principals and self.principals.admins not in member.principals:
            told = f"the account is no administrator, and only they may ask about others: {meaning}"
            return Finding(_LIVE, False, told, fix, essential=False)
        return Finding(_LIVE, True)

    async def _rules(self, page: Item) -> Finding:
        """Data Center gives no verdict: the rules of a page are read once more."""
        try:
            there = await self.wiki.one(page.id, page.kind)
            await self.wiki.restriction(page.id)
        except DoorError as error:
            told = f"{error}: nothing that it is asked about would be answered"
            return Finding(_LIVE, False, told, _ADMINISTRATOR, essential=self.live == "all")
        if there is None:
            told = "a page can't be read by itself: nothing that it is asked about would be answered"
            return Finding(_LIVE, False, told, _ADMINISTRATOR, essential=self.live == "all")
        return Finding(_LIVE, True)

    # ------------------------------------------------------------ lists

    async def _list(self, page: Item, row: _List) -> Finding:
        """Files or comments: of the whole site, or of one page where the site has no such list."""
        of_page = f"api/v2/{page.kind}s/{page.id}" if self.cloud else f"rest/api/content/{page.id}/child"
        ways = ([f"api/v2/{row.path}"] if self.cloud else []) + [f"{of_page}/{row.path}"]
        for way in ways:
            try:
                await self.wiki.client.get(way, _ONE)
            except DoorError as error:
                if way != ways[-1] and isinstance(error, Lost) and error.status in _NOT_THERE:
                    continue
                return Finding(row.name, False, f"{error}: {row.meaning}", self._fix(row.scope), essential=False)
            break
        return Finding(row.name, True)

    async def _search(self, space: Space, now: datetime) -> Finding:
        meaning = "restrictions take a request for each page, and labels are not known" if self.cloud else _LATE
        try:
            async for _ in self.wiki.asides(space) if self.cloud else self.wiki.changed(now, now, [space]):
                break
        except DoorError as error:
            fix = self._fix("search:confluence")
            return Finding("search", False, f"{error}: {meaning}", fix, essential=False)
        return Finding("search", True)

    def _fix(self, scope: str) -> str:
        return f"give the token {scope}" if self.cloud else _ADMINISTRATOR
