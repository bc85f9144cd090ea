"""ID tokens that prove nothing, and providers that are not the one that was asked. Tokens are made here by hand."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import web
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, RSAKey

from connectors.errors import DoorError, Stop, Transient
from connectors.http import Limits
from connectors.identity.oidc import OidcProvider, Registration
from connectors.logins import Leg, Login, LoginRefused, Renewed
from tests.conftest import NOW
from tests.doubles.web import served

CLIENT, BACK = "footnote", "http://127.0.0.1:9/link/login/callback"
LEG = Leg("the-state", "the-nonce", "the-verifier-which-is-long-enough-for-pkce-0123456789")
BACK_WITH = {"state": LEG.state, "code": "a-code"}
HURRIED = Limits(connect=1, idle=2, whole=3, attempts=1)
RSA = RSAKey.generate_key(2048, {"kid": "one"})
EC = ECKey.generate_key("P-256", {"kid": "two"})
Json = dict[str, Any]


@dataclass(slots=True)
class Hand:
    """A provider whose every answer is made by hand."""

    origin: str = ""
    metadata: Json = field(default_factory=dict)
    keys: list[Any] = field(default_factory=lambda: [RSA])
    token: Callable[[], Json] = dict
    asked: list[Json] = field(default_factory=list)
    looks: int = 0
    status: int = 200
    now: datetime = NOW

    def claims(self, **changes: Any) -> Json:
        moment = int(self.now.timestamp())
        plain = {"iss": self.origin, "sub": "asha", "aud": CLIENT, "iat": moment, "exp": moment + 300,
                 "nonce": LEG.nonce}  # fmt: skip
        return {key: value for key, value in {**plain, **changes}.items() if value is not None}

    def gives(self, id_token: Any, **more: Any) -> None:
        self.token = lambda: {"access_token": "at", "token_type": "Bearer", "id_token": id_token, **more}

    def signed(self, key: Any = RSA, header: Json | None = None, **claims: Any) -> str:
        alg = "ES256" if key is EC else "RS256"
        return jwt.encode({"alg": alg, "kid": key.kid, **(header or {})}, self.claims(**claims), key)

    async def _configuration(self, _request: web.Request) -> web.Response:
        plain = {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "jwks_uri": f"{self.origin}/keys",
        }
        return web.json_response({**plain, **self.metadata})

    async def _keys(self, _request: web.Request) -> web.Response:
        self.looks += 1
        return web.json_response(KeySet(self.keys).as_dict(private=False))

    async def _token(self, request: web.Request) -> web.Response:
        self.asked.append(dict(await request.post()))
        return web.json_response(self.token(), status=self.status)


@pytest.fixture
async def hand() -> AsyncIterator[Hand]:
    made = Hand()
    routes = {"/.well-known/openid-configuration": made._configuration, "/keys": made._keys, "/token": made._token}
    async with served(routes) as origin:
        made.origin = origin
        yield made


@asynccontextmanager
async def provider(hand: Hand, **more: Any) -> AsyncIterator[OidcProvider]:
    async with OidcProvider("the provider", Registration(hand.origin, CLIENT, BACK, "secret", **more), HURRIED) as made:
        yield made


async def login(hand: Hand, answer: Json | None = None, leg: Leg = LEG) -> Login:
    async with provider(hand) as made:
        return await made.login(BACK_WITH if answer is None else answer, leg, hand.now)


async def refused(hand: Hand, answer: Json | None = None) -> str:
    with pytest.raises(LoginRefused) as caught:
        await login(hand, answer)
    return caught.value.why


def raw(header: Json, claims: Json, signature: bytes = b"") -> str:
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


@pytest.mark.parametrize("key", [RSA, EC], ids=["RS256", "ES256"])
async def test_a_token_that_fits_proves_a_login(hand: Hand, key: Any) -> None:
    hand.keys = [RSA, EC]
    hand.gives(hand.signed(key), refresh_token="r1")

    found = await login(hand)
    assert (found.issuer, found.subject, found.refresh) == (hand.origin, "asha", "r1")
    [asked] = hand.asked
    assert asked["code_verifier"] == LEG.verifier
    assert asked["redirect_uri"] == BACK
    assert "r1" not in repr(found)


async def test_the_address_carries_state_nonce_and_the_challenge_of_pkce(hand: Hand) -> None:
    async with provider(hand) as made:
        address = await made.address(LEG, NOW)

    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert asked["state"] == LEG.state
    assert asked["nonce"] == LEG.nonce
    assert asked["code_challenge_method"] == "S256"
    assert LEG.verifier not in address
    assert asked["prompt"] == "select_account"


async def test_pkce_is_left_out_only_where_it_may_be_and_is_not_offered(hand: Hand) -> None:
    async with provider(hand, always_pkce=False) as made:
        assert "code_challenge" not in await made.address(LEG, NOW)
    hand.metadata = {"code_challenge_methods_supported": ["S256"]}
    async with provider(hand, always_pkce=False) as made:
        assert "code_challenge" in await made.address(LEG, NOW)


async def test_t001_an_unsigned_token_is_refused(hand: Hand) -> None:
    hand.gives(raw({"alg": "none", "typ": "JWT"}, hand.claims()))

    assert await refused(hand) == "signature"


async def test_t002_a_token_signed_with_a_public_key_as_a_secret_is_refused(hand: Hand) -> None:
    unsigned = raw({"alg": "HS256", "kid": "one"}, hand.claims()).rstrip(".")
    signature = hmac.new(RSA.as_pem(private=False), unsigned.encode(), "sha256").digest()
    hand.gives(f"{unsigned}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}")

    assert await refused(hand) == "signature"


@pytest.mark.parametrize("name", ["jwk", "jku", "x5u", "x5c", "crit"])
async def test_t003_t004_a_token_that_brings_or_names_keys_is_refused_without_a_look(hand: Hand, name: str) -> None:
    thief = RSAKey.generate_key(2048, {"kid": "one"})
    value = {"jwk": thief.as_dict(private=False), "crit": ["exp"], "x5c": ["MII="]}.get(name, "http://127.0.0.1:1/keys")
    header, body = {"alg": "RS256", "kid": "one", name: value}, hand.claims()
    hand.gives(raw(header, body, b"x" * 256))

    assert await refused(hand) == "signature"
    assert hand.looks == 1


async def test_a_token_that_another_key_signed_is_refused(hand: Hand) -> None:
    hand.gives(hand.signed(RSAKey.generate_key(2048, {"kid": "one"})))

    assert await refused(hand) == "signature"


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"iss": "https://evil.example"}, "iss"),
        ({"iss": None}, "iss"),
        ({"aud": "another-application"}, "aud"),
        ({"aud": ["another-application"]}, "aud"),
        ({"aud": None}, "aud"),
        ({"azp": "another-application"}, "azp"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, "azp"),
        ({"exp": int(NOW.timestamp()) - 61}, "exp"),
        ({"exp": None}, "exp"),
        ({"exp": "tomorrow"}, "exp"),
        ({"nbf": int(NOW.timestamp()) + 61}, "nbf"),
        ({"iat": int(NOW.timestamp()) + 61}, "iat"),
        ({"iat": None}, "iat"),
        ({"nonce": "another"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"sub": None}, "sub"),
        ({"sub": ""}, "sub"),
        ({"sub": "a" * 256}, "sub"),
        ({"sub": 7}, "sub"),
        ({"sub": "two\nlines"}, "sub"),
        ({"at_hash": "AAAA"}, "at_hash"),
    ],
)
async def test_t005_a_token_whose_claims_do_not_fit_is_refused(hand: Hand, claims: Json, why: str) -> None:
    hand.gives(hand.signed(**claims))

    assert await refused(hand) in (why, "claims")


async def test_t005_an_issuer_with_a_slash_more_is_another_issuer(hand: Hand) -> None:
    hand.gives(hand.signed(iss=f"{hand.origin}/"))

    assert await refused(hand) == "iss"


async def test_t006_a_token_of_another_tenant_is_refused(hand: Hand) -> None:
    hand.gives(hand.signed(iss=f"{hand.origin}/other-tenant/v2.0", tid="other-tenant", email="asha@example.com"))

    assert await refused(hand) == "iss"


async def test_t008_unknown_keys_are_looked_for_once_a_minute(hand: Hand) -> None:
    async with provider(hand) as made:
        hand.gives(hand.signed(RSAKey.generate_key(2048, {"kid": "unknown"})))
        for _ in range(20):
            with pytest.raises(LoginRefused):
                await made.login(BACK_WITH, LEG, NOW)
        assert hand.looks == 1

        hand.now = NOW + timedelta(seconds=61)
        for _ in range(20):
            with pytest.raises(LoginRefused):
                await made.login(BACK_WITH, LEG, hand.now)
        assert hand.looks == 2


async def test_a_key_that_was_changed_is_found(hand: Hand) -> None:
    async with provider(hand) as made:
        await made.address(LEG, NOW)
        fresh = RSAKey.generate_key(2048, {"kid": "fresh"})
        hand.keys, hand.now = [fresh], NOW + timedelta(minutes=2)
        hand.gives(hand.signed(fresh))

        assert (await made.login(BACK_WITH, LEG, hand.now)).subject == "asha"


@pytest.mark.parametrize("token", [None, 7, "", "a.b", "a.b.c.d", "!!.!!.!!", "e30.e30.", "W10.e30.AA", "x" * 20_000])
async def test_what_is_no_token_is_refused(hand: Hand, token: Any) -> None:
    hand.gives(token)

    assert await refused(hand) in ("token", "signature")


async def test_an_access_token_is_not_taken_for_an_id_token(hand: Hand) -> None:
    hand.gives(hand.signed(header={"typ": "at+jwt"}))

    assert await refused(hand) == "type"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"code": "a-code"}, "state"),
        ({"code": "a-code", "state": "another"}, "state"),
        ({"state": LEG.state}, "denied"),
        ({"state": LEG.state, "code": ""}, "denied"),
        ({"state": LEG.state, "code": "a-code", "error": "access_denied"}, "denied"),
        ({"state": LEG.state, "code": "a-code", "iss": "https://evil.example"}, "issuer"),
    ],
)
async def test_a_way_back_that_does_not_fit_exchanges_no_code(hand: Hand, answer: Json, why: str) -> None:
    hand.gives(hand.signed())

    assert await refused(hand, answer) == why
    assert hand.asked == []


async def test_an_issuer_that_names_itself_on_the_way_back_must(hand: Hand) -> None:
    hand.metadata = {"authorization_response_iss_parameter_supported": True}
    hand.gives(hand.signed())

    assert await refused(hand) == "issuer"
    assert (await login(hand, {**BACK_WITH, "iss": hand.origin})).subject == "asha"


@pytest.mark.parametrize(
    ("content", "status", "error"),
    [
        ({"error": "invalid_grant"}, 400, LoginRefused),
        ({"ok": False, "error": "invalid_code"}, 200, LoginRefused),
        ({"error": "invalid_client"}, 401, Stop),
        ({"ok": False, "error": "bad_client_secret"}, 200, Stop),
        ({}, 500, Transient),
        ({}, 429, Transient),
    ],
)
async def test_a_token_endpoint_that_refuses_says_who_has_to_act(
    hand: Hand, content: Json, status: int, error: type[DoorError]
) -> None:
    hand.token, hand.status = lambda: content, status

    with pytest.raises(error) as caught:
        await login(hand)
    assert "a-code" not in str(caught.value)
    assert len(hand.asked) == 1  # a code is never sent twice


async def test_a_refresh_token_that_is_refused_means_no_and_trouble_means_nothing(hand: Hand) -> None:
    async with provider(hand) as made:
        hand.token, hand.status = lambda: {"error": "invalid_grant"}, 400
        assert await made.renew("r1", NOW) is None
        hand.token, hand.status = lambda: {"access_token": "a"}, 200
        assert await made.renew("r1", NOW) == Renewed("r1")
        hand.token = lambda: {"access_token": "a", "refresh_token": "r2"}
        assert await made.renew("r1", NOW) == Renewed("r2")
        hand.status = 503
        with pytest.raises(Transient):
            await made.renew("r1", NOW)


@pytest.mark.parametrize(
    ("told", "groups"),
    [
        (["admins", "Staff – EU"], {"admins", "Staff – EU"}),
        ("admins", {"admins"}),
        ([], set()),
        (None, set()),
        ([1, None, {"admins": 1}, "", "x" * 256, "ok"], {"ok"}),
        ({"admins": True}, set()),
    ],
)
async def test_groups_are_those_that_the_new_id_token_names(hand: Hand, told: object, groups: set[str]) -> None:
    hand.keys = [RSA]
    hand.token = lambda: {"access_token": "a", "refresh_token": "r2", "id_token": hand.signed(RSA, groups=told)}
    async with provider(hand, groups_claim="groups") as made:
        assert await made.renew("r1", hand.now) == Renewed("r2", "asha", frozenset(groups))
    async with provider(hand) as made:
        assert await made.renew("r1", hand.now) == Renewed("r2")


async def test_t021_groups_that_are_too_many_for_a_token_are_none(hand: Hand) -> None:
    """Entra then names where to ask instead; whoever administers by that group does not, until he has fewer."""
    hand.keys = [RSA]
    elsewhere = {"_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {"endpoint": "https://g.example"}}}
    hand.token = lambda: {"refresh_token": "r2", "id_token": hand.signed(RSA, **elsewhere)}
    async with provider(hand, groups_claim="groups") as made:
        assert await made.renew("r1", hand.now) == Renewed("r2", "asha")


@pytest.mark.parametrize("wrong", [{"aud": "another"}, {"iss": "https://evil.example"}, {"exp": 1}, {"sub": ""}])
async def test_an_id_token_that_does_not_fit_names_no_group_and_loses_no_token(hand: Hand, wrong: Json) -> None:
    hand.keys = [RSA]
    hand.token = lambda: {"refresh_token": "r2", "id_token": hand.signed(RSA, groups=["admins"], **wrong)}
    async with provider(hand, groups_claim="groups") as made:
        assert await made.renew("r1", hand.now) == Renewed("r2")


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"jwks_uri": None},
        {"jwks_uri": "http://169.254.169.254/keys"},
        {"token_endpoint": None},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
)
async def test_a_provider_that_describes_itself_wrongly_is_not_used(hand: Hand, metadata: Json) -> None:
    hand.metadata = metadata

    async with provider(hand) as made:
        with pytest.raises(Stop):
            await made.address(LEG, NOW)


async def test_a_token_endpoint_elsewhere_is_spoken_to_over_https_alone(hand: Hand) -> None:
    hand.metadata = {"token_endpoint": "http://127.0.0.1:1/token"}
    hand.gives(hand.signed())

    async with provider(hand) as made:
        with pytest.raises(Stop, match="not https"):
            await made.login(BACK_WITH, LEG, NOW)


async def test_a_set_without_usable_keys_is_a_fault_of_the_provider(hand: Hand) -> None:
    hand.keys = [OctKey.generate_key(256, {"kid": "secret"})]

    async with provider(hand) as made:
        with pytest.raises(Stop, match="no key"):
            await made.address(LEG, NOW)


def test_nothing_that_proves_anything_is_printed() -> None:
    assert "nonce" not in repr(LEG)
    assert "secret-1" not in repr(Registration("https://id.example", CLIENT, BACK, "secret-1"))
