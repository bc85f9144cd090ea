"""The process that stays, on real listeners."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer

from bot.metrics import Metrics
from bot.settings import Settings
from bot.web import inner, keep_in_sync, keep_index_right, serving
from bot.wiring import App, open_app
from connectors.errors import Transient
from policies.names import DocumentId


class Quiet:
    """A log that nobody reads; what was said is kept."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def info(self, event: str, **_keys: object) -> None:
        self.said.append(event)

    warning = error = info


@pytest.fixture
async def app(tmp_path: Path, now: datetime) -> AsyncIterator[tuple[App, Metrics]]:
    metrics = Metrics()
    settings = Settings.read({"FOOTNOTE_DATA": str(tmp_path), "FOOTNOTE_PORT": "0", "FOOTNOTE_METRICS_PORT": "0"})
    async with open_app(settings, clock=lambda: now, metrics=metrics) as opened:
        yield opened, metrics


async def test_health_readiness_and_metrics_have_a_port_of_their_own(app: tuple[App, Metrics]) -> None:
    log = Quiet()
    async with serving(*app, log) as (port, inner), aiohttp.ClientSession() as session:
        for path, content in (("healthz", '"ok": true'), ("readyz", '"ok": true'), ("metrics", "footnote_asks_total")):
            async with session.get(f"http://127.0.0.1:{inner}/{path}") as answer:
                assert answer.status == 200
                assert content in await answer.text()
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
            async with session.get(f"http://127.0.0.1:{port}/{path}") as answer:
                assert answer.status == 404

    assert "listening" in log.said
    assert any("not in slack" in said for said in log.said)


async def test_a_search_is_counted(app: tuple[App, Metrics], tmp_path: Path) -> None:
    opened, metrics = app
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nThe gate opens at nine.\n")
    (tmp_path / "docs" / "access.toml").write_text('readers = ["ben@example.com"]\n')
    (tmp_path / "docs" / "directory.toml").write_text('[people."ben@example.com"]\nname = "Ben"\n')
    from bot.commands.asking import search_request
    from bot.keeping import add_source, sync_named

    await add_source(opened.keeping, "s", "files", {"path": str(tmp_path / "docs")})
    await sync_named(opened.keeping, "s")
    found = await search_request(opened, {"text": "when does the gate open", "as": "ben@example.com"})
    await search_request(opened, {"text": "when does the gate open", "as": "zoe@example.com"})

    assert len(found["results"]) == 1
    assert b"footnote_retrievals_total 1.0" in metrics.written()


async def test_the_lag_of_a_source_is_that_of_the_moment(tmp_path: Path, now: datetime) -> None:
    from bot.keeping import add_source, sync_named

    (tmp_path / "docs").mkdir()
    settings = Settings.read({"FOOTNOTE_DATA": str(tmp_path / "data")})
    time = [now]
    metrics = Metrics()
    async with open_app(settings, clock=lambda: time[0], metrics=metrics) as opened:
        await add_source(opened.keeping, "s", "files", {"path": str(tmp_path / "docs")})
        await add_source(opened.keeping, "never", "files", {"path": str(tmp_path / "docs")})
        await sync_named(opened.keeping, "s")
        time[0] = now + timedelta(seconds=90)
        async with TestClient(TestServer(inner(opened, metrics))) as client, client.get("/metrics") as answer:
            told = [line for line in (await answer.text()).splitlines() if line.startswith("footnote_source_lag")]

    assert told == ['footnote_source_lag_seconds{source="s"} 90.0']


async def test_the_schedule_outlives_a_ledger_that_is_away(app: tuple[App, Metrics]) -> None:
    opened, metrics = app
    log = Quiet()
    asked: list[str] = []

    class Away:
        async def list(self) -> Any:
            asked.append("list")
            if len(asked) < 3:
                raise Transient("the ledger is busy or away")
            raise asyncio.CancelledError

    keeping = replace(opened.keeping, sources=cast(Any, Away()))
    hurried = replace(opened.settings, sync_every=timedelta(milliseconds=1))

    with pytest.raises(asyncio.CancelledError):
        await keep_in_sync(replace(opened, keeping=keeping, settings=hurried), metrics, log)

    assert (len(asked), log.said) == (3, ["schedule", "schedule"])


async def test_serving_ends_in_order_when_told(tmp_path: Path) -> None:
    environ = {"FOOTNOTE_DATA": str(tmp_path), "FOOTNOTE_PORT": "0", "FOOTNOTE_METRICS_PORT": "0"}
    command = (sys.executable, "-m", "bot", "serve")
    process = await asyncio.create_subprocess_exec(*command, env=environ, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    said = b""
    while b"listening" not in said:
        line = await asyncio.wait_for(process.stderr.readline(), 60)
        assert line, said
        said += line

    process.send_signal(signal.SIGTERM)
    rest = await asyncio.wait_for(process.stderr.read(), 60)

    assert await process.wait() == 0
    assert b"Traceback" not in said + rest


async def test_an_address_that_is_taken_is_said_so(app: tuple[App, Metrics], tmp_path: Path) -> None:
    from connectors.errors import Stop

    async with serving(*app, Quiet()) as (port, _):
        settings = Settings.read({"FOOTNOTE_DATA": str(tmp_path / "b"), "FOOTNOTE_PORT": str(port)})
        async with open_app(settings) as second:
            with pytest.raises(Stop, match="choose another"):
                async with serving(second, Metrics(), Quiet()):
                    pass


async def test_the_index_is_compared_with_the_ledger_and_made_right_on_schedule(
    app: tuple[App, Metrics], tmp_path: Path
) -> None:
    from bot.keeping import add_source, sync_named

    opened, metrics = app
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nThe gate opens at nine.\n")
    (tmp_path / "docs" / "access.toml").write_text('readers = ["grp:staff"]\n')
    await add_source(opened.keeping, "docs", "files", {"path": str(tmp_path / "docs")})
    await sync_named(opened.keeping, "docs")
    await opened.index.retire(DocumentId("docs", "a.md"), frozenset())
    log = Quiet()

    schedule = asyncio.create_task(keep_index_right(opened, metrics, log, every=0.05))
    async with asyncio.timeout(60):
        while "sync" not in log.said:  # noqa: ASYNC110 - nobody there sets an event
            await asyncio.sleep(0.05)
    schedule.cancel()
    with suppress(asyncio.CancelledError):
        await schedule

    assert log.said[:2] == ["index check", "sync"]
    assert await opened.index.count("docs")
