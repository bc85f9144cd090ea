"""Every test here opens a ledger of its own and takes thousands of steps on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aiosqlite.core
import pytest

from connectors.ledger.door import Door, mapped


@pytest.fixture(autouse=True)
def ledgers_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes to a thread and back for every statement or step stays where it is: most of the time of a sync in a
    test went into that. What the ledger does with its real driver is tested in `tests.connectors.ledger`."""

    async def here(self: Any, work: Callable[..., Any], *args: Any, **more: Any) -> Any:
        if not self._running or not self._connection:
            raise ValueError("Connection closed")
        return work(*args, **more)

    async def connect(self: Any) -> Any:
        if self._connection is None:
            self._connection = self._connector()
        return self

    async def at_once(_self: Door, _turn: object, work: Callable[[], Any]) -> Any:
        with mapped():
            return work()

    monkeypatch.setattr(Door, "_hop", at_once)
    monkeypatch.setattr(aiosqlite.core.Connection, "_execute", here)
    monkeypatch.setattr(aiosqlite.core.Connection, "_connect", connect)
