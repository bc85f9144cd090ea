"""Why a document is not read, as its readers say it inside the worker."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818 - it is an answer, and the door turns it into Skip
    """This document is hostile, locked, broken or unsupported; the message is the reason an admin sees."""
