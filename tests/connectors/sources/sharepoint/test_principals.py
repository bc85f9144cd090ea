"""What login names mean, and that a principal is made in one way only."""

from __future__ import annotations

import pytest

from connectors.sources.sharepoint.principals import (
    Meaning,
    Means,
    Names,
    Nobody,
    Person,
    SharingLink,
    Unheard,
    group_number,
    meaning,
    owned_group,
    sharing_link,
)

TENANT = "7b1d0c52-0000-4000-8000-000000000001"
GUID = "1c2d3e4f-0000-4000-8000-00000000abcd"
OURS = Names(TENANT)


def principals(*names: object) -> Means:
    return Means(frozenset(names))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("login", "means"),
    [
        ("i:0#.f|membership|Asha@Contoso.example", Person("asha@contoso.example")),
        (
            "i:0#.f|membership|gus_other.example#ext#@contoso.example",
            Person("gus_other.example#ext#@contoso.example"),
        ),
        (f"c:0t.c|tenant|{GUID}", principals(OURS.group(GUID))),
        (f"c:0t.c|tenant|{GUID.upper()}", principals(OURS.group(GUID))),
        (f"c:0o.c|federateddirectoryclaimprovider|{GUID}", principals(OURS.group(GUID))),
        (f"c:0o.c|federateddirectoryclaimprovider|{GUID}_o", principals(OURS.owners(GUID))),
        (f"c:0-.f|rolemanager|spo-grid-all-users/{TENANT}", principals(OURS.insiders)),
        ("c:0t.c|tenant|9908e57b-4444-4a0e-af96-e8ca83c0a0e5", principals(OURS.insiders)),
        ("c:0(.s|true", principals(OURS.everyone, OURS.insiders)),
        ("c:0u.c|tenant|3a4f", Nobody()),
        ("i:0#.f|membership|urn:spo:anon#1f2e", Nobody()),
        ("i:0#.f|membership|urn:spo:guest#x@y.example", Nobody()),
        ("c:0+.w|s-1-5-21-1", Nobody()),
        ("i:0#.w|contoso\\svc", Nobody()),
        ("NT SERVICE\\spsearch", Nobody()),
        ("SHAREPOINT\\system", Nobody()),
        ("i:0i.t|ms.sp.ext|7f3a41c2@tenant", Nobody()),
        ("c:0z.q|nobody-knows|4711", Unheard("c:0z.q|nobody-knows|4711")),
        ("c:0t.c|tenant|not an id", Unheard("c:0t.c|tenant|not an id")),
    ],
)
def test_every_claim_of_the_table_means_what_it_says(login: str, means: Meaning) -> None:
    assert means == meaning(login, OURS)


def test_everybody_inside_another_tenant_is_nobody_here() -> None:
    assert Nobody() == meaning("c:0-.f|rolemanager|spo-grid-all-users/7b1d0c52-0000-4000-8000-000000000002", OURS)


def test_owners_of_a_group_are_not_its_members() -> None:
    assert OURS.owners(GUID) != OURS.group(GUID)
    assert owned_group(OURS.owners(GUID)) == GUID
    assert owned_group(OURS.group(GUID)) is None


def test_ids_are_compared_without_case_and_tenants_never_meet() -> None:
    assert OURS.user(GUID.upper()) == OURS.user(GUID)
    assert Names(TENANT.upper()).user(GUID) == OURS.user(GUID)
    assert Names("7b1d0c52-0000-4000-8000-000000000002").user(GUID) != OURS.user(GUID)


def test_groups_of_two_sites_with_one_number_are_two() -> None:
    first, second = OURS.site_group("site-a", 5), OURS.site_group("site-b", 5)

    assert first != second
    assert (group_number(first), group_number(second)) == (5, 5)
    assert group_number(OURS.group(GUID)) is None


def test_a_sharing_link_is_known_by_the_name_of_its_group() -> None:
    item, link = GUID, "2c2d3e4f-0000-4000-8000-00000000abcd"

    assert SharingLink(item, "organizationview", link) == sharing_link(f"SharingLinks.{item}.OrganizationView.{link}")
    assert sharing_link("HR Visitors") is None
