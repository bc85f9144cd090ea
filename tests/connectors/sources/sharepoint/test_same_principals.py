"""P9 and P10: the document's side and the asker's side make the same principal of every spelling of a claim, and never
one that is good in another tenant."""

from __future__ import annotations

from hypothesis import given, seed
from hypothesis import strategies as st

from connectors.sources.sharepoint.principals import Means, Names, Nobody, Unheard, meaning
from policies.names import Principal

IDS = st.uuids().map(str)


def spelled(text: str, drawn: int) -> str:
    """The same id as one service or another writes it."""
    return [text, text.upper(), text.title(), text.swapcase()][drawn % 4]


@seed(1)
@given(tenant=IDS, guid=IDS, drawn=st.integers(0, 3), claim=st.sampled_from(["entra", "m365", "owners"]))
def test_a_claim_and_a_membership_make_one_principal(tenant: str, guid: str, drawn: int, claim: str) -> None:
    """EC 4428: prefixes that differ between the two match nobody."""
    documents, askers = Names(tenant), Names(spelled(tenant, drawn))
    written = spelled(guid, drawn)
    login, held = {
        "entra": (f"c:0t.c|tenant|{written}", askers.group(guid)),
        "m365": (f"c:0o.c|federateddirectoryclaimprovider|{written}", askers.group(guid)),
        "owners": (f"c:0o.c|federateddirectoryclaimprovider|{written}_o", askers.owners(guid)),
    }[claim]

    assert meaning(login, documents) == Means(frozenset([held]))


@seed(2)
@given(first=IDS, second=IDS, guid=IDS, number=st.integers(1, 10_000))
def test_no_principal_of_one_tenant_is_one_of_another(first: str, second: str, guid: str, number: int) -> None:
    if first == second:
        return

    def every(names: Names) -> set[Principal]:
        return {names.user(guid), names.group(guid), names.owners(guid), names.insiders, names.everyone,
                names.site_group(guid, number), names.admins(guid)}  # fmt: skip

    assert len(every(Names(first))) == 7
    assert not every(Names(first)) & every(Names(second))


@seed(3)
@given(tenant=IDS, one=IDS, other=IDS, number=st.integers(1, 99))
def test_groups_of_two_sites_never_meet(tenant: str, one: str, other: str, number: int) -> None:
    names = Names(tenant)

    assert (names.site_group(one, number) == names.site_group(other, number)) is (one == other)


@seed(4)
@given(tenant=IDS, other=IDS)
def test_everyone_of_another_tenant_is_nobody_here(tenant: str, other: str) -> None:
    said = meaning(f"c:0-.f|rolemanager|spo-grid-all-users/{other}", Names(tenant))

    assert said == (Means(frozenset([Names(tenant).insiders])) if tenant == other else Nobody())


@seed(5)
@given(tenant=IDS, text=st.text(max_size=40))
def test_whatever_a_login_name_is_it_grants_to_nobody_by_accident(tenant: str, text: str) -> None:
    said = meaning(f"x{text}", Names(tenant))

    assert isinstance(said, Nobody | Unheard)
