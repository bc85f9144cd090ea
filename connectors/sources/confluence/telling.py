"""What there is to tell of a document: its text as it is now, or why there is none."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from connectors.errors import DoorError, Skip, Stop, Transient
from connectors.ports import Memory
from connectors.records import Change, Node, Skipped, SourceDocument, Upsert
from connectors.sources.confluence.client import Lost
from connectors.sources.confluence.includes import shown_by, written
from connectors.sources.confluence.mapping import LEAVES, PAGES, SHOWS, STORAGE, Body, Documents
from connectors.sources.confluence.wiki import Wiki
from connectors.sync.placing import Place, Placing
from policies.names import DocumentId

_DEEPEST = 500  # replies to replies
_MOST_EARLIER = 200  # versions of a page that are looked at


@dataclass(frozen=True, slots=True)
class Telling:
    """Tells of the documents of one source."""

    name: str
    wiki: Wiki
    memory: Memory
    documents: Documents
    history: bool = False  # of a page that states from when it is in force, the wordings before as well

    async def described(self, told: set[str], node: Node, place: Place) -> Sequence[SourceDocument] | Skipped:
        """A document, its wording of now last, or why not. What was refused is asked for again each time, until it is
        had or gone."""
        try:
            return await self._as_it_is(told, node, place)
        except Lost as error:
            if error.status == 401 or 200 <= error.status < 300:  # of the account or of what stands between, for now
                raise Transient(str(error)) from error
            return Skipped(DocumentId(self.name, node.key), str(error), "refused")

    async def _as_it_is(self, told: set[str], node: Node, place: Place) -> Sequence[SourceDocument] | Skipped:
        """What there is to tell of a document. Raises Skip where it can't be used, Transient where it can be later."""
        told.add(node.key)
        if node.kind in PAGES:
            body = await self.wiki.body(node)
            await self._remember_shown(node, body)
            page = await to_thread(self.documents.page, node, place, body)
            return page if isinstance(page, Skipped) else [*await self._earlier(node, place, page, body.labels), page]
        holder = await self._holder(node)
        if node.kind == "comment":
            leaf = self.documents.comment(node, holder, place, await self.wiki.body(node))
        else:
            leaf = self.documents.attachment(node, holder, place, partial(self._file, node))
        return leaf if isinstance(leaf, Skipped) else [leaf]

    async def _earlier(
        self, node: Node, place: Place, page: SourceDocument, labels: Sequence[str]
    ) -> Sequence[SourceDocument]:
        """The wordings of a page that were in force before its newest and that the ledger was not told of, the oldest
        first: of all versions that state the same first day the last, each until the day before the next one. Labels
        are the page's, not a version's: what keeps it out keeps all of it out."""
        if not self.history or page.effective_from is None:
            return ()
        held = (await self.memory.places([node.key])).get(node.key)
        taken, newest = _number(held.version if held is not None else ""), _number(page.version)
        found: list[SourceDocument] = []
        next_from, looked_at = page.effective_from, 0
        if newest - 1 <= taken:
            return ()
        async with aclosing(self.wiki.earlier(node, newest)) as bodies:
            async for body in bodies:
                looked_at += 1
                if _number(body.version) <= taken or looked_at > _MOST_EARLIER:
                    break
                labelled = replace(body, labels=tuple(labels))
                wording = await to_thread(self.documents.page, node, place, labelled)
                if isinstance(wording, Skipped) or wording.effective_from is None:
                    continue
                if wording.effective_from < next_from:
                    last = min(wording.effective_to or next_from, next_from - timedelta(days=1))
                    found.append(replace(wording, effective_to=last))
                    next_from = wording.effective_from
        return found[::-1]

    async def _file(self, node: Node) -> bytes:
        """The bytes of an attachment."""
        try:
            return await self.wiki.file(node)
        except Lost as error:
            if error.status == 401:  # of the account, for now
                raise Transient(str(error)) from error
            raise

    async def _remember_shown(self, node: Node, body: Body) -> None:
        """Remember which other pages it shows parts of: they are found by themselves, under their own rights."""
        shown = written(await to_thread(shown_by, body.text, body.media_type == STORAGE))
        if shown != node.facts.get(SHOWS, ""):
            rest = {name: value for name, value in node.facts.items() if name != SHOWS}
            await self.memory.put([replace(node, facts=rest | ({SHOWS: shown} if shown else {}))])

    async def _holder(self, node: Node) -> Node | None:
        """The page that a file or a comment belongs to."""
        at: Node | None = node
        for _ in range(_DEEPEST):
            if at is None or at.kind not in LEAVES or at.parent is None:
                break
            at = (await self.memory.get([at.parent])).get(at.parent)
        return at

    async def again(self, container: str, told: Collection[str]) -> AsyncIterator[Change]:
        """Every document of a space that settling had no reason to tell of."""
        nodes = {node.key: node async for node in self.memory.of_container(container)}
        placing = Placing(container, (), nodes.values())
        for key, node in sorted(nodes.items()):
            if not node.is_document or key in told:
                continue
            try:
                change = await self.described(set(), node, placing[key])
            except DoorError as error:
                if isinstance(error, Stop):
                    raise
                change = Skipped(DocumentId(self.name, key), str(error), node.mark if isinstance(error, Skip) else "")
            for told_now in [change] if isinstance(change, Skipped) else map(Upsert, change):
                yield told_now


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
