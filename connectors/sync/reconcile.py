"""What a run owes beyond the changes it was told: finishing what a kill left, and finding what silently went away."""

from __future__ import annotations

from datetime import datetime

from connectors.ports import Catalog, Index, Run
from connectors.sync.publish import bury

SPARED = 50  # documents that may vanish at once without suspicion
SHARE = 0.2  # of a source's documents, likewise


async def finish(source: str, catalog: Catalog, index: Index) -> None:
    """Clean what a run before had closed and not yet cleaned."""
    for document, keep in await catalog.unretired(source):
        await index.retire(document, keep)
        await catalog.retired(document)


async def prune(run: Run, seen: int, now: datetime, catalog: Catalog, index: Index) -> tuple[int, str | None]:
    """After a complete walk: bury what it did not see; returns how many were once read, and what to look into.

    Too many at once may be a lost mount or a lost right of our own account: they are hidden, which is as safe and is
    undone by seeing them again.
    """
    for root in await catalog.unseen_scopes(run.started, run.source):
        await catalog.withdraw_scope(run.source, root)
    lost = await catalog.unseen(run.id, run.source)
    if len(lost) > max(SPARED, SHARE * (seen + len(lost))):
        for document in lost:
            await catalog.hide(document, "it vanished together with many others")
        return 0, (
            f"{len(lost)} of {seen + len(lost)} documents vanished at once and are hidden, not deleted; "
            "check the source and its account, or remove the source"
        )
    gone = 0
    for document in lost:
        known = await catalog.known(document)
        gone += known is None or known.version != ""  # not what was never read, such as an access.toml with a fault
        await bury(document, "not found in a complete walk", now, catalog, index)
    return gone, None
