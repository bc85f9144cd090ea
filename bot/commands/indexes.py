"""`index` and `reindex`: does the index hold what it ought to, and making it anew without a pause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bot import screen
from bot.commands.running import as_json, run

if TYPE_CHECKING:
    from bot.wiring import App


@click.group()
def index() -> None:
    """Look after the index of passages."""


@index.command("check")
@click.argument("source", required=False)
@click.option("--repair", "mend", is_flag=True, help="Make it right; what has to be read again is synced at once.")
@as_json
def check_index(source: str | None, mend: bool, as_json: bool) -> None:
    """Compare the index with the ledger, both ways, for SOURCE or every source. Exit status 1 when they differ."""

    async def work(app: App) -> list[dict[str, Any]]:
        from bot.indexing import check
        from bot.keeping import state_of, sync_named

        names = [(await state_of(app.keeping, source))["name"]] if source else await app.keeping.active()
        found = [each async for each in check(app.indexing, names, mend=mend)]
        for each in found:
            if each.get("repaired", {}).get("to_read_again"):
                with screen.progress("Syncing") as tell:
                    await sync_named(app.keeping, each["source"], full=True, tell=tell)
        return found

    found = run(work)
    if as_json:
        for each in found:
            screen.emit(each)
    else:
        for each in found:
            _show(each)
    if not all(each["ok"] or "repaired" in each for each in found):
        raise click.exceptions.Exit(1)


def _show(record: dict[str, Any]) -> None:
    counts = {name: record[name] for name in ("missing", "extra", "wrong_scope", "wrong_text") if record[name]}
    said = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items()) or "the same"
    click.echo(screen.plain(f"{record['source']}: {record['held']} passages, {said}"))
    for example in record["examples"]:
        click.echo(screen.plain(f"  {example}"))
    if done := record.get("repaired"):
        removed, moved, again = done["removed"], done["moved"], done["to_read_again"]
        click.echo(f"  repaired: {removed} documents removed, {moved} moved, {again} read again")
    elif counts:
        click.echo("  make it right with: footnote index check --repair")


async def _rolled_back(app: App, sources: list[str]) -> dict[str, Any]:
    """The index before serves; what it lacks is read again at once, unless it is for a model that is not configured."""
    from bot.indexing import roll_back
    from bot.keeping import sync_named

    done = await roll_back(app.indexing, sources)
    if await app.index.check() is None:
        active = await app.keeping.active()
        for name in done["to_read_again"]:
            if name in active:
                with screen.progress("Syncing") as tell:
                    await sync_named(app.keeping, name, full=True, tell=tell)
    else:
        click.echo("it is for another model: configure that one, then run `footnote sync --full`", err=True)
    return done


@click.command()
@click.option("--rollback", is_flag=True, help="Let the index before serve again.")
@as_json
def reindex(rollback: bool, as_json: bool) -> None:
    """Make the index anew beside the one that serves, for the model and layout configured now, then let it serve.

    Questions are answered meanwhile by processes that run already; start them again afterwards. After a kill the same
    command goes on. The index before is kept until the next time.
    """

    async def work(app: App) -> dict[str, Any]:
        from bot.indexing import remake

        sources = [config.name for config in await app.keeping.sources.list()]
        if rollback:
            return await _rolled_back(app, sources)
        with screen.progress("Reindexing") as tell:
            return await remake(app.indexing, sources, lambda done, of: tell(done, of, "passages"))

    done = run(work)
    if as_json:
        screen.emit(done)
        return
    click.echo(screen.plain(f"{done['now']} serves instead of {done['before']}"))
    if not rollback:
        click.echo(f"{done['passages']} passages, {done['embedded']} of them embedded anew")
    if not rollback and done["to_read_again"]:
        click.echo(f"{done['to_read_again']} documents are cut otherwise now; the next sync reads them again")
