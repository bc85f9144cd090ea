"""What a large SharePoint costs: requests, resource units, time and memory of a first sync, unchanged ones and a sweep.

    python -m tests.bench.sharepoint [--files 50000] [--sites 40] [--scopes 5000] [--profile FILE]

The tenant is a double in a process of its own, on this machine: a network adds its round trips, and no budget is waited
for. The files of a site stand in folders of fifty; the scopes, files and folders with rights of their own, are spread
evenly among them. Parsing and embedding are stand-ins that are as good as free, so that what is left is reading,
settling and writing. Then rights that delta does not tell of are taken away: what is measured is the sweep that finds
it.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import multiprocessing
import resource
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rich.console import Console
from rich.table import Table

from connectors.sync.run import SyncReport
from tests.doubles.sharepoint.simulator import SharePoint
from tests.doubles.sharepoint.state import Item
from tests.doubles.sharepoint.tenant import Tenant
from tests.sharepoint_house import House, unbounded

IN_A_FOLDER = 50
PEOPLE = 40
FOLDERS = 5  # every so many-th scope is a folder


def grown(files: int, sites: int, scopes: int) -> Tenant:
    """A tenant with so many files in so many sites, of which so many objects have rights of their own."""
    tenant = Tenant()
    people = [tenant.person(f"p{number}") for number in range(PEOPLE)]
    staff = tenant.group("staff", *people)
    made = scoped = 0
    for at in range(sites):
        site = tenant.site(f"s{at}")
        tenant.add(site.site_group("Visitors"), staff)
        folder: Item | None = None
        for number in range(files * at // sites, files * (at + 1) // sites):
            if folder is None or made % IN_A_FOLDER == 0:
                folder = tenant.folder(site.web.lists[0], f"Folder {number}")
            file = tenant.file(site.web.lists[0], f"{number}.md", f"Rule {number} of the company.", folder)
            made += 1
            if scoped < scopes * made // files:
                own = folder if scoped % FOLDERS == 0 and not folder.unique else file
                tenant.break_inheritance(own, copy=False)
                tenant.grant(own, people[scoped % PEOPLE])
                scoped += 1
    tenant.history.clear()
    return tenant


def serve(files: int, sites: int, scopes: int, line: Connection) -> None:
    """The double's process: serves, and does what it is told over the line."""

    async def run() -> None:
        tenant = grown(files, sites, scopes)
        vendor = SharePoint(tenant)
        vendor.count.keep = False
        async with vendor:
            paths = tuple(site.path for site in tenant.collections)
            line.send((vendor.pem, vendor.client, vendor.login_url, vendor.graph_url, tenant.host, tenant.id, paths))
            while True:
                match await asyncio.to_thread(line.recv):
                    case "stop":
                        return
                    case "counts":
                        line.send((dict(vendor.count.requests), dict(vendor.count.units)))
                        vendor.count.clear()
                    case "revoke":  # and delta keeps it to itself
                        tenant.gaps.role_assignments = True
                        unique = [each for each in tenant.documents() if each.unique]
                        for item in unique[::10]:
                            item.grants.clear()
                        line.send(len(unique[::10]))
                    case ("now", at):
                        tenant.at = at

    asyncio.run(run())


@dataclass(slots=True)
class Far(House):
    """A house whose tenant is served by another process."""

    line: Connection | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[House]:
        pem, client, login, graph, host, tenant, paths = self._heard()
        self.tenant.id, self.tenant.host, self.sites = tenant, host, paths
        self.vendor = SimpleNamespace(  # type: ignore[assignment]  # what a house needs of it
            pem=pem, client=client, login_url=login, graph_url=graph, site_url=lambda path: host + path
        )
        unbounded(tenant, client)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "app.pem").write_text(pem)
        async with AsyncExitStack() as stack:
            await self._open_doors(stack)
            yield self

    def _heard(self) -> Any:
        assert self.line is not None
        return self.line.recv()

    def told(self, what: object) -> None:
        assert self.line is not None
        self.line.send(what)

    def counts(self) -> tuple[Counter[str], Counter[str]]:
        """Requests and resource units since the last time, by kind."""
        self.told("counts")
        requests, units = self._heard()
        return Counter(requests), Counter(units)


@dataclass(frozen=True, slots=True)
class Lap:
    """What one sync cost."""

    name: str
    seconds: float
    cpu: float
    requests: Counter[str]
    units: int
    report: SyncReport
    peak: float  # megabytes that the process has held at most so far


async def lap(house: Far, name: str, after: timedelta, sync: Callable[[], Awaitable[SyncReport]]) -> Lap:
    """One sync, measured, so long after the one before."""
    house.pause = after
    at: datetime = house.now() + after
    house.told(("now", at))
    house.counts()
    started, cpu = time.perf_counter(), time.process_time()
    report = await sync()
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    requests, units = house.counts()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Lap(name, seconds, cpu, requests, units.total(), report, peak)


async def main(files: int, sites: int, scopes: int, profile: str) -> None:
    """Fill, sync, sync again, revoke, sweep."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    double = context.Process(target=serve, args=(files, sites, scopes, theirs), daemon=True)
    double.start()
    kept = cProfile.Profile(time.thread_time) if profile else None
    with tempfile.TemporaryDirectory() as folder:
        house = Far(Path(folder), line=ours)
        async with house.open():
            empty = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            if kept:
                kept.enable()
            laps = [
                await lap(house, "first", timedelta(minutes=1), house.sync),
                await lap(house, "unchanged, delta", timedelta(minutes=11), lambda: house.sync(hurried=False)),
                await lap(house, "unchanged, webs and lists", timedelta(hours=2), lambda: house.sync(hurried=False)),
            ]
            house.told("revoke")
            revoked = house._heard()
            laps.append(await lap(house, "scope sweep", timedelta(hours=13), lambda: house.sync(hurried=False)))
            laps.append(await lap(house, "everything again", timedelta(hours=1), lambda: house.sync(full=True)))
            if kept:
                kept.disable()
                kept.dump_stats(profile)
    ours.send("stop")
    double.join(5)
    show(f"{files:,} files, {sites} sites, {scopes:,} scopes; {empty:.0f} MB before the first sync", laps)
    Console(width=140).print(f"{revoked} scopes revoked silently; the sweep changed {laps[3].report.access_changed}")


def show(title: str, laps: list[Lap]) -> None:
    """The table, and where the requests went."""
    console = Console(width=140)
    table = Table(title=title)
    for heading in ("sync", "seconds", "CPU s", "requests", "REST", "units", "upserted", "rules", "MB at most"):
        table.add_column(heading, justify="left" if heading == "sync" else "right")
    for each in laps:
        rest = sum(number for kind, number in each.requests.items() if kind.startswith("rest "))
        numbers = (each.requests.total(), rest, each.units, each.report.upserted, each.report.access_changed)
        table.add_row(
            each.name, f"{each.seconds:.1f}", f"{each.cpu:.1f}", *(f"{number:,}" for number in numbers),
            f"{each.peak:.0f}",
        )  # fmt: skip
    console.print(table)
    for each in laps:
        most = ", ".join(f"{count} {what}" for what, count in each.requests.most_common(7))
        console.print(f"{each.name}: {most}")
        if not each.report.complete or each.report.problems:
            console.print(f"  complete {each.report.complete}; {'; '.join(each.report.problems[:3])}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--sites", type=int, default=40)
    parser.add_argument("--scopes", type=int, default=5_000)
    parser.add_argument("--profile", default="", help="where to write a profile of all syncs")
    given = parser.parse_args()
    asyncio.run(main(given.files, given.sites, given.scopes, given.profile))
