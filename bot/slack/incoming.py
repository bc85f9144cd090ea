"""What a verified request says, and whether somebody addressed us with it. Pure: bytes in, a value out.

The gate is here: edits, joins, bots and our own messages are ignored; a message in a direct message and a mention in a
channel are questions. A form is told from JSON by its content type alone, never by words in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl

from connectors.chat import Workspace

_LONGEST_ID = 200  # characters
_MOST_FIELDS = 50  # of a form
_USER = re.compile(r"[UW][A-Z0-9]{1,40}\Z")
_OTHER_ID = re.compile(r"[A-Za-z0-9._\-]{1,200}\Z")


class Malformed(Exception):
    """Not what Slack sends."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """Slack asks whether this address is ours."""

    text: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nobody addressed us; `why` is one of a few fixed words."""

    why: str


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody addressed us. `keys`, the delivery's own first, tell a second delivery."""

    keys: tuple[str, ...]
    asker: str
    asker_team: str
    surface: Literal["direct", "mention", "command"]
    channel: str
    text: str  # as he typed it, without our own mention and Slack's markup
    ts: str = ""
    thread: str | None = None  # in which it was said; None at the top of a conversation
    external: bool = False  # the delivery itself says that another organisation sees the place
    reply_to: str | None = None  # a command's address for answers

    @property
    def account(self) -> str:
        """The account as the directory knows it: provider, instance, id."""
        return f"slack:{self.asker_team}:{self.asker}"


Incoming = Challenge | Ignored | Asked


def understood(content_type: str, body: bytes, us: Workspace) -> Incoming:
    """What the request says; raises Malformed."""
    try:
        match content_type.partition(";")[0].strip().casefold():
            case "application/json":
                return _delivery(_object(json.loads(body)), us)
            case "application/x-www-form-urlencoded":
                return _form(_fields(body), us)
            case _:
                raise Malformed("content type")
    except (ValueError, RecursionError) as error:
        raise Malformed("content") from error


# ---------------------------------------------------------------- events


def _delivery(outer: Mapping[str, Any], us: Workspace) -> Incoming:
    match outer.get("type"):
        case "url_verification":
            return Challenge(_word(outer, "challenge", 500))
        case "event_callback":
            return _event(outer, _object(outer.get("event")), us)
        case _:
            return Ignored("not an event")


def _event(outer: Mapping[str, Any], event: Mapping[str, Any], us: Workspace) -> Incoming:
    if _installed_in(outer) != us.team:
        return Ignored("another workspace")
    if why := _not_for_us(event, us):
        return Ignored(why)
    kind = event.get("type")
    direct = kind == "message" and event.get("channel_type") == "im"
    if not direct and kind != "app_mention":
        return Ignored("not addressed")
    channel, ts, asker = _id(event, "channel"), _id(event, "ts"), _id(event, "user")
    if not _USER.match(asker):
        return Ignored("no person")
    team = next((each for name in ("user_team", "source_team", "team") if isinstance(each := event.get(name), str)), "")
    thread = _id(event, "thread_ts") if event.get("thread_ts") else None
    keys = [f"event:{_id(outer, 'event_id')}", f"ts:{us.team}:{channel}:{ts}"]
    if isinstance(said := event.get("client_msg_id"), str) and _OTHER_ID.match(said):
        keys.append(f"said:{us.team}:{said}")
    text = event.get("text")
    return Asked(
        keys=tuple(keys),
        asker=asker,
        asker_team=team or us.team,
        surface="direct" if direct else "mention",
        channel=channel,
        text=typed(text if isinstance(text, str) else "", us.user),
        ts=ts,
        thread=thread,
        external=bool(outer.get("is_ext_shared_channel")),
    )


def _installed_in(outer: Mapping[str, Any]) -> str | None:
    # In a shared channel the outer team may be the other organisation's: the authorization says whose app was called.
    given = outer.get("authorizations")
    first = given[0] if isinstance(given, list) and given else None
    team = first.get("team_id") if isinstance(first, dict) else outer.get("team_id")
    return team if isinstance(team, str) else None


def _not_for_us(event: Mapping[str, Any], us: Workspace) -> str | None:
    if event.get("subtype") not in (None, "file_share"):
        return "subtype"
    if event.get("edited") or event.get("hidden"):
        return "edit"
    if event.get("bot_id") or event.get("bot_profile") or event.get("app_id") or event.get("user") == us.user:
        return "bot"
    return None


# ---------------------------------------------------------------- forms


def _fields(body: bytes) -> dict[str, str]:
    pairs = parse_qsl(
        body.decode("utf-8"), keep_blank_values=True, strict_parsing=True, max_num_fields=_MOST_FIELDS, errors="strict"
    )
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Malformed("a field twice")
    return fields


def _form(fields: Mapping[str, str], us: Workspace) -> Incoming:
    if fields.get("ssl_check") == "1":
        return Ignored("ssl check")
    if "command" in fields:
        return _command(fields, us)
    if "payload" in fields:
        _object(json.loads(fields["payload"]))
        return Ignored("interactivity")  # nothing that we say so far can be pressed
    raise Malformed("form")


def _command(fields: Mapping[str, str], us: Workspace) -> Incoming:
    if fields.get("team_id") != us.team:
        return Ignored("another workspace")
    asker = _id(fields, "user_id")
    if not _USER.match(asker):
        return Ignored("no person")
    return Asked(
        keys=(f"command:{_id(fields, 'trigger_id')}",),
        asker=asker,
        asker_team=us.team,
        surface="command",
        channel=_id(fields, "channel_id"),
        text=typed(fields.get("text", ""), us.user),
        reply_to=fields.get("response_url") or None,
    )


# ---------------------------------------------------------------- texts

_MARKUP = re.compile(r"<([^<>\n]{1,3000})>")


def typed(text: str, our_user: str) -> str:
    """The text as a person typed it: our own mention taken out, other mentions and links as words."""

    def word(markup: re.Match[str]) -> str:
        target, _, label = markup[1].partition("|")
        match target[:1]:
            case "@":
                return " " if target[1:] == our_user else f"@{label or target[1:]}"
            case "#":
                return f"#{label or target[1:]}"
            case "!":
                return label
            case _:
                return label or target

    words = _MARKUP.sub(word, text)
    return words.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()


# ---------------------------------------------------------------- reading


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Malformed("not an object")
    return value


def _word(of: Mapping[str, Any], name: str, longest: int) -> str:
    value = of.get(name)
    if not isinstance(value, str) or not value or len(value) > longest:
        raise Malformed(name)
    return value


def _id(of: Mapping[str, Any], name: str) -> str:
    value = _word(of, name, _LONGEST_ID)
    if not _OTHER_ID.match(value):
        raise Malformed(name)
    return value
