"""access.toml: the nearest statement counts, and what can't be read for certain grants nobody."""

from __future__ import annotations

from datetime import date

import pytest

from connectors.sources.access_file import AccessFile
from policies.access import NOBODY, AccessExpr, Unknown, satisfies
from policies.names import Principal


def read(text: str, *folders: str) -> AccessFile:
    return AccessFile.read(text.encode(), lambda path: path in folders)


def groups(stated: AccessFile, path: str) -> set[str]:
    names = ("grp:a", "grp:b", "grp:c", "usr:asha@example.com")
    access = stated.of(path).access
    return {name for name in names if satisfies(frozenset([Principal(name)]), access)}


@pytest.mark.parametrize("root", ["", '["."]', '["/"]', '[""]'])
def test_the_root_is_stated_at_the_top_or_by_any_of_its_names(root: str) -> None:
    assert groups(read(f'{root}\nreaders = ["grp:a"]'), "x/y.md") == {"grp:a"}


@pytest.mark.parametrize("table", ['["hr"]', '["hr/"]', '["./hr"]', "[hr]", '[folders."hr"]', '[paths."hr/"]'])
def test_a_folder_counts_for_everything_below_it(table: str) -> None:
    stated = read(f'{table}\nreaders = ["grp:a"]')

    assert groups(stated, "hr/deep/pay.md") == {"grp:a"}
    assert groups(stated, "hrx/pay.md") == set()


@pytest.mark.parametrize("table", ['["hr/pay.md"]', '[hr."pay.md"]', '[files."hr/pay.md"]', '[documents.hr."pay.md"]'])
def test_the_nearest_table_counts(table: str) -> None:
    stated = read(f'[hr]\nreaders = ["grp:a"]\n{table}\nreaders = ["grp:b"]')

    assert groups(stated, "hr/pay.md") == {"grp:b"}
    assert groups(stated, "hr/other.md") == {"grp:a"}


def test_a_folder_called_like_a_wrapper_is_a_folder() -> None:
    stated = read('[files]\nreaders = ["grp:a"]\n[files."x.md"]\nreaders = ["grp:b"]', "files")

    assert groups(stated, "files/x.md") == {"grp:b"}
    assert groups(stated, "files/y.md") == {"grp:a"}
    assert groups(stated, "x.md") == set()


def test_readers_all_asks_for_one_of_each() -> None:
    access = read('["x.md"]\nreaders_all = [["grp:a", "grp:b"], ["grp:c"]]').of("x.md").access

    assert isinstance(access, AccessExpr)
    assert satisfies(frozenset([Principal("grp:b"), Principal("grp:c")]), access)
    assert not satisfies(frozenset([Principal("grp:a"), Principal("grp:b")]), access)


def test_readers_and_readers_all_together_must_both_be_met() -> None:
    stated = read('["x.md"]\nreaders = ["grp:a"]\nreaders_all = [["grp:a", "grp:b"]]')

    assert groups(stated, "x.md") == {"grp:a"}


@pytest.mark.parametrize("value", ["readers = []", "readers_all = []", 'readers_all = [[], ["grp:a"]]'])
def test_an_empty_list_is_nobody(value: str) -> None:
    stated = read(f'readers = ["grp:a"]\n["x.md"]\n{value}')

    assert groups(stated, "x.md") == set()
    assert stated.of("x.md").fault is None


def test_attributes_are_inherited_one_by_one() -> None:
    stated = read(
        'readers = ["grp:a"]\nowner = "ops"\nversion = 3\ntitle = "Everything"\n'
        '["p/x.md"]\nversion = "v4"\neffective_from = "2026-04-01"'
    ).of("p/x.md")

    assert (stated.version, stated.owner, stated.effective_from) == ("v4", "ops", date(2026, 4, 1))
    assert stated.title == ""
    assert stated.scope_root == "."


def test_an_address_of_a_folder_is_what_paths_are_appended_to() -> None:
    stated = read(
        'url = "https://a.example/x/"\n[hr]\nurl = "https://hr.example"\n["hr/own.md"]\nurl = "https://o.example/1"'
    )

    assert stated.of("a b.md").url == "https://a.example/x/a%20b.md"
    assert stated.of("hr/deep/c.md").url == "https://hr.example/deep/c.md"
    assert stated.of("hr/own.md").url == "https://o.example/1"


@pytest.mark.parametrize(
    "line",
    [
        'reader = ["grp:b"]',
        'readers = "grp:b"',
        "readers = [1]",
        'readers = ["finance"]',
        'readers = ["grp:"]',
        'readers_all = ["grp:b"]',
        'readers = ["grp:b"]\neffective_from = "soon"',
        'readers = ["grp:b"]\neffective_from = 2026-04-01T10:00:00',
        'readers = ["grp:b"]\neffective_from = 2026-04-02\neffective_to = 2026-04-01',
        'readers = ["grp:b"]\nversion = true',
        'readers = ["grp:b"]\nurl = "javascript:alert(1)"',
        'readers = ["grp:b"]\nlabels = "x"',
        'readers = ["grp:b"]\nstatus = ""',
    ],
)
def test_a_table_that_cannot_be_read_grants_nobody_below_it(line: str) -> None:
    stated = read(f'readers = ["grp:a"]\n[hr]\n{line}')

    assert groups(stated, "hr/x.md") == set()
    assert isinstance(stated.of("hr/x.md").access, Unknown)
    assert stated.of("hr/x.md").fault
    assert groups(stated, "other.md") == {"grp:a"}
    assert stated.problems(lambda path: True)


def test_a_path_stated_twice_grants_nobody() -> None:
    stated = read('["hr"]\nreaders = ["grp:a"]\n["hr/"]\nreaders = ["grp:b"]')

    assert groups(stated, "hr/x.md") == set()


def test_a_table_inside_and_outside_of_a_wrapper_is_stated_twice() -> None:
    stated = read('[hr]\nreaders = ["grp:a"]\n[folders.hr]\nreaders = ["grp:b"]')

    assert groups(stated, "hr/x.md") == set()


def test_a_path_that_leaves_the_folder_grants_nothing() -> None:
    stated = read('["../x.md"]\nreaders = ["grp:a"]')

    assert groups(stated, "x.md") == set()
    assert "leaves the folder" in stated.problems(lambda path: True)[0]


@pytest.mark.parametrize("text", ["[broken", 'readers = ["grp:a"]\nreaders = ["grp:b"]', "\x00"])
def test_a_file_that_is_not_toml_makes_everything_unknown(text: str) -> None:
    stated = read(text)

    assert isinstance(stated.of("x.md").access, Unknown)
    assert list(stated.scopes()) == [""]
    assert "TOML" in stated.problems(lambda path: True)[0]


def test_without_a_file_nobody_reads_anything() -> None:
    stated = AccessFile.read(None, lambda path: False)

    assert stated.of("x.md").access == NOBODY
    assert stated.scopes() == {"": NOBODY}


def test_people_are_named_by_address() -> None:
    stated = read('readers = ["Asha@Example.com"]')

    assert groups(stated, "x.md") == {"usr:asha@example.com"}


def test_composed_and_decomposed_names_are_one() -> None:
    stated = read('["Ma\u0308rz.md"]\nreaders = ["grp:a"]')

    assert groups(stated, "März.md") == {"grp:a"}


def test_tables_nested_too_deep_grant_nobody() -> None:
    stated = read(f"readers = ['grp:a']\n[{'.'.join(['a'] * 90)}]\nreaders = []")

    assert groups(stated, "/".join(["a"] * 90) + "/x.md") == set()
    assert groups(stated, "a/x.md") == {"grp:a"}


@pytest.mark.parametrize("wrapper", ["files", "folders", "paths", "documents"])
def test_what_a_wrapper_says_of_itself_is_not_said_of_the_root(wrapper: str) -> None:
    stated = read(f'[{wrapper}]\nreaders = ["grp:a"]')

    assert groups(stated, "x.md") == set()
    assert "names no file or folder" in stated.problems(lambda path: False)[0]


def test_a_folder_made_with_the_name_of_a_wrapper_opens_nothing() -> None:
    stated = read('readers = ["grp:a"]\n[files."hr/pay.md"]\nreaders = ["grp:b"]', "files", "hr", "hr/pay.md")

    assert groups(stated, "hr/pay.md") == groups(stated, "files/hr/pay.md") == set()
    assert groups(stated, "files/x.md") == {"grp:a"}
    assert "may be meant" in stated.problems(lambda path: True)[0]


@pytest.mark.parametrize(
    "table",
    ['["HR/pay.md"]', '["hr/pay.md "]', '["hr\\\\pay.md"]', "[hr.pay.md]", '["x/../hr/pay.md"]', '["hr／pay.md"]'],
)
def test_a_table_that_nearly_names_a_file_leaves_it_to_nobody(table: str) -> None:
    stated = read(f'readers = ["grp:a"]\n{table}\nreaders = ["grp:b"]')
    closed = stated.closed_where_misspelt(["hr", "hr/pay.md", "hr/other.md"])

    assert groups(closed, "hr/pay.md") == set()
    assert groups(closed, "hr/other.md") == {"grp:a"}
    assert any("may be meant for it" in problem for problem in closed.problems(lambda path: True))


def test_a_table_of_a_file_that_is_gone_closes_no_other() -> None:
    stated = read('readers = ["grp:a"]\n["old.md"]\nreaders = ["grp:b"]\n["New.md"]\nreaders = ["grp:b"]')

    assert groups(stated.closed_where_misspelt(["new.md", "New.md"]), "new.md") == {"grp:a"}


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "https:evil.example.com",
        "https://",
        "https://user:secret@example.com/x",
        "https://example.com/a\\nb",
        "ht\\ntps://example.com/",
        "https://example.com/\\u001b]8;;https://evil.example.com\\u0007",
    ],
)
def test_an_address_that_is_none_or_says_too_much_is_a_fault(url: str) -> None:
    stated = read(f'["x.md"]\nreaders = ["grp:a"]\nurl = "{url}"').of("x.md")

    assert stated.fault is not None
    assert "secret" not in stated.fault


def test_what_would_end_a_link_is_escaped_in_an_address() -> None:
    stated = read('["x.md"]\nurl = "https://example.com/a b/<c>|d?q=%20#e"').of("x.md")

    assert stated.url == "https://example.com/a%20b/%3Cc%3E%7Cd?q=%20#e"


@pytest.mark.parametrize("text", ["a\\nb", "a\\u001b[31m", "a\\u0085b", "a" * 1001])
@pytest.mark.parametrize("key", ["version", "title", "owner"])
def test_what_a_table_says_is_one_line(key: str, text: str) -> None:
    assert "one line" in str(read(f'["x.md"]\n{key} = "{text}"').of("x.md").fault)
