"""Bodies made to be slow to read: whoever may edit a page writes what is looked through outside the sandbox."""

from __future__ import annotations

import json
from collections.abc import Callable, Sized
from typing import Any

import pytest

from connectors.sources.confluence import markup
from connectors.sources.confluence.includes import shown_by
from connectors.sources.confluence.markup import Tag
from connectors.sources.confluence.properties import of_adf, of_storage

DETAILS = '<ac:structured-macro ac:name="details">'
CELL = f"{DETAILS}<table><tr><td>"
WHOLE = markup.LONGEST // 2  # of what is looked at of a page: half of it takes half of the time here


HALF_TABLES = "<table>" * (WHOLE // 14)
SLOW = {
    **{
        again: (CELL, again, "")
        for again in (
            "<!--", "<!-- >", "<![CDATA[", "<![CDATA[ >", "<?", "<!a", "<", "<a ", "<a b='", '<a b="', "<a 'x ", "<a b",
            "</", "</a ", "<a/", "<ri:page a = 'b' ", '<ac:structured-macro ac:name="', "&#", "&a", "&amp;", "<td>",
            "<tr>", "<td/>", "<table>", "<tr><td>a</td><td>b</td></tr>", DETAILS,
        )
    },
    "tables in tables": (HALF_TABLES + DETAILS, "<table>", ""),
    "attributes": (f"{CELL}<a", " b", ""),
    "attributes of a macro": ('<ac:structured-macro ac:name="details"', ' b="x"', ""),
    "a number": (f"{CELL}&#", "9", ""),
    "a number in an attribute": ("<ac:structured-macro ac:name='details'/><ri:page ri:content-title='&#", "9", "'/>"),
}  # fmt: skip


def of_doc(*content: Any) -> str:
    return json.dumps({"type": "doc", "content": [{"attrs": {"extensionKey": "details"}, "content": content}]})


def in_many(node: Any, levels: int) -> Any:
    for _ in range(levels):
        node = {"content": [node]}
    return node


ROW = {"type": "tableRow", "content": [{"type": "tableCell"}, {"type": "tableCell"}]}
WORD = {"type": "text", "text": "a"}
SLOW_ADF: dict[str, Callable[[], str]] = {
    "no end": lambda: "[" * WHOLE,
    "too long": lambda: "[" + "[]," * WHOLE + "[]]",
    "wide": lambda: of_doc(*[{"type": "p"}] * (WHOLE // 15)),
    "rows": lambda: of_doc(*[ROW] * (WHOLE // 90)),
    "deep": lambda: of_doc(*[in_many(ROW, 55)] * (WHOLE // 4400)),
    "a long cell": lambda: of_doc({**ROW, "content": [{**in_many(WORD, 50), "type": "tableCell"}] * 1_700}),
}


def found_in(body: str, read: Callable[[str], Sized], storage: bool) -> int:
    """How much is found in a body that is looked through whole; there is nothing in it but a property."""
    return max(len(read(body)), len(shown_by(body, storage)))


@pytest.mark.timeout(20)  # about a second where the time grows with the text alone, and minutes where it does not
@pytest.mark.parametrize("kind", SLOW)
def test_a_body_made_to_be_slow_holds_nobody_up(kind: str) -> None:
    before, again, after = SLOW[kind]
    body = before + again * ((WHOLE - len(before)) // len(again)) + after

    assert found_in(body, of_storage, storage=True) <= 1


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", SLOW_ADF)
def test_a_live_doc_made_to_be_slow_holds_nobody_up(kind: str) -> None:
    assert found_in(SLOW_ADF[kind](), of_adf, storage=False) <= 1


def test_tags_and_texts_come_in_order_and_literal_text_is_no_markup() -> None:
    body = "<P class=a x>One &amp; <!-- <b> --><![CDATA[<b> &amp;]]><br /></p><?x <i>?>two<!-- three"

    assert [
        Tag("p", False, False, " class=a x"),
        "One &amp; ",
        "<b> &amp;amp;",
        Tag("br", False, True, ""),
        Tag("p", True, False, ""),
        "two",
    ] == list(markup.read(body))
    assert Tag("x", False, False, " A = '&lt;&amp;>' b=c d").told() == {"a": "<&>", "b": "c"}


def test_the_number_of_no_character_is_one_that_nobody_knows() -> None:
    assert markup.unescaped(f"a&#{'9' * 5_000};&#{'9' * 5_000}b&eacute;") == "a\ufffd\ufffdbé"
