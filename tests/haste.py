"""Haste for tests of clients that wait between attempts: whoever only sleeps sleeps a hundredth as long.

Nothing else is hurried: timeouts, the loop's own time and the clock stay what they are, so that a slow machine does not
make a request fail.
"""

from __future__ import annotations

import asyncio
from asyncio import futures
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

FASTER = 100
_WAKES = futures._set_result_unless_cancelled  # type: ignore[attr-defined] # what `asyncio.sleep` asks to be called


@contextmanager
def haste() -> Iterator[None]:
    """While this lasts, sleepers on the running loop are woken early."""
    loop: Any = asyncio.get_running_loop()
    if "call_later" in vars(loop):  # they are already
        yield
        return
    later = loop.call_later

    def call_later(delay: float, callback: Callable[..., object], *args: Any, **more: Any) -> asyncio.TimerHandle:
        handle: asyncio.TimerHandle = later(delay / (FASTER if callback is _WAKES else 1), callback, *args, **more)
        return handle

    loop.call_later = call_later
    try:
        yield
    finally:
        del loop.call_later
