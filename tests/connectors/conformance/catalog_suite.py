"""What the ledger must do for a sync, whichever database is behind it. A subclass gives the `url` of an empty one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date, timedelta

import pytest

from connectors.errors import Transient
from connectors.ledger.open import Ledger, open_ledger
from policies.access import NOBODY, AccessExpr, Unknown
from policies.facts import Life, ScopeState, Trust
from policies.names import ChunkId, DocumentId
from tests.connectors.ledger.making import FINANCE, HR, NOW, page, passages, published, rules

HOUR = timedelta(hours=1)


async def life_of(ledger: Ledger, document: DocumentId, version: str = "v1") -> Life | None:
    found = await ledger.facts.resources([(document, version)])
    return found[document, version].life if found else None


class CatalogSuite:
    @pytest.fixture
    async def ledger(self, url: str) -> AsyncIterator[Ledger]:
        async with open_ledger(url) as opened:
            yield opened

    # ------------------------------------------------------------ rules

    async def test_equal_rules_are_no_change(self, ledger: Ledger) -> None:
        first, changed = await ledger.catalog.state_rules(rules(access=AccessExpr.all_of([HR, FINANCE], [HR])))
        absorbed, again = await ledger.catalog.state_rules(rules(access=AccessExpr.any_of(HR), verified_at=NOW + HOUR))

        assert (first, changed, again) == (absorbed, True, False)
        assert (await ledger.facts.scopes([first]))[first].verified_at == NOW + HOUR

    async def test_a_narrowing_is_in_force_at_once(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        _same, changed = await ledger.catalog.state_rules(rules(access=NOBODY))

        assert changed
        assert await ledger.facts.satisfied(frozenset([HR]), NOW) == frozenset()
        assert await ledger.catalog.scope_of("wiki", "hr") == scope

    async def test_rules_that_could_not_be_read_grant_nothing_any_more(self, ledger: Ledger) -> None:
        await ledger.catalog.state_rules(rules())
        await ledger.catalog.state_rules(rules(access=Unknown("timed out"), state=ScopeState.UNKNOWN))

        assert await ledger.facts.satisfied(frozenset([HR]), NOW) == frozenset()

    async def test_a_withdrawn_scope_grants_nothing_until_it_is_stated_again(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await ledger.catalog.withdraw_scope("wiki", "hr")
        await ledger.catalog.withdraw_scope("wiki", "never heard of")

        assert await ledger.facts.satisfied(frozenset([HR]), NOW) == frozenset()
        assert await ledger.catalog.state_rules(rules()) == (scope, True)
        assert await ledger.facts.satisfied(frozenset([HR]), NOW) == {scope}

    async def test_scopes_not_verified_in_a_run_are_named(self, ledger: Ledger) -> None:
        await ledger.catalog.state_rules(rules("old"))
        await ledger.catalog.state_rules(rules("new", verified_at=NOW + HOUR))
        await ledger.catalog.state_rules(rules("other", source="files"))

        assert await ledger.catalog.unseen_scopes(NOW + HOUR, "wiki") == ["old"]

    # ------------------------------------------------------------ versions

    async def test_an_announced_version_is_not_current_until_published(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        document = page()
        await ledger.catalog.announce(document, scope, passages(document), Trust.CLEAN)
        before = (await ledger.facts.resources([(document.id, "v1")]))[document.id, "v1"]
        kept = await ledger.catalog.publish(document, "facts", NOW)
        after = (await ledger.facts.resources([(document.id, "v1")]))[document.id, "v1"]

        assert (before.current, before.life) == (False, Life.HIDDEN)
        assert (after.current, after.life) == (True, Life.LIVE)
        assert kept == {"v1"}

    async def test_the_old_version_stays_current_while_the_new_one_is_written(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(version="v1"), scope)
        new = page(version="v2")
        await ledger.catalog.announce(new, scope, passages(new), Trust.CLEAN)
        found = await ledger.facts.resources([(new.id, "v1"), (new.id, "v2")])

        assert [found[new.id, each].current for each in ("v1", "v2")] == [True, False]

    async def test_an_undated_version_is_retired_by_its_successor(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(version="v1", effective_from=date(2025, 1, 1)), scope)

        assert await published(ledger, page(version="v2"), scope) == {"v2"}
        found = await ledger.facts.resources([(page().id, "v1")])
        assert not found[page().id, "v1"].current
        assert await ledger.facts.digests([ChunkId(page().id, "v1", "s0")]) == {}

    async def test_a_dated_version_stays_for_questions_about_its_time(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(version="v1", effective_from=date(2025, 1, 1)), scope)
        kept = await published(ledger, page(version="v2", effective_from=date(2026, 1, 1)), scope)
        old = (await ledger.facts.resources([(page().id, "v1")]))[page().id, "v1"]

        assert kept == {"v1", "v2"}
        assert (old.current, old.effective_to) == (True, date(2025, 12, 31))

    async def test_going_back_to_an_older_version_retires_the_newer_one(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        first, second = (
            page(version="v1", effective_from=date(2025, 1, 1)),
            page(version="v2", effective_from=date(2026, 1, 1)),
        )
        await published(ledger, first, scope)
        await published(ledger, second, scope)

        assert await published(ledger, first, scope) == {"v1"}
        back = (await ledger.facts.resources([(first.id, "v1")]))[first.id, "v1"]
        assert (back.current, back.effective_to) == (True, None)

    async def test_a_version_announced_and_never_published_is_retired(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        lost = page(version="v2", effective_from=date(2025, 1, 1))
        await ledger.catalog.announce(lost, scope, passages(lost), Trust.CLEAN)

        assert await published(ledger, page(version="v3", effective_from=date(2026, 1, 1)), scope) == {"v3"}

    async def test_publishing_what_was_not_announced_is_refused(self, ledger: Ledger) -> None:
        with pytest.raises(Transient, match="not announced"):
            await ledger.catalog.publish(page(), "facts", NOW)

        assert await ledger.catalog.known(page().id) is None

    async def test_every_step_can_be_repeated(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        for _ in range(2):
            await ledger.catalog.announce(page(), scope, passages(page()), Trust.CLEAN)
        for _ in range(2):
            assert await ledger.catalog.publish(page(), "facts", NOW) == {"v1"}
        chunk = ChunkId(page().id, "v1", "s0")

        assert await ledger.facts.digests([chunk]) == {chunk: {"one"}}

    # ------------------------------------------------------------ what is known

    async def test_a_published_document_is_known_as_it_was(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(ancestors=("home", "team")), scope)

        known = await ledger.catalog.known(page().id)

        assert known is not None
        assert (known.version, known.revision, known.facts_digest) == ("v1", "of v1", "facts")
        assert (known.scope_root, known.ancestors, known.problem) == ("hr", ("home", "team"), None)

    async def test_a_moved_document_stands_under_its_new_rules_at_once(self, ledger: Ledger) -> None:
        open_to_hr, _ = await ledger.catalog.state_rules(rules())
        closed, _ = await ledger.catalog.state_rules(rules("board", NOBODY))
        await published(ledger, page(), open_to_hr)
        await ledger.catalog.place(page().id, closed, "board", ("top",))
        await ledger.catalog.place(DocumentId("wiki", "unheard of"), closed, "board", ())

        known = await ledger.catalog.known(page().id)
        found = await ledger.facts.resources([(page().id, "v1")])
        assert found[page().id, "v1"].scope.id == closed
        assert known is not None
        assert (known.scope_root, known.ancestors) == ("board", ("top",))
        assert await ledger.catalog.known(DocumentId("wiki", "unheard of")) is None

    async def test_a_skipped_document_is_hidden_with_its_reason(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(), scope)
        await ledger.catalog.skip(page(version="v2"), "a password protects it", NOW)
        await ledger.catalog.skip(DocumentId("wiki", "new"), "too large", NOW)

        known, new = [await ledger.catalog.known(each) for each in (page().id, DocumentId("wiki", "new"))]
        assert await life_of(ledger, page().id) is Life.HIDDEN
        assert known is not None
        assert new is not None
        assert (known.problem, known.revision, new.problem) == ("a password protects it", "of v2", "too large")

    async def test_a_hidden_document_is_new_to_the_next_sync(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(), scope)
        await ledger.catalog.hide(page().id, "many were missing at once")
        known = await ledger.catalog.known(page().id)

        assert await life_of(ledger, page().id) is Life.HIDDEN
        assert known is not None
        assert known.revision != page().revision

        await published(ledger, page(), scope)
        assert await life_of(ledger, page().id) is Life.LIVE

    # ------------------------------------------------------------ gone

    async def test_an_entombed_document_is_allowed_to_nobody(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(), scope)
        await ledger.catalog.entomb(page().id, "deleted at the source", NOW)
        await ledger.catalog.entomb(page().id, "deleted at the source", NOW)
        found = (await ledger.facts.resources([(page().id, "v1")]))[page().id, "v1"]

        assert (found.life, found.current) == (Life.TOMBSTONE, False)
        assert await ledger.catalog.known(page().id) is None
        assert await ledger.catalog.unretired("wiki") == [(page().id, frozenset())]
        assert await ledger.facts.digests([ChunkId(page().id, "v1", "s0")]) == {}

    async def test_an_upsert_older_than_the_tombstone_brings_nothing_back(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(), scope)
        await ledger.catalog.entomb(page().id, "deleted", NOW + HOUR)

        assert await published(ledger, page(), scope, now=NOW) == frozenset()
        assert await life_of(ledger, page().id) is Life.TOMBSTONE

    async def test_a_run_that_began_before_a_deletion_brings_nothing_back(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(), scope, now=NOW)
        async with ledger.catalog.run("wiki", NOW):
            async with open_ledger_again(ledger) as webhook:
                await webhook.catalog.entomb(page().id, "deleted", NOW + HOUR)

            assert await published(ledger, page(), scope, now=NOW + 2 * HOUR) == frozenset()

        async with ledger.catalog.run("wiki", NOW + 3 * HOUR):
            assert await published(ledger, page(), scope, now=NOW + 3 * HOUR) == {"v1"}
        assert await life_of(ledger, page().id) is Life.LIVE

    async def test_a_run_may_tell_that_what_it_deleted_is_there_again(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        async with ledger.catalog.run("wiki", NOW):
            await ledger.catalog.entomb(page().id, "moved away", NOW)

            assert await published(ledger, page(), scope, now=NOW) == {"v1"}

    async def test_tombstones_are_kept_thirty_days(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(), scope)
        await ledger.catalog.entomb(page().id, "deleted", NOW)
        await ledger.catalog.retired(page().id)

        assert await ledger.catalog.purge(NOW + timedelta(days=30)) == 0
        assert await ledger.catalog.purge(NOW + timedelta(days=31)) == 1
        assert await life_of(ledger, page().id) is None

    async def test_a_document_that_is_not_cleaned_away_is_not_purged(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(), scope)
        await ledger.catalog.entomb(page().id, "deleted", NOW)

        assert await ledger.catalog.purge(NOW + timedelta(days=31)) == 0

    # ------------------------------------------------------------ seen and left to clean

    async def test_documents_that_a_run_did_not_see_are_named(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        for key in ("a", "b", "c"):
            await published(ledger, page(key), scope)
        await ledger.catalog.hide(DocumentId("wiki", "b"), "for a reason")
        await ledger.catalog.entomb(DocumentId("wiki", "c"), "deleted", NOW)
        async with ledger.catalog.run("wiki", NOW) as run:
            await ledger.catalog.seen(run.id, [DocumentId("wiki", "a")])
            await published(ledger, page("new"), scope)
            await ledger.catalog.seen(run.id, [DocumentId("wiki", "not written about yet")])

            assert await ledger.catalog.unseen(run.id, "wiki") == [DocumentId("wiki", "b")]
        assert await ledger.catalog.known(DocumentId("wiki", "not written about yet")) is None

    async def test_what_a_kill_left_to_clean_is_named_until_it_is_cleaned(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(), scope)

        assert await ledger.catalog.unretired("wiki") == [(page().id, frozenset({"v1"}))]
        await ledger.catalog.retired(page().id)
        assert await ledger.catalog.unretired("wiki") == []

    # ------------------------------------------------------------ runs

    async def test_one_run_at_a_time_a_source(self, ledger: Ledger) -> None:
        async with ledger.catalog.run("wiki", NOW), open_ledger_again(ledger) as other:
            with pytest.raises(Transient, match="another run"):
                async with other.catalog.run("wiki", NOW):
                    pass
            async with other.catalog.run("files", NOW):
                pass

    async def test_a_claim_that_ran_out_is_taken_over_and_the_late_run_writes_nothing(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules())
        async with (
            ledger.catalog.run("wiki", NOW) as late,
            open_ledger_again(ledger) as other,
            other.catalog.run("wiki", NOW + timedelta(minutes=3)),
        ):
            with pytest.raises(Transient, match="took over"):
                await published(ledger, page(), scope)
            with pytest.raises(Transient, match="took over"):
                await ledger.catalog.checkpoint(late, "cursor", NOW)

    async def test_the_next_run_goes_on_after_the_last_checkpoint(self, ledger: Ledger) -> None:
        async with ledger.catalog.run("wiki", NOW) as run:
            assert run.cursor is None
            await ledger.catalog.checkpoint(run, "page 2", NOW)
            await ledger.catalog.checkpoint(run, "page 3", NOW)
        async with ledger.catalog.run("wiki", NOW + HOUR) as run:
            assert run.cursor == "page 3"

    async def test_a_run_keeps_its_report(self, ledger: Ledger) -> None:
        from connectors.ports import SourceConfig

        await ledger.sources.add(SourceConfig("wiki", "files", {"path": "/wiki"}), NOW)
        scope, _ = await ledger.catalog.state_rules(rules())
        async with ledger.catalog.run("wiki", NOW) as run:
            await published(ledger, page(), scope)
            await ledger.catalog.skip(DocumentId("wiki", "scan.pdf"), "a scan", NOW)
            await ledger.catalog.checkpoint(run, "end", NOW + HOUR)
            await ledger.catalog.finish(run, {"seen": 2, "complete": True}, NOW + HOUR)
        status = await ledger.sources.status("wiki")

        assert status is not None
        assert (status.documents, status.chunks, status.synced_at) == (1, 2, NOW + HOUR)
        assert status.problems == ((DocumentId("wiki", "scan.pdf"), "a scan"),)
        assert status.last_run is not None
        assert (status.last_run.state, status.last_run.report["seen"]) == ("done", 2)

    async def test_a_run_that_raised_has_failed_and_gives_its_claim_back(self, ledger: Ledger) -> None:
        with pytest.raises(RuntimeError):
            async with ledger.catalog.run("wiki", NOW):
                raise RuntimeError("the source fell over")
        async with ledger.catalog.run("wiki", NOW):
            pass


def open_ledger_again(ledger: Ledger):  # type: ignore[no-untyped-def]  # an async context of the same database
    """The same database through a second ledger, as another process has it."""
    return open_ledger(ledger.door.engine.url.render_as_string(hide_password=False))
