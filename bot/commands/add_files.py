"""`source add files`."""

from __future__ import annotations

from pathlib import Path

import click

from bot.commands.adding import added
from bot.commands.running import as_json


@click.command()
@click.argument("name")
@click.option(
    "--path",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder to read; access.toml in it says who may read what.",
)
@as_json
def files(name: str, path: Path, as_json: bool) -> None:
    """Add the files below a folder of this machine."""
    added("files", name, {"path": str(path.resolve())}, as_json)
