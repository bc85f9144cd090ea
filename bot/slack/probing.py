"""Whether somebody asks nearly the same again and again in a short while, as one does who probes for what is there.

Each answer may tell a little of what is hidden, by its time or its words; so they are not to be had by the hundred.
What is counted is his own asking alone, in this process; it says nothing about any document.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

MOST = 12  # questions that are nearly the same, within a minute
_WITHIN = timedelta(minutes=1)
_SILENT = timedelta(hours=1)  # between two times that it is the first of
_ALIKE = 0.6  # of the words of two questions together, that both have
_KEPT = 60  # questions of one person
_PEOPLE = 5_000

Verdict = Literal["few", "first too many", "too many"]
_Asked = tuple[datetime, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Probing:
    """What each person asked in the last minute."""

    most: int = MOST
    _asked: OrderedDict[str, Sequence[_Asked]] = field(default_factory=OrderedDict)
    _told: dict[str, datetime] = field(default_factory=dict)

    def verdict(self, asker: str, text: str, now: datetime) -> Verdict:
        """Count a question."""
        words = frozenset(re.findall(r"\w+", text.casefold()))
        recent = [each for each in self._asked.pop(asker, ()) if abs(now - each[0]) < _WITHIN]
        alike = sum(_alike(words, before) for _, before in recent)
        self._asked[asker] = [*recent, (now, words)][-_KEPT:]
        while len(self._asked) > _PEOPLE:
            self._asked.popitem(last=False)
        if alike < self.most:
            return "few"
        told = self._told.get(asker)
        if told is not None and abs(now - told) < _SILENT:
            return "too many"
        if len(self._told) >= _PEOPLE:
            self._told.clear()
        self._told[asker] = now
        return "first too many"


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _ALIKE * len(one | other)
