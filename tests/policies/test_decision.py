"""A verdict reads as yes or no."""

from __future__ import annotations

from policies.decision import Allowed, Refused
from policies.names import DocumentId


def test_allowed_is_true_and_refused_is_false() -> None:
    assert Allowed(DocumentId("s", "k"), "v", "p")
    assert not Refused("check", "reason", "p")
