"""What an answer looks like in Slack: pure builders of blocks.

Every word that comes from a document, a model or a person stands in a typed `rich_text` or `plain_text` element, which
Slack never parses: nothing in it can call somebody or become a link. The text beside the blocks, which notifications
show, is escaped. Slack's limits on blocks and characters are kept here, with some room.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from bot.answering.outcome import Answered, Citation, Outcome
from bot.slack import sentences
from connectors.chat import Message

Block = Mapping[str, Any]

LONGEST_TEXT = 3_000  # characters of the text beside the blocks; Slack refuses more than 4,000 in updates
LONGEST = 12_000  # characters of all blocks together, addresses too; Slack was seen to refuse from about 13,000
_FITS = ((9_000, 2_500), (6_000, 600), (3_000, 200), (1_500, 0))
"""Characters of the answer and of an address of a link: what is tried, in order, until the whole fits."""
_LONGEST_BLOCK = 2_500
_MOST_SOURCES = 20
_MOST_NOTES = 8
_CUT = " … This answer is longer than a message can be. Ask for one part of it."
_LABEL = re.compile(r"\[(S\d{1,6})\]")
_CODE = re.compile(r"`([^`\n]{1,300})`")


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around an answer."""

    question: str = ""  # quoted above it, where it stands apart from the question
    rated: bool = False  # whether the asker may say what he thought of it
    deleted: bool = False  # whether the asker may delete it
    shared: bool = False  # whether the asker may share it with the place that he asked in


def reply(outcome: Outcome, mark: str | None = None, around: Around | None = None) -> Message:
    """An outcome as a message."""
    around = around or Around()
    above = _quoted(around.question) if around.question else []
    if not isinstance(outcome, Answered):
        plain = sentence(outcome.text, mark)
        return Message(plain.text, (*above, *plain.blocks), mark)
    below = buttons(mark, around) if mark is not None else []
    for room, longest_url in _FITS:
        lines = _shortened(outcome.text.split("\n"), room)
        blocks = [*above, *_answer(outcome, lines, longest_url), *below]
        if _weight(blocks) <= LONGEST:
            break
    return Message(_fallback(lines, outcome.citations), tuple(blocks), mark)


def buttons(name: str, around: Around) -> list[Block]:
    """What the asker may do with an answer of this name. Everyone who sees the answer sees the buttons, so who presses
    one is looked at when he does."""
    elements: list[Block] = []
    if around.rated:
        elements.append(
            {
                "type": "feedback_buttons",
                "action_id": "feedback",
                "positive_button": {"text": plain("Helpful"), "value": f"good {name}"},
                "negative_button": {"text": plain("Not helpful"), "value": f"bad {name}"},
            }
        )
    if around.deleted:
        icon = {"type": "icon_button", "action_id": "delete", "icon": "trash", "text": plain("Delete"), "value": name}
        elements.append({**icon, "confirm": _confirm(sentences.DELETE_ASKED, "Delete")})
    blocks: list[Block] = [{"type": "context_actions", "elements": elements}] if elements else []
    if around.shared:
        share = {"type": "button", "action_id": "share", "text": plain("Share in the channel"), "value": name}
        share |= {"confirm": _confirm(sentences.SHARE_ASKED, "Share")}
        blocks.append({"type": "actions", "elements": [share]})
    return blocks


def _confirm(text: str, yes: str) -> Block:
    return {"title": plain(f"{yes} this answer?"), "text": plain(text), "confirm": plain(yes), "deny": plain("Cancel")}


def _quoted(question: str) -> list[Block]:
    return [_rich([{"type": "rich_text_quote", "elements": _words(_short(" ".join(question.split()), 300))}])]


def plain(text: str) -> Block:
    """A text that Slack never parses."""
    return {"type": "plain_text", "text": text, "emoji": False}


def _answer(outcome: Answered, lines: Sequence[str], longest_url: int) -> list[Block]:
    cited = [_linked(each, longest_url) for each in outcome.citations]
    blocks = _body(lines, {each.label: (number, each) for number, each in enumerate(cited, 1)})
    used = {label for line in lines for label in _LABEL.findall(line)}
    blocks += _sources([(number, each) for number, each in enumerate(cited, 1) if each.label in used])
    return blocks + _notes(outcome.notes)


def _linked(citation: Citation, longest_url: int) -> Citation:
    return citation if len(citation.url) <= longest_url else replace(citation, url="")


def _weight(of: Any) -> int:
    match of:
        case str():
            return len(of)
        case Mapping():
            return sum(map(_weight, of.values()))
        case list() | tuple():
            return sum(map(_weight, of))
        case _:
            return 0


def sentence(text: str, mark: str | None = None) -> Message:
    """One of our own sentences; what stands between backticks is shown as code."""
    elements: list[Block] = []
    at = 0
    for code in _CODE.finditer(text):
        elements += _words(text[at : code.start()])
        elements.append({"type": "text", "text": code[1], "style": {"code": True}})
        at = code.end()
    elements += _words(text[at:])
    return Message(escaped(text)[:LONGEST_TEXT], (_rich([_section(elements)]),), mark)


def escaped(text: str) -> str:
    """A text for Slack's markup in which nothing is markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# ---------------------------------------------------------------- the answer itself


def _shortened(lines: Sequence[str], room: int) -> list[str]:
    """As many whole lines as there is room for; a line that is too long by itself is cut."""
    kept: list[str] = []
    for line in lines:
        if len(line) > room:
            if not kept:
                kept.append(line[: room - len(_CUT)])
            kept[-1] += _CUT
            break
        kept.append(line)
        room -= len(line)
    return kept


def _body(lines: Sequence[str], labels: Mapping[str, tuple[int, Citation]]) -> list[Block]:
    blocks: list[Block] = []
    sections: list[Block] = []
    length = 0
    for line in lines:
        for piece in _pieces(line):
            if sections and length + len(piece) > _LONGEST_BLOCK:
                blocks.append(_rich(sections))
                sections, length = [], 0
            sections.append(_section(_cited(piece, labels)))
            length += len(piece)
    if sections:
        blocks.append(_rich(sections))
    return blocks


def _pieces(line: str) -> Iterable[str]:
    return [line[at : at + _LONGEST_BLOCK] for at in range(0, len(line), _LONGEST_BLOCK)]


def _cited(line: str, labels: Mapping[str, tuple[int, Citation]]) -> list[Block]:
    """The line with each label as a numbered link; a label of nothing is left as it is."""
    elements: list[Block] = []
    at = 0
    for found in _LABEL.finditer(line):
        if found[1] not in labels:
            continue
        number, citation = labels[found[1]]
        elements += _words(line[at : found.start()])
        elements.append(_link(f"[{number}]", citation.url))
        at = found.end()
    return elements + _words(line[at:] + "\n")


def _sources(citations: Sequence[tuple[int, Citation]]) -> list[Block]:
    if not citations:
        return []
    sections = [_section(_source(number, citation)) for number, citation in citations[:_MOST_SOURCES]]
    return [{"type": "divider"}, _rich(sections)]


def _source(number: int, citation: Citation) -> list[Block]:
    page = f", page {citation.page}" if citation.page is not None else ""
    rest = (
        f" · {_short(citation.chunk.section, 80)}{page} · {_short(citation.chunk.version, 40)}{_in_force(citation)}\n"
    )
    return [*_words(f"[{number}] "), _link(_short(citation.title, 160), citation.url), *_words(rest)]


def _in_force(citation: Citation) -> str:
    starts, ends = citation.effective_from, citation.effective_to
    said = ""
    if starts and ends:
        said = f" · in force {_day(starts)} to {_day(ends)}"
    elif starts:
        said = f" · in force from {_day(starts)}"
    elif ends:
        said = f" · in force until {_day(ends)}"
    return said + (" · superseded" if citation.superseded else "")


def _day(day: date) -> str:
    return day.isoformat()


def _notes(notes: Sequence[str]) -> list[Block]:
    if not notes:
        return []
    elements = [plain(_short(note, 500)) for note in notes[:_MOST_NOTES]]
    return [{"type": "context", "elements": elements}]


def _fallback(lines: Sequence[str], citations: Sequence[Citation]) -> str:
    numbers = {each.label: number for number, each in enumerate(citations, 1)}
    text = _LABEL.sub(lambda label: f"[{numbers.get(label[1], 0)}]", "\n".join(lines))
    titles = "\n".join(f"[{number}] {each.title}" for number, each in enumerate(citations, 1))
    whole = escaped(f"{text}\n\n{titles}")
    # Not within an entity: half of one would be shown as it is.
    return whole if len(whole) <= LONGEST_TEXT else re.sub(r"&[a-z]{0,3}\Z", "", whole[: LONGEST_TEXT - 1]) + "…"


# ---------------------------------------------------------------- elements


def _rich(sections: Sequence[Block]) -> Block:
    return {"type": "rich_text", "elements": list(sections)}


def _section(elements: Sequence[Block]) -> Block:
    return {"type": "rich_text_section", "elements": list(elements)}


def _words(text: str) -> list[Block]:
    return [{"type": "text", "text": text}] if text else []


def _link(label: str, url: str) -> Block:
    """A link, where the address is one of the web; else its words alone."""
    return {"type": "link", "url": url, "text": label} if _of_the_web(url) else {"type": "text", "text": label}


def _of_the_web(url: str) -> bool:
    if not url or not url.isascii() or not url.isprintable() or set(url) & set(" <>|\"'\\`"):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username and not parts.password


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
