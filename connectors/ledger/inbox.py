"""Letters that wait for an answer. A letter is taken under a lease; a process that ended without a word gives its
letters back by that. Bodies are sealed and forgotten with the answer; keys stay as long as deliveries may be repeated.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, or_, select, update

from connectors.chat import Letter, MostWaiting, Received
from connectors.errors import Stop
from connectors.ledger.dialect import each, listed, storable
from connectors.ledger.door import Door
from connectors.ledger.processes import HOST, PROCESS, gone
from connectors.ledger.tables import letter_keys, letters
from connectors.vault import Vault

LEASE = timedelta(seconds=60)
_OURS = {"host": HOST, "pid": os.getpid(), "process": PROCESS}
_NOBODYS = {"host": None, "pid": None, "process": None, "lease_until": None}
_OPEN = ("waiting", "taken")
_busy = letters.alias("busy")
_KNOWN = select(letter_keys.c.key).where(letter_keys.c.key.in_(each("keys"))).limit(1)


class SqlInbox:
    """Port `Inbox`."""

    def __init__(self, door: Door, vault: Vault) -> None:
        self._door = door
        self._vault = vault

    async def receive(
        self,
        keys: Sequence[str],
        workspace: str,
        person: str,
        body: Mapping[str, Any],
        limits: MostWaiting,
        now: datetime,
    ) -> Received:
        """Keep a letter, unless it came before or too many wait."""
        if not keys or not all(map(storable, keys)):
            raise Stop("a letter needs keys that can be stored; this is a fault in footnote")
        content = json.dumps(dict(body), ensure_ascii=True)
        name = secrets.token_hex(16)
        row: dict[str, Any] = {
            "name": name,
            "workspace": self._vault.pseudonym("inbox", workspace),
            "person": self._vault.pseudonym("inbox", person),
            "body": self._vault.seal(content, _bound(name)),
            "received_at": now,
            "due_at": now,
            "times": 0,
        }

        def change(connection: Connection) -> Received:
            if connection.execute(_KNOWN, {"keys": listed(keys)}).first() is not None:
                return "twice"
            full = _full(connection, row["workspace"], row["person"], limits)
            kept = row | ({"state": "waiting"} if full is None else {"state": "closed", "body": ""})
            number = connection.execute(insert(letters).values(**kept)).inserted_primary_key[0]  # type: ignore[index]  # a row has one
            connection.execute(insert(letter_keys), [{"key": key, "letter": number} for key in dict.fromkeys(keys)])
            return full or "accepted"

        return await self._door.change(change, "inbox")

    async def take(self, now: datetime) -> Letter | None:
        """The oldest letter that is due, of somebody for whom none is under way."""
        due = or_(
            (letters.c.state == "waiting") & (letters.c.due_at <= now),
            (letters.c.state == "taken") & (letters.c.lease_until <= now),
        )
        under_way = select(_busy.c.number).where(
            _busy.c.person == letters.c.person, _busy.c.state == "taken", _busy.c.lease_until > now
        )
        found = select(letters).where(due, ~under_way.exists()).order_by(letters.c.number).limit(1)

        def change(connection: Connection) -> Row[Any] | None:
            row = connection.execute(found).first()
            if row is not None:
                taken = {"state": "taken", "times": row.times + 1, "lease_until": now + LEASE, **_OURS}
                connection.execute(update(letters).where(letters.c.number == row.number).values(**taken))
            return row

        if await self._door.look(lambda connection: connection.execute(found).first()) is None:
            return None  # nobody writes for nothing
        row = await self._door.change(change, "inbox")
        if row is None:
            return None
        try:
            body = json.loads(self._vault.open(row.body, _bound(row.name)))
        except Stop:
            await self.close(row.number)  # its key is gone, and comes back no more
            raise
        return Letter(row.number, body, row.times + 1)

    async def hold(self, number: int, now: datetime) -> bool:
        """Renew the lease; whether the letter is still ours."""
        renewed = update(letters).where(*_held(number)).values(lease_until=now + LEASE)
        return bool(await self._door.change(lambda connection: connection.execute(renewed).rowcount, "inbox"))

    async def put_back(self, number: int, due: datetime) -> None:
        """Let it be taken again from `due` on; one that is not ours any more is left alone."""
        freed = update(letters).where(*_held(number)).values(state="waiting", due_at=due, **_NOBODYS)
        await self._door.change(lambda connection: connection.execute(freed), "inbox")

    async def close(self, number: int) -> None:
        """Forget its body; its keys stay."""
        closed = update(letters).where(letters.c.number == number).values(state="closed", body="", **_NOBODYS)
        await self._door.change(lambda connection: connection.execute(closed), "inbox")

    async def recover(self) -> int:
        """Free the letters of processes of this machine that are certainly gone."""

        def change(connection: Connection) -> int:
            taken = connection.execute(select(letters).where(letters.c.state == "taken")).all()
            lost = [row.number for row in taken if gone(row.host or "", row.pid or 0, row.process or "")]
            for number in lost:
                freed = update(letters).where(letters.c.number == number)
                connection.execute(freed.values(state="waiting", **_NOBODYS))
            return len(lost)

        return await self._door.change(change, "inbox")

    async def forget(self, before: datetime) -> int:
        """Forget closed letters and their keys received before then."""
        old = (letters.c.state == "closed") & (letters.c.received_at < before)

        def change(connection: Connection) -> int:
            connection.execute(delete(letter_keys).where(letter_keys.c.letter.in_(select(letters.c.number).where(old))))
            return connection.execute(delete(letters).where(old)).rowcount

        return await self._door.change(change, "inbox")


def _bound(name: str) -> str:
    return f"letters|body|{name}"


def _held(number: int) -> tuple[Any, ...]:
    return letters.c.number == number, letters.c.state == "taken", letters.c.process == PROCESS


def _full(connection: Connection, workspace: str, person: str, limits: MostWaiting) -> Received | None:
    waiting = select(func.count()).select_from(letters).where(letters.c.state.in_(_OPEN))
    if connection.execute(waiting.where(letters.c.person == person)).scalar_one() >= limits.person:
        return "person is full"
    if connection.execute(waiting.where(letters.c.workspace == workspace)).scalar_one() >= limits.workspace:
        return "workspace is full"
    return None
