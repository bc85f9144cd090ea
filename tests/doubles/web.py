"""A web server on this machine for tests: routes in, address out, gone with its context."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def served(routes: Mapping[str, Handler]) -> AsyncIterator[str]:
    """Serve these paths for any method; gives the base URL."""
    application = web.Application(client_max_size=64_000_000)
    for path, handler in routes.items():
        application.router.add_route("*", path, handler)
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()
