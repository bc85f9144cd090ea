"""Which process holds a claim, and whether it has certainly ended."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path

PROCESS = secrets.token_hex(8)
"""Made anew by every process: a number given to another process is not the same claim."""


def _host() -> str:
    """This machine since it was started, and this container of it: where a process number means one process."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))  # noqa: PTH115  # not a path
    return "/".join(parts)


HOST = _host()


def gone(host: str, pid: int, process: str) -> bool:
    """Whether the claim's process has certainly ended; unknown means no."""
    if host != HOST:
        return False
    if pid == os.getpid():
        return process != PROCESS
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
