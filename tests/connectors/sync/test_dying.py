"""kill -9 of a syncing process, and of the database: what is readable meanwhile, and that the next run ends it."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL
from datetime import timedelta
from pathlib import Path

import pytest

from connectors.errors import DoorError
from connectors.ledger.open import open_ledger
from connectors.ledger.traces import SqlTraces
from connectors.trace_signer import TraceSigner
from connectors.vault import Vault
from tests.connectors.ledger.making import HR, NOW, page, published, rules
from tests.connectors.sync.dying import tree_at
from tests.connectors.sync.tree import Tap, Tree
from tests.servers import own_postgres

ROOT = Path(__file__).parents[3]
KEY = "Zq8v3L1xW0pT7nYb5cRk2mJd9fHs4gAe"
pytestmark = pytest.mark.slow


def before(tree: Tree) -> None:
    tree.share(".", "grp:staff")
    tree.share("hr", "grp:hr")
    tree.write("a.md", "The old travel rule.")
    tree.write("gone.md", "What is withdrawn.")
    tree.write("hr/pay.md", "The pay of band four.")


def change(tree: Tree) -> None:
    """A text replaced, one gone, one new, and a right withdrawn."""
    tree.write("a.md", "The new travel rule.")
    tree.delete("gone.md")
    tree.write("new.md", "A page that is new.")
    tree.share("hr", "grp:board")


async def readable(tree: Tree) -> set[tuple[str, str]]:
    found = {group: await tree.texts(group) for group in ("grp:staff", "grp:hr", "grp:board")}
    return {(group, text) for group, documents in found.items() for texts in documents.values() for text in texts}


@pytest.mark.parametrize("calls", [3, 9, 16, 24])
async def test_a_sync_killed_anywhere_shows_no_more_than_before_and_after(
    ledger_url: str, tmp_path: Path, calls: int
) -> None:
    async with tree_at(ledger_url, tmp_path) as tree:
        before(tree)
        await tree.sync()
        old = await readable(tree)
        change(tree)
    command = [sys.executable, "-m", "tests.connectors.sync.dying", ledger_url, str(tmp_path), str(calls)]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=DEVNULL)
    assert await asyncio.wait_for(process.wait(), 60) == -9

    async with tree_at(ledger_url, tmp_path) as tree:
        tree.at += timedelta(minutes=10)
        left = await readable(tree)
        report = await tree.sync()
        new = await readable(tree)

    assert report.complete
    assert {text for _group, text in new} == {"The new travel rule.", "A page that is new.", "The pay of band four."}
    assert ("grp:hr", "The pay of band four.") not in new
    assert left <= old | new


async def test_a_sync_whose_database_is_killed_stops_and_the_next_one_ends_it(tmp_path: Path) -> None:
    with own_postgres() as server:
        url = server.address.url("postgres")
        async with tree_at(url, tmp_path) as tree:
            before(tree)
            await tree.sync()
            old = await readable(tree)
            change(tree)
            for fatal in (2, 8, 15):
                tap, killed = Tap(), list[int]()

                async def kill(tap: Tap = tap, fatal: int = fatal, killed: list[int] = killed) -> None:
                    if tap.calls >= fatal and not killed:  # several calls may be made at once
                        killed.append(tap.calls)
                        await asyncio.to_thread(server.kill)

                tap.watch = kill
                with pytest.raises((DoorError, BaseExceptionGroup)):
                    await tree.sync(tap=tap)
                with pytest.raises(DoorError):
                    await readable(tree)
                await asyncio.to_thread(server.start)
                seen = await readable(tree)

                assert {text for _group, text in seen - old} <= {"The new travel rule.", "A page that is new."}
            tree.at += timedelta(minutes=10)
            assert (await tree.sync()).complete
            assert {text for _group, text in await readable(tree)} == {
                "The new travel rule.",
                "A page that is new.",
                "The pay of band four.",
            }


async def test_what_was_told_as_written_is_there_after_the_server_was_killed(tmp_path: Path) -> None:
    signer = TraceSigner.new()
    with own_postgres() as server:
        async with open_ledger(server.address.url("postgres")) as ledger:
            traces = SqlTraces(ledger.door, Vault([KEY]), signer, tmp_path / "checkpoints")
            begun, scopes, ended = [], set(), 0
            for turn in range(4):
                doomed = None
                try:
                    for number in range(10_000):
                        begun.append(await traces.begin({"place": "dm"}, {"question": "?"}, NOW))
                        if number == 2 + turn:  # and the writer goes on while it dies
                            doomed = asyncio.create_task(asyncio.to_thread(server.kill))
                        scope, _ = await ledger.catalog.state_rules(rules(f"{turn}.{number}"))
                        scopes.add(scope)
                        await published(ledger, page(f"{turn}.{number}"), scope)
                        await traces.end(begun[-1], {"outcome": "answered"}, {}, NOW)
                        ended += 1
                except DoorError:
                    pass
                assert doomed is not None
                await doomed
                await asyncio.to_thread(server.start)
                verdict = await traces.verify()
                listed = {each.id for each in await traces.list(NOW, limit=100_000)}

                assert verdict.status == "ok"
                assert set(begun) <= listed
                assert verdict.records >= len(begun) + ended
                assert scopes <= await ledger.facts.satisfied(frozenset([HR]), NOW)
            assert ended
