"""One connection to Weaviate: timeouts, consistency, errors as ours, and nobody called but the server that was named.

Every call has an end of its own: the client retries an unreachable server for a minute on top of its timeout.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import grpc
import httpx
from weaviate import WeaviateAsyncClient
from weaviate.classes.config import ConsistencyLevel
from weaviate.classes.data import DataObject
from weaviate.classes.init import AdditionalConfig, Auth, Timeout
from weaviate.collections import CollectionAsync
from weaviate.connect import ConnectionParams
from weaviate.exceptions import (
    AuthenticationFailedError,
    InsufficientPermissionsError,
    MissingScopeError,
    UnexpectedStatusCodeError,
    WeaviateBaseError,
    WeaviateBatchError,
    WeaviateClosedClientError,
    WeaviateConnectionError,
    WeaviateDeleteManyError,
    WeaviateGRPCUnavailableError,
    WeaviateInsertManyAllFailedError,
    WeaviateQueryError,
    WeaviateRetryError,
    WeaviateStartUpError,
    WeaviateTimeoutError,
)

from connectors.errors import DoorError, Stop, Transient
from connectors.index.weaviate_filters import Sieve, with_ids

T = TypeVar("T")
Collection = CollectionAsync[Any, Any]

WRITES_AT_ONCE = 100  # objects a call
DELETES_AT_ONCE = 500
_WRITE_TRIES = 6
_PATIENCE = 5  # times more, over about eight seconds
_PASSING = (
    WeaviateConnectionError,
    WeaviateGRPCUnavailableError,
    WeaviateTimeoutError,
    WeaviateRetryError,
    WeaviateStartUpError,
    WeaviateClosedClientError,
    httpx.HTTPError,
    grpc.RpcError,
    OSError,
)
_FORBIDDEN = (AuthenticationFailedError, InsufficientPermissionsError, MissingScopeError)
_BY_MESSAGE = (WeaviateQueryError, WeaviateBatchError, WeaviateDeleteManyError, WeaviateInsertManyAllFailedError)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a Weaviate is, and how long it is waited for."""

    http: str  # such as http://127.0.0.1:8080
    grpc: str  # host:port; reached like `http`, over TLS or not
    key: str | None
    read_seconds: float = 10.0
    write_seconds: float = 60.0


class Door:
    """The connection, opened by the first call. Leave with `close`."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._client: WeaviateAsyncClient | None = None
        self._connecting: asyncio.Task[WeaviateAsyncClient] | None = None

    async def __aenter__(self) -> Door:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:  # fmt: skip
        await self.close()

    async def close(self) -> None:
        """Close what was opened."""
        if (connecting := self._connecting) is not None:
            connecting.cancel()
            await asyncio.wait([connecting])
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def client(self) -> WeaviateAsyncClient:
        """The connected client. Who asks while a connection is being made waits for the same one, and no longer."""
        if self._client is not None:
            return self._client
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._connect())
            self._connecting.add_done_callback(self._connected)
        return await asyncio.shield(self._connecting)

    async def _connect(self) -> WeaviateAsyncClient:
        made = _client(self._address)
        try:
            await self._within(self._address.read_seconds, made.connect())
        except BaseException:
            await made.close()
            raise
        return made

    def _connected(self, attempt: asyncio.Task[WeaviateAsyncClient]) -> None:
        self._connecting = None
        if not attempt.cancelled() and attempt.exception() is None:
            self._client = attempt.result()

    async def read(self, work: Awaitable[T]) -> T:
        """The outcome of one reading call, in time and with our own errors."""
        return await self._within(self._address.read_seconds, work)

    async def whole(self, work: Awaitable[T]) -> T:
        """The outcome of a reading of several calls, which together take no longer than one may."""
        return await self._within(self._address.read_seconds, work)

    async def write(self, work: Awaitable[T]) -> T:
        """The outcome of one writing call, likewise."""
        return await self._within(self._address.write_seconds, work)

    async def patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """The outcome of a call that may be repeated, tried for some seconds: while a cluster that lost a node chooses
        its leader, the others answer with errors."""
        for attempt in range(_PATIENCE):
            try:
                return await self.write(call())
            except Transient:
                await asyncio.sleep(0.25 * 2**attempt)
        return await self.write(call())

    async def _within(self, seconds: float, work: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError as error:
            raise Transient(f"weaviate at {self._address.http} did not answer within {seconds:g} s") from error
        except (WeaviateBaseError, httpx.HTTPError, grpc.RpcError, OSError) as error:
            raise ours(error, self._address.http) from error

    # ------------------------------------------------------------ many objects

    async def insert(self, into: Collection, objects: Sequence[DataObject[Any, Any]]) -> None:
        """Write all objects, replacing those with equal ids; returns when each one is stored."""
        for start in range(0, len(objects), WRITES_AT_ONCE):
            await self._insert(into, list(objects[start : start + WRITES_AT_ONCE]))

    async def _insert(self, into: Collection, waiting: list[DataObject[Any, Any]]) -> None:
        """One call's worth. The server refuses objects one by one and says so only in the reply."""
        problem = ""
        for attempt in range(_WRITE_TRIES):
            if attempt:
                await asyncio.sleep(0.2 * 2**attempt)
            try:
                told = await self.write(into.data.insert_many(waiting))
            except Transient as error:  # such as all of them refused
                problem = str(error)
                continue
            if not told.errors:
                return
            problem = next(iter(told.errors.values())).message
            waiting = [waiting[number] for number in sorted(told.errors)]
        raise _by_message(f"weaviate at {self._address.http} did not take {len(waiting)} objects: {problem}")

    async def delete(self, of: Collection, ids: Sequence[UUID]) -> int:
        """Remove these objects and read back that they are gone; returns how many there were."""
        gone = 0
        for start in range(0, len(ids), DELETES_AT_ONCE):
            gone += await self._delete(of, with_ids(ids[start : start + DELETES_AT_ONCE]))
        return gone

    async def _delete(self, of: Collection, those: Sieve) -> int:
        gone = 0
        for attempt in range(_WRITE_TRIES):
            if attempt:
                await asyncio.sleep(0.1 * 2**attempt)
            told = await self.patiently(lambda: of.data.delete_many(those.filter))
            gone += told.successful
            if not told.failed:
                left = await self.patiently(
                    lambda: of.query.fetch_objects(filters=those.filter, limit=1, return_properties=[])
                )
                if not left.objects:
                    return gone
        raise Transient(f"weaviate at {self._address.http} still holds what it was told to delete", 5.0)


def _client(address: Address) -> WeaviateAsyncClient:
    http, grpc_at = urlsplit(address.http), urlsplit(f"//{address.grpc}")
    secure = http.scheme == "https"
    try:
        params = ConnectionParams.from_params(
            http_host=http.hostname or "",
            http_port=http.port or (443 if secure else 80),
            http_secure=secure,
            grpc_host=grpc_at.hostname or "",
            grpc_port=grpc_at.port or 50051,
            grpc_secure=secure,
        )
    except ValueError as error:
        raise Stop(f"weaviate's addresses {address.http!r} and {address.grpc!r} can't be used together") from error
    return WeaviateAsyncClient(
        connection_params=params,
        auth_client_secret=Auth.api_key(address.key) if address.key else None,
        additional_config=AdditionalConfig(
            timeout=Timeout(init=address.read_seconds, query=address.read_seconds, insert=address.write_seconds),
            trust_env=False,
        ),
        skip_init_checks=True,  # they ask a package registry for news
    )


async def together(*work: Coroutine[Any, Any, Any]) -> list[Any]:
    """The outcomes of several calls made at once, in order; of several errors the first."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from several
    return [task.result() for task in tasks]


def quorum(collection: Collection) -> Collection:
    """The collection, written to and read from most of its copies."""
    return collection.with_consistency_level(ConsistencyLevel.QUORUM)


def nearest(collection: Collection) -> Collection:
    """The collection, read from one copy."""
    return collection.with_consistency_level(ConsistencyLevel.ONE)


def ours(error: Exception, where: str) -> DoorError:
    """An error of the client, or of what it is built on, as one of ours."""
    match error:
        case UnexpectedStatusCodeError():
            return _by_status(error, where)
        case _ if isinstance(error, _FORBIDDEN):
            return _no_entry(where)
        case _ if isinstance(error, _BY_MESSAGE):
            return _by_message(f"weaviate at {where} failed: {_short(error)}")
        case _ if isinstance(error, _PASSING):
            return Transient(f"weaviate at {where} can't be reached: {_short(error)}", 2.0)
    return Stop(f"weaviate at {where} can't be used: {_short(error)}; check its version and its settings")


def _by_status(error: UnexpectedStatusCodeError, where: str) -> DoorError:
    if error.status_code in (401, 403):
        return _no_entry(where)
    if error.status_code in (408, 429) or error.status_code >= 500:
        return _by_message(f"weaviate at {where} failed: {_short(error)}")
    return Stop(f"weaviate at {where} refused a request: {_short(error)}")


def _no_entry(where: str) -> Stop:
    return Stop(f"weaviate at {where} refused the key; set FOOTNOTE_WEAVIATE_API_KEY to one that may read and write")


def _by_message(text: str) -> DoorError:
    """The client gives some answers as text only."""
    low = text.lower()
    if "read-only" in low or "readonly" in low:
        return Stop(f"{text}; it takes nothing more: free disk space or memory for it")
    if "unauthenticated" in low or "unauthorized" in low or "forbidden" in low or "anonymous access" in low:
        return Stop(f"{text}; set FOOTNOTE_WEAVIATE_API_KEY to a key that may read and write")
    return Transient(text, 1.0)


def _short(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:300] or type(error).__name__
