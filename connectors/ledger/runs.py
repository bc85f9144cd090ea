"""Runs of a sync: one at a time a source, across processes. A dead process's claim runs out, or is taken over at once
where this host can see that the process is gone. Who lost its claim can write nothing more about the source."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from connectors.errors import DoorError, Transient
from connectors.ledger.door import Door, repeated
from connectors.ledger.processes import HOST, PROCESS, gone
from connectors.ledger.tables import cursors, run_claims, runs
from connectors.ports import Run

LEASE = timedelta(minutes=2)
_BEAT = 30.0  # seconds between renewals: three may fail before the claim runs out


class Runs:
    """The claims that this process holds, and the reports of all runs."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._held: dict[str, Run] = {}

    def held(self, source: str) -> Run | None:
        """The run of this source that this ledger is in the middle of."""
        return self._held.get(source)

    async def fence(self, connection: AsyncConnection, source: str) -> Run | None:
        """Within a write: the run in whose name it is, or None outside of runs. Transient when the claim was lost."""
        run = self._held.get(source)
        if run is None:
            return None
        holder = (await connection.execute(select(run_claims.c.run).where(run_claims.c.source == source))).scalar()
        if holder != run.id:
            raise Transient(f"another run of source {source!r} took over; this one stops")
        return run

    async def confirm(self, run: Run) -> None:
        """Transient when the claim was lost."""
        async with self._door.read() as connection:
            await self.fence(connection, run.source)

    @asynccontextmanager
    async def run(self, source: str, now: datetime, *, told: bool = True) -> AsyncIterator[Run]:
        """Claim the source for one run. Transient when another run has it. One that is not `told` only keeps others
        away: it is none of the source's runs."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        run = await self._claim(source, now, told)
        self._held[source] = run

        def present() -> datetime:
            return now + timedelta(seconds=loop.time() - began)

        # Not in a TaskGroup: that would wrap what the body raises, and a failed renewal must not cancel the body.
        beat = asyncio.create_task(self._renew(run, present))
        state = "failed"
        try:
            yield run
            state = "done"
        finally:
            beat.cancel()
            with suppress(asyncio.CancelledError):
                await beat
            self._held.pop(source, None)
            with suppress(DoorError):  # a claim that can't be given back runs out
                await asyncio.shield(self._release(run, state, present()))

    @repeated
    async def _claim(self, source: str, now: datetime, told: bool) -> Run:
        run_id = f"run-{secrets.token_hex(8)}"
        async with self._door.write() as connection:
            claim = (await connection.execute(select(run_claims).where(run_claims.c.source == source))).first()
            if claim is not None:
                if claim.expires_at > now and not gone(claim.host, claim.pid, claim.process):
                    raise Transient(f"source {source!r} is being synced by another run", retry_after=10.0)
                await connection.execute(delete(run_claims).where(run_claims.c.source == source))
                await _end(connection, claim.run, "failed", now, {"problems": ["its process ended before the run did"]})
            row = {"source": source, "run": run_id, "host": HOST, "pid": os.getpid(), "process": PROCESS}
            await connection.execute(insert(run_claims).values(**row, expires_at=now + LEASE))
            if told:
                await connection.execute(
                    insert(runs).values(id=run_id, source=source, started=now, state="running", report="{}")
                )
            cursor = (await connection.execute(select(cursors.c.cursor).where(cursors.c.source == source))).scalar()
        return Run(run_id, source, now, cursor)

    async def _renew(self, run: Run, present: Any) -> None:
        while True:
            await asyncio.sleep(_BEAT)
            with suppress(DoorError):  # the next beat may succeed; every write of the run checks the claim itself
                async with self._door.write() as connection:
                    await extend(connection, run.id, present())

    @repeated
    async def _release(self, run: Run, state: str, now: datetime) -> None:
        async with self._door.write() as connection:
            await connection.execute(delete(run_claims).where(run_claims.c.run == run.id))
            await _end(connection, run.id, state, now, None)

    async def finish(self, run: Run, report: Mapping[str, Any], now: datetime) -> None:
        """Keep the run's report: seen, upserted, …, complete, seconds, problems."""
        async with self._door.write() as connection:
            state = "done" if report.get("complete", True) else "failed"
            await _end(connection, run.id, state, now, report)

    async def checkpoint(self, run: Run, cursor: str, now: datetime) -> None:
        """Commit the cursor and renew the claim."""
        async with self._door.write() as connection:
            await self.fence(connection, run.source)
            made = await connection.execute(
                update(cursors).where(cursors.c.source == run.source).values(cursor=cursor, at=now)
            )
            if not made.rowcount:
                await connection.execute(insert(cursors).values(source=run.source, cursor=cursor, at=now))
            await extend(connection, run.id, now)


async def extend(connection: AsyncConnection, run_id: str, now: datetime) -> None:
    """Renew a claim; one that was lost stays lost."""
    await connection.execute(update(run_claims).where(run_claims.c.run == run_id).values(expires_at=now + LEASE))


async def _end(
    connection: AsyncConnection, run_id: str, state: str, now: datetime, report: Mapping[str, Any] | None
) -> None:
    """Close a run that is still open; a report closes it anew, since it knows more."""
    change: dict[str, Any] = {"state": state, "ended": now}
    target = update(runs).where(runs.c.id == run_id)
    if report is None:
        target = target.where(runs.c.state == "running")
    else:
        change["report"] = json.dumps(dict(report), default=str, ensure_ascii=False)
    await connection.execute(target.values(**change))
