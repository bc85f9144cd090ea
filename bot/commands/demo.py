"""`demo`: the sample tenant, synced and asked as several people, with nothing but this machine."""

from __future__ import annotations

import click

from bot.commands.running import as_json


@click.command()
@as_json
def demo(as_json: bool) -> None:
    """Sync the sample tenant and answer its questions as several people. Needs nothing but this machine."""
