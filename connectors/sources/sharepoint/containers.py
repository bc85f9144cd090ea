"""A list as the node that its objects are kept with: what has to be known to go on with it without looking it up."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from connectors.records import Node, Own
from connectors.sources.sharepoint.webs import LIBRARY, LIST, PAGES, Listing, Web
from policies.access import Access

_KEPT = ("root", "objects_at", "whole_at", "next_end", "attached")


def container_of(
    address: str, listing: Listing, *, found_top: str, base: Access, now: datetime, before: Node | None
) -> Node:
    """The node of a list that was found at an address, with whose rights count for it."""
    web = listing.web
    kept: Mapping[str, str] = before.facts if before is not None and "out" not in before.facts else {}
    facts = {
        "address": address,
        "list": listing.id,
        "kind": listing.kind,
        "title": listing.title,
        "path": listing.path,
        "drive": listing.drive,
        "drafts": "1" if listing.drafts else "",
        "web": web.url,
        "web_id": web.id,
        "graph": web.graph,
        "top": found_top,
        **{name: kept[name] for name in _KEPT if name in kept},
    }
    return Node(
        key=listing.key,
        parent=None,
        container=listing.key,
        kind=listing.kind,
        rules=Own(base),
        rules_at=now,
        is_document=False,
        facts={name: value for name, value in facts.items() if value},
    )


def listing_of(container: Node) -> Listing | None:
    """The list that a node was made of; None for a node of something else."""
    facts = container.facts
    site, _, list_id = container.key.partition("/")
    if facts.get("kind") not in (LIBRARY, PAGES, LIST) or not list_id:
        return None
    web = Web(facts.get("web_id", ""), site, facts.get("graph", ""), facts.get("web", ""), False, None)
    return Listing(
        web=web,
        id=facts.get("list", list_id),
        kind=facts["kind"],
        title=facts.get("title", list_id),
        path=facts.get("path", ""),
        unique=None,
        drafts="drafts" in facts,
        drive=facts.get("drive", ""),
    )


def top_of(container: Node, listing: Listing) -> Web:
    """The top web of the site collection that a list is in."""
    web = listing.web
    return Web(web.id, web.site, web.graph, container.facts.get("top", web.url), False, None)
