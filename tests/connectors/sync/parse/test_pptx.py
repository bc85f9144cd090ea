from __future__ import annotations

from typing import Any

import pytest
from lxml import etree
from pptx.dml.color import RGBColor
from pptx.enum.dml import MSO_THEME_COLOR
from pptx.enum.shapes import MSO_SHAPE
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


_SPACES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
)
_NAVY = '<p:bgPr><a:solidFill><a:srgbClr val="0B1F3A"/></a:solidFill><a:effectLst/></p:bgPr>'
_DARK_PLACE = '<p:bgPr><a:solidFill><a:schemeClr val="tx1"/></a:solidFill><a:effectLst/></p:bgPr>'
_DARK_LIST = '<p:bgRef idx="1001"><a:schemeClr val="tx1"/></p:bgRef>'
_PICTURED = "<p:bgPr><a:blipFill/><a:effectLst/></p:bgPr>"
_WHITE_PLACE = '<p:bgRef idx="1001"><a:schemeClr val="bg1"/></p:bgRef>'


def _background(holder: Any, told: str) -> None:
    content = holder._element.find("{http://schemas.openxmlformats.org/presentationml/2006/main}cSld")
    for old in content.findall("{http://schemas.openxmlformats.org/presentationml/2006/main}bg"):
        content.remove(old)
    content.insert(0, etree.fromstring(f"<p:bg {_SPACES}>{told}</p:bg>"))


def _white_box(slide: Any, text: str = "Seen") -> Any:
    run = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1)).text_frame.paragraphs[0].add_run()
    run.text = text
    run.font.color.rgb = RGBColor(255, 255, 255)
    return run


@pytest.mark.parametrize("where", ["slide", "layout", "master"])
@pytest.mark.parametrize("told", [_NAVY, _DARK_PLACE, _DARK_LIST, _PICTURED])
def test_white_text_on_a_dark_background_is_seen(where: str, told: str) -> None:
    def fill(deck: Any) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        _white_box(slide)
        layout = slide.slide_layout
        _background({"slide": slide, "layout": layout, "master": layout.slide_master}[where], told)

    record = parsed(slides(fill), "a.pptx")

    assert (text_of(record), hidden(record, Hidden.STYLED)) == ("Seen", "")


def test_the_nearest_background_counts() -> None:
    def fill(deck: Any) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        _white_box(slide, "unseen")
        _white_box(deck.slides.add_slide(deck.slide_layouts[6]))
        _background(slide.slide_layout.slide_master, _NAVY)
        _background(slide, _WHITE_PLACE)

    record = parsed(slides(fill), "a.pptx")

    assert (text_of(record), hidden(record, Hidden.STYLED)) == ("Slide 2 › Seen", "unseen")


def test_t092_text_in_the_theme_s_own_white_is_taken_out_where_the_slide_is_white() -> None:
    def fill(deck: Any) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        _white_box(slide, "unseen").font.color.theme_color = MSO_THEME_COLOR.BACKGROUND_1
        slide.shapes.add_textbox(0, 0, Inches(4), Inches(1)).text_frame.text = "Seen"

    record = parsed(slides(fill), "a.pptx")

    assert (text_of(record), hidden(record, Hidden.STYLED)) == ("Seen", "unseen")


def test_t092_text_in_the_colour_of_its_own_shape_is_taken_out() -> None:
    def fill(deck: Any) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        slide.shapes.add_textbox(0, 0, Inches(4), Inches(1)).text_frame.text = "Seen"
        shape = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, 0, Inches(3), Inches(4), Inches(1))
        shape.fill.solid()
        shape.fill.fore_color.rgb = RGBColor(0x12, 0x34, 0x56)
        run = shape.text_frame.paragraphs[0].add_run()
        run.text = "unseen"
        run.font.color.rgb = RGBColor(0x12, 0x34, 0x56)

    record = parsed(slides(fill), "a.pptx")

    assert (text_of(record), hidden(record, Hidden.STYLED)) == ("Seen", "unseen")


@pytest.mark.parametrize("grouped", [False, True])
def test_white_text_over_a_dark_shape_of_the_same_slide_is_seen(grouped: bool) -> None:
    def fill(deck: Any) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        holder = slide.shapes.add_group_shape() if grouped else slide
        bar = holder.shapes.add_shape(MSO_SHAPE.RECTANGLE, Inches(0), Inches(0), Inches(9), Inches(3))
        bar.fill.solid()
        bar.fill.fore_color.theme_color = MSO_THEME_COLOR.ACCENT_1
        _white_box(slide)

    assert text_of(parsed(slides(fill), "a.pptx")) == "Seen"


def test_white_text_in_the_dark_head_of_a_table_is_seen() -> None:
    def fill(deck: Any) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        table = slide.shapes.add_table(2, 2, 0, 0, Inches(4), Inches(2)).table
        for y, row in enumerate([["Code", "Limit"], ["TRV", "100"]]):
            for x, text in enumerate(row):
                cell = table.cell(y, x)
                cell.text = text
                if y == 0:
                    cell.text_frame.paragraphs[0].runs[0].font.color.rgb = RGBColor(255, 255, 255)
                    if x == 0:  # the other is dark by the table's style
                        cell.fill.solid()
                        cell.fill.fore_color.rgb = RGBColor(0, 0, 0x40)

    assert blocks(parsed(slides(fill), "a.pptx"), Form.TABLE)[0].text == "Code | Limit\nTRV | 100"


def test_t092_white_text_in_a_white_cell_is_taken_out() -> None:
    def fill(deck: Any) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        table = slide.shapes.add_table(2, 2, 0, 0, Inches(4), Inches(2)).table
        for n, text in enumerate(["Code", "Limit", "TRV", "unseen"]):
            table.cell(n // 2, n % 2).text = text
        cell = table.cell(1, 1)
        cell.fill.solid()
        cell.fill.fore_color.rgb = RGBColor(255, 255, 255)
        cell.text_frame.paragraphs[0].runs[0].font.color.rgb = RGBColor(255, 255, 255)

    record = parsed(slides(fill), "a.pptx")

    assert "unseen" not in text_of(record)
    assert hidden(record, Hidden.STYLED) == "unseen"


def _footed(deck: Any) -> None:
    for n in range(4):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"Step {n}"
        slide.placeholders[1].text = f"Do thing {n}"
        for kind, text in [("ftr", "ACME policy deck"), ("dt", "1 May 2026"), ("sldNum", f"no {n + 1}")]:
            box = slide.shapes.add_textbox(0, Inches(7), Inches(2), Inches(0.3))
            box.text_frame.text = text
            place = etree.SubElement(
                box._element.find(".//{http://schemas.openxmlformats.org/presentationml/2006/main}nvPr"),
                "{http://schemas.openxmlformats.org/presentationml/2006/main}ph",
            )
            place.set("type", kind)
        slide.shapes.add_textbox(0, Inches(6), Inches(2), Inches(0.3)).text_frame.text = "Internal use only"
        if n == 2:
            slide.shapes.add_textbox(0, Inches(4), Inches(2), Inches(0.3)).text_frame.text = "Only here"


def test_footers_dates_numbers_and_lines_of_most_slides_are_left_out() -> None:
    record = parsed(slides(_footed), "a.pptx")

    assert [block.text for block in record.blocks] == [
        "Do thing 0", "Do thing 1", "Do thing 2", "Only here", "Do thing 3",
    ]  # fmt: skip


def test_a_line_of_two_slides_is_kept() -> None:
    def fill(deck: Any) -> None:
        for _ in range(2):
            slide = deck.slides.add_slide(deck.slide_layouts[6])
            slide.shapes.add_textbox(0, 0, Inches(4), Inches(1)).text_frame.text = "Applies to all"

    assert text_of(parsed(slides(fill), "a.pptx")).count("Applies to all") == 2
