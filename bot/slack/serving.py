"""Footnote in Slack, put together: from the first request to the last answer under way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from bot.linking.routes import Routes
from bot.metrics import Metrics
from bot.slack.answer import Answerer
from bot.slack.clerk import Clerk
from bot.slack.desk import Desk
from bot.slack.edge import Edge
from bot.slack.intake import LIMITS, Intake
from bot.slack.memory import Memory
from bot.slack.opening import opened_commands
from bot.slack.place import Accounts
from bot.slack.probing import MOST, Probing
from bot.slack.progress import Streams
from bot.slack.sockets import Sockets
from connectors.chat import MostWaiting
from connectors.errors import Transient

if TYPE_CHECKING:
    from bot.wiring import App

_TICKETS_KEPT = timedelta(days=1)  # after their time, for what asks whether there was one of late


@asynccontextmanager
async def in_slack(
    app: App, metrics: Metrics, log: Any, streams: Streams | None = None, limits: MostWaiting = LIMITS
) -> AsyncIterator[Edge | None]:
    """The edge, with a desk behind it; None where no way for requests is set. Leaving it, letters under way are
    finished within a bound. Raises Stop when the token is not good; a Slack that is away is waited for."""
    secret = app.settings.slack_signing_secret
    if app.open_chat is None or (secret is None and app.open_lines is None):
        log.warning("not in slack: set FOOTNOTE_SLACK_BOT_TOKEN, and FOOTNOTE_SLACK_SIGNING_SECRET or _APP_TOKEN")
        yield None
        return
    async with AsyncExitStack() as stack:
        chat = await stack.enter_async_context(app.open_chat())
        try:
            us = await chat.workspace()
            if us.lacking:
                log.warning("slack: the app lacks scopes; run `footnote check`, install it again from manifest.yaml")
        except Transient:
            log.warning("slack is away; requests are refused until it is back")
        commands = await stack.enter_async_context(opened_commands(app, chat, log))
        memory = Memory(app.exchanges, app.clock)
        # Where one person may have very many waiting, he may ask as many that are alike.
        probing = Probing(max(MOST, limits.person))
        answerer = Answerer(
            chat, Accounts(chat, app.clock), app.doors, metrics, log, memory, commands, streams or Streams(), probing
        )
        clerk = Clerk(answerer, app.keeping.sources)

        async def forget(now: datetime) -> None:
            await app.exchanges.forget(now)
            await app.tickets.forget(now - _TICKETS_KEPT)

        given_up = metrics.given_up.inc
        desk = await stack.enter_async_context(Desk(app.inbox, clerk, app.clock, log, also=forget, given_up=given_up))
        intake = Intake(chat, app.inbox, desk, clerk, app.clock, limits)
        stack.push_async_callback(intake.close)
        edge = Edge(secret.reveal() if secret else None, intake, app.clock, metrics)
        edge.pages = Routes(commands.linking).routes() if commands.linking is not None else ()
        if app.open_lines is not None:
            lines = await stack.enter_async_context(app.open_lines())
            await stack.enter_async_context(Sockets(lines, intake, metrics, log))
        yield edge
