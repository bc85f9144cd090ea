"""The index in memory keeps the port's promises, so that tests on it mean something."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from connectors.ports import Index, IndexIdentity
from tests.connectors.conformance.index_suite import IDENTITY, IndexSuite
from tests.memory import MemoryIndex

_STORES: dict[Path, MemoryIndex] = {}


@asynccontextmanager
async def _open(place: Path, identity: IndexIdentity) -> AsyncIterator[Index]:
    held = _STORES.setdefault(place, MemoryIndex(identity))
    held.identity = identity
    yield held


class TestMemoryIndex(IndexSuite):
    def handle(self, place: Path, identity: IndexIdentity = IDENTITY) -> AbstractAsyncContextManager[Index]:
        return _open(place, identity)
