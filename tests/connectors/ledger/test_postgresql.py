"""The ledger on PostgreSQL: the suites, and what is PostgreSQL's own."""

from __future__ import annotations

import pytest

from tests.connectors.conformance.catalog_suite import CatalogSuite
from tests.connectors.conformance.facts_suite import FactsSuite


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url


class TestPostgresqlFacts(FactsSuite):
    pass


class TestPostgresqlCatalog(CatalogSuite):
    pass
