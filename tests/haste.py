"""An event loop for tests of clients that wait between attempts: whoever only sleeps sleeps a hundredth as long.

Nothing else is hurried: timeouts, the loop's own time and the clock stay what they are, so that a slow machine does not
make a request fail.
"""

from __future__ import annotations

import asyncio
from asyncio import futures
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVarTuple, Unpack

_Args = TypeVarTuple("_Args")

FASTER = 100
_WAKES = futures._set_result_unless_cancelled  # type: ignore[attr-defined] # what `asyncio.sleep` asks to be called


class HastyLoop(asyncio.SelectorEventLoop):
    """The usual loop, but for sleeping."""

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[_Args]], object],
        *args: *_Args,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As asked, unless it is a sleeper who is to be woken."""
        return super().call_later(delay / (FASTER if callback is _WAKES else 1), callback, *args, context=context)


class HastyPolicy(asyncio.DefaultEventLoopPolicy):
    """For a test's `event_loop_policy` fixture."""

    _loop_factory = HastyLoop


def run_hastily(work: Any) -> Any:
    """As `asyncio.run` does."""
    with asyncio.Runner(loop_factory=HastyLoop) as runner:
        return runner.run(work)
