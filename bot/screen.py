"""What commands print: one JSON object a line for programs; tables, links and a progress bar for people.

Results go to standard output, everything else to standard error. Text of documents never carries control characters
to a terminal.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import click

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH_ELSEWHERE = 120  # columns where output is not a terminal
_PATIENCE = 2.0  # seconds before a progress bar appears


def emit(record: Mapping[str, Any]) -> None:
    """One JSON object as one line of standard output."""
    click.echo(json.dumps(record, ensure_ascii=False, separators=(", ", ": ")))


def plain(text: str) -> str:
    """The text without anything that could steer a terminal or reorder a line."""
    return "".join(each if each in "\n\t" or unicodedata.category(each) not in ("Cc", "Cf") else " " for each in text)


def console() -> Console:
    """Standard output for people; colours on a terminal only."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _WIDTH_ELSEWHERE
    return Console(file=sys.stdout, width=width, highlight=False, soft_wrap=not sys.stdout.isatty())


def table(headings: Sequence[str], lines: Sequence[Sequence[object]], empty: str) -> None:
    """A table, or one sentence where there is nothing to show."""
    if not lines:
        console().print(empty, markup=False)
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=any(headings))
    for heading in headings:
        shown.add_column(heading, overflow="fold")
    for line in lines:
        shown.add_row(*(Text("" if cell is None else plain(str(cell))) for cell in line))
    console().print(shown)


def link(title: str, url: str) -> Any:
    """A citation's title as a link: clickable on a terminal, followed by its address elsewhere."""
    from rich.text import Text

    shown = Text(plain(title))
    address = plain(url)
    if not address.startswith(("https://", "http://", "file://")):
        return shown
    if sys.stdout.isatty():
        shown.stylize(f"link {address}")
        return shown
    return shown.append(f" <{address}>")


class Progress(Protocol):
    """Told how far some work is."""

    def __call__(self, done: int, total: int | None, what: str) -> None: ...


@contextmanager
def progress(title: str) -> Iterator[Progress]:
    """A bar on standard error for work past two seconds, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda done, total, what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(title, total=None)

    def tell(done: int, total: int | None, what: str) -> None:
        if not bar.live.is_started and (bar.tasks[0].elapsed or 0.0) > _PATIENCE:
            bar.start()
        bar.update(task, completed=done, total=total, description=plain(f"{title} {what}".strip())[:60])

    try:
        yield tell
    finally:
        bar.stop()
