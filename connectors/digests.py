"""The digest of a passage: made when it is brought in, kept by the ledger, made again of what an index hands over."""

from __future__ import annotations

import json
from dataclasses import fields
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connectors.records import Passage


def passage_digest(passage: Passage) -> str:
    """SHA-256 of all that is said and shown of a passage, its title and address too; equal means nothing differs."""
    parts = [getattr(passage, field.name) for field in fields(passage)]
    return sha256(json.dumps(parts, default=str).encode()).hexdigest()


def text_digest(lead: str, text: str) -> str:
    """SHA-256 of what is embedded; equal means the same vector."""
    return sha256(f"{lead}\x00{text}".encode()).hexdigest()
