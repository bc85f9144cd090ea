"""Access tokens of the app: for Graph and for each SharePoint host one, renewed before they end.

Nothing but a certificate is taken: SharePoint's REST, which alone tells who may read what, refuses an app that comes
with a client secret.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol
from urllib.parse import urlencode

from connectors.errors import Stop, Transient
from connectors.http import Answer, Limits, Site
from connectors.sources.sharepoint.assertion import Certificate

LOGIN = "https://login.microsoftonline.com"
GRAPH = "https://graph.microsoft.com"
NATIONAL = frozenset(
    {
        "https://graph.microsoft.us",
        "https://dod-graph.microsoft.us",
        "https://microsoftgraph.chinacloudapi.cn",
    }
)
"""Graphs of other clouds, which are audiences of their own. A proxy or a double stands in for the usual one."""

CONTENT_ONLY = (
    "a client secret lets an app read SharePoint's content but not who may read it: SharePoint accepts only an app "
    "that signs in with a certificate. Upload a certificate to the app registration and give it with "
    "--certificate-file"
)
_USED = 0.8  # of a token's life, before it is renewed
_SHORTEST = 30.0  # seconds that a token is used at least
_ANSWER = Limits(largest=200_000, whole=45.0, at_once=2)


class Signs(Protocol):
    """Who proves the app's identity."""

    def assertion(self, client: str, audience: str, now: datetime) -> str: ...


@dataclass(slots=True)
class Timer:
    """What time it is, as far as somebody said: the last moment that was told and what went by since."""

    told: datetime | None = None
    at: float = 0.0

    def tell(self, now: datetime) -> None:
        """It is `now`."""
        self.told, self.at = now, asyncio.get_running_loop().time()

    def now(self) -> datetime:
        if self.told is None:
            raise Stop("nobody said what time it is; this is a fault in footnote")
        return self.told + timedelta(seconds=asyncio.get_running_loop().time() - self.at)


@dataclass(frozen=True, slots=True, repr=False)
class _Token:
    text: str
    renew_at: float  # of the loop's time


@dataclass(slots=True)
class Tokens:
    """The tokens of one app in one tenant. Several callers wait for one request."""

    login: Site
    path: str  # of the token endpoint, below the login's base URL
    endpoint: str  # the same as an address: whom the assertion is meant for
    client: str
    certificate: Signs
    timer: Timer
    _held: dict[str, _Token] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def bearer(self, audience: str) -> str:
        """A token for `audience`, an origin, that lasts for a while."""
        held = self._held.get(audience)
        if held is not None and asyncio.get_running_loop().time() < held.renew_at:
            return held.text
        async with self._turn:
            held = self._held.get(audience)
            if held is None or asyncio.get_running_loop().time() >= held.renew_at:
                held = self._held[audience] = await self._fetch(audience)
            return held.text

    def refuse(self, audience: str, text: str) -> None:
        """This token was not accepted: the next one asked for is a new one."""
        held = self._held.get(audience)
        if held is not None and held.text == text:
            del self._held[audience]

    async def _fetch(self, audience: str) -> _Token:
        form = {
            "client_id": self.client,
            "grant_type": "client_credentials",
            "scope": f"{audience}/.default",
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": self.certificate.assertion(self.client, self.endpoint, self.timer.now()),
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = await self.login.request(
            "POST", self.path, body=urlencode(form).encode(), headers=headers, repeatable=True
        )
        if not answer.ok:
            raise _refused(answer, audience)
        said = answer.json()
        text, lasts = (said.get("access_token"), said.get("expires_in")) if isinstance(said, dict) else (None, None)
        if not isinstance(text, str) or not text:
            raise Transient(f"{answer.site} answered without a token")
        seconds = float(lasts) if isinstance(lasts, int | float | str) and str(lasts).isdecimal() else 0.0
        return _Token(text, asyncio.get_running_loop().time() + max(_SHORTEST, seconds * _USED))


def _refused(answer: Answer, audience: str) -> Stop:
    """Microsoft's login says what is wrong as a number; its sentences are not repeated, they may name people."""
    try:
        said = answer.json()
        text = str(said.get("error_description", "")) if isinstance(said, dict) else ""
    except (Stop, Transient):
        text = ""
    for code, what in _REASONS.items():
        if code in text:
            return Stop(f"the Microsoft login refused the app for {audience}: {what} ({code})")
    return Stop(
        f"the Microsoft login refused the app for {audience} ({answer.status}); check the tenant, the client id, and "
        "that the certificate was uploaded to the app registration"
    )


_REASONS = {
    "AADSTS700016": "there is no such app in this tenant; check --client-id and --tenant, and grant admin consent",
    "AADSTS90002": "there is no such tenant; check --tenant",
    "AADSTS700027": "the certificate is not one of the app's; upload it to the app registration",
    "AADSTS700024": "the time of this machine is wrong by more than some minutes; set its clock",
    "AADSTS7000222": "the app's credentials have expired; upload a new certificate",
    "AADSTS500011": "the tenant has no such resource; check the addresses of the sites",
    "AADSTS7000112": "the app is disabled; enable it in Entra",
}


def open_tokens(login: Site, login_url: str, tenant: str, client: str, pem: str, timer: Timer) -> Tokens:
    """The tokens of an app that has a certificate; `login` is open at `login_url`."""
    path = f"{tenant}/oauth2/v2.0/token"
    return Tokens(login, path, f"{login_url.rstrip('/')}/{path}", client, Certificate(pem), timer)


def login_limits() -> Limits:
    """Bounds of a request to the login."""
    return _ANSWER


def graph_audience(graph_url: str) -> str:
    """Whom a token for the Graph at this address is for."""
    scheme, _, rest = graph_url.partition("://")
    origin = f"{scheme}://{rest.partition('/')[0]}".casefold()
    return origin if origin in NATIONAL else GRAPH
