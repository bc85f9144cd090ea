"""Characters that nobody sees, taken out of a text and told apart.

Zero-width and direction marks, soft hyphens, control characters, variation selectors and Unicode tags carry text past
a reader's eye to a model. Pure; the same for every format.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

_SUSPECT = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]+"
)
_JOINERS = "\u200c\u200d"  # letters of these scripts change their shape by them
_JOINING_SCRIPTS = ((0x0600, 0x08FF), (0x0900, 0x0DFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF))
_EMOJI = ((0x2000, 0x2BFF), (0x3030, 0x303D), (0x3297, 0x3299), (0x1F000, 0x1FAFF))
_EMOJI_STYLE = "\ufe0f"
_BLACK_FLAG = "\U0001f3f4"  # flags of England, Scotland and Wales are this and some tags
_SHORTEST_PAYLOAD = 4  # selectors in a row; fewer are typography


@dataclass(frozen=True, slots=True)
class Visible:
    """A text without its invisible characters, and what these were."""

    text: str
    counts: Counter[str] = field(default_factory=Counter)  # by character
    payloads: tuple[str, ...] = ()  # text that tags or variation selectors spelled out


def visible(text: str) -> Visible:
    """Take out what can't be seen. Emoji keep their style selector, and joiners stay where a script needs them."""
    if text.isascii() and text.isprintable():
        return Visible(text)
    counts: Counter[str] = Counter()
    payloads: list[str] = []

    def judge(match: re.Match[str]) -> str:
        run = match.group()
        before = text[match.start() - 1] if match.start() else ""
        after = text[match.end()] if match.end() < len(text) else ""
        if run == _EMOJI_STYLE and (_within(before, _EMOJI) or before in "#*0123456789©®"):
            return run
        if run in _JOINERS and _within(before, _JOINING_SCRIPTS) and _within(after, _JOINING_SCRIPTS):
            return run
        if run in ("\x0b", "\x0c"):
            return "\n"
        if _is_emoji_glue(run, before):
            return ""
        counts.update(run)
        payloads.extend(_payloads(run))
        return ""

    cleaned = _SUSPECT.sub(judge, text)
    return Visible(cleaned, counts, tuple(payloads))


def _within(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return bool(character) and any(low <= ord(character) <= high for low, high in ranges)


def _is_emoji_glue(run: str, before: str) -> bool:
    if run in ("\u200d", "\ufe0f\u200d", "\ufe0e"):
        return _within(before, _EMOJI)
    return before == _BLACK_FLAG and len(run) <= 7 and run[-1] == "\U000e007f"


def _payloads(run: str) -> list[str]:
    """What tags and selectors spell: tags mirror ASCII, selectors 1 to 256 are taken as bytes."""
    tags = "".join(chr(ord(c) - 0xE0000) for c in run if 0xE0020 <= ord(c) <= 0xE007E)
    octets = bytes(
        ord(c) - 0xFE00 if ord(c) <= 0xFE0F else ord(c) - 0xE0100 + 16
        for c in run
        if 0xFE00 <= ord(c) <= 0xFE0F or 0xE0100 <= ord(c) <= 0xE01EF
    )
    spelled = octets.decode("utf-8", "replace") if len(octets) >= _SHORTEST_PAYLOAD else ""
    return [payload for payload in (tags, spelled) if payload.strip()]
