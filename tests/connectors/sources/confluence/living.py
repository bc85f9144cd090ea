"""A house for one test: opened where the test is, with a ledger whose schema was made once, or a first sync as well."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

from connectors.ledger.open import open_ledger
from connectors.records import ParsedRecord
from connectors.sync.parse.formats import read
from connectors.sync.parse.limits import Limits
from tests.confluence_house import MINUTE, House, stocked
from tests.doubles.confluence.wiki import Wiki

T = TypeVar("T")


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


@cache
def after_first_sync(edition: str) -> Path:
    """Ledger and index of a house on a stocked wiki whose first sync is done, to be copied."""
    folder, empty = Path(mkdtemp(prefix=f"footnote-{edition}-")), schema()

    async def make() -> None:
        house = House(folder, stocked(edition), ledger_file=empty)
        async with house.open():
            report = await house.sync()
            assert report.complete, report.problems

    asyncio.run(make())
    return folder


def ready(make: Callable[[], T]) -> T:
    """What is made once, from within a running loop: in a thread of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(make).result()


@asynccontextmanager
async def living(folder: Path, wiki: Wiki | None = None, **more: Any) -> AsyncIterator[House]:
    """A house on this wiki, or on a stocked one of Cloud; `settings` go over those of the source."""
    house = House(folder, wiki or stocked(), ledger_file=ready(schema), **more)
    async with house.open():
        yield house


@asynccontextmanager
async def settled_in(folder: Path, wiki: Wiki | str = "cloud", **more: Any) -> AsyncIterator[House]:
    """A house after a first sync that is not done again for each test: on a stocked wiki of this edition, or on this
    one, whatever happened to it since it was stocked."""
    if isinstance(wiki, str):
        wiki = stocked(wiki)
    made = ready(partial(after_first_sync, wiki.edition))
    shutil.copytree(made, folder, dirs_exist_ok=True)
    house = House(folder, wiki, **more)
    wiki.at += MINUTE
    async with house.open():
        yield house


def named(house: House, title: str) -> str:
    """The id of the content with this title."""
    [found] = [each.id for each in house.wiki.content.values() if each.title == title]
    return found
