"""The Weaviate index keeps the port's promises on a real server, and some of its own."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from weaviate.classes.config import DataType, Property
from weaviate.classes.data import DataObject
from weaviate.exceptions import WeaviateBaseError

from connectors.errors import DoorError, Stop, Transient
from connectors.index import weaviate_records as records
from connectors.index import weaviate_schema as schema
from connectors.index.weaviate import WeaviateIndex
from connectors.index.weaviate_door import Address, Door, ours
from connectors.index.weaviate_open import make
from connectors.index.weaviate_search import Searcher
from connectors.ports import Index, IndexIdentity
from policies.names import ChunkId, DocumentId, ScopeId
from tests.connectors.conformance.index_suite import (
    IDENTITY,
    IndexSuite,
    asking,
    entry,
    keys,
    narrowed,
    opened,
    vector_of,
)
from tests.weaviate import MISSING, fresh_name, index_at

pytestmark = MISSING


def name_of(place: Path) -> str:
    return f"T{sha256(str(place).encode()).hexdigest()[:16]}"


class TestWeaviateIndex(IndexSuite):
    @pytest.fixture(autouse=True)
    def server(self, weaviate: Address) -> None:
        self.address = weaviate

    def handle(self, place: Path, identity: IndexIdentity = IDENTITY) -> AbstractAsyncContextManager[Index]:
        return self._handle(place, identity)

    @asynccontextmanager
    async def _handle(self, place: Path, identity: IndexIdentity) -> AsyncIterator[Index]:
        async with index_at(self.address, name_of(place), identity) as index:
            yield index


@pytest.fixture
async def index(weaviate: Address) -> AsyncIterator[WeaviateIndex]:
    async with index_at(weaviate, fresh_name(), IDENTITY) as opened:
        yield opened


# ---------------------------------------------------------------- texts


@pytest.mark.parametrize(
    "text",
    ["a\x00b", "half \ud83d a character", "cafe\u0301 café", " \n spaces around \t", "\u2028 \u202e \ufeff", "😀 ﬁ ²"],
)
async def test_every_character_comes_back_as_it_was(index: WeaviateIndex, text: str) -> None:
    plain = entry("d", "travel refund")
    id_ = ChunkId(DocumentId("files", f"d {text}"), f"v {text}", f"s {text}")
    one = replace(plain, chunk=replace(plain.chunk, id=id_, text=text, header=f"{text} › header", parent=f"p {text}"))
    await index.put([one])

    [found] = await index.search(asking("anything"))
    [fetched] = await index.fetch([one.chunk.id], narrowed())
    [in_section] = await index.section(one.chunk.id.document, one.chunk.id.version, one.chunk.parent, narrowed())

    for candidate in (found, fetched, in_section):
        assert candidate.id == one.chunk.id
        assert (opened(candidate).text, opened(candidate).header) == (text, one.chunk.header)
    assert [each.id async for each in index.stored("files")] == [one.chunk.id]


async def test_documents_that_differ_in_case_and_white_space_only_are_two(index: WeaviateIndex) -> None:
    for key in ("a", "A", " a", "a ", "a\x00"):
        await index.put([entry(key, "travel refund", version=f"{key}1")])

    assert await index.retire(DocumentId("files", "a "), frozenset()) == 1
    assert sorted(keys(await index.search(asking("refund")))) == [" a", "A", "a", "a\x00"]
    assert await index.count("files") == 4
    assert await index.count("FILES") == 0


# ---------------------------------------------------------------- writing


async def test_a_move_that_the_server_does_not_show_ends(index: WeaviateIndex) -> None:
    await index.put([entry("d", "travel refund")])
    on, door = await index._shelf.open(), index._door
    rounds = 0

    class Lagging(Door):  # takes what is written and shows what was
        async def insert(self, *_: object) -> None:
            nonlocal rounds
            rounds += 1

    index._door = Lagging(door._address)
    try:
        async with asyncio.timeout(30):
            with pytest.raises(Transient, match="the next run repeats it"):
                await index.repoint(DocumentId("files", "d"), ScopeId(9), (), ())
    finally:
        await index._door.close()
        index._door = door
    assert rounds < 10
    assert on is await index._shelf.open()
    await index.repoint(DocumentId("files", "d"), ScopeId(9), (), ())
    assert keys(await index.search(asking("refund", narrowed([9])))) == ["d"]


async def test_a_passage_whose_head_is_lost_is_told_as_not_found(index: WeaviateIndex) -> None:
    one, other = entry("d", "travel refund"), entry("e", "travel refund")
    await index.put([one])
    await index.put([other])
    on = await index._shelf.open()
    await index._door.delete(on.heads, [records.head_id(one.chunk.id.document, "v1")])

    held = {each.id: each.found async for each in index.stored("files")}

    assert held == {one.chunk.id: False, other.chunk.id: True}
    assert keys(await index.search(asking("refund"))) == ["e"]


async def test_a_word_is_found_behind_a_page_full_of_equal_vectors(index: WeaviateIndex) -> None:
    same = vector_of("boiler plate")
    for number in range(5):
        await index.put(
            [entry(f"same{number}", "boiler plate", section=str(n), ordinal=n, vector=same) for n in range(26)]
        )
    await index.put([entry("zebra", "zebra crossing")])

    found = await index.search(asking("zebra", vector="boiler plate", limit=50))

    assert len(found) == 50
    assert await index.check() is None


async def test_a_search_does_not_wait_for_a_writer(index: WeaviateIndex) -> None:
    await index.put([entry("d", "travel refund")])
    await index._shelf._opening.acquire()  # as a writer holds it while the alias is looked up
    try:
        async with asyncio.timeout(10):
            assert keys(await index.search(asking("refund"))) == ["d"]
    finally:
        index._shelf._opening.release()


_WRITER = """
import asyncio, sys
from connectors.index.weaviate_door import Address
from tests.connectors.conformance.index_suite import IDENTITY, entry
from tests.weaviate import index_at

async def main():
    async with index_at(Address(*sys.argv[1:4]), sys.argv[4], IDENTITY) as index:
        for turn in range(int(sys.argv[5]), 100_000):
            await index.put([entry("d", f"refund {turn}.{n}", section=str(n), ordinal=n) for n in range(15)])
            print(turn, flush=True)

asyncio.run(main())
"""


async def test_a_kill_at_any_point_leaves_a_whole_version_and_an_index_that_goes_on(weaviate: Address) -> None:
    rng, name, last = random.Random(3), fresh_name(), -1
    for _ in range(3):
        told = [weaviate.http, weaviate.grpc, str(weaviate.key), name, str(last + 1)]
        writer = subprocess.Popen(  # noqa: ASYNC220 - starting it takes no time
            [sys.executable, "-c", _WRITER, *told],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": "."},
        )  # fmt: skip
        assert writer.stdout is not None
        first = await asyncio.to_thread(writer.stdout.readline)
        await asyncio.sleep(rng.uniform(0, 0.3))
        writer.send_signal(signal.SIGKILL)
        rest = await asyncio.to_thread(writer.stdout.read)
        await asyncio.to_thread(writer.wait)
        writer.stdout.close()
        last = int((first + rest).split()[-1])
        async with index_at(weaviate, name, IDENTITY) as index:
            found = await index.search(asking("refund", limit=100))

            assert len(found) == 15
            [turn] = {int(opened(candidate).text.split()[1].split(".")[0]) for candidate in found}
            assert turn in (last, last + 1)  # what was told is durable; one more may be, untold
            last = turn
    async with index_at(weaviate, name, IDENTITY) as index:
        await index.put([entry("d", "refund", section="only")])

        assert await index.count("files") == 1  # what the kills left is gone with the next writing


async def test_a_writing_that_was_never_finished_is_read_by_nobody(index: WeaviateIndex) -> None:
    await index.put([entry("d", "travel refund", section="1")])
    on = await index._shelf.open()
    halves = [records.written(entry("d", f"travel {n}", section=str(n)), 7) for n in range(3)]
    await index._door.insert(on.passages, halves)

    assert [opened(each).text for each in await index.search(asking("travel CO-197"))] == ["travel refund"]
    assert len(await index.fetch([entry("d", "x", section=str(n)).chunk.id for n in range(3)], narrowed())) == 1
    assert await index.count("files") == 4
    await index.put([entry("d", "travel claim", section="1")])
    assert await index.count("files") == 1


async def test_many_entries_are_written_and_removed_whole(index: WeaviateIndex) -> None:
    await index.put([entry("d", f"refund {n}", section=str(n), ordinal=n) for n in range(330)])

    assert await index.count("files") == 330
    await index.repoint(DocumentId("files", "d"), ScopeId(5), ("x",), ())
    assert len(await index.search(asking("refund", narrowed([5]), limit=400))) == 330
    assert await index.retire(DocumentId("files", "d"), frozenset()) == 330
    assert await index.count("files") == 0


async def test_a_moved_document_keeps_its_vectors(index: WeaviateIndex) -> None:
    one = entry("d", "travel refund")
    await index.put([one])
    await index.repoint(one.chunk.id.document, ScopeId(2), ("x",), ())

    [found] = await index.search(asking("zzz", narrowed([2]), vector="travel refund"))

    assert found.ranks.vector_score == pytest.approx(1.0, abs=1e-5)


async def test_an_object_that_the_server_refuses_is_not_passed_over(index: WeaviateIndex) -> None:
    on = await index._shelf.open()
    good, bad = records.written(entry("a", "x"), 1), records.written(entry("b", "y"), 1)
    short = DataObject(uuid=bad.uuid, properties=bad.properties, vector=[1.0])
    await index._door.insert(on.passages, [good])

    with pytest.raises(DoorError, match="did not take 1 objects"):
        await index._door.insert(on.passages, [good, short])


async def test_a_scope_that_would_lose_digits_is_refused(index: WeaviateIndex) -> None:
    with pytest.raises(Stop, match="too large"):
        await index.put([entry("a", "x", scope=2**53 + 1)])


# ---------------------------------------------------------------- what serves


async def test_a_layout_that_differs_refuses_to_serve_and_says_how_to_reindex(weaviate: Address) -> None:
    name = fresh_name()
    async with index_at(weaviate, name, IDENTITY) as index:
        await index.put([entry("a", "x")])
        on = await index._shelf.open()
        await on.passages.config.add_property(Property(name="extra", data_type=DataType.TEXT))
    async with index_at(weaviate, name, IDENTITY) as index:
        assert "footnote reindex" in str(await index.check())
        with pytest.raises(Stop, match="'extra'"):
            await index.search(asking("x"))


async def test_writes_are_refused_once_the_alias_moved_and_reads_go_on(index: WeaviateIndex) -> None:
    await index.put([entry("a", "travel refund")])
    on, client = await index._shelf.open(), await index._door.client()
    other = schema.Names(on.names.passages.replace("_v1", "_v2"))
    await make(index._door, client, other, IDENTITY, 1)
    await client.alias.update(alias_name=on.names.passages.removesuffix("_v1"), new_target_collection=other.passages)

    with pytest.raises(Stop, match="start this process again"):
        await index.put([entry("b", "y")])
    with pytest.raises(Stop, match="start this process again"):
        await index.retire(DocumentId("files", "a"), frozenset())
    assert keys(await index.search(asking("refund"))) == ["a"]


async def test_two_processes_may_make_the_index_at_once(weaviate: Address) -> None:
    name = fresh_name()
    async with index_at(weaviate, name, IDENTITY) as one, index_at(weaviate, name, IDENTITY) as other:
        await asyncio.gather(one.put([entry("a", "refund")]), other.put([entry("b", "refund")]))

        assert sorted(keys(await one.search(asking("refund")))) == ["a", "b"]


# ---------------------------------------------------------------- trouble


class _Deaf(Searcher):
    """A server whose word search fails inside and says that it found nothing."""

    async def _hybrid_once(self, *arguments: Any, **how: Any) -> Any:
        return [replace(hit, words=None) for hit in await super()._hybrid_once(*arguments, **how)]


async def test_a_word_search_that_went_deaf_is_noticed(index: WeaviateIndex) -> None:
    await index.put([entry("a", "travel refund")])
    index._searcher = _Deaf(index._searcher.door, index._searcher.fusion)

    for limit in (50, 1):  # a page that is full too
        with pytest.raises(Transient, match="word search"):
            await index.search(asking("refund", limit=limit))
    assert "word search" in str(await index.check())
    assert keys(await index.search(asking("elsewhere"))) == ["a"]  # nothing there by any index is no fault


async def test_a_server_that_is_not_there_is_waited_for_no_longer_than_said(weaviate: Address) -> None:
    for address in (
        replace(weaviate, http="http://127.0.0.1:9", read_seconds=1.0),
        replace(weaviate, grpc="127.0.0.1:9", read_seconds=1.0),
    ):
        async with index_at(address, fresh_name(), IDENTITY) as index, asyncio.timeout(20):
            with pytest.raises(Transient):
                await index.search(asking("x"))
            assert "weaviate" in str(await index.check())


async def test_the_time_allowed_is_that_of_a_whole_search(weaviate: Address) -> None:
    class Slow(Door):
        async def read(self, work: Any) -> Any:
            told = await super().read(work)
            await asyncio.sleep(1.2)
            return told

    name = fresh_name()
    async with index_at(weaviate, name, IDENTITY) as index:
        await index.put([one := entry("d", "travel refund")])
        hasty = Slow(replace(weaviate, read_seconds=2.0))  # each call alone is in time
        index._door, before = hasty, index._door
        index._searcher = replace(index._searcher, door=hasty)
        try:
            for work in (
                index.search(asking("refund")),
                index.fetch([one.chunk.id], narrowed()),
                index.section(one.chunk.id.document, "v1", one.chunk.parent, narrowed()),
            ):
                with pytest.raises(Transient, match="within 2 s"):
                    await work
        finally:
            await hasty.close()
            index._door = before


async def test_who_asks_a_silent_server_at_once_waits_once() -> None:
    # They take connections and never say a word.
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        http, grpc = (f"127.0.0.1:{each.getsockname()[1]}" for each in (one, other))
        async with index_at(Address(f"http://{http}", grpc, "key", 1.0, 1.0), fresh_name(), IDENTITY) as index:
            async with asyncio.timeout(6):
                asked = (index.search(asking("x")) for _ in range(20))
                told = await asyncio.gather(*asked, return_exceptions=True)
            assert {type(each) for each in told} == {Transient}


async def test_a_wrong_key_is_told_to_be_changed(weaviate: Address) -> None:
    async with index_at(replace(weaviate, key="wrong"), fresh_name(), IDENTITY) as index:
        with pytest.raises(Stop, match="FOOTNOTE_WEAVIATE_API_KEY"):
            await index.search(asking("x"))


def _kinds(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


@pytest.mark.parametrize("kind", sorted(set(_kinds(WeaviateBaseError)), key=lambda kind: kind.__name__))
def test_every_error_of_the_client_becomes_one_of_ours(kind: type[Exception]) -> None:
    for status in (401, 422, 429, 503):
        error = kind.__new__(kind, "it said so")
        error._status_code = status  # type: ignore[attr-defined]

        mapped = ours(error, "http://there")

        assert isinstance(mapped, Stop | Transient)
        assert "http://there" in str(mapped)
