"""Passages: what is read together stays together, what is named keeps its name, and every text is somewhere."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.records import Block, Chunk, Form, ParsedRecord, SourceDocument, Table
from connectors.sync.chunk import MOST, TARGET, chunk
from connectors.sync.table import LONGEST_ROW
from policies.names import DocumentId

RULE = (
    "Claims denied for missing prior authorization (CO-197) must be appealed within 30 calendar days of the denial "
    "notice date."
)
EXCEPTION = (
    "Exception: if a retro-authorization is approved after the date of service, the deadline extends to 60 calendar "
    "days."
)


async def _unread() -> bytes:
    raise AssertionError("a chunker reads no body")


def document(**known: object) -> SourceDocument:
    facts: dict[str, object] = {
        "id": DocumentId("sample", "payers/payer-x.md"),
        "version": "v3",
        "revision": "0" * 64,
        "title": "Payer X",
        "url": "https://example.com",
        "media_type": "text/markdown",
        "scope_root": ".",
        "read": _unread,
    }
    return SourceDocument(**(facts | known))  # type: ignore[arg-type]


def text(path: str, *paragraphs: str) -> list[Block]:
    return [Block(Form.TEXT, headings(path), paragraph) for paragraph in paragraphs]


def table(path: str, headers: str, *rows: str, caption: str = "") -> Block:
    cells = [tuple(cell.strip() for cell in row.split("|")) for row in (headers, *rows)]
    return Block(Form.TABLE, headings(path), "\n".join(rows), Table(cells[0], tuple(cells[1:]), caption))


def headings(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split(" > ") if part)


def cut(*blocks: Block, **known: object) -> dict[str, Chunk]:
    chunks = chunk(ParsedRecord("Own title", blocks), document(**known))
    assert len({each.id for each in chunks}) == len(chunks)
    return {each.id.section: each for each in chunks}


def prose(words: int, name: str) -> str:
    return " ".join(f"{name}{number}" if number % 12 else f"{name}{number}. Next" for number in range(1, words)) + "."


# ---------------------------------------------------------------- a rule and its exceptions


def test_the_rule_of_section_4_2_stays_with_its_exception_its_payer_and_its_version() -> None:
    cuts = cut(
        *text("Section 4.2 Appeal filing deadline", RULE, "Include the authorization record.", EXCEPTION),
        effective_from=date(2026, 7, 1),
    )

    (passage,) = cuts.values()
    assert passage.id.section == "4.2"
    assert RULE in passage.text
    assert EXCEPTION in passage.text
    assert passage.header == "Payer X › Section 4.2 Appeal filing deadline (version v3, in force from 2026-07-01)"
    assert {"sec:4.2", "co-197"} <= set(passage.codes)


@pytest.mark.parametrize(
    "exception",
    [
        EXCEPTION,
        "However, members of the board may fly business class.",
        "Unless the contract says otherwise, the fee is due.",
        "Provided that a receipt is attached, the cost is paid.",
        "**Exception**: nights abroad.",
        "This rule does not apply to contractors.",
        "Except in an emergency, ask first.",
        "Notwithstanding the above, Legal may ask for more.",
    ],
)
def test_an_exception_is_never_cut_from_what_it_modifies(exception: str) -> None:
    before = prose(95, "before")
    rule = prose(40, "rule")

    cuts = cut(*text("4 Rules", before, rule, exception, prose(80, "after")))

    (holder,) = (each for each in cuts.values() if exception in each.text)
    assert rule in holder.text


def test_a_sentence_with_an_exception_stays_with_the_one_before_it_in_a_long_paragraph() -> None:
    long = f"{prose(250, 'a')} The limit is 100. However, in London it is 150. {prose(250, 'b')}"

    cuts = cut(*text("Limits", long))

    (holder,) = (each for each in cuts.values() if "However, in London" in each.text)
    assert "The limit is 100. However, in London it is 150." in holder.text


def test_a_passage_leads_to_its_own_heading_where_the_source_can_say_how() -> None:
    blocks = [*text("", "First of all."), *text("Flights > To the US", "Ask."), *text("Odd", "Nothing leads here.")]
    cuts = cut(*blocks, anchor=lambda heading: "" if heading == "Odd" else heading.replace(" ", "-"))

    urls = {each.attributes.url for each in cuts.values()}
    assert urls == {"https://example.com", "https://example.com#To-the-US"}
    assert len({each.digest for each in cuts.values()}) == 3


def test_a_list_stays_with_its_lead_in() -> None:
    items = ("an authorization record", "clinical notes " * 20, "the denial notice")
    listed = Block(Form.LIST, ("Attach",), "\n".join(f"- {item}" for item in items), items=items)

    cuts = cut(*text("Attach", prose(120, "before"), "Attach the following:"), listed)

    (holder,) = (each for each in cuts.values() if "clinical notes" in each.text)
    assert "Attach the following:" in holder.text


def test_a_list_too_long_for_one_passage_repeats_its_lead_in() -> None:
    items = tuple(f"item {number} of what is to be attached to an appeal" for number in range(80))
    listed = Block(Form.LIST, ("Attach",), "\n".join(f"- {item}" for item in items), items=items)

    cuts = cut(*text("Attach", "Attach the following:"), listed)

    assert len(cuts) > 2
    assert all("Attach the following:" in each.text for each in cuts.values())


def test_exceptions_under_a_heading_of_their_own_are_read_with_the_rule_too() -> None:
    cuts = cut(
        *text("4.2 Deadline", RULE), *text("4.2 Deadline > Exceptions", "Sixty days after a retro-authorization.")
    )

    assert cuts["4.2"].text == f"{RULE}\n\nExceptions: Sixty days after a retro-authorization."
    assert cuts["4.2/exceptions"].text == "Sixty days after a retro-authorization."
    assert cuts["4.2"].parent == cuts["4.2/exceptions"].parent


def test_a_passage_that_refers_back_begins_with_what_it_refers_to() -> None:
    first = f"{prose(130, 'a')} The allowance is 65 dollars."
    second = f"This amount includes breakfast. {prose(60, 'b')}"

    cuts = cut(*text("Meals", first, second))

    assert cuts["meals~2"].text.startswith("The allowance is 65 dollars.\n\nThis amount includes")


# ---------------------------------------------------------------- tables


def test_the_row_of_c_2_says_on_its_own_what_it_means() -> None:
    row = "International airfare | Reimbursable | Only if the contract allows it"

    cuts = cut(table("C. Travel > C.2 International airfare", "Item | Employee | Contractor", row))

    (passage,) = cuts.values()
    assert passage.text == "International airfare: Employee: Reimbursable; Contractor: Only if the contract allows it."
    assert (passage.id.section, passage.parent, passage.form) == ("C.2", "C", Form.TABLE)
    assert passage.header == "Payer X › C. Travel › C.2 International airfare (version v3)"


def test_rows_are_found_under_their_codes_and_the_small_table_whole() -> None:
    rows = ("TRV-INTL | International airfare", "TRV-DOM | Domestic airfare.")

    cuts = cut(table("Codes", "Code | Meaning", *rows, caption="Expense codes"))

    assert list(cuts) == ["codes", "codes/TRV-INTL", "codes/TRV-DOM"]
    assert cuts["codes/TRV-INTL"].text == "Code TRV-INTL: Meaning: International airfare."
    assert cuts["codes/TRV-INTL"].codes == ("trv-intl",)
    assert cuts["codes/TRV-INTL"].header == "Payer X › Codes › Expense codes (version v3)"
    assert cuts["codes"].text.splitlines() == ["Expense codes", cuts["codes/TRV-INTL"].text, cuts["codes/TRV-DOM"].text]


def test_rows_of_a_merged_group_are_named_by_the_column_that_differs() -> None:
    cuts = cut(table("Added", "Group | Code", "Imaging | 70551", "Imaging | 70553", "Sleep | 95810"))

    assert {"added/70551", "added/70553", "added/95810"} <= set(cuts)


def test_rows_without_a_name_of_their_own_are_counted() -> None:
    cuts = cut(table("Limits", "Days | Fee", "1 | 10", "2 | 20"))

    assert list(cuts) == ["limits", "limits~2", "limits~3"]
    assert cuts["limits~2"].text == "Days 1: Fee: 10."


def test_a_large_table_is_rows_only_and_each_is_read_alone() -> None:
    cuts = cut(table("Codes", "Code | Meaning", *(f"COD-{n:03} | Meaning number {n} of many" for n in range(100))))

    assert len(cuts) == 100
    assert all(each.parent == name for name, each in cuts.items())


def test_a_very_large_table_has_several_rows_a_passage() -> None:
    cuts = cut(table("Codes", "Code | Meaning", *(f"COD-{n} | Meaning {n}" for n in range(3000))))

    assert len(cuts) < 300
    assert sum(each.text.count("\n") + 1 for each in cuts.values()) == 3000


def test_every_part_of_a_very_long_row_begins_with_what_the_row_is_about() -> None:
    cuts = cut(table("T", "Item | Rule", f"Airfare | {prose(900, 'w')}", "Rail | Paid"))

    parts = [each.text for each in cuts.values() if "w300" in each.text or "w800" in each.text]
    assert len(parts) == 2
    assert all(part.startswith("Airfare: ") and len(part) <= LONGEST_ROW for part in parts)


def test_empty_cells_and_headers_are_left_out() -> None:
    cuts = cut(table("T", "Item | Employee | ", "Airfare |  | see B", " | Paid | "))

    assert cuts["t"].text == "Airfare: see B.\nEmployee: Paid."


# ---------------------------------------------------------------- names, headers, parents


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("", "top"),
        ("Section 4.2 Appeals", "4.2"),
        ("4 Appeals > 4.2 Deadline", "4.2"),
        ("C. Travel > C.2 Airfare", "C.2"),
        ("Appendix A > 1. Scope", "A/1"),
        ("Overview > 1. Scope", "overview/1"),
        ("Overview > 4.2 Deadline", "4.2"),
        ("3 Rules > 4.2 Deadline", "3/4.2"),
        ("2. Claims", "2"),
        ("§ 7 Notices", "7"),
        ("Sec.4 Notices", "4"),
        ("Parts", "parts"),
        ("Articles > Party", "articles/party"),
        ("Travel > What is paid?", "travel/what-is-paid"),
        ("Überstunden & Löhne", "überstunden-löhne"),
        ("A day in the life", "a-day-in-the-life"),
        ("???", "a03b221c"),
        ("Top", "top~s2"),
    ],
)
def test_a_section_is_named_by_its_number_else_by_its_words(path: str, name: str) -> None:
    assert list(cut(*text(path, "Text."))) == [name]


def test_equal_headings_are_sections_of_their_own_whatever_the_first_one_holds() -> None:
    short = cut(*text("Notes", "One."), *text("Other", "Between."), *text("Notes", "Two."))
    long = cut(*text("Notes", prose(400, "w")), *text("Other", "Between."), *text("Notes", "Two."))

    assert list(short) == ["notes", "other", "notes~s2"]
    assert long["notes~s2"].text == short["notes~s2"].text
    assert "notes~2" in long


def test_equal_numbers_under_different_parts_are_told_apart() -> None:
    cuts = cut(*text("Part one > 1.1 Scope", "One."), *text("Part two > 1.1 Scope", "Two."))

    assert [each.text for each in cuts.values()] == ["One.", "Two."]
    assert list(cuts) == ["1.1", "part-two/1.1"]


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({"version": "v3"}, " (version v3)"),
        ({"version": "7"}, ""),
        ({"version": "0123456789ab"}, ""),
        ({"effective_from": date(2026, 4, 1)}, " (version v3, in force from 2026-04-01)"),
        ({"effective_to": date(2026, 4, 1)}, " (version v3, in force until 2026-04-01)"),
        (
            {"status": "superseded", "effective_from": date(2024, 1, 1), "effective_to": date(2026, 4, 1)},
            " (version v3, superseded, in force from 2024-01-01 to 2026-04-01)",
        ),
    ],
)
def test_the_header_tells_version_and_time(known: dict[str, object], told: str) -> None:
    assert cut(*text("A", "Text."), **known)["a"].header == f"Payer X › A{told}"


@pytest.mark.parametrize(("stated", "title"), [("Stated", "Stated"), ("", "Own title")])
def test_the_sources_title_comes_first(stated: str, title: str) -> None:
    assert cut(*text("", "Text."), title=stated)["top"].attributes.title == title


def test_a_document_without_a_title_is_called_by_its_file() -> None:
    (passage,) = chunk(
        ParsedRecord(None, (*text("", "Text."),)), document(title="", id=DocumentId("s", "a/travel-policy.md"))
    )

    assert passage.attributes.title == "Travel policy"


def test_small_sections_are_read_together_with_their_neighbours_and_large_ones_alone() -> None:
    small = cut(
        *text("C. Travel > C.1 Rail", "Paid."), *text("C. Travel > C.2 Air", "Paid."), *text("D. Other", "Paid.")
    )
    large = cut(*text("C. Travel > C.1 Rail", prose(500, "w")), *text("C. Travel > C.2 Air", "Paid."))

    assert [each.parent for each in small.values()] == ["C", "C", "D"]
    assert {large["C.1"].parent, large["C.1~2"].parent} == {"C.1"}
    assert large["C.2"].parent == "C.2"


def test_a_document_without_text_has_no_passages() -> None:
    assert chunk(ParsedRecord("Title", ()), document()) == ()
    assert chunk(ParsedRecord("Title", (*text("A", "  \n "),)), document()) == ()


# ---------------------------------------------------------------- laws


_words = st.lists(
    st.sampled_from("the fee is paid. However claims A-1 Unless by 30 days. It".split()), min_size=1, max_size=400
)
_paragraphs = _words.map(" ".join)
_titles = st.sampled_from(["A", "B", "1. One", "1.1 Sub", "Exceptions", "Top", "Notes", "4.2 Rule", "Codes"])
_paths = st.lists(_titles, max_size=3).map(tuple)
_tables = st.lists(st.tuples(_titles, st.sampled_from(["x", "TRV-1", ""]), _titles), min_size=1, max_size=5).map(
    lambda rows: Table(("Item", "Code", "Rule"), tuple(rows))
)


@st.composite
def _blocks(draw: st.DrawFn, path: tuple[str, ...]) -> list[Block]:
    blocks = []
    for _ in range(draw(st.integers(1, 3))):
        match draw(st.sampled_from(list(Form))):
            case Form.TABLE:
                blocks.append(Block(Form.TABLE, path, "rows", draw(_tables)))
            case Form.LIST:
                items = tuple(draw(st.lists(_paragraphs, min_size=1, max_size=4)))
                blocks.append(Block(Form.LIST, path, "\n".join(f"- {item}" for item in items), items=items))
            case form:
                blocks.append(Block(form, path, draw(_paragraphs)))
    return blocks


@st.composite
def _sections(draw: st.DrawFn) -> list[list[Block]]:
    return [draw(_blocks(path)) for path in draw(st.lists(_paths, min_size=1, max_size=5))]


def _flat(sections: list[list[Block]]) -> ParsedRecord:
    return ParsedRecord("T", tuple(block for section in sections for block in section))


@settings(max_examples=150, deadline=None)
@given(_sections())
def test_ids_are_unique_the_outcome_is_settled_and_no_passage_is_too_long_or_empty(sections: list[list[Block]]) -> None:
    chunks = chunk(_flat(sections), document())

    assert chunks == chunk(_flat(sections), document())
    assert len({each.id for each in chunks}) == len(chunks)
    assert [each.ordinal for each in chunks] == list(range(len(chunks)))
    assert all(each.text.strip() and len(each.text) <= MOST + TARGET for each in chunks)
    assert len({each.digest for each in chunks}) == len({each.passage for each in chunks})


@settings(max_examples=150, deadline=None)
@given(_sections())
def test_every_word_of_a_document_is_in_some_passage(sections: list[list[Block]]) -> None:
    chunks = chunk(_flat(sections), document())

    found = {word for each in chunks for word in each.text.replace(":", " ").replace(";", " ").split()}
    found |= {word.rstrip(".") for word in found}
    for block in (block for section in sections for block in section):
        cells = " ".join(" ".join(row) for row in block.table.rows) if block.table else block.text
        assert {word for word in cells.split() if word != "-"} - found <= {"-"}


@settings(max_examples=150, deadline=None)
@given(_sections(), st.data())
def test_an_edit_of_one_section_leaves_the_names_of_all_others_alone(
    sections: list[list[Block]], data: st.DataObject
) -> None:
    # Neighbouring blocks under equal headings are one section.
    place = data.draw(st.integers(0, len(sections) - 1))
    path = sections[place][0].heading_path
    edited = [*sections[:place], data.draw(_blocks(path)), *sections[place + 1 :]]
    if any(section[0].heading_path == path for at, section in enumerate(sections) if at != place):
        return

    before = {each.id for each in chunk(_flat(sections), document()) if each.heading_path != path}
    after = {each.id for each in chunk(_flat(edited), document()) if each.heading_path != path}

    assert before == after
