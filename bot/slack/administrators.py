"""Who administers, and telling them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from connectors.chat import Chat, Message
from connectors.errors import DoorError
from connectors.ports import People
from policies.names import Principal

_MOST = 20  # administrators who are told


@dataclass(frozen=True, slots=True)
class Administrators:
    """The members of the administrators' group whom the directory lists in it. Who is a member by another system's
    groups alone is found when he asks, and is not told by himself."""

    chat: Chat
    people: People
    group: Principal | None
    log: Any

    async def accounts(self, team: str) -> list[str]:
        """Their accounts in Slack."""
        if self.group is None:
            return []
        records = {record.email: record for record in await self.people.list()}
        standing = await self.people.standing(list(records))
        members = [each.email for each in standing if each.active and str(self.group) in each.groups]
        accounts = [records[email].identities.get(f"slack:{team}") for email in sorted(members)]
        return [account for account in accounts if account][:_MOST]

    async def tell(self, message: Message) -> None:
        """Say it to each of them directly."""
        told = 0
        team = (await self.chat.workspace()).team
        for account in await self.accounts(team):
            try:
                await self.chat.say_direct(account, message)
                told += 1
            except DoorError as error:
                self.log.error("administrator not told", error=type(error).__name__)
        if not told:
            self.log.warning("nobody could be told: set FOOTNOTE_ADMIN_GROUP to a group with linked members")
