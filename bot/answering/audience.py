"""Who asks and who listens: subjects from the directory, and the scopes that all of them satisfy.

A question asked in a place is tried first with what everybody there may read. Only when that does not answer it is it
tried with what the asker may read, and then the reply is for him alone. So nothing that a reader of the place may not
read ever shapes a reply to the place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from bot.answering.doors import Doors
from bot.answering.gate import Judging
from bot.answering.question import Query, Question
from policies.audience import AskerAlone, Everyone, PlaceKind, Reach, Reason, reach
from policies.decision import Refused
from policies.facts import Moment, Subject
from policies.predicate import Narrowing


@dataclass(frozen=True, slots=True)
class Listening:
    """Those who would see the reply, each judged on his own rights, and what the search is narrowed to for them."""

    reach: Reach
    asker: Subject
    readers: tuple[Subject, ...]  # the asker among them; empty once he is not known any more
    narrowing: Narrowing | Refused


async def listeners(question: Question, asker: Subject, moment: Moment, doors: Doors) -> tuple[Listening, ...]:
    """The audiences to try, widest first; the last is always the asker alone."""
    # As of the question, like the asker and the moment: who is resolved after the moment counts as not resolved.
    reached = await _reach(question, asker, question.at, doors)
    alone = AskerAlone(reached.reason if isinstance(reached, AskerAlone) else Reason.PRIVATELY)
    last = Listening(alone, asker, (asker,), await _narrowing((asker,), moment, doors))
    match reached:
        case AskerAlone():
            return (last,)
        case Everyone(readers):
            return (Listening(reached, asker, readers, await _narrowing(readers, moment, doors)), last)


async def still(listening: Listening, question: Question, doors: Doors) -> Listening:
    """The same audience with everybody's rights and presence as they are now, just before the reply is posted."""
    now = doors.clock()
    asker = await doors.directory.subject(listening.asker.person, now)
    if asker is None:
        return Listening(AskerAlone(Reason.UNKNOWN), listening.asker, (), listening.narrowing)
    reached = listening.reach
    if isinstance(reached, Everyone):
        reached = await _reach(question, asker, now, doors)
    readers = reached.readers if isinstance(reached, Everyone) else (asker,)
    return Listening(reached, asker, readers, listening.narrowing)


def narrower(now: Listening, then: Listening) -> bool:
    """Whether a reply that was made for everyone in a place may be seen there no more."""
    return isinstance(then.reach, Everyone) and isinstance(now.reach, AskerAlone)


async def _reach(question: Question, asker: Subject, now: datetime, doors: Doors) -> Reach:
    members, rules = None, doors.policy.rules.audience
    if question.place.kind in (PlaceKind.PRIVATE, PlaceKind.PUBLIC):
        members = await doors.directory.members(str(question.place), now)
    if question.place.kind == PlaceKind.PUBLIC:
        rules = replace(rules, also=await doors.directory.everyone())
    return reach(question.place, asker, members, rules, now)


async def _narrowing(readers: tuple[Subject, ...], moment: Moment, doors: Doors) -> Narrowing | Refused:
    scopes = await doors.facts.cover([reader.principals for reader in readers], moment.now)
    narrowing: Narrowing | Refused = Refused("audience", "nobody listens", doors.policy.version)
    for reader in readers:
        narrowing = doors.policy.narrow(reader, scopes, moment)
        if isinstance(narrowing, Refused):
            break
    return narrowing


def judging(listening: Listening, query: Query, doors: Doors) -> Judging:
    """The verdicts for those who listen."""
    return Judging(listening.readers, query.wants.moment, doors.policy, doors.facts, doors.clock)
