"""Names read back as what was written, and two people are never one principal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.names import ChunkId, DocumentId, Principal

ANY = st.text(st.characters(exclude_categories=()), min_size=1, max_size=20)  # lone surrogates among them


@given(ANY, ANY)
def test_a_document_reads_back_whatever_its_characters(source: str, key: str) -> None:
    name = DocumentId(source, key)

    assert DocumentId.parse(str(name)) == name


@given(ANY, ANY, ANY, ANY)
def test_a_chunk_reads_back_whatever_its_characters(source: str, key: str, version: str, section: str) -> None:
    name = ChunkId(DocumentId(source, key), version, section)

    assert ChunkId.parse(str(name)) == name
    assert str(name).isascii()
    assert name.uuid == ChunkId.parse(str(name)).uuid


@given(st.sampled_from(["confluence", "sp"]), ANY, ANY, ANY)
def test_a_sources_principal_reads_back_whatever_its_characters(
    source: str, instance: str, kind: str, id_: str
) -> None:
    principal = Principal.of_source(source, instance, kind, id_)

    assert Principal.parse(str(principal)) == principal


@given(ANY)
def test_a_group_reads_back_whatever_its_characters(name: str) -> None:
    try:
        group = Principal.group(name)
    except ValueError:
        return  # blank at its end

    assert Principal.parse(str(group)) == group


@given(ANY, ANY)
def test_a_person_reads_back_whatever_the_characters(local: str, domain: str) -> None:
    try:
        person = Principal.person(f"{local}@{domain}")
    except ValueError:
        return  # not an address

    assert Principal.parse(str(person)) == person
    assert Principal.person(str(person).removeprefix("usr:")) == person


def test_the_written_form_of_a_chunk_is_the_spine() -> None:
    name = ChunkId(DocumentId("policies", "contractor-appendix"), "v3", "C.2")

    assert str(name) == "policies:contractor-appendix@v3#C.2"
    assert str(ChunkId(DocumentId("a:b", "c@d#e%"), "1", "x/y")) == "a%3Ab:c%40d%23e%25@1#x/y"


@pytest.mark.parametrize("text", ["", "a", ":k", "s:", "s:k:x", "s:k@v", "s:k#x", "s@x:k", "s#x:k", "s:%FF"])
def test_what_is_not_a_document_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - broken quoting has a message of Python's own
        DocumentId.parse(text)


@pytest.mark.parametrize(
    "text", ["s:k", "s:k@v", "s:k#x", "s:k@#x", "s:k@v#", "s:k@v#x#y", "s:k@v@w#x", "s:k@v#a:b", "@v#x"]
)
def test_what_is_not_a_chunk_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"source:key|needs"):
        ChunkId.parse(text)


def test_people_compare_without_case_and_groups_with_it() -> None:
    assert Principal.person(" Asha@Example.COM ") == Principal.parse("usr:asha@example.com")
    assert Principal.parse("asha@example.com") == Principal.person("asha@example.com")
    assert Principal.group("Finance") != Principal.group("finance")
    assert Principal.group("Cafe\u0301") == Principal.group("Caf\u00e9")


@pytest.mark.parametrize(
    ("one", "other"), [("straße@example.com", "strasse@example.com"), ("ſam@example.com", "sam@example.com")]
)
def test_addresses_that_only_folding_would_merge_are_two_people(one: str, other: str) -> None:
    assert Principal.person(one) != Principal.person(other)


@pytest.mark.parametrize("email", ["", "asha", "@example.com", "asha@", "asha x@example.com", "a@b\n@c d"])
def test_what_is_not_an_address_is_no_person(email: str) -> None:
    with pytest.raises(ValueError, match="not an e-mail address"):
        Principal.person(email)


@pytest.mark.parametrize("name", ["", "grp", "grp:", ":x", " grp:x", "grp:x "])
def test_a_principal_needs_a_kind_and_an_id(name: str) -> None:
    with pytest.raises(ValueError, match="write it as kind:id"):
        Principal(name)


def test_a_source_cannot_speak_for_the_directory() -> None:
    with pytest.raises(ValueError, match="begin so"):
        Principal.of_source("grp", "a", "b", "c")
    with pytest.raises(ValueError, match="four parts"):
        Principal.of_source("confluence", "", "g", "1")

    assert Principal.of_source("confluence", "acme", "g", "a:b").kind == "confluence"
    assert Principal.of_source("c", "a:b", "g", "d") != Principal.of_source("c", "a", "b:g", "d")


@pytest.mark.parametrize("parts", [("", "k"), ("s", "")])
def test_a_document_needs_both_its_parts(parts: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="needs a source and a key"):
        DocumentId(*parts)


@pytest.mark.parametrize("parts", [("", "x"), ("v", "")])
def test_a_chunk_needs_a_version_and_a_section(parts: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="needs a version and a section"):
        ChunkId(DocumentId("s", "k"), *parts)
