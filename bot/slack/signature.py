"""Is a request Slack's? Its signature is made over the raw bytes and the time, and is good for five minutes.

Source: Slack's documentation, "Verifying requests from Slack": `v0=` and HMAC-SHA256 of `v0:TIMESTAMP:BODY`.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime

WINDOW = 300.0  # seconds that a request may be old, or from the future


def is_slacks(secret: str, timestamp: str | None, signature: str | None, body: bytes, now: datetime) -> bool:
    """Whether the body was signed with the secret within the window. Nothing that is missing or odd passes."""
    if not secret or not timestamp or not signature:
        return False
    if not timestamp.isascii() or not timestamp.isdecimal() or len(timestamp) > 12:
        return False
    if abs(now.timestamp() - int(timestamp)) > WINDOW:
        return False
    expected = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"v0={expected}".encode(), signature.encode("utf-8", "replace"))
