"""Sealed content opens only to a verdict on its own document and version, and prints nothing."""

from __future__ import annotations

import copy
import pickle

import pytest

from policies.clearance import Cleared, Sealed, clear
from policies.decision import Allowed, Refused
from policies.names import DocumentId

PAY = DocumentId("sample", "pay.md")
SEALED = Sealed(PAY, "v1", "a secret")


def test_a_verdict_opens_its_own_version() -> None:
    cleared = clear(SEALED, Allowed(PAY, "v1", "p"))

    assert cleared.content == "a secret"
    assert repr(cleared) == "Cleared(sample:pay.md@v1)"
    assert "secret" not in repr(SEALED) + str(SEALED)


@pytest.mark.parametrize("allowed", [Allowed(PAY, "v2", "p"), Allowed(DocumentId("sample", "x"), "v1", "p")])
def test_a_verdict_on_something_else_opens_nothing(allowed: Allowed) -> None:
    with pytest.raises(ValueError, match="does not open"):
        clear(SEALED, allowed)


@pytest.mark.parametrize("verdict", [Refused("c", "r", "p"), True, None])
def test_only_an_allowed_opens(verdict: object) -> None:
    with pytest.raises(TypeError, match="a verdict that allows is needed"):
        clear(SEALED, verdict)  # type: ignore[arg-type]  # the mistake that is refused


def test_cleared_content_cannot_be_made_up() -> None:
    with pytest.raises(TypeError, match=r"only clear\(\)"):
        Cleared("made up", Allowed(PAY, "v1", "p"), object())


def test_sealed_content_is_not_written_out() -> None:
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(SEALED)
    with pytest.raises(TypeError, match="not pickled"):
        copy.copy(SEALED)


def test_a_part_of_cleared_content_stands_under_the_same_verdict() -> None:
    part = clear(SEALED, Allowed(PAY, "v1", "p")).map(str.upper)

    assert (part.content, part.allowed) == ("A SECRET", Allowed(PAY, "v1", "p"))
