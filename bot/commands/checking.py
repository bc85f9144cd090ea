"""`check` and `eval`: is it set up right, and are its answers right?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot import screen
from bot.commands.running import as_json, run

if TYPE_CHECKING:
    from bot.wiring import App


@click.command()
@as_json
def check(as_json: bool) -> None:
    """Check settings, doors, the index, the audit record and the policy. Exit status 1 when something is wrong."""

    async def work(app: App) -> list[dict[str, Any]]:
        from bot.health import checks

        return [each async for each in checks(app)]

    found = run(work)
    if as_json:
        for each in found:
            screen.emit(each)
    else:
        lines = [("ok" if each["ok"] else "wrong", each["check"], each["problem"], each["fix"]) for each in found]
        screen.table(("", "check", "problem", "what to do"), lines, "")
    if not all(each["ok"] for each in found):
        raise click.exceptions.Exit(1)


@click.command("eval")
@click.argument("golden", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--against", metavar="RUN", help="A saved run, by its name or file, to compare with.")
@as_json
def evaluate(golden: Path, against: str | None, as_json: bool) -> None:
    """Score retrieval and answers on GOLDEN, a file of JSON lines. Exit status 1 on a leak or a regression."""
