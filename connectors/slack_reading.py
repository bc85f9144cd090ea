"""What Slack's answers mean, and what is written to it: pure. What Slack did not say in so many words counts against
the place or the person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from connectors.chat import Account, Ended, Message, Task
from connectors.errors import DoorError, Skip, Stop, Transient
from connectors.http import Answer, refusal
from policies.audience import PlaceKind

_TRANSIENT = frozenset(
    "ratelimited rate_limited internal_error fatal_error service_unavailable request_timeout "
    "team_added_to_org accesslimited".split()
)
_STOP = frozenset(
    "invalid_auth not_authed account_inactive token_revoked token_expired missing_scope no_permission "
    "not_allowed_token_type ekm_access_denied org_login_required team_access_not_granted access_denied".split()
)
_ENDED = frozenset(
    "message_not_in_streaming_state stopped_by_user streaming_state_conflict message_not_owned_by_app "
    "message_not_found".split()
)
_EVENT = "footnote_reply"

NO_PREVIEWS = {"unfurl_links": False, "unfurl_media": False}
"""Slack looks at no address that a message holds."""


def checked(method: str, answer: Answer) -> Mapping[str, Any]:
    """The content of a good answer; raises what a bad one means."""
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
    if name in _ENDED and method.endswith("Stream"):
        return Ended(f"slack did not do {method} ({name})", stopped=name == "stopped_by_user")
    if name in _TRANSIENT:
        return Transient(f"slack can't do {method} now ({name})")
    if name == "missing_scope" and isinstance(needed, str) and len(needed) < 200:
        return Stop(
            f"slack did not do {method}: the app lacks the scope {needed!r}; install it again from manifest.yaml"
        )
    if name in _STOP:
        return Stop(f"slack did not do {method} ({name}); check FOOTNOTE_SLACK_BOT_TOKEN and the app's installation")
    return Skip(f"slack did not do {method} ({name})")


def text(answer: Mapping[str, Any], name: str) -> str:
    """A word that Slack must have said."""
    found = answer.get(name)
    if not isinstance(found, str) or not found:
        raise Stop(f"slack did not say {name}; check FOOTNOTE_SLACK_BOT_TOKEN: it must be a bot's, xoxb-…")
    return found


_SHARED = ("is_ext_shared", "is_pending_ext_shared")


def kind(channel: Mapping[str, Any]) -> PlaceKind:
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


def threaded(thread: str | None) -> dict[str, str]:
    """Where in a conversation."""
    return {} if thread is None else {"thread_ts": thread}


def worded(message: Message) -> dict[str, Any]:
    """A message's content, of which Slack parses nothing."""
    # Blocks are typed and never parsed; these are for the text, which notifications show.
    words: dict[str, Any] = {"text": message.text, "parse": "none", "link_names": False}
    return words | ({"blocks": list(message.blocks)} if message.blocks else {})


def said(message: Message) -> dict[str, Any]:
    """A message's content with its mark, and without previews of links."""
    return worded(message) | NO_PREVIEWS | marked(message.mark)


def marked(mark: str | None) -> dict[str, Any]:
    """An opaque name, which anybody in the conversation can read."""
    return {} if mark is None else {"metadata": {"event_type": _EVENT, "event_payload": {"id": mark}}}


def mark_of(message: Mapping[str, Any]) -> str | None:
    """The name that a message was given by us."""
    metadata = message.get("metadata")
    payload = metadata.get("event_payload") if isinstance(metadata, dict) else None
    found = payload.get("id") if isinstance(payload, dict) else None
    return found if isinstance(found, str) else None


def tasks(given: Sequence[Task]) -> list[dict[str, str]]:
    """Tasks as the chunks of a stream."""
    return [{"type": "task_update", "id": each.id, "title": each.title, "status": each.state} for each in given]


def account(user: str, found: Mapping[str, Any]) -> Account:
    """A user as he was told."""
    enterprise = found.get("enterprise_user")
    organisation = enterprise.get("enterprise_id") if isinstance(enterprise, dict) else None
    return Account(
        id=user,
        team=str(found.get("team_id") or ""),
        human=found.get("is_bot") is False and found.get("is_workflow_bot") is not True,
        active=found.get("deleted") is False,
        guest=found.get("is_restricted") is not False or found.get("is_ultra_restricted") is not False,
        stranger=bool(found.get("is_stranger")),
        enterprise=organisation if isinstance(organisation, str) else None,
        app=found.get("is_bot") is True or found.get("is_workflow_bot") is True,
    )
