"""Letters that wait for an answer. A letter is taken under a lease; a process that ended without a word gives its
letters back by that. Bodies are sealed and forgotten with the answer; keys stay as long as deliveries may be repeated.

What was turned away waits, too, until its sender was told so. Its name says why, and it counts as another person's in
another workspace, so that neither keeps the other waiting.
"""

from __future__ import annotations

import json
import os
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, or_, select, update

from connectors.chat import Letter, MostWaiting, Received, TurnedAway
from connectors.errors import Stop
from connectors.ledger.dialect import each, listed, storable
from connectors.ledger.door import Door
from connectors.ledger.processes import HOST, PROCESS, gone
from connectors.ledger.tables import OPEN, Number, Utc, letter_keys, letters
from connectors.ledger.together import Together
from connectors.vault import Vault

LEASE = timedelta(seconds=60)
_AT_ONCE = 100  # letters that are received in one transaction
_MOST_TURNED_AWAY = MostWaiting(person=10, workspace=200)  # that wait to be told so
_PREFIXES: Mapping[str, TurnedAway] = {"person": "person is full", "workspace": "workspace is full"}
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
_FREE_TO_GO = select(letters).where(_DUE, letters.c.person.not_in(_BUSY)).order_by(letters.c.number).limit(1)
_TURNED_AWAY = letters.c.name.between("person-", "workspace-g")  # all other names are digits of base 16
_NEXT = _FREE_TO_GO.where(~_TURNED_AWAY)
_NEXT_TOLD = _FREE_TO_GO.where(_TURNED_AWAY)
_NUMBERED = letters.c.number == _THIS
_HELD = _NUMBERED & (letters.c.state == "taken") & (letters.c.process == PROCESS)
_TAKE = update(letters).where(_NUMBERED).values(state="taken", times=letters.c.times + 1, lease_until=_NOW, **_OURS)
_HOLD = update(letters).where(_HELD).values(lease_until=_NOW)
_PUT_BACK = update(letters).where(_HELD).values(state="waiting", due_at=_NOW, **_NOBODYS)
_CLOSE = update(letters).where(_HELD).values(state="closed", body="", **_NOBODYS)
_FREE = update(letters).where(_NUMBERED).values(state="waiting", **_NOBODYS)


@dataclass(frozen=True, slots=True)
class _Arrived:
    """A letter on its way in: its row, what it is known by, and how many may wait. `told`: its row for what is turned
    away, where the sender is to be told so."""

    row: Mapping[str, Any]
    keys: tuple[str, ...]
    limits: MostWaiting
    told: Callable[[str], Mapping[str, Any]] | None = None


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
        *,
        told: bool = False,
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

        def turned_away(how: str) -> Mapping[str, Any]:
            [prefix] = [each for each, why in _PREFIXES.items() if why == how]
            named = f"{prefix}-{name}"
            others = {
                "name": named,
                "workspace": self._vault.pseudonym("inbox", f"turned away|{workspace}"),
                "person": self._vault.pseudonym("inbox", f"turned away|{person}"),
            }
            return {**row, **others, "body": self._vault.seal(content, _bound(named))}

        arrived = _Arrived(row, tuple(dict.fromkeys(keys)), limits, turned_away if told else None)
        return await self._receiving.add(arrived)

    async def _keep(self, arrived: Sequence[_Arrived]) -> Sequence[Received]:
        return await self._door.change(partial(_kept, arrived), "inbox")

    async def take(self, now: datetime, *, turned_away: bool = True) -> Letter | None:
        """The oldest letter that is due, of somebody for whom none is under way; what was turned away comes first."""

        def change(connection: Connection) -> Row[Any] | None:
            row = connection.execute(_NEXT_TOLD, {"now": now}).first() if turned_away else None
            row = row or connection.execute(_NEXT, {"now": now}).first()
            if row is not None:
                connection.execute(_TAKE, {"this": row.number, "now": now + LEASE})
            return row

        due = _FREE_TO_GO if turned_away else _NEXT
        if await self._door.look(lambda connection: connection.execute(due, {"now": now}).first(), single=True) is None:
            return None  # nobody writes for nothing
        row = await self._door.change(change, "inbox")
        if row is None:
            return None
        try:
            body = json.loads(self._vault.open(row.body, _bound(row.name)))
        except Stop:
            await self.close(row.number)  # its key is gone, and comes back no more
            raise
        return Letter(row.number, body, row.times + 1, _PREFIXES.get(row.name.partition("-")[0]))

    async def hold(self, number: int, now: datetime) -> bool:
        """Renew the lease; whether the letter is still ours."""
        given = {"this": number, "now": now + LEASE}
        return bool(await self._door.change(lambda connection: connection.execute(_HOLD, given).rowcount, "inbox"))

    async def put_back(self, number: int, due: datetime) -> None:
        """Let it be taken again from `due` on; one that is not ours any more is left alone."""
        given = {"this": number, "now": due}
        await self._door.change(lambda connection: connection.execute(_PUT_BACK, given), "inbox")

    async def close(self, number: int) -> None:
        """Forget its body; its keys stay. One that is not ours any more is left alone."""
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
        how, row = _how(one, known, waiting)
        received.append(how)
        if row is None:
            continue
        if row["state"] == "waiting":
            waiting.update([("workspace", row["workspace"]), ("person", row["person"])])
        known.update(one.keys)
        new.append((one, row))
    if new:
        numbers = {row.name: row.number for row in connection.execute(_KEEP, [row for _, row in new])}
        connection.execute(
            _KEEP_KEYS, [{"key": key, "letter": numbers[row["name"]]} for one, row in new for key in one.keys]
        )
    return received


def _how(
    one: _Arrived, known: set[str], waiting: Mapping[tuple[str, str], int]
) -> tuple[Received, Mapping[str, Any] | None]:
    """What becomes of it, and the row that is kept; none where nothing is."""
    if not known.isdisjoint(one.keys):
        return "twice", None
    how = _fullness(one.row, one.limits, waiting)
    if how is None:
        return "accepted", one.row
    if one.told is None:
        return how, {**one.row, "state": "closed", "body": ""}
    row = one.told(how)
    return ("full", None) if _fullness(row, _MOST_TURNED_AWAY, waiting) else (how, row)


def _fullness(row: Mapping[str, Any], most: MostWaiting, waiting: Mapping[tuple[str, str], int]) -> TurnedAway | None:
    if waiting["person", row["person"]] >= most.person:
        return "person is full"
    return "workspace is full" if waiting["workspace", row["workspace"]] >= most.workspace else None
