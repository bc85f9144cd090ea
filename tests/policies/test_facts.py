"""A moment is aware."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from policies.facts import Moment
from tests.policies.given import NOW, TODAY


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        Moment(datetime(2026, 3, 2), date(2026, 3, 2), dated=False)  # noqa: DTZ001 - the mistake that is refused


def test_a_moment_with_a_zone_stands() -> None:
    assert Moment(NOW, TODAY, dated=False).now == NOW
