"""The deliver gate: what leaves, for whose eyes.

In this order: everybody who will see the reply is looked up once more; every document that it rests on is judged for
each of them on facts read now; claims of which a cited passage fell are taken out; the rest is made into a reply
(`reply`).
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.answering.audience import Listening, judging, narrower, still
from bot.answering.context import Context
from bot.answering.doors import Doors
from bot.answering.gate import Judged, judge
from bot.answering.ground import Answer
from bot.answering.outcome import Audience
from bot.answering.question import Query, Question
from bot.answering.reply import Reply, compose
from policies.audience import AskerAlone, Everyone, Reason
from policies.names import ChunkId


@dataclass(frozen=True, slots=True)
class Delivery:
    """A reply that may be posted to its audience, with the verdicts it was let out on."""

    reply: Reply
    audience: Audience
    judged: tuple[Judged, ...]
    rests_on: tuple[ChunkId, ...] = ()  # every passage that its claims were written from, shown or not


@dataclass(frozen=True, slots=True)
class Withheld:
    """Nothing of the answer may be posted to this audience."""

    judged: tuple[Judged, ...] = ()


async def deliver(
    answer: Answer, context: Context, query: Query, question: Question, listening: Listening, doors: Doors
) -> Delivery | Withheld:
    """Make the reply, or say that there is none for this audience."""
    audience = await still(listening, question, doors)
    if not audience.readers or narrower(audience, listening):
        return Withheld()
    versions = {each.opened.version for claim in answer.claims for each in claim.cited}
    judged = await judge(versions, judging(audience, query, doors))
    allowed = {each.version for each in judged if each.decision}
    claims = tuple(claim for claim in answer.claims if all(each.opened.version in allowed for each in claim.cited))
    if not claims:
        return Withheld(judged)
    missing = tuple(condition for condition in answer.missing if any(condition in each.text for each in claims))
    kept = Answer(claims, answer.loose, missing, answer.unanswered)
    alone = not isinstance(audience.reach, Everyone)
    reply = await compose(kept, context, query, audience.asker if alone else None, doors)
    rests_on = sorted({each.opened.candidate.id for claim in claims for each in claim.cited})
    return Delivery(reply, seen_by(question, audience), judged, tuple(rests_on))


def seen_by(question: Question, listening: Listening | None) -> Audience:
    """Who sees a reply. Without anybody to listen it goes to the asker alone."""
    match listening and listening.reach:
        case Everyone():
            return Audience(str(question.place), "everyone", str(Reason.EVERYONE))
        case AskerAlone(reason):
            return Audience(str(question.place), "asker", str(reason))
        case _:
            return Audience(str(question.place), "asker", str(Reason.PRIVATELY))
