"""The ledger as a sync needs it. Every call is one transaction, durable when it returns and safe to repeat.

*Close before you clean, open after you have written*: hiding, entombing and narrowing count from the commit on; a new
text is accepted beside the old one before the index gets it, and alone after it was published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Row, bindparam, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from connectors.errors import Transient
from connectors.ledger import standings
from connectors.ledger.dialect import each, listed
from connectors.ledger.door import Door, in_one_hop, new_id, repeated
from connectors.ledger.facts import version_name
from connectors.ledger.rules import Expressions, keep_all, readable
from connectors.ledger.runs import Runs
from connectors.ledger.tables import (
    chunks,
    document_ancestors,
    documents,
    hidden_subtrees,
    scopes,
    tombstones,
    versions,
)
from connectors.ports import Known, Run
from connectors.records import Chunk, ScopeRules, SourceDocument
from policies.access import Access, Unknown, digest
from policies.facts import Life, ScopeState, Trust
from policies.names import ContainerId, DocumentId, ScopeId

REMEMBERED = timedelta(days=30)  # how long a tombstone is kept at least


@in_one_hop
class SqlCatalog:
    """Port `Catalog`."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._runs = Runs(door)
        self._expressions = Expressions()

    # ------------------------------------------------------------ runs

    def run(self, source: str, now: datetime) -> AbstractAsyncContextManager[Run]:
        """One run at a time a source, across processes. Transient when taken."""
        return self._runs.run(source, now)

    async def checkpoint(self, run: Run, cursor: str, now: datetime) -> None:
        """Commit the cursor: what came before it is durable."""
        await self._runs.checkpoint(run, cursor, now)

    async def finish(self, run: Run, report: Mapping[str, Any], now: datetime) -> None:
        """Keep the run's report for `source show`, and forget what has been gone for long."""
        await self._runs.finish(run, report, now)
        await self.purge(now)

    # ------------------------------------------------------------ scopes

    async def state_rules(self, rules: ScopeRules) -> tuple[ScopeId, bool]:
        """Record a scope's rules; returns its id and whether who may read changed. In force from the commit on."""
        [stated] = await self.state_all([rules])
        return stated

    async def state_all(self, rules: Sequence[ScopeRules]) -> Sequence[tuple[ScopeId, bool]]:
        """As `state_rules`, for different scopes of one source in one step."""
        if not rules:
            return []
        source = rules[0].source
        async with self._door.write() as connection:
            await self._runs.fence(connection, source)
            readables = [readable(one.access) for one in rules]
            numbers = await keep_all(connection, readables)
            stated = [_stated(*pair, numbers) for pair in zip(rules, readables, strict=True)]
            at = (scopes.c.source == source) & scopes.c.root.in_(each("roots"))
            query = select(scopes.c.root, *_COUNTED).where(at)
            roots = {"roots": listed(one.root for one in rules)}
            old = {row.root: row for row in (await connection.execute(query, roots)).all()}
            ids = await _insert(connection, [row for row in stated if row["root"] not in old], rules)
            await _update(connection, [row for row in stated if row["root"] in old], old)
        return [
            (ScopeId(ids[row["root"]]), True)
            if row["root"] in ids
            else (ScopeId(old[row["root"]].id), _differs(old[row["root"]], row))
            for row in stated
        ]

    async def renew(self, source: str, roots: Sequence[str], at: datetime) -> None:
        """The rules of these scopes were read at `at` and are as recorded: their leases begin anew. None is made older
        by it."""
        async with self._door.write() as connection:
            await self._runs.fence(connection, source)
            which = (scopes.c.source == source) & scopes.c.root.in_(each("roots")) & (scopes.c.verified_at < at)
            named = {"roots": listed(roots)}
            leases = (await connection.execute(select(scopes.c.lease).where(which).distinct(), named)).scalars().all()
            for lease in leases:
                expiry = _expiry(at, timedelta(microseconds=lease))
                these = which & (scopes.c.lease == lease)
                lapsed = these & or_(scopes.c.expires_at < at, scopes.c.expires_at > expiry)
                if (await connection.execute(select(scopes.c.id).where(lapsed).limit(1), named)).first():
                    await standings.changed(connection)  # more than a lease in force that is in force for longer now
                change = update(scopes).where(these).values(verified_at=at, expires_at=expiry)
                await connection.execute(change, named)

    async def scope_of(self, source: str, root: str) -> ScopeId | None:
        """The id of a scope by its root, in whatever state it is."""
        async with self._door.read() as connection:
            found = (
                await connection.execute(select(scopes.c.id).where(scopes.c.source == source, scopes.c.root == root))
            ).scalar()
        return None if found is None else ScopeId(found)

    async def containers_of(self, scope: ScopeId) -> tuple[ContainerId, ...]:
        """What a scope stands in, outermost first and its source at the head; settled when it was first stated."""
        async with self._door.read() as connection:
            return await standings.containers_of(connection, scope)

    async def rules_of(self, source: str, root: str) -> ScopeRules | None:
        """The rules last recorded for a scope, whatever its state."""
        return (await self.all_rules_of(source, [root])).get(root)

    async def all_rules_of(self, source: str, roots: Sequence[str]) -> Mapping[str, ScopeRules]:
        """As `rules_of`, for many scopes; an unknown one is missing."""
        query = select(scopes).where(scopes.c.source == source, scopes.c.root.in_(each("roots")))
        async with self._door.read() as connection:
            rows = (await connection.execute(query, {"roots": listed(roots)})).all()
            kept = await connection.run_sync(self._expressions.by_id, {row.expression for row in rows})
        unheld = Unknown("the ledger does not hold these rules")
        return {
            row.root: ScopeRules(
                source,
                row.root,
                kept.get(row.expression, unheld),
                ScopeState(row.state),
                row.verified_at,
                timedelta(microseconds=row.lease),
            )
            for row in rows
        }

    async def unseen_scopes(self, run_started: datetime, source: str) -> Sequence[str]:
        """Roots of active scopes of a source not verified since the run began."""
        query = select(scopes.c.root).where(
            scopes.c.source == source, scopes.c.state == ScopeState.ACTIVE.value, scopes.c.verified_at < run_started
        )
        async with self._door.read() as connection:
            return sorted((await connection.execute(query)).scalars().all())

    async def withdraw_scope(self, source: str, root: str) -> None:
        """The scope grants nothing any more."""
        async with self._door.write() as connection:
            await self._runs.fence(connection, source)
            at = (scopes.c.source == source) & (scopes.c.root == root)
            old = (await connection.execute(select(*_COUNTED).where(at))).first()
            if old is not None:
                await connection.execute(update(scopes).where(at).values(state=ScopeState.GONE.value))
                before = _active(old.expression, old.state)
                await standings.count(connection, [standings.Recounted(old.container, before, None)])

    async def hide_subtree(self, source: str, root: str, reason: str, now: datetime) -> None:
        """Nothing at or below `root` is allowed until `show_subtree`: while its rights are being read again."""
        await self.hide_subtrees(source, {root: reason}, now)

    async def hide_subtrees(self, source: str, reasons: Mapping[str, str], now: datetime) -> None:
        """Nothing at or below these roots is allowed from the commit on. One that was hidden later stays as it is."""
        async with self._door.write() as connection:
            await close(connection, source, reasons, now)

    async def show_subtree(self, source: str, root: str) -> None:
        """The rights at and below `root` are known again."""
        await self.show_subtrees(source, [root], None)

    async def show_subtrees(self, source: str, roots: Sequence[str], upto: datetime | None) -> None:
        """The rights at and below these roots are known as they were at `upto`: what was hidden later stays hidden."""
        at = (hidden_subtrees.c.source == source) & hidden_subtrees.c.root.in_(each("roots"))
        if upto is not None:
            at &= hidden_subtrees.c.since <= upto
        async with self._door.write() as connection:
            await connection.execute(delete(hidden_subtrees).where(at), {"roots": listed(roots)})

    # ------------------------------------------------------------ documents

    async def known(self, document: DocumentId) -> Known | None:
        """What is remembered of a document; None when nothing is, or when it was gone."""
        query = (
            select(documents, document_ancestors.c.ancestor)
            .outerjoin(document_ancestors, document_ancestors.c.document == documents.c.id)
            .where(documents.c.name == str(document))
            .order_by(document_ancestors.c.depth)
        )
        async with self._door.read() as connection:
            rows = (await connection.execute(query)).all()
        if not rows or rows[0].life == Life.TOMBSTONE.value or not (rows[0].version or rows[0].problem):
            return None
        first = rows[0]
        ancestors = tuple(row.ancestor for row in rows if row.ancestor is not None)
        return Known(
            document, first.version, first.revision, first.facts_digest, first.scope_root, ancestors, first.problem
        )

    async def place(self, document: DocumentId, scope: ScopeId, scope_root: str, ancestors: tuple[str, ...]) -> None:
        """Stand the document under a scope, from the commit on. A document that is not known stays unknown."""
        async with self._door.write() as connection:
            await self._runs.fence(connection, document.source)
            row = await _document(connection, document)
            if row is not None:
                await _stand(connection, row.id, scope, scope_root, ancestors)

    async def announce(self, document: SourceDocument, scope: ScopeId, chunks: Sequence[Chunk], trust: Trust) -> None:
        """A version is about to be written to the index: its digests are accepted beside the current ones."""
        async with self._door.write() as connection:
            run = await self._runs.fence(connection, document.id.source)
            number = await _ensure(connection, document.id, run)
            await _stand(connection, number, scope, document.scope_root, document.ancestors)
            await connection.execute(update(documents).where(documents.c.id == number).values(unretired=True))
            version, pending = await _await(connection, number, document, trust)
            await _accept(connection, version, pending, chunks)

    async def publish(self, document: SourceDocument, facts_digest: str, now: datetime) -> frozenset[str]:
        """The announced version is now current; returns every version to keep in the index. Nothing is kept of a
        document that was entombed after what this call goes by was read."""
        async with self._door.write() as connection:
            run = await self._runs.fence(connection, document.id.source)
            number = await _ensure(connection, document.id, run)
            if not await _may_return(connection, document.id, run, now):
                await _retire_all(connection, number)
                return frozenset()
            await _make_current(connection, number, document, now)
            kept = await _settle_others(connection, number, document)
            await connection.execute(delete(tombstones).where(tombstones.c.document == str(document.id)))
            await connection.execute(
                update(documents)
                .where(documents.c.id == number)
                .values(
                    life=Life.LIVE.value,
                    version=document.version,
                    revision=document.revision,
                    facts_digest=facts_digest,
                    problem=None,
                    unretired=True,
                )
            )
            return kept | {document.version}

    async def entomb(self, document: DocumentId, reason: str, now: datetime) -> None:
        """The document is gone: no verdict allows it from the commit on, and no older upsert brings it back."""
        async with self._door.write() as connection:
            run = await self._runs.fence(connection, document.source)
            await bury(connection, document, reason, now, run.id if run else None)

    async def hide(self, document: DocumentId, reason: str) -> None:
        """No verdict allows the document until it is published again; whatever its source says next of it is new."""
        async with self._door.write() as connection:
            await self._runs.fence(connection, document.source)
            alive = (documents.c.name == str(document)) & (documents.c.life != Life.TOMBSTONE.value)
            change = {"life": Life.HIDDEN.value, "problem": reason, "revision": ""}
            await connection.execute(update(documents).where(alive).values(**change))

    async def skip(
        self, document: SourceDocument | DocumentId, reason: str, now: datetime, revision: str | None = None
    ) -> None:
        """Record why a document can't be used; what was published of it is hidden. `revision`: what was found unusable,
        in place of the document's own; empty: whatever the source says next of it is new."""
        described = document if isinstance(document, SourceDocument) else None
        name = document.id if isinstance(document, SourceDocument) else document
        change: dict[str, Any] = {"life": Life.HIDDEN.value, "problem": reason}
        if described is not None:
            change |= {"version": described.version, "revision": described.revision, "facts_digest": ""}
        if revision is not None:
            change["revision"] = revision
        async with self._door.write() as connection:
            run = await self._runs.fence(connection, name.source)
            number = await _ensure(connection, name, run)
            await connection.execute(update(documents).where(documents.c.id == number).values(**change))
            if described is not None:
                at = (scopes.c.source == name.source) & (scopes.c.root == described.scope_root)
                scope = (await connection.execute(select(scopes.c.id).where(at))).scalar()
                await _stand(connection, number, scope, described.scope_root, described.ancestors)

    # ------------------------------------------------------------ what a run saw, and what is left to clean

    async def seen(self, run: str, documents: Sequence[DocumentId]) -> None:
        """These documents exist at the source in this run; also renews nothing and creates no verdict."""
        async with self._door.write() as connection:
            for source in {document.source for document in documents}:
                await self._runs.fence(connection, source)
            await _mark_seen(connection, run, documents)

    async def unseen(self, run: str, source: str) -> Sequence[DocumentId]:
        """Live or hidden documents of a source that this run did not see."""
        query = select(documents.c.key).where(
            documents.c.source == source,
            documents.c.life != Life.TOMBSTONE.value,
            or_(documents.c.seen_run.is_(None), documents.c.seen_run != run),
        )
        async with self._door.read() as connection:
            return sorted(DocumentId(source, key) for key in (await connection.execute(query)).scalars().all())

    async def unretired(self, source: str) -> Sequence[tuple[DocumentId, frozenset[str]]]:
        """Documents whose index entries may hold more than what is to be kept, with the versions to keep."""
        query = (
            select(documents.c.key, versions.c.version)
            .outerjoin(versions, (versions.c.document == documents.c.id) & (versions.c.state == "published"))
            .where(documents.c.source == source, documents.c.unretired.is_(True))
        )
        kept: dict[DocumentId, set[str]] = {}
        async with self._door.read() as connection:
            for key, version in (await connection.execute(query)).all():
                kept.setdefault(DocumentId(source, key), set()).update([version] if version else [])
        return [(document, frozenset(kept[document])) for document in sorted(kept)]

    async def retired(self, document: DocumentId) -> None:
        """The index holds nothing of the document beyond what is to be kept."""
        async with self._door.write() as connection:
            await connection.execute(update(documents).where(documents.c.name == str(document)).values(unretired=False))

    async def purge(self, now: datetime) -> int:
        """Forget documents that have been gone for more than thirty days and are cleaned away, and the scopes that are
        gone and nothing stands under any more; returns how many documents. The first time of a day the counts of
        scopes are looked at."""
        async with self._door.write() as connection:
            old = select(tombstones.c.document).where(tombstones.c.at < now - REMEMBERED)
            clean = (documents.c.life == Life.TOMBSTONE.value) & documents.c.unretired.is_(False)
            query = select(documents.c.id, documents.c.name).where(documents.c.name.in_(old), clean)
            rows = (await connection.execute(query)).all()
            for number, name in rows:
                await forget(connection, number)
                await connection.execute(delete(tombstones).where(tombstones.c.document == name))
            await standings.forget_gone(connection, now - REMEMBERED)
            count_anew = await standings.first_today(connection, now)
        if count_anew:
            await self._put_right()
        return len(rows)

    @repeated
    async def _put_right(self) -> None:
        """Looking takes seconds in a large ledger, and is no reason to keep writers waiting."""
        async with self._door.patient() as door:
            async with door.snapshot() as connection:
                if await standings.are_right(connection):
                    return
            async with door.write() as connection:
                await standings.put_right(connection)


_COUNTED = (
    scopes.c.id,
    scopes.c.container,
    scopes.c.expression,
    scopes.c.state,
    scopes.c.verified_at,
    scopes.c.expires_at,
)


def _active(expression: int, state: str) -> int | None:
    """The rules that a scope is counted under; only an active one is."""
    return expression if state == ScopeState.ACTIVE else None


# ---------------------------------------------------------------- steps within one transaction


def _stated(rules: ScopeRules, access: Access, numbers: Mapping[str, int]) -> dict[str, Any]:
    """The row of a scope, but for its number and its place."""
    return {
        "source": rules.source,
        "root": rules.root,
        "expression": numbers[digest(access)],
        "state": rules.state.value,
        "reason": access.reason if isinstance(access, Unknown) else None,
        "verified_at": rules.verified_at,
        "lease": _microseconds(rules.lease),
        "expires_at": _expiry(rules.verified_at, rules.lease),
    }


async def _insert(
    connection: AsyncConnection, new: Sequence[dict[str, Any]], rules: Sequence[ScopeRules]
) -> Mapping[str, int]:
    """Add scopes where they stand; returns their numbers by root."""
    if not new:
        return {}
    within = {one.root: one.containers for one in rules}
    standing: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in new:
        standing.setdefault(within[row["root"]], []).append(row)
    recounted: list[standings.Recounted] = []
    for stated, rows in standing.items():
        home = await standings.settle(connection, rows[0]["source"], stated, len(rows))
        await connection.execute(insert(scopes), [{**row, "container": home} for row in rows])
        recounted += [standings.Recounted(home, None, _active(row["expression"], row["state"])) for row in rows]
    await standings.count(connection, recounted)
    at = (scopes.c.source == new[0]["source"]) & scopes.c.root.in_(each("roots"))
    made = await connection.execute(select(scopes.c.root, scopes.c.id).where(at), {"roots": listed(within)})
    added = {row["root"] for row in new}
    return {row[0]: row[1] for row in made.all() if row[0] in added}


async def _update(connection: AsyncConnection, rows: Sequence[dict[str, Any]], old: Mapping[str, Any]) -> None:
    """Make scopes that are there say what is stated of them now."""
    if not rows:
        return
    names = ("expression", "state", "reason", "verified_at", "lease", "expires_at")
    change = update(scopes).where(scopes.c.id == bindparam("number"))
    change = change.values({name: bindparam(f"new_{name}") for name in names})
    stated = [{"number": old[row["root"]].id} | {f"new_{name}": row[name] for name in names} for row in rows]
    await connection.execute(change, stated)
    recounted = []
    for row in rows:
        was = old[row["root"]]
        before, after = _active(was.expression, was.state), _active(row["expression"], row["state"])
        recounted.append(standings.Recounted(was.container, before, after))
    await standings.count(connection, recounted)
    if any(
        not old[row["root"]].verified_at <= row["verified_at"] <= old[row["root"]].expires_at <= row["expires_at"]
        for row in rows
    ):
        await standings.changed(connection)  # more than a lease in force that is in force for longer now


def _differs(old: Any, stated: Mapping[str, Any]) -> bool:
    return (old.expression, old.state) != (stated["expression"], stated["state"])


async def close(connection: AsyncConnection, source: str, reasons: Mapping[str, str], now: datetime) -> None:
    """Hide these subtrees; one that was hidden later than `now` stays as it is. Never open in between."""
    at = (hidden_subtrees.c.source == source) & hidden_subtrees.c.root.in_(each("roots"))
    named = {"roots": listed(reasons)}
    later = await connection.execute(select(hidden_subtrees.c.root).where(at, hidden_subtrees.c.since > now), named)
    kept = set(later.scalars().all())
    await connection.execute(delete(hidden_subtrees).where(at, hidden_subtrees.c.since <= now), named)
    rows = [
        {"source": source, "root": root, "reason": reason, "since": now}
        for root, reason in reasons.items()
        if root not in kept
    ]
    if rows:
        await connection.execute(insert(hidden_subtrees), rows)


async def _document(connection: AsyncConnection, document: DocumentId) -> Row[Any] | None:
    return (await connection.execute(select(documents).where(documents.c.name == str(document)))).first()


async def _ensure(connection: AsyncConnection, document: DocumentId, run: Run | None) -> int:
    """The number of the document's row, made if need be; what a run writes about, it has seen."""
    row = await _document(connection, document)
    if row is None:
        return await new_id(
            connection,
            insert(documents).values(
                name=str(document),
                source=document.source,
                key=document.key,
                scope_root="",
                life=Life.HIDDEN.value,
                version="",
                revision="",
                facts_digest="",
                unretired=False,
                seen_run=run.id if run else None,
            ),
        )
    if run is not None and row.seen_run != run.id:
        await connection.execute(update(documents).where(documents.c.id == row.id).values(seen_run=run.id))
    return int(row.id)


async def _stand(
    connection: AsyncConnection, number: int, scope: int | None, scope_root: str, ancestors: tuple[str, ...]
) -> None:
    at = documents.c.id == number
    await connection.execute(update(documents).where(at).values(scope=scope, scope_root=scope_root))
    await connection.execute(delete(document_ancestors).where(document_ancestors.c.document == number))
    if ancestors:
        rows = [{"document": number, "depth": depth, "ancestor": name} for depth, name in enumerate(ancestors)]
        await connection.execute(insert(document_ancestors), rows)


async def _await(connection: AsyncConnection, number: int, document: SourceDocument, trust: Trust) -> tuple[int, int]:
    """The version's row expecting a new generation of chunks; returns its number and the generation's."""
    name = version_name(document.id, document.version)
    row = (await connection.execute(select(versions).where(versions.c.name == name))).first()
    if row is None:
        return await new_id(
            connection,
            insert(versions).values(
                name=name,
                document=number,
                version=document.version,
                state="announced",
                generation=0,
                pending=1,
                trust=trust.value,
                pending_trust=trust.value,
                superseded=False,
            ),
        ), 1
    pending = row.generation + 1
    change = {"pending": pending, "pending_trust": trust.value}
    if row.state == "retired":
        change |= {"state": "announced", "trust": trust.value}
    await connection.execute(update(versions).where(versions.c.id == row.id).values(**change))
    return int(row.id), pending


async def _accept(connection: AsyncConnection, version: int, generation: int, announced: Sequence[Chunk]) -> None:
    trust = (await connection.execute(select(versions.c.pending_trust).where(versions.c.id == version))).scalar()
    stale = (chunks.c.version == version) & (chunks.c.generation == generation)
    await connection.execute(delete(chunks).where(stale))
    if announced:
        rows = [
            {
                "name": str(chunk.id),
                "version": version,
                "generation": generation,
                "digest": chunk.digest,
                "parent": chunk.parent,
                "ordinal": chunk.ordinal,
                "trust": trust,
            }
            for chunk in announced
        ]
        await connection.execute(insert(chunks), rows)


async def _make_current(connection: AsyncConnection, number: int, document: SourceDocument, now: datetime) -> None:
    name = version_name(document.id, document.version)
    row = (await connection.execute(select(versions).where(versions.c.name == name))).first()
    if row is None or (row.pending is None and row.state != "published"):
        raise Transient(f"version {document.version!r} of {document.id} was not announced; the next run repeats it")
    change: dict[str, Any] = {
        "state": "published",
        "effective_from": document.effective_from,
        "effective_to": document.effective_to,
        "superseded": document.status == "superseded",
        "published_at": now,
    }
    if row.pending is not None:
        await connection.execute(delete(chunks).where(chunks.c.version == row.id, chunks.c.generation != row.pending))
        change |= {"generation": row.pending, "pending": None, "trust": row.pending_trust, "pending_trust": None}
    await connection.execute(update(versions).where(versions.c.id == row.id).values(**change))


async def _settle_others(connection: AsyncConnection, number: int, document: SourceDocument) -> frozenset[str]:
    """Retire what the new version replaces. A version with a date that ends where the new one's begins stays, for
    questions about its time: superseded is not wrong."""
    query = select(versions).where(versions.c.document == number, versions.c.version != document.version)
    kept: set[str] = set()
    for row in (await connection.execute(query)).all():
        last = _last_day(row, document.effective_from)
        if last is None:
            await _retire(connection, row.id)
        else:
            kept.add(row.version)
            await connection.execute(update(versions).where(versions.c.id == row.id).values(effective_to=last))
    return frozenset(kept)


def _last_day(old: Row[Any], starts: date | None) -> date | None:
    """The last day of an older published version beside one that starts then; None when it does not stay."""
    if old.state != "published" or old.effective_from is None or starts is None or starts <= old.effective_from:
        return None
    before = starts - timedelta(days=1)
    return before if old.effective_to is None else min(before, old.effective_to)


async def _retire(connection: AsyncConnection, version: int) -> None:
    await connection.execute(delete(chunks).where(chunks.c.version == version))
    change = {"state": "retired", "pending": None, "pending_trust": None}
    await connection.execute(update(versions).where(versions.c.id == version).values(**change))


async def _retire_all(connection: AsyncConnection, number: int) -> None:
    rows = await connection.execute(select(versions.c.id).where(versions.c.document == number))
    for version in rows.scalars().all():
        await _retire(connection, version)
    await connection.execute(update(documents).where(documents.c.id == number).values(unretired=True))


async def _may_return(connection: AsyncConnection, document: DocumentId, run: Run | None, now: datetime) -> bool:
    """Whether an upsert is newer than the tombstone: of the same run, which tells things in their order, or of a run
    that began after it. Outside of runs, the time of the call decides."""
    query = select(tombstones.c.at, tombstones.c.run).where(tombstones.c.document == str(document))
    stone = (await connection.execute(query)).first()
    if stone is None:
        return True
    if run is None:
        return bool(now > stone.at)
    return bool(run.id == stone.run or run.started > stone.at)


async def bury(
    connection: AsyncConnection, document: DocumentId, reason: str, now: datetime, run_id: str | None
) -> None:
    """Entomb a document, known or not; an earlier tombstone is never made older."""
    at = tombstones.c.document == str(document)
    old = (await connection.execute(select(tombstones.c.at).where(at))).scalar()
    await connection.execute(delete(tombstones).where(at))
    stone = {"document": str(document), "source": document.source, "reason": reason}
    await connection.execute(insert(tombstones).values(**stone, at=max(now, old or now), run=run_id))
    row = await _document(connection, document)
    if row is None:
        return
    await _retire_all(connection, row.id)
    change = {"life": Life.TOMBSTONE.value, "revision": "", "problem": None}
    await connection.execute(update(documents).where(documents.c.id == row.id).values(**change))


async def forget(connection: AsyncConnection, number: int) -> None:
    """Remove every row of a document."""
    of_document = select(versions.c.id).where(versions.c.document == number)
    await connection.execute(delete(chunks).where(chunks.c.version.in_(of_document)))
    await connection.execute(delete(versions).where(versions.c.document == number))
    await connection.execute(delete(document_ancestors).where(document_ancestors.c.document == number))
    await connection.execute(delete(documents).where(documents.c.id == number))


async def _mark_seen(connection: AsyncConnection, run_id: str, seen: Sequence[DocumentId]) -> None:
    for start in range(0, len(seen), 1000):
        batch = {str(document): document for document in seen[start : start + 1000]}
        names = {"names": listed(batch)}
        found = await connection.execute(select(documents.c.name).where(documents.c.name.in_(each("names"))), names)
        missing = batch.keys() - set(found.scalars().all())
        await connection.execute(
            update(documents).where(documents.c.name.in_(each("names"))).values(seen_run=run_id), names
        )
        for name in sorted(missing):
            # Not yet written about, but there: it must not look like a document that this run missed.
            number = await _ensure(connection, batch[name], None)
            await connection.execute(update(documents).where(documents.c.id == number).values(seen_run=run_id))


def _microseconds(lease: timedelta) -> int:
    return min(lease // timedelta(microseconds=1), 2**62)


def _expiry(verified_at: datetime, lease: timedelta) -> datetime:
    try:
        return verified_at.astimezone(UTC) + lease
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)
