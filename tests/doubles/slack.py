"""Slack on this machine: a workspace with users, channels and what is said in them, over the real Web API's shapes.

It keeps what everybody can see, so that a test can ask the one question that matters: `slack.seen_by("U0BEN")`. It
delivers events and commands signed as Slack does, also twice, late, in either order and with odd signatures. Whatever
is posted is judged by `problems_of`, which knows Slack's limits; a message that breaks one is refused as Slack would.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any
from urllib.parse import urlencode

import aiohttp
from aiohttp import web
from slack_sdk.signature import Clock, SignatureVerifier

from tests.doubles.slack_limits import TIERS, problems_of, problems_of_tasks, problems_of_view, shown
from tests.doubles.slack_sockets import Sockets
from tests.doubles.web import served

__all__ = ["FakeSlack", "Said", "Sender", "problems_of", "shown"]

Json = dict[str, Any]
TEAM, APP, OUR_USER, OUR_BOT = "T0NORTHWIND", "A0FOOTNOTE", "U0FOOTNOTE", "B0FOOTNOTE"
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TOKEN = "xoxb-0000-footnote-test-token"
APP_TOKEN = "xapp-0000-footnote-test-token"
SCOPES = (
    "app_mentions:read assistant:write channels:read chat:write commands groups:read im:history im:read im:write "
    "mpim:read users:read"
).split()

_ARGUMENTS = {
    "auth.test": "",
    "conversations.info": "channel include_locale include_num_members",
    "conversations.members": "channel cursor limit",
    "conversations.open": "users channel return_im prevent_creation",
    "conversations.replies": "channel ts cursor limit include_all_metadata inclusive latest oldest",
    "users.info": "user include_locale",
    "chat.postMessage": (
        "channel text blocks attachments thread_ts reply_broadcast parse link_names unfurl_links unfurl_media metadata "
        "mrkdwn username icon_emoji icon_url markdown_text"
    ),
    "chat.postEphemeral": "channel user text blocks attachments thread_ts parse link_names username markdown_text",
    "chat.update": "channel ts text blocks attachments parse link_names metadata reply_broadcast markdown_text",
    "chat.delete": "channel ts",
    "assistant.threads.setStatus": "channel_id thread_ts status loading_messages",
    "conversations.history": "channel cursor limit include_all_metadata inclusive latest oldest",
    "users.list": "cursor limit include_locale team_id",
    "chat.startStream": (
        "channel thread_ts chunks markdown_text recipient_user_id recipient_team_id task_display_mode icon_emoji "
        "icon_url username"
    ),
    "chat.appendStream": "channel ts chunks markdown_text",
    "chat.stopStream": "channel ts chunks markdown_text blocks metadata session_status",
    "agents.sessions.setStatus": "channel_id thread_ts status title initiator_user_id icon_emoji icon_url username",
    "apps.connections.open": "",
    "views.open": "trigger_id view",
    "views.publish": "user_id view hash",
}
_NEEDS = {
    "conversations.open": "im:write",
    "conversations.replies": "im:history",
    "users.info": "users:read",
    "chat.postMessage": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "chat.startStream": "chat:write",
    "chat.appendStream": "chat:write",
    "chat.stopStream": "chat:write",
    "agents.sessions.setStatus": "chat:write",
    "users.list": "users:read",
    "conversations.history": "im:history",
    "assistant.threads.setStatus": "chat:write",
}
_READ_ONLY_FORMS = frozenset(
    {
        *("conversations.info", "conversations.members", "conversations.replies", "conversations.history"),
        *("users.info", "users.list"),
    }
)
STREAM_SECONDS = 300.0  # after which Slack closes a stream, fed or not
TRIGGER_SECONDS = 3.0


# ---------------------------------------------------------------- the workspace


@dataclass(slots=True)
class Said:
    """One message as it stands in a conversation."""

    channel: str
    ts: str
    user: str
    content: Json
    thread: str | None = None
    to: str | None = None  # whom alone it is shown to
    deleted: bool = False
    streaming: bool = False
    since: float = 0.0
    stopped: bool = False  # by somebody who pressed Stop
    tasks: dict[str, tuple[str, str]] = field(default_factory=dict)  # title and state, by id

    @property
    def words(self) -> str:
        if self.streaming or not (self.content.get("blocks") or self.content.get("text")):
            return "\n".join(f"{title} ({state})" for title, state in self.tasks.values())
        return shown(self.content)

    @property
    def mark(self) -> str | None:
        """The name that the product gave it."""
        payload = (self.content.get("metadata") or {}).get("event_payload") or {}
        return payload.get("id")

    def element(self, action: str) -> Json:
        """A button of it, by its action."""
        for block in self.content.get("blocks") or ():
            for each in block.get("elements", ()):
                if each.get("action_id") == action:
                    return dict(each)
        raise AssertionError(f"nothing to press for {action!r}: {self.content}")


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it came in."""

    method: str
    arguments: Mapping[str, Any]


class Refused(Exception):
    """What Slack says in place of an answer."""

    def __init__(self, error: str, **more: Any) -> None:
        super().__init__(error)
        self.content = {"ok": False, "error": error, **more}


@dataclass(slots=True)
class FakeSlack:
    """The workspace, and the server that it is reached at."""

    page: int = 2  # members of a page, so that paging happens
    enterprise: str | None = None  # the organisation of several workspaces that the workspace is of
    org_wide: bool = False  # installed in all of it, and so in no workspace
    scopes: set[str] = field(default_factory=lambda: set(SCOPES))
    users: dict[str, Json] = field(default_factory=dict)
    channels: dict[str, Json] = field(default_factory=dict)
    inside: dict[str, list[str]] = field(default_factory=dict)
    said: list[Said] = field(default_factory=list)
    answers: dict[str, list[Json]] = field(default_factory=lambda: defaultdict(list))  # to commands, by user
    statuses: list[tuple[str, str, str]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # what the checker found
    budget: dict[str, int] = field(default_factory=dict)  # calls of a method before the next one is a 429
    url: str = ""
    on_call: Any = None  # told of each call before it is carried out; may be a coroutine function
    tiers: bool = False  # whether calls are counted, and more than a tier allows refused
    lost: list[str] = field(default_factory=list)  # methods that are carried out next and whose answer never arrives
    stays_out: set[str] = field(default_factory=set)  # full members who open no channel that they are not in
    overloaded: list[str] = field(default_factory=list)  # methods that are carried out next and answered with a 503
    on_said: Any = None  # told of each message as it lands or changes, with those who see it
    passed: float = 0.0  # seconds that tests let pass
    sessions: list[tuple[str, str, str]] = field(default_factory=list)  # channel, thread, status
    views: list[tuple[str, Json]] = field(default_factory=list)  # forms that were opened, and before whom
    homes: dict[str, Json] = field(default_factory=dict)
    sockets: Sockets = field(default_factory=Sockets)
    _triggers: dict[str, tuple[str, float]] = field(default_factory=dict)
    _called: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))
    _faults: dict[str, deque[web.Response]] = field(default_factory=lambda: defaultdict(deque))
    _addresses: dict[str, list[Any]] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: count(1))

    def now(self) -> float:
        """Slack's own time, in seconds."""
        return time.monotonic() + self.passed

    @property
    def home(self) -> str:
        """Within what a user's id names one person."""
        return self.enterprise or TEAM

    def __post_init__(self) -> None:
        self.user(OUR_USER, is_bot=True)

    # ------------------------------------------------------------ people and places

    def user(self, name: str, **flags: Any) -> str:
        """Somebody with an account; a full member unless flags say otherwise."""
        plain = {"is_bot": False, "deleted": False, "is_restricted": False, "is_ultra_restricted": False}
        organisation = {"enterprise_user": {"enterprise_id": self.enterprise}} if self.enterprise else {}
        self.users[name] = {"id": name, "team_id": TEAM, "is_stranger": False, **plain, **organisation, **flags}
        return name

    def channel(self, name: str, *members: str, **flags: Any) -> str:
        """A channel with these members and ourselves; public unless flags say otherwise."""
        plain = dict.fromkeys(("is_im", "is_mpim", "is_private", "is_shared", "is_ext_shared", "is_org_shared"), False)
        pending: Json = {"is_pending_ext_shared": False, "pending_shared": [], "is_archived": False}
        self.channels[name] = {"id": name, **plain, **pending, **flags}
        self.inside[name] = [OUR_USER, *members]
        return name

    def direct(self, user: str) -> str:
        """The direct message between somebody and ourselves."""
        name = f"D{user[1:]}"
        if name not in self.channels:
            self.channels[name] = {"id": name, "is_im": True, "user": user, "is_org_shared": False}
            self.inside[name] = [OUR_USER, user]
        return name

    # ------------------------------------------------------------ what people see

    def seen_by(self, user: str) -> list[str]:
        """The words of everything of ours that this person can see, in order; a public channel is open to members."""
        sees = []
        for each in self.said:
            public = not any(self.channels[each.channel].get(flag) for flag in ("is_im", "is_mpim", "is_private"))
            may = user in self.inside[each.channel] or (public and not self.users[user]["is_restricted"])
            if may and each.to in (None, user) and not each.deleted:
                sees.append(each.words)
        return sees + [shown(each) for each in self.answers[user]]

    def everything(self) -> str:
        """Every word that ever came in."""
        return json.dumps([[call.method, dict(call.arguments)] for call in self.calls], ensure_ascii=False)

    def to(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    # ------------------------------------------------------------ what goes wrong

    def next(self, method: str, *statuses: int, retry_after: int | None = None, body: Json | None = None) -> None:
        """The next calls of a method are answered so."""
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        for status in statuses:
            content = body or {"ok": False, "error": "ratelimited" if status == 429 else "internal_error"}
            self._faults[method].append(web.json_response(content, status=status, headers=headers))

    # ------------------------------------------------------------ serving

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        """Serve; gives the address of the API."""
        routes = {f"/api/{method}": self._serve for method in _ARGUMENTS}
        more = {"/commands/{key}": self._respond, "/socket/{ticket}": self.sockets.connect}
        async with served({**routes, **more}) as origin:
            self.url = origin
            self.sockets.url = origin.replace("http", "ws", 1)
            yield f"{origin}/api"
            await self.sockets.close()

    async def _serve(self, request: web.Request) -> web.Response:
        method = request.path.rpartition("/")[2]
        arguments = await _arguments(request, method)
        self.calls.append(Call(method, arguments))
        if self.on_call is not None:
            made = self.on_call(method, arguments)
            if asyncio.iscoroutine(made):
                await made
        if self._faults[method]:
            return self._faults[method].popleft()
        if method in self.budget:
            self.budget[method] -= 1
            if self.budget[method] < 0:
                del self.budget[method]
                limited = {"ok": False, "error": "ratelimited"}
                return web.json_response(limited, status=429, headers={"Retry-After": "1"})
        if (wait := self._too_often(method, arguments)) is not None:
            limited = {"ok": False, "error": "ratelimited"}
            return web.json_response(limited, status=429, headers={"Retry-After": str(wait)})
        headers = {"X-OAuth-Scopes": ",".join(sorted(self.scopes))}
        try:
            token = APP_TOKEN if method == "apps.connections.open" else TOKEN
            if request.headers.get("Authorization") != f"Bearer {token}":
                raise Refused("invalid_auth")
            if (needed := _NEEDS.get(method)) and needed not in self.scopes:
                raise Refused("missing_scope", needed=needed, provided=",".join(self.scopes))
            unknown = set(arguments) - set(_ARGUMENTS[method].split())
            if unknown:
                raise Refused("invalid_arguments", response_metadata={"messages": sorted(unknown)})
            answer = getattr(self, "_" + method.replace(".", "_"))(arguments)
        except Refused as refusal:
            return web.json_response(refusal.content, headers=headers)
        self._landed(method, arguments)
        if method in self.overloaded:
            self.overloaded.remove(method)
            return _overloaded()
        if method in self.lost:
            self.lost.remove(method)
            assert request.transport is not None
            request.transport.close()
        return web.json_response({"ok": True, **answer}, headers=headers)

    def _landed(self, method: str, arguments: Json) -> None:
        if self.on_said is None or not method.startswith("chat.") or method == "chat.delete":
            return
        said = [each for each in self.said if each.channel == arguments["channel"]]
        ts = arguments.get("ts")
        each = next((each for each in said if each.ts == ts), said[-1])
        self.on_said(each.words, self.viewers(each))

    def viewers(self, said: Said) -> set[str]:
        """Who sees it: the one it is shown to, else all who are in the place, and in a public one every full member."""
        if said.to is not None:
            return {said.to}
        viewers = {who for who in self.inside[said.channel] if who != OUR_USER}
        if not any(self.channels[said.channel].get(flag) for flag in ("is_im", "is_mpim", "is_private")):
            for who, flags in self.users.items():
                outside = flags["is_bot"] or flags["deleted"] or flags["is_stranger"] or flags["team_id"] != TEAM
                guest = flags["is_restricted"] or flags["is_ultra_restricted"]
                if not outside and not guest and who not in self.stays_out:
                    viewers.add(who)
        return viewers

    def _too_often(self, method: str, arguments: Json) -> int | None:
        """The seconds to wait, where a tier is used up."""
        if not self.tiers:
            return None
        post = method == "chat.postMessage"
        key = f"{method} {arguments.get('channel')}" if post else method
        allowed, window = (1, 1.0) if post else (TIERS.get(method, 100), 60.0)
        calls = self._called[key]
        while calls and calls[0] <= self.now() - window:
            calls.popleft()
        if len(calls) >= allowed:
            return max(1, round(calls[0] + window - self.now() + 0.5))
        calls.append(self.now())
        return None

    async def _respond(self, request: web.Request) -> web.Response:
        known = self._addresses.get(request.match_info["key"])
        if known is None or known[1] <= 0:
            return web.json_response({"ok": False, "error": "used_url"}, status=404)
        known[1] -= 1
        message = await request.json()
        self.calls.append(Call("respond", message))
        if bad := problems_of(message):
            self.refused += bad
            return web.json_response({"ok": False, "error": "invalid_blocks"}, status=400)
        assert message["response_type"] == "ephemeral", "answers to commands are for the person who gave it"
        self._previewed(message)
        self.answers[known[0]].append(message)
        if self.on_said is not None:
            self.on_said(shown(message), {known[0]})
        if "respond" in self.overloaded:
            self.overloaded.remove("respond")
            return _overloaded()
        if "respond" in self.lost:
            self.lost.remove("respond")
            assert request.transport is not None
            request.transport.close()
        return web.json_response({"ok": True})

    # ------------------------------------------------------------ methods

    def _auth_test(self, _: Json) -> Json:
        organisation = {"enterprise_id": self.enterprise} if self.enterprise else {}
        return {
            "url": "https://northwind.slack.com/",
            "team_id": self.enterprise if self.org_wide else TEAM,
            "user_id": OUR_USER,
            "bot_id": OUR_BOT,
            "is_enterprise_install": self.org_wide,
            **organisation,
        }

    def _conversations_info(self, asked: Json) -> Json:
        found = self.channels.get(asked["channel"])
        hidden = found is None or (found.get("is_private") and OUR_USER not in self.inside[asked["channel"]])
        if hidden:
            raise Refused("channel_not_found")
        if (needed := self._reading(asked["channel"])) not in self.scopes:
            raise Refused("missing_scope", needed=needed, provided="")
        return {"channel": found}

    def _reading(self, channel: str) -> str:
        flags = self.channels[channel]
        if flags.get("is_im"):
            return "im:read"
        if flags.get("is_mpim"):
            return "mpim:read"
        return "groups:read" if flags.get("is_private") else "channels:read"

    def _conversations_members(self, asked: Json) -> Json:
        self._conversations_info(asked)
        return self._paged(self.inside[asked["channel"]], "members", asked)

    def _paged(self, items: list[Any], name: str, asked: Json, most: int | None = None) -> Json:
        start = int((asked.get("cursor") or "at-0").removeprefix("at-"))
        end = start + min(most or self.page, int(asked.get("limit", 100)))
        cursor = f"at-{end}" if end < len(items) else ""
        return {name: items[start:end], "response_metadata": {"next_cursor": cursor}}

    def _conversations_open(self, asked: Json) -> Json:
        if asked["users"] not in self.users:
            raise Refused("user_not_found")
        if self.users[asked["users"]]["is_bot"]:
            raise Refused("cannot_dm_bot")
        return {"channel": {"id": self.direct(asked["users"])}}

    def _conversations_replies(self, asked: Json) -> Json:
        if not self.channels.get(asked["channel"], {}).get("is_im"):
            raise Refused("missing_scope", needed="channels:history", provided="")
        thread = [
            {"ts": each.ts, "user": each.user, "text": each.content.get("text"), **_metadata(each, asked)}
            for each in self.said
            if each.channel == asked["channel"]
            and each.to is None
            and asked["ts"] in (each.thread, each.ts)
            and not each.deleted
        ]
        return self._paged([{"ts": asked["ts"], "user": "?", "text": "?"}, *thread], "messages", asked)

    def _conversations_history(self, asked: Json) -> Json:
        if not self.channels.get(asked["channel"], {}).get("is_im"):
            raise Refused("missing_scope", needed="channels:history", provided="")
        latest = [
            {"ts": each.ts, "user": each.user, "text": each.content.get("text"), **_metadata(each, asked)}
            for each in reversed(self.said)
            if each.channel == asked["channel"] and each.to is None and each.thread is None and not each.deleted
        ]
        return self._paged(latest, "messages", asked)

    def _users_list(self, asked: Json) -> Json:
        return self._paged(list(self.users.values()), "members", asked, most=1_000)

    def _users_info(self, asked: Json) -> Json:
        if asked["user"] not in self.users:
            raise Refused("user_not_found")
        return {"user": self.users[asked["user"]]}

    def _chat_postMessage(self, asked: Json) -> Json:  # noqa: N802 - named after the method
        self._may_speak(asked, asked["channel"])
        self._previewed(asked)
        return self._keep(asked, None)

    def _previewed(self, asked: Json) -> None:
        if asked.get("unfurl_links") is not False or asked.get("unfurl_media") is not False:
            self.refused.append("addresses in the message would be looked at for a preview")

    def _chat_postEphemeral(self, asked: Json) -> Json:  # noqa: N802 - named after the method
        self._may_speak(asked, asked["channel"])
        if asked["user"] not in self.inside[asked["channel"]]:
            raise Refused("user_not_in_channel")
        kept = self._keep(asked, asked["user"])
        return {"message_ts": kept["ts"]}

    def _chat_update(self, asked: Json) -> Json:
        said = self._found(asked)
        if self._is_streaming(said):
            raise Refused("streaming_state_conflict")
        self._may_speak(asked, asked["channel"])
        said.content = asked
        return {"channel": said.channel, "ts": said.ts}

    def _chat_delete(self, asked: Json) -> Json:
        self._found(asked).deleted = True
        return {}

    def _found(self, asked: Json) -> Said:
        for each in self.said:
            if (each.channel, each.ts, each.to) == (asked["channel"], asked["ts"], None) and not each.deleted:
                return each
        raise Refused("message_not_found")

    # ------------------------------------------------------------ streams

    def _is_streaming(self, said: Said) -> bool:
        if said.streaming and self.now() - said.since >= STREAM_SECONDS:
            said.streaming = False
        return said.streaming

    def _chat_startStream(self, asked: Json) -> Json:  # noqa: N802 - named after the method
        channel = asked["channel"]
        self._may_speak({"text": "-", "parse": "none", "link_names": False}, channel)
        if not asked.get("thread_ts"):
            raise Refused("invalid_thread_ts")
        if not self.channels[channel].get("is_im"):
            for name in ("recipient_team_id", "recipient_user_id"):
                if not asked.get(name):
                    raise Refused(f"missing_{name}")
        kept = self._keep({}, None, channel, asked["thread_ts"])
        self.said[-1].streaming, self.said[-1].since = True, self.now()
        self._tasks(self.said[-1], asked)
        return kept

    def _tasks(self, said: Said, asked: Json) -> None:
        if bad := problems_of_tasks(asked.get("chunks")):
            self.refused += bad
            raise Refused("invalid_chunks")
        for chunk in asked.get("chunks") or ():
            said.tasks[chunk["id"]] = (chunk["title"], chunk["status"])

    def _streamed(self, asked: Json) -> Said:
        said = self._found(asked)
        if said.stopped:
            raise Refused("stopped_by_user")
        if not self._is_streaming(said):
            raise Refused("message_not_in_streaming_state")
        return said

    def _chat_appendStream(self, asked: Json) -> Json:  # noqa: N802 - named after the method
        said = self._streamed(asked)
        self._tasks(said, asked)
        return {"channel": said.channel, "ts": said.ts}

    def _chat_stopStream(self, asked: Json) -> Json:  # noqa: N802 - named after the method
        said = self._streamed(asked)
        self._tasks(said, asked)
        if bad := problems_of({"text": "-", **asked}):
            self.refused += bad
            raise Refused("invalid_blocks")
        said.streaming = False
        said.content = asked
        return {"channel": said.channel, "ts": said.ts}

    def _agents_sessions_setStatus(self, asked: Json) -> Json:  # noqa: N802 - named after the method
        if asked["status"] not in ("active", "processing", "suspended", "closed"):
            raise Refused("invalid_arguments")
        self.sessions.append((asked["channel_id"], asked["thread_ts"], asked["status"]))
        return {"status": asked["status"]}

    def _apps_connections_open(self, _: Json) -> Json:
        return {"url": self.sockets.ticket()}

    def _assistant_threads_setStatus(self, asked: Json) -> Json:  # noqa: N802 - named after the method
        self.statuses.append((asked["channel_id"], asked["thread_ts"], asked["status"]))
        return {}

    def _views_open(self, asked: Json) -> Json:
        user, at = self._triggers.pop(asked["trigger_id"], ("", 0.0))
        if not user or self.now() - at > TRIGGER_SECONDS:
            raise Refused("expired_trigger_id")
        self._viewed(asked["view"])
        view = {"id": f"V{next(self._numbers):06d}", **asked["view"]}
        self.views.append((user, view))
        return {"view": view}

    def _views_publish(self, asked: Json) -> Json:
        self._viewed(asked["view"])
        self.homes[asked["user_id"]] = asked["view"]
        return {"view": asked["view"]}

    def _viewed(self, view: Json) -> None:
        if bad := problems_of_view(view):
            self.refused += bad
            raise Refused("invalid_arguments", response_metadata={"messages": bad})

    def _may_speak(self, asked: Json, channel: str) -> None:
        if channel not in self.channels:
            raise Refused("channel_not_found")
        if OUR_USER not in self.inside[channel]:
            raise Refused("not_in_channel")
        if self.channels[channel].get("is_archived"):
            raise Refused("is_archived")
        if bad := problems_of(asked):
            self.refused += bad
            raise Refused("invalid_blocks")
        if asked.get("parse") != "none" or asked.get("link_names") is not False:
            self.refused.append("the text would be parsed for names and links")

    def _keep(self, asked: Json, to: str | None, channel: str = "", thread: str | None = None) -> Json:
        said = Said(channel or asked["channel"], self.ts(), OUR_USER, asked, thread or asked.get("thread_ts"), to)
        self.said.append(said)
        return {"channel": said.channel, "ts": said.ts}

    def ts(self) -> str:
        """A time stamp that no message had before."""
        return f"1772442000.{next(self._numbers):06d}"

    # ------------------------------------------------------------ what people do

    def mention(self, user: str, channel: str, text: str, *, thread: str | None = None, **more: Any) -> Json:
        """The delivery of a mention."""
        event = {"type": "app_mention", "user": user, "channel": channel, "text": f"<@{OUR_USER}> {text}"}
        return self.delivery({**event, "ts": self.ts(), **({"thread_ts": thread} if thread else {}), **more})

    def message(self, user: str, text: str, *, thread: str | None = None, **more: Any) -> Json:
        """The delivery of a direct message to us."""
        event = {"type": "message", "channel_type": "im", "user": user, "channel": self.direct(user), "text": text}
        return self.delivery({**event, "ts": self.ts(), **({"thread_ts": thread} if thread else {}), **more})

    def twin(self, delivery: Json) -> Json:
        """The same message as Slack delivers it besides a mention, under another event id."""
        event = {**delivery["event"], "type": "message", "channel_type": "channel"}
        return self.delivery(event)

    def delivery(self, event: Json, **outer: Any) -> Json:
        """An event in its envelope."""
        number = next(self._numbers)
        return {
            "type": "event_callback",
            "team_id": TEAM,
            "api_app_id": APP,
            "event_id": f"Ev{number:08d}",
            "event_time": 1772442000,
            "authorizations": [
                {
                    "enterprise_id": self.enterprise,
                    "team_id": None if self.org_wide else TEAM,
                    "user_id": OUR_USER,
                    "is_bot": True,
                    "is_enterprise_install": self.org_wide,
                }
            ],
            "is_ext_shared_channel": False,
            "event": {"team": TEAM, **event},
            **outer,
        }

    def command(self, user: str, text: str, channel: str = "C0ELSEWHERE", **more: str) -> dict[str, str]:
        """The form of a command."""
        return {
            "token": "old-verification-token",
            "team_id": TEAM,
            "team_domain": "northwind",
            **({"enterprise_id": self.enterprise} if self.enterprise else {}),
            "channel_id": channel,
            "channel_name": "directmessage",
            "user_id": user,
            "user_name": "somebody",
            "command": "/footnote",
            "text": text,
            **({"enterprise_id": self.enterprise} if self.enterprise else {}),
            "api_app_id": APP,
            "response_url": self._address(user),
            "trigger_id": self._trigger(user),
            **more,
        }

    def _address(self, user: str) -> str:
        key = f"{user}-{next(self._numbers)}"
        self._addresses[key] = [user, 5]
        return f"{self.url}/commands/{key}"

    def _trigger(self, user: str) -> str:
        trigger = f"13345224609.{next(self._numbers)}.8fd"
        self._triggers[trigger] = (user, self.now())
        return trigger

    def press(self, user: str, said: Said | Json, action: str, verdict: str = "", **forged: Any) -> dict[str, str]:
        """The form of a press on a button of a message. `verdict`: which of two feedback buttons."""
        message = said if isinstance(said, Said) else Said("", "", OUR_USER, said, to=user)
        element = message.element(action)
        if verdict:
            element = {**element, **element[f"{verdict}_button"]}
        pressed = {"type": element["type"], "action_id": action, "value": element["value"], **forged}
        payload = {
            "type": "block_actions",
            **self._who(user),
            "actions": [{**pressed, "action_ts": self.ts()}],
            "channel": {"id": message.channel or "C0ELSEWHERE", "name": "somewhere"},
            "container": {"type": "message", "message_ts": message.ts, "is_ephemeral": message.to is not None},
            "response_url": self._address(user),
        }
        return {"payload": json.dumps(payload)}

    def about(self, user: str, channel: str, text: str, ts: str = "", **more: Any) -> dict[str, str]:
        """The form of the message shortcut."""
        payload = {
            "type": "message_action",
            "callback_id": "ask_about_message",
            **self._who(user),
            "channel": {"id": channel, "name": "somewhere"},
            "message": {"type": "message", "text": text, "ts": ts or self.ts(), **more},
        }
        return {"payload": json.dumps(payload)}

    def submit(self, user: str, view: Json, words: str = "", reasons: tuple[str, ...] = ()) -> dict[str, str]:
        """The form of a form that was sent off."""
        options = [{"text": {"type": "plain_text", "text": "-"}, "value": each} for each in reasons]
        values = {
            "b1": {"words": {"type": "plain_text_input", "value": words or None}},
            "b2": {"reasons": {"type": "checkboxes", "selected_options": options}},
        }
        payload = {"type": "view_submission", **self._who(user), "view": {**view, "state": {"values": values}}}
        return {"payload": json.dumps(payload)}

    def _who(self, user: str) -> Json:
        team = self.users[user]["team_id"] if user in self.users else TEAM
        return {
            "team": {"id": TEAM, "domain": "northwind"},
            "enterprise": {"id": self.enterprise, "name": "Northwind"} if self.enterprise else None,
            "user": {"id": user, "username": "somebody", "team_id": team},
            "api_app_id": APP,
            "trigger_id": self._trigger(user),
        }

    def opens_home(self, user: str, tab: str = "home") -> Json:
        """The delivery of somebody looking at the app."""
        return self.delivery({"type": "app_home_opened", "user": user, "channel": self.direct(user), "tab": tab})

    def stops(self, user: str, channel: str, thread: str) -> Json:
        """Somebody presses Stop: Slack ends the streams there at once, and tells."""
        under_way = [each for each in self.said if (each.channel, each.thread) == (channel, thread) and each.streaming]
        for each in under_way:
            each.streaming, each.stopped = False, True
        event = {"type": "agent_session_stopped", "user": user, "channel": channel, "thread_ts": thread}
        return self.delivery({**event, "streaming_message_ts": [each.ts for each in under_way], "event_ts": self.ts()})

    def in_channel(self, channel: str) -> list[Said]:
        """What of ours stands in a conversation."""
        return [each for each in self.said if each.channel == channel and not each.deleted]


async def _arguments(request: web.Request, method: str) -> Json:
    if request.method == "GET":
        return dict(request.query)
    if request.content_type == "application/json":
        assert method not in _READ_ONLY_FORMS, f"{method} does not read JSON"
        return dict(await request.json())
    return dict(await request.post())


def _overloaded() -> web.Response:
    return web.json_response({"ok": False, "error": "service_unavailable"}, status=503, headers={"Retry-After": "1"})


def _metadata(said: Said, asked: Json) -> Json:
    wanted = asked.get("include_all_metadata") == "true" and "metadata" in said.content
    return {"metadata": said.content["metadata"]} if wanted else {}


# ---------------------------------------------------------------- sending


class _At(Clock):
    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        return self._now


@dataclass(slots=True)
class Sender:
    """Sends to a product's address what Slack would, signed with Slack's own code."""

    address: str
    now: Callable[[], datetime]
    secret: str = SECRET
    results: Counter[int] = field(default_factory=Counter)

    def headers(self, body: bytes, at: float | None = None) -> dict[str, str]:
        """A signature as of then."""
        moment = self.now().timestamp() if at is None else at
        stamp = str(int(moment))
        signature = SignatureVerifier(self.secret, _At(moment)).generate_signature(timestamp=stamp, body=body)
        assert signature is not None
        return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature}

    async def event(self, delivery: Json, *, retry: int = 0, **headers: str) -> tuple[int, str]:
        """Deliver an event; `retry` as Slack counts its repetitions."""
        repeated = {"X-Slack-Retry-Num": str(retry), "X-Slack-Retry-Reason": "http_timeout"} if retry else {}
        body = json.dumps(delivery).encode()
        return await self.raw(body, {"Content-Type": "application/json", **self.headers(body), **repeated, **headers})

    async def form(self, fields: Mapping[str, str]) -> tuple[int, str]:
        """Send a command, or an interaction."""
        body = urlencode(fields).encode()
        return await self.raw(body, {"Content-Type": "application/x-www-form-urlencoded", **self.headers(body)})

    async def raw(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
        """Send these bytes; gives the status and the body of the answer."""
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.address}/slack/events", data=body, headers=headers) as answer,
        ):
            self.results[answer.status] += 1
            return answer.status, await answer.text()
