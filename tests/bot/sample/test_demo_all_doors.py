"""The demo on Weaviate, PostgreSQL and a double of Cohere at once: every door of production but sources and Slack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from connectors.index.weaviate_door import Address
from tests.bot.sample.outcomes import ASKED, outcomes
from tests.doubles.cohere import KEY, Cohere, Local
from tests.weaviate import MISSING, fresh_name, settings_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

COHERE = {
    "FOOTNOTE_EMBEDDER": "cohere",
    "FOOTNOTE_RERANKER": "cohere",
    "FOOTNOTE_WRITER": "cohere",
    "FOOTNOTE_COHERE_API_KEY": KEY,
    "FOOTNOTE_COHERE_EMBED_DIMENSIONS": "512",
}


@MISSING
async def test_the_demo_runs_on_weaviate_postgresql_and_cohere_at_once(
    postgres_url: str, weaviate: Address, tmp_path: Path
) -> None:
    double = Cohere()
    Local().behind(double)  # so that vectors and relevances mean something
    async with double.open() as url:
        doors = {**settings_of(weaviate, fresh_name()), "FOOTNOTE_DATABASE_URL": postgres_url, **COHERE}
        found = await outcomes(tmp_path, {**doors, "FOOTNOTE_COHERE_BASE_URL": url})

    assert len(found) == len(ASKED)
    assert [wrong for wrong in map(wrongs, ASKED, found) if wrong] == []
    answered = [each for each in found if each["outcome"] == "answered"]
    assert len(answered) >= 0.6 * sum(row["outcome"] == "answered" for row in ASKED)
    assert all(each["citations"] for each in answered)


def wrongs(row: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    """What is wrong whoever wrote it: the double's writer may miss an answer, and may never say what is not to be
    said."""
    said = json.dumps([answer["text"], answer["citations"], answer["notes"]], ensure_ascii=False).casefold()
    found = [f"says {text!r}" for text in row.get("must_not_say", ()) if text.casefold() in said]
    if row["outcome"] != "answered" and answer["outcome"] != row["outcome"]:
        found.append(f"{answer['outcome']} instead of {row['outcome']}")
    if row["visible_to"] == "asker" and answer["audience"]["visible_to"] != "asker":
        found.append("everyone sees it")
    found += [
        f"[{each['label']}] leads nowhere" for each in answer["citations"] if f"[{each['label']}]" not in answer["text"]
    ]
    return [f"{row['text']} ({row['as']}): {each}" for each in found]
