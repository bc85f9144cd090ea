"""The short way to write a record down and the full one of RFC 8785 give the same bytes."""

from __future__ import annotations

from typing import Any

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from connectors.errors import Stop
from connectors.ledger.chain import canonical

_WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
_PLAIN = st.none() | st.booleans() | st.integers(-(2**54), 2**54) | st.floats(allow_nan=False) | _WORDS
_RECORDS = st.dictionaries(
    _WORDS | st.sampled_from(["\x7f", "\U0001f600", "\uffff", "a", "A", "\x00", '"', "\\"]),
    st.recursive(_PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3)),
    max_size=4,
)


@given(_RECORDS)
def test_a_record_has_one_form(record: dict[str, Any]) -> None:
    try:
        expected: bytes | None = rfc8785.dumps(record)
    except rfc8785.CanonicalizationError:
        expected = None

    try:
        written: bytes | None = canonical(record)
    except Stop:
        written = None

    assert written == expected
