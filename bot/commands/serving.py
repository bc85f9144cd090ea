"""`serve`: the process that listens and keeps the sources up to date."""

from __future__ import annotations

import click

from bot.commands.running import settings_now


@click.command()
def serve() -> None:
    """Serve Slack, linking, the console, health and metrics, and keep every source up to date.

    Stops on SIGTERM or SIGINT, after what it has begun.
    """
    import asyncio

    from bot.web import serve_until_told

    asyncio.run(serve_until_told(settings_now()))
