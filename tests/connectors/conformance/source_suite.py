"""What every source must do, whichever system is behind it. A source's test file subclasses `SourceSuite`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

import pytest

from connectors.ports import Source
from connectors.records import AccessChanged, Change, Checkpoint, Deleted, Skipped, Upsert
from policies.access import Unknown, satisfies
from policies.facts import ScopeState
from policies.names import DocumentId, Principal

AT = datetime(2030, 1, 1, tzinfo=UTC)


class Tenant(Protocol):
    """A made-up system behind a source: what happens in it, in its own way."""

    @property
    def source(self) -> Source: ...

    def write(self, name: str, text: str) -> None:
        """A document is made or its text replaced."""
        ...

    def delete(self, name: str) -> None: ...

    def grant(self, name: str, *groups: str) -> None:
        """Exactly these groups may read the document from now on."""
        ...

    def break_rights(self, name: str) -> None:
        """Who may read the document can't be found out any more."""
        ...

    def break_walk(self) -> None:
        """From now on some part of the system can't be listed."""
        ...

    def document(self, name: str) -> DocumentId: ...

    def principal(self, group: str) -> Principal: ...


class SourceSuite:
    """The promises of the port `Source`, and of the shared rules that a sync relies on."""

    @pytest.fixture
    def tenant(self) -> Tenant:
        raise NotImplementedError

    async def test_rules_come_before_the_documents_under_them(self, tenant: Tenant) -> None:
        tenant.write("a", "Alpha.")
        tenant.grant("a", "staff")

        changes = await told(tenant.source)

        known: set[str] = set()
        for change in changes:
            match change:
                case AccessChanged(rules):
                    known.add(rules.root)
                case Upsert(document):
                    assert document.scope_root in known

    async def test_the_last_change_of_a_faultless_walk_is_a_checkpoint(self, tenant: Tenant) -> None:
        tenant.write("a", "Alpha.")
        tenant.grant("a", "staff")

        changes = await told(tenant.source)

        assert isinstance(changes[-1], Checkpoint)
        assert changes[-1].complete

    async def test_the_body_is_what_was_written(self, tenant: Tenant) -> None:
        tenant.write("a", "Alpha.")
        tenant.grant("a", "staff")

        document = upserts(await told(tenant.source))[tenant.document("a")].document

        assert b"Alpha." in await document.read()

    async def test_a_revision_changes_with_the_content_and_only_then(self, tenant: Tenant) -> None:
        tenant.write("a", "Alpha.")
        tenant.grant("a", "staff")
        first = upserts(await told(tenant.source))[tenant.document("a")].document
        again = upserts(await told(tenant.source))[tenant.document("a")].document
        tenant.write("a", "Other.")
        edited = upserts(await told(tenant.source))[tenant.document("a")].document

        assert first.revision == again.revision
        assert first.revision != edited.revision

    async def test_exactly_those_granted_satisfy_a_documents_rules(self, tenant: Tenant) -> None:
        tenant.write("a", "Alpha.")
        tenant.grant("a", "staff", "hr")

        assert await readers(tenant, "a", "staff", "hr", "other") == {"staff", "hr"}

        tenant.grant("a", "hr")

        assert await readers(tenant, "a", "staff", "hr", "other") == {"hr"}

    async def test_a_document_that_nobody_was_granted_is_readable_by_nobody(self, tenant: Tenant) -> None:
        tenant.write("a", "Alpha.")

        assert await readers(tenant, "a", "staff", "hr", "other") == set()

    async def test_rights_that_cannot_be_read_grant_nobody(self, tenant: Tenant) -> None:
        tenant.write("a", "Alpha.")
        tenant.grant("a", "staff")
        tenant.break_rights("a")

        assert await readers(tenant, "a", "staff", "hr", "other") == set()

    async def test_a_narrowing_is_told_from_a_cursor_too(self, tenant: Tenant) -> None:
        tenant.write("a", "Alpha.")
        tenant.grant("a", "staff", "hr")
        cursor = cursor_of(await told(tenant.source))
        tenant.grant("a", "hr")

        assert await readers(tenant, "a", "staff", "hr", cursor=cursor) == {"hr"}

    async def test_a_deletion_is_told_or_the_walk_is_complete_without_it(self, tenant: Tenant) -> None:
        tenant.write("a", "Alpha.")
        tenant.write("b", "Beta.")
        tenant.grant("a", "staff")
        cursor = cursor_of(await told(tenant.source))
        tenant.delete("a")

        changes = await told(tenant.source, cursor)

        gone = Deleted(tenant.document("a")) in changes
        missing = changes[-1] == Checkpoint(cursor_of(changes), complete=True)
        assert gone or missing
        assert tenant.document("a") not in upserts(changes)

    async def test_a_walk_with_a_fault_is_not_complete(self, tenant: Tenant) -> None:
        tenant.write("a", "Alpha.")
        tenant.grant("a", "staff")
        tenant.break_walk()

        checkpoints = [change for change in await told(tenant.source) if isinstance(change, Checkpoint)]

        assert not any(checkpoint.complete for checkpoint in checkpoints)

    async def test_a_cursor_that_makes_no_sense_is_a_walk_from_the_start(self, tenant: Tenant) -> None:
        tenant.write("a", "Alpha.")
        tenant.grant("a", "staff")

        assert tenant.document("a") in upserts(await told(tenant.source, "no such cursor"))


async def told(source: Source, cursor: str | None = None) -> list[Change]:
    return [change async for change in source.changes(cursor, AT)]


def cursor_of(changes: list[Change]) -> str:
    return next(change.cursor for change in reversed(changes) if isinstance(change, Checkpoint))


def upserts(changes: list[Change]) -> dict[DocumentId, Upsert]:
    return {change.document.id: change for change in changes if isinstance(change, Upsert)}


async def readers(tenant: Tenant, name: str, *groups: str, cursor: str | None = None) -> set[str]:
    """Which of `groups` alone may read the document, as the source tells it; nobody where it is passed over."""
    changes = await told(tenant.source, cursor)
    document = upserts(changes).get(tenant.document(name))
    if document is None:
        assert any(isinstance(change, Skipped) and change.document == tenant.document(name) for change in changes)
        return set()
    stated = [change.rules for change in changes if isinstance(change, AccessChanged)]
    rules = next(rules for rules in reversed(stated) if rules.root == document.document.scope_root)
    if rules.state is not ScopeState.ACTIVE or isinstance(rules.access, Unknown):
        return set()
    return {group for group in groups if satisfies(frozenset([tenant.principal(group)]), rules.access)}
