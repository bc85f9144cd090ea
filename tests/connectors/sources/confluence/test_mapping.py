"""What is made of rows and bodies: types of files, dates, addresses."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

import pytest

from connectors.records import Inherits, Node, Skipped, SourceDocument
from connectors.sources.confluence.mapping import ADF, STORAGE, Body, Documents, media_type_of
from connectors.sources.confluence.principals import Principals
from connectors.sources.confluence.properties import Dates, dates, day_of, of_adf, of_storage
from connectors.sync.placing import Place

NOW = datetime(2031, 1, 1, tzinfo=UTC)
PDF, DOCX = "application/pdf", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PLACE = Place("space:ENG", ("space:ENG",))
DOCUMENTS = Documents("wiki", lambda: "https://x.atlassian.net/wiki")


async def never() -> bytes:
    raise AssertionError("the file was fetched")


def node(key: str = "77", kind: str = "page", **facts: str) -> Node:
    return Node(key, None, "space:ENG", kind, Inherits(), NOW, True, mark="3", facts=facts)


@pytest.mark.parametrize(
    ("name", "told", "expected"),
    [
        ("rules.pdf", PDF, PDF),
        ("rules.pdf", "application/octet-stream", PDF),
        ("RULES.DOCX", "", DOCX),
        ("notes.md", "text/plain", "text/markdown"),
        ("notes.txt", "text/plain; charset=utf-8", "text/plain"),
        ("no ending", PDF, PDF),
        ("rules.pdf", "text/html", None),
        ("page.html", PDF, None),
        ("film.mp4", "video/mp4", None),
        ("shot.png", "image/png", None),
        ("macro.docm", "application/octet-stream", None),
    ],
)
def test_a_file_is_read_as_what_its_name_and_the_server_agree_on(name: str, told: str, expected: str | None) -> None:
    assert media_type_of(name, told) == expected


def test_a_file_that_claims_two_things_is_told_of_and_not_read() -> None:
    told = DOCUMENTS.attachment(node(kind="attachment", title="rules.pdf", media_type="text/html"), None, PLACE, never)

    assert isinstance(told, Skipped)
    assert "disguised" in told.reason


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2031-04-01", date(2031, 4, 1)),
        ("from 2031-4-1 on", date(2031, 4, 1)),
        ("1 April 2031", date(2031, 4, 1)),
        ("1st Apr. 2031", date(2031, 4, 1)),
        ("April 1, 2031", date(2031, 4, 1)),
        ("01/04/2031", None),
        ("2031-13-01", None),
        ("soon", None),
    ],
)
def test_a_day_is_what_is_named_beyond_doubt(text: str, day: date | None) -> None:
    assert day_of(text) == day


def test_page_properties_give_the_dates_of_a_page() -> None:
    body = (
        '<ac:structured-macro ac:name="details"><ac:parameter ac:name="hidden">true</ac:parameter><ac:rich-text-body>'
        '<table><tbody><tr><th>Effective&nbsp;date</th><td><p><time datetime="2031-01-15" /></p></td></tr>'
        "<tr><th>Expiry date:</th><td>31 December 2031</td></tr><tr><th>Review date</th><td>2031-11-01</td></tr>"
        "<tr><th>Owner</th><td>Travel &amp; Events</td></tr></tbody></table></ac:rich-text-body></ac:structured-macro>"
    )
    told = DOCUMENTS.page(node(title="Travel"), PLACE, Body(body, STORAGE, "4", "Travel", ("policy",)))

    assert isinstance(told, SourceDocument)
    assert (date(2031, 1, 15), date(2031, 12, 31)) == (told.effective_from, told.effective_to)
    assert told.labels == ("policy", "review:2031-11-01")
    assert (told.owner, told.version, told.revision) == ("Travel & Events", "4", "3")


def test_properties_outside_of_their_macro_and_inside_of_others_are_none() -> None:
    table = "<table><tbody><tr><th>Effective date</th><td>2031-01-15</td></tr></tbody></table>"
    inside = (
        '<ac:structured-macro ac:name="details"><ac:rich-text-body><ac:structured-macro ac:name="expand">'
        f"<ac:rich-text-body>{table}</ac:rich-text-body></ac:structured-macro></ac:rich-text-body>"
        "</ac:structured-macro>"
    )

    assert of_storage(table) == {}
    assert of_storage(inside) == {}


def test_properties_stand_down_the_first_column_or_along_the_first_row() -> None:
    along = (
        '<ac:structured-macro ac:name="details"><ac:rich-text-body><table><tbody><tr><th>Effective from</th><th>Status'
        "</th></tr><tr><td>2031-02-01</td><td>Withdrawn</td></tr></tbody></table></ac:rich-text-body>"
        "</ac:structured-macro>"
    )

    assert of_storage(along) == {"Effective from": "2031-02-01", "Status": "Withdrawn"}
    assert of_storage(along.replace("<td>2031-02-01</td>", "<td />")) == {"Effective from": "", "Status": "Withdrawn"}


@pytest.mark.parametrize(
    "cell",
    [
        "<TD>Ann &amp; Bob &lt;all&gt;</TD>",
        "<td class='a > b'><p>Ann <!-- not <td>Eve</td> -->&amp;&#32;Bob</p> &lt;all&gt;</td>",
        '<td><ac:link><ri:page ri:content-title="x"/><ac:plain-text-link-body><![CDATA[Ann & Bob <all>]]>'
        "</ac:plain-text-link-body></ac:link></td>",
        "<td><ac:structured-macro ac:name='status'><ac:parameter ac:name='colour'>Red</ac:parameter>"
        "</ac:structured-macro>Ann &#x26; Bob &lt;all></td>",
    ],
)
def test_a_property_is_what_its_readers_see(cell: str) -> None:
    body = f'<ac:structured-macro ac:name="details"><table><tr><th>Owner</th>{cell}</tr></table></ac:structured-macro>'

    assert of_storage(f"<table><tr><td>a</td></tr></table><p/>{body}{body}") == {"Owner": "Ann & Bob <all>"}


def test_a_period_that_ends_before_it_begins_is_none() -> None:
    assert dates({"Effective from": "2031-05-01", "Valid until": "2031-04-01"}) == Dates()


def test_a_live_page_has_properties_too() -> None:
    def cell(kind: str, *content: object) -> dict[str, object]:
        return {"type": kind, "content": [{"type": "paragraph", "content": list(content)}]}

    row = {
        "type": "tableRow",
        "content": [
            cell("tableHeader", {"type": "text", "text": "Effective date"}),
            cell("tableCell", {"type": "date", "attrs": {"timestamp": "1926201600000"}}),
        ],
    }
    details = {
        "type": "bodiedExtension",
        "attrs": {"extensionKey": "details"},
        "content": [{"type": "table", "content": [row]}],
    }

    assert of_adf(json.dumps({"type": "doc", "content": [details]})) == {"Effective date": "2031-01-15"}
    assert of_adf("[" * 100_000) == {}


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("/spaces/ENG/pages/77/Travel+rules", "https://x.atlassian.net/wiki/spaces/ENG/pages/77/Travel+rules"),
        ("/spaces/ENG/pages/77/Отпуск", "https://x.atlassian.net/wiki/spaces/ENG/pages/77/%D0%9E%D1%82%D0%BF%D1%83%D1%81%D0%BA"),
        ("", "https://x.atlassian.net/wiki/pages/viewpage.action?pageId=77"),
        ("//evil.example/x", "https://x.atlassian.net/wiki/pages/viewpage.action?pageId=77"),
        ("https://evil.example/x", "https://x.atlassian.net/wiki/pages/viewpage.action?pageId=77"),
    ],
)  # fmt: skip
def test_a_link_leads_to_the_page_at_the_product_itself(link: str, expected: str) -> None:
    told = DOCUMENTS.page(node(title="Travel", link=link), PLACE, Body("<p>x</p>", STORAGE, "3", "Travel"))

    assert isinstance(told, SourceDocument)
    assert told.url == expected


def test_a_heading_is_led_to_as_each_edition_names_it() -> None:
    body = Body("<h2>x</h2><p>y</p>", STORAGE, "3", "Travel rules")
    cloud = DOCUMENTS.page(node(), PLACE, body)
    server = Documents("wiki", lambda: "https://wiki.example", cloud=False).page(node(), PLACE, body)

    assert isinstance(cloud, SourceDocument)
    assert isinstance(server, SourceDocument)
    assert cloud.anchor is not None
    assert server.anchor is not None
    assert cloud.anchor("2.1 Flights abroad") == "2.1-Flights-abroad"
    assert server.anchor("2.1 Flights abroad") == "Travelrules-2.1Flightsabroad"
    assert cloud.anchor('Отпуск "x"').isascii()


def test_a_page_without_a_word_is_told_of_and_not_read() -> None:
    assert isinstance(DOCUMENTS.page(node(), PLACE, Body(" ", ADF, "3", "Empty")), Skipped)


def test_ids_of_any_spelling_stay_apart() -> None:
    """elastic#4428, onyx#8077: one constructor for documents and people, and two wikis never meet."""
    one, other = Principals("wiki"), Principals("wiki:2")
    ids = ("5b10:ac8d", "5b10%3Aac8d", "Gruppe A", "gruppe a", "a/b", "a:b")

    tokens = {p.user(each) for p in (one, other) for each in ids} | {
        p.group(each) for p in (one, other) for each in ids
    }

    assert len(tokens) == 4 * len(ids)
    assert one.user("x") != one.group("x")
