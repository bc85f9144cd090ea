"""`ledger`: moving the ledger to another database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bot import screen
from bot.commands.running import as_json, settings_now
from bot.errors import Unusable
from bot.settings import Secret, variable


@click.group()
def ledger() -> None:
    """Footnote's own memory: sources, rights, people, traces."""


@ledger.command()
@click.option("--to", metavar="URL", help="The target, where its address holds no password.")
@click.option("--to-env", metavar="VAR", help="An environment variable that holds the target's address.")
@click.option(
    "--to-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A file that holds the target's address.",
)
@as_json
def copy(to: str | None, to_env: str | None, to_file: Path | None, as_json: bool) -> None:
    """Copy the ledger to an empty database, SQLite or PostgreSQL, and prove the copy equal.

    Stop `serve` first: nobody can write to the ledger meanwhile. Killed, it goes on where it was when it is run again,
    and nothing opens the target before it is whole. Afterwards set FOOTNOTE_DATABASE_URL to the target.
    """
    import asyncio

    from bot import logs
    from bot.wiring import copy_ledger

    settings = settings_now()
    logs.quiet()
    target = _target(to, to_env, to_file)
    with screen.progress("Copying") as tell:
        copied = asyncio.run(copy_ledger(settings, target.reveal(), tell))
    screen.emit(copied) if as_json else _show(copied)
    if copied["chain"]["status"] != "ok":
        raise click.exceptions.Exit(1)


def _target(to: str | None, to_env: str | None, to_file: Path | None) -> Secret:
    """The target's address, from the one place that was named."""
    from bot.wiring import check_address

    match to, to_env, to_file:
        case str(), None, None:
            found = Secret(to)
        case None, str(), None:
            found = variable(to_env)
        case None, None, Path():
            found = _in_file(to_file)
        case _:
            raise Unusable("name the target with one of --to, --to-env and --to-file")
    check_address(found.reveal(), in_the_open=to is not None)
    return found


def _in_file(path: Path) -> Secret:
    try:
        return Secret(path.read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError) as error:
        raise Unusable(f"{str(path)!r} can't be read: {error}") from None


def _show(copied: dict[str, Any]) -> None:
    screen.table(("table", "rows"), [each for each in copied["tables"].items() if each[1]], "The ledger is empty.")
    chain = copied["chain"]
    word = "It was there already, equal" if copied["already"] else "Copied and compared"
    click.echo(f"{word}: {copied['rows']} rows; {chain['records']} trace records, chain {chain['status']}.")
    click.echo(f"Now set FOOTNOTE_DATABASE_URL to {screen.plain(copied['to'])} (with its password, if it has one).")
