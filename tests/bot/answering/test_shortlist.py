"""What the reranker reads, and in which order it comes out."""

from __future__ import annotations

from collections.abc import Sequence

from bot.answering.gate import Opened
from bot.answering.question import Part
from bot.answering.shortlist import RERANKED, Cut, Shortlist, shorten
from connectors.records import Candidate, Form, Passage, Ranks
from policies.clearance import Cleared, Sealed, clear
from policies.decision import Allowed
from policies.facts import Trust
from policies.names import ChunkId, DocumentId


class Told:
    """A reranker that was told how relevant each passage is."""

    model = "told/1"

    def __init__(self, relevance: dict[str, float]) -> None:
        self._relevance = relevance
        self.read: list[str] = []

    async def scores(self, question: str, passages: Sequence[Cleared[str]]) -> Sequence[float]:
        names = [passage.content.split("\n")[1] for passage in passages]
        self.read += names
        return [self._relevance.get(name, 0.5) for name in names]


def opened(name: str, score: float) -> Opened:
    document = DocumentId("wiki", name)
    sealed = Sealed(document, "v1", Passage(name, "Header", (), "T", "", None, Form.TEXT, None, None, False, None, ()))
    candidate = Candidate(ChunkId(document, "v1", "top"), sealed, "", "top", 0, Ranks(), score, Trust.CLEAN)
    return Opened(candidate, clear(sealed, Allowed(document, "v1", "test")))


async def shortlist(found: Sequence[Opened], reranker: Told, floor: float = 0.0) -> Shortlist:
    (made,) = await shorten([(Part("why?", ()), found)], reranker, Cut(floor, 100))
    return made


def names(made: Shortlist) -> list[str]:
    return [each.opened.passage.content.text for each in made.ranked]


async def test_a_passage_that_is_clearly_relevant_overtakes_one_that_was_found_a_little_better() -> None:
    made = await shortlist([opened("a", 0.9), opened("b", 0.7)], Told({"a": 0.01, "b": 0.99}))

    assert names(made) == ["b", "a"]


async def test_a_passage_that_was_found_far_better_stays_before_one_that_is_a_little_more_relevant() -> None:
    made = await shortlist([opened("code", 1.9), opened("b", 0.7)], Told({"code": 0.4, "b": 0.9}))

    assert names(made) == ["code", "b"]


async def test_what_was_not_read_stays_below_all_that_was() -> None:
    found = [opened(f"p{number:02}", 1 - number / 100) for number in range(RERANKED + 3)]
    reranker = Told({f"p{number:02}": 0.0 for number in range(RERANKED)})

    made = await shortlist(found, reranker)

    assert names(made) == [each.passage.content.text for each in found]
    assert len(reranker.read) == len(made.kept) == RERANKED


async def test_what_is_not_relevant_enough_falls_below_the_cut_however_well_it_was_found() -> None:
    made = await shortlist([opened("a", 0.9)], Told({"a": 0.001}), floor=0.002)

    assert (made.kept, names(made)) == ((), ["a"])
