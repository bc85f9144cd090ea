"""Looking at what an app may do before a source is added, so that a missing grant is named and not met later."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

from connectors.errors import DoorError, Stop, Transient
from connectors.ports import Finding
from connectors.sources.sharepoint.auth import Timer
from connectors.sources.sharepoint.client import Client, Refused
from connectors.sources.sharepoint.tree import PREFER
from connectors.sources.sharepoint.webs import LIBRARY, Found, Listing, NotASite, find

_CONSENT = "in Entra, under App registrations, the app, API permissions; then grant admin consent"
_GROUPS = "people's groups in Graph"
_A_SECOND = 5.0  # documents that are asked for, cut and embedded on a small machine
_FULL = (
    "give the app full control of this site: with Sites.Selected, POST /sites/{id}/permissions with the role "
    "fullcontrol; or grant it Sites.FullControl.All of SharePoint and of Graph, if your company allows that"
)


async def probe(client: Client, timer: Timer, addresses: Sequence[str], now: datetime) -> Sequence[Finding]:
    """What was tried, site by site, and what an admin has to do about what failed. Raises what may pass."""
    timer.tell(now)
    findings, person = await _people(client)
    if person:
        findings.append(await _groups(client, person))
    counts: dict[str, int] = {}
    for address in addresses:
        findings += await _site(client, address, counts)
    return [*findings, _size(counts)] if counts else findings


def _size(counts: Mapping[str, int]) -> Finding:
    """How much there is, by what lists say of themselves, and about how long reading it for the first time takes."""
    count = sum(counts.values())
    minutes = max(1, round(count / _A_SECOND / 60))
    told = f"{count:,} files, folders and items in {len(counts):,} lists; a first sync takes about {minutes:,} min"
    return Finding("size", ok=True, problem=told, essential=False)


async def _groups(client: Client, person: str) -> Finding:
    """Whether the groups that somebody is in are told, in both ways in which they are asked for."""
    fix = f"grant the application permission GroupMember.Read.All of Microsoft Graph {_CONSENT}"
    path = f"users/{quote(person, safe='')}"
    body = {"securityEnabledOnly": False}
    asks = (
        partial(client.graph, f"{path}/getMemberGroups", method="POST", body=body, directory=True),
        partial(client.graph, f"{path}/transitiveMemberOf/microsoft.graph.group", {"$top": "1"}, directory=True),
    )
    for ask in asks:
        try:
            await ask()
        except Refused as error:
            if error.status in (401, 403) and "ResultSizeLimit" not in error.code:
                problem = f"Graph refuses to tell of people's groups ({error.status}), so nobody could be let in by one"
                return Finding(_GROUPS, ok=False, problem=problem, fix=fix)
    return Finding(_GROUPS, ok=True)


async def _people(client: Client) -> tuple[list[Finding], str]:
    """Whether people can be asked about, and the id of one of them; empty where none is told."""
    finding, person = await _somebody(client)
    return [finding], person if finding.ok else ""


async def _somebody(client: Client) -> tuple[Finding, str]:
    name = "people in Graph"
    fix = f"grant the application permissions User.Read.All and GroupMember.Read.All of Microsoft Graph {_CONSENT}"
    try:
        rows = await client.graph("users", {"$top": "1", "$select": "id,accountEnabled,userType"}, directory=True)
    except Refused as error:
        if error.status in (400, 404, 405, 501):  # not offered as a list; people are asked about one by one
            return Finding(name, ok=True), ""
        return Finding(name, ok=False, problem=f"Graph refuses to tell of people ({error.status})", fix=fix), ""
    except Stop as error:
        return Finding(name, ok=False, problem=str(error), fix="check --tenant, --client-id and the certificate"), ""
    people = rows.get("value")
    somebody = people[0] if isinstance(people, list) and people and isinstance(people[0], dict) else {}
    if somebody and not isinstance(somebody.get("accountEnabled"), bool):
        return Finding(name, ok=False, problem="Graph does not tell whether accounts are enabled", fix=fix), ""
    return Finding(name, ok=True), str(somebody.get("id") or "")


async def _site(client: Client, address: str, counts: dict[str, int]) -> list[Finding]:
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
    library = next((each for each in found.listings if each.kind == LIBRARY), None)
    if library is not None:
        findings.append(await _delta(client, address, library))
    counts |= {each.key: each.count for each in found.listings}
    findings.append(_something(address, found))
    return findings


async def _delta(client: Client, address: str, library: Listing) -> Finding:
    """Whether what changed in a library is told: one with retention labels needs the right to the whole tenant. It is
    closed alone, and so no reason against the source."""
    name = f"{address}: changes in {library.title!r}"
    try:
        await client.graph(f"drives/{library.drive}/root/delta", {"$select": "id", "$top": "1"}, prefer=PREFER)
    except Refused as error:
        problem = f"Graph refuses to tell what changed in this library ({error.status}{_code(error)})"
        fix = f"if it has retention labels, grant Sites.FullControl.All of Microsoft Graph and of SharePoint {_CONSENT}"
        return Finding(name, ok=False, problem=problem, fix=fix, essential=False)
    return Finding(name, ok=True)


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
