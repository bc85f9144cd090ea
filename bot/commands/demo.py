"""`demo`: the sample tenant, synced and asked as several people, with nothing but this machine."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot import screen
from bot.commands.running import as_json, run

if TYPE_CHECKING:
    from bot.wiring import App

SAMPLE = Path(__file__).parents[1] / "sample"
SOURCE = "sample"

Json = Mapping[str, Any]


@click.command()
@as_json
def demo(as_json: bool) -> None:
    """Sync the sample tenant and answer its questions as several people. Needs nothing but this machine.

    The second time takes seconds. Everything is written to the data directory, ./var where FOOTNOTE_DATA says nothing.
    """
    questions = _questions()
    folder = str((SAMPLE / "documents").resolve())

    async def work(app: App) -> list[tuple[Json, Json]]:
        await _bring_in(app, folder, quiet=as_json)
        return [(question, await _answered(app, question, as_json)) for question in questions]

    asked = run(work, answers=True)
    if not as_json:
        _where_next(asked)


def _questions() -> list[dict[str, Any]]:
    """The sample questions as requests; TOML has days where a request has text."""
    read = tomllib.loads((SAMPLE / "questions.toml").read_text(encoding="utf-8"))["questions"]
    return [{**each, "on": each["on"].isoformat()} if isinstance(each.get("on"), date) else each for each in read]


async def _bring_in(app: App, folder: str, *, quiet: bool) -> None:
    from bot.commands.sources import show_report
    from bot.keeping import add_source, sync_named

    await add_source(app.keeping, SOURCE, "files", {"path": folder})
    with screen.progress("Syncing") as tell:
        report = await sync_named(app.keeping, SOURCE, tell=tell)
    if not quiet:
        click.echo("The sample tenant is a made-up company; bot/sample/README.md says who is who in it.\n")
        show_report(report)


async def _answered(app: App, question: Json, as_json: bool) -> Json:
    from bot.commands.asking import answer_request, show_answer

    answer = await answer_request(app, question)
    if as_json:
        screen.emit(answer)
        return answer
    from rich.text import Text

    out = screen.console()
    place = question.get("in", "dm")
    asked = Text(f"\n{question['as']}", style="bold cyan")
    asked.append(f"  in {place}" if place != "dm" else "", style="cyan")
    asked.append(f"  as of {question['on']}" if question.get("on") else "", style="cyan")
    out.print(asked)
    out.print(Text(question["text"], style="bold"))
    out.print(Text(question["shows"], style="italic dim"))
    show_answer(answer)
    return answer


def _where_next(asked: list[tuple[Json, Json]]) -> None:
    lines = [
        (answer["trace_id"], answer["outcome"], question["as"], question.get("in", "dm"), question["text"])
        for question, answer in asked
    ]
    click.echo("\nEvery answer left a trace:")
    screen.table(("trace", "outcome", "person", "place", "question"), lines, "")
    [first, *_] = asked
    click.echo("Look further:")
    for command in (
        f"footnote trace show {first[1]['trace_id']}",
        f"footnote trace replay {first[1]['trace_id']}",
        "footnote trace verify",
        "footnote why lena@example.com contractor-appendix.md",
        "footnote who headcount-plan-2027.md",
        'footnote ask "What is the appeal deadline for a Payer X authorization denial?" --as bianca@example.com',
        'footnote search "CO-197" --as bianca@example.com',
        f"footnote eval {_shown(SAMPLE / 'golden.jsonl')}",
    ):
        click.echo(f"  {command}")


def _shown(path: Path) -> str:
    """The path as it is shortest from here."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
