"""What a verified request says, and whether somebody addressed us with it. Pure: bytes in, a value out.

The gate is here: edits, joins, bots and our own messages are ignored; a message in a direct message and a mention in a
channel are questions. A form is told from JSON by its content type alone, never by words in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl

from bot.slack.pressing import About, HomeOpened, Nothing, Pressed, Stopped, Submitted, interaction
from bot.slack.reading import Malformed, a_user, an_id, an_object, is_id, typed, words
from connectors.chat import Workspace

COMMAND = "command"
"""Why a command is ignored that came before it is known who we are, and so whose it is."""

_MOST_FIELDS = 50  # of a form


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
    surface: Literal["direct", "mention", "command", "shortcut"]
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


@dataclass(frozen=True, slots=True)
class Changed:
    """Something about a user is not as it was."""

    user: str


Incoming = Challenge | Ignored | Asked | Changed | Pressed | Submitted | About | HomeOpened | Stopped


def understood(content_type: str, body: bytes, us: Workspace) -> Incoming:
    """What the request says; raises Malformed."""
    try:
        match content_type.partition(";")[0].strip().casefold():
            case "application/json":
                return delivered(an_object(json.loads(body)), us)
            case "application/x-www-form-urlencoded":
                return _form(_fields(body), us)
            case _:
                raise Malformed("content type")
    except (ValueError, RecursionError) as error:
        raise Malformed("content") from error


# ---------------------------------------------------------------- events


def delivered(outer: Mapping[str, Any], us: Workspace) -> Incoming:
    """What a delivery of the Events API says; raises Malformed."""
    match outer.get("type"):
        case "url_verification":
            return Challenge(words(outer, "challenge", 500))
        case "event_callback":
            return _event(outer, an_object(outer.get("event")), us)
        case _:
            return Ignored("not an event")


def _event(outer: Mapping[str, Any], event: Mapping[str, Any], us: Workspace) -> Incoming:
    if not _ours(outer, us):
        return Ignored("another workspace")
    kind = event.get("type")
    if kind in ("app_home_opened", "agent_session_stopped", "user_change"):
        return _beside(outer, event, us)
    if why := _not_for_us(event, us):
        return Ignored(why)
    direct = kind == "message" and event.get("channel_type") == "im"
    if not direct and kind != "app_mention":
        return Ignored("not addressed")
    channel, ts, asker = an_id(event, "channel"), an_id(event, "ts"), a_user(event, "user")
    if asker is None:
        return Ignored("no person")
    team = next((each for name in ("user_team", "source_team", "team") if isinstance(each := event.get(name), str)), "")
    thread = an_id(event, "thread_ts") if event.get("thread_ts") else None
    keys = [f"event:{an_id(outer, 'event_id')}", f"ts:{us.team}:{channel}:{ts}"]
    if is_id(said := event.get("client_msg_id")):
        keys.append(f"said:{us.team}:{said}")
    text = event.get("text")
    return Asked(
        keys=tuple(keys),
        asker=asker,
        asker_team=us.home if us.enterprise else team or us.team,  # of what enterprise he is, his account tells
        surface="direct" if direct else "mention",
        channel=channel,
        text=typed(text if isinstance(text, str) else "", us.user),
        ts=ts,
        thread=thread,
        external=bool(outer.get("is_ext_shared_channel")),
    )


def _beside(outer: Mapping[str, Any], event: Mapping[str, Any], us: Workspace) -> Incoming:
    """What people do beside asking: they look at their page of the app, or press Stop."""
    if event.get("type") == "user_change":
        return Changed(an_id(an_object(event.get("user")), "id"))
    asker = a_user(event, "user")
    if asker is None:
        return Ignored("no person")
    if event.get("type") == "agent_session_stopped":
        return Stopped(asker, an_id(event, "channel"), an_id(event, "thread_ts"))
    if event.get("tab") != "home":
        return Ignored("another tab")
    return HomeOpened((f"event:{an_id(outer, 'event_id')}",), asker, us.home)


def _ours(outer: Mapping[str, Any], us: Workspace) -> bool:
    """Whether our installation was called. In a shared channel the outer team may be the other organisation's: the
    authorization says whose app was called, and of an app installed in a whole organisation it names that."""
    given = outer.get("authorizations")
    first = given[0] if isinstance(given, list) and given else None
    called = first if isinstance(first, dict) else outer
    if called.get("is_enterprise_install") is True:
        return us.enterprise is not None and called.get("enterprise_id") == us.enterprise
    return called.get("team_id") == us.team


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
        return done(an_object(json.loads(fields["payload"])), us)
    raise Malformed("form")


def done(payload: Mapping[str, Any], us: Workspace) -> Incoming:
    """What somebody did with a button, a form or a shortcut; raises Malformed."""
    found = interaction(payload, us)
    return Ignored(found.why) if isinstance(found, Nothing) else found


def commanded(fields: Mapping[str, Any], us: Workspace) -> Incoming:
    """What a command says; raises Malformed."""
    return _command({name: value for name, value in fields.items() if isinstance(value, str)}, us)


def _command(fields: Mapping[str, str], us: Workspace) -> Incoming:
    if not us.team:
        return Ignored(COMMAND)
    organisation = us.enterprise is not None and fields.get("enterprise_id") == us.enterprise
    if fields.get("team_id") != us.team and not organisation:
        return Ignored("another workspace")
    asker = a_user(fields, "user_id")
    if asker is None:
        return Ignored("no person")
    return Asked(
        keys=(f"command:{an_id(fields, 'trigger_id')}",),
        asker=asker,
        asker_team=us.home,
        surface="command",
        channel=an_id(fields, "channel_id"),
        text=typed(fields.get("text", ""), us.user),
        reply_to=fields.get("response_url") or None,
    )
