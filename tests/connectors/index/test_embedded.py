"""The embedded index keeps the port's promises, and some of its own: kills, other processes, and unread statistics."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from connectors.errors import Stop
from connectors.index.embedded import EmbeddedIndex
from connectors.ports import Index, IndexIdentity
from policies.names import DocumentId, ScopeId
from policies.predicate import matches
from tests.connectors.conformance.index_suite import (
    IDENTITY,
    IndexSuite,
    asking,
    attributes_of,
    entry,
    keys,
    narrowed,
    opened,
    random_entry,
    random_narrowing,
)


def open_at(place: Path, identity: IndexIdentity = IDENTITY) -> EmbeddedIndex:
    return EmbeddedIndex(place / "index.db", identity)


class TestEmbeddedIndex(IndexSuite):
    def handle(self, place: Path, identity: IndexIdentity = IDENTITY) -> AbstractAsyncContextManager[Index]:
        return open_at(place, identity)


async def test_what_an_asker_may_not_read_moves_nothing_in_his_results(tmp_path: Path) -> None:
    rng = random.Random(5)
    held = [random_entry(rng, number) for number in range(120)]
    async with open_at(tmp_path / "all") as everything:
        for one in held:
            await everything.put([one])
        for turn in range(8):
            narrowing = random_narrowing(rng)
            async with open_at(tmp_path / str(turn)) as readable:
                for one in held:
                    if matches(narrowing, attributes_of(one), one.containers):
                        await readable.put([one])
                search = asking("hotel refund CO-104", narrowing)

                among_all = await everything.search(search)
                alone = await readable.search(search)

            assert [found.id for found in alone] == [found.id for found in among_all]
            assert [found.score for found in alone] == pytest.approx([found.score for found in among_all], abs=1e-4)


async def test_random_histories_leave_what_a_new_file_would_hold(tmp_path: Path) -> None:
    rng = random.Random(11)
    meant: dict[tuple[str, str], list[object]] = {}
    async with open_at(tmp_path) as index, open_at(tmp_path) as reader:
        for step in range(150):
            key, version = f"d{rng.randrange(6)}", f"v{rng.randrange(3)}"
            document = DocumentId("files", key)
            match rng.randrange(4):
                case 0 | 1:
                    scope = rng.randrange(1, 4)
                    texts = [f"refund {key} {version} {step} {n}" for n in range(rng.randint(1, 4))]
                    await index.put([
                        entry(key, text, version=version, section=str(n), scope=scope) for n, text in enumerate(texts)
                    ])  # fmt: skip
                    meant[key, version] = [(text, scope) for text in texts]
                case 2:
                    await index.retire(document, frozenset([version]))
                    meant = {of: held for of, held in meant.items() if of[0] != key or of == (key, version)}
                case 3:
                    await index.repoint(document, ScopeId(9), (), ())
                    for of, held in meant.items():
                        if of[0] == key:
                            meant[of] = [(text, 9) for text, _ in held]  # type: ignore[misc]
            if step % 5 == 0:
                for scope in (1, 2, 3, 9):
                    found = await reader.search(asking("refund", narrowed([scope]), limit=200))
                    wanted = sorted(text for held in meant.values() for text, of in held if of == scope)  # type: ignore[misc]
                    assert wanted == sorted(opened(candidate).text for candidate in found)
        assert await index.check() is None


_WRITER = """
import asyncio, sys
from pathlib import Path
from tests.connectors.conformance.index_suite import entry
from tests.connectors.index.test_embedded import open_at

async def main():
    async with open_at(Path(sys.argv[1])) as index:
        for turn in range(int(sys.argv[2]), 100_000):
            await index.put([entry("d", f"refund {turn}.{n}", section=str(n), ordinal=n) for n in range(15)])
            print(turn, flush=True)

asyncio.run(main())
"""


def _writer(place: Path, first: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(place), str(first)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": "."},
    )


async def test_a_kill_at_any_point_leaves_a_whole_version_and_a_file_that_goes_on(tmp_path: Path) -> None:
    rng = random.Random(3)
    last = -1
    for _ in range(3):
        writer = _writer(tmp_path, last + 1)
        assert writer.stdout is not None
        told = await asyncio.to_thread(writer.stdout.readline)
        await asyncio.sleep(rng.uniform(0, 0.3))
        writer.send_signal(signal.SIGKILL)
        rest = await asyncio.to_thread(writer.stdout.read)
        await asyncio.to_thread(writer.wait)
        writer.stdout.close()
        last = int((told + rest).split()[-1])
        async with open_at(tmp_path) as index:
            found = await index.search(asking("refund", limit=100))

            assert len(found) == 15
            [turn] = {int(opened(candidate).text.split()[1].split(".")[0]) for candidate in found}
            assert turn in (last, last + 1)  # what was told is durable; one more may be, untold
            assert await index.check() is None
            last = turn


async def test_another_process_writes_while_this_one_reads(tmp_path: Path) -> None:
    async with open_at(tmp_path) as index:
        assert not await index.search(asking("refund"))
        writer = _writer(tmp_path, 0)
        assert writer.stdout is not None
        try:
            for _ in range(10):
                turn = int(await asyncio.to_thread(writer.stdout.readline))
                found = await index.search(asking("refund", limit=100))
                seen = {int(opened(candidate).text.split()[1].split(".")[0]) for candidate in found}
                assert len(found) == 15
                assert len(seen) == 1
                assert min(seen) >= turn
                await index.put([entry("mine", f"refund of mine {turn}")])
                await index.retire(DocumentId("files", "mine"), frozenset())
        finally:
            writer.kill()
            await asyncio.to_thread(writer.wait)
            writer.stdout.close()


async def test_a_damaged_file_says_what_to_do(tmp_path: Path) -> None:
    async with open_at(tmp_path) as index:
        await index.put([entry("d", "refund")])
    (tmp_path / "index.db").write_bytes(b"not a database at all" * 500)
    async with open_at(tmp_path) as index:
        said = await index.check()

        assert said is not None
        assert "sync" in said
        with pytest.raises(Stop):
            await index.search(asking("refund"))


async def test_rows_that_went_missing_are_noticed(tmp_path: Path) -> None:
    async with open_at(tmp_path) as index:
        await index.put([entry("d", "refund")])
        with sqlite3.connect(tmp_path / "index.db") as raw:
            raw.execute("DELETE FROM vectors")
        raw.close()

        assert "damaged" in str(await index.check())


async def test_readers_far_behind_load_anew(tmp_path: Path) -> None:
    async with open_at(tmp_path) as index, open_at(tmp_path) as behind:
        await index.put([entry("old", "refund")])
        assert keys(await behind.search(asking("refund"))) == ["old"]
        await index.retire(DocumentId("files", "old"), frozenset())
        await index.put([entry("new", "refund")])
        raw = sqlite3.connect(tmp_path / "index.db")
        with raw:
            raw.execute("DELETE FROM gone")
            raw.execute("UPDATE clock SET floor = stamp")
        raw.close()

        assert keys(await behind.search(asking("refund"))) == ["new"]


async def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with open_at(tmp_path) as index:
            await index.put([random_entry(random.Random(1), 1)])
            modes = {file.stat().st_mode & 0o777 for file in os.scandir(tmp_path)}
    finally:
        os.umask(before)

    assert modes == {0o600}
