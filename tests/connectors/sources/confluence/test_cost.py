"""What a sync asks of the wiki and writes here, in small; `tests.bench.confluence` is the same in large."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.bench.confluence import Counting, close_space, grown
from tests.connectors.sources.confluence.living import living

PAGES = 120


async def test_rights_of_a_space_change_without_a_write_to_the_index(tmp_path: Path) -> None:
    async with living(tmp_path, grown("cloud", PAGES)) as house:
        await house.sync()
        writes: Counter[str] = Counter()
        house.index = Counting(house.index, writes)  # type: ignore[assignment]
        close_space(house.wiki)
        await house.sync()

        assert writes.total() == 0
        assert await house.wrong() == {}
