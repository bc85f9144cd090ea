"""Slack's limits: what it would refuse, or change, in a message or a view, and how often it may be asked.

One checker for the simulator, which refuses by it, and for tests of what the product builds. Blocks are judged by
Slack's own models; what these do not know is written here, from Slack's reference of Block Kit and of rate limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from slack_sdk.models.blocks import Block as SdkBlock
from slack_sdk.models.views import View as SdkView

TIERS = {
    "auth.test": 600,
    "conversations.info": 50,
    "conversations.members": 100,
    "conversations.open": 50,
    "conversations.replies": 50,
    "conversations.history": 50,
    "users.info": 100,
    "users.list": 20,
    "chat.postEphemeral": 100,
    "chat.update": 50,
    "chat.delete": 50,
    "chat.startStream": 20,
    "chat.appendStream": 100,
    "chat.stopStream": 20,
    "assistant.threads.setStatus": 600,
    "agents.sessions.setStatus": 50,
    "views.open": 100,
    "views.publish": 100,
}
"""Calls of a method in a minute; `chat.postMessage` has one a second in each channel instead."""


def problems_of(message: Mapping[str, Any]) -> list[str]:
    """What Slack would refuse, or change, in a message: its blocks by Slack's own models, and the limits that these do
    not know."""
    blocks = message.get("blocks") or []
    found: list[str] = []
    if not message.get("text"):
        found.append("no text for notifications and screen readers")
    if len(message.get("text") or "") > 4_000:
        found.append("msg_too_long: the text has more than 4,000 characters")
    if len(blocks) > 50:
        found.append("invalid_blocks: more than 50 blocks")
    if _length(blocks) > 13_000:
        found.append("msg_blocks_too_long: more than 13,000 characters")
    for block in blocks:
        found += _problems_of_block(block)
    return found


def _problems_of_block(block: Mapping[str, Any]) -> Iterable[str]:
    try:
        parsed = SdkBlock.parse(dict(block))
        if parsed is None:
            yield f"invalid_blocks: {block.get('type')!r} is no block"
        else:
            parsed.validate_json()
    except Exception as error:  # whatever the models object to
        yield f"invalid_blocks: {error}"
    if block.get("type") == "context" and len(block.get("elements", ())) > 10:
        yield "invalid_blocks: more than 10 elements of a context"
    for element in _elements(block):
        yield from _problems_of_element(element)


def _problems_of_element(element: Mapping[str, Any]) -> Iterable[str]:
    match element.get("type"):
        case "text":
            if not element.get("text"):
                yield "invalid_blocks: an empty text element"
        case "link":
            url = element.get("url") or ""
            if not url or len(url) > 3_000 or not re.match(r"https?://[^\s]+\Z", url):
                yield f"invalid_blocks: {url[:40]!r} is no address"
        case "plain_text":
            if not 0 < len(element.get("text") or "") <= 3_000:
                yield "invalid_blocks: a plain_text that is empty or longer than 3,000"
        case "rich_text_section" | "rich_text_list":
            if not element.get("elements"):
                yield "invalid_blocks: an empty section"
        case "user" | "usergroup" | "channel" | "broadcast" | "emoji" | "date" | "image" | "mrkdwn":
            yield f"{element['type']!r} would call somebody, or be parsed"


def _elements(of: Any) -> Iterable[Mapping[str, Any]]:
    for element in of.get("elements", ()):
        yield element
        yield from _elements(element)


def _length(of: Any) -> int:
    match of:
        case {"type": _}:
            return sum(
                _length(value) if not isinstance(value, str) else len(value)
                for key, value in of.items()
                if key != "type"
            )
        case dict():
            return sum(map(_length, of.values()))
        case list() | tuple():
            return sum(map(_length, of))
        case str():
            return len(of)
        case _:
            return 0


def shown(message: Mapping[str, Any]) -> str:
    """What a person reads of a message: the words of its blocks, with links as `words<address>`."""
    if not message.get("blocks"):
        return str(message.get("text", ""))

    def words(element: Mapping[str, Any]) -> str:
        match element.get("type"):
            case "link":
                return f"{element.get('text') or element['url']}<{element['url']}>"
            case "text" | "plain_text":
                return str(element["text"])
            case _:
                return "".join(map(words, element.get("elements", ())))

    return "\n".join(map(words, message["blocks"])).strip()


def problems_of_view(view: Mapping[str, Any]) -> list[str]:
    """What Slack would refuse in a form or a page."""
    blocks = view.get("blocks") or []
    found: list[str] = []
    if not 0 < len(blocks) <= 100:
        found.append("invalid_arguments: no blocks, or more than 100")
    if view.get("type") == "modal":
        lengths = {name: len((view.get(name) or {}).get("text") or "") for name in ("title", "submit", "close")}
        found += [
            f"invalid_arguments: {name} is empty or longer than 24" for name, n in lengths.items() if not 0 < n <= 24
        ]
    if len(view.get("private_metadata") or "") > 3_000 or len(view.get("callback_id") or "") > 255:
        found.append("invalid_arguments: private_metadata or callback_id is too long")
    if _length(blocks) > 250_000:
        found.append("view_too_large")
    try:
        SdkView(**view).validate_json()
    except Exception as error:  # whatever the models object to
        found.append(f"invalid_arguments: {error}")
    for block in blocks:
        found += _problems_of_block(block)
    return found


def problems_of_tasks(chunks: Any) -> list[str]:
    """What Slack would refuse in the chunks of a stream."""
    found = []
    for chunk in chunks or ():
        if chunk.get("type") != "task_update":
            found.append(f"invalid_chunks: {chunk.get('type')!r}")
        elif not chunk.get("id") or not 0 < len(chunk.get("title") or "") <= 256:
            found.append("invalid_chunks: a task without an id or a title")
        elif chunk.get("status") not in ("pending", "in_progress", "complete", "error"):
            found.append(f"invalid_chunks: {chunk.get('status')!r}")
    return found
