"""The Slack manifests: one description, Slack's own rules, and least privilege."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.slack.incoming import Ignored, understood
from bot.slack.sentences import HELP
from connectors.chat import Workspace
from connectors.slack import METHODS, SCOPES
from scripts.manifest import EVENTS, FILES, HOST, WITH_THE_AGENT, manifest, written
from tests.doubles.slack import SCOPES as DOUBLE
from tests.doubles.slack import TEAM, FakeSlack

ROOT = Path(__file__).parents[2]
BOTH = pytest.mark.parametrize("socket", [False, True], ids=["http", "socket"])

# Slack's published rules (github.com/slackapi/manifest-schema, version 1): every key, what must be there, and lengths.
# A word in the place of a rule is a type; `(least, most)` are characters of a text or items of a list.
RULES: dict[str, Any] = {
    "_metadata?": {"major_version?": int, "minor_version?": int},
    "display_information": {
        "name": (1, 35),
        "description?": (1, 140),
        "long_description?": (175, 4000),
        "background_color?": re.compile(r"#[0-9a-fA-F]{3}([0-9a-fA-F]{3})?"),
    },
    "features?": {
        "app_home?": {
            "home_tab_enabled?": bool,
            "messages_tab_enabled?": bool,
            "messages_tab_read_only_enabled?": bool,
        },
        "bot_user?": {"display_name": (1, 80), "always_online?": bool},
        "agent_view?": {"agent_description": (1, 300)},
        "shortcuts?": [
            1,
            10,
            {
                "name": (1, 24),
                "type": re.compile("message|global"),
                "callback_id": (1, 255),
                "description": (1, 150),
            },
        ],
        "slash_commands?": [
            1,
            50,
            {
                "command": re.compile(r"/\S{1,31}"),
                "url?": re.compile(r"https://\S{1,2990}"),
                "description": (1, 2000),
                "usage_hint?": (1, 1000),
                "should_escape?": bool,
            },
        ],
    },
    "oauth_config?": {
        "redirect_urls?": [0, 1000, re.compile(r"https://\S{1,2490}")],
        "scopes?": {"bot?": [0, 255, re.compile(r"[a-z_]+:?[a-z_.]*")]},
    },
    "settings?": {
        "event_subscriptions?": {
            "request_url?": re.compile(r"https://\S{1,3490}"),
            "bot_events?": [0, 100, (1, 50)],
        },
        "interactivity?": {"is_enabled": bool, "request_url?": re.compile(r"https://\S{1,3490}")},
        "org_deploy_enabled?": bool,
        "socket_mode_enabled?": bool,
        "token_rotation_enabled?": bool,
    },
}
TOO_MUCH = {"chat:write.public", "files:read", "channels:history", "groups:history", "mpim:history", "users:read.email"}


def broken(value: Any, rule: Any, where: str = "") -> list[str]:
    """What breaks a rule."""
    match rule:
        case dict():
            if not isinstance(value, dict):
                return [f"{where} is no table"]
            known = {key.removesuffix("?"): key for key in rule}
            found = [f"{where}.{key} is unknown" for key in value.keys() - known.keys()]
            found += [f"{where}.{key} is missing" for key in rule if not key.endswith("?") and key not in value]
            return found + list(chain.from_iterable(
                broken(each, rule[known[key]], f"{where}.{key}") for key, each in value.items() if key in known
            ))  # fmt: skip
        case [least, most, of]:
            if not isinstance(value, list) or not least <= len(value) <= most:
                return [f"{where} is no list of {least} to {most}"]
            if len(set(map(json.dumps, value))) != len(value):
                return [f"{where} has something twice"]
            return list(chain.from_iterable(broken(each, of, f"{where}[{at}]") for at, each in enumerate(value)))
        case (least, most):
            return [] if isinstance(value, str) and least <= len(value) <= most else [f"{where} has a wrong length"]
        case re.Pattern():
            return [] if isinstance(value, str) and rule.fullmatch(value) else [f"{where} is {value!r}"]
        case _:
            return [] if type(value) is rule else [f"{where} is no {rule.__name__}"]


@BOTH
def test_the_manifest_keeps_slacks_rules(socket: bool) -> None:
    assert broken(manifest(HOST, socket=socket), RULES) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("display_information", "name"), "x" * 36),
        (("display_information", "long_description"), "short"),
        (("features", "bot_user", "display_name"), ""),
        (("features", "slash_commands", 0, "command"), "footnote"),
        (("features", "shortcuts", 0, "name"), "x" * 25),
        (("features", "assistant_view"), {}),
        (("settings", "event_subscriptions", "request_url"), "http://footnote.example.com"),
        (("settings", "socket_mode_enabled"), "yes"),
        (("oauth_config", "scopes", "bot"), ["chat:write", "chat:write"]),
    ],
)
def test_a_manifest_that_breaks_a_rule_is_found(path: tuple[Any, ...], value: Any) -> None:
    made = json.loads(json.dumps(manifest(HOST, socket=False)))
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value

    assert broken(made, RULES)


@pytest.mark.parametrize(("name", "socket"), FILES.items())
def test_the_file_is_what_the_description_says(name: str, socket: bool) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")

    assert text == written(HOST, socket=socket), "run: make manifest"
    assert yaml.safe_load(text) == manifest(HOST, socket=socket)


def test_the_twins_differ_in_how_they_are_reached_alone() -> None:
    http, socket = (json.loads(json.dumps(manifest(HOST, socket=each))) for each in (False, True))
    assert http["features"]["slash_commands"][0].pop("url")
    for part in ("event_subscriptions", "interactivity"):
        assert http["settings"][part].pop("request_url")
        assert "request_url" not in socket["settings"][part]
    assert (http["settings"].pop("socket_mode_enabled"), socket["settings"].pop("socket_mode_enabled")) == (False, True)

    assert http == socket


def test_the_one_command_is_footnote_and_gets_ids_for_names() -> None:
    [command] = manifest(HOST, socket=False)["features"]["slash_commands"]

    assert command["command"] == "/footnote"
    assert command["should_escape"] is True


def test_help_names_every_command_that_slack_hints_at() -> None:
    [command] = manifest(HOST, socket=False)["features"]["slash_commands"]
    hinted = set(command["usage_hint"].split(" | ")) - {"[question]", "help"}

    assert {word for word in hinted | {"help admin"} if f"`/footnote {word}`" not in HELP} == set()


def test_the_scopes_are_those_of_what_is_asked_and_heard_and_no_others() -> None:
    scopes = manifest(HOST, socket=False)["oauth_config"]["scopes"]
    heard = {scope for scope in EVENTS.values() if scope}

    assert set(scopes["bot"]) == set(chain.from_iterable(METHODS.values())) | heard | {"commands"} | WITH_THE_AGENT
    assert set(scopes["bot"]) == SCOPES | WITH_THE_AGENT
    assert set(scopes) == {"bot"}  # we act for nobody
    assert not set(scopes["bot"]) & TOO_MUCH


def test_no_method_is_asked_but_those_whose_scopes_are_told() -> None:
    source = (ROOT / "connectors" / "slack.py").read_text(encoding="utf-8")
    asked = set(re.findall(r'_(?:call|read)\(\s*"([a-zA-Z.]+)"', source))

    assert asked == set(METHODS)


def test_every_scope_of_the_double_is_one_of_the_manifest() -> None:
    assert sorted(manifest(HOST, socket=False)["oauth_config"]["scopes"]["bot"]) == sorted(DOUBLE)


def test_every_event_that_is_subscribed_is_understood() -> None:
    slack, us = FakeSlack(), Workspace(TEAM, "U0FOOTNOTE")
    events = {
        "agent_session_stopped": {"type": "agent_session_stopped", "user": "U1", "channel": "D1", "thread_ts": "1.1"},
        "app_home_opened": {"type": "app_home_opened", "user": "U1", "channel": "D1", "tab": "home"},
        "app_mention": slack.mention("U1", "C1", "hello")["event"],
        "message.im": slack.message("U1", "hello")["event"],
        "user_change": {"type": "user_change", "user": {"id": "U1", "team_id": TEAM}},
    }
    assert events.keys() == EVENTS.keys()

    for name, event in events.items():
        body = json.dumps(slack.delivery(event)).encode()
        assert not isinstance(understood("application/json", body, us), Ignored), name


@BOTH
def test_every_address_is_https_and_of_one_host(socket: bool) -> None:
    addresses = set(re.findall(r"https?://\S+", written("answers.example.com", socket=socket)))

    assert addresses <= {"https://answers.example.com/slack/events", "https://answers.example.com/link/slack/callback"}
    assert "https://answers.example.com/link/slack/callback" in addresses


@BOTH
def test_linking_comes_back_to_the_address_that_is_registered(socket: bool) -> None:
    from bot.linking.routes import Routes

    class Here:
        public_url = "https://answers.example.com"

    paths = {route.path for route in Routes(Here()).routes()}  # type: ignore[arg-type]  # only addresses are asked
    [address] = manifest("answers.example.com", socket=socket)["oauth_config"]["redirect_urls"]
    assert address.removeprefix(Here.public_url) in paths
