"""What hosted models cost: a price list that an admin may replace, since contracts differ and list prices change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from connectors.usage import Spent

_ROW = re.compile(r"(?P<model>[^\s=,]{1,100})=(?P<first>\d{1,6}(?:\.\d{1,6})?)(?:/(?P<second>\d{1,6}(?:\.\d{1,6})?))?")


@dataclass(frozen=True, slots=True)
class Price:
    """Of one model: per million tokens in and out, or, of a reranker, `first` per thousand searches."""

    first: float
    second: float = 0.0


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by model, all in one currency."""

    of: Mapping[str, Price]

    @classmethod
    def read(cls, text: str) -> Prices:
        """`MODEL=IN/OUT` per million tokens, `MODEL=PRICE` where there is one; of rerankers per thousand searches.
        ValueError says what would be right."""
        found: dict[str, Price] = {}
        for row in text.replace(",", " ").split():
            match = _ROW.fullmatch(row)
            if match is None:
                raise ValueError("prices such as command-a-03-2025=2.5/10, rerank-v3.5=2")
            found[match["model"]] = Price(float(match["first"]), float(match["second"] or 0))
        return cls(found)

    def cost(self, spent: Spent) -> float | None:
        """What a call cost; None where the model has no price, or the vendor told no units."""
        price = self.of.get(spent.model)
        if price is None or not spent.units:
            return None
        units = spent.units
        if spent.purpose == "rerank":
            return price.first * units["search_units"] / 1000 if "search_units" in units else None
        return (price.first * units.get("input_tokens", 0) + price.second * units.get("output_tokens", 0)) / 1_000_000


LIST_PRICES = "embed-v4.0=0.12, rerank-v3.5=2, command-a-03-2025=2.5/10"
"""In US dollars, as public pages gave them in 2026; nobody here has a contract that says so."""
