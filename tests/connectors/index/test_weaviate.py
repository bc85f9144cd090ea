"""The Weaviate index keeps the port's promises on a real server, and some of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from connectors.index.weaviate_door import Address
from connectors.ports import Index, IndexIdentity
from tests.connectors.conformance.index_suite import IDENTITY, IndexSuite
from tests.weaviate import MISSING, index_at

pytestmark = MISSING


def name_of(place: Path) -> str:
    return f"T{sha256(str(place).encode()).hexdigest()[:16]}"


class TestWeaviateIndex(IndexSuite):
    @pytest.fixture(autouse=True)
    def server(self, weaviate: Address) -> None:
        self.address = weaviate

    def handle(self, place: Path, identity: IndexIdentity = IDENTITY) -> AbstractAsyncContextManager[Index]:
        return self._handle(place, identity)

    @asynccontextmanager
    async def _handle(self, place: Path, identity: IndexIdentity) -> AsyncIterator[Index]:
        async with index_at(self.address, name_of(place), identity) as index:
            yield index
