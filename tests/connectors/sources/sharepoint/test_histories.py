"""P1: after histories of a tenant that are always the same, nobody sees more after any sync, and in the end everybody
sees exactly what he may, also where all that is synced is what is due. No webhook is ever told."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from tests.connectors.sources.past import LONG, rounds
from tests.connectors.sources.sharepoint.life import lived
from tests.doubles.sharepoint.history import History
from tests.doubles.sharepoint.tenant import Gaps
from tests.sharepoint_house import House

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def live(house: House, history: History, deeds: Sequence[int]) -> None:
    for deed in deeds:
        history.do(deed)
    for library, code, location in history.lost:
        house.vendor.graph.deltas.expire(library, code, location)
    history.lost.clear()


async def closed(house: House) -> None:
    over = await house.over()
    assert not over, "\n".join(["seen and not allowed:", *over, *house.tenant.history])


async def exact(house: House) -> None:
    await closed(house)
    under = await house.under()
    assert not under, "\n".join(["allowed and not seen:", *under, *house.tenant.history])


@pytest.mark.parametrize("number", range(LONG or 1))
async def test_a_history_is_followed_and_nobody_ever_sees_more(tmp_path: Path, ledger_file: Path, number: int) -> None:
    drawn = random.Random(number)
    house = House(tmp_path, ledger_file=ledger_file)
    house.tenant.gaps = Gaps(role_assignments=drawn.random() < 0.5)
    history = History(house.tenant)
    async with house.open():
        await house.sync()
        await exact(house)
        for _ in range(3):
            live(house, history, [drawn.randrange(2**32) for _ in range(drawn.randrange(1, 9))])
            await house.sync(full=drawn.random() < 0.3)
            await closed(house)
            assert not any(house.stored(draft) for draft in history.drafts)
        await house.sync(full=True)
        await exact(house)
        assert (house.vendor.count.unknown, house.vendor.count.offences) == ([], [])


@pytest.mark.parametrize("number", range(LONG or 1))
async def test_what_is_due_by_its_own_time_alone_comes_to_what_everybody_may_see(
    ledger_file: Path, number: int
) -> None:
    """All objects are due every twelve hours, everything else that rights hang on every hour; short histories skip some
    of these hours."""
    async with lived(number, ledger_file) as life:
        restricted = life.drawn.random() < 0.5
        for _ in rounds(1, 4):
            life.happens(6)
            life.waits(3, 15, 70, 300)
            await life.sync(hurried=False)
            await life.nobody_sees_more()
        if restricted:
            life.restricts()
        life.happens(6)
        for hours in [1] * 13 if LONG else (1, 12):
            life.tenant.wait(timedelta(hours=hours))
            life.note()
            await life.sync(hurried=False)
            await life.nobody_sees_more()
        await life.everybody_sees_what_he_may()
