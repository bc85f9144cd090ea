"""The file of the embedded index: its tables, and how an entry becomes rows and rows a candidate.

`entries` holds what is filtered and compared, and is small; text and vector stand in tables of their own so that
reading the one never pages in the other; `standings` holds the containers of each scope. `row` numbers are never used
twice. Every committed write carries the next `stamp`, and leaves it on the entries it touched and in `gone` for those
it removed: a reader in any process brings its copy up to date by asking for what is newer than its own stamp.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from connectors.index.lexical import passage_words
from connectors.records import Candidate, Chunk, Entry, Form, Passage, Ranks
from policies.clearance import Sealed
from policies.facts import Trust
from policies.names import ChunkId, ContainerId, DocumentId, ScopeId
from policies.predicate import OPEN_END, OPEN_START

LAYOUT = "embedded/2"
BUSY_SECONDS = 15.0  # how long a writer waits for another process

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS clock (
  one INTEGER PRIMARY KEY CHECK (one = 1), stamp INTEGER NOT NULL, floor INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS entries (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  stamp INTEGER NOT NULL,
  scope INTEGER NOT NULL,
  effective_from INTEGER NOT NULL,
  effective_to INTEGER NOT NULL,
  superseded INTEGER NOT NULL,
  trust INTEGER NOT NULL,
  words INTEGER NOT NULL,
  uuid BLOB NOT NULL UNIQUE,
  digest TEXT NOT NULL,
  vector_key TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  source TEXT NOT NULL,
  key TEXT NOT NULL,
  version TEXT NOT NULL,
  section TEXT NOT NULL,
  parent TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS entries_by_stamp ON entries (stamp);
CREATE INDEX IF NOT EXISTS entries_by_document ON entries (source, key, version, parent);
CREATE INDEX IF NOT EXISTS entries_by_vector_key ON entries (vector_key);
CREATE TABLE IF NOT EXISTS standings (scope INTEGER PRIMARY KEY, containers TEXT NOT NULL, stamp INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS standings_by_stamp ON standings (stamp);
CREATE TABLE IF NOT EXISTS gone (row INTEGER PRIMARY KEY, stamp INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS gone_by_stamp ON gone (stamp);
CREATE TABLE IF NOT EXISTS passages (row INTEGER PRIMARY KEY, body TEXT NOT NULL, ancestors TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (row INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS codes (code TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (code, row)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS codes_by_row ON codes (row);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (body, tokenize = 'ascii');
CREATE VIRTUAL TABLE IF NOT EXISTS occurrences USING fts5vocab (words, instance);
INSERT OR IGNORE INTO clock VALUES (1, 0, 0);
"""
# `lexical` has settled the words already, and joins them by spaces: the `ascii` tokenizer splits at nothing else in
# them, while unicode61 would cut some again and then hold other words than a question asks for.

FACTS = "row, scope, effective_from, effective_to, superseded, trust, words, uuid"
_HEAD = (
    "row, source, key, version, section, parent, ordinal, digest, "
    "scope, effective_from, effective_to, superseded, trust"
)
_STANDING = "(SELECT containers FROM standings WHERE standings.scope = entries.scope) AS containers"
TRUST = (Trust.CLEAN, Trust.SUSPECT, Trust.QUARANTINED)


def connect(path: Path) -> sqlite3.Connection:
    """A connection of one thread to the file, which is laid out if it is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # it holds every passage; its log takes after it
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    _enter_wal(connection)
    connection.execute("PRAGMA synchronous = FULL")  # the ledger commits after the index and relies on it
    connection.execute("PRAGMA secure_delete = ON")  # what was deleted is overwritten
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cache_size = -32000")  # 32 MB; the default holds the rows of a few searches
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'standings'").fetchone() is None:
        connection.executescript(f"BEGIN IMMEDIATE;{_TABLES}COMMIT;")
    return connection


def _enter_wal(connection: sqlite3.Connection) -> None:
    # SQLite does not wait for others in this one statement, whatever the timeout; once entered, the mode stays.
    for _ in range(100):
        try:
            if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            time.sleep(0.05)


def remove(db: sqlite3.Connection, rows: Sequence[int], stamp: int) -> None:
    """Take entries out of every table, inside the caller's transaction."""
    numbers = [(row,) for row in rows]
    for table in ("entries", "passages", "vectors", "codes"):
        db.executemany(f"DELETE FROM {table} WHERE row = ?", numbers)  # noqa: S608 - names of our own tables
    db.executemany("DELETE FROM words WHERE rowid = ?", numbers)
    db.executemany("INSERT INTO gone VALUES (?, ?)", [(row, stamp) for row in rows])


def add(db: sqlite3.Connection, entry: Entry, stamp: int) -> None:
    """Write one entry into every table, inside the caller's transaction."""
    chunk, kept = entry.chunk, entry.chunk.attributes
    words = passage_words(chunk.header, chunk.text)
    cursor = db.execute(
        "INSERT INTO entries (stamp, scope, effective_from, effective_to, superseded, trust, words, uuid, digest,"
        " vector_key, ordinal, source, key, version, section, parent)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            stamp,
            entry.scope,
            kept.effective_from.toordinal() if kept.effective_from else OPEN_START,
            kept.effective_to.toordinal() if kept.effective_to else OPEN_END,
            int(kept.superseded),
            TRUST.index(entry.trust),
            len(words),
            chunk.id.uuid.bytes,
            chunk.digest,
            chunk.vector_key,
            chunk.ordinal,
            chunk.id.document.source,
            chunk.id.document.key,
            chunk.id.version,
            chunk.id.section,
            chunk.parent,
        ),
    )
    row = cursor.lastrowid
    db.execute("INSERT INTO passages VALUES (?, ?, ?)", (row, _body(chunk), json.dumps(entry.ancestors)))
    db.execute("INSERT INTO vectors VALUES (?, ?)", (row, np.ascontiguousarray(entry.vector, np.float32).tobytes()))
    db.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (row, " ".join(words)))
    db.executemany("INSERT OR IGNORE INTO codes VALUES (?, ?)", [(code, row) for code in chunk.codes])


def stand(db: sqlite3.Connection, scope: ScopeId, containers: Sequence[ContainerId], stamp: int) -> None:
    """Write what a scope stands in, unless it is written already."""
    db.execute(
        "INSERT INTO standings VALUES (?, ?, ?) ON CONFLICT (scope) DO UPDATE"
        " SET containers = excluded.containers, stamp = excluded.stamp WHERE containers != excluded.containers",
        (scope, json.dumps(containers), stamp),
    )


def containers_in(head: Mapping[str, Any]) -> tuple[ContainerId, ...]:
    """What the scope of an entry stands in; nothing where the file was written before that was kept."""
    return tuple(map(ContainerId, json.loads(head["containers"] or "[]")))


def heads(db: sqlite3.Connection, where: str, values: Sequence[Any]) -> list[Mapping[str, Any]]:
    """The entries that satisfy a condition written in this package, as dictionaries; no text."""
    return _named(db.execute(f"SELECT {_HEAD}, {_STANDING} FROM entries WHERE {where}", values))  # noqa: S608 - our own words


def found(db: sqlite3.Connection, where: str, values: Sequence[Any]) -> list[Mapping[str, Any]]:
    """The entries that satisfy a condition written in this package, each with the `body` of its passage."""
    return _named(db.execute(f"SELECT {_HEAD}, body FROM entries JOIN passages USING (row) WHERE {where}", values))  # noqa: S608


def _named(cursor: sqlite3.Cursor) -> list[Mapping[str, Any]]:
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def candidate(head: Mapping[str, Any], body: str, ranks: Ranks, score: float) -> Candidate:
    """What a search gives back of an entry, its passage sealed."""
    document = DocumentId(head["source"], head["key"])
    return Candidate(
        id=ChunkId(document, head["version"], head["section"]),
        passage=Sealed(document, head["version"], _passage(body, head)),
        digest=head["digest"],
        parent=head["parent"],
        ordinal=head["ordinal"],
        ranks=ranks,
        score=score,
        trust=TRUST[head["trust"]],
    )


def _body(chunk: Chunk) -> str:
    kept = chunk.attributes
    return json.dumps(
        [
            chunk.text,
            chunk.header,
            chunk.heading_path,
            kept.title,
            kept.url,
            chunk.page,
            chunk.form.value,
            kept.owner,
            kept.labels,
        ],
        ensure_ascii=False,
    )


def _passage(body: str, head: Mapping[str, Any]) -> Passage:
    text, header, heading_path, title, url, page, form, owner, labels = json.loads(body)
    return Passage(
        text=text,
        header=header,
        heading_path=tuple(heading_path),
        title=title,
        url=url,
        page=page,
        form=Form(form),
        effective_from=None if head["effective_from"] == OPEN_START else date.fromordinal(head["effective_from"]),
        effective_to=None if head["effective_to"] == OPEN_END else date.fromordinal(head["effective_to"]),
        superseded=bool(head["superseded"]),
        owner=owner,
        labels=tuple(labels),
    )
