"""What people do with what they see: buttons, forms, the message shortcut, their own page. Pure: a payload in, a value
out.

A button carries the name of what it stands under and nothing else; it comes back through the presser's hands and is
worth nothing without his being the one whom it was made for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bot.slack.reading import Malformed, a_user, an_id, an_object, typed, words
from connectors.chat import Workspace

SHARE, FEEDBACK, DELETE, REASONS, ASK = "share", "feedback", "delete", "reasons", "ask_about_message"
ADD: Literal["source_add"] = "source_add"
LONGEST_WORDS = 500  # characters that a person may add to a rating
_LONGEST_TEXT = 3_000  # characters of a message that is asked about
_MOST_REASONS = 10
_MOST_FIELDS = 20  # of a form for a source

Deed = Literal["share", "good", "bad", "delete", "not me", "confirm"]
"""What a button does; the last two stand under notices and commands, and are done where these are."""


@dataclass(frozen=True, slots=True)
class Pressed:
    """Somebody pressed a button under an answer."""

    keys: tuple[str, ...]
    asker: str
    asker_team: str
    deed: Deed
    name: str  # of the exchange, as the button had it
    channel: str = ""
    reply_to: str | None = None
    trigger: str = ""

    @property
    def account(self) -> str:
        """The account as the directory knows it."""
        return f"slack:{self.asker_team}:{self.asker}"


@dataclass(frozen=True, slots=True)
class Submitted:
    """Somebody sent a form off."""

    keys: tuple[str, ...]
    asker: str
    asker_team: str
    form: Literal["reasons", "ask_about_message", "source_add"]
    name: str
    words: str
    reasons: tuple[str, ...] = ()

    @property
    def account(self) -> str:
        """The account as the directory knows it."""
        return f"slack:{self.asker_team}:{self.asker}"


@dataclass(frozen=True, slots=True)
class About:
    """Somebody wants to ask about a message."""

    asker: str
    asker_team: str
    channel: str
    thread: str  # the message, or the root of its thread
    text: str
    trigger: str

    @property
    def account(self) -> str:
        """The account as the directory knows it."""
        return f"slack:{self.asker_team}:{self.asker}"


@dataclass(frozen=True, slots=True)
class HomeOpened:
    """Somebody looks at his own page of the app."""

    keys: tuple[str, ...]
    asker: str
    asker_team: str

    @property
    def account(self) -> str:
        """The account as the directory knows it."""
        return f"slack:{self.asker_team}:{self.asker}"


@dataclass(frozen=True, slots=True)
class Stopped:
    """Somebody wants no answer any more."""

    asker: str
    channel: str
    thread: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing of ours was done; `why` is one of a few fixed words."""

    why: str


Interaction = Pressed | Submitted | About | Nothing


def interaction(payload: Mapping[str, Any], us: Workspace) -> Interaction:
    """What somebody did; raises Malformed."""
    user = an_object(payload.get("user"))
    team = _team(payload, user)
    if team != us.team and (us.enterprise is None or _enterprise(payload) != us.enterprise):
        return Nothing("another workspace")
    who = a_user(user, "id")
    if who is None:
        return Nothing("no person")
    team = us.home
    match payload.get("type"):
        case "block_actions":
            return _pressed(payload, who, team)
        case "view_submission":
            return _submitted(payload, who, team)
        case "message_action":
            return _about(payload, who, team, us)
        case _:
            return Nothing("interactivity")


def _team(payload: Mapping[str, Any], user: Mapping[str, Any]) -> str:
    given = user.get("team_id")
    if not isinstance(given, str):
        team = payload.get("team")
        given = team.get("id") if isinstance(team, dict) else None
    return given if isinstance(given, str) else ""


def _enterprise(payload: Mapping[str, Any]) -> str | None:
    enterprise = payload.get("enterprise")
    found = enterprise.get("id") if isinstance(enterprise, dict) else None
    return found if isinstance(found, str) else None


def _pressed(payload: Mapping[str, Any], who: str, team: str) -> Interaction:
    actions = payload.get("actions")
    if not isinstance(actions, list) or len(actions) != 1:
        raise Malformed("actions")
    action = an_object(actions[0])
    deed, name = _deed(action)
    if deed is None:
        return Nothing("another button")
    channel = payload.get("channel")
    trigger, reply_to = payload.get("trigger_id"), payload.get("response_url")
    return Pressed(
        keys=(f"press:{team}:{who}:{an_id(action, 'action_ts')}:{deed}:{name}",),
        asker=who,
        asker_team=team,
        deed=deed,
        name=name,
        channel=an_id(channel, "id") if isinstance(channel, dict) else "",
        reply_to=reply_to if isinstance(reply_to, str) and reply_to else None,
        trigger=trigger if isinstance(trigger, str) else "",
    )


_DEEDS = ("share", "delete", "link_not_me", "admin_confirm", "feedback")


def _deed(action: Mapping[str, Any]) -> tuple[Deed | None, str]:
    if action.get("action_id") not in _DEEDS:
        return None, ""  # such as a button that opens an address: Slack tells of it, without a value
    value = words(action, "value", 200)
    verdict, _, name = value.partition(" ")
    match action.get("action_id"), verdict:
        case "share", _:
            return "share", value
        case "delete", _:
            return "delete", value
        case "link_not_me", _:
            return "not me", value
        case "admin_confirm", _:
            return "confirm", value
        case "feedback", "good":
            return "good", name
        case "feedback", "bad":
            return "bad", name
        case _:
            return None, ""


def _submitted(payload: Mapping[str, Any], who: str, team: str) -> Interaction:
    view = an_object(payload.get("view"))
    form = view.get("callback_id")
    if form not in (REASONS, ASK, ADD):
        return Nothing("another form")
    state = an_object(an_object(view.get("state") or {}).get("values") or {})
    given = {key: field for block in state.values() for key, field in an_object(block).items()}
    if form == ADD:
        return Submitted(
            keys=(f"view:{team}:{an_id(view, 'id')}",),
            asker=who,
            asker_team=team,
            form=ADD,
            name=words(view, "private_metadata", 200),
            words=json.dumps({key: _typed_in(an_object(field)) for key, field in list(given.items())[:_MOST_FIELDS]}),
        )
    text = an_object(given.get("words") or {}).get("value")
    chosen = an_object(given.get("reasons") or {}).get("selected_options") or []
    reasons = [an_object(each).get("value") for each in chosen[:_MOST_REASONS]] if isinstance(chosen, list) else []
    return Submitted(
        keys=(f"view:{team}:{an_id(view, 'id')}",),
        asker=who,
        asker_team=team,
        form=form,
        name=words(view, "private_metadata", 200),
        words=text[:_LONGEST_TEXT] if isinstance(text, str) else "",
        reasons=tuple(each for each in reasons if isinstance(each, str)),
    )


def _typed_in(field: Mapping[str, Any]) -> str:
    """What stands in one field of a form: what was typed, or the one thing that was chosen."""
    chosen = field.get("selected_option")
    value = chosen.get("value") if isinstance(chosen, dict) else field.get("value")
    return value[:LONGEST_WORDS] if isinstance(value, str) else ""


def _about(payload: Mapping[str, Any], who: str, team: str, us: Workspace) -> Interaction:
    if payload.get("callback_id") != ASK:
        return Nothing("another shortcut")
    message = an_object(payload.get("message"))
    channel = an_object(payload.get("channel"))
    text = message.get("text")
    thread = "thread_ts" if message.get("thread_ts") else "ts"
    return About(
        asker=who,
        asker_team=team,
        channel=an_id(channel, "id"),
        thread=an_id(message, thread),
        text=typed(text[:_LONGEST_TEXT] if isinstance(text, str) else "", us.user),
        trigger=an_id(payload, "trigger_id"),
    )
