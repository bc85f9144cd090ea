"""The names everything joins on: documents, chunks (the spine), scopes, and the only constructors of principals.

A name is written as text in logs, traces, tables and citations, and reads back to the same name, whatever characters
a source uses in its keys.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import NewType
from urllib.parse import quote, unquote
from uuid import UUID, uuid5

ScopeId = NewType("ScopeId", int)
"""The ledger's number for one set of read rules; the only thing about access that an index stores."""

ContainerId = NewType("ContainerId", int)
"""The ledger's number for what contains scopes: a source, a site, a space, a folder. A scope's containers are settled
when it is first seen and never change, so that an index may keep them."""

_SPINE = UUID("6f1e7b52-3c64-5d3e-9a55-0f6f3a3d7c11")


@lru_cache(maxsize=16_384)
def _quoted(part: str) -> str:
    # "/" and the unreserved characters stay readable; ":", "@", "#" and "%" are what the written form is cut at.
    # Lone surrogates pass: a file system hands them out for names that are not UTF-8.
    return quote(part, safe="/-._~+(),", errors="surrogatepass")


def _unquoted(part: str) -> str:
    return unquote(part, errors="surrogatepass")  # raises UnicodeDecodeError, a ValueError, on broken bytes


@dataclass(frozen=True, slots=True, order=True)
class DocumentId:
    """One document of one source; `key` is the source's own stable id for it."""

    source: str
    key: str

    def __post_init__(self) -> None:
        if not self.source or not self.key:
            raise ValueError(f"a document needs a source and a key, not {self.source!r} and {self.key!r}")

    def __str__(self) -> str:
        return f"{_quoted(self.source)}:{_quoted(self.key)}"

    @classmethod
    def parse(cls, text: str) -> DocumentId:
        """Read what `str` wrote; raises ValueError on anything that is not a document's name."""
        source, colon, key = text.partition(":")
        if not colon or any(mark in source + key for mark in ":@#"):
            raise ValueError(f"{text!r} is not a document; write it as source:key")
        return cls(_unquoted(source), _unquoted(key))


@dataclass(frozen=True, slots=True, order=True)
class ChunkId:
    """One passage of one version of a document: the spine that tables, vectors, traces and citations join on."""

    document: DocumentId
    version: str
    section: str

    def __post_init__(self) -> None:
        if not self.version or not self.section:
            raise ValueError(f"a chunk needs a version and a section, not {self.version!r} and {self.section!r}")

    def __str__(self) -> str:
        return f"{self.document}@{_quoted(self.version)}#{_quoted(self.section)}"

    @classmethod
    def parse(cls, text: str) -> ChunkId:
        """Read what `str` wrote; raises ValueError on anything that is not a chunk's name."""
        head, hash_mark, section = text.partition("#")
        document, at, version = head.partition("@")
        if not hash_mark or not at or any(mark in version + section for mark in ":@#"):
            raise ValueError(f"{text!r} is not a passage; write it as source:key@version#section")
        return cls(DocumentId.parse(document), _unquoted(version), _unquoted(section))

    @property
    def uuid(self) -> UUID:
        """The id of this chunk's object in an index: a version-5 UUID of its written form (RFC 9562, 5.5)."""
        return uuid5(_SPINE, str(self))


@dataclass(frozen=True, slots=True, order=True)
class Principal:
    """Somebody or some group that a source can grant reading to; compared byte for byte, never by display name.

    Build one with the class methods or `parse`: they are where spelling is settled, for documents and askers alike.
    """

    name: str

    def __post_init__(self) -> None:
        kind, colon, rest = self.name.partition(":")
        if not colon or not kind or not rest or self.name != self.name.strip():
            raise ValueError(f"{self.name!r} is not a principal; write it as kind:id, such as grp:finance")

    def __str__(self) -> str:
        return self.name

    @property
    def kind(self) -> str:
        """What stands before the first colon: `usr`, `grp`, or a source's own kind."""
        return self.name.partition(":")[0]

    @classmethod
    def person(cls, email: str) -> Principal:
        """A person of the directory. E-mail addresses compare without case, so they are in lower case here."""
        # Not casefold: it would make one person of "straße@…" and "strasse@…".
        address = unicodedata.normalize("NFC", unicodedata.normalize("NFC", email.strip()).lower())
        local, at, domain = address.rpartition("@")
        if not local or not at or not domain or len(address.split()) != 1:
            raise ValueError(f"{email!r} is not an e-mail address")
        return cls(f"usr:{address}")

    @classmethod
    def group(cls, name: str) -> Principal:
        """A group of the directory; its name keeps its case, hyphens and spaces."""
        return cls(f"grp:{unicodedata.normalize('NFC', name)}")

    @classmethod
    def of_source(cls, source: str, instance: str, kind: str, native_id: str) -> Principal:
        """A principal that belongs to one instance of an outside system; ids of two instances never meet."""
        parts = (source, instance, kind, native_id)
        if not all(parts):
            raise ValueError(f"a source's principal needs four parts, not {parts!r}")
        if source in ("usr", "grp"):
            raise ValueError(f"a source can't be named {source!r}: the directory's principals begin so")
        return cls(":".join(_quoted(part) for part in parts))

    @classmethod
    def parse(cls, text: str) -> Principal:
        """Read a principal as people write it: `grp:finance`, `usr:asha@example.com`, or a bare e-mail address."""
        kind, colon, rest = text.strip().partition(":")
        if not colon:
            return cls.person(text)
        match kind:
            case "usr":
                return cls.person(rest)
            case "grp":
                return cls.group(rest)
            case _:
                return cls(text.strip())
