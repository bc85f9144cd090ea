"""The part of the file that every search looks at, as arrays: what rows are filtered by, and their vectors.

A snapshot belongs to one thread and one connection and is brought up to date inside the transaction that searches, by
what is newer than its stamp. Slots are ordered by row number, so new rows always go to the end.
"""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from connectors.index.tables import FACTS
from policies.names import ScopeId
from policies.predicate import AtLeast, AtMost, Condition, Narrowing, OneOf, SearchScope

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

N = TypeVar("N", bound=np.generic)

_INT64 = range(-(2**63), 2**63)
_NUMBERS = ("row", "scope", "effective_from", "effective_to", "superseded", "trust", "words")
_CLOSE = 2e-6  # cosines nearer than this are rounding, and are ordered by uuid
_RECENT = 8  # scopes of searches remembered: the parts of a question, and the same people again
_SEVERAL = 200  # scopes that are looked up at once rather than one by one
_FEW = 0.3  # share of rows below which gathering their vectors beats multiplying all


class Snapshot:
    """All rows of an index at one stamp."""

    def __init__(self, dimensions: int) -> None:
        self.stamp = -1
        self.generation = 0  # changes whenever slots are renumbered
        self.size = 0
        self._dimensions = dimensions
        self._columns: dict[str, NDArray[np.int64]] = {name: np.empty(0, np.int64) for name in _NUMBERS}
        self._uuids: NDArray[np.uint64] = np.empty((0, 2), np.uint64)
        self._vectors: Vector = np.empty((0, dimensions), np.float32)
        self._alive: NDArray[np.bool_] = np.empty(0, np.bool_)
        self._scope_codes: NDArray[np.int32] = np.empty(0, np.int32)
        self._code_of_scope: dict[int, int] = {}
        self._code_of_container: dict[int, int] = {}
        self._scopes_by_id: tuple[NDArray[np.int64], NDArray[np.int32]] | None = (
            None  # in order of id, with their codes
        )
        self._members: OrderedDict[SearchScope, NDArray[np.bool_]] = OrderedDict()  # the scopes of recent searches
        self._standings: NDArray[np.int32] = np.full((0, 0), -1, np.int32)  # by depth and scope code; -1 for none
        self.lengths: Vector = np.empty(0, np.float32)  # words of each row

    # ------------------------------------------------------------ keeping up

    def refresh(self, db: sqlite3.Connection) -> None:
        """Bring the arrays to the state that `db`'s open transaction sees."""
        stamp, floor = db.execute("SELECT stamp, floor FROM clock").fetchone()
        if stamp == self.stamp:
            return
        if self.stamp < floor or stamp < self.stamp:
            self._forget()
        self._stand(db.execute("SELECT scope, containers FROM standings WHERE stamp > ?", (self.stamp,)).fetchall())
        self._drop([row for (row,) in db.execute("SELECT row FROM gone WHERE stamp > ?", (self.stamp,))])
        last = int(self._columns["row"][self.size - 1]) if self.size else 0
        changed = db.execute(
            f"SELECT {FACTS} FROM entries WHERE stamp > ? AND row <= ?",  # noqa: S608 - our own columns
            (self.stamp, last),
        ).fetchall()
        self._update(changed)
        self._append(db, last)
        self.lengths = self._columns["words"][: self.size].astype(np.float32)
        self.stamp = stamp

    def _forget(self) -> None:
        self.stamp = -1
        self._alive[: self.size] = False
        self._compact()

    def _stand(self, standings: Sequence[tuple[int, str]]) -> None:
        if not standings:
            return
        read = [(self._scope_code(scope), json.loads(written)) for scope, written in standings]
        depth = max(len(self._standings), *(len(containers) for _, containers in read))
        self._standings = _framed(self._standings, depth, len(self._code_of_scope))
        codes = self._code_of_container
        self._members.clear()
        for scope, containers in read:
            stands = [codes.setdefault(container, len(codes)) for container in containers]
            self._standings[:, scope] = stands + [-1] * (depth - len(stands))

    def _drop(self, rows: Sequence[int]) -> None:
        if not rows or not self.size:
            return
        slots = self.slots_of(np.asarray(rows, np.int64))
        self._alive[slots[slots >= 0]] = False
        if np.count_nonzero(self._alive[: self.size]) < 0.75 * self.size:
            self._compact()

    def _compact(self) -> None:
        kept = np.flatnonzero(self._alive[: self.size])
        self._columns = {name: column[kept] for name, column in self._columns.items()}
        self._uuids, self._vectors = self._uuids[kept], self._vectors[kept]
        self._scope_codes = self._scope_codes[kept]
        self._alive = np.ones(len(kept), np.bool_)
        self.size = len(kept)
        self.generation += 1

    def _update(self, facts: Sequence[Sequence[int]]) -> None:
        if not facts:
            return
        slots = self.slots_of(np.asarray([fact[0] for fact in facts], np.int64))
        for position, name in enumerate(_NUMBERS):
            self._columns[name][slots] = [fact[position] for fact in facts]
        self._scope_codes[slots] = [self._scope_code(fact[1]) for fact in facts]

    def _append(self, db: sqlite3.Connection, last: int) -> None:
        facts = db.execute(
            f"SELECT {FACTS} FROM entries WHERE row > ? ORDER BY row",  # noqa: S608 - our own columns
            (last,),
        ).fetchall()
        if not facts:
            return
        start, end = self.size, self.size + len(facts)
        self._reserve(end)
        numbers = np.asarray([fact[:-1] for fact in facts], np.int64)
        for position, name in enumerate(_NUMBERS):
            self._columns[name][start:end] = numbers[:, position]
        self._uuids[start:end] = np.frombuffer(b"".join(fact[-1] for fact in facts), ">u8").reshape(-1, 2)
        self._scope_codes[start:end] = [self._scope_code(fact[1]) for fact in facts]
        self._alive[start:end] = True
        vectors = db.execute("SELECT vector FROM vectors WHERE row > ? ORDER BY row", (last,))
        at = start
        while batch := vectors.fetchmany(4096):
            block = np.frombuffer(b"".join(vector for (vector,) in batch), np.float32).reshape(-1, self._dimensions)
            self._vectors[at : at + len(block)] = block
            at += len(block)
        self.size = end

    def _reserve(self, size: int) -> None:
        capacity = len(self._alive)
        if size <= capacity:
            return
        capacity = size if not capacity else max(size, capacity + capacity // 4 + 1024)
        for name, column in self._columns.items():
            self._columns[name] = _grown(column, capacity)
        self._uuids, self._vectors = _grown(self._uuids, capacity), _grown(self._vectors, capacity)
        self._scope_codes, self._alive = _grown(self._scope_codes, capacity), _grown(self._alive, capacity)

    def _scope_code(self, scope: int) -> int:
        code = self._code_of_scope.get(scope)
        if code is None:
            code = self._code_of_scope[scope] = len(self._code_of_scope)
            self._scopes_by_id = None
            self._members.clear()
        return code

    # ------------------------------------------------------------ reading

    def row(self, slot: int) -> int:
        return int(self._columns["row"][slot])

    def slots_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where rows stand, -1 for those that don't."""
        known = self._columns["row"][: self.size]
        slots = np.searchsorted(known, rows)
        slots[slots == self.size] = 0
        found = known[slots] == rows if self.size else np.zeros(len(rows), np.bool_)
        return np.where(found, slots, -1)

    def allowed(self, narrowing: Narrowing) -> NDArray[np.bool_]:
        """Which rows the narrowing lets through; its meaning is `policies.predicate.matches`."""
        mask = self._in_scope(narrowing.scope)[self._scope_codes[: self.size]] & self._alive[: self.size]
        for condition in narrowing.conditions:
            mask &= self._holding(condition)
        return mask

    def _in_scope(self, scope: SearchScope) -> NDArray[np.bool_]:
        """Which scopes are among them, by code."""
        member = self._members.pop(scope, None)
        if member is None:
            member = self._found(scope)
            while len(self._members) >= _RECENT:
                self._members.popitem(last=False)
        self._members[scope] = member
        return member

    def _found(self, scope: SearchScope) -> NDArray[np.bool_]:
        member = np.zeros(len(self._code_of_scope), np.bool_)
        if scope.containers:
            chosen = np.zeros(len(self._code_of_container) + 1, np.bool_)  # the last is that of -1, no container
            codes = self._code_of_container
            chosen[[codes[container] for container in scope.containers if container in codes]] = True
            for stands in self._standings:
                member[: len(stands)] |= chosen[stands]
            member[self._codes(scope.excepted)] = False
        member[self._codes(scope.ids)] = True
        return member

    def _codes(self, scopes: frozenset[ScopeId]) -> NDArray[np.int32]:
        """The codes of those scopes that are known here."""
        if len(scopes) < _SEVERAL:
            codes = self._code_of_scope
            return np.asarray([codes[scope] for scope in scopes if scope in codes], np.int32)
        if self._scopes_by_id is None:
            known = np.fromiter(self._code_of_scope, np.int64, len(self._code_of_scope))
            order = np.argsort(known).astype(np.int32)  # codes are given out in order
            self._scopes_by_id = known[order], order
        ids, codes_by_id = self._scopes_by_id
        asked = _numbers(scopes)
        at = np.searchsorted(ids, asked)
        at[at == len(ids)] = 0
        return codes_by_id[at[ids[at] == asked]] if len(ids) else codes_by_id

    def _holding(self, condition: Condition) -> NDArray[np.bool_]:
        column = self._columns[condition.field][: self.size]
        match condition:
            case AtMost(_, value):
                return np.asarray(column <= value)
            case AtLeast(_, value):
                return np.asarray(column >= value)
            case OneOf(_, values):
                return np.isin(column, _numbers(values))

    def nearest(self, question: Vector, allowed: NDArray[np.bool_], limit: int) -> list[tuple[int, float]]:
        """The rows nearest to a unit vector by cosine, exactly, best first."""
        slots = np.flatnonzero(allowed)
        if not len(slots):
            return []
        if len(slots) < _FEW * self.size:
            cosines = _products(self._vectors[slots], question)
        else:
            cosines = _products(self._vectors[: self.size], question)[slots]
        return self.top(slots, cosines, limit, _CLOSE)

    def top(
        self, slots: NDArray[np.int64], scores: NDArray[np.floating[Any]], limit: int, close: float
    ) -> list[tuple[int, float]]:
        """The best of `slots` by score, equal ones (within `close`) by uuid."""
        if len(slots) > limit:
            least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            near = scores >= least - close
            slots, scores = slots[near], scores[near]
        rounded = np.round(scores.astype(np.float64) / close)
        order = np.lexsort((self._uuids[slots, 1], self._uuids[slots, 0], -rounded))[:limit]
        return [(int(slots[at]), float(scores[at])) for at in order]


def _products(vectors: Vector, question: Vector) -> Vector:
    # Not `@`: BLAS starts a thread a core and waits for all, so a busy core makes 1 ms of work 12. Memory is the bound.
    products: Vector = np.einsum("ij,j->i", vectors, question)
    return products


def _numbers(ids: Collection[int]) -> NDArray[np.int64]:
    try:
        return np.fromiter(ids, np.int64, len(ids))
    except OverflowError:  # no ledger gives out such a number, but one may be asked for
        return np.asarray([each for each in ids if each in _INT64], np.int64)


def _framed(standings: NDArray[np.int32], depth: int, scopes: int) -> NDArray[np.int32]:
    framed = np.full((depth, max(scopes, standings.shape[1])), -1, np.int32)
    framed[: standings.shape[0], : standings.shape[1]] = standings
    return framed


def _grown(array: NDArray[N], capacity: int) -> NDArray[N]:
    grown = np.zeros((capacity, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
