"""A node of a list as a document: what is told of it, and how its text is fetched.

Only what was published is told: of a file whose latest version is a draft, the last published one; of one that never
was, nothing. Texts are fetched when they are needed, at the version that was told.
"""

from __future__ import annotations

import html
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import uuid4

from yarl import URL

from connectors.errors import Skip, Transient
from connectors.ports import Memory
from connectors.records import Node, Skipped, SourceDocument
from connectors.sources.sharepoint import mapping
from connectors.sources.sharepoint.client import LOST, MOST_BYTES, Client, Json, Refused
from connectors.sources.sharepoint.mapping import Columns
from connectors.sources.sharepoint.webs import LIBRARY, PAGES, Listing
from connectors.sync.placing import Place
from policies.names import DocumentId

_NOT_OFFERED = frozenset({400, 404, 405, 501})
MANY = 100  # files whose columns are asked one by one in a run
_APPROVED = frozenset({"", "0"})
_MOST_HTML = 5_000_000  # characters of a page


class NotPublished(Skip):
    """Nothing of it was published."""

    def __init__(self) -> None:
        super().__init__("no version of it was published")


@dataclass(slots=True)
class Documents:
    """The documents of one list."""

    source: str
    listing: Listing
    client: Client
    excluded: frozenset[str] = frozenset()  # labels that keep a document out, in lower case
    memory: Memory | None = None
    _asked: int = 0
    _columns: dict[str, Columns] = field(default_factory=dict)  # of files not told yet, by number, where read in bulk
    _shown: Mapping[str, str] | None = field(default=None)  # what people see as the names of columns

    async def describe(self, node: Node, place: Place) -> Sequence[SourceDocument] | Skipped:
        """What there is to tell of a document: the one wording that is published."""
        try:
            match self.listing.kind:
                case kind if kind == LIBRARY:
                    told = await self._file(node, place)
                case kind if kind == PAGES:
                    told = await self._page(node, place)
                case _:
                    told = await self._item(node, place)
            return told if isinstance(told, Skipped) else [told]
        except Refused as error:
            if error.status in LOST:
                # Not of this mark: it is asked for again each time, until it is told to be gone or is given back.
                reason = f"SharePoint does not let the app read it ({error.status})"
                return Skipped(DocumentId(self.source, node.key), reason, "refused")
            raise Transient(str(error)) from error

    def _document(self, node: Node, place: Place, told: Told) -> SourceDocument | Skipped:
        kept_out = sorted({_bare(label) for label in told.columns.labels} & self.excluded)
        document = DocumentId(self.source, node.key)
        if self.excluded and told.columns.unread:
            return Skipped(document, "its labels can't be read", "unread")  # not of this mark: asked again each time
        if kept_out:
            return Skipped(document, f"its label {kept_out[0]!r} keeps it out")
        if told.columns.encrypted:
            return Skipped(document, "it is encrypted")
        return SourceDocument(
            id=document,
            version=told.version,
            revision=node.mark,
            title=told.title,
            url=mapping.address(told.url),
            media_type=told.media_type,
            scope_root=place.scope_root,
            ancestors=place.ancestors,
            read=told.read,
            effective_from=told.columns.effective_from,
            effective_to=told.columns.effective_to,
            labels=told.columns.labels,
        )

    # ------------------------------------------------------------ files

    async def _file(self, node: Node, place: Place) -> SourceDocument | Skipped:
        facts = node.facts
        media_type = mapping.media_type(facts.get("name", ""))
        if media_type is None:
            raise Skip("files of its type are not read")
        if mapping.too_large(facts.get("size")):
            raise Skip(f"it is larger than {MOST_BYTES:,} bytes")
        item = f"drives/{self.listing.drive}/items/{facts.get('item', '')}"
        columns = await self._columns_of(facts.get("n", ""), f"{item}/listItem")
        version, path = await self._published(item, facts, columns, node.mark)
        if await self._is_encrypted(item, columns):
            return Skipped(DocumentId(self.source, node.key), "it is encrypted")
        if columns.version not in ("", version):  # saved since delta told of it, perhaps as a draft
            path = f"{item}/versions/{version}/content"
        if not path.endswith(f"{item}/content") or not self._are_of(version, columns):
            columns = self._without_draft(columns)
        title = columns.title or facts.get("name", "")
        return self._document(
            node,
            place,
            Told(
                version,
                title,
                facts.get("url", ""),
                media_type,
                columns,
                partial(self._body, node, item, version, path),
            ),
        )

    def _are_of(self, version: str, columns: Columns) -> bool:
        """Whether columns that were read now are those of a version that was told before."""
        return columns.version == version or (not columns.version and not self.listing.drafts)

    def _without_draft(self, latest: Columns) -> Columns:
        """What may be said of a published version when the latest, whose columns these are, is a draft: nothing of its
        words. Its labels still keep it out; where labels can, those of the published one would have to be known."""
        if self.excluded:
            raise Skip("its latest version is a draft, and the labels of the published one can't be read")
        return replace(latest, title="", effective_from=None, effective_to=None, labels=())

    async def _columns_of(self, number: str, path: str) -> Columns:
        """The columns of a file. Once that many were asked one by one, those of all the others are read by the page:
        two hundred of them cost what two cost alone."""
        self._asked += 1
        if self._asked == MANY:
            await self._read_all_columns()
        found = self._columns.pop(number, None)
        return await self._read_columns(path) if found is None else found

    async def _read_all_columns(self) -> None:
        path = f"sites/{self.listing.web.graph}/lists/{self.listing.id}/items"
        try:
            async for page in self.client.graph_pages(path, {"$expand": "fields", "$top": "200"}):
                for row in page.rows:
                    if row.get("id") and isinstance(row.get("fields"), dict):
                        self._columns[str(row["id"])] = mapping.columns(_with_type(row))
        except (Refused, Transient):  # then one by one, as before
            self._columns.clear()

    async def _body(self, node: Node, item: str, version: str, path: str) -> bytes:
        """The bytes of a version. A refusal is about this file alone, which is asked for again the next time."""
        try:
            return await self._bytes_of(item, version, path)
        except Refused as error:
            if error.status not in LOST:
                raise Transient(str(error)) from error
            await self._tell_again(node)
            raise Skip(f"SharePoint does not let the app read it ({error.status})") from error

    async def _tell_again(self, node: Node) -> None:
        """Give a node a mark that was never told of, so that its document is told again."""
        found = await self.memory.get([node.key]) if self.memory is not None else {}
        if self.memory is not None and node.key in found:
            await self.memory.put([replace(found[node.key], mark=f"refused:{uuid4().hex[:20]}")])

    async def _bytes_of(self, item: str, version: str, path: str) -> bytes:
        """The bytes of a version. Where the newest was fetched it is asked afterwards whether that was still this one:
        somebody may have saved a draft meanwhile."""
        body = await self.client.content(path)
        if not path.endswith(f"{item}/content"):
            return body
        try:
            now = (await self.client.graph(item, {"$select": "id,publication"})).get("publication")
        except Refused as error:
            if error.status in _NOT_OFFERED and not self.listing.drafts:
                return body
            raise Transient("it changed while it was being read; the next sync takes it") from error
        if isinstance(now, dict) and now.get("level") not in (None, "published"):
            try:
                return await self.client.content(f"{item}/versions/{version}/content")
            except Refused as error:
                raise Transient("it changed while it was being read; the next sync takes it") from error
        return body

    async def _read_columns(self, path: str) -> Columns:
        """The columns of an item; unread where Graph does not offer them."""
        try:
            said = await self.client.graph(path, {"$expand": "fields"})
        except Refused as error:
            if error.status not in _NOT_OFFERED:
                raise
            return Columns(unread=True)
        if not isinstance(said.get("fields"), dict):
            return Columns(unread=True)
        return mapping.columns(_with_type(said))

    async def _published(self, item: str, facts: Mapping[str, str], columns: Columns, mark: str) -> tuple[str, str]:
        """The version that counts, and where its content is."""
        level, latest = facts.get("level"), facts.get("version") or columns.version
        drafts = self.listing.drafts or (latest != "" and not latest.endswith(".0"))
        if columns.moderation in _APPROVED and (level == "published" or (level is None and not drafts)):
            return latest or mark[:12], f"{item}/content"
        versions = await self._versions(item)
        chosen = next((number for number, each in enumerate(versions) if _is_published(each)), None)
        if chosen is None or (chosen == 0 and columns.moderation not in _APPROVED and not _says_so(versions[0])):
            raise NotPublished
        name = str(versions[chosen]["id"])
        # The newest version has no content of its own there.
        return name, f"{item}/content" if chosen == 0 else f"{item}/versions/{name}/content"

    async def _versions(self, item: str) -> Sequence[Json]:
        try:
            rows = await self.client.graph_rows(f"{item}/versions")
        except Refused as error:
            if error.status not in _NOT_OFFERED:
                raise
            raise Skip("its latest version is a draft, and which one was published can't be found out") from error
        return sorted((row for row in rows if row.get("id")), key=_by_version, reverse=True)

    async def _is_encrypted(self, item: str, columns: Columns) -> bool:
        """Whether a file is locked that has a label, or may have one; what Graph does not say shows when the file is
        opened."""
        if not columns.labelled and not columns.unread:
            return False
        try:
            await self.client.graph(f"{item}/extractSensitivityLabels", method="POST", body={})
        except Refused as error:
            return error.status == 423
        return False

    # ------------------------------------------------------------ pages

    async def _page(self, node: Node, place: Place) -> SourceDocument | Skipped:
        facts = node.facts
        version = await self._version_of(node)
        page = f"sites/{self.listing.web.graph}/pages/{node.key.rpartition('/')[2]}/microsoft.graph.sitePage"
        modern = await self._modern(page)
        columns = await self._read_columns(self._list_item(node))
        said = str((modern or {}).get("title") or "")
        draft = facts.get("version") != version or _is_draft((modern or {}).get("publishingState"))
        if draft or not self._are_of(version, columns):
            columns, said = self._without_draft(columns), "" if draft else said
        title = said or columns.title or facts.get("name", "")
        url = str((modern or {}).get("webUrl") or "") or self._address(facts.get("path", ""))
        read = partial(self._page_body, node, version, page if modern is not None else None, title)
        return self._document(node, place, Told(version, title, url, "text/html", columns, read))

    async def _modern(self, page: str) -> Json | None:
        """What the page API says of a page; None where it does not know it, as it does not know classic ones."""
        try:
            return await self.client.graph(page, {"$select": "id,title,webUrl,publishingState"})
        except Refused as error:
            if error.status in _NOT_OFFERED:
                return None
            raise
        except Transient:  # single pages are known to be beyond it; REST has them
            return None

    async def _version_of(self, node: Node) -> str:
        """The published version of a page or item that counts. Where the latest is a draft, the versions are asked:
        one that was published may have been taken back."""
        facts = node.facts
        if not facts.get("published"):
            raise NotPublished
        if facts["published"] == facts.get("version"):
            return facts["published"]
        versions = await self._versions(self._list_item(node))
        name = next((str(each["id"]) for each in versions if _is_published(each)), None)
        if name is None:
            raise NotPublished
        return name

    async def _page_body(self, node: Node, version: str, page: str | None, title: str) -> bytes:
        if node.facts.get("version") != version:
            return await self._published_page(node, version, title)
        if page is not None:
            try:
                said = await self.client.graph(page, {"$expand": "canvasLayout"})
                if _is_draft(said.get("publishingState")):
                    return await self._published_page(node, version, title)
                if isinstance(said.get("canvasLayout"), dict):
                    return _bytes(mapping.page_html(title, said["canvasLayout"]))
            except (Refused, Transient):  # one broken part and the whole page is refused; REST has its text
                pass
        return _bytes(mapping.document_html(title, await self._stored_page(node, version)))

    async def _stored_page(self, node: Node, version: str) -> list[str]:
        """What was written on a page, as its list holds it."""
        path = f"web/lists(guid'{self.listing.id}')/items({node.facts.get('n')})"
        for select in ("CanvasContent1,WikiField", "WikiField", "PublishingPageContent"):
            fields = {"$select": f"{select},OData__UIVersionString"}
            try:
                said = await self.client.rest(self.listing.web.url, path, fields)
            except Refused as error:
                if error.status != 400:
                    raise Skip(f"its text is refused ({error.status})") from error
                continue
            latest = said.get("OData__UIVersionString")
            if latest is not None and str(latest) != version:
                raise Transient("it changed while it was being read; the next sync takes it")
            texts = [str(said.get(name) or "") for name in select.split(",")]
            pieces = [piece for text in texts for piece in mapping.written_html(text)]
            if pieces:
                return pieces
        raise Skip("it holds no text that was typed into it")

    async def _published_page(self, node: Node, wanted: str, title: str) -> bytes:
        """The published version of a page whose latest is a draft: from the file that it is stored as."""
        unique = node.key.rpartition("/")[2]
        file = f"web/getfilebyid('{unique}')/versions"
        try:
            rows = await self.client.rest_rows(self.listing.web.url, file)
            numbers = [row.get("ID") for row in rows if row.get("VersionLabel") == wanted]
            if not numbers:
                raise Skip("its latest version is a draft, and the published one is not kept")
            body = await self.client.rest_bytes(self.listing.web.url, f"{file}({int(str(numbers[0]))})/$value")
        except (Refused, ValueError) as error:
            raise Skip("its latest version is a draft, and the published one can't be read") from error
        pieces = mapping.written_html(_canvas_of_file(body.decode("utf-8", "replace")))
        if not pieces:
            raise Skip("it holds no text that was typed into it")
        return _bytes(mapping.document_html(title, pieces))

    # ------------------------------------------------------------ items of lists

    async def _item(self, node: Node, place: Place) -> SourceDocument | Skipped:
        facts = node.facts
        version = await self._version_of(node)
        if version != facts.get("version"):
            raise Skip("its latest version is a draft")
        said = await self.client.graph(self._list_item(node), {"$expand": "fields"})
        fields = said.get("fields")
        if not isinstance(fields, dict):
            raise Transient("Graph told of an item without its columns")
        columns = mapping.columns(fields)
        # Where its list did not tell a version, it counts as the first.
        same = self._are_of(version, columns) or (version == "1.0" and columns.version.endswith(".0"))
        if columns.moderation not in _APPROVED or not same:
            raise Transient("it changed while it was being read")
        title = columns.title or f"{self.listing.title} {facts.get('n')}"
        body = _bytes(mapping.item_html(title, fields, await self._names()))
        url = str(said.get("webUrl") or "") or self._address(facts.get("path", ""))

        async def read() -> bytes:
            return body

        return self._document(node, place, Told(version, title, url, "text/html", columns, read))

    async def _names(self) -> Mapping[str, str]:
        if self._shown is None:
            path = f"sites/{self.listing.web.graph}/lists/{self.listing.id}/columns"
            try:
                rows = await self.client.graph_rows(path, {"$select": "name,displayName"})
            except Refused as error:
                if error.status not in _NOT_OFFERED:
                    raise
                rows = []
            self._shown = {str(row.get("name")): str(row["displayName"]) for row in rows if row.get("displayName")}
        return self._shown

    def _list_item(self, node: Node) -> str:
        return f"sites/{self.listing.web.graph}/lists/{self.listing.id}/items/{node.facts.get('n')}"

    def _address(self, path: str) -> str:
        return str(URL(self.listing.web.url).origin().join(URL.build(path=path))) if path.startswith("/") else ""


@dataclass(frozen=True, slots=True)
class Told:
    """What was found out about a document."""

    version: str
    title: str
    url: str
    media_type: str
    columns: Columns
    read: Callable[[], Awaitable[bytes]]


def published_version(version: str, moderation: str) -> str:
    """The last published version of an item whose latest is this; empty where there is none. One that waits for
    approval, or was refused it, counts as not there."""
    major, _, minor = version.partition(".")
    if not major.isdecimal():
        return version if moderation in _APPROVED else ""
    if int(minor or 0) == 0 and moderation in _APPROVED:
        return version
    last = int(major) if int(minor or 0) else int(major) - 1
    return f"{last}.0" if last > 0 else ""


def _is_published(version: Mapping[str, Any]) -> bool:
    if _says_so(version):
        return True
    return not isinstance(version.get("publication"), dict) and str(version["id"]).endswith(".0")


def _is_draft(state: Any) -> bool:
    return isinstance(state, dict) and state.get("level") not in (None, "published")


def _says_so(version: Mapping[str, Any]) -> bool:
    said = version.get("publication")
    return isinstance(said, dict) and said.get("level") == "published"


def _by_version(row: Mapping[str, Any]) -> tuple[int, int]:
    major, _, minor = str(row["id"]).partition(".")
    return (int(major) if major.isdecimal() else -1, int(minor) if minor.isdecimal() else 0)


def _with_type(row: Json) -> Json:
    """The columns of an item, its content type among them."""
    fields, kind = row.get("fields"), row.get("contentType")
    found = dict(fields) if isinstance(fields, dict) else {}
    if "ContentType" not in found and isinstance(kind, dict) and kind.get("name"):
        found["ContentType"] = kind["name"]
    return found


def _bare(label: str) -> str:
    return label.removeprefix("retention: ").removeprefix("content type: ").casefold()


_CANVAS = re.compile(r"<mso:(?:CanvasContent1|WikiField|PublishingPageContent)\b[^>]*>([\s\S]*?)</mso:\w+>")


def _canvas_of_file(text: str) -> str:
    """What was written on a page, out of the file that it is stored as."""
    stored = [html.unescape(found[1]) for found in _CANVAS.finditer(text)]
    if stored:
        return "".join(stored)
    return "" if "<%@" in text else text


def _bytes(text: str) -> bytes:
    if len(text) > _MOST_HTML:
        raise Skip(f"it is longer than {_MOST_HTML:,} characters")
    return text.encode("utf-8", "replace")
