"""The Parser door: documents are read by a worker process that is watched, bounded and replaced when it fails.

A worker starts with the first document and stays warm. One that runs too long, needs too much or dies takes only its
own document with it: that one is a Skip with the reason, the next one gets a new worker. The parent opens no document.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import signal
import struct
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from connectors.errors import Skip, Stop
from connectors.records import ParsedRecord
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.wire import from_json

_ROOT = Path(__file__).resolve().parents[3]  # what the worker imports from
_SECONDS_TO_START = 30.0
_SECONDS_TO_END = 5.0
_DOCUMENTS_PER_WORKER = 500  # then a fresh one: native libraries leak and fragment
_LARGEST_ANSWER = 1 << 28


class _Worker:
    """One child and the conversation with it."""

    def __init__(self, child: asyncio.subprocess.Process, locks: tuple[str, ...]) -> None:
        self.child = child
        self.locks = locks
        self.documents = 0

    async def ask(self, head: dict[str, Any], body: bytes) -> bytes:
        """One document there, one verdict back. Raises EOFError or OSError when the child is gone."""
        assert self.child.stdin is not None  # noqa: S101 - both are pipes by construction
        self.documents += 1
        encoded = json.dumps(head).encode()
        self.child.stdin.write(struct.pack(">I", len(encoded)) + encoded)
        self.child.stdin.write(body)
        await self.child.stdin.drain()
        return await _message(self.child)

    async def end(self) -> int:
        """Kill it, if it still lives, and wait; returns its status."""
        with contextlib.suppress(ProcessLookupError):
            self.child.kill()
        return await asyncio.wait_for(self.child.wait(), _SECONDS_TO_END)


class _DiedWarmError(Skip):
    """A worker that had read other documents before died."""


class SandboxedParser:
    """Satisfies `Parser`. `tesseract` is the path of the program that reads scans, or None when there is none."""

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        workers: int = 1,
        tesseract: str | None = None,
        module: str = "connectors.sync.parse.worker",
    ) -> None:
        self._limits = limits or Limits()
        self._tesseract = tesseract
        self._module = module
        self._count = workers
        self._idle: asyncio.Queue[_Worker | None] = asyncio.Queue()  # None: a place where a worker may start
        self._all: set[_Worker] = set()
        self._open = False

    async def __aenter__(self) -> Self:
        for _ in range(self._count):
            self._idle.put_nowait(None)
        self._open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        for worker in list(self._all):
            await self._drop(worker)

    async def parse(self, body: bytes, media_type: str, name: str) -> ParsedRecord:
        """Raises Skip with a reason for a hostile, broken, locked or unsupported file."""
        if len(body) > self._limits.body:
            raise Skip(f"is larger than {self._limits.body // 1_000_000} MB")
        head = {"media_type": media_type, "name": name, "length": len(body), "seconds": self._own_seconds(body)}
        try:
            return await self._parse(head, body)
        except (
            _DiedWarmError
        ):  # perhaps of an earlier document, or of the kernel's doing: only a fresh one can be blamed
            return await self._parse(head, body)

    async def locks(self) -> tuple[str, ...]:
        """Which locks keep a worker from the network: namespace, filter, python. Starts one if none runs."""
        async with self._worker() as worker:
            return worker.locks

    # ------------------------------------------------------------ inside

    async def _parse(self, head: dict[str, Any], body: bytes) -> ParsedRecord:
        async with self._worker() as worker:
            try:
                answer = await asyncio.wait_for(worker.ask(head, body), self._wall_seconds(body))
            except TimeoutError:
                await self._drop(worker)
                raise Skip(f"took longer than {self._wall_seconds(body):g} s to read") from None
            except (EOFError, OSError) as error:
                status = await self._drop(worker)
                if worker.documents > 1 and status != -signal.SIGXCPU:
                    raise _DiedWarmError(self._why_it_died(status)) from error
                raise Skip(self._why_it_died(status)) from error
            except asyncio.CancelledError:
                await asyncio.shield(self._drop(worker))
                raise
            return await self._judged(worker, answer)

    async def _judged(self, worker: _Worker, answer: bytes) -> ParsedRecord:
        if answer[:1] == b"R":
            try:
                return (
                    await asyncio.to_thread(from_json, answer[1:]) if len(answer) > 1 << 20 else from_json(answer[1:])
                )
            except ValueError as error:
                await self._drop(worker)
                raise Skip("could not be read: its reader's answer makes no sense") from error
        told = json.loads(answer[1:])
        match told["kind"]:
            case "refused":
                raise Skip(str(told["reason"]))
            case "memory":
                await self._drop(worker)
                raise Skip(self._too_much_memory())
            case _:
                raise Skip(f"is broken and could not be read ({told['reason']})")

    @contextlib.asynccontextmanager
    async def _worker(self) -> AsyncIterator[_Worker]:
        if not self._open:
            raise Stop("the parser is not open; use it inside `async with`")
        place = await self._idle.get()
        worker: _Worker | None = None
        try:
            worker = place if place is not None and place.child.returncode is None else await self._start(place)
            yield worker
        finally:
            alive = worker is not None and worker in self._all and worker.child.returncode is None
            if alive and worker is not None and worker.documents >= _DOCUMENTS_PER_WORKER:
                await self._drop(worker)
                alive = False
            self._idle.put_nowait(worker if alive else None)

    async def _start(self, dead: _Worker | None) -> _Worker:
        if dead is not None:
            await self._drop(dead)
        # The worker sees none of our environment: no secrets, and no settings that turn things on.
        environment = {"PYTHONPATH": str(_ROOT), "PYTHONUTF8": "1", "LANG": "C.UTF-8", "OMP_THREAD_LIMIT": "1"}
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            self._module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # tracebacks quote documents
            env=environment,
            limit=1 << 20,
        )
        worker = _Worker(child, ())
        self._all.add(worker)
        try:
            settings = json.dumps({"limits": self._limits.as_json(), "tesseract": self._tesseract}).encode()
            assert child.stdin is not None  # noqa: S101 - a pipe by construction
            child.stdin.write(struct.pack(">I", len(settings)) + settings)
            told = json.loads(await asyncio.wait_for(_message(child), _SECONDS_TO_START))
        except (EOFError, OSError, ValueError) as error:  # TimeoutError is an OSError
            await self._drop(worker)
            raise Stop("the process that reads documents does not start; run `footnote check`") from error
        except asyncio.CancelledError:
            await asyncio.shield(self._drop(worker))
            raise
        worker.locks = tuple(told["locks"])
        return worker

    async def _drop(self, worker: _Worker) -> int:
        self._all.discard(worker)
        return await worker.end()

    def _own_seconds(self, body: bytes) -> float:
        """Processor time of the worker itself, which recognising scans does not count towards."""
        return self._limits.seconds + self._limits.seconds_per_mb * (len(body) // 1_000_000)

    def _wall_seconds(self, body: bytes) -> float:
        scans = self._tesseract is not None and body[:5] == b"%PDF-"
        return self._own_seconds(body) + (self._limits.seconds_for_scans if scans else 0.0)

    def _too_much_memory(self) -> str:
        return f"needs more than {self._limits.memory_mb} MB of memory to read"

    def _why_it_died(self, status: int) -> str:
        match -status:
            case signal.SIGXCPU:
                return f"took longer than {self._limits.seconds:g} s to read"
            case signal.SIGKILL:
                return f"its reader was killed, likely because it needs more than {self._limits.memory_mb} MB"
            case _:
                return "crashed its reader, so it is broken or hostile"


async def _message(child: asyncio.subprocess.Process) -> bytes:
    assert child.stdout is not None  # noqa: S101 - a pipe by construction
    length = struct.unpack(">I", await child.stdout.readexactly(4))[0]
    if length > _LARGEST_ANSWER:
        raise EOFError("the worker's answer is too long")
    return await child.stdout.readexactly(length)


def find_tesseract() -> str | None:
    """The path of the program that recognises text in scans, where it is installed."""
    return shutil.which("tesseract")
