"""`check` and `eval`: is it set up right, and are its answers right?"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot import screen
from bot.calibration import calibration
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
        lines = [
            ("ok" if each["ok"] else "wrong", each["check"], each["problem"] or each["detail"], each["fix"])
            for each in found
        ]
        screen.table(("", "check", "found", "what to do"), lines, "")
    if not all(each["ok"] for each in found):
        raise click.exceptions.Exit(1)


@click.command("eval")
@click.argument("golden", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--against", metavar="RUN", help="A saved run, by its name or file, to compare with.")
@as_json
def evaluate(golden: Path, against: str | None, as_json: bool) -> None:
    """Score retrieval and answers on GOLDEN, a file of JSON lines. Exit status 1 on a leak or a regression.

    A line is {"id": …, "text": …, "as": …}, and where they matter "in", "on", "kind", "relevant" (addresses of
    documents, versions or passages), "outcome", "must_say", "must_not_say" and "forbidden". The run is saved in the
    data directory under its name.
    """
    from bot.evaluating import golden as sets
    from bot.evaluating import run as runs
    from bot.evaluating.scoring import compare

    questions = sets.load(golden)

    async def work(app: App) -> dict[str, Any]:
        from bot.commands.asking import answer_request, search_request

        folder = app.settings.data / "evals"
        before = runs.earlier(against, folder) if against is not None else None
        with screen.progress("Asking") as tell:
            scores = await runs.evaluate(questions, partial(search_request, app), partial(answer_request, app), tell)
        settings = app.settings
        thresholds = asdict(calibration(settings.embedder, settings.reranker))
        facts = {"policy_version": app.policy.version, "models": _models(app), "thresholds": thresholds}
        scored = runs.report(scores, runs.name_of(golden, app.clock()), facts)
        scored = scored if before is None else {**scored, "against": compare(scored, before)}
        return {**scored, "saved": str(runs.save(scored, folder))}

    scored = run(work, answers=True)
    screen.emit(scored) if as_json else _show_scores(scored)
    if not runs.passed(scored):
        raise click.exceptions.Exit(1)


def _models(app: App) -> dict[str, str]:
    doors = app.doors
    return {"embedder": doors.embedder.model, "reranker": doors.reranker.model, "writer": doors.writer.model}


def _show_scores(scored: dict[str, Any]) -> None:
    changes = scored.get("against", {}).get("changes", {})
    for group in ("retrieval", "answers"):
        lines = [
            (name, "–" if value is None else f"{value:.4g}", f"{changes[name]:+.4f}" if name in changes else "")
            for name, value in scored[group].items()
        ]
        screen.table((group, "", "change"), lines, "")
    wrong = [each for each in scored["per_question"] if not each["right"]]
    failures = [
        (each["id"], each["expected"], each["outcome"], ", ".join(each["missing"]), ", ".join(each["leaks"]))
        for each in wrong
    ]
    screen.table(("not right", "expected", "outcome", "does not say", "leaks"), failures, "Every answer is right.")
    worse = scored.get("against", {}).get("regressions", [])
    click.echo(f"leaks: {scored['leaks']}" + (f"; worse than before: {', '.join(worse)}" if worse else ""))
    click.echo(f"saved as {scored['run']}; compare with --against {scored['run']}")
