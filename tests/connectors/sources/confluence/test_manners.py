"""What is asked of a wiki and what never is, and that the same things count in every pass.

The numbers are those of public bug reports: EC elastic/connectors, ONX onyx-dot-app/onyx.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from connectors.sources.confluence.open import SCOPES
from tests.confluence_house import stocked
from tests.connectors.sources.confluence.living import named, settled_in
from tests.doubles.confluence.faults import status

NEVER = {
    # CONFCLOUD-77954, CONFCLOUD-83983, ONX#6311: no list of people is whole. atlassian-python-api#1371: no JSON-RPC on
    # Cloud; #1599: members of groups are nobody's business. Expanded views run macros with our rights.
    "cloud": r"rpc/|search/user|user/list|membersByGroup|/member\b|export_view|styled_view|body\.view|/rest/api/space",
    # llama_index#19964: no folders there.
    "datacenter": r"user/list|/member\b|folder|whiteboard|api/v2|export_view|styled_view|body\.view",
}


@pytest.mark.parametrize("edition", NEVER)
async def test_what_is_not_whole_or_not_ours_is_never_asked_for(tmp_path: Path, edition: str) -> None:
    async with settled_in(tmp_path, edition) as house:
        house.wiki.edit(named(house, "Leaf"), body="<p>Another leaf.</p>")
        await house.sync()
        await house.visible("bob")

        assert house.server.lines
        assert [line for line in house.server.lines if re.search(NEVER[edition], line)] == []


def test_an_application_asks_for_no_more_scopes_than_a_token_may_have() -> None:
    """docToolchain#1509: more than fifty are refused; nothing that writes is among them."""
    assert len(SCOPES) <= 50
    assert all(each.startswith(("read:", "search:", "offline_access")) for each in SCOPES)


async def test_what_one_pass_admits_every_pass_admits(tmp_path: Path) -> None:
    """ONX#11588: two listings that admit different things delete what is there, or keep for ever what is not."""
    wiki = stocked()
    middle = next(each.id for each in wiki.content.values() if each.title == "Middle")
    wiki.attach(middle, "photo.png", b"\x89PNG", "image/png")
    wiki.attach(middle, "disguised.txt", b"%PDF", "application/pdf")
    wiki.page("ENG", "Empty", "   ")
    wiki.page("ENG", "Sketch", status="draft", author="robot")
    async with settled_in(tmp_path, wiki) as house:
        await house.sync()
        alive = await house.alive()
        for full in (False, True, False):
            report = await house.sync(full=full)
            assert (report.complete, report.deleted) == (True, 0)
            assert alive == await house.alive()


async def test_what_only_contains_others_is_no_document_and_lends_no_title(tmp_path: Path) -> None:
    """ONX#13778: titles of containers went to people who may not see them."""
    wiki = stocked()
    folder = next(each for each in wiki.content.values() if each.kind == "folder")
    folder.title = "Zanzibar"
    wiki.restrict(folder.id, users=["ann", "robot"])
    async with settled_in(tmp_path, wiki) as house:
        await house.sync()

        assert folder.id not in await house.alive()
        assert all("Zanzibar" not in text for text in (await house.texts("ann")).values())
        assert await house.wrong() == {}


async def test_an_owner_is_named_for_people_to_read_and_for_nothing_else(tmp_path: Path) -> None:
    wiki = stocked()
    page = wiki.page("ENG", "Owned", owner="ann")
    async with settled_in(tmp_path, wiki) as house:
        await house.sync()
        node = (await house.memory.get([page.id]))[page.id]
        async with house.far() as far:
            body = await far.source._wiki.body(node)  # type: ignore[attr-defined]
        house.server.fault("users-bulk", status(403))
        async with house.far() as far:
            nameless = await far.source._wiki.body(node)  # type: ignore[attr-defined]

        assert (body.owner, nameless.owner) == ("Ann", None)
        assert body.text == nameless.text
        assert "Ann" not in str(node)
