"""Office packages (zip archives of XML), opened under guard: counted, measured, and refused when they reach outward.

Nothing in them is unpacked to disk; parts are read one by one, in memory, as needed. XML is parsed without document
types, entities, or a network. Strict and transitional namespaces read alike.
"""

from __future__ import annotations

import io
import posixpath
import re
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from lxml import etree

from connectors.sync.parse.limits import Limits
from connectors.sync.parse.refusal import Refusal

_TRANSITIONAL = (
    (b"http://purl.oclc.org/ooxml/officeDocument/relationships", b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"),
    (b"http://purl.oclc.org/ooxml/wordprocessingml/main", b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"),
    (b"http://purl.oclc.org/ooxml/presentationml/main", b"http://schemas.openxmlformats.org/presentationml/2006/main"),
    (b"http://purl.oclc.org/ooxml/spreadsheetml/main", b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"),
    (b"http://purl.oclc.org/ooxml/drawingml/main", b"http://schemas.openxmlformats.org/drawingml/2006/main"),
    (b"http://purl.oclc.org/ooxml/drawingml/chart", b"http://schemas.openxmlformats.org/drawingml/2006/chart"),
    (b"http://purl.oclc.org/ooxml/officeDocument/math", b"http://schemas.openxmlformats.org/officeDocument/2006/math"),
)  # fmt: skip
_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_HARMLESS_OUTSIDE = ("hyperlink", "image", "video", "audio", "media")  # shown, never fetched by us
_LOCAL_TEMPLATE = re.compile(r"^(?:file:/*)?[A-Za-z]:[\\/]|^[^:/\\]+\.dot[xm]?$", re.I)
_ARCHIVES = (b"PK\x03\x04", b"Rar!", b"7z\xbc\xaf\x27\x1c", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_ENTRY = b"PK\x01\x02"
_EMBEDDED = re.compile(r"^(?:word|ppt|xl)/embeddings/[^/]+$", re.I)
_MACROS = re.compile(r"(?:^|/)(?:vbaProject|vbaData|macrosheets?)", re.I)
_ENCODING = re.compile(rb"encoding\s*=\s*[\"']([^\"']*)")
_ENCODINGS = {b"utf-8", b"utf-16", b"us-ascii", b"ascii", b"iso-8859-1", b"windows-1252"}
_DOCTYPE = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.I)
_SMALL_ENOUGH_TO_COMPRESS_WELL = 10_000_000  # text of one repeated word is packed well beyond the ratio


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation of a part: its kind (the last word of its type) and the part it leads to."""

    id: str
    kind: str
    target: str


class Package:
    """An Office package that passed the guard."""

    def __init__(self, body: bytes, limits: Limits) -> None:
        self._limits = limits
        self.notices: list[str] = []
        if body.count(_ENTRY) > 2 * limits.entries:  # before the directory is read, which costs for each
            raise Refusal(f"holds more than {limits.entries:,} parts")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(body))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise Refusal("is a broken Office document") from error
        self._names = _guard(self._zip, len(body), limits)
        for name in self._names.values():
            self._inspect(name)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._names

    @property
    def names(self) -> list[str]:
        """The names of all parts."""
        return list(self._names.values())

    def raw(self, name: str) -> bytes:
        """A part's bytes; refuses a part that is not what its directory entry says."""
        try:
            return self._zip.read(self._names[name.lower()])
        except KeyError as error:
            raise Refusal(f"lacks its part {name!r}") from error
        except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
            raise Refusal("is a broken Office document") from error
        except Exception as error:  # zlib.error has no public base; a broken stream is a broken document
            if type(error).__name__ == "error":
                raise Refusal("is a broken Office document") from error
            raise

    def xml(self, name: str) -> etree._Element:
        """A part as a tree."""
        body = self.raw(name)
        if b"purl.oclc.org" in body[:20_000]:
            for strict, transitional in _TRANSITIONAL:
                body = body.replace(strict, transitional)
        try:
            return etree.fromstring(body, _parser())
        except etree.XMLSyntaxError as error:
            raise Refusal(f"has a broken part {name!r}") from error

    def relations(self, name: str) -> dict[str, Relation]:
        """The internal relations of a part, by id; "" is the package itself."""
        folder, leaf = posixpath.split(name)
        part = posixpath.join(folder, "_rels", f"{leaf}.rels")
        if part not in self:
            return {}
        found: dict[str, Relation] = {}
        for element in self.xml(part).iter(_RELATION):
            if element.get("TargetMode") != "External":
                target = unquote(element.get("Target", ""))
                where = (
                    target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
                )
                kind = element.get("Type", "").rsplit("/", 1)[-1]
                found[element.get("Id", "")] = Relation(element.get("Id", ""), kind, where)
        return found

    def related(self, name: str, kind: str) -> Iterator[str]:
        """The parts that a part relates to in this way and that are there."""
        for relation in self.relations(name).values():
            if relation.kind == kind and relation.target in self:
                yield relation.target

    def main(self) -> str:
        """The part that is the document itself."""
        for part in self.related("", "officeDocument"):
            return part
        raise Refusal("is an archive but no Office document")

    def title(self) -> str | None:
        """The title among the document's properties."""
        for part in self.related("", "core-properties"):
            element = self.xml(part).find("{http://purl.org/dc/elements/1.1/}title")
            return None if element is None else element.text
        return None

    # ------------------------------------------------------------ the guard

    def _inspect(self, name: str) -> None:
        lowered = name.lower()
        if lowered == "[content_types].xml" and b"macroEnabled" in self.raw(name):
            raise Refusal("holds macros; save it without them")
        if lowered.endswith(".rels"):
            self._inspect_relations(name)
        elif lowered.endswith((".xml", ".vml")):
            _check_prolog(self.raw(name))
        elif not _EMBEDDED.match(name):
            with self._zip.open(name) as part:
                if part.read(8).startswith(_ARCHIVES):
                    raise Refusal("holds another archive inside")
        elif "its embedded files are not read" not in self.notices:
            self.notices.append("its embedded files are not read")

    def _inspect_relations(self, name: str) -> None:
        _check_prolog(self.raw(name))
        for element in self.xml(name).iter(_RELATION):
            kind = element.get("Type", "").rsplit("/", 1)[-1]
            if element.get("TargetMode") != "External" or kind == "hyperlink":
                continue
            if kind in _HARMLESS_OUTSIDE:
                self.notices.append("its linked pictures and media are not fetched")
            elif kind == "attachedTemplate" and _LOCAL_TEMPLATE.match(element.get("Target", "")):
                continue  # a person's own Normal.dotm; nothing is read from it
            else:
                raise Refusal(f"relates to something outside itself ({kind}); remove the link or embed it")


def _check_prolog(body: bytes) -> None:
    """Refuse XML that declares a document type, or an encoding in which one could hide from this check."""
    plain = body.replace(b"\0", b"") if b"\0" in body[:4096] else body
    if _DOCTYPE.search(plain):
        raise Refusal("declares a document type in its XML, which Office never does; it may be hostile")
    encoding = _ENCODING.search(plain[:200])
    if encoding and encoding.group(1).lower() not in _ENCODINGS:
        raise Refusal("has XML in an encoding that Office never uses; it may be hostile")


def said(element: etree._Element, *tags: str, between: str = "") -> str:
    """All text in an element, or in those below it with these tags."""
    return between.join(str(part) for part in element.itertext(*tags, with_tail=not tags))


def _parser() -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip


def _guard(archive: zipfile.ZipFile, packed: int, limits: Limits) -> dict[str, str]:
    """The names in the archive by their lower case; everything countable is counted before anything is unpacked."""
    entries = archive.infolist()
    if len(entries) > limits.entries:
        raise Refusal(f"holds more than {limits.entries:,} parts")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > limits.unpacked:
        raise Refusal(f"unpacks to more than {limits.unpacked // 1_000_000} MB")
    if unpacked > limits.ratio * packed and unpacked > _SMALL_ENOUGH_TO_COMPRESS_WELL:
        raise Refusal(f"unpacks to more than {limits.ratio} times its size")
    names: dict[str, str] = {}
    for entry in entries:
        name = entry.filename
        if name.startswith(("/", "\\")) or re.match(r"^[A-Za-z]:", name) or ".." in re.split(r"[\\/]", name):
            raise Refusal("holds a part whose name leads outside it")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise Refusal("holds a symbolic link")
        if entry.flag_bits & 0x1:
            raise Refusal("is locked with a password; save it without one")
        if _MACROS.search(name):
            raise Refusal("holds macros; save it without them")
        if name.lower() in names:
            raise Refusal("holds two parts of the same name; it may be disguised")
        if not entry.is_dir():
            names[name.lower()] = name
    return names
