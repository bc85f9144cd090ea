"""A folder with people around it: write, share, delete, sync, and see what each person could be answered from."""

from __future__ import annotations

import inspect
import json
import shutil
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from connectors.ports import Catalog, Facts, Index
from connectors.records import Search
from connectors.sources.files import FilesSource
from connectors.sync.run import Doors, SyncReport, sync
from policies.access import satisfies
from policies.clearance import clear
from policies.decision import Allowed
from policies.facts import Life, ScopeState
from policies.names import DocumentId, Principal, ScopeId
from policies.predicate import Narrowing
from tests.memory import HashingEmbedder, LineParser, MemoryIndex, MemoryLedger, WordDetector

NAME = "files"


class Killed(BaseException):
    """The process is gone: nothing catches this."""


@dataclass(slots=True)
class Tap:
    """Counts the calls of a door, lets a watcher look after each, and kills before the `fatal`-th."""

    calls: int = 0
    fatal: int | None = None
    watch: Callable[[], Any] | None = None
    named: list[str] = field(default_factory=list)

    def on(self, door: Any) -> Any:
        return _Tapped(door, self)

    async def call(self, name: str, work: Callable[[], Any]) -> Any:
        self.calls += 1
        self.named.append(name)
        if self.calls == self.fatal:
            raise Killed
        result = await work()
        if self.watch:
            await self.watch()
        return result

    async def step(self, work: Callable[[], Any]) -> Any:
        """One step of reading a stream, which changes nothing."""
        return await work()


_END = object()


class _Tapped:
    def __init__(self, door: Any, tap: Tap) -> None:
        self._door, self._tap = door, tap

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._door, name)
        if inspect.isasyncgenfunction(found):
            return lambda *args, **more: self._steps(found(*args, **more))
        if not inspect.iscoroutinefunction(found):
            return found

        async def tapped(*args: Any, **more: Any) -> Any:
            return await self._tap.call(name, lambda: found(*args, **more))

        return tapped

    async def _steps(self, stream: Any) -> Any:
        async with aclosing(stream):
            while (item := await self._tap.step(lambda: anext(stream, _END))) is not _END:
                yield item


@dataclass(slots=True)
class Tree:
    """The folder, the ledger and the index, in memory unless others are given."""

    folder: Path
    catalog: Catalog = field(default_factory=MemoryLedger)
    facts: Facts | None = None
    index: Index = field(default_factory=MemoryIndex)
    embedder: HashingEmbedder = field(default_factory=HashingEmbedder)
    at: datetime = datetime(2030, 1, 1, tzinfo=UTC)  # long after the files were written: none of them is racy
    rules: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.facts is None:
            assert isinstance(self.catalog, MemoryLedger)
            self.facts = self.catalog

    # ------------------------------------------------------------ the source

    def write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)

    def share(self, path: str, *readers: str, more: str = "") -> None:
        """State who may read a path; `more` are further lines of its table."""
        self.rules[path] = f"readers = {json.dumps(readers)}\n{more}"
        self._write_rules()

    def unstate(self, path: str) -> None:
        self.rules.pop(path, None)
        self._write_rules()

    def delete(self, path: str) -> None:
        (self.folder / path).unlink()

    def rename(self, path: str, to: str) -> None:
        (self.folder / to).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(self.folder / path, self.folder / to)

    def _write_rules(self) -> None:
        tables = (f'["{path}"]\n{lines}\n' for path, lines in self.rules.items())
        (self.folder / "access.toml").write_text("\n".join(tables))

    # ------------------------------------------------------------ syncing

    async def sync(self, full: bool = False, tap: Tap | None = None, parser: Any = None) -> SyncReport:
        self.at += timedelta(minutes=5)
        tapped = tap.on if tap else lambda door: door
        doors = Doors(
            catalog=tapped(self.catalog),
            index=tapped(self.index),
            parser=parser or LineParser(),
            embedder=tapped(self.embedder),
            detector=WordDetector(),
        )
        return await sync(FilesSource(NAME, self.folder), doors, lambda: self.at, full=full)

    async def killed_sync(self, fatal: int) -> bool:
        """A sync that is killed before its `fatal`-th call; False where it was done before that."""
        try:
            await self.sync(tap=Tap(fatal=fatal))
        except BaseExceptionGroup as group:
            if group.subgroup(Killed) is None:
                raise
            return True
        except Killed:
            return True
        return False

    # ------------------------------------------------------------ what a person could be answered from

    async def texts(self, *principals: str) -> dict[str, frozenset[str]]:
        """By document, the passages that search and gate let through for somebody who is all of `principals`."""
        assert self.facts is not None
        held = frozenset(Principal.parse(name) for name in principals)
        scopes = await self.facts.cover([held], self.at)
        if scopes is None:
            return {}
        question = await self.embedder.question("anything")
        search = Search("anything", question, (), Narrowing(scopes), limit=1000)
        found: dict[str, set[str]] = {}
        for hit in await self.index.search(search):
            name = hit.id
            accepted = (await self.facts.digests([name])).get(name, frozenset())
            if hit.digest in accepted and await self._judged(name.document, name.version, held):
                passage = clear(hit.passage, Allowed(name.document, name.version, "test")).content
                found.setdefault(name.document.key, set()).add(passage.text)
        return {key: frozenset(texts) for key, texts in sorted(found.items())}

    async def _judged(self, document: DocumentId, version: str, held: frozenset[Principal]) -> bool:
        assert self.facts is not None
        resource = (await self.facts.resources([(document, version)])).get((document, version))
        return (
            resource is not None
            and resource.life is Life.LIVE
            and resource.current
            and resource.scope.state is ScopeState.ACTIVE
            and self.at <= resource.scope.verified_at + resource.scope.lease
            and satisfies(held, resource.scope.access)
        )

    async def scopes_in_index(self) -> Iterable[tuple[str, ScopeId]]:
        return {(stored.id.document.key, stored.scope) async for stored in self.index.stored(NAME)}
