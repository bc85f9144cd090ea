"""The memory of a far source that tests use in place of the ledger's: the ledger's own suite."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.connectors.conformance.memory_suite import MemorySuite
from tests.memory import MemoryLedger
from tests.remembering import Remembering


class TestRemembering(MemorySuite):
    @pytest.fixture
    def ledger(self) -> Any:  # type: ignore[override]  # nothing is to be opened
        made = MemoryLedger()
        return SimpleNamespace(catalog=made, facts=made)

    def of_source(self, ledger: Any, source: str) -> Any:
        return Remembering(ledger.catalog, source)
