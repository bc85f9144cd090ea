"""The refresh tokens of people who linked themselves: sealed, each opens in its own row alone.

A provider that rotates refresh tokens takes a second use of one for theft and closes the whole login. So one process
at a time asks: who asks holds a claim of a minute and a half, and the others read what he heard.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, or_, select, update
from sqlalchemy.engine import Row

from connectors.ledger.door import Door
from connectors.ledger.tables import logins
from connectors.logins import Held
from connectors.vault import Vault

CLAIM = timedelta(seconds=90)  # longer than asking a provider, and keeping what it said, may take


class SqlLogins:
    """Port `Logins`."""

    def __init__(self, door: Door, vault: Vault) -> None:
        self._door = door
        self._vault = vault

    async def keep(self, provider: str, subject: str, refresh: str, now: datetime) -> None:
        """A new login, in place of an earlier one."""
        sealed = self._vault.seal(refresh, bound_to(provider, subject))
        values = {"refresh": sealed, "checked_at": now, "asking_until": None}

        def change(connection: Connection) -> None:
            if not connection.execute(update(logins).where(_of(provider, subject)).values(**values)).rowcount:
                connection.execute(insert(logins).values(provider=provider, subject=subject, **values))

        await self._door.change(change, "inbox")

    async def begin(self, provider: str, subject: str, refresh: str, now: datetime) -> None:
        """A new login, unless there is one."""
        there = select(logins.c.subject).where(_of(provider, subject))
        sealed = self._vault.seal(refresh, bound_to(provider, subject))

        def change(connection: Connection) -> None:
            if connection.execute(there).first() is None:
                row = {"provider": provider, "subject": subject, "refresh": sealed, "checked_at": now}
                connection.execute(insert(logins).values(**row, asking_until=None))

        if await self._row(provider, subject) is None:
            await self._door.change(change, "inbox")

    async def held(self, provider: str, subject: str) -> Held | None:
        """What is kept of a login."""
        row = await self._row(provider, subject)
        if row is None:
            return None
        opened = None if row.refresh is None else self._vault.open(row.refresh, bound_to(provider, subject))
        return Held(opened, row.checked_at)

    async def claim(self, provider: str, subject: str, now: datetime) -> bool:
        """Whether this process may ask the provider now."""
        free = or_(logins.c.asking_until.is_(None), logins.c.asking_until <= now)
        taken = update(logins).where(_of(provider, subject), free).values(asking_until=now + CLAIM)
        return bool(await self._door.change(lambda connection: connection.execute(taken).rowcount, "inbox"))

    async def settle(self, provider: str, subject: str, refresh: str | None, now: datetime) -> None:
        """What the provider said."""
        sealed = None if refresh is None else self._vault.seal(refresh, bound_to(provider, subject))
        heard = update(logins).where(_of(provider, subject))
        heard = heard.values(refresh=sealed, checked_at=now, asking_until=None)
        await self._door.change(lambda connection: connection.execute(heard), "inbox")

    async def release(self, provider: str, subject: str) -> None:
        """Nothing was heard."""
        freed = update(logins).where(_of(provider, subject)).values(asking_until=None)
        await self._door.change(lambda connection: connection.execute(freed), "inbox")

    async def drop(self, provider: str, subject: str) -> str | None:
        """Forget a login; returns its token."""
        held = await self.held(provider, subject)
        gone = delete(logins).where(_of(provider, subject))
        await self._door.change(lambda connection: connection.execute(gone), "inbox")
        return None if held is None else held.refresh

    async def _row(self, provider: str, subject: str) -> Row[tuple[object, ...]] | None:
        found = select(logins).where(_of(provider, subject))
        return await self._door.look(lambda connection: connection.execute(found).first(), single=True)


def _of(provider: str, subject: str):  # type: ignore[no-untyped-def]  # a condition of sqlalchemy's
    return (logins.c.provider == provider) & (logins.c.subject == subject)


def bound_to(provider: str, subject: str) -> str:
    """The one place where a login's token opens."""
    return f"logins|refresh|{provider}|{subject}"
