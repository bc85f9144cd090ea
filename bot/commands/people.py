"""`person`: who is in the directory, and which accounts elsewhere are theirs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot import screen
from bot.commands.running import as_json, run
from bot.errors import Unusable

if TYPE_CHECKING:
    from bot.matching import Matching
    from bot.wiring import App
    from connectors.ports import PersonRecord


@click.group()
def person() -> None:
    """People of the directory and their accounts elsewhere."""


@person.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@as_json
def import_(file: Path, as_json: bool) -> None:
    """Load people, groups and places from FILE, a directory.toml; whom it lists no more is gone."""

    async def work(app: App) -> dict[str, Any]:
        from bot.keeping import import_directory

        loaded = await import_directory(app.keeping, file)
        return {"people": loaded.people, "groups": loaded.groups, "places": loaded.places}

    done = run(work)
    if as_json:
        screen.emit(done)
    else:
        click.echo(f"{done['people']} people, {done['groups']} groups and {done['places']} places loaded.")


@person.command("list")
@as_json
def list_(as_json: bool) -> None:
    """List the people of the directory, their groups and their accounts elsewhere."""

    async def work(app: App) -> list[dict[str, Any]]:
        return [_written(record) for record in await app.people.list()]

    people = run(work)
    if as_json:
        for each in people:
            screen.emit(each)
        return
    lines = [
        (
            each["person"],
            each["name"],
            each["kind"] if each["active"] else f"{each['kind']}, disabled",
            ", ".join(each["groups"]),
            ", ".join(f"{provider}:{account}" for provider, account in each["identities"].items()),
        )
        for each in people
    ]
    screen.table(("person", "name", "kind", "groups", "accounts"), lines, "Nobody yet; load a directory.toml.")


@person.command()
@click.argument("email", metavar="PERSON")
@click.argument("account")
@as_json
def link(email: str, account: str, as_json: bool) -> None:
    """Bind ACCOUNT to PERSON, an e-mail address of the directory.

    ACCOUNT is provider:instance:id, such as slack:TEAM:USER or oidc:ISSUER:SUBJECT.
    """

    async def work(app: App) -> dict[str, Any]:
        record = await _known(app, email)
        provider, subject = _parts(account)
        if not subject:
            raise Unusable(f"{account!r} is not an account; write it as provider:instance:id, such as slack:TEAM:USER")
        holder = await app.people.of_identity(provider, subject)
        if holder is not None and holder.email != record.email:
            raise Unusable(f"{account!r} is bound to {holder.email}; unlink it there first")
        await app.people.link(record.email, provider, subject, app.clock())
        return _written(await _known(app, record.email))

    _show(run(work), f"{account} is bound to {email}.", as_json)


@person.command()
@click.argument("email", metavar="PERSON")
@click.argument("account")
@as_json
def unlink(email: str, account: str, as_json: bool) -> None:
    """Take ACCOUNT off PERSON again; provider:instance is enough. Exit status 1 when it was not bound."""

    async def work(app: App) -> tuple[bool, dict[str, Any]]:
        record = await _known(app, email)
        held = [each for each, subject in record.identities.items() if account in (each, f"{each}:{subject}")]
        gone = [await app.people.unlink(record.email, provider) for provider in held]
        return any(gone), _written(await _known(app, record.email))

    done, record = run(work)
    _show(record, f"{account} is not bound to {email}{' any more' if done else ''}.", as_json)
    if not done:
        raise click.exceptions.Exit(1)


@person.command()
@click.argument("source")
@click.option("--org-id", help="Confluence Cloud: the id of the Atlassian organisation that has the accounts.")
@click.option("--org-key-env", help="The environment variable that holds an API key of the organisation's admin.")
@click.option(
    "--org-url", default="https://api.atlassian.com", show_default=True, help="Where the organisation is asked."
)
@click.option("--apply", is_flag=True, help="Bind who matches; without it they are only shown.")
@as_json
def match(source: str, org_id: str | None, org_key_env: str | None, org_url: str, apply: bool, as_json: bool) -> None:
    """Match people with their accounts in SOURCE by e-mail address.

    Who is bound already stays so. An address that several accounts have, a person who is bound to another account and
    an account that is somebody else's are conflicts: they are named, and `person link` decides them. Without --apply
    nothing is written; the same again changes nothing.
    """
    if bool(org_id) != bool(org_key_env):
        raise click.UsageError("--org-id and --org-key-env go together")

    async def work(app: App) -> Matching:
        from bot.matching import match_people
        from connectors.ports import Organisation

        organisation = None
        if org_id and org_key_env:
            organisation = Organisation(org_id, app.settings.secret({"secret_env": org_key_env}), org_url)
        return await match_people(app.keeping, source, organisation, apply=apply)

    found = run(work, secrets={org_key_env} if org_key_env else ())
    if as_json:
        screen.emit(_matching(source, found))
    else:
        _tell(source, found, apply)


def _matching(source: str, found: Matching) -> dict[str, Any]:
    return {
        "source": source,
        "accounts": found.accounts,
        "left_out": found.left_out,
        "matched": [{"email": each.email, "account": each.account, "bound": each.bound} for each in found.matched],
        "conflicts": [{"email": each.email, "reason": each.reason} for each in found.conflicts],
        "unmatched": list(found.unmatched),
        "applied": found.applied,
    }


def _tell(source: str, found: Matching, apply: bool) -> None:
    fresh = [(each.email, each.account) for each in found.matched if not each.bound]
    if fresh:
        screen.table(("person", "account"), fresh, "")
    if found.conflicts:
        screen.table(("person", "conflict"), found.conflicts, "")
    click.echo(
        screen.plain(
            f"{source}: {found.accounts} accounts, and {found.left_out} that are closed, no person's or without a "
            f"proven address. Of the directory {len(found.matched)} people match, {len(found.matched) - len(fresh)} of "
            f"them bound already; {len(found.conflicts)} are in conflict, {len(found.unmatched)} have no account. "
            + (f"{found.applied} were bound." if apply else "Nothing was written; --apply binds those that match.")
        )
    )


def _parts(account: str) -> tuple[str, str]:
    """Provider with instance, and the id; an empty id where it is no account. Ids of Atlassian hold colons, and so do
    the addresses of OpenID providers."""
    kind, _, rest = account.partition(":")
    instance, _, subject = rest.rpartition(":") if kind == "oidc" else rest.partition(":")
    return f"{kind}:{instance}", subject if kind and instance else ""


async def _known(app: App, person: str) -> PersonRecord:
    record = await app.people.get(person.removeprefix("usr:")) if "@" in person else None
    if record is None:
        raise Unusable(f"the directory does not know {person!r}; `footnote person list` names everybody")
    return record


def _written(record: PersonRecord) -> dict[str, Any]:
    return {
        "person": record.email,
        "name": record.name,
        "kind": record.kind,
        "active": record.active,
        "groups": list(record.groups),
        "identities": dict(record.identities),
    }


def _show(record: dict[str, Any], sentence: str, as_json: bool) -> None:
    screen.emit(record) if as_json else click.echo(screen.plain(sentence))
