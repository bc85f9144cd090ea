"""The sample questions, asked through the whole product with its real models, come out as the sample tenant says."""

from __future__ import annotations

import json
import tomllib
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from bot.answering.ask import ask
from bot.answering.outcome import to_json
from bot.answering.question import Question
from bot.keeping import add_source, sync_named
from bot.sample import DOCUMENTS, QUESTIONS
from bot.settings import Settings
from bot.wiring import App, open_app
from policies.audience import Place
from policies.names import Principal

ASKED: list[dict[str, Any]] = tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))["questions"]

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    settings = Settings.read({"FOOTNOTE_DATA": str(tmp_path_factory.mktemp("sample"))})
    async with open_app(settings, warm=True) as opened:
        await add_source(opened.keeping, "sample", "files", {"path": str(DOCUMENTS)})
        await sync_named(opened.keeping, "sample")
        yield opened


@pytest.mark.parametrize("row", ASKED, ids=lambda row: f"{row['as'].partition('@')[0]}: {row['text'][:40]}")
async def test_a_sample_question_comes_out_as_promised(app: App, row: dict[str, Any]) -> None:
    place = Place.parse(row.get("in", "dm"))
    question = Question(Principal.parse(row["as"]), place, row["text"], app.clock(), row.get("on"))

    answer = to_json(await ask(question, app.doors))

    assert (row["outcome"], row["visible_to"]) == (answer["outcome"], answer["audience"]["visible_to"])
    said = _flat(json.dumps([answer["text"], answer["citations"], answer["notes"]], ensure_ascii=False))
    assert [text for text in row.get("must_say", ()) if _flat(text) not in _flat(answer["text"])] == []
    assert [text for text in row.get("must_not_say", ()) if _flat(text) in said] == []
    cited = {f"{each['document']}#{each['section']}" for each in answer["citations"]}
    assert [wanted for wanted in row.get("cites", ()) if not any(_fits(wanted, each) for each in cited)] == []
    assert all(f"[{each['label']}]" in answer["text"] for each in answer["citations"])


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def _fits(wanted: str, cited: str) -> bool:
    """`a#2` is cited by `a#2`, by its later chunks `a#2~2` and by its rows `a#2/row`; `a` by anything of it."""
    if "#" not in wanted:
        return cited.partition("#")[0] == wanted
    return cited == wanted or cited.startswith((f"{wanted}~", f"{wanted}/"))
