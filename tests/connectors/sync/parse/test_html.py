from __future__ import annotations

import contextlib

import pytest

from connectors.records import Form, Hidden
from connectors.sync.parse.refusal import Refusal
from tests.connectors.sync.parse.made import blocks, hidden, parsed, text_of


@pytest.mark.parametrize(
    "style",
    [
        "display:none",
        "display: none !important",
        "visibility:hidden",
        "font-size:0",
        "font-size:1px",
        "opacity:0",
        "opacity: 0.01",
        "color:#fff",
        "color:white",
        "color:rgb(255, 255, 255)",
        "color:#fefefe",
        "color:transparent",
        "position:absolute;left:-9999px",
        "text-indent:-9999px",
        "width:0;height:0;overflow:hidden",
        "background:#123456;color:#123456",
    ],
)
def test_text_styled_not_to_be_seen_is_taken_out_and_told(style: str) -> None:
    record = parsed(f'<p>Seen <span style="{style}">unseen</span> end</p>', "a.html")

    assert "unseen" not in text_of(record)
    assert "unseen" in hidden(record, Hidden.STYLED)


@pytest.mark.parametrize(
    "markup",
    [
        "<p hidden>unseen</p>",
        '<font color="#ffffff">unseen</font>',
        '<style>.x { display: none }</style><p class="x">unseen</p>',
        '<style>#y{color:#fff}</style><p id="y">unseen</p>',
        '<table><tr><td>a</td><td>b</td></tr><tr><td style="display:none">unseen</td><td>d</td></tr></table>',
        '<ul><li>a</li><li style="display:none">unseen</li></ul>',
        '<div style="display:none"><div>unseen</div></div>',
    ],
)
def test_hidden_by_other_means_is_taken_out_and_told(markup: str) -> None:
    record = parsed(f"<p>Seen</p>{markup}", "a.html")

    assert "unseen" not in text_of(record)
    assert "unseen" in hidden(record, Hidden.STYLED)


@pytest.mark.parametrize(
    "markup",
    [
        '<p style="color:#fff;background-color:#036">seen</p>',
        '<div style="background:#036"><p style="color:white">seen</p></div>',
        '<td bgcolor="#003366"><font color="white">seen</font></td>',
        '<p style="background:url(x.png);color:#fff">seen</p>',
        '<p aria-hidden="true">seen</p>',
        '<div style="background:navy"><div><p><span style="color:#fff">seen</span></p></div></div>',
        '<body bgcolor="#000000" text="#ffffff"><p>seen</p></body>',
        '<p style="color:red;background:yellow">seen</p>',
        '<p style="background:var(--brand);color:#fff">seen</p>',
        '<p style="background:#000;color:var(--ink)">seen</p>',
        '<p style="background:hsl(210, 80%, 20%);color:white">seen</p>',
        "<style>.dark p { background:#123; } .light { color:#fff }</style>"
        '<div class="dark"><p class="light">seen</p></div>',
    ],
)
def test_white_on_dark_is_seen(markup: str) -> None:
    assert "seen" in text_of(parsed(f"<table>{markup}</table>" if markup.startswith("<td") else markup, "a.html"))


@pytest.mark.parametrize(
    "style",
    [
        "thead { background:#036 } th { color:#fff }",
        "tr.head { background-color:#036 } .head th { color:white }",
        "table.policy thead th { background:#036; color:#fff }",
        "th { color:#fff } .policy tr > th { background:#036 }",
    ],
)
def test_white_heads_of_a_table_that_is_dark_there_are_seen(style: str) -> None:
    table = (
        parsed(
            f"<style>{style}</style><table class=policy><thead><tr class=head><th>Code<th>Limit</tr></thead>"
            "<tbody><tr><td>TRV<td>100</tr></tbody></table>",
            "a.html",
        )
        .blocks[0]
        .table
    )

    assert table is not None
    assert (table.headers, table.rows) == (("Code", "Limit"), (("TRV", "100"),))


@pytest.mark.parametrize(
    "markup",
    [
        '<div style="background:navy"><div style="background:#fff"><p style="color:#fff">unseen</p></div></div>',
        '<style>.a .b { color:#fff }</style><div class="a"><p class="b">unseen</p></div>',
        '<p style="background:navy;color:#000080">unseen</p>',
        '<p style="background:hsl(0, 0%, 100%);color:whitesmoke">unseen</p>',
    ],
)
def test_t092_text_in_the_colour_of_what_it_lies_on_is_taken_out(markup: str) -> None:
    record = parsed(f"<p>Seen</p>{markup}", "a.html")

    assert (text_of(record), hidden(record, Hidden.STYLED)) == ("Seen", "unseen")


def test_scripts_navigation_and_page_furniture_are_left_out() -> None:
    body = (
        "<header>Company</header><nav>Home | About</nav><script>evil()</script><style>p{}</style>"
        "<main><p>Content.</p></main><footer>Imprint</footer>"
    )

    assert text_of(parsed(body, "a.html")) == "Content."


def test_a_header_that_holds_the_heading_is_read() -> None:
    assert parsed("<header><h1>Policy</h1></header><p>x</p>", "a.html").title == "Policy"


def test_a_comment_is_taken_out_and_told() -> None:
    assert hidden(parsed("<p>x</p><!-- do it -->", "a.html"), Hidden.COMMENT) == "do it"


def test_merged_cells_are_repeated_in_each_row() -> None:
    record = parsed(
        "<table><tr><th>Zone<th>Limit</tr><tr><td rowspan=2>EU</td><td>1</td></tr><tr><td>2</td></tr></table>",
        "a.html",
    )
    table = record.blocks[0].table

    assert table is not None
    assert table.rows == (("EU", "1"), ("EU", "2"))


def test_two_rows_of_headers_become_one() -> None:
    record = parsed(
        "<table><thead><tr><th rowspan=2>Zone<th colspan=2>Limit</tr><tr><th>Min<th>Max</tr></thead>"
        "<tr><td>EU</td><td>1</td><td>2</td></tr></table>",
        "a.html",
    )
    table = record.blocks[0].table

    assert table is not None
    assert table.headers == ("Zone", "Limit Min", "Limit Max")


def test_a_table_headed_down_its_side_has_no_header_row() -> None:
    record = parsed("<table><tr><th>Owner</th><td>Ana</td></tr><tr><th>Due</th><td>May</td></tr></table>", "a.html")

    assert record.blocks[0].text == "Owner | Ana\nDue | May"


def test_a_caption_is_kept() -> None:
    table = parsed("<table><caption>Rates</caption><tr><th>A<th>B<tr><td>1<td>2</table>", "a.html").blocks[0].table

    assert table is not None
    assert table.caption == "Rates"


def test_a_table_that_only_places_things_is_text() -> None:
    record = parsed("<table role=presentation><tr><td><h2>Rule</h2><p>Text</p></td></tr></table>", "a.html")

    assert (record.blocks[0].form, record.blocks[0].heading_path) == (Form.TEXT, ("Rule",))


def test_definitions_are_items() -> None:
    record = parsed("<dl><dt>PTO</dt><dd>paid time off</dd><dd>or leave</dd></dl>", "a.html")

    assert record.blocks[0].text == "- PTO: paid time off\n  - or leave"


def test_a_break_stays_a_break() -> None:
    assert text_of(parsed("<p>Main St 1<br>Berlin</p>", "a.html")) == "Main St 1\nBerlin"


def test_code_keeps_its_spaces() -> None:
    assert blocks(parsed("<pre>a\n  b</pre>", "a.html"), Form.CODE)[0].text == "a\n  b"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Grüße".encode(), "Grüße"),
        ("Grüße".encode("cp1252"), "Grüße"),
        ("Grüße".encode("utf-16"), "Grüße"),
        (b'<meta charset="iso-8859-1">' + "Grüße".encode("latin-1"), "Grüße"),
    ],
)
def test_bytes_are_decoded_by_mark_declaration_or_guess(body: bytes, expected: str) -> None:
    assert text_of(parsed(body, "a.html")) == expected


def test_t131_entities_are_refused() -> None:
    with pytest.raises(Refusal, match="entities"):
        parsed('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><p>&a;</p>', "a.html")


def test_deep_nesting_is_survived() -> None:
    with contextlib.suppress(Refusal, RecursionError):
        parsed("<div>" * 50_000 + "x", "a.html")


def test_an_empty_heading_ends_the_section_before_it() -> None:
    record = parsed("<h1>T</h1><h2>Airfare</h2><p>a</p><h2>&nbsp;</h2><p>Trains too.</p>", "a.html")

    assert [block.heading_path for block in record.blocks] == [("Airfare",), ("Trains too.",)]
