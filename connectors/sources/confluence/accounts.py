"""Whose accounts there are in Confluence, by addresses that are known to be theirs: for binding people to them at once.

Cloud hides addresses from the accounts of sources, so that the organisation is asked, with a key of its own; a Data
Center tells its administrators. A list is read to its end or not believed: what is missing may be the second account
of an address. No name is read, and nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from connectors.errors import Stop, Transient
from connectors.http import Answer, Limits, Site, refusal
from connectors.ports import AccountList, FarAccount, Organisation
from connectors.sources.confluence.client import Client, Json, Lost, text_of

MOST_PAGES = 5_000  # of an organisation's list
LIMITS = Limits(whole=180.0, longest_pause=60.0)  # an organisation allows few requests a minute
_PAGE = 100  # the most that the organisation gives at once
_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
_ACTIVE = frozenset({"active", "current"})
_NOT_THERE = frozenset({404, 405, 410})


async def accounts(client: Client, cloud: bool, organisation: Organisation | None) -> AccountList:
    """Port `Accounts`."""
    if cloud and organisation is None:
        raise Stop(
            f"{client.site.name} is a Confluence Cloud, which hides the addresses of people: name the organisation "
            "with --org-id, and the variable that holds a key of its admin with --org-key-env"
        )
    if not cloud and organisation is not None:
        raise Stop(f"{client.site.name} is a Data Center, which belongs to no organisation; leave --org-id out")
    return await _of_server(client) if organisation is None else await _of_organisation(organisation)


# ---------------------------------------------------------------- Cloud


async def _of_organisation(organisation: Organisation) -> AccountList:
    """The organisation's managed accounts: active ones of people, whose address was verified.
    https://developer.atlassian.com/cloud/admin/organization/rest/api-group-users/"""
    if not _ID.fullmatch(organisation.id):
        raise Stop(f"{organisation.id!r} is no id of an organisation; it stands in the address of admin.atlassian.com")
    path = f"admin/v2/orgs/{organisation.id}/directories/-/users/search"
    headers = {"Authorization": f"Bearer {organisation.key}"}
    rows: list[Json] = []
    asked: Json = {"claimStatus": "managed", "limit": _PAGE}
    seen: set[str] = set()
    async with Site("the Atlassian organisation", organisation.url, LIMITS) as site:
        for _ in range(MOST_PAGES):
            answer = await site.post(path, asked, headers=headers, repeatable=True)
            page, cursor = _page(answer, organisation.id)
            rows += page
            if not cursor:
                return _listed(rows, "accountId", _is_his)
            if cursor in seen:
                raise Transient(f"{site.name} goes in circles: a page of its people names one before it as the next")
            seen.add(cursor)
            asked = {**asked, "cursor": cursor}
    raise Transient(f"the Atlassian organisation has more than {MOST_PAGES:,} pages of people")


def _page(answer: Answer, organisation: str) -> tuple[list[Json], str]:
    """The rows of a page and the cursor of the next one, empty at the end."""
    match answer.status:
        case 401:
            raise Stop(f"{answer.site} does not accept the key (401); make a new one at admin.atlassian.com")
        case 403:
            raise Stop(f"{answer.site} does not let the key list people (403); it needs `read:directories:admin`")
        case 404:
            raise Stop(f"{answer.site} {organisation!r} is not known (404); check --org-id and whose key it is")
        case _ if not answer.ok:
            raise refusal(answer, "the key")
    told = answer.json()
    rows = told.get("data") if isinstance(told, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Transient(f"{answer.site} answered with something that is no list of people")
    links = told.get("links")
    return rows, text_of(links, "next") if isinstance(links, dict) else ""


def _is_his(row: Json) -> bool:
    """Whether an account is somebody's who can use it, and its address proven. What is not told of these counts as no;
    only managed accounts were asked for, so that a row need not say it again."""
    is_person = text_of(row, "accountType") == "atlassian" and text_of(row, "claimStatus") in ("", "managed")
    return is_person and text_of(row, "accountStatus") == "active" and row.get("emailVerified") is True


# ---------------------------------------------------------------- Data Center


async def _of_server(client: Client) -> AccountList:
    """Everybody who may use a Data Center, by user key, as its administrators see them."""
    path, name = "rest/api/admin/users/list/active", client.site.name
    try:
        return _listed([row async for page in client.counted(path) for row in page], "userKey", _is_current)
    except Lost as error:
        if error.status in _NOT_THERE:
            raise Stop(f"{name} tells addresses from version 9.3 on; bind people by `footnote person link`") from error
        raise Stop(
            f"{name} tells addresses to administrators only ({error.status}); its account has to be one, "
            "and no password may be asked for"
        ) from error


def _is_current(row: Json) -> bool:
    status = text_of(row, "status")
    return not status or status.casefold() in _ACTIVE


# ---------------------------------------------------------------- rows


def _listed(rows: Iterable[Json], key: str, counts: Callable[[Json], bool]) -> AccountList:
    """The accounts that count, each once; how many do not, or hide their address."""
    found: dict[str, str] = {}
    ids: set[str] = set()
    for row in rows:
        account, email = text_of(row, key), text_of(row, "email").strip()
        ids.add(account)
        if account and email and counts(row):
            found[account] = email
    return AccountList(tuple(FarAccount(*each) for each in sorted(found.items())), len(ids) - len(found))
