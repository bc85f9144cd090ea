"""Which sources are configured, and how they are doing. Settings hold references to secrets, never the secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from connectors.errors import Stop
from connectors.ledger import standings
from connectors.ledger.catalog import bury, forget
from connectors.ledger.door import Door, one_transaction_each
from connectors.ledger.tables import (
    chunks,
    container_rules,
    containers,
    cursors,
    documents,
    hidden_subtrees,
    logins,
    nodes,
    run_claims,
    runs,
    scopes,
    source_hints,
    source_notes,
    sources,
    tombstones,
    versions,
)
from connectors.ports import RunReport, SourceConfig, SourceStatus
from policies.facts import Life, ScopeState
from policies.names import DocumentId

_PROBLEMS = 100  # shown of a source


@one_transaction_each
class SqlSources:
    """Port `Sources`."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def add(self, config: SourceConfig, now: datetime) -> SourceConfig:
        """Configure a source; Stop when the name is taken."""
        async with self._door.write() as connection:
            if await _found(connection, config.name) is not None:
                raise Stop(f"a source {config.name!r} exists already; choose another name or remove it first")
            added = replace(config, added_at=now)
            await connection.execute(
                insert(sources).values(
                    name=added.name,
                    kind=added.kind,
                    settings=json.dumps(dict(added.settings), ensure_ascii=False),
                    state=added.state,
                    added_at=now,
                )
            )
            return added

    async def get(self, name: str) -> SourceConfig | None:
        """One configured source, or None."""
        async with self._door.read() as connection:
            row = await _found(connection, name)
        return None if row is None else _config(row)

    async def list(self) -> Sequence[SourceConfig]:
        """Every configured source by name."""
        async with self._door.read() as connection:
            rows = (await connection.execute(select(sources))).all()
        return sorted((_config(row) for row in rows), key=lambda config: config.name)

    async def pause(self, name: str) -> None:
        """It is not synced until resumed; what it gave stays readable as long as its leases last."""
        await self._set(name, "paused")

    async def resume(self, name: str) -> None:
        """It is synced again."""
        await self._set(name, "active")

    async def _set(self, name: str, state: str) -> None:
        async with self._door.write() as connection:
            if await _found(connection, name) is None:
                raise Stop(f"there is no source {name!r}; `footnote source list` names them")
            await connection.execute(update(sources).where(sources.c.name == name).values(state=state))

    async def remove(self, name: str, now: datetime) -> None:
        """Nothing of the source is readable from the commit on. Its index entries are then cleaned away (the catalog's
        `unretired` names its documents), and `forget` ends it."""
        async with self._door.write() as connection:
            if await _found(connection, name) is None:
                raise Stop(f"there is no source {name!r}; `footnote source list` names them")
            await connection.execute(update(sources).where(sources.c.name == name).values(state="removing"))
            gone = {"state": ScopeState.GONE.value}
            await connection.execute(update(scopes).where(scopes.c.source == name).values(**gone))
            await standings.changed(connection)
            of_source = select(containers.c.id).where(containers.c.source == name)
            await connection.execute(delete(container_rules).where(container_rules.c.container.in_(of_source)))
            alive = (documents.c.source == name) & (documents.c.life != Life.TOMBSTONE.value)
            keys = (await connection.execute(select(documents.c.key).where(alive))).scalars().all()
            for key in keys:
                await bury(connection, DocumentId(name, key), "its source was removed", now, None)
            await connection.execute(delete(run_claims).where(run_claims.c.source == name))

    async def forget(self, name: str) -> None:
        """Remove every row of a source that is being removed; its rules stay for old traces."""
        async with self._door.write() as connection:
            row = await _found(connection, name)
            if row is None:
                return
            if row.state != "removing":
                raise Stop(f"source {name!r} is not being removed")
            of_source = select(documents.c.id).where(documents.c.source == name)
            for number in (await connection.execute(of_source)).scalars().all():
                await forget(connection, number)
            remembered = (nodes, source_notes, source_hints)
            for table in (cursors, runs, run_claims, tombstones, hidden_subtrees, scopes, containers, *remembered):
                await connection.execute(delete(table).where(table.c.source == name))
            await connection.execute(delete(logins).where(logins.c.provider == f"source:{name}"))
            await connection.execute(delete(sources).where(sources.c.name == name))
            await standings.changed(connection)

    async def status(self, name: str) -> SourceStatus | None:
        """A source with its counts, its last run and what is wrong with it; None when it is not configured."""
        of_source = documents.c.source == name
        live = of_source & (documents.c.life == Life.LIVE.value)
        pieces = (
            select(func.count())
            .select_from(chunks)
            .join(versions, versions.c.id == chunks.c.version)
            .join(documents, documents.c.id == versions.c.document)
            .where(live)
        )
        problems = (
            select(documents.c.name, documents.c.problem)
            .where(of_source, documents.c.problem.is_not(None))
            .order_by(documents.c.id)
            .limit(_PROBLEMS)
        )
        shut = (
            select(hidden_subtrees.c.root, hidden_subtrees.c.reason)
            .where(hidden_subtrees.c.source == name)
            .order_by(hidden_subtrees.c.since, hidden_subtrees.c.root)
            .limit(_PROBLEMS)
        )
        last = select(runs).where(runs.c.source == name).order_by(runs.c.started.desc()).limit(1)
        async with self._door.snapshot() as connection:
            row = await _found(connection, name)
            if row is None:
                return None
            counted = (await connection.execute(select(func.count()).select_from(documents).where(live))).scalar()
            passages = (await connection.execute(pieces)).scalar()
            run = (await connection.execute(last)).first()
            wrong = (await connection.execute(problems)).all()
            closed = (await connection.execute(shut)).all()
            at = (await connection.execute(select(cursors.c.at).where(cursors.c.source == name))).scalar()
        return SourceStatus(
            config=_config(row),
            documents=counted or 0,
            chunks=passages or 0,
            last_run=None if run is None else _report(run),
            synced_at=at,
            problems=tuple((DocumentId.parse(document), problem) for document, problem in wrong),
            closed=tuple((root, reason) for root, reason in closed),
        )


async def _found(connection: AsyncConnection, name: str) -> Row[Any] | None:
    return (await connection.execute(select(sources).where(sources.c.name == name))).first()


def _config(row: Row[Any]) -> SourceConfig:
    return SourceConfig(row.name, row.kind, json.loads(row.settings), row.state, row.added_at)


def _report(row: Row[Any]) -> RunReport:
    report: Mapping[str, Any] = json.loads(row.report)
    return RunReport(row.id, row.started, row.ended, row.state, report)
