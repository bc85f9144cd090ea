"""What a far source's memory must do, whichever database is behind it. A subclass gives the `url` of an empty one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from connectors.ledger import memory as ledger_memory
from connectors.ledger.memory import SqlMemory
from connectors.ledger.open import Ledger, open_ledger
from connectors.ports import Event
from connectors.records import ClosedRoot, Inherits, Node, Own
from policies.access import NOBODY, AccessExpr, Unknown, digest
from policies.facts import ScopeState, Trust
from policies.names import DocumentId, Principal
from tests.connectors.ledger.making import FINANCE, HR, NOW, page, passages, published, rules

HOUR = timedelta(hours=1)


def node(key: str, parent: str | None = "top", **more: object) -> Node:
    made = Node(key, parent, "top", "page", Inherits(), NOW, True, "v1", "w1")
    return replace(made, **more)  # type: ignore[arg-type]  # whatever a test says of it


class MemorySuite:
    @pytest.fixture
    async def ledger(self, url: str) -> AsyncIterator[Ledger]:
        async with open_ledger(url) as opened:
            yield opened

    @pytest.fixture
    def memory(self, ledger: Ledger) -> SqlMemory:
        return self.of_source(ledger, "wiki")

    def of_source(self, ledger: Ledger, source: str) -> SqlMemory:
        return SqlMemory(ledger.door, source)

    # ------------------------------------------------------------ nodes

    @pytest.mark.parametrize(
        "rules_",
        [
            Inherits(),
            Own(NOBODY),
            Own(AccessExpr.all_of([HR, FINANCE], [HR])),
            Own(AccessExpr.all_of([], [HR])),
            Own(Unknown("it said \ud800 403")),
            Own(AccessExpr.any_of(Principal("x:\x00 half \ud800"))),
        ],
        ids=["none", "nobody", "two clauses", "a clause of nobody", "unknown", "no text"],
    )
    async def test_a_node_comes_back_as_it_was_put(self, memory: SqlMemory, rules_: Inherits | Own) -> None:
        facts = {"title": "ä \x00 \ud800 名", "place": "'\"%"}
        put = node("a", rules=rules_, facts=facts, rules_at=NOW + timedelta(microseconds=7), mark="é", walk="")
        await memory.put([put])

        assert await memory.get(["a", "b"]) == {"a": put}

    async def test_the_last_word_about_a_node_counts(self, memory: SqlMemory) -> None:
        await memory.put([node("a"), node("b")])
        await memory.put([node("a", mark="v2"), node("a", mark="v3")])
        await memory.drop(["b", "never heard of"])
        await memory.put([])

        assert {key: each.mark for key, each in (await memory.get(["a", "b"])).items()} == {"a": "v3"}

    async def test_two_sources_share_nothing(self, ledger: Ledger, memory: SqlMemory) -> None:
        other = self.of_source(ledger, "files")
        await memory.put([node("a", None)])
        await memory.keep_note("feed:x", "1")
        await memory.told([Event("a", "moved", closes=True)], NOW)
        await other.put([node("a", None, mark="other")])
        await other.drop(["b"])
        await other.forget_hints(1_000)

        assert (await memory.get(["a"]))["a"].mark == "v1"
        assert (await other.get(["a"]))["a"].mark == "other"
        assert (await other.note("feed:x"), await other.hints(), await other.closed()) == (None, [], {})
        assert len(await memory.hints()) == 1

    async def test_a_container_is_read_page_by_page(self, memory: SqlMemory) -> None:
        many = [node(f"p{number:05}") for number in range(ledger_memory.PAGE + 3)]
        await memory.put(
            [*many, node("top", None), node("P", container="other"), node("other", None, container="other")]
        )

        assert len([each async for each in memory.of_container("top")]) == len(many) + 1
        assert {each.key async for each in memory.of_container("other")} == {"P", "other"}
        assert {each.key async for each in memory.containers()} == {"top", "other"}
        assert len(await memory.get([each.key for each in many])) == len(many)

    async def test_nodes_with_rules_of_their_own_are_found_alone(self, memory: SqlMemory) -> None:
        ruled = [node("top", None, rules=Own(AccessExpr.any_of(HR))), node("a", rules=Own(Unknown("403")))]
        elsewhere = node("c", container="other", rules=Own(NOBODY))
        await memory.put([*ruled, node("b"), elsewhere])

        assert [each async for each in memory.ruled("top")] == sorted(ruled, key=lambda each: each.key)

    async def test_below_ends_where_a_circle_closes(self, memory: SqlMemory) -> None:
        await memory.put([node("a", "c"), node("b", "a"), node("c", "b"), node("d", "c"), node("e")])

        assert [each.key for each in await memory.below("b")] == ["b", "a", "c", "d"]
        assert await memory.below("none") == []

    # ------------------------------------------------------------ notes and hints

    async def test_notes_are_kept_by_name(self, memory: SqlMemory) -> None:
        for name in ("feed:a", "feed:b", "Feed:c", "f%", "feed"):
            await memory.keep_note(name, f"of {name}")
        await memory.keep_note("feed:a", "again")
        await memory.keep_note("feed:b", None)

        assert await memory.note("feed:a") == "again"
        assert await memory.note("feed:b") is None
        assert dict(await memory.notes("feed:")) == {"feed:a": "again"}
        assert dict(await memory.notes("f%")) == {"f%": "of f%"}

    async def test_hints_are_kept_in_order_until_they_are_dealt_with(self, memory: SqlMemory) -> None:
        await memory.told([Event("a", "moved", closes=False), Event("b", "moved", closes=False)], NOW)
        await memory.told([Event("a", "moved", closes=False), Event("a", "seen", closes=False)], NOW + HOUR)
        hints = await memory.hints()
        await memory.forget_hints(hints[0].number)

        assert [(each.key, each.what) for each in hints] == [("b", "moved"), ("a", "moved"), ("a", "seen")]
        assert hints[1].at == NOW + HOUR
        assert [each.key for each in await memory.hints(1)] == ["a"]
        assert len(await memory.hints()) == 2
        await memory.forget_hints(hints[2].number, but=[hints[1].number])
        assert [each.number for each in await memory.hints()] == [hints[1].number]

    async def test_more_hints_than_are_kept_mean_the_whole_source(self, memory: SqlMemory) -> None:
        await memory.told([Event(f"e{number}", "x", closes=False) for number in range(ledger_memory.MOST_HINTS)], NOW)
        assert len(await memory.hints(20_000)) == ledger_memory.MOST_HINTS
        await memory.told([Event("one more", "x", closes=True)], NOW)

        assert [each.key for each in await memory.hints()] == [""]
        assert await memory.closed() == {"one more": ClosedRoot("an event: x", NOW)}

    # ------------------------------------------------------------ the ledger's side

    async def test_documents_are_placed_where_the_ledger_has_them(self, ledger: Ledger, memory: SqlMemory) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page("a", ancestors=("top", "home")), scope)
        await published(ledger, page("b", ancestors=("other",)), scope)
        await published(ledger, page("c", ancestors=("top",)), scope)
        await published(ledger, page("c", source="files", ancestors=("top",)), scope)
        await ledger.catalog.entomb(DocumentId("wiki", "c"), "gone", NOW)
        await ledger.catalog.hide(DocumentId("wiki", "b"), "why")
        placed = {each.key: each async for each in memory.placed()}

        assert placed.keys() == {"a", "b"}
        assert (placed["a"].scope_root, placed["a"].ancestors) == ("hr", ("top", "home"))
        assert (placed["a"].version, placed["a"].revision, placed["a"].hidden) == ("v1", "of v1", False)
        assert (placed["b"].revision, placed["b"].hidden) == ("", True)
        assert [each.key async for each in memory.placed("top")] == ["a"]
        assert dict(await memory.places(["b", "c", "none"])) == {"b": placed["b"]}

    async def test_containers_are_untold_while_the_ledger_lacks_a_document(
        self, ledger: Ledger, memory: SqlMemory
    ) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await memory.put(
            [node("a", mark="of v1"), node("folder", is_document=False), node("top", None, is_document=False)]
        )
        assert await memory.untold() == ["top"]

        await published(ledger, page("a"), scope)
        assert await memory.untold() == []

        await memory.put([node("a", mark="of v2")])
        assert await memory.untold() == ["top"]
        await ledger.catalog.skip(DocumentId("wiki", "a"), "broken", NOW, "of v2")
        assert await memory.untold() == []
        await ledger.catalog.hide(DocumentId("wiki", "a"), "why")
        assert await memory.untold() == ["top"]
        await published(ledger, page("a", revision="of v2"), scope)
        assert await memory.untold() == []
        await ledger.catalog.entomb(DocumentId("wiki", "a"), "gone", NOW)
        assert await memory.untold() == ["top"]

    async def test_scopes_are_stated_as_the_ledger_has_them(self, ledger: Ledger, memory: SqlMemory) -> None:
        await ledger.catalog.state_rules(rules("a", access=AccessExpr.any_of(HR)))
        await ledger.catalog.state_rules(rules("b", access=Unknown("403"), state=ScopeState.UNKNOWN, lease=HOUR))
        await ledger.catalog.state_rules(rules("c", source="files"))
        stated = await memory.stated()

        assert stated.keys() == {"a", "b"}
        assert stated["a"].digest == digest(AccessExpr.any_of(HR))
        assert (stated["b"].state, stated["b"].lease, stated["b"].verified_at) == (ScopeState.UNKNOWN, HOUR, NOW)

    # ------------------------------------------------------------ many at once, in the catalog

    async def test_many_rules_are_stated_as_one_by_one(self, ledger: Ledger) -> None:
        stated = [
            rules("a"),
            rules("b", access=AccessExpr.all_of([HR], [FINANCE]), containers=("top",)),
            rules("c", access=Unknown("403"), state=ScopeState.UNKNOWN, containers=("top",)),
            rules("d", access=AccessExpr.any_of(FINANCE), containers=("top", "in")),
        ]
        first = await ledger.catalog.state_all(stated)
        again = await ledger.catalog.state_all([*stated[1:], rules("a", access=AccessExpr.any_of(FINANCE)), rules("e")])

        assert [changed for _, changed in first] == [True] * 4
        assert [changed for _, changed in again] == [False, False, False, True, True]
        assert [scope for scope, _ in again][:4] == [scope for scope, _ in (*first[1:], first[0])]
        both = frozenset([HR, FINANCE])
        held = await ledger.facts.satisfied(both, NOW)
        assert held == {again[0][0], again[2][0], again[3][0], again[4][0]}
        found = await ledger.catalog.all_rules_of("wiki", ["a", "b", "none"])
        assert found["b"].access == AccessExpr.all_of([HR], [FINANCE])
        assert found.keys() == {"a", "b"}
        cover = await ledger.facts.cover([both], NOW)
        assert cover is not None
        assert await ledger.catalog.state_all([]) == []

    async def test_leases_that_are_renewed_last_longer_and_the_rules_stay(self, ledger: Ledger) -> None:
        await ledger.catalog.state_all([rules("a"), rules("b", lease=HOUR), rules("c", lease=HOUR)])
        late = NOW + timedelta(hours=2)
        before = await ledger.facts.cover([frozenset([HR])], late)
        await ledger.catalog.renew("wiki", ["a", "b", "none"], late)
        held = await ledger.catalog.all_rules_of("wiki", ["a", "b", "c"])

        assert {root: each.verified_at for root, each in held.items()} == {"a": late, "b": late, "c": NOW}
        assert before != await ledger.facts.cover([frozenset([HR])], late)
        satisfied = await ledger.facts.satisfied(frozenset([HR]), late)
        assert satisfied == {await ledger.catalog.scope_of("wiki", root) for root in "ab"}
        await ledger.catalog.renew("wiki", ["a"], NOW)
        assert (await ledger.catalog.all_rules_of("wiki", ["a"]))["a"].verified_at == late

    async def test_what_was_hidden_later_is_not_shown(self, ledger: Ledger, memory: SqlMemory) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page("a", ancestors=("top",)), scope)
        await ledger.catalog.hide_subtrees("wiki", {"a": "ours", "top": "ours", "b": "ours"}, NOW)
        await memory.told([Event("a", "restricted", closes=True)], NOW + HOUR)
        await ledger.catalog.hide_subtrees("wiki", {"a": "ours again"}, NOW)
        await ledger.catalog.show_subtrees("wiki", ["a", "top"], NOW)

        assert await memory.closed() == {
            "a": ClosedRoot("an event: restricted", NOW + HOUR),
            "b": ClosedRoot("ours", NOW),
        }
        held = (await ledger.facts.resources([(page("a").id, "v1")]))[page("a").id, "v1"]
        assert held.hidden_by == "a"
        await ledger.catalog.show_subtrees("wiki", ["a", "b"], NOW + HOUR)
        assert await memory.closed() == {}

    async def test_a_document_that_can_not_be_used_is_remembered_by_what_was_looked_at(self, ledger: Ledger) -> None:
        document = page("a")
        await ledger.catalog.announce(
            document, (await ledger.catalog.state_rules(rules()))[0], passages(document), Trust.CLEAN
        )
        await ledger.catalog.skip(document, "away", NOW, "")
        first = await ledger.catalog.known(document.id)
        await ledger.catalog.skip(document, "broken", NOW)
        second = await ledger.catalog.known(document.id)

        assert first is not None
        assert second is not None
        assert (first.revision, second.revision) == ("", "of v1")
