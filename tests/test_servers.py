"""The tests' own PostgreSQL server leaves nothing behind, however a test run ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.servers import ROOT

_USER = """
import sys, time
from pathlib import Path
from tests.servers import shared_postgres
with shared_postgres(Path(sys.argv[1])) as server:
    server.run("SELECT 1")
    print("ready", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def user(root: Path, seconds: float) -> subprocess.Popen[bytes]:
    """A process that uses the shared server so long."""
    command = [sys.executable, "-c", _USER, str(root), str(seconds)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.stdout.close()
    return process


def server_of(folder: Path) -> int:
    return int((folder / "data" / "postmaster.pid").read_text().split()[0])


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int) -> bool:
    until = time.monotonic() + 30
    while runs(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not runs(pid)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_server_outlives_neither_its_last_user_nor_its_keeper(tmp_path: Path) -> None:
    first, second = user(tmp_path, 60), user(tmp_path, 60)
    told = json.loads((tmp_path / "postgres.json").read_text())
    folder, server = Path(told["folder"]), server_of(Path(told["folder"]))
    first.kill()
    first.wait()
    time.sleep(0.5)
    assert runs(server)
    second.kill()
    second.wait()
    assert gone(server)
    until = time.monotonic() + 10
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not folder.exists()

    third = user(tmp_path, 60)
    folder = Path(json.loads((tmp_path / "postgres.json").read_text())["folder"])
    server = server_of(folder)
    keeper = int(Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(keeper, signal.SIGKILL)
    third.kill()
    third.wait()
    assert gone(server)
    shutil.rmtree(folder)  # nobody is left who would
