"""`ask`, `search`, `why` and `who`: the questions a person or an admin puts on the command line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import date
from typing import IO, TYPE_CHECKING, Any

import click

from bot import screen
from bot.commands.running import as_json, batch, field, requests, run
from bot.errors import Unusable, WrongUse

if TYPE_CHECKING:
    from bot.wiring import App

_KEYS = ("text", "as", "person", "in", "on", "limit", "document")  # of a line of a batch

Json = Mapping[str, Any]
Answer = Callable[["App", Json], Awaitable[dict[str, Any]]]

_AS = click.option("--as", "person", metavar="PERSON", help="Who asks: an e-mail address or a principal.")
_IN = click.option("--in", "place", default="dm", metavar="PLACE", help="dm (default), private:ID or public:ID.")
_ON = click.option("--on", "day", metavar="DATE", help="The day whose rules are asked about, as 2026-07-01.")


@click.command()
@click.argument("text", required=False)
@_AS
@_IN
@_ON
@as_json
@batch
def ask(
    text: str | None, person: str | None, place: str, day: str | None, as_json: bool, batch: IO[str] | None
) -> None:
    """Answer TEXT as one person, from what that person may read, with citations.

    Exit status 3 when something that answering needs failed: the outcome is busy then. A batch line is
    {"text": …, "as": …, "in": …, "on": …}; all but text and as may be left out.
    """
    if batch is not None:
        _batch(answer_request, batch, {"as": person, "in": place, "on": day})
        return
    answer = _one(answer_request, {"text": _given(text, "TEXT"), "as": _given(person, "--as"), "in": place, "on": day})
    screen.emit(answer) if as_json else show_answer(answer)
    if answer["outcome"] == "busy":
        raise click.exceptions.Exit(3)


@click.command()
@click.argument("text", required=False)
@_AS
@_IN
@_ON
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="How many passages.")
@as_json
@batch
def search(
    text: str | None,
    person: str | None,
    place: str,
    day: str | None,
    limit: int,
    as_json: bool,
    batch: IO[str] | None,
) -> None:
    """Find passages for TEXT that one person may read, after all gates, without writing an answer.

    A batch line is {"text": …, "as": …, "in": …, "on": …, "limit": …}; all but text and as may be left out.
    """
    defaults = {"as": person, "in": place, "on": day, "limit": limit}
    if batch is not None:
        _batch(search_request, batch, defaults)
        return
    found = _one(search_request, {"text": _given(text, "TEXT"), **defaults, "as": _given(person, "--as")})
    screen.emit(found) if as_json else _show_found(found)


@click.command()
@click.argument("person", required=False)
@click.argument("document", required=False)
@_ON
@as_json
@batch
def why(person: str | None, document: str | None, day: str | None, as_json: bool, batch: IO[str] | None) -> None:
    """Tell whether PERSON may read DOCUMENT now, and which clause or check decides it.

    DOCUMENT is source:key, or a key or the end of one, such as a file's name, that only one document has. Exit status 1
    when the answer is no. A batch line is {"as": …, "document": …}.
    """
    if batch is not None:
        _batch(_why, batch, {"on": day})
        return
    request = {"as": _given(person, "PERSON"), "document": _given(document, "DOCUMENT"), "on": day}
    verdict = _one(_why, request)
    screen.emit(verdict) if as_json else _show_verdict(verdict)
    if not verdict["allowed"]:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("document")
@as_json
def who(document: str, as_json: bool) -> None:
    """Tell which principals, and which people of the directory, may read DOCUMENT now."""

    async def work(app: App) -> dict[str, Any]:
        from bot.looking import who as look

        return (await look(app.looking, document, app.clock())).to_json()

    readers = run(work)
    screen.emit(readers) if as_json else _show_readers(readers)


# ---------------------------------------------------------------- one request


async def answer_request(app: App, request: Json) -> dict[str, Any]:
    """One request as a line of a batch has it, answered; Unusable when it can't be one."""
    from bot.answering.ask import ask as answer
    from bot.answering.outcome import to_json

    return to_json(await answer(_question(app, request), app.doors))


async def search_request(app: App, request: Json) -> dict[str, Any]:
    """One request as a line of a batch has it, searched for; Unusable when it can't be one."""
    from bot.answering.search import search as find

    limit = request.get("limit") or 10
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= 100:
        raise Unusable("'limit' must be a number from 1 to 100")
    return (await find(_question(app, request), limit, app.doors)).to_json()


async def _why(app: App, request: Json) -> dict[str, Any]:
    from bot.looking import why as look

    person, document = field(request, "as", "person"), field(request, "document")
    return (await look(app.looking, person, document, app.clock(), _day(request))).to_json()


def _question(app: App, request: Json) -> Any:
    from bot.answering.question import Question
    from policies.audience import Place
    from policies.names import Principal

    try:
        asker = Principal.parse(field(request, "as"))
        place = Place.parse(field(request, "in") if request.get("in") else "dm")
    except ValueError as error:
        raise Unusable(str(error)) from error
    return Question(asker, place, field(request, "text"), app.clock(), _day(request))


def _day(request: Json) -> date | None:
    day = request.get("on")
    if not day:
        return None
    try:
        return date.fromisoformat(day)
    except (TypeError, ValueError):
        raise Unusable(f"{day!r} is not a day; write it as 2026-07-01") from None


def _given(value: str | None, name: str) -> str:
    if not value or not value.strip():
        raise click.UsageError(f"{name} is missing; give it, or --batch FILE with one request a line")
    return value


def _one(answer: Answer, request: Json) -> dict[str, Any]:
    return run(lambda app: answer(app, request), answers=answer is not _why)


def _batch(answer: Answer, lines: IO[str], defaults: Json) -> None:
    """Answer every line in order. A line that can't be used gets {"error": …}; the exit status is 2 then, and 3 when
    an answer was busy."""

    async def work(app: App) -> int:
        status = 0
        for request in requests(lines):
            try:
                if isinstance(request, str):
                    raise Unusable(request)
                _spelt(request)
                answered = await answer(app, {**defaults, **request})
                status = max(status, 3 if answered.get("outcome") == "busy" else 0)
                screen.emit(answered)
            except WrongUse as error:
                status = max(status, 2)
                screen.emit({"error": str(error)})
        return status

    if status := run(work, answers=answer is not _why):
        raise click.exceptions.Exit(status)


def _spelt(request: Json) -> None:
    """Other keys are the caller's own; one that is nearly ours is a mistake that would change the answer."""
    from difflib import get_close_matches

    for key in sorted(request.keys() - _KEYS):
        if near := get_close_matches(key.casefold(), _KEYS, 1, 0.75):
            raise Unusable(f"{key!r} is not read; did you mean {near[0]!r}?")


# ---------------------------------------------------------------- for people


def show_answer(answer: Json) -> None:
    """An answer with its citations as links, who sees it, and its trace."""
    from rich.text import Text

    out = screen.console()
    out.print(Text(screen.plain(answer["text"])))
    for cited in answer["citations"]:
        page = f", page {cited['page']}" if cited.get("page") else ""
        line = Text(f"  [{cited['label']}] ", style="bold")
        line.append_text(screen.link(cited["title"], cited["url"]))
        line.append(screen.plain(f"  {cited['version']}, {cited['section']}{page}"), style="dim")
        out.print(line)
    for note in answer["notes"]:
        out.print(Text(screen.plain(f"  note: {note}"), style="yellow"))
    audience = answer["audience"]
    seen_by = "everyone in it" if audience["visible_to"] == "everyone" else "only the asker"
    out.print(
        Text(screen.plain(f"  {answer['outcome']} · {audience['place']}: {seen_by} · trace {answer['trace_id']}")),
        style="dim",
    )


def _show_found(found: Json) -> None:
    lines = [
        (f"{each['score']:.3f}", each["title"], each["version"], each["section"], each["chunk_id"])
        for each in found["results"]
    ]
    screen.table(("score", "title", "version", "section", "passage"), lines, "Nothing that this person may read.")
    click.echo(f"trace {found['trace_id']}")


def _show_verdict(verdict: Json) -> None:
    from rich.text import Text

    out = screen.console()
    word = Text("yes", style="bold green") if verdict["allowed"] else Text("no", style="bold red")
    out.print(word + Text(screen.plain(f"  {verdict['reason']}"), style=""))
    _show_clauses(verdict["clauses"])
    stamp = f"verified {verdict['verified_at'] or 'never'} · policy {verdict['policy_version']}"
    out.print(Text(screen.plain(stamp), style="dim"))


def _show_readers(readers: Json) -> None:
    _show_clauses(readers["clauses"])
    because = f"nobody, because {readers['reason']}" if readers["reason"] else "nobody known"
    click.echo(screen.plain("People who may read it now: " + (", ".join(readers["people"]) or because)))


def _show_clauses(clauses: list[list[str]]) -> None:
    for clause in clauses:
        click.echo("  needs one of: " + (screen.plain(", ".join(clause)) or "nobody"))
