"""`person`: who is in the directory, and which accounts elsewhere are theirs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot import screen
from bot.commands.running import as_json, run

if TYPE_CHECKING:
    from bot.wiring import App


@click.group()
def person() -> None:
    """People of the directory and their accounts elsewhere."""


@person.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@as_json
def import_(file: Path, as_json: bool) -> None:
    """Load people, groups and places from FILE, a directory.toml; it replaces what was loaded before."""

    async def work(app: App) -> dict[str, Any]:
        return await app.import_directory(file)

    done = run(work)
    if as_json:
        screen.emit(done)
    else:
        click.echo(f"{done['people']} people, {done['groups']} groups and {done['places']} places loaded.")


@person.command("list")
@as_json
def list_(as_json: bool) -> None:
    """List the people of the directory."""

    async def work(app: App) -> list[dict[str, Any]]:
        from bot.people import listed

        return await listed(app.ledger)

    people = run(work)
    if as_json:
        for each in people:
            screen.emit(each)
        return
    lines = [
        (each["person"], each["name"], each["kind"], "yes" if each["active"] else "no", ", ".join(each["groups"]))
        for each in people
    ]
    screen.table(("person", "name", "kind", "active", "groups"), lines, "Nobody yet; load a directory.toml.")


@person.command()
@click.argument("email", metavar="PERSON")
@click.argument("account")
@as_json
def link(email: str, account: str, as_json: bool) -> None:
    """Bind ACCOUNT, such as slack:TEAM/USER or oidc:ISSUER/SUBJECT, to PERSON."""
    raise NotImplementedError


@person.command()
@click.argument("email", metavar="PERSON")
@click.argument("account")
@as_json
def unlink(email: str, account: str, as_json: bool) -> None:
    """Take ACCOUNT off PERSON again."""
    raise NotImplementedError
