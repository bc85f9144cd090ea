"""One outside system over HTTP: every wait has an end, retries are bounded, addresses are watched, answers are capped.

    async with Site("cohere", "https://api.cohere.com") as site:
        answer = await site.post("v2/rerank", {"query": "…"}, headers={"Authorization": "Bearer …"}, repeatable=True)

A site speaks to the origin of its base URL and to no other: no redirect and no link leads elsewhere with its headers.
The base URL's own host may be private, since an admin chose it, at its port and at that of https; every other address
must be public. Nothing comes out but an `Answer` or the DoorError family, and no message holds a header, a body, a
query or what the other side said.
"""

from __future__ import annotations

import asyncio
import json as jsons
import secrets
import socket
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from types import TracebackType
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from multidict import CIMultiDict
from yarl import URL

from connectors.errors import DoorError, Skip, Stop, Transient

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""Statuses that may be another one if the same is asked again."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""Statuses that lead elsewhere; `as_is` hands them back, for what is stored where our credentials must not go."""

_MOST_HOPS = 3  # redirects followed, all within the site
_LONGEST_ASKED = 86_400.0  # seconds of a Retry-After that are believed
_NEVER_SENT = frozenset({"content-length", "host", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one request; times in seconds."""

    connect: float = 5.0  # to reach the host
    idle: float = 30.0  # without a byte of the answer
    whole: float = 60.0  # for all attempts and the pauses between them
    attempts: int = 3
    first_pause: float = 0.5  # doubled each time, at random between half of it and all of it
    longest_pause: float = 20.0  # the other side may not ask for more, or it is given up at once
    largest: int = 16_000_000  # bytes of an answer, unpacked
    at_once: int = 8  # connections


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """What came back, whole. Printed, it shows its status only."""

    site: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    attempts: int = 1  # it took

    def __repr__(self) -> str:
        return f"Answer({self.site!r}, {self.status})"

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> Any:
        """The body as JSON: strict, so NaN and its kin are no numbers. Raises Stop for a page, Transient for half of
        something."""
        if self.headers.get("content-type", "").partition(";")[0].strip().casefold() in ("text/html", "text/plain"):
            text = self.body.lstrip()[:1]
            if text not in (b"{", b"["):
                raise Stop(f"{self.site} answered with a page instead of JSON; check its address")
        try:
            return jsons.loads(self.body, parse_constant=_no_number)
        except (ValueError, RecursionError):
            pass  # raised below: the error itself quotes the body
        raise Transient(f"{self.site} answered with something that is not JSON")


def refusal(answer: Answer, credentials: str = "its credentials") -> DoorError:
    """What a status that is no success means where the caller has nothing better to say. `credentials`: how a person
    would renew them."""
    match answer.status:
        case 401 | 403 | 407 | 498:
            return Stop(f"{answer.site} refused the request ({answer.status}); check {credentials}")
        case 402:
            return Stop(f"{answer.site} wants to be paid first (402); check the account and {credentials}")
        case 404 | 405 | 410 | 501:
            return Stop(f"{answer.site} does not know what was asked ({answer.status}); check its address and names")
        case 413:
            return Skip(f"{answer.site} finds it too large (413)")
        case status if status in RETRIED or status >= 500:
            return Transient(f"{answer.site} can't answer now ({status})", retry_after(answer.headers))
        case status:
            return Stop(f"{answer.site} did not accept the request ({status}); check its settings")


class Site:
    """One outside system at a configured address, as an async context; one session for everything asked of it."""

    def __init__(
        self, name: str, base_url: str, limits: Limits | None = None, resolver: AbstractResolver | None = None
    ) -> None:
        self.name = name
        self._limits = limits or Limits()
        self._base = _checked(name, base_url)
        self._resolver = resolver
        self._random = secrets.SystemRandom()
        self._open: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Site:
        inner = self._resolver or aiohttp.ThreadedResolver()
        connector = aiohttp.TCPConnector(
            limit=self._limits.at_once,
            resolver=_Watched(inner, self._at_home),
            use_dns_cache=False,  # what was judged is what is connected to, each time
        )
        self._open = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "footnote"},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._limits.connect, sock_read=self._limits.idle),
            trust_env=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open is not None:
            await self._open.close()
            self._open = None

    async def get(
        self, path: str, *, params: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """GET a path below the base URL, or an absolute address of the same origin, such as a link to a next page."""
        return await self.request("GET", path, params=params, headers=headers, repeatable=True)

    async def post(
        self, path: str, json: Any, *, headers: Mapping[str, str] | None = None, repeatable: bool = False
    ) -> Answer:
        """POST JSON. `repeatable`: asking twice does no harm, so a broken answer is asked for again."""
        return await self.request("POST", path, json=json, headers=headers, repeatable=repeatable)

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        body: bytes | None = None,
        repeatable: bool = False,
        limits: Limits | None = None,
        as_is: Set[int] = frozenset(),
    ) -> Answer:
        """Ask, again where that may help, until an answer that is worth having or the limits are reached. An answer may
        have any status but those of `RETRIED`: these raise Transient in the end. Statuses of `as_is` are answers that
        come back as they are: neither asked for again nor followed to another address."""
        asked = _Asked(
            method, self._within(path), dict(params or {}), _sendable(headers, json, body), repeatable, as_is=as_is
        )
        if json is not None:
            body = jsons.dumps(json, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        return await self._bounded(asked, body, limits or self._limits)

    async def fetch_elsewhere(self, url: str, limits: Limits | None = None) -> Answer:
        """GET an address that the site handed out, at its own host on its port or that of https, or at any public one
        over https, with none of the site's headers: its storage, or its keys. No redirect is followed."""
        target = _parsed(self.name, url)
        home = self._at_home(target.host or "", target.port or 0)
        if not _is_protected(target) or target.user or target.password:
            raise Stop(f"{self.name} named an address that is not plain https; nothing was fetched")
        if not home and _literal(target.host) and not is_public(target.host or ""):
            raise Stop(f"{self.name} named a private address; nothing was fetched")
        asked = _Asked("GET", target, {}, CIMultiDict(), repeatable=True, hops=0)
        return await self._bounded(asked, None, limits or self._limits)

    def _at_home(self, host: str, port: int) -> bool:
        """Whether an admin chose this place, so that it may be private. What else listens at that host he did not."""
        return host == self._base.host and port in (self._base.port, 443)

    def _within(self, path: str) -> URL:
        """The address of a path below the base URL; Stop for one that leads elsewhere."""
        if "://" not in path:
            parts = [part for part in path.split("/") if part]
            if ".." in parts or "." in parts:
                raise Stop(f"{self.name} can't be asked for a path that climbs; this is a fault in footnote")
            return self._base.joinpath(*parts)
        target = _parsed(self.name, path)
        if target.origin() != self._base.origin() or target.user or target.password:
            raise Stop(f"{self.name} led to another host than its own; nothing was sent there")
        return target

    async def _bounded(self, asked: _Asked, body: bytes | None, limits: Limits) -> Answer:
        try:
            async with asyncio.timeout(limits.whole):
                return await self._persistent(asked, body, limits)
        except TimeoutError:
            pass  # raised below, so that nothing of what was under way hangs on the error
        raise Transient(f"{self.name} did not answer within {limits.whole:g} seconds")

    async def _persistent(self, asked: _Asked, body: bytes | None, limits: Limits) -> Answer:
        for attempt in range(1, limits.attempts + 1):
            match await self._once(asked, body, limits):
                case Answer(status=status) as answer if status not in RETRIED or status in asked.as_is:
                    return replace(answer, attempts=attempt)
                case Answer() as answer:
                    fault: DoorError = refusal(answer)
                    again = asked.repeatable or answer.status in (429, 503)
                case _Broken(error, reached):
                    fault, again = error, asked.repeatable or not reached
                    if not isinstance(error, Transient):
                        raise error
            pause = self._pause(fault, attempt, limits)
            if attempt == limits.attempts or not again or pause is None:
                raise fault
            await asyncio.sleep(pause)
        raise Transient(f"{self.name} was never asked: no attempt is allowed")

    def _pause(self, fault: DoorError, attempt: int, limits: Limits) -> float | None:
        """Seconds until the next attempt; None where the other side asks for more than is waited."""
        wanted = fault.retry_after if isinstance(fault, Transient) else None
        if wanted is None:
            backoff: float = min(limits.first_pause * 2.0 ** (attempt - 1), limits.longest_pause)
            return backoff * self._random.uniform(0.5, 1.0)
        # A little more than asked, so that everybody who was sent away does not come back at the same instant.
        return None if wanted > limits.longest_pause else wanted + self._random.uniform(0, limits.first_pause)

    async def _once(self, asked: _Asked, body: bytes | None, limits: Limits) -> Answer | _Broken:
        if self._open is None:
            raise Stop(f"{self.name} is not open; this is a fault in footnote")
        url, method = asked.url, asked.method
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=limits.connect, sock_read=limits.idle)
        for _ in range(asked.hops + 1):
            try:
                async with self._open.request(
                    method,
                    url,
                    params=asked.params if url is asked.url else None,
                    headers=asked.headers,
                    data=body,
                    allow_redirects=False,
                    timeout=timeout,
                ) as response:
                    if response.status not in REDIRECTS or response.status in asked.as_is:
                        return await self._read(response, limits)
                    location = response.headers.get("Location", "")
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError, _Forbidden) as error:
                return _Broken(_meaning(self.name, error), not isinstance(error, aiohttp.ClientConnectorError))
            if method not in ("GET", "HEAD"):
                return _Broken(Stop(f"{self.name} sends requests on to another address; check its base URL"), True)
            url = self._next(url, location, asked)
        return _Broken(Stop(f"{self.name} sends requests in a circle; check its base URL"), True)

    def _next(self, url: URL, location: str, asked: _Asked) -> URL:
        target = _parsed(self.name, location, url)
        if asked.hops == 0 or target.origin() != url.origin():
            raise Stop(f"{self.name} sends requests on to another host; check its base URL")
        return target

    async def _read(self, response: aiohttp.ClientResponse, limits: Limits) -> Answer:
        body = bytearray()
        async for piece in response.content.iter_any():
            body += piece
            if len(body) > limits.largest:
                response.close()
                raise Skip(f"{self.name} answered with more than {limits.largest} bytes")
        headers = {name.casefold(): value for name, value in response.headers.items()}
        return Answer(self.name, response.status, headers, bytes(body))


@dataclass(frozen=True, slots=True)
class _Asked:
    method: str
    url: URL
    params: dict[str, str]
    headers: CIMultiDict[str]
    repeatable: bool
    hops: int = field(default=_MOST_HOPS)
    as_is: Set[int] = frozenset()


@dataclass(frozen=True, slots=True)
class _Broken:
    """An attempt without an answer; `reached`: the other side may have seen it."""

    error: DoorError
    reached: bool


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the other side asks to wait, from `Retry-After` as a number or a date. A date counts from the
    answer's own `Date`: its clock is the only one that both know."""
    asked = headers.get("retry-after", "").strip()
    if asked.isascii() and asked.replace(".", "", 1).isdecimal() and len(asked) <= 20:
        return min(float(asked), _LONGEST_ASKED)
    try:
        seconds = (parsedate_to_datetime(asked) - parsedate_to_datetime(headers.get("date", ""))).total_seconds()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return min(max(seconds, 0.0), _LONGEST_ASKED)


# ---------------------------------------------------------------- addresses

_EMBEDDING_V4: tuple[tuple[IPv6Network, int], ...] = (
    (IPv6Network("::ffff:0:0/96"), 0),  # v4-mapped
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("2002::/16"), 80),  # 6to4: the address stands in bits 16 to 48
)
_NEVER = (IPv6Network("64:ff9b:1::/48"), IPv6Network("2001::/32"), IPv6Network("fec0::/10"), IPv6Network("::/96"))


def is_public(address: str) -> bool:
    """Whether an address is one of the open internet, also where it is wrapped in IPv6. What can't be read is not."""
    try:
        parsed = ip_address(address.strip("[]"))
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        if parsed.scope_id or any(parsed in network for network in _NEVER):
            return False
        for network, shift in _EMBEDDING_V4:
            if parsed in network:  # is_global says yes to 64:ff9b::a9fe:a9fe, which is the metadata service
                return is_public(str(IPv4Address(int(parsed) >> shift & 0xFFFF_FFFF)))
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


class _Forbidden(Exception):
    """A name that leads to an address nobody configured. Not an OSError: it is no accident of the network."""


class _Watched(AbstractResolver):
    """Looks names up and lets nothing private through but the site's own place."""

    def __init__(self, inner: AbstractResolver, at_home: Callable[[str, int], bool]) -> None:
        self._inner = inner
        self._at_home = at_home

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        if not self._at_home(host, port) and not all(is_public(each["host"]) for each in found):
            raise _Forbidden
        return found

    async def close(self) -> None:
        await self._inner.close()


def _checked(name: str, base_url: str) -> URL:
    """The base URL, when it is https, or on this machine."""
    url = _parsed(name, base_url)
    if url.user or url.password or url.query_string or url.fragment:
        raise Stop(f"the address of {name} must have no user, query or fragment")
    if not _is_protected(url):
        raise Stop(f"the address of {name} must be https; plain http is for this machine only")
    return url


def _parsed(name: str, address: str, base: URL | None = None) -> URL:
    try:
        url = URL(address) if base is None else base.join(URL(address))
        if url.scheme in ("http", "https") and url.host:
            url.port  # noqa: B018 - reading it is what checks it
            return url
    except (ValueError, TypeError):
        pass
    raise Stop(f"{name} has an address that can't be used; check it")


def _is_protected(url: URL) -> bool:
    """Whether nobody on the way can read along: https, or this machine talking to itself."""
    return url.scheme == "https" or (url.scheme == "http" and _is_this_machine(url.host or ""))


def _literal(host: str | None) -> bool:
    try:
        ip_address((host or "").strip("[]"))
    except ValueError:
        return False
    return True


def _is_this_machine(host: str) -> bool:
    return host == "localhost" or (_literal(host) and ip_address(host.strip("[]")).is_loopback)


def _sendable(headers: Mapping[str, str] | None, json: Any, body: bytes | None) -> CIMultiDict[str]:
    sent = CIMultiDict({k: v for k, v in (headers or {}).items() if k.casefold() not in _NEVER_SENT})
    sent.setdefault("Accept", "application/json")
    if json is not None:
        sent["Content-Type"] = "application/json"
    elif body is not None:
        sent.setdefault("Content-Type", "application/octet-stream")
    return sent


# ---------------------------------------------------------------- errors


def _meaning(name: str, error: BaseException) -> DoorError:
    """Any error of the library as one of ours. Its own words may quote what was sent or what came, so they end here."""
    match error:
        case _Forbidden():
            return Stop(f"{name} led to a private address; nothing was sent there")
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError():
            return Stop(f"{name} has a certificate that is not trusted; check its address or the certificates here")
        case aiohttp.ClientConnectorDNSError():
            return Transient(f"the host of {name} can't be found")
        case aiohttp.ServerTimeoutError() | TimeoutError():
            return Transient(f"{name} did not answer in time")
        case aiohttp.ClientConnectorError():
            return Transient(f"{name} can't be reached")
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | OSError():
            return Transient(f"{name} broke off")
        case aiohttp.InvalidURL() | ValueError():
            return Stop(f"{name} can't be asked with these settings; check its address and keys for stray characters")
        case _:
            return Transient(f"{name} did not answer as a web server does")


def _no_number(_: str) -> Any:
    raise ValueError("not a number")
