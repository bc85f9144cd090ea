"""The people of the directory: their groups, the places they share, and the accounts that are theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from connectors.errors import Stop
from connectors.ledger.dialect import each, listed
from connectors.ledger.door import Door, one_transaction_each
from connectors.ledger.tables import (
    group_includes,
    groups,
    identities,
    memberships,
    people,
    place_members,
    places,
)
from connectors.ledger.together import Together
from connectors.ports import DirectoryTables, Imported, PersonRecord, Standing
from policies.names import Principal

Key = TypeVar("Key")


def _closure(emails: Any) -> Any:
    """Each person's groups, and every group that includes one of them, to any depth; cycles end by themselves. Only
    the file that lists him says what includes his groups: another source's file must not open this one's documents."""
    listed_in = (
        select(memberships.c.email, memberships.c.group, people.c.origin)
        .join(people, people.c.email == memberships.c.email)
        .where(memberships.c.email.in_(emails))
        .cte("closure", recursive=True)
    )
    of_the_same_file = group_includes.c.origin == listed_in.c.origin
    above = select(listed_in.c.email, group_includes.c.group, listed_in.c.origin).join(
        group_includes, (group_includes.c.included == listed_in.c.group) & of_the_same_file
    )
    return listed_in.union(above)


def _standing(emails: Any) -> Any:
    """A row a group of each person, and one without a group for who has none."""
    closure = _closure(emails)
    return (
        select(people.c.email, people.c.kind, people.c.active, closure.c.group)
        .outerjoin(closure, closure.c.email == people.c.email)
        .where(people.c.email.in_(emails))
        .order_by(people.c.email)
    )


_account = (identities.c.provider == bindparam("provider")) & (identities.c.subject == bindparam("subject"))
_OWNER = select(identities.c.email).where(_account)
_STANDING = _standing(each("emails"))
_ASKED_FOR = identities.c.provider.in_(each("providers")) & identities.c.subject.in_(each("subjects"))
_owned = _closure(select(identities.c.email).where(_ASKED_FOR))
_STANDING_OF = (
    select(identities.c.provider, identities.c.subject, people.c.email, people.c.kind, people.c.active, _owned.c.group)
    .join(people, people.c.email == identities.c.email)
    .outerjoin(_owned, _owned.c.email == people.c.email)
    .where(_ASKED_FOR)
)
_MOST = 500  # accounts that are looked up in one go


def folded(email: str) -> str:
    """An address as the ledger keeps it: the same folding as the principal's. Stop when it is none."""
    try:
        return Principal.person(email).name.removeprefix("usr:")
    except ValueError as error:
        raise Stop(f"{email!r} is not an e-mail address") from error


@one_transaction_each
class SqlPeople:
    """Port `People`."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._looking_up = Together(self._standings_of, _MOST)

    async def replace(self, tables: DirectoryTables, now: datetime, origin: str = "directory") -> Imported:
        """Make the tables of this origin what the file says, in one step."""
        async with self._door.write() as connection:
            await _replace_people(connection, tables, origin)
            await _replace_groups(connection, tables, origin)
            await _replace_places(connection, tables, origin)
            for record in tables.people:
                email = folded(record.email)
                for provider, subject in sorted(record.identities.items()):
                    await _bind(connection, email, provider, subject, now, linked=False)
        return Imported(len(tables.people), len(tables.groups), len(tables.places))

    async def list(self) -> Sequence[PersonRecord]:
        """Everybody known, by address."""

        def read(connection: Connection) -> Sequence[PersonRecord]:
            return _records(connection, connection.execute(select(people.c.email)).scalars().all())

        return await self._door.look(read)

    async def get(self, email: str) -> PersonRecord | None:
        """One person by address."""
        return next(iter(await self.records([email])), None)

    async def records(self, emails: Sequence[str]) -> Sequence[PersonRecord]:
        """These people as far as they are known, by address."""
        wanted = [folded(email) for email in emails]
        return await self._door.look(lambda connection: _records(connection, wanted))

    async def of_identity(self, provider: str, subject: str) -> PersonRecord | None:
        """The person whose account this is."""

        def read(connection: Connection) -> PersonRecord | None:
            email = connection.execute(_OWNER, {"provider": provider, "subject": subject}).scalar()
            return None if email is None else next(iter(_records(connection, [email])), None)

        return await self._door.look(read)

    async def link(self, email: str, provider: str, subject: str, now: datetime) -> None:
        """Bind an account to a person."""
        async with self._door.write() as connection:
            known = select(people.c.email).where(people.c.email == folded(email))
            if (await connection.execute(known)).first() is None:
                raise Stop(f"the directory does not know {email!r}; import the person first")
            await _bind(connection, folded(email), provider, subject, now, linked=True)

    async def bind(self, email: str, accounts: Mapping[str, str], now: datetime) -> None:
        """Bind several accounts to a person, all of them or none."""
        async with self._door.write() as connection:
            known = select(people.c.email).where(people.c.email == folded(email))
            if (await connection.execute(known)).first() is None:
                raise Stop(f"the directory does not know {email!r}; import the person first")
            for provider, subject in sorted(accounts.items()):
                await _bind(connection, folded(email), provider, subject, now, linked=True)

    async def unlink(self, email: str, provider: str) -> bool:
        """Take a binding off; returns whether there was one."""
        at = (identities.c.email == folded(email)) & (identities.c.provider == provider)
        async with self._door.write() as connection:
            return bool((await connection.execute(delete(identities).where(at))).rowcount)

    async def standing(self, emails: Sequence[str]) -> Sequence[Standing]:
        """These people with all their groups, as far as they are known; one statement."""
        rows = await self._read(_STANDING, {"emails": listed(folded(email) for email in emails)})
        return list(_standings((row.email, row) for row in rows).values())

    async def standing_of(self, provider: str, subject: str) -> Standing | None:
        """The person whose account this is, with all his groups. Whoever is asked for at the same time, such as the
        members of a channel, is looked up in the same statement."""
        return await self._looking_up.add((provider, subject))

    async def _standings_of(self, accounts: Sequence[tuple[str, str]]) -> Sequence[Standing | None]:
        providers, subjects = zip(*accounts, strict=True)
        rows = await self._read(_STANDING_OF, {"providers": listed(providers), "subjects": listed(subjects)})
        found = _standings(((row.provider, row.subject), row) for row in rows)
        return [found.get(account) for account in accounts]

    async def _read(self, statement: Any, parameters: Mapping[str, str]) -> Sequence[Row[Any]]:
        return await self._door.look(lambda connection: connection.execute(statement, parameters).all(), single=True)

    async def place(self, place: str) -> Sequence[str] | None:
        """The addresses of everybody in a place; None when it is not known."""
        query = (
            select(places.c.name, place_members.c.email)
            .outerjoin(place_members, place_members.c.place == places.c.name)
            .where(places.c.name == place)
        )
        rows = await self._door.look(lambda connection: connection.execute(query).all(), single=True)
        return sorted(email for _name, email in rows if email is not None) if rows else None


def _standings(rows: Iterable[tuple[Key, Row[Any]]]) -> dict[Key, Standing]:
    """People by whatever each row is found by, in the order of the rows: one row a group, or one without."""
    groups_of: dict[tuple[Key, tuple[str, str, bool]], set[str]] = {}
    for key, row in rows:
        found = groups_of.setdefault((key, (row.email, row.kind, row.active)), set())
        found.update(() if row.group is None else (row.group,))
    return {key: Standing(*person, frozenset(found)) for (key, person), found in groups_of.items()}


def _records(connection: Connection, emails: Sequence[str]) -> list[PersonRecord]:
    wanted = {"emails": listed(emails)}
    rows = connection.execute(select(people).where(people.c.email.in_(each("emails"))), wanted)
    groups_of: dict[str, list[str]] = {}
    query = select(memberships).where(memberships.c.email.in_(each("emails")))
    for email, group in connection.execute(query, wanted):
        groups_of.setdefault(email, []).append(group)
    accounts: dict[str, dict[str, str]] = {}
    query = select(identities).where(identities.c.email.in_(each("emails")))
    for row in connection.execute(query, wanted):
        accounts.setdefault(row.email, {})[row.provider] = row.subject
    return sorted(
        (
            PersonRecord(
                email=row.email,
                name=row.name,
                kind=row.kind,
                active=row.active,
                groups=tuple(sorted(groups_of.get(row.email, ()))),
                identities=accounts.get(row.email, {}),
            )
            for row in rows.all()
        ),
        key=lambda record: record.email,
    )


async def _replace_people(connection: AsyncConnection, tables: DirectoryTables, origin: str) -> None:
    stated = {folded(record.email): record for record in tables.people}
    rows = (await connection.execute(select(people.c.email, people.c.origin))).all()
    taken = sorted(email for email, owner in rows if owner != origin and email in stated)
    if taken:
        raise Stop(f"{taken[0]!r} is listed by another directory already; a person has one")
    ours = {email for email, owner in rows if owner == origin}
    for email in sorted(ours - stated.keys()):
        await connection.execute(delete(people).where(people.c.email == email))
    for email, record in stated.items():
        change = {"name": record.name, "kind": record.kind, "active": record.active}
        if email in ours:
            await connection.execute(update(people).where(people.c.email == email).values(**change))
            await connection.execute(delete(memberships).where(memberships.c.email == email))
            by_import = (identities.c.email == email) & identities.c.linked.is_(False)
            await connection.execute(delete(identities).where(by_import))
        else:
            await connection.execute(insert(people).values(email=email, origin=origin, **change))
        if record.groups:
            listed_in = [{"email": email, "group": group} for group in sorted(set(record.groups))]
            await connection.execute(insert(memberships), listed_in)


async def _replace_groups(connection: AsyncConnection, tables: DirectoryTables, origin: str) -> None:
    await connection.execute(delete(groups).where(groups.c.origin == origin))
    await connection.execute(delete(group_includes).where(group_includes.c.origin == origin))
    for group, included in sorted(tables.groups.items()):
        await connection.execute(insert(groups).values(name=group, origin=origin))
        if included:
            rows = [{"group": group, "included": name, "origin": origin} for name in sorted(set(included))]
            await connection.execute(insert(group_includes), rows)


async def _replace_places(connection: AsyncConnection, tables: DirectoryTables, origin: str) -> None:
    await connection.execute(delete(places).where(places.c.origin == origin))
    for place, members in sorted(tables.places.items()):
        taken = (await connection.execute(select(places.c.origin).where(places.c.name == place))).scalar()
        if taken is not None:
            raise Stop(f"the place {place!r} is listed by another directory already")
        await connection.execute(insert(places).values(name=place, origin=origin))
        if members:
            rows = [{"place": place, "email": email} for email in sorted({folded(member) for member in members})]
            await connection.execute(insert(place_members), rows)


async def _bind(
    connection: AsyncConnection, email: str, provider: str, subject: str, now: datetime, *, linked: bool
) -> None:
    """Bind an account; an equal binding stays as it is."""
    account = (identities.c.provider == provider) & (identities.c.subject == subject)
    owner = (await connection.execute(select(identities.c.email).where(account))).scalar()
    if owner == email:
        return
    if owner is not None:
        raise Stop(f"the account {subject!r} of {provider!r} belongs to somebody else; unlink it there first")
    held = (identities.c.provider == provider) & (identities.c.email == email)
    if (await connection.execute(select(identities.c.subject).where(held))).first() is not None:
        raise Stop(f"{email!r} has another account of {provider!r} already; unlink it first")
    row = {"provider": provider, "subject": subject, "email": email, "linked": linked, "at": now}
    await connection.execute(insert(identities).values(**row))
