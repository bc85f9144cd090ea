"""Which account is whose: one address, one account, and nothing over what is bound."""

from __future__ import annotations

import pytest

from bot.matching import Conflict, Match, compared
from connectors.ports import FarAccount, PersonRecord

WIKI = "confluence:wiki"


def person(email: str, **accounts: str) -> PersonRecord:
    """Somebody of the directory, with accounts by provider."""
    return PersonRecord(
        email, "", "member", True, (), {name.replace("_", ":"): held for name, held in accounts.items()}
    )


ANN = "ann@example.com"


@pytest.mark.parametrize(
    ("accounts", "bound", "expected"),
    [
        ([("a1", ANN)], {}, Match(ANN, "a1", False)),
        ([("a1", " ANN@Example.COM ")], {}, Match(ANN, "a1", False)),
        ([("a1", ANN)], {"confluence_other": "z"}, Match(ANN, "a1", False)),
        ([("a1", ANN)], {"confluence_wiki": "a1"}, Match(ANN, "a1", True)),
        ([("a1", ANN), ("a2", "Ann@example.com")], {}, Conflict(ANN, "2 accounts have this address: a1, a2")),
        ([("a1", ANN), ("a2", ANN)], {"confluence_wiki": "a2"}, Match(ANN, "a2", True)),
        (
            [("a1", ANN)],
            {"confluence_wiki": "hand"},
            Conflict(ANN, "is bound to hand already, and the address is that of a1"),
        ),
        ([("b1", ANN)], {}, Conflict(ANN, "b1 is bound to bob@example.com already")),
        ([("a1", "ann@example.org"), ("a2", "no address"), ("a3", "")], {}, None),
        ([("a1", "anna@example.com")], {}, None),
        ([], {"confluence_wiki": "hand"}, None),
    ],
)
def test_a_person_has_one_account_a_conflict_or_none(
    accounts: list[tuple[str, str]], bound: dict[str, str], expected: Match | Conflict | None
) -> None:
    people = [person(ANN, **bound), person("bob@example.com", confluence_wiki="b1")]

    found = compared([FarAccount(*each) for each in accounts], people, WIKI)
    of_ann = [*found.matched, *found.conflicts, *(None for each in found.unmatched if each == ANN)]
    assert [expected] == [each for each in of_ann if each is None or each.email == ANN]
