"""`trace`: the audit record, looked at, exported, verified and recomputed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any

import click

from bot import screen
from bot.commands.running import as_json, run
from bot.errors import Unusable

if TYPE_CHECKING:
    from bot.wiring import App
    from connectors.ports import TraceView
    from policies.names import Principal


@click.group()
def trace() -> None:
    """The audit record of every question."""


@trace.command()
@click.argument("trace_id", metavar="ID")
@click.option("--reveal", is_flag=True, help="Also open what is sealed: who asked, the question and the reply.")
@as_json
def show(trace_id: str, reveal: bool, as_json: bool) -> None:
    """Show one trace: what was found, what was judged, what was delivered; ids and verdicts, never text."""

    async def work(app: App) -> dict[str, Any]:
        from bot.auditing import shown

        return shown(await _found(app, trace_id, reveal))

    record = run(work)
    if as_json:
        screen.emit(record)
        return
    from rich.json import JSON

    screen.console().print(JSON.from_data(record, ensure_ascii=True))


@trace.command("list")
@click.option("--since", help="A day or time, such as 2026-07-01 or 2026-07-01T08:00Z.")
@click.option("--person", help="Only questions of this person: an e-mail address or a principal.")
@click.option("--outcome", help="Only those that ended so, such as answered or abstained.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="At most so many.")
@as_json
def list_(since: str | None, person: str | None, outcome: str | None, limit: int, as_json: bool) -> None:
    """List traces, newest first. Askers are pseudonyms."""

    async def work(app: App) -> list[dict[str, Any]]:
        from bot.auditing import summary

        found = await app.traces.list(
            app.clock(), since=moment(since), person=principal(person), outcome=outcome, limit=limit
        )
        return [summary(each) for each in found]

    found = run(work)
    if as_json:
        for each in found:
            screen.emit(each)
        return
    lines = [(each["trace_id"], each["at"], each["outcome"] or each["state"], each["asker"]) for each in found]
    screen.table(("trace", "at", "outcome", "asker"), lines, "No trace.")


@trace.command()
@click.option("--since", help="A day or time; without it, everything.")
def export(since: str | None) -> None:
    """Print the records of the chain, one JSON object a line, and a signed checkpoint over them."""

    async def work(app: App) -> None:
        async for line in app.traces.export(moment(since), app.clock()):
            click.echo(line)

    run(work)


@trace.command()
@click.argument("file", required=False, type=click.File("r", encoding="utf-8", errors="replace"))
@as_json
def verify(file: IO[str] | None, as_json: bool) -> None:
    """Verify the chain, or an exported FILE. Exit status 1 when a record was edited, left out or cut off."""

    async def work(app: App) -> dict[str, Any]:
        verdict = app.traces.verify_lines(file) if file is not None else await app.traces.verify()
        return {
            "ok": bool(verdict),
            "status": verdict.status,
            "records": verdict.records,
            "first_bad": verdict.first_bad,
            "problem": verdict.problem or None,
        }

    found = run(work)
    if as_json:
        screen.emit(found)
    elif found["ok"]:
        click.echo(f"{found['records']} records, unbroken.")
    else:
        where = "" if found["first_bad"] is None else f" at record {found['first_bad']}"
        click.echo(screen.plain(f"{found['status']}{where}: {found['problem']}"))
    if not found["ok"]:
        raise click.exceptions.Exit(1)


@trace.command()
@click.argument("trace_id", metavar="ID")
@as_json
def replay(trace_id: str, as_json: bool) -> None:
    """Recompute the access decisions of a trace from what it recorded. Exit status 1 when one comes out differently."""

    async def work(app: App) -> dict[str, Any]:
        from bot.auditing import replayed

        recorded = await app.traces.replay(trace_id, app.clock())
        if recorded is None:
            raise _unknown(trace_id)
        return replayed(recorded, app.policy)

    found = run(work)
    if as_json:
        screen.emit(found)
    else:
        lines = [(each["document"], each["recorded"], each["recomputed"], each["same"]) for each in found["decisions"]]
        screen.table(("document", "recorded", "recomputed", "same"), lines, "No document was judged.")
        if found["unreadable"]:
            click.echo(f"{found['unreadable']} verdicts had no facts to be recomputed from.")
    if found["same"] is False:
        raise click.exceptions.Exit(1)


async def _found(app: App, trace_id: str, reveal: bool) -> TraceView:
    view = await app.traces.show(trace_id, app.clock(), reveal=reveal)
    if view is None:
        raise _unknown(trace_id)
    return view


def _unknown(trace_id: str) -> Unusable:
    return Unusable(f"there is no trace {trace_id!r}; `footnote trace list` names them")


def moment(text: str | None) -> datetime | None:
    """A day or a time as people write it, in UTC where it names no zone; Unusable for anything else."""
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise Unusable(f"{text!r} is not a time; write it as 2026-07-01 or 2026-07-01T08:00Z") from None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def principal(text: str | None) -> Principal | None:
    """A person as people write him; Unusable for what can't be one."""
    if text is None:
        return None
    from policies.names import Principal

    try:
        return Principal.parse(text)
    except ValueError as error:
        raise Unusable(str(error)) from error
