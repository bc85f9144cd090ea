"""What is remembered of a talk, and who may be reminded of it.

Each exchange carries who could see its question: everybody in the thread where it was said, or the asker alone. A later
question is understood with those that all its own listeners could see already, and with nothing else: not with answers,
and never with what somebody was told alone. What an answer rested on is looked up anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from bot.answering.outcome import Answered, Audience, Citation, Outcome, name
from bot.slack.incoming import Asked
from connectors.chat import Exchange, Exchanges, Workspace
from policies.audience import Place, PlaceKind
from policies.names import ChunkId

KEPT = timedelta(days=30)
TALK = timedelta(days=7)  # that a thread is remembered for follow-ups
SHARED_WITHIN = timedelta(hours=24)  # that an answer may be shared after it was given
_MOST_TURNS = 12  # of a thread that are looked at
_MOST_TOLD = 4  # earlier questions that one is understood with
_LONGEST = 2_000  # characters of a question that are kept


@dataclass(frozen=True, slots=True)
class Memory:
    """What was asked and answered of late."""

    exchanges: Exchanges
    clock: Callable[[], datetime]

    async def earlier(self, asked: Asked, place: Place, us: Workspace) -> tuple[str, ...]:
        """The asker's own earlier questions of the thread, as far as everybody who listens now could see them, oldest
        first."""
        thread = thread_of(asked, us)
        if thread is None or asked.thread is None:
            return ()
        now = self.clock()
        turns = await self.exchanges.talk(thread, _MOST_TURNS, now)
        seen = [turn for turn in turns if now - turn.at <= TALK and _seen(turn, asked, place)]
        return tuple(str(turn.body["question"]) for turn in seen[-_MOST_TOLD:])

    async def find(self, name: str) -> Exchange | None:
        """The exchange of this name."""
        return await self.exchanges.find(name, self.clock())

    async def keep(self, exchange: Exchange) -> None:
        """Keep it as it is now."""
        await self.exchanges.keep(exchange, exchange.at + KEPT)


def thread_of(asked: Asked, us: Workspace) -> str | None:
    """The thread in which it was said; None where nobody but the asker's own screen shows it."""
    if asked.surface not in ("direct", "mention"):
        return None
    return f"{us.team}|{asked.channel}|{asked.thread or asked.ts}"


def exchange_of(
    asked: Asked,
    mark: str,
    us: Workspace,
    place: Place,
    outcome: Outcome,
    earlier: Sequence[str],
    texts: Mapping[ChunkId, frozenset[str]],
    now: datetime,
) -> Exchange:
    """A question and its outcome, not yet posted. `texts`: the digests of the passages that it cites."""
    answer = answered_json(outcome) if isinstance(outcome, Answered) else None
    body = {
        "question": asked.text[:_LONGEST],
        "earlier": list(earlier),
        "surface": asked.surface,
        "channel": asked.channel,
        "root": asked.thread or asked.ts,
        "user": asked.asker,
        "team": asked.asker_team,
        "heard": "place" if asked.surface == "mention" else "asker",
        "place": str(place),
        "outcome": name(outcome),
        "visible_to": outcome.audience.visible_to,
        "trace": outcome.trace,
        "answer": answer,
        "texts": {str(chunk): sorted(digests) for chunk, digests in texts.items()},
        "posted": [],
    }
    return Exchange(mark, asked.account, "posting", body, now, thread_of(asked, us))


def posted(exchange: Exchange, channel: str, ts: str, answered_in: str | None = None) -> Exchange:
    """The exchange with one more place where its answer stands."""
    places = [*exchange.body["posted"], [channel, ts]]
    state = exchange.state if exchange.state in ("sharing", "shared") else "posted"
    return replace(
        exchange,
        state=state,
        body={**exchange.body, "posted": places},
        answered_in=answered_in or exchange.answered_in,
    )


def _seen(turn: Exchange, asked: Asked, place: Place) -> bool:
    """Whether everybody who would see a reply to `asked` could see the question of `turn`."""
    if turn.body.get("outcome") not in ("answered", "abstained"):
        return False  # of somebody who may not ask, or not asked yet
    if turn.asker != asked.account:
        return False  # the words of somebody else are no part of his question
    return place.kind == PlaceKind.DM or bool(turn.body["heard"] == "place" and turn.body["channel"] == asked.channel)


# ---------------------------------------------------------------- answers as they are kept


def answered_json(answer: Answered) -> dict[str, Any]:
    """An answer to be kept."""
    return {
        "text": answer.text,
        "notes": list(answer.notes),
        "citations": [
            {
                "label": each.label,
                "chunk": str(each.chunk),
                "title": each.title,
                "url": each.url,
                "page": each.page,
                "quote": each.quote,
                "supported": each.supported,
                "effective_from": each.effective_from and each.effective_from.isoformat(),
                "effective_to": each.effective_to and each.effective_to.isoformat(),
                "superseded": each.superseded,
            }
            for each in answer.citations
        ],
    }


def texts_of(exchange: Exchange) -> dict[ChunkId, frozenset[str]]:
    """The digests of the passages that the answer rests on, as they were when it was given."""
    return {ChunkId.parse(chunk): frozenset(digests) for chunk, digests in exchange.body["texts"].items()}


def answered_of(kept: Mapping[str, Any], audience: Audience, trace: str) -> Answered:
    """The answer that was kept, for this audience."""
    citations = tuple(
        Citation(
            label=each["label"],
            chunk=ChunkId.parse(each["chunk"]),
            title=each["title"],
            url=each["url"],
            page=each["page"],
            quote=each["quote"],
            supported=each["supported"],
            effective_from=_day(each["effective_from"]),
            effective_to=_day(each["effective_to"]),
            superseded=each["superseded"],
        )
        for each in kept["citations"]
    )
    return Answered(kept["text"], citations, audience, tuple(kept["notes"]), trace)


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None
