"""What the tests of SharePoint share."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from connectors.ledger.open import open_ledger
from tests.sharepoint_house import Office, office


@pytest.fixture(scope="session")
def ledger_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with its schema and nothing in it, to be copied: laying one out takes most of a second."""
    made = tmp_path_factory.mktemp("ledger") / "ledger.sqlite"
    kept = made.with_name("kept.sqlite")

    async def lay_out() -> None:
        async with open_ledger(f"sqlite+aiosqlite:///{made}"):
            pass

    asyncio.run(lay_out())
    shutil.copy(made, kept)
    return kept


@pytest.fixture
def open_office(tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Office]]:
    """Opens a small tenant with the product on it; ledger and index in memory."""

    def opened(**more: Any) -> AbstractAsyncContextManager[Office]:
        return office(tmp_path, in_memory=True, **more)

    return opened


@pytest.fixture
async def here(open_office: Callable[..., AbstractAsyncContextManager[Office]]) -> AsyncIterator[Office]:
    """A small tenant with the product on it."""
    async with open_office() as made:
        yield made
