from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from connectors.errors import Stop
from connectors.ledger.open import Ledger, open_ledger
from connectors.ports import SourceConfig
from policies.access import AccessExpr, digest
from policies.facts import Life
from tests.connectors.ledger.making import HR, NOW, page, published, rules

WIKI = SourceConfig("wiki", "files", {"path": "/srv/wiki"})


@pytest.fixture
async def ledger(ledger_url: str) -> AsyncIterator[Ledger]:
    async with open_ledger(ledger_url) as opened:
        await opened.sources.add(WIKI, NOW)
        yield opened


async def test_sources_are_listed_by_name_as_they_were_added(ledger: Ledger) -> None:
    await ledger.sources.add(SourceConfig("hr", "files", {"path": "/srv/hr"}), NOW)
    listed = await ledger.sources.list()

    assert [each.name for each in listed] == ["hr", "wiki"]
    assert (listed[1].settings, listed[1].state, listed[1].added_at) == ({"path": "/srv/wiki"}, "active", NOW)
    assert await ledger.sources.get("none") is None
    assert await ledger.sources.status("none") is None


async def test_a_name_is_taken_once(ledger: Ledger) -> None:
    with pytest.raises(Stop, match="exists already"):
        await ledger.sources.add(WIKI, NOW)


async def test_a_source_is_paused_and_resumed(ledger: Ledger) -> None:
    states = []
    for change in (ledger.sources.pause, ledger.sources.resume):
        await change("wiki")
        found = await ledger.sources.get("wiki")
        states.append(found and found.state)

    assert states == ["paused", "active"]
    with pytest.raises(Stop, match="no source"):
        await ledger.sources.pause("none")


async def test_nothing_of_a_removed_source_is_readable(ledger: Ledger) -> None:
    access = AccessExpr.any_of(HR)
    scope, _ = await ledger.catalog.state_rules(rules(access=access))
    await published(ledger, page(), scope)
    with pytest.raises(Stop, match="not being removed"):
        await ledger.sources.forget("wiki")
    await ledger.sources.remove("wiki", NOW)
    found = await ledger.facts.resources([(page().id, "v1")])

    assert await ledger.facts.satisfied(frozenset([HR]), NOW) == frozenset()
    assert found[page().id, "v1"].life is Life.TOMBSTONE
    assert await ledger.catalog.unretired("wiki") == [(page().id, frozenset())]

    await ledger.sources.forget("wiki")
    await ledger.sources.forget("wiki")
    assert await ledger.sources.get("wiki") is None
    assert await ledger.facts.resources([(page().id, "v1")]) == {}
    assert await ledger.facts.expression(digest(access)) == access


async def test_a_scope_of_a_forgotten_source_does_not_give_its_number_to_another(ledger: Ledger) -> None:
    scope, _ = await ledger.catalog.state_rules(rules())
    await ledger.sources.remove("wiki", NOW)
    await ledger.sources.forget("wiki")
    new, _ = await ledger.catalog.state_rules(rules(source="other"))

    assert new > scope
