"""Bodies of pages through the product's own reading: what their readers find in them, and what they must not.

The bodies stand in `cases/`; constructs are those of the vendor's reference and of public converters' test suites.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from connectors.records import Form, ParsedRecord
from connectors.sources.confluence.mapping import ADF, STORAGE
from connectors.sync.parse.formats import read
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.refusal import Refusal

CASES = Path(__file__).parent / "cases"
TYPES = {"storage": STORAGE, "adf": ADF}
Case = dict[str, Any]


def all_cases() -> list[Any]:
    return [
        pytest.param(kind, case, id=f"{kind}: {case['name']}")
        for kind in TYPES
        for case in tomllib.loads((CASES / f"{kind}.toml").read_text(encoding="utf-8"))["case"]
    ]


def parsed(kind: str, case: Case) -> ParsedRecord | None:
    """What the reading makes of it; None where it is refused, as a hostile body may be, and one without a word."""
    try:
        return read(case["body"].encode(), TYPES[kind], "123", Limits(), None)
    except Refusal:
        assert case.get("hostile") or not case["says"], "a body that people write was refused"
        return None


def said(record: ParsedRecord) -> str:
    """Everything that is said, in the order of reading, headings included."""
    lines: list[str] = []
    path: tuple[str, ...] = ()
    for block in record.blocks:
        if block.heading_path != path:
            lines += block.heading_path
            path = block.heading_path
        lines.append(block.text)
    return "\n".join(lines)


def plain(text: str) -> str:
    """Blanks of any kind count as one; lines of code keep theirs in `code`."""
    return re.sub(r"[ \t ]+", " ", text)


@pytest.mark.parametrize(("kind", "case"), all_cases())
def test_a_body_says_what_its_readers_find_in_it(kind: str, case: Case) -> None:
    record = parsed(kind, case)
    if record is None:
        return
    text, at = plain(said(record)), 0
    for piece in case["says"]:
        found = text.find(plain(piece), at)
        assert found >= 0, f"{piece!r} is missing after {text[:at]!r}: {text!r}"
        at = found + len(plain(piece))
    for piece in case.get("never", ()):
        assert piece not in said(record)
    for piece in case.get("once", ()):
        assert text.count(piece) == 1


@pytest.mark.parametrize(("kind", "case"), [each for each in all_cases() if "hides" in each.values[1]])
def test_what_readers_cannot_see_is_taken_out_and_told(kind: str, case: Case) -> None:
    record = parsed(kind, case)
    assert record is not None

    assert case["hides"] == [plain(removal.text).strip() for removal in record.removals]


@pytest.mark.parametrize(("kind", "case"), [each for each in all_cases() if "headings" in each.values[1]])
def test_headings_are_the_paths_of_what_stands_under_them(kind: str, case: Case) -> None:
    record = parsed(kind, case)
    assert record is not None

    paths = {" › ".join(block.heading_path) for block in record.blocks}
    # The first heading of a page may be taken for its title; then it leads no path.
    whole = {" › ".join(filter(None, (record.title or "", path))) for path in paths}
    assert set(case["headings"]) <= paths | whole


@pytest.mark.parametrize(("kind", "case"), [each for each in all_cases() if "tables" in each.values[1]])
def test_tables_keep_their_cells_where_they_belong(kind: str, case: Case) -> None:
    record = parsed(kind, case)
    assert record is not None

    tables = [block.table for block in record.blocks if block.form is Form.TABLE and block.table]
    assert case["tables"] == [[list(table.headers), *map(list, table.rows)] for table in tables]


@pytest.mark.parametrize(("kind", "case"), [each for each in all_cases() if "code" in each.values[1]])
def test_code_is_kept_to_the_letter(kind: str, case: Case) -> None:
    record = parsed(kind, case)
    assert record is not None

    blocks = [block.text for block in record.blocks if block.form is Form.CODE]
    assert len(blocks) == len(case["code"])
    assert all(wanted in block for wanted, block in zip(case["code"], blocks, strict=True))


@pytest.mark.parametrize(("kind", "case"), [each for each in all_cases() if "tasks" in each.values[1]])
def test_done_and_open_tasks_read_differently(kind: str, case: Case) -> None:
    record = parsed(kind, case)
    assert record is not None

    marks: dict[bool, set[str]] = {True: set(), False: set()}
    for line in said(record).splitlines():
        for words, done in case["tasks"]:
            if words in line:
                marks[done].add(line.partition(words)[0].strip())
    assert marks[True]
    assert marks[False]
    assert not marks[True] & marks[False]
