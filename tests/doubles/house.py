"""The product opened on doubles of model vendors: its settings, and asking in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bot.answering.ask import ask
from bot.answering.outcome import to_json
from bot.answering.question import Question
from bot.settings import Settings
from bot.wiring import App
from policies.audience import Place
from policies.names import Principal
from tests.doubles.cohere import KEY

COHERE = {"EMBEDDER": "cohere", "RERANKER": "cohere", "WRITER": "cohere"}


def settings(data: Path, url: str, **more: str) -> Settings:
    given = {"DATA": str(data), "COHERE_BASE_URL": url, "COHERE_API_KEY": KEY, "COHERE_EMBED_DIMENSIONS": "512"}
    return Settings.read({f"FOOTNOTE_{name}": value for name, value in {**given, **COHERE, **more}.items() if value})


async def asked(app: App, person: str, text: str, place: str = "dm", on: Any = None) -> dict[str, Any]:
    return to_json(await ask(Question(Principal.parse(person), Place.parse(place), text, app.clock(), on), app.doors))


async def traced(app: App, answer: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    view = await app.traces.show(answer["trace_id"], app.clock())
    assert view is not None
    assert view.end is not None
    return dict(view.begin), dict(view.end)
