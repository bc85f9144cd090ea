"""Rights that change while a question is being answered: what was lost meanwhile is dropped or withheld."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bot.answering.outcome import Abstained, Answered, to_json
from policies.facts import Trust
from tests.leaks.weakened import forgetful
from tests.tap import as_seen
from tests.world import SOURCE, World, cited

SECRET = "zanzibar"
QUESTION = "Which town is the meeting in?"
Change = Callable[[World], Awaitable[Any]]


@pytest.fixture
async def world() -> World:
    world = World()
    world.group("grp:everyone", "grp:staff")
    for name in ("asha", "ben"):
        world.person(name, "grp:staff")
    world.person("gus", kind="guest")
    world.page("towns", f"The town of the meeting is {SECRET}.", ["grp:staff"])
    world.place("private:pair", "asha", "ben")
    await world.sync()
    await world.seat()
    return world


def at(world: World, call: str, change: Change) -> None:
    """Change the world just before the first such call: it sees the world as it is after the change."""
    done = False

    async def before(name: str) -> None:
        nonlocal done
        if name == call and not done:
            done = True
            await change(world)

    world.tap.before = before


async def revoked(world: World) -> None:
    world.revoke("towns", "grp:staff")
    await world.sync(pass_by=False)


async def deleted(world: World) -> None:
    world.delete("towns")
    await world.sync(pass_by=False)


async def hidden(world: World) -> None:
    await world.catalog.hide_subtree(SOURCE, "towns", "rights below are re-read", world.at)


async def quarantined(world: World) -> None:
    world.catalog.documents[world.id_of("towns")].versions["v1"].trust = Trust.QUARANTINED


async def replaced(world: World) -> None:
    world.change("towns", version="v2", text="The town of the meeting is not known yet.")
    await world.sync(pass_by=False)


async def disabled(world: World) -> None:
    world.disable("asha")
    await world.seat()


async def left(world: World) -> None:
    world.leaves("asha", "grp:staff")
    await world.seat()


async def forgotten(world: World) -> None:
    world.forget("asha")
    await world.seat()


DOCUMENT = [revoked, deleted, hidden, quarantined, replaced]
PERSON = [disabled, left, forgotten]


async def test_without_a_change_it_is_answered(world: World) -> None:
    assert cited(await world.ask("asha", QUESTION)) == {"towns"}


@pytest.mark.parametrize("change", DOCUMENT)
async def test_what_is_lost_after_the_search_reaches_no_model(world: World, change: Change) -> None:
    at(world, "facts.resources", change)

    outcome = await world.ask("asha", QUESTION)

    assert isinstance(outcome, Abstained)
    assert SECRET not in world.tap.through()


@pytest.mark.parametrize("change", DOCUMENT)
async def test_what_is_lost_while_it_is_reranked_reaches_no_writer(world: World, change: Change) -> None:
    at(world, "reranker.scores", change)

    outcome = await world.ask("asha", QUESTION)

    assert isinstance(outcome, Abstained)
    assert SECRET not in world.tap.through("writer", "personal_data", "traces", "sealed")


@pytest.mark.parametrize("change", [*DOCUMENT, *PERSON])
async def test_t062_what_is_lost_while_it_is_written_is_not_delivered(world: World, change: Change) -> None:
    at(world, "writer.write", change)

    outcome = await world.ask("asha", QUESTION)

    assert isinstance(outcome, Abstained)
    assert SECRET not in world.tap.through("personal_data", "traces", "sealed") + as_seen(to_json(outcome))


@pytest.mark.parametrize("change", [*DOCUMENT, *PERSON])
async def test_a_search_lists_nothing_that_was_lost_while_it_was_reranked(world: World, change: Change) -> None:
    at(world, "reranker.scores", change)

    hits = await world.search("asha", QUESTION)

    assert hits.hits == ()


async def test_remembering_facts_from_the_gate_would_deliver_what_was_revoked(world: World) -> None:
    at(world, "writer.write", revoked)

    outcome = await world.ask("asha", QUESTION, doors=forgetful(world.doors))

    assert isinstance(outcome, Answered)  # the watch above would notice


async def test_one_who_joins_before_delivery_and_may_not_read_turns_the_reply_private(world: World) -> None:
    async def joins(world: World) -> None:
        world.place("private:pair", "asha", "ben", "gus")
        await world.seat()

    at(world, "writer.write", joins)

    outcome = await world.ask("asha", QUESTION, "private:pair")

    assert cited(outcome) == {"towns"}
    assert outcome.audience.visible_to == "asker"


async def test_a_stranger_who_joins_before_delivery_turns_the_reply_private(world: World) -> None:
    async def joins(world: World) -> None:
        world.place("private:pair", "asha", "ben", "nobody-knows")
        await world.seat()

    at(world, "writer.write", joins)

    assert (await world.ask("asha", QUESTION, "private:pair")).audience.visible_to == "asker"


async def test_a_member_who_loses_his_right_before_delivery_turns_the_reply_private(world: World) -> None:
    async def leaves(world: World) -> None:
        world.leaves("ben", "grp:staff")
        await world.seat()

    at(world, "writer.write", leaves)

    outcome = await world.ask("asha", QUESTION, "private:pair")

    assert cited(outcome) == {"towns"}
    assert outcome.audience.visible_to == "asker"


async def test_without_a_change_the_place_is_answered(world: World) -> None:
    outcome = await world.ask("asha", QUESTION, "private:pair")

    assert (cited(outcome), outcome.audience.visible_to) == ({"towns"}, "everyone")


async def test_a_place_that_can_not_be_looked_up_any_more_turns_the_reply_private(world: World) -> None:
    async def unlisted(world: World) -> None:
        del world.places["private:pair"]
        await world.seat()

    at(world, "writer.write", unlisted)

    assert (await world.ask("asha", QUESTION, "private:pair")).audience.visible_to == "asker"


async def test_what_only_one_of_two_documents_says_falls_with_it(world: World) -> None:
    world.page("dates", "The day of the meeting is Tuesday.", ["grp:staff"])
    await world.sync()
    at(world, "writer.write", revoked)

    outcome = await world.ask("asha", "Which town is the meeting in? What is the day of the meeting?")

    assert cited(outcome) == {"dates"}
    assert SECRET not in as_seen(to_json(outcome))
