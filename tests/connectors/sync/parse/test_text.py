from __future__ import annotations

import pytest

from connectors.records import Form
from tests.connectors.sync.parse.made import parsed, text_of


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_text_is_decoded(encoding: str) -> None:
    assert text_of(parsed("Prämie: 30 €".encode(encoding), "a.txt")) == "Prämie: 30 €"


def test_an_underlined_line_is_a_heading() -> None:
    record = parsed("Travel\n======\n\nHotels\n------\nBook early.", "a.txt")

    assert (record.title, record.blocks[0].heading_path) == ("Travel", ("Hotels",))


def test_a_numbered_line_alone_is_a_heading_with_its_number() -> None:
    record = parsed("4.2 Exceptions\n\nNone are made.", "a.txt")

    assert record.blocks[0].heading_path == ("4.2 Exceptions",)


def test_a_sentence_is_no_heading() -> None:
    assert parsed("1. We pay within 30 days.", "a.txt").blocks[0].heading_path == ()


def test_items_are_a_list() -> None:
    record = parsed("You need:\n- a form\n- a receipt\n  of the hotel", "a.txt")

    assert [block.form for block in record.blocks] == [Form.TEXT, Form.LIST]
    assert record.blocks[1].items == ("a form", "a receipt of the hotel")


def test_wrapped_lines_are_one_paragraph() -> None:
    line = "This line of a paragraph is long enough that it was wrapped by a program"

    assert text_of(parsed(f"{line}\n{line}", "a.txt")) == f"{line} {line}"
