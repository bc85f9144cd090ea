"""One thing, one room: each SDK, the environment, the clock, verdicts; and no way around a check anywhere."""

from __future__ import annotations

import pytest

from tests.architecture.reading import (
    Checker,
    File,
    clock_in_wiring,
    environment_in_settings,
    files,
    no_dangerous_calls,
    no_switch_around_checks,
    one_room,
    verdicts_from_policies,
)

LAWS = [
    one_room,
    environment_in_settings,
    clock_in_wiring,
    no_switch_around_checks,
    verdicts_from_policies,
    no_dangerous_calls,
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_code_keeps_the_law(law: Checker) -> None:
    assert [problem for file in files() for problem in law(file)] == []


@pytest.mark.parametrize(
    ("law", "module", "source"),
    [
        (one_room, "bot.answering.ask", "import weaviate"),
        (one_room, "connectors.index.embedded", "from weaviate.classes import query"),
        (one_room, "connectors.models.local", "import cohere"),
        (one_room, "bot.web", "from presidio_analyzer import AnalyzerEngine"),
        (one_room, "connectors.ledger.chain", "from cryptography.hazmat import x"),
        (one_room, "connectors.sync.run", "import sqlalchemy.orm"),
        (one_room, "connectors.identity.directory", "import slack_sdk"),
        (environment_in_settings, "bot.wiring", "import os\nx = os.environ['X']"),
        (environment_in_settings, "connectors.x", "import os\nx = os.getenv('X')"),
        (environment_in_settings, "connectors.x", "from os import environ"),
        (clock_in_wiring, "bot.answering.ask", "from datetime import datetime\nx = datetime.now(UTC)"),
        (clock_in_wiring, "connectors.x", "import datetime\nx = datetime.datetime.utcnow()"),
        (clock_in_wiring, "policies.x", "from datetime import date\nx = date.today()"),
        (clock_in_wiring, "connectors.x", "import time\nx = time.time()"),
        (clock_in_wiring, "connectors.x", "from time import monotonic"),
        (clock_in_wiring, "connectors.x", "import time\nf = field(default_factory=time.perf_counter)"),
        (no_switch_around_checks, "bot.x", "def ask(text, *, skip_permissions=False): ..."),
        (no_switch_around_checks, "bot.x", "search(text, bypass_gate=True)"),
        (no_switch_around_checks, "bot.x", "class Search:\n    skip_checks: bool = False"),
        (no_switch_around_checks, "connectors.index.embedded", "Client(skip_init_checks=True)"),
        (verdicts_from_policies, "bot.answering.gate", "x = Allowed(document, version, policy)"),
        (verdicts_from_policies, "bot.answering.gate", "x = Cleared(text, allowed, key)"),
        (no_dangerous_calls, "connectors.x", "eval('1')"),
        (no_dangerous_calls, "connectors.x", "import pickle\nx = pickle.loads(b'')"),
        (no_dangerous_calls, "connectors.x", "get(url, verify=False)"),
    ],
)
def test_a_planted_violation_is_found(law: Checker, module: str, source: str) -> None:
    assert law(File.of(module, source))


@pytest.mark.parametrize(
    ("law", "module", "source"),
    [
        (one_room, "connectors.index.weaviate", "import weaviate"),
        (one_room, "connectors.ledger.tables", "from sqlmodel import SQLModel"),
        (environment_in_settings, "bot.settings", "import os\nx = os.environ"),
        (clock_in_wiring, "bot.wiring", "from datetime import datetime\nx = datetime.now(UTC)"),
        (clock_in_wiring, "connectors.x", "import asyncio\nasync def f():\n    async with asyncio.timeout(1): ..."),
        (clock_in_wiring, "connectors.x", "import time\ntime.sleep(1)"),
        (clock_in_wiring, "connectors.x", "x = question.time\ny = deps.now()"),
        (no_switch_around_checks, "connectors.x", "def skip(document, reason): ..."),
        (verdicts_from_policies, "policies.policy", "x = Allowed(document, version, policy)"),
        (no_dangerous_calls, "connectors.x", "import json\nx = json.loads('1')"),
    ],
)
def test_what_is_lawful_is_not_reported(law: Checker, module: str, source: str) -> None:
    assert law(File.of(module, source)) == []
