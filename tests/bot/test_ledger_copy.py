"""`footnote ledger copy`: what is printed, what is refused, and that a killed one goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from connectors.ledger.migrations import HEAD
from tests.bot.test_cli import Run, runner, written
from tests.servers import Postgres


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command line on a synced folder."""
    run = runner(tmp_path / "data")
    assert run("source", "add", "files", "docs", "--path", str(written(tmp_path / "docs"))).exit_code == 0
    assert run("sync").exit_code == 0
    assert run("search", "travel", "--as", "asha@example.com").exit_code == 0
    return run


def test_the_ledger_moves_to_postgresql_and_back(run: Run, empty_postgres_url: str, tmp_path: Path) -> None:
    there = run("ledger", "copy", "--to", empty_postgres_url, "--json")
    found = json.loads(there.stdout)
    tables, chain = found["tables"], found["chain"]

    assert (tables["documents"], tables["people"], found["already"]) == (4, 3, False)
    assert (chain["status"], chain["records"], found["rows"]) == ("ok", tables["traces"], sum(tables.values()))

    listed = run("trace", "list", "--json", DATABASE_URL=empty_postgres_url)
    assert listed.stdout == run("trace", "list", "--json").stdout
    assert run("trace", "verify", DATABASE_URL=empty_postgres_url).exit_code == 0
    before = json.loads(run("why", "asha@example.com", "docs:travel.md", "--json").stdout)
    assert before == json.loads(
        run("why", "asha@example.com", "docs:travel.md", "--json", DATABASE_URL=empty_postgres_url).stdout
    )
    hits = run("search", "flights", "--as", "asha@example.com", "--json", DATABASE_URL=empty_postgres_url)
    assert json.loads(hits.stdout)["results"]

    home = f"sqlite+aiosqlite:///{tmp_path / 'back.sqlite'}"
    back = run("ledger", "copy", "--to", home, DATABASE_URL=empty_postgres_url)
    assert (back.exit_code, "chain ok" in back.stdout) == (0, True)
    assert run("trace", "verify", DATABASE_URL=home).exit_code == 0


def test_an_address_with_a_password_comes_from_a_file_or_a_variable(
    run: Run, postgres: Postgres, tmp_path: Path
) -> None:
    with postgres.database() as name:
        secret = postgres.url_with_password(name)
        refused = run("ledger", "copy", "--to", secret)
        (tmp_path / "target").write_text(secret + "\n")
        by_file = run("ledger", "copy", "--to-file", str(tmp_path / "target"), "--json")
        os.environ["TARGET_OF_THE_COPY"] = secret
        try:
            by_variable = run("ledger", "copy", "--to-env", "TARGET_OF_THE_COPY")
        finally:
            del os.environ["TARGET_OF_THE_COPY"]

    assert (refused.exit_code, "--to-file" in refused.stderr) == (2, True)
    assert (by_file.exit_code, by_variable.exit_code) == (0, 0)
    assert "already" in by_variable.stdout
    for said in (refused, by_file, by_variable):
        assert postgres.password not in said.output


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--to", "sqlite+aiosqlite:///x", "--to-env", "X"),
        ("--to-env", "NO_SUCH_VARIABLE"),
        ("--to", "mysql://host/x"),
        ("--to", "nonsense"),
    ],
)
def test_a_target_that_is_not_named_well_is_wrong_usage(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert runner(tmp_path)("ledger", "copy", *arguments).exit_code == 2


def test_the_ledger_is_not_copied_to_itself(run: Run, empty_postgres_url: str) -> None:
    refused = run("ledger", "copy", "--to", empty_postgres_url, DATABASE_URL=empty_postgres_url)

    assert (refused.exit_code, "itself" in refused.stderr) == (2, True)


@pytest.mark.slow
def test_a_copy_killed_with_its_process_goes_on(run: Run, empty_postgres_url: str, tmp_path: Path) -> None:
    environ = os.environ | {"FOOTNOTE_DATA": str(tmp_path / "data")}
    command = [sys.executable, "-m", "bot", "ledger", "copy", "--to", empty_postgres_url]
    for after in (1.0, 1.6):
        process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        process.wait(30)

    whole = run("ledger", "copy", "--to", empty_postgres_url, "--json")

    assert json.loads(whole.stdout)["chain"]["status"] == "ok"
    assert run("trace", "verify", DATABASE_URL=empty_postgres_url).exit_code == 0


def test_check_says_which_database_it_is_and_how_its_schema_stands(run: Run, postgres_url: str) -> None:
    lines = [
        [json.loads(line) for line in run("check", "--json", **settings).stdout.splitlines()]
        for settings in ({}, {"DATABASE_URL": postgres_url})
    ]
    details = [next(line["detail"] for line in found if line["check"] == "ledger") for found in lines]

    assert [detail.partition(" ")[0] for detail in details] == ["SQLite", "PostgreSQL"]
    assert all(detail.endswith(f"schema {HEAD} (up to date)") for detail in details)
