"""A directory that adds what each far source's own system says of a person: asked late, and for that person alone.

What was asked is kept for a few minutes. When it can't be asked anew it still counts for a little while, and then the
person has nothing of that source: who can't be vouched for is let in nowhere.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from connectors.errors import DoorError
from connectors.ports import Anew, Directory, Membership, People, Rights
from policies.facts import Kind, Subject
from policies.names import Principal

TTL = timedelta(minutes=5)
HARD_MAX = timedelta(minutes=15)
PATIENCE = 10.0  # seconds that one system may take for one person
TOGETHER = 8  # people of a place asked about at once
_PLACE = 20.0  # seconds that everybody in a place may take together
_PAUSE = timedelta(seconds=15)  # between two attempts for somebody whom a system could not tell of
_KEPT = 20_000  # readings

RightsNow = Callable[[], Awaitable[Mapping[str, Rights]]]
"""The systems to ask now, by the name of their source."""


@dataclass(frozen=True, slots=True)
class _Reading:
    membership: Membership | None  # None: it was never read
    at: datetime
    failed_at: datetime | None = None


_Who = tuple[str, str, str, Kind]  # source, provider, account, kind


class LateDirectory:
    """Port `NowDirectory` around another one."""

    def __init__(
        self,
        inner: Directory,
        people: People,
        rights: RightsNow,
        ttl: timedelta = TTL,
        hard_max: timedelta = HARD_MAX,
        patience: float = PATIENCE,
    ) -> None:
        self._inner = inner
        self._people = people
        self._rights = rights
        self._ttl = ttl
        self._hard_max = hard_max
        self._patience = patience
        self._readings: OrderedDict[_Who, _Reading] = OrderedDict()
        self._turns: dict[_Who, tuple[asyncio.Lock, int]] = {}

    async def subject(
        self, who: Principal, now: datetime, *, guest: bool = False, fresh: bool = False
    ) -> Subject | None:
        """The person with all that he is in every system where he has an account. `resolved_at` is the oldest of what
        that was read from. `fresh`: nothing that was read before counts; where a system that rules everybody can't
        tell, he is taken for disabled."""
        found = await self._inner.subject(who, now, guest=guest)
        rights = await self._rights()
        if found is None or not rights or not _asks(found):
            return found
        record = await self._people.get(_email(found))
        return await self._with(found, record.identities if record else {}, rights, now, fresh=fresh)

    async def members(self, place: str, now: datetime) -> Sequence[Subject | None] | None:
        """Everybody in a place, with all that they are; None when that takes too long to be known."""
        found = await self._inner.members(place, now)
        rights = await self._rights()
        if found is None or not rights:
            return found
        records = await self._people.records([_email(each) for each in found if each is not None])
        accounts = {record.email: record.identities for record in records}
        turn = asyncio.Semaphore(TOGETHER)

        async def whole(each: Subject | None) -> Subject | None:
            if each is None or not _asks(each):
                return each
            async with turn:
                return await self._with(each, accounts.get(_email(each), {}), rights, now)

        try:
            async with asyncio.timeout(_PLACE):
                return await asyncio.gather(*map(whole, found))
        except TimeoutError:
            return None

    async def everyone(self) -> frozenset[Principal]:
        """What every employee is in some system, beside what the directory calls everyone."""
        rights = await self._rights()
        return (await self._inner.everyone()).union(*(each.everyone for each in rights.values()))

    async def _with(
        self,
        subject: Subject,
        accounts: Mapping[str, str],
        rights: Mapping[str, Rights],
        now: datetime,
        *,
        fresh: bool = False,
    ) -> Subject:
        asked = [(name, each) for name, each in rights.items() if each.provider in accounts]
        found = await asyncio.gather(
            *(
                self._read((name, each.provider, accounts[each.provider], subject.kind), each, now, fresh=fresh)
                for name, each in asked
            )
        )
        principals, read_at = set(subject.principals), subject.resolved_at
        for (_, each), reading in zip(asked, found, strict=True):
            if reading.membership is None:
                if fresh and each.rules_everybody:
                    return replace(subject, active=False, principals=frozenset(), resolved_at=now)
                continue
            read_at = min(read_at, reading.at)
            if reading.membership.active:
                principals |= reading.membership.principals
            elif each.rules_everybody:
                return replace(subject, active=False, principals=frozenset(), resolved_at=read_at)
        return replace(subject, principals=frozenset(principals), resolved_at=read_at)

    # ------------------------------------------------------------ what is kept

    async def _read(self, who: _Who, rights: Rights, now: datetime, *, fresh: bool) -> _Reading:
        """What a system says of somebody, fresh enough to count; nothing where nobody can tell."""
        turn, waiting = self._turns.get(who, (asyncio.Lock(), 0))
        self._turns[who] = (turn, waiting + 1)
        try:
            async with turn:  # who waits here finds what was asked meanwhile
                reading = self._readings.get(who)
                if fresh or reading is None or self._wants(reading, now):
                    reading = await self._ask(who, rights, now, reading, fresh=fresh)
                    self._keep(who, reading)
        finally:
            turn, waiting = self._turns.pop(who)
            if waiting > 1:
                self._turns[who] = (turn, waiting - 1)
        counts = reading.membership is not None and abs(now - reading.at) <= self._hard_max
        told = not fresh or reading.failed_at is None
        return reading if counts and told else _Reading(None, now)

    def _wants(self, reading: _Reading, now: datetime) -> bool:
        if reading.failed_at is not None and timedelta(0) <= now - reading.failed_at < _PAUSE:
            return False
        # By its distance: of a clock that was set back, nothing is fresh.
        return reading.membership is None or abs(now - reading.at) > self._ttl

    async def _ask(self, who: _Who, rights: Rights, now: datetime, old: _Reading | None, *, fresh: bool) -> _Reading:
        _, _, account, kind = who
        ask = rights.anew if fresh and isinstance(rights, Anew) else rights.membership
        try:
            async with asyncio.timeout(self._patience):
                return _Reading(await ask(account, kind, now), now)
        except (DoorError, TimeoutError):
            kept = old or _Reading(None, now)
            return replace(kept, failed_at=now)

    def _keep(self, who: _Who, reading: _Reading) -> None:
        self._readings[who] = reading
        self._readings.move_to_end(who)
        while len(self._readings) > _KEPT:
            self._readings.popitem(last=False)


def _asks(subject: Subject) -> bool:
    """Whether anybody would let this person ask: of others no system is asked."""
    return subject.active is True and subject.kind in (Kind.MEMBER, Kind.GUEST)


def _email(subject: Subject) -> str:
    return subject.person.name.partition(":")[2]
