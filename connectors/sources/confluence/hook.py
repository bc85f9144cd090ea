"""The receiving end of Confluence's webhooks: who sent it, and what may have changed.

Data Center signs the body (`X-Hub-Signature`, HMAC-SHA256), and so does whatever passes on events of a Forge app;
Connect apps send a JWT signed by the same secret. Without a proof nothing is believed. Nothing but ids is read from a
body: an event says that something is to be looked at, never what it is.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from connectors.ports import Event
from connectors.sources.confluence.mapping import space_node

UNNAMED = "something"
"""The event's name where it has none, as some senders leave it out: it may be about anything."""
_LONGEST_BODY = 1_000_000
_LONGEST_TOKEN = 10_000
_FORGE = "avi:confluence:"
_CLOSING = ("permission", "moved", "trashed", "removed", "deleted", "archived", "restored", "unarchived", "copied")
_OF_PEOPLE = ("group", "user")
_OF_CONTENT = (
    "page", "blog", "blogpost", "attachment", "comment", "content", "folder", "whiteboard", "database", "embed"
)  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class ConfluenceHook:
    """Port `Hook`."""

    secret: str

    def events(self, headers: Mapping[str, str], query: Mapping[str, str], body: bytes) -> Sequence[Event] | None:
        """What was told; None where it does not prove that it comes from the source."""
        if not self.secret or len(body) > _LONGEST_BODY:
            return None
        given = {name.casefold(): value for name, value in headers.items()}
        if not (self._signed(given, body) or self._by_token(given, query)):
            return None
        try:
            told = json.loads(body or b"{}")
        except (ValueError, RecursionError):
            return None
        return _told(told) if isinstance(told, dict) else None

    def _signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        method, _, signature = headers.get("x-hub-signature", "").partition("=")
        if method.casefold() != "sha256":
            return False
        ours = hmac.new(self.secret.encode(), body, sha256).hexdigest()
        return hmac.compare_digest(ours.encode(), signature.strip().lower().encode())

    def _by_token(self, headers: Mapping[str, str], query: Mapping[str, str]) -> bool:
        """A JWT of Connect, by its signature alone: one that is sent again makes us look again, and nothing else."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        token = token.strip() if scheme.casefold() == "jwt" else query.get("jwt", "")
        parts = token.split(".")
        if len(parts) != 3 or len(token) > _LONGEST_TOKEN:
            return False
        head, signature = _decoded(parts[0]), _decoded(parts[2])
        try:
            algorithm = json.loads(head or b"{}").get("alg")
        except (ValueError, AttributeError, RecursionError):
            return False
        ours = hmac.new(self.secret.encode(), f"{parts[0]}.{parts[1]}".encode(), sha256).digest()
        return algorithm == "HS256" and signature is not None and hmac.compare_digest(ours, signature)


def _decoded(part: str) -> bytes | None:
    try:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        return None


def _told(told: Mapping[str, Any]) -> list[Event]:
    what = _name(told) or UNNAMED
    if what.startswith(_OF_PEOPLE):
        return []  # who is in which group is asked for whenever somebody asks
    closes = what == UNNAMED or any(word in what for word in _CLOSING)
    keys = [_id_in(told.get(name), name) for name in _OF_CONTENT]
    files = told.get("attachments")
    if isinstance(files, list):  # so do apps of Connect say it
        of_files = [_id_in(each, "attachment") for each in files]
        keys += of_files if of_files and all(of_files) else [*of_files, _id_in(told.get("attachedTo"), "page")]
    if any(keys):
        return [Event(key, what, closes) for key in dict.fromkeys(keys) if key]
    space = told.get("space")
    named = space.get("key") if isinstance(space, Mapping) else told.get("spaceKey")
    if isinstance(named, str) and named:
        return [Event(space_node(named), what, closes)]
    return [Event("", what, False)]


def _id_in(held: Any, kind: str) -> str:
    """The id of what is told of, as REST says it; nothing where there is none. Files are numbers to some senders."""
    key = _key(held.get("id")) if isinstance(held, Mapping) else ""
    return f"att{key}" if kind == "attachment" and key.isdecimal() else key


def _name(told: Mapping[str, Any]) -> str:
    """The event in one spelling: `page_moved`, `permissions_updated_page`."""
    for field in ("event", "webhookEvent", "eventType"):
        name = told.get(field)
        if isinstance(name, str) and name:
            return name.removeprefix(_FORGE).replace(":", "_")[:100]
    return ""


def _key(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = str(value)
    return text if len(text) <= 64 and text.isascii() and text.isalnum() else ""
