"""The index that needs no server: one SQLite file, full-text and exact vector search, narrowed before ranking.

Reading and writing have a connection and a thread each; every read is one transaction that first brings the arrays of
`Snapshot` up to what is committed, by whichever process. It never answers with vectors of another model.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from connectors.errors import Stop, Transient
from connectors.index import lexical, tables
from connectors.index.fusion import Fusion, Leg
from connectors.index.snapshot import Snapshot
from connectors.ports import IndexIdentity, Stored
from connectors.records import Candidate, Entry, Ranks, Search
from policies.names import ChunkId, ContainerId, DocumentId, ScopeId
from policies.predicate import Narrowing, matches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Posting = tuple[NDArray[np.int64], NDArray[np.float32]]

T = TypeVar("T")

LEAST_LEG = 100  # hits a leg contributes at least, as Weaviate's do
MOST_HITS = 1000  # a search gives back at most
FUSION = Fusion("relative", vector=0.6, lexical=0.4, code=1.0)  # docs/decisions/0002

_PAGE = 1000  # entries read at a time while walking
_VALUES = 500  # values in one IN (…)
_POSTINGS_KEPT = 4_000_000  # rows of recent words held in memory: 12 bytes each
_GONE_KEPT = 100_000  # removed rows remembered for readers that are behind; older readers load anew


class EmbeddedIndex:
    """The port `Index` on one file. Open with `async with`, or call `close` when done."""

    def __init__(self, path: Path, identity: IndexIdentity, fusion: Fusion = FUSION) -> None:
        self._path = path
        self._identity = identity
        self._fusion = fusion
        self._reader = _Desk(path, "index-read")
        self._writer = _Desk(path, "index-write")
        self._snapshot = Snapshot(identity.dimensions)
        self._postings = _Postings()

    async def __aenter__(self) -> EmbeddedIndex:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close both connections; the file stays."""
        await self._reader.close()
        await self._writer.close()

    @property
    def identity(self) -> IndexIdentity:
        return self._identity

    @property
    def collection(self) -> str | None:
        return None

    # ------------------------------------------------------------ reading

    async def search(self, search: Search) -> Sequence[Candidate]:
        """The best `limit` candidates over the lexical, vector and code legs, fused, best first; ties by uuid."""
        if not isinstance(search.narrowing, Narrowing):
            raise TypeError("a search needs a narrowing")
        return await self._reader.read(partial(self._search, search))

    async def fetch(self, ids: Sequence[ChunkId], narrowing: Narrowing) -> Sequence[Candidate]:
        """These chunks as far as the narrowing lets them through, in the order asked."""
        return await self._reader.read(partial(self._fetch, tuple(ids), narrowing))

    async def section(
        self, document: DocumentId, version: str, parent: str, narrowing: Narrowing
    ) -> Sequence[Candidate]:
        """All chunks of a section, by ordinal, as far as the narrowing lets them through."""
        where = "source = ? AND key = ? AND version = ? AND parent = ? ORDER BY ordinal, uuid"
        values = (document.source, document.key, version, parent)
        return await self._reader.read(partial(self._let_through, where, values, narrowing))

    async def vectors(self, keys: Sequence[str]) -> Mapping[str, Matrix]:
        """Vectors already held for chunks with these keys."""
        return await self._reader.read(partial(self._vectors_of, tuple(dict.fromkeys(keys))))

    async def stored(self, source: str) -> AsyncIterator[Stored]:
        """Everything held of a source; what is written meanwhile may or may not be among it."""
        after = 0
        while True:
            where = f"source = ? AND row > ? ORDER BY row LIMIT {_PAGE}"
            page = await self._reader.read(partial(self._heads, where, (source, after)))
            for head in page:
                yield _stored(head)
            if len(page) < _PAGE:
                return
            after = page[-1]["row"]

    async def count(self, source: str) -> int:
        """How many entries are held of a source."""
        return await self._reader.read(partial(self._count, source))

    async def check(self) -> str | None:
        """None when it can serve; else one sentence that says what is wrong and what to do."""
        try:
            await self._reader.read(self._count_words)
        except (Stop, Transient) as error:
            return str(error)
        return None

    # ------------------------------------------------------------ writing

    async def put(self, entries: Sequence[Entry]) -> None:
        """Write the entries of one version of one document in one step, instead of what was held of it."""
        if not entries:
            return
        of = {(entry.chunk.id.document, entry.chunk.id.version) for entry in entries}
        if len(of) > 1:
            raise ValueError(f"entries of one version of one document are put at a time, not of {len(of)}")
        for entry in entries:
            if entry.model != self._identity.model or entry.vector.shape != (self._identity.dimensions,):
                raise Stop(
                    f"a vector of {entry.model!r} with {entry.vector.shape} numbers does not belong into an index of "
                    f"{self._identity.model!r} with {self._identity.dimensions}; sync again with one embedder"
                )
        # One entry a chunk: of two with the same id the later counts.
        distinct = {entry.chunk.id: entry for entry in entries}
        await self._writer.write(partial(self._put, of.pop(), tuple(distinct.values())))

    async def retire(self, document: DocumentId, keep: frozenset[str]) -> int:
        """Remove every entry of the document whose version is not in `keep`; returns how many went."""
        return await self._writer.write(partial(self._retire, document, keep))

    async def repoint(
        self, document: DocumentId, scope: ScopeId, ancestors: tuple[str, ...], containers: tuple[ContainerId, ...]
    ) -> None:
        """The document's entries now stand under another scope, with that one's containers."""
        await self._writer.write(partial(self._repoint, document, scope, ancestors, containers))

    # ------------------------------------------------------------ on the reader's thread

    def _search(self, search: Search, db: sqlite3.Connection) -> list[Candidate]:
        self._recognise(db)
        limit = min(search.limit, MOST_HITS)
        if limit < 1:
            return []
        snapshot = self._snapshot
        snapshot.refresh(db)
        allowed = snapshot.allowed(search.narrowing)
        if not allowed.any():
            return []
        width = max(LEAST_LEG, limit)
        vector = snapshot.nearest(np.asarray(search.vector, np.float32), allowed, width)
        words = self._by_words(db, search.text, allowed, width)
        codes = self._by_codes(db, search.codes, allowed, width)
        weights = self._fusion
        fused = weights.fuse([Leg(weights.vector, vector), Leg(weights.lexical, words), Leg(weights.code, codes)])
        found = np.fromiter(fused, np.int64, len(fused))
        best = snapshot.top(found, np.fromiter(fused.values(), np.float64, len(fused)), limit, 1e-9)
        ranks = _ranks([slot for slot, _ in best], vector, words, codes)
        return self._candidates(db, [(snapshot.row(slot), ranks[slot], score) for slot, score in best])

    def _by_words(
        self, db: sqlite3.Connection, text: str, allowed: NDArray[np.bool_], limit: int
    ) -> list[tuple[int, float]]:
        words = lexical.question_words(text)
        postings = {word: self._postings.of(db, self._snapshot, word) for word in words}
        scores = lexical.bm25(postings, allowed, self._snapshot.lengths)
        slots = np.flatnonzero(scores > 0)
        return self._snapshot.top(slots, scores[slots], limit, 1e-5)

    def _by_codes(
        self, db: sqlite3.Connection, codes: Sequence[str], allowed: NDArray[np.bool_], limit: int
    ) -> list[tuple[int, float]]:
        """Rows that hold a code, the more and the rarer the better."""
        scores = np.zeros(len(allowed), np.float32)
        total = int(np.count_nonzero(allowed))
        for code in list(dict.fromkeys(codes))[:_VALUES]:
            rows = [row for (row,) in db.execute("SELECT row FROM codes WHERE code = ?", (code,))]
            slots = self._snapshot.slots_of(np.asarray(rows, np.int64))
            slots = slots[slots >= 0]
            slots = slots[allowed[slots]]
            if len(slots):
                scores[slots] += np.float32(np.log1p((total - len(slots) + 0.5) / (len(slots) + 0.5)))
        slots = np.flatnonzero(scores > 0)
        return self._snapshot.top(slots, scores[slots], limit, 1e-5)

    def _candidates(self, db: sqlite3.Connection, found: Sequence[tuple[int, Ranks, float]]) -> list[Candidate]:
        rows = [row for row, _, _ in found]
        heads = {head["row"]: head for part in _parts(rows) for head in tables.found(db, _among("row", part), part)}
        return [tables.candidate(heads[row], heads[row]["body"], ranks, score) for row, ranks, score in found]

    def _fetch(self, ids: Sequence[ChunkId], narrowing: Narrowing, db: sqlite3.Connection) -> list[Candidate]:
        found: dict[ChunkId, Candidate] = {}
        for part in _parts([chunk.uuid.bytes for chunk in ids]):
            for candidate in self._let_through(_among("uuid", part), part, narrowing, db):
                found[candidate.id] = candidate
        return [found[chunk] for chunk in ids if chunk in found]

    def _let_through(
        self, where: str, values: Sequence[Any], narrowing: Narrowing, db: sqlite3.Connection
    ) -> list[Candidate]:
        self._recognise(db)
        heads = [
            head for head in tables.heads(db, where, values) if matches(narrowing, head, tables.containers_in(head))
        ]
        bodies = _bodies(db, [head["row"] for head in heads])
        return [tables.candidate(head, bodies[head["row"]], Ranks(), 0.0) for head in heads]

    def _heads(self, where: str, values: Sequence[Any], db: sqlite3.Connection) -> list[Mapping[str, Any]]:
        return tables.heads(db, where, values)

    def _vectors_of(self, keys: Sequence[str], db: sqlite3.Connection) -> dict[str, Matrix]:
        self._recognise(db)
        held: dict[str, Matrix] = {}
        for part in _parts(keys):
            among = _among("vector_key", part)
            query = f"SELECT vector_key, vector FROM entries JOIN vectors USING (row) WHERE {among}"  # noqa: S608
            for key, vector in db.execute(query, part):
                held[key] = np.frombuffer(vector, np.float32)
        return held

    def _count(self, source: str, db: sqlite3.Connection) -> int:
        [(count,)] = db.execute("SELECT count(*) FROM entries WHERE source = ?", (source,))
        return int(count)

    def _count_words(self, db: sqlite3.Connection) -> None:
        self._recognise(db)
        [(entries,)] = db.execute("SELECT count(*) FROM entries")
        [(texts,)] = db.execute("SELECT count(*) FROM words_docsize")
        [(vectors,)] = db.execute("SELECT count(*) FROM vectors")
        if not entries == texts == vectors:
            raise Stop(f"the index {self._path} is damaged; {_REMEDY}")

    def _recognise(self, db: sqlite3.Connection) -> None:
        """Refuse a file that was written for another model or layout."""
        kept = dict(db.execute("SELECT name, value FROM meta"))
        if kept and kept != self._expected():
            was = f"{kept.get('model')} ({kept.get('dimensions')} numbers, {kept.get('schema')}, {kept.get('layout')})"
            now = f"{self._identity.model} ({self._identity.dimensions} numbers, {self._identity.schema}, {_LAYOUT})"
            raise Stop(f"the index {self._path} was written for {was}, not for {now}; {_REMEDY}")

    def _expected(self) -> dict[str, str]:
        identity = self._identity
        return {
            "model": identity.model,
            "dimensions": str(identity.dimensions),
            "schema": identity.schema,
            "layout": _LAYOUT,
        }

    # ------------------------------------------------------------ on the writer's thread

    def _put(self, of: tuple[DocumentId, str], entries: Sequence[Entry], db: sqlite3.Connection) -> None:
        self._recognise(db)
        db.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", self._expected().items())
        document, version = of
        stamp = _next_stamp(db)
        where = "SELECT row FROM entries WHERE source = ? AND key = ? AND version = ?"
        tables.remove(db, _rows(db, where, (document.source, document.key, version)), stamp)
        for scope, containers in {entry.scope: entry.containers for entry in entries}.items():
            tables.stand(db, scope, containers, stamp)
        for entry in entries:
            tables.add(db, entry, stamp)

    def _retire(self, document: DocumentId, keep: frozenset[str], db: sqlite3.Connection) -> int:
        held = db.execute(
            "SELECT row, version FROM entries WHERE source = ? AND key = ?", (document.source, document.key)
        )
        rows = [row for row, version in held if version not in keep]
        if rows:
            stamp = _next_stamp(db)
            tables.remove(db, rows, stamp)
            _shorten_gone(db)
        return len(rows)

    def _repoint(
        self,
        document: DocumentId,
        scope: ScopeId,
        ancestors: tuple[str, ...],
        containers: tuple[ContainerId, ...],
        db: sqlite3.Connection,
    ) -> None:
        rows = _rows(db, "SELECT row FROM entries WHERE source = ? AND key = ?", (document.source, document.key))
        if not rows:
            return
        stamp = _next_stamp(db)
        tables.stand(db, scope, containers, stamp)
        db.executemany("UPDATE entries SET scope = ?, stamp = ? WHERE row = ?", [(scope, stamp, row) for row in rows])
        written = json.dumps(ancestors)
        db.executemany("UPDATE passages SET ancestors = ? WHERE row = ?", [(written, row) for row in rows])


_LAYOUT = f"{tables.LAYOUT}, {lexical.ANALYSER}"
_REMEDY = "move the file away and run `footnote sync`, which writes a new one"


_NOWHERE: tuple[int | None, float | None] = (None, None)


class _Desk:
    """One thread with one connection; every piece of work is one transaction."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._connection: sqlite3.Connection | None = None

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._off_loop(partial(self._transact, "BEGIN", work))

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._off_loop(partial(self._transact, "BEGIN IMMEDIATE", work))

    async def close(self) -> None:
        await self._off_loop(self._disconnect)
        self._executor.shutdown(wait=False)

    async def _off_loop(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def _transact(self, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._connection is None:
                self._connection = tables.connect(self._path)
            return _within(self._connection, begin, work)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise Transient(f"the index {self._path} is being written by another process", 1.0) from error
            raise Stop(f"the index {self._path} can't be used: {error}; check the disk and the rights on it") from error
        except sqlite3.Error as error:
            raise Stop(f"the index {self._path} is damaged: {error}; {_REMEDY}") from error
        except OSError as error:
            raise Stop(f"the index {self._path} can't be opened: {error.strerror}") from error

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _within(db: sqlite3.Connection, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
    db.execute(begin)
    try:
        done = work(db)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return done


class _Postings:
    """Which rows hold a word and how often: read from the full-text table when asked for, the recent ones kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[tuple[int, int], Posting]] = OrderedDict()
        self._rows = 0

    def of(self, db: sqlite3.Connection, snapshot: Snapshot, word: str) -> Posting:
        """The slots that hold a word, and how often each."""
        state = (snapshot.generation, snapshot.size)
        known = self._kept.pop(word, None)
        if known is not None and known[0] == state:
            self._kept[word] = known
            return known[1]
        if known is not None:
            self._rows -= len(known[1][0])
        posting = _posting(db, snapshot, word)
        self._kept[word] = (state, posting)
        self._rows += len(posting[0])
        while self._rows > _POSTINGS_KEPT and len(self._kept) > 1:
            _, (_, (slots, _)) = self._kept.popitem(last=False)
            self._rows -= len(slots)
        return posting


def _posting(db: sqlite3.Connection, snapshot: Snapshot, word: str) -> Posting:
    # One string out of SQLite and one parse are several times faster than a Python object a row.
    [(listed,)] = db.execute("SELECT group_concat(doc) FROM occurrences WHERE term = ?", (word,))
    if not listed:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    rows, counts = np.unique(np.fromstring(listed, np.int64, sep=","), return_counts=True)
    slots = snapshot.slots_of(rows)
    held = slots >= 0
    return slots[held], counts[held].astype(np.float32)


def _ranks(slots: Sequence[int], *legs: Sequence[tuple[int, float]]) -> dict[int, Ranks]:
    vector, words, codes = ({slot: (at, score) for at, (slot, score) in enumerate(leg, 1)} for leg in legs)
    ranks = {}
    for slot in slots:
        at_word, word_score = words.get(slot, _NOWHERE)
        at_vector, cosine = vector.get(slot, _NOWHERE)
        at_code, _ = codes.get(slot, _NOWHERE)
        ranks[slot] = Ranks(at_word, word_score, at_vector, cosine, at_code)
    return ranks


def _next_stamp(db: sqlite3.Connection) -> int:
    [(stamp,)] = db.execute("UPDATE clock SET stamp = stamp + 1 RETURNING stamp").fetchall()
    return int(stamp)


def _shorten_gone(db: sqlite3.Connection) -> None:
    [(held,)] = db.execute("SELECT count(*) FROM gone")
    if held > _GONE_KEPT:
        db.execute("DELETE FROM gone")
        db.execute("UPDATE clock SET floor = stamp")


def _rows(db: sqlite3.Connection, query: str, values: Sequence[Any]) -> list[int]:
    return [row for (row,) in db.execute(query, values)]


def _bodies(db: sqlite3.Connection, rows: Sequence[int]) -> dict[int, str]:
    query = "SELECT row, body FROM passages WHERE "
    return {row: body for part in _parts(rows) for row, body in db.execute(query + _among("row", part), part)}


def _among(column: str, values: Sequence[Any]) -> str:
    return f"{column} IN ({','.join('?' * len(values))})"


def _parts(values: Sequence[T]) -> list[Sequence[T]]:
    return [values[start : start + _VALUES] for start in range(0, len(values), _VALUES)]


def _stored(head: Mapping[str, Any]) -> Stored:
    trust = tables.TRUST[head["trust"]]
    return Stored(_id(head), ScopeId(head["scope"]), head["digest"], trust, tables.containers_in(head))


def _id(head: Mapping[str, Any]) -> ChunkId:
    return ChunkId(DocumentId(head["source"], head["key"]), head["version"], head["section"])
