"""The clear gate: every candidate is judged on the ledger's fresh facts before its text goes anywhere.

Called after the search, again for what the context adds, and again before delivery. An index's own copy of anything
is not believed: not the scope, not the dates, not that a version still exists, not that the text is the published one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from connectors.digests import passage_digest
from connectors.ports import Facts
from connectors.records import Candidate, Passage
from policies.clearance import Cleared, clear
from policies.decision import Allowed, Decision, Refused
from policies.facts import Moment, Resource, Subject, Trust
from policies.names import ChunkId, DocumentId
from policies.policy import Policy

Version = tuple[DocumentId, str]


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and the fact it rests on, for the trace; `resource` is None when the ledger knows no such version."""

    version: Version
    decision: Decision
    resource: Resource | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Opened:
    """A candidate whose passage may now be read."""

    candidate: Candidate
    passage: Cleared[Passage]

    @property
    def version(self) -> Version:
        """What a verdict on it is about."""
        return self.candidate.id.document, self.candidate.id.version


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate that was not opened, and the check that objected."""

    id: ChunkId
    check: str


@dataclass(frozen=True, slots=True)
class Gated:
    """What passed, in the order given, what did not, and every verdict."""

    opened: tuple[Opened, ...]
    dropped: tuple[Dropped, ...]
    judged: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class Judging:
    """For whom and by what verdicts are made. Each is made at the instant after its facts were read."""

    readers: tuple[Subject, ...]  # everybody who would see the text
    moment: Moment  # the day asked about
    policy: Policy
    facts: Facts
    clock: Callable[[], datetime]

    def now(self) -> Moment:
        """The day asked about, judged at this instant."""
        return Moment(self.clock(), self.moment.on, self.moment.dated)


async def clear_candidates(candidates: Sequence[Candidate], by: Judging) -> Gated:
    """Open what every reader may read now and what still is the published text of its version."""
    judged = await judge({(each.id.document, each.id.version) for each in candidates}, by)
    verdicts = {each.version: each.decision for each in judged}
    digests = await by.facts.digests([each.id for each in candidates])
    opened: list[Opened] = []
    dropped: list[Dropped] = []
    for candidate in candidates:
        match verdicts[candidate.id.document, candidate.id.version]:
            case Refused(check):
                dropped.append(Dropped(candidate.id, check))
            case Allowed() as allowed:
                passage = clear(candidate.passage, allowed)
                # Of the words themselves: the digest that an index keeps beside them may be another's.
                digest = passage_digest(passage.content)
                if digest not in digests.get(candidate.id, frozenset()):
                    dropped.append(Dropped(candidate.id, "published text"))
                elif candidate.trust is Trust.QUARANTINED:
                    dropped.append(Dropped(candidate.id, "trust"))
                else:
                    opened.append(Opened(candidate, passage))
    return Gated(tuple(opened), tuple(dropped), judged)


async def judge(versions: Iterable[Version], by: Judging) -> tuple[Judged, ...]:
    """One verdict a version: allowed only when each reader is; nobody to judge for refuses everything."""
    wanted = sorted(set(versions))
    known = await by.facts.resources(wanted)
    moment = by.now()
    return tuple(_judged(version, known.get(version), moment, by) for version in wanted)


def _judged(version: Version, resource: Resource | None, moment: Moment, by: Judging) -> Judged:
    decision: Decision = Refused("known", "the ledger knows no such version", by.policy.version)
    if resource is not None:
        for reader in by.readers:
            decision = by.policy.decide(reader, resource, moment)
            if not decision:
                break
    return Judged(version, decision, resource, moment.now)
