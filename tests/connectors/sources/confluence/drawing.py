"""Drawing histories of a wiki: examples that are always the same, and a house for each."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from tests.confluence_house import House, stocked
from tests.connectors.sources.confluence.living import schema
from tests.connectors.sources.past import LONG
from tests.doubles.confluence.history import Step
from tests.doubles.confluence.wiki import Wiki

Steps = list[Step]
STEP = st.tuples(st.integers(0, 63), st.integers(0, 255), st.integers(0, 1023))
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # what is flushed there costs nothing
EDITIONS = st.sampled_from(["cloud", "cloud", "datacenter"])


def held(examples: int) -> settings:
    """So many examples, always the same ones, none too slow; `HISTORIES=200` in the environment makes it that many, and
    makes short what failed."""
    return settings(
        max_examples=LONG or examples,
        phases=tuple(Phase) if LONG else (Phase.explicit, Phase.generate),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


def live(edition: str, story: Callable[[House], Awaitable[None]], wiki: Wiki | None = None) -> None:
    """Tell a story in a new house."""
    made = schema()

    async def run(folder: Path) -> None:
        house = House(folder, wiki or stocked(edition), ledger_file=made)
        async with house.open():
            await story(house)

    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        asyncio.run(run(Path(folder)))
