"""The form for a new source, and the settings that it gives. Pure. A secret is never typed: the form takes the name of
an environment variable or a file of the machine that runs footnote."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.errors import WrongUse
from bot.slack.blocks import plain
from connectors.chat import View

FORM = "source_add"
"""The form's name, as it comes back."""

_VARIABLE = re.compile(r"FOOTNOTE_[A-Z0-9_]{1,99}\Z")
_LONGEST = 500  # characters of one field


@dataclass(frozen=True, slots=True)
class Field:
    """One line of the form; `choices` make it a list, the first being chosen."""

    name: str
    label: str
    hint: str = ""
    needed: bool = True
    choices: tuple[str, ...] = ()


_NAME = Field("name", "Name of the source", "Letters, digits, dots and hyphens")
_LEASE = Field("lease", "How long a grant outlives its last verification", "24h", needed=False)
_LIVE = Field("live_check", "Ask the source again about what is answered from", choices=("off", "sensitive", "all"))
_FIELDS: dict[str, tuple[Field, ...]] = {
    "files": (_NAME, Field("path", "Folder", "Its whole path on the machine that runs footnote")),
    "confluence": (
        _NAME,
        Field("base_url", "Address of the site", "https://x.atlassian.net/wiki"),
        Field("edition", "Edition", choices=("cloud", "datacenter")),
        Field("auth", "How the account proves itself", choices=("basic", "bearer")),
        Field("user", "E-mail address of the account", "With basic", needed=False),
        Field("secret_env", "Environment variable that holds its token", "FOOTNOTE_CONFLUENCE_TOKEN"),
        Field("spaces", "Keys of the spaces, with commas", "Empty: all that the account can read", needed=False),
        Field("history", "Earlier wordings of pages that state an effective date", needed=False, choices=("no", "yes")),
        _LEASE,
        _LIVE,
    ),
    "sharepoint": (
        _NAME,
        Field("tenant", "Id of the tenant"),
        Field("client_id", "Id of the application there"),
        Field("certificate_file", "File of its certificate", "Its whole path on the machine that runs footnote"),
        Field("sites", "Addresses of the sites, with commas"),
        _LEASE,
        _LIVE,
    ),
}
KINDS = tuple(_FIELDS)


def form(kind: str) -> View:
    """The form for a source of this kind."""
    return {
        "type": "modal",
        "callback_id": FORM,
        "private_metadata": kind,
        "title": plain("Add a source"),
        "submit": plain("Look at it"),
        "close": plain("Cancel"),
        "blocks": [_input(field) for field in _FIELDS[kind]],
    }


def _input(field: Field) -> Mapping[str, Any]:
    element: dict[str, Any]
    if field.choices:
        options = [{"text": plain(each), "value": each} for each in field.choices]
        element = {"type": "static_select", "action_id": field.name, "options": options, "initial_option": options[0]}
    else:
        element = {"type": "plain_text_input", "action_id": field.name, "max_length": _LONGEST}
        if field.hint:
            element["placeholder"] = plain(field.hint)
    return {"type": "input", "label": plain(field.label), "optional": not field.needed, "element": element}


def settings_of(kind: str, given: Mapping[str, str]) -> tuple[str, Mapping[str, Any]]:
    """The name and the settings that a form gives; WrongUse says what is missing or wrong."""
    if kind not in _FIELDS:
        raise WrongUse(f"there is no kind of source {kind!r}")
    values = {field.name: given.get(field.name, "").strip()[:_LONGEST] for field in _FIELDS[kind]}
    missing = [field.label for field in _FIELDS[kind] if field.needed and not values[field.name]]
    if missing:
        raise WrongUse(f"it can't be added without: {', '.join(missing)}")
    chosen = [field for field in _FIELDS[kind] if field.choices and (field.needed or values[field.name])]
    wrong = [field.label for field in chosen if values[field.name] not in field.choices]
    if wrong:
        raise WrongUse(f"there is no such choice: {', '.join(wrong)}")
    return values["name"], _SETTINGS[kind](values)


def _files(values: Mapping[str, str]) -> Mapping[str, Any]:
    folder = Path(values["path"])
    if not folder.is_absolute() or not folder.is_dir():
        raise WrongUse(f"there is no folder {values['path']!r} on the machine that runs footnote; write its whole path")
    return {"path": str(folder.resolve())}


def _confluence(values: Mapping[str, str]) -> Mapping[str, Any]:
    if not _VARIABLE.match(values["secret_env"]):
        raise WrongUse(
            "write the name of an environment variable that begins with FOOTNOTE_, such as FOOTNOTE_CONFLUENCE_TOKEN, "
            "never a token; from the command line it can be any variable"
        )
    if values["auth"] == "basic" and not values["user"]:
        raise WrongUse("basic needs the e-mail address of the account that the token belongs to")
    settings: dict[str, Any] = {
        "base_url": values["base_url"].rstrip("/"),
        "edition": values["edition"],
        "auth": values["auth"],
        "secret": {"secret_env": values["secret_env"]},
        "spaces": _listed(values["spaces"]),
        "lease": values["lease"] or "24h",
        "live_check": values["live_check"],
    }
    settings |= {"history": True} if values["history"] == "yes" else {}
    return settings | ({"user": values["user"]} if values["user"] else {})


def _sharepoint(values: Mapping[str, str]) -> Mapping[str, Any]:
    file = Path(values["certificate_file"])
    if not file.is_absolute() or not file.is_file():
        raise WrongUse("there is no such file on the machine that runs footnote; write the certificate's whole path")
    return {
        "tenant": values["tenant"],
        "client_id": values["client_id"],
        "certificate": {"secret_file": str(file.resolve())},
        "sites": _listed(values["sites"]),
        "lease": values["lease"] or "24h",
        "live_check": values["live_check"],
    }


def _listed(text: str) -> list[str]:
    return [part for each in text.split(",") if (part := each.strip())]


_SETTINGS: dict[str, Callable[[Mapping[str, str]], Mapping[str, Any]]] = {
    "files": _files,
    "confluence": _confluence,
    "sharepoint": _sharepoint,
}
