"""A real Weaviate for the tests: one for all workers of a test run, and one's own for a test that kills it.

The shared one is looked after by a process of its own: `python -m tests.weaviate ROOT`. Everybody who uses it holds a
shared lock on a file, which the system lets go of however he ends; when nobody holds it the server is stopped and its
folder removed. No server outlives the process that started it.
"""

from __future__ import annotations

import fcntl
import json
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from connectors.index.weaviate import WeaviateIndex
from connectors.index.weaviate_door import Address
from connectors.ports import IndexIdentity
from scripts import weaviate as servers
from scripts.weaviate import Node

ROOT = Path(__file__).parents[1]
MISSING = pytest.mark.skipif(servers.find() is None, reason="weaviate-server is not installed")
"""For tests that need the server."""


def address_of(node: Node, key: str) -> Address:
    """Where a node is, for the adapter."""
    return Address(node.address, node.grpc_address, key, read_seconds=60.0, write_seconds=60.0)


def settings_of(address: Address, name: str) -> dict[str, str]:
    """The same as settings of a process."""
    assert address.key is not None
    return {
        "FOOTNOTE_INDEX": "weaviate",
        "FOOTNOTE_WEAVIATE_HTTP": address.http,
        "FOOTNOTE_WEAVIATE_GRPC": address.grpc,
        "FOOTNOTE_WEAVIATE_API_KEY": address.key,
        "FOOTNOTE_WEAVIATE_COLLECTION": name,
    }


def fresh_name() -> str:
    """A name for an index that nobody has."""
    return f"T{secrets.token_hex(8)}"


def present() -> datetime:
    """The clock that the server's own is compared with."""
    return datetime.now(UTC)


def index_at(address: Address, name: str, identity: IndexIdentity, clock: Callable[[], datetime] = present,
             replication: int = 1) -> WeaviateIndex:  # fmt: skip
    """A handle on the index of that name."""
    return WeaviateIndex(address, identity, clock, name=name, replication=replication)


@contextmanager
def nodes(count: int) -> Iterator[tuple[tuple[Node, ...], str, list[int]]]:
    """Nodes of one's own, running, with their key and process ids; stopped at the end."""
    place, key = Path(tempfile.mkdtemp(prefix="footnote-weaviate-")), secrets.token_hex(12)
    try:
        laid_out = servers.lay_out(place, count)
        running = servers.start(laid_out, key, outlive=False)
        pids = list(running.pids)
        try:
            yield laid_out, key, pids
        finally:
            servers.stop(servers.Servers(key, laid_out, tuple(pids)))
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def shared_weaviate(root: Path) -> Iterator[Address]:
    """The server that everybody with the same `root` shares."""
    with (root / "weaviate.users").open("w") as users:
        with (root / "weaviate.turn").open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)  # waits while a server that nobody used is being stopped
            told = root / "weaviate.json"
            if not told.exists():
                _look_after(root)
            found = json.loads(told.read_text())
        yield address_of(Node(**found["node"]), found["key"])


def _look_after(root: Path) -> None:
    with (root / "weaviate.log").open("wb") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.weaviate", str(root)],
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
        raise RuntimeError(f"no Weaviate: {(root / 'weaviate.log').read_text()}")


def keep(root: Path) -> None:
    """Run the server until nobody uses it."""
    told = root / "weaviate.json"
    with nodes(1) as ([node], key, _):
        written = {name: getattr(node, name) for name in ("name", "place", "http", "grpc", "gossip", "raft")}
        told.write_text(json.dumps({"node": written, "key": key}))
        print("ready", flush=True)
        with (root / "weaviate.users").open("w") as users:
            fcntl.flock(users, fcntl.LOCK_EX)
            told.unlink(missing_ok=True)


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
