"""`source add sharepoint`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bot.commands.adding import added
from bot.commands.running import as_json


@click.command()
@click.argument("name")
@click.option("--tenant", required=True, help="The tenant's id in Entra; identities of people are `entra:TENANT`.")
@click.option("--client-id", required=True, help="The app registration's application (client) id.")
@click.option(
    "--certificate-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="PEM with the app's private key and certificate.",
)
@click.option("--client-secret-env", help="Not enough: a secret tells content but not who may read it, and is refused.")
@click.option("--site", "sites", multiple=True, required=True, help="The address of a site; again for more.")
@click.option("--graph-url", help="Microsoft Graph, if not https://graph.microsoft.com/v1.0.")
@click.option("--login-url", help="The login authority, if not https://login.microsoftonline.com.")
@click.option("--lease", default="24h", show_default=True, help="How long a grant outlives its last verification.")
@click.option(
    "--live-check",
    type=click.Choice(["off", "sensitive", "all"]),
    default="off",
    show_default=True,
    help="Ask SharePoint again about what is about to be answered from; sensitive: what not everybody may read.",
)
@click.option(
    "--restricted-to",
    multiple=True,
    metavar="GROUP-ID",
    help="Readers are in one of these groups, too; again for more.",
)
@click.option("--exclude-label", "excluded", multiple=True, help="Leave out documents with this label; again for more.")
@click.option("--notification-url", help="Where Graph reaches /webhooks/graph of `serve`, to tell of changes at once.")
@as_json
def sharepoint(
    name: str,
    tenant: str,
    client_id: str,
    certificate_file: Path | None,
    client_secret_env: str | None,
    sites: tuple[str, ...],
    graph_url: str | None,
    login_url: str | None,
    lease: str,
    live_check: str,
    restricted_to: tuple[str, ...],
    excluded: tuple[str, ...],
    notification_url: str | None,
    as_json: bool,
) -> None:
    """Add sites of a SharePoint Online; they are looked at first."""
    from bot.errors import Unusable

    if certificate_file is None:
        if client_secret_env is None:
            raise click.UsageError("name the app's certificate with --certificate-file PEM")
        raise Unusable(
            "a client secret lets an app read SharePoint's content but not who may read it, so nobody is answered: "
            "SharePoint tells that only to an app that signs in with a certificate; upload one to the app registration "
            "and give it with --certificate-file"
        )
    settings: dict[str, Any] = {
        "tenant": tenant.strip(),
        "client_id": client_id.strip(),
        "certificate": {"secret_file": str(certificate_file.resolve())},
        "sites": [site.strip() for site in sites],
        "lease": lease,
        "live_check": live_check,
    }
    given = {
        "graph_url": graph_url,
        "login_url": login_url,
        "restricted_to": list(restricted_to),
        "excluded_labels": list(excluded),
        "notification_url": notification_url,
    }
    added("sharepoint", name, settings | {key: value for key, value in given.items() if value}, as_json)
