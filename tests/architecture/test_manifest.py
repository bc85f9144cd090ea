"""The Slack manifest keeps to what Slack's published schema asks, and to least privilege."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from connectors.slack import METHODS, SCOPES
from tests.doubles.slack import SCOPES as DOUBLE

ROOT = Path(__file__).parents[2]

ALLOWED = {
    "": {"_metadata", "display_information", "features", "oauth_config", "settings"},
    "_metadata": {"major_version", "minor_version"},
    "display_information": {"name", "description", "long_description", "background_color"},
    "features": {
        "app_home",
        "bot_user",
        "agent_view",
        "assistant_view",
        "shortcuts",
        "slash_commands",
        "unfurl_domains",
        "functions",
        "workflow_steps",
    },
    "oauth_config": {"redirect_urls", "scopes", "token_management_enabled", "pkce_enabled"},
    "settings": {
        "event_subscriptions",
        "interactivity",
        "org_deploy_enabled",
        "socket_mode_enabled",
        "token_rotation_enabled",
        "is_mcp_enabled",
        "allowed_ip_address_ranges",
        "incoming_webhooks",
        "siws_links",
        "is_hosted",
        "function_runtime",
    },
}
SCOPE_OF_EVENT = {
    "app_mention": "app_mentions:read",
    "message.im": "im:history",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.mpim": "mpim:history",
    "app_home_opened": None,
}
TOO_MUCH = {"chat:write.public", "files:read", "channels:history", "groups:history", "mpim:history"}


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yaml").read_text(encoding="utf-8"))
    return loaded


def test_the_manifest_has_no_key_that_slack_does_not_know(manifest: dict[str, Any]) -> None:
    for path, allowed in ALLOWED.items():
        part = manifest[path] if path else manifest

        assert set(part) <= allowed, path


def test_the_manifest_keeps_to_slacks_lengths(manifest: dict[str, Any]) -> None:
    shown = manifest["display_information"]

    assert len(shown["name"]) <= 35
    assert len(shown["description"]) <= 140
    assert 175 <= len(shown["long_description"]) <= 4000
    assert len(manifest["features"]["bot_user"]["display_name"]) <= 80


def test_the_one_command_is_footnote(manifest: dict[str, Any]) -> None:
    [command] = manifest["features"]["slash_commands"]

    assert command["command"] == "/footnote"


def test_every_event_has_its_scope_and_no_scope_is_too_much(manifest: dict[str, Any]) -> None:
    scopes = set(manifest["oauth_config"]["scopes"]["bot"])

    for event in manifest["settings"]["event_subscriptions"]["bot_events"]:
        assert SCOPE_OF_EVENT[event] in scopes | {None}
    assert "user" not in manifest["oauth_config"]["scopes"]
    assert not scopes & TOO_MUCH


def test_the_scopes_are_those_of_what_we_ask_and_no_others(manifest: dict[str, Any]) -> None:
    scopes = set(manifest["oauth_config"]["scopes"]["bot"])

    assert scopes == SCOPES | {"assistant:write"}  # Slack gives that with agent_view
    assert set(chain.from_iterable(METHODS.values())) <= SCOPES


def test_no_method_is_asked_but_those_whose_scopes_are_told() -> None:
    source = (ROOT / "connectors" / "slack.py").read_text(encoding="utf-8")
    asked = set(re.findall(r'_(?:call|read)\(\s*"([a-zA-Z.]+)"', source))

    assert asked == set(METHODS)


def test_every_scope_of_the_double_is_one_of_the_manifest(manifest: dict[str, Any]) -> None:
    assert sorted(manifest["oauth_config"]["scopes"]["bot"]) == sorted(DOUBLE)


def test_every_address_is_https_and_leads_to_the_one_place(manifest: dict[str, Any]) -> None:
    settings = manifest["settings"]
    addresses = {
        settings["event_subscriptions"]["request_url"],
        settings["interactivity"]["request_url"],
        *(command["url"] for command in manifest["features"]["slash_commands"]),
    }

    [address] = addresses
    assert address.startswith("https://")
    assert address.endswith("/slack/events")
