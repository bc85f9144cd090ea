"""The injection detectors: our own rules and those of promptbadger (MIT), on each text in bounded pieces.

promptbadger's patterns run on RE2 here, so no text makes them slow; the few that RE2 can't express run on pieces short
enough for them. What they say about a text is a rule's id, never a stretch of the text.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import re2
from promptbadger.models import VERDICT_BENIGN, VERDICT_MALICIOUS
from promptbadger.rules import load_rules
from promptbadger.scanner import Scanner

from connectors.ports import Verdict
from policies.facts import Trust
from policies.injection import Severity, Signal, signals, verdict

FAILED = Verdict(Trust.QUARANTINED, ("detector-failed",))
UNREAD = Signal("too-long-to-judge", Severity.HIGH)

_PIECE = 4_000  # characters judged at once
_OVERLAP = 400  # longer than any rule's reach
_PIECES = 500  # of one text; what is longer is not judged, so it is not trusted
_SECONDS = 20.0  # for one call
_REMEMBERED = 4_096  # verdicts

Judge = Callable[[str], Sequence[Signal]]


class Detectors:
    """Every judge looks at every text, and the most suspicious one decides."""

    def __init__(self, judges: Sequence[Judge] | None = None, seconds: float = _SECONDS) -> None:
        self._judges = tuple(judges) if judges is not None else (signals, badger)
        self._seconds = seconds
        self._known: OrderedDict[bytes, Verdict] = OrderedDict()

    async def trust(self, texts: Sequence[str]) -> Sequence[Verdict]:
        """One verdict a text, in order; see `connectors.ports.Detector`."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        fresh = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        verdicts = {key: self._known[key] for key in keys if key in self._known}
        verdicts |= await self._judged(fresh)
        for key, judged in verdicts.items():
            if judged is not FAILED:
                self._known[key] = judged
                self._known.move_to_end(key)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return [verdicts[key] for key in keys]

    async def _judged(self, texts: dict[bytes, str]) -> dict[bytes, Verdict]:
        judged = dict.fromkeys(texts, FAILED)

        def work() -> None:
            for key, text in texts.items():
                judged[key] = self._verdict(text)

        if texts:
            try:
                await asyncio.wait_for(asyncio.to_thread(work), self._seconds)
            except TimeoutError:
                return {key: judged[key] for key in texts}
        return judged

    def _verdict(self, text: str) -> Verdict:
        try:
            found = sorted({signal for judge in self._judges for piece in _pieces(text) for signal in judge(piece)})
        except Exception:  # a door: whatever went wrong in there, the text was not judged
            return FAILED
        if len(text) > _PIECES * _PIECE:
            found.append(UNREAD)
        return Verdict(verdict(found), tuple(dict.fromkeys(signal.rule for signal in found)))


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, max(min(len(text), _PIECES * _PIECE) - _OVERLAP, 1), _PIECE - _OVERLAP):
        yield text[start : start + _PIECE]


def badger(text: str) -> Sequence[Signal]:
    """What promptbadger finds in content that a model will read."""
    result = _scanner().scan_context(text)
    if result.verdict == VERDICT_BENIGN:
        return ()
    severity = Severity.HIGH if result.verdict == VERDICT_MALICIOUS else Severity.LOW
    return [Signal(f"promptbadger-{detection.rule_id}", severity, detection.view) for detection in result.detections]


@cache
def _scanner() -> Scanner:
    rules = [replace(rule, patterns=[_linear(pattern) for pattern in rule.patterns]) for rule in load_rules()]
    return Scanner(rules=rules)


def _linear(pattern: Any) -> Any:
    # RE2 knows \b and \w for ASCII only, so patterns in other scripts stay with re.
    if not pattern.pattern.isascii():
        return pattern
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    try:
        return re2.compile(pattern.pattern, options)
    except re2.error:  # look-arounds
        return pattern
