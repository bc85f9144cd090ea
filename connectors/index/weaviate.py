"""The index on a Weaviate server: the same legs, words and fusion as the embedded one, narrowed inside every leg.

The server has no transactions and a search sees writes half done. So each writing of a version has objects of its own,
the version's head says which writing counts, and a read looks at the heads *after* it has looked at the objects: what
is not of the writing that counts is left out and the read is done again (`_settled`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from weaviate.classes.data import DataObject
from weaviate.classes.query import MetadataQuery

from connectors.errors import Stop, Transient
from connectors.index import weaviate_filters as filters
from connectors.index import weaviate_records as records
from connectors.index.fusion import FUSION, MOST_HITS, Fusion
from connectors.index.weaviate_door import Address, Door, together
from connectors.index.weaviate_filters import Sieve
from connectors.index.weaviate_open import Open, Shelf
from connectors.index.weaviate_records import Held
from connectors.index.weaviate_search import Found, Searcher
from connectors.ports import IndexIdentity, Stored
from connectors.records import Candidate, Entry, Ranks, Search
from policies.names import ChunkId, ContainerId, DocumentId, ScopeId
from policies.predicate import Narrowing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

_PASSES = 8  # times a read is done again while versions change under it
_YOUNG = timedelta(minutes=5)  # a head older than this was there before the read began, whatever clocks differ by
_LAGGING = 6  # times, over about six seconds, that a filter may give what does not pass it any more
_SETTLED_KEPT = 200_000
_PAGE = 1000
_AT_ONCE = 200  # objects with their vectors
_UPDATED = MetadataQuery(last_update_time=True)


@dataclass(frozen=True, slots=True)
class _Head:
    generation: int
    young: bool


Hidden = frozenset[int]  # numbers of writings that a read leaves out
Watched = frozenset[UUID]  # heads of versions that were seen before
Seen = tuple[Sequence[Held], Mapping[UUID, _Head]]


class WeaviateIndex:
    """The port `Index` on a server. Open with `async with`, or call `close` when done; nothing is asked of the server
    before the first call. `name` is the alias; `clock` tells how old a head is."""

    def __init__(
        self,
        address: Address,
        identity: IndexIdentity,
        clock: Callable[[], datetime],
        *,
        name: str = "Footnote",
        replication: int = 1,
        fusion: Fusion = FUSION,
    ) -> None:
        self._identity = identity
        self._clock = clock
        self._door = Door(address)
        self._searcher = Searcher(self._door, fusion)
        self._shelf = Shelf(self._door, identity, name, replication)
        self._settled_before: dict[int, None] = {}

    async def __aenter__(self) -> WeaviateIndex:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; what is stored stays."""
        await self._door.close()

    @property
    def identity(self) -> IndexIdentity:
        return self._identity

    @property
    def collection(self) -> str | None:
        return self._shelf.opened

    # ------------------------------------------------------------ reading

    async def search(self, search: Search) -> Sequence[Candidate]:
        """The best `limit` candidates over the lexical, vector and code legs, fused, best first; ties by uuid."""
        sieve = filters.sieve(search.narrowing)
        limit = min(search.limit, MOST_HITS)
        if sieve is None or limit < 1:
            return []
        return await self._door.whole(self._search(search, sieve, limit))

    async def _search(self, search: Search, sieve: Sieve, limit: int) -> list[Candidate]:
        on = await self._shelf.open()
        ranked: dict[UUID, tuple[Ranks, float]] = {}

        async def once(hidden: Hidden, watched: Watched) -> Seen:
            best = await self._searcher.best(on, search, _without(sieve, hidden), limit)
            ranked.update((each.id, (each.ranks, each.score)) for each in best)
            return await self._with_texts(on, best, watched)

        found = await self._settled(once)
        return [records.candidate(held, *ranked[held.id]) for held in found]

    async def fetch(self, ids: Sequence[ChunkId], narrowing: Narrowing) -> Sequence[Candidate]:
        """These chunks as far as the narrowing lets them through, in the order asked."""
        sieve = filters.sieve(narrowing)
        if sieve is None or not ids:
            return []
        spines = [filters.among("spine", part) for part in _parts([chunk.uuid for chunk in dict.fromkeys(ids)], _PAGE)]
        found = {each.id: each for each in await self._door.whole(self._through([sieve.also(part) for part in spines]))}
        return [found[chunk] for chunk in ids if chunk in found]

    async def section(
        self, document: DocumentId, version: str, parent: str, narrowing: Narrowing
    ) -> Sequence[Candidate]:
        """All chunks of a section, by ordinal, as far as the narrowing lets them through."""
        sieve = filters.sieve(narrowing)
        if sieve is None:
            return []
        within = filters.equal("edition", records.edition(document, version))
        within = within.also(filters.equal("parent", records.written_parent(parent)))
        found = await self._door.whole(self._through([sieve.also(within)]))
        return sorted(found, key=lambda each: (each.ordinal, each.id.uuid))

    async def vectors(self, keys: Sequence[str]) -> Mapping[str, Matrix]:
        """Vectors already held for chunks with these keys."""
        held: dict[str, Matrix] = {}
        if not keys:
            return held
        on = await self._shelf.open()
        for part in _parts(list(dict.fromkeys(keys)), _AT_ONCE):
            found, full = await self._vectors_of(on, filters.among("vector_key", part), _PAGE)
            held |= found
            for key in part if full else ():  # one text can be in so many documents that it fills the answer
                if key not in held:
                    held |= (await self._vectors_of(on, filters.equal("vector_key", key), 1))[0]
        return held

    async def _vectors_of(self, on: Open, those: Sieve, limit: int) -> tuple[dict[str, Matrix], bool]:
        page = await self._door.read(
            on.passages.query.fetch_objects(
                filters=those.filter, limit=limit, return_properties=["vector_key"], include_vector=True
            )
        )
        found = {
            str(each.properties["vector_key"]): np.asarray(each.vector["default"], np.float32) for each in page.objects
        }
        return found, len(page.objects) == limit

    async def stored(self, source: str) -> AsyncIterator[Stored]:
        """Everything held of a source; what is written meanwhile may or may not be among it. What is of no writing that
        counts is marked: nothing finds it."""
        on = await self._shelf.open()
        wanted, after = records.written_source(source), None
        shown = ["source", "chunk", "scope", "containers", "digest", "trust", "head", "generation"]
        while True:
            # A walk by id can't be filtered; one call gives a thousand small objects.
            page = await self._door.read(
                on.passages.query.fetch_objects(limit=_PAGE, after=after, return_properties=shown)
            )
            mine = [each for each in page.objects if each.properties["source"] == wanted]
            heads = await self._heads(on, [each.properties["head"] for each in mine])
            for each in mine:
                head = heads.get(each.properties["head"])
                found = head is not None and head.generation == each.properties["generation"]
                yield records.stored(each.properties, found)
            if len(page.objects) < _PAGE:
                return
            after = page.objects[-1].uuid

    async def count(self, source: str) -> int:
        """How many entries are held of a source."""
        on = await self._shelf.open()
        of = filters.equal("source", records.written_source(source))
        told = await self._door.read(on.passages.aggregate.over_all(filters=of.filter, total_count=True))
        return int(told.total_count or 0)

    async def check(self) -> str | None:
        """None when it can serve; else one sentence that says what is wrong and what to do."""
        try:
            on = await self._shelf.open(anew=True)
            if problem := await self._shelf.state(on):
                return problem
            await self._searcher.check_words(on, self._identity.dimensions)
        except (Stop, Transient) as error:
            return str(error)
        return None

    # ------------------------------------------------------------ writing

    async def put(self, entries: Sequence[Entry]) -> None:
        """Write the entries of one version of one document in one step, instead of what was held of it.

        1. Objects of a new writing stand beside the old ones; no reader takes them yet. 2. The head names the new
        writing: from here on every reader takes it and nothing else. 3. What else is held of the version goes. A kill
        in between leaves what no reader takes, and the next `put` or `retire` removes it.
        """
        if not entries:
            return
        document, version = self._of_one_version(entries)
        on = await self._shelf.open(to_write=True)
        generation = records.new_generation()
        distinct = {entry.chunk.id: entry for entry in entries}  # of two with the same id the later counts
        objects = [records.written(entry, generation) for entry in distinct.values()]
        await self._door.insert(on.passages, objects)
        await self._door.insert(on.heads, [records.head_of(document, version, generation)])
        of = filters.equal("edition", records.edition(document, version))
        await self._remove(on, of.also(filters.differs("generation", generation)))

    async def retire(self, document: DocumentId, keep: frozenset[str]) -> int:
        """Remove every entry of the document whose version is not in `keep`; returns how many went. The heads go
        first: from there on no reader takes what is still being removed."""
        on = await self._shelf.open(to_write=True)
        those = filters.equal("document", records.written_document(document))
        if keep:
            those = those.also(filters.not_among("version", [records.written_version(each) for each in sorted(keep)]))
        gone = 0
        while held := await self._ids(on, those):
            await self._door.delete(on.heads, sorted(set(held.values())))
            gone += await self._door.delete(on.passages, list(held))
        return gone

    async def repoint(
        self, document: DocumentId, scope: ScopeId, ancestors: tuple[str, ...], containers: tuple[ContainerId, ...]
    ) -> None:
        """The document's entries now stand under another scope; nothing else of them changes."""
        on = await self._shelf.open(to_write=True)
        stands = records.place(scope, ancestors, containers)
        of = filters.equal("document", records.written_document(document))
        elsewhere = of.also(filters.differs("place", stands["place"]))
        stuck = 0  # rounds that gave what was just written: the answer of a filter can lag behind
        moved_before: set[UUID] = set()
        while stuck < _LAGGING:
            page = await self._door.patiently(
                lambda: on.passages.query.fetch_objects(filters=elsewhere.filter, limit=_AT_ONCE, include_vector=True)
            )
            if not page.objects:
                return
            ids = {each.uuid for each in page.objects}
            if ids <= moved_before:
                await asyncio.sleep(0.1 * 2**stuck)
                stuck += 1
            moved_before |= ids
            # With its vector, unchanged: without it the server would drop the one it has.
            moved = [
                DataObject(uuid=each.uuid, properties={**each.properties, **stands}, vector=_vector(each.vector))
                for each in page.objects
            ]
            await self._door.insert(on.passages, moved)
        raise Transient(f"weaviate still has {document} elsewhere than it was told; the next run repeats it", 5.0)

    def _of_one_version(self, entries: Sequence[Entry]) -> tuple[DocumentId, str]:
        of = {(entry.chunk.id.document, entry.chunk.id.version) for entry in entries}
        if len(of) > 1:
            raise ValueError(f"entries of one version of one document are put at a time, not of {len(of)}")
        for entry in entries:
            if entry.model != self._identity.model or entry.vector.shape != (self._identity.dimensions,):
                raise Stop(
                    f"a vector of {entry.model!r} with {entry.vector.shape} numbers does not belong into an index of "
                    f"{self._identity.model!r} with {self._identity.dimensions}; sync again with one embedder"
                )
        return of.pop()

    async def _remove(self, on: Open, those: Sieve) -> None:
        while held := await self._ids(on, those):
            await self._door.delete(on.passages, list(held))

    async def _ids(self, on: Open, those: Sieve) -> dict[UUID, UUID]:
        """Objects that pass, at most ten thousand, and the head of each."""
        page = await self._door.patiently(
            lambda: on.passages.query.fetch_objects(filters=those.filter, limit=10_000, return_properties=["head"])
        )
        return {each.uuid: each.properties["head"] for each in page.objects}

    # ------------------------------------------------------------ all of a version or nothing

    async def _settled(self, once: Callable[[Hidden, Watched], Awaitable[Seen]]) -> list[Held]:
        """Read until everything that was seen is of the writing that counts, and counted before the reading began.

        A head that changes between objects and heads is met by reading again with the writings that don't count left
        out. A version that does not come to rest is left out whole.
        """
        hidden: Hidden = frozenset()
        watched: Watched = frozenset()
        known: set[int] = set()  # writings that counted before the present pass began
        for _ in range(_PASSES):
            objects, heads = await once(hidden, watched)
            counting = {head.generation for head in heads.values()}
            stale = {each.generation for each in objects if not _counts(each, heads)}
            young = {head.generation for head in heads.values() if head.young}
            unsure = young - known - self._settled_before.keys()
            if not stale and not unsure and not hidden & counting:
                self._remember(counting)
                return list(objects)
            hidden = (hidden | stale) - counting
            watched |= {each.head for each in objects}
            known |= counting
        return [each for each in objects if _counts(each, heads) and each.generation not in unsure]

    def _remember(self, generations: Iterable[int]) -> None:
        self._settled_before.update(dict.fromkeys(generations))
        while len(self._settled_before) > _SETTLED_KEPT:
            del self._settled_before[next(iter(self._settled_before))]

    async def _heads(self, on: Open, ids: Iterable[UUID]) -> dict[UUID, _Head]:
        found: dict[UUID, _Head] = {}
        since = self._clock() - _YOUNG
        for part in _parts(list(set(ids)), _PAGE):
            page = await self._door.read(
                on.heads.query.fetch_objects(
                    filters=filters.with_ids(part).filter,
                    limit=len(part),
                    return_properties=["generation"],
                    return_metadata=_UPDATED,
                )
            )
            for each in page.objects:
                updated = each.metadata.last_update_time
                found[each.uuid] = _Head(int(each.properties["generation"]), updated is None or updated > since)
        return found

    async def _through(self, sieves: Sequence[Sieve]) -> list[Candidate]:
        on = await self._shelf.open()

        async def once(hidden: Hidden, watched: Watched) -> Seen:
            objects: list[Held] = []
            for sieve in sieves:
                page = await self._door.read(
                    on.passages.query.fetch_objects(
                        filters=_without(sieve, hidden).filter, limit=10_000, return_properties=list(records.SHOWN)
                    )
                )
                objects += [Held(each.uuid, each.properties["head"], each.properties) for each in page.objects]
            return objects, await self._heads(on, watched.union(each.head for each in objects))

        return [records.candidate(held, Ranks(), 0.0) for held in await self._settled(once)]

    async def _with_texts(self, on: Open, found: Sequence[Found], watched: Watched) -> Seen:
        """These objects, in order, and the heads of their versions, read after the search."""
        heads, texts = await together(
            self._heads(on, watched.union(each.head for each in found)),
            self._texts(on, [each.id for each in found if each.properties is None]),
        )
        # What went since the search saw it has no text, and doesn't count.
        return [Held(each.id, each.head, each.properties or texts.get(each.id, _GONE)) for each in found], heads

    async def _texts(self, on: Open, ids: Sequence[UUID]) -> dict[UUID, Mapping[str, Any]]:
        read: dict[UUID, Mapping[str, Any]] = {}
        for part in _parts(ids, _PAGE):
            those = filters.with_ids(part).filter
            page = await self._door.read(
                on.passages.query.fetch_objects(filters=those, limit=len(part), return_properties=list(records.SHOWN))
            )
            read |= {each.uuid: each.properties for each in page.objects}
        return read


_GONE: Mapping[str, Any] = {}


def _vector(vectors: Mapping[str, Any]) -> list[float]:
    """The only vector of an object."""
    return list(vectors["default"])


def _counts(held: Held, heads: Mapping[UUID, _Head]) -> bool:
    head = heads.get(held.head)
    return head is not None and head.generation == held.generation and held.properties is not _GONE


def _without(sieve: Sieve, hidden: Hidden) -> Sieve:
    return sieve.also(filters.not_among("generation", sorted(hidden))) if hidden else sieve


def _parts(values: Sequence[Any], size: int) -> list[list[Any]]:
    return [list(values[start : start + size]) for start in range(0, len(values), size)]
