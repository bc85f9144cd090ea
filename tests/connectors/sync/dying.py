"""A sync in a process of its own that kills itself: `python -m tests.connectors.sync.dying URL FOLDER CALLS`.

It ends as by kill -9 before its CALLS-th call through the doors, or with status 0 when it was done before that.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from connectors.index.embedded import EmbeddedIndex
from connectors.ledger.open import open_ledger
from connectors.ports import IndexIdentity
from tests.connectors.sync.tree import Tap, Tree


@asynccontextmanager
async def tree_at(url: str, folder: Path) -> AsyncIterator[Tree]:
    """The folder's documents with the ledger at this address and an index in a file."""
    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(open_ledger(url))
        identity = IndexIdentity("hashing/1", 64, "1")
        index = await stack.enter_async_context(EmbeddedIndex(folder / "index.sqlite", identity))
        yield Tree(folder / "docs", catalog=ledger.catalog, facts=ledger.facts, index=index)


class Fatal(Tap):
    """Ends the process instead of raising."""

    async def call(self, name, work):  # type: ignore[no-untyped-def]
        if self.calls + 1 == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return await Tap.call(self, name, work)


async def die(url: str, folder: Path, calls: int) -> None:
    async with tree_at(url, folder) as tree:
        await tree.sync(tap=Fatal(fatal=calls))


if __name__ == "__main__":
    asyncio.run(die(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
