"""`source add confluence`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bot.commands.adding import added
from bot.commands.running import as_json


@click.command()
@click.argument("name")
@click.option(
    "--base-url", required=True, help="The site, as in https://x.atlassian.net/wiki, or the gateway of tokens."
)
@click.option("--edition", required=True, type=click.Choice(["cloud", "datacenter"]), help="Which product it is.")
@click.option(
    "--auth",
    required=True,
    type=click.Choice(["basic", "bearer", "oauth"]),
    help="basic: e-mail and API token; oauth: an application at the gateway, with a consent.",
)
@click.option("--user", help="The e-mail address of the account, with --auth basic.")
@click.option("--secret-env", help="The environment variable that holds the token, or the application's secret.")
@click.option(
    "--secret-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The file that holds the token, instead.",
)
@click.option("--client-id", help="The id of the application, with --auth oauth.")
@click.option("--refresh-env", help="The environment variable that holds the first refresh token, with --auth oauth.")
@click.option(
    "--refresh-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The file that holds it, instead.",
)
@click.option("--token-url", help="Where tokens are had; Atlassian's own by default.")
@click.option("--space", "spaces", multiple=True, help="A space's key; again for more. Without: all it can read.")
@click.option("--exclude-label", "excluded", multiple=True, help="Leave out documents with this label; again for more.")
@click.option("--lease", default="24h", show_default=True, help="How long a grant outlives its last verification.")
@click.option(
    "--live-check",
    type=click.Choice(["off", "sensitive", "all"]),
    default="off",
    show_default=True,
    help="Ask Confluence again about what is about to be answered from; sensitive: what is restricted.",
)
@click.option(
    "--history",
    is_flag=True,
    help="Of pages that state an effective date, the wordings in force before, too.",
)
@click.option("--webhook-secret-env", help="The environment variable that holds the secret of its webhooks.")
@click.option("--every", multiple=True, help="How often a feed is gone, as in modified=5m; see docs/confluence.md.")
@click.option(
    "--licensed-is-everyone", is_flag=True, help="Every employee has a licence: say it in public channels, too."
)
@click.option(
    "--product-group", "product_groups", multiple=True, help="Data Center before 9.3: a group that may use Confluence."
)
@as_json
def confluence(
    name: str,
    base_url: str,
    edition: str,
    auth: str,
    user: str | None,
    secret_env: str | None,
    secret_file: Path | None,
    client_id: str | None,
    refresh_env: str | None,
    refresh_file: Path | None,
    token_url: str | None,
    spaces: tuple[str, ...],
    excluded: tuple[str, ...],
    lease: str,
    live_check: str,
    history: bool,
    webhook_secret_env: str | None,
    every: tuple[str, ...],
    licensed_is_everyone: bool,
    product_groups: tuple[str, ...],
    as_json: bool,
) -> None:
    """Add a Confluence, Cloud or Data Center; it is looked at first."""
    settings: dict[str, Any] = {
        "base_url": base_url.rstrip("/"),
        "edition": edition,
        "auth": auth,
        "secret": _secret(secret_env, secret_file),
        "spaces": _keys(spaces),
        "lease": lease,
        "live_check": live_check,
    }
    if auth == "basic" and not user:
        raise click.UsageError("--auth basic needs --user: the e-mail address of the account that the token belongs to")
    if user:
        settings["user"] = user
    if client_id:
        settings["client_id"] = client_id
    if refresh_env or refresh_file:
        settings["refresh"] = _secret(refresh_env, refresh_file)
    if token_url:
        settings["token_url"] = token_url
    if excluded:
        settings["excluded_labels"] = list(excluded)
    if history:
        settings["history"] = True
    if webhook_secret_env:
        settings["webhook_secret"] = {"secret_env": webhook_secret_env}
    if every:
        settings["every"] = dict(map(_cadence, every))
    if licensed_is_everyone:
        settings["everyone_is_licensed"] = True
    if product_groups:
        settings["product_groups"] = list(product_groups)
    added("confluence", name, settings, as_json)


def _secret(variable: str | None, file: Path | None) -> dict[str, str]:
    if (variable is None) == (file is None):
        raise click.UsageError("name the token with --secret-env VARIABLE or --secret-file PATH, and not with both")
    return {"secret_env": variable} if variable is not None else {"secret_file": str(file and file.resolve())}


def _keys(spaces: tuple[str, ...]) -> list[str]:
    """Keys as they were meant: a blank one would be read as any space."""
    keys = [key.strip() for key in spaces]
    if not all(keys) or any(set(key) & set(" \t\"'\\,") for key in keys):
        raise click.UsageError("--space takes the key of one space, as in its address: ENG, or ~personal")
    return list(dict.fromkeys(keys))


def _cadence(text: str) -> tuple[str, str]:
    feed, equals, period = text.partition("=")
    if not equals or feed not in ("modified", "spaces", "restricted", "whole"):
        raise click.UsageError("--every takes FEED=TIME; feeds are modified, spaces, restricted and whole")
    return feed, period
