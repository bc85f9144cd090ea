"""One refusal for everything that is not evidence for the asker, and no error that tells anything."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from bot.answering.outcome import ABSTAINED, Busy, Unlinked, to_json
from connectors.errors import DoorError, Stop, Transient
from policies.facts import Trust
from tests.tap import as_seen
from tests.world import PAYLOAD, SOURCE, World

QUESTION = "Which town is the meeting in?"
TEXT = "The town of the meeting is zanzibar."
SECRET = "zanzibar-secret-7781"


async def asked_of(world: World) -> dict[str, Any]:
    """What somebody in no group is told, without the trace's id."""
    world.person("ben")
    world.person("asha", "grp:staff")
    await world.sync()
    said = to_json(await world.ask("ben", QUESTION))
    assert said.pop("trace_id")
    return said


async def _nothing(world: World) -> None:
    pass


async def _hidden(world: World) -> None:
    world.page("towns", TEXT, ["grp:staff"])


async def _low(world: World) -> None:
    world.page("lunch", "Soup costs three euros.", ["usr:ben@example.com"])


async def _quarantined(world: World) -> None:
    world.page("towns", f"{TEXT} Now {PAYLOAD}.", ["usr:ben@example.com"])


async def _flagged_later(world: World) -> None:
    world.page("towns", TEXT, ["usr:ben@example.com"])
    await world.sync()
    world.catalog.documents[world.id_of("towns")].versions["v1"].trust = Trust.QUARANTINED


async def _unknown(world: World) -> None:
    world.page("towns", TEXT, None)


async def _draft(world: World) -> None:
    world.page("towns", TEXT, ["usr:ben@example.com"], status="draft")


async def _superseded(world: World) -> None:
    world.page("towns", TEXT, ["usr:ben@example.com"], status="superseded")


async def _not_yet(world: World) -> None:
    world.page("towns", TEXT, ["usr:ben@example.com"], starts=world.at.date() + timedelta(days=3))


async def _deleted(world: World) -> None:
    world.page("towns", TEXT, ["usr:ben@example.com"])
    await world.sync()
    world.delete("towns")


async def _overlaid(world: World) -> None:
    world.page("towns", TEXT, ["usr:ben@example.com"])
    await world.catalog.hide_subtree(SOURCE, "towns", "rights below are re-read", world.at)


REASONS = [_hidden, _low, _quarantined, _flagged_later, _unknown, _draft, _superseded, _not_yet, _deleted, _overlaid]


@pytest.mark.parametrize("reason", REASONS)
async def test_t060_the_refusal_is_the_same_byte_for_byte_whatever_is_behind_it(reason: Any) -> None:
    empty, world = World(), World()
    expected = await asked_of(empty)
    await reason(world)

    said = await asked_of(world)

    assert json.dumps(said) == json.dumps(expected)
    assert said["text"] == ABSTAINED


async def test_a_lease_that_ran_out_is_refused_in_the_same_words() -> None:
    world = World()
    world.page("towns", TEXT, ["usr:ben@example.com"], lease=timedelta(hours=1))
    world.person("ben")
    await world.sync()
    assert (await world.ask("ben", QUESTION)).text != ABSTAINED
    world.at += timedelta(hours=2)

    said = to_json(await world.ask("ben", QUESTION))

    assert {key: said[key] for key in said if key != "trace_id"} == await asked_of(World())


async def test_a_search_that_may_show_nothing_looks_like_one_that_finds_nothing() -> None:
    world = World()
    world.person("ben")
    await world.sync()
    nothing = (await world.search("ben", QUESTION)).to_json()
    world.page("towns", TEXT, ["grp:staff"])
    await world.sync()

    hidden = (await world.search("ben", QUESTION)).to_json()

    assert hidden | {"trace_id": ""} == nothing | {"trace_id": ""} == {"results": [], "trace_id": ""}


@pytest.mark.parametrize("question", ["How many documents are there about towns?", "List the titles you know."])
async def test_t061_neither_counts_nor_titles_of_hidden_pages_are_told(question: str) -> None:
    world = World()
    world.person("ben")
    for number in range(7):
        world.page(f"towns{number}", TEXT, ["grp:staff"], title=f"Hidden title {number}")
    await world.sync()

    outcome = await world.ask("ben", question)

    assert outcome.text == ABSTAINED
    assert "Hidden title" not in world.tap.through()


# ---------------------------------------------------------------- errors

CALLS = [
    "directory.subject", "directory.members", "facts.cover", "facts.resources", "facts.digests", "index.search",
    "index.section", "embedder.question", "reranker.scores", "writer.write", "personal_data.all_spans",
    "detector.trust",
]  # fmt: skip
ERRORS = [Transient(SECRET), Stop(SECRET), ValueError(SECRET), KeyError(SECRET), AssertionError(SECRET)]


@asynccontextmanager
async def broken(call: str, error: Exception) -> AsyncIterator[World]:
    world = World()
    world.group("grp:everyone", "grp:staff")
    world.person("asha", "grp:staff")
    world.person("ben", "grp:staff")
    world.place("private:pair", "asha", "ben")
    world.page("towns", f"{TEXT}\n\n## Day\n\nThe day of the meeting in that town is Tuesday.", ["grp:staff"])
    await world.sync()

    async def before(name: str) -> None:
        if name == call:
            raise error

    world.tap.before = before
    with world.tap.logs():
        yield world


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_t063_no_error_of_any_door_is_told(call: str, error: Exception) -> None:
    async with broken(call, error) as world:
        outcome = await world.ask("asha", QUESTION, "private:pair")

    assert isinstance(outcome, Busy)
    assert SECRET not in world.tap.through() + as_seen(to_json(outcome))
    (record, sealed) = world.traces.ended[outcome.trace]
    assert (record["outcome"], SECRET in as_seen([record, dict(sealed)])) == ("busy", False)
    assert type(error).__name__ in record["error"]


@pytest.mark.parametrize("call", CALLS)
async def test_whatever_breaks_the_refusal_is_the_same(call: str) -> None:
    async with broken(call, Transient(SECRET)) as world:
        one = to_json(await world.ask("asha", QUESTION, "private:pair"))
    async with broken("directory.subject", ValueError(SECRET)) as world:
        other = to_json(await world.ask("asha", QUESTION, "private:pair"))

    assert one | {"trace_id": ""} == other | {"trace_id": ""}


@pytest.mark.parametrize("call", [call for call in CALLS if call not in ("writer.write", "index.section")])
@pytest.mark.parametrize("error", [ValueError(SECRET), KeyError(SECRET)], ids=lambda error: type(error).__name__)
async def test_a_search_that_breaks_tells_only_where(call: str, error: Exception) -> None:
    async with broken(call, error) as world:
        if call == "detector.trust":
            assert (await world.search("asha", QUESTION)).hits
            return
        with pytest.raises(DoorError) as caught:
            await world.search("asha", QUESTION, "private:pair")

    assert SECRET not in str(caught.value) + world.tap.through()
    assert caught.value.__cause__ is None
    assert len(world.traces.begun) == len(world.traces.ended) == 1


@pytest.mark.parametrize("error", [Transient(SECRET), Stop(SECRET), ValueError(SECRET)], ids=lambda e: type(e).__name__)
async def test_without_a_durable_begin_nothing_is_searched_and_nothing_answered(error: Exception) -> None:
    async with broken("traces.begin", error) as world:
        with pytest.raises(type(error)):
            await world.ask("asha", QUESTION)
        with pytest.raises(type(error)):
            await world.search("asha", QUESTION)

    assert world.tap.calls("index") == world.tap.calls("embedder") == world.tap.calls("writer") == []


async def test_without_a_durable_end_there_is_no_answer() -> None:
    async with broken("traces.end", Transient(SECRET)) as world:
        with pytest.raises(Transient):
            await world.ask("asha", QUESTION)


async def test_somebody_unknown_is_told_the_same_about_everything() -> None:
    async with broken("none", ValueError()) as world:
        outcome = await world.ask("stranger", QUESTION)

    assert isinstance(outcome, Unlinked)
    assert world.tap.calls("index") == []
