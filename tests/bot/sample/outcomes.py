"""The demo's questions through the whole product with its real models, on whichever doors the settings name."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.answering.ask import ask
from bot.answering.outcome import to_json
from bot.answering.question import Question
from bot.keeping import add_source, sync_named
from bot.sample import DOCUMENTS, QUESTIONS
from bot.settings import Settings
from bot.wiring import open_app
from policies.audience import Place
from policies.names import Principal

ASKED: list[dict[str, Any]] = tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))["questions"]
_OWN = ("trace_id",)  # of one ask alone
_TAG = re.compile(r"·[0-9a-f]{6}\]")  # what tells one reply's masked people from another's


async def outcomes(data: Path, settings: Mapping[str, str]) -> list[dict[str, Any]]:
    """What each question comes to, with text, citations, audience and notes, on a data directory of its own. The audit
    record has to verify at the end."""
    found = []
    async with open_app(Settings.read({"FOOTNOTE_DATA": str(data), **settings}), warm=True) as app:
        await add_source(app.keeping, "sample", "files", {"path": str(DOCUMENTS)})
        report = await sync_named(app.keeping, "sample")
        assert report["complete"]
        for row in ASKED:
            place = Place.parse(row.get("in", "dm"))
            question = Question(Principal.parse(row["as"]), place, row["text"], app.clock(), row.get("on"))
            answer = to_json(await ask(question, app.doors))
            told = {name: value for name, value in answer.items() if name not in _OWN}
            found.append(
                {
                    "asked": row["text"],
                    "as": row["as"],
                    **json.loads(_TAG.sub("·tag]", json.dumps(told, ensure_ascii=False))),
                }
            )
        verdict = await app.traces.verify()
        assert (verdict.status, verdict.records) == ("ok", 2 * len(ASKED))
    return found
