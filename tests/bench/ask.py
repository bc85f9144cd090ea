"""What a whole ask costs, warm: the golden questions over the sample tenant, each asked several times.

    python -m tests.bench.ask [--rounds 3]

Beside the whole stand its parts: embedding the question, searching, reranking (passages and sentences), and everything
else, which is what the product adds to them. Each round asks every question once; the first round is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from rich.console import Console
from rich.table import Table

from bot.answering.ask import ask
from bot.answering.question import Question
from bot.keeping import add_source, sync_named
from bot.sample import DOCUMENTS, GOLDEN
from bot.settings import Settings
from bot.wiring import App, open_app
from policies.audience import Place
from policies.names import Principal


class Timed:
    """A door whose async methods are timed; what a question waits for each is added up under the door's name."""

    def __init__(self, door: Any, name: str, spent: dict[str, float]) -> None:
        self._door, self._name, self._spent = door, name, spent

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self._door, attribute)
        if attribute not in {"question", "search", "section", "scores"}:
            return found

        async def timed(*args: Any) -> Any:
            started = time.perf_counter()
            try:
                return await found(*args)
            finally:
                self._spent[self._name] = self._spent.get(self._name, 0.0) + time.perf_counter() - started

        return timed


async def measured(app: App, rounds: int) -> list[dict[str, float]]:
    """Milliseconds by part, one row an ask."""
    from connectors.models.extractive import ExtractiveWriter
    from connectors.models.local import LocalEmbedder

    spent: dict[str, float] = {}
    doors = app.doors
    reranker = Timed(doors.reranker, "reranking", spent)
    writer = ExtractiveWriter(reranker, doors.writer.thresholds)  # type: ignore[attr-defined]
    doors = replace(
        doors,
        index=Timed(doors.index, "search", spent),
        reranker=reranker,
        writer=writer,
    )
    rows: list[dict[str, float]] = []
    questions = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    for number in range(rounds + 1):
        fresh = LocalEmbedder()  # one that remembers no question of the round before
        doors = replace(doors, embedder=Timed(fresh, "embedding", spent))
        for question in questions:
            spent.clear()
            started = time.perf_counter()
            await ask(_question(question, app), doors)
            whole = time.perf_counter() - started
            if number:
                parts = {"whole": whole, **spent, "everything else": whole - sum(spent.values())}
                rows.append({name: seconds * 1000 for name, seconds in parts.items()})
        fresh.close()
    return rows


def _question(row: Mapping[str, Any], app: App) -> Question:
    on = date.fromisoformat(row["on"]) if row.get("on") else None
    return Question(Principal.parse(row["as"]), Place.parse(row.get("in") or "dm"), row["text"], app.clock(), on)


def show(rows: Sequence[Mapping[str, float]]) -> None:
    """Print p50 and p95 of each part, and its share of the whole."""
    table = Table(title=f"{len(rows)} asks, warm")
    for heading in ("part", "p50 ms", "p95 ms", "of the whole (p50)"):
        table.add_column(heading, justify="left" if heading == "part" else "right")
    whole = statistics.median(row["whole"] for row in rows)
    for part in ("whole", "embedding", "search", "reranking", "everything else"):
        values = sorted(row.get(part, 0.0) for row in rows)
        middle, high = statistics.median(values), values[int(len(values) * 0.95)]
        table.add_row(part, f"{middle:.1f}", f"{high:.1f}", f"{middle / whole:.0%}")
    Console().print(table)
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most")


async def main(rounds: int) -> None:
    """Sync the sample tenant into a folder that goes again, and ask."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.read({"FOOTNOTE_DATA": folder})
        async with open_app(settings, warm=True) as app:
            started = time.perf_counter()
            await add_source(app.keeping, "sample", "files", {"path": str(DOCUMENTS)})
            await sync_named(app.keeping, "sample")
            print(f"sync of the sample tenant: {time.perf_counter() - started:.1f} s")
            show(await measured(app, rounds))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    asyncio.run(main(arguments.parse_args().rounds))
