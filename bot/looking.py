"""Looking from the outside at who may read what: the answers of `why` and `who`, for admins.

Both ask the same policy on the same fresh facts as a question does. There is no second opinion here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Protocol

from bot.errors import Unusable
from connectors.ports import Catalog, Directory, Facts, People
from policies.access import AccessExpr, Unknown, simplify
from policies.explain import explain
from policies.facts import Moment, Resource
from policies.names import DocumentId, Principal
from policies.policy import Policy

_AT_ONCE = 8  # people asked about together


class Documents(Protocol):
    """The ledger's documents by what people call them."""

    async def find(self, text: str, limit: int) -> Sequence[DocumentId]:
        """Documents whose name, key or last part of the key is `text`; the exact name alone where it is one."""
        ...


@dataclass(frozen=True, slots=True)
class Looking:
    """The doors that looking needs."""

    documents: Documents
    catalog: Catalog
    facts: Facts
    directory: Directory
    people: People
    policy: Policy


@dataclass(frozen=True, slots=True)
class Why:
    """Whether one person may read one document, and what decides it."""

    allowed: bool
    check: str | None
    reason: str
    clauses: tuple[tuple[Principal, ...], ...]
    held: tuple[tuple[Principal, ...], ...]  # what the person is of each clause
    policy_version: str
    verified_at: datetime | None
    document: str
    version: str | None

    def to_json(self) -> dict[str, Any]:
        """One object as docs/commands.md describes it."""
        return {
            "allowed": self.allowed,
            "check": self.check,
            "reason": self.reason,
            "clauses": _written(self.clauses),
            "held": _written(self.held),
            "policy_version": self.policy_version,
            "verified_at": None if self.verified_at is None else self.verified_at.isoformat(),
            "document": self.document,
            "version": self.version,
        }


@dataclass(frozen=True, slots=True)
class Who:
    """The clauses that a reader has to meet, and who of the directory may read the document now."""

    clauses: tuple[tuple[Principal, ...], ...]
    people: tuple[str, ...]
    document: str
    reason: str | None  # why it is nobody, where nothing but the document is the cause
    left: int = 0  # people who were not looked at
    until: str = ""  # the last one who was, by address

    def to_json(self) -> dict[str, Any]:
        """One object as docs/commands.md describes it."""
        return {
            "clauses": _written(self.clauses),
            "people": list(self.people),
            "document": self.document,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Part:
    """How much of a directory is looked through: of many thousand people each may take a question to another system."""

    after: str = ""  # an address: from the next one on
    seconds: float | None = None
    readers: int | None = None  # once so many were found it is enough


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    version: str | None
    resource: Resource | None
    problem: str


async def why(doors: Looking, person: str, document: str, now: datetime, on: date | None = None) -> Why:
    """Whether `person` may read `document` now; Unusable when a name can't be one, or could be several."""
    try:
        asker = Principal.parse(person)
    except ValueError as error:
        raise Unusable(str(error)) from error
    found = await _find(doors, document)
    subject = await doors.directory.subject(asker, now)
    version = doors.policy.version
    if found.resource is None:
        return Why(False, "known", found.problem, (), (), version, None, found.name, found.version)
    if subject is None:
        reason = f"{asker} is not known to the directory"
        return Why(False, "known", reason, _clauses(found.resource), (), version, None, found.name, found.version)
    decision = doors.policy.decide(subject, found.resource, _moment(now, on))
    told = explain(subject, found.resource, decision)
    clauses = tuple(clause.any_of for clause in told.clauses)
    held = tuple(clause.held for clause in told.clauses)
    return Why(
        told.allowed,
        told.check,
        told.reason,
        clauses,
        held,
        told.policy_version,
        told.verified_at,
        found.name,
        found.version,
    )


async def who(
    doors: Looking,
    document: str,
    now: datetime,
    on: date | None = None,
    part: Part = Part(),
) -> Who:
    """Who may read `document` now, by address, as far as `part` of the directory goes; Unusable when it could be
    several."""
    found = await _find(doors, document)
    resource = found.resource
    if resource is None:
        return Who((), (), found.name, found.problem)

    async def reads(email: str) -> bool:
        subject = await doors.directory.subject(Principal.person(email), now)
        return subject is not None and bool(doors.policy.decide(subject, resource, _moment(now, on)))

    listed = sorted(person.email for person in await doors.people.list() if person.email > part.after)
    readers: list[str] = []
    looked = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(part.seconds):
            while looked < len(listed) and (part.readers is None or len(readers) < part.readers):
                few = listed[looked : looked + _AT_ONCE]
                verdicts = await asyncio.gather(*map(reads, few))
                readers += [email for email, may in zip(few, verdicts, strict=True) if may]
                looked += len(few)
    access = resource.scope.access
    reason = f"its read rules are unknown: {access.reason}" if isinstance(access, Unknown) else None
    until = listed[looked - 1] if looked else part.after
    return Who(_clauses(resource), tuple(readers), found.name, reason, len(listed) - looked, until)


async def _find(doors: Looking, text: str) -> _Found:
    """The document that people mean by `text`, in its current version unless they name one."""
    name, _, version = text.partition("#")[0].partition("@") if ":" in text else (text, "", "")
    candidates = await doors.documents.find(name.strip(), 6)
    if not candidates:
        return _Found(text, None, None, f"no source has a document {text!r}")
    if len(candidates) > 1:
        listed = ", ".join(str(each) for each in candidates[:5])
        raise Unusable(f"{text!r} could be {listed}; give the whole name")
    [document] = candidates
    if version:
        resource = (await doors.facts.resources([(document, version)])).get((document, version))
        return _Found(str(document), version, resource, f"the ledger knows no version {version!r} of {document}")
    resource = await doors.facts.current(document)
    if resource is not None:
        return _Found(str(document), resource.version, resource, "")
    known = await doors.catalog.known(document)
    problem = known.problem if known is not None and known.problem else "no version of it is published"
    return _Found(str(document), None, None, f"nobody may read {document}: {problem}")


def _clauses(resource: Resource) -> tuple[tuple[Principal, ...], ...]:
    match resource.scope.access:
        case Unknown():
            return ()
        case AccessExpr() as expr:
            clauses = sorted(simplify(expr).clauses, key=lambda clause: (len(clause), sorted(clause)))
            return tuple(tuple(sorted(clause)) for clause in clauses)


def _moment(now: datetime, on: date | None) -> Moment:
    return Moment(now, on or now.date(), dated=on is not None)


def _written(clauses: Sequence[Sequence[Principal]]) -> list[list[str]]:
    return [[str(principal) for principal in clause] for clause in clauses]
