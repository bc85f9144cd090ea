"""A folder of files as a source: walked whole each time, read only where something may have changed.

No link is followed, be it to a file or a folder: whoever can put a link into an open folder could otherwise have a
closed document read under the open folder's rules.
"""

from __future__ import annotations

import json
import os
import stat
from asyncio import to_thread
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from connectors.errors import Skip, Stop, Transient
from connectors.records import AccessChanged, Change, Checkpoint, ScopeRules, Skipped, SourceDocument, Upsert
from connectors.sources.access_file import NAME as ACCESS
from connectors.sources.access_file import ROOT, UNSTATED, AccessFile, Stated
from policies.access import NOBODY, Access, Unknown
from policies.facts import ScopeState
from policies.names import DocumentId

MEDIA_TYPES = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
LEASE = timedelta(days=30)  # how long read rules outlive the last look at access.toml
MOST_FILES = 100_000
MOST_BYTES = 200_000_000  # of one file
_TRIES = 3  # walks, while access.toml changes under them
_DEEPEST = 64  # folders within folders
_RACY = timedelta(seconds=2)  # a file may be written again within one tick of its file system's clock
_DIRECTORY = "directory.toml"
_VERSION_LENGTH = 12


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells that a file is as it was without reading it."""

    size: int
    mtime: int  # nanoseconds
    ctime: int  # nanoseconds; an edit that sets mtime back can't set this one back
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


@dataclass(frozen=True, slots=True)
class _File:
    stamp: Stamp
    digest: str
    new: bool  # not as the cursor remembers it


@dataclass(slots=True)
class _Walk:
    """What one walk found, by path relative to the folder."""

    files: dict[str, _File] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    complete: bool = True

    def fault(self, path: str, reason: str) -> None:
        self.skipped[path] = reason
        self.complete = False

    def exists(self, path: str) -> bool:
        return path in self.files or path in self.folders or path in self.skipped

    def paths(self) -> set[str]:
        return {*self.files, *self.folders, *self.skipped}


@dataclass(frozen=True, slots=True)
class _Cursor:
    """What the last walk saw: stamps and digests, and the scopes that it stated."""

    files: Mapping[str, tuple[Stamp, str]]
    roots: frozenset[str]

    @classmethod
    def read(cls, text: str | None) -> _Cursor:
        """An unreadable cursor is none: everything is read again."""
        try:
            written = json.loads(text or "{}")
            files = {path: (Stamp(*stamp), digest) for path, (*stamp, digest) in written["files"].items()}
            return cls(files, frozenset(written["roots"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            return cls({}, frozenset())


class FilesSource:
    """The documents below one folder, under the read rules of the `access.toml` beside them."""

    def __init__(self, name: str, folder: Path, lease: timedelta = LEASE) -> None:
        self._name = name
        self._folder = folder.absolute()
        self._lease = lease

    @property
    def name(self) -> str:
        return self._name

    async def changes(self, cursor: str | None, now: datetime) -> AsyncGenerator[Change, None]:
        """Rules of every scope, then every file, those that have not changed first; raises Stop without the folder."""
        before = _Cursor.read(cursor)
        walk, access = await to_thread(self._look, before)
        scopes = access.scopes()
        for root in sorted(before.roots - scopes.keys()):
            yield AccessChanged(self._rules(root, NOBODY, now, (), ScopeState.GONE))
        for root, expression in scopes.items():
            yield AccessChanged(self._rules(root, expression, now, _folders(root, walk.folders)))
        for change in self._documents(walk, access):
            yield change
        yield Checkpoint(_written(walk, scopes, now), walk.complete)

    def _documents(self, walk: _Walk, access: AccessFile) -> Iterator[Change]:
        problems = access.problems(walk.exists)
        if problems:
            yield Skipped(self._id(ACCESS), "; ".join(problems))
        for path, reason in sorted(walk.skipped.items()):
            yield Skipped(self._id(path), reason)
        for path, file in sorted(walk.files.items(), key=lambda found: (found[1].new, found[0])):
            stated = access.of(path)
            if stated.fault:
                yield Skipped(self._id(path), f"who may read it is unknown: {stated.fault}")
            else:
                yield Upsert(self._document(path, file, stated))

    def _document(self, path: str, file: _File, stated: Stated) -> SourceDocument:
        folders = path.split("/")[:-1]
        return SourceDocument(
            id=self._id(path),
            version=stated.version or file.digest[:_VERSION_LENGTH],
            revision=file.digest,
            title=stated.title,
            url=stated.url or (self._folder / path).as_uri(),
            media_type=MEDIA_TYPES[Path(path).suffix.lower()],
            scope_root=stated.scope_root,
            read=partial(to_thread, _body, self._folder / path, file.digest),
            ancestors=tuple("/".join(folders[: depth + 1]) for depth in range(len(folders))),
            effective_from=stated.effective_from,
            effective_to=stated.effective_to,
            status=stated.status,
            owner=stated.owner,
            labels=stated.labels,
        )

    def _id(self, path: str) -> DocumentId:
        return DocumentId(self._name, path)

    def _rules(
        self,
        root: str,
        access: Access,
        now: datetime,
        containers: tuple[str, ...],
        state: ScopeState = ScopeState.ACTIVE,
    ) -> ScopeRules:
        known = ScopeState.UNKNOWN if isinstance(access, Unknown) else state
        return ScopeRules(self._name, root, access, known, now, self._lease, containers)

    def _look(self, before: _Cursor) -> tuple[_Walk, AccessFile]:
        # Files and rules must be of one moment: a redacted file may have been opened, a closed one filled meanwhile.
        rules = self._rules_body()
        for _ in range(_TRIES):
            walk, stated = self._walk(before), rules
            rules = self._rules_body()
            if rules == stated:
                if isinstance(rules, str):
                    return walk, AccessFile.broken(rules)
                return walk, AccessFile.read(rules, walk.exists).closed_where_misspelt(walk.paths())
        raise Transient(f"{ACCESS} of source {self._name!r} keeps changing; the next sync takes it", retry_after=5)

    def _rules_body(self) -> bytes | str | None:
        """The bytes of access.toml, None where there is none, or why it can't be read."""
        try:
            return (self._folder / ACCESS).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"can't be read: {error.strerror}"

    def _walk(self, before: _Cursor) -> _Walk:
        if not self._folder.is_dir():
            raise Stop(
                f"the folder {str(self._folder)!r} of source {self._name!r} is gone; mount it or remove the source"
            )
        walk = _Walk()
        top = os.fspath(self._folder)

        # An error names a folder as it was opened, by its last name alone; which one it was shows by not having come.
        awaited = {""}
        reasons: dict[str, str | None] = {}

        def unreadable(error: OSError) -> None:
            reasons[Path(error.filename or top).name] = error.strerror

        for folder, folders, names, handle in os.fwalk(top, onerror=unreadable, follow_symlinks=False):
            within = "" if folder == top else os.path.relpath(folder, top) + "/"
            awaited.discard(within.rstrip("/"))
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            if within.count("/") >= _DEEPEST and folders:
                walk.fault(_shown(within.rstrip("/")), f"its folders are more than {_DEEPEST} deep")
                folders.clear()
            awaited.update(within + name for name in folders)
            for name in (*names, *folders):
                if not name.startswith(".") and f"{within}{name}" not in (ACCESS, _DIRECTORY):
                    _take(walk, before, within + name, name, handle)
            if len(walk.files) + len(walk.skipped) >= MOST_FILES:
                raise Stop(f"{top!r} holds more than {MOST_FILES:,} files; split it into several sources")
        for path in awaited - walk.skipped.keys():  # a link to a folder is not entered, and was told of
            reason = reasons.get(Path(path or top).name) or "the folder could not be opened"
            walk.fault(_shown(path or "."), f"can't be read: {reason}")
        return walk


def _folders(root: str, folders: Collection[str]) -> tuple[str, ...]:
    """The folders that rules stand in, outermost first: a folder stands in itself, and the top is the source's."""
    parts = [] if root in (ROOT, UNSTATED) else root.split("/")
    if root not in folders:
        parts = parts[:-1]
    return tuple("/".join(parts[: depth + 1]) for depth in range(len(parts)))


def _take(walk: _Walk, before: _Cursor, path: str, name: str, handle: int) -> None:
    """Put one name of an open folder where it belongs."""
    if _shown(path) != path:
        return walk.skipped.update({_shown(path): "its name is not valid UTF-8; rename it"})
    try:
        status = os.stat(name, dir_fd=handle, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            walk.folders.add(path)
        elif stat.S_ISLNK(status.st_mode):
            walk.skipped[path] = "it is a link; put the file itself here"
        elif not stat.S_ISREG(status.st_mode):
            walk.skipped[path] = "it is not a regular file"
        elif name == ACCESS:
            walk.skipped[path] = f"only the {ACCESS} at the top of a source is read; move its tables there"
        elif Path(name).suffix.lower() not in MEDIA_TYPES:
            walk.skipped[path] = f"files of type {Path(name).suffix or 'unknown'!r} are not read"
        elif status.st_size > MOST_BYTES:
            walk.skipped[path] = f"it is larger than {MOST_BYTES:,} bytes"
        else:
            walk.files[path] = _known(before, path, Stamp.of(status)) or _read(name, handle)
    except OSError as error:
        walk.fault(path, f"can't be read: {error.strerror}")
    return None


def _known(before: _Cursor, path: str, stamp: Stamp) -> _File | None:
    seen = before.files.get(path)
    return _File(stamp, seen[1], new=False) if seen and seen[0] == stamp else None


def _read(name: str, handle: int) -> _File:
    # NOFOLLOW and NONBLOCK: what was a regular file a moment ago may be a link or a pipe by now.
    opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handle)
    with os.fdopen(opened, "rb") as file:
        stamp = Stamp.of(os.fstat(opened))
        digest = sha256()
        for piece in iter(partial(file.read, 1 << 20), b""):
            digest.update(piece)
        return _File(stamp, digest.hexdigest(), new=True)


def _body(path: Path, digest: str) -> bytes:
    """The bytes that the walk saw; raises Transient where they are others by now, so that no text gets a wrong name."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(opened, "rb") as file:
            body = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Skip(f"can't be read: {error.strerror}") from error
    if sha256(body).hexdigest() != digest:
        raise Transient("it changed while it was being read; the next sync takes it")
    return body


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")


def _written(walk: _Walk, scopes: Mapping[str, Access], now: datetime) -> str:
    """The cursor: files written within a clock tick of the walk are left out, so that they are read again."""
    limit = int((now - _RACY).timestamp() * 1e9)
    settled = {
        path: [file.stamp.size, file.stamp.mtime, file.stamp.ctime, file.stamp.inode, file.digest]
        for path, file in walk.files.items()
        if max(file.stamp.mtime, file.stamp.ctime) < limit
    }
    cursor: dict[str, Any] = {"files": settled, "roots": sorted(scopes)}
    return json.dumps(cursor, separators=(",", ":"), sort_keys=True)
