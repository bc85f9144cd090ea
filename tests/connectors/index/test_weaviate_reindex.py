"""A new index is filled beside the one that serves, and serves itself only when it holds the same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from connectors.errors import Stop
from connectors.index import weaviate_records as records
from connectors.index.weaviate_door import Address
from connectors.index.weaviate_reindex import Embed, Reindex
from connectors.ports import IndexIdentity
from connectors.records import Entry
from policies.names import DocumentId, ScopeId
from tests.connectors.conformance.index_suite import (
    DIMENSIONS,
    IDENTITY,
    asking,
    entry,
    ids,
    keys,
    narrowed,
    opened,
    vector_of,
)
from tests.weaviate import MISSING, fresh_name, index_at

pytestmark = MISSING

OTHER = IndexIdentity("other@2", DIMENSIONS, IDENTITY.schema)


async def embed(texts: Sequence[str]) -> Any:
    return np.asarray([vector_of(f"other {text}") for text in texts])


class _AllBut(Mapping[UUID, str | None]):
    """Every passage there could be, except some."""

    def __init__(self, unnamed: frozenset[UUID], digests: Mapping[UUID, str]) -> None:
        self._unnamed, self._digests = unnamed, digests

    def __getitem__(self, spine: UUID) -> str | None:
        if spine in self._unnamed:
            raise KeyError(spine)
        return self._digests.get(spine)

    def __iter__(self) -> Iterator[UUID]:
        return iter(())

    def __len__(self) -> int:
        return 0


async def nothing() -> None: ...


@dataclass
class Everything:
    """A ledger that names whatever is there, and what happens around the move."""

    unnamed: frozenset[UUID] = frozenset()
    digests: Mapping[UUID, str] = field(default_factory=dict)
    before_the_move: Callable[[], Awaitable[None]] = nothing
    after_the_move: Callable[[], Awaitable[None]] = nothing
    told: list[bool] = field(default_factory=list)

    async def named(self) -> Mapping[UUID, str | None]:
        return _AllBut(self.unnamed, self.digests)

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        yield
        await self.after_the_move()

    async def moving(self, *, recut: bool) -> None:
        self.told.append(recut)
        await self.before_the_move()


def silent(_done: int, _of: int) -> None: ...


@pytest.fixture
async def name(weaviate: Address) -> AsyncIterator[str]:
    made = fresh_name()
    async with index_at(weaviate, made, IDENTITY) as index:
        for number in range(30):
            await index.put([entry(f"d{number}", f"refund {number}.{n}", section=str(n), ordinal=n) for n in range(3)])
        await index.put([entry("d0", "refund before", version="v0", superseded=True)])
        yield made


def reindex(address: Address, name: str, identity: IndexIdentity = OTHER, by: Embed = embed) -> Reindex:
    return Reindex(address, identity, by, name=name, replication=1)


async def test_another_model_gets_an_index_of_its_own_and_the_old_one_stays(weaviate: Address, name: str) -> None:
    async with index_at(weaviate, name, IDENTITY) as before, index_at(weaviate, name, OTHER) as after:
        held = ids(await before.search(asking("refund", limit=100)))
        assert "footnote reindex" in str(await after.check())

        done = await reindex(weaviate, name).run(Everything(), silent)

        assert (done.passages, done.copied, done.embedded, done.recut) == (91, 91, 91, False)
        assert await after.check() is None
        assert (before.collection, after.collection) == (f"{name}_v1", f"{name}_v2")  # what their traces name
        assert ids(await after.search(asking("refund", limit=100))) == held
        question = asking("zzz", vector="other Handbook\nrefund 7.1", limit=1)
        assert [opened(found).text for found in await after.search(question)] == ["refund 7.1"]
        assert ids(await before.search(asking("refund", limit=100))) == held  # whoever asks by the old model goes on

        assert await reindex(weaviate, name).roll_back() == (f"{name}_v2", f"{name}_v1")
        async with index_at(weaviate, name, IDENTITY) as again:
            assert await again.check() is None


async def test_the_same_model_keeps_its_vectors(weaviate: Address, name: str) -> None:
    done = await reindex(weaviate, name, IDENTITY).run(Everything(), silent)

    assert (done.copied, done.embedded) == (91, 0)
    async with index_at(weaviate, name, IDENTITY) as index:
        assert await index.check() is None
        assert len(await index.search(asking("refund", limit=100))) == 91


async def test_a_killed_run_goes_on_where_it_was(weaviate: Address, name: str) -> None:
    async def failing(texts: Sequence[str]) -> Any:
        raise RuntimeError("the power went")

    with pytest.raises(RuntimeError):
        await reindex(weaviate, name, by=failing).run(Everything(), silent)
    async with index_at(weaviate, name, IDENTITY) as index:
        assert await index.check() is None  # the old one serves

    done = await reindex(weaviate, name).run(Everything(), silent)
    assert done.now == f"{name}_v2"  # the one that was begun

    again = await reindex(weaviate, name).run(Everything(), silent)
    assert (again.before, again.now, again.embedded) == (f"{name}_v2", f"{name}_v3", 0)


async def test_what_is_written_meanwhile_is_brought_over(weaviate: Address, name: str) -> None:
    async with index_at(weaviate, name, IDENTITY) as before:
        written: list[list[Entry]] = [[entry("d1", "travel new", version="v2")], [entry("late", "travel late")]]

        async def slowly(texts: Sequence[str]) -> Any:
            if written:
                await before.put(written.pop())
                await before.retire(DocumentId("files", "d2"), frozenset())
                await before.repoint(DocumentId("files", "d3"), ScopeId(9), ("x",), ())
            return await embed(texts)

        await reindex(weaviate, name, by=slowly).run(Everything(), silent)
    async with index_at(weaviate, name, OTHER) as after:
        assert await after.count("files") == 91 - 3 + 2
        assert {"late", "d1"} <= set(keys(await after.search(asking("travel", limit=100))))
        assert set(keys(await after.search(asking("refund", narrowed([9]), limit=100)))) == {"d3"}
        assert "d2" not in keys(await after.search(asking("refund", limit=100)))


async def test_what_is_written_after_the_move_stays_as_it_was_written(weaviate: Address, name: str) -> None:
    async with index_at(weaviate, name, IDENTITY) as after:
        assert await after.check() is None  # opened while the old one serves

        async def go_on() -> None:  # as a process that was asked whether it is ready
            assert await after.check() is None
            await after.put([entry("fresh", "travel fresh")])
            await after.put([entry("d1", "travel again", version="v2")])
            await after.retire(DocumentId("files", "d1"), frozenset({"v2"}))
            await after.retire(DocumentId("files", "d2"), frozenset())
            await after.repoint(DocumentId("files", "d3"), ScopeId(9), ("x",), ())

        await reindex(weaviate, name, IDENTITY).run(Everything(after_the_move=go_on), silent)

        assert await after.count("files") == 91 + 1 + 1 - 3 - 3
        assert set(keys(await after.search(asking("travel", limit=100)))) >= {"fresh", "d1"}
        assert {found.id.version for found in await after.search(asking("again", limit=100))
                if found.id.document.key == "d1"} == {"v2"}  # fmt: skip
        assert "d2" not in keys(await after.search(asking("refund", limit=100)))
        assert set(keys(await after.search(asking("refund", narrowed([9]), limit=100)))) == {"d3"}


async def test_only_what_the_ledger_names_and_a_head_counts_is_shown_to_the_model(weaviate: Address, name: str) -> None:
    sent: list[str] = []

    async def listening(texts: Sequence[str]) -> Any:
        sent.extend(texts)
        return await embed(texts)

    buried, reworded, headless = (entry(key, f"salary {key}") for key in ("buried", "reworded", "headless"))
    async with index_at(weaviate, name, IDENTITY) as before:
        for each in (buried, reworded, headless):
            await before.put([each])
        on = await before._shelf.open()
        await before._door.delete(on.heads, [records.head_id(headless.chunk.id.document, "v1")])
    ledger = Everything(frozenset([buried.chunk.id.uuid]), {reworded.chunk.id.uuid: "the digest of another wording"})

    done = await reindex(weaviate, name, by=listening).run(ledger, silent)

    assert done.passages == done.embedded == len(sent) == 91
    assert not [text for text in sent if "salary" in text]
    async with index_at(weaviate, name, OTHER) as after:
        assert await after.count("files") == 91


async def test_that_all_is_to_be_read_again_is_told_before_the_move(weaviate: Address, name: str) -> None:
    recut = IndexIdentity(IDENTITY.model, DIMENSIONS, f"{IDENTITY.schema}+1")

    async def killed() -> None:
        raise RuntimeError("the power went")

    for ledger in (Everything(before_the_move=killed), Everything(before_the_move=killed)):
        with pytest.raises(RuntimeError):
            await reindex(weaviate, name, recut).run(ledger, silent)
        assert ledger.told == [True]  # a run after a kill tells it again
        async with index_at(weaviate, name, IDENTITY) as index:
            assert await index.check() is None  # nothing moved

    last = Everything()
    assert (await reindex(weaviate, name, recut).run(last, silent)).recut
    assert last.told == [True]


async def test_there_has_to_be_an_index(weaviate: Address) -> None:
    with pytest.raises(Stop, match="footnote sync"):
        await reindex(weaviate, fresh_name()).run(Everything(), silent)
