"""What a sync asks of the wiki and writes here, in small; `tests.bench.confluence` is the same in large."""

from __future__ import annotations

from collections import Counter
from contextlib import aclosing
from pathlib import Path

from connectors.records import AccessChanged
from tests.bench.confluence import Counting, close_space, grown
from tests.confluence_house import House
from tests.connectors.sources.confluence.living import living, settled_in
from tests.doubles.confluence.wiki import everyone, user

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


async def test_what_was_taken_away_is_told_before_a_space_is_read_whole(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as house:
        await house.sync()
        house.wiki.grant("ENG", user("robot"))
        house.wiki.revoke("ENG", everyone())
        house.server.counts.clear()
        async with house.far() as far, aclosing(far.source.changes(None, house.now())) as changes:
            told = [change async for change in changes if isinstance(change, AccessChanged) and _told_first(house)]

        assert {change.rules.root for change in told} == {"space:ENG"}


def _told_first(house: House) -> bool:
    """Whether nothing that stands in a space was asked for yet."""
    return not any("/spaces/{}/pages" in asked for asked in house.server.counts)
