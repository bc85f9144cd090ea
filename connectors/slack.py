"""Slack's Web API over plain HTTP: the few methods that answering needs, each error as one of ours.

Every answer is looked at with distrust: what Slack did not say in so many words counts against the place or the
person. No message of an error holds a token, a text or an address that came with a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from yarl import URL

from connectors.chat import Account, Message, Room, Task, View, Workspace
from connectors.errors import Skip, Stop, Transient
from connectors.http import RETRIED, Answer, Limits, Site
from connectors.slack_reading import (
    NO_PREVIEWS,
    account,
    checked,
    kind,
    mark_of,
    marked,
    said,
    tasks,
    text,
    threaded,
    worded,
)

METHODS = {
    "auth.test": (),
    "conversations.info": ("channels:read", "groups:read", "im:read", "mpim:read"),
    "conversations.members": ("channels:read", "groups:read", "im:read", "mpim:read"),
    "conversations.open": ("im:write",),
    "conversations.replies": ("im:history",),  # in direct messages alone
    "conversations.history": ("im:history",),  # in direct messages alone
    "users.info": ("users:read",),
    "users.list": ("users:read",),
    "chat.postMessage": ("chat:write",),
    "chat.postEphemeral": ("chat:write",),
    "chat.update": ("chat:write",),
    "chat.delete": ("chat:write",),
    "chat.startStream": ("chat:write",),
    "chat.appendStream": ("chat:write",),
    "chat.stopStream": ("chat:write",),
    "assistant.threads.setStatus": ("chat:write",),
    "agents.sessions.setStatus": ("chat:write",),
    "views.open": (),
    "views.publish": (),
}
"""What is asked of Slack, and the scopes that it takes."""

SCOPES = frozenset(scope for scopes in METHODS.values() for scope in scopes) | {"app_mentions:read", "commands"}
"""What the app is installed with: nothing more, and nothing less."""

LIMITS = Limits(connect=5.0, idle=10.0, whole=45.0, attempts=4, longest_pause=20.0, largest=4_000_000)

_PAGE = 200
_MOST_PAGES = 10
_MANY = 1_000  # users of a page
_HOOKS = "https://hooks.slack.com"
_DOUBTFUL = RETRIED - {429}  # after these nobody knows whether something was done; what was is not done twice


class SlackWeb:
    """Port `Chat`, as an async context."""

    def __init__(self, base_url: str, token: str, limits: Limits = LIMITS) -> None:
        """`base_url`: Slack's API, or what stands in its place; then addresses for answers are at its host too."""
        self._api = Site("slack", base_url, limits)
        at_slack = (URL(base_url).host or "").endswith("slack.com")
        self._hooks = Site("slack", _HOOKS if at_slack else str(URL(base_url).origin()), limits)
        self._token = token
        self._workspace: Workspace | None = None
        self._asking = asyncio.Lock()

    async def __aenter__(self) -> SlackWeb:
        await self._api.__aenter__()
        await self._hooks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._hooks.__aexit__(kind, error, trace)
        await self._api.__aexit__(kind, error, trace)

    async def workspace(self) -> Workspace:
        """Who we are; asked once."""
        async with self._asking:
            if self._workspace is None:
                answer, headers = await self._call("auth.test", {}, repeatable=True)
                given = {each for part in headers.get("x-oauth-scopes", "").split(",") if (each := part.strip())}
                lacking = frozenset(SCOPES - given) if given else frozenset()
                whole = answer.get("enterprise_id")
                enterprise = whole if isinstance(whole, str) and whole else None
                # Installed in a whole organisation we are in no workspace: the organisation stands for it.
                team = enterprise if answer.get("is_enterprise_install") is True and enterprise else ""
                self._workspace = Workspace(
                    team or text(answer, "team_id"), text(answer, "user_id"), lacking, enterprise
                )
            return self._workspace

    async def room(self, channel: str) -> Room:
        """A conversation as it is now."""
        answer, _ = await self._read("conversations.info", {"channel": channel})
        found = answer.get("channel")
        if not isinstance(found, dict) or found.get("id") != channel:
            raise Transient("slack told of another conversation than asked")
        partner = found.get("user")
        return Room(channel, kind(found), partner if isinstance(partner, str) else None)

    async def members(self, channel: str, most: int) -> Sequence[str] | None:
        """The ids of everybody in it; None when they are more than `most`."""
        found: dict[str, None] = {}
        cursor = ""
        for _ in range(max(_MOST_PAGES, most // _PAGE + 2)):
            asked = {"channel": channel, "limit": str(_PAGE), **({"cursor": cursor} if cursor else {})}
            answer, _headers = await self._read("conversations.members", asked)
            page = answer.get("members")
            if not isinstance(page, list) or not all(isinstance(each, str) for each in page):
                raise Transient("slack did not tell who is in a conversation")
            found.update(dict.fromkeys(page))
            if len(found) > most:
                return None
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return list(found)
        raise Transient("slack has no last page of who is in a conversation")

    async def account(self, user: str) -> Account:
        """A user as he is now."""
        answer, _ = await self._read("users.info", {"user": user})
        found = answer.get("user")
        if not isinstance(found, dict) or found.get("id") != user:
            raise Transient("slack told of another user than asked")
        return account(user, found)

    async def people(self, most: int) -> Sequence[Account] | None:
        """Everybody with an account; None when they are more than `most`."""
        found: dict[str, Account] = {}
        cursor = ""
        for _ in range(most // _MANY + 2):
            asked = {"limit": str(_MANY), **({"cursor": cursor} if cursor else {})}
            answer, _headers = await self._read("users.list", asked)
            page = answer.get("members")
            if not isinstance(page, list) or not all(isinstance(each, dict) and each.get("id") for each in page):
                raise Transient("slack did not tell who has an account")
            found.update({each["id"]: account(each["id"], each) for each in page})
            if len(found) > most:
                return None
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return list(found.values())
        return None

    async def say(self, channel: str, thread: str | None, message: Message) -> str:
        """For everybody in the conversation; gives its time stamp."""
        answer, _ = await self._call("chat.postMessage", {"channel": channel, **threaded(thread), **said(message)})
        return str(answer.get("ts") or "")

    async def change(self, channel: str, ts: str, message: Message) -> None:
        """Another content in its place."""
        content = {**worded(message), **marked(message.mark)}
        await self._call("chat.update", {"channel": channel, "ts": ts, **content}, repeatable=True)

    async def take_back(self, channel: str, ts: str) -> None:
        """Gone, now or before."""
        with suppress(Skip):
            await self._call("chat.delete", {"channel": channel, "ts": ts}, repeatable=True)

    async def say_alone(self, channel: str, user: str, thread: str | None, message: Message) -> None:
        """For one person, within the conversation."""
        whom = {"channel": channel, "user": user, **threaded(thread)}
        await self._call("chat.postEphemeral", {**whom, **worded(message)})

    async def direct(self, user: str) -> str:
        """The direct message with one person."""
        answer, _ = await self._call("conversations.open", {"users": user}, repeatable=True)
        channel = answer.get("channel")
        if not isinstance(channel, dict) or not isinstance(channel.get("id"), str):
            raise Transient("slack opened no direct message")
        return str(channel["id"])

    async def say_direct(self, user: str, message: Message) -> None:
        """For one person, in the direct message with him."""
        await self.say(await self.direct(user), None, message)

    async def respond(self, address: str, message: Message) -> None:
        """To the person who gave a command. Skip when the address is not Slack's or has had its time."""
        said = {"response_type": "ephemeral", "replace_original": False, **worded(message), **NO_PREVIEWS}
        try:
            answer = _known("an answer", await self._hooks.request("POST", address, json=said, as_is=_DOUBTFUL))
        except Stop as error:
            raise Skip("a command came with an address that is not slack's") from error
        if not answer.ok:
            raise Skip(f"slack takes no more answers at a command's address ({answer.status})")

    async def said(self, channel: str, thread: str | None, mark: str) -> str | None:
        """The time stamp of the message with this mark, in a thread or of late at the top of a direct message."""
        for each in await self._there(channel, thread):
            if mark_of(each) == mark and isinstance(ts := each.get("ts"), str):
                return ts
        return None

    async def unmarked(self, channel: str, thread: str) -> Sequence[str]:
        """What we said in a thread of a direct message without a mark, but not what the thread stands under."""
        us = (await self.workspace()).user
        ours = [each for each in await self._there(channel, thread) if each.get("user") == us and mark_of(each) is None]
        return [ts for each in ours if isinstance(ts := each.get("ts"), str) and ts not in ("", thread)]

    async def _there(self, channel: str, thread: str | None) -> list[Mapping[str, Any]]:
        """The messages of a thread, or the latest at the top."""
        found: list[Mapping[str, Any]] = []
        asked = {"channel": channel, "limit": str(_PAGE), "include_all_metadata": "true"}
        cursor = ""
        for _ in range(_MOST_PAGES if thread is not None else 1):
            on = {"cursor": cursor} if cursor else {}
            if thread is None:
                answer, _headers = await self._read("conversations.history", asked)
            else:
                answer, _headers = await self._read("conversations.replies", {**asked, "ts": thread, **on})
            found += [each for each in answer.get("messages") or () if isinstance(each, dict)]
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                break
        return found

    async def status(self, channel: str, thread: str, text: str) -> None:
        """What we are doing, under the thread."""
        asked = {"channel_id": channel, "thread_ts": thread, "status": text}
        await self._call("assistant.threads.setStatus", asked, repeatable=True)

    async def working(self, channel: str, thread: str, user: str, busy: bool) -> None:
        """A Stop button while we work."""
        state = {"status": "processing", "initiator_user_id": user} if busy else {"status": "active"}
        asked = {"channel_id": channel, "thread_ts": thread, **state}
        await self._call("agents.sessions.setStatus", asked, repeatable=True)

    async def begin_stream(self, channel: str, thread: str, under_way: Sequence[Task]) -> str:
        """A message that shows tasks; its time stamp."""
        asked = {"channel": channel, "thread_ts": thread, "chunks": tasks(under_way), "task_display_mode": "timeline"}
        answer, _ = await self._call("chat.startStream", asked)
        return text(answer, "ts")

    async def stream(self, channel: str, ts: str, changed: Sequence[Task]) -> None:
        """The tasks changed."""
        await self._call("chat.appendStream", {"channel": channel, "ts": ts, "chunks": tasks(changed)})

    async def end_stream(self, channel: str, ts: str, changed: Sequence[Task], message: Message) -> None:
        """The stream is a whole message now."""
        asked = {"channel": channel, "ts": ts, "chunks": tasks(changed), "blocks": list(message.blocks)}
        await self._call("chat.stopStream", {**asked, **marked(message.mark)})

    async def show_view(self, trigger: str, view: View) -> None:
        """A form."""
        await self._call("views.open", {"trigger_id": trigger, "view": view})

    async def show_home(self, user: str, view: View) -> None:
        """A person's own page."""
        await self._call("views.publish", {"user_id": user, "view": view}, repeatable=True)

    # ------------------------------------------------------------ asking

    async def _read(self, method: str, params: Mapping[str, str]) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        answer = await self._api.get(method, params=params, headers=self._headers())
        return checked(method, answer), answer.headers

    async def _call(
        self, method: str, content: Mapping[str, Any], *, repeatable: bool = False
    ) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        """`repeatable`: doing it twice does no harm. Else it is done again only where Slack said that it was not."""
        doubtful = frozenset() if repeatable else _DOUBTFUL
        headers = self._headers()
        answer = await self._api.request(
            "POST", method, json=content, headers=headers, repeatable=repeatable, as_is=doubtful
        )
        return checked(method, answer if repeatable else _known(method, answer)), answer.headers

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"}


def _known(what: str, answer: Answer) -> Answer:
    """The answer, if it says whether it was done. Else a Transient that names no time: that would mean it was not."""
    if answer.status in _DOUBTFUL:
        raise Transient(f"slack did not say whether it took {what} ({answer.status})")
    return answer
