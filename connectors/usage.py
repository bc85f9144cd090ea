"""What hosted models were used for, counted where the answer comes back.

An adapter tells each call to whoever opened a count around it (`counted`), and to nobody where there is none: a sync is
counted in metrics only. Numbers are the vendor's own; nothing is estimated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spent:
    """One call: its purpose (`embed`, `rerank`, `write`), and what the vendor bills for it."""

    purpose: str
    model: str
    units: Mapping[str, int]  # input_tokens, output_tokens, search_units; empty where the vendor did not say
    failed: bool = False
    retries: int = 0
    cost: float | None = None  # in the currency of the price list; None where there is no price or no unit


Tell = Callable[[Spent], None]

_counting: ContextVar[list[Spent] | None] = ContextVar("counting", default=None)


@contextmanager
def counted() -> Iterator[list[Spent]]:
    """Collect every call made within, in tasks begun within too."""
    calls: list[Spent] = []
    before = _counting.set(calls)
    try:
        yield calls
    finally:
        _counting.reset(before)


def note(spent: Spent) -> None:
    """Add a call to the count that is open here."""
    calls = _counting.get()
    if calls is not None:
        calls.append(spent)


def tally(calls: Iterable[Spent]) -> dict[str, int]:
    """Calls and units by purpose, such as `write.output_tokens`; `unbilled` where the vendor did not say."""
    counts: Counter[str] = Counter()
    for call in calls:
        counts[f"{call.purpose}.calls"] += 1
        counts[f"{call.purpose}.retries"] += call.retries
        counts[f"{call.purpose}.failed"] += call.failed
        counts[f"{call.purpose}.unbilled"] += not call.units and not call.failed
        counts.update({f"{call.purpose}.{unit}": number for unit, number in call.units.items()})
    return {name: number for name, number in sorted(counts.items()) if number}


def cost(calls: Iterable[Spent]) -> float | None:
    """What the calls cost together; None where there were none, or where one has no price."""
    prices = [call.cost for call in calls if not call.failed]
    known = [price for price in prices if price is not None]
    return sum(known) if known and len(known) == len(prices) else None
