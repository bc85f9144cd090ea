"""What holds for every test: no network but this machine, no settings from the outside, one fixed time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from connectors.index.weaviate_door import Address
    from tests.servers import Ledgers, Postgres

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def _is_this_machine(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode()
    if host in (None, "", "localhost"):
        return True
    try:
        return ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


def _only_this_machine(event: str, args: tuple[Any, ...]) -> None:
    match event, args:
        case "socket.connect" | "socket.sendto", (_, (host, *_)) if not _is_this_machine(host):
            raise PermissionError(f"a test tried to reach {host!r}; tests stay on this machine")
        case "socket.getaddrinfo", (host, *_) if not _is_this_machine(host):
            raise PermissionError(f"a test tried to look up {host!r}; tests stay on this machine")


# An audit hook sees every connection of this process, whichever library makes it; a patched socket class does not.
sys.addaudithook(_only_this_machine)

for _name in [name for name in os.environ if name.startswith("FOOTNOTE_")]:
    del os.environ[_name]


@pytest.fixture
def now() -> datetime:
    """The time at which tests happen; nothing under test reads a clock."""
    return NOW


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Postgres]:
    """A PostgreSQL server, the same for all workers of a run; started when the first test asks for it."""
    from tests.servers import shared_postgres

    own = tmp_path_factory.getbasetemp()
    with shared_postgres(own if worker_id == "master" else own.parent) as server:
        yield server


@pytest.fixture(scope="session")
def weaviate(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Address]:
    """A Weaviate server, the same for all workers of a run; started when the first test asks for it. A test takes an
    index name of its own."""
    from tests.weaviate import shared_weaviate

    own = tmp_path_factory.getbasetemp()
    with shared_weaviate(own if worker_id == "master" else own.parent) as address:
        yield address


@pytest.fixture(scope="session")
def postgres_ledgers(postgres: Postgres) -> Ledgers:
    """This worker's ledgers on the server."""
    from tests.servers import Ledgers

    return Ledgers(postgres)


@pytest.fixture
def postgres_url(postgres: Postgres, postgres_ledgers: Ledgers) -> Iterator[str]:
    """The address of a ledger on PostgreSQL, empty and with its schema."""
    with postgres_ledgers.one() as name:
        yield postgres.url(name)


@pytest.fixture
def empty_postgres_url(postgres: Postgres) -> Iterator[str]:
    """The address of a new database on PostgreSQL that nobody opened as a ledger yet."""
    with postgres.database() as name:
        yield postgres.url(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty ledger, on one database and on the other."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_url"))
    from tests.blank import blank_ledger

    return blank_ledger(tmp_path / "ledger.sqlite")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was not exercised on this machine, and how to get it, in the last lines."""
    from scripts.weaviate import INSTALL

    for what, reason, cost in (
        ("of the Weaviate index", "weaviate-server is not installed", "once, about five minutes"),
        ("of linking", "the OpenID provider is not installed", "once, from npm, with the Node of the test tools"),
        ("of linking in a browser", "Chromium is not installed", "once, from apt; elsewhere install Chromium yourself"),
    ):
        without = [
            each
            for each in terminalreporter.stats.get("skipped", ())
            if isinstance(each.longrepr, tuple) and reason in each.longrepr[2]
        ]
        if without:
            terminalreporter.write_line(
                f"{len(without)} tests {what} were not run: {reason}; `{INSTALL}` installs it ({cost})", yellow=True
            )
