"""One class a check. Each can object to one resource AND narrow a search, and says both from one definition.

No check grants: what no check objects to is allowed only because the source's own rules, one of these checks, allow
it. Whatever a check cannot tell, it objects to. Three kinds differ in what a search can know of them:

    about the asker      a search is refused outright where the check objects
    about the scope      a search gets the ids of scopes that `satisfied` lets through, so nothing is left to narrow
    about the document   dates, supersession and trust become conditions; what only the ledger knows (life, overlay,
                         current version) is judged after the search, and a search may find more than is allowed
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Protocol

from policies.access import Unknown, satisfies
from policies.facts import Kind, Life, Moment, Resource, Scope, ScopeState, Subject, Trust
from policies.names import Principal, ScopeId
from policies.predicate import TRUST_RANK, AtLeast, AtMost, Condition, OneOf, attributes, holds


@dataclass(frozen=True, slots=True)
class NoSearch:
    """Nothing could be allowed to this asker now, so there is nothing to search for."""

    reason: str


class Check(Protocol):
    """One reason for a *no*. `version` is raised whenever the meaning of the check changes."""

    name: ClassVar[str]
    version: ClassVar[int]

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        """Why the subject may not read the resource now, for admins; None where this check has nothing against it."""
        ...

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...] | NoSearch:
        """Conditions that every resource meets to which this check does not object."""
        ...


# ---------------------------------------------------------------- about the asker


@dataclass(frozen=True, slots=True)
class AskerActive:
    """The account is active in the directory."""

    name: ClassVar[str] = "asker-active"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        return self._against(subject)

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...] | NoSearch:
        return _search_unless(self._against(subject))

    def _against(self, subject: Subject) -> str | None:
        return None if subject.active is True else f"the account of {subject.person} is disabled"


@dataclass(frozen=True, slots=True)
class KindAllowed:
    """The rules let people of this kind ask at all."""

    kinds: frozenset[Kind]
    name: ClassVar[str] = "kind-allowed"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        return self._against(subject)

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...] | NoSearch:
        return _search_unless(self._against(subject))

    def _against(self, subject: Subject) -> str | None:
        if subject.kind in self.kinds:
            return None
        return f"{subject.person} is of the kind {subject.kind}, which the rules do not let ask"


@dataclass(frozen=True, slots=True)
class GroupsFresh:
    """The asker's groups were read recently; a time in the future counts as never."""

    within: timedelta
    name: ClassVar[str] = "groups-fresh"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        return self._against(subject, moment)

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...] | NoSearch:
        return _search_unless(self._against(subject, moment))

    def _against(self, subject: Subject, moment: Moment) -> str | None:
        age = moment.now - subject.resolved_at
        if age < timedelta(0):
            return f"the groups of {subject.person} were read at {subject.resolved_at}, which is in the future"
        if age > self.within:
            return f"the groups of {subject.person} were last read at {subject.resolved_at}, longer ago than allowed"
        return None


def _search_unless(objection: str | None) -> tuple[Condition, ...] | NoSearch:
    return () if objection is None else NoSearch(objection)


# ---------------------------------------------------------------- about the scope


@dataclass(frozen=True, slots=True)
class ScopeActive:
    """The rules of the document's scope are known and not withdrawn."""

    name: ClassVar[str] = "scope-active"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        return _against_state(resource.scope)

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class LeaseRunning:
    """The rules of the document's scope were verified at their source within its lease, the last moment included."""

    name: ClassVar[str] = "lease-running"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        return _against_lease(resource.scope, moment.now)

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class AccessSatisfied:
    """The source's own rules let the asker read: he meets every clause of the scope."""

    name: ClassVar[str] = "access-satisfied"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        return _against_access(subject.principals, resource.scope)

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...]:
        return ()


def satisfied(principals: frozenset[Principal], scopes: Iterable[Scope], now: datetime) -> frozenset[ScopeId]:
    """The scopes that the three checks above let through: the reference meaning of what a ledger computes in SQL."""
    return frozenset(
        scope.id
        for scope in scopes
        if _against_state(scope) is None
        and _against_lease(scope, now) is None
        and _against_access(principals, scope) is None
    )


def _against_state(scope: Scope) -> str | None:
    return None if scope.state == ScopeState.ACTIVE else f"the document's scope {scope.id} is {scope.state}"


def _against_lease(scope: Scope, now: datetime) -> str | None:
    age = now - scope.verified_at
    if age < timedelta(0):
        return f"the rules of scope {scope.id} were verified at {scope.verified_at}, which is in the future"
    if age > scope.lease:
        return f"the rules of scope {scope.id} were last verified at {scope.verified_at}, and their lease has run out"
    return None


def _against_access(principals: frozenset[Principal], scope: Scope) -> str | None:
    if satisfies(principals, scope.access):
        return None
    if isinstance(scope.access, Unknown):
        return f"who may read scope {scope.id} is unknown: {scope.access.reason}"
    return f"at least one clause of scope {scope.id} names nobody that the asker is"


# ---------------------------------------------------------------- about the document


@dataclass(frozen=True, slots=True)
class DocumentLive:
    """The document is neither gone nor hidden."""

    name: ClassVar[str] = "document-live"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        return None if resource.life == Life.LIVE else f"the document is {resource.life}"

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class NotOverlaid:
    """Nothing that contains the document is hidden while rights below it are re-read."""

    name: ClassVar[str] = "not-overlaid"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        if resource.hidden_by is None:
            return None
        return f"{resource.hidden_by!r}, which contains the document, is hidden while rights below it are re-read"

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class VersionCurrent:
    """The version is published: not half written, not retired."""

    name: ClassVar[str] = "version-current"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        return None if resource.current is True else f"version {resource.version!r} is not published"

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class InForce:
    """The document is in force on the day asked about; its last day counts, and a missing end is open."""

    name: ClassVar[str] = "in-force"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        if _meets(resource, self.narrows(subject, moment)):
            return None
        start, end = resource.effective_from or "ever", resource.effective_to or "further notice"
        return f"the document is in force from {start} until {end}, and the question is about {moment.on}"

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...]:
        day = moment.on.toordinal()
        return AtMost("effective_from", day), AtLeast("effective_to", day)


@dataclass(frozen=True, slots=True)
class NotSuperseded:
    """A superseded document answers only questions that name a day."""

    name: ClassVar[str] = "not-superseded"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        if _meets(resource, self.narrows(subject, moment)):
            return None
        return "the document is superseded, and the question names no day"

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...]:
        return () if moment.dated is True else (OneOf("superseded", frozenset([0])),)


@dataclass(frozen=True, slots=True)
class NotQuarantined:
    """The injection detectors did not quarantine it."""

    name: ClassVar[str] = "not-quarantined"
    version: ClassVar[int] = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        if _meets(resource, self.narrows(subject, moment)):
            return None
        return "the text is quarantined: it seems to speak to a model instead of its reader"

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...]:
        return (AtMost("trust", TRUST_RANK[Trust.SUSPECT]),)


def _meets(resource: Resource, conditions: tuple[Condition, ...]) -> bool:
    exact = attributes(
        resource.scope.id, resource.effective_from, resource.effective_to, resource.superseded, resource.trust
    )
    return all(holds(condition, exact[condition.field]) for condition in conditions)
