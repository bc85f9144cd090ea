"""Why a document is not read, as its readers say it inside the worker."""

from __future__ import annotations


class Refusal(Exception):
    """This document is hostile, locked, broken or unsupported; the message is the reason an admin sees."""
