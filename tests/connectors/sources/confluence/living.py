"""A house for one test: opened where the test is, with a ledger whose schema was made once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from connectors.ledger.open import open_ledger
from connectors.records import ParsedRecord
from connectors.sync.parse.formats import read
from connectors.sync.parse.limits import Limits
from tests.confluence_house import House, stocked
from tests.doubles.confluence.wiki import Wiki


class HereParser:
    """The product's own reading, in this process."""

    async def parse(self, body: bytes, media_type: str, name: str) -> ParsedRecord:
        return read(body, media_type, name, Limits(), None)


@cache
def schema() -> Path:
    """A ledger with its schema and nothing in it, to be copied."""
    file = Path(mkdtemp(prefix="footnote-schema-")) / "ledger.sqlite"

    async def make() -> None:
        async with open_ledger(f"sqlite+aiosqlite:///{file}"):
            pass

    asyncio.run(make())
    return file


def ready() -> Path:
    """The same from within a running loop: the schema is made in a thread of its own."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(schema).result()


@asynccontextmanager
async def living(folder: Path, wiki: Wiki | None = None, **more: Any) -> AsyncIterator[House]:
    """A house on this wiki, or on a stocked one of Cloud; `settings` go over those of the source."""
    house = House(folder, wiki or stocked(), ledger_file=ready(), **more)
    async with house.open():
        yield house


def named(house: House, title: str) -> str:
    """The id of the content with this title."""
    [found] = [each.id for each in house.wiki.content.values() if each.title == title]
    return found
