"""Who somebody is in each far source's own system: late, for a short while, and nothing where nobody can tell."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from connectors.errors import DoorError, Stop, Transient
from connectors.identity.directory import LedgerDirectory
from connectors.identity.late import LateDirectory
from connectors.ports import Membership, PersonRecord, Rights
from policies.facts import Kind, Subject
from policies.names import Principal
from tests.connectors.ledger.making import HR, NOW
from tests.memory import MemoryPeople

ASHA, BEN = Principal.person("asha@example.com"), Principal.person("ben@example.com")
WIKI, SITE = Principal("confluence:wiki:g:1"), Principal("sharepoint:t:g:2")
LICENSED = Principal("confluence:wiki:lic:all")
MINUTE = timedelta(minutes=1)


@dataclass
class System:
    """A source's own system, with who is in it."""

    provider: str
    rules_everybody: bool = False
    everyone: frozenset[Principal] = frozenset()
    members: dict[str, Membership] = field(default_factory=dict)
    trouble: DoorError | None = None
    asked: list[tuple[str, Kind]] = field(default_factory=list)
    delay: float = 0.0
    at_once: int = 0
    most_at_once: int = 0

    async def membership(self, account: str, kind: Kind, now: object) -> Membership:
        self.asked.append((account, kind))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.delay)
        finally:
            self.at_once -= 1
        if self.trouble:
            raise self.trouble
        return self.members.get(account, Membership(False, frozenset()))


@dataclass
class House:
    wiki: System
    entra: System
    people: MemoryPeople
    directory: LateDirectory

    async def asha(self, after: timedelta = timedelta(0)) -> Subject:
        found = await self.directory.subject(ASHA, NOW + after)
        assert found is not None
        return found


@pytest.fixture
def house() -> House:
    wiki = System("confluence:wiki", everyone=frozenset([LICENSED]))
    wiki.members = {"a1": Membership(True, frozenset([WIKI])), "b1": Membership(True, frozenset([WIKI]))}
    entra = System("entra:T", rules_everybody=True)
    entra.members = {"a2": Membership(True, frozenset([SITE]))}
    people = MemoryPeople()
    accounts = {"confluence:wiki": "a1", "entra:T": "a2", "slack:T": "U1"}
    people.people["asha@example.com"] = PersonRecord("asha@example.com", "A", "member", True, (str(HR),), accounts)
    people.people["ben@example.com"] = PersonRecord(
        "ben@example.com", "B", "guest", True, (), {"confluence:wiki": "b1"}
    )
    systems: Mapping[str, Rights] = {"wiki": wiki, "sites": entra}

    async def now() -> Mapping[str, Rights]:
        return systems

    return House(wiki, entra, people, LateDirectory(LedgerDirectory(people), people, now, patience=0.2))


async def test_somebody_is_what_every_system_says_he_is(house: House) -> None:
    assert (await house.asha()).principals == {ASHA, HR, WIKI, SITE}


async def test_somebody_without_an_account_is_nothing_there_and_not_asked_about(house: House) -> None:
    ben = await house.directory.subject(BEN, NOW)

    assert ben is not None
    assert ben.principals == {BEN, WIKI}
    assert house.entra.asked == []
    assert await house.directory.subject(Principal.person("no@example.com"), NOW) is None


async def test_a_guest_is_asked_about_as_a_guest(house: House) -> None:
    await house.directory.subject(BEN, NOW)
    await house.directory.subject(ASHA, NOW, guest=True)

    assert house.wiki.asked == [("b1", Kind.GUEST), ("a1", Kind.GUEST)]


async def test_what_a_member_is_does_not_count_for_the_same_account_as_a_guest(house: House) -> None:
    await house.asha()
    house.wiki.members["a1"] = Membership(True, frozenset())
    guest = await house.directory.subject(ASHA, NOW, guest=True)

    assert guest is not None
    assert WIKI not in guest.principals


async def test_an_answer_is_asked_for_once_in_five_minutes(house: House) -> None:
    for minutes in (0, 1, 5):
        assert (await house.asha(minutes * MINUTE)).resolved_at == NOW
    assert len(house.wiki.asked) == 1
    assert (await house.asha(6 * MINUTE)).resolved_at == NOW + 6 * MINUTE
    assert len(house.wiki.asked) == 2


async def test_who_left_a_group_is_out_of_it_after_five_minutes(house: House) -> None:
    await house.asha()
    house.wiki.members["a1"] = Membership(True, frozenset())

    assert WIKI not in (await house.asha(5 * MINUTE + timedelta(seconds=1))).principals


async def test_the_same_person_is_asked_about_once_at_a_time(house: House) -> None:
    house.wiki.delay = 0.02
    found = await asyncio.gather(*(house.asha() for _ in range(10)))

    assert len(house.wiki.asked) == 1
    assert all(WIKI in each.principals for each in found)


@pytest.mark.parametrize("trouble", [Transient("busy"), Stop("refused")])
async def test_what_was_known_counts_until_the_hard_maximum(house: House, trouble: DoorError) -> None:
    await house.asha()
    house.wiki.trouble = trouble

    late = await house.asha(15 * MINUTE)
    too_late = await house.asha(15 * MINUTE + timedelta(seconds=20))

    assert WIKI in late.principals
    assert late.resolved_at == NOW
    assert WIKI not in too_late.principals
    assert SITE in too_late.principals
    assert too_late.resolved_at == NOW + 15 * MINUTE


async def test_a_system_that_never_answered_gives_nothing(house: House) -> None:
    house.wiki.delay = 5

    assert (await house.asha()).principals == {ASHA, HR, SITE}


async def test_a_system_in_trouble_is_not_asked_again_at_once(house: House) -> None:
    house.wiki.trouble = Transient("busy")
    for seconds in (0, 1, 10, 16):
        await house.asha(timedelta(seconds=seconds))

    assert len(house.wiki.asked) == 2


async def test_who_is_disabled_at_the_identity_provider_is_disabled_everywhere(house: House) -> None:
    house.entra.members["a2"] = Membership(False, frozenset())
    found = await house.asha()

    assert (found.active, found.principals) == (False, frozenset())


async def test_who_is_disabled_in_a_wiki_is_nothing_there_alone(house: House) -> None:
    house.wiki.members["a1"] = Membership(False, frozenset([WIKI]))

    assert (await house.asha()).principals == {ASHA, HR, SITE}
    assert (await house.asha()).active


async def test_nobody_is_asked_about_who_may_not_ask(house: House) -> None:
    for change in ({"active": False}, {"kind": "external"}):
        record = house.people.people["asha@example.com"]
        values = {"kind": record.kind, "active": record.active} | change
        house.people.people["asha@example.com"] = PersonRecord(
            record.email, record.name, values["kind"], values["active"], (), record.identities
        )
        await house.asha()

    assert house.wiki.asked == []


async def test_readings_of_a_clock_that_was_set_back_are_not_fresh(house: House) -> None:
    await house.asha(timedelta(hours=3))
    house.wiki.members["a1"] = Membership(True, frozenset())

    assert WIKI not in (await house.asha()).principals


async def test_everybody_in_a_place_is_whole_a_few_at_a_time(house: House) -> None:
    house.wiki.delay = 0.01
    for number in range(30):
        mail = f"p{number}@example.com"
        house.people.people[mail] = PersonRecord(mail, "P", "member", True, (), {"confluence:wiki": f"p{number}"})
        house.wiki.members[f"p{number}"] = Membership(True, frozenset([WIKI]))
    house.people.places["private:C1"] = [f"p{number}@example.com" for number in range(30)]
    found = await house.directory.members("private:C1", NOW)

    assert found is not None
    assert all(each is not None and WIKI in each.principals for each in found)
    assert house.wiki.most_at_once <= 8
    assert await house.directory.members("private:C2", NOW) is None


async def test_every_employee_is_what_each_system_calls_everyone(house: House) -> None:
    assert await house.directory.everyone() == {LICENSED}


# ---------------------------------------------------------------- asked now, whatever was read before


async def fresh(house: House, after: timedelta) -> Subject:
    found = await house.directory.subject(ASHA, NOW + after, fresh=True)
    assert found is not None
    return found


async def test_t127_what_was_read_a_moment_ago_does_not_count_where_it_is_asked_now(house: House) -> None:
    await house.asha()
    house.wiki.members["a1"] = Membership(True, frozenset())

    assert WIKI in (await house.asha(MINUTE)).principals
    assert WIKI not in (await fresh(house, MINUTE)).principals
    assert WIKI not in (await house.asha(MINUTE)).principals  # and others hear of it


@pytest.mark.parametrize("trouble", [Transient("busy"), Stop("refused")])
async def test_what_cant_be_told_now_is_no(house: House, trouble: DoorError) -> None:
    await house.asha()
    house.wiki.trouble = trouble

    assert WIKI not in (await fresh(house, MINUTE)).principals
    assert WIKI in (await house.asha(MINUTE)).principals


async def test_who_is_open_only_by_what_was_heard_before_is_nobody_where_it_is_asked_now(house: House) -> None:
    await house.asha()
    house.entra.delay = 5
    found = await fresh(house, MINUTE)

    assert (found.active, found.principals) == (False, frozenset())


async def test_a_system_that_remembers_is_asked_past_that(house: House) -> None:
    class Remembering(System):
        async def anew(self, account: str, kind: Kind, now: object) -> Membership:
            return Membership(True, frozenset())

    wiki = Remembering("confluence:wiki", members=house.wiki.members)

    async def now() -> Mapping[str, Rights]:
        return {"wiki": wiki}

    directory = LateDirectory(LedgerDirectory(house.people), house.people, now)
    found = await directory.subject(ASHA, NOW, fresh=True)
    assert found is not None
    assert WIKI not in found.principals
