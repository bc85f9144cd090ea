"""What Confluence says of a space, a page, a file or a comment, in the words of records.

A document's key is its content id and its version is Confluence's own. Whatever a document will need later stands among
its node's facts, so that it can be told of without asking again; texts never do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from connectors.records import Inherits, Node, Own, Skipped, SourceDocument
from connectors.sources.confluence.client import MOST_FILE, text_of
from connectors.sources.confluence.properties import dates, of_adf, of_storage
from connectors.sources.files import MEDIA_TYPES
from connectors.sync.placing import Place
from policies.names import DocumentId

STORAGE = "application/vnd.atlassian.confluence.storage+xml"
ADF = "application/vnd.atlassian.adf+json"
PAGES = frozenset({"page", "blogpost"})
LEAVES = frozenset({"attachment", "comment"})
CONTAINERS = frozenset({"page", "folder", "whiteboard", "database", "embed"})
FOLDERS = CONTAINERS - PAGES
_VAGUE = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-download", "text/plain"})
_ALSO = {
    "text/x-markdown": "text/markdown",
    "application/xhtml+xml": "text/html",
    "application/x-pdf": "application/pdf",
}
SPACE = "space:"
"""How the key of a space's node begins; no content's does."""
SHOWS = "shows"
"""The fact of a page that names the other pages which it shows parts of, as `includes.written` writes them."""
_LABELLED = "+"
_SAFE_IN_ANCHOR = "-._~!$&+,;=:@/?"
_SAFE = "/?&=%+#:@,;~!$*()-._"

Rules = Inherits | Own


@dataclass(frozen=True, slots=True)
class Space:
    """A space that is current and that the account may view."""

    id: str
    key: str
    name: str

    @property
    def node_key(self) -> str:
        """The key of its node: content ids are numbers, and so are a space's."""
        return space_node(self.key)


def space_node(key: str) -> str:
    """The key of a space's node."""
    return SPACE + key


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of content as a list or its own address gave it."""

    id: str
    kind: str  # page | blogpost | folder | whiteboard | database | embed | attachment | comment
    parent: str | None  # what it stands in; for a file or a comment, what it belongs to
    parent_kind: str | None
    space: str  # id of its space on Cloud, key on Data Center; empty where it was not said
    title: str
    version: str
    changed: str  # when the version was made, by the server's clock, in ISO 8601
    status: str = "current"
    link: str = ""  # of the page itself, below the product's base, as the server wrote it
    facts: Mapping[str, str] = field(default_factory=dict)
    chain: tuple[str, ...] | None = None  # what the server says it stands in, outermost first, where it says so
    placed: bool = True  # False: the server left out where it stands

    @property
    def is_document(self) -> bool:
        """Whether there is a text to answer from."""
        if self.status != "current":
            return False
        return self.kind in PAGES or self.kind == "comment" or (self.kind == "attachment" and _readable(self))


def instant(text: str) -> datetime | None:
    """A server time with its zone; None where it is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def is_since(item: Item, since: datetime) -> bool:
    """Whether it was changed at or after this time; one that does not say when counts as changed."""
    changed = instant(item.changed)
    return changed is None or changed >= since


@dataclass(frozen=True, slots=True)
class Body:
    """The text of a page or a comment, with what is said only where it is asked for by itself."""

    text: str
    media_type: str  # STORAGE or ADF
    version: str
    title: str
    labels: tuple[str, ...] = ()
    owner: str | None = None


def node_of(
    item: Item, container: str, rules: Rules, now: datetime, walk: str, labelled: str = "", before: Node | None = None
) -> Node:
    """What is remembered of an item. `labelled`: what `label_mark` made of its labels, which move no version. `before`:
    what was remembered, from which comes what its text said."""
    said = {SHOWS: before.facts[SHOWS]} if before is not None and SHOWS in before.facts else {}
    facts = {**said, "title": item.title, "link": item.link, "changed": item.changed, **item.facts}
    if item.parent_kind:
        facts["in"] = item.parent_kind
    return Node(
        key=item.id,
        parent=item.parent,
        container=container,
        kind=item.kind,
        rules=rules,
        rules_at=now,
        is_document=item.is_document,
        mark=item.version + labelled if item.is_document else "",
        walk=walk,
        facts=facts,
    )


def label_mark(labels: Iterable[str]) -> str:
    """What labels add to a node's mark, so that a page is told of anew when one comes or goes; nothing for none."""
    told = sorted(labels)
    return f"{_LABELLED}{sha256(repr(told).encode()).hexdigest()[:8]}" if told else ""


def version_in(mark: str) -> str:
    """The version in a node's mark."""
    return mark.partition(_LABELLED)[0]


def labelled_in(mark: str) -> str:
    """What labels added to a node's mark."""
    return mark[len(version_in(mark)) :]


# ---------------------------------------------------------------- documents


@dataclass(frozen=True, slots=True)
class Documents:
    """Makes documents of nodes. `web`: where people's browsers find the product, without a slash at its end.
    `excluded`: labels that keep a page out, in lower case."""

    source: str
    web: Callable[[], str]
    cloud: bool = True
    excluded: frozenset[str] = frozenset()

    def page(self, node: Node, place: Place, body: Body) -> SourceDocument | Skipped:
        """A page or a blog post with its text."""
        if not body.text.strip():
            return Skipped(DocumentId(self.source, node.key), "it holds no text", node.mark)
        if kept_out := sorted({label.casefold() for label in body.labels} & self.excluded):
            return Skipped(DocumentId(self.source, node.key), f"its label {kept_out[0]!r} keeps it out", node.mark)
        told = of_storage(body.text) if body.media_type == STORAGE else of_adf(body.text)
        found = dates(told)
        review = (f"review:{found.review.isoformat()}",) if found.review else ()
        owner = next((told[key] for key in told if key.strip().casefold() in ("owner", "document owner")), "")
        return SourceDocument(
            id=DocumentId(self.source, node.key),
            version=body.version or version_in(node.mark),
            revision=node.mark,
            title=body.title or node.facts.get("title", ""),
            url=self.url(node.key, node.facts),
            media_type=body.media_type,
            scope_root=place.scope_root,
            read=_given(body.text.encode("utf-8", "replace")),
            ancestors=place.ancestors,
            effective_from=found.effective_from,
            effective_to=found.effective_to,
            status=_status(told),
            owner=owner or body.owner,
            labels=(*body.labels, *review),
            anchor=_anchor if self.cloud else partial(_anchor_of_old, body.title),
        )

    def comment(self, node: Node, holder: Node | None, place: Place, body: Body) -> SourceDocument | Skipped:
        """A comment: of its page's scope, named after it."""
        if not body.text.strip():
            return Skipped(DocumentId(self.source, node.key), "it holds no text", node.mark)
        title = holder.facts.get("title", "") if holder else ""
        return SourceDocument(
            id=DocumentId(self.source, node.key),
            version=body.version or version_in(node.mark),
            revision=node.mark,
            title=f"Comment on {title}" if title else "Comment",
            url=self.url(node.key, node.facts, holder),
            media_type=body.media_type,
            scope_root=place.scope_root,
            read=_given(body.text.encode("utf-8", "replace")),
            ancestors=place.ancestors,
        )

    def attachment(
        self, node: Node, holder: Node | None, place: Place, read: Callable[[], Awaitable[bytes]]
    ) -> SourceDocument | Skipped:
        """A file beside a page."""
        name = node.facts.get("title", "")
        size = node.facts.get("size", "")
        if size.isdecimal() and int(size) > MOST_FILE:
            return Skipped(DocumentId(self.source, node.key), f"it is larger than {MOST_FILE:,} bytes", node.mark)
        media_type = media_type_of(name, node.facts.get("media_type", ""))
        if media_type is None:
            reason = f"its name and its type ({node.facts.get('media_type')!r}) do not agree; it may be disguised"
            return Skipped(DocumentId(self.source, node.key), reason, node.mark)
        return SourceDocument(
            id=DocumentId(self.source, node.key),
            version=version_in(node.mark),
            revision=node.mark,
            title=name,
            url=self.url(node.key, node.facts, holder),
            media_type=media_type,
            scope_root=place.scope_root,
            read=read,
            ancestors=place.ancestors,
        )

    def url(self, key: str, facts: Mapping[str, str], holder: Node | None = None) -> str:
        """Where people read it: the server's own link below the product's base, else one made of the ids."""
        link = facts.get("link", "")
        if not link.startswith("/") or link.startswith("//"):
            page = holder.key if holder is not None else key
            link = f"/pages/viewpage.action?pageId={page}"
        return self.web() + quote(link, safe=_SAFE)


def _anchor(heading: str) -> str:
    """Of a heading on Cloud: its words joined by hyphens."""
    return quote("-".join(heading.split()), safe=_SAFE_IN_ANCHOR)


def _anchor_of_old(title: str, heading: str) -> str:
    """Of a heading on Data Center: the page's title and the heading, both without blanks."""
    return quote("-".join("".join(each.split()) for each in (title, heading)), safe=_SAFE_IN_ANCHOR)


def labels_of(held: Any) -> tuple[str, ...] | None:
    """Names of labels in a list of them, in an envelope or bare; None where it is none or goes on elsewhere."""
    envelope = held if isinstance(held, Mapping) else {}
    rows = envelope.get("results") if envelope else held
    if not isinstance(rows, list):
        return None
    size, meta, links = (envelope.get(name) for name in ("size", "meta", "_links"))
    more = isinstance(size, int) and size > len(rows)
    more |= isinstance(meta, Mapping) and meta.get("hasMore") is True
    more |= isinstance(links, Mapping) and bool(links.get("next"))
    return None if more else names_of(rows)


def names_of(rows: Iterable[Any]) -> tuple[str, ...]:
    """Names of labels in rows of a list of them."""
    return tuple(sorted({text_of(row, "name") for row in rows if isinstance(row, dict)} - {""}))


def _given(body: bytes) -> Callable[[], Awaitable[bytes]]:
    async def read() -> bytes:
        return body

    return read


def _status(properties: Mapping[str, str]) -> str:
    """What the page says of itself: a superseded one is told from those in force."""
    for key, value in properties.items():
        if key.strip().casefold() in ("status", "document status"):
            return "superseded" if value.strip().casefold() in ("superseded", "withdrawn", "obsolete") else "current"
    return "current"


def _readable(item: Item) -> bool:
    return media_type_of(item.title, item.facts.get("media_type", "")) is not None or _is_disguised(item)


def _is_disguised(item: Item) -> bool:
    """A file whose name is of a kind that is read, and whose type is not: worth telling an admin about."""
    return PurePosixPath(item.title.lower()).suffix in MEDIA_TYPES


def media_type_of(name: str, told: str) -> str | None:
    """The media type that a file's name and the server agree on; None for what is not read, or where they disagree."""
    by_name = MEDIA_TYPES.get(PurePosixPath(name.lower()).suffix)
    said = told.partition(";")[0].strip().lower()
    said = _ALSO.get(said, said)
    known = said if said in MEDIA_TYPES.values() else None
    if by_name is None:
        return None if PurePosixPath(name).suffix and said in _VAGUE else known
    if said in _VAGUE or known == by_name:
        return by_name
    both_written = by_name.startswith("text/") and said.startswith("text/")
    return by_name if both_written else None
