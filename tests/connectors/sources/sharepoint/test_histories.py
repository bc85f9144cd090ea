"""What holds after histories of a tenant that are always the same: nobody sees more at any time, and in the end
everybody sees exactly what he may; also where syncs are killed on the way. No webhook is ever told."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.doubles.sharepoint.history import History
from tests.doubles.sharepoint.tenant import Gaps
from tests.sharepoint_house import House, Seen

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def live(house: House, history: History, deeds: Sequence[int]) -> None:
    for deed in deeds:
        history.do(deed)
    for library, code, location in history.lost:
        house.vendor.graph.deltas.expire(library, code, location)
    history.lost.clear()


async def closed(house: House, *allowed: Seen) -> None:
    over = await house.over(*allowed)
    assert not over, "\n".join(["seen and not allowed:", *over, *house.tenant.history])


async def exact(house: House) -> None:
    await closed(house)
    under = await house.under()
    assert not under, "\n".join(["allowed and not seen:", *under, *house.tenant.history])


@pytest.mark.parametrize(("killed", "number"), [(False, 0), (False, 1), (False, 2), (True, 100), (True, 104)])
async def test_a_history_is_followed_and_nobody_ever_sees_more(
    tmp_path: Path, ledger_file: Path, killed: bool, number: int
) -> None:
    drawn = random.Random(number)
    house = House(tmp_path, ledger_file=ledger_file)
    house.tenant.gaps = Gaps(role_assignments=drawn.random() < 0.5)
    history = History(house.tenant)
    async with house.open():
        await house.sync()
        await exact(house)
        for _ in range(3):
            before = house.may()
            live(house, history, [drawn.randrange(2**32) for _ in range(drawn.randrange(1, 9))])
            if killed:
                await house.killed_sync(drawn.randrange(1, 120))
                await closed(house, before, house.may())
                house.tenant.wait(house.pause * 60)  # the dead process's claim runs out
                await house.sync()
            else:
                await house.sync(full=drawn.random() < 0.3)
            await closed(house)
            assert not any(house.stored(draft) for draft in history.drafts)
        await house.sync(full=True)
        await exact(house)
        assert (house.vendor.count.unknown, house.vendor.count.offences) == ([], [])
