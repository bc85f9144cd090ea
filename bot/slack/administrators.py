"""Who administers, and telling them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from connectors.chat import Chat, Message
from connectors.errors import DoorError
from connectors.logins import GROUPS
from connectors.ports import NowDirectory, People
from policies.facts import Kind, Subject
from policies.names import Principal

_MOST = 20  # administrators who are told
_A_READ = 500  # people asked about at once
_TOGETHER = 8  # people whom other systems are asked about at once


@dataclass(frozen=True, slots=True)
class Administrators:
    """The members of the administrators' group. Whom the directory itself lists in it is found at once. Where it is a
    group of another system, that is asked about people one by one: those first who were found before."""

    chat: Chat
    people: People
    directory: NowDirectory
    group: Principal | None
    clock: Callable[[], datetime]
    log: Any
    patience: float = 15.0  # seconds for asking another system
    _asked: dict[str, int] = field(default_factory=dict)  # how often, by address
    _known: dict[str, None] = field(default_factory=dict)  # addresses of those who were found to be one

    def met(self, subject: Subject) -> None:
        """Somebody was just found to administer: he is asked about first when somebody has to be told."""
        self._known[subject.person.name.removeprefix("usr:")] = None

    async def accounts(self, home: str) -> list[str]:
        """Their accounts in Slack, as many as are told: `home` is the workspace, or the organisation that it is of."""
        if self.group is None:
            return []
        provider = f"slack:{home}"
        linked = {
            each.email: each.identities[provider] for each in await self.people.list() if provider in each.identities
        }
        found = await self._listed(linked)
        if self.group.kind != "grp" and len(found) < _MOST:
            await self._elsewhere({email: linked[email] for email in linked if linked[email] not in found}, found)
        return found[:_MOST]

    async def _listed(self, linked: Mapping[str, str]) -> list[str]:
        """Those whom the directory itself lists in the group, by their addresses."""
        found: list[str] = []
        for start in range(0, len(linked), _A_READ):
            standing = await self.people.standing(sorted(linked)[start : start + _A_READ])
            found += [linked[each.email] for each in standing if each.active and str(self.group) in each.groups]
            if len(found) >= _MOST:
                break
        return found

    async def _elsewhere(self, linked: Mapping[str, str], found: list[str]) -> None:
        """Add those whom another system has in the group, as many as can be asked about in time. Who was asked about
        less often is asked about first, so that in the end everybody is."""
        waiting = iter(sorted(linked, key=lambda email: (email not in self._known, self._asked.get(email, 0), email)))

        async def ask() -> None:
            for email in waiting:
                if len(found) >= _MOST:
                    return
                self._asked[email] = self._asked.get(email, 0) + 1
                with suppress(DoorError):
                    # What the identity provider says of groups is not kept.
                    fresh = self.group is not None and self.group.kind == GROUPS
                    if self._is_one(await self.directory.subject(Principal.person(email), self.clock(), fresh=fresh)):
                        self._known[email] = None
                        found.append(linked[email])
                    else:
                        self._known.pop(email, None)

        try:
            async with asyncio.timeout(self.patience), asyncio.TaskGroup() as asking:
                for _ in range(_TOGETHER):
                    asking.create_task(ask())
        except TimeoutError:
            self.log.warning("administrators not all found in time", people=len(linked), found=len(found))

    def _is_one(self, subject: Subject | None) -> bool:
        return (
            subject is not None
            and subject.active is True
            and subject.kind == Kind.MEMBER
            and self.group in subject.principals
        )

    async def tell(self, message: Message) -> None:
        """Say it to each of them directly."""
        told = 0
        home = (await self.chat.workspace()).home
        for account in await self.accounts(home):
            try:
                await self.chat.say_direct(account, message)
                told += 1
            except DoorError as error:
                self.log.error("administrator not told", error=type(error).__name__)
        if not told:
            self.log.error("nobody could be told: set FOOTNOTE_ADMIN_GROUP to a group with linked members")
