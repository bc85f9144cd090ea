"""The whole of linking: each step takes a secret and what a browser brought, and says what the browser is shown.

    link in Slack --(POST)--> browser bound --(Slack)--> same Slack account --(company)--> a person --(POST)--> linked
        new                      slack                        login                consent           done

Nothing happens on a GET but coming back from a provider, which is good once: the step is claimed before a code is
exchanged. At every step the browser's secret is another one. Whatever does not fit ends the whole of it.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from bot.acts import act
from bot.linking import added, notices, pages, resting, troubles
from bot.linking.pages import Named, Page
from bot.linking.proof import person_of, slack_account
from bot.linking.refusals import refused
from bot.slack.blocks import sentence
from connectors.chat import Chat, Message
from connectors.errors import DoorError, Skip, Stop, Transient
from connectors.logins import Leg, Login, LoginRefused, Logins, Mail, Provider, Ticket, Tickets
from connectors.ports import People, PersonRecord, Traces
from policies.facts import Kind

FOLLOWED_FOR = timedelta(minutes=10)  # that a link in Slack can be followed, and all of it finished
DISOWNED_FOR = timedelta(days=30)  # that the button works
_KIND, _HANDLE = "link", "not me"


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose Slack account it is about."""

    team: str  # the workspace, or the organisation that it is of: within it `user` names one person
    user: str

    @property
    def account(self) -> str:
        """As the directory knows it."""
        return f"slack:{self.team}:{self.user}"


@dataclass(frozen=True, slots=True)
class Notice:
    """What somebody was told of, and may say that it was not his doing."""

    holder: Holder
    person: str | None  # to whom it was linked, by address


@dataclass(frozen=True, slots=True)
class Step:
    """What a browser is told: a page, or the address of ours where it goes on, with its new secret."""

    page: Page | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Linking:
    """Everything that linking takes."""

    chat: Chat
    people: People
    tickets: Tickets
    logins: Logins
    traces: Traces
    slack: Provider
    company: Provider
    mail: Mail | None  # to the holder of the company account, where a server is set up
    public_url: str
    by_email: bool  # somebody whom the directory knows by his verified address alone is linked
    seal: Callable[[str], str]  # a text that nobody else can make of a secret
    clock: Callable[[], datetime]
    tell_admins: Callable[[Message], Awaitable[None]]
    log: Any

    # ------------------------------------------------------------ in Slack

    async def offer(self, holder: Holder) -> Message:
        """The answer to `/footnote link`."""
        now = self.clock()
        if not await self._ours(holder):
            return sentence(notices.NOT_YOU)
        if why := await resting.kept_off(self.tickets, [holder.account], now):
            return sentence(why)
        body = asdict(holder)
        token = await self.tickets.issue(_KIND, holder.account, body, now, now + FOLLOWED_FOR)
        minutes = int(FOLLOWED_FOR.total_seconds() // 60)
        return notices.offered(f"{self.public_url}/link/{token}", minutes)

    async def unlink(self, holder: Holder) -> Message:
        """The answer to `/footnote unlink`."""
        record = await self.people.of_identity(f"slack:{holder.team}", holder.user)
        if record is None:
            return sentence(notices.NOT_LINKED)
        now, person = self.clock(), f"usr:{record.email}"
        async with act(self.traces, "link", "unlink", person, now) as done:
            done.sealed["before"] = holder.account
            # Before it is off: nobody is in time with another account.
            await resting.rest(self.tickets, [holder.account, person], now)
            await self._take_off(holder, record)
            done.outcome = "unlinked"
        return sentence(notices.UNLINKED)

    async def not_me(self, holder: Holder, handle: str) -> Message:
        """Somebody pressed "This wasn't me" under a notice."""
        notice = await self._notice(handle)
        if notice is None or notice.holder != holder or not await self._disowned(notice, handle):
            return sentence(notices.NOT_ME_USED)
        return sentence(notices.NOT_ME_DONE)

    async def _notice(self, handle: str) -> Notice | None:
        """What a notice is about; None where its button has had its time."""
        ticket = await self.tickets.look(_HANDLE, handle, self.clock())
        if ticket is None or ticket.state != "new":
            return None
        body = ticket.body
        return Notice(Holder(body["team"], body["user"]), body.get("person"))

    async def _disowned(self, notice: Notice, handle: str) -> bool:
        """Take the link off and keep it off for a while, once; whether this was the time."""
        now, holder = self.clock(), notice.holder
        if not await self.tickets.turn(_HANDLE, handle, ("new", "used"), None, now):
            return False
        record = await self.people.of_identity(f"slack:{holder.team}", holder.user)
        people = {f"usr:{email}" for email in (notice.person, record and record.email) if email}
        actor = f"usr:{record.email}" if record else holder.account
        async with act(self.traces, "link", "disown", actor, now) as done:
            done.sealed["before"] = holder.account
            await resting.hold(self.tickets, [holder.account, *sorted(people)], now)
            if record is not None:
                await self._take_off(holder, record)
            for person in sorted(people):
                if login := await self._login_off(person.removeprefix("usr:")):
                    done.sealed["before"] += f" {login}"
            done.outcome = "unlinked"
        await self.tell_admins(notices.disowned(holder.account, record.email if record else "a company account"))
        return True

    async def _take_off(self, holder: Holder, record: PersonRecord) -> None:
        await self.people.unlink(record.email, f"slack:{holder.team}")
        provider = f"oidc:{self.company.issuer}"
        if subject := record.identities.get(provider):
            refresh = await self.logins.drop(provider, subject)
            if refresh is not None:
                with suppress(DoorError):
                    await self.company.revoke(refresh, self.clock())

    async def _login_off(self, email: str) -> str | None:
        """Take off the login of a person where linking added it; which one it was. One that an administrator or a
        directory bound stays."""
        record, provider = await self.people.get(email), f"oidc:{self.company.issuer}"
        subject = record.identities.get(provider) if record else None
        if subject is None or not await added.by_linking(self.tickets, f"{provider}:{subject}", email):
            return None
        await self.people.unlink(email, provider)
        if refresh := await self.logins.drop(provider, subject):
            await self._give_back(refresh)
        return f"{provider}:{subject}"

    async def _ours(self, holder: Holder) -> bool:
        """Whether the account is a full member's, as Slack says now."""
        us = await self.chat.workspace()
        try:
            account = await self.chat.account(holder.user)
        except Skip:
            return False
        return holder.team == us.home and us.employs(account)

    # ------------------------------------------------------------ in the browser

    async def not_mine(self, handle: str) -> Page:
        """The address in a mail was followed; nothing happens yet."""
        notice = await self._notice(handle)
        return troubles.over() if notice is None else pages.not_mine(handle, notice.holder.account)

    async def take_off(self, handle: str) -> Page:
        """He said on that page that it was not his doing."""
        notice = await self._notice(handle)
        taken = notice is not None and await self._disowned(notice, handle)
        return pages.taken_off() if taken else troubles.over()

    async def followed(self, token: str) -> Page:
        """A link was followed; nothing happens yet, whoever it was."""
        ticket = await self.tickets.look(_KIND, token, self.clock())
        if ticket is None or ticket.state != "new":
            return troubles.spent()
        return pages.start(token, Holder(ticket.body["team"], ticket.body["user"]).account)

    async def start(self, token: str) -> Step:
        """Bind the link to this browser."""
        now = self.clock()
        ticket = await self.tickets.look(_KIND, token, now)
        if ticket is None or ticket.state != "new":
            return Step(troubles.spent())
        body = {**ticket.body, "slack_leg": asdict(_leg()), "login_leg": asdict(_leg())}
        session = await self.tickets.trade(_KIND, token, ("new", "slack"), body, now)
        return Step(troubles.spent()) if session is None else Step(session=session)

    async def here(self, session: str) -> Page:
        """Where this browser is."""
        now = self.clock()
        ticket = await self.tickets.look(_KIND, session, now)
        if ticket is None:
            return troubles.spent()
        body = ticket.body
        try:
            match ticket.state:
                case "slack":
                    return pages.onwards(await self.slack.address(Leg(**body["slack_leg"]), now), "Slack", 0)
                case "login":
                    where = await self.company.address(Leg(**body["login_leg"]), now)
                    return pages.onwards(where, "your company account", 1)
                case "consent":
                    return pages.consent(Named(*body["slack"]), Named(*body["company"]), self._csrf(session))
                case "done":
                    return pages.done(Named(*body["slack"]), Named(*body["company"]))
                case "cancelled":
                    return pages.cancelled()
                case _:
                    return troubles.spent()
        except DoorError as error:
            return self._away(error)

    async def from_slack(self, session: str, answer: Mapping[str, str]) -> Step:
        """Back from Slack: is this browser's Slack account the one that the link was made for?"""
        return await self._back(session, answer, "slack", self.slack, self._slack_proven)

    async def from_login(self, session: str, answer: Mapping[str, str]) -> Step:
        """Back from the identity provider: which person of the directory is it?"""
        return await self._back(session, answer, "login", self.company, self._person_proven)

    async def _back(
        self,
        session: str,
        answer: Mapping[str, str],
        leg: str,
        provider: Provider,
        proven: Callable[[str, Ticket, Login], Awaitable[Step]],
    ) -> Step:
        now = self.clock()
        ticket = await self.tickets.look(_KIND, session, now)
        if ticket is None or ticket.state != leg:
            return Step(troubles.elsewhere())
        bound = Leg(**ticket.body[f"{leg}_leg"])
        if not hmac.compare_digest(answer.get("state", "").encode(), bound.state.encode()):
            await self._refused(ticket, leg, "state")
            return Step(troubles.elsewhere())  # not this browser's way back; what it is at goes on
        # The way back is good once, whatever comes of it.
        if not await self.tickets.turn(_KIND, session, (leg, f"{leg} checked"), None, now):
            return Step(troubles.elsewhere())
        try:
            login = await provider.login(answer, bound, now)
        except LoginRefused as error:
            await self._refused(ticket, leg, error.why)
            return await self._end(session, leg, troubles.not_accepted(error.why))
        except DoorError as error:
            return await self._end(session, leg, self._away(error))
        return await proven(session, ticket, login)

    async def _slack_proven(self, session: str, ticket: Ticket, login: Login) -> Step:
        holder = Holder(ticket.body["team"], ticket.body["user"])
        try:
            found = Holder(*await slack_account(login, self.chat))
        except DoorError as error:
            return await self._end(session, "slack", self._away(error))
        if found != holder:
            await self._refused(ticket, "slack", "another account")
            await self._warn(holder, found)
            return await self._end(session, "slack", troubles.another_slack())
        team = str(login.claims.get("https://slack.com/team_name") or holder.team)
        name = str(login.claims.get("name") or holder.user)
        body = {**ticket.body, "slack": [name[:100], f"{holder.user} in {team[:100]}"]}
        return await self._next(session, ("slack checked", "login"), body)

    async def _person_proven(self, session: str, ticket: Ticket, login: Login) -> Step:
        person = await person_of(login, self.people, self.company.issuer, by_email=self.by_email)
        provider = f"oidc:{self.company.issuer}"
        if person is None:
            await self._revoke(login)
            await self._refused(ticket, "login", "unknown")
            return await self._end(session, "login", troubles.unknown(f"{provider}:{login.subject}"))
        if not person.active or person.kind != Kind.MEMBER.value:
            await self._revoke(login)
            await self._refused(ticket, "login", "no member")
            return await self._end(session, "login", troubles.not_a_member())
        if login.refresh is None:
            await self._refused(ticket, "login", "no refresh token")
            return await self._end(session, "login", troubles.no_refresh())
        host = urlsplit(self.company.issuer).hostname or self.company.issuer
        signed_in = str(login.claims.get("preferred_username") or login.claims.get("email") or login.subject)
        company = [f"{person.name} <{person.email}>", f"{signed_in[:200]} at {host}"]
        more = {"person": person.email, "subject": login.subject, "refresh": login.refresh, "company": company}
        return await self._next(session, ("login checked", "consent"), {**ticket.body, **more})

    async def confirm(self, session: str, csrf: str) -> Step:
        """He said that both are his."""
        now = self.clock()
        ticket = await self.tickets.look(_KIND, session, now)
        if ticket is None or ticket.state != "consent":
            return Step(troubles.spent())
        if not self._is_csrf(session, csrf):
            await self._refused(ticket, "consent", "form")
            return Step(troubles.forged())
        if not await self.tickets.turn(_KIND, session, ("consent", "linking"), None, now):
            return Step(troubles.spent())
        body = ticket.body
        holder = Holder(body["team"], body["user"])
        provider = f"oidc:{self.company.issuer}"
        person = await self.people.get(body["person"])
        if person is None or not person.active or not await self._ours(holder):
            await self._give_back(body["refresh"])
            await self._refused(ticket, "consent", "no member")
            return await self._end(session, "linking", troubles.not_a_member(), "linking")
        if why := await resting.kept_off(self.tickets, [holder.account, f"usr:{person.email}"], now):
            await self._give_back(body["refresh"])
            await self._refused(ticket, "consent", "too soon")
            return await self._end(session, "linking", troubles.kept_off(why), "linking")
        accounts = {provider: body["subject"], f"slack:{holder.team}": holder.user}
        async with act(self.traces, "link", "link", f"usr:{person.email}", now) as done:
            done.sealed["after"] = f"{holder.account} {provider}:{body['subject']}"
            # Kept before it is bound: an account is never linked without anybody who hears when it is closed.
            earlier = await self.people.of_identity(provider, body["subject"])
            if earlier is not None and earlier.email != person.email:
                done.outcome = "refused"
                await self._give_back(body["refresh"])
                return await self._end(session, "linking", troubles.bound_elsewhere(), "linking")
            before = await self.logins.held(provider, body["subject"])
            await self.logins.keep(provider, body["subject"], body["refresh"], now)
            if earlier is None:
                await added.note(self.tickets, f"{provider}:{body['subject']}", person.email, now)
            try:
                await self.people.bind(person.email, accounts, now)
            except Stop:
                done.outcome = "refused"
                if before is None:
                    await self.logins.drop(provider, body["subject"])
                    await self._give_back(body["refresh"])
                return await self._end(session, "linking", troubles.bound_elsewhere(), "linking")
            done.outcome = "linked"
        shown = {key: body[key] for key in ("team", "user", "slack", "company")}
        fresh = await self.tickets.trade(_KIND, session, ("linking", "done"), shown, now)
        await self._notify(holder, body, now)
        return Step(session=fresh)

    async def cancel(self, session: str, csrf: str) -> Step:
        """He said no."""
        now = self.clock()
        ticket = await self.tickets.look(_KIND, session, now)
        if ticket is None or ticket.state != "consent":
            return Step(troubles.spent())
        if not self._is_csrf(session, csrf):
            return Step(troubles.forged())
        if await self.tickets.turn(_KIND, session, ("consent", "cancelled"), {}, now):
            with suppress(DoorError):
                await self.company.revoke(ticket.body["refresh"], now)
        return Step(session=session)

    # ------------------------------------------------------------ on the way

    async def _next(self, session: str, states: tuple[str, str], body: Mapping[str, Any]) -> Step:
        fresh = await self.tickets.trade(_KIND, session, states, body, self.clock())
        return Step(troubles.spent()) if fresh is None else Step(session=fresh)

    async def _end(self, session: str, leg: str, page: Page, state: str | None = None) -> Step:
        await self.tickets.turn(_KIND, session, (state or f"{leg} checked", "void"), {}, self.clock())
        return Step(page)

    async def _refused(self, ticket: Ticket, step: str, why: str) -> None:
        self.log.warning("link refused", step=step, reason=why)
        account = Holder(ticket.body["team"], ticket.body["user"]).account
        await refused(self.tickets, self.traces, account, step, why, self.clock())

    async def _notify(self, holder: Holder, body: Mapping[str, Any], now: datetime) -> None:
        about = {**asdict(holder), "person": body["person"]}
        handle = await self.tickets.issue(_HANDLE, holder.account, about, now, now + DISOWNED_FOR)
        company, by = body["company"]
        try:
            await self.chat.say_direct(holder.user, notices.linked(company, by, handle))
        except DoorError as error:
            self.log.error("link notice", error=type(error).__name__)
        if self.mail is None:
            return
        words = notices.mailed(holder.account, company, f"{self.public_url}/link/not-me/{handle}")
        try:
            await self.mail.send(body["person"], notices.MAIL_SUBJECT, words)
        except DoorError as error:
            self.log.error("link notice by mail", error=type(error).__name__)

    async def _warn(self, holder: Holder, found: Holder) -> None:
        """Both are told: who made the link, and who followed it."""
        with suppress(DoorError):
            await self.chat.say_direct(holder.user, sentence(notices.WRONG_SLACK))
        if found.team == holder.team:
            with suppress(DoorError):
                await self.chat.say_direct(found.user, sentence(notices.FOLLOWED_ANOTHERS))

    async def _revoke(self, login: Login) -> None:
        if login.refresh is not None:
            await self._give_back(login.refresh)

    async def _give_back(self, refresh: str) -> None:
        with suppress(DoorError):
            await self.company.revoke(refresh, self.clock())

    def _csrf(self, session: str) -> str:
        return self.seal(session)

    def _is_csrf(self, session: str, given: str) -> bool:
        return hmac.compare_digest(self._csrf(session).encode(), given.encode())

    def _away(self, error: DoorError) -> Page:
        self.log.error("link", error=type(error).__name__, problem=str(error))
        if isinstance(error, Transient):
            return pages.trouble(
                "That did not work just now",
                "The sign-in can't be reached. Ask for a new link with /footnote link in a few minutes.",
                503,
            )
        return pages.trouble(
            "Linking is not set up right",
            "An administrator has to look at the settings of the sign-in; `footnote check` says what is wrong.",
            502,
        )


def _leg() -> Leg:
    return Leg(secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(48))
