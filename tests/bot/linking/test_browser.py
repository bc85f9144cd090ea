"""A real browser through the linking pages: what the policies allow, what keyboards reach, what a person sees."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts import openid as installed
from tests.doubles.linking import COMPANY_PEOPLE, SLACK_PEOPLE, LinkingHouse, linking_house
from tests.openid import MISSING, NO_BROWSER, OpenId, openid

pytestmark = [MISSING, NO_BROWSER]


@pytest.fixture(scope="module")
def providers() -> Iterator[tuple[OpenId, OpenId]]:
    with openid(SLACK_PEOPLE, pkce=False) as slack_login, openid(COMPANY_PEOPLE) as company:
        yield slack_login, company


@pytest.fixture
async def at(tmp_path: Path, providers: tuple[OpenId, OpenId]) -> AsyncIterator[LinkingHouse]:
    async with linking_house(tmp_path, *providers) as opened:
        yield opened


@pytest.fixture
async def chromium() -> AsyncIterator[Any]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=str(installed.browser()), args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            await browser.close()


class Person:
    """Somebody at a browser: every complaint of it is kept."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    async def sign_in(self, subject: str) -> None:
        """At a provider: type the name, agree."""
        await self.page.locator("input[name=login]").fill(subject)
        await self.page.locator("input[name=password]").fill("x")
        await self.page.locator("button[type=submit]").click()
        agree = self.page.locator("input[name=prompt][value=consent]")
        await agree.wait_for(state="attached")
        await self.page.locator("button[type=submit]").click()

    async def heading(self, text: str) -> None:
        await self.page.get_by_role("heading", name=text).wait_for()


@pytest.fixture
async def person(chromium: Any) -> Person:
    context = await chromium.new_context()
    context.set_default_timeout(20_000)
    return Person(await context.new_page())


async def test_a_person_links_himself_in_a_browser(at: LinkingHouse, person: Person, tmp_path: Path) -> None:
    await person.page.goto(await at.link_for("U0ASHA"))
    await person.heading("Link your Slack account")
    await person.page.get_by_role("button", name="Continue with Slack").click()
    await person.sign_in("U0ASHA")
    await person.sign_in("asha")
    await person.heading("Are both accounts yours?")
    assert await at.account_of("asha@example.com") is None
    await person.page.get_by_role("button", name="Link these two accounts").click()
    await person.heading("Your accounts are linked")

    assert await at.account_of("asha@example.com") == "U0ASHA"
    assert [each for each in person.complaints if "Content Security Policy" in each] == []
    cookies = {each["name"]: each for each in await person.page.context.cookies(at.home)}
    assert cookies["footnote-link"]["httpOnly"] is True
    assert cookies["footnote-link"]["sameSite"] == "Lax"
    assert await person.page.evaluate("document.cookie.includes('footnote-link')") is False


async def test_the_whole_way_can_be_walked_by_keyboard(at: LinkingHouse, person: Person) -> None:
    await person.page.goto(await at.link_for("U0ASHA"))
    await person.page.keyboard.press("Tab")
    assert await person.page.evaluate("document.activeElement.textContent") == "Continue with Slack"
    await person.page.keyboard.press("Enter")
    await person.sign_in("U0ASHA")
    await person.sign_in("asha")
    await person.heading("Are both accounts yours?")
    await person.page.keyboard.press("Tab")
    await person.page.keyboard.press("Enter")

    await person.heading("Your accounts are linked")


async def test_every_page_says_its_language_title_step_and_fits_a_phone(at: LinkingHouse, person: Person) -> None:
    await person.page.set_viewport_size({"width": 320, "height": 640})
    await person.page.goto(await at.link_for("U0ASHA"))
    seen = await person.page.evaluate(
        """() => ({
            language: document.documentElement.lang,
            title: document.title,
            headings: document.querySelectorAll('h1').length,
            mains: document.querySelectorAll('main').length,
            step: document.querySelector('[aria-current=step]').textContent,
            wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
        })"""
    )

    expected = {"language": "en", "title": "Link your Slack account · Footnote", "headings": 1, "mains": 1}
    assert seen == {**expected, "step": "1. Slack account", "wide": False}


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_words_stand_out_from_their_ground(at: LinkingHouse, person: Person, scheme: str) -> None:
    await person.page.emulate_media(color_scheme=scheme)
    await person.page.goto(await at.link_for("U0ASHA"))
    contrasts = await person.page.evaluate(
        """() => {
            const light = (colour) => {
                const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).slice(0, 3).map(v => {
                    v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 });
                return 0.2126 * r + 0.7152 * g + 0.0722 * b };
            const ground = (element) => {
                for (; element; element = element.parentElement) {
                    const colour = getComputedStyle(element).backgroundColor;
                    if (!/, 0\\)$/.test(colour)) return colour }
                return 'rgb(255, 255, 255)' };
            return [...document.querySelectorAll('h1, p, li, button, code')].map(element => {
                const pair = [light(getComputedStyle(element).color), light(ground(element))].sort((a, b) => b - a);
                return (pair[0] + 0.05) / (pair[1] + 0.05) }) }"""
    )

    assert min(contrasts) >= 4.5  # WCAG 2.2, 1.4.3


async def test_a_browser_lets_no_other_site_press_the_buttons(at: LinkingHouse, person: Person) -> None:
    link = await at.link_for("U0ASHA")
    token = link.rpartition("/")[2]
    # Another origin: `localhost` is not `127.0.0.1` to a browser.
    form = f'<form method=post action="{at.home}/link/start"><input name=token value="{token}"></form>'
    await person.page.route("http://localhost/**", lambda route: route.fulfill(body=form, content_type="text/html"))
    await person.page.goto("http://localhost/evil")
    await person.page.evaluate("document.forms[0].submit()")

    await person.heading("That did not come from our page")
    await person.page.goto(link)
    await person.heading("Link your Slack account")


async def test_a_browser_shows_the_pages_in_no_frame(at: LinkingHouse, person: Person) -> None:
    link = await at.link_for("U0ASHA")
    frame = f'<iframe src="{link}"></iframe>'
    await person.page.route("http://localhost/**", lambda route: route.fulfill(body=frame, content_type="text/html"))
    await person.page.goto("http://localhost/evil")
    await person.page.wait_for_timeout(300)

    assert "Link your Slack account" not in "".join([await each.content() for each in person.page.frames])
