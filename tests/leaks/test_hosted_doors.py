"""The watch on hosted models: what goes over the wire to a vendor is held against what the asker may read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bot.answering.doors import Doors
from connectors.http import Limits, Site
from connectors.models.cohere import Account, CohereEmbedder, CohereReranker, CohereWriter
from tests.doubles.cohere import CHAT, EMBED, KEY, RERANK, Cohere
from tests.doubles.vendor import Call
from tests.leaks.canaries import Aviary, build
from tests.memory import HashingEmbedder

ASKS = 200


@pytest.fixture(scope="module")
def aviary() -> Aviary:
    return build(pages=120, people=24, seed=5)


@pytest.mark.timeout(300)
async def test_no_forbidden_word_goes_over_the_wire(aviary: Aviary) -> None:
    double, hashing = Cohere(dimensions=64), HashingEmbedder()

    async def embeds(texts: list[str], _input_type: str, _dimensions: int) -> list[list[float]]:
        return [list(map(float, vector)) for vector in await hashing.passages(texts)]

    def told(call: Call) -> None:
        aviary.world.tap.keep("cohere", call.path, json.dumps([call.body, dict(call.headers)], ensure_ascii=False))

    double.embeds, double.told = embeds, told
    async with double.open() as url, Site("cohere", url, limits := Limits()) as site:

        def account(purpose: str) -> Account:
            return Account(site, KEY, purpose, lambda _: None)

        def hosted(doors: Doors) -> Doors:
            return replace(
                doors,
                embedder=CohereEmbedder(account("embed"), "embed-v4.0", limits, 64),
                reranker=CohereReranker(account("rerank"), "rerank-v3.5", limits),
                writer=CohereWriter(account("write"), "command-a-03-2025", limits),
            )

        run = await aviary.run(ASKS, seed=3, weaken=hosted)

    assert run.leaks[:5] == []
    assert run.errors == 0
    # It was worth watching.
    assert run.answered > ASKS / 20
    assert len(run.seen) > 20
    assert min(len(double.to(path)) for path in (EMBED, RERANK, CHAT)) > ASKS / 8
