"""Slack's Web API over plain HTTP: the few methods that answering needs, each error as one of ours.

Every answer is looked at with distrust: what Slack did not say in so many words counts against the place or the
person. No message of an error holds a token, a text or an address that came with a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from yarl import URL

from connectors.chat import Account, Message, Room, Workspace
from connectors.errors import DoorError, Skip, Stop, Transient
from connectors.http import Limits, Site, refusal
from policies.audience import PlaceKind

METHODS = {
    "auth.test": (),
    "conversations.info": ("channels:read", "groups:read", "im:read", "mpim:read"),
    "conversations.members": ("channels:read", "groups:read", "im:read", "mpim:read"),
    "conversations.open": ("im:write",),
    "conversations.replies": ("im:history",),  # in direct messages alone
    "users.info": ("users:read",),
    "chat.postMessage": ("chat:write",),
    "chat.postEphemeral": ("chat:write",),
    "assistant.threads.setStatus": ("chat:write",),
}
"""What is asked of Slack, and the scopes that it takes."""

SCOPES = frozenset(scope for scopes in METHODS.values() for scope in scopes) | {"app_mentions:read", "commands"}
"""What the app is installed with: nothing more, and nothing less."""

LIMITS = Limits(connect=5.0, idle=10.0, whole=45.0, attempts=4, longest_pause=20.0, largest=4_000_000)

_PAGE = 200
_MOST_PAGES = 10
_HOOKS = "https://hooks.slack.com"
_TRANSIENT = frozenset(
    "ratelimited rate_limited internal_error fatal_error service_unavailable request_timeout "
    "team_added_to_org accesslimited".split()
)
_STOP = frozenset(
    "invalid_auth not_authed account_inactive token_revoked token_expired missing_scope no_permission "
    "not_allowed_token_type ekm_access_denied org_login_required team_access_not_granted access_denied".split()
)
_EVENT = "footnote_reply"


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
                answer, headers = await self._call("auth.test", {})
                given = {each for part in headers.get("x-oauth-scopes", "").split(",") if (each := part.strip())}
                lacking = frozenset(SCOPES - given) if given else frozenset()
                self._workspace = Workspace(_text(answer, "team_id"), _text(answer, "user_id"), lacking)
            return self._workspace

    async def room(self, channel: str) -> Room:
        """A conversation as it is now."""
        answer, _ = await self._read("conversations.info", {"channel": channel})
        found = answer.get("channel")
        if not isinstance(found, dict) or found.get("id") != channel:
            raise Transient("slack told of another conversation than asked")
        partner = found.get("user")
        return Room(channel, _kind(found), partner if isinstance(partner, str) else None)

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
        return Account(
            id=user,
            team=str(found.get("team_id") or ""),
            human=found.get("is_bot") is False and found.get("is_workflow_bot") is not True,
            active=found.get("deleted") is False,
            guest=found.get("is_restricted") is not False or found.get("is_ultra_restricted") is not False,
            stranger=bool(found.get("is_stranger")),
        )

    async def say(self, channel: str, thread: str | None, message: Message) -> None:
        """For everybody in the conversation."""
        await self._call("chat.postMessage", {"channel": channel, **_threaded(thread), **_said(message)})

    async def say_alone(self, channel: str, user: str, thread: str | None, message: Message) -> None:
        """For one person, within the conversation."""
        whom = {"channel": channel, "user": user, **_threaded(thread)}
        await self._call("chat.postEphemeral", {**whom, **_worded(message)})

    async def say_direct(self, user: str, message: Message) -> None:
        """For one person, in the direct message with him."""
        answer, _ = await self._call("conversations.open", {"users": user}, repeatable=True)
        channel = answer.get("channel")
        if not isinstance(channel, dict) or not isinstance(channel.get("id"), str):
            raise Transient("slack opened no direct message")
        await self.say(channel["id"], None, message)

    async def respond(self, address: str, message: Message) -> None:
        """To the person who gave a command. Skip when the address is not Slack's or has had its time."""
        said = {"response_type": "ephemeral", "replace_original": False, "text": message.text}
        if message.blocks:
            said["blocks"] = list(message.blocks)
        try:
            answer = await self._hooks.post(address, said)
        except Stop as error:
            raise Skip("a command came with an address that is not slack's") from error
        if not answer.ok:
            raise Skip(f"slack takes no more answers at a command's address ({answer.status})")

    async def said(self, channel: str, thread: str, mark: str) -> bool:
        """Whether a message with this mark is in a thread."""
        cursor = ""
        for _ in range(_MOST_PAGES):
            asked = {"channel": channel, "ts": thread, "limit": str(_PAGE), "include_all_metadata": "true"}
            answer, _headers = await self._read(
                "conversations.replies", {**asked, **({"cursor": cursor} if cursor else {})}
            )
            for each in answer.get("messages") or ():
                payload = (each.get("metadata") or {}).get("event_payload") or {}
                if payload.get("id") == mark:
                    return True
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return False
        return False

    async def status(self, channel: str, thread: str, text: str) -> None:
        """What we are doing, under the thread."""
        asked = {"channel_id": channel, "thread_ts": thread, "status": text}
        await self._call("assistant.threads.setStatus", asked, repeatable=True)

    # ------------------------------------------------------------ asking

    async def _read(self, method: str, params: Mapping[str, str]) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        answer = await self._api.get(method, params=params, headers=self._headers())
        return _checked(method, answer), answer.headers

    async def _call(
        self, method: str, content: Mapping[str, Any], *, repeatable: bool = False
    ) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        answer = await self._api.post(method, content, headers=self._headers(), repeatable=repeatable)
        return _checked(method, answer), answer.headers

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"}


def _checked(method: str, answer: Any) -> Mapping[str, Any]:
    if not answer.ok:
        raise refusal(answer, "FOOTNOTE_SLACK_BOT_TOKEN and FOOTNOTE_SLACK_API_URL")
    content = answer.json()
    if not isinstance(content, dict):
        raise Transient(f"slack answered {method} with something else than an object")
    if content.get("ok") is True:
        return content
    raise _refused(method, str(content.get("error") or "no reason"), content.get("needed"))


def _refused(method: str, reason: str, needed: object) -> DoorError:
    name = reason if reason.replace("_", "").isalnum() and len(reason) < 60 else "an odd reason"
    if name in _TRANSIENT:
        return Transient(f"slack can't do {method} now ({name})")
    if name == "missing_scope" and isinstance(needed, str) and len(needed) < 200:
        return Stop(
            f"slack did not do {method}: the app lacks the scope {needed!r}; install it again from manifest.yaml"
        )
    if name in _STOP:
        return Stop(f"slack did not do {method} ({name}); check FOOTNOTE_SLACK_BOT_TOKEN and the app's installation")
    return Skip(f"slack did not do {method} ({name})")


def _text(answer: Mapping[str, Any], name: str) -> str:
    found = answer.get(name)
    if not isinstance(found, str) or not found:
        raise Stop(f"slack did not say {name}; check FOOTNOTE_SLACK_BOT_TOKEN: it must be a bot's, xoxb-…")
    return found


_SHARED = ("is_ext_shared", "is_pending_ext_shared")


def _kind(channel: Mapping[str, Any]) -> PlaceKind:
    """Who may see it, by its flags. Several workspaces of one organisation are not told apart from each other yet, so
    a channel that they share is unknown."""
    if any(channel.get(flag) for flag in _SHARED) or channel.get("pending_shared"):
        return PlaceKind.EXTERNAL
    if channel.get("pending_connected_team_ids"):
        return PlaceKind.EXTERNAL
    if channel.get("is_im") is True:
        return PlaceKind.DM
    flags = [channel.get(flag) for flag in ("is_private", "is_mpim", "is_ext_shared", "is_org_shared", "is_shared")]
    if channel.get("is_mpim") is True and not channel.get("is_shared") and not channel.get("is_org_shared"):
        return PlaceKind.PRIVATE
    if any(not isinstance(flag, bool) for flag in flags) or any(flags[2:]):
        return PlaceKind.UNKNOWN
    return PlaceKind.PRIVATE if flags[0] else PlaceKind.PUBLIC


def _threaded(thread: str | None) -> dict[str, str]:
    return {} if thread is None else {"thread_ts": thread}


def _worded(message: Message) -> dict[str, Any]:
    # Blocks are typed and never parsed; these are for the text, which notifications show.
    worded: dict[str, Any] = {"text": message.text, "parse": "none", "link_names": False}
    return worded | ({"blocks": list(message.blocks)} if message.blocks else {})


def _said(message: Message) -> dict[str, Any]:
    said = _worded(message) | {"unfurl_links": False, "unfurl_media": False}
    if message.mark is not None:
        said["metadata"] = {"event_type": _EVENT, "event_payload": {"id": message.mark}}
    return said
