"""Which logins linking itself bound to a person: they are taken off again with a link that was nobody's doing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from connectors.logins import Tickets

_KIND = "login added"
_KEPT_FOR = timedelta(days=3650)
_EVER = datetime(1970, 1, 1, tzinfo=UTC)


async def note(tickets: Tickets, login: str, email: str, now: datetime) -> None:
    """A login, `provider:subject`, is about to be bound to this person by linking."""
    await tickets.issue(_KIND, f"{login} {email}", {}, now, now + _KEPT_FOR)


async def by_linking(tickets: Tickets, login: str, email: str) -> bool:
    """Whether it was bound to this person by linking, and not by an administrator or a directory."""
    return await tickets.recent(_KIND, f"{login} {email}", "new", _EVER)
