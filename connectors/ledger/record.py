"""What a trace record may hold: a closed list of keys, and values too short and too plain to carry a document's text.

Whoever writes records imports nothing from here; a key that is not in the list is refused when the record is appended,
and then there is no answer. To log something new, add its key here with its kind.

    CODE   a word without spaces, up to 300 characters: ids, digests, verdicts, names of checks and models
    NAME   the same, up to 2,000: an address on the spine, which quotes spaces
    PATH   up to 2,000 characters on one line: a source's own name for a version, a folder or a place
    LINE   up to 300 characters with spaces: a condition of a filter, a reason that code wrote, a version of a model
    COUNT  an integer, or null          SCORE  a number or a decimal string, kept as a decimal string, or null
    FLAG   true, false or null          TALLY  a table from CODE to COUNT or SCORE
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from math import isfinite
from numbers import Integral, Real
from typing import Any

from connectors.errors import Stop

CODE, NAME, PATH, LINE = "CODE", "NAME", "PATH", "LINE"
COUNT, SCORE, FLAG, TALLY = "COUNT", "SCORE", "FLAG", "TALLY"

_WORD = re.compile(r"[^\s\x00-\x1f\x7f]*")
_ONE_LINE = re.compile(r"[^\n\r\x00]*")
_MOST = 20_000  # items of one list
_BIGGEST = 2**53 - 1  # beyond it, JSON readers differ


_Where = tuple[Any, str]
"""Where in a record: what it is in, and its name there. Written out only when something is wrong."""


@dataclass(frozen=True, slots=True)
class Each:
    """A list whose items are all of one shape."""

    of: Any


_AUDIENCE = {
    "visible_to": CODE,
    "readers": COUNT,
    "principals": CODE,
    "scopes": COUNT,
    "containers": COUNT,
    "excepted": COUNT,
    "scopes_digest": CODE,
    "scope_ids": Each(COUNT),
    "conditions": Each(LINE),
    "refused": CODE,
    "reason": LINE,
    "place": PATH,
}
_CANDIDATE = {
    "chunk": NAME,
    "digest": CODE,
    "lexical": COUNT,
    "lexical_score": SCORE,
    "vector": COUNT,
    "vector_score": SCORE,
    "code": COUNT,
    "score": SCORE,
    "relevance": SCORE,
    "trust": CODE,
    "kept": FLAG,
}
JUDGED = {
    "document": NAME,
    "version": PATH,
    "allowed": FLAG,
    "check": CODE,
    "reason": LINE,
    "reader": COUNT,
    "scope": COUNT,
    "expression": CODE,
    "state": CODE,
    "verified_at": CODE,
    "lease": SCORE,
    "life": CODE,
    "current": FLAG,
    "hidden_by": PATH,
    "effective_from": CODE,
    "effective_to": CODE,
    "superseded": FLAG,
    "trust": CODE,
    "at": CODE,
}
_PLACED = {"label": CODE, "chunk": NAME, "digest": CODE, "supported": FLAG, "tokens": COUNT}
_DROPPED = {"chunk": NAME, "check": CODE, "reason": LINE}
_ATTEMPT = {
    "audience": _AUDIENCE,
    "found": Each(Each(_CANDIDATE)),
    "judged": Each(JUDGED),
    "dropped": Each(_DROPPED),
    "shortlists": Each(Each(_CANDIDATE)),
    "context": Each(_PLACED),
    "context_tokens": COUNT,
    "left_out": Each(_DROPPED),
    "draft": {
        "model": LINE,
        "claims": Each(Each(CODE)),
        "unanswered": COUNT,
        "missing": COUNT,
        "usage": TALLY,
        "provider_request": CODE,
        "finish": CODE,
    },
    "loose": Each({"labels": Each(CODE), "reason": LINE}),
    "grounding": Each({"labels": Each(CODE), "supported": FLAG, "score": SCORE, "reason": LINE}),
    "injection": Each({"chunk": NAME, "verdict": CODE, "rules": Each(CODE)}),
    "delivery": Each(JUDGED),
    "withheld": CODE,
    "masked": TALLY,
    "speech": TALLY,
}
SHAPES: Mapping[str, Mapping[str, Any]] = {
    "begin": {
        "place": PATH,
        "surface": CODE,
        "command": CODE,
        "external": FLAG,
        "on": CODE,
        "dated": FLAG,
        "parts": COUNT,
        "codes": COUNT,
        "length": COUNT,
        "limit": COUNT,
        "policy": CODE,
        "release": CODE,
        "request": CODE,
        "at": CODE,
        "link": CODE,
        "subject": {
            "kind": CODE,
            "active": FLAG,
            "principals": COUNT,
            "fingerprint": CODE,
            "resolved_at": CODE,
        },
        "index": {"model": LINE, "dimensions": COUNT, "schema": CODE, "collection": CODE},
        "models": {"embedder": LINE, "reranker": LINE, "writer": LINE, "prompt": LINE, "detector": LINE},
        "audiences": Each(_AUDIENCE),
    },
    "end": {
        "outcome": CODE,
        "collection": CODE,
        "visible_to": CODE,
        "reason": LINE,
        "attempts": Each(_ATTEMPT),
        "citations": Each(_PLACED),
        "results": COUNT,
        "notes": COUNT,
        "masked": TALLY,
        "timings_ms": TALLY,
        "usage": TALLY,
        "cost": SCORE,
        "delivered": {"target": CODE, "ts": CODE, "message": CODE},
        "error": LINE,
    },
}
SEALED = frozenset(
    {
        *("asker", "question", "reply", "answer", "draft", "readers", "principals", "thread", "subqueries"),
        *("before", "after"),  # of what somebody changed by a command
    }
)
"""Fields that are sealed. `asker` also gives the pseudonym by which a trace is found. `readers` is the subjects that
the verdicts were for, as `replay.py` reads them."""

_LONGEST_SEALED = 1_000_000


def shaped(kind: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """The record as it may be kept, of plain JSON values; Stop names the first key or value that may not."""
    return _table(record, SHAPES[kind], (None, kind))


def checked_sealed(sealed: Mapping[str, str]) -> Mapping[str, str]:
    """The fields to seal, when each is known, a text, and of a sane size."""
    for name, value in sealed.items():
        if name not in SEALED:
            raise Stop(f"a trace has no sealed field {name!r}; add it to connectors/ledger/record.py")
        if not isinstance(value, str) or len(value) > _LONGEST_SEALED:
            raise Stop(f"the sealed field {name!r} of a trace must be a text of at most {_LONGEST_SEALED} characters")
    return sealed


def _table(value: Any, shape: Mapping[str, Any], where: _Where) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(where, "a table")
    unknown = sorted(map(str, value.keys() - shape.keys()))
    if unknown:
        raise Stop(
            f"a trace record has no key {unknown[0][:60]!r} in {_path(where)}; add it to connectors/ledger/record.py"
        )
    return {key: _value(each, shape[key], (where, key)) for key, each in value.items()}


def _value(value: Any, shape: Any, where: _Where) -> Any:
    if isinstance(shape, str) and shape != TALLY:  # first, since most values are plain
        return None if value is None else _plain(value, shape, where)
    match shape:
        case Each(of):
            if not isinstance(value, list | tuple | Sequence | Set) or isinstance(value, str | bytes):
                raise _wrong(where, "a list")
            if len(value) > _MOST:
                raise _wrong(where, f"a list of at most {_MOST}")
            items = sorted(value) if isinstance(value, set | frozenset | Set) else value
            return [_value(item, of, where) for item in items]
        case dict():
            return _table(value, shape, where)
        case _:
            if not isinstance(value, Mapping) or len(value) > _MOST:
                raise _wrong(where, "a table of counts")
            return {_plain(key, CODE, where): _number(each, where) for key, each in value.items()}


def _plain(value: Any, shape: str, where: _Where) -> Any:
    match shape:
        case "FLAG":
            if isinstance(value, bool):
                return value
        case "COUNT":
            if isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) <= _BIGGEST:
                return int(value)
        case "SCORE":
            return _score(value, where)
        case _:
            text = value if type(value) is str else _written(value)
            longest = 300 if shape in (CODE, LINE) else 2_000
            allowed = _ONE_LINE if shape in (PATH, LINE) else _WORD
            if isinstance(text, str) and len(text) <= longest and allowed.fullmatch(text):
                return _storable(text, where)
    raise _wrong(where, shape)


def _written(value: Any) -> Any:
    match value:
        case Enum():
            return value.value
        case datetime():
            return moment(value)
        case date():
            return value.isoformat()
        case _:
            return value


def moment(at: datetime) -> str:
    """A time as records write it."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _number(value: Any, where: _Where) -> Any:
    if isinstance(value, Integral) and not isinstance(value, bool):
        return _plain(value, COUNT, where)
    return _score(value, where)


def _score(value: Any, where: _Where) -> str:
    """A decimal string: the canonical form of a float differs between languages, and the record is hashed."""
    if isinstance(value, Real) and not isinstance(value, bool) and isfinite(float(value)):
        return format(Decimal(repr(round(float(value), 9))), "f")
    try:
        number = Decimal(value) if isinstance(value, str) and len(value) <= 40 else Decimal("nan")
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise _wrong(where, SCORE)
    return str(value)


def _storable(text: str, where: _Where) -> str:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _wrong(where, "valid Unicode") from error
    return text


def _path(where: _Where) -> str:
    outer, name = where
    return name if outer is None else f"{_path(outer)}.{name}"


def _wrong(where: _Where, kind: str) -> Stop:
    return Stop(f"{_path(where)} of a trace record must be {kind}; see connectors/ledger/record.py")
