"""What holds for every test: no network but this machine, no settings from the outside, one fixed time."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

import pytest

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
