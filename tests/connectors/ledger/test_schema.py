"""The schema: migrations say what the tables say, go up and down, and refuse what they do not know."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event, inspect

from connectors.errors import DoorError, Stop, Transient
from connectors.ledger import migrations
from connectors.ledger.dialect import engine
from connectors.ledger.door import Door
from connectors.ledger.open import open_ledger
from connectors.ledger.tables import METADATA
from connectors.ledger.upgrade import migrate
from connectors.ports import SourceConfig
from policies.access import AccessExpr
from tests.connectors.ledger.making import FINANCE, HR, NOW, page, published, rules
from tests.connectors.ledger.owner import Owner
from tests.servers import Postgres


async def test_the_code_expects_the_last_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))

    assert ScriptDirectory.from_config(config).get_current_head() == migrations.HEAD


async def test_migrations_make_the_tables_that_the_code_has(ledger_url: str) -> None:
    async with open_ledger(ledger_url) as ledger, ledger.door.read() as connection:
        differences = await connection.run_sync(
            lambda sync: compare_metadata(MigrationContext.configure(sync, opts={"compare_type": True}), METADATA)
        )

    assert differences == []


async def test_a_schema_goes_down_and_up_again(ledger_url: str) -> None:
    async with open_ledger(ledger_url) as ledger:
        async with ledger.door.read() as connection:
            before = await connection.run_sync(described)
        async with ledger.door.write("schema") as connection:
            await connection.run_sync(migrate, "base")
        async with ledger.door.read() as connection:
            assert await connection.run_sync(lambda sync: inspect(sync).get_table_names()) == ["alembic_version"]
        async with ledger.door.write("schema") as connection:
            await connection.run_sync(migrate, migrations.HEAD)
        async with ledger.door.read() as connection:
            assert await connection.run_sync(described) == before

        scope, _ = await ledger.catalog.state_rules(rules())
        assert await ledger.facts.satisfied(frozenset([HR]), NOW) == {scope}


async def test_each_migration_goes_back_and_forth_with_rows_in_the_ledger(ledger_url: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    steps = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    async with open_ledger(ledger_url) as ledger:
        scope, _ = await ledger.catalog.state_rules(rules())
        await published(ledger, page(ancestors=("home", "team")), scope)
        for target in steps[1:]:
            async with ledger.door.write("schema") as connection:
                await connection.run_sync(migrate, target)
    async with open_ledger(ledger_url) as again:
        assert await again.facts.satisfied(frozenset([HR]), NOW) == {scope}
        assert (await again.facts.resources([(page().id, "v1")]))[page().id, "v1"].current


async def test_both_databases_get_the_same_schema(postgres_url: str, tmp_path: Path) -> None:
    """As far as they have the same words: names, order, nullability, keys, and what is unique or indexed."""
    found = []
    for url in (postgres_url, f"sqlite+aiosqlite:///{tmp_path / 'l'}"):
        async with open_ledger(url) as ledger, ledger.door.read() as connection:
            found.append(await connection.run_sync(described, types=False))

    assert found[0] == found[1]


async def test_a_database_that_keeps_texts_in_another_encoding_is_refused(postgres: Postgres) -> None:
    name = "latin"
    postgres.run(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")

    with pytest.raises(Stop, match="LATIN1"):
        async with open_ledger(postgres.url(name)):
            pass


def described(connection: Connection, types: bool = True) -> dict[str, Any]:
    """The schema as the database tells it."""
    seen = inspect(connection)
    return {
        table: {
            "columns": [
                (each["name"], each["nullable"], str(each["type"]) if types else "") for each in seen.get_columns(table)
            ],
            "primary key": seen.get_pk_constraint(table)["constrained_columns"],
            "foreign keys": sorted(
                (each["constrained_columns"], each["referred_table"], each["options"].get("ondelete"))
                for each in seen.get_foreign_keys(table)
            ),
            "unique": sorted((each["name"] or "", each["column_names"]) for each in seen.get_unique_constraints(table)),
            "indexes": sorted(
                (each["name"] or "", each["column_names"])
                for each in seen.get_indexes(table)
                if not each.get("duplicates_constraint")
            ),
        }
        for table in sorted(seen.get_table_names())
    }


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_a_migration_that_fails_leaves_the_schema_as_it_was(
    kind: str, empty_postgres_url: str, tmp_path: Path
) -> None:
    database = engine(empty_postgres_url if kind == "postgresql" else f"sqlite+aiosqlite:///{tmp_path / 'l'}")
    door = Door(database)

    async def half() -> None:
        async with door.write("schema") as connection:
            await connection.run_sync(migrate, migrations.HEAD)
            raise RuntimeError("the power went")

    with pytest.raises(RuntimeError):
        await half()
    async with door.read() as connection:
        assert await connection.run_sync(lambda sync: inspect(sync).get_table_names()) == []
    await door.close()


async def test_a_ledger_of_a_newer_version_is_refused(ledger_url: str) -> None:
    async with open_ledger(ledger_url):
        pass
    Owner(ledger_url).run("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(Stop, match="newer"):
        async with open_ledger(ledger_url):
            pass


def test_opening_a_ledger_again_does_not_import_alembic(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from connectors.ledger.open import open_ledger\n"
        "async def go():\n"
        f"    async with open_ledger('sqlite+aiosqlite:///{tmp_path / 'l'}'): pass\n"
        "asyncio.run(go())\n"
        "print('alembic' in sys.modules)\n"
    )
    printed = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    ]

    assert printed == ["True", "False"]


async def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        async with open_ledger(f"sqlite+aiosqlite:///{tmp_path / 'new' / 'ledger.sqlite'}") as ledger:
            await ledger.catalog.state_rules(rules())
            modes = {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "new").iterdir()}
    finally:
        os.umask(before)

    assert modes == {0o600}


@pytest.mark.parametrize("url", ["mysql://x/y", "not an address", "sqlite+pysqlite:///x"])
async def test_an_address_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(Stop):
        async with open_ledger(url):
            pass


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger").write_bytes(b"not a database " * 100)

    with pytest.raises(Stop, match="can't be used"):
        async with open_ledger(f"sqlite+aiosqlite:///{tmp_path / 'ledger'}"):
            pass


async def test_a_folder_that_can_not_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(Stop, match="FOOTNOTE_DATA"):
        async with open_ledger(f"sqlite+aiosqlite:///{tmp_path / 'file' / 'ledger'}"):
            pass


async def test_a_database_that_is_away_is_waited_for() -> None:
    with pytest.raises(Transient):
        async with open_ledger("postgresql+asyncpg://nobody@127.0.0.1:1/none"):
            pass


async def test_a_table_that_is_missing_is_an_error_of_the_door(ledger_url: str) -> None:
    async with open_ledger(ledger_url) as ledger:
        Owner(ledger_url).run("DROP TABLE clause_principals")

        with pytest.raises(DoorError):
            await ledger.facts.satisfied(frozenset([HR]), NOW)


async def test_a_naive_time_is_refused(ledger_url: str) -> None:
    async with open_ledger(ledger_url) as ledger:
        with pytest.raises((DoorError, ValueError)):
            await ledger.facts.satisfied(frozenset([HR]), NOW.replace(tzinfo=None))


async def test_checking_the_schema_is_a_few_statements_that_write_nothing(ledger_url: str) -> None:
    statements: list[str] = []
    async with open_ledger("sqlite+aiosqlite://" if "sqlite" in ledger_url else ledger_url) as ledger:
        from connectors.ledger.upgrade import bring_up

        event.listen(
            ledger.door.engine.sync_engine, "before_cursor_execute", lambda *args: statements.append(args[2].split()[0])
        )
        await bring_up(ledger.door)

    assert len(statements) <= 4
    assert set(statements) <= {"BEGIN", "PRAGMA", "SELECT"}


async def test_scopes_from_before_containers_stand_in_their_source_and_folders(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'ledger.sqlite'}"
    async with open_ledger(url) as ledger:
        await ledger.sources.add(SourceConfig("files", "files", {}), NOW)
        await ledger.sources.add(SourceConfig("wiki", "confluence", {}), NOW)
        for source, root in (("files", "."), ("files", "hr/pay.md"), ("files", "hr/old/pay.md"), ("wiki", "a/b")):
            await ledger.catalog.state_rules(rules(root, source=source))
        await ledger.catalog.state_rules(rules("hr/secret.md", AccessExpr.any_of(FINANCE), source="files"))
        await ledger.catalog.withdraw_scope("files", "hr/old/pay.md")
        satisfied = await ledger.facts.satisfied(frozenset([HR]), NOW)
        async with ledger.door.write("schema") as connection:
            await connection.run_sync(migrate, "0001")

    async with open_ledger(url) as ledger:
        depths = {}
        stand = {}
        for root in (".", "hr/pay.md", "hr/old/pay.md", "hr/secret.md"):
            scope = await ledger.catalog.scope_of("files", root)
            assert scope is not None
            stand[scope] = await ledger.catalog.containers_of(scope)
            depths[root] = len(stand[scope])
        other = await ledger.catalog.scope_of("wiki", "a/b")
        assert other is not None
        stand[other] = await ledger.catalog.containers_of(other)
        cover = await ledger.facts.cover([frozenset([HR])], NOW)
        later, _ = await ledger.catalog.state_rules(rules("hr/new.md", source="files", containers=("hr",)))

        assert depths == {".": 1, "hr/pay.md": 2, "hr/old/pay.md": 3, "hr/secret.md": 2}
        assert len(stand[other]) == 1
        assert cover is not None
        assert {scope for scope, within in stand.items() if cover.has(scope, within)} == satisfied
        hr = await ledger.catalog.scope_of("files", "hr/pay.md")
        assert hr is not None
        assert await ledger.catalog.containers_of(later) == stand[hr]
