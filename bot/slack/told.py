"""What administrators are told: pure builders. A name from outside stands in typed text, which Slack never parses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.slack.blocks import sentence
from connectors.chat import Message

CONFIRM = "admin_confirm"
"""The action of the button that goes on with what was shown."""

_LONGEST = 2_800  # characters of a listing
_LONGEST_LINE = 200

HELP = """source list · source show NAME — which sources there are, and how they are
source add files|confluence|sharepoint — a form for a new source
source sync NAME [full] — bring it up to date
source pause NAME · source resume NAME
source remove NAME — forget it and all that was read from it
source reindex NAME — read every document of it anew
probe PERSON DOCUMENT — may this person read it, and why
who DOCUMENT — who may read it, by address; a long list says how to go on
lag — how far behind each source is
trace ID — what the audit record holds of a question
purge DOCUMENT — take a document out at once; a second administrator confirms
What changes something is shown first, and done when you confirm it. Put quotes around a name with spaces. Secrets are \
never written here: a source is told the name of an environment variable or a file that holds one."""

NOT_ADMIN = (
    "Only administrators can do that. If it was a question, write `ask` before it: `/footnote ask …`. "
    "`/footnote help` says what you can do."
)
NO_GROUP = "Nobody administers yet: FOOTNOTE_ADMIN_GROUP names the group whose members may."
USED = "That was done already, has had its time, or is not yours to confirm."
ASKER_GONE = "Whoever asked for this does not administer any more. Ask for it yourself, if it is to be done."
SECOND = "Another administrator has to confirm this: you asked for it yourself."
FORM = "Fill in the form that opened. What you add is looked at first, and shown before anything changes."
FORM_LATE = "That took too long for a form. Write the same once more."
BEGUN = "Begun. I tell you in a direct message when it is done."


def listing(title: str, lines: Sequence[str], *, after: str = "") -> Message:
    """A title, and lines under it as they are."""
    text = _fitting([line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…" for line in lines])
    said = sentence(f"{title}\n{text}" if not lines else title)
    if not lines:
        return said
    sections: list[Mapping[str, Any]] = [
        {"type": "rich_text_section", "elements": [{"type": "text", "text": title, "style": {"bold": True}}]},
        {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text}]},
    ]
    if after:
        sections.append({"type": "rich_text_section", "elements": [{"type": "text", "text": after}]})
    return Message(sentence(f"{title}\n{text}\n{after}".strip()).text, ({"type": "rich_text", "elements": sections},))


def to_confirm(title: str, lines: Sequence[str], secret: str, *, danger: bool = True) -> Message:
    """What would be done, with the button that does it."""
    shown = listing(title, lines, after=f"Nothing has changed yet. Or write: /footnote confirm {secret}")
    button = {
        "type": "button",
        "text": {"type": "plain_text", "text": "Confirm", "emoji": False},
        "action_id": CONFIRM,
        "value": secret,
        "style": "danger" if danger else "primary",
    }
    return replace(shown, blocks=(*shown.blocks, {"type": "actions", "elements": [button]}))


def table(rows: Sequence[Sequence[object]]) -> list[str]:
    """Rows under each other."""
    words = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in words) for at in range(len(words[0]))] if words else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in words]


def of_trace(state: str, begin: Mapping[str, Any], end: Mapping[str, Any]) -> list[str]:
    """What a trace holds, in verdicts and counts: never which documents, and no words."""
    attempts = end.get("attempts") or []
    dropped: dict[str, int] = {}
    for attempt in attempts:
        for each in [*(attempt.get("dropped") or ()), *(attempt.get("left_out") or ())]:
            dropped[each["check"]] = dropped.get(each["check"], 0) + 1
    found = sum(len(part) for attempt in attempts for part in attempt.get("found") or ())
    judged = [each for attempt in attempts for each in attempt.get("judged") or ()]
    rows = [
        ("state", state),
        ("at", begin.get("at", "")),
        ("surface", begin.get("surface") or begin.get("place") or ""),
        ("command", begin.get("command") or ""),
        ("outcome", end.get("outcome", "")),
        ("visible to", end.get("visible_to", "")),
        ("policy", str(begin.get("policy", ""))[:16]),
        ("found", found),
        ("documents judged", len(judged)),
        ("of them allowed", sum(1 for each in judged if each.get("allowed"))),
        *((f"dropped: {check}", count) for check, count in sorted(dropped.items())),
        ("cited", len(end.get("citations") or ())),
        ("error", end.get("error") or ""),
    ]
    return table([(key, value) for key, value in rows if value != ""])


def when(moment: str | None) -> str:
    """A moment to the minute."""
    return "never" if moment is None else moment[:16].replace("T", " ")


def behind(lag: float | None) -> str:
    """How far something is behind."""
    if lag is None:
        return "never synced"
    minutes = int(lag // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {int(lag % 60)} s"


def fitting(words: Sequence[str], room: int) -> Sequence[str]:
    """The first ones that have room together, each on a line."""
    for at, word in enumerate(words):
        room -= len(word) + 1
        if room < 0:
            return words[:at]
    return words


def _fitting(lines: Sequence[str]) -> str:
    kept, room = [], _LONGEST
    for at, line in enumerate(lines):
        if len(line) + 1 > room - 30:
            kept.append(f"… and {len(lines) - at} more lines")
            break
        kept.append(line)
        room -= len(line) + 1
    return "\n".join(kept) or " "
