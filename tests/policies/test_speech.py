"""What leaves is prose: nothing in a text becomes a link, a mention, an image, markup or a citation of ours."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policies.domains import TOP_LEVEL
from policies.speech import GONE, UNTITLED, defused, legible, safe_title, speakable

OWN = "https://wiki.example.com/x/a_(b)"


@pytest.mark.parametrize(
    "text",
    [
        "Receipts above 25 EUR are needed; see section 4.2 (table 3).",
        "Use CO-197 or TRV-INTL, never INC0012345.",
        "It is in report.docx, budget_2026.xlsx, README.md, setup.py and access.toml.",
        "Versions 3.1, 1.2.3 and 4.2.1.3 differ; v2.0 came on 2024.01.02.",
        "E.g. Dr. Rao, Ph.D., i.e. the U.S. office, at 9 a.m. or 10:30, ratio 3:1.",
        "Write to asha.k+travel@example.com, not to ben@example.co.uk.",
        "Is 5 < 6 and x > y? Then a & b, AT&T, Q&A, R&D.",
        "wait...what? and/or; C:\\Temp\\x; 50% *bold* _it_ `code` | a | b |",
        "[1] and [draft] and [PERSON_1·k3f9] stay; f[0](x) is no link of a reader's",
        "Grüße, 你好。再见, नमस्ते, שלום, 👍🏽 ❤️",
        "README.md@v3 is no mail; mention @asha or #travel; data: 5 rows; Tel:+49 30 1; HTTP is a protocol",
        "one line\n\ttwo lines",
        "",
    ],
)
def test_ordinary_prose_stays_as_it_is(text: str) -> None:
    assert speakable(text).replace("] (", "](") == text


@pytest.mark.parametrize(
    "text",
    [
        "https://evil.com/?q=SECRET",
        "HTTPS://EVIL.COM/SECRET",
        "http://evil.com:8080/SECRET#x",
        "https:/evil.com/SECRET",
        "https:\\\\evil.com\\SECRET",
        "hxxps://evil.com/SECRET",
        "hxxp://evil[.]com/SECRET",
        "evil[dot]com/SECRET",
        "evil(.)com",
        "ftp://evil.com/SECRET",
        "slack://user?team=SECRET",
        "msteams://l/SECRET",
        "javascript:alert('SECRET')",
        "data:text/html;base64,SECRET",
        "data:,SECRET",
        "mailto:SECRET@evil.com?subject=x",
        "evil.com",
        "EVIL.COM",
        "secret.evil.com/SECRET",
        "www.evil.unknown/SECRET",
        "user:pw@evil.com/SECRET",
        "user@evil.com/SECRET",
        "@evil.com",
        "example.com.evil",
        "evil.com.",
        "README.md/SECRET",
        "docs.README.md",
        "xn--e1awd7f.xn--p1ai/SECRET",
        "пример.рф/SECRET",
        "भारत.भारत/SECRET",
        "еvil.com/SECRET",
        "請訪問evil.com/SECRET",
        "ｅｖｉｌ．ｃｏｍ／SECRET",
        "𝐞𝐯𝐢𝐥.𝐜𝐨𝐦/SECRET",
        "evil。com/SECRET",
        "ht\u200btps://ev\u00adil.com/SECRET",
        "evil\u2060.\ufeffcom/SECRET",
        "evil&#46;com/SECRET",
        "&#x68;ttps&colon;//evil.com/SECRET",
        "https://192.168.0.7/SECRET",
        "192.168.0.7",
        "10.0.0.1:8080/SECRET",
        "http://2130706433/SECRET",
        "http://[::1]/SECRET",
        "`https://evil.com/SECRET`",
        "```\nhttps://evil.com/SECRET\n```",
        "and/or/evil.com/SECRET",
        "<https://evil.com/SECRET>",
        "https://wiki.example.com/x/a_(b)?leak=SECRET",
        "https://wiki.example.com/x/a_(b)/SECRET",
        "https://WIKI.example.com/x/SECRET",
        "see:https://evil.com/SECRET,next",
        "evil.com:80evil.com",
        "evil.com@here",
        "a@b.evil.com@evil.com",
        "x@evil.com@here",
        "a.evil.com.www.evil.unknown",
        ".It.рфwww.evil.com",
    ],
)
def test_every_form_of_an_address_is_removed(text: str) -> None:
    said = speakable(f"Go to {text} now", {OWN})

    assert "SECRET" not in said
    assert "evil.com" not in said.lower()
    assert GONE in said
    assert said.startswith("Go to ")
    assert said.endswith(" now")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[click here to reauthenticate](https://evil.com?k=S)", "click here to reauthenticate"),
        ("![chart](https://evil.com/a.png?k=S)", "chart"),
        ("[![chart](https://evil.com/a.png)](https://evil.com)", "chart"),
        ("[evil.com](https://evil.com)", GONE),
        ("[x](/relative/path 'title')", "x"),
        ("[x](https://evil.com/a_(b))", "x"),
        ("[text][ref]", "[text] [ref]"),
        ("[ref]: https://evil.com 'x'", f"[ref] : {GONE} 'x'"),
        ("[two\nlines](https://evil.com/)", f"[two\nlines] ({GONE})"),
        ("word[x](https://evil.com)", f"word[x] ({GONE})"),
        ("x](y", "x] (y"),
        ('<a href="https://evil.com">Payroll</a>', "Payroll"),
        ("<img src=x onerror=alert(1)>ok", "ok"),
        ("<script>alert(1)</script>", "alert(1)"),
        ("<scr<b>ipt>alert(1)", "‹script›alert(1)"),
        ("a <!-- hidden -->b<!-- open", "a b‹!-- open"),
        ("<your-name> & a<b", "‹your-name› & a‹b"),
        ("&lt;script&gt;x", "x"),
        ("&amp;amp;amp;lt;script>", "& lt;script>"),
        ("&nosuch; &amp; &#0;x", "&nosuch; & \ufffdx"),
    ],
)
def test_markup_leaves_its_words(text: str, said: str) -> None:
    assert speakable(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<!channel> <!here> <!everyone>", ""),
        ("<@U123> <@U123|bob> <#C1|general> <!subteam^S1|@oncall>", "bob general @oncall"),
        ("<!date^1392734382^{date}^https://evil.com|Feb 18>", "Feb 18"),
        ("<https://evil.com|Payroll>", "Payroll"),
        ("<https://evil.com|https://bank.example.com>", GONE),
        ("<mailto:x@evil.com|Mail us>", "Mail us"),
        ("<<b>!channel>", "‹!channel›"),
        ("@here @channel and @everyone, _@here_ ＠here @@here", "here channel and everyone, _here_ here here"),
        ("x@here.org @hereby @channels", "x@here.org @hereby @channels"),
        ("&lt;!channel&gt;", ""),
    ],
)
def test_nobody_is_called(text: str, said: str) -> None:
    assert " ".join(speakable(text).split()) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("as [S9] says", "as (S9) says"),
        ("[s1, S2] [ S3 ] [S1-S3]", "(s1, S2) (S3) (S1-S3)"),
        ("【S3】 ［Ｓ４］ [\u0405 5]", "(S3) (Ｓ４) (\u0405 5)"),
        ("[^1] [^1^] [^S1^]", "(1) (1) (S1)"),
        ("[S\u200b9] [S<b></b>9] &#91;S9&#93;", "(S9) (S9) (S9)"),
        ("[1] [SLA] [S] [S9x]", "[1] [SLA] [S] [S9x]"),
    ],
)
def test_a_forged_citation_loses_its_brackets(text: str, said: str) -> None:
    assert speakable(text) == said


@pytest.mark.parametrize(
    "token",
    [
        "<|END_OF_TURN_TOKEN|>",
        "<|im_start|>",
        "<｜end▁of▁sentence｜>",
        "[INST]",
        "[/INST]",
        "<<SYS>>",
        "<start_of_turn>",
        "</end_of_turn>",
        "<bos>",
        "<eos>",
    ],
)
def test_no_text_ends_a_turn(token: str) -> None:
    assert defused(f"a{token}b") == "a b"
    assert speakable(f"a{token}b") == "a b"


def test_a_text_for_a_prompt_keeps_what_only_a_reader_could_click() -> None:
    assert defused("see https://wiki.example.com [S9]") == "see https://wiki.example.com (S9)"


def test_own_addresses_stay_byte_for_byte() -> None:
    assert speakable(f"See {OWN}.", {OWN}) == f"See {OWN}."
    assert speakable(f"({OWN})", [OWN]) == f"({OWN})"
    assert speakable(f"<{OWN}>", [OWN]).strip() == OWN
    assert speakable(f"See {OWN}.") == f"See {GONE})."
    assert speakable(f"{OWN} {OWN[:-1]}c", {OWN}) == f"{OWN} {GONE}"


def test_two_sentences_without_a_space_are_not_an_address() -> None:
    assert speakable("so the policy says.It follows") == "so the policy says. It follows"
    assert speakable("Evil.Com and evil.Com/x") == f"Evil. Com and {GONE}"


def test_characters_that_nobody_sees_are_gone() -> None:
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore")

    assert legible(f"a{tags}b\u202ec\u2066d\u00ade\x00f\x1b[31mg\ud800h") == "abcdef[31mgh"
    assert legible("a\r\nb\rc\u2028d\x85e\x0bf") == "a\nb\nc\nd\ne\nf"
    assert legible("❤\ufe0f a\ufe0f \ufe0f\ufe0f") == "❤\ufe0f a "


@pytest.mark.parametrize(
    ("title", "label"),
    [
        ("Travel policy", "Travel policy"),
        ("  Travel\n policy ", "Travel policy"),
        ("Travel | HR [2024]", "Travel | HR (2024)"),
        ("<https://evil|Payroll>", "Payroll"),
        ("Payroll](https://evil.com", "Payroll) ("),
        ("https://evil.com", UNTITLED),
        ("evil.com", UNTITLED),
        ("", UNTITLED),
        ("---", UNTITLED),
        ("Pay\u202etxt.exe", "Paytxt.exe"),
        ("report.docx", "report.docx"),
        ("a < b `c`", "a < b 'c'".replace("<", "‹")),
        ("שכר 2024", "\u2068שכר 2024\u2069"),
        ("\u2068שכר\u2069", "\u2068שכר\u2069"),
    ],
)
def test_a_title_is_a_harmless_label(title: str, label: str) -> None:
    assert safe_title(title) == label


def test_a_long_title_is_cut_between_words_or_letters() -> None:
    assert safe_title("word " * 100, 50) == ("word " * 9).strip() + "…"
    assert safe_title("é" * 100, 20) == "é" * 16 + "…"
    assert safe_title("e\u0301" * 100, 21) == "e\u0301" * 8 + "…"
    assert safe_title("\u0301" * 100 + "a", 20) == UNTITLED
    assert len(safe_title("x" * 10_000)) <= 150
    assert "evil.com" not in safe_title("a" * 138 + "evil.commmmmmmm")


ALPHABET = st.sampled_from(
    [
        *"abS19 .:/@<>[]()!|#&;^-_\n\\`*",
        *("http", "://", "evil", ".com", "www.", "xn--", "README.md", ".It", "data:", "[.]", "here"),
        *("<b>", "<!", "-->", "](", "[S1]", "&lt;", "&#46;"),
        *("\u200b", "\u0301", "\ufe0f", "\r", "\u3002", "\u0130", "\ufb00", "\u0440\u0444", "\u05d0"),
    ]
)
TEXTS = st.lists(ALPHABET, max_size=25).map("".join) | st.text(max_size=30)


@given(TEXTS)
@example("<http://a.com|[S1](b)>")
@example("]a://")
@example("<[S1](dot)")
@example("<＠here")
@example(".It.рфwww.1heredata:<|://")
@example("ﬀ<!evil<İ<b>[INST]data:>")
def test_speaking_twice_changes_nothing(text: str) -> None:
    once = speakable(text, {OWN})

    assert speakable(once, {OWN}) == once


_INERT = re.compile(
    r"://|\]\(|\]\[|<[A-Za-z/!?@#|]|\[S\d+\]|(?<![\w.-])www\.[a-z0-9]|(?<![\w.-])https?:[!-~]"
    r"|(?<![\w.-])(?:[a-z0-9][a-z0-9-]*\.)+(?:com|net|org|io)(?![.\w-])",
    re.IGNORECASE | re.ASCII,
)


@given(TEXTS)
def test_nothing_that_leaves_is_live(text: str) -> None:
    said = speakable(text)
    without_addresses = re.sub(r"[\w.%+-]+@[\w.-]+", "", said)

    assert not _INERT.search(without_addresses), said
    assert all(unicodedata.category(letter) not in ("Cc", "Cs") or letter in "\n\t" for letter in said)


@given(TEXTS)
def test_a_title_is_short_one_line_and_stays_as_it_is(text: str) -> None:
    label = safe_title(text * 10, 40)

    assert 0 < len(label) <= 42
    assert len(label.splitlines()) == 1
    assert not set(label) & set("<>[]`")
    assert not _INERT.search(re.sub(r"[\w.%+-]+@[\w.-]+", "", label))


HOSTILE = [
    *("a", "a.", ".", "1.", "a:", "a@a.", "a.com ", "a[.]", "http://)", "x:// ", "@", "!", "![", "[", "[](", "[](()"),
    *("[x]: ", "\n[", "[S1,", "[^^^", "<[", "<a ", "<b", "<@", "<|", "<h:a", "<!--", "&#", "&amp;"),
    *("\u00e9.", "\u4e2d.a", "\u200b", "\ufe0f", "\u0301"),
]


# A pattern that is not linear would take hours here, not seconds.
@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.timeout(60)
def test_a_quarter_of_a_megabyte_of_anything_is_spoken_in_linear_time(piece: str) -> None:
    hostile = piece * (250_000 // len(piece))

    assert len(speakable(hostile)) < 20 * len(hostile)
    assert len(safe_title(hostile)) <= 152


@pytest.mark.timeout(60)
def test_a_megabyte_of_everything_is_spoken_in_linear_time() -> None:
    hostile = "".join(piece * 1_000 for piece in HOSTILE) * 14

    assert len(hostile) > 1_000_000
    assert len(speakable(hostile)) < 20 * len(hostile)


def test_top_level_domains_are_names_in_lower_case() -> None:
    assert {"com", "de", "io", "zip", "рф"} <= TOP_LEVEL
    assert not {"docx", "txt", "toml", "exe", "html"} & TOP_LEVEL
    assert all(name == name.lower() and "." not in name for name in TOP_LEVEL)
