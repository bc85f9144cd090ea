"""No word reaches anybody, by any door, who may not read the text it stands in."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.leaks.canaries import Aviary, build

ASKS = int(os.environ.get("CANARY_ASKS", "500"))  # the long form: CANARY_ASKS=20000


@pytest.fixture(scope="module")
def aviary() -> Aviary:
    return build(pages=240, people=40, seed=7)


@pytest.mark.timeout(max(120, ASKS // 5))
async def test_no_forbidden_word_leaves_by_any_door(aviary: Aviary) -> None:
    run = await aviary.run(ASKS, seed=11)

    assert run.leaks[:5] == []
    assert run.errors == 0
    # It was worth watching: people were answered, places too, and the index offered what every check is there for.
    assert run.answered > ASKS / 20
    assert run.for_everyone > 0
    assert len(run.seen) > 40
    assert {
        "known", "document-live", "not-overlaid", "scope-active", "lease-running", "access-satisfied",
        "version-current", "in-force", "not-superseded", "not-quarantined", "published text",
    } == run.dropped  # fmt: skip


def test_every_door_of_the_line_is_watched(aviary: Aviary) -> None:
    from dataclasses import fields

    from bot.answering.doors import Doors
    from tests.tap import OUTWARD

    assert set(OUTWARD) | {"policy", "cut", "clock", "timer", "tag", "told", "live"} == {
        each.name for each in fields(Doors)
    }


def test_the_world_has_everything_that_can_be_wrong(aviary: Aviary) -> None:
    fates = Counter(bird.fate for bird in aviary.birds.values())

    assert min(fates.values()) >= 10
    assert sum(aviary.lying[name] != entry for name, entry in aviary.honest.items()) > 100
    assert len(aviary.lying) > len(aviary.honest)
