"""Settling: after it, the ledger says of a container what its nodes say; meanwhile, no more than before and after."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from connectors.errors import Transient
from connectors.ledger.memory import SqlMemory
from connectors.ports import Event
from connectors.records import AccessChanged, Change, Closed, Deleted, Moved, Node, Own, Reopened, Verified
from connectors.sync.placing import Join, Placing
from connectors.sync.settle import CERTAIN, MOVING, place_of, settle, unsettled
from policies.access import AccessExpr, satisfies
from policies.facts import ScopeState
from policies.names import Principal
from tests.connectors.sync.far_house import NAME, FarHouse, Readable, far_house
from tests.connectors.sync.tree import Tap
from tests.doubles.far import LEASE, Far, FarPages

PEOPLE = ("a", "b", "c")


def permitted(far: Far, join: Join) -> Readable:
    """Who may read which text, plainly, page by page: shares nothing with what is tested."""
    found = set()
    for key, page in far.pages.items():
        if page.text in (None, "broken") or page.space in far.refusing:
            continue
        for person in PEOPLE:
            met, at, decided = True, key, False
            while at in far.pages:
                here = far.pages[at]
                if here.unread or here.readers is not None:
                    in_it = not here.unread and person in (here.readers or ())
                    if join is Join.REPLACE:
                        met, decided = in_it, True
                        break
                    met = met and in_it
                at = here.parent
            if not decided:
                met = met and at in far.spaces and person in far.spaces[at]
            if met:
                found.add((person, key, page.text))
    return frozenset(found)


@pytest.fixture(params=list(Join))
async def house(request: pytest.FixtureRequest) -> AsyncIterator[FarHouse]:
    async with far_house(join=request.param) as opened:
        yield opened


def filled(far: Far) -> None:
    far.space("hr", "a", "b")
    far.space("it", "b", "c")
    far.page("home", "hr")
    far.page("pay", "home", readers=["a"])
    far.page("bands", "pay")
    far.page("bonus", "bands", readers=["a", "b"])
    far.page("folder", "hr", text=None)
    far.page("forms", "folder")
    far.page("top", "it")
    far.page("servers", "top", readers=["c"])
    far.page("racks", "servers")


async def test_everybody_reads_what_the_system_permits(house: FarHouse) -> None:
    filled(house.far)
    report = await house.sync()

    assert report.complete
    assert await house.readable(*PEOPLE) == permitted(house.far, house.join)


async def test_a_second_run_writes_nothing(house: FarHouse) -> None:
    filled(house.far)
    await house.sync()
    tap = Tap()
    report = await house.sync(tap)

    assert (report.upserted, report.moved, report.deleted, report.access_changed) == (0, 0, 0, 0)
    assert not {"repoint", "retire", "place", "state_all", "hide_subtrees"} & set(tap.named)
    assert await unsettled(house.memory) == []


def changed(far: Far, chance: random.Random, number: int) -> None:
    """Something that people do."""
    keys = sorted(far.pages)
    places = [*far.spaces, *keys]
    key = chance.choice(keys) if keys else None
    some = chance.sample(PEOPLE, chance.randint(0, 3))
    match chance.randint(0, 9):
        case 0:
            far.space(chance.choice(sorted(far.spaces)), *some)
        case 1 | 2 if key:
            far.restrict(key, *some)
        case 3 | 4 if key:
            far.unrestrict(key)
        case 5 | 6 if key:
            inside = set(far.below(key))
            far.move(key, chance.choice([place for place in places if place not in inside]))
        case 7 if key:
            if far.pages[key].text is not None:
                far.write(key, f"Text {number} of {key}.")
        case 8 if key:
            far.delete(key)
        case _:
            text = chance.choice([None, "", ""])
            far.page(f"n{number}", chance.choice(places), text, chance.choice([None, None, some]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
async def test_after_any_history_everybody_reads_what_the_system_permits(house: FarHouse, seed: int) -> None:
    chance = random.Random(seed)
    filled(house.far)
    for number in range(15):
        for step in range(chance.randint(1, 3)):
            changed(house.far, chance, number * 10 + step)
        report = await house.sync()

        assert report.complete, report.problems
        assert await house.readable(*PEOPLE) == permitted(house.far, house.join)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
async def test_a_kill_between_any_two_steps_shows_no_more_than_before_and_after(house: FarHouse, seed: int) -> None:
    chance = random.Random(seed)
    filled(house.far)
    await house.sync()
    for number in range(4):
        before = permitted(house.far, house.join)
        for step in range(chance.randint(1, 4)):
            changed(house.far, chance, number * 10 + step)
        after = permitted(house.far, house.join)
        fatal = chance.randint(1, 10)
        while await house.killed_sync(fatal):
            seen = await house.readable(*PEOPLE)

            assert seen <= before | after
            fatal += chance.randint(1, 10)
        await house.sync()

        assert await house.readable(*PEOPLE) == after


# ---------------------------------------------------------------- one thing at a time


async def told(house: FarHouse, **more: Any) -> list[Change]:
    """What settling the first space tells, without anything being done about it."""
    base = AccessExpr.any_of(*(Principal.group(name) for name in sorted(house.far.spaces["hr"])))
    return [change async for change in settle(house.memory, "hr", base, house.join, LEASE, house.at, NAME, **more)]


async def renewed(house: FarHouse) -> None:
    """The nodes of every space as the system has them now, without anything being told."""
    source = FarPages(NAME, house.far, house.memory)
    for space in house.far.spaces:
        await house.memory.put(source._nodes(space, house.at))


@pytest.fixture
async def settled_house(house: FarHouse) -> FarHouse:
    filled(house.far)
    await house.sync()
    return house


async def test_a_new_restriction_closes_its_subtree_before_anything_else_and_opens_it_last(
    settled_house: FarHouse,
) -> None:
    settled_house.far.restrict("home", "b")
    await renewed(settled_house)
    changes = await told(settled_house)
    kinds = [type(change) for change in changes]

    assert changes[0] == Closed("home", MOVING)
    assert changes[-1] == Reopened("home")
    assert kinds.index(AccessChanged) < kinds.index(Moved)
    moved = {change.document.key for change in changes if isinstance(change, Moved)}
    # What has rules of its own below goes on standing under them.
    assert moved == {"home"}
    assert len([kind for kind in kinds if kind is Closed]) == 1


async def test_a_change_of_rights_on_a_space_touches_no_document(settled_house: FarHouse) -> None:
    settled_house.far.space("hr", "a")
    await renewed(settled_house)
    settled_house.at += timedelta(minutes=1)

    assert {type(change) for change in await told(settled_house)} <= {AccessChanged, Verified}


class Large(SqlMemory):
    """A memory of so many nodes that reading all of them never ends."""

    async def of_container(self, container: str) -> AsyncIterator[Node]:
        raise Transient(f"{container} is large")
        yield


async def test_what_a_space_takes_away_is_told_before_its_pages_are_read(settled_house: FarHouse) -> None:
    settled_house.far.space("hr", "b")
    await renewed(settled_house)
    base, memory = AccessExpr.any_of(Principal.group("b")), Large(settled_house.ledger.door, NAME)
    changes: list[Change] = []
    with suppress(Transient):
        async for change in settle(memory, "hr", base, settled_house.join, LEASE, settled_house.at, NAME):
            changes.append(change)  # noqa: PERF401 - what was told before it raised counts

    told_of = {change.rules.root: change.rules.access for change in changes if isinstance(change, AccessChanged)}
    below = {"pay", "bonus"} if settled_house.join is Join.AND else set()
    assert told_of.keys() == {"hr"} | below
    assert not any(satisfies(frozenset([Principal.group("a")]), access) for access in told_of.values())
    assert len(changes) == len(told_of)


async def test_rules_that_were_not_read_again_are_not_verified(settled_house: FarHouse) -> None:
    before = await settled_house.memory.stated()
    settled_house.at += timedelta(hours=5)
    changes = await told(settled_house)

    assert changes == []
    assert await settled_house.memory.stated() == before


async def test_no_rules_are_verified_later_than_their_container(settled_house: FarHouse) -> None:
    read_at = settled_house.at + timedelta(hours=1)
    settled_house.at += timedelta(hours=5)
    await renewed(settled_house)
    changes = await told(settled_house, base_at=read_at)

    [verified] = [change for change in changes if isinstance(change, Verified)]
    assert verified.at == read_at
    assert set(verified.roots) == {"hr", "pay", "bonus"}


@pytest.mark.parametrize("fault", ["missing", "circle", "unread"])
async def test_whose_place_or_rules_are_not_known_is_read_by_nobody(house: FarHouse, fault: str) -> None:
    filled(house.far)
    await house.sync()
    match fault:
        case "missing":
            house.far.pages["home"].parent = "never heard of"
        case "circle":
            house.far.pages["home"].parent = "pay"
        case _:
            house.far.pages["home"].unread = True
    await house.sync()
    seen = {key for _, key, _ in await house.readable(*PEOPLE)}

    assert not seen & {"home"}
    lost = {"pay", "bands", "bonus"}
    assert not seen & lost if fault != "unread" or house.join is Join.AND else lost <= seen
    assert {"forms", "top", "servers", "racks"} <= seen


async def test_a_page_that_went_to_another_space_is_closed_until_it_is_settled_there(settled_house: FarHouse) -> None:
    far = settled_house.far
    far.move("home", "it")
    await renewed(settled_house)
    changes = await told(settled_house)

    closed = {change.root for change in changes if isinstance(change, Closed)}
    assert {"home", "pay", "bands", "bonus"} <= closed
    assert not [change for change in changes if isinstance(change, Deleted | Reopened)]
    assert "it" in await unsettled(settled_house.memory)


async def test_what_an_event_closes_during_a_run_stays_closed(settled_house: FarHouse) -> None:
    far = settled_house.far
    far.move("pay", "hr")
    tap = Tap()

    async def event() -> None:
        if tap.named[-1] == "hide_subtrees":
            tap.watch = None
            await settled_house.memory.told([Event("pay", "restricted", closes=True)], settled_house.at)

    settled_house.at += timedelta(seconds=1)
    tap.watch = event
    started = settled_house.at
    await settled_house.sync(tap)
    # The run began when its clock was last set; the event came while it was on.
    assert settled_house.at > started
    during = {key for _, key, _ in await settled_house.readable(*PEOPLE)}
    await settled_house.sync()
    after = await settled_house.readable(*PEOPLE)

    assert after == permitted(far, settled_house.join)
    assert during <= {key for _, key, _ in after}


async def test_too_many_losses_at_once_are_closed_and_not_deleted(house: FarHouse) -> None:
    house.far.space("hr", "a")
    for number in range(120):
        house.far.page(f"p{number:03}", "hr")
    await house.sync()
    kept = dict(list(house.far.pages.items())[:60])
    lost = dict(list(house.far.pages.items())[60:])
    house.far.pages = dict(kept)
    report = await house.sync()

    assert report.deleted == 0
    assert any("vanished" in problem for problem in report.problems)
    assert {key for _, key, _ in await house.readable("a")} == kept.keys()

    # Some of them come back; what is still lost is not too much any more.
    house.far.pages = kept | dict(list(lost.items())[:30])
    report = await house.sync()
    assert report.deleted == 30
    assert {key for _, key, _ in await house.readable("a")} == house.far.pages.keys()


async def test_what_vanished_with_many_others_is_gone_after_a_week(house: FarHouse) -> None:
    house.far.space("hr", "a")
    for number in range(120):
        house.far.page(f"p{number:03}", "hr")
    await house.sync()
    house.far.pages = dict(list(house.far.pages.items())[:60])
    await house.sync()
    house.at += CERTAIN
    report = await house.sync()

    assert report.deleted == 60
    assert len([each async for each in house.memory.placed()]) == 60


async def test_a_few_losses_are_deleted(house: FarHouse) -> None:
    filled(house.far)
    await house.sync()
    house.far.delete("pay")
    report = await house.sync()

    assert report.deleted == 3
    assert await house.memory.get(["pay", "bands", "bonus"]) == {}
    stated = await house.memory.stated()
    assert stated["pay"].state is ScopeState.GONE


async def test_nothing_is_lost_in_a_run_that_did_not_enumerate(settled_house: FarHouse) -> None:
    settled_house.sees_everything = False
    settled_house.looks_at = {"hr"}
    settled_house.far.delete("pay")
    report = await settled_house.sync()

    assert report.deleted == 0


async def test_a_space_that_is_refused_is_closed_until_it_was_enumerated_again(settled_house: FarHouse) -> None:
    settled_house.far.refusing.add("hr")
    report = await settled_house.sync()
    assert {key for _, key, _ in await settled_house.readable(*PEOPLE)} == {"top", "servers", "racks"}
    assert any("refuses" in problem for problem in report.problems)

    settled_house.far.refusing.clear()
    settled_house.sees_everything = False
    settled_house.looks_at = {"hr"}
    await settled_house.sync()
    assert {key for _, key, _ in await settled_house.readable(*PEOPLE)} == {"top", "servers", "racks"}

    settled_house.sees_everything = True
    await settled_house.sync()
    assert await settled_house.readable(*PEOPLE) == permitted(settled_house.far, settled_house.join)


async def test_a_space_in_trouble_keeps_no_other_from_going_on(settled_house: FarHouse) -> None:
    settled_house.far.failing.add("hr")
    settled_house.far.restrict("top", "b")
    report = await settled_house.sync()

    assert (report.complete, report.problems) == (False, ("hr could not be read",))
    assert ("c", "top", "Text of top.") not in await settled_house.readable(*PEOPLE)


async def test_a_redacted_text_is_never_shown_to_whom_it_is_opened(settled_house: FarHouse) -> None:
    far = settled_house.far
    far.write("pay", "Redacted.")
    far.unrestrict("pay")
    far.space("hr", "a", "b", "c")
    far.move("bonus", "hr")  # something opens in the same run
    tap = Tap()
    seen: set[tuple[str, str, str]] = set()

    async def look() -> None:
        seen.update(await settled_house.readable("b", "c"))

    tap.watch = look
    await settled_house.sync(tap)

    assert ("c", "pay", "Redacted.") in await settled_house.readable("c")
    assert not [each for each in seen if each[1] == "pay" and each[2] != "Redacted."]


async def test_a_text_that_can_not_be_had_is_asked_for_again_and_its_page_is_hidden(settled_house: FarHouse) -> None:
    settled_house.far.write("forms", "New forms.")
    settled_house.unreadable.add("forms")
    report = await settled_house.sync()
    assert [skip.document for skip in report.skipped] == ["far:forms"]
    assert "forms" not in {key for _, key, _ in await settled_house.readable(*PEOPLE)}

    settled_house.unreadable.clear()
    settled_house.sees_everything = False  # nothing says that it changed
    report = await settled_house.sync()
    assert report.upserted == 1
    assert ("a", "forms", "New forms.") in await settled_house.readable("a")


async def test_a_page_that_can_never_be_used_is_looked_at_once(settled_house: FarHouse) -> None:
    settled_house.far.write("forms", "broken")
    first = await settled_house.sync()
    second = await settled_house.sync()

    assert [skip.reason for skip in first.skipped] == ["it is broken"]
    assert second.skipped == ()
    assert await unsettled(settled_house.memory) == []


@pytest.mark.parametrize(
    ("join", "leases"),
    [(Join.REPLACE, {"hr": 24.0, "a": 2.0, "b": 24.0}), (Join.AND, {"hr": 24.0, "a": 2.0, "b": 2.0})],
)
def test_rules_that_end_count_for_no_longer(join: Join, leases: dict[str, float]) -> None:
    anybody, at = AccessExpr.any_of(Principal("x:a")), datetime(2026, 3, 1, tzinfo=UTC)
    ending = Own(anybody, at + timedelta(hours=2, microseconds=1))
    nodes = [
        Node("a", None, "hr", "page", ending, at, is_document=True),
        Node("b", "a", "hr", "page", Own(anybody), at, is_document=True),
    ]
    rules = Placing("hr", (), nodes).rules(NAME, anybody, at, join, timedelta(hours=24))

    assert leases == {root: rule.lease / timedelta(hours=1) for root, rule in rules.items()}


async def test_a_place_is_the_same_for_one_page_as_for_all(settled_house: FarHouse) -> None:
    nodes = [each async for each in settled_house.memory.of_container("hr")]
    placing = Placing("hr", ("site",), nodes)

    for node in nodes:
        assert await place_of(settled_house.memory, node, ("site",)) == placing[node.key]
    assert placing["bands"].ancestors == ("site", "hr", "home", "pay")
