"""The order of durable steps: close before you clean, open after you have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.connectors.sync.tree import Tap, Tree

STEPS = {"place", "announce", "put", "repoint", "publish", "retire", "retired", "entomb", "hide", "skip", "state_rules"}


@pytest.fixture
async def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "docs")
    tree.write("hr/pay.md", "Pay.")
    tree.share("hr", "grp:staff")
    await tree.sync()
    return tree


async def steps(tree: Tree) -> list[str]:
    tap = Tap()
    await tree.sync(tap=tap)
    return [name for name in tap.named if name in STEPS and name != "state_rules"]


async def test_a_new_text_is_accepted_written_made_current_and_only_then_the_old_one_cleaned(tree: Tree) -> None:
    tree.write("hr/pay.md", "More pay.")

    assert await steps(tree) == ["announce", "put", "repoint", "publish", "retire", "retired"]


async def test_a_deletion_closes_before_it_cleans(tree: Tree) -> None:
    tree.delete("hr/pay.md")

    assert await steps(tree) == ["entomb", "retire", "retired"]


async def test_a_move_closes_in_the_ledger_before_the_index_follows(tree: Tree) -> None:
    tree.share("hr/pay.md", "grp:hr")

    assert await steps(tree) == ["place", "repoint", "place"]


async def test_a_new_text_in_a_new_place_is_hidden_until_it_is_written(tree: Tree) -> None:
    tree.share("hr/pay.md", "grp:hr")
    tree.write("hr/pay.md", "More pay.")

    assert await steps(tree) == ["hide", "announce", "put", "repoint", "publish", "retire", "retired"]


async def test_a_widening_is_stated_after_the_texts_under_it(tree: Tree) -> None:
    tree.share("hr", "grp:staff", "grp:guests")
    tree.write("hr/pay.md", "Redacted.")
    tap = Tap()

    await tree.sync(tap=tap)

    stated = [at for at, name in enumerate(tap.named) if name == "state_all"]
    assert stated[-1] > tap.named.index("publish")
    assert await tree.texts("grp:guests") == {"hr/pay.md": {"Redacted."}}
