"""Ledgers as files to copy: one with its schema and nothing in it. To migrate one costs more than most tests."""

from __future__ import annotations

import asyncio
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from connectors.ledger.open import open_ledger


def blank_ledger(path: Path) -> str:
    """Put an empty ledger there, unless one is there already; gives its address."""
    if not path.exists():
        path.write_bytes(_blank())
    return _address(path)


def blank_data(folder: Path) -> str:
    """Make a data directory with an empty ledger; gives its name."""
    folder.mkdir(mode=0o700)
    blank_ledger(folder / "ledger.sqlite")
    return str(folder)


def _address(path: Path) -> str:
    return f"sqlite+aiosqlite:///{path}"


@cache
def _blank() -> bytes:
    with tempfile.TemporaryDirectory(prefix="footnote-blank-") as folder:
        path = Path(folder) / "ledger.sqlite"
        # In a thread of its own: whoever asks is on an event loop.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _migrated(_address(path))).result()
        assert [each.name for each in path.parent.iterdir()] == [path.name], "the file is not whole without others"
        return path.read_bytes()


async def _migrated(address: str) -> None:
    async with open_ledger(address):
        pass
