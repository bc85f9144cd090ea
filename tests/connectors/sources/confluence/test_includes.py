"""What a page shows of other pages is never part of it: neither their text nor their titles reach its readers.

Canaries are words that nobody else writes; the real parser reads the bodies.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from connectors.sources.confluence.includes import Edge, shown_by
from tests.confluence_house import stocked
from tests.connectors.sources.confluence.living import HereParser, named, settled_in

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


@pytest.mark.parametrize("edition", ["cloud", "datacenter"])
async def test_a_macro_that_shows_another_page_brings_in_nothing_of_it(tmp_path: Path, edition: str) -> None:
    """ONX (include resolved by title alone, with the crawler's rights), redmine_private_wiki#9."""
    wiki = stocked(edition)
    secret = wiki.page("HR", TITLE, f"<p>The {TEXT} is bought in May.</p>")
    hosts = {
        macro: wiki.page("ENG", f"Host of {macro}", f"<p>Before it.</p>{shown(macro)}<p>After it.</p>")
        for macro in MACROS
    }
    async with settled_in(tmp_path, wiki, parser=HereParser()) as house:
        await house.sync()
        texts = {name: await house.texts(name) for name in ("ann", "bob", "gus")}

        for macro, host in hosts.items():
            assert "Before it." in texts["bob"][host.id], macro
            assert "After it." in texts["bob"][host.id], macro
        for found in texts.values():
            for key, text in found.items():
                assert key == secret.id or TEXT not in text
                assert key == secret.id or TITLE not in text
        assert TEXT in texts["ann"][secret.id]
        remembered = await house.memory.get([host.id for host in hosts.values()])
        edges = {macro: remembered[host.id].facts.get("shows", "") for macro, host in hosts.items()}
        assert {name for name in MACROS if name.endswith("include")} == {name for name, edge in edges.items() if edge}
        await house.sync()
        again = await house.memory.get([hosts["include"].id])
        assert again[hosts["include"].id].facts["shows"] == edges["include"] == f'[["HR", "{TITLE}"]]'


@pytest.mark.parametrize(
    ("name", "edges"),
    [(TITLE, (Edge("", TITLE),)), (f"HR:{TITLE}", (Edge("HR", TITLE),)), ("Note: this", (Edge("", "Note: this"),))],
)
def test_a_live_doc_tells_what_it_includes_by_name(name: str, edges: tuple[Edge, ...]) -> None:
    told = {"extensionKey": "include", "parameters": {"macroParams": {"": {"value": name}}}}
    adf = {"type": "doc", "content": [{"type": "panel", "content": [{"type": "extension", "attrs": told}]}]}

    assert shown_by(json.dumps(adf), storage=False) == edges
    assert shown_by("[", storage=False) == ()


INCLUDED = f'<ac:structured-macro ac:name="include">{MACROS["include"]}</ac:structured-macro>'


@pytest.mark.parametrize(
    ("body", "edges"),
    [
        (INCLUDED, (Edge("HR", TITLE),)),
        (INCLUDED.replace(TITLE, "A &amp; B > C"), (Edge("HR", "A & B > C"),)),
        (f'<ac:structured-macro ac:name="info" />{INCLUDED}{INCLUDED}', (Edge("HR", TITLE),)),
        (f"<p>{_PAGE}</p>", ()),
        (f'<ac:structured-macro ac:name="info">{_PAGE}</ac:structured-macro>', ()),
        (f"<ac:plain-text-body><![CDATA[{INCLUDED}]]></ac:plain-text-body>{_PAGE}", ()),
        (f"<!-- {INCLUDED} --><p>Seen.</p>", ()),
        (f"<![CDATA[ {INCLUDED}", ()),
    ],
)
def test_a_body_in_storage_format_tells_what_it_includes(body: str, edges: tuple[Edge, ...]) -> None:
    assert shown_by(body, storage=True) == edges


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
    async with settled_in(tmp_path, wiki, parser=HereParser()) as house:
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
    async with settled_in(tmp_path, wiki, parser=HereParser()) as house:
        await house.sync()
        texts = await house.texts("bob")

        assert "the plan" in texts[host.id]
        assert TITLE not in "\n".join(texts.values())
        assert named(house, "Host") == host.id
