"""Which collections serve: found by the alias, made when there is none, compared with the layout before a read.

A process keeps to the collections it began with until `check` finds others that were made for the same. When the alias
moves on, its reads go on with what they were made for and its writes are refused: they would be missing from the index
that serves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weaviate import WeaviateAsyncClient

from connectors.errors import DoorError, Stop
from connectors.index import weaviate_schema as schema
from connectors.index.weaviate_door import Collection, Door, nearest, quorum
from connectors.index.weaviate_schema import Names
from connectors.ports import IndexIdentity

REMEDY = "run `footnote reindex`, which copies it into a new one beside it and then moves over"


@dataclass(frozen=True, slots=True)
class Open:
    """The collections of one index. Whatever decides is read from most copies; a ranking is made from one."""

    names: Names
    passages: Collection
    heads: Collection
    searched: Collection


class Shelf:
    """The index that an alias names, opened at its first use."""

    def __init__(self, door: Door, identity: IndexIdentity, alias: str, replication: int) -> None:
        self._door = door
        self._identity = identity
        self._alias = alias
        self._replication = replication
        self._opening = asyncio.Lock()
        self._open: Open | None = None

    @property
    def opened(self) -> str | None:
        """The collection of passages that is read; None before the first use."""
        return self._open.names.passages if self._open is not None else None

    async def open(self, *, to_write: bool = False, anew: bool = False) -> Open:
        """The collections, compared with the layout once; Stop says how to reindex where they differ."""
        if self._open is not None and not (to_write or anew):
            return self._open  # who reads does not wait for who writes
        async with self._opening:
            if self._open is None or anew:
                client = await self._door.client()
                names = await self._found(client) or await self._made(client)
                await self._compare(client, names)
                self._open = opened(client, names)
            elif to_write:
                await self._still_serves(self._open)
            return self._open

    async def state(self, on: Open) -> str | None:
        """What keeps the server from taking writes; None where nothing does."""
        shards = await self._door.read(on.passages.config.get_shards())
        bad = sorted(
            {str(shard.status) for shard in shards if shard.status not in ("READY", "LAZY_LOADING", "LOADING")}
        )
        if bad:
            return f"weaviate keeps {on.names.passages} {', '.join(bad)}; free disk space or memory for it"
        return None

    async def _still_serves(self, on: Open) -> None:
        serving = await self._found(await self._door.client())
        if serving != on.names:
            raise Stop(
                f"the index moved from {on.names.passages} to {serving.passages if serving else 'nothing'}; "
                "start this process again"
            )

    async def _found(self, client: WeaviateAsyncClient) -> Names | None:
        alias = await self._door.patiently(lambda: client.alias.get(alias_name=self._alias))
        return Names(alias.collection) if alias is not None else None

    async def _made(self, client: WeaviateAsyncClient) -> Names:
        """The first index under this alias; another process may be making it at the same time."""
        names = schema.names(self._alias, 1)
        await make(self._door, client, names, self._identity, self._replication)
        try:
            await self._door.write(client.alias.create(alias_name=self._alias, target_collection=names.passages))
        except DoorError:
            if await self._found(client) is None:
                raise
        return await self._found(client) or names

    async def _compare(self, client: WeaviateAsyncClient, names: Names) -> None:
        live = await live_schema(self._door, client, names.passages)
        if live is None or await live_schema(self._door, client, names.heads) is None:
            raise Stop(f"the index {names.passages} is not whole: a collection is missing; {REMEDY}")
        was, wanted = schema.identity_of(live), schema.described(self._identity)
        if was != wanted:
            before = ", ".join(str(was.get(key)) for key in wanted) if was else "something else"
            now = ", ".join(str(value) for value in wanted.values())
            raise Stop(f"the index {names.passages} was written for {before}, not for {now}; {REMEDY}")
        if found := schema.difference(live):
            raise Stop(f"the index {names.passages} is laid out otherwise: {found}; {REMEDY}")


def opened(client: WeaviateAsyncClient, names: Names) -> Open:
    """Handles on the collections of an index."""
    passages, heads = client.collections.use(names.passages), client.collections.use(names.heads)
    return Open(names, quorum(passages), quorum(heads), nearest(passages))


async def make(
    door: Door, client: WeaviateAsyncClient, names: Names, identity: IndexIdentity, replication: int
) -> None:
    """Create the collections of an index as far as they are not there."""
    for wanted in (
        schema.passages(names.passages, identity, replication),
        schema.heads(names.heads, replication),
    ):
        try:
            # The layout is one value, sent as it is and compared as it comes back.
            await door.write(client.collections.create_from_dict(wanted))
        except DoorError:
            if not await door.read(client.collections.exists(wanted["class"])):
                raise


async def live_schema(door: Door, client: WeaviateAsyncClient, name: str) -> Mapping[str, Any] | None:
    """A collection's schema as the server has it; None where there is no such collection."""
    if not await door.read(client.collections.exists(name)):
        return None
    return (await door.read(client.collections.export_config(name))).to_dict()
