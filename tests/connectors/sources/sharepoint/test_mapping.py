"""What a file, a page or an item becomes as a document."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from connectors.sources.sharepoint.documents import published_version
from connectors.sources.sharepoint.mapping import address, columns, item_html, not_indexed, page_html, written_html


@pytest.mark.parametrize(
    ("row", "indexed"),
    [
        ({"name": "a.docx", "file": {}}, True),
        ({"name": "a.PDF", "file": {}}, True),
        ({"name": "a.md", "file": {}}, True),
        ({"name": "a.zip", "file": {}}, False),
        ({"name": "Home.aspx", "file": {}}, False),
        ({"name": "no ending", "file": {}}, False),
        ({"name": "a.docx"}, False),
        ({"name": "a.docx", "file": {}, "malware": {"description": "x"}}, False),
        ({"name": "a.docx", "file": {}, "remoteItem": {"id": "1"}}, False),
        ({"name": "Notes", "package": {"type": "oneNote"}}, False),
    ],
)
def test_one_rule_says_what_is_a_document(row: dict[str, Any], indexed: bool) -> None:
    assert (not_indexed(row) is None) == indexed


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://x.sharepoint.com/sites/a/Docs/b%20c.pdf", "https://x.sharepoint.com/sites/a/Docs/b%20c.pdf"),
        (
            "https://x.sharepoint.com/sites/a/_layouts/15/Doc.aspx?sourcedoc=%7B1%7D&file=b.docx&tempauth=secret",
            "https://x.sharepoint.com/sites/a/_layouts/15/Doc.aspx?sourcedoc=%7B1%7D&file=b.docx",
        ),
        ("https://x.sharepoint.com/sites/a/_layouts/15/download.aspx?UniqueId=1&tempauth=secret", ""),
        ("https://x.sharepoint.com/:w:/s/a/EaBcD?e=4711", ""),
        ("javascript:alert(1)", ""),
        ("", ""),
    ],
)
def test_a_link_is_the_documents_own_address_and_lets_nobody_in(url: str, shown: str) -> None:
    assert shown == address(url)


def test_columns_are_read_whatever_they_are_called() -> None:
    found = columns(
        {
            "Title": " Travel policy ",
            "Effective_x0020_Date": "2026-02-28T23:00:00Z",  # the first of March in Berlin
            "ValidUntil": "2026-12-31",
            "ContentType": "Policy",
            "_DisplayName": "Internal",
            "_ComplianceTag": "Seven years",
            "Tags": [{"Label": "travel", "TermGuid": "x"}, {"LookupValue": "expenses"}],
            "_UIVersionString": "3.0",
            "_ModerationStatus": 0,
        }
    )

    assert (found.title, found.version, found.moderation) == ("Travel policy", "3.0", "0")
    assert (found.effective_from, found.effective_to) == (date(2026, 3, 1), date(2026, 12, 31))
    assert found.labels == ("travel", "expenses", "content type: Policy", "Internal", "retention: Seven years")
    assert found.labelled
    assert not found.encrypted


@pytest.mark.parametrize("value", ["", None, 7, "soon", "2026-99-99", {"a": 1}])
def test_a_date_that_is_none_is_no_date(value: object) -> None:
    assert columns({"EffectiveDate": value}).effective_from is None


def test_midnight_at_a_site_west_of_utc_is_the_same_day() -> None:
    assert columns({"EffectiveDate": "2026-03-01T08:00:00Z"}).effective_from == date(2026, 3, 1)


def part(**more: Any) -> dict[str, Any]:
    return {"@odata.type": "#microsoft.graph.standardWebPart", **more}


def told(text: str) -> dict[str, Any]:
    return {"serverProcessedContent": {"searchablePlainTexts": [{"key": "title", "value": text}]}}


def test_a_page_is_what_was_typed_into_it_and_nothing_that_is_collected() -> None:
    canvas = {
        "horizontalSections": [
            {"columns": [{"webparts": [{"innerHtml": "<p>Book early</p>"}, None, {"innerHtml": None}]}, {}]},
            {"columns": None},
            {
                "columns": [
                    {"webparts": [part(webPartType="daf0b71c-6de8-4ef7-b511-faae7c388708", data=told("ROLLED"))]}
                ]
            },
            {"columns": [{"webparts": [part(webPartType="0000", data=told("UNKNOWN PART"))]}]},
        ],
        "verticalSection": {
            "webparts": [part(webPartType="C70391EA-0B10-4EE9-B2B4-006D3FCAD0CD", data=told("Fares & rates"))]
        },
    }
    html = page_html("Travel <1>", canvas)

    assert "<p>Book early</p>" in html
    assert "Fares &amp; rates" in html
    assert "Travel &lt;1&gt;" in html
    assert "ROLLED" not in html
    assert "UNKNOWN PART" not in html


@pytest.mark.parametrize("canvas", [None, {}, {"horizontalSections": None}, {"verticalSection": {}}, "text"])
def test_a_page_without_parts_is_empty_and_no_error(canvas: object) -> None:
    assert "<body></body>" in page_html("x", canvas)


def test_of_a_stored_page_only_text_parts_are_taken() -> None:
    stored = (
        '<div><div data-sp-canvascontrol="" data-sp-controldata="{}"><div data-sp-rte=""><p>Book early</p></div></div>'
        '<div data-sp-canvascontrol="" data-sp-webpartdata="{ROLLED}"><div data-sp-htmlproperties="">ROLLED</div></div>'
        "</div>"
    )

    [piece] = written_html(stored)
    assert "<p>Book early</p>" in piece
    assert "ROLLED" not in piece
    assert written_html("<p>A wiki page</p>") == ["<p>A wiki page</p>"]
    assert written_html("  ") == []


def test_an_item_shows_its_own_columns_and_nothing_of_another_list() -> None:
    html = item_html(
        "Laptop",
        {
            "Title": "Laptop",
            "Price_x0020_EUR": 1200,
            "Note": "<div>For <b>all</b></div>",
            "Colours": ["grey", "black"],
            "Owner": {"LookupId": 3, "LookupValue": "SECRET PROJECT"},
            "Projects": [{"LookupId": 4, "LookupValue": "SECRET PROJECT"}],
            "OwnerLookupId": "3",
            "_UIVersionString": "1.0",
            "id": "7",
            "Plain": "1 < 2",
        },
        {"Price_x0020_EUR": "Price in EUR"},
    )

    assert "<h2>Price in EUR</h2><p>1200</p>" in html
    assert "<div>For <b>all</b></div>" in html
    assert "grey, black" in html
    assert "1 &lt; 2" in html
    assert "SECRET" not in html
    assert "_UIVersionString" not in html


@pytest.mark.parametrize(
    ("version", "moderation", "published"),
    [
        ("3.0", "", "3.0"),
        ("3.0", "0", "3.0"),
        ("3.1", "", "3.0"),
        ("3.1", "3", "3.0"),
        ("0.1", "", ""),
        ("1.0", "2", ""),  # waits for approval
        ("3.0", "2", "2.0"),
        ("3.0", "1", "2.0"),  # was refused it
        ("odd", "", "odd"),
    ],
)
def test_the_last_published_version_is_told_by_its_number(version: str, moderation: str, published: str) -> None:
    assert published == published_version(version, moderation)
