"""The ledger on SQLite: the suites, and what is SQLite's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.connectors.conformance.catalog_suite import CatalogSuite
from tests.connectors.conformance.cover_suite import CoverSuite
from tests.connectors.conformance.facts_suite import FactsSuite
from tests.connectors.conformance.memory_suite import MemorySuite


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite+aiosqlite:///{tmp_path / 'ledger.sqlite'}"


class TestSqliteFactsInAFile(FactsSuite):
    pass


class TestSqliteFacts(FactsSuite):
    @pytest.fixture
    def url(self) -> str:
        return "sqlite+aiosqlite://"


class TestSqliteCovers(CoverSuite):
    pass


class TestSqliteCatalog(CatalogSuite):
    pass


class TestSqliteMemory(MemorySuite):
    pass
