"""What can go wrong at a door, grouped by who acts.

    DoorError
      Transient   we wait and try again; `retry_after` says how long, where the other side said so
      Skip        this one item is recorded with its reason and passed over
      Stop        a person must act; the message says what to do

Adapters let nothing else out: every error of an outside library is mapped to the most fitting of these with
`raise … from`. The messages may be shown to admins, never to askers.
"""

from __future__ import annotations


class DoorError(Exception):
    """Something outside did not do what it was asked."""


class Transient(DoorError):
    """It may work later: a timeout, a lock, a full queue, a 429 or 5xx."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds


class Skip(DoorError):
    """This item can't be used; the rest can. `passing`: it may be had later as it is, and is asked for again."""

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class Stop(DoorError):
    """Nothing will work until a person changes something."""
