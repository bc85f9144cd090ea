"""The same watch with a safety taken out turns red; where another one still holds, the two are named.

Layers that stand behind each other, as proven here (either alone suffices while the index is up to date):

    the source's rules, leases, states of scopes      the search's scopes  |  the gate's checks
    days in force, supersession                       the search's conditions  |  the gate's checks
    rules that are unknown                            scope-active  |  access-satisfied
    disabled and external askers                      the front of the line  |  asker-active, kind-allowed

With an index that is stale or lies, the gate's check is the only one, and so it is for what no index knows: life,
overlay, current version, flags raised later, and whether a text is the published one.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.leaks.canaries import Aviary, Run, build
from tests.leaks.weakened import Weaken, any_text, blind, broad, lonely, unsafe, wide, without

ASKS = 40  # each; a leak usually shows within the first ten


@pytest.fixture(scope="module")
def aviary() -> Aviary:
    return build(pages=140, people=24, seed=3)


async def watched(aviary: Aviary, weaken: Weaken, fates: Sequence[str], *, lying: bool) -> Run:
    aviary.world.index.entries = dict(aviary.lying if lying else aviary.honest)
    return await aviary.run(ASKS, seed=5, fates=fates, weaken=weaken, until_leak=True)


ONLY_THE_GATE = [
    ("access-satisfied", ["plain", "both groups", "person", "nobody", "revoked"]),
    ("lease-running", ["lease"]),
    ("scope-active", ["withdrawn"]),
    ("document-live", ["drafted"]),
    ("not-overlaid", ["overlaid"]),
    ("version-current", ["half-written"]),
    ("in-force", ["past", "future", "versions"]),
    ("not-superseded", ["superseded"]),
    ("not-quarantined", ["quarantined"]),
]


@pytest.mark.parametrize(("check", "fates"), ONLY_THE_GATE)
async def test_a_lying_index_leaks_once_a_check_is_missing(aviary: Aviary, check: str, fates: list[str]) -> None:
    run = await watched(aviary, without(check), fates, lying=True)

    assert {leak.fate for leak in run.leaks} & set(fates)


async def test_a_lying_index_leaks_old_texts_once_digests_are_not_compared(aviary: Aviary) -> None:
    run = await watched(aviary, any_text, ["edited"], lying=True)

    assert "edited" in {leak.fate for leak in run.leaks}


async def test_an_index_that_ignores_the_narrowing_and_lies_leaks_nothing_past_the_gate(aviary: Aviary) -> None:
    run = await watched(aviary, wide, (), lying=True)

    assert run.leaks == []
    assert run.seen


@pytest.mark.parametrize(
    ("check", "fates"), [each for each in ONLY_THE_GATE if each[0] in ("access-satisfied", "lease-running")]
)
async def test_rules_hold_by_the_narrowing_alone_while_the_index_is_up_to_date(
    aviary: Aviary, check: str, fates: list[str]
) -> None:
    gate_off = await watched(aviary, without(check), fates, lying=False)
    both_off = await watched(aviary, unsafe(without(check), wide), fates, lying=False)

    assert gate_off.leaks == []
    assert both_off.leaks


@pytest.mark.parametrize(
    ("check", "fates"), [each for each in ONLY_THE_GATE if each[0] in ("in-force", "not-superseded")]
)
async def test_days_hold_by_the_conditions_alone_or_the_gate_alone_while_the_index_is_up_to_date(
    aviary: Aviary, check: str, fates: list[str]
) -> None:
    gate_off = await watched(aviary, blind(check), fates, lying=False)
    conditions_off = await watched(aviary, broad(check), fates, lying=False)
    both_off = await watched(aviary, without(check), fates, lying=False)

    assert gate_off.leaks + conditions_off.leaks == []
    assert both_off.leaks


async def test_unknown_rules_hold_by_either_of_two_checks(aviary: Aviary) -> None:
    async def leaked(*off: str) -> set[str]:
        return {leak.fate for leak in (await watched(aviary, without(*off), ["unknown"], lying=True)).leaks}

    assert "unknown" not in await leaked("scope-active")
    assert "unknown" not in await leaked("access-satisfied")
    assert "unknown" in await leaked("scope-active", "access-satisfied")


async def test_disabled_and_external_people_are_stopped_before_any_check(aviary: Aviary) -> None:
    run = await watched(aviary, without("asker-active", "kind-allowed"), (), lying=True)

    assert run.leaks == []


async def test_a_place_leaks_once_its_members_are_not_looked_at(aviary: Aviary) -> None:
    run = await watched(aviary, lonely, ["plain", "person", "both groups"], lying=False)

    assert {"outcome"} <= {leak.door for leak in run.leaks}
