"""An OpenID provider, by authlib: where to send a browser, and who came back.

What comes back counts only when all of it fits: the state is this browser's, the issuer the one asked, the code
is exchanged with the verifier of PKCE, and the ID token is signed by a key of exactly that issuer with an algorithm of
ours, for this application, for this nonce, now. Keys come from the issuer's own address alone; a token's header that
brings or names keys is refused. Messages never hold a token, a code or what the other side said.

Sources: OpenID Connect Core 1.0 section 3.1.3.7, RFC 7636 (PKCE), RFC 9207 (`iss`), RFC 8725 (JWT best practice).
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from authlib.oauth2.client import OAuth2Client
from authlib.oauth2.rfc6749.parameters import prepare_token_request
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import OpenIDProviderMetadata
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from yarl import URL

from connectors.errors import DoorError, Stop, Transient
from connectors.http import Answer, Limits, Site, refusal
from connectors.logins import Leg, Login, LoginRefused, Renewed

ALGORITHMS = ("RS256", "PS256", "ES256")
LIMITS = Limits(connect=5.0, idle=10.0, whole=20.0, attempts=2, longest_pause=3.0, largest=1_000_000)
SKEW = 60  # seconds that two clocks may differ
_KNOWN_FOR = timedelta(hours=1)  # that what the provider says of itself is believed
_KEYS_AGAIN = timedelta(minutes=1)  # between two looks for a key that is not known
_LONGEST = 16_000  # characters of an ID token
_LONGEST_GROUP = 255  # characters of a group's name
_MOST_GROUPS = 2_000
_FORM = "application/x-www-form-urlencoded"
_BRINGS_KEYS = frozenset({"jwk", "jku", "x5u", "x5c", "crit", "b64"})


@dataclass(frozen=True, slots=True)
class Registration:
    """This application at a provider."""

    issuer: str
    client_id: str
    redirect_uri: str
    client_secret: str | None = field(default=None, repr=False)
    scope: str = "openid profile email offline_access"
    always_pkce: bool = True  # False: only where the provider says that it can
    prompt: str | None = "select_account"
    extra: Mapping[str, str] = field(default_factory=dict)  # more parameters of the address
    groups_claim: str = ""  # of the ID token: the names of a person's groups; empty: groups are not looked at


@dataclass(frozen=True, slots=True)
class _Known:
    """What the provider says of itself, and its keys."""

    metadata: Mapping[str, Any]
    keys: KeySet
    at: datetime  # when the keys were read


class OidcProvider:
    """Port `Provider`, as an async context."""

    def __init__(self, name: str, registration: Registration, limits: Limits = LIMITS) -> None:
        """`name`: for messages, such as `the identity provider`."""
        self._name = name
        self._reg = registration
        self._limits = limits
        self._home = Site(name, registration.issuer, limits)
        self._others: dict[str, Site] = {}
        self._known: _Known | None = None
        self._learning = asyncio.Lock()

    @property
    def issuer(self) -> str:
        """As it was configured."""
        return self._reg.issuer

    async def __aenter__(self) -> OidcProvider:
        await self._home.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for site in (*self._others.values(), self._home):
            await site.__aexit__(kind, error, trace)
        self._others.clear()

    # ------------------------------------------------------------ there and back

    async def address(self, leg: Leg, now: datetime) -> str:
        """Where a browser goes to log in."""
        known = await self._learn(now)
        pkce = self._pkce(known)
        client = OAuth2Client(
            None,
            client_id=self._reg.client_id,
            redirect_uri=self._reg.redirect_uri,
            scope=self._reg.scope,
            code_challenge_method="S256" if pkce else None,
        )
        prompt = _prompt(known, self._reg)
        more = {**({"prompt": prompt} if prompt else {}), **self._reg.extra}
        made: str
        made, _state = client.create_authorization_url(
            known.metadata["authorization_endpoint"],
            state=leg.state,
            code_verifier=leg.verifier if pkce else None,
            nonce=leg.nonce,
            **more,
        )
        return made

    async def login(self, answer: Mapping[str, str], leg: Leg, now: datetime) -> Login:
        """Who came back with these parameters."""
        known = await self._learn(now)
        # 1. The way back belongs to the way there.
        if not hmac.compare_digest(answer.get("state", "").encode(), leg.state.encode()):
            raise LoginRefused("state")
        # 2. It is the provider that was asked who answers (RFC 9207).
        said = answer.get("iss")
        if said is None and known.metadata.get("authorization_response_iss_parameter_supported") is True:
            raise LoginRefused("issuer")
        if said is not None and said != known.metadata["issuer"]:
            raise LoginRefused("issuer")
        # 3. It let somebody in.
        if "error" in answer or not answer.get("code"):
            raise LoginRefused("denied")
        # 4. The code is worth something to us alone.
        pkce = {"code_verifier": leg.verifier} if self._pkce(known) else {}
        token = await self._token(known, "authorization_code", code=answer["code"], **pkce)
        if token is None:
            raise LoginRefused("code")
        # 5. The ID token says who it was.
        claims = await self._claims(token.get("id_token"), token.get("access_token"), leg.nonce, known, now)
        refresh = token.get("refresh_token")
        return Login(self.issuer, claims["sub"], claims, refresh if isinstance(refresh, str) and refresh else None)

    async def renew(self, refresh: str, now: datetime) -> Renewed | None:
        """What the provider says of a login now; None when it refuses. Groups come from the ID token of this answer
        (OpenID Connect Core 12.2) and from nowhere else: without one, or with one that does not fit, there are none."""
        known = await self._learn(now)
        token = await self._token(known, "refresh_token", refresh_token=refresh)
        if token is None:
            return None
        given = token.get("refresh_token")
        renewed = Renewed(given if isinstance(given, str) and given else refresh)
        if not self._reg.groups_claim or "id_token" not in token:
            return renewed
        try:
            claims = await self._claims(token["id_token"], token.get("access_token"), None, known, now)
        except DoorError:  # the new token must be kept whatever came with it
            return renewed
        return replace(renewed, subject=claims["sub"], groups=_groups(claims.get(self._reg.groups_claim)))

    async def revoke(self, refresh: str, now: datetime) -> None:
        """Best effort: RFC 7009, where the provider has it."""
        known = await self._learn(now)
        endpoint = known.metadata.get("revocation_endpoint")
        if not isinstance(endpoint, str):
            return
        body = urlencode({"token": refresh, "token_type_hint": "refresh_token"})
        with suppress(DoorError):
            await self._posted(known, endpoint, body)

    def _pkce(self, known: _Known) -> bool:
        return self._reg.always_pkce or "S256" in (known.metadata.get("code_challenge_methods_supported") or ())

    # ------------------------------------------------------------ tokens

    async def _token(self, known: _Known, grant: str, **fields: str) -> Mapping[str, Any] | None:
        """What the token endpoint gives for a grant; None when it refuses the grant itself."""
        redirect = self._reg.redirect_uri if grant == "authorization_code" else None
        body = prepare_token_request(grant, redirect_uri=redirect, **fields)
        answer = await self._posted(known, known.metadata["token_endpoint"], body)
        try:
            content = answer.json()
        except DoorError:
            content = None
        if not isinstance(content, dict):
            raise refusal(answer, "its address") if not answer.ok else Transient(f"{self._name} gave no token")
        # Slack answers a refusal with 200, `ok: false` and an error of its own.
        error = content.get("error")
        if error in ("invalid_grant", "invalid_code", "code_already_used", "bad_code_verifier", "access_denied"):
            return None
        if error is not None or not answer.ok:
            credentials = "its client id, secret and redirect address"
            raise Stop(f"{self._name} does not accept this application; check {credentials}")
        return content

    async def _posted(self, known: _Known, endpoint: str, body: str) -> Answer:
        client = OAuth2Client(
            None, client_id=self._reg.client_id, client_secret=self._reg.client_secret, **_method(known, self._reg)
        )
        headers: dict[str, str]
        _uri, headers, body = client.client_auth(client.token_endpoint_auth_method).prepare(
            "POST", endpoint, {"Content-Type": _FORM, "Accept": "application/json"}, body
        )
        site = await self._site(endpoint)
        # Never twice: a code and a rotated refresh token are good once, and asking again would burn the whole grant.
        return await site.request("POST", endpoint, headers=headers, body=body.encode(), repeatable=False)

    async def _site(self, address: str) -> Site:
        """Who is spoken to at an address; at another origin than the issuer's only where that is https."""
        origin = URL(address).origin()
        if origin == URL(self._reg.issuer).origin():
            return self._home
        if str(origin) not in self._others:
            if origin.scheme != "https":
                raise Stop(f"{self._name} names an address that is not https; check its issuer")
            self._others[str(origin)] = await Site(self._name, str(origin), self._limits).__aenter__()
        return self._others[str(origin)]

    # ------------------------------------------------------------ what the provider says of itself

    async def _learn(self, now: datetime, *, keys_again: bool = False) -> _Known:
        async with self._learning:
            known = self._known
            patience = _KEYS_AGAIN if keys_again else _KNOWN_FOR
            if known is not None and now - known.at < patience:
                return known
            self._known = await self._read(now)
            return self._known

    async def _read(self, now: datetime) -> _Known:
        answer = await self._home.get(".well-known/openid-configuration")
        if not answer.ok:
            raise refusal(answer, "FOOTNOTE_OIDC_ISSUER")
        metadata = answer.json()
        if not isinstance(metadata, dict):
            raise Stop(f"{self._name} says nothing of itself; check its issuer")
        issuer = metadata.get("issuer")
        if issuer not in (self._reg.issuer, f"{self._reg.issuer}/"):
            raise Stop(f"{self._name} is not the issuer that was configured; name exactly one tenant's issuer")
        checked = OpenIDProviderMetadata({**metadata})
        try:
            for part in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                if URL(str(metadata.get(part))).scheme != "http" or URL(self._reg.issuer).scheme != "http":
                    getattr(checked, f"validate_{part}")()
        except ValueError as error:
            raise Stop(f"{self._name} names no usable addresses; check its issuer") from error
        return _Known(metadata, await self._keys(str(metadata["jwks_uri"])), now)

    async def _keys(self, address: str) -> KeySet:
        answer = await self._home.fetch_elsewhere(address)
        if not answer.ok:
            raise refusal(answer, "its issuer")
        content = answer.json()
        kept = [key for key in content.get("keys", ()) if _may_sign(key)] if isinstance(content, dict) else []
        try:
            return KeySet.import_key_set({"keys": kept})
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise Stop(f"{self._name} publishes no key that can be used; check its issuer") from error

    # ------------------------------------------------------------ ID tokens

    async def _claims(
        self, token: Any, access_token: Any, nonce: str | None, known: _Known, now: datetime
    ) -> Mapping[str, Any]:
        header = _header(token)
        supported = known.metadata.get("id_token_signing_alg_values_supported") or ALGORITHMS
        algorithms = [each for each in ALGORITHMS if each in supported]
        if header.get("alg") not in algorithms or header.keys() & _BRINGS_KEYS:
            raise LoginRefused("signature")
        if str(header.get("typ", "JWT")).casefold() != "jwt":
            raise LoginRefused("type")
        if header.get("kid") not in {key.kid for key in known.keys.keys} and "kid" in header:
            known = await self._learn(now, keys_again=True)
        try:
            key = known.keys.get_by_kid(header.get("kid"))
            decoded = jwt.decode(token, key, algorithms=algorithms)
        except (JoseError, ValueError, TypeError, KeyError):
            raise LoginRefused("signature") from None  # what exactly was wrong is the sender's business alone
        return self._checked(decoded, access_token, nonce, known, now)

    def _checked(
        self, decoded: Any, access_token: Any, nonce: str | None, known: _Known, now: datetime
    ) -> Mapping[str, Any]:
        """The claims of a token that is for us, now. `nonce`: None where no browser came back with it."""
        expected = {
            "iss": {"essential": True, "value": known.metadata["issuer"]},
            "aud": {"essential": True, "value": self._reg.client_id},
            "sub": {"essential": True},
        }
        params = {"client_id": self._reg.client_id, "access_token": access_token}
        params |= {} if nonce is None else {"nonce": nonce}
        claims = CodeIDToken(decoded.claims, decoded.header, expected, params)
        try:
            claims.validate(now=int(now.timestamp()), leeway=SKEW)
        except (JoseError, ValueError, TypeError) as error:
            raise LoginRefused(str(getattr(error, "claim", None) or "claims")) from None
        subject, issued = claims.get("sub"), claims.get("iat")
        if not isinstance(subject, str) or not 0 < len(subject) <= 255 or not subject.isprintable():
            raise LoginRefused("sub")
        if not isinstance(issued, int | float) or issued > now.timestamp() + SKEW:
            raise LoginRefused("iat")
        if nonce is not None and not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise LoginRefused("nonce")
        return dict(claims)


def _groups(told: Any) -> frozenset[str]:
    """The names in a claim of groups: a list of texts, or one text."""
    names = told if isinstance(told, list) else [told]
    return frozenset(name for name in names[:_MOST_GROUPS] if isinstance(name, str) and 0 < len(name) <= _LONGEST_GROUP)


def _prompt(known: _Known, registration: Registration) -> str | None:
    """What the person is asked at the provider. OpenID Connect Core 11 wants consent asked for before offline access is
    given; Entra and Okta, which do not, take one value alone and publish no list."""
    wanted, listed = registration.prompt, known.metadata.get("prompt_values_supported")
    if wanted is None or not isinstance(listed, list):
        return wanted
    chosen = [wanted if wanted in listed else "login"]
    if "offline_access" in registration.scope.split() and "consent" in listed:
        chosen.append("consent")
    return " ".join(chosen)


def _method(known: _Known, registration: Registration) -> dict[str, str]:
    """How the application proves itself at the token endpoint."""
    if registration.client_secret is None:
        return {"token_endpoint_auth_method": "none"}
    methods = known.metadata.get("token_endpoint_auth_methods_supported") or ("client_secret_basic",)
    # In a form everybody agrees how a secret is written; in the Basic header RFC 6749 and browsers do not.
    posted = "client_secret_post" in methods
    return {"token_endpoint_auth_method": "client_secret_post" if posted else "client_secret_basic"}


def _may_sign(key: Any) -> bool:
    """Whether a published key may have signed an ID token: a public one of a kind that our algorithms use."""
    return isinstance(key, dict) and key.get("kty") in ("RSA", "EC") and key.get("use", "sig") == "sig"


def _header(token: Any) -> Mapping[str, Any]:
    """The header of a token, before anything in it is believed."""
    if not isinstance(token, str) or len(token) > _LONGEST or token.count(".") != 2:
        raise LoginRefused("token")
    part = token.partition(".")[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        raise LoginRefused("token") from None
    if not isinstance(header, dict):
        raise LoginRefused("token")
    return header
