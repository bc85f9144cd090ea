"""Signs checkpoints of the audit record with Ed25519. The key lies apart from the database: who can rewrite the one
can't sign for it with the other. It signs states of a chain and nothing else."""

from __future__ import annotations

import base64
import binascii
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from connectors.errors import Stop
from connectors.vault import private_text

_DOMAIN = b"footnote trace checkpoint/1\n"


class TraceSigner:
    """One signing key; prints as its id only."""

    __slots__ = ("_private", "_public", "key_id")

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self._public: Ed25519PublicKey = private.public_key()
        self.key_id = sha256(self.public).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"TraceSigner({self.key_id})"

    @classmethod
    def from_file(cls, path: Path) -> TraceSigner:
        """The key in a file that only its owner may read, made on first use."""
        text = private_text(path, _new_key)
        try:
            key = load_pem_private_key(text.encode(), password=None)
        except (ValueError, TypeError) as error:
            raise Stop(f"{str(path)!r} holds no signing key; restore it from its backup") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise Stop(f"{str(path)!r} holds a key of another kind; an Ed25519 key is needed")
        return cls(key)

    @classmethod
    def new(cls) -> TraceSigner:
        """A key that lives as long as the process."""
        return cls(Ed25519PrivateKey.generate())

    @property
    def public(self) -> bytes:
        """The raw public key, for whoever checks elsewhere."""
        return self._public.public_bytes(Encoding.Raw, PublicFormat.Raw)

    def sign(self, message: bytes) -> str:
        """A signature in base64 over the message, which is canonical JSON of a checkpoint."""
        return base64.b64encode(self._private.sign(_DOMAIN + message)).decode()

    def verify(self, message: bytes, signature: str) -> bool:
        """Whether this key signed the message."""
        try:
            self._public.verify(base64.b64decode(signature, validate=True), _DOMAIN + message)
        except (InvalidSignature, binascii.Error, ValueError):
            return False
        return True


def _new_key() -> str:
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
