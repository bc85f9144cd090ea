"""The line with one safety taken out, to see whether anybody would notice. Only for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bot.answering.doors import Doors
from policies.checks import Check
from policies.facts import Moment, Resource, Subject
from policies.names import ChunkId, Principal, ScopeId
from policies.policy import Policy
from policies.predicate import Condition, Narrowing, SearchScope

Weaken = Callable[[Doors], Doors]


def unsafe(*weakenings: Weaken) -> Weaken:
    """All of these at once."""

    def weaken(doors: Doors) -> Doors:
        for each in weakenings:
            doors = each(doors)
        return doors

    return weaken


def _policy(change: Callable[[Check], Check | None]) -> Weaken:
    def weaken(doors: Doors) -> Doors:
        checks = tuple(kept for check in doors.policy.checks if (kept := change(check)) is not None)
        return replace(doors, policy=Policy(checks, doors.policy.version, doors.policy.rules))

    return weaken


def without(*names: str) -> Weaken:
    """A policy that lacks these checks altogether."""
    return _policy(lambda check: None if check.name in names else check)


def blind(name: str) -> Weaken:
    """The check narrows searches and objects to nothing."""
    return _policy(lambda check: _Blind(check) if check.name == name else check)


def broad(name: str) -> Weaken:
    """The check objects and narrows no search."""
    return _policy(lambda check: _Broad(check) if check.name == name else check)


def any_text(doors: Doors) -> Doors:
    """Whatever text the index holds passes for the published one."""
    return replace(doors, facts=_AnyText(doors.facts))


def wide(doors: Doors) -> Doors:
    """An index that ignores what a search is narrowed to."""
    return replace(doors, index=_Wide(doors.index))


def lonely(doors: Doors) -> Doors:
    """A directory that believes the asker to be alone, wherever he asks."""
    return replace(doors, directory=_Lonely(doors.directory))


def forgetful(doors: Doors) -> Doors:
    """Facts read once and believed for the rest of the question."""
    return replace(doors, facts=_Remembered(doors.facts))


@dataclass(frozen=True, slots=True)
class _Blind:
    check: Check

    @property
    def name(self) -> str:
        return self.check.name

    version = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        return None

    def narrows(self, subject: Subject, moment: Moment) -> Any:
        return self.check.narrows(subject, moment)


@dataclass(frozen=True, slots=True)
class _Broad:
    check: Check

    @property
    def name(self) -> str:
        return self.check.name

    version = 1

    def objects(self, subject: Subject, resource: Resource, moment: Moment) -> str | None:
        return self.check.objects(subject, resource, moment)

    def narrows(self, subject: Subject, moment: Moment) -> tuple[Condition, ...]:
        return ()


class _Through:
    def __init__(self, door: Any) -> None:
        self._door = door

    def __getattr__(self, name: str) -> Any:
        return getattr(self._door, name)


class _Everything(frozenset[str]):
    def __contains__(self, _: object) -> bool:
        return True


class _AnyText(_Through):
    async def digests(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, frozenset[str]]:
        return dict.fromkeys(ids, _Everything())


class _Wide(_Through):
    async def search(self, search: Any) -> Any:
        return await self._door.search(replace(search, narrowing=_ALL))

    async def section(self, document: Any, version: str, parent: str, narrowing: Any) -> Any:
        return await self._door.section(document, version, parent, _ALL)


_ALL = Narrowing(SearchScope(frozenset(map(ScopeId, range(10_000)))))


class _Lonely(_Through):
    async def members(self, place: str, now: datetime) -> Sequence[Subject] | None:
        members = await self._door.members(place, now)
        return members and [await self._door.subject(Principal.person("p3@example.com"), now)]


class _Remembered(_Through):
    def __init__(self, door: Any) -> None:
        super().__init__(door)
        self._known: dict[Any, Resource] = {}

    async def resources(self, versions: Sequence[Any]) -> Mapping[Any, Resource]:
        asked = [version for version in versions if version not in self._known]
        self._known.update(await self._door.resources(asked))
        return {version: self._known[version] for version in versions if version in self._known}
