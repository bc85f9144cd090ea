"""What every index must do, whichever store is behind it. An adapter's test file subclasses `IndexSuite`.

Narrowing is checked against its reference meaning, `policies.predicate.matches`, over random entries and questions;
everything else against what the port promises in words.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from connectors.codes import codes_of
from connectors.errors import Stop
from connectors.ports import Index, IndexIdentity
from connectors.records import Attributes, Candidate, Chunk, Entry, Form, Passage, Search
from policies.clearance import Sealed, clear
from policies.decision import Allowed
from policies.facts import Trust
from policies.names import ChunkId, ContainerId, DocumentId, ScopeId
from policies.predicate import (
    OPEN_END,
    OPEN_START,
    AtLeast,
    AtMost,
    Condition,
    Narrowing,
    OneOf,
    SearchScope,
    matches,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIMENSIONS = 16
IDENTITY = IndexIdentity("made-up@1", DIMENSIONS, "1")
ANYWHERE = range(1, 2000)
_TRUST = (Trust.CLEAN, Trust.SUSPECT, Trust.QUARANTINED)
_WORDS = "refund travel hotel contractor approval manager receipt payroll leave claim denial precertification".split()


def vector_of(text: str) -> NDArray[np.float32]:
    """A unit vector that is the same for the same text, near for none."""
    seed = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
    numbers = np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32)
    return np.asarray(numbers / np.linalg.norm(numbers), np.float32)


def entry(
    key: str,
    text: str,
    *,
    scope: int = 1,
    source: str = "files",
    version: str = "v1",
    section: str = "top",
    parent: str | None = None,
    ordinal: int = 0,
    header: str = "Handbook",
    vector: NDArray[np.float32] | None = None,
    effective_from: date | None = None,
    effective_to: date | None = None,
    superseded: bool = False,
    trust: Trust = Trust.CLEAN,
    containers: tuple[int, ...] = (),
) -> Entry:
    """An entry with everything about it settled by what is given."""
    attributes = Attributes(
        f"Title of {key}", f"https://example.com/{key}", effective_from, effective_to, superseded, "Asha", ("hr", "a b")
    )
    chunk = Chunk(
        id=ChunkId(DocumentId(source, key), version, section),
        parent=parent or section,
        ordinal=ordinal,
        heading_path=("Rules", "Money"),
        text=text,
        lead=header,
        header=header,
        codes=codes_of(f"{header}\n{text}"),
        page=3,
        form=Form.LIST,
        digest=sha256(f"{header}\x00{text}\x00{key}".encode()).hexdigest(),
        vector_key=sha256(f"{header}\x00{text}".encode()).hexdigest(),
        attributes=attributes,
    )
    held = vector_of(text) if vector is None else vector
    return Entry(
        chunk, held, IDENTITY.model, ScopeId(scope), ("root", "folder"), trust, tuple(map(ContainerId, containers))
    )


def narrowed(scopes: Iterable[int] = ANYWHERE, *conditions: Condition) -> Narrowing:
    return Narrowing(SearchScope(frozenset(ScopeId(scope) for scope in scopes)), conditions)


def covered(ids: Iterable[int], containers: Iterable[int], excepted: Iterable[int] = ()) -> Narrowing:
    """Narrowed to single scopes, and to those in containers but a few."""
    singly, left_out = frozenset(map(ScopeId, ids)), frozenset(map(ScopeId, excepted))
    return Narrowing(SearchScope(singly, frozenset(map(ContainerId, containers)), left_out - singly))


def asking(text: str, narrowing: Narrowing | None = None, *, limit: int = 50, vector: str | None = None) -> Search:
    return Search(text, vector_of(vector or text), codes_of(text), narrowing or narrowed(), limit)


def attributes_of(entry: Entry) -> dict[str, int]:
    """What the entry is filtered by, as `policies.predicate` words it."""
    kept = entry.chunk.attributes
    return {
        "scope": entry.scope,
        "effective_from": kept.effective_from.toordinal() if kept.effective_from else OPEN_START,
        "effective_to": kept.effective_to.toordinal() if kept.effective_to else OPEN_END,
        "superseded": int(kept.superseded),
        "trust": _TRUST.index(entry.trust),
    }


def opened(candidate: Candidate) -> Passage:
    sealed = candidate.passage
    return clear(sealed, Allowed(sealed.document, sealed.version, "test")).content


def keys(candidates: Iterable[Candidate]) -> list[str]:
    return [candidate.id.document.key for candidate in candidates]


def ids(candidates: Iterable[Candidate]) -> set[ChunkId]:
    return {candidate.id for candidate in candidates}


STANDINGS = {1: (100, 101), 2: (100, 101, 102), 3: (100, 2**61), 17: (200,), 4_000_000_000: (200, 2**61 + 1), 2**62: ()}
"""Scopes and the containers that each stands in, always the same."""


def random_entry(rng: random.Random, number: int) -> Entry:
    scope = rng.choice(list(STANDINGS))
    start = rng.choice([None, date(2020, 1, 1), date(2024, 6, 30), date(2026, 2, 28)])
    end = rng.choice([None, date(2024, 6, 29), date(2025, 12, 31), date(9999, 12, 31)])
    return entry(
        f"folder/d{number}.md",
        f"{' '.join(rng.choices(_WORDS, k=6))} CO-{rng.randrange(100, 110)} number {number}",
        scope=scope,
        containers=STANDINGS[scope],
        effective_from=start,
        effective_to=end,
        superseded=rng.random() < 0.3,
        trust=rng.choice(_TRUST),
    )


def random_narrowing(rng: random.Random) -> Narrowing:
    scopes = rng.sample([1, 2, 3, 17, 4_000_000_000, 2**62, 99, 98], rng.randint(0, 4))
    containers = rng.sample([100, 101, 102, 200, 2**61, 2**61 + 1, 999], rng.randint(0 if scopes else 1, 3))
    excepted = rng.sample([1, 2, 3, 17, 4_000_000_000, 2**62, 99], rng.randint(0, 3)) if containers else []
    day = rng.choice([date(2019, 1, 1), date(2024, 6, 29), date(2024, 6, 30), date(2026, 3, 1)]).toordinal()
    possible: list[Condition] = [
        AtMost("effective_from", day),
        AtLeast("effective_to", day),
        OneOf("superseded", frozenset([0])),
        OneOf("trust", frozenset(rng.sample([0, 1, 2], rng.randint(1, 2)))),
        AtMost("trust", rng.choice([0, 1, -1])),
        OneOf("scope", frozenset([1, 17, 2**62])),
        AtLeast("scope", rng.choice([2, 2**40])),
    ]
    return covered(scopes, containers, excepted).also(rng.sample(possible, rng.randint(0, 4)))


class IndexSuite:
    """The promises of the port `Index`."""

    def handle(self, place: Path, identity: IndexIdentity = IDENTITY) -> AbstractAsyncContextManager[Index]:
        """A handle on the store at `place`; two handles on one place see one store, and so does one opened later."""
        raise NotImplementedError

    @pytest.fixture
    async def index(self, tmp_path: Path) -> AsyncIterator[Index]:
        async with self.handle(tmp_path) as index:
            yield index

    # ------------------------------------------------------------ narrowing

    @pytest.mark.parametrize("seed", range(6))
    async def test_a_search_gives_exactly_what_the_narrowing_lets_through(self, index: Index, seed: int) -> None:
        rng = random.Random(seed)
        held = [random_entry(rng, number) for number in range(80)]
        for one in held:
            await index.put([one])
        for _ in range(25):
            narrowing = random_narrowing(rng)
            question = f"{' '.join(rng.choices(_WORDS, k=3))} CO-{rng.randrange(100, 110)}"

            found = await index.search(asking(question, narrowing, limit=100))
            fetched = await index.fetch([one.chunk.id for one in held], narrowing)

            meant = {one.chunk.id for one in held if matches(narrowing, attributes_of(one), one.containers)}
            assert meant == ids(found)
            assert meant == ids(fetched)

    async def test_a_foreign_scope_starves_nobody(self, index: Index) -> None:
        for number in range(300):
            await index.put([entry(f"secret{number}", "travel refund for executives", scope=2)])
        await index.put([entry("mine", "completely different words", scope=1)])

        found = await index.search(asking("travel refund for executives", narrowed([1]), limit=5))

        assert keys(found) == ["mine"]

    @pytest.mark.parametrize("count", [5_000, 90_000])
    async def test_an_asker_may_have_very_many_scopes(self, index: Index, count: int) -> None:
        await index.put([entry("in", "travel refund", scope=count)])
        await index.put([entry("out", "travel refund", scope=count + 1)])

        found = await index.search(asking("travel refund", narrowed(range(1, count + 1))))

        assert keys(found) == ["in"]

    async def test_a_container_stands_for_every_scope_in_it_but_the_excepted(self, index: Index) -> None:
        for scope, containers in STANDINGS.items():
            await index.put([entry(f"d{scope}", "travel refund", scope=scope, containers=containers)])

        async def found(ids: Iterable[int], containers: Iterable[int], excepted: Iterable[int] = ()) -> set[str]:
            return set(keys(await index.search(asking("travel refund", covered(ids, containers, excepted)))))

        assert await found([], [100]) == {"d1", "d2", "d3"}
        assert await found([17], [101], [2]) == {"d1", "d17"}
        assert await found([], [101, 2**61]) == {"d1", "d2", "d3"}
        assert await found([2**62], [2**61 + 1]) == {f"d{2**62}", "d4000000000"}
        assert await found([], [1, 999]) == set()

    async def test_sections_and_chunks_are_narrowed_to_containers_too(self, index: Index) -> None:
        one = entry("d", "travel refund", scope=1, containers=(100, 101))
        await index.put([one])
        of = one.chunk.id.document, one.chunk.id.version, "top"

        for narrowing, expected in ((covered([], [101]), {one.chunk.id}), (covered([], [100], [1]), set())):
            assert ids(await index.fetch([one.chunk.id], narrowing)) == expected
            assert ids(await index.section(*of, narrowing)) == expected

    async def test_a_repointed_document_stands_in_the_new_containers_only(self, index: Index) -> None:
        await index.put([entry("d", "travel refund", scope=1, containers=(100, 101))])
        await index.put([entry("other", "travel refund", scope=1, containers=(100, 101))])
        await index.repoint(DocumentId("files", "d"), ScopeId(2), (), (ContainerId(100), ContainerId(102)))

        assert keys(await index.search(asking("travel refund", covered([], [101])))) == ["other"]
        assert keys(await index.search(asking("travel refund", covered([], [102])))) == ["d"]
        held = {each.id.document.key: each async for each in index.stored("files")}
        assert held["d"].containers == (100, 102)
        assert held["other"].containers == (100, 101)

    async def test_scopes_unknown_to_the_index_find_nothing(self, index: Index) -> None:
        await index.put([entry("a", "travel refund")])

        assert not await index.search(asking("travel refund", narrowed([7, 2**62])))

    async def test_a_search_in_an_empty_index_finds_nothing(self, index: Index) -> None:
        assert not await index.search(asking("anything CO-197"))
        assert not await index.fetch([entry("a", "b").chunk.id], narrowed())
        assert await index.count("files") == 0
        assert not [stored async for stored in index.stored("files")]

    async def test_a_search_without_a_narrowing_is_refused(self, index: Index) -> None:
        await index.put([entry("a", "travel refund")])

        with pytest.raises((TypeError, ValueError)):
            await index.search(Search("travel", vector_of("travel"), (), None))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="at least one scope"):
            SearchScope(frozenset())

    async def test_the_day_decides_between_versions(self, index: Index) -> None:
        old = entry("p", "refund within 45 days", version="v1", effective_to=date(2024, 6, 29), superseded=True)
        new = entry("p", "refund within 30 days", version="v2", effective_from=date(2024, 6, 30))
        await index.put([old])
        await index.put([new])

        def on(day: date) -> Narrowing:
            return narrowed(
                ANYWHERE, AtMost("effective_from", day.toordinal()), AtLeast("effective_to", day.toordinal())
            )

        assert {old.chunk.id} == ids(await index.search(asking("refund", on(date(2024, 6, 29)))))
        assert {new.chunk.id} == ids(await index.search(asking("refund", on(date(2024, 6, 30)))))

    # ------------------------------------------------------------ finding

    @pytest.mark.parametrize(
        ("question", "answer"),
        [
            ("what does CO-197 mean", "Denial CO-197: precertification absent"),
            ("co-197", "Denial CO-197: precertification absent"),
            ("TRV-INTL", "International trips are booked under TRV-INTL."),
            ("§4.2", "As Section 4.2 says, keep the receipt."),
            ("Section 4.2", "As Section 4.2 says, keep the receipt."),
            ("HR-POL-7", "HR-POL-7 covers leave."),
        ],
    )
    async def test_a_code_is_found_as_a_whole(self, index: Index, question: str, answer: str) -> None:
        texts = [
            "Denial CO-197: precertification absent",
            "Denial CO-19 and CO-1970, co 197 and 197-CO",
            "International trips are booked under TRV-INTL.",
            "INTL is a TRV word",
            "As Section 4.2 says, keep the receipt.",
            "4 or 2 receipts, in 42 sections",
            "HR-POL-7 covers leave.",
            "HR has POL number 77",
        ]
        for number, text in enumerate(texts):
            await index.put([entry(f"d{number}", text)])

        # The question's vector points at another passage; the code alone has to bring its own.
        found = await index.search(asking(question, limit=3, vector=texts[1]))

        by_code = [candidate for candidate in found if candidate.ranks.code is not None]
        assert [answer] == [opened(candidate).text for candidate in by_code]
        assert answer == opened(found[0]).text

    @pytest.mark.parametrize("word", ["überstunden", "Ñandú", "zażółć", "出張", "not", "the", "naïve", "x-ray"])
    async def test_words_of_any_script_and_small_words_are_found(self, index: Index, word: str) -> None:
        await index.put([entry("with", f"about {word} here")])
        await index.put([entry("without", "something else entirely")])

        found = await index.search(asking(word))

        lexical = [candidate for candidate in found if candidate.ranks.lexical is not None]
        assert keys(lexical) == ["with"]

    async def test_a_negation_is_a_word(self, index: Index) -> None:
        await index.put([entry("yes", "hotel is covered"), entry("yes", "taxi is covered", section="2")])
        await index.put([entry("no", "hotel is not covered")])

        found = await index.search(asking("not covered", vector="neutral"))

        assert next(c.id.document.key for c in found if c.ranks.lexical == 1) == "no"

    @pytest.mark.parametrize(
        "text", ["", " ", '"', "a AND OR NOT (", "* ^ : -", "\x00", "'; DROP TABLE entries; --", "�"]
    )
    async def test_any_question_is_only_words(self, index: Index, text: str) -> None:
        await index.put([entry("a", "travel refund")])

        found = await index.search(asking(text))

        assert keys(found) == ["a"]

    async def test_the_nearest_vectors_come_first_when_no_word_fits(self, index: Index) -> None:
        for number in range(60):
            await index.put([entry(f"d{number}", f"text {number}")])
        question = vector_of("question")
        cosines = {f"d{number}": float(vector_of(f"text {number}") @ question) for number in range(60)}

        found = await index.search(asking("zzz", vector="question", limit=10))

        assert sorted(cosines, key=cosines.__getitem__, reverse=True)[:10] == keys(found)
        for candidate in found:
            assert candidate.ranks.vector_score == pytest.approx(cosines[candidate.id.document.key], abs=1e-5)

    async def test_no_more_than_the_limit_come_back_best_first(self, index: Index) -> None:
        for number in range(30):
            await index.put([entry(f"d{number}", f"travel refund {number}")])

        found = await index.search(asking("travel refund", limit=7))

        assert len(found) == 7
        assert [candidate.score for candidate in found] == sorted((c.score for c in found), reverse=True)
        assert not await index.search(asking("travel refund", limit=0))

    async def test_equal_scores_are_ordered_by_uuid(self, index: Index) -> None:
        held = [entry(f"d{number}", "the same words") for number in range(40)]
        for one in held:
            await index.put([one])

        found = await index.search(asking("the same words", limit=10))

        assert sorted((one.chunk.id for one in held), key=lambda id_: id_.uuid.bytes)[:10] == [c.id for c in found]

    async def test_a_candidate_carries_all_of_its_passage_sealed(self, index: Index) -> None:
        one = entry(
            "folder/ü #1.md", "travel refund", version="v@3", section="C.2~2", trust=Trust.SUSPECT,
            effective_from=date(2024, 1, 1), effective_to=date(2025, 1, 1), superseded=True, ordinal=9, parent="C.2",
        )  # fmt: skip
        await index.put([one])

        [candidate] = await index.search(asking("travel refund"))

        assert isinstance(candidate.passage, Sealed)
        assert "refund" not in repr(candidate)
        assert (one.chunk.id, one.chunk.digest, "C.2", 9) == (
            candidate.id,
            candidate.digest,
            candidate.parent,
            candidate.ordinal,
        )
        assert candidate.trust is Trust.SUSPECT
        passage = opened(candidate)
        kept = one.chunk.attributes
        assert passage == Passage(
            text="travel refund", header="Handbook", heading_path=("Rules", "Money"), title=kept.title, url=kept.url,
            page=3, form=Form.LIST, effective_from=date(2024, 1, 1), effective_to=date(2025, 1, 1), superseded=True,
            owner="Asha", labels=("hr", "a b"),
        )  # fmt: skip

    # ------------------------------------------------------------ fetch and section

    async def test_fetch_keeps_the_order_asked(self, index: Index) -> None:
        held = [entry(f"d{number}", f"text {number}", scope=1 + number % 2) for number in range(8)]
        for one in held:
            await index.put([one])
        asked = [held[number].chunk.id for number in (6, 1, 4, 0)]

        found = await index.fetch([*asked, entry("missing", "x").chunk.id], narrowed([1]))

        assert [asked[0], asked[2], asked[3]] == [candidate.id for candidate in found]

    async def test_a_section_reads_in_order_and_only_what_may_be_read(self, index: Index) -> None:
        pieces = [
            entry("d", f"piece {n}", section=f"s~{n}", parent="s", ordinal=n, trust=_TRUST[2 if n == 3 else 0])
            for n in (5, 2, 11, 3)
        ]
        await index.put([*pieces, entry("d", "other", section="t", ordinal=1)])
        document = DocumentId("files", "d")

        found = await index.section(document, "v1", "s", narrowed(ANYWHERE, AtMost("trust", 1)))

        assert [candidate.ordinal for candidate in found] == [2, 5, 11]
        assert not await index.section(document, "v1", "s", narrowed([2]))
        assert not await index.section(document, "v2", "s", narrowed())

    # ------------------------------------------------------------ writing

    async def test_put_replaces_what_was_held_of_the_version(self, index: Index) -> None:
        await index.put([entry("d", "old words", section="1"), entry("d", "stale words", section="2")])
        await index.put([entry("d", "another version", version="v2")])

        await index.put([entry("d", "new words", section="1")])

        assert {"new words", "another version"} == {opened(c).text for c in await index.search(asking("words"))}
        assert await index.count("files") == 2

    async def test_put_can_be_repeated(self, index: Index) -> None:
        entries = [entry("d", f"piece {n}", section=str(n), ordinal=n) for n in range(5)]
        for _ in range(3):
            await index.put(entries)

        assert await index.count("files") == 5
        assert len(await index.search(asking("piece"))) == 5

    async def test_put_changes_facts_of_the_same_text(self, index: Index) -> None:
        await index.put([entry("d", "travel refund", scope=1)])
        await index.put([entry("d", "travel refund", scope=2, trust=Trust.QUARANTINED)])

        assert not await index.search(asking("travel refund", narrowed([1])))
        [candidate] = await index.search(asking("travel refund", narrowed([2])))
        assert candidate.trust is Trust.QUARANTINED

    async def test_put_takes_one_version_of_one_document(self, index: Index) -> None:
        with pytest.raises(ValueError, match="one version of one document"):
            await index.put([entry("a", "x"), entry("b", "y")])
        assert await index.count("files") == 0

    async def test_a_vector_of_another_model_is_refused(self, index: Index) -> None:
        good = entry("a", "x")
        for bad in (
            Entry(good.chunk, good.vector, "other@1", good.scope, (), good.trust),
            Entry(good.chunk, good.vector[:-1], good.model, good.scope, (), good.trust),
        ):
            with pytest.raises(Stop):
                await index.put([bad])

    async def test_retire_removes_all_other_versions_at_once(self, index: Index) -> None:
        for version in ("v1", "v2", "v3"):
            await index.put([entry("d", f"travel refund {version}", version=version)])
        await index.put([entry("other", "travel refund")])

        gone = await index.retire(DocumentId("files", "d"), frozenset(["v2"]))

        assert gone == 2
        assert sorted(c.id.version for c in await index.search(asking("travel refund"))) == ["v1", "v2"]
        assert await index.retire(DocumentId("files", "d"), frozenset()) == 1
        assert await index.retire(DocumentId("files", "d"), frozenset()) == 0
        assert keys(await index.search(asking("travel refund CO-197"))) == ["other"]

    async def test_a_repointed_document_is_found_under_its_new_scope_only(self, index: Index) -> None:
        await index.put([entry("d", "travel refund", section="1"), entry("d", "travel claim", section="2")])
        await index.put([entry("d", "travel refund", version="v2")])
        await index.put([entry("e", "travel refund")])

        await index.repoint(DocumentId("files", "d"), ScopeId(2), ("elsewhere",), ())

        assert keys(await index.search(asking("travel", narrowed([2])))) == ["d", "d", "d"]
        assert keys(await index.search(asking("travel", narrowed([1])))) == ["e"]

    async def test_writes_are_seen_by_the_next_read_of_another_handle(self, tmp_path: Path) -> None:
        async with AsyncExitStack() as stack:
            one = await stack.enter_async_context(self.handle(tmp_path))
            other = await stack.enter_async_context(self.handle(tmp_path))
            document = DocumentId("files", "d")
            for turn in range(5):
                await one.put([entry("d", f"travel refund {turn}", version=f"v{turn}")])
                assert [f"travel refund {turn}"] == [opened(c).text for c in await other.search(asking("refund"))]
                await one.repoint(document, ScopeId(2), (), ())
                assert not await other.search(asking("refund", narrowed([1])))
                assert keys(await other.search(asking("refund", narrowed([2])))) == ["d"]
                await one.retire(document, frozenset())
                assert not await other.search(asking("refund"))
                assert not await other.fetch([entry("d", "x", version=f"v{turn}").chunk.id], narrowed())

    async def test_what_was_written_is_there_after_a_restart(self, tmp_path: Path) -> None:
        async with self.handle(tmp_path) as index:
            await index.put([entry("d", "travel refund CO-197")])
        async with self.handle(tmp_path) as index:
            [candidate] = await index.search(asking("CO-197"))

            assert opened(candidate).text == "travel refund CO-197"
            assert await index.check() is None

    async def test_an_index_of_another_model_refuses_to_serve(self, tmp_path: Path) -> None:
        async with self.handle(tmp_path) as index:
            await index.put([entry("d", "travel refund")])
        async with self.handle(tmp_path, IndexIdentity("other@2", DIMENSIONS, "1")) as index:
            said = await index.check()

            assert said is not None
            assert "run `footnote " in said or "sync" in said  # what to do
            with pytest.raises(Stop):
                await index.search(asking("travel"))

    # ------------------------------------------------------------ taking stock

    async def test_vectors_are_given_back_by_what_was_embedded(self, index: Index) -> None:
        one = entry("d", "travel refund")
        await index.put([one])

        held = await index.vectors([one.chunk.vector_key, one.chunk.digest, "0" * 64])

        assert [one.chunk.vector_key] == list(held)
        assert np.allclose(one.vector, held[one.chunk.vector_key], atol=1e-6)
        assert not await index.vectors([])

    async def test_everything_of_a_source_is_told(self, index: Index) -> None:
        held = [
            entry(f"d{number}", f"text {number}", scope=number % 3, trust=_TRUST[number % 3]) for number in range(25)
        ]
        for one in held:
            await index.put([one])
        await index.put([entry("d1", "text", source="other")])

        told = {stored.id: stored async for stored in index.stored("files")}

        assert {one.chunk.id for one in held} == set(told)
        for one in held:
            stored = told[one.chunk.id]
            assert (one.scope, one.chunk.digest, one.trust) == (stored.scope, stored.digest, stored.trust)
        assert await index.count("files") == 25
        assert await index.count("other") == 1

    # ------------------------------------------------------------ at the same time

    async def test_a_reader_sees_all_of_a_version_or_none(self, index: Index) -> None:
        document = DocumentId("files", "d")

        async def write() -> None:
            for turn in range(12):
                await index.put([entry("d", f"refund {turn}.{n}", section=str(n), ordinal=n) for n in range(20)])
                if turn % 3 == 2:
                    await index.retire(document, frozenset())

        async def read() -> None:
            for _ in range(40):
                found = await index.search(asking("refund", limit=100))
                assert len(found) in (0, 20)
                assert len({opened(candidate).text.split(".")[0] for candidate in found}) <= 1

        async with asyncio.TaskGroup() as group:
            group.create_task(write())
            group.create_task(read())
            group.create_task(read())

    async def test_documents_put_at_the_same_time_are_all_there(self, index: Index) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(30):
                group.create_task(index.put([entry(f"d{number}", f"travel refund {number}")]))

        assert await index.count("files") == 30
        assert len(await index.search(asking("refund", limit=100))) == 30
