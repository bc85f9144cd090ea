"""The chain that makes the audit record tell when it was changed: pure, over the bytes that were hashed.

Each record holds its number and the hash of the one before; a leaf is SHA-256(0x00 ‖ canonical bytes), as in RFC 6962,
and the bytes are RFC 8785 JSON. Signed heads, kept apart, say how far the chain went and what it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import rfc8785

from connectors.errors import Stop
from connectors.ports import ChainVerdict

_LARGEST = 2**53 - 1
START = "0" * 64  # what the first record names as the one before


def canonical(record: Mapping[str, Any]) -> bytes:
    """The one way to write a record down, RFC 8785."""
    try:
        if _plain(record):
            return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        return rfc8785.dumps(dict(record))
    except (rfc8785.CanonicalizationError, UnicodeError, ValueError) as error:
        raise Stop(f"a trace record can't be written in canonical form ({type(error).__name__})") from error


def _plain(value: Any) -> bool:
    """Whether the standard library writes a value just as RFC 8785 asks: keys in ASCII, where both orders agree, and no
    number but whole ones that every reader of JSON can hold."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-_LARGEST <= value <= _LARGEST)
    if kind is list or kind is tuple:
        return all(map(_plain, value))
    if kind is dict:
        return all(type(key) is str and key.isascii() for key in value) and all(map(_plain, value.values()))
    return False


def leaf(raw: bytes) -> str:
    """The hash of a record's bytes."""
    return sha256(b"\x00" + raw).hexdigest()


def parsed(raw: bytes) -> dict[str, Any] | None:
    """The record in some bytes; None when they are not a record in canonical form."""
    try:
        record = json.loads(raw, object_pairs_hook=_no_repeats, parse_constant=_refuse)
        if not isinstance(record, dict) or canonical(record) != raw:
            return None
    except (ValueError, RecursionError, Stop):
        return None
    whole = isinstance(record.get("seq"), int) and isinstance(record.get("prev"), str)
    return record if whole else None


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


class Check:
    """Reads a chain record by record and says what is wrong first.

    A record vouches for the one before it. Where a link is broken, the follower of the two says which is at fault: it
    vouches for the second, so that the first was changed, or it doesn't, so that the second was.
    """

    def __init__(self, first: int = 1, prev: str = START, heads: Mapping[int, str] | None = None) -> None:
        """`heads` are the signed states: number of the last record to its leaf."""
        self.count = 0
        self.last = prev  # the leaf of the last record read
        self._next = first
        self._heads = heads or {}
        self._leaves: dict[str, int] = {prev: first - 1}
        self._numbers: dict[int, str] = {}
        self._doubt: tuple[int, str] | None = None  # a broken link: the second record's number, and its leaf
        self._unsigned: int | None = None  # a record that is not the one signed, until the next one is read
        self.verdict: ChainVerdict | None = None

    def feed(self, raw: bytes, later: frozenset[int] = frozenset()) -> bool:
        """Read the next record; False when something is wrong. `later`: numbers that stand further on."""
        record = parsed(raw)
        if record is None:
            return self._wrong("edited", self._next, "is not a record in canonical form")
        number, prev, own = record["seq"], record["prev"], leaf(raw)
        if self._unsigned is not None:
            if prev == self.last:
                return self._wrong("fork", self._unsigned, "continues another history than the one that was signed")
            return self._wrong("edited", self._unsigned, "is not the record that was signed")
        if self._doubt is not None:
            return self._settle(self._doubt, prev)
        if number != self._next:
            return self._misplaced(number, own, later)
        return self._linked(number, prev, own)

    def _linked(self, number: int, prev: str, own: str) -> bool:
        if prev != self.last:
            if prev in self._leaves:
                return self._wrong("fork", number, f"goes on from record {self._leaves[prev]}, not the one before it")
            if self._heads.get(number - 1) == self.last:
                return self._wrong("edited", number, "does not go on from the record that was signed before it")
            self._doubt = (number, own)
        elif self._heads.get(number, own) != own:
            self._unsigned = number
        self.count += 1
        self.last = own
        self._leaves[own] = number
        self._numbers[number] = own
        self._next = number + 1
        return True

    def _misplaced(self, number: int, own: str, later: frozenset[int]) -> bool:
        if number > self._next:
            if self._next in later:
                return self._wrong("reordered", self._next, "comes after records that follow it")
            return self._wrong("gap", self._next, "is missing")
        if self._numbers.get(number) == own:
            return self._wrong("reordered", number, "is there twice")
        return self._wrong("fork", number, "is there twice, with different content")

    def _settle(self, doubt: tuple[int, str], vouched: str | None) -> bool:
        """Decide a broken link by what the follower, or the signed head, says the second record is."""
        number, own = doubt
        if vouched is not None and vouched != own:
            return self._wrong("edited", number, "is not the record that the next one follows")
        return self._wrong("edited", number - 1, "is not the record that the next one follows")

    def close(self, size: int | None, head: str | None) -> ChainVerdict:
        """The verdict at the end; `size` and `head` are the last signed number and leaf, where something is signed."""
        if self.verdict is None and self._unsigned is not None:
            self._wrong("edited", self._unsigned, "is not the record that was signed")
        if self.verdict is None and self._doubt is not None:
            self._settle(self._doubt, head if size == self._doubt[0] else None)
        if self.verdict is None and size is not None and size >= self._next:
            self._wrong("truncated", self._next, f"is cut off, with everything after it up to {size}")
        if self.verdict is None and size == self._next - 1 and head != self.last:
            self._wrong("edited", size, "is not the record that was signed")
        return ChainVerdict("ok", self.count) if self.verdict is None else self.verdict

    def _wrong(self, status: str, number: int, what: str) -> bool:
        self.verdict = ChainVerdict(status, self.count, number, f"record {number} {what}")
        return False
