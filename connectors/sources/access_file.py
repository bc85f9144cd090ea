"""`access.toml`: who may read the files of a folder, and what else is to be known of them.

One table a file, folder or the root. Attribute by attribute the nearest table that states it counts. Whatever can't be
read for certain grants nobody: a broken file, an unknown key, a wrong type or a misspelt principal.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any
from urllib.parse import quote, urlsplit

from policies.access import NOBODY, Access, AccessExpr, Clause, Unknown
from policies.names import Principal

NAME = "access.toml"
ROOT = "."
UNSTATED = ""  # the scope of documents that no table states readers for

_MOST_BYTES = 5_000_000
_DEEPEST = 64  # tables within tables
_WRAPPERS = frozenset({"files", "folders", "paths", "documents"})
_INHERITED = ("version", "effective_from", "effective_to", "status", "owner", "labels")
_LONGEST_TEXT = 1_000
_BREAKS_OUT = re.compile(r'[\s<>"`|\\^{}]')
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_SCHEMES = frozenset({"http", "https", "file"})


@dataclass(frozen=True, slots=True)
class Entry:
    """What one table states, or why it can't be read."""

    path: str
    access: Access | None = None  # None: states no readers
    facts: Mapping[str, Any] = field(default_factory=dict)
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Stated:
    """What the tables say of one document, nearest first; `fault` where one of them can't be read."""

    scope_root: str
    access: Access
    fault: str | None = None
    title: str = ""
    url: str | None = None
    version: str | None = None
    effective_from: date | None = None
    effective_to: date | None = None
    status: str = "current"
    owner: str | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AccessFile:
    """All tables of an `access.toml` by normalised path; `fault` where the file as a whole can't be read."""

    entries: Mapping[str, Entry]
    fault: str | None = None

    @classmethod
    def read(cls, body: bytes | None, exists: Callable[[str], bool]) -> AccessFile:
        """The tables in `body`; None is a folder without the file. `exists` says whether a path is there."""
        if body is None:
            return cls({})
        if len(body) > _MOST_BYTES:
            return cls.broken(f"is larger than {_MOST_BYTES:,} bytes")
        try:
            tables = tomllib.loads(body.decode("utf-8-sig"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            return cls.broken(f"can't be read as TOML: {error}")
        plain, unclear = _unwrapped(tables, exists)
        entries: dict[str, Entry] = {}
        for path, table in _flat(plain):
            entry = _entry(path, table)
            entries[path] = entry if path not in entries else _faulty(path, "is stated twice")
        for path in unclear:
            entries[path] = _faulty(path, "may be meant for this path or for the one of the same name in a folder")
        return cls(entries)

    @classmethod
    def broken(cls, reason: str) -> AccessFile:
        """A file that says nothing for certain: every document's readers are unknown."""
        return cls({}, f"{NAME} {reason}")

    def closed_where_misspelt(self, paths: Iterable[str]) -> AccessFile:
        """A table that names no path closes those of `paths` that it nearly names: a rule that misses its file by a
        capital, a space or a dot without quotes must not leave the file to the wider rules above it."""
        there = {normal(path) for path in paths}
        lost = [path for path in self.entries if path != ROOT and path not in there]
        if not lost:
            return self
        near = {_loosely(path): path for path in lost}
        meant = {path: near[_loosely(path)] for path in there - self.entries.keys() if _loosely(path) in near}
        closed = {
            path: _faulty(path, f"has no table, but {name!r} may be meant for it") for path, name in meant.items()
        }
        return replace(self, entries={**self.entries, **closed})

    def scopes(self) -> Mapping[str, Access]:
        """The rules of every scope: each table that states readers, and the documents that none does."""
        if self.fault:
            return {UNSTATED: Unknown(self.fault)}
        stated = {path: entry.access for path, entry in sorted(self.entries.items()) if entry.access is not None}
        return {UNSTATED: NOBODY} | stated

    def problems(self, exists: Callable[[str], bool]) -> list[str]:
        """Everything an admin should correct, a sentence each."""
        if self.fault:
            return [self.fault]
        found = [f"{NAME}: [{path!r}] {entry.fault}" for path, entry in self.entries.items() if entry.fault]
        lost = [path for path in self.entries if path != ROOT and not exists(path)]
        return found + [f"{NAME}: [{path!r}] names no file or folder" for path in lost]

    def of(self, path: str) -> Stated:
        """What is stated of the document at `path`."""
        if self.fault:
            return Stated(UNSTATED, Unknown(self.fault), self.fault)
        chain = [self.entries[name] for name in _upwards(normal(path)) if name in self.entries]
        ruling = next((entry for entry in chain if entry.access is not None), None)
        root, access = (UNSTATED, NOBODY) if ruling is None else (ruling.path, ruling.access or NOBODY)
        faulty = next((entry for entry in chain if entry.fault), None)
        fault = f"{NAME}: [{faulty.path!r}] {faulty.fault}" if faulty else None
        facts: dict[str, Any] = {}
        for entry in reversed(chain):
            facts |= {name: entry.facts[name] for name in _INHERITED if name in entry.facts}
        own = chain[0].facts if chain and chain[0].path == normal(path) else {}
        return Stated(root, access, fault, title=own.get("title", ""), url=_url(chain, normal(path)), **facts)


def normal(path: str) -> str:
    """A path as tables and files are compared: no `./`, no slashes around, composed characters."""
    parts = [part for part in unicodedata.normalize("NFC", path).split("/") if part not in ("", ".")]
    return "/".join(parts) or ROOT


def _loosely(path: str) -> str:
    """What is left of a path without what people get wrong about it."""
    plain = posixpath.normpath(unicodedata.normalize("NFKC", path).casefold().replace("\\", "/"))
    return re.sub(r"[\s/.]+", "/", plain).strip("/")


def _upwards(path: str) -> Iterator[str]:
    while path != ROOT:
        yield path
        path = path.rpartition("/")[0] or ROOT
    yield ROOT


def _unwrapped(tables: dict[str, Any], exists: Callable[[str], bool]) -> tuple[dict[str, Any], list[str]]:
    """The tables with those in `[files]` and the like on top, and the paths of which it is unclear whether they are.

    A folder of such a name turns a wrapper into that folder's table. Whoever makes one must not lift the rules within.
    """
    plain: dict[str, Any] = {}
    unclear: list[str] = []
    for key, value in tables.items():
        if key not in _WRAPPERS or not isinstance(value, dict):
            plain[key] = value
        elif exists(key):
            plain[key] = value
            both = [
                normal(inner) for inner, table in value.items() if isinstance(table, dict) and exists(normal(inner))
            ]
            unclear += [path for inner in both for path in (inner, f"{key}/{inner}")]
        else:
            # What is said of a folder that isn't there is not said of the root.
            own = {inner: said for inner, said in value.items() if not isinstance(said, dict)}
            plain |= {key: own} if own else {}
            for inner, table in value.items():
                if isinstance(table, dict):
                    # Stated inside and outside of a wrapper: kept apart, so that it is found to be stated twice.
                    plain[inner if inner not in tables and inner not in plain else f"./{inner}"] = table
    return plain, unclear


def _flat(tables: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    waiting: list[tuple[str, dict[str, Any], int]] = [(ROOT, tables, 0)]
    while waiting:
        path, table, depth = waiting.pop()
        own = {key: value for key, value in table.items() if not isinstance(value, dict)}
        inner = [(key, value) for key, value in table.items() if isinstance(value, dict)]
        if own or (not inner and depth):
            yield normal(path), own
        if depth == _DEEPEST:
            inner = []
            yield normal(path), {"table": "nested too deep"}  # an unknown key: nobody reads what is below
        waiting += [(f"{path}/{key}", value, depth + 1) for key, value in reversed(inner)]


def _faulty(path: str, fault: str) -> Entry:
    return Entry(path, Unknown(fault), {}, fault)


def _entry(path: str, table: dict[str, Any]) -> Entry:
    try:
        if ".." in path.split("/"):
            raise ValueError("leaves the folder")
        return Entry(path, _access(table), _facts(table))
    except ValueError as error:
        return _faulty(path, str(error))


def _access(table: dict[str, Any]) -> AccessExpr | None:
    clauses: list[Clause] = []
    if "readers" in table:
        clauses.append(_clause("readers", table["readers"]))
    if "readers_all" in table:
        groups = table["readers_all"]
        if not isinstance(groups, list):
            raise ValueError("readers_all must be a list of lists of principals")
        clauses += [_clause("readers_all", group) for group in groups] or [Clause()]
    return AccessExpr(frozenset(clauses)) if clauses else None


def _clause(key: str, value: Any) -> Clause:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        inner = "a list of principals" if key == "readers" else "a list of lists of principals"
        raise ValueError(f'{key} must be {inner}, such as "grp:finance"')
    try:
        return frozenset(Principal.parse(name) for name in value)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from error


def _facts(table: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for key, value in table.items():
        match key:
            case "readers" | "readers_all":
                continue
            case "version" if isinstance(value, int) and not isinstance(value, bool):
                facts[key] = str(value)
            case "title" | "version" | "owner" | "status":
                facts[key] = _text(key, value)
            case "url":
                facts[key] = _address(value)
            case "effective_from" | "effective_to":
                facts[key] = _day(key, value)
            case "labels":
                if not isinstance(value, list):
                    raise ValueError("labels must be a list of texts")
                facts[key] = tuple(_text(key, label) for label in value)
            case _:
                raise ValueError(f"has an unknown key {key!r}")
    if "status" in facts:
        facts["status"] = facts["status"].casefold()
    first, last = facts.get("effective_from"), facts.get("effective_to")
    if first and last and first > last:
        raise ValueError(f"effective_from {first} is after effective_to {last}")
    return facts


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key} must be a text, not {value!r}")
    text = value.strip()
    if len(text) > _LONGEST_TEXT or any(unicodedata.category(each) in _UNSEEN for each in text):
        raise ValueError(f"{key} must be one line of at most {_LONGEST_TEXT} characters")
    return text


def _day(key: str, value: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{key} must be a date such as 2026-04-01, not {value!r}") from error


def _address(value: Any) -> str:
    address = _text("url", value)
    parts = urlsplit(address)
    if parts.scheme not in _SCHEMES or not address.lower().startswith(f"{parts.scheme}://"):
        raise ValueError(f"url must begin with https://, http:// or file://, not {address!r}")
    if "@" in parts.netloc:
        raise ValueError("url must not hold a user or a password: everybody who reads the document sees it")
    if parts.scheme != "file" and not parts.hostname:
        raise ValueError(f"url must name a host, not {address!r}")
    return _BREAKS_OUT.sub(lambda mark: quote(mark[0]), address)  # of the link that it becomes


def _url(chain: list[Entry], path: str) -> str | None:
    nearest = next((entry for entry in chain if "url" in entry.facts), None)
    if nearest is None:
        return None
    base: str = nearest.facts["url"]
    if nearest.path == path:
        return base
    below = path if nearest.path == ROOT else path[len(nearest.path) + 1 :]
    return f"{base.rstrip('/')}/{quote(below)}"
