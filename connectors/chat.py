"""The shapes of the doors to a chat: what is asked of it, what is said in it, and the letters that wait for an answer.

A letter is something that somebody asked and that was acknowledged. It is kept until it was answered, whatever happens
to the process meanwhile. Times are aware UTC. Every method may raise the `DoorError` family and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from connectors.errors import Skip
from policies.audience import PlaceKind

Blocks = Sequence[Mapping[str, Any]]


# ---------------------------------------------------------------- who and where


@dataclass(frozen=True, slots=True)
class Workspace:
    """Who we are there: the workspace that the app is installed in, and its own user. Installed in a whole organisation
    of several workspaces, `team` is the organisation, and so is `enterprise`."""

    team: str
    user: str
    lacking: frozenset[str] = frozenset()  # scopes that we need and the token has not
    enterprise: str | None = None  # the organisation of several workspaces that the workspace is of

    @property
    def home(self) -> str:
        """Within what an account's id names one person: the organisation, where there is one."""
        return self.enterprise or self.team

    def has(self, account: Account) -> bool:
        """Whether an account is of our own people, guests among them."""
        ours = account.team == self.team or (self.enterprise is not None and account.enterprise == self.enterprise)
        return ours and not account.stranger

    def employs(self, account: Account) -> bool:
        """Whether an account is a full member's of ours: no guest's, no app's, and open."""
        return self.has(account) and account.human and account.active and not account.guest


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
    enterprise: str | None = None  # the organisation of several workspaces that he is of
    app: bool = False  # it said of itself that it is one


@dataclass(frozen=True, slots=True)
class Message:
    """What is said: blocks, and a text that stands alone for notifications and screen readers. `mark` is an opaque name
    by which a message is found again; anybody in the conversation can read it."""

    text: str
    blocks: Blocks = field(default=())
    mark: str | None = None


View = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """One thing that we do while somebody waits, in fixed words."""

    id: str
    title: str
    state: Literal["pending", "in_progress", "complete", "error"]


class Ended(Skip):
    """A stream that can't go on: closed after its time, or by somebody."""

    def __init__(self, message: str, *, stopped: bool = False) -> None:
        """`stopped`: the person pressed Stop."""
        super().__init__(message)
        self.stopped = stopped


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

    async def say(self, channel: str, thread: str | None, message: Message) -> str:
        """Say it for everybody in the conversation; gives the time stamp that names it there."""
        ...

    async def change(self, channel: str, ts: str, message: Message) -> None:
        """Put another content in place of what we said."""
        ...

    async def take_back(self, channel: str, ts: str) -> None:
        """Delete what we said; what is gone already is gone."""
        ...

    async def say_alone(self, channel: str, user: str, thread: str | None, message: Message) -> None:
        """Show it in the conversation to one person; it is gone when he reloads."""
        ...

    async def direct(self, user: str) -> str:
        """The direct message with one person, opened."""
        ...

    async def say_direct(self, user: str, message: Message) -> None:
        """Say it in the direct message with one person."""
        ...

    async def respond(self, address: str, message: Message) -> None:
        """Answer a command to the person who gave it, at the address that came with it."""
        ...

    async def said(self, channel: str, thread: str | None, mark: str) -> str | None:
        """The time stamp of the message with this mark in a thread, or of late at the top of a conversation; only a
        direct message can be looked into."""
        ...

    async def unmarked(self, channel: str, thread: str) -> Sequence[str]:
        """The time stamps of what we said in a thread of a direct message without a mark: progress left standing."""
        ...

    async def status(self, channel: str, thread: str, text: str) -> None:
        """Show under the thread what we are doing; nothing for an empty text."""
        ...

    async def working(self, channel: str, thread: str, user: str, busy: bool) -> None:
        """Let the thread show a Stop button while we work, and take it off again."""
        ...

    async def begin_stream(self, channel: str, thread: str, tasks: Sequence[Task]) -> str:
        """Begin a message in a direct message that shows tasks under way; gives its time stamp."""
        ...

    async def stream(self, channel: str, ts: str, tasks: Sequence[Task]) -> None:
        """Show that tasks changed. Raises Ended when the stream can't go on."""
        ...

    async def end_stream(self, channel: str, ts: str, tasks: Sequence[Task], message: Message) -> None:
        """Make the stream a whole message. Raises Ended when the stream can't go on."""
        ...

    async def show_view(self, trigger: str, view: View) -> None:
        """Open a form before the person who did what gave the trigger, within three seconds."""
        ...

    async def show_home(self, user: str, view: View) -> None:
        """Put a view on the person's own page of the app."""
        ...

    async def people(self, most: int) -> Sequence[Account] | None:
        """Everybody with an account in the workspace; None when they are more than `most`."""
        ...


# ---------------------------------------------------------------- lines that Slack sends on


@dataclass(frozen=True, slots=True)
class Envelope:
    """One thing that Slack sent, to be acknowledged by its id."""

    id: str
    kind: str  # events_api | slash_commands | interactive
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Leaving:
    """Slack is about to end a line; what is under way can still be acknowledged."""

    reason: str


class Line(Protocol):
    """One connection, after its hello."""

    async def receive(self) -> Envelope | Leaving | None:
        """What comes next; None for what is nothing to us. Raises Transient when the line is down."""
        ...

    async def acknowledge(self, envelope: str, content: Mapping[str, Any] | None) -> None:
        """Tell that it was taken in."""
        ...


class Lines(Protocol):
    """Where lines are opened."""

    def line(self) -> AbstractAsyncContextManager[Line]:
        """A connection that said hello."""
        ...


# ---------------------------------------------------------------- letters


TurnedAway = Literal["person is full", "workspace is full"]


@dataclass(frozen=True, slots=True)
class Letter:
    """Something that waits for an answer."""

    number: int
    body: Mapping[str, Any]
    times: int  # it was begun, this one included
    turned_away: TurnedAway | None = None  # it is not to be answered: its sender is to be told why


@dataclass(frozen=True, slots=True)
class MostWaiting:
    """How many letters may wait or be under way at once."""

    person: int
    workspace: int


Received = Literal["accepted", "twice", "person is full", "workspace is full", "full"]
"""`full`: not even who is turned away can be told so later, and nothing of it is kept."""


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
        *,
        told: bool = False,
    ) -> Received:
        """Keep a letter, durable when this returns, unless one of its keys was met before or too many wait; its keys
        are kept even so. `person`: whose limit it counts against. `told`: where too many wait, it is kept outside the
        limits for its sender to be told so; where too many of these wait, too, nothing is kept, and no keys."""
        ...

    async def take(self, now: datetime, *, turned_away: bool = True) -> Letter | None:
        """The oldest letter that is due, of somebody for whom none is under way; ours until the lease runs out. Those
        that were turned away come before others, if they are wanted."""
        ...

    async def hold(self, number: int, now: datetime) -> bool:
        """Renew the lease; whether the letter is still ours."""
        ...

    async def put_back(self, number: int, due: datetime) -> None:
        """Not answered: let it be taken again from `due` on."""
        ...

    async def close(self, number: int) -> None:
        """Answered, or given up: its body is forgotten, its keys stay. One that is not ours any more is left alone."""
        ...

    async def recover(self) -> int:
        """Free the letters of processes of this machine that are certainly gone; returns how many."""
        ...

    async def forget(self, before: datetime) -> int:
        """Forget closed letters and their keys received before then; returns how many letters."""
        ...


# ---------------------------------------------------------------- exchanges

ExchangeState = Literal["draft", "waiting", "posting", "posted", "sharing", "shared", "deleted"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and what became of it, kept sealed for a while. `name` is at random: it is the mark of the answer and
    stands in the buttons under it; whoever comes with it is checked against `asker`."""

    name: str
    asker: str  # the account
    state: ExchangeState
    body: Mapping[str, Any]
    at: datetime
    thread: str | None = None  # where the question was said: team, channel, and the time stamp of the thread's root
    answered_in: str | None = None  # where the answer to the asker alone is, in the same form


class Exchanges(Protocol):
    """What was asked and answered of late: for follow-ups, for the buttons under answers, for the asker's own page."""

    async def keep(self, exchange: Exchange, until: datetime) -> None:
        """Keep it, in place of what was kept under its name."""
        ...

    async def find(self, name: str, now: datetime) -> Exchange | None:
        """The one of this name, unless its time is over."""
        ...

    async def turn(self, name: str, was: ExchangeState, becomes: ExchangeState) -> bool:
        """Change its state, if it is as expected: of several who try, one succeeds."""
        ...

    async def talk(self, thread: str, most: int, now: datetime) -> Sequence[Exchange]:
        """Those of one thread, by question or by answer, oldest first; the last `most`."""
        ...

    async def of(self, asker: str, most: int, now: datetime) -> Sequence[Exchange]:
        """Somebody's own, newest first."""
        ...

    async def rate(self, name: str, verdict: str, reasons: Sequence[str], words: str, now: datetime) -> None:
        """Keep what the asker thought of the answer, in place of what he thought before."""
        ...

    async def forget(self, now: datetime) -> int:
        """Forget those whose time is over, and ratings whose trace is gone; returns how many exchanges."""
        ...
