"""`source` and `sync`: where documents come from, and bringing them up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bot import screen
from bot.commands import add_files
from bot.commands.running import as_json, run
from connectors.errors import DoorError

if TYPE_CHECKING:
    from bot.wiring import App


@click.command()
@click.argument("source", required=False)
@click.option("--full", is_flag=True, help="Read everything again instead of what changed.")
@as_json
def sync(source: str | None, full: bool, as_json: bool) -> None:
    """Bring SOURCE, or every active source, up to date."""

    async def work(app: App) -> bool:
        from bot.keeping import sync_named

        complete = True
        with screen.progress("Syncing") as tell:
            names = [source] if source else await app.keeping.active()
            if not names:
                click.echo("No active source to sync; `footnote source list` names all there are.", err=True)
            for name in names:
                try:
                    report = await sync_named(app.keeping, name, full=full, tell=tell)
                except DoorError as error:  # the other sources are not to wait for this one
                    click.echo(f"footnote: {name}: {screen.plain(str(error))}", err=True)
                    complete = False
                    continue
                complete = complete and report["complete"]
                screen.emit(report) if as_json else show_report(report)
        return complete

    if not run(work):
        raise click.exceptions.Exit(3)  # what it read did not get through to the end


def show_report(report: dict[str, Any]) -> None:
    """One sync as a line, and a line for each document that could not be used."""
    counts = ", ".join(
        f"{report[key]} {key.replace('_', ' ')}"
        for key in ("seen", "upserted", "deleted", "access_changed", "moved", "unchanged")
        if report[key] or key == "seen"
    )
    ending = "" if report["complete"] else "; it did not get through to the end"
    click.echo(screen.plain(f"{report['source']}: {counts} in {report['seconds']:.1f} s{ending}"))
    for problem in report["problems"]:
        click.echo(screen.plain(f"  {problem}"))
    for skipped in report["skipped"]:
        click.echo(screen.plain(f"  skipped {skipped['document']}: {skipped['reason']}"))
    for notice in report["notices"]:
        click.echo(screen.plain(f"  note on {notice['document']}: {notice['reason']}"))


@click.group()
def source() -> None:
    """Where documents come from."""


@source.group()
def add() -> None:
    """Add a source; it is read at the next sync."""


add.add_command(add_files.files)


@source.command("list")
@as_json
def list_(as_json: bool) -> None:
    """List the sources and how they are."""

    async def work(app: App) -> list[dict[str, Any]]:
        from bot.keeping import overview

        return [state async for state in overview(app.keeping)]

    found = run(work)
    if as_json:
        for state in found:
            screen.emit(state)
        return
    lines = [
        (
            each["name"],
            each["kind"],
            each["state"],
            each["documents"],
            each["chunks"],
            each["last_run"],
            len(each["problems"]),
        )
        for each in found
    ]
    headings = ("source", "kind", "state", "documents", "passages", "last run", "problems")
    screen.table(headings, lines, "No source yet; add one with `footnote source add files NAME --path DIR`.")


@source.command()
@click.argument("name")
@as_json
def show(name: str, as_json: bool) -> None:
    """Show one source with every problem it has."""

    async def work(app: App) -> dict[str, Any]:
        from bot.keeping import state_of

        return await state_of(app.keeping, name)

    found = run(work)
    if as_json:
        screen.emit(found)
        return
    lists = ("problems", "feeds")
    screen.table(("", ""), [(key, value) for key, value in found.items() if key not in lists], "")
    if found["feeds"]:
        lags = [(each["feed"], each["every_seconds"], each["last"], each["lag_seconds"]) for each in found["feeds"]]
        screen.table(("feed", "every (s)", "last", "lag (s)"), lags, "")
    problems = [(each["document"], each["reason"]) for each in found["problems"]]
    screen.table(("document", "problem"), problems, "No problems.")


def _change(name: str, state: str, as_json: bool) -> None:
    async def work(app: App) -> dict[str, Any]:
        from bot.keeping import change_state

        return await change_state(app.keeping, name, state)

    changed = run(work)
    screen.emit(changed) if as_json else click.echo(f"{name} is {changed['state']}.")


@source.command()
@click.argument("name")
@as_json
def pause(name: str, as_json: bool) -> None:
    """Stop syncing NAME; what it has granted lapses with its lease."""
    _change(name, "paused", as_json)


@source.command()
@click.argument("name")
@as_json
def resume(name: str, as_json: bool) -> None:
    """Sync NAME again."""
    _change(name, "active", as_json)


@source.command()
@click.argument("name")
@as_json
def remove(name: str, as_json: bool) -> None:
    """Forget NAME and everything read from it; nobody is answered from it from here on."""
    _change(name, "removed", as_json)
