"""The watch on the real ledger, the embedded index, real files and the real audit record: fewer texts, the same law."""

from __future__ import annotations

import random
import re
from pathlib import Path

from bot.answering.outcome import Answered, to_json
from tests.tap import as_seen
from tests.world import World, real_doors

_WORD = re.compile(r"zq[a-z]{8}")
PEOPLE = [f"p{number}" for number in range(6)]
GROUPS = [f"grp:g{number}" for number in range(4)]


async def people_and_pages(world: World, rng: random.Random) -> dict[str, str]:
    """Twenty-four pages with a word each; returns the page of each word."""
    world.group("grp:everyone", *GROUPS)
    world.group("grp:g0", "grp:g1")
    for name in PEOPLE:
        world.person(name, *rng.sample(GROUPS, rng.randint(1, 2)))
    world.place("private:pair", *PEOPLE[:2])
    words = {}
    for number in range(24):
        name = f"topic{number:02}"
        word = "zq" + "".join(rng.choice("abcdefghij") for _ in range(8))
        words[word] = name
        readers = rng.choice(
            [rng.sample(GROUPS, 1), [rng.sample(GROUPS, 2), rng.sample(GROUPS, 2)], ["grp:everyone"], None]
        )
        world.page(name, f"The secret word of {name} is {word}.", readers, title=f"{name} {word}", owner=f"{word} desk")
    await world.sync()
    return words


def allowed(world: World, words: dict[str, str], *people: str) -> set[str]:
    readable = [world.oracle.readable(person, world.at) for person in people]
    return {w for w, page in words.items() if all((f"own/{page}.md", "v1") in each for each in readable)}


async def test_no_forbidden_word_leaves_before_or_after_rights_are_taken(tmp_path: Path, ledger_url: str) -> None:
    rng = random.Random(1)
    async with real_doors(tmp_path, ledger_url) as world:
        words = await people_and_pages(world, rng)
        answered = await watched(world, words, rng)
        for name in rng.sample(sorted(world.pages), 8):
            world.share(name, rng.sample(GROUPS, 1))
        world.delete("topic03")
        world.leaves("p1", "grp:g1")
        world.disable("p2")
        await world.sync()
        answered += await watched(world, words, rng)
        verdict = await world.traces.verify()

    assert answered > 6
    assert verdict
    for word in words:  # whoever opens the audit record's file reads no text in it
        assert word.encode() not in (tmp_path / "checkpoints.jsonl").read_bytes()


async def watched(world: World, words: dict[str, str], rng: random.Random) -> int:
    answered = 0
    for word, page in rng.sample(sorted(words.items()), 14):
        person, place = rng.choice(PEOPLE), rng.choice(["dm", "private:pair"])
        world.tap.crossings.clear()
        with world.tap.logs():
            outcome = await world.ask(person, f"What is the secret word of {page}?", place)
        mine = allowed(world, words, person)
        ours = allowed(world, words, person, *PEOPLE[:2]) if outcome.audience.visible_to == "everyone" else mine
        assert set(_WORD.findall(world.tap.through())) <= mine, (person, word)
        assert set(_WORD.findall(as_seen(to_json(outcome)))) <= ours, (person, place, word)
        answered += isinstance(outcome, Answered)
    return answered
