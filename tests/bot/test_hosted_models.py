"""The whole product on hosted models: a double of Cohere stands where Cohere would, and hears only what it may."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bot.errors import WrongUse
from bot.health import checks
from bot.keeping import add_source, sync_named
from bot.wiring import App, open_app
from tests.doubles.cohere import CHAT, EMBED, RERANK, Cohere, Written
from tests.doubles.house import asked, settings, traced
from tests.doubles.openai import OpenAI
from tests.doubles.vendor import silence, status

# ---------------------------------------------------------------- who hears what

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

PEOPLE = {"ana": "grp:a", "ben": "grp:b"}
PAGES = [f"topic{number:02}" for number in range(12)]


def written(folder: Path) -> dict[str, str]:
    """A page a topic with a word that stands nowhere else, in turn for one group, the other, both, and nobody."""
    folder.mkdir()
    rng = random.Random(7)
    readers = ['["grp:a"]', '["grp:b"]', '["grp:a", "grp:b"]', "[]"]
    tables, words = [], {}
    for number, name in enumerate(PAGES):
        word = "zq" + "".join(rng.choice("abcdefghij") for _ in range(8))
        words[word] = readers[number % 4]
        (folder / f"{name}.md").write_text(f"# {name}\n\nThe secret word of {name} is {word}.\n")
        tables.append(
            f'["{name}.md"]\nreaders = {readers[number % 4]}\nowner = "Ownerword"\ntitle = "Titleword {name}"\n'
        )
    people = [f'[people."{name}@example.com"]\nname = "{name}"\ngroups = ["{group}"]' for name, group in PEOPLE.items()]
    (folder / "access.toml").write_text("\n".join(tables))
    (folder / "directory.toml").write_text("\n".join(people))
    return words


Small = tuple[App, Cohere, dict[str, str]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tenant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[App, Cohere, dict[str, str], Path]]:
    """A small tenant on the double's own hashing models."""
    double = Cohere()
    folder = tmp_path_factory.mktemp("small")
    words = written(folder / "pages")
    async with double.open() as url, open_app(settings(folder / "data", url, MODEL_TIMEOUT="5s")) as app:
        await add_source(app.keeping, "own", "files", {"path": str(folder / "pages")})
        await sync_named(app.keeping, "own")
        yield app, double, words, folder / "pages"


@pytest.fixture
def small(tenant: tuple[App, Cohere, dict[str, str], Path]) -> Small:
    app, double, words, _ = tenant
    double.calm()
    return app, double, words


async def test_no_word_of_a_forbidden_page_reaches_the_vendor(small: Small) -> None:
    app, double, words = small
    answered = 0
    for name, group in PEOPLE.items():
        for page in PAGES:
            double.calls.clear()
            answer = await asked(app, f"{name}@example.com", f"What is the secret word of {page}?")
            answered += answer["outcome"] == "answered"
            for word, readers in words.items():
                assert group in readers or word not in double.heard() + json.dumps(answer), (name, page, word)

    assert answered >= 12


async def test_a_revoked_page_is_not_sent_on_the_next_question(
    small: Small, tenant: tuple[App, Cohere, dict[str, str], Path]
) -> None:
    app, double, words = small
    access = tenant[3] / "access.toml"
    before = access.read_text()
    access.write_text(before.replace('["grp:a"]', '["grp:b"]'))
    try:
        await sync_named(app.keeping, "own")
        double.calls.clear()
        await asked(app, "ana@example.com", "What is the secret word of topic00?")
        heard = double.heard()
    finally:
        access.write_text(before)
        await sync_named(app.keeping, "own")

    assert [word for word, readers in words.items() if readers == '["grp:a"]' and word in heard] == []


async def test_the_writer_hears_no_title_owner_address_or_name(small: Small) -> None:
    app, double, _ = small
    double.calls.clear()
    answer = await asked(app, "ana@example.com", "What is the secret word of topic00?")

    assert answer["outcome"] == "answered"
    sent = "\n".join(json.dumps(call.body) for call in double.to(CHAT))
    assert [word for word in ("Titleword", "Ownerword", "ana@", "grp:", "own:", ".md", "S1") if word in sent] == []


async def test_nothing_of_a_person_reaches_any_door(small: Small) -> None:
    app, double, _ = small
    await asked(app, "ana@example.com", "What is the secret word of topic00?")

    assert [word for word in ("ana@", "usr:", "grp:") if word in double.heard()] == []
    assert all("ana" not in json.dumps(dict(call.headers)) for call in double.calls)


# ---------------------------------------------------------------- when the vendor does not do its part


@pytest.mark.parametrize("path", [EMBED, RERANK, CHAT])
@pytest.mark.parametrize(
    "fault", [status(400), status(429), status(500), silence()], ids=["400", "429", "500", "silence"]
)
async def test_an_asker_is_told_that_it_is_busy_and_nothing_else(
    small: Small, path: str, fault: Any, request: pytest.FixtureRequest
) -> None:
    app, double, _ = small
    double.always(path, fault)
    new = f"What is the secret word of topic00? {request.node.name}"  # a vector that is remembered is not asked for
    answer = await asked(app, "ana@example.com", new)
    _, end = await traced(app, answer)

    assert answer["outcome"] == "busy"
    purpose = {EMBED: "embed", RERANK: "rerank", CHAT: "write"}[path]
    assert end["usage"][f"{purpose}.failed"] == 1
    assert "secret" not in json.dumps(end)


@pytest.mark.parametrize("path", [EMBED, RERANK])
async def test_a_vendor_that_says_nothing_once_is_asked_again(small: Small, path: str) -> None:
    app, double, _ = small
    double.next(path, silence())
    answer = await asked(app, "ana@example.com", "the secret word of topic00?")

    assert answer["outcome"] == "answered"
    assert len(double.to(path)) == 2


async def test_a_writer_that_thinks_for_long_is_not_asked_again(small: Small) -> None:
    app, double, _ = small
    double.next(CHAT, silence(3))
    answer = await asked(app, "ana@example.com", "What is the secret word of topic00?")

    assert answer["outcome"] == "answered"
    assert len(double.to(CHAT)) == 1


@pytest.mark.parametrize(
    "wrote",
    [
        Written("NO ANSWER"),
        Written("I'm sorry, but I can't help with that."),
        Written("The secret word of topic00 is zqnonsense."),
        Written("", finish="MAX_TOKENS"),
        Written("", finish="ERROR_TOXIC"),
    ],
)
async def test_a_refusal_and_an_answer_without_proof_are_abstentions(small: Small, wrote: Written) -> None:
    app, double, _ = small
    double.writes = lambda _question, _documents: wrote
    answer = await asked(app, "ana@example.com", "What is the secret word of topic00?")

    assert answer["outcome"] == "abstained"


async def test_each_purpose_uses_its_own_key(tmp_path: Path) -> None:
    double = Cohere()
    double.keys = {EMBED: "key-for-embed", RERANK: "key-for-rerank"}
    keys = {"COHERE_EMBED_API_KEY": "key-for-embed", "COHERE_RERANK_API_KEY": "key-for-rerank"}
    async with double.open() as url, open_app(settings(tmp_path / "data", url, **keys)) as app:
        for ping in app.hosted.values():
            await ping()

    assert len(double.calls) == 3


async def test_check_asks_every_hosted_door_and_says_what_to_do(tmp_path: Path) -> None:
    double = Cohere()
    double.keys = {CHAT: "another"}
    double.always(RERANK, status(404))
    async with double.open() as url, open_app(settings(tmp_path / "data", url)) as app:
        lines = {line["check"]: line async for line in checks(app)}

    assert lines["embedder"]["ok"]
    assert "404" in lines["reranker"]["problem"]
    assert "FOOTNOTE_COHERE_API_KEY" in lines["writer"]["problem"]
    assert "docs/models.md" in lines["writer"]["fix"]


async def test_an_index_of_another_dimension_is_not_searched(tmp_path: Path) -> None:
    double = Cohere()
    written(tmp_path / "pages")
    async with double.open() as url:
        async with open_app(settings(tmp_path / "data", url)) as app:
            await add_source(app.keeping, "own", "files", {"path": str(tmp_path / "pages")})
            await sync_named(app.keeping, "own")
        async with open_app(settings(tmp_path / "data", url, COHERE_EMBED_DIMENSIONS="1024")) as app:
            problem = await app.index.check()

    assert problem is not None
    assert "512" in problem


async def test_any_compatible_endpoint_can_write(tmp_path: Path) -> None:
    cohere = Cohere()
    words = written(tmp_path / "pages")

    def quote(_question: str, passages: dict[str, str]) -> str:
        [found] = [(id_, text) for id_, text in passages.items() if "topic00" in text][:1] or [("p0000000", "x")]
        return f"{found[1]} [{found[0]}]"

    endpoint = OpenAI(quote)
    async with cohere.open() as url, endpoint.open() as other:
        more = {"WRITER": "openai", "OPENAI_BASE_URL": f"{other}/v1", "OPENAI_API_KEY": "sk-test-key"}
        async with open_app(settings(tmp_path / "data", url, OPENAI_MODEL="local", **more)) as app:
            await add_source(app.keeping, "own", "files", {"path": str(tmp_path / "pages")})
            await sync_named(app.keeping, "own")
            answer = await asked(app, "ana@example.com", "What is the secret word of topic00?")
            _, end = await traced(app, answer)

    assert answer["outcome"] == "answered"
    assert next(iter(words)) in answer["text"]
    assert cohere.to(CHAT) == []
    assert end["usage"]["write.calls"] == 1
    assert end["cost"] is None  # nobody gave its price


async def test_the_quoting_writer_works_over_a_hosted_reranker(tmp_path: Path) -> None:
    double = Cohere()
    words = written(tmp_path / "pages")
    more = {"EMBEDDER": "", "WRITER": "", "COHERE_EMBED_DIMENSIONS": ""}
    async with double.open() as url, open_app(settings(tmp_path / "data", url, **more)) as app:
        await add_source(app.keeping, "own", "files", {"path": str(tmp_path / "pages")})
        await sync_named(app.keeping, "own")
        answer = await asked(app, "ana@example.com", "What is the secret word of topic00?")
        begin, end = await traced(app, answer)

    assert answer["outcome"] == "answered"
    assert next(iter(words)) in answer["text"]
    assert {call.path for call in double.calls} == {RERANK}
    assert end["usage"]["rerank.search_units"] == 2  # passages, then sentences
    assert begin["models"]["prompt"] == "extractive/1"


async def test_a_model_whose_vectors_nobody_knows_is_a_wrong_setting(tmp_path: Path) -> None:
    unknown = settings(tmp_path, "http://127.0.0.1:9", COHERE_EMBED_MODEL="embed-v9", COHERE_EMBED_DIMENSIONS="")
    opening = open_app(unknown)
    with pytest.raises(WrongUse, match="FOOTNOTE_COHERE_EMBED_DIMENSIONS"):
        await opening.__aenter__()


@pytest.mark.parametrize("path", [RERANK, CHAT])
async def test_a_question_that_is_given_up_leaves_no_request_behind(small: Small, path: str) -> None:
    app, double, _ = small
    double.always(path, silence())
    before = double.cancelled
    asking = asyncio.create_task(asked(app, "ana@example.com", "What is the secret word of topic00?"))
    for _ in range(300):
        if double.to(path):
            break
        await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    for _ in range(300):
        if double.cancelled > before:
            break
        await asyncio.sleep(0.01)

    assert (len(double.to(path)), double.cancelled) == (1, before + 1)
