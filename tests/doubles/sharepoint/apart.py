"""The vendor in a thread of its own, for tests of programs that bring their own event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from tests.doubles.sharepoint.simulator import SharePoint
from tests.doubles.sharepoint.tenant import Tenant


@contextmanager
def served_apart() -> Iterator[SharePoint]:
    """A tenant that is served until the end of the block, at the time that it is. Change it between requests."""
    vendor = SharePoint(Tenant(at=datetime.now(UTC)), clock=lambda: datetime.now(UTC))
    ready, done = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with vendor:
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    if not ready.wait(30):
        raise RuntimeError("the tenant is not served")
    try:
        yield vendor
    finally:
        loops[0].call_soon_threadsafe(done.set)
        thread.join(30)
