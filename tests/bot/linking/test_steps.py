"""The steps of linking by themselves, on a real ledger: providers here say who comes back, and no browser is in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from bot.linking import notices
from bot.linking.linking import Holder, Linking
from connectors.chat import Account, Message, Workspace
from connectors.ledger.logins import SqlLogins
from connectors.ledger.open import Ledger, open_ledger
from connectors.ledger.tickets import SqlTickets
from connectors.ledger.traces import SqlTraces
from connectors.logins import Leg, Login, LoginRefused, Renewed
from connectors.ports import DirectoryTables, PersonRecord
from connectors.trace_signer import TraceSigner
from connectors.vault import Vault
from tests.blank import blank_ledger
from tests.conftest import NOW
from tests.doubles.slack_house import KEY, Log

TEAM, ASHA, MARTA = "T0NORTHWIND", "asha@example.com", "marta@example.com"
COMPANY = "oidc:https://login.example.com"


@dataclass
class Provider:
    """One that lets everybody in whom a test names; `refuses` is what it says instead."""

    issuer: str
    claims: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    refuses: Exception | None = None
    revoked: list[str] = field(default_factory=list)

    async def address(self, leg: Leg, now: datetime) -> str:
        return f"{self.issuer}/authorize"

    async def login(self, answer: Mapping[str, str], leg: Leg, now: datetime) -> Login:
        if self.refuses is not None:
            raise self.refuses
        who = answer["code"]
        return Login(self.issuer, who, self.claims.get(who, {}), f"refresh-{who}")

    async def renew(self, refresh: str, now: datetime) -> Renewed | None:
        return Renewed(refresh)

    async def revoke(self, refresh: str, now: datetime) -> None:
        self.revoked.append(refresh)


class Slack:
    """A workspace where everybody is a full member."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Message]] = []

    async def workspace(self) -> Workspace:
        return Workspace(TEAM, "U0BOT")

    async def account(self, user: str) -> Account:
        return Account(user, TEAM, True, True, False, False)

    async def say_direct(self, user: str, message: Message) -> None:
        self.said.append((user, message))


@dataclass
class Hall:
    """What a test takes hold of."""

    linking: Linking
    ledger: Ledger
    tickets: SqlTickets
    traces: SqlTraces
    slack: Slack
    company: Provider
    time: list[datetime]
    alarms: list[str]

    async def to_login(self, user: str) -> str:
        """As far as the company's login; the session."""
        message = await self.linking.offer(Holder(TEAM, user))
        token = str(message.blocks[-1]["elements"][0]["url"]).rpartition("/")[2]
        session = (await self.linking.start(token)).session
        assert session is not None
        step = await self.linking.from_slack(session, await self.answer(session, "slack", user))
        assert step.session is not None
        return step.session

    async def answer(self, session: str, leg: str, who: str) -> dict[str, str]:
        """What a provider sends back."""
        ticket = await self.tickets.look("link", session, self.time[0])
        assert ticket is not None
        return {"state": ticket.body[f"{leg}_leg"]["state"], "code": who}

    async def walk(self, user: str, subject: str) -> str:
        """The whole way; the title of the page where it ends."""
        session = await self.to_login(user)
        step = await self.linking.from_login(session, await self.answer(session, "login", subject))
        if step.session is not None:
            step = await self.linking.confirm(step.session, self.linking.seal(step.session))
        page = step.page or await self.linking.here(str(step.session))
        return unescape(page.html.partition("<h1")[2].partition(">")[2].partition("</h1>")[0])

    async def bound(self, email: str) -> Mapping[str, str]:
        record = await self.ledger.people.get(email)
        assert record is not None
        return record.identities

    def handle(self) -> str:
        """What the button "This wasn't me" of the last notice holds."""
        return str(self.slack.said[-1][1].blocks[-1]["elements"][0]["value"])

    async def record(self) -> list[dict[str, Any]]:
        """Every act on record, oldest first, opened."""
        found = []
        for each in reversed(await self.traces.list(self.time[0])):
            view = await self.traces.show(each.id, self.time[0], reveal=True)
            assert view is not None
            found.append({**view.begin, **(view.end or {}), **view.revealed})
        return found


@pytest.fixture
async def hall(tmp_path: Path) -> AsyncIterator[Hall]:
    """Asha is known by her subject, Marta by nothing but her address."""
    async with open_ledger(blank_ledger(tmp_path / "ledger.sqlite")) as ledger:
        people = (
            PersonRecord(ASHA, "Asha", "member", True, (), {COMPANY: "asha"}),
            PersonRecord(MARTA, "Marta", "member", True),
        )
        await ledger.people.replace(DirectoryTables(people, {}, {}), NOW)
        vault, signer = Vault([KEY]), TraceSigner.from_file(tmp_path / "signing-key.pem")
        traces = SqlTraces(ledger.door, vault, signer, tmp_path / "checkpoints.jsonl")
        tickets, time, alarms, slack = SqlTickets(ledger.door, vault), [NOW], list[str](), Slack()
        users = {user: {"https://slack.com/team_id": TEAM, "https://slack.com/user_id": user} for user in ("U1", "U2")}
        company = Provider("https://login.example.com")

        async def tell(message: Message) -> None:
            alarms.append(message.text)

        linking = Linking(
            chat=slack,  # type: ignore[arg-type]  # what linking asks of it
            people=ledger.people,
            tickets=tickets,
            logins=SqlLogins(ledger.door, vault),
            traces=traces,
            slack=Provider("https://slack.com", users),
            company=company,
            mail=None,
            public_url="https://footnote.example.com",
            domains=(),
            seal=lambda secret: vault.pseudonym("link form", secret),
            clock=lambda: time[0],
            tell_admins=tell,
            log=Log(),
        )
        yield Hall(linking, ledger, tickets, traces, slack, company, time, alarms)


LINKED, TOO_SOON = "Your accounts are linked", "This can't be linked yet"


# ---------------------------------------------------------------- after a link was taken off


async def test_t016_after_unlinking_a_second_slack_account_of_the_same_person_waits_too(hall: Hall) -> None:
    assert await hall.walk("U1", "asha") == LINKED
    assert (await hall.linking.unlink(Holder(TEAM, "U1"))).text == notices.UNLINKED

    assert await hall.walk("U2", "asha") == TOO_SOON
    assert f"slack:{TEAM}" not in await hall.bound(ASHA)
    hall.time[0] += timedelta(minutes=11)
    assert await hall.walk("U2", "asha") == LINKED


async def test_after_this_wasnt_me_the_person_is_not_linked_through_a_second_slack_account(hall: Hall) -> None:
    assert await hall.walk("U1", "asha") == LINKED
    await hall.linking.not_me(Holder(TEAM, "U1"), hall.handle())

    assert await hall.walk("U2", "asha") == TOO_SOON
    hall.time[0] += timedelta(hours=23)
    assert await hall.walk("U2", "asha") == TOO_SOON
    hall.time[0] += timedelta(hours=2)
    assert await hall.walk("U2", "asha") == LINKED


async def test_this_wasnt_me_holds_the_person_also_where_the_link_is_off_already(hall: Hall) -> None:
    await hall.walk("U1", "asha")
    handle = hall.handle()
    await hall.linking.unlink(Holder(TEAM, "U1"))
    hall.time[0] += timedelta(minutes=11)
    await hall.linking.not_me(Holder(TEAM, "U1"), handle)

    assert await hall.walk("U2", "asha") == TOO_SOON


# ---------------------------------------------------------------- the login that a link added


@pytest.fixture
def by_address(hall: Hall) -> Hall:
    """Whom the provider calls Marta by her verified address is linked."""
    hall.company.claims["m1"] = {"email": MARTA, "email_verified": True}
    hall.linking = replace(hall.linking, domains=("example.com",))
    return hall


async def test_this_wasnt_me_takes_off_the_login_that_the_link_added(by_address: Hall) -> None:
    assert await by_address.walk("U1", "m1") == LINKED
    assert (await by_address.bound(MARTA))[COMPANY] == "m1"
    await by_address.linking.not_me(Holder(TEAM, "U1"), by_address.handle())

    assert await by_address.bound(MARTA) == {}
    assert by_address.company.revoked == ["refresh-m1"]
    assert (await by_address.record())[-1]["before"] == f"slack:{TEAM}:U1 {COMPANY}:m1"


@pytest.mark.parametrize("meanwhile", ["linked again", "unlinked"])
async def test_so_it_is_whatever_happened_to_the_link_meanwhile(by_address: Hall, meanwhile: str) -> None:
    await by_address.walk("U1", "m1")
    if meanwhile == "linked again":
        assert await by_address.walk("U1", "m1") == LINKED
    handle = by_address.handle()
    if meanwhile == "unlinked":
        await by_address.linking.unlink(Holder(TEAM, "U1"))
    await by_address.linking.not_me(Holder(TEAM, "U1"), handle)

    assert await by_address.bound(MARTA) == {}


async def test_a_login_that_the_directory_gave_stays(hall: Hall) -> None:
    await hall.walk("U1", "asha")
    await hall.linking.not_me(Holder(TEAM, "U1"), hall.handle())

    assert await hall.bound(ASHA) == {COMPANY: "asha"}


# ---------------------------------------------------------------- what was refused is on record


@pytest.mark.parametrize("why", ["signature", "nonce", "code", "denied"])
async def test_t001_a_login_that_proves_nobody_is_on_record(hall: Hall, why: str) -> None:
    hall.company.refuses = LoginRefused(why)
    await hall.walk("U1", "asha")

    [act] = await hall.record()
    assert (act["surface"], act["command"], act["outcome"], act["reason"]) == ("link", "refuse.login", "refused", why)
    assert act["asker"] == f"slack:{TEAM}:U1"
    assert "asha" not in str(act)


async def test_t009_somebody_elses_slack_account_is_on_record(hall: Hall) -> None:
    message = await hall.linking.offer(Holder(TEAM, "U1"))
    token = str(message.blocks[-1]["elements"][0]["url"]).rpartition("/")[2]
    session = (await hall.linking.start(token)).session
    assert session is not None
    await hall.linking.from_slack(session, await hall.answer(session, "slack", "U2"))

    [act] = await hall.record()
    assert (act["command"], act["reason"], act["asker"]) == ("refuse.slack", "another account", f"slack:{TEAM}:U1")


async def test_who_is_not_known_closed_too_early_or_forged_is_on_record(hall: Hall) -> None:
    await hall.walk("U1", "nobody")
    session = await hall.to_login("U1")
    step = await hall.linking.from_login(session, await hall.answer(session, "login", "asha"))
    assert step.session is not None
    await hall.linking.confirm(step.session, "forged")
    assert await hall.walk("U1", "asha") == LINKED
    await hall.linking.unlink(Holder(TEAM, "U1"))
    await hall.walk("U2", "asha")

    acts = [act for act in await hall.record() if act["outcome"] == "refused"]
    assert [(act["command"], act["reason"]) for act in acts] == [
        ("refuse.login", "unknown"),
        ("refuse.consent", "form"),
        ("refuse.consent", "too soon"),
    ]


async def test_a_flood_of_refusals_does_not_fill_the_record(hall: Hall) -> None:
    session = await hall.to_login("U1")
    for _ in range(30):
        await hall.linking.from_login(session, {"state": "another", "code": "asha"})
    assert [act["reason"] for act in await hall.record()] == ["state"]

    hall.time[0] += timedelta(seconds=61)
    await hall.linking.from_login(session, {"state": "another", "code": "asha"})
    hall.company.refuses = LoginRefused("signature")
    await hall.linking.from_login(session, await hall.answer(session, "login", "asha"))
    assert [act["reason"] for act in await hall.record()] == ["state", "state", "signature"]


# ---------------------------------------------------------------- known by an address


@pytest.mark.parametrize(
    ("email", "domains", "title"),
    [
        ("Marta@Example.com", ("example.org", "example.com"), LINKED),
        (MARTA, (), "The company directory does not know this account"),
        (MARTA, ("example.org",), "The company directory does not know this account"),
        (MARTA, ("le.com",), "The company directory does not know this account"),
        ("marta@example.com@example.org", ("example.org",), "The company directory does not know this account"),
        ("example.com", ("example.com",), "The company directory does not know this account"),
        ("", ("",), "The company directory does not know this account"),
    ],
)
async def test_an_address_counts_in_the_domains_that_were_named_alone(
    hall: Hall, email: str, domains: tuple[str, ...], title: str
) -> None:
    hall.company.claims["m1"] = {"email": email, "email_verified": True}
    hall.linking = replace(hall.linking, domains=domains)

    assert await hall.walk("U1", "m1") == title


async def test_administrators_are_told_when_a_login_that_was_bound_by_an_address_has_another(by_address: Hall) -> None:
    await by_address.walk("U1", "m1")
    await by_address.walk("U1", "m1")
    assert by_address.alarms == []

    by_address.company.claims["m1"] = {"email": "eve@example.com", "email_verified": True}
    assert await by_address.walk("U1", "m1") == LINKED
    assert by_address.alarms == [notices.other_address(f"{COMPANY}:m1", MARTA).text]


async def test_a_login_that_was_bound_by_its_subject_may_have_any_address(hall: Hall) -> None:
    hall.company.claims["asha"] = {"email": "asha.rao@example.org", "email_verified": True}
    await hall.walk("U1", "asha")

    assert await hall.walk("U1", "asha") == LINKED
    assert hall.alarms == []
