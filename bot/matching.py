"""Binds people of the directory to their accounts in a far source, by address; never by a name, and never over what is
bound already. Whatever leaves room for doubt is a conflict, which a person decides with `person link`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from bot.errors import Unusable
from policies.names import Principal

if TYPE_CHECKING:
    from bot.keeping import Keeping
    from connectors.ports import FarAccount, Organisation, PersonRecord


class Match(NamedTuple):
    """Somebody's only account. `bound`: it is his already."""

    email: str
    account: str
    bound: bool


class Conflict(NamedTuple):
    """Somebody who has an account, it seems, and why he was not bound to it."""

    email: str
    reason: str


@dataclass(frozen=True, slots=True)
class Matching:
    """What came of comparing a source's accounts with the directory."""

    matched: tuple[Match, ...]
    conflicts: tuple[Conflict, ...]
    unmatched: tuple[str, ...]  # people without an account there
    accounts: int = 0
    left_out: int = 0  # accounts that were not compared
    applied: int = 0  # people who were bound now


async def match_people(doors: Keeping, name: str, organisation: Organisation | None, *, apply: bool) -> Matching:
    """Compare the accounts of a source with the directory and, where asked for, bind who matches. Raises DoorError
    where the accounts can't be listed whole; then nobody was bound."""
    config = await doors.sources.get(name)
    if config is None:
        raise Unusable(f"there is no source {name!r}; `footnote source list` names them")
    async with doors.open_source(config, hurried=True) as opened:
        if opened.far is None or opened.far.accounts is None:
            raise Unusable(f"people are not matched with accounts of {name!r}, a source of kind {config.kind!r}")
        listed = await opened.far.accounts(organisation)
        provider = opened.far.rights.provider
    found = compared(listed.accounts, await doors.people.list(), provider)
    fresh = [each for each in found.matched if apply and not each.bound]
    for each in fresh:
        await doors.people.link(each.email, provider, each.account, doors.clock())
    return Matching(found.matched, found.conflicts, found.unmatched, len(listed.accounts), listed.left_out, len(fresh))


def compared(accounts: Iterable[FarAccount], people: Sequence[PersonRecord], provider: str) -> Matching:
    """Which account is whose, by the directory's own folding of addresses."""
    by_email: dict[str, list[str]] = {}
    for account in accounts:
        if email := _folded(account.email):
            by_email.setdefault(email, []).append(account.id)
    holders = {person.identities[provider]: person.email for person in people if provider in person.identities}
    matched: list[Match] = []
    conflicts: list[Conflict] = []
    unmatched: list[str] = []
    for person in people:
        match _judged(by_email.get(person.email, []), person, provider, holders):
            case Match() as found:
                matched.append(found)
            case Conflict() as found:
                conflicts.append(found)
            case None:
                unmatched.append(person.email)
    return Matching(tuple(matched), tuple(conflicts), tuple(unmatched))


def _judged(
    found: Sequence[str], person: PersonRecord, provider: str, holders: dict[str, str]
) -> Match | Conflict | None:
    bound = person.identities.get(provider)
    if bound is not None and bound in found:  # also where somebody chose it among several by hand
        return Match(person.email, bound, True)
    if not found:
        return None
    if len(found) > 1:
        return Conflict(person.email, f"{len(found)} accounts have this address: {', '.join(sorted(found))}")
    [account] = found
    if bound is not None:
        return Conflict(person.email, f"is bound to {bound} already, and the address is that of {account}")
    if account in holders:
        return Conflict(person.email, f"{account} is bound to {holders[account]} already")
    return Match(person.email, account, False)


def _folded(email: str) -> str:
    """An address as the directory writes it; empty where it is none."""
    try:
        return Principal.person(email).name.removeprefix("usr:")
    except ValueError:
        return ""
