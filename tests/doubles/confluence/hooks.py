"""Webhooks as a wiki sends them: signed by the secret that an admin typed in, for the events that the edition has.

Data Center tells nothing of restrictions or space permissions; with `of_permissions` it does, as an app on Cloud would.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable
from hashlib import sha256

from tests.doubles.confluence.wiki import Entry

SECRET = "hook-secret"
_PERMISSIONS = frozenset(
    {"content_permissions_updated", "space_permissions_updated", "group_member_added", "group_member_removed"}
)


def delivery(entry: Entry, secret: str = SECRET) -> tuple[dict[str, str], bytes]:
    """The headers and the body of one event."""
    told: dict[str, object] = {"timestamp": int(entry.at.timestamp() * 1000), "event": entry.what, "userKey": "abc123"}
    kind = entry.what.partition("_")[0]
    match kind:
        case "space":
            told["space"] = {"key": entry.key}
        case "group" | "user":
            told[kind] = {"name": entry.key}
        case "content":
            told["content"] = {"id": _number(entry.key)}
        case _:
            told[kind] = {"id": _number(entry.key)}
    if entry.what == "page_moved" and entry.more.get("old_parent"):
        told["oldParent"] = {"id": _number(entry.more["old_parent"])}
    body = json.dumps(told).encode()
    return {"Content-Type": "application/json", "X-Hub-Signature": f"sha256={signature(body, secret)}"}, body


def signature(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, sha256).hexdigest()


def deliveries(log: Iterable[Entry], of_permissions: bool = False) -> list[tuple[dict[str, str], bytes]]:
    """What of a mutation log is sent."""
    return [delivery(entry) for entry in log if of_permissions or entry.what not in _PERMISSIONS]


def _number(key: str) -> int | str:
    return int(key) if key.isdecimal() else key
