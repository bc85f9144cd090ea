"""A ledger moves to another database whole, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from sqlalchemy import delete, insert, select, text, update

from connectors.chat import Exchange, MostWaiting
from connectors.errors import Stop, Transient
from connectors.identity.directory import read_directory
from connectors.ledger import copying
from connectors.ledger.address import Limits
from connectors.ledger.copying import Copied, copy
from connectors.ledger.dialect import engine
from connectors.ledger.door import Door
from connectors.ledger.exchanges import SqlExchanges
from connectors.ledger.inbox import SqlInbox
from connectors.ledger.logins import SqlLogins
from connectors.ledger.memory import SqlMemory
from connectors.ledger.migrations import HEAD
from connectors.ledger.open import open_ledger
from connectors.ledger.tables import METADATA, documents, scopes
from connectors.ledger.tickets import SqlTickets
from connectors.ledger.traces import SqlTraces
from connectors.ports import ChainVerdict, Event, SourceConfig
from connectors.records import Node, Own
from connectors.trace_signer import TraceSigner
from connectors.vault import Vault
from policies.access import AccessExpr, Unknown
from policies.names import DocumentId
from tests.connectors.ledger.making import FINANCE, HR, LEGAL, NOW, page, published, rules
from tests.connectors.ledger.owner import Owner

KEY = "Zq8v3L1xW0pT7nYb5cRk2mJd9fHs4gAe"
DIRECTORY = """
[people."asha@example.com"]
name = "Asha ä 名"
kind = "member"
groups = ["grp:hr"]
identities = { "slack:T1" = "U1" }
[groups."grp:everyone"]
includes = ["grp:hr"]
[places."private:C1"]
members = ["asha@example.com"]
"""


class Move:
    """A ledger at one address with something of everything in it, and an empty place for it."""

    def __init__(self, here: str, there: str, folder: Path) -> None:
        self.here, self.there, self.folder = here, there, folder
        self.signer = TraceSigner.new()

    def traces(self, door: Door) -> SqlTraces:
        return SqlTraces(door, Vault([KEY]), self.signer, self.folder / "checkpoints")

    async def fill(self, documents: int = 12) -> None:
        async with open_ledger(self.here) as ledger:
            await ledger.sources.add(SourceConfig("wiki", "files", {"path": "/wiki ä"}), NOW)
            await ledger.people.replace(read_directory(DIRECTORY), NOW)
            for number, access in enumerate((AccessExpr.all_of([HR, FINANCE], [LEGAL]), Unknown("403"))):
                await ledger.catalog.state_rules(rules(f"r{number}", access))
            scope, _ = await ledger.catalog.state_rules(rules(lease=timedelta(microseconds=2**62)))
            async with ledger.catalog.run("wiki", NOW) as run:
                for number in range(documents):
                    document = page(f"ä{number}.md", ancestors=("home", "team"), effective_from=date(2026, 1, 1))
                    await published(ledger, document, scope)
                await ledger.catalog.checkpoint(run, "after", NOW)
                await ledger.catalog.finish(run, {"seen": documents, "complete": True}, NOW)
            await ledger.catalog.hide_subtree("wiki", "team", "rights changed", NOW + timedelta(microseconds=1))
            await ledger.catalog.entomb(DocumentId("wiki", "ä0.md"), "deleted", NOW)
            memory = SqlMemory(ledger.door, "wiki")
            facts = {"title": "half \ud800, ä"}
            rules_of_its_own = Own(AccessExpr.any_of(HR))
            await memory.put([Node("top", None, "top", "space", rules_of_its_own, NOW, False, facts=facts)])
            await memory.keep_note("settle:top", "1")
            await memory.told([Event("top", "moved", closes=True)], NOW)
            await self.ask(ledger.door)
            inbox = SqlInbox(ledger.door, Vault([KEY]))
            await inbox.receive(["event:1", "ts:1"], "T1", "U1", {"text": "?"}, MostWaiting(9, 9), NOW)
            await self.fill_people_s_own(ledger.door)

    async def fill_people_s_own(self, door: Door) -> None:
        vault, tomorrow = Vault([KEY]), NOW + timedelta(days=1)
        exchanges = SqlExchanges(door, vault)
        await exchanges.keep(Exchange("e1", "usr:a@x.io", "shown", {"question": "?"}, NOW, "t1", None), tomorrow)
        await exchanges.rate("e1", "bad", ["wrong"], "no", NOW)
        await SqlTickets(door, vault).issue("link", "slack:T1:U1", {"team": "T1"}, NOW, tomorrow)
        await SqlLogins(door, vault).keep("oidc:https://login", "s1", "refresh", NOW)

    async def ask(self, door: Door) -> None:
        for _ in range(3):
            trace = await self.traces(door).begin({"place": "dm"}, {"question": "?"}, NOW)
            await self.traces(door).end(trace, {"outcome": "answered"}, {}, NOW)

    async def copy(self, killed_after: int | None = None) -> Copied:
        """Copy; killed after so many rows where that is given."""

        def tell(done: int, _total: int | None, _what: str) -> None:
            if killed_after is not None and done >= killed_after:
                raise Killed

        here, there = Door(engine(self.here)), Door(engine(self.there))
        try:
            return await copy(here, there, lambda door: self.traces(door).verify(), tell)
        finally:
            await here.close()
            await there.close()


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture(params=["sqlite to postgresql", "postgresql to sqlite"])
def move(request: pytest.FixtureRequest, tmp_path: Path) -> Move:
    sqlite = f"sqlite+aiosqlite:///{tmp_path / 'ledger.sqlite'}"
    if request.param.startswith("sqlite"):
        return Move(sqlite, request.getfixturevalue("empty_postgres_url"), tmp_path)
    return Move(request.getfixturevalue("postgres_url"), sqlite, tmp_path)


@pytest.fixture
def row_by_row() -> Iterator[None]:
    """Few rows at once, so that a small ledger has many places to be killed at."""
    before, copying._ROWS = copying._ROWS, 3
    yield
    copying._ROWS = before


async def test_everything_is_at_the_other_place(move: Move) -> None:
    await move.fill()
    copied = await move.copy()

    assert (copied.chain.status, copied.chain.records, copied.already) == ("ok", 6, False)
    assert (copied.tables["documents"], copied.tables["traces"], copied.tables["people"]) == (12, 6, 1)
    assert all(copied.tables[name] for name in METADATA.tables if name not in ("run_claims",))
    async with open_ledger(move.here) as here, open_ledger(move.there) as there:
        for each in (here, there):
            scope = await each.catalog.scope_of("wiki", "hr")
            assert scope is not None
        asked = [(DocumentId("wiki", f"ä{number}.md"), "v1") for number in range(12)]
        assert await here.facts.resources(asked) == await there.facts.resources(asked)
        assert await here.people.list() == await there.people.list()
        assert await here.sources.status("wiki") == await there.sources.status("wiki")
        await move.ask(there.door)
        assert (await move.traces(there.door).verify()).records == 12


async def test_a_number_that_was_given_out_is_not_given_out_again_at_the_other_place(move: Move) -> None:
    await move.fill()
    async with open_ledger(move.here) as here:
        last, _ = await here.catalog.state_rules(rules("forgotten", source="other"))
        async with here.door.write() as connection:
            await connection.execute(delete(scopes).where(scopes.c.source == "other"))
    await move.copy()

    async with open_ledger(move.there) as there:
        new, _ = await there.catalog.state_rules(rules("new", source="other"))
        assert new > last


@pytest.mark.usefixtures("row_by_row")
@pytest.mark.parametrize("rows", [1, 30, 90])
async def test_a_copy_that_was_killed_is_no_ledger_until_it_went_on(move: Move, rows: int) -> None:
    await move.fill()
    with pytest.raises(Killed):
        await move.copy(killed_after=rows)
    with pytest.raises(Stop, match="not finished"):
        async with open_ledger(move.there):
            pass

    copied = await move.copy()

    assert (copied.chain.status, copied.tables["documents"]) == ("ok", 12)
    async with open_ledger(move.there) as there:
        assert len(await there.people.list()) == 1


@pytest.mark.usefixtures("row_by_row")
async def test_what_changed_after_the_kill_is_copied_anew(move: Move) -> None:
    await move.fill()
    with pytest.raises(Killed):
        await move.copy(killed_after=100)
    async with open_ledger(move.here) as here:
        await here.catalog.state_rules(rules("r0", AccessExpr.any_of(FINANCE)))
        await here.catalog.entomb(DocumentId("wiki", "ä3.md"), "deleted", NOW)
        await move.ask(here.door)

    copied = await move.copy()

    assert (copied.chain.records, copied.tables["tombstones"]) == (12, 2)
    async with open_ledger(move.there) as there:
        scope = await there.catalog.scope_of("wiki", "r0")
        assert scope in await there.facts.satisfied(frozenset([FINANCE]), NOW)


async def test_copying_again_finds_the_copy_whole(move: Move) -> None:
    await move.fill()
    await move.copy()

    assert (await move.copy()).already


async def test_a_target_that_was_used_since_is_left_alone(move: Move) -> None:
    await move.fill()
    await move.copy()
    async with open_ledger(move.there) as there:
        await there.catalog.state_rules(rules("new"))
        before = await there.facts.satisfied(frozenset([HR]), NOW)

    with pytest.raises(Stop, match="not this ledger"):
        await move.copy()
    async with open_ledger(move.there) as there:
        assert await there.facts.satisfied(frozenset([HR]), NOW) == before


async def test_a_target_with_other_tables_is_refused(move: Move) -> None:
    await move.fill()
    Owner(move.there).run("CREATE TABLE somebody_elses (id integer)")

    with pytest.raises(Stop, match="something else"):
        await move.copy()
    assert Owner(move.there).run("SELECT * FROM somebody_elses") == []


async def test_an_empty_ledger_is_a_good_target(move: Move) -> None:
    await move.fill()
    async with open_ledger(move.there):
        pass

    assert (await move.copy()).tables["documents"] == 12


@pytest.mark.usefixtures("row_by_row")
async def test_a_row_changed_at_the_target_is_noticed(move: Move) -> None:
    """Between the copy and the comparison, as a faulty disk or a second writer would."""
    await move.fill()
    with pytest.raises(Killed):
        await move.copy(killed_after=100)
    there = Door(engine(move.there))
    async with there.write() as connection:
        await connection.execute(update(documents).where(documents.c.id == 3).values(problem="changed"))
    await there.close()

    copied = await move.copy()

    async with open_ledger(move.there) as ledger, ledger.door.read() as connection:
        problems = (await connection.execute(select(documents.c.problem))).scalars().all()
    assert (copied.tables["documents"], set(problems)) == (12, {None})


@pytest.mark.usefixtures("row_by_row")
async def test_traces_of_another_ledger_are_never_touched(move: Move) -> None:
    await move.fill()
    with pytest.raises(Killed):
        await move.copy(killed_after=100)
    there = Door(engine(move.there))
    async with there.write() as connection:
        row = {"trace": "t", "kind": "begin", "at": NOW, "prev": "x", "leaf": "y", "record": b"{}"}
        await connection.execute(insert(METADATA.tables["traces"]).values(seq=99, **row))
    await there.close()

    with pytest.raises(Stop, match="another ledger"):
        await move.copy()


async def test_a_copy_begun_by_another_version_is_not_gone_on_with(move: Move) -> None:
    await move.fill()
    async with open_ledger(move.there):
        pass
    Owner(move.there).run("UPDATE alembic_version SET version_num = 'copying-0000'")

    with pytest.raises(Stop, match="another version"):
        await move.copy()


async def test_nobody_writes_to_the_source_meanwhile(move: Move) -> None:
    await move.fill()
    tried = []

    async def prove(door: Door) -> ChainVerdict:
        if not tried:
            tried.append(True)
            async with open_ledger(move.here, Limits(wait=timedelta(milliseconds=300))) as here:
                with pytest.raises(Transient, match="busy"):
                    await here.catalog.state_rules(rules("meanwhile"))
        return await move.traces(door).verify()

    here, there = Door(engine(move.here)), Door(engine(move.there))
    await copy(here, there, prove, lambda *_: None)
    await here.close()
    await there.close()

    assert tried


async def test_comparing_may_take_hours_while_postgresql_waits(empty_postgres_url: str, tmp_path: Path) -> None:
    """PostgreSQL ends a transaction that said nothing for longer than it was told."""
    move = Move(empty_postgres_url, f"sqlite+aiosqlite:///{tmp_path / 'ledger.sqlite'}", tmp_path)
    await move.fill()
    theirs = Owner(move.here)
    told: list[str] = []

    async def prove(door: Door) -> ChainVerdict:
        if not told:
            told.append("asked")
            await asyncio.sleep(1)  # longer than a step may otherwise take
            held = theirs.run(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted "
                "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
            assert held[0][0] == 2  # nobody writes to the catalog, and nobody to the traces
        return await move.traces(door).verify()

    hasty = Limits(statement=timedelta(milliseconds=500))
    here, there = Door(engine(move.here, hasty), hasty), Door(engine(move.there))
    async with here.patient() as patient, patient.write("catalog", "traces") as reading:
        for bound in ("idle_in_transaction_session_timeout", "statement_timeout", "lock_timeout"):
            assert (await reading.execute(text(f"SHOW {bound}"))).scalar() == "6h"
    copied = await copy(here, there, prove, lambda *_: None)
    await here.close()
    await there.close()

    assert copied.chain.status == "ok"


async def test_a_schema_s_state_is_the_newest_after_a_copy(move: Move) -> None:
    await move.fill()
    await move.copy()

    assert [tuple(row) for row in Owner(move.there).run("SELECT version_num FROM alembic_version")] == [(HEAD,)]
