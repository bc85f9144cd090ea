"""Things that may be done once: only a digest of each secret is kept, and what it is for is sealed.

Whether a ticket was still there to be used is decided by one conditional update: of two who use it at the same time,
one does.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from connectors.errors import Stop
from connectors.ledger.dialect import storable
from connectors.ledger.door import Door
from connectors.ledger.tables import tickets
from connectors.logins import Ticket
from connectors.vault import Vault

_BYTES = 32  # of a secret
_LONGEST = 200  # characters of one that is looked for


class SqlTickets:
    """Port `Tickets`."""

    def __init__(self, door: Door, vault: Vault) -> None:
        self._door = door
        self._vault = vault

    async def issue(
        self, kind: str, holder: str, body: Mapping[str, Any], now: datetime, expires_at: datetime, *, only: bool = True
    ) -> str:
        """Hand out a ticket and return its secret."""
        secret, name = secrets.token_urlsafe(_BYTES), secrets.token_hex(16)
        row = {
            "name": name,
            "kind": kind,
            "digest": _digest(secret),
            "holder": self._holder(kind, holder),
            "state": "new",
            "body": self._sealed(name, body),
            "changed_at": now,
            "expires_at": expires_at,
        }
        earlier = (tickets.c.kind == kind) & tickets.c.holder.in_(self._holders(kind, holder))
        void = update(tickets).where(earlier, tickets.c.state == "new").values(state="void", body="", changed_at=now)

        def change(connection: Connection) -> None:
            if only:
                connection.execute(void)
            connection.execute(insert(tickets).values(**row))

        await self._door.change(change, "inbox")
        return secret

    async def look(self, kind: str, secret: str, now: datetime) -> Ticket | None:
        """What a secret is good for now."""
        if not _may_be(secret):
            return None
        good = (tickets.c.digest == _digest(secret)) & (tickets.c.kind == kind) & (tickets.c.expires_at > now)
        found = select(tickets).where(good, tickets.c.state != "void")
        row = await self._door.look(lambda connection: connection.execute(found).first(), single=True)
        if row is None:
            return None
        try:
            return Ticket(row.state, json.loads(self._vault.open(row.body, _bound(row.name))), row.expires_at)
        except Stop:  # its key is gone
            return None

    async def turn(
        self, kind: str, secret: str, states: tuple[str, str], body: Mapping[str, Any] | None, now: datetime
    ) -> bool:
        """Take it from one state to another; whether this call did."""
        return await self._change(kind, secret, states, body, now, {}) is not None

    async def trade(
        self, kind: str, secret: str, states: tuple[str, str], body: Mapping[str, Any] | None, now: datetime
    ) -> str | None:
        """As `turn`, with a new secret in place of the old."""
        fresh = secrets.token_urlsafe(_BYTES)
        done = await self._change(kind, secret, states, body, now, {"digest": _digest(fresh)})
        return None if done is None else fresh

    async def _change(
        self,
        kind: str,
        secret: str,
        states: tuple[str, str],
        body: Mapping[str, Any] | None,
        now: datetime,
        also: Mapping[str, str],
    ) -> str | None:
        if not _may_be(secret):
            return None
        before, after = states
        usable = (
            (tickets.c.digest == _digest(secret))
            & (tickets.c.kind == kind)
            & (tickets.c.state == before)
            & (tickets.c.expires_at > now)
        )

        def change(connection: Connection) -> str | None:
            name = connection.execute(select(tickets.c.name).where(usable)).scalar()
            if name is None:
                return None
            values: dict[str, Any] = {"state": after, "changed_at": now, **also}
            if body is not None:
                values["body"] = self._sealed(name, body)
            if after == "void":
                values["body"] = ""
            done = connection.execute(update(tickets).where(usable, tickets.c.name == name).values(**values))
            return str(name) if done.rowcount else None

        return await self._door.change(change, "inbox")

    async def recent(self, kind: str, holder: str, state: str, since: datetime) -> bool:
        """Whether a ticket of this holder came to this state since then."""
        of_holder = (tickets.c.kind == kind) & tickets.c.holder.in_(self._holders(kind, holder))
        found = select(tickets.c.name).where(of_holder, tickets.c.state == state, tickets.c.changed_at >= since)
        return await self._door.look(lambda connection: connection.execute(found.limit(1)).first()) is not None

    async def forget(self, before: datetime) -> int:
        """Forget tickets that expired before then."""
        old = delete(tickets).where(tickets.c.expires_at < before)
        return await self._door.change(lambda connection: connection.execute(old).rowcount, "inbox")

    def _holder(self, kind: str, holder: str) -> str:
        return self._vault.pseudonym("tickets", f"{kind}|{holder}")

    def _holders(self, kind: str, holder: str) -> tuple[str, ...]:
        return self._vault.pseudonyms("tickets", f"{kind}|{holder}")

    def _sealed(self, name: str, body: Mapping[str, Any]) -> str:
        return self._vault.seal(json.dumps(dict(body), ensure_ascii=True), _bound(name))


def _bound(name: str) -> str:
    return f"tickets|body|{name}"


def _digest(secret: str) -> str:
    # Not keyed and not slow: 256 random bits can't be guessed from it.
    return sha256(secret.encode()).hexdigest()


def _may_be(secret: str) -> bool:
    return 0 < len(secret) <= _LONGEST and secret.isascii() and storable(secret)
