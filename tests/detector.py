"""The detector of personal data for tests: its model is loaded once for all tests of a worker, and each `App` still
gets a process of its own, forked from the loaded one. Loading costs two seconds, forking ten milliseconds.

`python -P -m tests.detector SOCKET` is the loaded one. It ends when its input does.
"""

from __future__ import annotations

import asyncio
import gc
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from connectors import pii, pii_process, pii_worker

ALONE = pii_process.PersonalDataProcess._started
"""What starts a process that loads its own, as outside of tests."""
_ROOT = Path(__file__).resolve().parents[1]


class Forked:
    """As much of a process as `PersonalDataProcess` uses. Closing its connection is what ends it."""

    def __init__(self, stdout: asyncio.StreamReader, stdin: asyncio.StreamWriter) -> None:
        self.stdout, self.stdin = stdout, stdin

    def kill(self) -> None:
        self.stdin.transport.abort()

    async def wait(self) -> None:
        with suppress(OSError):
            await self.stdin.wait_closed()


@contextmanager
def shared_detector() -> Iterator[None]:
    """Within it, each process of a `PersonalDataProcess` is forked from one that is loaded when it is first needed."""
    loaded: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="footnote-detector-") as folder:
        address = f"{folder}/socket"

        async def started(self: pii_process.PersonalDataProcess) -> Any:
            if self._module != pii_worker.__name__:
                return await ALONE(self)
            if self._child is None:
                if not loaded or loaded[0].poll() is not None:
                    loaded[:] = [await asyncio.to_thread(_load, address)]
                self._child = Forked(*await asyncio.open_unix_connection(address, limit=1 << 20))  # type: ignore[assignment]
                await pii_process._send(self._child, self._settings)  # type: ignore[arg-type]
            return self._child

        pii_process.PersonalDataProcess._started = started  # type: ignore[method-assign]
        try:
            yield
        finally:
            pii_process.PersonalDataProcess._started = ALONE  # type: ignore[method-assign]
            for process in loaded:
                process.communicate()


def _load(address: str) -> subprocess.Popen[bytes]:
    environment = {"PYTHONPATH": str(_ROOT), "PYTHONUTF8": "1", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-m", "tests.detector", address]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    if process.stdout.readline() != b"ready\n":
        raise RuntimeError("the detector of personal data did not start")
    return process


def main(address: str) -> None:
    """Fork a worker for each connection."""
    engine = pii._engine()
    pii._engine = lambda: engine
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    Path(address).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen(64)
        os.write(1, b"ready\n")
        while door in select.select([door, sys.stdin], [], [])[0]:
            connection, _ = door.accept()
            if os.fork() == 0:
                door.close()
                for end in (0, 1):
                    os.dup2(connection.fileno(), end)
                connection.close()
                try:
                    pii_worker.main()
                finally:
                    os._exit(0)
            connection.close()


if __name__ == "__main__":
    main(sys.argv[1])
