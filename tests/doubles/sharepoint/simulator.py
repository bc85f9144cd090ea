"""SharePoint and Graph on this machine: one tenant, three servers on loopback, faults by pattern, a count.

    async with SharePoint() as vendor:
        site = vendor.tenant.site("hr")
        vendor.fault(r"/root/delta", status(503), times=2)

The login authority, Graph and the sites' host have addresses of their own, as they have in the world, so that a token
for one is never good for another.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import datetime
from types import TracebackType

from aiohttp import web

from tests.doubles.sharepoint.graph import Graph
from tests.doubles.sharepoint.login import Login, certificate
from tests.doubles.sharepoint.oracle import permitted
from tests.doubles.sharepoint.rest import Rest
from tests.doubles.sharepoint.state import Item
from tests.doubles.sharepoint.tenant import Tenant
from tests.doubles.sharepoint.wire import Asked, Bend, Count, Fault, Reply, application, error

CLIENT = "0f9f5c2e-58f0-4ac6-8a4e-b7c1a4b1d2f3"


class SharePoint:
    """The vendor."""

    def __init__(self, tenant: Tenant | None = None, clock: Callable[[], datetime] | None = None) -> None:
        """`clock`: what time it is to the vendor; the tenant's own time unless given."""
        self.tenant = tenant or Tenant()
        self._clock = clock
        self.count = Count()
        self.faults: list[Fault] = []
        self.client = CLIENT
        self.pem = certificate("footnote").pem
        self.login = Login(self.tenant.id, CLIENT, certificate("footnote").certificate)
        self.graph = Graph(self.tenant, self.count, lambda: self.graph_origin)
        self.rest = Rest(self.tenant, self.count, self.login, _effective)
        self.login_url = self.graph_origin = ""
        self._stack = AsyncExitStack()

    @property
    def graph_url(self) -> str:
        return f"{self.graph_origin}/v1.0"

    def site_url(self, path: str) -> str:
        """The address of a site by its path, as an admin writes it down."""
        return self.tenant.host + path

    async def __aenter__(self) -> SharePoint:
        self.login_url = await self._serve("login", self._login)
        self.graph_origin = await self._serve("graph", self._graph)
        self.tenant.host = await self._serve("sharepoint", self._sites)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _serve(self, door: str, answer: Callable[[Asked], object]) -> str:
        runner = web.AppRunner(
            application(door, answer), access_log=None, handler_cancellation=True, shutdown_timeout=0.2  # type: ignore[arg-type]
        )  # fmt: skip
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return "http://{}:{}".format(*runner.addresses[0][:2])

    # ------------------------------------------------------------ faults

    def fault(self, pattern: str, bend: Bend, times: int = 1_000_000, after: int = 0) -> Fault:
        """From now on this happens to what matches; returns it, to be taken off with `mend`."""
        made = Fault(pattern, bend, times, after)
        self.faults.append(made)
        return made

    def mend(self, *faults: Fault) -> None:
        """Take these off, or all."""
        self.faults = [each for each in self.faults if faults and each not in faults]

    async def _bent(self, asked: Asked, answer: Callable[[Asked], object]) -> Reply:
        if self._clock is not None:
            self.tenant.at = self._clock()
        reply = await answer(asked)  # type: ignore[misc]
        assert isinstance(reply, Reply)
        for fault in list(self.faults):
            if fault.applies(asked):
                reply = fault.bend(asked, reply)
        self.count.statuses[reply.status] += 1
        return reply

    # ------------------------------------------------------------ doors

    async def _login(self, asked: Asked) -> Reply:
        async def answer(asked: Asked) -> Reply:
            return self.login.answer(asked, self.tenant.at, self.login_url, self.tenant.host, self.graph_origin)

        return await self._bent(asked, answer)

    async def _graph(self, asked: Asked) -> Reply:
        problem = self.login.problem(asked, "graph", self.tenant.at)
        if problem:
            self.count.statuses[401] += 1
            return error(401, "InvalidAuthenticationToken", problem)
        return await self._bent(asked, self._inner)

    async def _inner(self, asked: Asked) -> Reply:
        return await self.graph.answer(asked, lambda each: self._bent(each, self._inner))

    async def _sites(self, asked: Asked) -> Reply:
        async def answer(asked: Asked) -> Reply:
            return self.rest.answer(asked)

        return await self._bent(asked, answer)


def _effective(tenant: Tenant, oid: str, item: Item) -> bool:
    return permitted(tenant, oid, item, tenant.at)
