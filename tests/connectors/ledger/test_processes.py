"""The ledger under kill -9, and under several processes at once."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from connectors.ledger.migrations import HEAD
from connectors.ledger.open import open_ledger
from connectors.ledger.traces import SqlTraces
from connectors.trace_signer import TraceSigner
from connectors.vault import Vault, keys_from_file
from policies.facts import Life
from policies.names import ChunkId
from tests.connectors.ledger.making import HR, NOW, page, published, rules

ROOT = Path(__file__).parents[3]


@pytest.fixture
def url(ledger_url: str) -> str:
    return ledger_url


@asynccontextmanager
async def beside(deed: str, url: str, folder: Path) -> AsyncIterator[Process]:
    """Another process that is in the middle of a deed; killed at the end if it is still there."""
    command = [sys.executable, "-m", "tests.connectors.ledger.busy", deed, url, str(folder)]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=PIPE)
    assert process.stdout is not None
    try:
        assert await asyncio.wait_for(process.stdout.readline(), 60) == b"ready\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        process._transport.close()  # type: ignore[attr-defined]  # asyncio leaves it to the collector, with a warning


async def test_a_process_killed_in_a_change_leaves_the_state_before_it(url: str, tmp_path: Path) -> None:
    async with open_ledger(url) as ledger:
        scope, _ = await ledger.catalog.state_rules(rules())
        async with beside("half a change", url, tmp_path) as process:
            assert await ledger.facts.satisfied(frozenset([HR]), NOW) == {scope}
            process.kill()
            await process.wait()
        await ledger.catalog.state_rules(rules("after"))
    async with open_ledger(url) as reopened:
        assert len(await reopened.facts.satisfied(frozenset([HR]), NOW)) == 2


async def test_the_claim_of_a_killed_run_is_taken_over_at_once(url: str, tmp_path: Path) -> None:
    async with beside("a run", url, tmp_path) as process:
        process.kill()
        await process.wait()
    async with open_ledger(url) as ledger, ledger.catalog.run("wiki", NOW) as run:
        before = await ledger.facts.resources([(page().id, "v1")])
        scope = await ledger.catalog.scope_of("wiki", "hr")
        assert scope is not None
        assert await published(ledger, page(), scope, "new") == {"v1"}

        chunk = ChunkId(page().id, "v1", "s0")
        assert (before[page().id, "v1"].life, before[page().id, "v1"].current) == (Life.HIDDEN, False)
        assert await ledger.facts.digests([chunk]) == {chunk: {"new"}}
        assert run.cursor is None


async def test_several_processes_open_a_new_ledger_at_once(url: str, tmp_path: Path) -> None:
    async def opened() -> int | None:
        async with beside("open", url, tmp_path) as process:
            return await asyncio.wait_for(process.wait(), 60)

    assert await asyncio.gather(*(opened() for _ in range(3))) == [0, 0, 0]
    async with open_ledger(url) as ledger:
        assert (await ledger.sources.list(), HEAD) == ([], HEAD)


async def test_processes_write_one_chain_together(url: str, tmp_path: Path) -> None:
    async with open_ledger(url) as ledger:
        vault, signer = Vault(keys_from_file(tmp_path / "keys")), TraceSigner.from_file(tmp_path / "signer")
        traces = SqlTraces(ledger.door, vault, signer, tmp_path / "checkpoints")
        async with beside("traces", url, tmp_path) as process:
            for _ in range(25):
                trace = await traces.begin({"place": "dm"}, {"question": "?"}, NOW)
                await traces.end(trace, {"outcome": "answered"}, {}, NOW)
            assert await asyncio.wait_for(process.wait(), 60) == 0
        verdict = await traces.verify()

        assert (verdict.status, verdict.records, verdict.problem) == ("ok", 100, "")


async def test_tasks_of_one_process_write_one_chain_together(url: str, tmp_path: Path) -> None:
    async with open_ledger(url) as ledger:
        vault = Vault(keys_from_file(tmp_path / "keys"))
        traces = SqlTraces(ledger.door, vault, TraceSigner.new(), tmp_path / "checkpoints")
        await asyncio.gather(*(traces.begin({"place": "dm"}, {}, NOW) for _ in range(30)))

        assert (await traces.verify()).records == 30
