"""How long a link that was taken off keeps its two sides from being linked again: the account in Slack and the person.

Both, because whoever holds a person's company session could link a second account of Slack in place of the first.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from bot.linking import notices
from connectors.logins import Tickets

HELD_FOR = timedelta(hours=24)  # after "this wasn't me"
RESTS_FOR = timedelta(minutes=10)  # after a link was taken off by its holder
_HOLD, _REST = "hold", "rest"


async def hold(tickets: Tickets, names: Collection[str], now: datetime) -> None:
    """Somebody said of a link that it was not his doing; `names`: of both of its sides."""
    for name in names:
        await tickets.issue(_HOLD, name, {}, now, now + HELD_FOR)


async def rest(tickets: Tickets, names: Collection[str], now: datetime) -> None:
    """A link was taken off."""
    for name in names:
        await tickets.issue(_REST, name, {}, now, now + RESTS_FOR)


async def kept_off(tickets: Tickets, names: Collection[str], now: datetime) -> str | None:
    """Why one of these can't be linked now, in a sentence; None where they can."""
    for name in names:
        if await tickets.recent(_HOLD, name, "new", now - HELD_FOR):
            return notices.HELD
    for name in names:
        if await tickets.recent(_REST, name, "new", now - RESTS_FOR):
            return notices.RESTS
    return None
