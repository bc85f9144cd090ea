"""`footnote index check`: the index compared with the ledger, both ways, and made right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from bot.settings import Settings
from bot.wiring import App, open_app
from connectors.records import Entry
from policies.facts import Trust
from policies.names import ChunkId, DocumentId, ScopeId
from tests.bot.test_cli import Run, lines, one, runner, written

Change = Callable[[App], Any]


@pytest.fixture
def folder(tmp_path: Path) -> tuple[Run, Path]:
    place = tmp_path / "folder"
    place.mkdir()
    run = runner(tmp_path / "data")
    assert run("source", "add", "files", "corp", "--path", str(written(place))).exit_code == 0
    assert run("sync").exit_code == 0
    return run, tmp_path / "data"


def changed(data: Path, change: Change) -> None:
    """Do something to the index that the ledger does not know of."""

    async def work() -> None:
        opening: AbstractAsyncContextManager[App] = open_app(Settings.read({"FOOTNOTE_DATA": str(data)}))
        async with opening as app:
            await change(app)

    asyncio.run(work())


async def entry_like(app: App, key: str) -> Entry:
    """An entry of a document that the ledger does not know."""
    from tests.connectors.conformance.index_suite import entry

    plain = entry(key, "travel", source="corp")
    identity = app.index.identity
    vector = [1.0] + [0.0] * (identity.dimensions - 1)
    import numpy as np

    return Entry(plain.chunk, np.asarray(vector, np.float32), identity.model, ScopeId(1), (), Trust.CLEAN)


TRAVEL = DocumentId("corp", "travel.md")


async def lose(app: App) -> None:
    await app.index.retire(TRAVEL, frozenset())


async def invent(app: App) -> None:
    await app.index.put([await entry_like(app, "stranger.md")])


async def move(app: App) -> None:
    await app.index.repoint(TRAVEL, ScopeId(4711), (), ())


async def reword(app: App) -> None:
    held = [each async for each in app.index.stored("corp") if each.id.document == TRAVEL]
    other = await entry_like(app, "travel.md")
    from dataclasses import replace

    chunk = replace(other.chunk, id=ChunkId(TRAVEL, held[0].id.version, held[0].id.section))
    await app.index.put([Entry(chunk, other.vector, other.model, held[0].scope, (), Trust.CLEAN)])


def test_an_index_that_holds_what_it_ought_to_is_found_right(folder: tuple[Run, Path]) -> None:
    run, _ = folder

    record = one(run("index", "check", "--json"))

    assert record["ok"]
    assert record["expected"] == record["held"] > 0


@pytest.mark.parametrize(
    ("change", "kind"), [(lose, "missing"), (invent, "extra"), (move, "wrong_scope"), (reword, "wrong_text")]
)
def test_a_difference_is_found_named_and_made_right(folder: tuple[Run, Path], change: Change, kind: str) -> None:
    run, data = folder
    changed(data, change)

    found = one(run("index", "check", "--json"), 1)
    assert found[kind]
    assert not found["ok"]
    assert found["examples"]
    repaired = one(run("index", "check", "corp", "--repair", "--json"))
    assert repaired["repaired"]
    assert one(run("index", "check", "--json"))["ok"]

    [answer] = lines(run("ask", "How early are flights abroad booked?", "--as", "asha@example.com", "--json"))
    assert answer["outcome"] == "answered"


def test_an_earlier_wording_outlives_the_repair_of_a_later_one(tmp_path: Path) -> None:
    place, data = tmp_path / "folder", tmp_path / "data"
    place.mkdir()
    run = runner(data)
    written(place)
    first = (place / "access.toml").read_text()
    later = first.replace('version = "v2"\neffective_from = 2026-04-01', 'version = "v3"\neffective_from = 2026-09-01')
    assert run("source", "add", "files", "corp", "--path", str(place)).exit_code == 0
    assert run("sync").exit_code == 0
    (place / "travel.md").write_text("# Travel\n\n## 2.1 Flights\n\nFlights abroad are booked 21 days ahead.\n")
    (place / "access.toml").write_text(later)
    assert run("sync").exit_code == 0

    async def lose_the_later(app: App) -> None:
        await app.index.retire(TRAVEL, frozenset(["v2"]))

    changed(data, lose_the_later)
    assert one(run("index", "check", "--json"), 1)["missing"]
    assert one(run("index", "check", "corp", "--repair", "--json"))["repaired"]["to_read_again"] == 1
    assert one(run("index", "check", "--json"))["ok"]

    def asked(on: str) -> str:
        question = ("ask", "How early are flights abroad booked?", "--as", "asha@example.com", "--on", on, "--json")
        return str(one(run(*question))["text"])

    assert "14 days" in asked("2026-06-01")
    assert "21 days" in asked("2026-10-01")

    async def lose_the_earlier(app: App) -> None:
        await app.index.retire(TRAVEL, frozenset(["v3"]))

    changed(data, lose_the_earlier)
    assert one(run("index", "check", "corp", "--repair", "--json"))["repaired"]["to_read_again"] == 0
    assert one(run("index", "check", "--json"))["ok"]
    assert "14 days" not in asked("2026-06-01")


def test_the_embedded_index_says_how_it_is_made_anew(folder: tuple[Run, Path]) -> None:
    run, _ = folder

    said = run("reindex")

    assert said.exit_code == 2
    assert "index.sqlite" in said.output
