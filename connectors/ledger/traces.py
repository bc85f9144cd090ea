"""The audit record: begin before anything is searched, end after the reply, chained by hash and signed outside.

The database refuses to change or remove a record, the chain tells when somebody with the database did, and the signed
states in `checkpoints.py` tell when the tail was cut. What people wrote is sealed; the record commits to the key.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, bindparam, insert, select

from connectors.errors import Skip, Stop
from connectors.ledger.chain import START, Check, canonical, leaf, parsed
from connectors.ledger.checkpoints import ORIGIN, Checkpoints, signed, unsigned
from connectors.ledger.door import Door
from connectors.ledger.facts import SqlFacts
from connectors.ledger.record import checked_sealed, moment, shaped
from connectors.ledger.replay import Replay, replayed
from connectors.ledger.tables import traces
from connectors.ports import ChainVerdict, TraceSummary, TraceView
from connectors.trace_signer import TraceSigner
from connectors.vault import Vault
from policies.names import Principal

ABANDONED = timedelta(minutes=15)  # a begin without an end this long after is not waited for any more
_BATCH = 500

_begins = traces.alias("begins")
_ends = traces.alias("ends")
_APPEND = insert(traces)
_KINDS = select(traces.c.kind).where(traces.c.trace == bindparam("trace"))
_HEAD = select(traces.c.seq, traces.c.leaf).order_by(traces.c.seq.desc()).limit(1)
_LIST = (
    select(_begins.c.trace, _begins.c.at, _ends.c.at, _ends.c.outcome, _begins.c.asker)
    .select_from(_begins)
    .outerjoin(_ends, and_(_ends.c.trace == _begins.c.trace, _ends.c.kind == "end"))
    .where(_begins.c.kind == "begin")
    .order_by(_begins.c.seq.desc())
)


class SqlTraces:
    """Port `TraceLog`."""

    def __init__(self, door: Door, vault: Vault, signer: TraceSigner, checkpoints: Path) -> None:
        """`checkpoints` is the file of signed states; it belongs apart from the database."""
        self._door = door
        self._vault = vault
        self._signer = signer
        self._checkpoints = Checkpoints(checkpoints, signer)
        self._facts = SqlFacts(door)

    # ------------------------------------------------------------ writing

    async def begin(self, record: Mapping[str, Any], sealed: Mapping[str, str], now: datetime) -> str:
        """Append a begin record and return the trace's id. A DoorError means that it is not durable: no answer then."""
        trace = f"tr-{secrets.token_hex(10)}"
        await self._append(trace, "begin", shaped("begin", record), checked_sealed(sealed), now)
        return trace

    async def end(self, trace: str, record: Mapping[str, Any], sealed: Mapping[str, str], now: datetime) -> None:
        """Append the end record of a trace. Stop when it never began, or has ended."""
        await self._append(trace, "end", shaped("end", record), checked_sealed(sealed), now)

    async def _append(
        self, trace: str, kind: str, body: Mapping[str, Any], sealed: Mapping[str, str], now: datetime
    ) -> None:
        asker = self._vault.pseudonym("asker", sealed["asker"]) if "asker" in sealed else None
        record = {
            "v": 1,
            "trace": trace,
            "kind": kind,
            "at": moment(now),
            "asker": asker,
            "body": dict(body),
            "sealed": {name: self._vault.seal(text, bound_to(trace, kind, name)) for name, text in sealed.items()},
        }

        def append(connection: Connection) -> tuple[int, str]:
            if kind == "end":
                _still_open(connection, trace)
            last = connection.execute(_HEAD).first()
            seq, prev = (last.seq + 1, last.leaf) if last else (1, START)
            raw = canonical({**record, "seq": seq, "prev": prev})
            head = leaf(raw)
            row = {"seq": seq, "trace": trace, "kind": kind, "at": now, "asker": asker}
            row |= {"outcome": body.get("outcome"), "prev": prev, "leaf": head, "record": raw}
            connection.execute(_APPEND, row)
            return seq, head

        seq, head = await self._door.change(append, "traces")
        # After the commit: a state that was signed must be in the chain whatever happens next.
        await asyncio.to_thread(self._checkpoints.add, seq, head, moment(now))

    # ------------------------------------------------------------ reading

    async def list(
        self,
        now: datetime,
        *,
        since: datetime | None = None,
        person: Principal | None = None,
        outcome: str | None = None,
        limit: int = 100,
    ) -> Sequence[TraceSummary]:
        """Traces, newest first; `outcome` is one that a question can have, or `open` or `abandoned`."""
        query = _LIST
        if since is not None:
            query = query.where(_begins.c.at >= since)
        if person is not None:
            query = query.where(_begins.c.asker.in_(self._vault.pseudonyms("asker", str(person))))
        match outcome:
            case None:
                pass
            case "abandoned":
                query = query.where(_ends.c.seq.is_(None), _begins.c.at < now - ABANDONED)
            case "open":
                query = query.where(_ends.c.seq.is_(None), _begins.c.at >= now - ABANDONED)
            case _:
                query = query.where(_ends.c.outcome == outcome)
        rows = await self._door.look(lambda connection: connection.execute(query.limit(limit)).all())
        return [_summary(row, now) for row in rows]

    async def show(self, trace: str, now: datetime, *, reveal: bool = False) -> TraceView | None:
        """One trace whole; `reveal` opens what is sealed. None when there is no such trace."""
        listed = _LIST.where(_begins.c.trace == trace)
        rows = await self._door.look(lambda connection: connection.execute(listed).all())
        raw = await self._records(trace)
        if not rows or "begin" not in raw:
            return None
        begin, end = raw["begin"], raw.get("end")
        fields = [(kind, name, text) for kind, each in raw.items() for name, text in each["sealed"].items()]
        revealed = {name: self._vault.open(text, bound_to(trace, kind, name)) for kind, name, text in fields if reveal}
        names = tuple(sorted({name for _kind, name, _text in fields}))
        return TraceView(_summary(rows[0], now), begin["body"], end["body"] if end else None, names, revealed)

    async def replay(self, trace: str, now: datetime) -> Replay | None:
        """What the verdicts of a trace were made of, for making them again; None when there is no such trace."""
        view = await self.show(trace, now, reveal=True)
        if view is None:
            return None
        return await replayed(view, self._facts)

    async def _records(self, trace: str) -> dict[str, dict[str, Any]]:
        query = select(traces.c.kind, traces.c.record).where(traces.c.trace == trace).order_by(traces.c.seq)
        rows = await self._door.look(lambda connection: connection.execute(query).all())
        found: dict[str, dict[str, Any]] = {}
        for kind, raw in rows:
            record = parsed(raw)
            if record is None or record.get("trace") != trace or record.get("kind") != kind:
                raise Skip(f"a record of trace {trace!r} was changed; run: footnote trace verify")
            found.setdefault(kind, record)
        return found

    # ------------------------------------------------------------ proving

    async def verify(self) -> ChainVerdict:
        """Check the whole chain, its columns and its signed states; names the first record that is wrong."""
        # Read before the chain: what is signed is in the chain, and more may come while it is read.
        heads = await asyncio.to_thread(self._checkpoints.read)
        check = Check(heads=heads.by_number)
        async for row in self._rows(0, None):
            if not check.feed(row.record):
                break
            if not _columns_agree(row):
                return ChainVerdict("edited", check.count, row.seq, f"record {row.seq} has other columns than content")
        size = heads.size
        verdict = check.close(size or None, heads.by_number.get(size))
        if verdict and heads.forged is not None:
            return ChainVerdict("bad signature", check.count, heads.forged, "a checkpoint was not signed with our key")
        if verdict and check.count and not size:
            problem = "the signed checkpoints are missing: no telling where it ended"
            return ChainVerdict("truncated", check.count, check.count + 1, problem)
        unsigned_tail = check.count - size
        if verdict and unsigned_tail > 0:
            return ChainVerdict("ok", check.count, None, f"the last {unsigned_tail} records are not signed")
        return verdict

    async def export(self, since: datetime | None, now: datetime) -> AsyncIterator[str]:
        """JSON lines: the records as they were hashed, then one signed checkpoint over them. Stop on a broken chain."""
        first = 1
        if since is not None:
            query = select(traces.c.seq).where(traces.c.at >= since).order_by(traces.c.seq).limit(1)
            found = await self._door.look(lambda connection: connection.execute(query).scalar())
            first = found or await self._size() + 1
        prev = await self._leaf(first - 1)
        size = await self._size()
        check = Check(first, prev)
        async for row in self._rows(first - 1, size):
            if not check.feed(row.record):
                raise Stop("the chain of traces is broken; run: footnote trace verify")
            yield row.record.decode()
        if not check.close(None, None):
            raise Stop("the chain of traces is broken; run: footnote trace verify")
        state = {"origin": ORIGIN, "export": True, "first": first, "prev": prev, "count": check.count}
        yield signed({**state, "head": check.last, "at": moment(now)}, self._signer)

    def verify_lines(self, lines: Iterable[str]) -> ChainVerdict:
        """Check an export by its last line, which must be signed with our key."""
        content = [line.rstrip("\r\n") for line in lines]
        content = [line for line in content if line]
        if not content or '"checkpoint"' not in content[-1] or parsed(content[-1].encode()) is not None:
            return ChainVerdict("truncated", len(content), None, "the signed checkpoint at the end is missing")
        state = unsigned(content[-1], self._signer)
        if state is None or state.get("export") is not True:
            return ChainVerdict("bad signature", len(content) - 1, None, "the checkpoint was not signed with our key")
        raws = [line.encode(errors="surrogatepass") for line in content[:-1]]
        later = frozenset(record["seq"] for record in map(parsed, raws) if record is not None)
        check = Check(state["first"], state["prev"])
        for raw in raws:
            if not check.feed(raw, later):
                break
        return check.close(state["first"] + state["count"] - 1, state["head"])

    async def _size(self) -> int:
        last = await self._door.look(lambda connection: connection.execute(_HEAD).first())
        return last.seq if last else 0

    async def _leaf(self, seq: int) -> str:
        if seq < 1:
            return START
        query = select(traces.c.record).where(traces.c.seq == seq)
        raw = await self._door.look(lambda connection: connection.execute(query).scalar())
        if raw is None:
            raise Stop("the chain of traces is broken; run: footnote trace verify")
        return leaf(raw)

    async def _rows(self, after: int, last: int | None) -> AsyncIterator[Row[Any]]:
        while True:
            query = select(traces).where(traces.c.seq > after).order_by(traces.c.seq).limit(_BATCH)
            if last is not None:
                query = query.where(traces.c.seq <= last)
            rows = await self._door.look(partial(_all, query))
            for row in rows:
                yield row
            if len(rows) < _BATCH:
                return
            after = rows[-1].seq


def _all(query: Select[Any], connection: Connection) -> Sequence[Row[Any]]:
    return connection.execute(query).all()


def _still_open(connection: Connection, trace: str) -> None:
    kinds = connection.execute(_KINDS, {"trace": trace}).scalars().all()
    if "begin" not in kinds:
        raise Stop(f"trace {trace!r} never began")
    if "end" in kinds:
        raise Stop(f"trace {trace!r} has ended already")


def bound_to(trace: str, kind: str, field: str) -> str:
    """The one place where a sealed field opens."""
    return f"traces|{trace}|{kind}|{field}"


def _summary(row: Sequence[Any], now: datetime) -> TraceSummary:
    trace, begun, ended, outcome, asker = row
    state = "ended" if ended is not None else "abandoned" if begun < now - ABANDONED else "open"
    return TraceSummary(trace, begun, ended, state, outcome, asker)


def _columns_agree(row: Row[Any]) -> bool:
    record = parsed(row.record) or {}
    body = record.get("body")
    return (row.seq, row.trace, row.kind, moment(row.at), row.asker, row.outcome, row.prev, row.leaf) == (
        record.get("seq"),
        record.get("trace"),
        record.get("kind"),
        record.get("at"),
        record.get("asker"),
        body.get("outcome") if isinstance(body, dict) else None,
        record.get("prev"),
        leaf(row.record),
    )
