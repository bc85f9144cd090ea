"""Keeping the sources: adding, pausing, removing, syncing them, and the directory files that come with them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from bot.errors import Unusable
from connectors.errors import Stop, Transient
from connectors.ports import (
    Catalog,
    DirectoryTables,
    FarSource,
    Finding,
    Imported,
    Index,
    Memory,
    People,
    Source,
    SourceConfig,
    Sources,
    SourceStatus,
)
from connectors.sync import feeds
from connectors.sync.reconcile import finish

DIRECTORY = "directory.toml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")

Json = dict[str, Any]
Tell = Callable[[int, int | None, str], None]


def nobody_listens(_done: int, _total: int | None, _what: str) -> None:
    """A `Tell` for work that nobody watches."""


class Owners(Protocol):
    """Which directory file lists whom; a person and a place have one."""

    async def owners(self) -> Mapping[str, str]:
        """The origin of everybody and of every place."""
        ...

    async def adopt(self, names: frozenset[str], origin: str) -> None:
        """Make these people and places another origin's."""
        ...


class Syncing(Protocol):
    """Bring one source up to date; the JSON of its report."""

    def __call__(self, source: Source, *, full: bool, tell: Tell) -> Awaitable[Json]: ...


@dataclass(frozen=True, slots=True)
class Opened:
    """A source while it is open; `far` where it is an outside system."""

    source: Source
    far: FarSource | None = None


class OpenSource(Protocol):
    """Open a configured source. `hurried`: a person asked for what is done with it."""

    def __call__(self, config: SourceConfig, *, hurried: bool) -> AbstractAsyncContextManager[Opened]: ...


@dataclass(frozen=True, slots=True)
class Keeping:
    """The doors that keeping sources needs."""

    sources: Sources
    catalog: Catalog
    index: Index
    people: People
    owners: Owners
    clock: Callable[[], datetime]
    open_source: OpenSource
    memory: Callable[[str], Memory]
    read_directory: Callable[[Path], DirectoryTables]
    sync: Syncing

    async def active(self) -> list[str]:
        """Names of the sources that are synced."""
        return [config.name for config in await self.sources.list() if config.state == "active"]


# ---------------------------------------------------------------- sources


async def add_source(doors: Keeping, name: str, kind: str, settings: Mapping[str, Any]) -> Json:
    """Configure a source, with the people of its directory file; the same again changes nothing. A far source is
    looked at first: `findings` say what was found, and where an essential one is bad its `state` is `refused` and
    nothing was configured. Raises DoorError where it can't be looked at."""
    if not _NAME.fullmatch(name):
        raise Unusable(f"{name!r} can't be a source's name; use letters, digits, '.', '_' and '-', at most 63")
    wanted = SourceConfig(name, kind, settings)
    known = await doors.sources.get(name)
    if known is not None and (known.kind, dict(known.settings)) != (kind, dict(settings)):
        raise Unusable(f"there is a source {name!r} already; choose another name or remove it first")
    findings = await _looked_at(doors, wanted)
    if known is None and findings and any(each.essential and not each.ok for each in findings):
        return _added(wanted, _nowhere(name, kind, "refused"), findings)
    config = known or await doors.sources.add(wanted, doors.clock())
    await _reread_directory(doors, config)
    return _added(wanted, await state_of(doors, name), findings)


async def _looked_at(doors: Keeping, config: SourceConfig) -> Sequence[Finding] | None:
    """What a far source finds about itself; None of another one."""
    async with doors.open_source(config, hurried=True) as opened:
        if opened.far is None:
            return None
        findings = await opened.far.probe(doors.clock())
        await feeds.remember(doors.memory(config.name), opened.far.feeds, opened.far.stale_grant_bound)
        return findings


def _added(config: SourceConfig, state: Json, findings: Sequence[Finding] | None) -> Json:
    told = {} if findings is None else {"findings": [asdict(each) for each in findings]}
    return {**config.settings, **state, **told}


def _nowhere(name: str, kind: str, state: str) -> Json:
    """The state of a source that the ledger does not have."""
    counts = {"documents": 0, "chunks": 0, "last_run": None, "lag_seconds": None}
    nothing: Json = {"problems": [], "feeds": [], "stale_grant_bound_seconds": None}
    return {"name": name, "kind": kind, "state": state, **counts, **nothing}


async def overview(doors: Keeping) -> AsyncIterator[Json]:
    """The state of every source, by name."""
    for config in await doors.sources.list():
        status = await doors.sources.status(config.name)
        if status is not None:
            yield await _state(doors, status)


async def state_of(doors: Keeping, name: str) -> Json:
    """The state of one source, as the ledger has it: its system is not asked."""
    status = await doors.sources.status(name)
    if status is None:
        raise _unknown(name)
    return await _state(doors, status)


async def change_state(doors: Keeping, name: str, state: str) -> Json:
    """Pause, resume or remove a source; returns its state after that."""
    config = await _config(doors, name)
    match state:
        case "paused":
            await doors.sources.pause(name)
        case "active":
            if config.state == "removing":
                raise Unusable(f"source {name!r} is being removed; add it again afterwards")
            await doors.sources.resume(name)
        case _:
            await _remove(doors, config)
            return _nowhere(name, config.kind, state)
    return await state_of(doors, name)


async def _remove(doors: Keeping, config: SourceConfig) -> None:
    """Close, then clean, then forget: after a kill at any point the same command goes on."""
    await doors.sources.remove(config.name, doors.clock())
    kept = {_directory_of(other) for other in await doors.sources.list() if other.name != config.name}
    if (path := _directory_of(config)) is not None and path not in kept:
        await doors.people.replace(DirectoryTables((), {}, {}), doors.clock(), _origin(path))
    await finish(config.name, doors.catalog, doors.index)
    await doors.sources.forget(config.name)


async def sync_named(
    doors: Keeping, name: str, *, full: bool = False, tell: Tell = nobody_listens, hurried: bool = True
) -> Json:
    """Bring one source up to date: the people first, so that nobody is answered by groups that he has left. `hurried`:
    a person asked for it, so that a far source looks at everything about rights, due or not."""
    config = await _config(doors, name)
    if config.state != "active":
        raise Unusable(f"source {name!r} is {config.state}; resume it first")
    await _reread_directory(doors, config)
    async with doors.open_source(config, hurried=hurried) as opened:
        if opened.far is not None:
            await feeds.remember(doors.memory(name), opened.far.feeds, opened.far.stale_grant_bound)
        report = await doors.sync(opened.source, full=full, tell=tell)
    status = await doors.sources.status(name)
    if opened.far is not None and status is not None and not status.documents:
        return report | {"complete": False, "problems": [*report["problems"], _nothing_of(name)]}
    return report


async def wait_for(doors: Keeping, name: str, otherwise: timedelta) -> timedelta:
    """How long `serve` waits between two looks at a source: a far one has feeds of its own."""
    about = await feeds.about(doors.memory(name))
    return min([otherwise, *(lag.every for lag in about.lags)]) if about else otherwise


def _nothing_of(name: str) -> str:
    return f"no document of {name!r} can be answered from; check what its account may see there, and its settings"


async def _config(doors: Keeping, name: str) -> SourceConfig:
    config = await doors.sources.get(name)
    if config is None:
        raise _unknown(name)
    return config


def variables_of(settings: Mapping[str, Any]) -> frozenset[str]:
    """The environment variables that a source's settings refer to."""
    return frozenset(value for where, value in secrets_of(settings) if where == "secret_env")


def secrets_of(settings: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """Where the secrets are that a source's settings refer to: `secret_env` or `secret_file`, and its name."""
    nested = [each for each in settings.values() if isinstance(each, Mapping)]
    kinds = ("secret_env", "secret_file")
    own = {(key, value) for key, value in settings.items() if key in kinds and isinstance(value, str)}
    return frozenset(own).union(*map(secrets_of, nested))


def _unknown(name: str) -> Unusable:
    return Unusable(f"there is no source {name!r}; `footnote source list` names them")


async def _state(doors: Keeping, status: SourceStatus) -> Json:
    run, synced, now = status.last_run, status.synced_at, doors.clock()
    about = await feeds.about(doors.memory(status.config.name))
    return {
        "name": status.config.name,
        "kind": status.config.kind,
        "state": status.config.state,
        "documents": status.documents,
        "chunks": status.chunks,
        "last_run": None if run is None else (run.ended or run.started).isoformat(),
        "lag_seconds": _seconds(now, synced),
        "problems": _problems(status, far=about is not None),
        "feeds": [
            {
                "feed": lag.feed,
                "every_seconds": lag.every.total_seconds(),
                "last": None if lag.last is None else lag.last.isoformat(),
                "lag_seconds": _seconds(now, lag.last),
            }
            for lag in (about.lags if about else ())
        ],
        "stale_grant_bound_seconds": about.stale_grant_bound.total_seconds() if about else None,
    }


def _seconds(now: datetime, since: datetime | None) -> float | None:
    return None if since is None else round((now - since).total_seconds(), 1)


def _problems(status: SourceStatus, *, far: bool) -> list[Json]:
    """What an admin should look into: of the source as a whole first, then of what is closed, then of documents."""
    run, name = status.last_run, status.config.name
    whole = [str(each) for each in run.report.get("problems", ())] if run else []
    if far and run is not None and run.ended is not None and not status.documents:
        whole.append(_nothing_of(name))
    return [
        *({"document": "", "reason": reason} for reason in whole if not _said(reason, status)),
        *({"document": root, "reason": f"closed: {reason}"} for root, reason in status.closed),
        *({"document": str(document), "reason": reason} for document, reason in status.problems),
    ]


def _said(problem: str, status: SourceStatus) -> bool:
    """Whether a problem of the last run is one of the closings that are listed by themselves."""
    return any(problem.endswith(f": {reason}") for _, reason in status.closed)


# ---------------------------------------------------------------- directory files


async def import_directory(doors: Keeping, path: Path) -> Imported:
    """Load a directory file because somebody asked for it: whom it lists is taken over from other files."""
    try:
        tables = doors.read_directory(path)
    except Stop as error:
        raise Unusable(str(error)) from error
    origin = _origin(path)
    await doors.owners.adopt(_names(tables), origin)
    return await doors.people.replace(tables, doors.clock(), origin)


async def _reread_directory(doors: Keeping, config: SourceConfig) -> None:
    """Make the people of the file beside a source's documents what it says now.

    Whom another file lists is left to that file. A file that is gone or can't be read lists nobody: groups that
    nobody can vouch for any more must not let anybody in.
    """
    path = _directory_of(config)
    if path is None:
        return
    origin = _origin(path)
    owners = await doors.owners.owners()
    try:
        tables = doors.read_directory(path) if path.is_file() else DirectoryTables((), {}, {})
        if not tables.people and not tables.groups and origin not in owners.values():
            return
        ours = _without(tables, frozenset(name for name, owner in owners.items() if owner != origin))
        await doors.people.replace(ours, doors.clock(), origin)
    except Exception as error:
        if not isinstance(error, Transient):  # of the ledger: the file may be good
            await doors.people.replace(DirectoryTables((), {}, {}), doors.clock(), origin)
        if isinstance(error, OSError):
            raise Stop(f"{str(path)!r} can't be read: {error.strerror}") from error
        raise


def _directory_of(config: SourceConfig) -> Path | None:
    return Path(config.settings["path"]) / DIRECTORY if config.kind == "files" else None


def _origin(path: Path) -> str:
    return f"file:{path.resolve()}"


def _names(tables: DirectoryTables) -> frozenset[str]:
    return frozenset(person.email.strip().casefold() for person in tables.people) | frozenset(tables.places)


def _without(tables: DirectoryTables, taken: frozenset[str]) -> DirectoryTables:
    people = tuple(person for person in tables.people if person.email.strip().casefold() not in taken)
    places = {place: members for place, members in tables.places.items() if place not in taken}
    return DirectoryTables(people, tables.groups, places)
