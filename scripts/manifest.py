"""The Slack app's manifests, for HTTP and for Socket Mode, written from one description.

    python -m scripts.manifest [--host footnote.example.com] [--check]

The scopes are those of the methods that `connectors/slack.py` asks and of the events named here, and no others.
`--check` writes nothing and ends with 1 where a file is not what would be written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import yaml

from connectors.slack import SCOPES

ROOT = Path(__file__).parents[1]
HOST = "footnote.example.com"
FILES = {"manifest.yaml": False, "manifest.socket.yaml": True}

EVENTS: dict[str, str | None] = {
    "agent_session_stopped": "chat:write",
    "app_home_opened": None,
    "app_mention": "app_mentions:read",
    "message.im": "im:history",
    "user_change": "users:read",
}
"""What Slack tells us of, and the scope that it takes."""

WITH_THE_AGENT = frozenset({"assistant:write"})
"""What an app with the agent's messages tab has to have."""

_HEADS = {
    False: "# The Slack app of one company, which is reached over HTTPS. Written by `make manifest`; put your own "
    "host\n"
    "# in with: make manifest HOST=answers.example.com\n",
    True: "# The same app over Socket Mode: Slack reaches nothing of yours. People's browsers still do, for linking.\n"
    "# Written by `make manifest`; put your own host in with: make manifest HOST=answers.example.com\n",
}


def manifest(host: str, *, socket: bool) -> dict[str, Any]:
    """The manifest as Slack reads it."""
    requests = f"https://{host}/slack/events"
    over_http: dict[str, str] = {} if socket else {"request_url": requests}
    command = {
        "command": "/footnote",
        **({} if socket else {"url": requests}),
        "description": "Ask privately, link your account, administer",
        "usage_hint": "[question] | link | unlink | sources | privacy | help",
        "should_escape": True,
    }
    scopes = SCOPES | WITH_THE_AGENT | {scope for scope in EVENTS.values() if scope}
    return {
        "_metadata": {"major_version": 1, "minor_version": 1},
        "display_information": {
            "name": "Footnote",
            "description": "Answers from the documents that you may read, with a citation for each sentence.",
            "long_description": (
                "Ask in a direct message or mention the app in a channel. Every sentence of an answer cites the "
                "document that it rests on. Only documents that you may read are searched, and an answer is posted in "
                "a channel only when everyone who would see it may read its sources; otherwise it is delivered to you "
                "alone."
            ),
            "background_color": "#1f3a5f",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "footnote", "always_online": True},
            "agent_view": {
                "agent_description": "Answers with citations from the company's documents that you may read.",
            },
            "shortcuts": [
                {
                    "name": "Ask about this",
                    "type": "message",
                    "callback_id": "ask_about_message",
                    "description": "Ask what the documents that you may read say about this message",
                }
            ],
            "slash_commands": [command],
        },
        "oauth_config": {
            "redirect_urls": [f"https://{host}/link/slack/callback"],
            "scopes": {"bot": sorted(scopes)},
        },
        "settings": {
            "event_subscriptions": {**over_http, "bot_events": sorted(EVENTS)},
            "interactivity": {"is_enabled": True, **over_http},
            "org_deploy_enabled": False,
            "socket_mode_enabled": socket,
            "token_rotation_enabled": False,
        },
    }


def written(host: str, *, socket: bool) -> str:
    """The file's text."""
    content = yaml.safe_dump(manifest(host, socket=socket), sort_keys=False, width=110, allow_unicode=True)
    return _HEADS[socket] + content


def main() -> None:
    """Write both, or say which is not as it would be written."""
    parser = argparse.ArgumentParser(description="Write the Slack manifests.")
    parser.add_argument("--host", default=HOST, help="where people's browsers and Slack reach this installation")
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 where a file is another")
    asked = parser.parse_args()
    if any(not (each.isascii() and (each.isalnum() or each in ".-:")) for each in asked.host) or not asked.host:
        sys.exit(f"{asked.host!r} is not a host, such as answers.example.com")
    for name, socket in FILES.items():
        path, text = ROOT / name, written(asked.host, socket=socket)
        if asked.check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            sys.exit(f"{name} is not what scripts/manifest.py describes; run: make manifest")
        if not asked.check:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
