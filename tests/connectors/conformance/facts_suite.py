"""What the ledger must tell a verdict, whichever database is behind it. A subclass gives the `url` of an empty one."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from connectors.errors import Stop
from connectors.ledger.open import Ledger, open_ledger
from policies.access import NOBODY, AccessExpr, Unknown, digest, satisfies
from policies.facts import Life, ScopeState, Trust
from policies.names import ChunkId, DocumentId, Principal
from tests.connectors.ledger.making import FINANCE, HR, LEGAL, NOW, page, passages, published, rules


class FactsSuite:
    @pytest.fixture
    async def ledger(self, url: str) -> AsyncIterator[Ledger]:
        async with open_ledger(url) as opened:
            yield opened

    async def test_satisfied_scopes_are_those_of_the_algebra(self, ledger: Ledger) -> None:
        drawn = random.Random(20260302)
        groups = [Principal.group(f"g{number}") for number in range(7)]
        stated = {}
        for number in range(260):
            clauses = [drawn.sample(groups, drawn.randint(0, 3)) for _ in range(drawn.randint(1, 4))]
            access = AccessExpr.all_of(*clauses) if drawn.random() > 0.03 else Unknown("drawn")
            scope, _changed = await ledger.catalog.state_rules(rules(f"r{number}", access))
            stated[scope] = access
        cases = 0
        for _ in range(45):
            who = frozenset(drawn.sample(groups, drawn.randint(0, len(groups))))
            expected = {scope for scope, access in stated.items() if satisfies(who, access)}

            assert await ledger.facts.satisfied(who, NOW) == expected
            cases += len(stated)
        assert cases >= 10_000

    async def test_an_empty_clause_is_satisfied_by_nobody(self, ledger: Ledger) -> None:
        await ledger.catalog.state_rules(rules("nobody", NOBODY))
        await ledger.catalog.state_rules(rules("almost", AccessExpr.all_of([HR], [])))

        assert await ledger.facts.satisfied(frozenset([HR]), NOW) == frozenset()

    async def test_nobody_satisfies_unknown_rules(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules("lost", Unknown("403 from the source")))

        assert await ledger.facts.satisfied(frozenset([HR]), NOW) == frozenset()
        assert (await ledger.facts.scopes([scope]))[scope].access == Unknown("403 from the source")

    @pytest.mark.parametrize("state", [ScopeState.UNKNOWN, ScopeState.QUARANTINED, ScopeState.GONE])
    async def test_only_an_active_scope_grants(self, ledger: Ledger, state: ScopeState) -> None:
        await ledger.catalog.state_rules(rules(state=state))

        assert await ledger.facts.satisfied(frozenset([HR]), NOW) == frozenset()

    async def test_a_lease_ends_to_the_microsecond(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules(lease=timedelta(hours=1)))
        last = NOW + timedelta(hours=1)

        assert await ledger.facts.satisfied(frozenset([HR]), last) == {scope}
        assert await ledger.facts.satisfied(frozenset([HR]), last + timedelta(microseconds=1)) == frozenset()

    async def test_leases_hold_whatever_zone_a_time_is_written_in(self, ledger: Ledger) -> None:
        india = timezone(timedelta(hours=5, minutes=30))
        scope, _ = await ledger.catalog.state_rules(
            rules(verified_at=NOW.astimezone(india), lease=timedelta(minutes=30))
        )
        newfoundland = timezone(-timedelta(hours=3, minutes=30))

        assert await ledger.facts.satisfied(frozenset([HR]), (NOW + timedelta(minutes=29)).astimezone(newfoundland))
        assert not await ledger.facts.satisfied(frozenset([HR]), (NOW + timedelta(minutes=31)).astimezone(newfoundland))
        held = (await ledger.facts.scopes([scope]))[scope].verified_at
        assert (held, held.tzinfo) == (NOW, UTC)

    async def test_an_endless_lease_is_kept(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules(lease=timedelta(days=40_000_000)))

        assert await ledger.facts.satisfied(frozenset([HR]), datetime(2999, 1, 1, tzinfo=UTC)) == {scope}

    async def test_an_asker_may_be_thousands_of_principals(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        crowd = frozenset(Principal.group(f"team {number}") for number in range(40_000))

        assert await ledger.facts.satisfied(crowd, NOW) == frozenset()
        assert await ledger.facts.satisfied(crowd | {HR}, NOW) == {scope}

    @pytest.mark.parametrize("name", ['a"b', "a'b", "a\\b", "ä € 名前", "a%b_c", "A", "a  b"])
    async def test_principals_compare_character_by_character(self, ledger: Ledger, name: str) -> None:
        scope, _ = await ledger.catalog.state_rules(rules(access=AccessExpr.any_of(Principal.group(name))))

        assert await ledger.facts.satisfied(frozenset([Principal.group(name)]), NOW) == {scope}
        assert await ledger.facts.satisfied(frozenset([Principal.group(name.swapcase() + "x")]), NOW) == frozenset()

    async def test_a_name_with_nul_is_never_the_name_before_it(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules(access=AccessExpr.any_of(HR)))
        odd, _ = await ledger.catalog.state_rules(rules("odd", AccessExpr.any_of(Principal("grp:hr\x00x"))))

        assert await ledger.facts.satisfied(frozenset([Principal("grp:hr\x00y")]), NOW) == frozenset()
        assert await ledger.facts.satisfied(frozenset([HR]), NOW) == {scope}
        assert isinstance((await ledger.facts.scopes([odd]))[odd].access, Unknown)

    async def test_a_resource_is_what_the_ledger_knows_of_a_version(self, ledger: Ledger) -> None:
        access = AccessExpr.all_of([HR, FINANCE], [LEGAL])
        scope, _ = await ledger.catalog.state_rules(rules(access=access))
        document = page(effective_from=date(2026, 1, 1), effective_to=date(2026, 12, 31), status="superseded")
        await published(ledger, document, scope, trust=Trust.SUSPECT)

        found = (await ledger.facts.resources([(document.id, "v1")]))[document.id, "v1"]

        assert (found.scope.id, found.scope.access, found.scope.lease) == (scope, access, timedelta(hours=24))
        assert (found.life, found.current, found.hidden_by, found.trust) == (Life.LIVE, True, None, Trust.SUSPECT)
        assert (found.effective_from, found.effective_to) == (date(2026, 1, 1), date(2026, 12, 31))
        assert found.superseded

    async def test_unknown_versions_are_missing(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(), scope)
        asked = [(page().id, "v2"), (DocumentId("wiki", "other.md"), "v1"), (DocumentId("files", "pay.md"), "v1")]

        assert await ledger.facts.resources(asked) == {}
        assert await ledger.facts.resources([]) == {}

    async def test_a_hidden_subtree_hides_what_is_below_it_and_itself(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        below, itself, beside = page("a", ancestors=("home", "team")), page("team"), page("b", ancestors=("home",))
        for document in (below, itself, beside):
            await published(ledger, document, scope)
        await ledger.catalog.hide_subtree("wiki", "team", "rights changed", NOW)
        await ledger.catalog.hide_subtree("wiki", "team", "rights changed", NOW)
        await ledger.catalog.hide_subtree("other", "home", "not this source", NOW)
        found = await ledger.facts.resources([(each.id, "v1") for each in (below, itself, beside)])

        assert [found[each.id, "v1"].hidden_by for each in (below, itself, beside)] == ["team", "team", None]

        await ledger.catalog.show_subtree("wiki", "team")
        found = await ledger.facts.resources([(below.id, "v1")])
        assert found[below.id, "v1"].hidden_by is None

    async def test_a_subtree_that_is_hidden_again_is_never_open_in_between(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        below = page("a", ancestors=("home", "team"))
        await published(ledger, below, scope)
        await ledger.catalog.hide_subtree("wiki", "team", "rights changed", NOW)
        with pytest.raises(Stop):  # it ends in the middle: the time has no zone and is refused
            await ledger.catalog.hide_subtree("wiki", "team", "again", NOW.replace(tzinfo=None))

        found = await ledger.facts.resources([(below.id, "v1")])
        assert found[below.id, "v1"].hidden_by == "team"

    async def test_two_digests_are_accepted_while_a_text_is_replaced(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        document = page()
        chunk = ChunkId(document.id, "v1", "s0")
        await published(ledger, document, scope, "old")
        await ledger.catalog.announce(document, scope, passages(document, "new"), Trust.CLEAN)

        assert await ledger.facts.digests([chunk]) == {chunk: {"old", "new"}}

        await ledger.catalog.publish(document, "facts", NOW)
        assert await ledger.facts.digests([chunk]) == {chunk: {"new"}}

    async def test_a_version_being_replaced_is_trusted_no_more_than_its_successor(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        document = page()
        await published(ledger, document, scope)
        await ledger.catalog.announce(document, scope, passages(document, "bad"), Trust.QUARANTINED)

        found = await ledger.facts.resources([(document.id, "v1")])

        assert found[document.id, "v1"].trust is Trust.QUARANTINED

    async def test_rules_are_found_by_their_digest_after_they_changed(self, ledger: Ledger) -> None:
        before = AccessExpr.all_of([HR], [FINANCE])
        await ledger.catalog.state_rules(rules(access=before))
        await ledger.catalog.state_rules(rules(access=NOBODY))

        assert await ledger.facts.expression(digest(before)) == before
        assert await ledger.facts.expression("0" * 64) is None

    async def test_the_current_version_is_found_without_naming_it(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(version="v1"), scope)
        await published(ledger, page(version="v2"), scope)

        found = await ledger.facts.current(page().id)

        assert found is not None
        assert (found.version, found.current) == ("v2", True)
        assert await ledger.facts.current(DocumentId("wiki", "none")) is None
