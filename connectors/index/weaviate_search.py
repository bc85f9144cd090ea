"""One search of one index: words and vectors in one hybrid request, codes beside it, each narrowed by the same filter.

The server fuses words and vectors by the rule of `fusion`; how each leg stood is read out of its explanation, since two
requests of one leg each took half as long again (docs/decisions/0007). A code is looked up whole, and weighs as the
embedded index has it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from weaviate.classes.query import HybridFusion, MetadataQuery

from connectors.errors import Transient
from connectors.index import lexical
from connectors.index import weaviate_filters as filters
from connectors.index import weaviate_records as records
from connectors.index.fusion import LEAST_LEG, Fusion, Leg, relative_score
from connectors.index.weaviate_door import Door, together
from connectors.index.weaviate_filters import Sieve
from connectors.index.weaviate_open import Open
from connectors.records import Ranks, Search

CANARIES = 5  # times that words must be there for the filter and not for the word search
_MOST_CODES = 20
_MOST_OF_A_CODE = 1000
_CLOSE_WORDS, _CLOSE_VECTORS, _CLOSE_FUSED = 1e-5, 2e-6, 1e-7  # scores nearer than this are equal: ties go by uuid
_EXPLAINED = MetadataQuery(score=True, explain_score=True)
_LEG = re.compile(r"Result Set (keyword|vector),[^)]*\) Document \S+ original score (\S+?), normalized score: (\S+)")


@dataclass(frozen=True, slots=True)
class Found:
    """An object among the best; `properties` is None where only its code was seen so far."""

    id: UUID
    head: UUID
    properties: Mapping[str, Any] | None
    ranks: Ranks
    score: float


@dataclass(frozen=True, slots=True)
class _Hybrid:
    """An object as the hybrid request gave it."""

    id: UUID
    properties: Mapping[str, Any]
    score: float
    words: float | None
    vector: float | None


@dataclass(frozen=True, slots=True)
class Searcher:
    """How searches are made: the door, and what each leg weighs."""

    door: Door
    fusion: Fusion

    async def best(self, on: Open, search: Search, sieve: Sieve, limit: int) -> list[Found]:
        """The best `limit` objects over all legs, best first, ties by uuid. Each leg of the server gives at least a
        hundred, however few are asked for; more than `limit` are looked at only where codes move some up."""
        width = max(LEAST_LEG, limit) if search.codes else limit
        hybrid, codes = await together(
            self._hybrid(on, search, sieve, width), self._by_codes(on, search.codes, sieve, max(LEAST_LEG, limit))
        )
        by_code = relative_score([Leg(self.fusion.code, [(id_.int, score) for (id_, _), score in codes])])
        code_rank = {id_: rank for rank, ((id_, _), _) in enumerate(codes, 1)}
        words = _places(((each.id, each.words) for each in hybrid), _CLOSE_WORDS)
        vector = _places(((each.id, each.vector) for each in hybrid), _CLOSE_VECTORS)
        found = {
            each.id: Found(
                each.id,
                each.properties["head"],
                each.properties,
                Ranks(words.get(each.id), each.words, vector.get(each.id), each.vector, code_rank.get(each.id)),
                each.score + by_code.get(each.id.int, 0.0),
            )
            for each in hybrid
        }
        for (id_, head), _ in codes:
            if id_ not in found:
                found[id_] = Found(id_, head, None, Ranks(code=code_rank[id_]), by_code[id_.int])
        return sorted(found.values(), key=lambda each: (-round(each.score / _CLOSE_FUSED), each.id.int))[:limit]

    # ------------------------------------------------------------ words and vectors

    async def _hybrid(self, on: Open, search: Search, sieve: Sieve, width: int) -> list[_Hybrid]:
        """The hybrid request, with the canary: a fault inside the server's word search is swallowed there and looks
        like no hit at all. The same words asked of the index that filters use must then find nothing either."""
        words = lexical.question_words(search.text)
        return await self._not_deaf(on, words, search.vector, sieve, width)

    async def check_words(self, on: Open, dimensions: int) -> None:
        """Raise Transient when the word search does not find what is known to be there."""
        page = await self.door.read(on.searched.query.fetch_objects(limit=1, return_properties=["spine", "words"]))
        for each in page.objects:
            sieve, words = filters.equal("spine", each.properties["spine"]), str(each.properties["words"]).split()[:1]
            await self._not_deaf(on, words, [1.0] * dimensions, sieve, 1)

    async def _not_deaf(
        self, on: Open, words: Sequence[str], vector: Iterable[float], sieve: Sieve, width: int
    ) -> list[_Hybrid]:
        for _ in range(CANARIES):  # something may be written between the two
            hits = await self._hybrid_once(on, words, vector, sieve, width)
            if not words or any(hit.words is not None for hit in hits):
                return hits
            if not await self._any(on, sieve.also(filters.among("words", words))):
                return hits
            # A page that near vectors fill to the end shows no words: then they are asked for alone.
            if len(hits) >= width:
                alone = await self._hybrid_once(on, words, vector, sieve, 1, vectors=False)
                if any(hit.words is not None for hit in alone):
                    return hits
        raise Transient("weaviate's word search finds nothing where there is something; restart the server", 5.0)

    async def _hybrid_once(
        self,
        on: Open,
        words: Sequence[str],
        vector: Iterable[float],
        sieve: Sieve,
        width: int,
        *,
        vectors: bool = True,
    ) -> list[_Hybrid]:
        both = self.fusion.vector + self.fusion.lexical
        weight = both if words else self.fusion.vector
        page = await self.door.read(
            on.searched.query.hybrid(
                query=" ".join(words) or None,
                query_properties=["words"],
                vector=[float(number) for number in vector],
                alpha=(self.fusion.vector / both if words else 1.0) if vectors else 0.0,
                fusion_type=HybridFusion.RELATIVE_SCORE,
                filters=sieve.filter,
                limit=width,  # one page, never an offset: the legs would end before it
                return_properties=list(records.SHOWN),
                return_metadata=_EXPLAINED,
            )
        )
        hits = []
        for each in page.objects:
            legs = _explained(each.metadata.explain_score or "")
            if not legs:
                raise Transient("weaviate does not say how a hit was found; its version is not one that is known")
            score = (each.metadata.score or 0.0) * weight
            hits.append(_Hybrid(each.uuid, each.properties, score, legs.get("keyword"), legs.get("vector")))
        return hits

    async def _any(self, on: Open, those: Sieve) -> bool:
        page = await self.door.read(
            on.searched.query.fetch_objects(filters=those.filter, limit=1, return_properties=["head"])
        )
        return bool(page.objects)

    # ------------------------------------------------------------ codes

    async def _by_codes(
        self, on: Open, codes: Sequence[str], sieve: Sieve, width: int
    ) -> list[tuple[tuple[UUID, UUID], float]]:
        """Objects that hold a code, and their heads: the more and the rarer the better."""
        distinct = list(dict.fromkeys(codes))[:_MOST_CODES]
        if not distinct:
            return []
        holders = await together(*(self._with_code(on, code, sieve) for code in distinct))
        # What one code weighs does not matter where there is no other.
        readable = await self._count_of(on, sieve) if len(distinct) > 1 else _MOST_OF_A_CODE
        scores: dict[tuple[UUID, UUID], float] = {}
        for each in holders:
            count = len(each)
            weight = math.log1p((max(readable, count) - count + 0.5) / (count + 0.5))
            for key in each:
                scores[key] = scores.get(key, 0.0) + weight
        return sorted(scores.items(), key=lambda each: (-round(each[1] / _CLOSE_WORDS), each[0][0].int))[:width]

    async def _with_code(self, on: Open, code: str, sieve: Sieve) -> list[tuple[UUID, UUID]]:
        those = sieve.also(filters.among("codes", [code]))
        page = await self.door.read(
            on.searched.query.fetch_objects(filters=those.filter, limit=_MOST_OF_A_CODE, return_properties=["head"])
        )
        return [(each.uuid, each.properties["head"]) for each in page.objects]

    async def _count_of(self, on: Open, sieve: Sieve) -> int:
        told = await self.door.read(on.searched.aggregate.over_all(filters=sieve.filter, total_count=True))
        return int(told.total_count or 0)


def _explained(text: str) -> dict[str, float]:
    """The score of each leg that found an object."""
    return {leg: float(score) for leg, score, _ in _LEG.findall(text)}


def _places(scores: Iterable[tuple[UUID, float | None]], close: float) -> dict[UUID, int]:
    """Where each stands among those with a score, counted from 1; what the page left out stood behind most of them."""
    given = [(id_, score) for id_, score in scores if score is not None and math.isfinite(score)]
    order = sorted(given, key=lambda each: (-round(each[1] / close), each[0].int))
    return {id_: rank for rank, (id_, _) in enumerate(order, 1)}
