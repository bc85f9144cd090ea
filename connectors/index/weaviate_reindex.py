"""A new index beside the one that serves: filled from it, caught up, compared, and then named by the alias.

Passages are taken from the old index and not from their sources: versions that are kept for their own time are nowhere
else any more. Vectors are made anew where the model is another. Nothing is answered from the new index before the alias
moves, and the old one stays for the way back. A run that was killed goes on where it was.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
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

_PAGE = 200
_PASSES = 10  # times to catch up with what is written meanwhile
_SAMPLE = 50
_SETTLE_SECONDS = 1.0  # for writes that began before the alias moved


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


class Reindex:
    """One alias, and what its index is to be made for."""

    def __init__(self, address: Address, identity: IndexIdentity, embed: Embed, *, name: str, replication: int) -> None:
        self._door = Door(address)
        self._identity = identity
        self._embed = embed
        self._alias = name
        self._replication = replication

    async def run(self, tell: Tell) -> Reindexed:
        """Make the new index, 1. fill it and catch up until a pass finds nothing to do, 2. compare, 3. move the alias,
        4. bring over what was written in the meantime, 5. drop what is older than the one before."""
        async with self._door as door:
            client = await door.client()
            before = await self._serving(client)
            was = await self._identity_of(client, before)
            target = await self._target(client, before)
            old, new = opened(client, before), opened(client, target)
            tally, again = _Tally(), was.get("model") != self._identity.model
            passes = await self._catch_up(old, new, again, tally, tell)
            await self._compare(old, new)
            if not await door.write(client.alias.update(alias_name=self._alias, new_target_collection=target.passages)):
                raise Stop(f"there is no alias {self._alias!r} any more; look who removed it")
            for _ in range(2):
                await asyncio.sleep(_SETTLE_SECONDS)
                await self._catch_up(old, new, again, tally, tell)
            await self._drop_older(client, before)
            count = await self._count(new.passages)
            recut = was.get("schema") != self._identity.schema
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

    async def _catch_up(self, old: Open, new: Open, again: bool, tally: _Tally, tell: Tell) -> int:
        for number in range(1, _PASSES + 1):
            changes = await self._copy(old, new, again, tally, tell)
            changes += await self._drop_gone(old.passages, new.passages)
            changes += await self._copy_heads(old, new) + await self._drop_gone(old.heads, new.heads)
            if not changes:
                return number
        raise Transient("so much is written that the new index does not catch up; pause the sources and go on", 60.0)

    async def _copy(self, old: Open, new: Open, again: bool, tally: _Tally, tell: Tell) -> int:
        """Bring over what is missing or stands elsewhere; returns how many."""
        total, done, copied = await self._count(old.passages), 0, 0
        async for page in self._pages(old.passages, ["place"]):
            held = {each.uuid: each.properties["place"] for each in await self._these(new.passages, page, ["place"])}
            ids = [each.uuid for each in page if held.get(each.uuid) != each.properties["place"]]
            if ids:
                await self._door.insert(new.passages, await self._made(old, ids, again, tally))
            copied, done = copied + len(ids), done + len(page)
            tell(done, max(total, done))
        tally.copied += copied
        return copied

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

    async def _drop_gone(self, old: Collection, new: Collection) -> int:
        gone = 0
        async for page in self._pages(new, []):
            there = {each.uuid for each in await self._these(old, page, [])}
            stale = [each.uuid for each in page if each.uuid not in there]
            if stale:
                gone += await self._door.delete(new, stale)
        return gone

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
        those = filters.with_ids([each.uuid for each in page]).filter
        found = await self._door.read(of.query.fetch_objects(filters=those, limit=len(page), return_properties=shown))
        return list(found.objects)

    # ------------------------------------------------------------ comparing

    async def _count(self, of: Collection) -> int:
        return int((await self._door.read(of.aggregate.over_all(total_count=True))).total_count or 0)

    async def _compare(self, old: Open, new: Open) -> None:
        """Raise Stop when counts, or a sample of passages, are not the same, or a passage does not find itself."""
        for name, one, other in (("passages", old.passages, new.passages), ("heads", old.heads, new.heads)):
            counts = await self._count(one), await self._count(other)
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
