"""The access algebra: a document's readers are an AND of ORs over principals, or unknown.

An empty clause is *nobody*, never *no restriction*. There is no expression without clauses: who has no rule recorded
has no readers (`NOBODY`). After shared rules R1 to R7 of the connectors: NoRestriction is a source's word and never
reaches this room.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from policies.names import Principal

Clause = frozenset[Principal]
"""Principals any one of whom satisfies it (OR); the empty clause is satisfied by nobody."""


@dataclass(frozen=True, slots=True)
class AccessExpr:
    """Clauses all of which must be satisfied (AND); never empty."""

    clauses: frozenset[Clause]

    def __post_init__(self) -> None:
        if not self.clauses:
            raise ValueError("an access expression without clauses would let everybody read; use NOBODY or Unknown")

    @classmethod
    def all_of(cls, *clauses: Iterable[Principal]) -> AccessExpr:
        """Readers must satisfy every one of `clauses`."""
        return cls(frozenset(frozenset(clause) for clause in clauses))

    @classmethod
    def any_of(cls, *principals: Principal) -> AccessExpr:
        """Readers must be at least one of `principals`; none given means nobody."""
        return cls(frozenset([frozenset(principals)]))

    def __and__(self, other: AccessExpr) -> AccessExpr:
        return AccessExpr(self.clauses | other.clauses)


@dataclass(frozen=True, slots=True)
class Unknown:
    """The source's answer was missing, partial, refused or unreadable; it matches nobody."""

    reason: str


Access = AccessExpr | Unknown

NOBODY = AccessExpr(frozenset([Clause()]))


def satisfies(principals: frozenset[Principal], access: Access) -> bool:
    """Whether somebody who is all of `principals` meets every clause of `access`."""
    match access:
        case AccessExpr(clauses):
            return all(clause & principals for clause in clauses)
        case _:
            return False


def simplify(expr: AccessExpr) -> AccessExpr:
    """The same readers with fewer clauses: a clause that contains another adds nothing (absorption)."""
    kept: list[Clause] = []
    for clause in sorted(expr.clauses, key=len):
        if not any(smaller <= clause for smaller in kept):
            kept.append(clause)
    return AccessExpr(frozenset(kept))


@lru_cache(maxsize=4_096)
def clause_digest(clause: Clause) -> str:
    """A stable name for a clause: equal for equal sets of principals, whatever their order."""
    # Each name is hashed by itself: whatever characters names hold, two clauses are never written alike.
    names = sorted(sha256(str(principal).encode(errors="surrogatepass")).hexdigest() for principal in clause)
    return sha256(" ".join(["clause/1", *names]).encode()).hexdigest()


def digest(access: Access) -> str:
    """A stable name for an expression after `simplify`; unknown is one name, whatever its reason."""
    if isinstance(access, Unknown):
        return sha256(b"unknown/1").hexdigest()
    clauses = sorted(clause_digest(clause) for clause in simplify(access).clauses)
    return sha256(("expr/1\x00" + "\x00".join(clauses)).encode()).hexdigest()
