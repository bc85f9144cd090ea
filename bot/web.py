"""The process that stays: two listeners, the sync schedule, and an orderly end.

The first listener is for people's browsers and Slack, the second for health and metrics only. On SIGTERM or SIGINT no
new work is taken, what was begun is finished within a bound, and every door is closed.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from aiohttp import web

from bot import logs
from bot.calibration import calibration
from bot.health import ready
from bot.hooks import Hooks
from bot.indexing import check
from bot.keeping import overview, sync_named, wait_for
from bot.metrics import Metrics
from bot.settings import Settings
from bot.slack.edge import Edge
from bot.slack.serving import in_slack
from connectors.errors import DoorError, Stop

if TYPE_CHECKING:
    from bot.wiring import App

_NIGHTLY = 86_400.0  # seconds between two comparisons of index and ledger
_SOON = 600.0  # until the first, and until one that could not be made is tried again
_ROUND = 60.0  # until the sources are looked through again
_TOGETHER = 4  # sources synced at once
_GRACE = 20.0  # seconds that requests and syncs get to finish
_LARGEST = 1_000_000  # bytes of a request

METRICS = web.AppKey("metrics", Metrics)


async def serve_until_told(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT."""
    from bot.wiring import open_app

    log = logs.speak(production=settings.mode == "production")
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, told.set)
    metrics = Metrics()
    async with open_app(settings, warm=True, metrics=metrics) as app, serving(app, metrics, log):
        await told.wait()
        log.info("stopping")


@asynccontextmanager
async def serving(app: App, metrics: Metrics, log: Any) -> AsyncIterator[tuple[int, int]]:
    """Both listeners and the schedule; gives the two ports that were bound."""
    settings = app.settings
    async with AsyncExitStack() as stack:
        edge = await stack.enter_async_context(in_slack(app, metrics, log))
        schedule_of = Schedule()
        hooks = Hooks(app.far, app.memory, app.clock, schedule_of.wake, log)
        port = await _listen(stack, front(edge, hooks), settings.host, settings.port)
        metrics_port = await _listen(stack, inner(app, metrics), settings.host, settings.metrics_port)
        log.info("listening", port=port, metrics_port=metrics_port, mode=settings.mode)
        if not calibration(settings.embedder, settings.reranker).fitted:
            log.warning("thresholds are not fitted to these models: run footnote eval and read docs/models.md")
        schedule = asyncio.create_task(_keep(app, metrics, log, schedule_of))
        try:
            yield port, metrics_port
        finally:
            schedule.cancel()
            with suppress(asyncio.CancelledError, TimeoutError):
                await asyncio.wait_for(schedule, _GRACE)


async def _listen(stack: AsyncExitStack, application: web.Application, host: str, port: int) -> int:
    """Bind and return the port; raises Stop when the address is taken or not this machine's."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=_GRACE)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        raise Stop(f"{host}:{port} can't be bound ({error.strerror}); choose another host or port") from error
    bound: int = runner.addresses[0][1]
    return bound


def front(edge: Edge | None, hooks: Hooks | None = None) -> web.Application:
    """What people's browsers, Slack and the sources' webhooks reach; nothing is served that is not listed."""
    application = web.Application(client_max_size=_LARGEST, middlewares=[_nothing_extra])
    if hooks is not None:
        application.add_routes(hooks.routes)
    if edge is not None:
        application.add_routes([web.post("/slack/events", edge.events), *edge.pages])
    return application


def inner(app: App, metrics: Metrics) -> web.Application:
    """Health and metrics, on a port that is not for the outside."""

    async def healthz(_request: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    async def readyz(_request: web.Request) -> web.Response:
        wrong = [each async for each in ready(app)]
        return web.json_response({"ok": not wrong, "problems": wrong}, status=503 if wrong else 200)

    async def numbers(_request: web.Request) -> web.Response:
        kind = "text/plain; version=0.0.4; charset=utf-8"
        await _measure_lag(app, metrics)
        return web.Response(body=metrics.written(), headers={"Content-Type": kind})

    application = web.Application(client_max_size=_LARGEST, middlewares=[_nothing_extra])
    application.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", numbers)])
    return application


async def _measure_lag(app: App, metrics: Metrics) -> None:
    """As it is when somebody looks. A source that was never walked whole has no lag, and neither has a ledger that is
    away: a number of before would pass for one of now."""
    metrics.lag.clear()
    try:
        async for state in overview(app.keeping):
            if state["lag_seconds"] is not None:
                metrics.lag.labels(state["name"]).set(state["lag_seconds"])
    except DoorError:
        metrics.lag.clear()


@web.middleware
async def _nothing_extra(request: web.Request, handler: Any) -> web.StreamResponse:
    """Every answer, errors too, says no more than it must."""
    try:
        response: web.StreamResponse = await handler(request)
    except web.HTTPException as answer:
        answer.headers["X-Content-Type-Options"] = "nosniff"
        raise
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "no-store"
    return response


async def _keep(app: App, metrics: Metrics, log: Any, schedule: Schedule) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(keep_in_sync(app, metrics, log, schedule))
        group.create_task(keep_index_right(app, metrics, log))


async def keep_index_right(app: App, metrics: Metrics, log: Any, every: float = _NIGHTLY) -> None:
    """Compare the index with the ledger soon after the start and then once a day, and make it right; what has to be
    read again is synced. A source that is being synced, or can't be compared, is tried again soon."""
    wait, left = min(every, _SOON), list[str]()
    while True:
        await asyncio.sleep(wait)
        names, left = left or await _active(app, log), []
        for name in names:
            try:
                [found] = [each async for each in check(app.indexing, [name], mend=True)]
            except Exception as error:  # a task boundary: one source's fault must not end the schedule
                log.error("index check", source=name, error=type(error).__name__)
                left.append(name)
                continue
            counts = {key: found[key] for key in ("missing", "extra", "wrong_scope", "wrong_text")}
            log.info("index check", source=name, ok=found["ok"], **counts)
            if found.get("repaired", {}).get("to_read_again"):
                await _sync_one(app, name, metrics, log, full=True)
        wait = min(every, _SOON) if left else every


class Schedule:
    """When each source is looked at next: at its time, or soon after an event told of it."""

    def __init__(self) -> None:
        self._told = asyncio.Event()
        self._soon: set[str] = set()
        self._next: dict[str, float] = {}
        self._running: dict[str, asyncio.Task[None]] = {}

    def wake(self, name: str) -> None:
        """Look at this source now, or as soon as the look at it that is on has ended."""
        self._soon.add(name)
        self._told.set()

    def due(self, names: Sequence[str], now: float) -> list[str]:
        """Those to begin with now, none of which is on."""
        self._running = {name: task for name, task in self._running.items() if not task.done()}
        self._next = {name: at for name, at in self._next.items() if name in names}
        self._soon &= set(names)
        waiting = [name for name in names if name in self._soon or self._next.get(name, now) <= now]
        return [name for name in waiting if name not in self._running]

    def begin(self, name: str, task: asyncio.Task[None], again: float) -> None:
        """It is being looked at; `again`: when it is to be next."""
        self._soon.discard(name)
        self._next[name] = again
        self._running[name] = task
        task.add_done_callback(lambda _task: self._told.set())

    async def wait(self, now: float, longest: float) -> None:
        """Until one is due, told of, or done, but no longer than this."""
        self._told.clear()
        on = {name for name, task in self._running.items() if not task.done()}
        behind = self._soon - on
        wait = min([longest, *(at - now for name, at in self._next.items() if name not in on)])
        with suppress(TimeoutError):
            async with asyncio.timeout(0 if behind else max(wait, 0)):
                await self._told.wait()


async def keep_in_sync(app: App, metrics: Metrics, log: Any, schedule: Schedule | None = None) -> None:
    """Sync every active source, each at its own pace and none waiting for another; one that fails is tried again the
    next time. What another process adds, or hears of by an event, is found at the next round."""
    schedule, clock = schedule or Schedule(), asyncio.get_running_loop().time
    longest = min(app.settings.sync_every.total_seconds(), _ROUND)
    turn = asyncio.Semaphore(_TOGETHER)

    async def look(name: str) -> None:
        async with turn:
            await _sync_one(app, name, metrics, log, hurried=False)

    async with asyncio.TaskGroup() as group:
        while True:
            for name in schedule.due(await _active(app, log), clock()):
                every = await _every(app, name)
                schedule.begin(name, group.create_task(look(name)), clock() + every)
            await schedule.wait(clock(), longest)


async def _every(app: App, name: str) -> float:
    """Seconds between two looks at a source."""
    every = app.settings.sync_every
    try:
        return (await wait_for(app.keeping, name, every)).total_seconds()
    except DoorError:  # the ledger is away; so will the sync say
        return every.total_seconds()


async def _active(app: App, log: Any) -> Sequence[str]:
    """The sources to keep up to date; none this time when the ledger can't tell."""
    try:
        return await app.keeping.active()
    except Exception as error:  # a task boundary: the schedule outlives a ledger that is away for a while
        log.error("schedule", error=type(error).__name__)
        return ()


async def _sync_one(
    app: App, name: str, metrics: Metrics, log: Any, *, full: bool = False, hurried: bool = True
) -> None:
    try:
        report = await sync_named(app.keeping, name, full=full, hurried=hurried)
        _count(report, metrics)
        counts = {key: value for key, value in report.items() if isinstance(value, int | float | str)}
        log.info("sync", run=counts.pop("run_id"), skipped=len(report["skipped"]), **counts)
    except DoorError as error:
        metrics.syncs.labels(name, "failed").inc()
        log.error("sync", source=name, error=type(error).__name__)
    except Exception as error:  # a task boundary: one source's fault must not end the schedule of the others
        metrics.syncs.labels(name, "failed").inc()
        log.error("sync", source=name, error=type(error).__name__, exc_info=True)


def _count(report: dict[str, Any], metrics: Metrics) -> None:
    metrics.syncs.labels(report["source"], "complete" if report["complete"] else "partial").inc()
    for change in ("upserted", "deleted", "access_changed", "moved", "unchanged"):
        metrics.changes.labels(report["source"], change).inc(report[change])
    metrics.changes.labels(report["source"], "skipped").inc(len(report["skipped"]))
