"""The bench of the edge in its small form: nothing of a burst is lost or doubled."""

from __future__ import annotations

import pytest

from tests.bench.slack import burst


@pytest.mark.timeout(240)
async def test_nothing_of_a_burst_is_lost_or_doubled() -> None:
    result = await burst(rate=40, seconds=2, drain=120)

    assert (result["lost"], result["doubled"]) == (0, 0)
    assert result["statuses"] == {200: result["requests"]}
