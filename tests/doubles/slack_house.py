"""The product in Slack on this machine: the world of pages and people, a workspace, and the real edge between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from aiohttp.test_utils import TestServer
from sqlalchemy import func, select

from bot.metrics import Metrics
from bot.settings import Secret
from bot.slack.intake import LIMITS
from bot.slack.progress import Streams
from bot.slack.serving import in_slack
from bot.web import front
from connectors.chat import MostWaiting
from connectors.http import Limits
from connectors.ledger.exchanges import SqlExchanges
from connectors.ledger.inbox import SqlInbox
from connectors.ledger.open import Ledger, open_ledger
from connectors.ledger.tables import letters
from connectors.ledger.tickets import SqlTickets
from connectors.ports import SourceConfig
from connectors.slack import SlackWeb
from connectors.slack_socket import SlackSocket
from connectors.vault import Vault
from tests.blank import blank_ledger
from tests.doubles.slack import APP_TOKEN, SECRET, TOKEN, FakeSlack, Sender
from tests.world import World

KEY = "a long and rather varied key for tests 8472"
HURRIED = Limits(connect=1, idle=2, whole=6, attempts=3, first_pause=0.01, longest_pause=2)


class Log:
    """What was logged, whole."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def info(self, event: str, **keys: Any) -> None:
        self.lines.append({"event": event, **keys})

    warning = error = info

    def __str__(self) -> str:
        return str(self.lines)


class Kinds:
    """The configured sources, as far as they are looked at."""

    async def list(self) -> list[SourceConfig]:
        return [SourceConfig("wiki", "confluence", {}), SourceConfig("old", "files", {}, state="paused")]


@dataclass(slots=True)
class House:
    """Everything that a test takes hold of."""

    world: World
    slack: FakeSlack
    send: Sender
    ledger: Ledger
    metrics: Metrics
    log: Log
    exchanges: SqlExchanges
    heard: Any = None  # a door that a test put in, to be asked what it was told
    unlinked: set[str] = field(default_factory=set)

    async def seat(self) -> None:
        """People as the world has them, each bound to the account `U0NAME`."""
        await self.world.seat()
        people = self.world.people.people
        for email, record in list(people.items()):
            name = email.partition("@")[0]
            account = f"U0{name.upper()}"
            if account not in self.slack.users:
                self.slack.user(account, is_restricted=record.kind == "guest")
            bound = {} if name in self.unlinked else {f"slack:{self.slack.home}": account}
            people[email] = replace(record, identities=bound)

    async def open_letters(self) -> int:
        async with self.ledger.door.read() as connection:
            waiting = select(func.count()).select_from(letters).where(letters.c.state != "closed")
            return int((await connection.execute(waiting)).scalar_one())

    async def settled(self, seconds: float = 10.0) -> None:
        """Wait until every letter is answered."""
        for _ in range(round(seconds / 0.01)):
            if not await self.open_letters():
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"letters wait still: {self.log}")

    async def ask(self, delivery: dict[str, Any]) -> None:
        """Deliver an event, as Slack does again where a busy machine did not take it in in time, and wait for its
        answer."""
        for retry in range(4):
            status, body = await self.send.event(delivery, retry=retry)
            if status != 503:
                break
        assert (status, body) == (200, "")
        await self.settled()

    def result(self, name: str) -> float:
        """How many requests ended so."""
        return float(self.metrics.slack_requests.labels(name)._value.get())


async def settled(at: House) -> None:
    """Wait until every letter is closed, letting the pauses between attempts pass."""
    for _ in range(400):
        if not await at.open_letters():
            return
        at.world.at += timedelta(seconds=0.3)
        await asyncio.sleep(0.05)
    raise AssertionError(f"letters wait still: {at.log}")


@asynccontextmanager
async def house(
    folder: Path,
    slack: FakeSlack | None = None,
    ledger_url: str = "",
    socket: bool = False,
    streams: Streams | None = None,
    slack_at: str = "",
    limits: MostWaiting = LIMITS,
    people: int = 0,
    **doors: Callable[[World, Any], Any],
) -> AsyncIterator[House]:
    """The travel rules for everyone, the pay rules for finance; Asha and Ben of finance, Marta of everyone, and Gus, a
    guest. `socket`: Socket Mode beside HTTP; `slack_at`: a workspace that is open already; `people`: so many more of
    staff; `doors`: what takes the place of one of the doors, made of the world and the door."""
    world = World()
    slack = slack or FakeSlack()
    world.group("grp:everyone", "grp:finance", "grp:staff")
    world.person("asha", "grp:finance")
    world.person("ben", "grp:finance")
    world.person("marta", "grp:staff")
    world.person("gus", kind="guest")
    for number in range(people):
        world.person(f"p{number}", "grp:staff")
    world.page("travel", "Airfare above 500 needs approval.", ["grp:everyone"], title="Travel rules")
    world.page("pay", "The bonus of directors is seven months.", ["grp:finance"], title="Pay rules")
    async with AsyncExitStack() as stack:
        url = slack_at or await stack.enter_async_context(slack.open())
        address = ledger_url or blank_ledger(folder / "letters.sqlite")
        ledger = await stack.enter_async_context(open_ledger(address))
        await world.sync()
        log, metrics = Log(), Metrics()
        made_doors = world.doors
        others = {name: make(world, getattr(made_doors, name)) for name, make in doors.items()}
        made_doors = replace(made_doors, **others)
        app = SimpleNamespace(
            settings=SimpleNamespace(
                slack_signing_secret=Secret(SECRET),
                admin_group=None,
                reviewer_group=None,
            ),
            open_lines=(lambda: SlackSocket(url, APP_TOKEN)) if socket else None,
            open_chat=lambda: SlackWeb(url, TOKEN, HURRIED),
            clock=world._clock,
            doors=made_doors,
            inbox=SqlInbox(ledger.door, Vault([KEY])),
            exchanges=SqlExchanges(ledger.door, Vault([KEY])),
            keeping=SimpleNamespace(sources=Kinds()),
            tickets=SqlTickets(ledger.door, Vault([KEY])),
            directory=made_doors.directory,
            traces=made_doors.traces,
            people=world.people,
            indexing=None,
            looking=None,
            open_providers=None,
        )
        edge = await stack.enter_async_context(in_slack(app, metrics, log, streams, limits))  # type: ignore[arg-type]
        server = await stack.enter_async_context(TestServer(front(edge)))
        sender = Sender(f"http://127.0.0.1:{server.port}", lambda: world.at)
        made = House(world, slack, sender, ledger, metrics, log, app.exchanges)
        await made.seat()
        yield made
