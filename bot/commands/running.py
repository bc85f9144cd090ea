"""How every command runs: settings read, the house opened, the work done, the house closed."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from bot.errors import Unusable
from bot.settings import NoSuchSetting, Settings

if TYPE_CHECKING:
    from bot.wiring import App

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])


def settings_now(secrets: Collection[str] = ()) -> Settings:
    """The settings of this process. A variable with our prefix that is none may hold the secret of a source: of those
    configured, or one of `secrets`."""
    try:
        return Settings.read()
    except NoSuchSetting as error:
        import asyncio

        from bot.wiring import secret_variables

        without = Settings.read(secrets=error.names)
        if error.names <= {*secrets, *asyncio.run(secret_variables(without))}:
            return without
        raise


def run(work: Callable[[App], Awaitable[T]], *, answers: bool = False, secrets: Collection[str] = ()) -> T:
    """Open the house, do `work` in it, close it. `answers`: load the models meanwhile, since they will be needed.
    `secrets`: variables that are no settings because the work reads a secret from them."""
    import asyncio

    from bot import logs
    from bot.wiring import open_app

    settings = settings_now(secrets)
    logs.quiet()

    async def whole() -> T:
        async with open_app(settings, warm=answers) as app:
            return await work(app)

    return asyncio.run(whole())


def as_json(command: Command) -> Command:
    """The `--json` option."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")(command)


def batch(command: Command) -> Command:
    """The `--batch` option."""
    text = "Take one JSON object a line from FILE (- for standard input); print one line each, in order."
    return click.option("--batch", type=click.File("r", encoding="utf-8", errors="replace"), metavar="FILE", help=text)(
        command
    )


def requests(lines: IO[str]) -> Iterator[Mapping[str, Any] | str]:
    """Each line that is not empty: the object it holds, or the sentence that says what is wrong with it."""
    for line in lines:
        if not line.strip():
            continue
        try:
            request = json.loads(line)
        except ValueError:
            yield "not JSON; write one object a line"
            continue
        yield request if isinstance(request, dict) else "not a JSON object; write one object a line"


def field(request: Mapping[str, Any], *names: str) -> str:
    """The first of these fields as text; Unusable names what is missing."""
    for name in names:
        value = request.get(name)
        if isinstance(value, str) and value.strip():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise Unusable(f"{name!r} holds half a character; write it in UTF-8") from None
            return value
    raise Unusable(f"{names[0]!r} is missing; it must be text")
