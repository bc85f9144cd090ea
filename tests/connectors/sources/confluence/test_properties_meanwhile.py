"""What must hold for every history of a wiki while it goes on: between two syncs, within one, after a kill, a failure
or a lost event, nobody is shown a word that he was not allowed; in the end everybody is shown every word that he is.

Part V of the access rules, P2 to P6 and P8: bodies show each other by macros, so that a word of another page in what
somebody is shown is a failure of every test here. `HISTORIES=200` lives through more and longer ones.
"""

from __future__ import annotations

import re
from random import Random

import pytest

from tests.connectors.sources.confluence.life import DAY, LEASE, Life, drawn_wiki, lived, lives
from tests.connectors.sources.past import numbers, rounds
from tests.connectors.sync.tree import Tap
from tests.doubles.confluence.faults import EVERY, short
from tests.doubles.confluence.history import narrowing
from tests.doubles.vendor import Json, changed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


# ---------------------------------------------------------------- P2, P8


@pytest.mark.parametrize("number", numbers(0))
async def test_at_every_moment_nobody_is_shown_more_than_he_was_allowed_within_the_bound(number: int) -> None:
    async with lived(number) as life:
        for _ in rounds(3, 8):
            life.happens(3)
            life.waits(3, 40, 130, 300, 800)
            await life.nobody_sees_more()
            await life.the_wiki_itself_agrees()
            if life.drawn.random() < 0.4:
                await life.house.tell(of_permissions=life.drawn.random() < 0.5)
            await watched(life, hurried=life.drawn.random() < 0.2)
            await life.nobody_sees_more()
        life.wiki.at += DAY
        await life.nobody_sees_more()
        report = await life.sync()

        assert report.complete, life.told("was not looked at whole", list(report.problems))
        await life.everybody_sees_what_he_may()


async def watched(life: Life, *, hurried: bool) -> None:
    """A sync during which people look now and then, and something may happen."""
    subjects = await life.subjects()
    moments = {life.drawn.randrange(1, 150) for _ in range(2)}
    mishap = life.drawn.randrange(1, 400)

    async def look() -> None:
        nonlocal subjects
        if tap.calls in moments:
            moments.discard(tap.calls)
            await life.nobody_sees_more(subjects)
        if tap.calls == mishap:
            life.said.append("meanwhile:")
            life.happens(1)
            subjects = await life.subjects()

    tap = Tap(watch=look)
    await life.sync(hurried=hurried, tap=tap)


@pytest.mark.parametrize("number", numbers(1))
async def test_what_an_event_narrows_counts_at_once(number: int) -> None:
    async with lived(number) as life:
        for _ in rounds(2, 4):
            life.happens(6)
            await life.sync()
            await life.everybody_sees_what_he_may()
            life.house.told = len(life.wiki.log)

            life.happens(3, narrowing)
            life.past.forget()
            await life.house.tell(of_permissions=True, backwards=life.drawn.random() < 0.5)
            life.said.append("told")
            await life.nobody_sees_more()
            await watched(life, hurried=False)
            await life.nobody_sees_more()


# ---------------------------------------------------------------- P3


@pytest.mark.parametrize("number", numbers(2))
async def test_a_kill_anywhere_shows_no_more_than_before_and_after(number: int) -> None:
    async with lived(number) as life:
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


@pytest.mark.parametrize("number", numbers(0))
async def test_whatever_fails_nobody_sees_more_and_nothing_is_lost(number: int) -> None:
    async with lived(number) as life:
        for _ in rounds(1, 3):
            life.past.forget()
            before = life.past.said[-1]
            life.happens(5)
            life.past.said[:-1] = [before]
            alive = await life.house.alive()
            name, fault = life.drawn.choice((*EVERY, ("a row that is missing", short(1))))
            asked = life.drawn.choice(life.house.server.lines)
            one = life.drawn.random() < 0.5
            life.house.server.calm()
            life.said.append(f"{name}, {'once' if one else 'always'}, in the place of {asked}")
            life.house.server.fault(endpoint(asked), fault, times=1 if one else None, after=life.drawn.randrange(3))
            await life.house.sync(full=life.drawn.random() < 0.3)
            await life.nobody_sees_more()
            if name != "a row that is missing":
                lost = (alive & life.house.expected(life.house.server.crawler)) - await life.house.alive()
                assert not lost, life.told("was deleted", sorted(lost))
            life.house.server.calm()
            await life.sync()
            await life.everybody_sees_what_he_may()


def endpoint(line: str) -> str:
    """What finds requests like this one: any id for any id."""
    path = line.partition("?")[0]
    return re.sub(r"\\?\d+", r"\\d+", re.escape(path)) + r"(\?|$)"


# ---------------------------------------------------------------- P5, P6


@pytest.mark.parametrize("number", numbers(0))
async def test_lost_and_repeated_events_and_rows_change_nothing_but_time(number: int) -> None:
    """One house hears every event, one none, one hears them backwards and twice and reads every row two times."""
    drawn = Random(number)
    async with lives(drawn, drawn_wiki(drawn), 3) as (told, deaf, odd):
        odd.house.server.fault(r"GET .*/api/v2/(spaces|pages|blogposts)", changed(twice))
        for _ in rounds(2, 5):
            told.happens(4)
            told.waits(3, 40, 130)
            deaf.note()
            odd.note()
            await told.house.tell(of_permissions=True)
            await odd.house.tell(of_permissions=True, backwards=True, twice=True)
            for life in (told, deaf, odd):
                await life.sync(hurried=False)
                await life.nobody_sees_more()
        told.wiki.at += LEASE  # everything is due by its own time
        for life in (told, deaf, odd):
            report = await life.sync(hurried=False)
            assert report.complete, life.told("was not looked at whole", list(report.problems))
            await life.everybody_sees_what_he_may()

        assert await deaf.held() == await told.held(), told.told("ends otherwise without events", [])
        assert await odd.held() == await told.held(), told.told("ends otherwise with events and rows repeated", [])


def twice(right: Json) -> None:
    """Every row comes two times."""
    if isinstance(right.get("results"), list):
        right["results"] += right["results"]
