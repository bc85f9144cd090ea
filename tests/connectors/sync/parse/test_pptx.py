from __future__ import annotations

from typing import Any

from pptx.dml.color import RGBColor
from pptx.util import Inches, Pt

from connectors.records import Form, Hidden
from tests.connectors.sync.parse.made import blocks, hidden, parsed, slides, text_of


def _two(deck: Any) -> None:
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "Onboarding"
    first.placeholders[1].text = "Get a laptop\nGet a badge"
    second = deck.slides.add_slide(deck.slide_layouts[5])
    second.shapes.title.text = "Limits"
    table = second.shapes.add_table(2, 2, 0, 0, Inches(4), Inches(2)).table
    for y, row in enumerate([["Code", "Limit"], ["TRV", "100"]]):
        for x, text in enumerate(row):
            table.cell(y, x).text = text
    second.notes_slide.notes_text_frame.text = "tell nobody"


def test_a_slide_is_a_page_and_its_title_a_heading() -> None:
    record = parsed(slides(_two), "a.pptx")

    assert [(block.page, block.heading_path) for block in record.blocks] == [(1, ("Onboarding",)), (2, ("Limits",))]


def test_bullets_are_items_and_tables_tables() -> None:
    record = parsed(slides(_two), "a.pptx")

    assert blocks(record, Form.LIST)[0].items == ("Get a laptop", "Get a badge")
    assert blocks(record, Form.TABLE)[0].text == "Code | Limit\nTRV | 100"


def test_t092_speaker_notes_are_taken_out_and_told() -> None:
    record = parsed(slides(_two), "a.pptx")

    assert "tell nobody" not in text_of(record)
    assert hidden(record, Hidden.NOTES) == "tell nobody"


def test_t092_white_and_tiny_text_is_taken_out_and_told() -> None:
    def fill(deck: Any) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        paragraph = slide.shapes.add_textbox(0, 0, Inches(4), Inches(1)).text_frame.paragraphs[0]
        paragraph.add_run().text = "Seen "
        white, tiny = paragraph.add_run(), paragraph.add_run()
        white.text, tiny.text = "white ", "tiny"
        white.font.color.rgb = RGBColor(255, 255, 255)
        tiny.font.size = Pt(1)

    record = parsed(slides(fill), "a.pptx")

    assert blocks(record, Form.TEXT)[0].text == "Seen"
    assert hidden(record, Hidden.STYLED).split() == ["white", "tiny"]


def test_a_hidden_slide_is_taken_out_and_told() -> None:
    def fill(deck: Any) -> None:
        _two(deck)
        deck.slides[0]._element.set("show", "0")

    record = parsed(slides(fill), "a.pptx")

    assert "laptop" not in text_of(record)
    assert "Get a laptop" in hidden(record, Hidden.STYLED)
    assert record.blocks[0].page == 2
