"""`footnote`: the commands, and what their exit status means.

0 done · 1 the answer is no · 2 wrong usage or settings · 3 an outside system failed. Errors go to standard error as
one sentence that says what to do. Nothing heavy is imported before a command runs, so that help is instant.
"""

from __future__ import annotations

from typing import Any

import click

from bot import errors
from bot.commands import asking, checking, demo, indexes, keys, ledgers, people, serving, sources, traces
from connectors.errors import DoorError


class WrongUse(click.ClickException):
    """The command or its settings can't be used like this."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """One sentence on standard error."""
        click.echo(f"footnote: {self.format_message()}", err=True, file=file)


class OutsideFailed(WrongUse):
    """Something outside this program did not do what it was asked."""

    exit_code = 3


class Commands(click.Group):
    """The group of all commands; turns the product's own errors into sentences and exit statuses."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except errors.WrongUse as error:
            raise WrongUse(str(error)) from error
        except DoorError as error:
            raise OutsideFailed(str(error)) from error
        except KeyboardInterrupt:
            raise click.exceptions.Exit(130) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="footnote", prog_name="footnote")
def cli() -> None:
    """Answers from your company's documents, only with what the person who asks may read.

    Start with `footnote demo`: it needs nothing but this machine.
    """


for command in (
    demo.demo,
    serving.serve,
    sources.sync,
    sources.source,
    asking.ask,
    asking.search,
    asking.why,
    asking.who,
    people.person,
    traces.trace,
    indexes.index,
    indexes.reindex,
    ledgers.ledger,
    keys.keys,
    checking.evaluate,
    checking.check,
):
    cli.add_command(command)


def main() -> None:
    """The console script."""
    cli.main(prog_name="footnote")


if __name__ == "__main__":
    main()
