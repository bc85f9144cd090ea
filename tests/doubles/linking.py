"""Linking on this machine: the product with two real OpenID providers, one of which is Slack's part, and browsers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import aiohttp
from aiohttp.test_utils import TestServer, unused_port

from bot.linking.linking import Holder, Linking
from bot.metrics import Metrics
from bot.settings import Secret
from bot.slack.serving import in_slack
from bot.web import front
from bot.wiring import Providers
from connectors.identity.oidc import OidcProvider, Registration
from connectors.ledger.exchanges import SqlExchanges
from connectors.ledger.inbox import SqlInbox
from connectors.ledger.logins import SqlLogins
from connectors.ledger.open import Ledger, open_ledger
from connectors.ledger.tickets import SqlTickets
from connectors.ledger.traces import SqlTraces
from connectors.mail import MailServer
from connectors.slack import SlackWeb
from connectors.trace_signer import TraceSigner
from connectors.vault import Vault
from policies.names import Principal
from tests.blank import blank_ledger
from tests.doubles.mail import FakeMail
from tests.doubles.slack import SECRET as SIGNING
from tests.doubles.slack import TEAM, TOKEN, FakeSlack, Sender
from tests.doubles.slack_house import HURRIED, KEY, Kinds, Log
from tests.openid import CLIENT, SECRET, OpenId
from tests.world import World

SLACK_PEOPLE = {
    user: {
        "name": name,
        "https://slack.com/user_id": user,
        "https://slack.com/team_id": TEAM,
        "https://slack.com/team_name": "Northwind",
    }
    for user, name in (("U0ASHA", "Asha"), ("U0BEN", "Ben"), ("U0MARTA", "Marta"), ("U0GUS", "Gus"), ("U0EVE", "Eve"))
}
COMPANY_PEOPLE = {
    name: {"name": name.title(), "preferred_username": f"{name}@corp", "email": f"{name}@example.com",
           "email_verified": name != "marta"}
    for name in ("asha", "ben", "marta", "gus", "zoe", "nora")
}  # fmt: skip


def clock() -> datetime:
    """The providers' own."""
    return datetime.now(UTC)


@dataclass(slots=True)
class Screen:
    """What a browser shows."""

    url: str
    status: int
    html: str
    headers: Mapping[str, str]

    @property
    def title(self) -> str:
        found = re.search(r"<h1[^>]*>(.*?)</h1>", self.html, re.DOTALL)
        return unescape(found[1]) if found else ""

    def fields(self, action: str) -> dict[str, str]:
        """The hidden fields of a form."""
        form = re.search(rf'<form[^>]*action="[^"]*{re.escape(action)}[^"]*".*?</form>', self.html, re.DOTALL)
        assert form is not None, self.html
        inputs = re.findall(r'<input[^>]*name="(\w+)"[^>]*value="([^"]*)"', form[0])
        return {name: unescape(value) for name, value in inputs}

    @property
    def onwards(self) -> str:
        """Where the page leads by itself."""
        found = re.search(r'http-equiv="refresh" content="0; url=([^"]*)"', self.html)
        assert found is not None, self.title
        return unescape(found[1])


@dataclass(slots=True)
class Browser:
    """One browser with its cookies. It sends what a real one does: cookies by host, and where a form came from."""

    session: aiohttp.ClientSession
    home: str

    async def get(self, url: str, *, follow: bool = True, **headers: str) -> Screen:
        async with self.session.get(url, allow_redirects=follow, headers=headers) as answer:
            return Screen(str(answer.url), answer.status, await answer.text(), answer.headers)

    async def post(self, url: str, fields: Mapping[str, str], **headers: str) -> Screen:
        sent = {"Origin": self.home, "Sec-Fetch-Site": "same-origin", **headers}
        async with self.session.post(url, data=dict(fields), headers=sent) as answer:
            return Screen(str(answer.url), answer.status, await answer.text(), answer.headers)

    async def start(self, link: str) -> Screen:
        """Follow a link and press its button."""
        screen = await self.get(link)
        if 'action="/link/start"' not in screen.html:
            return screen
        return await self.post(f"{self.home}/link/start", screen.fields("/link/start"))

    async def sign_in(self, address: str, subject: str) -> Screen:
        """Go to a provider, log in there as somebody, agree; ends at whatever we show then."""
        back = await self.answer_of(address, subject)
        return await self.get(back)

    async def answer_of(self, address: str, subject: str) -> str:
        """Log in at a provider; gives the address that it would send the browser to."""
        url, method, fields = address, "GET", dict[str, str]()
        for _ in range(12):
            async with self.session.request(
                method, url, data=fields if method == "POST" else None, allow_redirects=False
            ) as answer:
                html = await answer.text()
                here = str(answer.url)
            if answer.status in (302, 303):
                url, method = str(answer.url.join(aiohttp.client.URL(answer.headers["Location"]))), "GET"
                if "/callback?" in url:
                    return url
                continue
            form = re.search(r'<form[^>]*action="([^"]+)"[^>]*method="post"', html)
            assert form is not None, f"{answer.status} {here} {html[:2000]}"
            prompt = re.search(r'name="prompt" value="(\w+)"', html)
            fields = {"prompt": prompt[1] if prompt else "", "login": subject, "password": "x"}
            url, method = unescape(form[1]), "POST"
        raise AssertionError("the provider does not let go")


@dataclass(slots=True)
class LinkingHouse:
    """Everything that a test takes hold of."""

    world: World
    slack: FakeSlack
    send: Sender
    ledger: Ledger
    linking: Linking
    logins: SqlLogins
    tickets: SqlTickets
    home: str
    slack_login: OpenId
    company: OpenId
    log: Log
    vault: Vault
    app: Any
    providers: Providers
    _browsers: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def provider(self) -> str:
        return f"oidc:{self.company.issuer}"

    async def browser(self) -> Browser:
        jar = aiohttp.CookieJar(unsafe=True)
        return Browser(await self._browsers.enter_async_context(aiohttp.ClientSession(cookie_jar=jar)), self.home)

    async def command(self, user: str, text: str) -> str:
        """Give a command; what that person was told last."""
        await self.send.form(self.slack.command(user, text))
        await self.settled()
        return self.slack.seen_by(user)[-1]

    async def settled(self) -> None:
        import asyncio

        from sqlalchemy import func, select

        from connectors.ledger.tables import letters

        for _ in range(1000):
            async with self.ledger.door.read() as connection:
                waiting = select(func.count()).select_from(letters).where(letters.c.state != "closed")
                if not (await connection.execute(waiting)).scalar_one():
                    return
            await asyncio.sleep(0.01)
        raise AssertionError(f"letters wait still: {self.log}")

    async def link_for(self, user: str) -> str:
        """Give `/footnote link`; the address in the answer."""
        await self.command(user, "link")
        [button] = self.slack.answers[user][-1]["blocks"][-1]["elements"]
        return str(button["url"])

    async def walk(self, user: str, subject: str, browser: Browser | None = None) -> Screen:
        """The whole way of one honest person, up to the last page."""
        browser = browser or await self.browser()
        screen = await self.to_consent(user, subject, browser)
        if screen.status != 200:
            return screen
        return await browser.post(f"{self.home}/link/confirm", screen.fields("/link/confirm"))

    async def to_consent(self, user: str, subject: str, browser: Browser) -> Screen:
        """As far as the page that names both accounts, or as far as it goes."""
        screen = await browser.start(await self.link_for(user))
        screen = await browser.sign_in(screen.onwards, user)
        if screen.status != 200:
            return screen
        return await browser.sign_in(screen.onwards, subject)

    async def account_of(self, email: str) -> str | None:
        record = await self.ledger.people.get(email)
        assert record is not None
        return record.identities.get(f"slack:{self.slack.home}")

    async def told(self, user: str) -> list[str]:
        """What somebody was told in direct messages."""
        channel = self.slack.direct(user)
        return [each.words for each in self.slack.said if each.channel == channel]

    def pass_time(self, time: timedelta) -> None:
        self.world.at += time


def with_query(url: str, **changes: str | None) -> str:
    """An address with other parameters; None takes one away."""
    parts = urlsplit(url)
    query = {**dict(parse_qsl(parts.query)), **changes}
    return parts._replace(query=urlencode({key: value for key, value in query.items() if value is not None})).geturl()


def holder(user: str) -> Holder:
    return Holder(TEAM, user)


@asynccontextmanager
async def linking_house(
    folder: Path,
    slack_login: OpenId,
    company: OpenId,
    *,
    by_email: bool = False,
    ledger_url: str = "",
    slack: FakeSlack | None = None,
    mail: FakeMail | None = None,
) -> AsyncIterator[LinkingHouse]:
    """Asha, Ben and Marta are members, Gus is a guest; Zoe was dismissed; Nora is not in the directory. Everybody but
    Marta is known by the subject of the company's provider. Ben administers."""
    world, slack, log = World(), slack or FakeSlack(), Log()
    world.at = clock()
    world.group("grp:everyone", "grp:finance", "grp:admins")
    world.person("asha", "grp:finance")
    world.person("ben", "grp:finance", "grp:admins")
    world.person("marta", "grp:finance")
    world.person("gus", kind="guest")
    world.person("zoe", "grp:finance")
    world.disable("zoe")
    world.page("pay", "The bonus of directors is seven months.", ["grp:finance"], title="Pay rules")
    for user in SLACK_PEOPLE:
        slack.user(user, is_restricted=user == "U0GUS")
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(slack.open())
        ledger = await stack.enter_async_context(open_ledger(ledger_url or blank_ledger(folder / "ledger.sqlite")))
        world.people = ledger.people  # type: ignore[assignment]  # the real ones
        await world.seat()
        await world.sync(pass_by=False)
        for name in ("asha", "ben", "gus", "zoe"):
            await ledger.people.link(f"{name}@example.com", f"oidc:{company.issuer}", name, world.at)
        await ledger.people.link("ben@example.com", f"slack:{slack.home}", "U0BEN", world.at)
        vault, signer = Vault([KEY]), TraceSigner.from_file(folder / "signing-key.pem")
        app = SimpleNamespace(
            settings=SimpleNamespace(
                slack_signing_secret=Secret(SIGNING),
                public_url="http://127.0.0.1:1",
                link_by_email_domains=("example.com",) if by_email else (),
                admin_group=Principal("grp:admins"),
                reviewer_group=None,
            ),
            open_chat=lambda: SlackWeb(url, TOKEN, HURRIED),
            clock=world._clock,
            people=ledger.people,
            traces=SqlTraces(ledger.door, vault, signer, folder / "checkpoints.jsonl"),
            doors=world.doors,
            directory=world.doors.directory,
            exchanges=SqlExchanges(ledger.door, vault),
            keeping=SimpleNamespace(sources=Kinds()),
            indexing=None,
            looking=None,
            open_lines=None,
            mail=None if mail is None else MailServer(mail.address, "footnote@example.com", in_clear=True),
            inbox=SqlInbox(ledger.door, vault),
            tickets=SqlTickets(ledger.door, vault),
            logins=SqlLogins(ledger.door, vault),
            seal_form=lambda secret: vault.pseudonym("link form", secret),
        )
        port = unused_port()
        home = f"http://127.0.0.1:{port}"
        app.settings.public_url = home
        providers = Providers(
            OidcProvider("sign in with slack", Registration(
                slack_login.issuer, CLIENT, f"{home}/link/slack/callback", SECRET, scope="openid profile",
                always_pkce=False, prompt=None)),
            OidcProvider("the identity provider", Registration(
                company.issuer, CLIENT, f"{home}/link/login/callback", SECRET)),
        )  # fmt: skip

        @asynccontextmanager
        async def opened() -> AsyncIterator[Providers]:
            async with providers.slack, providers.company:  # type: ignore[attr-defined]
                yield providers

        app.open_providers = opened
        edge = await stack.enter_async_context(in_slack(app, Metrics(), log))  # type: ignore[arg-type]
        assert edge is not None
        commands = edge._intake._clerk.answerer.commands
        assert commands is not None
        linking = commands.linking
        assert linking is not None
        await stack.enter_async_context(TestServer(front(edge), port=port))
        sender = Sender(home, lambda: world.at)
        made = LinkingHouse(world, slack, sender, ledger, linking, app.logins, app.tickets, home, slack_login, company,
                            log, vault, app, providers)  # fmt: skip
        await stack.enter_async_context(made._browsers)
        yield made
