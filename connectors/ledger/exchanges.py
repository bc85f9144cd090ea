"""Questions and their answers of late, sealed: for follow-ups, for buttons under answers, for the asker's own page.

Nobody is found here but by keyed pseudonyms: a row says neither who asked nor where. A body opens under its row's name
alone. Whether a button may still do its work is decided by one conditional update: of two who press, one succeeds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, or_, select, update

from connectors.chat import Exchange, ExchangeState
from connectors.errors import Stop
from connectors.ledger.dialect import storable
from connectors.ledger.door import Door
from connectors.ledger.tables import exchanges, ratings, traces
from connectors.vault import Vault

_LONGEST = 200  # characters of a name that is looked for


class SqlExchanges:
    """Port `Exchanges`."""

    def __init__(self, door: Door, vault: Vault) -> None:
        self._door = door
        self._vault = vault

    async def keep(self, exchange: Exchange, until: datetime) -> None:
        """Keep it, in place of what was kept under its name."""
        where = {"thread": exchange.thread, "answered_in": exchange.answered_in}
        content = {"asker": exchange.asker, **where, **exchange.body}
        sealed = self._vault.seal(json.dumps(content, ensure_ascii=True), _bound(exchange.name))
        row = {
            "name": exchange.name,
            "asker": self._vault.pseudonym("exchange asker", exchange.asker),
            "thread": self._thread(exchange.thread),
            "answered_in": self._thread(exchange.answered_in),
            "state": exchange.state,
            "body": sealed,
            "at": exchange.at,
            "until": until,
        }

        def change(connection: Connection) -> None:
            changed = update(exchanges).where(exchanges.c.name == exchange.name).values(**row)
            if not connection.execute(changed).rowcount:
                connection.execute(insert(exchanges).values(**row))

        await self._door.change(change, "inbox")

    async def find(self, name: str, now: datetime) -> Exchange | None:
        """The one of this name, unless its time is over."""
        if not name or len(name) > _LONGEST or not storable(name):
            return None
        found = await self._found(select(exchanges).where(exchanges.c.name == name, exchanges.c.until > now))
        return found[0] if found else None

    async def turn(self, name: str, was: ExchangeState, becomes: ExchangeState) -> bool:
        """Change its state, if it is as expected."""
        turned = update(exchanges).where(exchanges.c.name == name, exchanges.c.state == was).values(state=becomes)
        return bool(await self._door.change(lambda connection: connection.execute(turned).rowcount, "inbox"))

    async def talk(self, thread: str, most: int, now: datetime) -> Sequence[Exchange]:
        """Those of one thread, oldest first; the last `most`."""
        names = self._vault.pseudonyms("exchange thread", thread)
        here = or_(exchanges.c.thread.in_(names), exchanges.c.answered_in.in_(names))
        wanted = select(exchanges).where(here, exchanges.c.until > now).order_by(exchanges.c.at.desc())
        found = await self._found(wanted.limit(most))
        return [each for each in reversed(found) if thread in (each.thread, each.answered_in)]

    async def of(self, asker: str, most: int, now: datetime) -> Sequence[Exchange]:
        """Somebody's own, newest first."""
        mine = exchanges.c.asker.in_(self._vault.pseudonyms("exchange asker", asker))
        wanted = select(exchanges).where(mine, exchanges.c.until > now).order_by(exchanges.c.at.desc())
        return [each for each in await self._found(wanted.limit(most)) if each.asker == asker]

    async def rate(self, name: str, verdict: str, reasons: Sequence[str], words: str, now: datetime) -> None:
        """Keep what the asker thought of the answer, in place of what he thought before."""
        kept = await self.find(name, now)
        row = {
            "name": name,
            "trace": str(kept.body.get("trace") or "") if kept else "",
            "verdict": verdict,
            "reasons": " ".join(reasons),
            "words": self._vault.seal(words, f"ratings|words|{name}") if words else "",
            "at": now,
        }

        def change(connection: Connection) -> None:
            if not connection.execute(update(ratings).where(ratings.c.name == name).values(**row)).rowcount:
                connection.execute(insert(ratings).values(**row))

        await self._door.change(change, "inbox")

    async def forget(self, now: datetime) -> int:
        """Forget those whose time is over, and what was thought of answers of which the audit record is gone."""
        over = delete(exchanges).where(exchanges.c.until <= now)
        traced = select(traces.c.seq).where(traces.c.trace == ratings.c.trace).exists()

        def change(connection: Connection) -> int:
            connection.execute(delete(ratings).where(~traced))
            return connection.execute(over).rowcount

        return await self._door.change(change, "inbox")

    # ------------------------------------------------------------ reading

    async def _found(self, wanted: Select[Any]) -> list[Exchange]:
        rows = await self._door.look(lambda connection: connection.execute(wanted).all())
        return [opened for row in rows if (opened := self._opened(row)) is not None]

    def _opened(self, row: Row[Any]) -> Exchange | None:
        """The row, opened; nothing when its key is gone: then it is worth nothing any more."""
        try:
            body: Mapping[str, Any] = json.loads(self._vault.open(row.body, _bound(row.name)))
        except Stop:
            return None
        rest = {key: value for key, value in body.items() if key not in ("asker", "thread", "answered_in")}
        return Exchange(row.name, body["asker"], row.state, rest, row.at, body["thread"], body["answered_in"])

    def _thread(self, thread: str | None) -> str | None:
        return None if thread is None else self._vault.pseudonym("exchange thread", thread)


def _bound(name: str) -> str:
    return f"exchanges|body|{name}"
