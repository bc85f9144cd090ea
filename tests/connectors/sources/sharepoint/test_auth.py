"""Tokens by certificate: what is sent, when they are renewed, what a refusal says."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

import pytest
from aiohttp import web
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from connectors.errors import Stop, Transient
from connectors.http import Site
from connectors.sources.sharepoint.assertion import Certificate
from connectors.sources.sharepoint.auth import Timer, Tokens, graph_audience, login_limits, open_tokens
from tests.doubles.sharepoint.login import certificate
from tests.doubles.web import served

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
TENANT, CLIENT = "tenant-1", "client-1"
AUDIENCE = "https://contoso.sharepoint.com"


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Authority:
    """Gives a token for each request, and keeps what was asked."""

    def __init__(self, lasts: Any = 3599, status: int = 200, said: dict[str, Any] | None = None) -> None:
        self.asked: list[dict[str, str]] = []
        self.lasts, self.status, self.said = lasts, status, said

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(dict(parse_qsl((await request.read()).decode())))
        given = {"token_type": "Bearer", "expires_in": self.lasts, "access_token": f"token-{len(self.asked)}"}
        return web.json_response(self.said or given, status=self.status)


@asynccontextmanager
async def opened(authority: Authority) -> AsyncIterator[Tokens]:
    """Tokens of an app at this authority."""
    timer = Timer()
    timer.tell(NOW)
    async with (
        served({f"/{TENANT}/oauth2/v2.0/token": authority.answer}) as url,
        Site("the Microsoft login", url, login_limits()) as site,
    ):
        yield open_tokens(site, url, TENANT, CLIENT, certificate("footnote").pem, timer)


async def given(authority: Authority, *audiences: str) -> list[str]:
    async with opened(authority) as tokens:
        return [await tokens.bearer(each) for each in audiences]


async def test_the_assertion_is_signed_as_microsoft_documents_it() -> None:
    authority = Authority()
    await given(authority, AUDIENCE)
    [form] = authority.asked
    head, claims, signature = form["client_assertion"].split(".")
    header, said = json.loads(decoded(head)), json.loads(decoded(claims))
    made = certificate("footnote").certificate
    der = made.public_bytes(serialization.Encoding.DER)
    key = made.public_key()

    assert form["scope"] == f"{AUDIENCE}/.default"
    assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    assert (header["alg"], decoded(header["x5t#S256"])) == ("PS256", hashlib.sha256(der).digest())
    assert decoded(header["x5t"]) == hashlib.sha1(der).digest()
    assert (said["iss"], said["sub"]) == (CLIENT, CLIENT)
    assert said["aud"].endswith(f"/{TENANT}/oauth2/v2.0/token")
    assert said["nbf"] <= NOW.timestamp() <= said["exp"] <= said["nbf"] + 900
    assert isinstance(key, rsa.RSAPublicKey)
    pad = padding.PSS(padding.MGF1(hashes.SHA256()), hashes.SHA256.digest_size)
    key.verify(decoded(signature), f"{head}.{claims}".encode(), pad, hashes.SHA256())


async def test_each_audience_has_a_token_of_its_own_and_it_is_used_again() -> None:
    authority = Authority()

    found = await given(authority, "https://a.example", "https://b.example", "https://a.example")

    assert found == ["token-1", "token-2", "token-1"]


async def test_a_token_is_renewed_before_it_ends() -> None:
    """ONX 8406, ONX 8445 (98): however long a run takes."""
    authority = Authority(lasts=60)
    async with opened(authority) as tokens:
        await tokens.bearer(AUDIENCE)
        left = tokens._held[AUDIENCE].renew_at - asyncio.get_running_loop().time()

    assert 40 < left <= 48  # four fifths of a minute


async def test_a_refused_token_is_replaced_once_for_all_who_held_it() -> None:
    authority = Authority()
    async with opened(authority) as tokens:
        old = await tokens.bearer(AUDIENCE)
        tokens.refuse(AUDIENCE, old)
        new = await tokens.bearer(AUDIENCE)
        tokens.refuse(AUDIENCE, old)  # another one who was sent away with the old one

        assert (new, await tokens.bearer(AUDIENCE)) == ("token-2", "token-2")


async def test_many_at_once_wait_for_one_token() -> None:
    authority = Authority()
    async with opened(authority) as tokens:
        found = await asyncio.gather(*(tokens.bearer(AUDIENCE) for _ in range(8)))

    assert found == ["token-1"] * 8


@pytest.mark.parametrize(
    ("code", "words"),
    [("AADSTS700027", "upload it"), ("AADSTS700016", "no such app"), ("AADSTS90002", "no such tenant"), ("", "check")],
)
async def test_a_refusal_says_what_to_do_and_repeats_nothing(code: str, words: str) -> None:
    authority = Authority(status=401, said={"error": "x", "error_description": f"{code}: Asha Rao's words"})
    with pytest.raises(Stop) as caught:
        await given(authority, AUDIENCE)

    assert words in str(caught.value)
    assert "Asha" not in str(caught.value)


async def test_an_answer_without_a_token_may_pass() -> None:
    with pytest.raises(Transient):
        await given(Authority(said={"token_type": "Bearer"}), AUDIENCE)


def test_a_file_without_key_or_certificate_is_refused_without_being_quoted() -> None:
    pem = certificate("footnote").pem
    key, _, rest = pem.partition("-----BEGIN CERTIFICATE-----")
    other = certificate("another").pem.partition("-----BEGIN CERTIFICATE-----")[2]
    elliptic = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    wrong = [
        "very secret words",
        key,
        f"-----BEGIN CERTIFICATE-----{rest}",
        f"{key}-----BEGIN CERTIFICATE-----{other}",
        elliptic.decode() + f"-----BEGIN CERTIFICATE-----{rest}",
    ]
    for text in wrong:
        with pytest.raises(Stop) as caught:
            Certificate(text)

        assert "secret words" not in str(caught.value)
        assert "-----BEGIN" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "audience"),
    [
        ("https://graph.microsoft.com/v1.0", "https://graph.microsoft.com"),
        ("https://graph.microsoft.us/v1.0", "https://graph.microsoft.us"),
        ("http://127.0.0.1:4711/v1.0", "https://graph.microsoft.com"),
        ("https://proxy.example/graph/v1.0", "https://graph.microsoft.com"),
    ],
)
def test_a_token_for_graph_is_for_the_cloud_that_is_asked(url: str, audience: str) -> None:
    assert audience == graph_audience(url)


def test_time_goes_on_from_what_was_told_last() -> None:
    with pytest.raises(Stop):
        Timer().now()
