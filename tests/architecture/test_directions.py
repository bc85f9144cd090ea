"""Imports run one way, policies are pure, and only the wiring names an adapter."""

from __future__ import annotations

import pytest

from tests.architecture.reading import Checker, File, doors_only, files, imports, one_way, pure

LAWS = [one_way, doors_only, pure]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_code_keeps_the_law(law: Checker) -> None:
    assert [problem for file in files() for problem in law(file)] == []


def test_every_room_is_read() -> None:
    modules = {file.module for file in files()}

    assert {"policies.access", "connectors.ports", "bot.wiring", "bot.answering.ask"} <= modules


@pytest.mark.parametrize(
    ("law", "module", "source"),
    [
        (one_way, "policies.x", "import connectors.ports"),
        (one_way, "policies.x", "def f():\n    from bot import wiring"),
        (one_way, "connectors.x", "from bot.settings import Settings"),
        (one_way, "connectors.x", "if TYPE_CHECKING:\n    import bot.wiring"),
        (one_way, "connectors.x", "import importlib\nimportlib.import_module('bot.wiring')"),
        (one_way, "bot.x", "from tests.world import World"),
        (doors_only, "bot.answering.ask", "from connectors.index.embedded import EmbeddedIndex"),
        (doors_only, "bot.answering.ask", "from connectors.index import embedded"),
        (doors_only, "bot.answering.ask", "from connectors import ledger"),
        (doors_only, "bot.answering.ask", "import connectors.sync.run"),
        (doors_only, "bot.web", "from connectors.vault import Vault"),
        (doors_only, "connectors.sync.run", "from connectors.ledger.catalog import Catalog"),
        (doors_only, "connectors.sync.run", "from connectors import sources"),
        (doors_only, "connectors.sync.run", "from ..index import embedded"),
        (pure, "policies.x", "import numpy"),
        (pure, "policies.x", "import logging"),
        (pure, "policies.x", "from asyncio import sleep"),
        (pure, "policies.x", "import urllib.request"),
        (pure, "policies.x", "async def f(): ..."),
        (pure, "policies.x", "def f():\n    return open('x')"),
        (pure, "policies.x", "def f():\n    print('x')"),
        (pure, "policies.x", "def f():\n    global cache"),
    ],
)
def test_a_planted_violation_is_found(law: Checker, module: str, source: str) -> None:
    assert law(File.of(module, source))


@pytest.mark.parametrize(
    ("law", "module", "source"),
    [
        (one_way, "policies.x", "from policies.names import Principal"),
        (one_way, "bot.x", "import connectors.ports\nimport policies.access"),
        (doors_only, "bot.wiring", "from connectors.index.embedded import EmbeddedIndex"),
        (doors_only, "bot.answering.ask", "from connectors.ports import Index\nfrom connectors.codes import codes_of"),
        (doors_only, "bot.keeping", "from connectors.sync.reconcile import reconcile"),
        (doors_only, "connectors.sync.run", "from connectors.sync.chunk import cut\nfrom connectors import records"),
        (doors_only, "connectors.ledger.open", "from connectors.ledger.tables import x"),
        (pure, "policies.x", "import re\nfrom urllib.parse import quote\nfrom policies import names"),
        (pure, "connectors.x", "import asyncio"),
    ],
)
def test_what_is_lawful_is_not_reported(law: Checker, module: str, source: str) -> None:
    assert law(File.of(module, source)) == []


def test_relative_imports_are_resolved() -> None:
    assert list(imports(File.of("connectors.sync.run", "from ..index import embedded"))) == [
        "connectors.index.embedded"
    ]
    assert list(imports(File.of("connectors.sync.run", "from . import chunk"))) == ["connectors.sync.chunk"]
