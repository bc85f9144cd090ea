"""Who asks and who listens, as Slack says it now.

The place is judged before anything is searched for, and again just before the answer is posted. Everybody in it is
asked for one by one: his account in Slack (a guest, somebody of another organisation, disabled?) and the person in the
directory that it is bound to. Whatever can't be found out only narrows: then the answer is for the asker alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.slack.incoming import Asked
from connectors.chat import Account, Chat, Room, Workspace
from connectors.errors import DoorError, Skip
from connectors.ports import Directory
from policies.audience import Place, PlaceKind
from policies.facts import Kind, Subject
from policies.names import Principal

_PATIENCE = 20.0  # seconds for asking about everybody in a place; after that the answer is for the asker alone
_KEPT = timedelta(minutes=5)  # that what Slack said of a member is believed; the asker is asked for each time
_MOST_KEPT = 20_000
_AT_ONCE = 8
_MOST_PUBLIC = 5_000  # members of a public place among whom guests are looked for
_MOST_PEOPLE = 20_000  # accounts of a workspace that are asked for in one go
_MOST_UNLISTED = 50  # members whom the workspace's list does not have and who are asked for one by one


class Accounts:
    """What Slack said of its users in the last minutes; shared by all questions."""

    def __init__(self, chat: Chat, clock: Callable[[], datetime]) -> None:
        self._chat = chat
        self._clock = clock
        self._kept: dict[str, tuple[datetime, Account]] = {}
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._listing = asyncio.Lock()
        self._listed: datetime | None = None

    async def recent(self, user: str) -> Account:
        """As of a few minutes ago at most."""
        return self._lately(user) or await self.now(user)

    async def now(self, user: str) -> Account:
        """As of now."""
        async with self._turn:
            account = await self._chat.account(user)
        self._keep(account)
        return account

    async def many(self, users: Sequence[str]) -> Sequence[Account | None]:
        """As of a few minutes ago at most, of very many at once: from the list of everybody, asked for once. None for
        somebody who can't be told."""
        async with self._listing:
            if self._listed is None or self._clock() - self._listed >= _KEPT:
                began = self._clock()  # so that nobody listed has had his time before the list has
                for each in await self._chat.people(_MOST_PEOPLE) or ():
                    self._keep(each)
                self._listed = began
        missing = [user for user in users if self._lately(user) is None]
        if len(missing) > _MOST_UNLISTED:
            return [None]
        await asyncio.gather(*map(self.recent, missing))
        return [self._lately(user) for user in users]

    def drop(self, user: str) -> None:
        """Slack said that something about him changed. It says so of every change of a status, so that the list of
        everybody stays: it may be asked for a few times a minute only."""
        self._kept.pop(user, None)

    def _lately(self, user: str) -> Account | None:
        kept = self._kept.get(user)
        return kept[1] if kept is not None and self._clock() - kept[0] < _KEPT else None

    def _keep(self, account: Account) -> None:
        self._kept.pop(account.id, None)
        if len(self._kept) >= _MOST_KEPT:
            del self._kept[next(iter(self._kept))]  # the one that was kept first
        self._kept[account.id] = (self._clock(), account)


@dataclass(frozen=True, slots=True)
class Roster:
    """A place as it was found: what it is, and who is in it, where that matters."""

    kind: PlaceKind
    members: tuple[str, ...] = ()  # without ourselves


async def roster(chat: Chat, asked: Asked, most: int) -> Roster:
    """What sort of place it is and who is in it now. Unknown when anything of that can't be read, when it has more
    members than are looked at (`most` of a private place), or when the asker is not among them."""
    if asked.surface in ("command", "shortcut"):
        return Roster(PlaceKind.DM)  # these are answered to the asker alone, wherever he is
    if asked.external:
        return Roster(PlaceKind.EXTERNAL)
    try:
        room = await chat.room(asked.channel)
        if room.kind == PlaceKind.DM:
            return Roster(PlaceKind.DM if room.partner == asked.asker else PlaceKind.UNKNOWN)
        if room.kind not in (PlaceKind.PRIVATE, PlaceKind.PUBLIC):
            return Roster(room.kind)
        return await _with_members(chat, room, asked, most)
    except DoorError:
        return Roster(PlaceKind.UNKNOWN)


async def _with_members(chat: Chat, room: Room, asked: Asked, most: int) -> Roster:
    most = _MOST_PUBLIC if room.kind == PlaceKind.PUBLIC else most
    members = await chat.members(room.id, most + 1)  # ourselves among them
    if members is None or asked.asker not in members:
        return Roster(PlaceKind.UNKNOWN)
    us = (await chat.workspace()).user
    others = tuple(user for user in members if user != us)
    return Roster(room.kind, others) if len(others) <= most else Roster(PlaceKind.UNKNOWN)


class Present:
    """Port `Directory` for one question: the asker by his account, and those who are in the place with him, live."""

    def __init__(
        self, asked: Asked, us: Workspace, chat: Chat, accounts: Accounts, directory: Directory, most: int
    ) -> None:
        """`most`: members judged one by one."""
        self._asked = asked
        self._us = us
        self._chat = chat
        self._accounts = accounts
        self._directory = directory
        self._most = most
        self._found: Roster | None = None

    async def place(self) -> Place:
        """The place, before anything is searched for."""
        self._found = await roster(self._chat, self._asked, self._most)
        kind = self._found.kind
        return Place(kind) if kind == PlaceKind.DM else Place(kind, self._asked.channel)

    async def subject(self, who: Principal, now: datetime, *, guest: bool = False) -> Subject | None:
        """The asker, as his account says and as whom it is bound to; nobody else. So a link that was taken off, or a
        user who was disabled in Slack, counts at once."""
        try:
            account = await self._accounts.now(self._asked.asker)
        except Skip:  # Slack does not know him
            return None
        found = await self._bound(account, now)
        asks = who.name == self._asked.account or (found is not None and found.person == who)
        return found if asks else None

    async def everyone(self) -> frozenset[Principal]:
        """As the directory says."""
        return await self._directory.everyone()

    async def members(self, place: str, now: datetime) -> Sequence[Subject | None]:
        """Everybody in the place now. Somebody unknown stands for whatever can't be told, so that it only narrows."""
        found, self._found = self._found, None  # what the place was judged on serves once
        if found is None:
            found = await roster(self._chat, self._asked, self._most)
        if place != f"{found.kind}:{self._asked.channel}" or not found.members:
            return (None,)
        others = list(found.members)
        by_rule = found.kind == PlaceKind.PUBLIC
        try:
            async with asyncio.timeout(_PATIENCE):
                if by_rule and len(others) > self._most:
                    others = await self._unlike_employees(others)
                known = await asyncio.gather(*(self._member(user, now, by_rule=by_rule) for user in others))
        except (TimeoutError, DoorError):
            return (None,)
        return [subject for counts, subject in known if counts]

    async def _unlike_employees(self, users: Sequence[str]) -> list[str]:
        """Those of very many in a public place who have not a full member's account."""
        accounts = await self._accounts.many(users)
        if None in accounts:
            return ["unknown"]
        return [each.id for each in accounts if each is not None and not self._us.employs(each)]

    async def _member(self, user: str, now: datetime, *, by_rule: bool) -> tuple[bool, Subject | None]:
        """Whether he counts as a reader, and who he is. Apps of our own workspace do not count: an administrator
        installed them. `by_rule`: the place is public. Whoever has a full member's account can read it without being
        listed, so those who are listed are not asked for one by one; the rule for every employee stands for them."""
        try:
            account = await self._accounts.recent(user)
        except DoorError:
            return True, None
        if account.app and self._us.has(account):
            return False, None
        found = await self._bound(account, now)
        if found is None and by_rule and self._us.employs(account):
            return False, None
        return True, found if found is not None and found.active is True else None

    async def _bound(self, account: Account, now: datetime) -> Subject | None:
        """The person of the directory whose account this is; nobody for a stranger, an app or a disabled user. A guest
        of Slack is a guest, whatever the directory says."""
        if not self._us.has(account) or not account.human or not account.active:
            return None
        if account.id == self._asked.asker and self._asked.asker_team != self._us.home:
            return None
        who = Principal(f"slack:{self._us.home}:{account.id}")
        found = await self._directory.subject(who, now, guest=account.guest)
        return replace(found, kind=Kind.GUEST) if found and found.kind == Kind.MEMBER and account.guest else found
