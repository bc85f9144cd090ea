from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest

from connectors.errors import Skip, Stop
from connectors.sync.parse import Limits, SandboxedParser

_HOSTILE = "tests.connectors.sync.parse.hostile_worker"


@pytest.fixture
async def parser() -> AsyncIterator[SandboxedParser]:
    async with SandboxedParser() as opened:
        yield opened


@pytest.fixture
async def hostile() -> AsyncIterator[SandboxedParser]:
    async with SandboxedParser(Limits(seconds=6, memory_mb=256), module=_HOSTILE) as opened:
        yield opened


async def _told(parser: SandboxedParser, name: str, body: bytes = b"x") -> str:
    return (await parser.parse(body, "", name)).blocks[0].text


async def test_a_document_is_read_in_another_process(parser: SandboxedParser) -> None:
    record = await parser.parse(b"# Travel\n\nFly economy.", "text/markdown", "travel.md")

    assert (record.title, record.blocks[0].text) == ("Travel", "Fly economy.")


async def test_a_refused_document_is_a_skip_with_the_reason(parser: SandboxedParser) -> None:
    with pytest.raises(Skip, match="declared as text but holds binary"):
        await parser.parse(b"abc\0def", "text/plain", "a.txt")


async def test_a_broken_document_says_nothing_of_its_content(parser: SandboxedParser) -> None:
    with pytest.raises(Skip) as caught:
        await parser.parse(b"%PDF-1.7 secret words", "application/pdf", "a.pdf")

    assert "secret" not in str(caught.value)


async def test_a_document_larger_than_the_limit_never_reaches_a_worker() -> None:
    async with SandboxedParser(Limits(body=10)) as parser:
        with pytest.raises(Skip, match="larger than"):
            await parser.parse(b"x" * 11, "text/plain", "a.txt")


async def test_an_infinite_loop_is_a_skip_and_the_next_document_works() -> None:
    async with SandboxedParser(Limits(seconds=1.5), module=_HOSTILE) as hostile:
        with pytest.raises(Skip, match=r"took longer than 1\.5 s"):
            await _told(hostile, "loop")

        assert await _told(hostile, "fine") == "fine"


async def test_too_much_memory_is_a_skip_and_the_next_document_works(hostile: SandboxedParser) -> None:
    with pytest.raises(Skip, match="needs more than 256 MB"):
        await _told(hostile, "memory")

    assert await _told(hostile, "fine") == "fine"


@pytest.mark.parametrize("way", ["kill", "crash"])
async def test_a_dead_worker_is_a_skip_and_the_next_document_works(hostile: SandboxedParser, way: str) -> None:
    with pytest.raises(Skip, match="reader"):
        await _told(hostile, way)

    assert await _told(hostile, "fine") == "fine"


async def test_a_worker_killed_while_idle_is_replaced(parser: SandboxedParser) -> None:
    await parser.parse(b"one", "text/plain", "a.txt")
    for worker in list(parser._all):
        os.kill(worker.child.pid, signal.SIGKILL)

    record = await parser.parse(b"two", "text/plain", "a.txt")

    assert record.blocks[0].text == "two"


async def test_what_a_library_prints_does_not_disturb_the_answers(hostile: SandboxedParser) -> None:
    assert await _told(hostile, "print") == "print"
    assert await _told(hostile, "fine") == "fine"


async def test_t134_a_worker_has_no_network(hostile: SandboxedParser) -> None:
    reached = asyncio.Event()
    server = await asyncio.start_server(lambda _r, _w: reached.set(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async with server:
        told = await _told(hostile, "connect", str(port).encode())

        assert told.startswith("blocked")
        assert not reached.is_set()


async def test_a_worker_knows_which_locks_hold(parser: SandboxedParser) -> None:
    assert await parser.locks()


async def test_a_worker_sees_no_secret_of_the_environment(
    hostile: SandboxedParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_SLACK_BOT_TOKEN", "xoxb-secret")

    assert "FOOTNOTE" not in await _told(hostile, "environment")


async def test_a_worker_can_not_fill_the_disk(hostile: SandboxedParser) -> None:
    assert await _told(hostile, "write") == "blocked"


async def test_a_cancelled_parse_leaves_a_working_parser(hostile: SandboxedParser) -> None:
    await _told(hostile, "fine")
    task = asyncio.create_task(_told(hostile, "loop"))
    await asyncio.sleep(0.1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert await _told(hostile, "fine") == "fine"


async def test_many_documents_at_once_wait_for_few_workers() -> None:
    async with SandboxedParser(workers=2) as parser:
        records = await asyncio.gather(*(parser.parse(f"text {n}".encode(), "text/plain", "a.txt") for n in range(40)))

        assert [f"text {n}" for n in range(40)] == [record.blocks[0].text for record in records]
        assert len(parser._all) <= 2


async def test_no_worker_outlives_the_parser() -> None:
    async with SandboxedParser() as parser:
        await parser.parse(b"one", "text/plain", "a.txt")
        (worker,) = parser._all

    assert worker.child.returncode is not None


async def test_a_closed_parser_says_so() -> None:
    with pytest.raises(Stop, match="async with"):
        await SandboxedParser().parse(b"x", "text/plain", "a.txt")


async def test_a_worker_that_does_not_start_is_a_stop() -> None:
    async with SandboxedParser(module="connectors.sync.parse.no_such_module") as parser:
        with pytest.raises(Stop, match="does not start"):
            await parser.parse(b"x", "text/plain", "a.txt")


async def test_a_worker_stays_for_the_documents_that_follow(parser: SandboxedParser) -> None:
    await parser.parse(b"warm", "text/plain", "a.txt")
    (worker,) = parser._all
    before = worker.documents

    for _ in range(50):
        await parser.parse(b"small", "text/plain", "a.txt")

    assert parser._all == {worker}
    assert worker.documents == before + 50
