"""What is looked at before a Confluence is added: which spaces, which rights are missing and what that means."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from connectors.errors import DoorError
from connectors.ports import Finding
from connectors.records import Own
from connectors.sources.confluence.asking import Asking
from connectors.sources.confluence.client import Lost
from connectors.sources.confluence.mapping import Item, Space
from connectors.sources.confluence.wiki import Wiki
from policies.access import Unknown

_LOOKED_AT = 20  # spaces whose rights are read
_MOST_LISTS = 60  # answers that are counted
_PAGES_A_SECOND = 5.0  # asked one by one, cut and embedded on a small machine


async def findings(
    asking: Asking, keys: Sequence[str], product_groups: Collection[str], now: datetime
) -> Sequence[Finding]:
    """Everything that was looked at, in order; nothing is read that a sync or a question would not read."""
    wiki, cloud = asking.wiki, asking.cloud
    try:
        spaces = await wiki.spaces(keys)
    except Lost as error:
        return [Finding("the account and its token", False, str(error), _token_fix(cloud, error.status))]
    except DoorError as error:
        return [Finding("the address", False, str(error), "check --base-url, and that it can be reached from here")]
    found = [Finding("the account and its token", True)]
    there = {space.key for space in spaces}
    for key in keys:
        if key not in there:
            fix = "let the account view it, or take it off; keys are written as in the space's address"
            found.append(Finding(f"space {key}", False, "the account can't view it", fix))
    if not spaces:
        found.append(
            Finding("spaces", False, "the account can view no space", "put it into a group that may view some")
        )
        return found
    rights = [await _space(wiki, space, cloud) for space in spaces[:_LOOKED_AT]]
    if any(each.ok for each in rights):
        rights = [replace(each, essential=False) for each in rights]  # the others can be answered from
    found += [] if cloud or product_groups else [await _use(wiki)]
    content, space, page = await _content(wiki, spaces)
    asked = await asking.findings(space, page, now)
    return [*found, *rights, content, *asked, await _count(wiki, spaces)]


async def _use(wiki: Wiki) -> Finding:
    """Whether a Data Center tells who may use it at all."""
    name, fix = "who may use Confluence", "name the groups that may with --product-group"
    try:
        await wiki.client.get("rest/api/permissions")
    except Lost as error:
        if error.status in (404, 405, 410):
            told = "a version before 9.3 does not tell, so that everybody in any group counts"
            return Finding(name, False, told, fix, essential=False)
        return Finding(name, False, f"{error}: nobody would be let in", "make the account an administrator")
    except DoorError as error:
        return Finding(name, False, f"{error}: nobody would be let in", "make the account an administrator")
    return Finding(name, True)


async def _space(wiki: Wiki, space: Space, cloud: bool) -> Finding:
    name = f"who may view space {space.key}"
    try:
        access = await wiki.access(space)
    except DoorError as error:
        return Finding(name, False, f"{error}: nobody would be answered from it", _rights_fix(cloud))
    if isinstance(access, Unknown):
        return Finding(name, False, f"{access.reason}: nobody would be answered from it", _rights_fix(cloud))
    if not any(access.clauses):
        return Finding(name, False, "nobody is named there", "look at the space's permissions", essential=False)
    return Finding(name, True)


async def _content(wiki: Wiki, spaces: Sequence[Space]) -> tuple[Finding, Space, Item | None]:
    """Whether pages and the restriction of one of them can be read; with that page, where there is one."""
    fix = "give the token read:page and read:content.restriction"
    for space in spaces[:_LOOKED_AT]:
        try:
            async for page in wiki.contents(space):
                for seen in page[:1]:
                    rules = seen.rules or await wiki.restriction(seen.item.id)
                    if isinstance(rules, Own) and isinstance(rules.access, Unknown):
                        told = Finding("restrictions", False, rules.access.reason, fix, essential=False)
                        return told, space, seen.item
                    return Finding("pages and their restrictions", True), space, seen.item
        except DoorError as error:
            return Finding("pages", False, str(error), fix, essential=False), space, None
    fix = "share pages with it; restricted ones one by one"
    return Finding("pages", False, "the account can view no page", fix, essential=False), spaces[0], None


async def _count(wiki: Wiki, spaces: Sequence[Space]) -> Finding:
    """How many pages there are, as far as a few requests tell, and how long reading them for the first time takes."""
    count, lists, more = 0, 0, False
    try:
        for space in spaces:
            async for page in wiki.contents(space):
                count += len(page)
                lists += 1
                if lists >= _MOST_LISTS:
                    break
            if lists >= _MOST_LISTS:
                more = True
                break
    except DoorError:
        more = True
    minutes = max(1, round(count / _PAGES_A_SECOND / 60))
    least = "more than " if more else ""
    told = f"{least}{count:,} pages in {len(spaces):,} spaces; a first sync takes {least or 'about '}{minutes:,} min"
    return Finding("size", True, told, essential=False)


def _token_fix(cloud: bool, status: int) -> str:
    if status == 401 and cloud:
        return (
            "check --user and the token; a token with scopes works only at https://api.atlassian.com/ex/confluence/ID"
        )
    return "check the token and the account that it belongs to"


def _rights_fix(cloud: bool) -> str:
    if cloud:
        return "give the token read:space.permission, and read:space for the roles of spaces"
    return "make the account an administrator of Confluence, from 9.1 on; before that switch the Remote API on too"
