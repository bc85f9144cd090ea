"""`footnote index check`: the index compared with the ledger, both ways, and made right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from bot.indexing import Beside, check, remake, roll_back
from bot.keeping import sync_named
from bot.settings import Settings
from bot.wiring import App, open_app
from connectors.errors import Transient
from connectors.index.weaviate_door import Address
from connectors.index.weaviate_reindex import Reindex
from connectors.records import Entry
from policies.facts import Trust
from policies.names import ChunkId, DocumentId, ScopeId
from tests.bot.test_cli import Run, lines, one, runner, written
from tests.doubles.cohere import KEY, Cohere, Local
from tests.weaviate import MISSING, fresh_name, settings_of

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


COHERE = {
    "FOOTNOTE_EMBEDDER": "cohere",
    "FOOTNOTE_COHERE_API_KEY": KEY,
    "FOOTNOTE_COHERE_EMBED_DIMENSIONS": "512",
}
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


# ---------------------------------------------------------------- made anew on a server


@pytest.fixture
def served(tmp_path: Path, weaviate: Address) -> tuple[Run, Mapping[str, str]]:
    """A synced folder whose index is on a server: how to run a command, and the settings."""
    place, data = tmp_path / "folder", tmp_path / "data"
    place.mkdir()
    written(place)
    settings = {"FOOTNOTE_DATA": str(data), **settings_of(weaviate, fresh_name())}
    plain = runner(data)

    def run(*arguments: str) -> Result:
        return plain(*arguments, **{name.removeprefix("FOOTNOTE_"): value for name, value in settings.items()})

    assert run("source", "add", "files", "corp", "--path", str(place)).exit_code == 0
    assert run("sync").exit_code == 0
    return run, settings


@MISSING
def test_no_index_moves_while_a_sync_writes(served: tuple[Run, Mapping[str, str]]) -> None:
    _, settings = served

    async def work() -> None:
        async with open_app(Settings.read(settings)) as app:
            index, catalog = app.index, app.indexing.catalog
            async with catalog.run("corp", app.indexing.clock()):
                making = asyncio.create_task(remake(app.indexing, ["corp"], lambda _done, _of: None))
                await asyncio.wait([making], timeout=2)
                assert not making.done()
                await index.retire(TRAVEL, frozenset())  # the old one still takes writes
            done = await making
            assert done["now"].endswith("_v2")
            assert await index.check() is None  # and is on the new one from here
            assert TRAVEL not in {each.id.document async for each in index.stored("corp")}
            async with catalog.run("corp", app.indexing.clock()):
                pass  # nothing is held any more

    asyncio.run(work())


@MISSING
def test_the_index_before_knows_what_changed_since_it_was_left(served: tuple[Run, Mapping[str, str]]) -> None:
    run, settings = served
    assert run("reindex").exit_code == 0
    travel = Path(settings["FOOTNOTE_DATA"]).parent / "folder" / "travel.md"
    travel.write_text("# Travel\n\n## 2.1 Flights\n\nFlights abroad are booked 21 days ahead.\n")
    assert run("sync").exit_code == 0

    assert one(run("reindex", "--rollback", "--json"))["now"].endswith("_v1")

    asked = run("ask", "How early are flights abroad booked?", "--as", "asha@example.com", "--json")
    assert "21 days" in one(asked)["text"]
    assert one(run("index", "check", "--json"))["ok"]


@MISSING
def test_going_back_to_an_index_for_another_model_has_every_document_read_again(
    served: tuple[Run, Mapping[str, str]],
) -> None:
    _, settings = served
    double = Cohere()
    Local().behind(double)

    async def work() -> None:
        async with double.open() as url:
            other = {**settings, **COHERE, "FOOTNOTE_COHERE_BASE_URL": url}
            async with open_app(Settings.read(other)) as app:
                done = await remake(app.indexing, ["corp"], lambda _done, _of: None)
                assert (done["embedded"], done["to_read_again"]) == (done["passages"], 0)

                back = await roll_back(app.indexing, ["corp"])

                assert (back["now"][-3:], back["to_read_again"]) == ("_v1", ["corp"])
                assert "footnote reindex" in str(await app.index.check())  # it was made for the other model
                assert await known_revision(app) == ""
        async with open_app(Settings.read(settings)) as app:
            report = await sync_named(app.keeping, "corp", full=True)
            assert report["upserted"] == report["seen"]
            assert [each["ok"] async for each in check(app.indexing, ["corp"], mend=False)] == [True]

    asyncio.run(work())


@MISSING
def test_where_documents_are_cut_otherwise_now_each_is_read_again(served: tuple[Run, Mapping[str, str]]) -> None:
    _, settings = served

    async def work() -> None:
        configured = Settings.read(settings)
        async with open_app(configured) as app:
            there = Address(str(configured.weaviate_http), str(configured.weaviate_grpc),
                            settings["FOOTNOTE_WEAVIATE_API_KEY"])  # fmt: skip
            cut_otherwise = replace(app.index.identity, schema="passages/0")
            ledger = Beside(app.indexing, ["corp"])
            remade = Reindex(
                there, cut_otherwise, app.doors.embedder.passages, name=configured.weaviate_collection, replication=1
            )
            assert await known_revision(app) != ""

            done = await remade.run(ledger, lambda _done, _of: None)

            assert done.recut
            assert ledger.to_read_again == await documents(app)
            assert await known_revision(app) == ""

    asyncio.run(work())


async def documents(app: App) -> int:
    """How many the source has."""
    status = await app.keeping.sources.status("corp")
    assert status is not None
    assert status.documents > 0
    return status.documents


async def known_revision(app: App) -> str:
    """What the ledger holds the text of the document to; empty where whatever the source says next is new."""
    known = await app.catalog.known(TRAVEL)
    assert known is not None
    return known.revision


def test_a_comparison_is_none_of_the_runs_of_a_source(folder: tuple[Run, Path]) -> None:
    run, data = folder
    before = one(run("source", "show", "corp", "--json"))
    assert one(run("index", "check", "--json"))["ok"]
    assert one(run("source", "show", "corp", "--json"))["last_run"] == before["last_run"]

    async def meanwhile(app: App) -> None:
        async with app.indexing.catalog.run("corp", app.indexing.clock()):
            with pytest.raises(Transient):
                [each async for each in check(app.indexing, ["corp"], mend=True)]

    changed(data, meanwhile)


def test_the_embedded_index_says_how_it_is_made_anew(folder: tuple[Run, Path]) -> None:
    run, _ = folder

    said = run("reindex")

    assert said.exit_code == 2
    assert "index.sqlite" in said.output
