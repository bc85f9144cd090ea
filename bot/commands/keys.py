"""`keys`: what is sealed under which key, and bringing it under the newest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bot import screen
from bot.commands.running import as_json, run

if TYPE_CHECKING:
    from bot.wiring import App


@click.group()
def keys() -> None:
    """The keys of what is stored sealed (FOOTNOTE_SECRET_KEYS)."""


@keys.command("list")
@as_json
def list_(as_json: bool) -> None:
    """List how many sealed values there are under each key, by its id; keys themselves are never shown."""

    async def work(app: App) -> dict[str, Any]:
        return {"newest": app.sealed.ids[0], "configured": list(app.sealed.ids), "sealed": await app.sealed.counts()}

    found = run(work)
    if as_json:
        screen.emit(found)
        return
    lines = [
        (place, key, count, _standing(key, found))
        for place, counted in found["sealed"].items()
        for key, count in sorted(counted.items())
    ]
    screen.table(("where", "key", "values", ""), lines, "Nothing is sealed yet.")


def _standing(key: str, found: dict[str, Any]) -> str:
    if key == found["newest"]:
        return "newest"
    return "configured" if key in found["configured"] else "not configured: can't be opened"


@keys.command()
@as_json
def rotate(as_json: bool) -> None:
    """Seal everything anew under the newest key: the first of FOOTNOTE_SECRET_KEYS.

    Put the new key before the old ones, start every process again, and run this. A key that `keys list` shows nothing
    under can then be taken out. What audit records hold stays under the key that it was written with: it is part of
    what was hashed. Exit status 1 when something could not be opened.
    """

    async def work(app: App) -> list[dict[str, Any]]:
        return [
            {"place": each.place, "resealed": each.resealed, "fresh": each.fresh, "closed": each.closed}
            for each in await app.sealed.rotate()
        ]

    done = run(work)
    for each in done:
        if as_json:
            screen.emit(each)
        elif each["resealed"] or each["fresh"] or each["closed"]:
            closed = f", {each['closed']} can't be opened" if each["closed"] else ""
            click.echo(f"{each['place']}: {each['resealed']} sealed anew, {each['fresh']} were{closed}")
    if not as_json and not any(each["resealed"] for each in done):
        click.echo("Nothing was under an older key.")
    if any(each["closed"] for each in done):
        raise click.exceptions.Exit(1)
