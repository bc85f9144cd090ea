"""What a source itself says of the documents of an answer, at the moment of answering: it only narrows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from bot.answering import live
from bot.answering.doors import Doors
from bot.answering.outcome import Abstained, Answered
from bot.answering.share import share
from connectors.errors import DoorError, Stop, Transient
from connectors.ports import FarSource
from policies.names import DocumentId, Principal
from tests.doubles.far import Far, FarPages, Told
from tests.world import World, cited

QUESTION = "Which airfare needs approval?"


@dataclass
class Live:
    """The source of the world's pages, with a live check."""

    far: FarSource
    known: Mapping[str, str]
    trouble: DoorError | None = None
    closed: bool = False
    heard: dict[str, bool] = field(default_factory=dict)

    async def said(self, source: str, verdicts: Mapping[DocumentId, bool]) -> None:
        assert source == "wiki"
        self.heard |= {document.key: may_read for document, may_read in verdicts.items()}

    async def now(self) -> Mapping[str, FarSource]:
        return {} if self.closed else {"wiki": self.far}

    async def away(self) -> frozenset[str]:
        return frozenset(["wiki"]) if self.closed else frozenset()

    async def accounts(self, people: Sequence[Principal]) -> Mapping[Principal, Mapping[str, str]]:
        if self.trouble:
            raise self.trouble
        names = {who: who.name.removeprefix("usr:").partition("@")[0] for who in people}
        return {who: {"far:here": self.known[name]} for who, name in names.items() if name in self.known}


@pytest.fixture
async def world() -> World:
    world = World()
    world.group("grp:everyone", "grp:staff", "grp:finance")
    world.person("asha", "grp:finance")
    world.person("ben", "grp:finance")
    world.page("travel", "Airfare above 500 needs approval.", ["grp:finance"])
    world.page("canteen", "The canteen opens at noon.", ["grp:everyone"])
    world.page("fares", "Airfare needs approval by finance, always.", ["grp:finance"])
    await world.sync()
    return world


def checked(world: World, allowed: Mapping[str, Sequence[str]], **more: Any) -> tuple[Doors, list[tuple[str, str]]]:
    """The doors with a live check: by account, the pages that it may read."""
    asked: list[tuple[str, str]] = []

    def readable(account: str, document: DocumentId) -> bool | None:
        asked.append((account, document.key))
        return document.key in allowed[account] if account in allowed else None

    told = Told(Far(), readable_to=readable, **more)
    far = FarSource(
        source=FarPages("wiki", Far(), None),  # type: ignore[arg-type]  # nothing is synced here
        rights=told,
        feeds=(),
        stale_grant_bound=timedelta(hours=1),
        probe=told.probe,
        live=told,
        live_for=told.live_for,
    )
    return replace(world.doors, live=Live(far, {"asha": "a", "ben": "b"})), asked


async def test_what_the_source_confirms_is_answered_from(world: World) -> None:
    doors, asked = checked(world, {"a": ["travel", "fares"]})

    assert cited(await world.ask("asha", QUESTION, doors=doors)) & {"travel", "fares"}
    assert {account for account, _ in asked} == {"a"}


async def test_what_the_source_does_not_confirm_is_not_answered_from_and_the_trace_says_so(world: World) -> None:
    doors, _ = checked(world, {"a": ["fares"]})
    outcome = await world.ask("asha", QUESTION, doors=doors)

    assert cited(outcome) == {"fares"}
    assert "live check" in repr(world.traces.ended[outcome.trace])
    assert isinstance(doors.live, Live)
    assert doors.live.heard == {"fares": True, "travel": False}


async def test_it_only_narrows(world: World) -> None:
    world.revoke("travel", "grp:finance")
    world.revoke("fares", "grp:finance")
    await world.sync()
    doors, asked = checked(world, {"a": ["travel", "fares"]})

    assert isinstance(await world.ask("asha", QUESTION, doors=doors), Abstained)
    assert all(key not in ("travel", "fares") for _, key in asked)


@pytest.mark.parametrize("known", [{}, {"asha": "unheard of"}])
async def test_nothing_is_confirmed_for_somebody_whom_the_source_does_not_know(
    world: World, known: Mapping[str, str]
) -> None:
    doors, _ = checked(world, {"a": ["travel", "fares", "canteen"]})
    assert isinstance(doors.live, Live)
    doors = replace(doors, live=replace(doors.live, known=known))

    assert isinstance(await world.ask("asha", QUESTION, doors=doors), Abstained)


@pytest.mark.parametrize("trouble", [Transient("away"), Stop("refused")])
async def test_nothing_is_confirmed_by_a_source_in_trouble(world: World, trouble: DoorError) -> None:
    doors, _ = checked(world, {"a": ["travel", "fares", "canteen"]})
    assert isinstance(doors.live, Live)
    doors = replace(doors, live=replace(doors.live, trouble=trouble))

    assert isinstance(await world.ask("asha", QUESTION, doors=doors), Abstained)


async def test_nothing_of_a_source_that_is_to_be_asked_and_is_not_open_is_answered_from(world: World) -> None:
    doors, asked = checked(world, {"a": ["travel", "fares"]})
    assert isinstance(doors.live, Live)
    doors.live.closed = True

    assert isinstance(await world.ask("asha", QUESTION, doors=doors), Abstained)
    assert asked == []


async def test_an_answer_is_not_shared_where_a_source_confirms_it_no_more(world: World) -> None:
    doors, _ = checked(world, {"a": ["fares"], "b": ["fares"]})
    answer = await world.ask("asha", QUESTION, doors=doors)
    assert isinstance(answer, Answered)
    texts = await doors.facts.digests(answer.rests_on)
    world.place("private:C1", "asha", "ben")
    await world.sync()
    question = world.question("asha", QUESTION, place="private:C1")
    assert isinstance(await share(answer, texts, question, doors), Answered)

    less, _ = checked(world, {"a": ["fares"]})  # of Ben the source says no now
    assert await share(answer, texts, question, less) is None


async def test_an_answer_is_shared_only_where_all_that_it_rests_on_may_be_read(world: World) -> None:
    answer = await world.ask("asha", QUESTION)
    assert isinstance(answer, Answered)
    shown = {each.chunk for each in answer.citations}
    assert shown <= set(answer.rests_on)
    world.page("secret", "Airfare of directors is unlimited.", ["grp:staff"])
    await world.sync()
    [chunk] = [each for each in world.index.entries if each.document.key == "secret"]
    texts = await world.doors.facts.digests([*answer.rests_on, chunk])
    world.place("private:C1", "asha", "ben")
    await world.sync()
    question = world.question("asha", QUESTION, place="private:C1")

    assert await share(answer, texts, question, world.doors) is None


async def test_documents_that_it_is_not_for_need_no_confirmation(world: World) -> None:
    doors, asked = checked(world, {}, live_for=lambda resource: resource.document.key == "fares")

    assert cited(await world.ask("asha", QUESTION, doors=doors)) == {"travel"}
    assert asked == [("a", "fares")]


async def test_what_an_event_told_of_is_asked_about_until_it_was_read(world: World) -> None:
    doors, asked = checked(world, {}, live_for=lambda _resource: False)
    assert isinstance(doors.live, Live)

    async def doubts(documents: Sequence[DocumentId]) -> Sequence[DocumentId]:
        return [document for document in documents if document.key == "fares"]

    doors = replace(doors, live=replace(doors.live, far=replace(doors.live.far, doubts=doubts)))

    assert cited(await world.ask("asha", QUESTION, doors=doors)) == {"travel"}
    assert asked == [("a", "fares")]


async def test_a_reply_to_a_place_needs_every_readers_confirmation(world: World) -> None:
    world.place("private:C1", "asha", "ben")
    both, _ = checked(world, {"a": ["travel", "fares"], "b": ["travel", "fares"]})
    one, _ = checked(world, {"a": ["travel", "fares"], "b": ["fares"]})

    open_to_all = await world.ask("asha", QUESTION, "private:C1", doors=both)
    for_asha = await world.ask("asha", QUESTION, "private:C1", doors=one)

    assert isinstance(open_to_all, Answered)
    assert isinstance(for_asha, Answered)
    assert open_to_all.audience.visible_to == "everyone"
    assert for_asha.audience.visible_to == "asker"
    assert "travel" in cited(for_asha)


async def test_in_a_public_place_nobody_can_confirm_for_anybody(world: World) -> None:
    doors, _ = checked(world, {"a": ["canteen"]})
    outcome = await world.ask("asha", "When does the canteen open?", "public:C1", doors=doors)

    assert isinstance(outcome, Answered)
    assert outcome.audience.visible_to == "asker"


async def test_few_documents_are_asked_about(world: World) -> None:
    for number in range(12):
        world.page(f"p{number}", f"Airfare rule {number} needs approval of office {number}.", ["grp:finance"])
    await world.sync()
    doors, asked = checked(world, {"a": [*(f"p{number}" for number in range(12)), "travel", "fares"]})
    await world.ask("asha", "Which airfare rule needs approval of which office?", doors=doors)

    assert 0 < len(asked) <= live.MOST
