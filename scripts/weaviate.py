"""Weaviate for developers and tests: install the server, start it on this machine, stop it.

    python -m scripts.weaviate install | start | stop | cluster

Needs nothing but Python's standard library, and Go for `install` (any Go from 1.16 on fetches the one that is needed).
The server has no binary in a package registry, so it is built from the Go module registry, once, into a cache folder.

1.38.11 is the version that is pinned: no 1.39 builds from the module registry (a module it requires is not to be had),
and before 1.38.10 hybrid aggregation counted what its filter excludes.
"""

# ruff: noqa: S603 - it starts Go and the server, by commands written here
from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import platform
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

VERSION = "v1.38.11"
GO = "1.26.8"  # the toolchain that is fetched where the machine's own is older than the server's sources ask for
_MODULE = f"github.com/weaviate/weaviate/cmd/weaviate-server@{VERSION}"

CACHE = Path.home() / ".cache" / "footnote"
BINARY = CACHE / "bin" / "weaviate-server"
INSTALL = "make services"  # the one command that a test run names when the server is not there
READY_SECONDS = 120.0

_LOOPBACK = "127.0.0.1"


class Trouble(Exception):
    """Something to tell the person at the terminal, in one sentence."""


# ---------------------------------------------------------------- the binary


def find() -> Path | None:
    """The server: what WEAVIATE_SERVER names, what is on the PATH, or what `install` built; None where there is
    none."""
    named = os.environ.get("WEAVIATE_SERVER")
    on_path = shutil.which("weaviate-server")
    for each in (named, on_path, BINARY):
        if each and os.access(each, os.X_OK):
            return Path(each)
    return None


def install() -> Path:
    """Build the server unless it is there; everything that is needed on the way is removed after."""
    if found := find():
        return found
    BINARY.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="weaviate-build-", dir=CACHE))
    try:
        environment = {
            **os.environ,
            "CGO_ENABLED": "0",
            "GOPATH": str(place / "path"),
            "GOMODCACHE": str(place / "modules"),
            "GOCACHE": str(place / "cache"),
            "GOTMPDIR": str(place),
            "GOBIN": str(place / "bin"),
            "GOFLAGS": "-modcacherw",  # a cache that can be removed
            "GOTOOLCHAIN": "local",
        }
        go = _go(environment, place)
        _say(f"Building weaviate-server {VERSION}: about five minutes and 4 GB of disk, once")
        _run([go, "install", "-ldflags=-s -w", _MODULE], environment, place)
        (place / "bin" / "weaviate-server").replace(BINARY)  # whole or not at all
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return BINARY


def _go(environment: Mapping[str, str], place: Path) -> str:
    """A go command that is new enough: the machine's own, or the one it fetches as a module."""
    own = shutil.which("go") or next(
        (str(each) for each in (Path("/usr/local/go/bin/go"), Path("/usr/lib/go/bin/go")) if each.exists()), None
    )
    if own is None:
        raise Trouble("Go is needed to build weaviate-server; install it (Debian: apt-get install golang-go)")
    told = subprocess.run([own, "env", "GOVERSION"], env=environment, capture_output=True, text=True, check=False)
    if _numbers(told.stdout.strip().removeprefix("go")) >= _numbers(GO)[:2]:
        return own
    _say(f"This machine has {told.stdout.strip() or 'an old Go'}; fetching Go {GO}")
    kind = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), platform.machine())
    name = f"golang.org/toolchain@v0.0.1-go{GO}.{platform.system().lower()}-{kind}"
    (place / "go.mod").write_text("module build\n")
    _run([own, "mod", "download", name], environment, place)
    root = place / "modules" / name
    for each in (root / "bin", root / "pkg" / "tool"):  # a module's files come without the right to run
        for file in each.rglob("*"):
            if file.is_file():
                file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(root / "bin" / "go")


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int(part) for part in parts if part.isdecimal())


def _run(command: Sequence[str], environment: Mapping[str, str], place: Path) -> None:
    done = subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Trouble(f"{' '.join(command[:2])} failed: {done.stderr.strip()[-1000:]}")


# ---------------------------------------------------------------- nodes


@dataclass(frozen=True, slots=True)
class Node:
    """One server process: its name in the cluster, where it keeps its data, and its ports."""

    name: str
    place: str
    http: int
    grpc: int
    gossip: int  # and the port after it, for data
    raft: int  # and the port after it, for calls

    @property
    def address(self) -> str:
        return f"http://{_LOOPBACK}:{self.http}"

    @property
    def grpc_address(self) -> str:
        return f"{_LOOPBACK}:{self.grpc}"


@dataclass(frozen=True, slots=True)
class Servers:
    """Running nodes of one cluster, and the key that they ask for."""

    key: str
    nodes: tuple[Node, ...]
    pids: tuple[int, ...]


def lay_out(place: Path, count: int, first_port: int | None = None) -> tuple[Node, ...]:
    """Nodes with ports that are free now; `first_port` and those after it, where it is given."""
    ports = _free_ports(6 * count, first_port)
    nodes = []
    for number in range(count):
        http, grpc, gossip, _, raft, _ = ports[6 * number : 6 * number + 6]
        nodes.append(Node(f"n{number}", str(place / f"n{number}"), http, grpc, gossip, raft))
    return tuple(nodes)


def start(nodes: Sequence[Node], key: str, *, wait: float = READY_SECONDS, outlive: bool = True) -> Servers:
    """Start every node and wait until all are ready; raises Trouble, after stopping them, when one is not. `outlive`:
    they go on when this process ends."""
    binary = find()
    if binary is None:
        raise Trouble(f"weaviate-server is not installed; run `{INSTALL}`")
    pids = tuple(launch(binary, node, nodes, key, outlive=outlive) for node in nodes)
    servers = Servers(key, tuple(nodes), pids)
    try:
        await_ready(nodes, wait)
    except Trouble:
        stop(servers)
        raise
    return servers


def launch(binary: Path, node: Node, nodes: Sequence[Node], key: str, *, outlive: bool = True) -> int:
    """Start one node of a cluster, in a session of its own so that ^C is not for it; returns its process id."""
    place = Path(node.place)
    place.mkdir(parents=True, exist_ok=True)
    command = [str(binary), "--host", _LOOPBACK, "--port", str(node.http), "--scheme", "http"]
    with (place / "log").open("ab") as log:
        process = subprocess.Popen(
            command, env=environment_of(node, nodes, key), cwd=place, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True, preexec_fn=None if outlive else _end_with_parent,
        )  # fmt: skip
    process.returncode = process.poll() or 0  # it is looked after by its number from here on
    return process.pid


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def environment_of(node: Node, nodes: Sequence[Node], key: str) -> dict[str, str]:
    """Everything the server is told; compose.yaml says the same."""
    first = nodes[0]
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": os.environ.get("HOME", node.place),
        "PERSISTENCE_DATA_PATH": str(Path(node.place) / "data"),
        "CLUSTER_HOSTNAME": node.name,  # also the name in the vote: it must never change
        "CLUSTER_IN_LOCALHOST": "true",
        "CLUSTER_BIND_ADDR": _LOOPBACK,
        "CLUSTER_ADVERTISE_ADDR": _LOOPBACK,
        "CLUSTER_GOSSIP_BIND_PORT": str(node.gossip),
        "CLUSTER_DATA_BIND_PORT": str(node.gossip + 1),
        "RAFT_PORT": str(node.raft),
        "RAFT_INTERNAL_RPC_PORT": str(node.raft + 1),
        "RAFT_BOOTSTRAP_EXPECT": str(len(nodes)),
        "RAFT_JOIN": ",".join(f"{each.name}:{each.raft}" for each in nodes),
        "GRPC_PORT": str(node.grpc),
        **COMMON,
        # gRPC and data listen on every interface, whatever --host says: nobody without the key gets in.
        "AUTHENTICATION_APIKEY_ALLOWED_KEYS": key,
    }
    if node is not first:
        environment["CLUSTER_JOIN"] = f"{_LOOPBACK}:{first.gossip}"
    return environment


COMMON = {
    "AUTHENTICATION_APIKEY_ENABLED": "true",
    "AUTHENTICATION_APIKEY_USERS": "footnote",
    "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "false",
    "AUTHORIZATION_ADMINLIST_ENABLED": "true",
    "AUTHORIZATION_ADMINLIST_USERS": "footnote",
    "DEFAULT_VECTORIZER_MODULE": "none",
    "ENABLE_MODULES": "",
    "API_BASED_MODULES_DISABLED": "true",
    "AUTOSCHEMA_ENABLED": "false",
    "DISABLE_TELEMETRY": "true",
    "GO_PROFILING_DISABLE": "true",
    "QUERY_BATCHED_CONTAINS_ENABLED": "true",
    "QUERY_SLOW_LOG_ENABLED": "true",
    "QUERY_SLOW_LOG_THRESHOLD": "1s",
    "LOG_LEVEL": "warning",
}


def await_ready(nodes: Sequence[Node], wait: float = READY_SECONDS) -> None:
    """Return when every node says it is ready."""
    until = time.monotonic() + wait
    for node in nodes:
        while not is_ready(node):
            if time.monotonic() > until:
                raise Trouble(f"weaviate {node.name} was not ready after {wait:.0f} s; see {node.place}/log")
            time.sleep(0.2)


def is_ready(node: Node) -> bool:
    """Whether a node says so."""
    try:
        with urllib.request.urlopen(f"{node.address}/v1/.well-known/ready", timeout=2) as answer:  # noqa: S310 - ours
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def stop(servers: Servers, *, wait: float = 20.0) -> None:
    """End every process, in order if it lets itself, at last by force."""
    for pid in servers.pids:
        _signal(pid, signal.SIGTERM)
    until = time.monotonic() + wait
    for pid in servers.pids:
        while is_running(pid) and time.monotonic() < until:
            time.sleep(0.1)
        _signal(pid, signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Whether a process is there, one of ours that ended and was not waited for not counted."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _free_ports(count: int, first: int | None) -> list[int]:
    if first is not None:
        wanted = list(range(first, first + count))
        if taken := [port for port in wanted if not _is_free(port)]:
            raise Trouble(f"port {taken[0]} is taken; choose others with --port")
        return wanted
    for _ in range(100):
        start_at = 20_000 + secrets.randbelow(10_000)  # below the range that the system hands out to clients
        if all(_is_free(port) for port in range(start_at, start_at + count)):
            return list(range(start_at, start_at + count))
    raise Trouble(f"no {count} free ports were found")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


# ---------------------------------------------------------------- the developer's servers


def _kept(name: str) -> Path:
    return CACHE / "weaviate" / name / "servers.json"


def _load(name: str) -> Servers | None:
    try:
        kept = json.loads(_kept(name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return Servers(kept["key"], tuple(Node(**node) for node in kept["nodes"]), tuple(kept["pids"]))


def _start_kept(name: str, count: int, port: int | None) -> Servers:
    before = _load(name)
    if before is not None and all(is_running(pid) for pid in before.pids) and before.pids:
        await_ready(before.nodes)
        return before
    place = _kept(name).parent
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A node finds its own data again only under the ports it was started with.
    nodes = before.nodes if before is not None and port is None else lay_out(place, count, port)
    servers = start(nodes, before.key if before is not None else secrets.token_urlsafe(24))
    _keep(name, servers)
    return servers


def _keep(name: str, servers: Servers) -> None:
    path = _kept(name)
    path.touch(mode=0o600)
    path.write_text(json.dumps(asdict(servers)), encoding="utf-8")


def _stop_kept(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        servers = _load(name)
        if servers is not None and servers.pids:
            stop(servers)
            _keep(name, Servers(servers.key, servers.nodes, ()))
            yield name


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m scripts.weaviate", description=__doc__.partition("\n")[0])
    options.add_argument("command", choices=("install", "start", "stop", "cluster"))
    options.add_argument("--port", type=int, help="the first of the ports to use; free ones otherwise")
    chosen = options.parse_args()
    try:
        match chosen.command:
            case "install":
                print(install())
            case "start" | "cluster" as command:
                install()
                three = command == "cluster"
                servers = _start_kept("three" if three else "one", 3 if three else 1, chosen.port)
                first = servers.nodes[0]
                _say(f"Weaviate is ready ({len(servers.nodes)} node{'s' if three else ''}); to use it:\n")
                print(f"export FOOTNOTE_INDEX=weaviate\nexport FOOTNOTE_WEAVIATE_HTTP={first.address}")
                print(f"export FOOTNOTE_WEAVIATE_GRPC={first.grpc_address}")
                print(f"export FOOTNOTE_WEAVIATE_API_KEY={servers.key}")
            case _:
                for name in _stop_kept(("one", "three")):
                    _say(f"stopped ({name}); its data stays in {_kept(name).parent}")
    except Trouble as trouble:
        _say(f"weaviate: {trouble}")
        raise SystemExit(3) from None


if __name__ == "__main__":
    main()
