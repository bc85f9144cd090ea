"""The addresses of linking: what a browser sends in, what is sent back, and which cookie it carries.

A POST must come from our own page: its `Origin` or `Sec-Fetch-Site` says so. The cookie is the browser's alone, for
this host alone, and can't be read by anything on a page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aiohttp import web

from bot.linking import pages
from bot.linking.pages import Page
from connectors.errors import DoorError

if TYPE_CHECKING:
    from bot.linking.linking import Linking, Step

_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src '{pages.STYLE_DIGEST}'; form-action 'self'; frame-ancestors 'none'; "
        "base-uri 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Not no-referrer: a browser would then call the origin of our own forms null.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "no-store",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
}
_LONGEST_FORM = 4_000  # bytes
_LONGEST = 4_000  # characters of one parameter that a provider sends back
_MOST = 20

Handler = Callable[[web.Request], Awaitable[web.Response]]


class Routes:
    """The pages of one `Linking`."""

    def __init__(self, linking: Linking) -> None:
        self._linking = linking
        address = urlsplit(linking.public_url)
        self._origin = f"{address.scheme}://{address.netloc}"
        self._secure = address.scheme == "https"
        self._cookie = "__Host-footnote-link" if self._secure else "footnote-link"

    def routes(self) -> Sequence[web.RouteDef]:
        """All of them; the token comes last, since it matches any word."""
        return [
            web.post("/link/start", self._guarded(self.start)),
            web.post("/link/confirm", self._guarded(self.confirm)),
            web.post("/link/cancel", self._guarded(self.cancel)),
            web.get("/link/here", self._guarded(self.here)),
            web.get("/link/slack/callback", self._guarded(self.from_slack), allow_head=False),
            web.get("/link/login/callback", self._guarded(self.from_login), allow_head=False),
            web.get("/link/not-me/{handle}", self._guarded(self.not_mine)),
            web.post("/link/not-me", self._guarded(self.take_off)),
            web.get("/link/{token}", self._guarded(self.followed)),
        ]

    async def followed(self, request: web.Request) -> web.Response:
        """A link was followed, or looked at by a machine: nothing changes."""
        return self._shown(await self._linking.followed(request.match_info["token"]))

    async def start(self, request: web.Request) -> web.Response:
        """The first button."""
        form = await self._form(request)
        if form is None:
            return self._shown(_not_ours())
        return self._stepped(await self._linking.start(form.get("token", "")))

    async def here(self, request: web.Request) -> web.Response:
        """Where this browser is."""
        return self._shown(await self._linking.here(self._session(request)))

    async def from_slack(self, request: web.Request) -> web.Response:
        """Back from Slack."""
        return self._stepped(await self._linking.from_slack(self._session(request), _answer(request)))

    async def from_login(self, request: web.Request) -> web.Response:
        """Back from the identity provider."""
        return self._stepped(await self._linking.from_login(self._session(request), _answer(request)))

    async def confirm(self, request: web.Request) -> web.Response:
        """The button that links."""
        form = await self._form(request)
        if form is None:
            return self._shown(_not_ours())
        return self._stepped(await self._linking.confirm(self._session(request), form.get("csrf", "")))

    async def cancel(self, request: web.Request) -> web.Response:
        """The button beside it."""
        form = await self._form(request)
        if form is None:
            return self._shown(_not_ours())
        return self._stepped(await self._linking.cancel(self._session(request), form.get("csrf", "")))

    async def not_mine(self, request: web.Request) -> web.Response:
        """The address in a mail was followed, or looked at by a machine: nothing changes."""
        return self._shown(await self._linking.not_mine(request.match_info["handle"]))

    async def take_off(self, request: web.Request) -> web.Response:
        """The button on that page."""
        form = await self._form(request)
        if form is None:
            return self._shown(_not_ours())
        return self._shown(await self._linking.take_off(form.get("handle", "")))

    # ------------------------------------------------------------ in and out

    def _session(self, request: web.Request) -> str:
        return request.cookies.get(self._cookie, "")

    async def _form(self, request: web.Request) -> dict[str, str] | None:
        """The fields of a form of our own page; None for one from elsewhere."""
        origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
        ours = origin == self._origin if origin is not None else site == "same-origin"
        if not ours or site not in (None, "same-origin"):
            return None
        if request.content_type != "application/x-www-form-urlencoded":
            return None
        if request.content_length is None or request.content_length > _LONGEST_FORM:
            return None
        fields = await request.post()
        return {name: value for name, value in fields.items() if isinstance(value, str)}

    def _shown(self, page: Page) -> web.Response:
        return web.Response(text=page.html, status=page.status, content_type="text/html", headers=self._headers())

    def _stepped(self, step: Step) -> web.Response:
        """A page, or on to where this browser is now, so that a reload repeats nothing."""
        if step.page is not None:
            return self._shown(step.page)
        response = web.Response(status=303, headers={**self._headers(), "Location": "/link/here"})
        if step.session is not None:
            response.set_cookie(
                self._cookie, step.session, path="/", httponly=True, secure=self._secure, samesite="Lax", max_age=900
            )
        return response

    def _headers(self) -> dict[str, str]:
        strict = {"Strict-Transport-Security": "max-age=31536000"} if self._secure else {}
        return {**_HEADERS, **strict}

    def _guarded(self, handler: Handler) -> Handler:
        async def guarded(request: web.Request) -> web.Response:
            try:
                return await handler(request)
            except DoorError as error:
                self._linking.log.error("link", error=type(error).__name__)
                words = "Something that this needs is away. Ask for a new link with /footnote link in a few minutes."
                return self._shown(pages.trouble("That did not work just now", words, 503))

        return guarded


def _answer(request: web.Request) -> dict[str, str]:
    """What a provider sent back; nothing where a parameter came twice or is endless."""
    given = list(request.query.items())
    whole = len(given) <= _MOST and len(dict(given)) == len(given)
    return dict(given) if whole and all(len(value) <= _LONGEST for _name, value in given) else {}


def _not_ours() -> Page:
    return pages.trouble(
        "That did not come from our page",
        "Nothing was linked. Ask for a new link with /footnote link in Slack and use its button.",
        403,
    )
