"""How the roles of a sync reach the database: a method is carried out whole, in a thread where there may be one."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from sqlalchemy import delete, func, insert, select

from connectors.errors import Stop
from connectors.ledger.door import Door, in_one_hop
from connectors.ledger.open import open_ledger
from connectors.ledger.tables import source_notes
from tests.blank import blank_ledger

_NOTE = {"source": "s", "value": "v"}


@in_one_hop
class Notes:
    """A role as those of a sync are."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self.threads: set[int] = set()

    async def write(self, *names: str, fails: bool = False) -> None:
        self.threads.add(threading.get_ident())
        async with self._door.write() as connection:
            await connection.execute(insert(source_notes), [{**_NOTE, "name": name} for name in names])
            if fails:
                raise Stop("not so")

    async def replace(self, name: str) -> int:
        async with self._door.write() as connection:
            await connection.execute(delete(source_notes))
        await self.write(name)
        return await self.count()

    async def count(self) -> int:
        async with self._door.snapshot() as connection:
            return (await connection.execute(select(func.count()).select_from(source_notes))).scalar() or 0

    async def dawdle(self) -> None:
        await asyncio.sleep(0)


async def test_a_method_is_carried_out_whole_in_a_thread(tmp_path: Path) -> None:
    async with open_ledger(blank_ledger(tmp_path / "l.sqlite")) as ledger:
        notes = Notes(ledger.door)
        await notes.write("a", "b")
        assert await notes.replace("c") == 1

    assert threading.get_ident() not in notes.threads


async def test_without_a_file_it_is_carried_out_where_it_is_awaited() -> None:
    async with open_ledger("sqlite+aiosqlite://") as ledger:
        notes = Notes(ledger.door)
        assert await notes.replace("a") == 1
        await notes.dawdle()

    assert notes.threads == {threading.get_ident()}


async def test_what_goes_wrong_in_it_undoes_all_of_it(tmp_path: Path) -> None:
    async with open_ledger(blank_ledger(tmp_path / "l.sqlite")) as ledger:
        notes = Notes(ledger.door)
        with pytest.raises(Stop, match="not so"):
            await notes.write("a", fails=True)

        assert await notes.count() == 0


async def test_a_method_that_waits_for_something_else_is_a_fault(tmp_path: Path) -> None:
    async with open_ledger(blank_ledger(tmp_path / "l.sqlite")) as ledger:
        notes = Notes(ledger.door)
        with pytest.raises(RuntimeError, match="waits for something else"):
            await notes.dawdle()

        await notes.write("a")  # and the next one is carried out
        assert await notes.count() == 1


async def test_many_at_once_write_one_after_the_other(tmp_path: Path) -> None:
    async with open_ledger(blank_ledger(tmp_path / "l.sqlite")) as ledger:
        notes = Notes(ledger.door)
        await asyncio.gather(*(notes.write(f"n{number}") for number in range(30)))

        assert await notes.count() == 30
