"""Looking at what an app may do before a source is added, so that a missing grant is named and not met later."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

from connectors.errors import DoorError, Stop, Transient
from connectors.ports import Finding
from connectors.sources.sharepoint.auth import Timer
from connectors.sources.sharepoint.client import Client, Refused
from connectors.sources.sharepoint.webs import Found, NotASite, find

_CONSENT = "in Entra, under App registrations, the app, API permissions; then grant admin consent"
_FULL = (
    "give the app full control of this site: with Sites.Selected, POST /sites/{id}/permissions with the role "
    "fullcontrol; or grant it Sites.FullControl.All of SharePoint and of Graph, if your company allows that"
)


async def probe(client: Client, timer: Timer, addresses: Sequence[str], now: datetime) -> Sequence[Finding]:
    """What was tried, site by site, and what an admin has to do about what failed. Raises what may pass."""
    timer.tell(now)
    findings = [await _directory(client)]
    for address in addresses:
        findings += await _site(client, address)
    return findings


async def _directory(client: Client) -> Finding:
    """Whether people and their groups can be asked about."""
    name = "people and groups in Graph"
    fix = f"grant the application permissions User.Read.All and GroupMember.Read.All of Microsoft Graph {_CONSENT}"
    try:
        rows = await client.graph("users", {"$top": "1", "$select": "id,accountEnabled,userType"}, directory=True)
    except Refused as error:
        if error.status in (400, 404, 405, 501):  # not offered as a list; people are asked about one by one
            return Finding(name, ok=True)
        return Finding(name, ok=False, problem=f"Graph refuses to tell of people ({error.status})", fix=fix)
    except Stop as error:
        return Finding(name, ok=False, problem=str(error), fix="check --tenant, --client-id and the certificate")
    people = rows.get("value")
    if isinstance(people, list) and people and not isinstance(people[0].get("accountEnabled"), bool):
        return Finding(name, ok=False, problem="Graph does not tell whether accounts are enabled", fix=fix)
    return Finding(name, ok=True)


async def _site(client: Client, address: str) -> list[Finding]:
    try:
        found = await find(client, address)
    except NotASite as error:
        return [Finding(address, ok=False, problem=str(error), fix="give the address of a site with --site")]
    except Refused as error:
        problem = f"the app can't read this site ({error.status}{_code(error)})"
        return [Finding(address, ok=False, problem=problem, fix=f"check the address; then {_fix(error)}")]
    except Transient:
        raise
    except Stop as error:
        return [Finding(address, ok=False, problem=str(error), fix="check the address and the app's certificate")]
    top, web = found.top.url, found.webs[0].url
    findings = [
        await _tried(f"{address}: role assignments", _reads(client, web, "web/roleassignments", {"$top": "1"})),
        await _tried(f"{address}: site administrators", _reads(client, top, "web/siteusers", _ADMINS), accepted=True),
    ]
    if found.listings:
        flag = {"$select": "Id,HasUniqueRoleAssignments"}
        path = f"web/lists(guid'{found.listings[0].id}')"
        read = _reads(client, found.listings[0].web.url, path, flag)
        findings.append(await _tried(f"{address}: rights of a list", read, accepted=True))
    findings.append(_something(address, found))
    return findings


_ADMINS = {"$filter": "IsSiteAdmin eq true"}


def _something(address: str, found: Found) -> Finding:
    name = f"{address}: libraries, lists and pages"
    if found.listings:
        return Finding(name, ok=True)
    out = "; ".join(f"{each.title!r}: {each.reason}" for each in found.excluded[:5])
    return Finding(
        name,
        ok=False,
        problem="there is nothing to index" + (f" ({out})" if out else ""),
        fix="check the address and that the app may see its libraries",
        essential=False,
    )


async def _tried(name: str, read: Callable[[], Awaitable[Any]], *, accepted: bool = False) -> Finding:
    """`accepted`: that it is not offered there does not matter; nobody sees more without it."""
    try:
        await read()
    except Refused as error:
        status = error.status
        if accepted and status in (400, 404, 405, 501):
            return Finding(name, ok=True)
        problem = f"SharePoint refuses to tell this ({status}{_code(error)}), so nobody could be let in"
        return Finding(name, ok=False, problem=problem, fix=_fix(error))
    except Transient:
        raise
    except DoorError as error:
        return Finding(name, ok=False, problem=str(error), fix=_FULL)
    return Finding(name, ok=True)


def _fix(error: Refused) -> str:
    if error.status != 401:
        return _FULL
    return (
        "SharePoint takes an app only with a certificate and with its own permission: grant Sites.Selected or "
        f"Sites.FullControl.All of the API SharePoint (not only of Microsoft Graph) {_CONSENT}"
    )


def _reads(client: Client, web: str, path: str, params: dict[str, str]) -> Callable[[], Awaitable[Any]]:
    async def read() -> None:
        await client.rest(web, path, params)

    return read


def _code(error: Refused) -> str:
    return f", {error.code}" if error.code else ""
