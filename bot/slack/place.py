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


class Accounts:
    """What Slack said of its users in the last minutes; shared by all questions."""

    def __init__(self, chat: Chat, clock: Callable[[], datetime]) -> None:
        self._chat = chat
        self._clock = clock
        self._kept: dict[str, tuple[datetime, Account]] = {}
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def recent(self, user: str) -> Account:
        """As of a few minutes ago at most."""
        kept = self._kept.get(user)
        if kept is not None and self._clock() - kept[0] < _KEPT:
            return kept[1]
        return await self.now(user)

    async def now(self, user: str) -> Account:
        """As of now."""
        async with self._turn:
            account = await self._chat.account(user)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[user] = (self._clock(), account)
        return account


@dataclass(frozen=True, slots=True)
class Roster:
    """A place as it was found: what it is, and who is in it, where that matters."""

    kind: PlaceKind
    members: tuple[str, ...] = ()


async def roster(chat: Chat, asked: Asked, most: int) -> Roster:
    """What sort of place it is and who is in it now. Unknown when anything of that can't be read, when it has more than
    `most` members, or when the asker is not among them."""
    if asked.surface == "command":
        return Roster(PlaceKind.DM)  # answers to commands are shown to the asker alone, wherever he gave it
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
    members = await chat.members(room.id, most)
    if members is None or asked.asker not in members:
        return Roster(PlaceKind.UNKNOWN)
    return Roster(room.kind, tuple(members))


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
        others = [user for user in found.members if user != self._us.user]
        if not others:
            return (None,)
        try:
            async with asyncio.timeout(_PATIENCE):
                known = await asyncio.gather(*(self._member(user, now) for user in others))
        except TimeoutError:
            return (None,)
        return [subject for counts, subject in known if counts]

    async def _member(self, user: str, now: datetime) -> tuple[bool, Subject | None]:
        """Whether he counts as a reader, and who he is. Apps of our own workspace do not count: an administrator
        installed them."""
        try:
            account = await self._accounts.recent(user)
        except DoorError:
            return True, None
        if not account.human and account.team == self._us.team and not account.stranger:
            return False, None
        found = await self._bound(account, now)
        return True, found if found is not None and found.active is True else None

    async def _bound(self, account: Account, now: datetime) -> Subject | None:
        """The person of the directory whose account this is; nobody for a stranger, an app or a disabled user. A guest
        of Slack is a guest, whatever the directory says."""
        ours = account.team == self._us.team and not account.stranger
        if not ours or not account.human or not account.active:
            return None
        if account.id == self._asked.asker and self._asked.asker_team != self._us.team:
            return None
        found = await self._directory.subject(Principal(f"slack:{account.team}:{account.id}"), now, guest=account.guest)
        return replace(found, kind=Kind.GUEST) if found and found.kind == Kind.MEMBER and account.guest else found
