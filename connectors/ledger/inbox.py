"""Letters that wait for an answer. A letter is taken under a lease; a process that ended without a word gives its
letters back by that. Bodies are sealed and forgotten with the answer; keys stay as long as deliveries may be repeated.
"""

from __future__ import annotations

import json
import os
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, or_, select, update

from connectors.chat import Letter, MostWaiting, Received
from connectors.errors import Stop
from connectors.ledger.dialect import each, listed, storable
from connectors.ledger.door import Door
from connectors.ledger.processes import HOST, PROCESS, gone
from connectors.ledger.tables import OPEN, Number, Utc, letter_keys, letters
from connectors.ledger.together import Together
from connectors.vault import Vault

LEASE = timedelta(seconds=60)
_AT_ONCE = 100  # letters that are received in one transaction
_OURS = {"host": HOST, "pid": os.getpid(), "process": PROCESS}
_NOBODYS = {"host": None, "pid": None, "process": None, "lease_until": None}
_NOW = bindparam("now", type_=Utc())
_THIS = bindparam("this", type_=Number)
_KNOWN = select(letter_keys.c.key).where(letter_keys.c.key.in_(each("keys")))
_WAITING = (
    select(letters.c.workspace, letters.c.person, func.count())
    .where(OPEN)
    .group_by(letters.c.workspace, letters.c.person)
)
_KEEP = insert(letters).returning(letters.c.name, letters.c.number)
_KEEP_KEYS = insert(letter_keys)
_DUE = or_(
    (letters.c.state == "waiting") & (letters.c.due_at <= _NOW),
    (letters.c.state == "taken") & (letters.c.lease_until <= _NOW),
)
_busy = letters.alias("busy")
_BUSY = select(_busy.c.person).where(_busy.c.state == "taken", _busy.c.lease_until > _NOW)
_NEXT = select(letters).where(_DUE, letters.c.person.not_in(_BUSY)).order_by(letters.c.number).limit(1)
_NUMBERED = letters.c.number == _THIS
_HELD = _NUMBERED & (letters.c.state == "taken") & (letters.c.process == PROCESS)
_TAKE = update(letters).where(_NUMBERED).values(state="taken", times=letters.c.times + 1, lease_until=_NOW, **_OURS)
_HOLD = update(letters).where(_HELD).values(lease_until=_NOW)
_PUT_BACK = update(letters).where(_HELD).values(state="waiting", due_at=_NOW, **_NOBODYS)
_CLOSE = update(letters).where(_NUMBERED).values(state="closed", body="", **_NOBODYS)
_FREE = update(letters).where(_NUMBERED).values(state="waiting", **_NOBODYS)


@dataclass(frozen=True, slots=True)
class _Arrived:
    """A letter on its way in: its row, what it is known by, and how many may wait."""

    row: Mapping[str, Any]
    keys: tuple[str, ...]
    limits: MostWaiting


class SqlInbox:
    """Port `Inbox`."""

    def __init__(self, door: Door, vault: Vault) -> None:
        self._door = door
        self._vault = vault
        self._receiving = Together(self._keep, _AT_ONCE)

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
        row = {
            "name": name,
            "workspace": self._vault.pseudonym("inbox", workspace),
            "person": self._vault.pseudonym("inbox", person),
            "body": self._vault.seal(content, _bound(name)),
            "state": "waiting",
            "received_at": now,
            "due_at": now,
            "times": 0,
        }
        return await self._receiving.add(_Arrived(row, tuple(dict.fromkeys(keys)), limits))

    async def _keep(self, arrived: Sequence[_Arrived]) -> Sequence[Received]:
        return await self._door.change(partial(_kept, arrived), "inbox")

    async def take(self, now: datetime) -> Letter | None:
        """The oldest letter that is due, of somebody for whom none is under way."""

        def look(connection: Connection) -> Row[Any] | None:
            return connection.execute(_NEXT, {"now": now}).first()

        def change(connection: Connection) -> Row[Any] | None:
            row = look(connection)
            if row is not None:
                connection.execute(_TAKE, {"this": row.number, "now": now + LEASE})
            return row

        if await self._door.look(look, single=True) is None:
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
        given = {"this": number, "now": now + LEASE}
        return bool(await self._door.change(lambda connection: connection.execute(_HOLD, given).rowcount, "inbox"))

    async def put_back(self, number: int, due: datetime) -> None:
        """Let it be taken again from `due` on; one that is not ours any more is left alone."""
        given = {"this": number, "now": due}
        await self._door.change(lambda connection: connection.execute(_PUT_BACK, given), "inbox")

    async def close(self, number: int) -> None:
        """Forget its body; its keys stay."""
        await self._door.change(lambda connection: connection.execute(_CLOSE, {"this": number}), "inbox")

    async def recover(self) -> int:
        """Free the letters of processes of this machine that are certainly gone."""

        def change(connection: Connection) -> int:
            taken = connection.execute(select(letters).where(letters.c.state == "taken")).all()
            lost = [row.number for row in taken if gone(row.host or "", row.pid or 0, row.process or "")]
            if lost:
                connection.execute(_FREE, [{"this": number} for number in lost])
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


def _kept(arrived: Sequence[_Arrived], connection: Connection) -> list[Received]:
    """Keep those that did not come before and find room, each judged after those before it. The keys of what is turned
    away are kept, too."""
    known = set(connection.execute(_KNOWN, {"keys": listed(key for one in arrived for key in one.keys)}).scalars())
    waiting: Counter[tuple[str, str]] = Counter()
    for workspace, person, number in connection.execute(_WAITING):
        waiting["workspace", workspace] += number
        waiting["person", person] += number
    received: list[Received] = []
    new: list[tuple[_Arrived, Mapping[str, Any]]] = []
    for one in arrived:
        how = _how(one, known, waiting)
        received.append(how)
        if how == "accepted":
            waiting.update([("workspace", one.row["workspace"]), ("person", one.row["person"])])
        if how != "twice":
            known.update(one.keys)
            new.append((one, one.row if how == "accepted" else {**one.row, "state": "closed", "body": ""}))
    if new:
        numbers = {row.name: row.number for row in connection.execute(_KEEP, [row for _, row in new])}
        connection.execute(
            _KEEP_KEYS, [{"key": key, "letter": numbers[row["name"]]} for one, row in new for key in one.keys]
        )
    return received


def _how(one: _Arrived, known: set[str], waiting: Mapping[tuple[str, str], int]) -> Received:
    if not known.isdisjoint(one.keys):
        return "twice"
    if waiting["person", one.row["person"]] >= one.limits.person:
        return "person is full"
    if waiting["workspace", one.row["workspace"]] >= one.limits.workspace:
        return "workspace is full"
    return "accepted"
