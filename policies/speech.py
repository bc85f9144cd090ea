"""What a text may contain when it leaves: prose. Links, mentions, images and markup come from code, never from a text.

Whatever was written in a document, a question or by a model is made inert here: nothing in it can become a link, call
somebody, draw a picture, pass for a citation or end a prompt. Prose, file names, versions and codes stay as they are.
E-mail addresses stay too: they are personal data, which `masking` decides on.

Every pattern is linear in the length of the text: quantifiers are possessive or bounded, and a pattern that starts with
a run may start only where the run does.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Collection, Iterator
from html.entities import html5

from policies.domains import TOP_LEVEL

GONE = "(link removed)"
"""What stands where a link stood."""

UNTITLED = "Untitled document"

_LONGEST_TITLE = 5_000  # characters looked at: more is no title


def legible(text: str) -> str:
    """The text as a reader sees it: entities resolved, and no characters that nobody sees or that reorder others."""
    for _ in range(_ROUNDS):
        text = _UNSEEN.sub("", _BREAK.sub("\n", text))
        resolved = _ENTITY.sub(_resolved, text)
        if resolved == text:
            return text
        text = resolved
    return _ENTITY.sub(lambda entity: "& " + entity[0][1:], _UNSEEN.sub("", _BREAK.sub("\n", text)))


def defused(text: str) -> str:
    """The text for a prompt: nothing in it looks like the end of a turn, or like a citation mark of ours."""
    return _unmarked(_TURN.sub(" ", legible(text)))


def speakable(text: str, own_urls: Collection[str] = ()) -> str:
    """The text for a person's eyes, in Slack, the console or a terminal; safe to apply twice.

    An address stays only where it is byte for byte one of `own_urls`. Labels such as `[S1]` are set by code afterwards:
    those already in the text are forged, and lose their brackets.
    """
    text = _unmarked(_without_markup(_TURN.sub(" ", legible(text))))
    text = _DEFINITION.sub(r"\1 :", _DEFANGED.sub(".", _BROADCAST.sub("", text)))
    inert = "".join(_inert_pieces(text, own_urls))
    # What stood around an address may be one, now that it is gone.
    return inert if inert == text else "".join(_inert_pieces(inert, own_urls))


def safe_title(title: str, longest: int = 150) -> str:
    """A title as the label of a link: one line, no markup, nothing that looks like an address, at most `longest`
    characters (twenty or more), and isolated, by two more, where it is written from right to left."""
    line = _label(title[:_LONGEST_TITLE])
    if len(line) > longest:
        line = _label(_cut(line, longest - 4)) + "…"
    if not any(character.isalnum() for character in line):
        return UNTITLED
    if any(unicodedata.bidirectional(character) in ("R", "AL") for character in line):
        return f"\u2068{line}\u2069"  # its direction ends with it
    return line


def _label(title: str) -> str:
    return " ".join(speakable(title).translate(_LABEL_BREAKING).replace(GONE, " ").split())


def _cut(line: str, longest: int) -> str:
    # Between words where one ends nearby; else at least not between a letter and its accents.
    end = line.rfind(" ", longest - 15, longest + 1)
    if end > 0:
        return line[:end]
    end = longest
    while end > 1 and unicodedata.combining(line[end]):
        end -= 1
    return line[:end]


# ---------------------------------------------------------------- characters

_ROUNDS = 3  # entities within entities are resolved so often; what is left is broken up

_BREAK = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<![\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff])\ufe0f"  # the emoji selector stays after an emoji
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def _resolved(entity: re.Match[str]) -> str:
    known = entity[0][1] == "#" or entity[0][1:] in html5
    return html.unescape(entity[0]) if known else entity[0]


_TURN = re.compile(
    # Tokens with which chat templates open and close turns, and the bars of other scripts that stand in for theirs.
    r"<[|｜][^|｜<>\n]{0,64}[|｜]>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|<(?:bos|eos|pad|unk|sep|cls)>",
    re.IGNORECASE | re.ASCII,
)
_MARK = re.compile(
    r"[\[［【⟦〔❲]([\s^]{0,3}(?:[sSＳｓЅѕ]\s{0,2}\d{1,6}|(?<=\^)\d{1,6})"
    r"(?:\s{0,2}[,;\-–]\s{0,2}[sSＳｓЅѕ]?\s{0,2}\d{1,6}){0,20}[\s^]{0,3})[\]］】⟧〕❳]"
)


def _unmarked(text: str) -> str:
    return _MARK.sub(lambda mark: f"({mark[1].strip(' ^')})", text)


# ---------------------------------------------------------------- markup

_HTML_TAG = re.compile(
    r"</?(?:a|abbr|address|applet|area|article|aside|audio|b|base|bdi|bdo|big|blink|blockquote|body|br|button|canvas"
    r"|caption|center|cite|code|col|colgroup|data|datalist|dd|del|details|dfn|dialog|dir|div|dl|dt|em|embed|fieldset"
    r"|figcaption|figure|font|footer|form|frame|frameset|h[1-6]|head|header|hgroup|hr|html|i|iframe|img|input|ins|kbd"
    r"|label|legend|li|link|main|map|mark|marquee|math|menu|meta|meter|nav|noscript|object|ol|optgroup|option|output|p"
    r"|param|picture|pre|progress|q|rp|rt|ruby|s|samp|script|search|section|select|slot|small|source|span|strike"
    r"|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr|track|tt|u|ul"
    r"|var|video|wbr|xml|xmp)(?=[\s/>])[^<>]*+>",
    re.IGNORECASE | re.ASCII,
)
_SLACK_CALL = re.compile(r"<[@#!][^<>|\n]{0,500}(?:\|([^<>\n]{0,500}))?>")
_ANGLE_LINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.\-]{0,30}:[^<>|\s]{0,3000})(?:\|([^<>\n]{0,500}))?>")
_ANGLES = re.compile(r"<([A-Za-z/!?@＠﹫#|｜$%][^<>\n]{0,200})>")
_OPENING = re.compile(r"<(?=[A-Za-z/!?@＠﹫#|｜$%])")
_MARKDOWN_LINK = re.compile(r"!?+(?<!\w)\[([^\[\]\n]*+)\]\([^()\n]*+(?:\([^()\n]*+\)[^()\n]*+)*+\)")
_DEFINITION = re.compile(r"^([ \t>]{0,8}\[[^\[\]\n]++\]):", re.MULTILINE)
_BROADCAST = re.compile(r"(?<![A-Za-z0-9.@＠﹫])[@＠﹫]++(?=(?:here|channel|everyone)(?![A-Za-z0-9]))", re.I | re.A)


def _without_markup(text: str) -> str:
    text = _SLACK_CALL.sub(lambda call: call[1] or "", _without_comments(text))
    text = _ANGLE_LINK.sub(lambda link: f" {link[2] or link[1]} ", text)
    text = _HTML_TAG.sub("", text)
    for _ in range(_ROUNDS):
        text = _MARKDOWN_LINK.sub(lambda link: link[1], text)
    return _OPENING.sub("‹", _ANGLES.sub(r"‹\1›", text))


def _without_comments(text: str) -> str:
    pieces: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        pieces.append(text[at:start])
        at = end + 3
    return "".join([*pieces, text[at:]])


_LABEL_BREAKING = str.maketrans({"<": "‹", ">": "›", "[": "(", "]": ")", "`": "'"})


# ---------------------------------------------------------------- links


def _disguises() -> dict[int, str]:
    # One character for one, so that offsets stay: capitals, full-width, circled and mathematical letters, other dots.
    plain = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    for first, last in ((0xFF01, 0xFF5E), (0x2460, 0x24FF), (0x2100, 0x214F), (0x1D400, 0x1D7FF), (0x2070, 0x209F)):
        for code in range(first, last + 1):
            letter = unicodedata.normalize("NFKC", chr(code)).lower()
            if len(letter) == 1 and letter.isascii():
                plain[code] = letter
    plain |= dict.fromkeys(map(ord, "。．｡․﹒"), ".")
    plain |= dict.fromkeys(map(ord, "⁄∕⧸／"), "/")
    plain |= dict.fromkeys(map(ord, "：﹕꞉∶"), ":")
    return plain | dict.fromkeys(map(ord, "＠﹫"), "@")


_PLAIN = _disguises()
_DEFANGED = re.compile(r"(?<=\w)(?:\[(?:\.|dot)\]|\((?:\.|dot)\)|\{(?:\.|dot)\})(?=\w)", re.IGNORECASE)
_WORD = re.compile(  # \w lacks the vowel signs that words of some scripts are spelt with
    r"[\w.%+\-@\u0300-\u036f\u0590-\u05ff\u0610-\u065f\u0900-\u109f\u0e00-\u0eff]+"
)
_LATIN_WORD = re.compile(r"[a-z0-9_.%+\-@]+")
_REST = re.compile(r"[^\s<>]*+")
_PATH = re.compile(r"(?::\d{1,5})?+(?:[/?#\\][^\s<>]*+)?+")
_DATA = re.compile(r":(?:[a-z]+/|[,;])")
_EDGE = ".-_+%"
_TRAILING = ".,;:!?)]}'\"*_~`…»”’›"
_LONGEST_TRAIL = 8  # an own address may itself end in ")", so so many ends of it are tried
_SCHEMES = frozenset("http https hxxp hxxps ftp mailto javascript vbscript magnet blob view-source".split())
_INNER = frozenset(["com", "org", "gov", "edu"])
"""Endings after which an address may run into the next word: `example.com.The`."""
_FILES = frozenset(["md", "py", "sh", "rs", "pl", "cc", "tf"])
"""Endings of files that are top-level domains too: `README.md` stays, `a.README.md` and `README.md/x` do not."""
_LARGEST_SECTION = 31


def _inert_pieces(text: str, own_urls: Collection[str]) -> Iterator[str]:
    at = 0
    for start, end, kept in _links(text, own_urls):
        gap = _gap(text[at:start])
        yield gap + " " if gap.endswith("]") and kept == GONE else gap  # "](" would be a link again
        yield kept
        at = end
    yield _gap(text[at:])


def _gap(text: str) -> str:
    # What stands between links could still be the skeleton of one, or call everybody.
    return _BROADCAST.sub("", text).replace("](", "] (").replace("][", "] [").replace("://", ": //")


def _links(text: str, own_urls: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Where addresses stand in the text, in order, and what is left of each."""
    plain = text.translate(_PLAIN)
    at = 0
    for start, end in _words(plain):
        # One word may hold several: "evil.com:80evil.com".
        while at < end and (found := _address(plain, max(start, at), end)) is not None:
            first, last = found
            if (dot := _run_together(text, first, last)) is not None:
                yield dot, dot + 1, ". "
                at = last
                continue
            trimmed = first + len(text[first:last].rstrip(_TRAILING))
            cuts = range(last, max(trimmed, last - _LONGEST_TRAIL) - 1, -1)
            own = next((cut for cut in cuts if text[first:cut] in own_urls), None)
            at = trimmed if own is None else own
            yield first, at, GONE if own is None else text[first:own]


def _words(plain: str) -> Iterator[tuple[int, int]]:
    # In a word of several scripts, such as a sentence without spaces, its Latin parts are words too.
    for word in _WORD.finditer(plain):
        yield word.span()
        if not word[0].isascii():
            yield from (part.span() for part in _LATIN_WORD.finditer(plain, *word.span()))


def _address(plain: str, start: int, end: int) -> tuple[int, int] | None:
    """The whole address of which the word `plain[start:end]` is the scheme or the host; None where it is neither."""
    word, after = plain[start:end], plain[end : end + 3]
    if after.startswith(":"):
        slashes = after[1:].replace("\\", "/") == "//"
        opaque = word.lstrip(_EDGE) in _SCHEMES and not after[1:2].isspace() and len(after) > 1
        if slashes or opaque or (word == "data" and _DATA.match(plain, end)):
            return start, _end(_REST, plain, end)
    if "." not in word:
        return None
    host_end = end - (len(word) - len(word.rstrip(_EDGE + "@")))
    before, at_sign, host = plain[start:host_end].rpartition("@")
    host_start = host_end - len(host.lstrip(_EDGE))
    length = _host_length(plain[host_start:host_end].split("."))
    if length is None:
        return (start, host_end) if any(_is_host(name.strip(_EDGE)) for name in before.split("@")) else None
    stop = _end(_PATH, plain, host_start + length)
    has_path = bool(plain[host_start + length : stop].strip(_TRAILING))
    if not has_path and _is_mailbox(before):
        return None  # an e-mail address, which is masking's business
    if not has_path and _is_file(plain[host_start : host_start + length]):
        return None
    return (host_start, stop) if not at_sign else (start, stop)


def _end(pattern: re.Pattern[str], plain: str, at: int) -> int:
    found = pattern.match(plain, at)
    return found.end() if found else at


def _host_length(labels: list[str]) -> int | None:
    """How many characters of the dotted labels are a host; None for prose, numbers, versions and most file names."""
    if len(labels) == 4 and all(label.isdecimal() and len(label) <= 3 for label in labels):
        # 4.2.1.3 is a section; 10.0.0.1 and 192.168.0.7 are machines.
        section = all(0 < int(label) <= _LARGEST_SECTION for label in labels)
        return None if section else sum(map(len, labels)) + 3
    if "www" in labels[:-1]:
        return sum(map(len, labels)) + len(labels) - 1
    for last in range(len(labels) - 1, 0, -1):
        final = last == len(labels) - 1
        ends = labels[last] in TOP_LEVEL or labels[last].startswith("xn--") if final else labels[last] in _INNER
        if ends and labels[last - 1]:
            return sum(map(len, labels[: last + 1])) + last
    return None


def _is_host(name: str) -> bool:
    return _host_length(name.split(".")) is not None and not _is_file(name)


def _is_mailbox(name: str) -> bool:
    return bool(name.strip(_EDGE)) and "@" not in name and not name.startswith("www.")


def _is_file(host: str) -> bool:
    name, _, ending = host.partition(".")
    return bool(name) and ending in _FILES


def _run_together(text: str, start: int, end: int) -> int | None:
    # "…as the policy says.It follows…": a space was lost. With it back, nothing is an address any more.
    name, dot, last = text[start:end].rstrip(_TRAILING).rpartition(".")
    capitalised = last.isalpha() and last[:1].isupper() and last[1:].islower()
    return start + len(name) if dot and capitalised and name.isalnum() and name[-1:].islower() else None
