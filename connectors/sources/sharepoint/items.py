"""What is in a list or among the pages of a site, from one complete reading of it over REST, as nodes.

Where a library has delta, a list has this: everything each time, a couple of thousand a page. Folders are found by
path, which is told decoded.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256

from connectors.errors import Transient
from connectors.ports import Memory
from connectors.records import Node
from connectors.sources.sharepoint.documents import published_version
from connectors.sources.sharepoint.scopes import Row
from connectors.sources.sharepoint.tree import DOUBTED, UNREAD
from connectors.sources.sharepoint.webs import PAGES, Listing

_WRITTEN_AT_ONCE = 500


async def take_rows(
    memory: Memory, listing: Listing, pages: AsyncIterator[Sequence[Row]], now: datetime
) -> tuple[list[Row], str]:
    """Make the nodes of a list say what all of its rows say; returns the rows, and the name of this enumeration. Raises
    Transient where a row does not say which it is: its document would count as gone."""
    walk = now.isoformat()
    rows = [row async for page in pages for row in page]
    if not all(row.unique_id for row in rows):
        raise Transient("SharePoint told of an item without its id")
    folders = {row.path.casefold(): f"{listing.key}/{row.unique_id}" for row in rows if row.folder and row.path}
    for start in range(0, len(rows), _WRITTEN_AT_ONCE):
        some = rows[start : start + _WRITTEN_AT_ONCE]
        known = await memory.get([f"{listing.key}/{row.unique_id}" for row in some])
        await memory.put([_node(listing, row, folders, known, now, walk) for row in some])
    return rows, walk


def _node(
    listing: Listing, row: Row, folders: dict[str, str], known: Mapping[str, Node], now: datetime, walk: str
) -> Node:
    key = f"{listing.key}/{row.unique_id}"
    before = known.get(key)
    version = row.version or "1.0"
    published = published_version(version, row.moderation)
    kept = {name: before.facts[name] for name in ("grants", "links", DOUBTED) if before and name in before.facts}
    facts = {
        **kept,
        "n": row.number,
        "path": row.path,
        "name": row.path.rpartition("/")[2],
        "version": version,
        "published": published,
    }
    return Node(
        key=key,
        parent=_parent(listing, row.path, folders, before),
        container=listing.key,
        kind="folder" if row.folder else "page" if listing.kind == PAGES else "item",
        rules=UNREAD if before is None else before.rules,
        rules_at=now if before is None else before.rules_at,
        is_document=not row.folder and _is_content(listing, row) and bool(published),
        mark=_mark(row, walk),
        walk=walk,
        facts={name: value for name, value in facts.items() if value},
    )


def _mark(row: Row, walk: str) -> str:
    """Changes whenever a row does; where it tells neither a version nor a time, each time."""
    said = (row.version, row.modified, row.moderation, "" if row.version or row.modified else walk)
    return sha256(repr(said).encode("utf-8", "replace")).hexdigest()[:32]


def _is_content(listing: Listing, row: Row) -> bool:
    return listing.kind != PAGES or row.path.casefold().endswith(".aspx")


def _parent(listing: Listing, path: str, folders: dict[str, str], before: Node | None) -> str:
    """The folder that a path stands in; a folder that was not told is one that nobody knows, and so is everything but
    those where the list's own path was not told. Without a path: where it stood before, or nobody knows."""
    if not path:
        return (before.parent if before is not None else None) or "unknown:"
    above = path.rpartition("/")[0].casefold()
    top = listing.path.casefold().rstrip("/")
    if above in folders:
        return folders[above]
    return listing.key if top and above == top else f"unknown:{above}"
