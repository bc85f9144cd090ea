"""Everything that answering reaches: ports, the policy, a clock. Filled once by `bot.wiring`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from bot.answering.shortlist import Cut
from connectors.ports import Detector, Directory, Embedder, Facts, Index, PersonalData, Reranker, Traces, Writer
from policies.policy import Policy

if TYPE_CHECKING:
    from bot.answering.live import LiveSources


@dataclass(frozen=True, slots=True)
class Doors:
    """The doors of the line that carries answers out."""

    directory: Directory
    facts: Facts
    index: Index
    embedder: Embedder
    reranker: Reranker
    writer: Writer
    personal_data: PersonalData
    detector: Detector
    traces: Traces
    policy: Policy
    cut: Cut
    clock: Callable[[], datetime]  # aware UTC
    timer: Callable[[], float]  # seconds, monotonic
    tag: Callable[[], str]  # a random tag for the placeholders of one request
    live: LiveSources | None = None  # the far sources, where there can be any
    told: Callable[[str], None] = lambda _stage: None  # each stage that ended; no content
