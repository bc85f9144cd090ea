"""The verdict on one document for one person: allowed, or refused with the check and the reason."""

from __future__ import annotations

from dataclasses import dataclass

from policies.names import DocumentId


@dataclass(frozen=True, slots=True)
class Allowed:
    """No check objected. Made by `policy.Policy.decide` only; `clearance.clear` asks for one."""

    document: DocumentId
    version: str
    policy_version: str

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Refused:
    """The first check that objected, and why, in words for an admin or a reviewer, never for the asker."""

    check: str
    reason: str
    policy_version: str

    def __bool__(self) -> bool:
        return False


Decision = Allowed | Refused
