from __future__ import annotations

from dataclasses import replace

import pytest

from bot.calibration import COHERE_UNFITTED, LOCAL, calibration
from bot.metrics import Metrics
from bot.prices import LIST_PRICES, Price, Prices
from connectors.usage import Spent

PRICES = Prices.read("writer=2.5/10, ranker=2  embedder=0.12")


def test_a_price_list_is_read() -> None:
    assert PRICES.of == {"writer": Price(2.5, 10), "ranker": Price(2), "embedder": Price(0.12)}
    assert len(Prices.read(LIST_PRICES).of) == 3


@pytest.mark.parametrize("text", ["writer", "writer=", "writer=x", "writer=1/2/3", "=1", "writer=-1", "writer=1e9"])
def test_a_price_that_can_t_be_read_says_what_would_be_right(text: str) -> None:
    with pytest.raises(ValueError, match="such as"):
        Prices.read(text)


@pytest.mark.parametrize(
    ("spent", "cost"),
    [
        (Spent("write", "writer", {"input_tokens": 1_000_000, "output_tokens": 100_000}), 3.5),
        (Spent("embed", "embedder", {"input_tokens": 500_000}), 0.06),
        (Spent("rerank", "ranker", {"search_units": 3}), 0.006),
        (Spent("rerank", "ranker", {"input_tokens": 3}), None),
        (Spent("write", "writer", {}), None),
        (Spent("write", "nobody knows", {"input_tokens": 1}), None),
    ],
)
def test_a_call_costs_what_the_list_says(spent: Spent, cost: float | None) -> None:
    assert PRICES.cost(spent) == (pytest.approx(cost) if cost is not None else None)


def test_thresholds_belong_to_the_models_that_they_were_fitted_on() -> None:
    assert calibration("local", "local") is LOCAL
    assert calibration("local", "cohere") == calibration("cohere", "cohere") == COHERE_UNFITTED
    assert calibration("cohere", "local") == replace(LOCAL, fitted=False)
    assert LOCAL.fitted
    assert not COHERE_UNFITTED.fitted


def test_metrics_count_calls_units_retries_and_cost() -> None:
    metrics = Metrics()
    metrics.spent(Spent("write", "m", {"output_tokens": 7}, retries=2, cost=0.25))
    metrics.spent(Spent("write", "m", {}, failed=True))

    lines = metrics.written().decode().splitlines()
    assert 'footnote_model_calls_total{model="m",outcome="done",purpose="write"} 1.0' in lines
    assert 'footnote_model_calls_total{model="m",outcome="failed",purpose="write"} 1.0' in lines
    assert 'footnote_model_units_total{model="m",purpose="write",unit="output_tokens"} 7.0' in lines
    assert 'footnote_model_retries_total{model="m",purpose="write"} 2.0' in lines
    assert 'footnote_model_cost_total{model="m",purpose="write"} 0.25' in lines
