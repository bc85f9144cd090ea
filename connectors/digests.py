"""The digest of a passage: made when it is brought in, kept by the ledger, made again of what an index hands over."""

from __future__ import annotations

from hashlib import sha256


def text_digest(header: str, text: str) -> str:
    """SHA-256 of what is searched and embedded; equal means the same words."""
    return sha256(f"{header}\x00{text}".encode()).hexdigest()
