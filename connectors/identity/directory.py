"""The directory as a file, `directory.toml`, and the people that the ledger holds of it, as the port `Directory`.

Reading is strict: a file with a fault is refused whole, because half a directory would quietly take or give rights.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from connectors.errors import Stop
from connectors.ports import DirectoryTables, People, PersonRecord, Standing
from policies.facts import Kind, Subject
from policies.names import Principal

_TOP = {"people", "groups", "places"}
_PERSON = {"name", "kind", "groups", "identities", "active"}
_PLACES = ("private", "public", "dm")


def read_directory(text: str) -> DirectoryTables:
    """The tables of a directory file. Groups may include each other in circles; a group that a person names need not
    be declared. Stop names the first fault and where it is."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Stop(f"directory.toml is not valid TOML: {error}") from error
    _no_other(content, _TOP, "directory.toml")
    people = [_person(email, _table(entry, f"people.{email!r}")) for email, entry in _tables(content, "people")]
    groups = dict(_group(name, _table(entry, f"groups.{name!r}")) for name, entry in _tables(content, "groups"))
    places = dict(_place(name, _table(entry, f"places.{name!r}")) for name, entry in _tables(content, "places"))
    _unique(people)
    return DirectoryTables(tuple(people), groups, places)


def _person(email: str, entry: Mapping[str, Any]) -> PersonRecord:
    where = f"people.{email!r}"
    _no_other(entry, _PERSON, where)
    kind = _text(entry.get("kind", "member"), f"{where}.kind")
    if kind not in {known.value for known in Kind}:
        raise Stop(f"{where}.kind is {kind!r}; it is member, guest or external")
    active = entry.get("active", True)
    if not isinstance(active, bool):
        raise Stop(f"{where}.active must be true or false")
    identities = _table(entry.get("identities", {}), f"{where}.identities")
    return PersonRecord(
        email=_email(email, where),
        name=_text(entry.get("name", email), f"{where}.name"),
        kind=kind,
        active=active,
        groups=tuple(_group_name(name, f"{where}.groups") for name in _list(entry.get("groups", []), where)),
        identities={_provider(key, where): _text(value, f"{where}.identities") for key, value in identities.items()},
    )


def _group(name: str, entry: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    where = f"groups.{name!r}"
    _no_other(entry, {"includes", "name"}, where)
    included = _list(entry.get("includes", []), f"{where}.includes")
    return _group_name(name, where), tuple(_group_name(group, f"{where}.includes") for group in included)


def _place(name: str, entry: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    where = f"places.{name!r}"
    _no_other(entry, {"members"}, where)
    if name.partition(":")[0] not in _PLACES:
        raise Stop(f"{where}: a place is written private:ID, public:ID or dm:ID")
    if "members" not in entry:
        raise Stop(f'{where} needs members = ["mail", …]; an empty list means that nobody is in it')
    return name, tuple(_email(mail, where) for mail in _list(entry["members"], f"{where}.members"))


def _unique(people: Sequence[PersonRecord]) -> None:
    emails: set[str] = set()
    accounts: dict[tuple[str, str], str] = {}
    for person in people:
        if person.email in emails:
            raise Stop(f"directory.toml lists {person.email!r} twice; addresses compare without case")
        emails.add(person.email)
        for account in person.identities.items():
            if account in accounts:
                raise Stop(f"the account {account[1]!r} of {account[0]!r} belongs to two people in directory.toml")
            accounts[account] = person.email


def _tables(content: Mapping[str, Any], name: str) -> list[tuple[str, Any]]:
    return list(_table(content.get(name, {}), name).items())


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Stop(f"{where} must be a table")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise Stop(f"{where} must be a list")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Stop(f"{where} must be a text that is not empty")
    return value


def _no_other(entry: Mapping[str, Any], known: set[str], where: str) -> None:
    other = sorted(entry.keys() - known)
    if other:
        raise Stop(f"{where} has an unknown key {other[0]!r}; known are {', '.join(sorted(known))}")


def _email(value: Any, where: str) -> str:
    try:
        return Principal.person(_text(value, where)).name.removeprefix("usr:")
    except ValueError as error:
        raise Stop(f"{where}: {error}") from error


def _group_name(value: Any, where: str) -> str:
    """A group as a principal. One of a source may include or be included like any other; a person is no group."""
    text = _text(value, where)
    try:
        principal = Principal.parse(text)
    except ValueError as error:
        raise Stop(f"{where}: {text!r} is not a group; write it as grp:name") from error
    if principal.kind == "usr":
        raise Stop(f"{where}: {text!r} is a person; groups list groups, and people list the groups they are in")
    return principal.name


def _provider(key: str, where: str) -> str:
    kind, colon, instance = key.partition(":")
    if not kind or not colon or not instance:
        raise Stop(f"{where}.identities: {key!r} must be written as provider:instance, such as slack:TEAM")
    return key


class LedgerDirectory:
    """Port `NowDirectory` over the people of the ledger."""

    def __init__(self, people: People) -> None:
        self._people = people

    async def subject(
        self, who: Principal, now: datetime, *, guest: bool = False, fresh: bool = False
    ) -> Subject | None:
        """The person as of now: himself, his groups, and every group that includes one of them. `who` is the person or
        one of his accounts, `provider:instance:id`. Somebody disabled is nobody's member. It is always fresh."""
        standing = await self._standing(who)
        if standing is None:
            return None
        found = _subject(standing, now)
        return replace(found, kind=Kind.GUEST) if guest and found.kind == Kind.MEMBER else found

    async def everyone(self) -> frozenset[Principal]:
        """Nothing: what the directory calls everyone is a setting."""
        return frozenset()

    async def _standing(self, who: Principal) -> Standing | None:
        kind, _, rest = who.name.partition(":")
        if kind == "usr":
            return next(iter(await self._people.standing([rest])), None) if "@" in rest else None
        provider, _, account = who.name.rpartition(":")
        return await self._people.standing_of(provider, account) if ":" in provider else None

    async def members(self, place: str, now: datetime) -> Sequence[Subject] | None:
        """Everybody in a place. None when the place is not listed, or when somebody in it is not known."""
        emails = await self._people.place(place)
        if emails is None:
            return None
        known = await self._people.standing(emails)
        if len(known) != len(emails):
            return None
        return [_subject(standing, now) for standing in known]


def _subject(standing: Standing, now: datetime) -> Subject:
    person = Principal.person(standing.email)
    principals = frozenset([person, *map(Principal, standing.groups)]) if standing.active else frozenset()
    return Subject(person, Kind(standing.kind), standing.active, principals, now)
