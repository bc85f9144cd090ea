"""A recorder before the doors: everything that leaves the line passes here and is kept, word for word.

What the line sends (texts to models and detectors, records to traces, the reply itself, logs, errors) is kept by door.
What comes in is not: an index may hand over whatever it likes, as long as none of it goes out again.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog

from bot.answering.doors import Doors
from policies.clearance import Cleared, Sealed

Before = Callable[[str], Awaitable[None]]  # told "door.method" before each call

OUTWARD = ("embedder", "reranker", "writer", "personal_data", "detector", "index", "facts", "directory", "traces")


@dataclass(frozen=True, slots=True)
class Crossing:
    """One thing that left: through which door, by which call, and all its words."""

    door: str
    call: str
    words: str


@dataclass(slots=True)
class Tap:
    """Keeps what crosses; `before` may change the world, or raise, before a call goes through."""

    crossings: list[Crossing] = field(default_factory=list)
    before: Before | None = None

    def on(self, name: str, door: Any) -> Any:
        """The same door with the tap before it."""
        return _Tapped(name, door, self)

    def before_all(self, doors: Doors) -> Doors:
        """The line's doors, each with the tap before it."""
        return dataclasses.replace(doors, **{name: self.on(name, getattr(doors, name)) for name in OUTWARD})

    def keep(self, door: str, call: str, *sent: Any) -> None:
        """Note what is sent."""
        self.crossings.append(Crossing(door, call, "\n".join(words_of(sent))))

    def through(self, *doors: str) -> str:
        """Everything that passed these doors; all of them where none is named."""
        return "\n".join(each.words for each in self.crossings if not doors or each.door in doors)

    def calls(self, door: str) -> list[str]:
        """The names of the calls through a door, in order."""
        return [each.call for each in self.crossings if each.door == door]

    @contextmanager
    def logs(self) -> Iterator[None]:
        """Keep every log line of structlog and of the standard library while this is open."""
        handler = _Handler(self)
        root, level = logging.getLogger(), logging.getLogger().level
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            with structlog.testing.capture_logs() as lines:
                yield
            for line in lines:
                self.keep("log", "structlog", dict(line))
        finally:
            root.removeHandler(handler)
            root.setLevel(level)


class _Handler(logging.Handler):
    def __init__(self, tap: Tap) -> None:
        super().__init__(logging.DEBUG)
        self._tap = tap

    def emit(self, record: logging.LogRecord) -> None:
        self._tap.keep("log", record.name, self.format(record))


class _Tapped:
    def __init__(self, name: str, door: Any, tap: Tap) -> None:
        self._name, self._door, self._tap = name, door, tap

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._door, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def tapped(*args: Any, **more: Any) -> Any:
            if self._tap.before:
                await self._tap.before(f"{self._name}.{name}")
            if self._name == "traces":
                *head, record, sealed, _now = args
                self._tap.keep("traces", name, *head, json.dumps(record))
                self._tap.keep("sealed", name, sealed)
            elif self._name in ("facts", "directory", "index"):
                self._tap.keep(self._name, name, repr((args, more)))  # ids, principals and the question, by the hundred
            else:
                self._tap.keep(self._name, name, args, more)
            return await found(*args, **more)

        return tapped


def words_of(sent: Any) -> Iterator[str]:
    """Every text within a value. Cleared content is open to its door; sealed content shows itself only by accident,
    and then it counts."""
    match sent:
        case str():
            yield sent
        case Cleared():
            yield from words_of(sent.content)
        case Sealed():
            yield from words_of(sent._content)
        case Mapping():
            for key, value in sent.items():
                yield from words_of(key)
                yield from words_of(value)
        case list() | tuple() | set() | frozenset():
            for each in sent:
                yield from words_of(each)
        case BaseException():
            yield from words_of([repr(sent), *sent.args, sent.__cause__, sent.__context__])
        case None | bool() | int() | float():
            yield str(sent)
        case _ if dataclasses.is_dataclass(sent) and not isinstance(sent, type):
            for each in dataclasses.fields(sent):
                yield from words_of(getattr(sent, each.name))
        case _:
            yield repr(sent)


def as_seen(json_able: Any) -> str:
    """A reply as it is printed."""
    return json.dumps(json_able, ensure_ascii=False)
