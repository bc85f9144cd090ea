"""The login endpoint: client credentials with a signed assertion, checked as Microsoft documents it.

https://learn.microsoft.com/entra/identity-platform/certificate-credentials: signed with the certificate's key, the
header names the certificate by thumbprint, `aud` is the token endpoint, `iss` and `sub` are the app, and it
is valid now.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from tests.doubles.sharepoint.state import START
from tests.doubles.sharepoint.wire import Asked, Reply

ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
GRAPH = "https://graph.microsoft.com"


@dataclass(frozen=True, slots=True)
class Certificate:
    """An app's certificate with its key, as the one file that an admin is asked for."""

    pem: str
    certificate: x509.Certificate


@cache
def certificate(name: str) -> Certificate:
    """Self-signed; the same in a whole run of tests, since keys are slow to make, and short: whenever one is read, its
    primes are tried."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(4711)
        .not_valid_before(START - timedelta(days=3650))
        .not_valid_after(START + timedelta(days=7300))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificate((private + made.public_bytes(serialization.Encoding.PEM)).decode(), made)


@dataclass(slots=True)
class Token:
    """What an access token means."""

    audience: str  # graph | sharepoint
    by_certificate: bool
    ends: datetime
    revoked: bool = False


@dataclass(slots=True)
class Login:
    """The authority."""

    tenant: str
    client: str
    known: x509.Certificate
    secret: str = "a secret of this app"
    life: timedelta = timedelta(minutes=60)
    tokens: dict[str, Token] = field(default_factory=dict)
    given: int = 0
    refused: list[str] = field(default_factory=list)

    def answer(self, asked: Asked, now: datetime, origin: str, sites: str, graph: str) -> Reply:
        """`origin`: of this endpoint; `sites`, `graph`: the origins that a token may be for."""
        wanted = f"/{self.tenant}/oauth2/v2.0/token"
        if asked.path.casefold() != wanted.casefold() or asked.method != "POST":
            return self._no(404, "invalid_request", f"no endpoint {asked.path}")
        form = dict(parse_qsl(asked.body.decode()))
        if form.get("grant_type") != "client_credentials" or form.get("client_id") != self.client:
            return self._no(400, "unauthorized_client", "AADSTS700016: unknown app or grant")
        audience = self._audience(form.get("scope", ""), sites, graph)
        if audience is None:
            return self._no(400, "invalid_scope", f"AADSTS70011: scope {form.get('scope')}")
        if form.get("client_assertion_type") == ASSERTION:
            problem = self._problem(form.get("client_assertion", ""), f"{origin}{wanted}", now)
            if problem:
                return self._no(401, "invalid_client", problem)
        elif form.get("client_secret") != self.secret:
            return self._no(401, "invalid_client", "AADSTS7000215: invalid client secret provided")
        self.given += 1
        name = f"token-{audience}-{self.given}"
        self.tokens[name] = Token(audience, "client_assertion" in form, now + self.life)
        lasts = int(self.life.total_seconds()) - 1
        return Reply(
            200, {"token_type": "Bearer", "expires_in": lasts, "ext_expires_in": lasts, "access_token": name}
        )  # fmt: skip

    def _audience(self, scope: str, sites: str, graph: str) -> str | None:
        asked = scope.removesuffix("/.default")
        if asked == scope:
            return None
        if asked in (GRAPH, graph):
            return "graph"
        return "sharepoint" if urlsplit(asked).netloc == urlsplit(sites).netloc else None

    def _problem(self, assertion: str, endpoint: str, now: datetime) -> str:
        try:
            head, claims, signature = assertion.split(".")
            header, said = json.loads(_decoded(head)), json.loads(_decoded(claims))
        except ValueError:
            return "AADSTS50027: the assertion can't be read"
        if not self._signed(header, f"{head}.{claims}".encode(), _decoded(signature)):
            return "AADSTS700027: the assertion is not signed with a certificate that is registered"
        if not self._named(header):
            return "AADSTS700027: the thumbprint is of no certificate that is registered"
        if said.get("aud") != endpoint:
            return f"AADSTS50013: audience {said.get('aud')!r}"
        if said.get("iss") != self.client or said.get("sub") != self.client or not said.get("jti"):
            return "AADSTS50013: issuer, subject or id"
        start, end = said.get("nbf", said.get("iat", 0)), said.get("exp", 0)
        if not start - 300 <= now.timestamp() <= end + 300 or end - start > 86_400:
            return "AADSTS700024: the assertion is not within its valid time range"
        return ""

    def _signed(self, header: dict[str, Any], signed: bytes, signature: bytes) -> bool:
        key = self.known.public_key()
        assert isinstance(key, rsa.RSAPublicKey)
        pads: dict[str, Any] = {
            "RS256": padding.PKCS1v15(),
            "PS256": padding.PSS(padding.MGF1(hashes.SHA256()), hashes.SHA256.digest_size),
        }
        try:
            key.verify(signature, signed, pads[header.get("alg", "")], hashes.SHA256())
        except (InvalidSignature, KeyError):
            return False
        return True

    def _named(self, header: dict[str, Any]) -> bool:
        der = self.known.public_bytes(serialization.Encoding.DER)
        by = {"x5t": hashlib.sha1(der).digest(), "x5t#S256": hashlib.sha256(der).digest()}
        told = {name: _decoded(header[name]) for name in by if name in header}
        return bool(told) and all(by[name] == value for name, value in told.items())

    def _no(self, status: int, code: str, text: str) -> Reply:
        self.refused.append(text)
        return Reply(status, {"error": code, "error_description": text, "error_codes": []})

    def problem(self, asked: Asked, audience: str, now: datetime) -> str:
        """Why a request may not be answered, by its bearer token; empty where it may."""
        name = asked.headers.get("authorization", "").removeprefix("Bearer ")
        token = self.tokens.get(name)
        if token is None or token.revoked:
            return "no token"
        if token.audience != audience:
            return "the token is for another audience"
        if token.ends < now:
            return "the token expired"
        if audience == "sharepoint" and not token.by_certificate:
            return "Unsupported app only token."
        return ""


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
