"""The grammar of what administrators write: exactly this, and all else is a question."""

from __future__ import annotations

import pytest

from bot.slack.grammar import Confirm, Help, Lag, Probe, Purge, ShowTrace, SourceLine, WhoReads, line, name_of

SECRET = "a" * 43
TRACE = "tr-0123456789abcdef0123"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("source list", SourceLine("list")),
        ("Sources LIST", SourceLine("list")),
        ("source show pages", SourceLine("show", "pages")),
        ("source add files", SourceLine("add", "files")),
        ("source sync pages", SourceLine("sync", "pages")),
        ("source sync pages full", SourceLine("sync", "pages", full=True)),
        ("source pause Pages", SourceLine("pause", "Pages")),
        ("source resume pages", SourceLine("resume", "pages")),
        ("source remove pages", SourceLine("remove", "pages")),
        ("source reindex pages", SourceLine("reindex", "pages")),
        ("probe asha@example.com files:a.md", Probe("asha@example.com", "files:a.md")),
        ('probe asha@example.com "files:a plan.md"', Probe("asha@example.com", "files:a plan.md")),
        ("who “a plan.md”", WhoReads("a plan.md")),
        ("lag", Lag()),
        (f"trace {TRACE}", ShowTrace(TRACE)),
        ("purge files:a.md", Purge("files:a.md")),
        (f"confirm {SECRET}", Confirm(SECRET)),
        ("help admin", Help()),
    ],
)
def test_a_line_of_the_grammar_is_a_command(text: str, expected: object) -> None:
    assert line(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "source",
        "sources",
        "source list now",
        "source drop pages",
        "source remove",
        "source remove a b",
        "source sync pages slowly",
        "who approves a journey abroad?",
        "who owns",
        "probe asha@example.com",
        "lag of what",
        "trace 12",
        f"trace {TRACE}; rm -rf /",
        "confirm yes",
        "purge",
        "purge all documents",
        "what is the source list?",
        "x" * 2_000,
    ],
)
def test_everything_else_is_none(text: str) -> None:
    if text == "who owns":  # two words are a document's name; who meant a question is told how to ask it
        assert line(text) == WhoReads("owns")
    else:
        assert line(text) is None


def test_every_command_has_a_name_for_the_record() -> None:
    assert name_of(SourceLine("pause", "a")) == "source.pause"
    assert name_of(WhoReads("a")) == "whoreads"
