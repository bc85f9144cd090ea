"""Signs the statement by which an app proves to Microsoft's login that it holds its certificate's key; nothing else.

https://learn.microsoft.com/entra/identity-platform/certificate-credentials: PS256, the certificate named by its
thumbprint, valid for minutes.
"""

from __future__ import annotations

import base64
import json
import secrets
from datetime import datetime, timedelta
from hashlib import sha1, sha256

from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509 import load_pem_x509_certificates

from connectors.errors import Stop

LIFE = timedelta(minutes=10)
_EARLIER = timedelta(minutes=1)  # for a clock that is ahead of the login's


class Certificate:
    """An app's certificate and its key, from one PEM text; prints as its thumbprint only."""

    __slots__ = ("_key", "_sha1", "_sha256", "ends")

    def __init__(self, pem: str) -> None:
        """Stop where the text does not hold one RSA key and a certificate that belongs to it."""
        try:
            key = load_pem_private_key(pem.encode(), password=None)
            certificates = load_pem_x509_certificates(pem.encode())
        except (ValueError, TypeError):
            raise Stop(
                "the certificate file can't be read; it has to be PEM, with the unencrypted private key and the "
                "certificate one after the other"
            ) from None  # the library's words may quote the file
        if not isinstance(key, RSAPrivateKey):
            raise Stop("the key of the certificate is not RSA; Microsoft's login takes RSA only")
        public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        for each in certificates:
            if each.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) == public:
                self._key = key
                written = each.public_bytes(Encoding.DER)
                self._sha256, self._sha1 = _text(sha256(written).digest()), _text(_thumbprint(written))
                self.ends = each.not_valid_after_utc
                return
        raise Stop("the certificate file holds a key of another certificate; put the matching pair into it")

    def __repr__(self) -> str:
        return f"Certificate({self._sha256})"

    def assertion(self, client: str, audience: str, now: datetime) -> str:
        """A signed statement of `client` to `audience`, its token endpoint."""
        # Both names of the certificate: the newer one is what is documented now, the older what was for ten years.
        header = {"alg": "PS256", "typ": "JWT", "x5t#S256": self._sha256, "x5t": self._sha1}
        claims = {
            "aud": audience,
            "iss": client,
            "sub": client,
            "jti": secrets.token_hex(16),
            "nbf": int((now - _EARLIER).timestamp()),
            "iat": int(now.timestamp()),
            "exp": int((now + LIFE).timestamp()),
        }
        signed = f"{_json(header)}.{_json(claims)}"
        signature = self._key.sign(signed.encode(), PSS(MGF1(SHA256()), SHA256.digest_size), SHA256())
        return f"{signed}.{_text(signature)}"


def _thumbprint(written: bytes) -> bytes:
    return sha1(written, usedforsecurity=False).digest()


def _json(value: object) -> str:
    return _text(json.dumps(value, separators=(",", ":")).encode())


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
