"""What is carried out rather than answered, put together: linking where it is set up, and administering."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bot.linking.opening import linked
from bot.slack.administering import Administering, Doors
from bot.slack.administrators import Administrators
from bot.slack.commands import Commands
from connectors.chat import Chat

if TYPE_CHECKING:
    from bot.wiring import App


@asynccontextmanager
async def opened_commands(app: App, chat: Chat, log: Any) -> AsyncIterator[Commands]:
    """Every command; leaving it, what runs beside gets a moment to end."""
    settings = app.settings
    administrators = Administrators(chat, app.people, app.directory, settings.admin_group, app.clock, log)
    doors = Doors(
        chat=chat,
        directory=app.directory,
        keeping=app.keeping,
        indexing=app.indexing,
        looking=app.looking,
        traces=app.traces,
        tickets=app.tickets,
        administrators=administrators,
        admin_group=settings.admin_group,
        reviewer_group=settings.reviewer_group,
        clock=app.clock,
        log=log,
    )
    async with linked(app, chat, administrators.tell, log) as linking, Administering(doors) as administering:
        yield Commands(linking, administering)
