"""Whose a login is: which account of Slack, and which person of the directory. Nobody is known by an e-mail address,
but where an administrator allows that.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from urllib.parse import urlsplit

from connectors.chat import Chat, Workspace
from connectors.errors import Skip, Stop
from connectors.logins import Login
from connectors.ports import People, PersonRecord
from policies.names import Principal

_TEAM, _ENTERPRISE = "https://slack.com/team_id", "https://slack.com/enterprise_id"
_USER = "https://slack.com/user_id"


async def slack_account(login: Login, chat: Chat) -> tuple[str, str]:
    """Whose account of Slack a login is of: what its id names one person within, and the id. Of an organisation of
    several workspaces, whichever of them he signed in to, that is the organisation, if the login is of ours."""
    us = await chat.workspace()
    team, enterprise, user = (str(login.claims.get(claim) or "") for claim in (_TEAM, _ENTERPRISE, _USER))
    if us.enterprise is None:
        return team, user
    if enterprise:
        return enterprise, user
    # Slack sends that claim and promises it nowhere. Without it the workspace has to be the one that we are in, or the
    # one that Slack tells us is his.
    ours = team == us.team or await _is_in(us, team, user, chat)
    return us.enterprise if ours else team, user


async def _is_in(us: Workspace, team: str, user: str, chat: Chat) -> bool:
    try:
        account = await chat.account(user)
    except Skip:
        return False
    return us.has(account) and account.team == team


class Known(NamedTuple):
    """A person of the directory, and whether it is his address alone that he is known by."""

    person: PersonRecord
    by_address: bool = False


async def person_of(login: Login, people: People, issuer: str, domains: Collection[str]) -> Known | None:
    """Whom of the directory a login is: by its subject, by Entra's object id, and by his address only where an
    administrator allowed its domain and the provider says that it verified it. `issuer`: as it was configured."""
    provider = f"oidc:{issuer}"
    if known := await people.of_identity(provider, login.subject):
        return Known(known)
    tenant, number = login.claims.get("tid"), login.claims.get("oid")
    # Entra's subject differs for each application; its object id is what a directory knows. Only its own issuers name a
    # tenant in their path, so that nobody else's claims are taken for it.
    ours = isinstance(tenant, str) and tenant in urlsplit(login.issuer).path.split("/")
    if ours and isinstance(number, str) and (known := await people.of_identity(f"entra:{tenant}", number)):
        return None if provider in known.identities else Known(known)
    address = address_of(login)
    verified = login.claims.get("email_verified") is True
    if address is None or not verified or address.rpartition("@")[2] not in domains:
        return None
    try:
        found = await people.get(address)
    except Stop:
        return None
    return None if found is None or provider in found.identities else Known(found, by_address=True)


def address_of(login: Login) -> str | None:
    """The address that a login has, as the directory writes addresses; None where it has none."""
    try:
        return Principal.person(str(login.claims.get("email") or "")).name.removeprefix("usr:")
    except ValueError:
        return None
