"""What is looked at before a Confluence is added: which spaces, which rights are missing and what that means."""

from __future__ import annotations

from collections.abc import Sequence

from connectors.errors import DoorError
from connectors.ports import Finding
from connectors.sources.confluence.client import Lost
from connectors.sources.confluence.mapping import Space
from connectors.sources.confluence.wiki import Wiki
from policies.access import Unknown

_LOOKED_AT = 20  # spaces whose rights are read


async def findings(wiki: Wiki, keys: Sequence[str], cloud: bool, live_check: str) -> Sequence[Finding]:
    """Everything that was looked at, in order; nothing is read that a sync would not read."""
    try:
        spaces = await wiki.spaces(keys)
    except Lost as error:
        return [Finding("the account", False, str(error), _token_fix(cloud, error.status))]
    except DoorError as error:
        return [Finding("the address", False, str(error), "check --base-url, and that it can be reached from here")]
    found = [Finding("the account", True)]
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
    found += [await _space(wiki, space, cloud) for space in spaces[:_LOOKED_AT]]
    found += [await _content(wiki, spaces)]
    return found


async def _space(wiki: Wiki, space: Space, cloud: bool) -> Finding:
    name = f"who may view space {space.key}"
    try:
        access = await wiki.access(space)
    except DoorError as error:
        return Finding(name, False, f"{error}: nobody would be answered from it", _rights_fix(cloud))
    if isinstance(access, Unknown):
        return Finding(name, False, f"{access.reason}: nobody would be answered from it", _rights_fix(cloud))
    if not any(access.clauses):
        return Finding(name, True, "nobody is named there", "look at the space's permissions", essential=False)
    return Finding(name, True)


async def _content(wiki: Wiki, spaces: Sequence[Space]) -> Finding:
    """Whether pages and the restriction of one of them can be read."""
    for space in spaces[:_LOOKED_AT]:
        try:
            async for page in wiki.contents(space):
                for seen in page[:1]:
                    rules = seen.rules or await wiki.restriction(seen.item.id)
                    reason = getattr(getattr(rules, "access", None), "reason", "")
                    if reason:
                        return Finding("restrictions", False, reason, "give the token read:content.restriction")
                    return Finding("pages and their restrictions", True)
        except DoorError as error:
            return Finding("pages", False, str(error), "give the token read:page and read:content.restriction")
    return Finding("pages", False, "the account can view no page", "share pages with it; restricted ones one by one")


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
