"""Accounts that were closed at the identity provider, with a real one; and tokens that are used by one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from sqlalchemy import text, update

from connectors.errors import DoorError, Stop, Transient
from connectors.identity.directory import LedgerDirectory
from connectors.identity.late import LateDirectory
from connectors.identity.logins import FRESH, UNHEARD, LoginRights
from connectors.identity.oidc import OidcProvider, Registration
from connectors.ledger.logins import CLAIM, SqlLogins
from connectors.ledger.open import Ledger, open_ledger
from connectors.ledger.tables import logins as table
from connectors.logins import Leg, Renewed
from connectors.ports import DirectoryTables, Membership, PersonRecord, Rights
from connectors.vault import Vault
from policies.facts import Kind
from policies.names import Principal
from tests.blank import blank_ledger
from tests.doubles.linking import Browser, clock
from tests.doubles.slack_house import KEY
from tests.openid import CLIENT, MISSING, SECRET, OpenId, openid

BACK = "http://127.0.0.1:9/link/login/callback"
LATER = FRESH + timedelta(seconds=1)


@pytest.fixture(scope="module")
def company() -> Iterator[OpenId]:
    with openid({"asha": {"name": "Asha"}, "ben": {"name": "Ben"}}) as provider:
        yield provider


@dataclass(slots=True)
class Open:
    """What a test takes hold of."""

    ledger: Ledger
    logins: SqlLogins
    provider: OidcProvider
    rights: LoginRights
    company: OpenId
    now: datetime
    renewals: int = 0

    async def log_in(self, subject: str) -> str:
        """Log in at the provider as a browser does, and keep the login; gives its refresh token."""
        leg = Leg("s" * 43, "n" * 43, "v" * 64)
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            browser = Browser(session, "http://127.0.0.1:9")
            back = await browser.answer_of(await self.provider.address(leg, self.now), subject)
        answer = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
        login = await self.provider.login(answer, leg, clock())
        assert login.refresh is not None
        await self.logins.keep(self.rights.provider, subject, login.refresh, self.now)
        return login.refresh

    async def active(self, subject: str, later: timedelta = LATER) -> bool:
        return (await self.rights.membership(subject, Kind.MEMBER, self.now + later)).active


class Counted:
    """A provider whose renewals are counted, and made slow."""

    def __init__(self, inner: OidcProvider, pause: float = 0.0) -> None:
        self.inner, self.pause, self.asked = inner, pause, 0
        self.issuer = inner.issuer
        self.begun = asyncio.Event()

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    async def renew(self, refresh: str, now: datetime) -> Renewed | None:
        self.asked += 1
        self.begun.set()
        await asyncio.sleep(self.pause)
        return await self.inner.renew(refresh, now)


@pytest.fixture
async def at(tmp_path: Path, company: OpenId) -> AsyncIterator[Open]:
    company.tell(closed=[], rotate=True)
    registration = Registration(company.issuer, CLIENT, BACK, SECRET)
    async with (
        open_ledger(blank_ledger(tmp_path / "ledger.sqlite")) as ledger,
        OidcProvider("the identity provider", registration) as provider,
    ):
        logins = SqlLogins(ledger.door, Vault([KEY]))
        yield Open(ledger, logins, provider, LoginRights(provider, logins), company, clock())


@MISSING
async def test_t127_an_account_that_is_closed_is_closed_at_once_where_it_is_asked_now(at: Open) -> None:
    await at.log_in("asha")
    at.company.tell(closed=["asha"])
    moment = at.now + timedelta(seconds=5)

    assert await at.active("asha", timedelta(seconds=5))
    assert (await at.rights.anew("asha", Kind.MEMBER, moment)).active is False
    assert await at.active("asha", timedelta(seconds=6)) is False


@MISSING
async def test_t020_an_account_that_is_closed_at_the_provider_is_closed_here(at: Open) -> None:
    await at.log_in("asha")
    assert await at.active("asha")

    at.company.tell(closed=["asha"])
    assert await at.active("asha", 2 * LATER) is False
    held = await at.logins.held(at.rights.provider, "asha")
    assert held is not None
    assert held.refresh is None  # the token is gone


@MISSING
async def test_an_account_that_is_opened_again_must_be_linked_again(at: Open) -> None:
    await at.log_in("asha")
    at.company.tell(closed=["asha"])
    await at.active("asha")
    at.company.tell(closed=[])

    assert await at.active("asha", 3 * LATER) is False
    await at.log_in("asha")
    assert await at.active("asha")


@MISSING
async def test_a_rotated_token_takes_the_place_of_the_old(at: Open) -> None:
    first = await at.log_in("asha")
    for times in (1, 2, 3):
        assert await at.active("asha", times * LATER)

    held = await at.logins.held(at.rights.provider, "asha")
    assert held is not None
    assert held.refresh not in (None, first)


@MISSING
async def test_the_last_word_is_believed_for_a_while(at: Open) -> None:
    await at.log_in("asha")
    at.company.tell(closed=["asha"])

    assert await at.active("asha", FRESH - timedelta(seconds=1))


@MISSING
async def test_t144_many_at_once_ask_the_provider_once(at: Open) -> None:
    await at.log_in("asha")
    counted = Counted(at.provider, pause=0.3)
    processes = [LoginRights(counted, SqlLogins(at.ledger.door, Vault([KEY]))) for _ in range(8)]
    moment = at.now + LATER

    found = await asyncio.gather(*(each.membership("asha", Kind.MEMBER, moment) for each in processes))
    assert all(each.active for each in found)
    assert counted.asked == 1


@MISSING
async def test_t144_a_token_that_is_used_twice_ends_the_login(at: Open) -> None:
    first = await at.log_in("asha")
    assert await at.active("asha")
    assert await at.provider.renew(first, clock()) is None  # somebody stole the first one

    assert await at.active("asha", 2 * LATER) is False


@MISSING
async def test_t144_what_the_provider_said_is_kept_where_nobody_waits_any_more(at: Open) -> None:
    first = await at.log_in("asha")
    slow = Counted(at.provider, pause=0.1)
    rights = LoginRights(slow, at.logins)
    waiting = asyncio.create_task(rights.membership("asha", Kind.MEMBER, at.now + LATER))
    await slow.begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await rights.close()

    held = await at.logins.held(at.rights.provider, "asha")
    assert held is not None
    assert held.refresh not in (None, first)
    assert await at.active("asha", 2 * LATER)


@MISSING
async def test_t020_the_directory_makes_somebody_inactive_whose_login_was_closed(at: Open) -> None:
    people = at.ledger.people
    asha = PersonRecord("asha@example.com", "Asha", "member", True, ("grp:finance",))
    await people.replace(DirectoryTables((asha,), {}, {}), at.now)
    await people.bind("asha@example.com", {at.rights.provider: "asha", "slack:T1": "U0ASHA"}, at.now)
    await at.log_in("asha")

    async def rights() -> Mapping[str, Rights]:
        return {" logins": at.rights}

    directory = LateDirectory(LedgerDirectory(people), people, rights)
    account = Principal("slack:T1:U0ASHA")
    before = await directory.subject(account, at.now + LATER)
    at.company.tell(closed=["asha"])
    after = await directory.subject(account, at.now + LATER + timedelta(minutes=7))

    assert before is not None
    assert before.active is True
    assert Principal("grp:finance") in before.principals
    assert after is not None
    assert after.active is False
    assert after.principals == frozenset()


@MISSING
async def test_whoever_was_bound_by_an_administrator_is_not_asked_for(at: Open) -> None:
    at.company.tell(closed=["ben"])

    assert await at.active("ben")


@MISSING
async def test_t127_groups_of_the_provider_are_those_of_this_moment(at: Open) -> None:
    """By a real provider's claim, asked for each time: who left the group does not administer a moment later."""
    registration = Registration(at.company.issuer, CLIENT, BACK, SECRET, groups_claim="groups")
    at.company.tell(people={"asha": {"groups": ["footnote admins", "staff"]}, "ben": {"groups": []}})
    await at.log_in("asha")
    async with OidcProvider("the identity provider", registration) as provider:
        rights = LoginRights(provider, at.logins)
        anew = await rights.anew("asha", Kind.MEMBER, at.now)
        usual = await rights.membership("asha", Kind.MEMBER, at.now + LATER)
        at.company.tell(people={"asha": {"groups": ["staff"]}, "ben": {"groups": []}})
        left = await rights.anew("asha", Kind.MEMBER, at.now + LATER)

    assert anew.principals == {Principal("idp:footnote admins"), Principal("idp:staff")}
    assert usual == Membership(True, frozenset())
    assert left.principals == {Principal("idp:staff")}


async def test_a_provider_that_speaks_of_somebody_else_names_no_group(tmp_path: Path) -> None:
    class Mixed:
        issuer = "https://id.example"

        async def renew(self, refresh: str, now: datetime) -> Renewed | None:
            return Renewed("another", "ben", frozenset(["admins"]))

    now = clock()
    async with open_ledger(blank_ledger(tmp_path / "ledger.sqlite")) as ledger:
        logins = SqlLogins(ledger.door, Vault([KEY]))
        rights = LoginRights(Mixed(), logins)  # type: ignore[arg-type]
        await logins.keep(rights.provider, "asha", "a-token", now)

        assert await rights.anew("asha", Kind.MEMBER, now) == Membership(True, frozenset())


async def test_a_provider_that_is_away_closes_nobody_and_opens_nobody(tmp_path: Path) -> None:
    class Away:
        issuer = "https://id.example"

        async def renew(self, refresh: str, now: datetime) -> Renewed | None:
            raise Transient("the identity provider can't be reached")

    now = clock()
    async with open_ledger(blank_ledger(tmp_path / "ledger.sqlite")) as ledger:
        logins = SqlLogins(ledger.door, Vault([KEY]))
        rights = LoginRights(Away(), logins)  # type: ignore[arg-type]
        await logins.keep(rights.provider, "asha", "a-token", now)

        with pytest.raises(Transient):
            await rights.membership("asha", Kind.MEMBER, now + LATER)
        held = await logins.held(rights.provider, "asha")
        assert held is not None
        assert held.refresh == "a-token"
        with pytest.raises(Transient):  # and the next one may ask at once
            await rights.membership("asha", Kind.MEMBER, now + LATER)


async def test_t024_who_could_not_be_asked_for_long_is_not_let_in(tmp_path: Path) -> None:
    class Away:
        issuer = "https://id.example"

        async def renew(self, refresh: str, now: datetime) -> Renewed | None:
            raise Transient("the identity provider can't be reached")

    now = clock()
    async with open_ledger(blank_ledger(tmp_path / "ledger.sqlite")) as ledger:
        logins = SqlLogins(ledger.door, Vault([KEY]))
        rights = LoginRights(Away(), logins)  # type: ignore[arg-type]
        await logins.keep(rights.provider, "asha", "a-token", now)

        with pytest.raises(Transient):
            await rights.membership("asha", Kind.MEMBER, now + UNHEARD - timedelta(seconds=1))
        assert (await rights.membership("asha", Kind.MEMBER, now + UNHEARD)).active is False
        held = await logins.held(rights.provider, "asha")
        assert held is not None
        assert held.refresh == "a-token"  # and goes on as soon as it is back


async def test_a_claim_of_a_process_that_was_killed_runs_out(ledger_url: str) -> None:
    now = clock()
    async with open_ledger(ledger_url) as ledger:
        logins = SqlLogins(ledger.door, Vault([KEY]))
        await logins.keep("oidc:https://id.example", "asha", "a-token", now)

        assert await logins.claim("oidc:https://id.example", "asha", now)
        assert not await logins.claim("oidc:https://id.example", "asha", now + CLAIM / 2)
        assert await logins.claim("oidc:https://id.example", "asha", now + CLAIM)


async def test_t140_a_token_opens_in_its_own_row_alone(ledger_url: str) -> None:
    now = clock()
    async with open_ledger(ledger_url) as ledger:
        logins = SqlLogins(ledger.door, Vault([KEY]))
        await logins.keep("oidc:https://id.example", "asha", "ashas-token", now)
        await logins.keep("oidc:https://id.example", "ben", "bens-token", now)
        async with ledger.door.read() as connection:
            sealed = (await connection.execute(text("select refresh from logins where subject = 'asha'"))).scalar()
        async with ledger.door.write() as connection:
            await connection.execute(update(table).where(table.c.subject == "ben").values(refresh=sealed))

        with pytest.raises(Stop, match="can't be opened"):
            await logins.held("oidc:https://id.example", "ben")
        assert "ashas-token" not in str(sealed)


@MISSING
async def test_a_provider_must_say_that_it_is_the_issuer_that_was_configured(company: OpenId) -> None:
    registration = Registration(f"{company.issuer}/other", CLIENT, BACK, SECRET)
    async with OidcProvider("the identity provider", registration) as provider:
        with pytest.raises(DoorError):
            await provider.address(Leg("s", "n", "v"), clock())


class Renewing:
    """A provider that gives a new token each time, and no answer before it is let go."""

    issuer = "https://id.example"

    def __init__(self) -> None:
        self.goes = asyncio.Event()
        self.asked = asyncio.Event()

    async def renew(self, refresh: str, now: datetime) -> Renewed | None:
        self.asked.set()
        await self.goes.wait()
        return Renewed(f"{refresh}+")


class Busy(SqlLogins):
    """Logins in a ledger that is too busy to be written to for a while."""

    times = 0

    async def settle(self, provider: str, subject: str, refresh: str | None, now: datetime) -> None:
        if self.times:
            self.times -= 1
            raise Transient("the ledger is busy")
        await super().settle(provider, subject, refresh, now)


@dataclass(slots=True)
class Renewal:
    """A login whose token is being renewed."""

    rights: LoginRights
    logins: Busy
    provider: Renewing
    now: datetime

    async def ask(self) -> bool:
        return (await self.rights.membership("asha", Kind.MEMBER, self.now + LATER)).active

    async def token(self) -> str | None:
        held = await self.logins.held(self.rights.provider, "asha")
        assert held is not None
        return held.refresh


@pytest.fixture
async def renewal(tmp_path: Path) -> AsyncIterator[Renewal]:
    async with open_ledger(blank_ledger(tmp_path / "ledger.sqlite")) as ledger:
        logins, provider = Busy(ledger.door, Vault([KEY])), Renewing()
        rights = LoginRights(provider, logins)  # type: ignore[arg-type]
        await logins.keep(rights.provider, "asha", "a-token", clock())
        yield Renewal(rights, logins, provider, clock())


async def test_t144_a_new_token_is_kept_though_the_ledger_is_busy(renewal: Renewal) -> None:
    renewal.logins.times = 2
    renewal.provider.goes.set()

    assert await renewal.ask()
    assert await renewal.token() == "a-token+"


async def test_t144_a_closed_account_is_kept_so_though_the_ledger_is_busy(renewal: Renewal) -> None:
    async def refused(_refresh: str, _now: datetime) -> None:
        return None

    renewal.provider.renew = refused  # type: ignore[assignment]
    renewal.logins.times = 1

    assert await renewal.ask() is False
    assert await renewal.token() is None


async def test_t144_who_closes_waits_for_the_token_that_is_under_way(renewal: Renewal) -> None:
    waiting = asyncio.create_task(renewal.ask())
    await renewal.provider.asked.wait()
    waiting.cancel()
    closing = asyncio.create_task(renewal.rights.close())
    await asyncio.sleep(0)
    renewal.provider.goes.set()
    await closing

    assert await renewal.token() == "a-token+"


async def test_t144_a_token_is_used_by_none_who_could_not_write_that_first(renewal: Renewal) -> None:
    async def claim(*_: object) -> bool:
        raise Transient("the ledger is busy")

    renewal.logins.claim = claim  # type: ignore[method-assign]
    with pytest.raises(Transient):
        await renewal.ask()

    assert not renewal.provider.asked.is_set()
