"""The documentation says what the code does: generated pages are fresh, named files and targets exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from bot.documenting import SHAPES, commands, commands_page, settings_page

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
CONTRACT = (
    "ask check demo eval index-check keys-list keys-rotate ledger-copy reindex search serve sync who why "
    "person-link person-unlink person-list person-match person-import "
    "source-add-confluence source-add-files source-add-sharepoint source-list source-show source-pause source-resume "
    "source-remove trace-show trace-list trace-export trace-verify trace-replay"
)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_page_of_settings_is_what_the_table_says() -> None:
    assert read(ROOT / "docs/settings.md") == settings_page(), "run: make docs"


def test_the_page_of_commands_is_what_the_commands_say() -> None:
    assert read(ROOT / "docs/commands.md") == commands_page(), "run: make docs"


def test_every_command_of_the_contract_is_there_and_no_other() -> None:
    expected = {f"footnote {name.replace('-', ' ')}" for name in CONTRACT.split()}

    assert {path for path, _ in commands()} == expected


def test_every_command_says_what_it_does_and_what_its_options_mean() -> None:
    for path, command in commands():
        assert command.help, path
        for parameter in command.params:
            assert parameter.param_type_name == "argument" or getattr(parameter, "help", None), (path, parameter.name)


def test_every_command_with_json_has_its_shape_described() -> None:
    with_json = {path for path, command in commands() if any("--json" in each.opts for each in command.params)}

    assert with_json == set(SHAPES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", read(page)):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_shows_exists(page: Path) -> None:
    known = [path.split() for path, _ in commands()]
    shown = re.findall(r"^\s*(?:\.venv/bin/)?(footnote(?: [a-z]+)+)", read(page), re.MULTILINE)
    for line in shown:
        words = line.split()
        assert any(words[: len(path)] == path for path in known), line


def test_every_make_target_that_a_page_shows_exists() -> None:
    targets = set(re.findall(r"^\.PHONY: (\w+)$", read(ROOT / "Makefile"), re.MULTILINE))

    assert {"demo", "test", "lint", "bench", "help"} <= targets
    for page in PAGES:
        assert set(re.findall(r"(?:^|`)make (\w+)", read(page), re.MULTILINE)) <= targets, page


def test_the_two_commands_of_the_readme_are_runnable() -> None:
    for target in ("demo", "test"):
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)

        assert done.returncode == 0, done.stderr


def test_every_setting_that_a_page_or_the_image_names_exists() -> None:
    names = set(re.findall(r"`(FOOTNOTE_\w+)`", settings_page()))
    known = names | {f"{name}_FILE" for name in names}
    for page in (*PAGES, ROOT / "Dockerfile", ROOT / ".ci/run"):
        assert set(re.findall(r"\bFOOTNOTE_[A-Z_]+[A-Z]\b", read(page))) <= known, page


def test_the_licence_is_there_whole() -> None:
    licence = read(ROOT / "LICENSE")

    assert "Apache License" in licence
    assert "END OF TERMS AND CONDITIONS" in licence
