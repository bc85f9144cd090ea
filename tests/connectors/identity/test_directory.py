from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

import bot.sample
from connectors.errors import Stop
from connectors.identity.directory import LedgerDirectory, read_directory
from connectors.ledger.open import Ledger, open_ledger
from connectors.ports import DirectoryTables
from policies.facts import Kind
from policies.names import Principal
from tests.blank import blank_ledger
from tests.connectors.ledger.making import NOW

SMALL = """
[people."Asha@Example.com"]
name = "Asha"
groups = ["grp:contractors-in", "grp:not declared"]
identities = { "slack:T1" = "U1", "oidc:https://login.example.com" = "sub-1" }

[people."gus@example.com"]
name = "Gus"
kind = "guest"

[people."dario@example.com"]
name = "Dario"
active = false
groups = ["grp:contractors-in"]

[groups."grp:everyone"]
includes = ["grp:contractors"]
[groups."grp:contractors"]
includes = ["grp:contractors-in", "grp:loop"]
[groups."grp:loop"]
includes = ["grp:everyone"]

[places."private:C1"]
members = ["asha@example.com", "gus@example.com"]
[places."private:C2"]
members = ["asha@example.com", "stranger@elsewhere.example"]
[places."private:EMPTY"]
members = []
"""
ASHA = Principal.person("asha@example.com")


@pytest.fixture(params=["in memory", "in a file", "postgresql"])
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ledger]:
    match request.param:
        case "postgresql":
            url = request.getfixturevalue("postgres_url")
        case "in a file":
            url = blank_ledger(tmp_path / "ledger.sqlite")
        case _:
            url = "sqlite+aiosqlite://"
    async with open_ledger(url) as opened:
        await opened.people.replace(read_directory(SMALL), NOW)
        yield opened


@pytest.fixture
def directory(ledger: Ledger) -> LedgerDirectory:
    return LedgerDirectory(ledger.people)


# ---------------------------------------------------------------- reading


def test_a_directory_file_is_read_whole() -> None:
    tables = read_directory(SMALL)
    asha = tables.people[0]

    assert (asha.email, asha.kind, asha.active) == ("asha@example.com", "member", True)
    assert asha.groups == ("grp:contractors-in", "grp:not declared")
    assert tables.groups["grp:contractors"] == ("grp:contractors-in", "grp:loop")
    assert tables.places["private:EMPTY"] == ()


def test_the_sample_directory_is_read() -> None:
    sample = Path(bot.sample.__file__).parent / "documents" / "directory.toml"

    assert len(read_directory(sample.read_text()).people) >= 10


def test_an_empty_file_is_an_empty_directory() -> None:
    assert read_directory("") == DirectoryTables((), {}, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[people", "not valid TOML"),
        ("[persons]", "unknown key 'persons'"),
        ("people = 3", "must be a table"),
        ('[people."a@b.c"]\nrole = "x"', "unknown key 'role'"),
        ('[people."a@b.c"]\nkind = "admin"', "member, guest or external"),
        ('[people."a@b.c"]\nactive = "no"', "true or false"),
        ('[people."a@b.c"]\ngroups = "grp:x"', "must be a list"),
        ('[people."a@b.c"]\ngroups = [1]', "must be a text"),
        ('[people."a@b.c"]\ngroups = ["finance"]', "write it as grp:name"),
        ('[people."a@b.c"]\ngroups = ["usr:b@b.c"]', "is a person"),
        ('[people."a@b.c"]\nidentities = { slack = "U" }', "provider:instance"),
        ('[people."nobody"]', "not an e-mail"),
        ('[people."a@b.c"]\n[people."A@B.C"]', "twice"),
        (
            '[people."a@b.c"]\nidentities = {"slack:T"="U"}\n[people."b@b.c"]\nidentities = {"slack:T"="U"}',
            "two people",
        ),
        ('[groups."grp:x"]\nmembers = []', "unknown key 'members'"),
        ('[groups."x"]', "write it as grp:name"),
        ('[places."C1"]\nmembers = []', "private:ID"),
        ('[places."private:C1"]', "needs members"),
    ],
)
def test_a_fault_is_refused_and_named(text: str, said: str) -> None:
    with pytest.raises(Stop, match=said):
        read_directory(text)


# ---------------------------------------------------------------- subjects


async def test_a_person_is_himself_his_groups_and_those_that_include_them(directory: LedgerDirectory) -> None:
    asha = await directory.subject(ASHA, NOW)

    assert asha is not None
    assert {str(each) for each in asha.principals} == {
        "usr:asha@example.com",
        "grp:contractors-in",
        "grp:not declared",
        "grp:contractors",
        "grp:everyone",
        "grp:loop",
    }
    assert (asha.kind, asha.active, asha.resolved_at) == (Kind.MEMBER, True, NOW)


async def test_a_guest_has_no_group_that_he_is_not_in(directory: LedgerDirectory) -> None:
    gus = await directory.subject(Principal.person("gus@example.com"), NOW)

    assert gus is not None
    assert (gus.kind, gus.principals) == (Kind.GUEST, {Principal.person("gus@example.com")})


async def test_somebody_disabled_is_nobodys_member(directory: LedgerDirectory) -> None:
    dario = await directory.subject(Principal.person("dario@example.com"), NOW)

    assert dario is not None
    assert (dario.active, dario.principals) == (False, frozenset())


async def test_an_account_is_its_person(directory: LedgerDirectory) -> None:
    by_slack = await directory.subject(Principal("slack:T1:U1"), NOW)
    by_login = await directory.subject(Principal("oidc:https://login.example.com:sub-1"), NOW)

    assert by_slack is not None
    assert by_login is not None
    assert by_slack.person == by_login.person == ASHA


@pytest.mark.parametrize("who", ["usr:nobody@example.com", "slack:T1:U2", "slack:T2:U1", "grp:everyone", "usr:odd"])
async def test_who_is_not_in_the_directory_is_nobody(directory: LedgerDirectory, who: str) -> None:
    assert await directory.subject(Principal(who), NOW) is None


async def test_a_group_that_was_left_is_gone_with_the_next_import(ledger: Ledger, directory: LedgerDirectory) -> None:
    left = SMALL.replace('groups = ["grp:contractors-in", "grp:not declared"]', "groups = []")
    await ledger.people.replace(read_directory(left), NOW)
    asha = await directory.subject(ASHA, NOW)

    assert asha is not None
    assert asha.principals == {ASHA}


async def test_who_is_not_in_the_file_any_more_is_unknown(ledger: Ledger, directory: LedgerDirectory) -> None:
    await ledger.people.replace(read_directory(""), NOW)

    assert await directory.subject(ASHA, NOW) is None
    assert await directory.members("private:C1", NOW) is None


# ---------------------------------------------------------------- places


async def test_the_members_of_a_place_are_known_with_their_groups(directory: LedgerDirectory) -> None:
    members = await directory.members("private:C1", NOW)

    assert members is not None
    assert [str(each.person) for each in members] == ["usr:asha@example.com", "usr:gus@example.com"]
    assert Principal.group("everyone") in members[0].principals
    assert await directory.members("private:EMPTY", NOW) == []


@pytest.mark.parametrize("place", ["private:C2", "private:C9", "public:C1"])
async def test_a_place_with_a_stranger_in_it_or_not_listed_is_not_known(directory: LedgerDirectory, place: str) -> None:
    assert await directory.members(place, NOW) is None


# ---------------------------------------------------------------- accounts


async def test_an_account_is_bound_to_one_person_and_a_person_to_one_account(ledger: Ledger) -> None:
    people = ledger.people
    await people.link("gus@example.com", "slack:T1", "U7", NOW)
    await people.link("gus@example.com", "slack:T1", "U7", NOW + timedelta(days=1))

    with pytest.raises(Stop, match="another account"):
        await people.link("gus@example.com", "slack:T1", "U8", NOW)
    with pytest.raises(Stop, match="somebody else"):
        await people.link("dario@example.com", "slack:T1", "U7", NOW)
    with pytest.raises(Stop, match="does not know"):
        await people.link("stranger@example.com", "slack:T1", "U9", NOW)
    assert await people.unlink("gus@example.com", "slack:T1")
    assert not await people.unlink("gus@example.com", "slack:T1")


async def test_a_linked_account_outlives_an_import_and_an_imported_one_follows_it(ledger: Ledger) -> None:
    await ledger.people.link("gus@example.com", "slack:T1", "U7", NOW)
    await ledger.people.replace(read_directory(SMALL.replace('"slack:T1" = "U1"', '"slack:T1" = "U2"')), NOW)
    asha, gus = await ledger.people.get("asha@example.com"), await ledger.people.get("gus@example.com")

    assert asha is not None
    assert gus is not None
    assert (asha.identities["slack:T1"], gus.identities["slack:T1"]) == ("U2", "U7")


async def test_a_person_is_listed_by_one_directory(ledger: Ledger) -> None:
    with pytest.raises(Stop, match="another directory"):
        await ledger.people.replace(read_directory(SMALL), NOW, origin="a second file")

    assert len(await ledger.people.list()) == 3
