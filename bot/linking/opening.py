"""Linking put together, where it is set up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bot.linking.linking import Linking
from connectors.chat import Chat, Message

if TYPE_CHECKING:
    from bot.wiring import App


@asynccontextmanager
async def linked(
    app: App, chat: Chat, tell_admins: Callable[[Message], Awaitable[None]], log: Any
) -> AsyncIterator[Linking | None]:
    """Linking; None where the settings name no providers or no public address."""
    if app.open_providers is None or app.settings.public_url is None:
        log.warning("people can't link themselves: docs/linking.md says which settings that takes")
        yield None
        return
    if app.mail is None:
        log.warning("who is linked is told in Slack alone: FOOTNOTE_MAIL_SERVER is not set")
    async with app.open_providers() as providers:
        yield Linking(
            chat=chat,
            people=app.people,
            tickets=app.tickets,
            logins=app.logins,
            traces=app.traces,
            slack=providers.slack,
            company=providers.company,
            mail=app.mail,
            public_url=app.settings.public_url,
            by_email=app.settings.link_by_email == "verified",
            seal=app.seal_form,
            clock=app.clock,
            tell_admins=tell_admins,
            log=log,
        )
