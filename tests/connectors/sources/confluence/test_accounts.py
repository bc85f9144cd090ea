"""The lists of accounts that people are matched with: whole or not at all, and only what is surely somebody's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import DoorError, Stop, Transient
from connectors.ports import Accounts, FarAccount, Organisation
from tests.confluence_house import House
from tests.doubles.confluence.faults import busy, page, raw, status
from tests.doubles.confluence.organisation import KEY, ORG
from tests.doubles.confluence.wiki import Wiki
from tests.doubles.vendor import Fault, changed

SEARCH = "/users/search"
LISTED = "/admin/users/list/active"


def house(folder: Path, edition: str = "cloud", release: str = "9.3") -> House:
    """A wiki with one account of each kind."""
    wiki = Wiki(edition=edition, release=release)
    wiki.person("robot", email="robot@example.com", admin=True)
    wiki.person("ann", hides_email=edition == "datacenter")
    wiki.person("bob", email="Bob@Example.com")
    wiki.person("ina", active=False)
    return House(folder, wiki)


@asynccontextmanager
async def opened(of: House) -> AsyncIterator[Accounts]:
    """The source's list of accounts, with the wiki served; without a ledger, which it has no use for."""
    async with of.server.open() as of.base, of.far(memory=object()) as far:
        assert far.accounts is not None
        yield far.accounts


async def listed(of: House, **organisation: str) -> tuple[list[FarAccount], int]:
    """What the source lists, for the right organisation unless told otherwise."""
    async with opened(of) as accounts:
        given = {"id": ORG, "key": KEY, "url": of.server.base} | organisation
        found = await accounts(Organisation(**given) if of.wiki.edition == "cloud" else None)
    return list(found.accounts), found.left_out


async def test_an_organisation_lists_active_people_with_a_proven_address_over_all_pages(tmp_path: Path) -> None:
    at = house(tmp_path)
    at.wiki.person("eve", email_verified=False)
    at.wiki.person("tim", email_verified=None)
    at.wiki.person("nil", email="")
    at.wiki.person("out", managed=False)
    at.wiki.person("bot", kind="app")
    at.wiki.person("joe", kind="customer")
    at.server.caps["organisation"] = 2
    found = await listed(at)

    right = [("ann", "ann@example.com"), ("bob", "Bob@Example.com"), ("robot", "robot@example.com")]
    assert (right, 6) == found
    assert at.server.counts["POST /admin/v2/orgs/{}/directories/-/users/search"] == 5


async def test_an_account_that_is_unmanaged_is_left_out_where_the_filter_is_not_heard(tmp_path: Path) -> None:
    def unmanaged(right: dict[str, Any]) -> None:
        right["data"][0]["claimStatus"] = "unmanaged"

    at = house(tmp_path)
    at.server.fault(SEARCH, changed(unmanaged))
    assert [each.id for each in (await listed(at))[0]] == ["ann", "bob"]


@pytest.mark.parametrize(
    ("fault", "after", "kind", "said"),
    [
        (status(401), 0, Stop, "does not accept the key"),
        (status(403), 1, Stop, "read:directories:admin"),
        (status(404), 0, Stop, "--org-id"),
        (status(400), 0, Stop, "did not accept"),
        (busy(3600), 1, Transient, "can't answer now (429)"),
        (page(), 1, Stop, "a page instead of JSON"),
        (raw(b'{"data": ['), 1, Transient, "not JSON"),
        (raw(b"{}"), 1, Transient, "no list of people"),
        (raw(b'{"data": ["ann"]}'), 0, Transient, "no list of people"),
        (changed(lambda right: right["links"].update(next="page-1")), 0, Transient, "goes in circles"),
    ],
)
async def test_a_list_that_breaks_off_is_no_list(
    tmp_path: Path, fault: Fault, after: int, kind: type[DoorError], said: str
) -> None:
    at = house(tmp_path)
    at.server.caps["organisation"] = 1
    at.server.fault(SEARCH, fault, after=after)
    with pytest.raises(kind) as caught:
        await listed(at)

    assert said in str(caught.value)
    assert KEY not in str(caught.value)


async def test_a_busy_organisation_is_asked_again(tmp_path: Path) -> None:
    at = house(tmp_path)
    at.server.fault(SEARCH, busy(0), times=1)
    assert len((await listed(at))[0]) == 3


async def test_the_wrong_key_organisation_or_address_is_said(tmp_path: Path) -> None:
    at = house(tmp_path)
    for wrong, said in (
        ({"key": "other"}, "does not accept the key"),
        ({"id": "other"}, "'other' is not known"),
        ({"id": "../../x"}, "no id of an organisation"),
        ({"url": "http://api.example.com"}, "must be https"),
    ):
        with pytest.raises(Stop, match=said):
            await listed(at, **wrong)


async def test_cloud_needs_an_organisation_and_a_data_center_has_none(tmp_path: Path) -> None:
    cloud, server = house(tmp_path / "cloud"), house(tmp_path / "server", "datacenter")
    async with opened(cloud) as accounts:
        with pytest.raises(Stop, match="--org-id"):
            await accounts(None)
    async with opened(server) as accounts:
        with pytest.raises(Stop, match="Data Center"):
            await accounts(Organisation(ORG, KEY, server.server.base))


async def test_a_data_center_lists_its_active_people_by_user_key(tmp_path: Path) -> None:
    at = house(tmp_path, "datacenter")
    for number in range(250):
        at.wiki.person(f"key{number:03}")
    found, left_out = await listed(at)

    people = {"bob": "Bob@Example.com", "robot": "robot@example.com"}
    people |= {f"key{number:03}": f"key{number:03}@example.com" for number in range(250)}
    assert (people, 1) == (dict(found), left_out)


@pytest.mark.parametrize(
    ("release", "websudo", "fault", "kind", "said"),
    [
        ("9.2", False, None, Stop, "from version 9.3 on"),
        ("9.3", True, None, Stop, "no password may be asked for"),
        ("9.3", False, status(403), Stop, "administrators only (403)"),
        ("9.3", False, status(401), Stop, "administrators only (401)"),
        ("9.3", False, busy(3600), Transient, "429"),
    ],
)
async def test_a_data_center_that_does_not_tell_says_why(
    tmp_path: Path, release: str, websudo: bool, fault: Fault | None, kind: type[DoorError], said: str
) -> None:
    at = house(tmp_path, "datacenter", release)
    at.server.websudo = websudo
    if fault is not None:
        at.server.fault(LISTED, fault)
    with pytest.raises(kind) as caught:
        await listed(at)

    assert said in str(caught.value)
