"""Footnote in Slack, put together: from the first request to the last answer under way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from bot.linking.opening import linked
from bot.linking.routes import Routes
from bot.metrics import Metrics
from bot.slack.answer import Answerer
from bot.slack.commands import Commands
from bot.slack.desk import Desk
from bot.slack.edge import Edge
from bot.slack.place import Accounts
from connectors.errors import Transient

if TYPE_CHECKING:
    from bot.wiring import App


@asynccontextmanager
async def in_slack(app: App, metrics: Metrics, log: Any) -> AsyncIterator[Edge | None]:
    """The edge, with a desk behind it; None where no way for requests is set. Leaving it, letters under way are
    finished within a bound. Raises Stop when the token is not good; a Slack that is away is waited for."""
    secret = app.settings.slack_signing_secret
    if app.open_chat is None or secret is None:
        log.warning("not in slack: set FOOTNOTE_SLACK_BOT_TOKEN and FOOTNOTE_SLACK_SIGNING_SECRET to answer there")
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
        linking = await stack.enter_async_context(linked(app, chat, log))
        commands = Commands(linking)
        answerer = Answerer(chat, Accounts(chat, app.clock), app.doors, metrics, log, commands)
        desk = await stack.enter_async_context(Desk(app.inbox, answerer, app.clock, log))
        edge = Edge(secret.reveal(), chat, app.inbox, desk, answerer, app.clock, metrics)
        edge.pages = Routes(linking).routes() if linking is not None else ()
        stack.push_async_callback(edge.close)
        yield edge
