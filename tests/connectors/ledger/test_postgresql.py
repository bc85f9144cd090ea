"""The ledger on PostgreSQL: the suites, and what is PostgreSQL's own."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert, select, text, update

from connectors.errors import DoorError, Stop, Transient
from connectors.ledger.address import Limits, address, connecting, without_password
from connectors.ledger.open import Ledger, open_ledger
from connectors.ledger.tables import scopes, sources
from connectors.ledger.traces import SqlTraces
from connectors.trace_signer import TraceSigner
from connectors.vault import Vault
from policies.facts import ScopeState
from policies.names import ScopeId
from tests.connectors.conformance.catalog_suite import CatalogSuite
from tests.connectors.conformance.cover_suite import CoverSuite
from tests.connectors.conformance.facts_suite import FactsSuite
from tests.connectors.conformance.memory_suite import MemorySuite
from tests.connectors.ledger.making import HR, NOW, page, published, rules
from tests.connectors.ledger.owner import Owner
from tests.servers import Postgres

KEY = "Zq8v3L1xW0pT7nYb5cRk2mJd9fHs4gAe"
QUICK = Limits(pool_size=2, wait=timedelta(milliseconds=300), statement=timedelta(seconds=1))


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url


@pytest.fixture
async def ledger(url: str) -> AsyncIterator[Ledger]:
    async with open_ledger(url) as opened:
        yield opened


class TestPostgresqlFacts(FactsSuite):
    pass


class TestPostgresqlCovers(CoverSuite):
    pass


class TestPostgresqlCatalog(CatalogSuite):
    pass


class TestPostgresqlMemory(MemorySuite):
    pass


# ---------------------------------------------------------------- zones, numbers, texts


class TestFactsInAnotherZoneAndOrder(FactsSuite):
    """A session that counts time in another zone, writes dates another way round and has read-only habits."""

    @pytest.fixture
    def url(self, postgres_url: str) -> str:
        return f"{postgres_url}&TimeZone=Asia/Kolkata&DateStyle=SQL,%20DMY&lc_messages=C"


async def test_times_are_kept_to_the_microsecond_in_any_zone_of_the_session(postgres_url: str) -> None:
    precise = NOW + timedelta(microseconds=123_457)
    for zone in ("UTC", "America/St_Johns", "Pacific/Chatham"):
        async with open_ledger(f"{postgres_url}&TimeZone={zone}") as ledger:
            scope, _ = await ledger.catalog.state_rules(rules(verified_at=precise, lease=timedelta(microseconds=1)))
            await published(ledger, page(effective_from=date(2026, 1, 1)), scope)
            held = (await ledger.facts.scopes([scope]))[scope]
            resource = (await ledger.facts.resources([(page().id, "v1")]))[page().id, "v1"]

            assert (held.verified_at, held.lease) == (precise, timedelta(microseconds=1))
            assert resource.effective_from == date(2026, 1, 1)
            assert await ledger.facts.satisfied(frozenset([HR]), precise + timedelta(microseconds=1)) == {scope}
            assert not await ledger.facts.satisfied(frozenset([HR]), precise + timedelta(microseconds=2))


async def test_a_number_may_need_all_its_bits(ledger_url: str) -> None:
    large = 2**62
    async with open_ledger(ledger_url) as ledger:
        first, _ = await ledger.catalog.state_rules(rules("first"))
        async with ledger.door.write() as connection:
            row = (await connection.execute(select(scopes).where(scopes.c.id == first))).mappings().one()
            await connection.execute(insert(scopes).values({**row, "id": large, "root": "large"}))
        lease = timedelta(microseconds=large)
        long, _ = await ledger.catalog.state_rules(rules("long", lease=lease))
        found = await ledger.facts.scopes([ScopeId(large), long])

        assert await ledger.facts.satisfied(frozenset([HR]), NOW) == {first, large, long}
        assert (found[ScopeId(large)].id, found[long].lease) == (large, lease)


# ---------------------------------------------------------------- transactions once more, and limits


async def _deadlock(ledger: Ledger, url: str) -> None:
    """Two writers of which each waits for what the other has; the ledger's own side is the one that gives way."""
    async with open_ledger(url) as other:
        one, two = asyncio.Event(), asyncio.Event()

        async def theirs() -> None:
            async with other.door.engine.begin() as connection:
                await connection.execute(text("SET LOCAL deadlock_timeout = '20s'"))  # not the one that notices
                await connection.execute(update(sources).where(sources.c.name == "b").values(kind="theirs"))
                two.set()
                await one.wait()
                await connection.execute(update(sources).where(sources.c.name == "a").values(kind="theirs"))

        tried = 0

        async def ours() -> None:
            nonlocal tried

            def work(connection):  # type: ignore[no-untyped-def]
                nonlocal tried
                tried += 1
                connection.execute(update(sources).where(sources.c.name == "a").values(kind="ours"))
                one.set()
                connection.execute(update(sources).where(sources.c.name == "b").values(kind="ours"))

            await two.wait()
            await ledger.door.change(work)

        await asyncio.gather(theirs(), ours())

        assert tried == 2


async def test_a_transaction_that_the_database_took_back_is_carried_out_again(ledger: Ledger, url: str) -> None:
    for name in ("a", "b"):
        await _row(ledger, name)
    await _deadlock(ledger, url)

    assert {each.kind for each in await ledger.sources.list()} == {"ours"}


async def _row(ledger: Ledger, name: str) -> None:
    from connectors.ports import SourceConfig

    await ledger.sources.add(SourceConfig(name, "files", {}), NOW)


@pytest.mark.parametrize(("state", "times"), [("40001", 5), ("40P01", 5), ("23505", 1), ("57014", 1), ("53300", 1)])
async def test_only_what_asks_for_it_is_repeated_and_not_for_ever(ledger: Ledger, state: str, times: int) -> None:
    tried = 0

    def work(connection):  # type: ignore[no-untyped-def]
        nonlocal tried
        tried += 1
        connection.execute(text(f"DO $$ BEGIN RAISE EXCEPTION 'so' USING ERRCODE = '{state}'; END $$"))

    with pytest.raises(Transient):
        await ledger.door.change(work)

    assert tried == times


async def test_a_role_s_step_is_repeated_whole(ledger: Ledger, url: str) -> None:
    # A trigger that takes the first two attempts back, counted by a sequence, which no rollback takes back.
    owner = Owner(url)
    owner.run("CREATE SEQUENCE tried")
    owner.run(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('tried') < 3 THEN "
        "RAISE EXCEPTION 'so' USING ERRCODE = '40001'; END IF; RETURN NEW; END $$"
    )
    owner.run("CREATE TRIGGER refuse BEFORE INSERT ON scopes FOR EACH ROW EXECUTE FUNCTION refuse()")

    scope, _ = await ledger.catalog.state_rules(rules())

    assert await ledger.facts.satisfied(frozenset([HR]), NOW) == {scope}


async def test_a_writer_waits_for_another_no_longer_than_it_is_told(url: str) -> None:
    async with open_ledger(url, QUICK) as ledger, open_ledger(url) as other, other.door.write():
        with pytest.raises(Transient, match="busy"):
            await ledger.catalog.state_rules(rules())


async def test_a_connection_is_waited_for_no_longer_than_told(url: str) -> None:
    async with open_ledger(url, QUICK) as ledger, ledger.door.read(), ledger.door.read():
        with pytest.raises(Transient, match="no connection became free"):
            await ledger.sources.list()


async def test_a_statement_takes_no_longer_than_told(url: str) -> None:
    async with open_ledger(url, QUICK) as ledger:
        with pytest.raises(Transient, match="busy"):
            await ledger.door.look(lambda connection: connection.execute(text("SELECT pg_sleep(30)")))
        with pytest.raises(Transient, match="busy"):
            await ledger.door.change(lambda connection: connection.execute(text("SELECT pg_sleep(30)")))

        assert await ledger.sources.list() == []


async def test_a_writer_that_says_nothing_any_more_loses_its_turn(url: str) -> None:
    async def silent(ledger: Ledger) -> None:
        async with ledger.door.write() as connection:
            await connection.execute(update(scopes).values(state="gone"))
            await asyncio.sleep(1.5)
            await connection.execute(update(scopes).values(state="gone"))

    async with open_ledger(url, QUICK) as lost, open_ledger(url) as other:
        scope, _ = await other.catalog.state_rules(rules())
        writing = asyncio.create_task(silent(lost))
        await asyncio.sleep(1.2)
        await other.catalog.state_rules(rules("next"))

        assert scope in await other.facts.satisfied(frozenset([HR]), NOW)
        with pytest.raises(Transient):
            await writing


@pytest.mark.parametrize(("default", "in_force"), [("off", "on"), ("remote_apply", "remote_apply")])
async def test_what_is_reported_as_written_was_flushed_whatever_the_server_s_default(
    url: str, default: str, in_force: str
) -> None:
    async with open_ledger(f"{url}&synchronous_commit={default}") as ledger:
        asked = text("SELECT current_setting('synchronous_commit')")

        assert await ledger.door.change(lambda connection: connection.execute(asked).scalar()) == in_force


async def test_the_server_is_told_who_asks(ledger: Ledger, url: str) -> None:
    await ledger.sources.list()
    names = Owner(url).run("SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = current_database()")

    assert ("footnote",) in [tuple(row) for row in names]


async def test_a_plan_from_before_a_migration_is_made_anew(ledger: Ledger, url: str) -> None:
    await ledger.sources.list()
    owner = Owner(url)
    owner.run("ALTER TABLE sources ALTER COLUMN settings TYPE varchar(9000)")
    scope, _ = await ledger.catalog.state_rules(rules())
    owner.run("ALTER TABLE scopes ALTER COLUMN reason TYPE varchar(9000)")

    assert (await ledger.facts.scopes([scope]))[scope].state is ScopeState.ACTIVE
    assert await ledger.sources.list() == []


async def test_no_statement_stays_prepared_where_a_pooler_would_hand_it_to_others(url: str) -> None:
    prepared = text("SELECT count(*) FROM pg_prepared_statements WHERE name NOT LIKE 'footnote%'")
    async with open_ledger(f"{url}&prepared_statement_cache_size=0", Limits(pool_size=1)) as ledger:
        scope, _ = await ledger.catalog.state_rules(rules())
        for _ in range(3):
            assert await ledger.facts.satisfied(frozenset([HR]), NOW) == {scope}

        assert await ledger.door.look(lambda connection: connection.execute(prepared).scalar()) == 0


async def test_what_a_pooler_mixed_up_says_what_to_do(ledger: Ledger) -> None:
    missing = text("DO $$ BEGIN RAISE EXCEPTION 'so' USING ERRCODE = '26000'; END $$")

    with pytest.raises(Stop, match="prepared_statement_cache_size=0"):
        await ledger.door.change(lambda connection: connection.execute(missing))


# ---------------------------------------------------------------- addresses and their secrets


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("sslmode=verify-full&sslrootcert=/ca.pem", "sslmode=verify-full&sslrootcert=%2Fca.pem"),
        ("ssl=require", "sslmode=require"),
        ("target_session_attrs=read-write", "target_session_attrs=read-write"),
    ],
)
def test_what_every_tool_understands_in_an_address_reaches_the_driver(given: str, sent: str) -> None:
    place, arguments = connecting(address(f"postgresql://u:p@db.example:5433/l?{given}"), Limits())

    assert arguments["dsn"] == f"postgresql://?{sent}"
    assert dict(place.query) == {}
    assert (place.host, place.port, place.database) == ("db.example", 5433, "l")


@pytest.mark.parametrize("mode", ["sslmode=require", "ssl=verify-full"])
async def test_a_server_without_tls_is_refused_where_tls_is_asked_for(postgres: Postgres, mode: str) -> None:
    address_ = f"{postgres.url_with_password('ledger')}?{mode}"

    with pytest.raises(DoorError) as refused:
        async with open_ledger(address_):
            pass
    assert "can't be used" in str(refused.value)


async def test_a_password_is_asked_for_over_the_network(postgres: Postgres) -> None:
    async with open_ledger(postgres.url_with_password("ledger")) as ledger:
        assert await ledger.sources.list() == []


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+asyncpg://footnote:{password}@127.0.0.1:{port}/ledger",
        "postgresql+asyncpg://footnote:{password}@127.0.0.1:{port}/ledger?sslmode=sometimes",
        "postgresql+asyncpg://footnote:{password}@127.0.0.1:{port}/ledger?sslrootcert=/none&sslmode=verify-full",
        "postgresql+asyncpg://footnote:{password}@127.0.0.1:{port}/ledger?no_such_setting=1",
        "postgresql+asyncpg://footnote:{password}@127.0.0.1:1/ledger",
        "postgresql+asyncpg://footnote:{password}@127.0.0.1:{port}/no_such_database",
        "postgresql+asyncpg://footnote:x@{password}@127.0.0.1:{port}/ledger",
        "postgresql+asyncpg://footnote:{password}/x@127.0.0.1:{port}/ledger",
        "postgresql+asyncpg://footnote:{password}@[127.0.0.1/ledger",
        "mysql://footnote:{password}@127.0.0.1/ledger",
        "postgresql+asyncpg://footnote@127.0.0.1:{port}/ledger?password={password}",
    ],
)
async def test_no_error_says_the_password(postgres: Postgres, url: str) -> None:
    secret = "Wq7zT4kLm9"

    with pytest.raises(DoorError) as refused:
        async with open_ledger(url.format(password=secret, port=postgres.port)):
            pass

    said = "".join(traceback.format_exception(refused.value))
    assert secret not in said
    assert secret not in repr(refused.value)


def test_an_address_is_shown_without_its_password() -> None:
    assert without_password("postgresql://u:secret@h/l") == "postgresql+asyncpg://u:***@h/l"


async def test_an_unknown_database_is_for_a_person_to_fix(postgres: Postgres) -> None:
    with pytest.raises(Stop, match="can't be used"):
        async with open_ledger(postgres.url("no_such_database")):
            pass


# ---------------------------------------------------------------- one chain


async def test_tasks_and_ledgers_write_one_chain_together(url: str, tmp_path: Path) -> None:
    signer = TraceSigner.new()

    async def write(ledger: Ledger) -> None:
        traces = SqlTraces(ledger.door, Vault([KEY]), signer, tmp_path / "checkpoints")
        for _ in range(10):
            trace = await traces.begin({"place": "dm"}, {}, NOW)
            await traces.end(trace, {"outcome": "answered"}, {}, NOW)

    async with open_ledger(url) as one, open_ledger(url) as two:
        await asyncio.gather(*(write(ledger) for ledger in (one, one, two, two)))
        verdict = await SqlTraces(one.door, Vault([KEY]), signer, tmp_path / "checkpoints").verify()

    assert (verdict.status, verdict.records, verdict.problem) == ("ok", 80, "")
