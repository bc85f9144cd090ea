"""Socket Mode: the same intake without an address of our own. Several connections, so that one that is renewed leaves
no gap; each envelope is acknowledged once it is durable, and one that is not comes again.

Slack signs nothing here: the app-level token is what proves that the line is Slack's.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from bot.answering.trace import where
from bot.metrics import Metrics
from bot.slack.incoming import Ignored, Incoming, commanded, delivered, done
from bot.slack.intake import Intake, deadline
from bot.slack.reading import Malformed
from connectors.chat import Envelope, Leaving, Line, Lines, Workspace
from connectors.errors import DoorError, Stop

CONNECTIONS = 2
_AT_ONCE = 100  # envelopes of a connection that are taken in at the same time
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds between attempts to connect
_LEAVING = 3.0  # seconds for acknowledgements when a connection ends
_NOBODY = Workspace("", "")


class Sockets:
    """Takes envelopes in from entering to leaving it, as an async context."""

    def __init__(self, door: Lines, intake: Intake, metrics: Metrics, log: Any) -> None:
        self._door = door
        self._intake = intake
        self._metrics = metrics
        self._log = log
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Sockets:
        self._tasks = [asyncio.create_task(self._stay_connected()) for _ in range(CONNECTIONS)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _stay_connected(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                async with self._door.line() as line:
                    pause = _FIRST_PAUSE
                    await self._serve(line)
                continue  # told to leave: the next one is opened at once
            except Stop as error:
                self._log.error("socket mode: slack refuses; check FOOTNOTE_SLACK_APP_TOKEN", error=where(error))
                pause = _LONGEST_PAUSE
            except DoorError as error:
                self._log.warning("socket mode: the line is down, it is opened again", error=where(error))
            except Exception as error:  # a task boundary: whatever broke on one line, the next may work
                self._log.error("socket mode: a line broke", error=where(error))
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - a pause is no secret
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _serve(self, line: Line) -> None:
        """Take in what comes until Slack says that it ends the line; raises Transient when it went down."""
        turns = asyncio.Semaphore(_AT_ONCE)
        taking: set[asyncio.Task[None]] = set()
        try:
            while True:
                match await line.receive():
                    case Envelope() as envelope:
                        await turns.acquire()
                        task = asyncio.create_task(self._take(line, envelope))
                        taking.add(task)
                        task.add_done_callback(taking.discard)
                        task.add_done_callback(lambda _: turns.release())
                    case Leaving(reason):
                        self._log.info("socket mode: slack renews a line", result=reason)
                        return
        finally:
            if taking:
                await asyncio.wait(taking, timeout=_LEAVING)

    async def _take(self, line: Line, envelope: Envelope) -> None:
        by = deadline()
        us = await self._intake.us(by)
        try:
            incoming = _understood(envelope.kind, envelope.payload, us or _NOBODY)
        except (Malformed, ValueError):
            incoming = Ignored("malformed")
        try:
            reply = await self._intake.take(incoming, us, by)
            self._metrics.slack_requests.labels(reply.how).inc()
            if reply.acknowledged:
                await line.acknowledge(envelope.id, reply.content)
        except DoorError as error:  # it comes again
            self._log.warning("socket mode: not acknowledged", error=where(error))
        except Exception as error:  # a task boundary: one envelope must not end the line for others
            self._log.error("socket mode: an envelope broke", error=where(error))


def _understood(kind: str, payload: Mapping[str, Any], us: Workspace) -> Incoming:
    match kind:
        case "events_api":
            return delivered(payload, us)
        case "slash_commands":
            return commanded(payload, us)
        case "interactive":
            return done(payload, us)
        case _:
            return Ignored("not an event")
