"""A new index beside the one that serves: filled from it, caught up, compared, and then named by the alias.

Passages are taken from the old index and not from their sources: versions that are kept for their own time are nowhere
else any more. Only what the ledger names is taken, not what a kill left behind. Vectors are made anew where the model
is another. The last pass, the comparison and the move happen while no sync runs, and nothing is copied afterwards: the
new index is written by others from then on. The old one stays for the way back. A killed run goes on where it was.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from collections.abc import Collection as AbstractCollection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

import numpy as np
from weaviate import WeaviateAsyncClient
from weaviate.classes.data import DataObject

from connectors.errors import Stop, Transient
from connectors.index import weaviate_filters as filters
from connectors.index import weaviate_schema as schema
from connectors.index.lexical import passage_words
from connectors.index.weaviate_door import Address, Collection, Door
from connectors.index.weaviate_open import Open, live_schema, make, opened
from connectors.index.weaviate_schema import Names
from connectors.ports import IndexIdentity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

Embed = Callable[[Sequence[str]], Awaitable["Matrix"]]
Tell = Callable[[int, int], None]  # passages dealt with, of how many

Named = Mapping[UUID, str | None]
"""Passages by the uuid of their spine, with their digest; None where it may be one of two."""

_PAGE = 200
_PASSES = 10  # times to catch up: with what is written meanwhile, and then with what the server shows late
_SAMPLE = 50
_KINDS = ["place", "head", "generation", "spine", "digest"]


class Ledger(Protocol):
    """What a reindex asks of the ledger."""

    async def named(self) -> Named:
        """Every passage that an index ought to hold."""
        ...

    def quiet(self) -> AbstractAsyncContextManager[None]:
        """Nothing is written to the index meanwhile."""
        ...

    async def moving(self, *, recut: bool) -> None:
        """Called last before the new index serves; `recut` where every document has to be read again. Transient when
        it is not quiet any more."""
        ...


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What a reindex did."""

    before: str
    now: str
    passages: int
    copied: int
    embedded: int
    passes: int
    recut: bool  # documents are cut otherwise now: each has to be read again


@dataclass(slots=True)
class _Tally:
    copied: int = 0
    embedded: int = 0
    worth: int = 0  # passages that the new index ought to hold, by the last pass


class Reindex:
    """One alias, and what its index is to be made for."""

    def __init__(self, address: Address, identity: IndexIdentity, embed: Embed, *, name: str, replication: int) -> None:
        self._door = Door(address)
        self._identity = identity
        self._embed = embed
        self._alias = name
        self._replication = replication

    async def run(self, ledger: Ledger, tell: Tell) -> Reindexed:
        """Make the new index and fill it; then, while all is quiet, 1. catch up until a pass finds nothing to do,
        2. compare, 3. tell the ledger, 4. move the alias. Last drop what is older than the one before."""
        async with self._door as door:
            client = await door.client()
            before = await self._serving(client)
            was = await self._identity_of(client, before)
            target = await self._target(client, before)
            old, new = opened(client, before), opened(client, target)
            tally, again = _Tally(), was.get("model") != self._identity.model
            recut = was.get("schema") != self._identity.schema
            passes = 0
            for _ in range(_PASSES):  # so that little is left to do while others wait
                passes += 1
                if not await self._pass(old, new, again, await ledger.named(), tally, tell):
                    break
            async with ledger.quiet():
                named = await ledger.named()
                passes += await self._catch_up(old, new, again, named, tally, tell)
                await self._compare(old, new, tally.worth)
                await ledger.moving(recut=recut)
                moved = client.alias.update(alias_name=self._alias, new_target_collection=target.passages)
                if not await door.write(moved):
                    raise Stop(f"there is no alias {self._alias!r} any more; look who removed it")
                count = await self._count(new.passages)
            await self._drop_older(client, before)
            return Reindexed(before.passages, target.passages, count, tally.copied, tally.embedded, passes, recut)

    async def roll_back(self) -> tuple[str, str]:
        """Name the index before again; returns the one that served and the one that serves."""
        async with self._door as door:
            client = await door.client()
            serving = await self._serving(client)
            numbers = [number for number in await self._numbers(client) if number < serving.number]
            if not numbers:
                raise Stop(f"there is no index before {serving.passages} to go back to")
            target = schema.names(self._alias, max(numbers))
            await door.write(client.alias.update(alias_name=self._alias, new_target_collection=target.passages))
            return serving.passages, target.passages

    # ------------------------------------------------------------ which

    async def _serving(self, client: WeaviateAsyncClient) -> Names:
        alias = await self._door.read(client.alias.get(alias_name=self._alias))
        if alias is None:
            raise Stop(f"there is no index {self._alias!r} yet; run `footnote sync`, which makes it")
        return Names(alias.collection)

    async def _identity_of(self, client: WeaviateAsyncClient, names: Names) -> Mapping[str, Any]:
        live = await live_schema(self._door, client, names.passages)
        was = schema.identity_of(live or {})
        if not was:
            raise Stop(f"{names.passages} was not made by this program; choose another FOOTNOTE_WEAVIATE_COLLECTION")
        return was

    async def _target(self, client: WeaviateAsyncClient, before: Names) -> Names:
        """The index that a killed run was filling for the same, or a new one."""
        numbers = [number for number in await self._numbers(client) if number > before.number]
        for number in sorted(numbers, reverse=True):
            names = schema.names(self._alias, number)
            live = await live_schema(self._door, client, names.passages)
            if live is not None and schema.identity_of(live) == schema.described(self._identity):
                await make(self._door, client, names, self._identity, self._replication)  # its heads, if they are not
                if schema.difference(live) is None:
                    return names
        names = schema.names(self._alias, max([before.number, *numbers]) + 1)
        await make(self._door, client, names, self._identity, self._replication)
        return names

    async def _numbers(self, client: WeaviateAsyncClient) -> list[int]:
        listed = await self._door.read(client.collections.list_all(simple=True))
        starts = f"{self._alias}_v"
        rests = [name.removeprefix(starts) for name in listed if name.startswith(starts)]
        return sorted(int(rest) for rest in rests if rest.isdecimal())

    async def _drop_older(self, client: WeaviateAsyncClient, before: Names) -> None:
        for number in await self._numbers(client):
            if number < before.number:
                names = schema.names(self._alias, number)
                for each in (names.passages, names.heads):
                    await self._door.write(client.collections.delete(each))

    # ------------------------------------------------------------ filling

    async def _catch_up(self, old: Open, new: Open, again: bool, named: Named, tally: _Tally, tell: Tell) -> int:
        for number in range(1, _PASSES + 1):
            if not await self._pass(old, new, again, named, tally, tell):
                return number
        raise Transient("the new index does not come to hold what the old one does; run it again", 60.0)

    async def _pass(self, old: Open, new: Open, again: bool, named: Named, tally: _Tally, tell: Tell) -> int:
        """Make the new index what the old one is as far as the ledger names it; returns how much there was to do."""
        changes = await self._copy(old, new, again, named, tally, tell)
        changes += await self._drop_gone(old, new, named)
        return changes + await self._copy_heads(old, new) + await self._drop_gone_heads(old, new)

    async def _copy(self, old: Open, new: Open, again: bool, named: Named, tally: _Tally, tell: Tell) -> int:
        """Bring over what is missing or stands elsewhere; returns how many."""
        total, done, copied, tally.worth = await self._count(old.passages), 0, 0, 0
        async for page in self._pages(old.passages, _KINDS):
            worth = await self._worth(old, page, named)
            tally.worth += len(worth)
            held = {each.uuid: each.properties["place"] for each in await self._these(new.passages, worth, ["place"])}
            ids = [each.uuid for each in worth if held.get(each.uuid) != each.properties["place"]]
            if ids:
                await self._door.insert(new.passages, await self._made(old, ids, again, tally))
            copied, done = copied + len(ids), done + len(page)
            tell(done, max(total, done))
        tally.copied += copied
        return copied

    async def _worth(self, old: Open, page: Sequence[Any], named: Named) -> list[Any]:
        """Of these objects those of the writing that counts and that the ledger names: the rest is what a kill left,
        whose text is nobody's business any more."""
        kept = [each for each in page if _is_named(each, named)]
        heads = {UUID(str(each.properties["head"])) for each in kept}
        counting = {each.uuid: each.properties["generation"] for each in await self._with(old.heads, heads)}
        return [
            each for each in kept if counting.get(UUID(str(each.properties["head"]))) == each.properties["generation"]
        ]

    async def _made(self, old: Open, ids: Sequence[UUID], again: bool, tally: _Tally) -> list[DataObject[Any, Any]]:
        those = filters.with_ids(ids).filter
        page = await self._door.read(
            old.passages.query.fetch_objects(filters=those, limit=len(ids), include_vector=not again)
        )
        bodies = [json.loads(each.properties["body"]) for each in page.objects]
        if again:
            tally.embedded += len(bodies)
            vectors: Any = await self._embed([f"{body['lead']}\n{body['text']}" for body in bodies])
        else:
            vectors = [each.vector["default"] for each in page.objects]
        return [
            DataObject(
                uuid=each.uuid,
                properties={**each.properties, "words": " ".join(passage_words(body["header"], body["text"]))},
                vector=[float(number) for number in vector],
            )
            for each, body, vector in zip(page.objects, bodies, vectors, strict=True)
        ]

    async def _copy_heads(self, old: Open, new: Open) -> int:
        copied = 0
        async for page in self._pages(old.heads, ["edition", "generation"]):
            held = {each.uuid: each.properties for each in await self._these(new.heads, page, ["generation"])}
            wanted = [
                DataObject(uuid=each.uuid, properties=dict(each.properties))
                for each in page
                if each.uuid not in held or held[each.uuid]["generation"] != each.properties["generation"]
            ]
            await self._door.insert(new.heads, wanted)
            copied += len(wanted)
        return copied

    async def _drop_gone(self, old: Open, new: Open, named: Named) -> int:
        gone = 0
        async for page in self._pages(new.passages, []):
            there = await self._worth(old, await self._these(old.passages, page, _KINDS), named)
            gone += await self._drop_but(new.passages, page, there)
        return gone

    async def _drop_gone_heads(self, old: Open, new: Open) -> int:
        gone = 0
        async for page in self._pages(new.heads, []):
            gone += await self._drop_but(new.heads, page, await self._these(old.heads, page, []))
        return gone

    async def _drop_but(self, of: Collection, page: Sequence[Any], kept: Sequence[Any]) -> int:
        wanted = {each.uuid for each in kept}
        stale = [each.uuid for each in page if each.uuid not in wanted]
        return await self._door.delete(of, stale) if stale else 0

    async def _pages(self, of: Collection, shown: list[str]) -> AsyncIterator[Sequence[Any]]:
        after = None
        while True:
            page = await self._door.read(of.query.fetch_objects(limit=_PAGE, after=after, return_properties=shown))
            if page.objects:
                yield page.objects
            if len(page.objects) < _PAGE:
                return
            after = page.objects[-1].uuid

    async def _these(self, of: Collection, page: Sequence[Any], shown: list[str]) -> Sequence[Any]:
        return await self._with(of, [each.uuid for each in page], shown)

    async def _with(
        self, of: Collection, ids: AbstractCollection[UUID], shown: Sequence[str] = ("generation",)
    ) -> Sequence[Any]:
        if not ids:
            return []
        those = filters.with_ids(ids).filter
        read = of.query.fetch_objects(filters=those, limit=len(ids), return_properties=list(shown))
        return list((await self._door.read(read)).objects)

    # ------------------------------------------------------------ comparing

    async def _count(self, of: Collection) -> int:
        return int((await self._door.read(of.aggregate.over_all(total_count=True))).total_count or 0)

    async def _compare(self, old: Open, new: Open, worth: int) -> None:
        """Raise Stop when counts, or a sample of passages, are not the same, or a passage does not find itself."""
        wanted = {"passages": worth, "heads": await self._count(old.heads)}
        for name, other in (("passages", new.passages), ("heads", new.heads)):
            counts = wanted[name], await self._count(other)
            if counts[0] != counts[1]:
                raise Stop(f"the new index has {counts[1]} {name} and the old one {counts[0]}; run it again")
        sample: list[Any] = []
        async for page in self._pages(new.passages, []):
            sample += random.sample(list(page), min(2, len(page)))
        for each in sample[:_SAMPLE]:
            await self._compare_one(old, new, each.uuid)

    async def _compare_one(self, old: Open, new: Open, id_: UUID) -> None:
        that = filters.with_ids([id_])
        shown = ["body", "digest", "chunk", "generation", "place"]
        was, now = [
            (await self._door.read(each.query.fetch_objects(filters=that.filter, limit=1, return_properties=shown)))
            for each in (old.passages, new.passages)
        ]
        if [each.properties for each in was.objects] != [each.properties for each in now.objects]:
            raise Stop(f"{id_} is not the same in the new index; run it again")
        [held] = (
            await self._door.read(new.passages.query.fetch_objects(filters=that.filter, limit=1, include_vector=True))
        ).objects
        vector: list[Any] = list(held.vector["default"])
        if len(vector) != self._identity.dimensions:
            raise Stop(f"{id_} has {len(vector)} numbers in the new index, not {self._identity.dimensions}")
        near = await self._door.read(
            new.passages.query.near_vector(vector, filters=that.filter, limit=1, return_properties=[])
        )
        if [each.uuid for each in near.objects] != [id_]:
            raise Stop(f"{id_} is not found by its own vector in the new index; run it again")


def _is_named(found: Any, named: Named) -> bool:
    spine = UUID(str(found.properties["spine"]))
    return spine in named and named[spine] in (None, found.properties["digest"])
