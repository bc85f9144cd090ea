"""What a page shows of other pages is never part of it: neither their text nor their titles reach its readers.

Canaries are words that nobody else writes; the real parser reads the bodies.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.confluence_house import stocked
from tests.connectors.sources.confluence.living import HereParser, living, named

TITLE, TEXT = "Zanzibar Merger Plan", "quokka"
_PAGE = f'<ri:page ri:content-title="{TITLE}" ri:space-key="HR" />'


def parameter(name: str, value: str) -> str:
    return f'<ac:parameter ac:name="{name}">{value}</ac:parameter>'


MACROS = {
    "include": parameter("", f"<ac:link>{_PAGE}</ac:link>"),
    "excerpt-include": parameter("", f"<ac:link>{_PAGE}</ac:link>") + parameter("nopanel", "true"),
    "multiexcerpt-include": parameter("PageWithExcerpt", _PAGE),
    "children": parameter("page", f"<ac:link>{_PAGE}</ac:link>"),
    "pagetree": parameter("root", f"<ac:link>{_PAGE}</ac:link>"),
    "detailssummary": parameter("cql", f'title = "{TITLE}"'),
    "contentbylabel": parameter("cql", f'title = "{TITLE}"'),
    "viewfile": parameter("name", f'<ri:attachment ri:filename="x.pdf">{_PAGE}</ri:attachment>'),
}


def shown(macro: str) -> str:
    """The macro as a body has it."""
    return f'<ac:structured-macro ac:name="{macro}">{MACROS[macro]}</ac:structured-macro>'


@pytest.mark.parametrize(("macro", "edition"), list(product(MACROS, ["cloud", "datacenter"])))
async def test_a_macro_that_shows_another_page_brings_in_nothing_of_it(
    tmp_path: Path, macro: str, edition: str
) -> None:
    """ONX (include resolved by title alone, with the crawler's rights), redmine_private_wiki#9."""
    wiki = stocked(edition)
    secret = wiki.page("HR", TITLE, f"<p>The {TEXT} is bought in May.</p>")
    host = wiki.page(
        "ENG",
        "Host",
        f"<p>Before it.</p>{shown(macro)}<p>After it.</p>",
    )
    async with living(tmp_path, wiki, parser=HereParser()) as house:
        await house.sync()
        texts = {name: await house.texts(name) for name in ("ann", "bob", "gus")}

        assert "Before it." in texts["bob"][host.id]
        assert "After it." in texts["bob"][host.id]
        for found in texts.values():
            elsewhere = "\n".join(text for key, text in found.items() if key != secret.id)
            assert TEXT not in elsewhere
            assert TITLE not in elsewhere
        assert TEXT in texts["ann"][secret.id]


async def test_a_live_doc_that_includes_another_page_brings_in_nothing_of_it(tmp_path: Path) -> None:
    wiki = stocked()
    wiki.page("HR", TITLE, f"<p>The {TEXT} is bought in May.</p>")
    extension: dict[str, Any] = {
        "type": "extension",
        "attrs": {
            "extensionType": "com.atlassian.confluence.macro.core",
            "extensionKey": "include",
            "parameters": {"macroParams": {"": {"value": TITLE}}},
        },
    }
    said = {"type": "paragraph", "content": [{"type": "text", "text": "Words of the live doc."}]}
    adf = json.dumps({"version": 1, "type": "doc", "content": [said, extension]})
    storage = f"<p>Words of the live doc.</p>{shown('include')}"
    live = wiki.page("ENG", "Live", storage, subtype="live", adf=adf)
    async with living(tmp_path, wiki, parser=HereParser()) as house:
        await house.sync()
        texts = await house.texts("bob")

        assert "Words of the live doc." in texts[live.id]
        assert TITLE not in "\n".join(texts.values())


async def test_a_card_and_a_link_say_what_their_author_wrote(tmp_path: Path) -> None:
    wiki = stocked()
    secret = wiki.page("HR", TITLE, f"<p>The {TEXT} is bought in May.</p>")
    body = (
        f'<p>See <ac:link><ri:page ri:content-title="{TITLE}" ri:space-key="HR" /><ac:link-body>the plan</ac:link-body>'
        f'</ac:link> and <a href="https://x.atlassian.net/wiki/spaces/HR/pages/{secret.id}" '
        'data-card-appearance="inline">https://x.atlassian.net/wiki</a>.</p>'
    )
    host = wiki.page("ENG", "Host", body)
    async with living(tmp_path, wiki, parser=HereParser()) as house:
        await house.sync()
        texts = await house.texts("bob")

        assert "the plan" in texts[host.id]
        assert TITLE not in "\n".join(texts.values())
        assert named(house, "Host") == host.id
