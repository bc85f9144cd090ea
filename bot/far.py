"""The far sources that are open in this process: for who people are, for live checks, and for what events tell.

A source that another process added is found here soon, and one that was removed is closed. Whatever can't be opened is
not there, and is tried again after a while.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from connectors.errors import DoorError
from connectors.ports import FarSource, People, Rights, SourceConfig, Sources
from policies.names import DocumentId, Principal

if TYPE_CHECKING:
    from types import TracebackType

LOOKED = timedelta(seconds=5)  # how long the list of configured sources counts
AGAIN = timedelta(seconds=30)  # until a source that could not be opened is tried again
_OPENING = 20.0  # seconds that opening one may take

CountChecks = Callable[[str, int, int], None]
"""Of a source, how many documents it confirmed and how many it denied."""
OpenFar = Callable[[SourceConfig], AbstractAsyncContextManager[FarSource]]


@dataclass(slots=True)
class _Open:
    """One source, open in a task of its own: what a task opened it has to close."""

    settings: str
    over: asyncio.Event
    task: asyncio.Task[None]
    far: FarSource | None
    tried_at: datetime


class FarSources:
    """The far sources among the configured ones, each opened when it is first asked for."""

    def __init__(
        self,
        sources: Sources,
        people: People,
        kinds: Collection[str],
        open_far: OpenFar,
        clock: Callable[[], datetime],
        count: CountChecks = lambda _source, _confirmed, _denied: None,
    ) -> None:
        self._sources = sources
        self._people = people
        self._kinds = kinds
        self._open_far = open_far
        self._clock = clock
        self._count = count
        self._open: dict[str, _Open] = {}
        self._listed: tuple[datetime, tuple[SourceConfig, ...]] | None = None
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> FarSources:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self._open):
            await self._close(name)

    async def now(self) -> Mapping[str, FarSource]:
        """Those that are open now, by name."""
        configured = await self._configured()
        if not configured and not self._open:
            return {}
        async with self._turn:
            for name in self._open.keys() - {config.name for config in configured}:
                await self._close(name)
            await asyncio.gather(*(self._see_to(config) for config in configured))
            return {name: each.far for name, each in sorted(self._open.items()) if each.far is not None}

    async def away(self) -> frozenset[str]:
        """Those that are to be asked about what is answered from, and are not open now."""
        there = await self.now()
        return frozenset(
            config.name
            for config in await self._configured()
            if config.name not in there and config.settings.get("live_check", "off") != "off"
        )

    async def rights(self) -> Mapping[str, Rights]:
        """The systems that tell who somebody is, by the name of their source."""
        return {name: far.rights for name, far in (await self.now()).items()}

    async def accounts(self, people: Sequence[Principal]) -> Mapping[Principal, Mapping[str, str]]:
        """The accounts of these people, by provider."""
        emails = [who.name.partition(":")[2] for who in people if who.kind == "usr"]
        return {Principal.person(each.email): each.identities for each in await self._people.records(emails)}

    async def said(self, source: str, verdicts: Mapping[DocumentId, bool]) -> None:
        """A source said of these whether somebody may read them, whom the ledger lets read them: that is counted, and
        what it denies is to be read again soon."""
        denied = sorted(document for document, may_read in verdicts.items() if not may_read)
        self._count(source, len(verdicts) - len(denied), len(denied))
        held = self._open.get(source)
        if denied and held is not None and held.far is not None and held.far.denied is not None:
            with suppress(DoorError):  # the answer goes without them whether that is noted or not
                await held.far.denied(denied, self._clock())

    async def kind_of(self, name: str) -> str | None:
        """The kind of a configured far source."""
        return next((config.kind for config in await self._configured() if config.name == name), None)

    async def _configured(self) -> tuple[SourceConfig, ...]:
        now = self._clock()
        if self._listed is None or not timedelta(0) <= now - self._listed[0] < LOOKED:
            listed = await self._sources.list()
            far = tuple(each for each in listed if each.kind in self._kinds and each.state != "removing")
            self._listed = (now, far)
        return self._listed[1]

    async def _see_to(self, config: SourceConfig) -> None:
        """Have it open as it is configured now."""
        settings, now, known = (
            json.dumps([config.kind, dict(config.settings)]),
            self._clock(),
            self._open.get(config.name),
        )
        if known is not None:
            waits = known.far is None and timedelta(0) <= now - known.tried_at < AGAIN
            if known.settings == settings and (known.far is not None or waits):
                return
            await self._close(config.name)
        over, opened = asyncio.Event(), asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._hold(config, opened, over))
        held = self._open[config.name] = _Open(settings, over, task, None, now)
        try:
            async with asyncio.timeout(_OPENING):
                held.far = await asyncio.shield(opened)
        except TimeoutError:
            task.cancel()

    async def _hold(self, config: SourceConfig, opened: asyncio.Future[FarSource | None], over: asyncio.Event) -> None:
        try:
            async with self._open_far(config) as far:
                opened.set_result(far)
                await over.wait()
        except Exception as error:  # the door boundary: one source that does not open must not keep the others shut
            if not opened.done():
                opened.set_result(None)
            elif not isinstance(error, DoorError):
                raise

    async def _close(self, name: str) -> None:
        known = self._open.pop(name)
        known.over.set()
        done, late = await asyncio.wait((known.task,), timeout=_OPENING)
        for task in late:
            task.cancel()
        for task in done:
            if not task.cancelled():
                task.exception()
