"""Keeps secrets at rest: seals text under a key, bound to the place where it is stored, and names people by pseudonym.

A sealed value is AES-256-GCM under a key of its own, derived from one of the vault's keys and a random salt; the same
derivation gives a commitment that is stored with it, so that no second key can open the value to something else. What
it is bound to (table, row, field) is part of both: a value copied to another row does not open. Errors never say why.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from connectors.errors import Stop

SHORTEST = 32  # characters of a configured key
_VARIED = 10  # different characters that a key has at least
_EXAMPLES = (
    "changeme",
    "change-me",
    "change_me",
    "example",
    "password",
    "your-key",
    "your_key",
    "secretkey",
    "replace",
)
_FORMAT = "fn1"
_SALT, _COMMITMENT, _NONCE = 32, 32, 12
_CLOSED = "a sealed value can't be opened: it was changed, moved, or sealed with a key that is not configured"


@dataclass(frozen=True, slots=True)
class _Key:
    id: str
    secret: bytes = field(repr=False)

    @classmethod
    def of(cls, text: str) -> _Key:
        material = text.encode()
        return cls(_derived(material, b"", "key id", 6).hex(), _derived(material, b"", "root", 32))


class Vault:
    """Seals with the newest key and opens with any; prints as its key ids only."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Sequence[str]) -> None:
        """`keys`, newest first. Stop for none, and for a short, repeated, monotonous or example key."""
        problem = problem_of(keys)
        if problem:
            raise Stop(f"{problem}; make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'")
        self._keys = tuple(_Key.of(key) for key in keys)

    def __repr__(self) -> str:
        return f"Vault({', '.join(key.id for key in self._keys)})"

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the keys, newest first; they tell nothing of the keys."""
        return tuple(key.id for key in self._keys)

    def seal(self, plaintext: str, bound_to: str) -> str:
        """Seal a text so that it opens only where `bound_to` is the same."""
        salt, nonce = secrets.token_bytes(_SALT), secrets.token_bytes(_NONCE)
        key = self._keys[0]
        cipher, commitment = _keys_of(key, salt, bound_to)
        sealed = AESGCM(cipher).encrypt(nonce, plaintext.encode(), _bound(key.id, bound_to))
        blob = base64.urlsafe_b64encode(salt + commitment + nonce + sealed).decode().rstrip("=")
        return f"{_FORMAT}.{key.id}.{blob}"

    def open(self, sealed: str, bound_to: str) -> str:
        """The text that was sealed; Stop, always with the same words, when it does not open."""
        try:
            key, salt, commitment, nonce, ciphertext = self._parts(sealed)
            cipher, expected = _keys_of(key, salt, bound_to)
            if not hmac.compare_digest(commitment, expected):
                raise Stop(_CLOSED)
            return AESGCM(cipher).decrypt(nonce, ciphertext, _bound(key.id, bound_to)).decode()
        except (InvalidTag, ValueError, KeyError):
            # Not chained: what exactly was wrong is nobody's business.
            raise Stop(_CLOSED) from None

    def fresh(self, sealed: str) -> bool:
        """Whether the value is sealed with the newest key."""
        return sealed.split(".")[:2] == [_FORMAT, self._keys[0].id]

    def reseal(self, sealed: str, bound_to: str) -> str:
        """The same text under the newest key; as it is when it is fresh. For rotation, row by row."""
        return sealed if self.fresh(sealed) else self.seal(self.open(sealed, bound_to), bound_to)

    def pseudonym(self, purpose: str, text: str) -> str:
        """A name for `text` that means nothing without the key, equal for equal texts of one purpose."""
        return _pseudonym(self._keys[0], purpose, text)

    def pseudonyms(self, purpose: str, text: str) -> tuple[str, ...]:
        """The names that `text` has or had under any of the keys, newest first: for looking it up."""
        return tuple(_pseudonym(key, purpose, text) for key in self._keys)

    def _parts(self, sealed: str) -> tuple[_Key, bytes, bytes, bytes, bytes]:
        version, key_id, blob = sealed.split(".")
        if version != _FORMAT:
            raise ValueError("an unknown format")
        key = {key.id: key for key in self._keys}[key_id]
        try:
            raw = base64.b64decode(blob + "=" * (-len(blob) % 4), altchars=b"-_", validate=True)
        except binascii.Error as error:
            raise ValueError("not base64") from error
        a, b, c = _SALT, _SALT + _COMMITMENT, _SALT + _COMMITMENT + _NONCE
        return key, raw[:a], raw[a:b], raw[b:c], raw[c:]


def problem_of(keys: Sequence[str]) -> str | None:
    """What is wrong with a list of keys, without showing one; None when nothing is."""
    if not keys:
        return "the vault needs at least one key in FOOTNOTE_SECRET_KEYS"
    if len(set(keys)) != len(keys):
        return "FOOTNOTE_SECRET_KEYS holds the same key twice"
    for position, key in enumerate(keys, start=1):
        plain = key.casefold().replace(" ", "")
        if len(key) < SHORTEST:
            return f"key {position} of FOOTNOTE_SECRET_KEYS is shorter than {SHORTEST} characters"
        if len(set(key)) < _VARIED or any(word in plain for word in _EXAMPLES) or "0123456789abcdef" in plain:
            return f"key {position} of FOOTNOTE_SECRET_KEYS looks like an example"
    return None


def keys_from_file(path: Path) -> list[str]:
    """The keys of the data directory, newest first, made on first use for this user alone. Stop when others can read
    the file: its keys are then not secret any more."""
    return private_text(path, lambda: secrets.token_urlsafe(32) + "\n").split()


def private_text(path: Path, made: Callable[[], str]) -> str:
    """The text of a file only its owner may read, written by `made()` when it is missing. Of several processes that
    make it at the same time, one wins and all read the same."""
    try:
        if not path.exists():
            _create(path, made())
        if path.stat().st_mode & 0o077:
            raise Stop(f"{str(path)!r} can be read by others; run: chmod 600 {str(path)!r}, and replace its keys")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Stop(f"{str(path)!r} is damaged; restore it from its backup") from error
    except OSError as error:
        raise Stop(f"{str(path)!r} can't be used ({error.strerror}); check FOOTNOTE_DATA and its owner") from error


def _create(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another process was first, and its file is whole
            os.link(draft, path)
    finally:
        draft.unlink()


def _derived(secret: bytes, salt: bytes, purpose: str, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt or None, info=f"footnote/1 {purpose}".encode()).derive(
        secret
    )


def _keys_of(key: _Key, salt: bytes, bound_to: str) -> tuple[bytes, bytes]:
    both = _derived(key.secret, salt, f"seal {sha256(bound_to.encode()).hexdigest()}", 64)
    return both[:32], both[32:]


def _bound(key_id: str, bound_to: str) -> bytes:
    return f"{_FORMAT}|{key_id}|{bound_to}".encode()


def _pseudonym(key: _Key, purpose: str, text: str) -> str:
    secret = _derived(key.secret, b"", f"pseudonym {purpose}", 32)
    return "p" + hmac.new(secret, text.encode(), sha256).hexdigest()[:31]
