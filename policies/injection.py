"""Signals that a text speaks to the model instead of the reader. Text in, signals out; a signal never holds the text.

`normalise` undoes what hides words from rules and leaves them readable to a model: compatibility forms, invisible and
tag characters, look-alike letters, spaced-out words, entities, base64, rot13. The rules then look for the few things
that only a text for a model says. They are a tripwire: what makes an obeyed instruction harmless is that a writer has
no tools, that links come from code, and that each claim is held against its passage.

Every pattern takes time linear in the text: gaps are bounded, nothing repeats what already repeats.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from urllib.parse import unquote

from policies.facts import Trust


class Severity(StrEnum):
    """How much a signal alone is worth."""

    LOW = "low"  # ordinary pages say it now and then
    HIGH = "high"  # ordinary pages do not say it


@dataclass(frozen=True, slots=True, order=True)
class Signal:
    """A rule that fired, and in which view of the text: `plain`, or the disguise that was taken off first."""

    rule: str
    severity: Severity
    view: str = "plain"


def verdict(signals: Iterable[Signal]) -> Trust:
    """What the signals of one text amount to."""
    worst = {signal.severity for signal in signals}
    if Severity.HIGH in worst:
        return Trust.QUARANTINED
    return Trust.SUSPECT if worst else Trust.CLEAN


def signals(text: str) -> tuple[Signal, ...]:
    """Every rule that fires, each once, in its plainest view. What fires only under a disguise is high."""
    reading = normalise(text)
    found = {sign.rule: sign for sign in reading.signs}
    for view in reading.views:
        fired = dict(_fired(view.text))
        for rule in fired:
            severity = rule.severity if view.name == "plain" else Severity.HIGH
            found.setdefault(rule.id, Signal(rule.id, severity, view.name))
        if _together({rule.id: places for rule, places in fired.items()}):
            found.setdefault("instructs-the-model", Signal("instructs-the-model", Severity.HIGH, view.name))
    return tuple(sorted(found.values()))


def _together(fired: dict[str, tuple[int, ...]]) -> bool:
    """Whether a text turns to the model and, close by, says what to answer: two signs that are weak apart."""
    addressed = fired.get(_ADDRESSED, ())
    told = [place for rule, places in fired.items() if rule in _INSTRUCTED for place in places]
    return any(abs(here - there) <= _CLOSE for here in addressed for there in told)


# ---------------------------------------------------------------- views


@dataclass(frozen=True, slots=True)
class View:
    """One reading of a text, lower-cased; lines are kept, other runs of space are one space."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The plain view first, then one for each disguise that was found; and what the disguises themselves tell."""

    views: tuple[View, ...]
    signs: tuple[Signal, ...]


def normalise(text: str) -> Reading:
    """Read a text as a model would, disguises taken off."""
    tags = "".join(chr(ord(character) - 0xE0000) for character in _TAG.findall(_FLAG.sub("", text)))
    clear = unicodedata.normalize("NFKC", text).translate(_INVISIBLE)
    if "&" in clear:
        clear = html.unescape(clear).translate(_INVISIBLE)
    signs: list[Signal] = []
    views = [View("plain", _flat(clear))]
    if len(tags) >= _SMUGGLED:
        signs.append(Signal("invisible-tag-text", Severity.HIGH, "tags"))
        views.append(View("tags", _flat(tags)))
    if _OVERRIDES.search(text):
        signs.append(Signal("reordered-text", Severity.LOW))
    views += _disguised(clear)
    return Reading(tuple(views), tuple(signs))


def _disguised(clear: str) -> Iterator[View]:
    if _MIXED.search(clear):
        yield View("look-alikes", _flat(clear.translate(_LOOK_ALIKES)))
    if (joined := _SPACED.sub(_joined, clear)) != clear:
        yield View("spaced-letters", _flat(joined))
        yield View("run-together", _BLANK.sub("", joined).lower())
    if _LEET.search(clear):
        leet = _LEET_WORD.sub(lambda word: word.group().translate(_LEET_LETTERS), clear)
        # Codes such as E4012 are no disguise: the view counts only where it has more telling words than the text.
        if len(_TELLING.findall(leet)) > len(_TELLING.findall(clear)):
            yield View("leet", _flat(leet))
    if _PERCENT.search(clear):
        yield View("percent-encoded", _flat(unquote(clear, errors="replace")))
    if decoded := "\n".join(_decoded(clear)):
        yield View("encoded", _flat(decoded))
    if _ROT13_WORDS.search(clear):
        yield View("rot13", _flat(codecs.decode(clear, "rot13")))
    if _BACKWARDS.search(clear):
        yield View("backwards", _flat(clear[::-1]))


def _flat(text: str) -> str:
    return _SPACE.sub(" ", text.translate(_QUOTES)).lower()


def _joined(run: re.Match[str]) -> str:
    """`i g n o r e   a l l` → `ignore all`: wider gaps part words."""
    return " ".join(_SEPARATOR.sub("", word) for word in _WIDE_GAP.split(run.group()))


def _decoded(clear: str) -> Iterator[str]:
    """Readable text under base64 or hex; a bounded number of candidates, each of bounded length."""
    for count, candidate in enumerate(_ENCODED.finditer(clear)):
        if count >= _CANDIDATES:
            return
        for decode in (_from_hex, _from_base64):
            raw = decode(candidate.group()[:_LONGEST])
            if raw and (text := _readable(raw)):
                yield text
                break


def _from_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _from_base64(text: str) -> bytes:
    text = text.rstrip("=").replace("-", "+").replace("_", "/")
    text = text[: len(text) - (len(text) % 4 == 1)]
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""


def _readable(raw: bytes) -> str:
    text = raw.decode("utf-8", errors="ignore")
    plain = sum(character.isalpha() or character.isspace() for character in text)
    return text if len(text) >= 8 and plain >= 0.8 * len(raw) else ""


_SMUGGLED = 4  # tag characters outside a flag
_CANDIDATES = 64
_LONGEST = 8_192  # characters of one encoded candidate that are decoded

_TAG = re.compile("[\U000e0020-\U000e007e]")
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007f]{1,7}")  # England's is five letters and an end mark
_INVISIBLE = {
    code: None
    for low, high in (
        (0x00AD, 0x00AD),
        (0x034F, 0x034F),
        (0x061C, 0x061C),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x200B, 0x200F),
        (0x202A, 0x202E),
        (0x2060, 0x206F),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0),
        (0xE0000, 0xE01EF),
    )
    for code in range(low, high + 1)
}
_INVISIBLE |= {code: None for code in range(0x20) if chr(code) not in "\t\n\r"}
_OVERRIDES = re.compile("[\u202d\u202e]")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "`": "'", "´": "'", "–": "-", "—": "-"})
_SPACE = re.compile(r"[^\S\n]+")
_BLANK = re.compile(r"\s+")
_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕһԁɡɩⅼԛԝԍӏкмтвнАВЕКМНОРСТУХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχɑıɪʀɴ",
    "aeopcyxijshdgilqwglkmtbhABEKMHOPCTYXIJSABEZHIKMNOPTYXaeiknoptuxairrn",
)
_MIXED = re.compile(
    r"[A-Za-z][\u0370-\u052F\u0250-\u02AF]|[\u0370-\u052F\u0250-\u02AF][A-Za-z]|\b[аеорсухіјѕһԁԛԝ]{1,12}\b"
)
_SPACED = re.compile(r"\b\w(?:[ \t]{1,4}\w\b|[._*\-|/]\w\b){5,400}")
_WIDE_GAP = re.compile(r"[ \t]{2,4}")
_SEPARATOR = re.compile(r"[\W_]")
_TELLING = re.compile(
    r"ignor|disregard|forget|instruct|prompt|previous|system|reveal|override|bypass|jailbr", re.IGNORECASE
)
_LEET = re.compile(r"[A-Za-z][013457@$][A-Za-z]")
_LEET_WORD = re.compile(r"[A-Za-z013457@$]{3,40}")
_LEET_LETTERS = str.maketrans("013457@$", "oieastas")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}[^\s%]{0,20}){4}")
_ENCODED = re.compile(r"[A-Za-z0-9+/_\-]{20,}={0,2}")
_ROT13_WORDS = re.compile(r"\b(?:vtaber|vafgehpgvbaf?|cebzcg|flfgrz|cerivbhf|qvfertneq|sbetrg|erirny)\b", re.IGNORECASE)
_BACKWARDS = re.compile(r"\b(?:erongi|snoitcurtsni|tpmorp|suoiverp|dragersid|tegrof)\b", re.IGNORECASE)


# ---------------------------------------------------------------- rules


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern on lower-cased text, tried only where one of `words` occurs, which keeps ordinary pages cheap."""

    id: str
    severity: Severity
    words: tuple[str, ...]
    pattern: re.Pattern[str]


def _fired(text: str) -> Iterator[tuple[Rule, tuple[int, ...]]]:
    """The rules that fire, each with the first few places where it does."""
    flat = text.replace("\n", " ")
    for rule in RULES:
        if any(word in text for word in rule.words):
            by_line = rule.pattern.flags & re.MULTILINE
            matches = islice(rule.pattern.finditer(text if by_line else flat), _PLACES)
            if places := tuple(match.start() for match in matches):
                yield rule, places


def _rule(id_: str, severity: Severity, words: str, pattern: str, flags: int = 0) -> Rule:
    return Rule(id_, severity, tuple(words.split("|")), re.compile(pattern, flags))


_DROP = (
    r"(?:ignor(?:e|es|ing)|igmre|disregard(?:ing)?|forget|override|bypass|neglect|abandon|discard|overlook|erase"
    r"|delete|pay no attention to|set aside|leave|remove|stop following|do not (?:follow|obey)|don't (?:follow|obey))"
)
_EARLIER = (
    r"(?:previous(?:ly)?|prior|above|earlier|preceding|former|foregoing|initial|original|existing|your|all|any|every"
    r"|system|old|past|developer|default|current)"
)
_ORDERS = (
    r"(?:instructions?|prompts?|orders|directions|directives?|commands?|programming|system messages?"
    r"|guardrails|safety (?:rules|guidelines)|assignments|training)"
)
_SOFT_ORDERS = r"(?:rules|guidelines|guidance|tasks?|context|information|constraints|restrictions|thoughts)"
_MATERIAL = (
    r"(?:documents?|articles?|artikels?|sources?|passages?|context|search results|results|pages|evidence|excerpts?)"
)
_MODEL = (
    r"(?:ai|a\.i\.|llms?|(?:large )?language models?|ai (?:assistants?|models?|systems?|agents?)|chat ?-?bots?|chatgpt"
    r"|gpt(?:-\d\w*)?|claude|gemini|copilot|(?:virtual|helpful|digital) assistants?|assistant|summari[sz]er|bot)"
)
_SAY = r"(?:say|answer|reply|respond|tell|output|print|write|state|repeat|claim|recommend|include|append|show|send)"
_THIS = r"this (?:document|page|article|policy|file|passage|text|note|section|source|memo|message|appendix)"

RULES: tuple[Rule, ...] = (
    _rule(
        "override-instructions",
        Severity.HIGH,
        "instruction|prompt|order|direct|command|programming|system message|guardrail|safety|assignment|training",
        rf"\b{_DROP}\b(?! my\b| our\b)[^.!?]{{0,40}}?\b{_EARLIER}\b[^.!?]{{0,30}}?\b{_ORDERS}\b",
    ),
    _rule(
        "override-context",
        Severity.HIGH,
        "rules|guid|task|context|information|constraint|restriction|thought",
        rf"\b(?:ignore|disregard|forget|abandon|leave|remove)\b(?! my\b| our\b)[^.!?]{{0,25}}?\b(?:previous"
        rf"|prior|above|earlier|preceding|your"
        rf"|foregoing)\b[^.!?]{{0,25}}?\b{_SOFT_ORDERS}\b(?! (?:box|tab|sheet))",
    ),
    _rule(
        "override-everything",
        Severity.HIGH,
        "forget|ignore|disregard|igmre",
        r"\b(?:forget|ignore|igmre|disregard)\b (?:about )?(?:everything|anything|all(?: of)?(?: this| that)?"
        r"|the above|above|what|wha?e?t'?s"
        r"|whatever)(?: that| which)?(?: (?:was|is|has been|had been))?"
        r"(?: (?:i|we|you)(?:'ve| have| had)? (?:said|told|know|were|been|discussed|talked|learned)| (?:said"
        r"|stated|written|told|mentioned)?"
        r" ?(?:before|above|prior|previously|so far)|,? (?:and|instead|but) (?:instead |just |only |now |then )?"
        r"(?:say|write|output|print|tell|answer|reply|respond|repeat|jsut|just|do)"
        r"|[,.!:;] ?(?:now|write|say|just|only|instead|output|print|answer|and (?:say|write|tell)))\b",
    ),
    _rule(
        "other-language-override",
        Severity.HIGH,
        "ignorie|ignorez|ignorer|ignora|ignori|ignore l|ignore t|ignore v|ignore as|ignore o|ignorem"
        "|vergiss|vergess|missacht|beacht|hör|oubli|néglig|compte|olvid|descart|omiso|dimentic|trascur|esque"
        "|desconsider|negeer|vergeet"
        "|zapomn|zaborav|zanemar|talimat|komut|abaikan|lupakan|glöm|игнор|забуд|проигнор|забудь|ігнор|忽|无视|無視|忘"
        "|不要|무시|잊|تجاهل|انس|अनदेख|भूल",
        r"\b(?:ignorier\w*|vergiss|vergesst|vergessen sie|missachte\w*"
        r"|höre? nicht auf)\b[^.!?]{0,60}?\b(?:anweisung\w*|instruktion\w*|befehl\w*"
        r"|auftr[aä]g\w*|aufgaben?|regeln|vorgaben|informationen|angaben|ausführungen|gesagte\w*|obige\w*"
        r"|bisherige\w*|vorherige\w*|davor|zuvor"
        r"|alles,? (?:was|und|davor|gesagte|vorher\w*))\b"
        r"|\b(?:vorherig|bisherig|obig|vorangegangen)\w* \w+(?: \w+){0,4} (?:zu )?(?:ignorieren|vergessen"
        r"|missachten|irrelevant|hinter sich)\b"
        r"|\babweichend (?:zu|von) [^.!?]{0,20}\b(?:instruktionen|anweisungen|vorgaben)\b"
        r"|\b(?:ignore[rz]?|oublie[rsz]?|négligez?|ne (?:tiens"
        r"|tenez) pas compte)\b[^.!?]{0,50}?\b(?:instructions|consignes|règles|directives"
        r"|tout ce qui|ordres)\b[^.!?]{0,20}?\b(?:précédent\w*|antérieur\w*|ci-dessus|système|et (?:dis|dites"
        r"|répond\w*|écri\w*))"
        r"|\b(?:oublie[rsz]?|ignore[rz]?) (?:toutes? )?(?:les|tes|vos|ces|tout) (?:instructions|consignes|ce que)\b"
        r"|\b(?:ignora\w*|ignore|olvid\w+|descarta\w*|haz caso omiso"
        r"|haga caso omiso)\b[^.!?]{0,40}?\b(?:instrucciones|indicaciones|[óo]rdenes"
        r"|reglas|todo (?:lo )?que)\b"
        r"|\b(?:ignora\w*|dimentica\w*|trascura\w*)\b[^.!?]{0,40}?\b(?:istruzioni|indicazioni|ordini"
        r"|tutto (?:ciò|quello|quanto))\b"
        r"|\b(?:ignor[ae]m?|esque[cç]a\w*|desconsidere\w*)\b[^.!?]{0,40}?\b(?:instruç\w+|orienta[cç]\w+|ordens"
        r"|tudo (?:o )?que)\b"
        r"|\b(?:negeer|vergeet)\b[^.!?]{0,40}?\b(?:instructies?|opdrachten|aanwijzingen|alles wat)\b"
        r"|\b(?:zignoruj|ignoruj|zapomnij)\w*\b[^.!?]{0,40}?\b(?:instrukcj\w+|polece\w+|wszystk\w+)\b"
        r"|\b(?:ignorera|glöm)\b[^.!?]{0,40}?\b(?:instruktioner\w*|anvisningar\w*|allt som)\b"
        r"|\b(?:zaboravi\w*|ignorir\w+|ignoriš\w+|zanemari\w*)\b[^.!?]{0,40}?\b(?:instrukcij\w+|upute|uputstva|sve)\b"
        r"|\b(?:önceki|tüm|bütün)\b[^.!?]{0,40}?(?:talimat|komut|yönerge)\w*[^.!?]{0,20}?(?:yok say"
        r"|görmezden gel|unut|dikkate alma)"
        r"|\b(?:abaikan|lupakan)\b[^.!?]{0,40}?\b(?:instruksi|perintah|arahan)\b"
        r"|\b(?:про)?(?:игнорируй|игнорируйте|забудь|забудьте|ігноруй|ігноруйте"
        r"|забудьте)\b[^.!?]{0,50}?(?:инструкц|указани|команд|правила|предыдущ|інструкц|вказівк)"
        r"|(?:忽略|无视|無視|忘记|忘記|忘掉|忽視|不要理会)[^。！？]{0,16}?(?:指令|指示|说明|說明|提示|规则|規則|命令|之前|以上)"
        r"|(?:指示|命令|プロンプト|ルール|指令)[^。！？]{0,10}?(?:無視し|忘れ)"
        r"|(?:지시|명령|지침|프롬프트)[^.!?]{0,14}?(?:무시하|잊)"
        r"|(?:تجاهل|انس|إنس)\b[^.!?]{0,40}?(?:التعليمات|الأوامر|الإرشادات)"
        r"|(?:निर्देश|आदेश)[^।.!?]{0,30}?(?:अनदेख|नज़रअंदाज़|भूल)",
    ),
    _rule(
        "grounding-override",
        Severity.HIGH,
        "document|article|artikel|source|passage|context|results|pages|evidence|excerpt",
        rf"\b(?:ignore|disregard(?:ing)?|do not (?:use|look (?:in|at)|rely on|consult|trust)|don'?n?'?t (?:use"
        rf"|look (?:in|at)|rely on|trust)"
        rf"|do not trust)\b (?:all |any |every )?(?:of )?(?:the )?(?:(?:provided|given|retrieved|supplied|other"
        rf"|remaining|following) )+{_MATERIAL}\b"
        rf"|\b(?:ignore|disregard(?:ing)?|don'?n?'?t answer|do not answer|look in)\b[^.!?]{{0,50}}?\b(?:all|the"
        rf"|to) (?:provided )?{_MATERIAL} (?:provided|given|supplied)\b"
        rf"|\b(?:by|from|with) your own knowledge\b[^.!?]{{0,20}}?\bnot\b[^.!?]{{0,12}}?\b{_MATERIAL}\b"
        rf"|\bdisregarding the (?:documents|articles|context)\b",
    ),
    _rule(
        "outranks-other-sources",
        Severity.HIGH,
        "trump|outrank|overrule|override|supersede|precedence|priority",
        rf"\b{_THIS} (?:trumps|outranks|overrules) (?:all|any|every)\b"
        rf"|\b{_THIS}[^.!?]{{0,30}}? (?:overrides|supersedes|takes (?:precedence|priority) over) (?:all|any"
        rf"|every)(?: (?:the|of|other|retrieved"
        rf"|conflicting|search|remaining))* (?:sources|passages|results|context|excerpts|evidence|instructions)\b",
    ),
    _rule(
        "only-source",
        Severity.LOW,
        "this ",
        rf"\b(?:always|only|must) (?:use|trust|cite|prefer|rely on|answer from|quote) {_THIS}\b"
        rf"|\b{_THIS} is the (?:only|sole) (?:correct|valid|reliable|trusted|true|authoritative) (?:source"
        rf"|document|answer|one)\b"
        rf"|\b{_THIS} (?:overrides|supersedes|takes (?:precedence|priority) over) (?:all|any"
        rf"|every) other (?:documents|pages|information)\b",
    ),
    _rule(
        "do-not-cite",
        Severity.LOW,
        "cit|mention|referenc|attribut|reveal|source",
        r"\b(?:do not|don't|never|without|must not|avoid) (?:cit(?:e|ing)|mention(?:ing)?|referenc(?:e|ing)"
        r"|attribut(?:e|ing)|credit(?:ing)?"
        r"|nam(?:e|ing)|quot(?:e|ing)|link(?:ing)? to)(?: to)?(?: (?:any|the|this|your|these|other|its|a"
        r"|that))* (?:sources?|citations?|documents?|passages?"
        r"|notes?|instructions?|references)\b",
    ),
    _rule(
        "hide-instructions",
        Severity.HIGH,
        "instruction|prompt|note",
        r"\b(?:do not|don't|never) (?:reveal|mention|disclose|tell|show|say|let)\b[^.!?]{0,40}?\b(?:these|this"
        r"|those|the above|hidden|secret) (?:instructions?|prompt"
        r"|directives?)\b|\bdo(?: not|n't) (?:tell|inform|alert|notify|warn) (?:the )?(?:user|reader|asker|human"
        r"|person)s?\b[^.!?]{0,40}?\b(?:instruction|note|"
        r"this|about it|you)",
    ),
    _rule(
        "reveal-prompt",
        Severity.HIGH,
        "prompt|instruction|developer message|embeddings|programming|system message|conversation history|chat history",
        r"\b(?:reveal|show|print|display|output|repeat|tell|give|share|leak|dump|recite|write|spell ?-? ?check"
        r"|return|expose|copy|send|zeige?'?|drucken)\b"
        r"[^.!?]{0,40}?\b(?:(?:system|hidden|initial|secret|above|full|entire|whole|original|internal"
        r"|improved) (?:prompt|instructions|system prompt)"
        r"|your (?:\w+ )?(?:\w+ )?(?:prompts?|instructions|programming|embeddings|system message)"
        r"|prompt[ -]?texte?s?|developer message|this prompt|(?:your|the) "
        r"(?:conversation|chat) history)\b"
        r"|\bwhat (?:exactly )?(?:were|are|was|is) (?:your|the) (?:(?:initial|original|first|system|exact|hidden"
        r"|secret) )+(?:instructions?|prompt)\b"
        r"|\bwhat (?:was|is) written (?:at the (?:beginning|start|top)|above)\b[^.!?]{0,30}?\bprompt\b"
        r"|\bcopy of the (?:full |entire |original )?prompt\b|\binformation in the prompt\b"
        r"|\bvollständigen prompt|\beingabeaufforderung aus\b",
    ),
    _rule(
        "chat-template",
        Severity.HIGH,
        "<|[inst|[/inst|<<sys|_of_turn|[system|<system|###|human:|[assistant|</s>|｜",
        r"<\|[a-z_]{2,40}\|>|<｜[^｜>]{1,40}｜>|\[/?inst\]|<</?sys>>|</?(?:start|end)_of_turn>|\[/?(?:system"
        r"|assistant)(?: (?:message|prompt))?\]"
        r"|</?system(?:[_ -](?:prompt|message|instructions?))?>|#{2,} ?(?:system|assistant"
        r"|instruction)(?: (?:prompt|message|override))? ?:"
        r"|\bhuman: .{1,400}?\bassistant:|</s> ?(?:<s>|\[inst)",
    ),
    _rule(
        "role-header",
        Severity.LOW,
        "system|assistant|developer|admin|</",
        r"^ {0,3}[\[({<*#\-> ]{0,6}(?:system|developer|admin(?:istrator)?) (?:message|prompt|override"
        r"|instructions?|notice)\b[\])}>* ]{0,4}[:\-=\n]"
        r"|^ {0,3}(?:assistant|ai|system) ?: ?(?:\w|\")|</(?:user_input|user_query|documents?|context|results"
        r"|instructions?|tool_result|retrieved)>",
        re.MULTILINE,
    ),
    _rule(
        "fake-delimiter",
        Severity.HIGH,
        "end|begin|start",
        r"[-=#*~]{3,} ?(?:end|begin|start)(?: of)?(?: (?:the|this|all))? ?(?:documents?|context|prompt"
        r"|user input|input|system(?: prompt)?|instructions?"
        r"|sources?|passages?|retrieved\w*|untrusted\w*|data|query)? ?(?:[-=#*~.]{3,}|\. now\b)",
    ),
    _rule("fake-label", Severity.LOW, "[s", r"\[s\d{1,2}\]"),
    _rule(
        "exfiltration",
        Severity.HIGH,
        "http|url|link|image|query|replac",
        r"\]\( ?https?://[^\s)]{1,300}?(?:\{|%7b|<|\[)"
        r"|\breplac(?:e|ing)\b[^.!?]{0,50}?\bwith\b[^.!?]{0,30}?"
        r"\b(?:api[ _-]?key|password|secret|credential|token|conversation|chat history)"
        r"|\b(?:append|encode|embed|insert|replac(?:e|ing)|put|exfiltrate"
        r"|smuggle)\b[^.!?]{0,80}?\b(?:api[ _-]?keys?|passwords?|secrets?|credentials?|tokens?|conversation"
        r"|chat history|user'?s? (?:name|question|data|message)|private data|answer|salary"
        r"|confetti)\b[^!?]{0,120}?(?:https?:|\b(?:url|link|query string|"
        r"parameter|image)\b)"
        r"|\b(?:render|display|output|show|include|print|add|insert"
        r"|embed)\b[^.!?]{0,40}?\b(?:markdown )?(?:image|link|url|hyperlink)\b[^.!?]{0,60}?\b(?:in|to|at the "
        r"end of) (?:your|every|each|the) (?:answer|reply|response|output|message)"
        r"|\bsend\b[^.!?]{0,60}?\b(?:conversation|chat history|api[ _-]?keys?|passwords?|credentials"
        r"|retrieved \w+|context)\b[^!?]{0,60}?\bto\b ?(?:https?:|[\w.+-]{1,40}@)",
    ),
    _rule(
        "addresses-the-model",
        Severity.LOW,
        "ai|llm|language model|bot|gpt|claude|gemini|copilot|assistant|summari|a.i.",
        rf"\b(?:dear|attention|attn|note (?:to|for)|notice (?:to|for)|message (?:to|for)|instructions? (?:to"
        rf"|for)|hey|hello|hi|important for|to (?:the|any|all|every))"
        rf"[:,]? (?:an? |the |any |all |every |this |our )?{_MODEL}\b(?! (?:is|are|was|has|policy|use|team"
        rf"|office|tool|system)\b)"
        rf"|(?:^|[.!?>#*\-(] ?)(?:ai (?:assistants?|agents?|models?|systems?)|assistants?|chat ?-?bots?|llms?"
        rf"|language models?) ?[:,]"
        rf"|\bif you(?:'re| are) (?:an? |the |any )?{_MODEL}\b|\byou are (?:an? )?(?:ai|llm"
        rf"|(?:large )?language model|chatbot|chatgpt|helpful assistant|ai assistant)\b"
        rf"|\b(?:{_MODEL}) (?:reading|processing|summari[sz]ing|indexing|answering)(?: from)? (?:this|the)\b"
        rf"|\bas an? (?:ai|large language model|llm)\b(?: assistant| model)?,? you\b",
    ),
    _rule(
        "ignore-the-page",
        Severity.LOW,
        "page|document|rest|text",
        r"\b(?:ignore|disregard|skip) (?:everything (?:else )?(?:in|on)|the rest of|all (?:of|other)) (?:this "
        r"|the )?(?:page|document|text)\b",
    ),
    _rule(
        "tell-the-user",
        Severity.LOW,
        "user|reader|asker|whoever|anyone|who ask|the human",
        r"\b(?:tell|convince|persuade|instruct|assure|direct|urge)\b (?:the |any |every |all )?(?:users?"
        r"|readers?|askers?|humans?|person (?:who asks|asking)|whoever asks|anyone who asks)"
        r" (?:that|to|they|he|she|it|about|their|his|her)\b",
    ),
    _rule(
        "says-what-to-answer",
        Severity.LOW,
        "answer|repl|respon|output|summar|say",
        rf"\byour (?:answer|response|reply|output|summary) (?:must|should|shall|has to|will)(?: always"
        rf"| only)? (?:include|contain|begin|start|end|say|state|be|not|recommend|mention)\b"
        rf"|\b(?:in|at the end of|to) your (?:answer|response|reply|output|summary)\b"
        rf"|\bwhen (?:asked|answering|responding|replying|summari[sz]ing|you (?:answer|summari[sz]e|respond"
        rf"|are asked))\b[^.!?]{{0,60}}?\b{_SAY}\b"
        rf"|\b(?:answer|reply|respond)(?: only| always| to (?:all|every|any) questions?)+ with\b|\byou (?:must"
        rf"|should|will)(?: only| always| now)+ {_SAY}\b"
        rf"|\b(?:say|repeat|output|print|answer|reply|respond|write)(?: with| exactly"
        rf"| only)* ?:? ?[\"'][^\"']{{1,80}}[\"'] (?:and nothing else|only)"
        rf"|\balways (?:say|answer|reply|respond|recommend|claim|tell|output)\b",
    ),
    _rule(
        "delayed-trigger",
        Severity.HIGH,
        "time|whenever|once|when |if |after |as soon",
        rf"\b(?:the )?(?:next|every|each) time (?:the |a |an |any |this )?(?:users?|askers?|someone|anyone"
        rf"|somebody|anybody|they|he|she|you)"
        rf" (?:asks?|says?|mentions?|thanks?|types?|writes?|greets?|sees?)\b[^.!?]{{0,80}}?\b{_SAY}\b"
        rf"|\b(?:if|when|whenever|once|after|as soon as) (?:the |a |an |any )?(?:user|asker|someone|anyone"
        rf"|anybody|somebody) (?:says?|types|thanks|mentions|asks?)"
        rf"[^.!?]{{0,60}}?,? (?:you (?:must|should|will)|always|then|please)? ?(?:say|answer|reply|respond"
        rf"|output|print|tell (?:them|him|her|the user)|claim) (?:that|with|in|as|only|exactly|\"|')",
    ),
    _rule(
        "jailbreak",
        Severity.HIGH,
        "anything now|mode|jailbr|no rules|no restr|no limit|unrestricted|uncensored|unfiltered|evil|dan|safety"
        "|no program|break",
        r"\bdo anything now\b|\bdan mode\b|\b(?:developer|jailbreak|god|debug|unrestricted) mode (?:enabled"
        r"|activated|on\b|output)"
        r"|\b(?:enable|enter|activate|switch to|turn on) (?:developer|jailbreak|god|unrestricted|dan) mode\b"
        r"|\byou have no (?:rules|restrictions|limits|limitations|filters|guidelines|ethics)\b"
        r"|\byou are (?:now )?(?:dan|jailbroken|unrestricted|uncensored|unfiltered|(?:an? )?(?:evil|unrestricted"
        r"|uncensored|unfiltered))\b"
        r"|\b(?:bypass|disable|turn off|circumvent) (?:your|all|the)? ?(?:safety|content|ethical) (?:filters?"
        r"|guidelines|restrictions|guardrails|policies)\b"
        r"|\b(?:never|without|don't|not) (?:ever |even )?(?:break(?:ing)?|fall(?:ing)? out of) (?:of )?(?:the "
        r"|their |your )?(?:character|figure|role)\b|\bno programming guidelines\b"
        r"|\b(?:pretend|imagine) (?:you are|to be|you're) (?:an? )?(?:evil|unrestricted|rogue)\b",
    ),
    _rule(
        "task-switch",
        Severity.LOW,
        "task|instruction|order|statement|objective|directive|aufgabe|anweisung|assignment",
        r"\b(?:new|further|additional|updated|next|real|actual) (?:instructions?|tasks?|orders?|objective"
        r"|directives?|statement) ?(?::|-|(?:are |is )?follow(?:ed|s|ing)?\b"
        r"|for (?:you|the (?:ai|assistant|model))\b)|\byour (?:new|real|only|actual|true) (?:task|instructions?"
        r"|job|goal|role|objective|assignment) ?(?:is|are|:|,|now)"
        r"|\b(?:concentrate|focus)(?: only| now)* on (?:this|the|your)(?: next| new| following)* task\b"
        r"|\b(?:comes?|have) (?:a |some )?(?:few )?(?:more |new )?(?:tasks?|test):?"
        r" (?:for you|.{0,4}you are)|\b(?:neue|weitere|nächste)\w* (?:aufgaben?|anweisung\w*)\b"
        r"|\b(?:help (?:me )?with|i need your help with) (?:the following|another) task\b",
    ),
    _rule(
        "changes-instructions",
        Severity.HIGH,
        "instruction|i command you|programming|directive|order:",
        r"\b(?:change|update|replace|overwrite|modify|rewrite) your (?:\w+ )?(?:instructions?|rules|programming"
        r"|guidelines|directives|behaviou?r)\b|\bi command you\b"
        r"|\byour (?:instructions|directives|rules|programming) (?:are|is) now\b|(?:^|[\n.?!]) ?(?:instruction"
        r"|order|command) ?:",
    ),
    _rule(
        "persona",
        Severity.LOW,
        "act as|pretend|imagine|from now on|you are now|role|fungier|auftr|you are|agieren|stell dir",
        r"\bi(?: would|'d)?(?: want| need| like) (?:you )?to act(?: as)?\b|\bact as (?:an? )?(?:python|linux|sql"
        r"|javascript|terminal)\b|\bpretend (?:to be|you are|you're|you can|that you)\b"
        r"|\bimagine (?:that )?(?:you are|you're) (?:an? |the )|\bfrom now on,? (?:you|act|respond|reply"
        r"|answer)\b|\b(?:you are now|now,? you are) (?:an? |in |the |called |named |[a-z]+bot\b)"
        r"|\byou are (?:role-?playing|going to act)\b|\b(?:möchte|will),? dass (?:sie"
        r"|du) als\b.{0,60}?(?:fungier|agier|auftr)|\brole-?play(?:ing)? as\b",
    ),
)

_CLOSE = 500  # characters
_PLACES = 8
_ADDRESSED = "addresses-the-model"
_INSTRUCTED = frozenset(
    {
        "do-not-cite",
        "ignore-the-page",
        "only-source",
        "persona",
        "role-header",
        "says-what-to-answer",
        "task-switch",
        "tell-the-user",
    }
)
