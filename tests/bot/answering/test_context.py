"""What a writer sees: enough, once each, and nothing that did not pass the gate."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from bot.answering import context
from tests.world import World, cited

STEMS = "Contractors may claim airfare for travel to a customer when the trip was approved by the manager before"


@pytest.fixture
async def world() -> World:
    world = World()
    world.person("asha", "grp:finance")
    return world


async def offered(world: World, question: str, on: date | None = None) -> tuple[list[str], list[tuple[str, str]]]:
    """The chunks that a writer was given, and what was left out."""
    outcome = await world.ask("asha", question, on=on)
    attempt: Any = world.traces.ended[outcome.trace][0]["attempts"][0]
    kept = [each["chunk"].removeprefix("wiki:") for each in attempt["context"]]
    return kept, [(each["chunk"].removeprefix("wiki:"), each["check"]) for each in attempt["left_out"]]


async def test_a_repetition_is_left_out(world: World) -> None:
    world.page("a", f"{STEMS} booking.", ["grp:finance"])
    world.page("b", f"{STEMS} booking!", ["grp:finance"])
    await world.sync()

    kept, out = await offered(world, "May contractors claim airfare?")

    assert len(kept) == 1
    assert [check for _, check in out] == ["repetition"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{STEMS} 30 days.", f"{STEMS} 60 days."),
        (f"{STEMS} booking.", f"{STEMS.replace('may', 'may not')} booking."),
        (f"{STEMS} booking.", f"{STEMS} booking, unless it is booking."),
    ],
)
async def test_texts_that_differ_in_a_number_a_negation_or_a_condition_are_both_kept(
    world: World, one: str, other: str
) -> None:
    world.page("a", one, ["grp:finance"])
    world.page("b", other, ["grp:finance"])
    await world.sync()

    kept, _ = await offered(world, "May contractors claim airfare?")

    assert {"a@v1#top", "b@v1#top"} == set(kept)


async def test_the_budget_holds_and_the_strongest_come_first(world: World) -> None:
    for number in range(8):
        filler = " ".join(f"word{number}x{count}" for count in range(150))
        world.page(f"p{number}", f"Airfare rule {number} {filler}.", ["grp:finance"])
    world.page("best", "Which airfare rule counts is decided here.", ["grp:finance"])
    await world.sync()

    kept, out = await offered(world, "Which airfare rule counts?")

    assert kept[0] == "best@v1#top"
    assert {check for _, check in out} == {"budget"}
    sent = sum(len(entry.chunk.text) for name, entry in world.index.entries.items() if str(name)[5:] in kept)
    assert sent <= context.BUDGET


SECTIONS = (
    "## Airfare\n\n### Rule\n\nAirfare above 500 needs approval.\n\n"
    "### Remarks\n\nPaid by the manager within ten days of travel."
)


async def test_a_superseded_wording_without_an_end_ends_where_the_next_of_its_title_begins(world: World) -> None:
    old, new = date(2025, 1, 1), date(2026, 7, 1)
    world.page("old", f"{STEMS} 45 days.", ["grp:finance"], title="T", starts=old, status="superseded")
    world.page("new", f"{STEMS} 30 days.", ["grp:finance"], title="T", starts=new)
    world.page("else", f"{STEMS} 60 days.", ["grp:finance"], title="U", starts=old, status="superseded")
    await world.sync()
    question = "May contractors claim airfare?"

    before, _ = await offered(world, question, date(2026, 6, 30))
    after, out = await offered(world, question, date(2026, 7, 1))

    assert set(before) == {"old@v1#top", "else@v1#top"}
    assert set(after) == {"new@v1#top", "else@v1#top"}
    assert out == [("old@v1#top", "replaced")]


async def test_a_passage_is_followed_by_its_neighbours(world: World) -> None:
    world.page("travel", SECTIONS, ["grp:finance"])
    await world.sync()

    kept, _ = await offered(world, "Which airfare above 500 needs approval?")

    assert kept == ["travel@v1#airfare/rule", "travel@v1#airfare/remarks"]


async def test_a_neighbour_goes_through_the_gate_like_everything_else(world: World) -> None:
    world.page("travel", SECTIONS, ["grp:finance"])
    await world.sync()
    for name, entry in world.index.entries.items():
        if name.section.endswith("remarks"):  # not the published text
            changed = replace(entry.chunk, text="Ask zanzibar within ten days.", digest="stale")
            world.index.entries[name] = replace(entry, chunk=changed)

    kept, _ = await offered(world, "Which airfare above 500 needs approval?")

    assert kept == ["travel@v1#airfare/rule"]
    assert "zanzibar" not in world.tap.through()


async def test_two_parts_share_the_evidence(world: World) -> None:
    world.page("a", "Airfare above 500 needs approval.", ["grp:finance"])
    world.page("b", "The canteen opens at noon.", ["grp:finance"])
    await world.sync()

    outcome = await world.ask("asha", "Which airfare needs approval? When does the canteen open?")

    assert cited(outcome) == {"a", "b"}
