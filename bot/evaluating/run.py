"""A golden set asked through the product's own line, scored, saved, and held against an earlier run."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bot.evaluating.golden import GoldenQuestion, WrongGolden
from bot.evaluating.scoring import DEPTH, Score, score, total

Json = Mapping[str, Any]
Asked = Callable[[Json], Awaitable[Json]]  # a request as a batch takes it -> the JSON of `ask` or `search`
Tell = Callable[[int, int | None, str], None]


async def evaluate(questions: Sequence[GoldenQuestion], search: Asked, ask: Asked, tell: Tell) -> list[Score]:
    """Search for and ask every question, in order."""
    scores: list[Score] = []
    for done, question in enumerate(questions):
        tell(done, len(questions), question.id)
        request = question.request()
        scores.append(score(question, await search({**request, "limit": DEPTH}), await ask(request)))
    return scores


def report(scores: Sequence[Score], name: str, facts: Json) -> dict[str, Any]:
    """The whole run as JSON; `facts` are what its numbers rest on, such as the models."""
    return {"run": name, **facts, **total(scores), "per_question": [each.to_json() for each in scores]}


def name_of(golden: Path, now: datetime) -> str:
    """The name a run is saved under."""
    return f"{now:%Y%m%dT%H%M%SZ}-{golden.stem}"


def save(run: Json, folder: Path) -> Path:
    """Write the run; returns where."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run['run']}.json"
    path.write_text(json.dumps(run, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def earlier(name: str, folder: Path) -> dict[str, Any]:
    """A saved run, by its name or as a file; raises WrongGolden."""
    path = next((each for each in (Path(name), folder / f"{name}.json", folder / name) if each.is_file()), None)
    if path is None:
        raise WrongGolden(f"there is no saved run {name!r}; runs are in {folder}")
    try:
        loaded = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WrongGolden(f"{path} is not a saved run: {error}") from error
    if not isinstance(loaded, dict) or "per_question" not in loaded:
        raise WrongGolden(f"{path} is not a saved run; give one that `footnote eval` wrote")
    return loaded


def passed(run: Json) -> bool:
    """No leak, and nothing worse than in the run it is held against."""
    return run["leaks"] == 0 and not run.get("against", {}).get("regressions")
