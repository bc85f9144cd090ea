"""What must hold for every history of a tenant while it goes on: between two syncs, within one, after a kill, a failure
or a lost event, nobody is shown a word that he was not allowed; in the end everybody is shown every word that he is.

Part V of the access rules, P2 to P6 and P8. `HISTORIES=200` lives through more and longer ones.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import DoorError
from connectors.sources.sharepoint.source import LEASE
from tests.connectors.sources.past import numbers, rounds
from tests.connectors.sources.sharepoint.life import Life, lived
from tests.connectors.sync.tree import Tap
from tests.doubles.sharepoint import wire

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


async def watched(life: Life, *, hurried: bool) -> None:
    """A sync during which people look now and then, and something may happen."""
    subjects = await life.house.subjects()
    moments = {life.drawn.randrange(1, 150) for _ in range(2)}
    mishap = life.drawn.randrange(1, 400)

    async def look() -> None:
        nonlocal subjects
        if tap.calls in moments:
            moments.discard(tap.calls)
            await life.nobody_sees_more(subjects)
        if tap.calls == mishap:
            life.says("meanwhile:")
            life.happens(1)
            subjects = await life.house.subjects()

    tap = Tap(watch=look)
    await life.sync(hurried=hurried, tap=tap)


# ---------------------------------------------------------------- P2


@pytest.mark.parametrize("number", numbers(0))
async def test_at_every_moment_nobody_is_shown_more_than_he_was_allowed_within_the_bound(
    ledger_file: Path, number: int
) -> None:
    async with lived(number, ledger_file) as life:
        for _ in rounds(2, 8):
            life.happens(4)
            life.waits(3, 15, 70, 300, 800)
            await life.nobody_sees_more()
            await life.sharepoint_itself_agrees()
            told = life.drawn.random() < 0.5
            if told:
                await tell(life)
            happened = len(life.past.said)
            await watched(life, hurried=life.drawn.random() < 0.2)
            await life.nobody_sees_more()
            if told and len(life.past.said) <= happened:  # what an event told of is done by the sync that it starts
                await nothing_deleted_is_shown(life)
        life.tenant.wait(LEASE)
        life.note()
        await life.nobody_sees_more()
        await life.sync()
        await life.everybody_sees_what_he_may()


async def nothing_deleted_is_shown(life: Life) -> None:
    gone = {item.unique_id for item in life.tenant.documents() if item.kind == "file" and item.gone}
    shown = {key for pairs in (await life.shown()).values() for key, _ in pairs}

    assert not shown & gone, life.told("is deleted and shown", sorted(shown & gone))


async def tell(life: Life) -> None:
    """Graph says of every library and list that something changed in it, and no more than that."""
    life.says("Graph tells of every library and list")
    lists = [each for site in life.tenant.collections for web in site.webs for each in web.lists]
    resources = [f"drives/{drive}/root" for drive in life.tenant.drives]
    async with life.house.far() as far:
        assert far.hook is not None
        state: Any = far.hook
        for resource in [*resources, *(each.id for each in lists)]:
            told = {"clientState": state.state, "resource": resource, "changeType": "updated"}
            events = far.hook.events({}, {}, json.dumps({"value": [told]}).encode())
            assert events
            await life.house.memory.told(events, life.house.now())


# ---------------------------------------------------------------- P3


@pytest.mark.parametrize("number", numbers(0))
async def test_a_kill_anywhere_shows_no_more_than_before_and_after(ledger_file: Path, number: int) -> None:
    async with lived(number, ledger_file) as life:
        for _ in rounds(1, 3):
            life.past.forget()
            before = life.past.said[-1]
            life.happens(6)
            life.past.said[:-1] = [before]  # nobody looked in between
            fatal = life.drawn.randint(1, 12)
            while await life.killed_sync(fatal):
                await life.nobody_sees_more()
                fatal = int(fatal * (1 + life.drawn.random())) + 3
            await life.sync()
            await life.everybody_sees_what_he_may()


# ---------------------------------------------------------------- P4

FAILURES = {
    **{str(code): wire.status(code) for code in (400, 401, 403, 404, 410, 423, 500, 504)},
    "429": wire.throttled("1"), "a page": wire.a_page, "half": wire.half_json, "nothing": wire.nothing,
    "cut": wire.truncated, "dropped": wire.dropped, "in circles": wire.in_circles,
}  # fmt: skip
TEXT = re.compile(r"download\.aspx|/content|\$value|/versions")


@pytest.mark.parametrize("number", numbers(0))
async def test_whatever_fails_nobody_sees_more_and_nothing_is_lost(ledger_file: Path, number: int) -> None:
    async with lived(number, ledger_file) as life:
        vendor = life.house.vendor
        for _ in rounds(1, 3):
            life.past.forget()
            before = life.past.said[-1]
            life.happens(5)
            life.past.said[:-1] = [before]
            alive = await life.house.alive()
            asked = life.drawn.choice([each for each in vendor.count.asked if not TEXT.search(each)])
            name, one = life.drawn.choice(sorted(FAILURES)), life.drawn.random() < 0.5
            vendor.count.clear()
            life.says(f"{name}, {'once' if one else 'always'}, in the place of {asked}")
            times = 1 if one else 1_000_000
            vendor.fault(endpoint(asked), FAILURES[name], times=times, after=life.drawn.randrange(3))
            with suppress(DoorError):
                await life.house.sync(full=life.drawn.random() < 0.3)
            await life.nobody_sees_more()
            there = {item.unique_id for item in life.tenant.documents() if not item.gone}
            lost = (alive & there) - await life.house.alive()
            assert not lost, life.told("was deleted", sorted(lost))
            vendor.mend()
            await life.sync()
            await life.everybody_sees_what_he_may()


def endpoint(line: str) -> str:
    """What finds requests like this one: any id for any id."""
    path = re.escape(line.partition("?")[0])
    guid = r"[0-9a-f]{8}(?:\\?-[0-9a-f]{4}){3}\\?-[0-9a-f]{12}"
    path = re.sub(guid, "[^/]+", path)
    path = re.sub(r"b!(?:\\?[\w-])+", "[^/]+", path)
    return "^" + re.sub(r"\(\d+\\\)", r"(\\d+\\)", path)


# ---------------------------------------------------------------- P5, P6


@pytest.mark.parametrize("number", numbers(0))
async def test_lost_events_and_repeated_rows_change_nothing_but_time(ledger_file: Path, number: int) -> None:
    """The same history with every event, with none, and with rows that come shuffled and twice."""
    told = await ended(ledger_file, number, tells=True)

    assert await ended(ledger_file, number) == told
    assert await ended(ledger_file, number, wire.twice, wire.shuffled(number)) == told


async def ended(ledger_file: Path, number: int, *bends: wire.Bend, tells: bool = False) -> dict[str, Any]:
    """Where the ledger has everything in the end."""
    async with lived(number, ledger_file) as life:
        for bend in bends:
            life.house.vendor.fault(".", bend)
        for _ in rounds(2, 5):
            life.happens(5)
            life.waits(3, 15, 70)
            if tells:
                await tell(life)
            await life.sync(hurried=False)
            await life.nobody_sees_more()
        life.tenant.wait(LEASE)  # everything is due by its own time
        life.note()
        await life.sync(hurried=False)
        await life.everybody_sees_what_he_may()
        return await life.held()
