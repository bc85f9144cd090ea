"""The door to personal data: the detector in a process of its own, which loads beside all else and can be stopped.

A pattern that takes too long can't be interrupted within a process. So one that does is killed with its process and the
text is refused; a process that died by itself is replaced once. Every failure raises: it never means fewer spans.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
import sys
from collections.abc import Awaitable, Iterable, Sequence
from pathlib import Path
from typing import Any

from connectors.errors import Stop, Transient
from connectors.records import Span

_ROOT = Path(__file__).resolve().parents[1]  # what the process imports from
_LONGEST = 1_000_000  # characters of one text
_SECONDS = 30.0  # for the texts of one reply
_SECONDS_TO_LOAD = 180.0  # three on a machine that has nothing else to do
_SECONDS_TO_END = 5.0
_LARGEST_ANSWER = 1 << 28
_FAILED = "the detector of personal data failed; nothing is shown without it"


class PersonalDataProcess:
    """Port `PersonalData`. The process starts with `load` or the first text, and ends with `close`."""

    def __init__(
        self, not_names: Iterable[str] = (), seconds: float = _SECONDS, module: str = "connectors.pii_worker"
    ) -> None:
        """`not_names`: the company's own product and team names, which are never taken for a person's."""
        self._settings = {"not_names": sorted(not_names), "seconds": seconds}
        self._seconds = seconds
        self._module = module
        self._turn = asyncio.Lock()  # one conversation at a time
        self._child: asyncio.subprocess.Process | None = None
        self._ready = False

    async def begin(self) -> None:
        """Start the process and don't wait for it. Raises DoorError."""
        await self._first(self._started())

    async def load(self) -> None:
        """Start the process and wait until its model is loaded. Raises DoorError."""
        await self._first(self._loaded())

    async def spans(self, text: str) -> Sequence[Span]:
        """Every span by start, overlaps resolved; raises DoorError."""
        return (await self.all_spans([text]))[0]

    async def all_spans(self, texts: Sequence[str]) -> Sequence[Sequence[Span]]:
        """As `spans`, for several texts at once, in order."""
        longest = max(map(len, texts), default=0)
        if longest > _LONGEST:
            raise Stop(f"a text of {longest} characters is too long to look for personal data in; cut it first")
        if not texts:
            return []
        try:
            async with asyncio.timeout(_SECONDS_TO_LOAD + self._seconds):
                async with self._turn:
                    return await self._twice(texts)
        except TimeoutError as error:
            raise Transient(f"looking for personal data took longer than {self._seconds:.0f} s") from error

    async def close(self) -> None:
        """End the process, whatever it is doing."""
        await self._end()

    # ------------------------------------------------------------ inside

    async def _first(self, step: Awaitable[object]) -> None:
        async with self._turn:
            try:
                await step
            except (EOFError, OSError, ValueError) as error:
                await self._end()
                raise Stop(_FAILED) from error
            except BaseException:  # whoever waited gave up: nobody knows how far the conversation got
                await self._end()
                raise

    async def _twice(self, texts: Sequence[str]) -> Sequence[Sequence[Span]]:
        try:
            return await self._found(texts)
        except TimeoutError:
            raise
        except (EOFError, OSError):
            pass  # it died, perhaps of something else than these texts
        try:
            return await self._found(texts)
        except TimeoutError:
            raise
        except (EOFError, OSError) as error:
            raise Stop(_FAILED) from error

    async def _found(self, texts: Sequence[str]) -> Sequence[Sequence[Span]]:
        try:
            child = await self._loaded()
            async with asyncio.timeout(self._seconds):
                await _send(child, {"texts": list(texts)})
                answer = await _message(child)
            found = [[Span(*span) for span in spans] for _, spans in zip(texts, answer["spans"], strict=True)]
        except (KeyError, TypeError, ValueError) as error:
            await self._end()
            raise Stop(_FAILED) from error
        except BaseException:  # also when nobody waits any more: the answer would be taken for the next one's
            await self._end()
            raise
        return found

    async def _started(self) -> asyncio.subprocess.Process:
        if self._child is None:
            # It sees none of our environment: no secrets, and no settings that turn things on.
            environment = {"PYTHONPATH": str(_ROOT), "PYTHONUTF8": "1", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
            self._child = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                self._module,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,  # tracebacks quote texts
                env=environment,
                limit=1 << 20,
            )
            await _send(self._child, self._settings)
        return self._child

    async def _loaded(self) -> asyncio.subprocess.Process:
        child = await self._started()
        if not self._ready:
            async with asyncio.timeout(_SECONDS_TO_LOAD):
                told = await _message(child)
            if told.get("ready") is not True:
                raise Stop(str(told.get("problem", _FAILED)))
            self._ready = True
        return child

    async def _end(self) -> None:
        child, self._child, self._ready = self._child, None, False
        if child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await asyncio.shield(asyncio.wait_for(child.wait(), _SECONDS_TO_END))


async def _send(child: asyncio.subprocess.Process, content: Any) -> None:
    assert child.stdin is not None  # noqa: S101 - a pipe by construction
    encoded = json.dumps(content).encode()
    child.stdin.write(struct.pack(">I", len(encoded)) + encoded)
    await child.stdin.drain()


async def _message(child: asyncio.subprocess.Process) -> Any:
    assert child.stdout is not None  # noqa: S101 - a pipe by construction
    length = struct.unpack(">I", await child.stdout.readexactly(4))[0]
    if length > _LARGEST_ANSWER:
        raise EOFError("the answer is too long")
    return json.loads(await child.stdout.readexactly(length))
