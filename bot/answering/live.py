"""The last question before a writer sees anything: does the source itself let each reader read this, at this moment?

Asked only of sources whose admin wants it, of few documents, within a bound. It only narrows: what a source does not
confirm for everybody who would see the reply is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from bot.answering.context import Context
from bot.answering.gate import Dropped, Judging, Version
from connectors.errors import DoorError
from connectors.ports import FarSource
from policies.names import DocumentId, Principal

MOST = 8  # documents of one answer that are asked about
READERS = 20  # people who are asked about; a reply that more would see is not confirmed
PATIENCE = 5.0  # seconds for all of it


class LiveSources(Protocol):
    """The far sources that are open, and people's accounts there."""

    async def now(self) -> Mapping[str, FarSource]:
        """Those that are open now, by name."""
        ...

    async def away(self) -> frozenset[str]:
        """Those that are to be asked and are not open now, by name."""
        ...

    async def accounts(self, people: Sequence[Principal]) -> Mapping[Principal, Mapping[str, str]]:
        """The accounts of these people, by provider."""
        ...

    async def said(self, source: str, verdicts: Mapping[DocumentId, bool]) -> None:
        """A source said of these whether somebody may read them, whom the ledger lets read them."""
        ...


async def confirmed(context: Context, by: Judging, live: LiveSources | None) -> Context:
    """The context without the documents that their source does not confirm for every reader. Labels stay."""
    lost = await unconfirmed({each.opened.version for each in context.passages}, by, live)
    if not lost:
        return context
    return Context(
        tuple(each for each in context.passages if each.opened.version[0] not in lost),
        context.left_out
        + tuple(
            Dropped(each.opened.candidate.id, "live check")
            for each in context.passages
            if each.opened.version[0] in lost
        ),
        context.parts,
    )


async def unconfirmed(versions: set[Version], by: Judging, live: LiveSources | None) -> frozenset[DocumentId]:
    """The documents that their source is to be asked about and does not confirm for every reader."""
    if live is None or not versions:
        return frozenset()
    asking = {name: far for name, far in (await live.now()).items() if far.live is not None}
    away = await live.away() - asking.keys()
    lost = frozenset(document for document, _ in versions if document.source in away)
    asked_about = {version for version in versions if version[0].source in asking}
    if not asked_about:
        return lost
    wanted = await _wanted(asked_about, asking, by)
    kept = await _readable(wanted[:MOST], asking, by, live)
    return lost.union(document for document in wanted if document not in kept)


def lost_any(context: Context) -> bool:
    """Whether a source did not confirm something."""
    return any(each.check == "live check" for each in context.left_out)


async def _wanted(versions: set[Version], asking: Mapping[str, FarSource], by: Judging) -> list[DocumentId]:
    """The documents to ask about; one whose facts are gone is asked about too, and so is one that its source doubts."""
    known = await by.facts.resources(sorted(versions))
    doubted: set[DocumentId] = set()
    for name, far in asking.items():
        if far.doubts is not None:
            doubted |= set(await far.doubts([document for document, _ in sorted(versions) if document.source == name]))

    def wanted(version: Version) -> bool:
        document = version[0]
        return version not in known or document in doubted or asking[document.source].live_for(known[version])

    return list(dict.fromkeys(version[0] for version in sorted(versions) if wanted(version)))


async def _readable(
    documents: Sequence[DocumentId], asking: Mapping[str, FarSource], by: Judging, live: LiveSources
) -> frozenset[DocumentId]:
    """Those that every reader may read, as their sources say."""
    people = sorted({reader.person for reader in by.readers})
    if not documents or not people or len(people) > READERS:
        return frozenset()
    try:
        async with asyncio.timeout(PATIENCE):
            accounts = await live.accounts(people)
            asked = [
                _of_source(asking[source], source, documents, accounts.get(person, {}), by, live)
                for source in sorted({document.source for document in documents})
                for person in people
            ]
            verdicts = await asyncio.gather(*asked)
    except (DoorError, TimeoutError):
        return frozenset()
    refused = frozenset().union(*verdicts)
    return frozenset(documents) - refused


async def _of_source(
    far: FarSource,
    source: str,
    documents: Sequence[DocumentId],
    accounts: Mapping[str, str],
    by: Judging,
    live: LiveSources,
) -> frozenset[DocumentId]:
    """Those of one source's documents that it does not let one person read."""
    ours = [document for document in documents if document.source == source]
    account = accounts.get(far.rights.provider)
    if account is None or far.live is None:
        return frozenset(ours)
    try:
        found = await far.live.readable(account, ours, by.clock())
    except DoorError:
        return frozenset(ours)
    await live.said(source, found)
    return frozenset(document for document in ours if found.get(document) is not True)
