"""A wiki on HTTP: every request is signed by somebody, counted, and may be made to go wrong.

    wiki = Wiki()
    server = Server(wiki, crawler="robot")
    async with server.open() as base: ...

Cloud is served below `/wiki`, or at the gateway `/ex/confluence/{cloud}/wiki` where `scoped`; Data Center below
`/confluence`. What an account may not view does not exist for it.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from tests.doubles.confluence import oracle, organisation
from tests.doubles.confluence.wiki import Content, Person, Wiki
from tests.doubles.vendor import Fault, Refusal
from tests.doubles.web import served

Json = dict[str, Any]
TOKEN = "wiki-test-token"
CLOUD = "0c5a1f3e-cloud"


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, as an endpoint sees it."""

    server: Server
    person: Person
    parts: tuple[str, ...]  # what the pattern of the endpoint caught
    query: dict[str, str]
    many: Callable[[str], list[str]]  # every value of a parameter, split at commas
    body: Any
    path: str
    headers: dict[str, str]

    @property
    def wiki(self) -> Wiki:
        return self.server.wiki

    def number(self, name: str, default: int) -> int:
        """A parameter that is a number; Refusal(400) where it is none."""
        try:
            return int(self.query.get(name, default))
        except ValueError:
            raise Refusal(400, f"{name} must be a number") from None

    def sees(self, content: Content) -> bool:
        """Whether it exists for whoever asks."""
        space = self.wiki.spaces[oracle.host(self.wiki, content).space]
        if space.blocked and self.server.is_app:
            return False
        draft_of_others = content.status == "draft" and content.author != self.person.account
        return not draft_of_others and self.views(content)

    def views(self, content: Content) -> bool:
        """Whether the rights of whoever asks reach it."""
        remembered, key = self.server.remembered, ("view", self.person.account, content.id)
        if key not in remembered:
            remembered[key] = oracle.may_view(self.wiki, self.person, content)
        return bool(remembered[key])

    def content(self, key: str, *kinds: str) -> Content:
        """The content with an id; Refusal(404) where it does not exist for whoever asks."""
        found = self.wiki.content.get(key)
        if found is None or (kinds and found.kind not in kinds) or not self.sees(found):
            raise Refusal(404, f"No content found with id: {key}")
        return found

    def need_admin(self) -> None:
        """Refusal(403) for whoever is no product admin."""
        if not self.person.admin:
            raise Refusal(403, "not permitted")


@dataclass(frozen=True, slots=True)
class Redirect:
    """An answer that leads elsewhere."""

    location: str


@dataclass(frozen=True, slots=True)
class Bytes:
    """An answer that is a file."""

    data: bytes
    media_type: str


Endpoint = Callable[[Ask], Any]  # a JSON value, Redirect, Bytes or web.Response
Table = list[tuple[str, str, Endpoint]]  # method, pattern of the path with {} for its parts


@dataclass(slots=True)
class Going:
    """A fault on requests whose `METHOD path?query` a pattern finds: skip some, then go wrong so often."""

    pattern: re.Pattern[str]
    fault: Fault
    times: int | None
    after: int
    met: int = 0

    def strikes(self, line: str) -> bool:
        if not self.pattern.search(line):
            return False
        self.met += 1
        late = self.met > self.after
        return late and (self.times is None or self.met <= self.after + self.times)


@dataclass(slots=True)
class Server:
    """The HTTP side of a wiki. `crawler`: the account whose token is `TOKEN`; more can be let in with `tokens`."""

    wiki: Wiki
    crawler: str = "robot"
    tokens: dict[str, str] = field(default_factory=dict)  # token -> account
    scoped: bool = False  # the token works at the gateway only
    is_app: bool = True  # counts as an app for data security policies
    websudo: bool = False  # what is for admins answers with a page that asks for the password
    remote_api: bool = True  # JSON-RPC of old Data Centers is switched on
    caps: dict[str, int] = field(
        default_factory=lambda: {
            "v2": 250,
            "bare": 1000,
            "expanded": 200,
            "body": 50,
            "inner": 200,
            "organisation": 100,
        }
    )
    tells_operations: bool = True  # what an account may do to the product, where that is asked to be expanded
    v1_ancestors: frozenset[str] = frozenset({"page", "folder", "whiteboard", "database", "embed"})
    counts: Counter[str] = field(default_factory=Counter)  # by endpoint, its parts as {}
    lines: list[str] = field(default_factory=list)  # `METHOD path?query` of each request
    heard: Callable[[str], None] = lambda _line: None  # told of each request as it comes in
    leaked: list[str] = field(default_factory=list)  # requests to the store of files that carried a token
    refresh_token: str = "refresh-1"
    spent_token: str = ""  # the one before it, which is taken as well where `lenient`: for ten minutes on Cloud
    lenient: bool = False
    issued: int = 0
    base: str = ""
    _remembered: dict[Any, Any] = field(default_factory=dict)
    _remembered_at: int = -1
    _going: list[Going] = field(default_factory=list)
    _tables: Table = field(default_factory=list)
    _compiled: list[tuple[str, re.Pattern[str], str, Endpoint]] = field(default_factory=list)

    def __post_init__(self) -> None:
        from tests.doubles.confluence import cloud_v1, cloud_v2, datacenter

        cloud = self.wiki.edition == "cloud"
        self.tokens.setdefault(TOKEN, self.crawler)
        self._tables = [*cloud_v2.ENDPOINTS, *cloud_v1.ENDPOINTS] if cloud else [*datacenter.ENDPOINTS]
        for method, pattern, endpoint in self._tables:
            expression = "".join(
                "([^/]+)" if part == "{}" else re.escape(part) for part in re.split(r"(\{\})", pattern)
            )
            self._compiled.append((method, re.compile(expression + "/?"), pattern, endpoint))

    # ------------------------------------------------------------ going wrong, and looking back

    def fault(self, pattern: str, fault: Fault, times: int | None = None, after: int = 0) -> None:
        """Requests that this pattern finds in `METHOD path?query` go wrong, for ever or so many times."""
        self._going.append(Going(re.compile(pattern), fault, times, after))

    def calm(self) -> None:
        """Answer rightly again, and forget what was asked."""
        self._going.clear()
        self.counts.clear()
        self.lines.clear()

    @property
    def asked(self) -> int:
        """Requests so far."""
        return sum(self.counts.values())

    @property
    def remembered(self) -> dict[Any, Any]:
        """What was worked out since the last mutation."""
        if self._remembered_at != len(self.wiki.log):
            self._remembered, self._remembered_at = {}, len(self.wiki.log)
        return self._remembered

    # ------------------------------------------------------------ serving

    @property
    def context(self) -> str:
        """The path below which the product lives."""
        if self.wiki.edition == "datacenter":
            return "/confluence"
        return f"/ex/confluence/{CLOUD}/wiki" if self.scoped else "/wiki"

    def address(self, path: str) -> str:
        """The whole address of a path below the context."""
        return self.base + self.context + path

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        """Serve; gives the base URL that an admin would configure."""
        async with served({"/{path:.*}": self._serve}) as url:
            self.base = url
            yield url + self.context

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        line = f"{request.method} {request.raw_path}"
        self.lines.append(line)
        self.heard(line)
        right: Any = None
        try:
            right = self._answer(request, raw)
        except Refusal as refusal:
            right = web.json_response(
                {"statusCode": refusal.status, "message": str(refusal)},
                status=refusal.status,
                headers=_challenge(refusal),
            )
        striking = next((each for each in self._going if each.strikes(line)), None)
        if striking is not None:
            return await striking.fault(request, right if isinstance(right, dict) else {})
        return self._response(right)

    def _response(self, right: Any) -> web.StreamResponse:
        match right:
            case web.StreamResponse():
                return right
            case Redirect(location):
                return web.Response(status=302, headers={"Location": location})
            case Bytes(data, media_type):
                return web.Response(body=data, headers={"Content-Type": media_type})
            case None:
                return web.Response(status=204)
            case _:
                links = right.get("_links", {}) if isinstance(right, dict) else {}
                headers = {"Link": f'<{links["next"]}>; rel="next"'} if "next" in links else {}
                return web.json_response(right, headers=headers)

    def _answer(self, request: web.Request, raw: bytes) -> Any:
        path = request.raw_path.partition("?")[0]
        if special := self._without_token(request, path, raw):
            return special
        if not path.startswith(self.context + "/"):
            self.counts[f"{request.method} elsewhere"] += 1
            if self.scoped and path.startswith("/wiki/"):
                raise Refusal(401, "Unauthorized; scope does not match")
            raise Refusal(404, "no such place")
        person = self._who(request)
        path = path[len(self.context) :]
        for method, expression, pattern, endpoint in self._compiled:
            if method == request.method and (met := expression.fullmatch(path)):
                self.counts[f"{method} {pattern}"] += 1
                body = json.loads(raw) if raw else None
                parts = tuple(unquote(part) for part in met.groups())
                return endpoint(self._ask(request, person, parts, body, path))
        self.counts[f"{request.method} unknown"] += 1
        raise Refusal(404, f"null for uri: {path}")

    def _ask(self, request: web.Request, person: Person, parts: tuple[str, ...], body: Any, path: str) -> Ask:
        query = dict(request.query)

        def many(name: str) -> list[str]:
            return [piece for value in request.query.getall(name, []) for piece in value.split(",") if piece]

        return Ask(self, person, parts, query, many, body, path, dict(request.headers))

    def _without_token(self, request: web.Request, path: str, raw: bytes) -> Any:
        match request.method, path:
            case "GET", "/_edge/tenant_info" if self.wiki.edition == "cloud":
                self.counts["GET /_edge/tenant_info"] += 1
                return {"cloudId": CLOUD}
            case "POST", "/oauth/token" if self.wiki.edition == "cloud":
                self.counts["POST /oauth/token"] += 1
                return self._refreshed(json.loads(raw or b"{}"))
            case "POST", _ if self.wiki.edition == "cloud" and (met := organisation.PATH.fullmatch(path)):
                self.counts["POST /admin/v2/orgs/{}/directories/-/users/search"] += 1
                key = request.headers.get("Authorization", "")
                return organisation.people(self.wiki, met[1], key, json.loads(raw), self.caps["organisation"])
            case "GET", _ if path.startswith("/media/"):
                self.counts["GET /media/{}"] += 1
                if "Authorization" in request.headers:
                    self.leaked.append(path)
                    raise Refusal(400, "Only one auth mechanism allowed")
                found = self.wiki.content[path.rpartition("/")[2]]
                return Bytes(found.bytes, found.media_type)
            case _:
                return None

    def _refreshed(self, body: Json) -> Json:
        """A refresh token is good once: the answer holds the next one (rotating refresh tokens of 3LO)."""
        good = {self.refresh_token, self.spent_token} if self.lenient else {self.refresh_token}
        if body.get("grant_type") != "refresh_token" or body.get("refresh_token") not in good:
            raise Refusal(403, "unauthorized_client: refresh_token is invalid")
        self.issued += 1
        self.spent_token = self.refresh_token
        self.refresh_token = f"refresh-{self.issued + 1}"
        token = f"access-{self.issued}"
        self.tokens[token] = self.crawler
        return {
            "access_token": token,
            "expires_in": 3600,
            "token_type": "Bearer",
            "refresh_token": self.refresh_token,
            "scope": "read:page:confluence offline_access",
        }

    def _who(self, request: web.Request) -> Person:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        account: str | None = None
        if scheme == "Bearer":
            account = self.tokens.get(secret)
        elif scheme == "Basic" and self.wiki.edition == "cloud":
            email, _, token = b64decode(secret).decode().partition(":")
            account = self.tokens.get(token)
            if account is not None and self.wiki.people[account].email != email:
                account = None
        if account is None:
            raise Refusal(401, "Client must be authenticated to access this resource.")
        person = self.wiki.people[account]
        if not person.active:
            raise Refusal(401, "Basic authentication with passwords is deprecated or the account is inactive")
        return person


def _challenge(refusal: Refusal) -> Json:
    return {"WWW-Authenticate": "OAuth realm"} if refusal.status == 401 else {}
