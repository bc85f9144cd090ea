"""What SharePoint tells of a file, a page or an item, as a document: which are indexed, and what is known about them.

One rule says what is indexed, for every way in which an object may be met, so that nothing is kept by one and dropped
by another. Links are the document's own address, never one that lets in whoever has it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from lxml import html as lxml_html
from lxml.etree import ParserError

from connectors.sources.sharepoint.client import MOST_BYTES, Json

_OFFICE = "application/vnd.openxmlformats-officedocument"
MEDIA_TYPES = {
    "md": "text/markdown",
    "markdown": "text/markdown",
    "html": "text/html",
    "htm": "text/html",
    "txt": "text/plain",
    "text": "text/plain",
    "pdf": "application/pdf",
    "docx": f"{_OFFICE}.wordprocessingml.document",
    "pptx": f"{_OFFICE}.presentationml.presentation",
    "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
}


def media_type(name: str) -> str | None:
    """The type of a file by its name; None for what is not read."""
    return MEDIA_TYPES.get(name.rpartition(".")[2].casefold()) if "." in name else None


def not_indexed(row: Json) -> str | None:
    """Why a row of a library is no document; None for one that is."""
    if row.get("remoteItem") is not None:
        return "it is a shortcut to something elsewhere"
    if row.get("malware") is not None:
        return "it was found to be malicious"
    if row.get("package") is not None:
        return "it is a notebook"
    if row.get("file") is None:
        return "it is no file"
    if media_type(str(row.get("name") or "")) is None:  # pages too: they are read as pages
        return "files of its type are not read"
    return None


def too_large(size: str | None) -> bool:
    """Whether a file is larger than is fetched."""
    return size is not None and size.isdecimal() and int(size) > MOST_BYTES


def address(url: str) -> str:
    """A document's own address, without what would let in whoever has it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or "/_layouts/15/download.aspx" in parts.path.casefold():
        return ""
    if re.match(r"/:[a-z]:/", parts.path):  # a sharing link
        return ""
    kept = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0].casefold() not in _SECRET]
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(kept), ""))


_SECRET = frozenset({"tempauth", "e", "share", "guestaccesstoken", "access_token", "prooftoken", "d"})


# ---------------------------------------------------------------- columns


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of an item say about it."""

    title: str = ""
    version: str = ""
    moderation: str = ""  # "0": approved
    effective_from: date | None = None
    effective_to: date | None = None
    labels: tuple[str, ...] = ()
    encrypted: bool = False
    labelled: bool = False  # with a sensitivity label, which may come with encryption
    unread: bool = False  # nobody said what they hold: neither labels nor encryption are known


_FROM = frozenset("effectivedate effectivefrom effective effectiveon validfrom validsince startsbeingvalid".split())
_TO = frozenset(
    "expirydate expirationdate expires expireson expiry effectiveto effectiveuntil validto validuntil "
    "validthrough".split()
)
_TAGS = frozenset("labels label tags tag keywords classification sensitivity documenttype".split())


def columns(fields: Mapping[str, Any]) -> Columns:
    """Read the columns of an item, whatever an admin called those that matter."""
    named = {_plain(name): value for name, value in fields.items()}
    labels: list[str] = []
    for name, value in fields.items():
        if _plain(name) in _TAGS:
            labels += _texts(value)
    content_type = next(iter(_texts(fields.get("ContentType"))), "")
    labels += [f"content type: {content_type}"] if content_type else []
    for name in ("_DisplayName", "_IpLabelId"):
        labels += _texts(fields.get(name))
    labels += [f"retention: {each}" for each in _texts(fields.get("_ComplianceTag"))]
    return Columns(
        title=str(fields.get("Title") or "").strip(),
        version=str(fields.get("_UIVersionString") or fields.get("OData__UIVersionString") or ""),
        moderation=str(fields.get("_ModerationStatus", "")),
        effective_from=next((day for name in sorted(_FROM) if (day := _day(named.get(name)))), None),
        effective_to=next((day for name in sorted(_TO) if (day := _day(named.get(name)))), None),
        labels=tuple(dict.fromkeys(label for label in labels if label)),
        labelled=any(_texts(fields.get(name)) for name in ("_IpLabelId", "_DisplayName")),
        encrypted=_true(fields.get("_HasEncryptedContent")) or _true(fields.get("_HasUserDefinedProtection")),
    )


def _plain(name: str) -> str:
    decoded = re.sub(r"_x([0-9a-fA-F]{4})_", lambda found: chr(int(found[1], 16)), name)
    return re.sub(r"[\W_]+", "", decoded).casefold()


def _texts(value: Any) -> list[str]:
    match value:
        case str():
            return [part.strip() for part in value.split(";#") if part.strip()]
        case {"Label": str(label)} | {"LookupValue": str(label)}:
            return [label]
        case [*several]:
            return [text for each in several for text in _texts(each)]
        case _:
            return []


def _true(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.casefold() in ("1", "true", "yes"))


def _day(value: Any) -> date | None:
    """A day as SharePoint writes it: midnight at the site, told in UTC, so that the day is the nearest one."""
    if not isinstance(value, str) or len(value) < 10:
        return None
    try:
        if len(value) == 10:
            return date.fromisoformat(value)
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    return (moment + timedelta(hours=12)).date()


# ---------------------------------------------------------------- pages

_STATIC = frozenset(
    {
        "d1d91016-032f-456d-98a4-721247c305e8",  # picture, with its caption
        "c70391ea-0b10-4ee9-b2b4-006d3fcad0cd",  # quick links
        "c4bd7b2f-7b6e-4599-8485-16504575f590",  # hero
        "df8e44e7-edd5-46d5-90da-aca1539313b8",  # call to action
        "0f087d7f-520e-42b7-89c0-496aaf979d58",  # button
        "1ef5ed11-ce7b-44be-bc5e-4abd55101d16",  # markdown
        "7b317bca-c919-4982-af2f-8399173e5a1e",  # code
        "cbe7b0a9-3504-44dd-a3a3-0e5cacd07788",  # title of the page
        "544dd15b-cf3c-441b-96da-004d5a8cea1d",  # a list of links typed in
    }
)
"""Web parts whose words were typed into the page. Every other one may show what depends on who looks."""
MOST_PARTS = 2_000


def page_html(title: str, canvas: Any) -> str:
    """A modern page as HTML: what was written on it, part by part."""
    pieces = [piece for part in _parts(canvas) if (piece := _written(part))]
    return document_html(title, pieces)


def document_html(title: str, pieces: Sequence[str]) -> str:
    """An HTML document of these pieces."""
    return f"<!DOCTYPE html><html><head><title>{html.escape(title)}</title></head><body>{''.join(pieces)}</body></html>"


def _parts(canvas: Any) -> Iterator[Json]:
    if not isinstance(canvas, dict):
        return
    sections = [each for each in canvas.get("horizontalSections") or [] if isinstance(each, dict)]
    places: list[Any] = [column for section in sections for column in section.get("columns") or []]
    places.append(canvas.get("verticalSection"))
    count = 0
    for place in places:
        for part in (place.get("webparts") or []) if isinstance(place, dict) else []:
            count += 1
            if isinstance(part, dict) and count <= MOST_PARTS:
                yield part


def _written(part: Json) -> str:
    inner = part.get("innerHtml")
    if isinstance(inner, str):
        return f"<div>{inner}</div>"
    data = part.get("data")
    if str(part.get("webPartType") or "").casefold() not in _STATIC or not isinstance(data, dict):
        return ""
    content = data.get("serverProcessedContent")
    texts = content.get("searchablePlainTexts") if isinstance(content, dict) else None
    if not isinstance(texts, list):
        return ""
    said = [str(each.get("value") or "") for each in texts if isinstance(each, dict)]
    return "".join(f"<p>{html.escape(text)}</p>" for text in said if text.strip())


def written_html(canvas: str) -> list[str]:
    """What was written on a page, from the page as it is stored: text parts only, where it is made of parts."""
    if not canvas.strip():
        return []
    if "data-sp-canvascontrol" not in canvas and "data-sp-rte" not in canvas:
        return [canvas]
    try:
        tree = lxml_html.fromstring(canvas)
    except (ParserError, ValueError):
        return []
    found = [each for each in tree.iter() if isinstance(each.tag, str) and "data-sp-rte" in each.attrib]
    return [lxml_html.tostring(each, encoding="unicode", with_tail=False) for each in found[:MOST_PARTS]]


# ---------------------------------------------------------------- items of lists

_PLUMBING = re.compile(
    r"^(?:_|@|id$|odata|etag|contenttype|attachments$|edit$|linktitle|itemchildcount|folderchildcount|appauthor|"
    r"appeditor|authorlookupid|editorlookupid|complianceassetid|guid$|fileleafref|docicon|modified$|created$|"
    r"authorid$|editorid$)",
    re.IGNORECASE,
)


def item_html(title: str, fields: Mapping[str, Any], shown: Mapping[str, str]) -> str:
    """An item of a list as HTML: its columns under the names that people see. What a column looks up in another list
    is left out: it may be kept from who reads this one."""
    rows = []
    for name, value in fields.items():
        if _PLUMBING.match(name) or name.endswith("LookupId") or isinstance(value, dict):
            continue
        said = ", ".join(map(str, value)) if isinstance(value, list) and not _lookups(value) else value
        if isinstance(said, str | int | float) and not isinstance(said, bool) and str(said).strip():
            rows.append(f"<h2>{html.escape(shown.get(name, name))}</h2>{_rich(str(said))}")
    return document_html(title, rows)


def _lookups(values: Sequence[Any]) -> bool:
    return any(isinstance(each, dict) for each in values)


def _rich(text: str) -> str:
    return (
        f"<div>{text}</div>" if re.match(r"\s*<(?:div|p|span|ul|ol|table)\b", text) else f"<p>{html.escape(text)}</p>"
    )
