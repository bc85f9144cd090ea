"""Does a passage support a claim? Similar is not enough: numbers, negation, modality and conditions count.

A claim that repeats a passage word for word is supported by construction. Any other is held against the passage's
most similar sentence, and each sign of a difference in meaning refuses it. The signs follow the measurements in which
overlap alone could not tell a contradiction from support (AUROC .54) and these together could (.81). What is not
clearly supported is not supported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

ENOUGH = 0.7  # share of a claim's content words that its sentence must hold
_WORD = re.compile(r"[^\W_]+(?:['’\-.][^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,:/\-]\d+)*")

_NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90",
    "hundred": "100", "thousand": "1000", "half": "1/2", "twice": "2", "once": "1",
}  # fmt: skip

_NEGATORS = frozenset(
    "not no never none neither nor nobody nothing without cannot can't won't don't doesn't didn't isn't aren't wasn't "
    "weren't shouldn't mustn't couldn't wouldn't hasn't haven't hadn't unable fails failed lacks lack lacking "
    "ineligible prohibited forbidden excluded excludes denied".split()
)
_MODALS = {
    "must": frozenset("must shall required requires require mandatory obliged obligatory have-to has-to".split()),
    "may": frozenset("may can could allowed permitted allows permits optional might eligible".split()),
}
_OPPOSITES = tuple(
    (frozenset(a.split()), frozenset(b.split()))
    for a, b in (
        ("above over more exceeds exceeding greater higher", "below under less fewer lower"),
        ("before earlier prior", "after later following"),
        (
            "increase increases increased raises raised higher promotes activates upregulates",
            "decrease decreases decreased reduces reduced lowers lowered inhibits suppresses downregulates lower",
        ),
        ("required mandatory compulsory", "optional voluntary"),
        ("included includes include", "excluded excludes exclude"),
        ("automatic automatically", "request manually manual"),
        ("minimum least", "maximum most"),
        ("paid", "unpaid"),
        ("pays pay paid reimburses reimbursed covers covered", "refuses refuse refused denies deny withholds withheld"),
        ("opens open opened starts start begins begin", "closes close closed ends end stops stop"),
        ("enters enter joins join", "leaves leave quits quit"),
        ("buys buy", "sells sell"),
        ("internal", "external"),
        ("domestic", "international"),
        ("first", "last"),
        ("approved accepted granted", "rejected refused declined"),
        ("current active", "superseded expired withdrawn"),
        ("always", "never"),
        ("all every each", "none no"),
        ("employees employee", "contractors contractor"),
        ("better improves improved improve", "worse worsens worsened worsen"),
    )
)  # fmt: skip
_CONDITIONS = re.compile(
    r"\b(?:only (?:if|when|where|after|with)|unless|except(?:ing)?|provided (?:that|they|it|the)|as long as|subject to|"
    r"on condition|(?<=, )(?:but only )?if)\b",
    re.IGNORECASE,
)
_STOP = frozenset(
    "a an the of to in on at by for with from as and or but if then than that this these those it its they their he "
    "she his her you your we our i is are was were be been being do does did has have had will would so such which "
    "who whom whose what when where there here also any some into per about".split()
)
_SUBJECTS: tuple[dict[str, frozenset[str]], ...] = (
    {
        "employee": frozenset("employee employees staff".split()),
        "contractor": frozenset("contractor contractors freelancer freelancers consultant consultants".split()),
        "visitor": frozenset("visitor visitors guest guests".split()),
        "intern": frozenset("intern interns apprentice apprentices".split()),
        "supplier": frozenset("supplier suppliers vendor vendors".split()),
    },
    {"domestic": frozenset(["domestic"]), "international": frozenset(["international", "overseas", "abroad"])},
    {"full-time": frozenset(["full-time"]), "part-time": frozenset(["part-time"])},
)
_DESIGNATION = re.compile(r"\b([^\W\d_]{3,20})\s+(?:no\.?\s*|number\s+|#)?(\d{1,9}|[B-HJ-Zb-hj-z])\b(?![.,]\d)")
_NO_NOUNS = frozenset(
    "within after before over under about around than until least most only every per last next past first the and for "
    "with from between during january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec get gets have has are was were pay pays paid more less nearly "
    "almost approximately exceed exceeds above below maximum minimum not".split()
)
_TOKEN = re.compile(r"\d+(?:[.,:/\-]\d+)*|[^\W\d_](?:[\w'\-]*[^\W_])?")
_DOER = re.compile(r"[a-z]{3,}(?:er|or|ee|ant|ist|ian|eer)s?")
_CURRENCIES = {"€": "eur", "$": "usd", "£": "gbp", "¥": "jpy", "%": "percent"}
_CURRENCY = re.compile("[€$£¥%]")
_ENDINGS = "ations ation ements ement ingly ings ing edly ies ied ed es s ly".split()


@dataclass(frozen=True, slots=True)
class Supported:
    """The passage says so; `quote` is the sentence of it that does."""

    quote: str
    coverage: float


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The passage does not say so, or says otherwise."""

    reason: str
    quote: str = ""


def support(claim: str, sentences: Sequence[str]) -> Supported | Unsupported:
    """Whether the passage that `sentences` are the whole of, in order, supports `claim`."""
    # A whole sentence, not any run of characters: "may claim" stands inside "nobody may claim" too.
    if claim.strip() and _flat(claim) in _runs(sentences):
        return Supported(claim.strip(), 1.0)
    if not sentences:
        return Unsupported("the passage is empty")
    best = max(sentences, key=lambda sentence: coverage(claim, sentence))
    reached = coverage(claim, best)
    if reached < ENOUGH:
        return Unsupported("the passage does not speak of it", best)
    if sign := difference(claim, best):
        return Unsupported(sign, best)
    return Supported(best, reached)


def coverage(claim: str, sentence: str) -> float:
    """The share of the claim's content words that the sentence holds, 0 to 1; 0 for a claim without any."""
    wanted = _content(claim)
    return len(wanted & _content(sentence)) / len(wanted) if wanted else 0.0


def difference(claim: str, sentence: str) -> str | None:
    """The first sign that the two mean different things, or None."""
    told, said = _words(claim), _words(sentence)
    if missing := _numbers(claim) - _numbers(sentence):
        return f"a number of the claim is not in the passage: {', '.join(sorted(missing))}"
    doers, others = _doers(told), _doers(said)
    if doers - others and others - doers:
        return "the claim names somebody else than the passage"
    if misplaced := _misplaced(claim, sentence):
        return f"a number of the claim belongs to something else in the passage: {misplaced}"
    if _negations(told) % 2 != _negations(said) % 2:
        return "one of the two is negated"
    for name, modals in _MODALS.items():
        other = _MODALS["may" if name == "must" else "must"]
        if modals & told and not modals & said and other & said:
            return f"the claim says {name!r} where the passage does not"
    for one, opposite in _OPPOSITES:
        if (one & told and opposite & said and not one & said) or (
            opposite & told and one & said and not opposite & said
        ):
            return "the claim says the opposite of a word in the passage"
    if _CONDITIONS.search(sentence) and not _CONDITIONS.search(claim):
        return "the claim leaves out a condition of the passage"
    return None


class Another(StrEnum):
    """How a text speaks of another than a question does."""

    KIND = "kind"  # employees where it asks about contractors: it may add to an answer, but is none
    THING = (
        "thing"  # claim 912 where it asks about claim 847, Payer Y where it asks about Payer X: it has no place there
    )


def about_another(question: str, text: str) -> Another | None:
    """Whether `text` speaks of another than the question does, and in what way."""
    wanted, given = _designations(question), _designations(text)
    if any(ids and given.get(noun) and not ids & given[noun] for noun, ids in wanted.items()):
        return Another.THING
    asked, told = _words(question), _words(text)
    for kinds in _SUBJECTS:
        named = {name for name, words in kinds.items() if words & asked}
        others = {name for name, words in kinds.items() if words & told}
        if named and others and not named & others:
            return Another.KIND
    return None


def conditions(text: str) -> tuple[str, ...]:
    """The conditions that a text makes its statement depend on, from the word that opens each to the end of its clause:
    `only if the contract allows it`."""
    return tuple(
        text[found.start() : found.start() + _clause_length(text[found.start() :])].strip()
        for found in _CONDITIONS.finditer(text)
    )


def _clause_length(rest: str) -> int:
    end = re.search(r"[.;!?\n](?=\s|$)|,\s", rest)
    return end.start() if end else len(rest)


def _runs(sentences: Sequence[str]) -> set[str]:
    """Every run of up to four whole sentences, flattened."""
    return {
        _flat(" ".join(sentences[start:end]))
        for start in range(len(sentences))
        for end in range(start + 1, min(start + 4, len(sentences)) + 1)
    }


def _flat(text: str) -> str:
    return " ".join(text.split()).strip(" .").casefold()


def _words(text: str) -> frozenset[str]:
    text = text.replace("’", "'")
    found = {word.casefold() for word in _WORD.findall(text)}
    lowered = text.casefold()
    if "have to" in lowered or "has to" in lowered:
        found.add("have-to")
    return frozenset(found)


def _doers(words: frozenset[str]) -> frozenset[str]:
    """Words for those who do something, by their form: managers, directors, employees. Some things look like them."""
    return frozenset(_stem(word) for word in words if _DOER.fullmatch(word))


def _negations(words: frozenset[str]) -> int:
    return len(words & _NEGATORS)


def _numbers(text: str) -> frozenset[str]:
    digits = {number.replace(",", "") for number in _NUMBER.findall(text)}
    spelled = {_NUMBER_WORDS[word] for word in _words(text) if word in _NUMBER_WORDS}
    return frozenset(digits | spelled)


_Token = tuple[str, bool]  # a content word's stem or a number, and whether it is a number


def _misplaced(claim: str, sentence: str) -> str | None:
    """The first number that the claim puts with another unit, or in another place among several, than the sentence."""
    told, said = _tokens(claim), _tokens(sentence)
    numbers = [word for word, number in said if number]
    for at, (word, number) in enumerate(told):
        places = [place for place, each in enumerate(said) if each == (word, True)]
        if number and not _same_unit(told, at, places, said):
            return word
    if len(numbers) < 2 or not any(number for _, number in told):
        return None
    return None if _in_order(told, said) else next(word for word, number in told if number)


def _same_unit(told: Sequence[_Token], at: int, places: Sequence[int], said: Sequence[_Token]) -> bool:
    """Whether what is counted, beside the number, stands close to it in the sentence too."""
    beside = [*told[at + 1 : at + 2], *told[max(0, at - 1) : at]]
    unit = next((each for each in beside if each[0] in _UNITS and not each[1]), None)
    if unit is None:
        return True
    return any(unit in said[place + 1 : place + 4] or unit in said[max(0, place - 1) : place] for place in places)


def _in_order(told: Sequence[_Token], said: Sequence[_Token]) -> bool:
    """Whether what the claim shares with the sentence comes in the sentence's order, and nothing that belongs to
    another number of it in between. Words that the sentence lacks are weighed elsewhere."""
    shared = [each for each in told if each in said]
    for start in range(len(said)):
        at, matched, skipped = start, 0, False
        while at < len(said) and matched < len(shared):
            if said[at] == shared[matched]:
                matched += 1
            elif said[at][1] and matched and any(number for _, number in shared[:matched]):
                skipped = True
                break
            at += 1
        if matched == len(shared) and not skipped:
            return True
    return False


def _tokens(text: str) -> list[_Token]:
    """Content words as stems, and numbers, in order; currencies by their code."""
    spelled = _CURRENCY.sub(lambda found: f" {_CURRENCIES[found[0]]} ", text.replace("’", "'"))
    found: list[_Token] = []
    for match in _TOKEN.finditer(spelled):
        word = match[0].casefold()
        if word[0].isdigit():
            found.append((word.replace(",", ""), True))
        elif word in _NUMBER_WORDS:
            found.append((_NUMBER_WORDS[word], True))
        elif word not in _STOP:
            found.append((_stem(word), False))
    return found


def _designations(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for noun, which in _DESIGNATION.findall(text):
        if (name := noun.casefold()) not in _NO_NOUNS:
            found.setdefault(_stem(name), set()).add(which.casefold())
    return found


def _content(text: str) -> frozenset[str]:
    return frozenset(_NUMBER_WORDS.get(word) or _stem(word) for word in _words(text) if word not in _STOP)


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    # Enough for plurals and common endings; both sides go through it, so a wrong stem is wrong alike.
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


_UNITS = frozenset(
    _stem(word)
    for word in (
        "second minute hour day week month quarter year night "
        "seconds minutes hours days weeks months quarters years nights "
        "eur euro euros usd dollar dollars gbp pound pounds chf franc francs inr rupee rupees jpy yen "
        "percent cent cents "
        "km kilometre kilometres kilometer kilometers mile miles metre metres meter meters kg kilogram kilograms gram "
        "grams litre litres liter liters mb gb tb kb people persons employees contractors guests"
    ).split()
)
