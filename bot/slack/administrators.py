"""Who administers, and telling them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from connectors.chat import Chat, Message
from connectors.errors import DoorError
from connectors.ports import People
from policies.names import Principal

_MOST = 20  # administrators who are told
_A_READ = 500  # people asked about at once


@dataclass(frozen=True, slots=True)
class Administrators:
    """The members of the administrators' group whom the directory lists in it. Who is a member by another system's
    groups alone is found when he asks, and is not told by himself."""

    chat: Chat
    people: People
    group: Principal | None
    log: Any

    async def accounts(self, home: str) -> list[str]:
        """Their accounts in Slack, by their addresses: `home` is the workspace, or the organisation that it is of."""
        if self.group is None:
            return []
        provider = f"slack:{home}"
        linked = {
            each.email: each.identities[provider] for each in await self.people.list() if provider in each.identities
        }
        found: list[str] = []
        for start in range(0, len(linked), _A_READ):
            standing = await self.people.standing(sorted(linked)[start : start + _A_READ])
            found += [linked[each.email] for each in standing if each.active and str(self.group) in each.groups]
            if len(found) >= _MOST:
                break
        return found[:_MOST]

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
            self.log.warning("nobody could be told: set FOOTNOTE_ADMIN_GROUP to a group with linked members")
