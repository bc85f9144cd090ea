"""A real OpenID provider for the tests: npm's `oidc-provider`, started for a test module and ended with it."""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scripts import openid as installed

CLIENT, SECRET = "footnote", "a-secret-of-the-application"
MISSING = pytest.mark.skipif(
    installed.node() is None or installed.provider() is None, reason="the OpenID provider is not installed"
)
"""For tests that need it."""
NO_BROWSER = pytest.mark.skipif(installed.browser() is None, reason="Chromium is not installed")


@dataclass(frozen=True, slots=True)
class OpenId:
    """One provider that runs."""

    issuer: str
    file: Path

    def tell(self, **changes: Any) -> None:
        """Change what it goes by: `people`, `closed`, `rotate`, `offline`."""
        self.file.write_text(json.dumps({**json.loads(self.file.read_text()), **changes}))


@contextmanager
def openid(people: Mapping[str, Mapping[str, Any]], **more: Any) -> Iterator[OpenId]:
    """A provider with these people, by subject."""
    node, place = installed.node(), installed.provider()
    assert node is not None
    assert place is not None
    with tempfile.TemporaryDirectory(prefix="footnote-openid-") as folder:
        file = Path(folder) / "people.json"
        file.write_text(json.dumps({"people": people, **more}))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [node, installed.SOURCES / "provider.mjs", place, str(port), file]
        with (
            (Path(folder) / "log").open("wb") as log,
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log) as process,
        ):
            assert process.stdout is not None
            try:
                if process.stdout.readline() != b"ready\n":
                    raise RuntimeError((Path(folder) / "log").read_text())
                yield OpenId(f"http://127.0.0.1:{port}{more.get('path', '')}", file)
            finally:
                process.kill()
