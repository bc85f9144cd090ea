"""The shapes of the doors to a chat: what is asked of it, what is said in it, and the letters that wait for an answer.

A letter is something that somebody asked and that was acknowledged. It is kept until it was answered, whatever happens
to the process meanwhile. Times are aware UTC. Every method may raise the `DoorError` family and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from policies.audience import PlaceKind

Blocks = Sequence[Mapping[str, Any]]


# ---------------------------------------------------------------- who and where


@dataclass(frozen=True, slots=True)
class Workspace:
    """Who we are there: the workspace that the app is installed in, and its own user."""

    team: str
    user: str
    lacking: frozenset[str] = frozenset()  # scopes that we need and the token has not


@dataclass(frozen=True, slots=True)
class Room:
    """A conversation as it is now. `kind` is UNKNOWN for whatever was not said in so many words."""

    id: str
    kind: PlaceKind
    partner: str | None = None  # of a direct message: the other one


@dataclass(frozen=True, slots=True)
class Account:
    """A user of the chat as he is now. What is not said counts against him."""

    id: str
    team: str
    human: bool
    active: bool
    guest: bool
    stranger: bool  # of another organisation


@dataclass(frozen=True, slots=True)
class Message:
    """What is said: blocks, and a text that stands alone for notifications and screen readers. `mark` is an opaque name
    by which a message is found again; anybody in the conversation can read it."""

    text: str
    blocks: Blocks = field(default=())
    mark: str | None = None


class Chat(Protocol):
    """A workspace of Slack. Skip: it can't be done there, such as for somebody who is not in the channel."""

    async def workspace(self) -> Workspace:
        """Who we are; asked once."""
        ...

    async def room(self, channel: str) -> Room: ...

    async def members(self, channel: str, most: int) -> Sequence[str] | None:
        """The ids of everybody in a conversation, each once; None when they are more than `most`."""
        ...

    async def account(self, user: str) -> Account: ...

    async def say(self, channel: str, thread: str | None, message: Message) -> None:
        """Say it for everybody in the conversation."""
        ...

    async def say_alone(self, channel: str, user: str, thread: str | None, message: Message) -> None:
        """Show it in the conversation to one person; it is gone when he reloads."""
        ...

    async def say_direct(self, user: str, message: Message) -> None:
        """Say it in the direct message with one person."""
        ...

    async def respond(self, address: str, message: Message) -> None:
        """Answer a command to the person who gave it, at the address that came with it."""
        ...

    async def said(self, channel: str, thread: str, mark: str) -> bool:
        """Whether a message with this mark is in a thread."""
        ...

    async def status(self, channel: str, thread: str, text: str) -> None:
        """Show under the thread what we are doing; nothing for an empty text."""
        ...


# ---------------------------------------------------------------- letters


@dataclass(frozen=True, slots=True)
class Letter:
    """Something that waits for an answer."""

    number: int
    body: Mapping[str, Any]
    times: int  # it was begun, this one included


@dataclass(frozen=True, slots=True)
class MostWaiting:
    """How many letters may wait or be under way at once."""

    person: int
    workspace: int


Received = Literal["accepted", "twice", "person is full", "workspace is full"]


class Inbox(Protocol):
    """Letters, kept from their acknowledgement until their answer, and the keys by which a second delivery is known."""

    async def receive(
        self,
        keys: Sequence[str],
        workspace: str,
        person: str,
        body: Mapping[str, Any],
        limits: MostWaiting,
        now: datetime,
    ) -> Received:
        """Keep a letter, durable when this returns, unless one of its keys was met before or too many wait. Its keys
        are kept in any case. `person`: whose limit it counts against."""
        ...

    async def take(self, now: datetime) -> Letter | None:
        """The oldest letter that is due, of somebody for whom none is under way; ours until the lease runs out."""
        ...

    async def hold(self, number: int, now: datetime) -> bool:
        """Renew the lease; whether the letter is still ours."""
        ...

    async def put_back(self, number: int, due: datetime) -> None:
        """Not answered: let it be taken again from `due` on."""
        ...

    async def close(self, number: int) -> None:
        """Answered, or given up: its body is forgotten, its keys stay."""
        ...

    async def recover(self) -> int:
        """Free the letters of processes of this machine that are certainly gone; returns how many."""
        ...

    async def forget(self, before: datetime) -> int:
        """Forget closed letters and their keys received before then; returns how many letters."""
        ...
