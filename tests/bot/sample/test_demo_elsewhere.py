"""The demo comes out the same, person by person, whichever database and index it runs on."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from connectors.index.weaviate_door import Address
from tests.bot.sample.outcomes import ASKED, outcomes
from tests.weaviate import MISSING, fresh_name, settings_of

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(900)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def at_home(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """On the embedded defaults."""
    return await outcomes(tmp_path_factory.mktemp("home"), {})


async def test_the_demo_is_the_same_on_postgresql(
    at_home: list[dict[str, Any]], postgres_url: str, tmp_path: Any
) -> None:
    found = await outcomes(tmp_path, {"FOOTNOTE_DATABASE_URL": postgres_url})

    assert len(found) == len(ASKED)
    assert {each["outcome"] for each in found} >= {"answered", "abstained"}
    assert found == at_home


@MISSING
async def test_the_demo_is_the_same_on_weaviate(
    at_home: list[dict[str, Any]], weaviate: Address, tmp_path: Any
) -> None:
    found = await outcomes(tmp_path, settings_of(weaviate, fresh_name()))

    assert {each["outcome"] for each in found} >= {"answered", "abstained"}
    assert found == at_home
