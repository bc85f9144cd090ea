"""Which logins linking itself bound to a person, and whether it knew him by his address alone: the first are taken off
again with a link that was not his doing, and of the second it is told when the address is another one.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from connectors.logins import Tickets

_KIND, _BY_ADDRESS = "login added", "login by address"
_KEPT_FOR = timedelta(days=3650)
_EVER = datetime(1970, 1, 1, tzinfo=UTC)


async def note(tickets: Tickets, login: str, email: str, now: datetime, *, by_address: bool) -> None:
    """A login, `provider:subject`, is about to be bound to this person by linking."""
    for kind in (_KIND, _BY_ADDRESS) if by_address else (_KIND,):
        await tickets.issue(kind, f"{login} {email}", {}, now, now + _KEPT_FOR)


async def by_linking(tickets: Tickets, login: str, email: str) -> bool:
    """Whether it was bound to this person by linking, and not by an administrator or a directory."""
    return await tickets.recent(_KIND, f"{login} {email}", "new", _EVER)


async def by_address(tickets: Tickets, login: str, email: str) -> bool:
    """Whether it was this address alone that it was bound by."""
    return await tickets.recent(_BY_ADDRESS, f"{login} {email}", "new", _EVER)
