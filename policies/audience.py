"""May everyone who will see this message read all of it?

The readers of a reply are a second subject of every verdict: a reply in a channel may rest only on what each of its
readers could have read himself. Values in, values out; nobody is looked up here. Reasons are constant sentences: they
depend on the place and its members, never on what was found or hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from policies.facts import Kind, Subject
from policies.names import Principal


class PlaceKind(StrEnum):
    """What sort of place a question was asked in."""

    DM = "dm"
    PRIVATE = "private"  # also a direct message among several
    PUBLIC = "public"
    EXTERNAL = "external"  # shared with another organisation, or about to be
    UNKNOWN = "unknown"  # could not be looked up, or not completely


@dataclass(frozen=True, slots=True)
class Place:
    """Where a question was asked. Only a direct message needs no id."""

    kind: PlaceKind
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id and self.kind != PlaceKind.DM:
            raise ValueError(f"a place of the kind {self.kind!s} needs an id; write it as {self.kind!s}:ID")
        if self.id != self.id.strip():
            raise ValueError(f"{self.id!r} is not the id of a place; take the spaces off")

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}" if self.id else str(self.kind)

    @classmethod
    def parse(cls, text: str) -> Place:
        """Read `dm`, `private:ID`, `public:ID`, `external:ID` or `unknown:ID`; raises ValueError on anything else."""
        kind, _, place = text.strip().partition(":")
        try:
            known = PlaceKind(kind)
        except ValueError:
            raise ValueError(f"{text!r} is not a place; write dm, private:ID or public:ID") from None
        return cls(known, place)


class Reason(StrEnum):
    """Why a reply is seen by whom it is seen by. Constant, and fit for everybody's eyes."""

    DIRECT = "A direct message is seen by the asker alone."
    EVERYONE = "Everyone in this place may read all that the reply rests on."
    PRIVATELY = "Replies that are not for everyone in a place go to the asker alone."
    EXTERNAL = "People of another organisation may see this place, so replies go to the asker alone."
    UNKNOWN = "Who sees this place is not known for certain, so replies go to the asker alone."
    MEMBERS = "Not everyone in this place is known and active in the directory, so replies go to the asker alone."
    TOO_MANY = "This place has more members than are judged one by one, so replies go to the asker alone."


@dataclass(frozen=True, slots=True)
class AudienceRules:
    """What the configured policy says about places."""

    everyone: frozenset[Principal]  # the principals that mean every employee; none: nothing is said in public places
    largest: int  # members judged one by one; a larger place is answered to the asker alone
    also: frozenset[Principal] = frozenset()  # what each employee is besides, in some source; alone it opens no place


@dataclass(frozen=True, slots=True)
class AskerAlone:
    """The reply may rest on what the asker may read, and only he may see it."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Everyone:
    """The reply may be seen in the place, if every one of `readers` may read all that it rests on."""

    readers: tuple[Subject, ...]  # never empty


Reach = AskerAlone | Everyone


def reach(
    place: Place, asker: Subject, members: Sequence[Subject | None] | None, rules: AudienceRules, now: datetime
) -> Reach:
    """Whose rights a reply in `place` must respect, before anything is searched for.

    `members` are those who see the place now; None among them is somebody whom the directory does not know, and None
    for all means that they are not known exactly. A private place is judged on every member. A public place is judged
    on the principals that mean every employee, since anyone may join later; whoever is listed in it and is not known to
    be one of them is judged as himself, so that he only narrows. A caller who could not learn whether a public place
    has guests hands in a place of the kind UNKNOWN.
    """
    if place.kind in _NEVER:
        return AskerAlone(_NEVER[place.kind])
    if place.kind == PlaceKind.PUBLIC:
        if not rules.everyone:
            return AskerAlone(Reason.PRIVATELY)
        others = [member for member in members or () if not _employee(member, rules)]
        return _judged([_anybody(rules, now), asker, *others], rules)
    return _judged([asker, *members], rules) if members else AskerAlone(Reason.UNKNOWN)


_NEVER = {
    PlaceKind.DM: Reason.DIRECT,
    PlaceKind.EXTERNAL: Reason.EXTERNAL,
    PlaceKind.UNKNOWN: Reason.UNKNOWN,
}


def _employee(member: Subject | None, rules: AudienceRules) -> bool:
    """Whether what every employee may read is his to read for certain."""
    if member is None or member.kind != Kind.MEMBER or member.active is not True:
        return False
    return not rules.everyone.isdisjoint(member.principals)


def _judged(present: Sequence[Subject | None], rules: AudienceRules) -> Reach:
    readers: dict[Principal, Subject] = {}
    for subject in present:
        if subject is None or subject.active is not True or subject.kind not in (Kind.MEMBER, Kind.GUEST):
            return AskerAlone(Reason.MEMBERS)
        readers.setdefault(subject.person, subject)
    return AskerAlone(Reason.TOO_MANY) if len(readers) > rules.largest else Everyone(tuple(readers.values()))


def _anybody(rules: AudienceRules, now: datetime) -> Subject:
    # Nobody in particular: an employee of whom nothing is known but that he is one.
    return Subject(min(rules.everyone), Kind.MEMBER, True, rules.everyone | rules.also, now)
