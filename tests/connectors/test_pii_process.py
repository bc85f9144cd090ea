"""The detector's process: it answers as the detector does, and however it goes wrong, nothing is shown without it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from connectors.errors import Stop, Transient
from connectors.pii import Presidio
from connectors.pii_process import PersonalDataProcess
from connectors.ports import PersonalData
from tests.detector import ALONE

HANGING = "tests.connectors.pii_hanging"


@pytest.fixture(autouse=True)
def as_outside_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PersonalDataProcess, "_started", ALONE)


@pytest.fixture
async def wrong(tmp_path: Path) -> AsyncIterator[PersonalDataProcess]:
    process = PersonalDataProcess([str(tmp_path / "mark")], seconds=1, module=HANGING)
    yield process
    await process.close()


async def test_it_finds_what_the_detector_finds() -> None:
    process = PersonalDataProcess(["Footnote"])
    detector: PersonalData = process
    texts = ["Ask Maria Jensen about Footnote.", "", "\ud800 maria@jensen.example.com"]

    await process.load()
    found = await detector.all_spans(texts)
    alone = await detector.spans(texts[0])
    await process.close()

    assert [tuple(spans) for spans in found] == Presidio(["Footnote"]).find_all(texts)
    assert alone == found[0]


async def test_a_pattern_without_end_is_ended_and_the_next_text_is_read(wrong: PersonalDataProcess) -> None:
    (before,) = await wrong.spans("x")

    with pytest.raises(Transient, match="longer"):
        await wrong.spans("hang")

    (after,) = await wrong.spans("x")
    assert before.kind != after.kind


async def test_a_process_that_died_is_replaced_once(wrong: PersonalDataProcess) -> None:
    (before,) = await wrong.spans("x")

    (after,) = await wrong.spans("die once")

    assert before.kind != after.kind


@pytest.mark.parametrize("text", ["die", "fewer", "nonsense"])
async def test_any_other_failure_raises(wrong: PersonalDataProcess, text: str) -> None:
    with pytest.raises(Stop, match="nothing is shown"):
        await wrong.spans(text)

    assert await wrong.spans("x")


async def test_an_answer_that_nobody_waits_for_is_not_taken_for_the_next_one(wrong: PersonalDataProcess) -> None:
    await wrong.load()
    given_up = asyncio.create_task(wrong.all_spans(["x"]))
    await asyncio.sleep(0)
    given_up.cancel()

    found = await wrong.all_spans(["y", "z"])

    assert len(found) == 2


async def test_a_worker_that_does_not_start_raises() -> None:
    process = PersonalDataProcess(module="no.such.module")

    with pytest.raises(Stop, match="nothing is shown"):
        await process.load()
    with pytest.raises(Stop, match="nothing is shown"):
        await process.spans("x")


async def test_a_text_without_end_raises(wrong: PersonalDataProcess) -> None:
    with pytest.raises(Stop, match="too long"):
        await wrong.spans("a" * 1_000_001)
