"""Linking with a real OpenID provider on both sides: what an honest person sees, and what nobody else gets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.linking import notices
from bot.linking.linking import Holder
from policies.names import Principal
from tests.doubles.linking import (
    COMPANY_PEOPLE,
    SLACK_PEOPLE,
    LinkingHouse,
    holder,
    linking_house,
    with_query,
)
from tests.doubles.mail import FakeMail
from tests.doubles.slack import TEAM, FakeSlack
from tests.openid import MISSING, OpenId, openid

pytestmark = MISSING
PAY = "What is the bonus of directors?"
LINKED = "Your accounts are linked"
ASHA = "asha@example.com"


@pytest.fixture(scope="module")
def slack_login() -> Iterator[OpenId]:
    # It tells the claims that somebody has from the start.
    of_an_organisation = {"U0ELSEWHERE": {"https://slack.com/enterprise_id": "E0ELSEWHERE"}}
    with openid({**SLACK_PEOPLE, **of_an_organisation}, pkce=False) as provider:
        yield provider


@pytest.fixture(scope="module")
def company() -> Iterator[OpenId]:
    with openid(COMPANY_PEOPLE) as provider:
        yield provider


@pytest.fixture
async def at(tmp_path: Path, slack_login: OpenId, company: OpenId) -> AsyncIterator[LinkingHouse]:
    company.tell(closed=[], rotate=True, offline=True)
    async with linking_house(tmp_path, slack_login, company) as opened:
        yield opened
        assert opened.slack.refused == []


def plain(text: str) -> str:
    return text.replace("`", "")


# ---------------------------------------------------------------- the honest way


async def test_a_person_links_himself_and_is_answered(at: LinkingHouse) -> None:
    screen = await at.walk("U0ASHA", "asha")

    assert screen.title == LINKED
    assert await at.account_of(ASHA) == "U0ASHA"
    await at.send.event(at.slack.message("U0ASHA", PAY))
    await at.settled()
    assert "seven months" in (await at.told("U0ASHA"))[-1]


async def test_the_last_page_before_linking_names_both_accounts(at: LinkingHouse) -> None:
    screen = await at.to_consent("U0ASHA", "asha", await at.browser())

    assert screen.title == "Are both accounts yours?"
    assert "U0ASHA in Northwind" in screen.html
    assert "asha@corp at 127.0.0.1" in screen.html
    assert await at.account_of(ASHA) is None


async def test_who_is_linked_is_told_in_slack_with_a_way_out(at: LinkingHouse) -> None:
    await at.walk("U0ASHA", "asha")

    [told] = await at.told("U0ASHA")
    assert "now linked to the company account asha <asha@example.com>" in told
    button = at.slack.said[-1].content["blocks"][-1]["elements"][0]
    answer = await at.linking.not_me(holder("U0ASHA"), button["value"])
    assert answer.text == notices.NOT_ME_DONE
    assert await at.account_of(ASHA) is None
    assert "was not his doing" in (await at.told("U0BEN"))[-1]
    assert await at.logins.held(at.provider, "asha") is None


async def test_who_is_linked_is_told_by_mail_too_with_a_way_out(
    tmp_path: Path, slack_login: OpenId, company: OpenId
) -> None:
    company.tell(closed=[], rotate=True, offline=True)
    mail = FakeMail()
    async with mail.open(), linking_house(tmp_path, slack_login, company, mail=mail) as at:
        await at.walk("U0ASHA", "asha")
        [came] = mail.came
        assert came["To"] == ASHA
        assert f"The Slack account slack:{TEAM}:U0ASHA was just linked" in " ".join(came.get_content().split())
        [address] = [word for word in came.get_content().split() if "/link/not-me/" in word]
        browser = await at.browser()
        screen = await browser.get(address)
        assert screen.title == "Was this link not your doing?"
        assert await at.account_of(ASHA) == "U0ASHA"  # to look takes nothing off
        fields = screen.fields("/link/not-me")
        assert (await browser.post(f"{at.home}/link/not-me", fields, Origin="https://evil.example")).status == 403
        assert (await browser.post(f"{at.home}/link/not-me", fields)).title == "The link is taken off"

        assert await at.account_of(ASHA) is None
        assert "was not his doing" in (await at.told("U0BEN"))[-1]
        assert await at.command("U0ASHA", "link") == notices.HELD
        assert (await browser.post(f"{at.home}/link/not-me", fields)).status == 410
        assert (await browser.get(address)).status == 410


async def test_a_mail_server_that_is_away_keeps_nobody_from_linking(
    tmp_path: Path, slack_login: OpenId, company: OpenId
) -> None:
    company.tell(closed=[], rotate=True, offline=True)
    async with linking_house(tmp_path, slack_login, company, mail=FakeMail(address="smtp://127.0.0.1:1")) as at:
        assert (await at.walk("U0ASHA", "asha")).title == LINKED
        assert "link notice by mail" in str(at.log)


async def test_an_account_that_was_disowned_is_not_linked_again_the_same_day(at: LinkingHouse) -> None:
    await at.walk("U0ASHA", "asha")
    handle = at.slack.said[-1].content["blocks"][-1]["elements"][0]["value"]
    await at.linking.not_me(holder("U0ASHA"), handle)

    assert await at.command("U0ASHA", "link") == notices.HELD
    at.pass_time(timedelta(hours=25))
    assert at.home in (await at.link_for("U0ASHA"))


async def test_the_way_out_is_his_alone_and_works_once(at: LinkingHouse) -> None:
    await at.walk("U0ASHA", "asha")
    handle = at.slack.said[-1].content["blocks"][-1]["elements"][0]["value"]

    assert (await at.linking.not_me(holder("U0BEN"), handle)).text == notices.NOT_ME_USED.replace("`", "`")
    assert await at.account_of(ASHA) == "U0ASHA"
    await at.linking.not_me(holder("U0ASHA"), handle)
    assert (await at.linking.not_me(holder("U0ASHA"), handle)).text == notices.NOT_ME_USED


async def test_a_person_unlinks_himself(at: LinkingHouse) -> None:
    await at.walk("U0ASHA", "asha")

    assert await at.command("U0ASHA", "unlink") == plain(notices.UNLINKED)
    assert await at.account_of(ASHA) is None
    assert await at.command("U0ASHA", "unlink") == plain(notices.NOT_LINKED)
    assert await at.command("U0ASHA", "link") == notices.RESTS
    at.pass_time(timedelta(minutes=11))
    assert at.home in await at.link_for("U0ASHA")


async def test_a_link_that_was_begun_before_is_not_confirmed_right_after_another_was_taken_off(
    at: LinkingHouse,
) -> None:
    await at.walk("U0ASHA", "asha")
    browser = await at.browser()
    screen = await at.to_consent("U0ASHA", "asha", browser)
    await at.command("U0ASHA", "unlink")

    assert (await browser.post(f"{at.home}/link/confirm", screen.fields("/link/confirm"))).status == 403
    assert await at.account_of(ASHA) is None


async def test_linking_again_renews_what_is_linked(at: LinkingHouse) -> None:
    await at.walk("U0ASHA", "asha")

    assert (await at.walk("U0ASHA", "asha")).title == LINKED
    assert await at.account_of(ASHA) == "U0ASHA"


async def test_who_says_no_is_not_linked(at: LinkingHouse) -> None:
    browser = await at.browser()
    screen = await at.to_consent("U0ASHA", "asha", browser)

    said = await browser.post(f"{at.home}/link/cancel", screen.fields("/link/cancel"))
    assert said.title == "Nothing was linked"
    assert await at.account_of(ASHA) is None
    assert (await browser.post(f"{at.home}/link/confirm", screen.fields("/link/confirm"))).status == 410


async def test_a_reload_of_any_page_changes_nothing(at: LinkingHouse) -> None:
    browser = await at.browser()
    screen = await at.to_consent("U0ASHA", "asha", browser)
    again = await browser.get(f"{at.home}/link/here")
    assert again.html == screen.html

    done = await browser.post(f"{at.home}/link/confirm", screen.fields("/link/confirm"))
    assert (await browser.get(done.url)).title == LINKED


async def test_every_link_is_in_the_audit_record(at: LinkingHouse) -> None:
    await at.walk("U0ASHA", "asha")
    await at.command("U0ASHA", "unlink")

    found = await at.app.traces.list(at.world.at, person=Principal("usr:asha@example.com"))
    assert [each.outcome for each in found] == ["unlinked", "linked"]
    view = await at.app.traces.show(found[1].id, at.world.at, reveal=True)
    assert view is not None
    assert view.revealed["after"] == f"slack:{TEAM}:U0ASHA {at.provider}:asha"


# ---------------------------------------------------------------- T-009 … T-016: what nobody else gets


async def test_t009_a_link_that_was_passed_on_stops_at_slack_and_both_are_told(at: LinkingHouse) -> None:
    link = await at.link_for("U0EVE")  # the attacker's own
    victim = await at.browser()
    screen = await victim.start(link)
    screen = await victim.sign_in(screen.onwards, "U0ASHA")

    assert (screen.status, screen.title) == (403, "This link was made for another Slack account")
    assert await at.told("U0EVE") == [notices.WRONG_SLACK]
    assert await at.told("U0ASHA") == [notices.FOLLOWED_ANOTHERS]
    assert (await victim.get(f"{at.home}/link/here")).status == 410
    assert await at.account_of(ASHA) is None


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_t010_a_link_that_machines_look_at_is_not_used_up(at: LinkingHouse, method: str) -> None:
    link = await at.link_for("U0ASHA")
    machine, person = await at.browser(), await at.browser()
    for _ in range(3):
        async with machine.session.request(method, link, headers={"User-Agent": "Slackbot-LinkExpanding 1.0"}) as seen:
            assert seen.status == 200
            assert seen.cookies == {}

    assert (await person.start(link)).title == "Taking you to Slack"


async def test_t011_a_link_is_good_once(at: LinkingHouse) -> None:
    link = await at.link_for("U0ASHA")
    first, second = await at.browser(), await at.browser()
    fields = (await first.get(link)).fields("/link/start")
    await second.get(link)

    pressed = await asyncio.gather(
        *(each.post(f"{at.home}/link/start", fields) for each in (first, second, first, second))
    )
    assert sorted(screen.status for screen in pressed) == [200, 410, 410, 410]
    assert (await second.get(link)).status == 410


async def test_t011_a_link_has_its_time(at: LinkingHouse) -> None:
    link = await at.link_for("U0ASHA")
    at.pass_time(timedelta(minutes=10, seconds=1))

    assert (await (await at.browser()).get(link)).status == 410


async def test_t011_the_whole_way_has_its_time(at: LinkingHouse) -> None:
    browser = await at.browser()
    screen = await at.to_consent("U0ASHA", "asha", browser)
    at.pass_time(timedelta(minutes=10))

    assert (await browser.post(f"{at.home}/link/confirm", screen.fields("/link/confirm"))).status == 410
    assert await at.account_of(ASHA) is None


async def test_t011_a_new_link_makes_the_one_before_worthless(at: LinkingHouse) -> None:
    first = await at.link_for("U0ASHA")
    await at.link_for("U0ASHA")

    assert (await (await at.browser()).get(first)).status == 410


async def test_t011_the_button_that_links_is_pressed_twice_at_once(at: LinkingHouse) -> None:
    browser = await at.browser()
    screen = await at.to_consent("U0ASHA", "asha", browser)
    fields = screen.fields("/link/confirm")

    pressed = await asyncio.gather(*(browser.post(f"{at.home}/link/confirm", fields) for _ in range(3)))
    assert sorted(each.status for each in pressed) == [200, 410, 410]
    assert len(await at.told("U0ASHA")) == 1


@pytest.mark.parametrize("leg", ["slack", "login"])
@pytest.mark.parametrize("wrong", ["no state", "another state", "no cookie", "another browser"])
async def test_t012_a_way_back_that_is_not_this_browsers_links_nothing(at: LinkingHouse, leg: str, wrong: str) -> None:
    browser, other = await at.browser(), await at.browser()
    screen = await browser.start(await at.link_for("U0ASHA"))
    if leg == "login":
        screen = await browser.sign_in(screen.onwards, "U0ASHA")
    back = await browser.answer_of(screen.onwards, "U0ASHA" if leg == "slack" else "asha")
    match wrong:
        case "no state":
            seen = await browser.get(with_query(back, state=None))
        case "another state":
            seen = await browser.get(with_query(back, state="x" * 43))
        case "no cookie":
            seen = await other.get(back)
        case _:
            await other.start(await at.link_for("U0MARTA"))
            seen = await other.get(back)

    assert (seen.status, seen.title) == (400, "This sign-in does not belong to this browser")
    assert await at.account_of(ASHA) is None
    assert (await browser.get(back)).status == 200  # nothing was exchanged: the code is as good as it was


async def test_t012_a_session_planted_before_is_not_taken(at: LinkingHouse) -> None:
    browser = await at.browser()
    browser.session.cookie_jar.update_cookies({"footnote-link": "planted-by-somebody"}, response_url=_url(at.home))
    await browser.start(await at.link_for("U0ASHA"))

    held = {each.key: each.value for each in browser.session.cookie_jar}
    assert held["footnote-link"] != "planted-by-somebody"


async def test_t012_at_every_step_the_session_is_another(at: LinkingHouse) -> None:
    browser = await at.browser()

    def session() -> str:
        return next(each.value for each in browser.session.cookie_jar if each.key == "footnote-link")

    screen = await browser.start(await at.link_for("U0ASHA"))
    seen = [session()]
    screen = await browser.sign_in(screen.onwards, "U0ASHA")
    seen.append(session())
    screen = await browser.sign_in(screen.onwards, "asha")
    seen.append(session())
    await browser.post(f"{at.home}/link/confirm", screen.fields("/link/confirm"))
    seen.append(session())

    assert len(set(seen)) == 4
    thief = await at.browser()
    for old in seen[:3]:
        thief.session.cookie_jar.update_cookies({"footnote-link": old}, response_url=_url(at.home))
        assert (await thief.get(f"{at.home}/link/here")).status == 410


async def test_t013_a_code_of_another_session_fails_pkce(at: LinkingHouse) -> None:
    mine, theirs = await at.browser(), await at.browser()
    victim = await theirs.start(await at.link_for("U0MARTA"))
    victim = await theirs.sign_in(victim.onwards, "U0MARTA")
    stolen = await theirs.answer_of(victim.onwards, "asha")
    screen = await mine.start(await at.link_for("U0EVE"))
    screen = await mine.sign_in(screen.onwards, "U0EVE")
    own = await mine.answer_of(screen.onwards, "nora")

    from urllib.parse import parse_qs, urlsplit

    code = parse_qs(urlsplit(stolen).query)["code"][0]
    seen = await mine.get(with_query(own, code=code))
    assert (seen.status, seen.title) == (400, "The sign-in could not be verified")
    assert any(line.get("reason") == "code" for line in at.log.lines)
    assert await at.account_of(ASHA) is None


@pytest.mark.parametrize("issuer", ["slack's", "made up", "none"])
async def test_t014_an_answer_of_another_issuer_is_refused(at: LinkingHouse, issuer: str) -> None:
    browser = await at.browser()
    screen = await browser.start(await at.link_for("U0ASHA"))
    screen = await browser.sign_in(screen.onwards, "U0ASHA")
    back = await browser.answer_of(screen.onwards, "asha")
    said = {"slack's": at.slack_login.issuer, "made up": "https://evil.example", "none": None}[issuer]

    seen = await browser.get(with_query(back, iss=said))
    assert (seen.status, seen.title) == (400, "The sign-in could not be verified")
    assert (await browser.get(back)).status == 400  # the way back was good once


async def test_t014_what_slack_sends_back_is_not_taken_at_the_companys_address(at: LinkingHouse) -> None:
    browser = await at.browser()
    screen = await browser.start(await at.link_for("U0ASHA"))
    back = await browser.answer_of(screen.onwards, "U0ASHA")

    seen = await browser.get(back.replace("/link/slack/", "/link/login/"))
    assert (seen.status, seen.title) == (400, "This sign-in does not belong to this browser")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "null", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "", "Sec-Fetch-Site": ""}, 403),
    ],
)
@pytest.mark.parametrize("step", ["start", "confirm", "cancel"])
async def test_t015_a_form_from_elsewhere_is_refused(
    at: LinkingHouse, change: dict[str, str], status: int, step: str
) -> None:
    browser = await at.browser()
    if step == "start":
        fields = (await browser.get(await at.link_for("U0ASHA"))).fields("/link/start")
    else:
        fields = (await at.to_consent("U0ASHA", "asha", browser)).fields(f"/link/{step}")

    seen = await browser.post(f"{at.home}/link/{step}", fields, **change)
    assert seen.status == status
    assert await at.account_of(ASHA) is None
    assert (await browser.post(f"{at.home}/link/{step}", fields)).status == 200  # and it harmed nothing


@pytest.mark.parametrize("csrf", ["", "p" + "0" * 31, "another session's"])
async def test_t015_consent_without_the_forms_own_secret_is_refused(at: LinkingHouse, csrf: str) -> None:
    browser, other = await at.browser(), await at.browser()
    await at.to_consent("U0ASHA", "asha", browser)
    if csrf == "another session's":
        csrf = (await at.to_consent("U0BEN", "ben", other)).fields("/link/confirm")["csrf"]

    assert (await browser.post(f"{at.home}/link/confirm", {"csrf": csrf})).status == 403
    assert await at.account_of(ASHA) is None


async def test_t015_consent_by_another_session_links_nothing(at: LinkingHouse) -> None:
    browser, other = await at.browser(), await at.browser()
    screen = await at.to_consent("U0ASHA", "asha", browser)

    assert (await other.post(f"{at.home}/link/confirm", screen.fields("/link/confirm"))).status == 410
    assert await at.account_of(ASHA) is None


async def test_t016_a_second_slack_account_of_the_same_person_is_refused_until_unlinked(at: LinkingHouse) -> None:
    await at.walk("U0ASHA", "asha")

    screen = await at.walk("U0MARTA", "asha")
    assert (screen.status, screen.title) == (409, "One of the two accounts is linked already")
    assert await at.account_of(ASHA) == "U0ASHA"
    await at.command("U0ASHA", "unlink")
    assert (await at.walk("U0MARTA", "asha")).title == "This can't be linked yet"
    at.pass_time(timedelta(minutes=11))
    assert (await at.walk("U0MARTA", "asha")).title == LINKED


async def test_a_slack_account_that_is_somebodys_is_not_given_to_another(at: LinkingHouse) -> None:
    screen = await at.walk("U0BEN", "asha")

    assert screen.status == 409
    assert await at.account_of(ASHA) is None
    assert await at.logins.held(at.provider, "asha") is None


# ---------------------------------------------------------------- who may not


@pytest.mark.parametrize(
    "flags",
    [
        {"is_restricted": True},
        {"is_ultra_restricted": True},
        {"is_stranger": True},
        {"team_id": "T0OTHER"},
        {"is_bot": True},
        {"deleted": True},
    ],
)
async def test_t017_who_is_no_full_member_gets_no_link(at: LinkingHouse, flags: dict[str, object]) -> None:
    at.slack.user("U0EVE", **flags)

    assert await at.command("U0EVE", "link") == notices.NOT_YOU


async def test_an_account_that_becomes_a_guests_on_the_way_is_not_linked(at: LinkingHouse) -> None:
    browser = await at.browser()
    screen = await at.to_consent("U0ASHA", "asha", browser)
    at.slack.user("U0ASHA", is_restricted=True)

    assert (await browser.post(f"{at.home}/link/confirm", screen.fields("/link/confirm"))).status == 403
    assert await at.account_of(ASHA) is None


@pytest.mark.parametrize("subject", ["gus", "zoe"])
async def test_a_guest_or_a_closed_person_of_the_directory_does_not_link_himself(
    at: LinkingHouse, subject: str
) -> None:
    screen = await at.to_consent("U0EVE", subject, await at.browser())

    assert (screen.status, screen.title) == (403, "This account can't be linked")


async def test_a_login_that_the_directory_does_not_know_is_told_whom_to_ask(at: LinkingHouse) -> None:
    screen = await at.to_consent("U0EVE", "nora", await at.browser())

    assert (screen.status, screen.title) == (403, "The company directory does not know this account")
    assert f"{at.provider}:nora" in screen.html


async def test_t007_nobody_is_known_by_his_address(at: LinkingHouse) -> None:
    screen = await at.to_consent("U0MARTA", "marta", await at.browser())  # her address is in the directory

    assert screen.status == 403


async def test_a_verified_address_counts_only_where_an_administrator_said_so(
    tmp_path: Path, slack_login: OpenId, company: OpenId
) -> None:
    people = {
        "m1": {"email": "Marta@example.com", "email_verified": True},
        "m2": {"email": "marta@example.com", "email_verified": False},
        "m3": {"email": "marta@example.com"},
        "m4": {"email": "marta@example.com", "email_verified": "true"},
        "b2": {"email": "ben@example.com", "email_verified": True},  # Ben is known by another subject
    }
    with openid(people) as other:
        async with linking_house(tmp_path, slack_login, other, by_email=True) as at:
            for subject in ("m2", "m3", "m4", "b2"):
                assert (await at.to_consent("U0MARTA", subject, await at.browser())).status == 403, subject

            assert (await at.walk("U0MARTA", "m1")).title == LINKED
            record = await at.ledger.people.get("marta@example.com")
            assert record is not None
            assert record.identities[at.provider] == "m1"


async def test_in_entra_a_person_is_known_by_tenant_and_object_id(tmp_path: Path, slack_login: OpenId) -> None:
    tenant = "7d1b0c5e-1111-4222-8333-944445555666"
    people = {
        "pairwise-1": {"tid": tenant, "oid": "object-marta", "name": "Marta"},
        "pairwise-2": {"tid": "another-tenant", "oid": "object-marta"},
        "pairwise-3": {"oid": "object-marta"},
    }
    with openid(people, path=f"/{tenant}/v2.0") as entra:
        async with linking_house(tmp_path, slack_login, entra) as at:
            await at.ledger.people.link("marta@example.com", f"entra:{tenant}", "object-marta", at.world.at)
            for subject in ("pairwise-2", "pairwise-3"):
                assert (await at.to_consent("U0MARTA", subject, await at.browser())).status == 403, subject

            assert (await at.walk("U0MARTA", "pairwise-1")).title == LINKED


async def test_a_tenant_in_the_claims_of_another_provider_is_nobodys(at: LinkingHouse, company: OpenId) -> None:
    await at.ledger.people.link("marta@example.com", "entra:tenant-1", "object-marta", at.world.at)
    company.tell(people={**COMPANY_PEOPLE, "sly": {"tid": "tenant-1", "oid": "object-marta"}})

    assert (await at.to_consent("U0MARTA", "sly", await at.browser())).status == 403


async def test_without_offline_access_nobody_is_linked(at: LinkingHouse, company: OpenId) -> None:
    company.tell(offline=False)

    screen = await at.to_consent("U0ASHA", "asha", await at.browser())
    assert (screen.status, screen.title) == (502, "The company sign-in is not set up for this")


# ---------------------------------------------------------------- what is kept, and what pages may do


async def test_no_secret_is_kept_or_logged_in_clear(at: LinkingHouse) -> None:
    from sqlalchemy import text

    link = await at.link_for("U0ASHA")
    token = link.rpartition("/")[2]
    await at.walk("U0BEN", "ben")
    held = await at.logins.held(at.provider, "ben")
    assert held is not None
    assert held.refresh
    async with at.ledger.door.read() as connection:
        rows = (await connection.execute(text("select * from tickets"))).all()
        rows += (await connection.execute(text("select * from logins"))).all()
    stored = str(rows) + str(at.log)

    assert token not in stored
    assert held.refresh not in stored
    assert "U0ASHA" not in stored


async def test_every_page_forbids_what_it_does_not_need(at: LinkingHouse) -> None:
    browser = await at.browser()
    link = await at.link_for("U0ASHA")
    for screen in (await browser.get(link), await browser.get(f"{at.home}/link/here"), await browser.start(link)):
        policy = screen.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert screen.headers["Referrer-Policy"] == "same-origin"
        assert screen.headers["Cache-Control"] == "no-store"
        assert "<script" not in screen.html
        assert "javascript:" not in screen.html


async def test_the_cookie_is_the_browsers_alone(at: LinkingHouse) -> None:
    browser = await at.browser()
    fields = (await browser.get(await at.link_for("U0ASHA"))).fields("/link/start")
    sent = {"Origin": at.home, "Sec-Fetch-Site": "same-origin"}
    async with browser.session.post(f"{at.home}/link/start", data=fields, headers=sent, allow_redirects=False) as seen:
        cookie = seen.headers["Set-Cookie"]

        assert seen.status == 303
        assert seen.headers["Location"] == "/link/here"
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert "Path=/" in cookie


async def test_names_from_outside_are_text_on_every_page(tmp_path: Path, company: OpenId) -> None:
    company.tell(closed=[], offline=True)
    hostile = {"U0ASHA": {**SLACK_PEOPLE["U0ASHA"], "name": "<script>alert(1)</script>\"'><img src=x>"}}
    with openid(hostile, pkce=False) as slack_login:
        async with linking_house(tmp_path, slack_login, company) as at:
            screen = await at.to_consent("U0ASHA", "asha", await at.browser())

            assert screen.status == 200
            assert "<script" not in screen.html
            assert "<img" not in screen.html


@pytest.mark.parametrize("token", ["x", "a" * 5000, "%00", "%F0%9F%99%82", "here%2f..", "'or'1'='1"])
async def test_any_word_in_place_of_a_link_is_a_link_that_cant_be_used(at: LinkingHouse, token: str) -> None:
    async with (await at.browser()).session.get(_url(f"{at.home}/link/{token}")) as seen:
        assert seen.status in (404, 410)


async def test_a_provider_that_is_away_is_said_so_and_nothing_is_linked(at: LinkingHouse) -> None:
    class Away:
        issuer = at.company.issuer

        async def address(self, *_: object) -> str:
            from connectors.errors import Transient

            raise Transient("the identity provider can't be reached")

    from dataclasses import replace

    browser = await at.browser()
    screen = await browser.start(await at.link_for("U0ASHA"))
    away = replace(at.linking, company=Away())  # type: ignore[arg-type]
    await browser.sign_in(screen.onwards, "U0ASHA")
    session = next(each.value for each in browser.session.cookie_jar if each.key == "footnote-link")
    page = await away.here(session)
    assert page.status == 503


def _url(address: str):  # type: ignore[no-untyped-def]
    from yarl import URL

    return URL(address, encoded=True)


# ---------------------------------------------------------------- an organisation of several workspaces

NORTHWIND, SOUTHWIND, OTHER_TEAM = "E0NORTHWIND", "E0SOUTHWIND", "T0NORTHLABS"


@pytest.fixture(params=[False, True], ids=["in one workspace of it", "in all of it"])
async def whole(
    request: pytest.FixtureRequest, tmp_path: Path, slack_login: OpenId, company: OpenId
) -> AsyncIterator[LinkingHouse]:
    company.tell(closed=[], rotate=True, offline=True)
    slack = FakeSlack(enterprise=NORTHWIND, org_wide=request.param)
    async with linking_house(tmp_path, slack_login, company, slack=slack) as opened:
        yield opened
        assert slack.refused == []
    slack_login.tell(people=SLACK_PEOPLE)


def signs_in(slack_login: OpenId, **claims: str | None) -> None:
    """Asha signs in to Slack with these claims."""
    named = {**SLACK_PEOPLE["U0ASHA"], **{f"https://slack.com/{name}": value for name, value in claims.items()}}
    known = {name: value for name, value in named.items() if value is not None}
    slack_login.tell(people={**SLACK_PEOPLE, "U0ASHA": known})


async def test_in_an_organisation_a_person_is_linked_by_it(whole: LinkingHouse, slack_login: OpenId) -> None:
    signs_in(slack_login, enterprise_id=NORTHWIND, team_id=OTHER_TEAM)

    assert (await whole.walk("U0ASHA", "asha")).title == LINKED
    assert await whole.account_of(ASHA) == "U0ASHA"
    await whole.send.event(whole.slack.message("U0ASHA", PAY))
    await whole.settled()
    assert "seven months" in (await whole.told("U0ASHA"))[-1]
    button = next(each for each in whole.slack.said if "now linked" in each.words).element("link_not_me")
    await whole.linking.not_me(Holder(NORTHWIND, "U0ASHA"), button["value"])
    assert await whole.account_of(ASHA) is None
    assert "was not his doing" in (await whole.told("U0BEN"))[-1]


async def test_a_login_that_is_not_of_the_organisation_links_nothing(whole: LinkingHouse, slack_login: OpenId) -> None:
    signs_in(slack_login, enterprise_id=SOUTHWIND)
    screen = await whole.to_consent("U0ASHA", "asha", await whole.browser())

    assert (screen.status, screen.title) == (403, "This link was made for another Slack account")
    assert await whole.account_of(ASHA) is None


async def test_who_is_of_another_organisation_is_offered_no_link(whole: LinkingHouse) -> None:
    whole.slack.user("U0EVE", team_id="T0SOUTH", enterprise_user={"enterprise_id": SOUTHWIND})

    assert await whole.command("U0EVE", "link") == notices.NOT_YOU
