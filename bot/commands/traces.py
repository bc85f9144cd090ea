"""`trace`: the audit record, looked at, exported, verified and recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.commands.running import as_json

if TYPE_CHECKING:
    pass


@click.group()
def trace() -> None:
    """The audit record of every question."""


@trace.command()
@click.argument("trace_id", metavar="ID")
@as_json
def show(trace_id: str, as_json: bool) -> None:
    """Show one trace: who, where, what was found, what was judged, what was delivered."""


@trace.command("list")
@click.option("--since", help="A day or time, such as 2026-07-01 or 2026-07-01T08:00Z.")
@click.option("--person", help="Only questions of this person.")
@click.option("--outcome", type=click.Choice(["answered", "abstained", "unlinked", "refused", "busy"]))
@as_json
def list_(since: str | None, person: str | None, outcome: str | None, as_json: bool) -> None:
    """List traces, newest first."""


@trace.command()
@click.option("--since", help="A day or time; without it, everything.")
def export(since: str | None) -> None:
    """Print the records of the chain, one JSON object a line, to be verified elsewhere."""


@trace.command()
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@as_json
def verify(file: Path | None, as_json: bool) -> None:
    """Verify the chain, or an exported FILE. Exit status 1 when a record was edited, left out or cut off."""


@trace.command()
@click.argument("trace_id", metavar="ID")
@as_json
def replay(trace_id: str, as_json: bool) -> None:
    """Recompute the access decisions of a trace from what it recorded. Exit status 1 when one comes out differently."""
