"""Forms, and a person's own page of the app: pure builders of views. Every word stands in a typed element that Slack
never parses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.slack import sentences
from bot.slack.blocks import plain, sentence
from bot.slack.pressing import ASK, LONGEST_WORDS, REASONS
from connectors.chat import View

MOST_RECENT = 10
_LONGEST_QUESTION = 200  # characters of one that is listed
_KINDS = {"confluence": "Confluence", "sharepoint": "SharePoint", "files": "Files"}


@dataclass(frozen=True, slots=True)
class Home:
    """What stands on somebody's own page."""

    linked: bool
    kinds: tuple[str, ...]  # of the sources that are searched
    recent: tuple[tuple[datetime, str], ...]  # his own questions, newest first


def home(content: Home) -> View:
    """A person's own page."""
    link = sentences.HOME_LINKED if content.linked else sentences.HOME_UNLINKED
    kinds = sorted({_KINDS.get(kind, kind) for kind in content.kinds})
    searched = f"Searched: {', '.join(kinds)}." if kinds else sentences.HOME_NO_SOURCES
    blocks: list[Any] = [_header(sentences.HOME_TITLE), *_said(link), *_said(searched), *_said(sentences.PRIVACY)]
    if content.linked:
        blocks += [{"type": "divider"}, _header(sentences.HOME_RECENT)]
        blocks += [_question(*each) for each in content.recent[:MOST_RECENT]] or _said(sentences.HOME_NONE)
    return {"type": "home", "blocks": blocks}


def reasons(name: str) -> View:
    """Asks what was wrong with an answer."""
    options = [{"text": plain(text), "value": value} for value, text in sentences.REASONS]
    boxes = {"type": "checkboxes", "action_id": "reasons", "options": options}
    words = {"type": "plain_text_input", "action_id": "words", "multiline": True, "max_length": LONGEST_WORDS}
    return {
        **_form(REASONS, name, sentences.REASONS_TITLE, "Send"),
        "blocks": [
            {"type": "input", "optional": True, "label": plain("Reasons"), "element": boxes},
            {"type": "input", "optional": True, "label": plain(sentences.REASONS_WORDS), "element": words},
        ],
    }


def ask_about(name: str, text: str) -> View:
    """Asks what somebody wants to know about a message."""
    words = {"type": "plain_text_input", "action_id": "words", "multiline": True, "max_length": 2_000}
    quote = {"type": "rich_text_quote", "elements": [{"type": "text", "text": _short(text, 500)}]}
    return {
        **_form(ASK, name, sentences.ASK_TITLE, "Ask"),
        "blocks": [
            *([{"type": "rich_text", "elements": [quote]}] if text else []),
            {"type": "input", "optional": bool(text), "label": plain(sentences.HOME_ASK), "element": words},
            *_said(sentences.ASK_ALONE),
        ],
    }


def _form(form: str, name: str, title: str, yes: str) -> dict[str, Any]:
    return {
        "type": "modal",
        "callback_id": form,
        "private_metadata": name,
        "title": plain(title),
        "submit": plain(yes),
        "close": plain("Cancel"),
    }


def _said(text: str) -> Sequence[Any]:
    return sentence(text).blocks


def _header(text: str) -> Any:
    return {"type": "header", "text": plain(text)}


def _question(at: datetime, text: str) -> Any:
    words = f"{at.date().isoformat()} · {_short(' '.join(text.split()), _LONGEST_QUESTION)}"
    return {"type": "context", "elements": [plain(words)]}


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
