"""How long each command takes from a cold start, and how much memory it needs, on the synced sample tenant.

python -m tests.bench.commands [--rounds 3]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

from rich.console import Console
from rich.table import Table

from bot.sample import DOCUMENTS

ASKER = "asha@example.com"
QUESTION = "Can a contractor in India claim reimbursement for an international flight?"
COMMANDS = (
    ("--help",),
    ("source", "list"),
    ("person", "list"),
    ("why", ASKER, "sample:travel/travel-policy.md"),
    ("who", "sample:travel/travel-policy.md"),
    ("trace", "list"),
    ("trace", "verify"),
    ("sync",),
    ("search", QUESTION, "--as", ASKER),
    ("ask", QUESTION, "--as", ASKER),
)


def run(command: tuple[str, ...], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds and megabytes at most of one command in a process of its own."""
    started = time.perf_counter()
    code = [sys.executable, "-m", "bot", *command]
    with subprocess.Popen(code, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        complaint = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {complaint.decode()[-500:]}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024


def main(rounds: int) -> None:
    """Set the sample tenant up in a folder that goes again, then time every command."""
    table = Table(title="cold starts")
    for heading in ("command", "median s", "worst s", "MB at most"):
        table.add_column(heading, justify="left" if heading == "command" else "right")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "FOOTNOTE_DATA": folder}
        run(("source", "add", "files", "sample", "--path", str(DOCUMENTS)), environment)
        first, _ = run(("sync",), environment)
        print(f"first sync: {first:.1f} s")
        for command in COMMANDS:
            times, sizes = zip(*(run(command, environment) for _ in range(rounds)), strict=True)
            table.add_row(
                f"footnote {' '.join(command)[:40]}",
                f"{statistics.median(times):.2f}",
                f"{max(times):.2f}",
                f"{max(sizes):.0f}",
            )
    Console().print(table)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    main(arguments.parse_args().rounds)
