"""Who will see a reply, and that it rests on nothing that one of them may not read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from policies.audience import (
    AskerAlone,
    AudienceRules,
    Everyone,
    Place,
    PlaceKind,
    Reason,
    reach,
)
from policies.facts import Kind, Subject
from policies.names import Principal
from tests.policies.given import FINANCE, NOW, STAFF, subject

RULES = AudienceRules(frozenset([STAFF]), largest=3)
ASHA = subject(FINANCE, STAFF)
BEN = subject(STAFF, person=Principal.person("ben@example.com"))
GUS = subject(person=Principal.person("gus@example.com"), kind=Kind.GUEST)
PRIVATE, PUBLIC = Place.parse("private:C1"), Place.parse("public:C1")


@pytest.mark.parametrize("text", ["dm", "dm:D1", "private:C1", "public:C1", "external:C1", "unknown:C1", "private:a:b"])
def test_a_place_reads_back_as_it_was_written(text: str) -> None:
    assert str(Place.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a place"),
        ("channel:C1", "not a place"),
        ("private", "private:ID"),
        ("public:", "public:ID"),
        ("dm: D", "spaces"),
    ],
)
def test_what_is_not_a_place_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Place.parse(text)


MANY = [subject(person=Principal.person(f"p{n}@example.com")) for n in range(4)]


@pytest.mark.parametrize(
    ("place", "members", "reason"),
    [
        ("dm", None, Reason.DIRECT),
        ("dm", [ASHA, BEN], Reason.DIRECT),
        ("external:C1", [ASHA], Reason.EXTERNAL),
        ("unknown:C1", [ASHA], Reason.UNKNOWN),
        ("private:C1", None, Reason.UNKNOWN),
        ("private:C1", [], Reason.UNKNOWN),
        ("private:C1", [ASHA, None], Reason.MEMBERS),
        ("private:C1", [ASHA, subject(person=BEN.person, active=False)], Reason.MEMBERS),
        ("private:C1", [ASHA, subject(person=BEN.person, kind=Kind.EXTERNAL)], Reason.MEMBERS),
        ("private:C1", MANY, Reason.TOO_MANY),
        ("public:C1", [ASHA, None], Reason.MEMBERS),
        ("public:C1", [ASHA, subject(person=BEN.person, kind=Kind.EXTERNAL)], Reason.MEMBERS),
        ("public:C1", [subject(person=who.person, kind=Kind.GUEST) for who in MANY], Reason.TOO_MANY),
        ("public:C1", MANY, Reason.TOO_MANY),
    ],
)
def test_a_reply_goes_to_the_asker_alone(place: str, members: Sequence[Subject | None] | None, reason: Reason) -> None:
    assert reach(Place.parse(place), ASHA, members, RULES, NOW) == AskerAlone(reason)


def test_a_private_place_is_judged_on_every_member_and_the_asker() -> None:
    assert reach(PRIVATE, ASHA, [BEN, GUS], RULES, NOW) == Everyone((ASHA, BEN, GUS))
    assert reach(PRIVATE, ASHA, [ASHA, BEN, BEN], RULES, NOW) == Everyone((ASHA, BEN))


def test_in_a_public_place_anybody_is_what_every_employee_is_in_some_source() -> None:
    rules = AudienceRules(frozenset([STAFF]), largest=3, also=frozenset([FINANCE]))
    anybody = subject(person=STAFF, principals=frozenset([STAFF, FINANCE]))

    assert reach(PUBLIC, ASHA, None, rules, NOW) == Everyone((anybody, ASHA))
    alone = AudienceRules(frozenset(), largest=3, also=frozenset([FINANCE]))
    assert reach(PUBLIC, ASHA, None, alone, NOW) == AskerAlone(Reason.PRIVATELY)


def test_a_public_place_is_judged_on_what_every_employee_may_read() -> None:
    anybody = subject(person=STAFF, principals=frozenset([STAFF]))
    staff = [subject(STAFF, person=who.person) for who in MANY]

    assert reach(PUBLIC, ASHA, None, RULES, NOW) == Everyone((anybody, ASHA))
    assert reach(PUBLIC, ASHA, [ASHA, BEN, *staff], RULES, NOW) == Everyone((anybody, ASHA))


def test_a_member_who_is_no_employee_is_judged_as_himself_in_a_public_place() -> None:
    anybody = subject(person=STAFF, principals=frozenset([STAFF]))
    lena = subject(FINANCE, person=Principal.person("lena@example.com"))

    assert reach(PUBLIC, ASHA, [ASHA, BEN, lena], RULES, NOW) == Everyone((anybody, ASHA, lena))


def test_guests_only_narrow_a_public_place() -> None:
    reached = reach(PUBLIC, ASHA, [ASHA, GUS], RULES, NOW)

    assert isinstance(reached, Everyone)
    assert reached.readers[1:] == (ASHA, GUS)


def test_nothing_is_said_in_public_places_when_no_principal_means_everyone() -> None:
    rules = AudienceRules(frozenset(), largest=3)

    assert reach(PUBLIC, ASHA, [ASHA], rules, NOW) == AskerAlone(Reason.PRIVATELY)


def test_an_asker_who_is_not_active_reaches_nobody_else() -> None:
    assert reach(PUBLIC, subject(STAFF, active=False), None, RULES, NOW) == AskerAlone(Reason.MEMBERS)


def test_somebody_in_a_public_place_whose_account_is_closed_or_not_known_to_be_open_narrows_it() -> None:
    for active in (False, None):
        left = subject(STAFF, person=Principal.person("left@example.com"), active=active)

        assert reach(PUBLIC, ASHA, [ASHA, left], RULES, NOW) == AskerAlone(Reason.MEMBERS)


def test_reasons_name_nobody_and_count_nothing() -> None:
    assert all(reason.isascii() and not any(map(str.isdigit, reason)) for reason in Reason)
    assert all(kind in {"dm", "private", "public", "external", "unknown"} for kind in PlaceKind)
