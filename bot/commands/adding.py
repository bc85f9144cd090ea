"""What every `source add KIND` does once its settings are put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from bot import screen
from bot.commands.running import run

if TYPE_CHECKING:
    from bot.wiring import App


def added(kind: str, name: str, settings: Mapping[str, Any], as_json: bool) -> None:
    """Look at the source, add it, and say what was found; exit status 2 where it can't be added as it is. Secrets in
    `settings` are references: `{"secret_env": VARIABLE}` or `{"secret_file": PATH}`."""

    async def work(app: App) -> dict[str, Any]:
        from bot.keeping import add_source

        return await add_source(app.keeping, name, kind, settings)

    from bot.keeping import variables_of

    found = run(work, secrets=variables_of(settings))
    refused = found["state"] == "refused"
    if as_json:
        screen.emit(found)
    else:
        for each in found.get("findings", ()):
            _show(each)
        if not refused:
            click.echo(f"{name} added; run `footnote sync {name}` to read it.")
    if refused:
        lacking = ", ".join(each["check"] for each in found["findings"] if each["essential"] and not each["ok"])
        click.echo(
            screen.plain(f"footnote: {name} was not added: {lacking}; put that right and add it again"), err=True
        )
        raise click.exceptions.Exit(2)


def _show(finding: Mapping[str, Any]) -> None:
    sign = "ok" if finding["ok"] else "NOT OK" if finding["essential"] else "note"
    click.echo(
        screen.plain(f"{sign:>6}  {finding['check']}" + (f": {finding['problem']}" if finding["problem"] else ""))
    )
    if finding["fix"]:
        click.echo(screen.plain(f"        {finding['fix']}"))
